"""Kernels of greedy colouring: a vertex is coloured when all neighbours ahead of it are (Jones, Plassmann 1993).

left: counts of V, how often neighbours ahead that have no colour yet stand in lists. color: u4[V], NO_COLOR: none yet.
window: uint64[V], bit i: some neighbour has the colour base + i; base is 0 but for vertices that look further.
`single`: lists of one topology of a directed graph; an edge is in the list of one end and tells both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.independent import is_ahead
from gstream.algorithms.proofs import note
from gstream.algorithms.records import claim, u64
from gstream.algorithms.shared import is_set, set_bit
from gstream.hostcode.intrinsics import atomic_add, atomic_or, trailing_zeros
from gstream.hostcode.jit import helper, kernel
from gstream.records import record_kernel

u32: Any = np.uint32
NO_COLOR = u32(0xFFFFFFFF)
WINDOW = 64  # colours that a vertex keeps in mind at a time
WORDS = 256  # of a bitmap, that one claim takes


@record_kernel(left="sum")
def count_ahead(record, directed, size, left):
    """left: what vertices will be told. directed: an edge in an out-list will be told to whichever end is behind."""
    v, ahead = record.vertex, u64(0)
    for u in record.neighbours():
        if u == v:
            continue
        if is_ahead(size, True, u, v):
            ahead += u64(1)
        elif directed:
            atomic_add(left, u, left.dtype.type(1))
    atomic_add(left, v, left.dtype.type(ahead))


@helper
def tell(window, left, following, u, c):
    """Tell u that a neighbour has the colour c; who has heard of all is in `following`."""
    if c < u32(WINDOW):
        bit = u64(1) << u64(c)
        if window[u] & bit == u64(0):
            atomic_or(window, u, bit)
    if atomic_add(left, u, left.dtype.type(-1)) == 1:
        set_bit(following, u)


@record_kernel(window="or", left="own", following="own")
def tell_behind(record, single, ready, color, window, left, following):
    """Vertices of `ready` have just been coloured: their neighbours without a colour are told."""
    v = record.vertex
    fresh = is_set(ready, v)
    if not fresh and not (single and color[v] == NO_COLOR):
        return
    for u in record.neighbours():
        if fresh:
            if color[u] == NO_COLOR:
                tell(window, left, following, u, color[v])
        elif is_set(ready, u):
            tell(window, left, following, v, color[u])


@helper
def in_window(c, base):
    """Whether the colour c is one of base to base + 63."""
    return c != NO_COLOR and c >= base and c - base < u32(WINDOW)


@record_kernel(window="or")
def look_further(record, single, crowded, color, base, window):
    """window of the vertices of `crowded`, from `base` on."""
    v = record.vertex
    if is_set(crowded, v):
        for u in record.neighbours():
            if in_window(color[u], base):
                atomic_or(window, v, u64(1) << u64(color[u] - base))
    elif single and in_window(color[v], base):
        for u in record.neighbours():
            if is_set(crowded, u):
                atomic_or(window, u, u64(1) << u64(color[v] - base))


@kernel
def give_colors(chosen, window, color, base, crowded, counter):
    """Vertices of `chosen` get the least colour of their window that is free; crowded: who has none, with a new window.

    Returns how many these are.
    """
    found = u64(0)
    while True:
        begin = claim(counter) * u64(WORDS)
        if begin >= u64(len(chosen)):
            return found
        for index in range(begin, min(begin + u64(WORDS), u64(len(chosen)))):
            word, full = chosen[index], u64(0)
            while word != u64(0):
                place = trailing_zeros(word)
                word &= word - u64(1)
                v = (index << u64(6)) + place
                if ~window[v] == u64(0):
                    window[v] = u64(0)
                    full |= u64(1) << place
                    found += u64(1)
                else:
                    color[v] = base + u32(trailing_zeros(~window[v]))
            crowded[index] = full


@record_kernel(failure="note")
def check_colors(record, color, failure):
    """failure (gstream.algorithms.proofs): edges between vertices of one color."""
    v = record.vertex
    for u in record.neighbours():
        if u != v and color[u] == color[v]:
            note(failure, v, u)
