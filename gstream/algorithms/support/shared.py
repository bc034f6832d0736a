"""What page kernels do to arrays that all threads change: bits of vertices, and values that only fall or only grow.

bits: uint64[ceil(V / 64)], bit v & 63 of word v >> 6.
"""

from __future__ import annotations

from gstream.hostcode.casts import i64, u32, u64
from gstream.hostcode.intrinsics import atomic_add, compare_and_swap
from gstream.hostcode.jit import helper, kernel
from gstream.hostcode.page_words import claim

BLOCK = 1 << 14  # vertices that one claim takes, a multiple of 64
FAR = u32(0xFFFFFFFF)


@helper
def blocks(counter, count, size=BLOCK):
    """(first, end) of blocks of `size` out of `count` items, which a launch's threads claim from `counter` (int64[1], 0
    at first)."""
    while True:
        first = claim(counter) * u64(size)
        if first >= u64(count):
            return
        yield first, min(first + u64(size), u64(count))


@kernel
def count_unlike(words, word, counter):
    """How many of the words (u4 or u8[V]) are another one."""
    found = u64(0)
    for begin, end in blocks(counter, len(words)):
        for v in range(begin, end):
            found += u64(words[v] != word)
    return found


@helper
def lower(array, at, value):
    """array[at] = min(array[at], value); whether that changed it."""
    seen = array[at]
    while value < seen:
        written, seen = compare_and_swap(array, at, seen, array.dtype.type(value))
        if written:
            return True
    return False


@helper
def raise_to(array, at, value):
    """array[at] = max(array[at], value); whether that changed it."""
    seen = array[at]
    while seen < value:
        written, seen = compare_and_swap(array, at, seen, array.dtype.type(value))
        if written:
            return True
    return False


@helper
def note(failure, u, v):
    """Count a violation; the first one leaves its vertices."""
    if atomic_add(failure, 0, 1) == 0:
        failure[1], failure[2] = i64(u), i64(v)


@helper
def onward(distance, u, weight):
    """Distance by way of u. Past INF, integers wrap or grow: the caller looks at u again where that matters."""
    kind = distance.dtype.type
    return kind(distance[u]) + kind(weight)


@helper
def mixed(v):
    """A hash of v (the finisher of SplitMix64: a bijection, so no two vertices tie)."""
    x = v + u64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> u64(30))) * u64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> u64(27))) * u64(0x94D049BB133111EB)
    return x ^ (x >> u64(31))


@helper
def is_ahead(size, natural, descending, u, v):
    """Whether u comes before v: it is smaller, or larger where the order descends."""
    if size[u] != size[v]:
        return (size[u] > size[v]) == descending
    return mixed(named(natural, u)) < mixed(named(natural, v))


@helper
def named(natural, v):
    """The natural index of v."""
    return u64(v) if len(natural) == 0 else u64(natural[v])
