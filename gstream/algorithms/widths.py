"""Kernels of the certificate of widest paths. `pull`: pages hold in-lists. width: f4[V] or f8[V], -inf: no path."""

from __future__ import annotations

from gstream.algorithms.proofs import note
from gstream.algorithms.records import claim, part_of, record, slots_end, u64
from gstream.algorithms.shared import is_set, set_bit
from gstream.hostcode.jit import kernel


@kernel
def check_widths(words, weights, parts, counter, width, pull, failure):
    """No edge u -> v leads to a wider path: min(width[u], weight) <= width[v]. failure: as in proofs."""
    edges = u64(0)
    while True:
        part = claim(counter)
        if part >= u64(len(parts)):
            return edges
        row, begin, end, large, stride = part_of(words, parts, part)
        for slot in range(begin, slots_end(begin, end, large)):
            owner, first, count = record(words, row, slot, begin, end, large, stride)
            edges += count
            for k in range(count):
                word = first + k * stride
                other = u64(words[row, word])
                u, v = (other, owner) if pull else (owner, other)
                if min(width[u], width.dtype.type(weights[row, word])) > width[v]:
                    note(failure, u, v)


@kernel
def bear_widths(words, weights, parts, counter, width, reached, changed, pull):
    """Set v's bit in `reached` where u's is set and u -> v bears its width: min(width[u], weight) == width[v]."""
    edges = u64(0)
    while True:
        part = claim(counter)
        if part >= u64(len(parts)):
            return edges
        row, begin, end, large, stride = part_of(words, parts, part)
        for slot in range(begin, slots_end(begin, end, large)):
            owner, first, count = record(words, row, slot, begin, end, large, stride)
            edges += count
            for k in range(count):
                word = first + k * stride
                other = u64(words[row, word])
                u, v = (other, owner) if pull else (owner, other)
                there = is_set(reached, u)
                new = not is_set(reached, v)
                if there and new and min(width[u], width.dtype.type(weights[row, word])) == width[v]:
                    set_bit(reached, v)
                    changed[0] = 1
