"""Kernels of the certificate of widest paths. `pull`: pages hold in-lists. width: f4[V] or f8[V], -inf: no path."""

from __future__ import annotations

from gstream.algorithms.proofs import note
from gstream.algorithms.records import claim, part_of, record, slots_end, u64
from gstream.hostcode.intrinsics import atomic_or
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
                there = reached[u >> u64(6)] >> (u & u64(63)) & u64(1)
                new = reached[v >> u64(6)] >> (v & u64(63)) & u64(1) == u64(0)
                if there and new and min(width[u], width.dtype.type(weights[row, word])) == width[v]:
                    atomic_or(reached, v >> u64(6), u64(1) << (v & u64(63)))
                    changed[0] = 1
