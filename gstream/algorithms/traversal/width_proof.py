"""Kernels of the certificate of widest paths. `pull`: pages hold in-lists. width: f4[V] or f8[V], -inf: no path."""

from __future__ import annotations

from gstream.algorithms.support.shared import is_set, note, set_bit
from gstream.hostcode.adjacency import stretch
from gstream.hostcode.casts import u64
from gstream.hostcode.claims import is_stopped
from gstream.hostcode.jit import kernel
from gstream.records import record_kernel


@record_kernel(failure="note")
def check_widths(record, width, pull, failure):
    """No edge u -> v leads to a wider path: min(width[u], weight) <= width[v]. failure: as in proofs."""
    for other in record.neighbours():
        u, v = (other, record.vertex) if pull else (record.vertex, other)
        if min(width[u], width.dtype.type(record.weight())) > width[v]:
            note(failure, u, v)


@record_kernel(reached="uint64[]", following="or")
def bear_widths(record, width, here, reached, following, pull):
    """Set v's bit in `following` where u's is set in `here` and u -> v bears v's width: min(width[u], weight) ==
    width[v]; but not where it is set in `reached`. By in-lists one sweep may lead on from there."""
    if not pull and not is_set(here, record.vertex):
        return
    for other in record.neighbours():
        u, v = (other, record.vertex) if pull else (record.vertex, other)
        there = is_set(here, u) or (pull and is_set(following, u))
        fresh = not is_set(reached, v)
        if there and fresh and min(width[u], width.dtype.type(record.weight())) == width[v]:
            set_bit(following, v)


@kernel
def bear_alone(words, weights, places, width, reached, queue, ends, most, counter):
    """bear_widths by one thread, for the queued vertices and those that they reach, whose bits are set in `reached`.

    words, weights, places: gstream.hostcode.adjacency, of out-lists. queue: id[V]; ends: int64[2], where the vertices
    that are due begin in it, and where they end; they may be more than `most` in the end. Returns the edges looked at.
    """
    begin, end, edges = u64(ends[0]), u64(ends[1]), u64(0)
    while begin != end and end - begin <= u64(most) and not is_stopped(counter):
        u, k = u64(queue[begin]), u64(0)
        begin += u64(1)
        while True:
            row, word, more, stride = stretch(words, places, u, k)
            if more == u64(0):
                break
            for step in range(more):
                place = word + step * stride
                v = u64(words[row, place])
                if is_set(reached, v) or min(width[u], width.dtype.type(weights[row, place])) != width[v]:
                    continue
                reached[v >> u64(6)] |= u64(1) << (v & u64(63))
                queue[end] = v
                end += u64(1)
            k += more
        edges += k
    ends[0], ends[1] = begin, end
    return edges
