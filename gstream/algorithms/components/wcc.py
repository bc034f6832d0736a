"""Weakly connected components by union-find over the heads, then over what is left outside the giant component.

Afforest (Sutton, Ben-Nun, Barak 2018), with the heads as its neighbour samples:

    link every vertex with its first neighbours, of a directed store along one topology; compress
    giant = most frequent label of a sample
    link the other heads of vertices outside the giant; compress
    sweep the pages that have, of a vertex outside the giant, a list longer than its heads; compress

Which lists may be left out? A vertex in the giant stays there, as trees only grow. Let u -> v be an edge.
* Undirected store: v is in u's list and u in v's. If either list is read, the edge is linked. If both were left out,
  both ends were in the giant, and the edge joins nothing.
* Directed store with both topologies: the same holds of u's out-list and v's in-list.
* Directed store with one topology: the edge is in u's list alone, and v may be outside the giant. All pages are swept.
A list no longer than the heads was linked whole from there. All pages of one topology are swept if there are no heads,
or if the lists outside the giant take more pages; an undirected edge is then linked from its higher end only.

hcc propagates labels instead, which takes as many supersteps as the longest shortest path has edges. If many vertices
still change after some supersteps, union-find does the rest.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gstream.algorithms.components.forest import (
    HostForest,
    check_forest_memory,
    count_roots,
    forest_bytes,
    least_members,
    most_forest_bytes,
    most_frequent,
    names_bytes,
)
from gstream.algorithms.components.slice_forest import (
    count_components,
    fits_slices,
    held_by_slices,
    labels_of_slices,
    named_by_least,
)
from gstream.algorithms.declaration import EXECUTION, START, Algorithm, Work
from gstream.algorithms.support.arguments import rounds_of
from gstream.algorithms.support.former_runs import check_former, former_trees
from gstream.algorithms.support.given_answers import GivenAnswer
from gstream.algorithms.support.part_sweeps import bytes_beside, own_part, plan_of_slices, prove_by_slices
from gstream.algorithms.support.portions import portions
from gstream.algorithms.support.session import Session
from gstream.devices.host.rank_values import RankValues
from gstream.devices.job import DeviceMemoryError
from gstream.engine.part_arrays import PartArrays
from gstream.programs.wcc import WCC, WCC64
from gstream.records.held import Held
from gstream.results.column import Answer, Column
from gstream.telemetry.compiling import Stopwatch
from pagestore.layout import HEAD_NEIGHBOURS

ALGORITHMS = (
    Algorithm(
        "wcc", "weakly connected components, named by their least vertex",
        columns=("vertex", "component"), groups=True, options=(START,),
        plan="program_of_wcc", proof=".component_proofs:certify_wcc", proof_bytes=26, certificate="exact",
        kept="4: trees",
        holds="8, directed 12", units=("cuda:components",),
        work=Work(edges=0.011, gpu_edges=0.02, vertices=6.3, gpu_vertices=0.5, moved=(0.01, 1.0),
                  spread=1.6, read=(0, 0.02, 1), answer=4, brought=0),
    ),
    Algorithm(
        "hcc", "components by label propagation",
        "wcc is faster.",
        columns=("vertex", "component"), groups=True, options=(EXECUTION,),
        plan="program_of_hcc", proof=".component_proofs:certify_wcc", proof_bytes=26, certificate="exact",
        kept="4: labels, or trees",
        directed=False, holds="8",
        otherwise="labels travel along edges one way. Use wcc's union-find, or convert with --undirected.",
        program="gstream.programs.wcc:WCC", units=("cuda:components",),
        work=Work(gpu_edges=5.0, times=(2, 3, 12), moved=(0.7, 1.0), spread=1.5, answer=4),
    ),
)  # fmt: skip

SAMPLED_COLUMNS = 2  # of the first topology's heads, for all vertices; others for vertices outside the giant component
SAMPLES = 1024
FORMER_BYTES = 48  # a vertex, while an earlier answer is read
PATIENCE = 3  # supersteps of label propagation; where most labels travel farther, union-find is through sooner


def run_wcc(session: Session, start: Any = None) -> Answer:
    """Columns and summary of the components; a component's label is its least user ID.

    start: the answer of an earlier run, since which edges were only added. Raises UsageError, InputError."""
    former = None
    if start is None and (by_slices := _by_slices(session)) is not None:
        return by_slices
    if start is not None:
        answer = GivenAnswer(start, "--from")
        check_former(session, answer, "wcc")
        session.check_memory(FORMER_BYTES * session.meta.vertices)
        if session.meta.vertices:
            former = former_trees(session, answer)
            session.reserve(former)
    return _answer(*_united(session, former=former))


def run_hcc(session: Session, execution: str = "sync") -> Answer:
    """Components by label propagation, the HCC of the Edge-Vertex paper and of PEGASUS; undirected stores only.

    execution: "async" goes over a batch of pages several times while it is in memory (gstream.engine.rounds)."""
    if session.resumes("parent"):  # labels were given up before
        return _by_slices(session) or _answer(*_united(session))
    program, stay = program_of_hcc(session), session.ranks is not None and session.stays
    outcome = session.run(program, patience=PATIENCE, rounds=rounds_of(execution), stay=stay)
    supersteps = outcome.supersteps
    if not outcome.converged:
        del outcome  # and its values
        return _by_slices(session, supersteps) or _answer(*_united(session, supersteps))
    found = session.finish(supersteps, outcome.converged)
    if isinstance(outcome.value, RankValues) and (part := own_part(session, session.gathers()[0])) is not None:
        return _named(session, part, outcome.value, found)
    parent = outcome.value.astype(session.id_dtype, copy=False)
    labels, components = least_members(session, parent), int(count_roots(parent))
    return _answer(labels, {"components": components, **found})


def _answer(labels: np.ndarray | Held, found: dict[str, Any]) -> Answer:
    return [Column("component", labels, holds="natural")], found


def _by_slices(session: Session, before: int = 0) -> Answer | None:
    """Union-find where ranks have slices; None: they have not. before: supersteps that came to nothing."""
    name, _ = session.gathers()
    part = own_part(session, name)
    if part is None or not fits_slices(session, part):
        return None
    watch = Stopwatch()
    labels, supersteps = labels_of_slices(session, part, name, before)
    session.stats.loop_seconds = watch.worked()
    return _named(session, part, labels, session.finish(supersteps, True))


def _named(session: Session, part: PartArrays, labels: RankValues, found: dict[str, Any]) -> Answer:
    """Columns and summary of labels, which are store IDs."""
    components = count_components(labels)
    return _answer(named_by_least(session, part, labels), {"components": components, **found})


def program_of_wcc(session: Session, start: Any = None) -> WCC:
    """A program that moves as much as union-find at most, which visits each edge at most once: its first superstep."""
    session.stands_in = True
    if start is None and session.engine.own.splits:
        session.let_stay(proved=True)
        session.holds, session.most_bytes = partial(held_by_slices, session), most_forest_bytes(session)
        session.engine.way = "pull" if session.gathers()[1] else "push"  # over one topology
        prove_by_slices(session, _labels(session))
    else:
        check_forest_memory(session)
    return _labels(session)


def program_of_hcc(session: Session, execution: str = "sync") -> WCC:
    """The program that propagates labels; union-find may follow."""
    session.let_stay(proved=True)
    program = _labels(session)
    prove_by_slices(session, program)
    planned = plan_of_slices(session, program) if session.stays else None
    later = max(names_bytes(session), forest_bytes(session))
    if planned is not None:
        later = sum(held_by_slices(session, planned.graph).values()) + bytes_beside(session, planned)
    session.foresee(later=later)
    return program


def _labels(session: Session) -> WCC:
    return WCC() if session.meta.id_bytes == 4 else WCC64()


def _united(
    session: Session, before: int = 0, former: np.ndarray | None = None
) -> tuple[np.ndarray | Held, dict[str, Any]]:
    """(labels id[V], summary) by union-find. before: supersteps that came to nothing. former: trees to begin with."""
    try:
        return _unite(session, make_forest(session), before, former)
    except DeviceMemoryError:  # GPUs turned out to have less than that takes
        session.engine.beside_bytes = 0
        return _unite(session, HostForest(session), before, former)


def _unite(
    session: Session, forest: Any, before: int, former: np.ndarray | None
) -> tuple[np.ndarray | Held, dict[str, Any]]:
    names, watch, goes_on = session.meta.topologies, Stopwatch(), session.resumes("parent")
    # whole: all pages of the first topology are swept; swept: topologies that were, page: of the next one
    if former is not None and not goes_on:
        forest.kept[:] = former
    kept = session.keep(parent=forest.kept, giant=0, whole=False, swept=0, page=0, before=before, sweeps=0)
    try:
        if former is not None and not goes_on:  # lists of its giant join nothing, but of one topology of two
            kept.giant, kept.whole = most_frequent(former, len(former), SAMPLES), _is_one_way(session, names)
            forest.take_up(kept.giant)
            wanted = None if kept.whole else _pages_outside(session, forest, names, False, least=1)
            kept.sweeps = 1 if wanted is None else len(wanted)
        elif goes_on:
            forest.take_up(kept.giant)
            least = HEAD_NEIGHBOURS + 1 if former is None else 1
            wanted = None if kept.whole else _pages_outside(session, forest, names[kept.swept :], False, least)
        else:
            wanted = _pages_left(session, forest, names) if _link_by_heads(session, forest, names) else None
            kept.whole, kept.sweeps = wanted is None, 1 if wanted is None else len(wanted)
            kept.giant = forest.giant_root() if session.engine.keeper is not None else 0
        for name in names[kept.swept : 1 if wanted is None else len(names)]:
            if wanted is None or name in wanted:
                outside, lower = wanted is not None, wanted is None and not session.meta.directed
                for pages in portions(session, kept, name, None if wanted is None else wanted[name], forest):
                    forest.link_pages(name, outside, lower, pages)
            kept.swept, kept.page = kept.swept + 1, 0
        if kept.sweeps or goes_on or former is not None:
            forest.compress()
        if not forest.labelled:
            kept.end(forest)
        forest.label()
        session.stats.loop_seconds = watch.worked()
        labels, components = forest.labels()
        return labels, {"components": components, **session.finish(kept.before + kept.sweeps, True)}
    finally:
        forest.free()


def _pages_outside(
    session: Session, forest: Any, names: tuple[str, ...], last: bool, least: int = HEAD_NEIGHBOURS + 1
) -> dict[str, np.ndarray]:
    """{topology: bool[pages]} with the pages of lists outside the giant that have `least` edges, as those have that are
    longer than heads; compresses. last: if there are none, all is linked."""
    found: dict[str, np.ndarray] = {}
    for number, name in enumerate(names):
        ends = last and name == names[-1] and not found
        pages = forest.pages_outside(name, least, number == 0, ends)
        if pages is not None:
            found[name] = pages
    return found


def _pages_left(session: Session, forest: Any, names: tuple[str, ...]) -> dict[str, np.ndarray] | None:
    """{topology: bool[pages]} with the pages that must be swept beside the heads, if any; compresses. None: all pages
    of one topology, as no list may be left out or both topologies together have more pages to sweep."""
    if _is_one_way(session, names):
        return None
    wanted = _pages_outside(session, forest, names, True)
    swept = sum(int(np.count_nonzero(pages)) for pages in wanted.values())
    return wanted if swept <= session.store.topology(names[0]).pages else None


def _is_one_way(session: Session, names: tuple[str, ...]) -> bool:
    """Whether an edge stands in the list of one of its ends alone."""
    return session.meta.directed and len(names) < 2


def _link_by_heads(session: Session, forest: Any, names: tuple[str, ...]) -> bool:
    """Link what the heads hold and find the giant component; False if there are no heads, or looking at them takes
    longer.

    The first columns are linked for all vertices, the others for those outside the giant component. These are few, as
    out-lists alone make it nearly as large as both ways do: a directed store's in-heads are hardly followed.
    """
    rows = max(session.head_rows(name) for name in names)
    if rows == 0 or not forest.heads_pay():
        return False
    for column in range(SAMPLED_COLUMNS):
        forest.link_heads(names[0], column, column + 1)
        forest.compress()
    forest.find_giant(rows, SAMPLES)
    for name in names:
        first = SAMPLED_COLUMNS if name == names[0] else 0
        forest.link_heads(name, first, HEAD_NEIGHBOURS, outside=True)
    return True


def make_forest(session: Session) -> Any:
    """A forest on the GPUs of the session's engine where it has them and the vertices fit, else in host memory."""
    check_forest_memory(session)  # of the host's cores, too, which go on where GPUs have less memory than it seemed
    if all(spec.kind == "cuda" for spec in session.engine.specs):
        from gstream.algorithms.components.gpu_forest import GpuForest

        if GpuForest.fits(session):
            return GpuForest(session)
    return HostForest(session)
