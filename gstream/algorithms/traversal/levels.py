"""Topological levels of a directed graph without cycles, and its longest paths, by peeling (Kahn 1962).

Vertices without in-edges have level 0 and are taken away, then those that are left without, and so on. A vertex's level
is the number of edges of the longest path to it (its place in NetworkX's topological_generations). With `weighted`,
distance is the greatest total weight of a path to v, at least 0 (NetworkX's dag_longest_path_length).

A page is read for each level that it has a vertex of, every edge once. If few vertices are due at a time, as along long
paths, one host thread goes on from level to level; after many levels it does so instead of a GPU. Vertices that are
left over hold a cycle, which the error names. This is a page kernel and no program, as a program of SUM would sweep all
pages for each level.

Kernels walk out-pages: a list's vertex is the source of its edges.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gstream.algorithms.declaration import ANY, SWITCH, Algorithm, Option, Work
from gstream.algorithms.support.array_sweep import join_falls
from gstream.algorithms.support.lists import OneThread, lists_bytes
from gstream.algorithms.support.refusal import check_said, refuse_vertices
from gstream.algorithms.support.resident import Resident
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.shared import raise_to
from gstream.hostcode.adjacency import stretch
from gstream.hostcode.bitmaps import bitmap, bitmap_bytes, bits_where, is_set, set_bit
from gstream.hostcode.casts import u64
from gstream.hostcode.claims import is_stopped
from gstream.hostcode.intrinsics import atomic_add, trailing_zeros
from gstream.hostcode.jit import kernel
from gstream.records import item_kernel, record_kernel
from gstream.results.column import Answer, Column
from pagestore.errors import InputError

ALGORITHM = Algorithm(
    "levels", "topological levels, and longest paths, of a graph without cycles",
    "The column distance, of the longest path by weight, is there if weighted.",
    definition="most edges of a path that leads to a vertex; weighted, too: greatest weight of one, at least 0",
    columns=("vertex", "level", "distance"), best="largest",
    options=(Option("weighted", SWITCH, False, "longest paths by weight, too"),),
    proof="certify_levels", proof_bytes=32, certificate="exact",
    directed=True, topology="out", otherwise="levels go along edges one way. Convert it as directed.",
    check="check_levels", kept="12, weighted 20: in-edges left, levels, distances",
    holds="16, weighted 24", weights=ANY,
    units=("take_level peel reach_out find_above",), proof_units=("levels_again distances_again",),
    work=Work(edges=3.15, gpu_edges=300.0, moved=(2.0, 100.0), spread=4.0),
)  # fmt: skip

SHOWN = 10  # vertices of a cycle in a message, at most

ROW = 32  # words of bitmaps that are an item: one for each lane


@item_kernel(following="own", bits="own", level="int64[] own", last="own")
def take_level(item, number, passed, following, bits, level, last):
    """`bits` becomes `following`; the level of these vertices is number - 1 + passed, from 0. last: u64[1], the last
    round that had any. An item is ROW words of bits."""
    begin, end = item.share(ROW, len(bits))
    for index in range(begin, end):
        word = following[index]
        following[index] = u64(0)
        bits[index] = word
        if word != u64(0):
            last[0] = u64(number)
        while word != u64(0):
            level[(index << u64(6)) + trailing_zeros(word)] = number - 1 + passed
            word &= word - u64(1)


@record_kernel(left="own", following="own")
def peel(record, bits, left, following):
    """Take the vertices of `bits` away: left[v] of each edge's target falls by 1, and at 0 it is in `following`."""
    if not is_set(bits, record.vertex):
        return
    for v in record.neighbours():
        if atomic_add(left, v, left.dtype.type(-1)) == 1:
            set_bit(following, v)


@kernel
def peel_alone(words, weights, places, left, level, distance, queue, ends, most, counter):
    """Whole levels by one thread (OneThread.go_on): peel and reach_out of the queued vertices, then of those that fall
    to 0. weights of no rows: distance (float64[V]) stays. Returns the edges looked at."""
    begin, end, number, edges = u64(ends[0]), u64(ends[1]), ends[2], u64(0)
    weighted = len(weights) > 0
    while begin != end and end - begin <= u64(most) and not is_stopped(counter):
        after = end
        for index in range(begin, end):
            u, k = u64(queue[index]), u64(0)
            level[u] = number
            while True:
                row, word, more, stride = stretch(words, places, u, k)
                if more == u64(0):
                    break
                for step in range(more):
                    place = word + step * stride
                    v = u64(words[row, place])
                    if weighted:
                        distance[v] = max(distance[v], distance[u] + weights[row, place])
                    left[v] -= left.dtype.type(1)
                    if left[v] == 0:
                        queue[after] = v
                        after += u64(1)
                k += more
            edges += k
        begin, end, number = end, after, number + 1
    ends[0], ends[1], ends[2] = begin, end, number
    return edges


@record_kernel(distance="float64[] max")
def reach_out(record, bits, distance):
    """distance[v] of each edge's target, float64[V], grows to distance[u] + weight; for u in `bits`."""
    u = record.vertex
    if not is_set(bits, u):
        return
    for v in record.neighbours():
        raise_to(distance, v, distance[u] + record.weight())


@record_kernel(above="one")
def find_above(record, left, above):
    """above[v] = some u -> v, of vertices that peeling left over."""
    u = record.vertex
    if left[u] == 0:
        return
    for v in record.neighbours():
        if left[v] != 0:
            above[v] = u


