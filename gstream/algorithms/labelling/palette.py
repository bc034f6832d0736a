"""Kernels of greedy colouring: a vertex is coloured when all neighbours ahead of it are (Jones, Plassmann 1993).

* left: counts of V, how often neighbours ahead without a colour stand in lists.
* color: u4[V]; NO_COLOR - k: none yet, and k windows are full. window: uint64[V], bit i: some neighbour has the colour
  k * 64 + i. Neighbours report colours of a vertex's first window; it looks for those of other windows itself.
* ready: bits of vertices that get a colour, or a window, in this round. open: of those without a colour before it.
* `single`: an edge of a directed graph is in the list of one end, which tells both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.support.shared import is_ahead, note
from gstream.hostcode.adjacency import stretch
from gstream.hostcode.bitmaps import is_set, set_bit
from gstream.hostcode.casts import u64
from gstream.hostcode.claims import is_stopped
from gstream.hostcode.intrinsics import atomic_add, atomic_or, trailing_zeros
from gstream.hostcode.jit import helper, kernel
from gstream.records import item_kernel, record_kernel

u32: Any = np.uint32
NO_COLOR = u32(0xFFFFFFFF)
FIRST_PENDING = u32(0x80000000)  # what is less is a colour
WINDOW = 64  # colours that a vertex keeps in mind at a time
ROW = 32  # words of bitmaps that are an item: one for each lane


@record_kernel(left="sum")
def count_ahead(record, directed, size, natural, left):
    """left: what vertices will be told. directed: an edge in an out-list will be told to whichever end is behind."""
    v, ahead = record.vertex, u64(0)
    for u in record.neighbours():
        if u == v:
            continue
        if is_ahead(size, natural, True, u, v):
            ahead += u64(1)
        elif directed:
            atomic_add(left, u, left.dtype.type(1))
    atomic_add(left, v, left.dtype.type(ahead))


@helper
def is_color(c):
    """Whether an element of `color` is one."""
    return c < FIRST_PENDING


@helper
def base_of(c):
    """The first colour of the window of a vertex that has none."""
    return (u64(NO_COLOR) - u64(c)) * u64(WINDOW)


@helper
def tell(window, left, following, u, c):
    """Tell u that a neighbour has the colour c; who has heard of all is in `following`."""
    if c < u32(WINDOW):
        bit = u64(1) << u64(c)
        if window[u] & bit == u64(0):
            atomic_or(window, u, bit)
    if atomic_add(left, u, left.dtype.type(-1)) == 1:
        set_bit(following, u)


@helper
def bit_of(c, first):
    """The bit of the colour c in a window that begins with `first`, 0 if it is not in there."""
    if u64(c) < first or u64(c) - first >= u64(WINDOW):
        return u64(0)
    return u64(1) << (u64(c) - first)


@helper
def in_window(c, pending):
    """The bit of the colour c in the window of a vertex that has none, 0 if it is not in there or no colour."""
    return bit_of(c, base_of(pending)) if is_color(c) else u64(0)


@record_kernel(color="uint32[]", window="or", left="own", following="own")
def tell_behind(record, single, ready, color, window, left, following):
    """Vertices of `ready` that were just coloured tell their neighbours without a colour. Those of `ready` that have
    none yet look at their neighbours' colours, all of which are ahead."""
    v = record.vertex
    mine = is_set(ready, v)
    if not mine and not single:
        return
    c, met = color[v], u64(0)
    for u in record.neighbours():
        d = color[u]
        if mine:
            if not is_color(c):
                met |= in_window(d, c)
            elif not is_color(d):
                tell(window, left, following, u, c)
        elif is_set(ready, u):
            if not is_color(d):
                met_by_u = in_window(c, d)
                if met_by_u != u64(0):
                    atomic_or(window, u, met_by_u)
            elif not is_color(c):
                tell(window, left, following, v, d)
    if met != u64(0):
        atomic_or(window, v, met)


