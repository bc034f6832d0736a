"""Kernels over all vertices between the supersteps of gstream.algorithms.reach; threads claim blocks from a counter."""

from __future__ import annotations

import numpy as np

from gstream.algorithms.records import claim, u64
from gstream.hostcode.intrinsics import population, trailing_zeros
from gstream.hostcode.jit import kernel

BLOCK = u64(8192)  # vertices that a thread claims


@kernel
def count_new(value, seen, score, reached, amount, one, counter):
    """For every bit of value[v] that seen[v] has not: score[v] += amount, reached[v] += one. seen becomes value."""
    vertices = u64(len(value))
    while True:
        first = claim(counter) * BLOCK
        if first >= vertices:
            return 0
        for v in range(first, min(first + BLOCK, vertices)):
            new = value[v] & ~seen[v]
            if new != u64(0):
                count = np.float64(population(new))
                score[v] += count * amount
                reached[v] += count * one
                seen[v] = value[v]


@kernel
def add_lowest_zeros(value, sums, counter):
    """sums[v] (uint16) += positions of the lowest 0 in both halves of value[v]."""
    vertices, ones = u64(len(value)), u64(0xFFFFFFFF)
    while True:
        first = claim(counter) * BLOCK
        if first >= vertices:
            return 0
        for v in range(first, min(first + BLOCK, vertices)):
            low, high = ~value[v] & ones, ~(value[v] >> u64(32)) & ones
            sums[v] += np.uint16(trailing_zeros(low) + trailing_zeros(high))