@record_kernel(longest="float64[]", again="float64[] max")
def distances_again(record, longest, again):
    """again[v] (float64[V], 0 at first) = the greatest longest[u] + weight over u -> v, of all edges."""
    for v in record.neighbours():
        raise_to(again, v, longest[record.vertex] + record.weight())


levels_again = distances_again.of_unit_weights("levels_again", longest="int64[]", again="int64[]")  # of levels


def run_levels(session: Session, weighted: bool = False) -> Answer:
    """Columns level (and distance), and the summary: `levels`, `longest`.

    Raises UsageError (an undirected store, no out-topology, no weights), InputError naming a cycle where there is one.
    """
    vertices = session.meta.vertices
    check_levels(session, weighted)
    left, level = session.degree("in").copy(), np.zeros(vertices, np.int64)
    session.degrees_done()
    distance = np.zeros(vertices if weighted else 0)
    bits, following = bitmap(vertices), bits_where(left == 0)
    session.reserve(left, level, distance, bits, following)
    with OneThread(session, ["out"], vertices * session.id_dtype.itemsize, weighted) as alone:
        rounds = _peel(session, alone, weighted, left, level, distance, bits, following)
    if left.any():
        raise _cycle(session, left)
    longest = float(distance.max(initial=0.0)) if weighted else max(0, rounds - 1)
    columns = [Column("level", level)]
    if weighted:
        columns.append(Column("distance", distance))
    return columns, {"levels": rounds, "longest": longest} | session.finish(rounds, True)


def check_levels(session: Session, weighted: bool = False) -> None:
    """Too little memory is said before any work."""
    vertices = session.meta.vertices
    degrees, queue = vertices * session.engine.graph.degree_bytes, vertices * session.id_dtype.itemsize
    held = degrees + vertices * (8 + 8 * weighted) + 2 * bitmap_bytes(vertices)
    most = held + degrees + lists_bytes(session, "out", queue, weighted)
    session.check_memory(held, 2 * degrees, weights=weighted, most=most)


def _peel(
    session: Session, alone: OneThread, weighted: bool, left: np.ndarray, level: np.ndarray, distance: np.ndarray,
    bits: np.ndarray, following: np.ndarray,
) -> int:  # fmt: skip
    """Peel level after level, from the vertices of `following` on; how many levels there are."""
    last, items = np.zeros(1, np.uint64), -(-len(bits) // ROW)
    # done: levels that the one thread made, which count as no rounds
    kept = session.keep(left=left, level=level, distance=distance, following=following, last=last, done=0)

    def rounds(resident: Resident, most: int | None) -> int:
        for number in resident.rounds(last, most, kept):
            resident.each(take_level, items, number, kept.done, following, bits, level, last, items=len(bits))
            if weighted:
                resident.sweep("out", reach_out, (bits, distance), bits)
            resident.sweep("out", peel, (bits, left, following), bits, join=join_falls)
            if not resident.on_gpu and (due := alone.take(following)) is not None:
                fallen = (left, level, distance)
                came = alone.go_on(peel_alone, due, alone.of_first, fallen, following, number + kept.done)
                kept.done = came - number
        resident.forget(bits)
        return int(last[0])

    made = alone.first_on_gpu(rounds, (left, level, distance, bits, following, last), last)
    kept.end()
    return made + int(kept.done)


def _cycle(session: Session, left: np.ndarray) -> InputError:
    """The error that names a cycle among the vertices with in-edges left: each has one from another such vertex."""
    above = np.zeros(len(left), session.id_dtype)
    session.sweep("out", find_above, (left, above))
    v, seen = int(np.flatnonzero(left)[0]), dict[int, int]()
    while v not in seen:
        seen[v] = len(seen)
        v = int(above[v])
    cycle = list(seen)[seen[v] :][::-1]
    names = [str(name) for name in session.user_ids(cycle[:SHOWN])]
    names.append(names[0] if len(cycle) <= SHOWN else f"... ({len(cycle)} vertices)")
    return InputError(
        f"{session.store.path}: has a cycle, {' -> '.join(names)}, and levels needs a graph without one. "
        "Leave an edge of it out, or run scc, which finds what lies on cycles."
    )


def certify_levels(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove levels, and with them that there is no cycle, in one sweep; distances in one more. CertificateError."""
    level = columns[0].values
    again = np.zeros_like(level)
    session.reserve(level, again)
    session.sweep("out", levels_again, (level, again))
    said = "vertex {} is at level {}, but its in-edges say {}"
    refuse_vertices(session, again != level, said, level, again)
    levels, proof = int(level.max(initial=-1)) + 1, "every level is one more than the greatest before it"
    about: dict[str, float] = {}
    check_said(found, levels=levels, **({} if len(columns) > 1 else {"longest": max(0, levels - 1)}))
    if len(columns) > 1:
        distance = columns[1].values
        check_said(found, longest=float(distance.max(initial=0.0)))
        reached = np.zeros_like(distance)
        session.reserve(distance, reached)
        session.sweep("out", distances_again, (distance, reached))
        said = "vertex {} is at {}, its in-edges say otherwise"
        refuse_vertices(session, reached != distance, said, distance)
        # An addition is off by at most 2^-53 of its sum, which is no more than the longest; a path has levels - 1.
        about = {"error_bound": math.expm1(max(0, levels - 1) * 2.0**-53)}
        proof += ", every distance the greatest in float64 sums, off by at most "
        proof += f"{about['error_bound']:.2g} of the longest"
    return {"holds": True, "proves": f"{proof}, so there is no cycle", **about}
