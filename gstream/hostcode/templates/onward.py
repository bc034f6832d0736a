"""Supersteps of small frontiers by one thread, one after the other without leaving compiled code
(gstream.engine.small_frontier).

A superstep takes as long as its vertices and edges do, and nothing of it grows with the graph: the frontier is a list,
and the bitmap of active vertices says which are in the list already. Values that a superstep sends are copied before
any is changed, so that they are those from before it, as on any device.

Where the order can't change the answer, the least values of the frontier send first (the greatest of MAX), as in
gstream.engine.delta_stepping: those up to a limit. Others wait in a list of their own, with their active bits set, so
that what is active when the kernel ends is all that has to send. A vertex that waits and improves past the limit goes
over to the frontier: its old entry stays behind, and its value shows that it is stale. The step from limit to limit
grows while a look through the list finds little. The number of stale entries depends on the order of lists, and nothing
depends on it: a run that goes on from a checkpoint, whose lists ascend, makes the same supersteps.
"""

from __future__ import annotations

import math

from gstream.hostcode.bitmaps import is_set
from gstream.hostcode.casts import i64, u64
from gstream.hostcode.jit import helper, inlined, kernel
from gstream.hostcode.one_thread import edges_of, insert, lists_of_all, wait
from gstream.hostcode.templates.methods import (
    USES_EDGE,
    better,
    context,
    degree_of,
    empty,
    key,
    merged,
    send,
    weight_of,
)

# kernels

SHARE, GROWTH = 8, 2.0  # the step doubles where less than an eighth of those that wait come in


@helper
def regrouped(lists, row, held, waiting, value, active_bits, limit, above):
    """Those that wait with keys up to `above` go to list `row`, which is empty; (how many, how many wait still).

    Entries with keys up to `limit` are stale.
    """
    found, left = u64(0), u64(0)
    for number in range(waiting):
        v = held[number]
        rank = key(value[v])
        if not rank <= limit and is_set(active_bits, v):
            if rank <= above:
                found = insert(lists, row, found, v)
            else:
                left = wait(held, left, v)
    return found, left


@helper
def without_stale(held, waiting, value, active_bits, limit):
    """Those that wait, moved up to the front of their list; how many."""
    left = u64(0)
    for number in range(waiting):
        v = held[number]
        if not key(value[v]) <= limit and is_set(active_bits, v):
            left = wait(held, left, v)
    return left


@helper
def least_key(held, waiting, value, active_bits, limit):
    """The least key of the vertices that wait; infinite if none does."""
    least = math.inf
    for number in range(waiting):
        v = held[number]
        rank = key(value[v])
        if not rank <= limit and rank < least and is_set(active_bits, v):
            least = rank
    return least


@helper
def take_off(lists, here, vertices, value, active_bits, sent):
    """The vertices of a list are active no more, and `sent` has what they send."""
    for number in range(vertices):
        v = lists[here, number]
        sent[number] = value[v]
        active_bits[v >> u64(6)] &= ~(u64(1) << (v & u64(63)))


@inlined
def push_lists(
    words, weights, degree, value, active_bits, lists, here, held, waiting, live, limit, sent, records, count, ctx
):  # fmt: skip
    """Push along `count` stretches of the lists of list `here`; what changes goes to the other list, or waits.

    Returns how many are on that list, the edges looked at, and the entries and vertices that wait.
    """
    found, looked = u64(0), u64(0)
    for record in range(count):
        row, begin, length = u64(records[record, 0]), u64(records[record, 1]), u64(records[record, 2])
        place, stride = u64(records[record, 3]), u64(records[record, 4])
        u, u_value = lists[here, place], sent[place]
        if empty(u_value):
            continue
        out = degree_of(degree, u)
        looked += length
        message = send(i64(u), u_value, out, weight_of(weights, row, begin), ctx)
        for k in range(length):
            word = begin + k * stride
            target = u64(words[row, word])
            if target >= u64(len(value)):
                continue
            if USES_EDGE:
                message = send(i64(u), u_value, out, weight_of(weights, row, word), ctx)
            old = value[target]
            if not better(message, old):
                continue
            new = merged(old, message)
            value[target] = new
            before, bit = is_set(active_bits, target), u64(1) << (target & u64(63))
            active_bits[target >> u64(6)] |= bit
            if key(new) > limit:
                if not before:
                    if waiting == u64(len(held)) and live < waiting:
                        active_bits[target >> u64(6)] &= ~bit  # no entry yet
                        waiting = without_stale(held, waiting, value, active_bits, limit)
                        active_bits[target >> u64(6)] |= bit
                    waiting = wait(held, waiting, target)
                    live += u64(1)
            elif not before or key(old) > limit:
                if before:
                    live -= u64(1)
                found = insert(lists, here ^ u64(1), found, target)
    return found, looked, waiting, live


