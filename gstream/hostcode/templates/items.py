"""How threads share out items: lists of a block, which they claim by runs from a counter.

`walk` is the frame of every item kernel (gstream.records), whose own text takes the place of `visit`, and whose arrays
come before the counter; names that begin with record_ are the walk's.
"""

from __future__ import annotations

from gstream.hostcode.casts import u64
from gstream.hostcode.claims import is_stopped
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import helper, kernel


@helper
def visit(number):
    """What a kernel does at an item."""


# kernels


@kernel
def walk(count, counter):
    """One kernel over `count` items, by every thread at the same time; returns the edges it looked at."""
    record_edges = u64(0)
    while True:
        record_begin = u64(atomic_add(counter, 0, 1)) * u64(64)
        if record_begin >= u64(count):
            return record_edges
        for record_number in range(record_begin, min(record_begin + u64(64), u64(count))):
            if is_stopped(counter):
                break
            visit(record_number)
