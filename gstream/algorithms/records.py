"""How page kernels walk a batch: parts are claimed from a counter, slots lead to records (pagestore/layout.py).

    while True:
        part = claim(counter)
        if part >= len(parts): return
        row, begin, end, large, stride = part_of(words, parts, part)
        for slot in range(begin, slots_end(begin, end, large)):
            v, first, count = record(words, row, slot, begin, end, large, stride)
            for k in range(count):
                neighbour = words[row, first + k * stride]     # stride: 1, or that of a column page

Indices are unsigned: signed ones keep Python's negative-index test in the inner loop. Every kernel has the walk written
out: as a generator it takes a fifth more time (RMAT 20, one thread: 136 instead of 113 ms), and a kernel made from a
function that is handed in is compiled anew by each process, for Numba keeps none that encloses another.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import helper
from gstream.hostcode.strides import stride_of

u64: Any = np.uint64
i64: Any = np.int64


@helper
def claim(counter):
    """The next number of a shared counter (int64[1])."""
    return u64(atomic_add(counter, 0, 1))


@helper
def part_of(words, parts, part):
    """(row, begin, end, large, stride) of a part: slots of a small page, words of a large one."""
    row = u64(parts[part, 0])
    large = (u64(words[row, 0]) & u64(0xFFFFFFFF)) == u64(1)
    return row, u64(parts[part, 1]), u64(parts[part, 2]), large, stride_of(words, row)


@helper
def slots_end(begin, end, large):
    """Where a loop over the slots of a part ends: a large page's part is one stretch of its only record."""
    return begin + u64(1) if large else end


@helper
def record(words, row, slot, begin, end, large, stride):
    """(vertex, first word, count) of the neighbours that a slot of the part leads to, `stride` words apart."""
    place = u64(words.shape[1]) - u64(2)
    if large:
        return u64(words[row, place]), begin, end - begin
    place -= slot * u64(2)
    start = u64(words[row, place + u64(1)])
    return u64(words[row, place]), start + stride, u64(words[row, start])
