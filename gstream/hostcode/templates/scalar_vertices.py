"""Kernels over vertices: start, message, apply, reopen. Threads claim blocks of BLOCK vertices.

Indices are unsigned throughout: signed ones keep Python's negative indices in the loop. Bound by memory: each reads
and writes every vertex's value once.
"""

from __future__ import annotations

from gstream.hostcode.casts import i64, u64
from gstream.hostcode.generate import BLOCK
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import kernel
from gstream.hostcode.templates.methods import (
    HAS_DONE,
    IDENTITY,
    NO_GOT,
    NO_TOTALS,
    PREMADE,
    add_totals,
    apply,
    changed,
    context,
    degree_of,
    done,
    in_degree_of,
    send,
    start,
    store_totals,
)

# kernels


@kernel
def start_kernel(
    value, value_first, degree, in_degree, own, members, bits, open_bits, partials, first, last, ints, floats, counter
):
    """value[first:last] by `start`; bits of those that differ from the identity; open_bits of those not done."""
    ctx = context(ints, floats)
    origin, stop, one = u64(value_first), u64(last), u64(1)
    while True:
        begin = u64(first) + u64(atomic_add(counter, 0, 1)) * u64(BLOCK)
        if begin >= stop:
            return 0
        end = min(begin + u64(BLOCK), stop)
        sums = NO_TOTALS
        for base in range(begin, end, u64(64)):
            word, opened = u64(0), u64(0)
            for v in range(base, min(base + u64(64), end)):
                at = v - origin
                out, into = degree_of(degree, at), in_degree_of(in_degree, at)
                new = start(i64(v), out, into, own, at, members, ctx)
                value[at] = new
                bit = one << (v & u64(63))
                if new != IDENTITY:
                    word |= bit
                if HAS_DONE and not done(i64(v), new, ctx):
                    opened |= bit
                sums = add_totals(sums, i64(v), new, new, out, into, own, at, ctx)
            bits[base >> u64(6)] = word
            if HAS_DONE:
                open_bits[base >> u64(6)] = opened
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
            msg[v - shift] = send(i64(v), value[at], degree_of(degree, at), 0, ctx)


@kernel
def apply_kernel(
    value, value_first, got, got_first, degree, in_degree, own, next_bits, partials, msg, first, last, ints, floats,
    counter,
):  # fmt: skip
    """value[first:last] by `apply`; next_bits of those that changed; got is put back to the identity. msg: of all
    vertices, what they send next; of none: nobody asks."""
    ctx = context(ints, floats)
    origin, got_origin, stop, one, sends = u64(value_first), u64(got_first), u64(last), u64(1), len(msg) > 0
    while True:
        begin = u64(first) + u64(atomic_add(counter, 0, 1)) * u64(BLOCK)
        if begin >= stop:
            return 0
        end = min(begin + u64(BLOCK), stop)
        sums = NO_TOTALS
        for base in range(begin, end, u64(64)):
            word = u64(0)
            for v in range(base, min(base + u64(64), end)):
                at = v - origin
                out, into = degree_of(degree, at), in_degree_of(in_degree, at)
                before = value[at]
                new = apply(i64(v), before, out, into, got[v - got_origin], own, at, ctx)
                got[v - got_origin] = NO_GOT
                value[at] = new
                if PREMADE and sends:
                    msg[v] = send(i64(v), new, out, 0, ctx)
                if changed(new, before):
                    word |= one << (v & u64(63))
                sums = add_totals(sums, i64(v), new, before, out, into, own, at, ctx)
            next_bits[base >> u64(6)] = word
        store_totals(partials, begin // u64(BLOCK), sums)


@kernel
def reopen_kernel(value, value_first, open_bits, first, last, ints, floats, counter):
    """open_bits of [first, last) anew: the vertices that are not done."""
    ctx = context(ints, floats)
    stop, one = u64(last), u64(1)
    while True:
        begin = u64(first) + u64(atomic_add(counter, 0, 1)) * u64(BLOCK)
        if begin >= stop:
            return 0
        end = min(begin + u64(BLOCK), stop)
        for base in range(begin, end, u64(64)):
            opened = u64(0)
            for v in range(base, min(base + u64(64), end)):
                if not done(i64(v), value[v - u64(value_first)], ctx):
                    opened |= one << (v & u64(63))
            open_bits[base >> u64(6)] = opened
