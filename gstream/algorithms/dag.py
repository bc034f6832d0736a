"""Page kernels of gstream.algorithms.levels: peeling (Kahn 1962), longest paths, and a way back along a cycle.

They walk out-pages: the owner of a list is the source of its edges.
"""

from __future__ import annotations

from gstream.algorithms.records import claim, part_of, record, slots_end, u64
from gstream.algorithms.shared import is_set, raise_to, set_bit
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import kernel


@kernel
def peel(words, parts, counter, bits, left, following):
    """Take the vertices of `bits` away: left[v] of each edge's target falls by 1, and at 0 it is in `following`."""
    edges = u64(0)
    while True:
        part = claim(counter)
        if part >= u64(len(parts)):
            return edges
        row, begin, end, large, stride = part_of(words, parts, part)
        for slot in range(begin, slots_end(begin, end, large)):
            owner, first, count = record(words, row, slot, begin, end, large, stride)
            if is_set(bits, owner):
                edges += count
                for k in range(count):
                    v = u64(words[row, first + k * stride])
                    if atomic_add(left, v, left.dtype.type(-1)) == 1:
                        set_bit(following, v)


@kernel
def reach_out(words, weights, parts, counter, bits, distance):
    """distance[v] of each edge's target, float64[V], grows to distance[u] + weight; for u in `bits`."""
    edges = u64(0)
    while True:
        part = claim(counter)
        if part >= u64(len(parts)):
            return edges
        row, begin, end, large, stride = part_of(words, parts, part)
        for slot in range(begin, slots_end(begin, end, large)):
            owner, first, count = record(words, row, slot, begin, end, large, stride)
            if is_set(bits, owner):
                edges += count
                for k in range(count):
                    word = first + k * stride
                    raise_to(distance, u64(words[row, word]), distance[owner] + weights[row, word])


@kernel
def find_above(words, parts, counter, left, above):
    """above[v] = some u -> v, of vertices that peeling left over."""
    edges = u64(0)
    while True:
        part = claim(counter)
        if part >= u64(len(parts)):
            return edges
        row, begin, end, large, stride = part_of(words, parts, part)
        for slot in range(begin, slots_end(begin, end, large)):
            owner, first, count = record(words, row, slot, begin, end, large, stride)
            edges += count
            if left[owner]:
                for k in range(count):
                    v = u64(words[row, first + k * stride])
                    if left[v]:
                        above[v] = owner


@kernel
def levels_again(words, parts, counter, level, again):
    """again[v] (int64[V], 0 at first) = the greatest level[u] + 1 over u -> v, of all edges."""
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
                raise_to(again, u64(words[row, first + k * stride]), level[owner] + 1)


@kernel
def distances_again(words, weights, parts, counter, distance, again):
    """again[v] (float64[V], 0 at first) = the greatest distance[u] + weight over u -> v, of all edges."""
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
                raise_to(again, u64(words[row, word]), distance[owner] + weights[row, word])
