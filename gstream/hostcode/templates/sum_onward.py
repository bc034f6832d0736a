"""Supersteps of SUM by one thread, one after the other without leaving compiled code (gstream.engine.settled_sums).

Which vertices are summed again, and which `apply` sees, is as in sum_again.py. Lists, blocks and totals are added up in
the driver's order, so that values have the same bits as the driver's.
"""

from __future__ import annotations

from gstream.hostcode.casts import i64, u64
from gstream.hostcode.generate import BLOCK
from gstream.hostcode.intrinsics import trailing_zeros
from gstream.hostcode.jit import helper, kernel
from gstream.hostcode.one_thread import add_partials, tell
from gstream.hostcode.page_words import head_of, records_of, vertex_of
from gstream.hostcode.parts import EDGES_A_PART, place_of
from gstream.hostcode.templates.methods import (
    APPLIES_ANEW,
    GOT,
    PREMADE,
    SENDS_ANEW,
    context,
    degree_of,
    halt,
    same_totals,
    send,
)
from gstream.hostcode.templates.scalar_pull_sum import summed
from gstream.hostcode.templates.sum_again import apply_block, sum_of_slot

# kernels


@helper
def sum_of_hub(words, weights, first_vertex, row, source, degree, ctx):
    """(what the vertex gets whose list begins in large page `row`, its edges, the page after them): part by part."""
    pages, v = u64(len(first_vertex)), first_vertex[row]
    got, edges = GOT(0), u64(0)
    while row < pages and first_vertex[row] == v:
        word = head_of(words, row, u64(0)) + u64(1)
        count = u64(words[row, word - u64(1)])
        end = word + count
        while word < end:
            after = min(word + u64(EDGES_A_PART), end)
            got += summed(words, weights, row, word, after - word, source, u64(0), degree, ctx)
            word = after
        edges += count
        row += u64(1)
    return got, edges, row


@helper
def pull_all(words, weights, first_vertex, small, source, got, degree, ctx):
    """got[v] of all vertices that have a list; their edges."""
    pages, edges = u64(len(first_vertex)), u64(0)
    for row in range(u64(small)):
        for slot in range(records_of(words, row)):
            v = vertex_of(words, row, slot)
            got[v], count = sum_of_slot(words, weights, row, slot, source, degree, ctx)
            edges += count
    hub = u64(small)
    while hub < pages:
        v = u64(first_vertex[hub])
        got[v], count, hub = sum_of_hub(words, weights, first_vertex, hub, source, degree, ctx)
        edges += count
    return edges


@helper
def pull_told(words, weights, rows, first_vertex, last_vertex, small, read, told_bits, source, got, degree, ctx):
    """got[v] of the vertices of a bitmap; (their edges, their pages)."""
    edges, pages, hint, last = u64(0), u64(0), u64(0), u64(len(rows))
    for index in range(u64(len(told_bits))):
        word = told_bits[index]
        while word != u64(0):
            v = (index << u64(6)) + trailing_zeros(word)
            word &= word - u64(1)
            row, slot = place_of(words, rows, first_vertex, last_vertex, small, read, v, hint)
            if row < u64(small):
                got[v], count = sum_of_slot(words, weights, row, slot, source, degree, ctx)
                pages += u64(row != last)
                hint = last = row
            else:
                got[v], count, after = sum_of_hub(words, weights, first_vertex, row, source, degree, ctx)
                pages += after - row
            edges += count
    return edges, pages


@helper
def send_again(value, source, degree, active_bits, everybody, ctx):
    """The messages of active vertices, or of all, that pulls gather."""
    for index in range(u64(len(active_bits))):
        word = ~u64(0) if everybody else active_bits[index]
        while word != u64(0):
            v = (index << u64(6)) + trailing_zeros(word)
            word &= word - u64(1)
            if v >= u64(len(value)):
                break
            source[v] = send(i64(v), value[v], degree_of(degree, v), 0, ctx)


@kernel
def sum_onward_kernel(
    words, weights, rows, first_vertex, last_vertex, small, out_words, out_rows, out_first, out_last, out_small, read,
    value, source, got, degree, in_degree, own, active_bits, told_bits, partials, no_messages, applied, state, told,
    superstep_at, ints, floats,
):  # fmt: skip
    """Supersteps until the program halts, nothing changes, or too much does.

    words to small: pages of in-lists, out_words to out_small: of out-lists, or none; read: bool[0]. got: of all
    vertices, what they got in the superstep before. told_bits: all clear, before and after. partials: float64[blocks,
    totals]. no_messages: message[0]. applied: float64[totals], those that `apply` saw last.
    told: int64[n, 4], (vertices active at its beginning, pages, edges looked at, 0) of each superstep; a last row sums
    up those past n - 1. Returns the edges looked at. state: int64[8]:
    0 supersteps to make at most, then made; 1 vertices and edges to look at in all, about; 2 active vertices, before
    and after; 3 edges that active vertices may tell over
    4 whether got is that of the first superstep already; 5 whether one thread may look at all vertices and 6 all edges;
    7 whether to go on though nothing changes, then whether it stopped because too much does
    """
    most_steps, rest, active, exactly = state[0], state[1], u64(state[2]), state[7] != 0
    pulled, made, looked_at, stopped = state[4] != 0, i64(0), u64(0), i64(0)
    while made < most_steps and rest > 0:
        everybody = pulled or APPLIES_ANEW or not same_totals(floats, applied)
        if everybody and not pulled and state[5] == 0:
            stopped = i64(1)
            break
        ints[superstep_at] += 1
        ctx = context(ints, floats)
        edges, pages, dense = u64(0), u64(0), SENDS_ANEW or len(out_rows) == 0 or state[3] == 0
        if not pulled:
            if PREMADE:
                send_again(value, source, degree, active_bits, SENDS_ANEW, ctx)
            if not dense:
                edges = tell(
                    out_words, out_rows, out_first, out_last, out_small, read, active_bits, told_bits, state[3]
                )  # fmt: skip
                dense = edges > u64(state[3])
            if dense and state[6] == 0:
                for index in range(u64(len(told_bits))):
                    told_bits[index] = u64(0)
                ints[superstep_at] -= 1
                stopped = i64(1)
                break
            if dense:
                edges += pull_all(words, weights, first_vertex, small, source, got, degree, ctx)
                pages, everybody = u64(len(rows)), True
            else:
                more, pages = pull_told(
                    words, weights, rows, first_vertex, last_vertex, small, read, told_bits, source, got, degree, ctx
                )  # fmt: skip
                edges += more
        for total in range(u64(len(applied))):
            applied[total] = floats[total]
        found, vertices = u64(0), u64(len(value))
        for block in range((vertices + u64(BLOCK - 1)) // u64(BLOCK)):
            found += apply_block(
                block, vertices, value, got, degree, in_degree, own, active_bits, told_bits, active_bits, partials,
                no_messages, everybody, ctx,
            )  # fmt: skip
        add_partials(partials, floats)
        at = min(made, i64(len(told)) - i64(1))
        told[at, 0] += i64(active)
        told[at, 1] += i64(pages)
        told[at, 2] += i64(edges)
        made += i64(1)
        looked_at += edges
        rest -= i64(edges) + i64(len(value) if everybody else len(active_bits))
        active, pulled = found, False
        if halt(context(ints, floats)) or active == u64(0) and not exactly:
            break
    state[0], state[2], state[4], state[7] = made, i64(active), i64(pulled), stopped
    return looked_at
