"""k-core: the largest subgraph in which every vertex has k neighbours or more; a vertex's core number is its last k.

core(v) = the greatest k such that v is in the k-core (Seidman 1983), as networkx.core_number: on directed graphs a
vertex's neighbours are its out-neighbours and its in-neighbours, added up. The graph is taken as simple: self-loops
don't count, duplicate edges count once. Needs both topologies of a directed store.
Holds 4 bytes a vertex (8 past 2^32 edges) and 3 bits a topology (undirected 4). Each sweep visits the pages of vertices
that the last one took off.

Certificate: with c the answer, (1) every vertex v has c(v) neighbours u with c(u) >= c(v), so core(v) >= c(v); (2)
within each layer {c = k} the vertices can be taken off one after the other, each having at most k neighbours left in
{c >= k}, so no subgraph of minimum degree k + 1 has any of them, and core(v) <= c(v).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms import peeling
from gstream.algorithms.refusal import refuse
from gstream.algorithms.session import Session, SharedKernel
from gstream.algorithms.simple import Simple, both_ways, simple_degrees, simple_dtype
from gstream.hostcode.bitmaps import bitmap, bitmap_bytes, bits_where
from gstream.results import Column
from pagestore.errors import UsageError

LISTED_ROUNDS = 16  # in which few lists are looked up one by one


def run_kcore(session: Session, k: int | None = None) -> tuple[list[Column], dict[str, Any]]:
    """Column core: core numbers; with k, column in_core: 1 in the k-core, else 0. Raises UsageError."""
    if k is not None and k < 0:
        raise UsageError(f"--k {k}: is negative; it counts neighbours. Pass 0 or more, or leave it out.")
    for name in ("out", "in"):
        session.store.topology(name)  # where one is missing, that is said first
    _foresee(session)
    lists = both_ways(session)
    degree = simple_degrees(session, lists)
    session.degrees_done()
    if k is not None:
        k = min(k, 2 * session.meta.vertices + 1)  # past all degrees; numbers of any size are asked for
        rounds = _peel(session, lists, degree, k - 1, newly=False) if k else 0
        inside = (degree >= k).astype(np.uint8)
        found = {"core_vertices": int(np.count_nonzero(inside))}
        return [Column("in_core", inside)], found | session.finish(rounds, True)
    rounds, level, least = 0, 0, np.empty(1, np.uint64)
    while True:
        least[0] = ~np.uint64(0)
        session.each(peeling.least_above, degree, degree.dtype.type(level), least, items=len(degree))
        if least[0] == ~np.uint64(0):
            break
        level = int(least[0])
        rounds += _peel(session, lists, degree, level, newly=True)
    return [Column("core", degree)], {"largest_core": level} | session.finish(rounds, True)


def _foresee(session: Session) -> None:
    """Raise ResourceError where memory lacks room for degrees and bitmaps beside pages."""
    vertices, ways = session.meta.vertices, 1 + session.meta.directed
    session.foresee(vertices * simple_dtype(session, ways).itemsize + 3 * ways * bitmap_bytes(vertices))


def _peel(session: Session, lists: list[Simple], degree: np.ndarray, level: int, newly: bool) -> int:
    """Take off all vertices of degree `level` (those below have been, where `newly`) and who falls to it; rounds."""
    kind = degree.dtype.type
    todo = bitmap(len(degree))
    session.each(peeling.open_level, degree, kind(level), newly, todo, items=len(degree))
    return _take_off(session, lists, todo, peeling.peel, (degree, kind(level)))


def _take_off(session: Session, lists: list[Simple], first: np.ndarray, kernel: Any, arrays: tuple[Any, ...]) -> int:
    """Sweeps until nothing is due; `first`: who is due at the start. Returns the sweeps' rounds."""
    todo, rounds = [first, *(first.copy() for _ in lists[1:])], 0
    # Not `mine` once more: who falls would be due anew after another thread has just looked at its list.
    others = todo[::-1] if len(todo) > 1 else [np.empty_like(first)]
    bits = (*todo, *todo, *others)
    session.hold(*bits)
    while any(mine.any() for mine in todo):
        rounds += 1
        for each, mine, other in zip(lists, todo, others, strict=True):
            now = mine.copy()
            if now.any():
                given = (mine, other, now, each.hubs, each.ends, *arrays)
                shared = SharedKernel(kernel, given, join=_join_falls)
                if rounds <= LISTED_ROUNDS:
                    session.sweep_among(each.name, shared, now)
                else:  # whole pages: who becomes due farther on in them falls in the same sweep, so do chains
                    session.sweep(each.name, shared, session.pages_of(each.name, now))
                mine &= ~now  # large pages', and those of vertices without a list
    session.let_go(*bits)
    return rounds


def _join_falls(arrays: dict[str, Any], copies: list[dict[str, Any]]) -> None:
    """What GPUs' copies come to; each lowered counts by its own pages, so who fell may be seen in none of them."""
    layers = "left" in arrays
    count = arrays["left" if layers else "degree"]
    floor = arrays["core"] if layers else arrays["level"]
    lost = sum((count - copy["left" if layers else "degree"]).astype(np.int64) for copy in copies)
    if not layers:  # a degree never falls below the level
        lost = np.minimum(lost, np.maximum(count, floor) - floor)
    before = count > floor
    count -= lost.astype(count.dtype)
    fallen = bits_where(before & (count <= floor))
    arrays["mine"] |= fallen
    arrays["other"] |= fallen


def certify_kcore(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove core numbers, or membership in one core. Raises CertificateError."""
    k, given = options.get("k"), columns[0].values
    k = None if k is None else min(k, 2 * session.meta.vertices + 1)
    core = given.astype(np.int64)
    if k is not None:
        if not np.all((given == 0) | (given == 1)):
            raise refuse("membership is neither 0 nor 1")
        core += k - 1  # two layers: members, and all others
    if np.any(core < (0 if k is None else k - 1)):
        raise refuse("a core number is negative")
    lists, left = both_ways(session), np.zeros(len(core), np.int64)
    session.hold(core, left)
    for each in lists:
        session.sweep(each.name, SharedKernel(peeling.count_not_below, (each.hubs, each.ends, core, left)))
    few = left < core if k is None else (left < k) & (given == 1)
    if few.any():
        v = int(np.flatnonzero(few)[0])
        raise refuse(f"vertex {session.user_ids([v])[0]} has {left[v]} neighbours in the {core[v]}-core")
    todo = bitmap(len(core))
    session.each(peeling.open_settled, core, left, todo)
    _take_off(session, lists, todo, peeling.take_layers, (core, left))
    stuck = left > core if k is None else (left > core) & (given == 0)
    if stuck.any():
        v = int(np.flatnonzero(stuck)[0])
        raise refuse(f"vertex {session.user_ids([v])[0]} is in a core of more than {core[v]}")
    what = "every core number" if k is None else f"membership in the {k}-core"
    return {"holds": True, "proves": f"{what} by its definition"}