@kernel
def push_onward_kernel(
    words, weights, rows, first_vertex, last_vertex, small, read, degree, value, active_bits, lists, held, sent,
    records, stamps, stretch, steps, state, told, superstep_at, ints, floats,
):  # fmt: skip
    """Supersteps from a frontier on, until it is too large, empty, or has a page that was not read.

    lists: uint64[2, most]; those of the frontier that send are in row 0, and again at the end, others in held:
    uint64[most that wait]. sent: value[most]; records: int64[most stretches, 5]; stamps: int64[pages], changed.
    steps: float64[3], from the least key to the limit of those that send at first (infinite: all do), now; the limit,
    NaN where all wait. told: int64[n, 4], (vertices, pages, edges looked at, vertices that wait) of each superstep; a
    last row sums up those past n - 1. Returns the edges looked at. state: int64[11]:
    0 vertices that send, 1 their edges, 8 entries of those that wait, 9 vertices that do, before and after; 10 the most
    that may wait; 2 edges that no frontier had so far
    3 edges up to which a frontier is not too large; 4 the same as one in this many of the edges left (0: no such limit)
    5 supersteps to make at most, then made; 6 vertices and edges to look at in all, about; then the vertices of the
    last frontier before the present one; 7 the first stamp
    """
    vertices, edges, unexplored, waiting, live = u64(state[0]), state[1], state[2], u64(state[8]), u64(state[9])
    most, share, most_steps, rest, room = state[3], state[4], state[5], state[6], u64(lists.shape[1])
    most_waiting = u64(state[10])
    made, looked_at, last, here, limit = i64(0), u64(0), i64(0), u64(0), steps[2]
    while made < most_steps and rest > 0:
        if vertices == u64(0):
            above = least_key(held, waiting, value, active_bits, limit) + steps[1]
            rest -= i64(waiting)
            vertices, left = regrouped(lists, here, held, waiting, value, active_bits, limit, above)
            steps[1] = steps[1] * GROWTH if vertices * u64(SHARE) < live else steps[0]
            waiting, live, limit = left, left, above
            edges = edges_of(lists, here, vertices, degree)
            if vertices == u64(0) or vertices > room or edges > most:
                break
        ints[superstep_at] += 1
        count, pages = lists_of_all(
            words, rows, first_vertex, last_vertex, small, read, lists, here, vertices, stretch, records, stamps,
            state[7] + made,
        )  # fmt: skip
        if count > u64(len(records)):  # or UNREAD
            ints[superstep_at] -= 1
            break
        ctx, waited = context(ints, floats), live
        take_off(lists, here, vertices, value, active_bits, sent)
        found, looked, waiting, live = push_lists(
            words, weights, degree, value, active_bits, lists, here, held, waiting, live, limit, sent, records, count,
            ctx,
        )  # fmt: skip
        at = min(made, i64(len(told)) - i64(1))
        told[at, 0] += i64(vertices)
        told[at, 1] += pages
        told[at, 2] += i64(looked)
        told[at, 3] += i64(waited)
        made += i64(1)
        looked_at += looked
        rest -= i64(vertices) + i64(looked)
        unexplored = max(i64(0), unexplored - edges)
        last, vertices, here = i64(vertices), found, here ^ u64(1)
        edges = edges_of(lists, here, vertices, degree)
        if vertices + live == u64(0) or vertices > room or live > most_waiting or edges > most:
            break
        if waiting > u64(len(held)):  # lists are longer than degrees say
            break
        if share > 0 and edges > unexplored // share:
            break
    if here != u64(0):
        for number in range(min(vertices, room)):
            lists[0, number] = lists[1, number]
    state[0], state[1], state[2], state[5], state[6] = i64(vertices), edges, unexplored, made, last
    state[8], state[9], steps[2] = i64(waiting), i64(live), limit
    return looked_at
