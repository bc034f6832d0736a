"""Kernels over vertices of programs of vectors: start, message, apply, as scalar_vertices.py's.

A vertex has changed if one of its elements has.
"""

from __future__ import annotations

from gstream.hostcode.casts import i64, u64
from gstream.hostcode.generate import BLOCK
from gstream.hostcode.intrinsics import atomic_add, scratch
from gstream.hostcode.jit import kernel
from gstream.hostcode.templates.methods import (
    CHOOSES,
    ELEMENTS,
    HAS_TOTALS,
    IDENTITY,
    KEEPS,
    LENGTH,
    NO_GOT,
    NO_TOTALS,
    PREMADE,
    VALUE,
    activate,
    add_totals,
    apply,
    changed,
    context,
    degree_of,
    in_degree_of,
    send,
    start,
    store_totals,
)
from gstream.hostcode.templates.vector_push import empty

# kernels


@kernel
def start_kernel(
    value, value_first, degree, in_degree, own, members, bits, open_bits, partials, first, last, ints, floats, counter
):
    """value[first:last] by `start`; bits of those with an element that differs from the identity."""
    ctx = context(ints, floats)
    origin, stop, one = u64(value_first), u64(last), u64(1)
    while True:
        begin = u64(first) + u64(atomic_add(counter, 0, 1)) * u64(BLOCK)
        if begin >= stop:
            return 0
        end = min(begin + u64(BLOCK), stop)
        sums = NO_TOTALS
        for base in range(begin, end, u64(64)):
            word = u64(0)
            for v in range(base, min(base + u64(64), end)):
                at, says = v - origin, False
                row, out, into = value[at], degree_of(degree, at), in_degree_of(in_degree, at)
                for i in range(ELEMENTS):
                    row[i] = start(i64(v), out, into, own, at, members, i64(i), ctx)
                    says |= row[i] != IDENTITY
                if says:
                    word |= one << (v & u64(63))
                if HAS_TOTALS:
                    for i in range(ELEMENTS):
                        sums = add_totals(sums, i64(v), row, row, out, into, own, at, i64(i), ctx)
            bits[base >> u64(6)] = word
        store_totals(partials, begin // u64(BLOCK), sums)


@kernel
def message_kernel(value, value_first, degree, msg, msg_first, first, last, ints, floats, counter):
    """msg[v] = send(v) for [first, last): what a pull then gathers."""
    ctx = context(ints, floats)
    stop, shift = u64(last), u64(msg_first)
    while True:
        begin = u64(first) + u64(atomic_add(counter, 0, 1)) * u64(BLOCK)
        if begin >= stop:
            return 0
        for v in range(begin, min(begin + u64(BLOCK), stop)):
            at = v - u64(value_first)
            row, out = value[at], degree_of(degree, at)
            for i in range(ELEMENTS):
                msg[v - shift, i] = send(i64(v), row, out, 0, i64(i), ctx)


@kernel
def apply_kernel(
    value, value_first, got, got_first, degree, in_degree, own, next_bits, partials, msg, first, last, ints, floats,
    counter,
):  # fmt: skip
    """value[first:last] by `apply`; next_bits of those that changed; got is put back to the identity. msg: of all
    vertices, what they send next; of none: nobody asks."""
    ctx = context(ints, floats)
    origin, got_origin, stop, one, sends = u64(value_first), u64(got_first), u64(last), u64(1), len(msg) > 0
    before, fresh = scratch(VALUE, LENGTH), scratch(VALUE, LENGTH)
    while True:
        begin = u64(first) + u64(atomic_add(counter, 0, 1)) * u64(BLOCK)
        if begin >= stop:
            return 0
        end = min(begin + u64(BLOCK), stop)
        sums = NO_TOTALS
        for base in range(begin, end, u64(64)):
            word = u64(0)
            for v in range(base, min(base + u64(64), end)):
                at, moved = v - origin, False
                row, came = value[at], got[v - got_origin]
                if KEEPS and empty(came):
                    continue
                out, into = degree_of(degree, at), in_degree_of(in_degree, at)
                for i in range(ELEMENTS):
                    before[i] = row[i]
                for i in range(ELEMENTS):
                    fresh[i] = apply(i64(v), before, out, into, came, own, at, i64(i), ctx)
                for i in range(ELEMENTS):
                    came[i] = NO_GOT
                    new = fresh[i]
                    if CHOOSES and not activate(i64(v), fresh, before, out, into, own, at, i64(i), ctx):
                        new = before[i]
                    row[i] = new
                    moved |= changed(new, before[i])
                if moved:
                    word |= one << (v & u64(63))
                if PREMADE and sends:
                    for i in range(ELEMENTS):
                        msg[v, i] = send(i64(v), row, out, 0, i64(i), ctx)
                if HAS_TOTALS:
                    for i in range(ELEMENTS):
                        sums = add_totals(sums, i64(v), row, before, out, into, own, at, i64(i), ctx)
            next_bits[base >> u64(6)] = word
        store_totals(partials, begin // u64(BLOCK), sums)
