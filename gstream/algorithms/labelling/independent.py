"""Kernels of an independent set: the one that a greedy walk over the vertices in a fixed order finds, by rounds.

A vertex joins when no undecided neighbour is ahead of it; then its neighbours are out (Luby 1986; Blelloch, Fineman,
Shun 2012: the same set as the walk's, in O(log^2 V) rounds where the order is random). The order: by `size`, the least
first, then by a hash of the natural index, so that equal sizes make no long chains and no order of the store tells.
natural: id[V], natural indices; of none where store IDs are natural indices.

state: u1[V]. An edge is met in the list of either end: both, where `single`, are told of it from that one list; an
undirected edge is in two, and each tells its own vertex. Self-loops are passed over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.support.shared import BLOCK, blocks, is_ahead, is_set, note, set_bit
from gstream.hostcode.casts import u64
from gstream.hostcode.jit import kernel
from gstream.records import record_kernel

u8: Any = np.uint8
UNDECIDED, INSIDE, OUT, JOINING = u8(0), u8(1), u8(2), u8(3)


@record_kernel(blocked="or")
def block(record, single, state, size, natural, blocked):
    """blocked: bits of undecided vertices that have an undecided neighbour ahead of them."""
    v = record.vertex
    if state[v] != UNDECIDED:
        return
    behind = False
    for u in record.neighbours():
        if u == v or state[u] != UNDECIDED:
            continue
        if is_ahead(size, natural, False, u, v):
            behind = True
            if not single:
                break
        elif single:
            set_bit(blocked, u)
    if behind:
        set_bit(blocked, v)


@kernel
def join(state, blocked, counter):
    """Undecided vertices that are not blocked are joining; blocked is cleared."""
    for begin, end in blocks(counter, len(state)):
        for v in range(begin, end):
            if state[v] == UNDECIDED and not is_set(blocked, v):
                state[v] = JOINING
            if v & u64(63) == u64(63):
                blocked[v >> u64(6)] = u64(0)
    return u64(0)


@record_kernel(state="max")
def push_out(record, single, state):
    """Undecided neighbours of joining vertices are out."""
    v = record.vertex
    joining = state[v] == JOINING
    if state[v] != UNDECIDED and not (joining and single):
        return
    for u in record.neighbours():
        if joining:
            if state[u] == UNDECIDED:
                state[u] = OUT
        elif state[u] == JOINING:
            state[v] = OUT
            break


@kernel
def settle(state, undecided, counter):
    """Who was joining is inside; undecided: bits of the vertices that are. Returns how many there are."""
    left = u64(0)
    for begin, end in blocks(counter, len(undecided), BLOCK // 64):
        for index in range(begin, end):
            word, first = u64(0), index * u64(64)
            for v in range(first, min(first + u64(64), u64(len(state)))):
                if state[v] == JOINING:
                    state[v] = INSIDE
                if state[v] == UNDECIDED:
                    word |= u64(1) << (v & u64(63))
                    left += u64(1)
            undecided[index] = word
    return left


@record_kernel(failure="note", covered="max")
def check_set(record, inside, covered, failure):
    """failure: edges inside the set; covered (u1[V]): 1 for neighbours of its vertices."""
    v = record.vertex
    for u in record.neighbours():
        if u == v:
            continue
        if inside[u] and inside[v]:
            note(failure, v, u)
        elif inside[u]:
            covered[v] = 1
        elif inside[v]:
            covered[u] = 1
