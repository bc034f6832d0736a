"""Sorting short lists in place, inside kernels: by bits from the highest, then by insertion.

Radix exchange takes no memory, at most one pass over a list for each bit, and no input makes it slower than that.
"""

from __future__ import annotations

import numpy as np

from gstream.hostcode.casts import u64
from gstream.hostcode.jit import helper, helper_with_arrays

SHORT = 24  # entries that are sorted by insertion
DEEP = 130  # entries of the stack: two for each bit of a key, and the first two


@helper
def insertion(keys, first, end):
    """Sort keys[first:end]."""
    for index in range(first + u64(1), end):
        key, place = keys[index], index
        while place > first and keys[place - u64(1)] > key:
            keys[place] = keys[place - u64(1)]
            place -= u64(1)
        keys[place] = key


@helper
def sort_range(keys, first, end, top, stack):
    """Sort keys[first:end]; top: a number of bits that no key has more of. stack: uint64[DEEP, 3], for this thread."""
    depth = u64(1)
    stack[0, 0], stack[0, 1], stack[0, 2] = first, end, top
    while depth > u64(0):
        depth -= u64(1)
        low, high, bits = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        if high - low <= u64(SHORT):
            insertion(keys, low, high)
            continue
        if bits == u64(0):
            continue
        shift, left, right = bits - u64(1), low, high
        while left < right:
            if (u64(keys[left]) >> shift) & u64(1) == u64(0):
                left += u64(1)
            else:
                right -= u64(1)
                keys[left], keys[right] = keys[right], keys[left]
        for begin, after in ((low, left), (left, high)):
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = begin, after, shift
            depth += u64(1)


@helper_with_arrays
def new_stack():
    """A stack for `sort_range`."""
    return np.empty((DEEP, 3), np.uint64)
