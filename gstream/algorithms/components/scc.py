"""Strongly connected components: u and v are in one if there is a path from u to v and one back.

Up to AT_ONCE edges, one thread finds all components by depth-first search, in linear time (one_thread.py). Larger
graphs are divided first:

1. Two breadth-first searches, along the edges and against them, start at a vertex with many edges of both kinds. The
   vertices that both reach are its component, most often the giant one (Slota, Rajamanickam, Madduri 2014). No other
   component crosses the border of a search.
2. Trimming: a vertex without edges out, or without edges in, is a component of its own (McLendon et al. 2005).
3. The one thread does the rest. GPUs, and hosts whose memory lacks room for the thread's lists, go by rounds of colours
   instead (Orzan 2004). Each vertex begins with its own colour. Colours spread along edges, and the one of highest hash
   stays, so a vertex's colour reaches it. A vertex that reaches its colour, too, is in the component of that colour.
   Where colours spread for long, as along chains, GPUs leave the rest to the thread.

Undirected graphs go to wcc. Certificate: in each component its root reaches all vertices and all reach the root.
Between components there is no cycle: they can be taken off one by one, each without an edge from one that is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.components import one_thread, strong
from gstream.algorithms.components.component_proofs import certify_wcc
from gstream.algorithms.components.forest import check_forest_memory, count_roots, least_natural, relabel
from gstream.algorithms.components.wcc import run_wcc
from gstream.algorithms.declaration import Algorithm, Work
from gstream.algorithms.support.arguments import unreached
from gstream.algorithms.support.array_sweep import join_falls
from gstream.algorithms.support.caps import count_one_topology
from gstream.algorithms.support.lists import lists_bytes, lists_of
from gstream.algorithms.support.refusal import check_said, refuse
from gstream.algorithms.support.session import Session
from gstream.hostcode.bitmaps import bitmap, bitmap_bytes, list_bits, set_bits
from gstream.programs.bfs import BFS, BFSBack
from gstream.results.column import Answer, Column
from pagestore.errors import ResourceError, UsageError
from pagestore.sizes import show_things

ALGORITHM = Algorithm(
    "scc", "strongly connected components, named by their least vertex",
    columns=("vertex", "component"), groups=True,
    check="check_scc", proof="certify_scc", proof_bytes=54, certificate="by its definition",
    kept="13: components, parts, colours; at first what two searches reach",
    holds="17, at first as bfs",
    units=("cuda:components", "gstream.programs.bfs:BFS BFSBack", ".strong:mark_ends spread_colors collect"),
    proof_units=(".strong:check_reach count_entries take_off",),
    work=Work(edges=6.5, gpu_edges=40.0, moved=(1.0, 4.0), spread=2.5, read=(0.5, 0.6, 1), answer=4,
              beyond=(1 << 23, 0.25)),  # AT_ONCE
)  # fmt: skip

LONGEST = 1000  # supersteps of a search: where paths are longer, colours divide them sooner
AT_ONCE = 1 << 23  # edges that one of the host's threads walks without searches: 0.1 s, or 3 s of a path in any order
SWEEPS = 64  # of GPUs, or of a certificate of more edges, before one thread does what is left
OPEN, SPREAD, COLLECT = 0, 1, 2  # stages of a round: it has not begun, colours spread, components are collected
SEARCH_BYTES = 28  # a vertex, of a breadth-first search with heads
TRIMS = 3  # sweeps of trimming in each round, as long as they find something; long chains fall by colours, too


def run_scc(session: Session) -> Answer:
    """Column component. Raises ResourceError."""
    if not session.meta.directed:
        return run_wcc(session)
    vertices = session.meta.vertices
    check_scc(session)
    label = np.full(vertices, session.none, session.id_dtype)
    session.reserve(label)
    at_once = _patience(session) == 0 and not (session.resumes("label") or session.resumes("found"))
    rounds = 1 if at_once and _walk(session, label) else _divide(session, label)
    components = int(count_roots(label))
    least, named = np.full(vertices, session.none, session.id_dtype), np.empty_like(label)
    session.reserve(least, named)
    session.each(least_natural, label, session.natural_ids(), least)
    session.each(relabel, label, least, named)
    found = {"components": components, **session.finish(rounds, True)}
    return [Column("component", named, holds="natural")], found


def _patience(session: Session) -> int:
    """Sweeps after which one thread walks from list to list instead, where there is room."""
    return SWEEPS if session.on_gpus or session.meta.edges > AT_ONCE else 0


def _walk(session: Session, label: np.ndarray) -> bool:
    """Label all vertices that have no label, by one thread; False where host memory has no room for that."""
    vertices, ids = len(label), session.id_dtype.itemsize
    with lists_of(session, session.meta.topologies[0], vertices * (3 * ids + 8)) as lists:
        if lists is None:
            return False
        number, stack, lows = np.zeros_like(label), np.empty_like(label), np.empty_like(label)
        following = np.empty(vertices, np.uint64)
        number[label != session.none] = session.none
        session.reserve(number, stack, lows, following)
        given = (lists.words, lists.places, label, number, stack, lows, following)
        session.look(one_thread.find_strong, *given, items=0, long=True)
        session.release(number, stack, lows, following)
    return True


def _divide(session: Session, label: np.ndarray) -> int:
    """Label all vertices by two searches and rounds of trimming and colours, until one thread does the rest; rounds."""
    vertices, name = len(label), session.meta.topologies[0]
    part, color = np.zeros_like(label), np.zeros_like(label)
    session.reserve(part)
    if not session.resumes("color"):
        _find_giant(session, label, part)
    here, following, left = bitmap(vertices), bitmap(vertices), bitmap(vertices)
    session.reserve(color, here, following, left)
    kept = session.keep(label=label, part=part, color=color, here=here, left=left, rounds=0, stage=OPEN)
    patience = SWEEPS if session.on_gpus else 0

    def join(arrays: dict[str, Any], copies: list[dict[str, Any]]) -> None:
        for copy in copies:
            session.each(strong.take_brighter, arrays["color"], copy["color"])

    def opens() -> bool:
        return bool(session.each(strong.start_round, label, color, part, kept.rounds == 0, kept.here, items=vertices))

    while kept.stage != OPEN or opens():
        if kept.stage == OPEN:
            kept.rounds, kept.stage, left[:] = kept.rounds + 1, SPREAD, kept.here
            _trim(session, name, label, part, left)
            kept.boundary()
        while kept.here.any():
            if patience == 0 and _walk(session, label):
                kept.here[:] = left[:] = 0
                continue
            patience -= 1
            following[:] = 0
            session.sweep_among(name, strong.spread_colors, (label, part, kept.here, color, following), kept.here, join)
            kept.here, following = following, kept.here
            kept.boundary()
        if kept.stage == SPREAD:
            session.each(strong.name_roots, label, color, items=vertices)
            kept.stage = COLLECT
        changed = np.ones(1, np.int64)
        while changed[0]:
            changed[0] = 0
            session.sweep_among(name, strong.collect, (label, color, changed), left)
            kept.boundary()
        kept.stage = OPEN
    kept.end()
    session.release(part, color, here, following, left)
    return int(kept.rounds)


def check_scc(session: Session) -> None:
    """Raise ResourceError if memory lacks room for degrees, for colours and bitmaps beside pages, or for the names at
    the end."""
    vertices, ids = session.meta.vertices, session.id_dtype.itemsize
    if not session.meta.directed:
        check_forest_memory(session)
        return
    bits, degree = bitmap_bytes(vertices), session.engine.graph.degree_bytes
    names = vertices * 5 * ids + 3 * bits
    alone = max(vertices * (2 * ids + 3 * degree), names)
    walked = vertices * ids + lists_bytes(session, session.meta.topologies[0], vertices * (3 * ids + 8))
    if _patience(session) == 0:
        count_one_topology(session)
        most = max(walked, 4 * ids * vertices)
    else:  # label, part and found beside a search; what colours have, beside which the thread may walk
        searched = vertices * (2 * ids + 1 + 2 * degree + SEARCH_BYTES)
        most = max(searched, walked + vertices * (2 * ids + 2 * degree) + 5 * bits)
    session.check_memory(vertices * 3 * ids + 5 * bits, alone, most=most)


def _find_giant(session: Session, label: np.ndarray, part: np.ndarray) -> None:
    """label: of vertices without in- or out-edges, and of the component of a vertex with many edges. part: by which
    searches from it the other vertices were found. Only the former if a search takes long or can't be made."""
    least = np.minimum(session.degree("out"), session.degree("in"))
    session.reserve(least)
    alone = np.flatnonzero(least == 0)
    label[alone] = alone
    session.release(least)
    session.degrees_done()
    if len(alone) == len(label):
        return
    source = session.user_ids([source_id := int(least.argmax())])[0]
    del least, alone
    found = np.zeros(len(label), np.uint8)
    session.reserve(found)
    kept = session.keep(found=found, searched=0)
    for bit, search in ((1, BFS), (2, BFSBack))[kept.searched :]:
        try:
            outcome = session.run(search(source=source), max_supersteps=LONGEST)
        except (UsageError, ResourceError):  # a pull where vertices come by chunks, or more memory than colours take
            session.check_kept()
            break
        if not outcome.converged:
            break
        found[outcome.value != unreached(outcome.value.dtype)] |= bit
        kept.searched += 1
        kept.boundary(rounds=0)
    else:
        label[found == 3] = source_id
        part[:] = found
    session.release(found)


