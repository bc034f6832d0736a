"""Push along a list, of programs of vectors: a message goes to a target element by element.

Nothing is combined in place. Messages are made once a source where they don't read the edge. Reads a row of the source
a list and a row of the target an edge, at random, which is the bound; a row where nothing improves takes no atomic.
"""

from __future__ import annotations

from gstream.hostcode.casts import i64, u64
from gstream.hostcode.intrinsics import atomic_add, compare_and_swap, scratch
from gstream.hostcode.jit import helper
from gstream.hostcode.templates.methods import (
    ELEMENTS,
    GOT,
    IDEMPOTENT,
    IDENTITY,
    LENGTH,
    NO_GOT,
    USES_EDGE,
    better,
    merged,
    send,
    weight_of,
)

# kernels

ROLLED = 16, 64  # lengths from which on, and up to which, LLVM unrolls a loop of known length, and vectorizes it less


@helper
def numbers_of(row):
    """Length of a row: where it is not known beforehand a pull of u8[16] takes 8 ns an edge instead of 21, one of
    f32[32] 21 instead of 54; but f32[3] would take 4.8 instead of 2.7."""
    return u64(len(row)) if ROLLED[0] <= LENGTH < ROLLED[1] else ELEMENTS


@helper
def settle(dst, at, new):
    """Combine `new` into dst[at], which other threads write too."""
    if not IDEMPOTENT:
        atomic_add(dst, at, GOT(new))
        return
    old = dst[at]
    while better(new, old):
        written, old = compare_and_swap(dst, at, old, merged(old, new))
        if written:
            return


@helper
def settle_row(dst, message):
    """Combine a message into the row of a vertex."""
    improves = not IDEMPOTENT
    if IDEMPOTENT:
        for i in range(ELEMENTS):
            improves |= better(message[i], dst[i])
    if improves:
        for i in range(ELEMENTS):
            settle(dst, i, message[i])


@helper
def empty(value):
    """Whether a source with this value sends nothing: all elements are the identity of an idempotent combine."""
    says = False
    for i in range(ELEMENTS):
        says |= value[i] != IDENTITY
    return not says


@helper
def make_message(message, u, value, out, weight, ctx):
    """What u sends; elements that are the identity of an idempotent combine send nothing."""
    for i in range(ELEMENTS):
        sent = GOT(send(i64(u), value, out, weight, i64(i), ctx))
        message[i] = sent if not IDEMPOTENT or value[i] != IDENTITY else NO_GOT


@helper
def spread_list(words, weights, row, begin, count, stride, u, value, out, dst, dst_first, span, next_bits, ctx):
    """Send along `count` edges of page `row`, whose words are `stride` apart from `begin` on, to targets in
    [dst_first, dst_first + span)."""
    message = scratch(GOT, LENGTH)
    if not USES_EDGE:
        make_message(message, u, value, out, weight_of(weights, row, begin), ctx)
    for k in range(count):
        word = begin + k * stride
        at = u64(words[row, word]) - dst_first
        if at < span:
            if USES_EDGE:
                make_message(message, u, value, out, weight_of(weights, row, word), ctx)
            settle_row(dst[at], message)
