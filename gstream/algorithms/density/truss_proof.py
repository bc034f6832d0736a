"""Certificate of k-trusses: edges are taken off one by one, over whole lists that the pages are copied to.

Let t be the answer's numbers (with k: members' are k, all others' less). Level by level, upwards:
1. Every edge of number t that is left is in t - 2 triangles of what is left or more, so its truss number is at least t.
2. All edges of number t can be taken off one by one, each in t - 2 triangles at most by then. So no subgraph whose
   edges are all in t - 1 triangles has any of them, and the number is at most t.
One thread does it with a queue (Wang, Cheng 2012), not by rounds. An edge is the place of its greater end in its lesser
end's list. Holds 8 bytes a vertex, and of 4-byte IDs 40 bytes an edge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.support.blocks import join_lists
from gstream.algorithms.support.edgerows import check_ascending
from gstream.algorithms.support.listsort import new_stack, sort_range
from gstream.algorithms.support.refusal import check_said, refuse
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.shared import blocks
from gstream.algorithms.support.simple import both_ways, simple_degrees
from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import helper, kernel, kernel_with_arrays
from gstream.hostcode.search import lower_bound
from gstream.records import record_kernel
from gstream.results.column import Column

NONE = u64(0xFFFFFFFFFFFFFFFF)
GONE = 0xFFFFFFFF  # the number of an edge that was taken off


@record_kernel(cursor="own", entries="own")
def copy_lists(record, hubs, ends, cursor, entries):
    """entries: the neighbours of each vertex, each once, not itself; cursor: u8[V], where the next one goes."""
    v = record.vertex
    for u in record.distinct(hubs, ends):
        if u != v:
            entries[atomic_add(cursor, v, u64(1))] = u


@kernel_with_arrays
def sort_lists(starts, lists, bits, counter):
    """Sort each list: hubs' stretches are copied in any order. bits: of a vertex's number."""
    stack = new_stack()
    for v, after in blocks(counter, len(starts) - 1, 1):
        sort_range(lists, starts[v], starts[after], u64(bits), stack)
    return u64(0)


@helper
def place_of(starts, lists, v, u):
    """The place of u in v's list; NONE where it is not there."""
    end = starts[v + u64(1)]
    at = lower_bound(lists, starts[v], end, u)
    return at if at < end and lists[at] == u else NONE


@helper
def first_from(lists, at, end, wanted):
    """The first place past `at` whose entry is not less than `wanted`, or `end`; the entry at `at` is less. It takes
    the logarithm of the way there, so a short list meets a long one in a time by the short one's length."""
    step = u64(1)
    while at + step < end and lists[at + step] < wanted:
        at += step
        step <<= u64(1)
    return lower_bound(lists, at + u64(1), min(at + step, end), wanted)


@helper
def next_common(lists, a, end_a, b, end_b):
    """The first places from a and b on of an entry that both lists have; one of them is its end where there is none."""
    while a < end_a and b < end_b and lists[a] != lists[b]:
        if lists[a] < lists[b]:
            a = first_from(lists, a, end_a, lists[b])
        else:
            b = first_from(lists, b, end_b, lists[a])
    return a, b


@helper
def edge_of(starts, lists, v, u):
    """The edge between v and u, by its lesser end."""
    return place_of(starts, lists, min(v, u), max(v, u))


@kernel
def number_edges(starts, lists, source, target, given, number):
    """number (u4[entries]) of the edges given; returns how many came before one that is no edge, or is there twice."""
    for row in range(u64(len(source))):
        edge = edge_of(starts, lists, u64(source[row]), u64(target[row]))
        if edge == NONE or number[edge] != 0:
            return row
        number[edge] = given[row]
    return u64(len(source))


@kernel
def count_triangles(starts, lists, support, counter):
    """support (u4[entries]): triangles of each edge, in the whole graph."""
    for v, after in blocks(counter, len(starts) - 1, 1):
        end_a = starts[after]
        for edge in range(starts[v], end_a):
            u = u64(lists[edge])
            if u < v:
                continue
            end_b = starts[u + u64(1)]
            a, b = next_common(lists, starts[v], end_a, starts[u], end_b)
            while a < end_a and b < end_b:
                support[edge] += 1
                a, b = next_common(lists, a + u64(1), end_a, b + u64(1), end_b)
    return u64(0)