def _trim(session: Session, name: str, label: np.ndarray, part: np.ndarray, left: np.ndarray) -> None:
    leads, met = bitmap(len(label)), bitmap(len(label))
    session.reserve(leads, met)
    for _ in range(TRIMS):
        leads[:] = met[:] = 0
        session.sweep_among(name, strong.mark_ends, (label, part, leads, met), left)
        if not session.each(strong.trim, label, leads, met, items=len(label)):
            break
    session.release(leads, met)


def certify_scc(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove components (labels are natural indices); returns what was proven. Raises CertificateError."""
    if not session.meta.directed:
        return certify_wcc(session, columns, options, found)
    label = columns[0].values
    natural = session.store.natural_ids()
    if np.any(label > natural):
        raise refuse("a component is named by a greater vertex than its least")
    session.reserve(label, natural)
    apart = _find_apart(session, label, natural)
    if len(apart):
        raise refuse(f"vertex {session.user_ids(apart[:1])[0]} and the name of its component do not reach each other")
    _check_acyclic(session, label)
    components = int(np.count_nonzero(label == natural))
    check_said(found, components=components)
    return {
        "holds": True,
        "proves": f"{show_things(components, 'component')}, each strongly connected, and no cycle between them",
    }


def _find_apart(session: Session, label: np.ndarray, natural: np.ndarray) -> np.ndarray:
    """Vertices that are not strongly connected with the name of their component; by one thread's walk some of them."""
    forth, patience = (label == natural).astype(np.uint8), _patience(session)
    back, changed = forth.copy(), np.ones(1, np.int64)
    session.reserve(forth, back)
    while changed[0]:
        apart = _apart_by_walk(session, label, natural) if patience == 0 else None
        if apart is not None:
            return apart
        changed[0], patience = 0, patience - 1
        session.sweep(session.meta.topologies[0], strong.check_reach, (label, forth, back, changed))
    session.release(forth, back)
    return np.flatnonzero((forth == 0) | (back == 0))


def _apart_by_walk(session: Session, label: np.ndarray, natural: np.ndarray) -> np.ndarray | None:
    """_find_apart by a walk; None where host memory has no room for that."""
    vertices = len(label)
    with lists_of(session, session.meta.topologies[0], vertices * (3 * label.itemsize + 8)) as lists:
        if lists is None:
            return None
        number, stack, lows = np.zeros_like(label), np.empty_like(label), np.empty_like(label)
        following = np.empty(vertices, np.uint64)
        session.reserve(number, stack, lows, following)
        given = (lists.words, lists.places, label, natural, number, stack, lows, following)
        lone = session.each(one_thread.prove_strong, *given, items=0, long=True)
        session.release(number, stack, lows, following)
    return np.flatnonzero(number == 0) if lone == vertices else np.array([lone])


def _check_acyclic(session: Session, label: np.ndarray) -> None:
    """Refuse a cycle between components: those without an edge from another are taken off, until none is left."""
    vertices, name, patience = len(label), session.meta.topologies[0], _patience(session)
    left, due, following = np.zeros(vertices, np.int64), bitmap(vertices), bitmap(vertices)
    members = np.argsort(label, kind="stable").astype(np.uint64)
    starts = np.zeros(vertices + 1, np.int64)
    session.reserve(left, due, following, members, starts)
    np.cumsum(np.bincount(label.astype(np.int64), minlength=vertices), out=starts[1:])
    session.sweep(name, strong.count_entries, (label, left))
    free = np.flatnonzero((left == 0) & (np.diff(starts) > 0))
    while len(free):
        if patience == 0 and _take_all_off(session, label, left, starts, members, free):
            break
        patience -= 1
        due[:] = following[:] = 0
        sizes = starts[free + 1] - starts[free]
        set_bits(due, members[np.repeat(starts[free] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())])
        session.sweep_among(name, strong.take_off, (label, due, left, following), due, join_falls)
        free = list_bits(following, 0, vertices).astype(np.int64)
    cyclic = np.flatnonzero(left > 0)
    if len(cyclic):
        named = session.user_ids(members[starts[cyclic[0]] :][:1])[0]
        raise refuse(f"vertex {named} is on a cycle through several components, or behind one")


def _take_all_off(
    session: Session, label: np.ndarray, left: np.ndarray, starts: np.ndarray, members: np.ndarray, free: np.ndarray
) -> bool:
    """Take off the components of labels `free`, and all that are free then, by one thread; False if it lacks room."""
    with lists_of(session, session.meta.topologies[0], 8 * len(label)) as lists:
        if lists is None:
            return False
        queue = np.empty(len(label), np.uint64)
        queue[: len(free)] = free
        given = (lists.words, lists.places, label, left, starts, members, queue, len(free))
        session.each(one_thread.take_all_off, *given, items=0, long=True)
    return True