@item_kernel(ready="own", following="own", open="own", window="own", color="uint32[] own", last="own")
def give_colors(item, number, ready, following, open, window, color, last):
    """`ready` are the vertices of `following`, and those of the last round without a colour. Each gets the least free
    colour of its window, or else an empty window of the next colours.

    last: uint64[2], the last rounds in which there were any, and in which a window was full. An item is ROW words of
    bits.
    """
    begin, end = item.share(ROW, len(ready))
    for index in range(begin, end):
        word, before, full = following[index], ready[index], False
        following[index] = u64(0)
        while before != u64(0):
            place = trailing_zeros(before)
            before &= before - u64(1)
            if is_color(color[(index << u64(6)) + place]):
                open[index] &= ~(u64(1) << place)
            else:
                word |= u64(1) << place
        ready[index] = word
        if word != u64(0):
            last[0] = u64(number)
        while word != u64(0):
            v = (index << u64(6)) + trailing_zeros(word)
            word &= word - u64(1)
            if ~window[v] == u64(0):
                window[v] = u64(0)
                color[v] -= u32(1)
                full = True
            else:
                color[v] = u32(base_of(color[v]) + trailing_zeros(~window[v]))
        if full:
            last[1] = u64(number)


@helper
def mark_colors(words, places, v, color, marks):
    """marks[c] = v for each colour c of a neighbour; the edges looked at."""
    k = u64(0)
    while True:
        row, word, more, stride = stretch(words, places, v, k)
        if more == u64(0):
            return k
        for step in range(more):
            c = color[words[row, word + step * stride]]
            if is_color(c):
                marks[c] = v
        k += more


@helper
def tell_alone(words, places, v, c, color, window, left, queue, end):
    """`tell` the neighbours of v, by one thread: (end of the queue, which has those that have heard of all, edges)."""
    k = u64(0)
    while True:
        row, word, more, stride = stretch(words, places, v, k)
        if more == u64(0):
            return end, k
        for step in range(more):
            u = u64(words[row, word + step * stride])
            if is_color(color[u]):
                continue
            if c < u64(WINDOW):
                window[u] |= u64(1) << c
            left[u] -= left.dtype.type(1)
            if left[u] == 0:
                queue[end] = u
                end += u64(1)
        k += more


@kernel
def color_alone(words, places, words_in, places_in, ways, color, window, left, marks, queue, ends, most, counter):
    """Colour the queued vertices, and those told by all neighbours ahead then, by one thread (OneThread.go_on). Returns
    the edges looked at.

    words, places: of `ways` topologies. marks: id[most colours], of vertices that are none. A vertex without a free
    colour in its first window looks at all its neighbours once.
    """
    begin, end, edges = u64(ends[0]), u64(ends[1]), u64(0)
    while begin != end and end - begin <= u64(most) and not is_stopped(counter):
        v = u64(queue[begin])
        begin += u64(1)
        if color[v] == NO_COLOR and ~window[v] != u64(0):
            c = u64(trailing_zeros(~window[v]))
        else:
            c = u64(0)
            edges += mark_colors(words, places, v, color, marks)
            if ways > 1:
                edges += mark_colors(words_in, places_in, v, color, marks)
            while c < u64(len(marks)) and marks[c] == v:
                c += u64(1)
        color[v] = u32(c)
        end, looked = tell_alone(words, places, v, c, color, window, left, queue, end)
        edges += looked
        if ways > 1:
            end, looked = tell_alone(words_in, places_in, v, c, color, window, left, queue, end)
            edges += looked
    ends[0], ends[1] = begin, end
    return edges


@record_kernel(color="uint32[]", met="or", failure="note")
def check_colors(record, color, first, met, failure):
    """failure: edges between vertices of one colour. met: u64[V], bit i: some neighbour has colour first + i, less than
    the vertex's."""
    v = record.vertex
    mine, mets = color[v], u64(0)
    for u in record.neighbours():
        c = color[u]
        if u != v and c == mine:
            note(failure, v, u)
        elif c < mine:
            mets |= bit_of(c, u64(first))
        else:
            bit = bit_of(mine, u64(first))
            if u != v and met[u] & bit != bit:
                atomic_or(met, u, bit)
    if met[v] & mets != mets:
        atomic_or(met, v, mets)
