"""Near first on the host: cuda/near.cu's counterpart for attributes in host memory (gstream/engine/delta_stepping.py
says what it is).

active, held: bitmaps uint64[words]; value: value[V]; degree: u4 or u8[V].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import population, trailing_zeros
from gstream.hostcode.jit import kernel


def hold_back(
    active: np.ndarray, held: np.ndarray, value: np.ndarray, degree: np.ndarray, step: float, least_edges: int
) -> tuple[int, int]:
    """What was held back joins the frontier; of one with least_edges or more, values past the least + step are held.

    Returns how many are, and the edges of the others.
    """
    edges = int(join(active, held, degree))
    if edges < least_edges:  # mostly so, and then values would be read in vain
        return 0, edges
    count, far = hold_past(active, held, value, degree, least_of(active, value) + step)
    return int(count), edges - int(far)


@kernel
def join(active: Any, held: Any, degree: Any) -> Any:
    """What was held back joins the frontier. Returns the edges of all."""
    edges = u64(0)
    for index in range(u64(len(active))):
        word = active[index] | held[index]
        active[index] = word
        held[index] = u64(0)
        while word != u64(0):
            edges += u64(degree[(index << u64(6)) + trailing_zeros(word)])
            word &= word - u64(1)
    return edges


@kernel
def least_of(active: Any, value: Any) -> Any:
    """The least value in the frontier; infinity where it is empty."""
    least = np.inf
    for index in range(u64(len(active))):
        word = active[index]
        while word != u64(0):
            least = min(least, np.float64(value[(index << u64(6)) + trailing_zeros(word)]))
            word &= word - u64(1)
    return least


@kernel
def hold_past(active: Any, held: Any, value: Any, degree: Any, limit: Any) -> Any:
    """Hold back who has a value past `limit`, where nobody is held back yet. Returns how many, and their edges."""
    count, edges = u64(0), u64(0)
    for index in range(u64(len(active))):
        word, far = active[index], u64(0)
        while word != u64(0):
            bit = word & (~word + u64(1))
            v = (index << u64(6)) + trailing_zeros(word)
            word ^= bit
            if np.float64(value[v]) > limit:
                far |= bit
                edges += u64(degree[v])
        if far != u64(0):
            active[index] &= ~far
            held[index] = far
            count += population(far)
    return count, edges


@kernel
def readmit(
    active: Any, held: Any, degree: Any, longest: Any, first_vertex: Any, last_vertex: Any, pages: Any, spans_hub: Any
) -> Any:
    """Who is held back in the small `pages` (int64[n]) sends after all; not hubs with lists over `longest`."""
    for page in pages:
        low, high = u64(first_vertex[page]), u64(last_vertex[page])
        for index in range(low >> u64(6), (high >> u64(6)) + u64(1)):
            inside = ~u64(0)
            if index == low >> u64(6):
                inside &= ~u64(0) << (low & u64(63))
            if index == high >> u64(6):
                inside &= ~u64(0) >> (u64(63) - (high & u64(63)))
            word = held[index] & inside
            rest = word if spans_hub[page] else u64(0)
            while rest != u64(0):
                bit = rest & (~rest + u64(1))
                if u64(degree[(index << u64(6)) + trailing_zeros(rest)]) > u64(longest):
                    word ^= bit
                rest ^= bit
            active[index] |= word
            held[index] &= ~word
    return 0