@kernel
def take_level(starts, lists, number, support, owner, level, queue):
    """Take off edges of number `level` in level - 2 triangles at most, and those that fall to that; how many went.
    owner: id[entries], whose list it is. queue: u8[edges]."""
    length, done, most = u64(0), u64(0), u64(level - 2)
    for edge in range(u64(len(lists))):
        if lists[edge] > owner[edge] and number[edge] == level and support[edge] <= most:
            queue[length] = edge
            length += u64(1)
    while done < length:
        edge = queue[done]
        done += u64(1)
        v, u = u64(owner[edge]), u64(lists[edge])
        number[edge] = GONE
        end_a, end_b = starts[v + u64(1)], starts[u + u64(1)]
        a, b = next_common(lists, starts[v], end_a, starts[u], end_b)
        while a < end_a and b < end_b:
            w = u64(lists[a])
            one, two = edge_of(starts, lists, v, w), edge_of(starts, lists, u, w)
            if number[one] != GONE and number[two] != GONE:
                for side in (one, two):
                    support[side] -= 1
                    if number[side] == level and support[side] == most:
                        queue[length] = side
                        length += u64(1)
            a, b = next_common(lists, a + u64(1), end_a, b + u64(1), end_b)
    return length


def certify_ktruss(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove truss numbers, or membership in one truss; returns what was proven. Raises CertificateError."""
    k, vertices = options.get("k"), session.meta.vertices
    starts, lists = _whole_lists(session)
    edges = len(lists) // 2
    number, support = np.zeros(len(lists), np.uint32), np.zeros(len(lists), np.uint32)
    owner = np.repeat(np.arange(vertices, dtype=lists.dtype), np.diff(starts).astype(np.int64))
    queue = np.empty(edges, np.uint64)
    session.reserve(number, support, owner, queue)
    upper = lists > owner
    last = 2 if k is None else min(max(k, 2), vertices + 2)
    _give_numbers(session, columns, starts, lists, number, None if k is None else last)
    if k is None:
        if np.any(number[upper] < 2):
            raise refuse("an edge has no number")
        levels = [int(level) for level in np.unique(number[upper])]
    else:
        number[upper & (number == 0)] = last - 1
        levels = [last - 1] if last > 2 else []
        if last == 2 and np.any(number[upper] != 2):
            raise refuse("an edge of the graph is missing")
    session.each(count_triangles, starts, lists, support, long=True)
    for level in levels:
        here = upper & (number == level)
        if k is None:
            _check_support(session, lists, owner, here & (support < level - 2), level)
        if int(take_level(starts, lists, number, support, owner, level, queue)) < np.count_nonzero(here):
            stuck = int(np.flatnonzero(upper & (number == level))[0])
            ends = session.user_ids([owner[stuck], lists[stuck]])
            raise refuse(f"the edge between {ends[0]} and {ends[1]} is in a truss of more than {level}")
    if k is not None:
        _check_support(session, lists, owner, upper & (number == last) & (support < last - 2), last)
    check_said(
        found,
        truss_edges=len(columns[0].values),
        largest_truss=int(columns[2].values.max(initial=0)) if k is None else 0,
    )
    what = "every truss number" if k is None else f"membership in the {k}-truss"
    return {"holds": True, "proves": f"{what} by its definition"}


def _whole_lists(session: Session) -> tuple[np.ndarray, np.ndarray]:
    """(starts u8[V + 1], neighbours id[2 * edges]) of the graph as a simple one, lists ascending."""
    simple = both_ways(session)
    degree = simple_degrees(session, simple)
    starts = np.zeros(len(degree) + 1, np.uint64)
    np.cumsum(degree, out=starts[1:])
    cursor, lists = starts[:-1].copy(), np.empty(int(starts[-1]), session.id_dtype)
    session.reserve(starts, cursor, lists)
    session.sweep(simple[0].name, copy_lists, (simple[0].hubs, simple[0].ends, cursor, lists), join=join_lists)
    session.each(sort_lists, starts, lists, len(degree).bit_length(), long=True)
    return starts, lists


def _give_numbers(
    session: Session, columns: list[Column], starts: np.ndarray, lists: np.ndarray, number: np.ndarray, k: int | None
) -> None:
    """number: of the answer's rows; k: of all of them, where they have none."""
    ends = [column.values for column in columns[:2]]
    if len(ends[0]) and max(int(column.max()) for column in ends) >= session.meta.vertices:
        raise refuse("an edge's end is no vertex")
    check_ascending(*ends)
    if session.meta.order != "natural":
        stored = session.store.store_ids()
        ends = [stored[column] for column in ends]
    given = np.full(len(ends[0]), k, np.uint32) if k is not None else columns[2].values
    row = int(number_edges(starts, lists, *ends, given, number))
    if row < len(given):
        names = session.user_ids([column[row] for column in ends])
        raise refuse(f"there is no edge between {names[0]} and {names[1]}, or it is named twice")


def _check_support(session: Session, lists: np.ndarray, owner: np.ndarray, few: np.ndarray, level: int) -> None:
    """Raise CertificateError where an edge is in fewer triangles than its number says."""
    if few.any():
        edge = int(np.flatnonzero(few)[0])
        ends = session.user_ids([owner[edge], lists[edge]])
        raise refuse(f"the edge between {ends[0]} and {ends[1]} is not in {level - 2} triangles of the {level}-truss")
