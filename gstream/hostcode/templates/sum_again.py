"""Sums of the vertices that were told of a change, and `apply` where it may come to something else (Garaph 4.2).

A vertex gets what it got before where no in-neighbour's message changed, so only those are summed again that an active
vertex told over its out-edges (gstream.hostcode.notify). `apply` sees a vertex again where it got something else, where
it reads the vertex's own value and that changed, or where it reads a total that changed: then all of them. Totals are
summed again in blocks whose values changed in this superstep or the one before, as `before` differs there. Lists,
blocks and totals are added up in the order of a superstep of all vertices, so that values have the same bits.
"""

from __future__ import annotations

from gstream.hostcode.bitmaps import is_set
from gstream.hostcode.casts import i64, u64
from gstream.hostcode.generate import BLOCK
from gstream.hostcode.intrinsics import population, trailing_zeros
from gstream.hostcode.jit import helper, kernel
from gstream.hostcode.notify import next_set, slot_from
from gstream.hostcode.page_words import claim, head_of, part_of, stride_of, vertex_of
from gstream.hostcode.templates.methods import (
    GOT,
    HAS_TOTALS,
    NO_GOT,
    NO_TOTALS,
    PREMADE,
    READS_ITSELF,
    SUMS_ANEW,
    add_totals,
    apply,
    changed,
    context,
    degree_of,
    in_degree_of,
    send,
    store_totals,
)
from gstream.hostcode.templates.scalar_pull_sum import summed, summed_apart

# kernels


@helper
def sum_of_slot(words, weights, row, slot, source, degree, ctx):
    """(what the vertex of a small page's slot gets, its edges)."""
    head, stride = head_of(words, row, slot), stride_of(words, row)
    count = u64(words[row, head])
    if stride == u64(1):
        return GOT(0) + summed(words, weights, row, head + u64(1), count, source, u64(0), degree, ctx), count
    return GOT(0) + summed_apart(words, weights, row, head + stride, count, stride, source, u64(0), degree, ctx), count


@kernel
def pull_told_kernel(words, weights, parts, counter, source, degree, told_bits, got, carry, ints, floats):
    """got[v] of the vertices of a bitmap, over parts of in-pages; their large pages into carry[part], which is the
    identity elsewhere. Returns the edges looked at."""
    ctx, edges = context(ints, floats), u64(0)
    while True:
        part = claim(counter)
        if part >= u64(len(parts)):
            return edges
        row, begin, end, large, _ = part_of(words, parts, part)
        if large:
            if is_set(told_bits, vertex_of(words, row, u64(0))):
                carry[part] = summed(words, weights, row, begin, end - begin, source, u64(0), degree, ctx)
                edges += end - begin
            continue
        slot, last = begin, vertex_of(words, row, end - u64(1))
        v = next_set(told_bits, vertex_of(words, row, begin), last)
        while v <= last:
            slot = slot_from(words, row, slot, end - u64(1), v)
            if vertex_of(words, row, slot) == v:
                got[v], count = sum_of_slot(words, weights, row, slot, source, degree, ctx)
                edges += count
            if v == last:
                break
            v = next_set(told_bits, v + u64(1), last)


@kernel
def forget_kernel(got, told_bits, first, last, counter):
    """got of the vertices of a bitmap in [first, last), multiples of BLOCK, back to the identity."""
    while True:
        begin = u64(first) + claim(counter) * u64(BLOCK)
        if begin >= u64(last):
            return 0
        end = min(begin + u64(BLOCK), u64(last))
        for index in range(begin >> u64(6), (end + u64(63)) >> u64(6)):
            word = told_bits[index]
            while word != u64(0):
                got[(index << u64(6)) + trailing_zeros(word)] = NO_GOT
                word &= word - u64(1)


@helper
def apply_block(
    block, last, value, got, degree, in_degree, own, active_bits, told_bits, out_bits, partials, msg, everybody, ctx
):
    """New values of the vertices of a block, up to `last`, that may have another one, or of all: how many do.

    told_bits are cleared, then out_bits are those whose value changed: one of the two, or active_bits. msg: of all
    vertices, what they send next; of none: nobody asks.
    """
    first, stop = block * u64(BLOCK), min((block + u64(1)) * u64(BLOCK), last)
    union, moved, sends = u64(0), u64(0), len(msg) > 0
    for index in range(first >> u64(6), (stop + u64(63)) >> u64(6)):
        moved |= active_bits[index]
        if not READS_ITSELF:
            active_bits[index] = u64(0)
        union |= told_bits[index] | active_bits[index]
    if not (everybody or union != u64(0) or HAS_TOTALS and (SUMS_ANEW or moved != u64(0))):
        return u64(0)
    sums, found = NO_TOTALS, u64(0)
    for index in range(first >> u64(6), (stop + u64(63)) >> u64(6)):
        base = index << u64(6)
        due, word, after = told_bits[index] | active_bits[index], u64(0), min(base + u64(64), stop)
        told_bits[index] = u64(0)
        if everybody:
            for v in range(base, after):
                out, into, before = degree_of(degree, v), in_degree_of(in_degree, v), value[v]
                new = apply(i64(v), before, out, into, got[v], own, v, ctx)
                value[v] = new
                if PREMADE and sends:
                    msg[v] = send(i64(v), new, out, 0, ctx)
                if changed(new, before):
                    word |= u64(1) << (v & u64(63))
                sums = add_totals(sums, i64(v), new, before, out, into, own, v, ctx)
        elif due == u64(0):
            if HAS_TOTALS:
                for v in range(base, after):
                    out, into, same = degree_of(degree, v), in_degree_of(in_degree, v), value[v]
                    sums = add_totals(sums, i64(v), same, same, out, into, own, v, ctx)
        else:
            for v in range(base, after):
                bit = u64(1) << (v & u64(63))
                if not HAS_TOTALS and due & bit == u64(0):
                    continue
                out, into, before = degree_of(degree, v), in_degree_of(in_degree, v), value[v]
                new = before
                if due & bit != u64(0):
                    new = apply(i64(v), before, out, into, got[v], own, v, ctx)
                    value[v] = new
                    if PREMADE and sends:
                        msg[v] = send(i64(v), new, out, 0, ctx)
                    if changed(new, before):
                        word |= bit
                sums = add_totals(sums, i64(v), new, before, out, into, own, v, ctx)
        out_bits[index] = word
        found += population(word)
    store_totals(partials, block, sums)
    return found


@kernel
def apply_again_kernel(
    value, got, degree, in_degree, own, active_bits, next_bits, partials, msg, first, last, everybody, ints, floats,
    counter,
):  # fmt: skip
    """apply_block over the blocks of [first, last): next_bits are those told, then those changed. got stays."""
    ctx = context(ints, floats)
    while True:
        block = u64(first) // u64(BLOCK) + claim(counter)
        if block * u64(BLOCK) >= u64(last):
            return 0
        apply_block(
            block, u64(last), value, got, degree, in_degree, own, active_bits, next_bits, next_bits, partials, msg,
            everybody, ctx,
        )  # fmt: skip
