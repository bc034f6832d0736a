"""Rows of a table from columns in store order: permuted, named, and marked where there is no value.

A row of `out` is made of words of 32 bits, so one kernel serves structured arrays and Arrow's columns, whatever types
stand beside each other. Each step is a loop of its own over a piece that stays in a core's cache: the compiler turns
such loops into vector code, which one loop with all the steps is not (measured: 7 times as long).
"""

from __future__ import annotations

from gstream.hostcode.casts import i32, i64, u32, u64
from gstream.hostcode.jit import helper, kernel

__all__ = ["take_rows"]


@kernel
def take_rows(words, order, missing, none, nullable, signed, renamed, names, base, out, column, wide, valid, scratch):
    """out[i, column] = words[order[i]] for each row of `out` (u4[n, words of a row]); wide: and the upper half behind.

    words: bits of the values, u4 or u8[V], empty: each is its number. order: id[n], empty: i itself. A word that is
    `missing`, if any may be (nullable), becomes the bits `none`. Others: renamed (id[V], may be empty), then names
    (int64, may be empty) or `base` added. signed: u4 words are int32. valid: u1, bit i & 7 of byte i >> 3 is set where
    there is a value; may be empty. scratch: u8[n]. Bound by the gathers of `words` and `renamed`.
    """
    rows = u64(out.shape[0])
    if len(order):
        for i in range(rows):
            scratch[i] = words[u64(order[i])]
    elif len(words):
        for i in range(rows):
            scratch[i] = words[i]
    else:
        for i in range(rows):
            scratch[i] = i
    if len(valid):
        _mark(scratch, rows, missing, valid)
    if signed:
        for i in range(rows):
            scratch[i] = u64(i64(i32(u32(scratch[i]))))
        missing = u64(i64(i32(u32(missing))))
    if len(renamed):
        for i in range(rows):
            value = scratch[i]
            absent = nullable and value == missing
            name = u64(renamed[u64(0) if absent else value])
            scratch[i] = value if absent else name
    if len(names):
        for i in range(rows):
            value = scratch[i]
            absent = nullable and value == missing
            name = u64(names[u64(0) if absent else value])
            scratch[i] = u64(none) if absent else name
    else:
        for i in range(rows):
            value = scratch[i]
            scratch[i] = u64(none) if nullable and value == missing else value + u64(base)
    if wide:
        for i in range(rows):
            out[i, column] = u32(scratch[i])
            out[i, column + u64(1)] = u32(scratch[i] >> u64(32))
    else:
        for i in range(rows):
            out[i, column] = u32(scratch[i])
    return u64(0)


@helper
def _mark(scratch, rows, missing, valid):
    """Bits of the words that are not `missing`."""
    for byte in range(rows >> u64(3)):
        bits = u64(0)
        for k in range(u64(8)):
            bits |= u64(scratch[(byte << u64(3)) + k] != missing) << k
        valid[byte] = bits
    if rows & u64(7):
        bits = u64(0)
        for i in range(rows & ~u64(7), rows):
            bits |= u64(scratch[i] != missing) << (i & u64(7))
        valid[rows >> u64(3)] = bits
