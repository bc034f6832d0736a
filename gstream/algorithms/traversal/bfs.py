"""Breadth-first search, up to a radius as khop: distances by a program, predecessors by a pass of their own.

distance(v) = fewest edges of a path along out-edges from the nearest source (networkx's
single_source_shortest_path_length, ego_graph).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.declaration import (
    EITHER_WAY,
    PREDECESSORS,
    RADIUS,
    SOURCE,
    START,
    TARGETS,
    WHOLE,
    Algorithm,
    Option,
    Work,
)
from gstream.algorithms.support.arguments import source_ids, unreached
from gstream.algorithms.support.counting import count_others
from gstream.algorithms.support.part_sweeps import prove_by_slices
from gstream.algorithms.support.session import Session
from gstream.algorithms.traversal.bothways import near_both
from gstream.algorithms.traversal.later import go_on
from gstream.algorithms.traversal.predecessors import find_predecessors, predecessor_bytes
from gstream.algorithms.traversal.slice_predecessors import keep_slices
from gstream.algorithms.traversal.targets import Targets
from gstream.programs.bfs import BFS
from gstream.records.held import Held, on_host
from gstream.results.column import Answer, Column
from gstream.results.result import LDBC_NO_HOPS
from pagestore.errors import UsageError

ALGORITHMS = (
    Algorithm(
        "bfs", "breadth-first search: fewest edges from a source",
        """From the nearest source along out-edges. Of several predecessors that are as near, the one of least ID is
        taken.""",
        columns=("vertex", "distance", "predecessor"),
        options=(
            SOURCE,
            Option("depth_limit", WHOLE, None, "go at most N edges far; default: to the end", True),
            PREDECESSORS, TARGETS, START,
        ),
        plan="program_of_bfs", proof=".distance_proofs:certify_bfs", proof_bytes=16, certificate="exact",
        kept="4: distances",
        holds="8, heads 16, predecessors 4, reordered 12 more",
        program="gstream.programs.bfs:BFS",
        units=(
            ".nearest:make_keys draw push_key pull_key take_least", ".nearest:open_orphans nearest_by_hops",
            ".nearest:open_pushing open_childless", ".later:step_on",
        ),
        proof_units=(".distance_proofs:check_hops",),
        work=Work(edges=0.35, gpu_edges=0.4, vertices=17.5, gpu_vertices=2, moved=(0.1, 1.2), answer=8,
                  switched=(("predecessors", 0.35),)),
    ),
    Algorithm(
        "khop", "vertices within some edges of a source",
        "The distance is null elsewhere.",
        columns=("vertex", "distance"), options=(SOURCE, RADIUS, EITHER_WAY),
        plan="program_of_khop", proof=".distance_proofs:certify_khop", proof_bytes=12, certificate="exact",
        kept="4: distances",
        holds="8, heads 16",
        program="gstream.programs.bfs:BFS", units=(".bothways:step_both",),
        proof_units=(
            ".nearest:nearest_by_hops", ".distance_proofs:check_hops", ".bothways:check_both",
        ),
        work=Work(edges=0.03, gpu_edges=0.1, vertices=0.8, gpu_vertices=1, moved=(0.1, 1.0), spread=4.0,
                  read=(0, 0.9, 1), answer=4),
    ),
)  # fmt: skip


def run_bfs(
    session: Session, source: Any, depth_limit: int | None = None, predecessors: bool = True, targets: Any = None,
    start: Any = None,
) -> Answer:  # fmt: skip
    """Columns distance (and predecessor), and the summary.

    source: one user ID or several (distance to the nearest). depth_limit: vertices farther away count as not reached,
    as do those beyond the farthest of `targets`. start: the answer of an earlier run; edges were only added since.
    Raises UsageError (no source or target, or one that is not in the graph; a negative limit).
    """
    program = program_of_bfs(session, source, depth_limit, predecessors, targets, start)
    sources = session.store.lookup(program.source)
    aim = Targets(session, sources, targets, "bfs", weighted=False)
    depth = min((one for one in (depth_limit, aim.steps) if one is not None), default=None)
    if start is None:
        outcome = session.run(program, max_supersteps=depth, stay=session.stays)
        distance, supersteps, converged = outcome.value, outcome.supersteps, outcome.converged
    else:
        refuse_ends(depth_limit, targets)
        asked = {"source": list(program.source), "depth_limit": None, "targets": None}
        distance, supersteps = go_on(session, start, "bfs", program.value.dtype, session.later, **asked)
        converged = True
    distance = distance if targets is None else on_host(distance)
    limit = aim.cut(distance, none=None, limit=depth_limit, most=depth)
    columns = [distance_column(distance, LDBC_NO_HOPS)]
    if predecessors:
        above, reached = find_predecessors(session, distance, sources, weighted=False)
        columns.append(predecessor_column(session, above))
    else:
        reached = count_reached(session, distance)
    found = session.finish(supersteps, converged or supersteps == depth)
    found |= {} if targets is None or limit is None else {"limit": int(limit)}
    return columns, found | {"reached": reached}


def refuse_ends(limit: Any, targets: Any) -> None:
    """Raise UsageError where a search that goes on would end before all is found."""
    if limit is not None or targets is not None:
        raise UsageError("--from: needs a search of the whole graph. Leave the limit and --targets out.")


def program_of_bfs(
    session: Session, source: Any, depth_limit: int | None, predecessors: bool, targets: Any = None, start: Any = None,
    whole: bool = False,
) -> BFS:  # fmt: skip
    """The program of a search. whole: all ranks hold values of all vertices in any case. Raises UsageError (no source,
    negative limit)."""
    ids = source_ids(source, "bfs")
    if depth_limit is not None and depth_limit < 0:
        raise UsageError(f"--depth-limit {depth_limit}: is negative; it counts edges from the source. Pass 0 or more.")
    whole |= predecessors and not keep_slices(session)
    session.let_stay(whole=whole or targets is not None or start is not None, proved=True)
    program = BFS(source=ids)
    prove_by_slices(session, program)
    if predecessors or session.proof_bytes:  # a certificate looks for predecessors that are not there
        session.foresee(later=predecessor_bytes(session, program, weighted=False))
    return program


def run_khop(session: Session, source: Any, radius: float = 1, undirected: bool = False) -> Answer:
    """Column distance of the vertices within `radius` edges of the nearest source, null elsewhere; and the summary.
    undirected: along edges either way. Raises UsageError (no source, negative radius)."""
    radius = whole_radius(radius)
    ids = source_ids(source, "khop")
    if not (undirected and session.meta.directed):
        return run_bfs(session, source, radius, predecessors=False)
    distance, rounds = near_both(session, session.store.lookup(ids), radius)
    found = session.finish(rounds, True)
    return [distance_column(distance, LDBC_NO_HOPS)], found | {"reached": count_reached(session, distance)}


def whole_radius(radius: float) -> int:
    """The radius as a number of edges. Raises UsageError where it is none."""
    if not (isinstance(radius, int) and radius >= 0):
        raise UsageError(f"--radius {radius}: must be a whole number of at least 0; it counts edges from the source.")
    return radius


def program_of_khop(session: Session, source: Any, radius: float, undirected: bool) -> BFS:
    """The program of a search. Raises UsageError (no source; negative radius; edges of a directed graph either way)."""
    radius = whole_radius(radius)
    either_way = undirected and session.meta.directed
    if either_way:
        session.check_memory(session.meta.vertices * BFS.value.dtype.itemsize)
        session.stands_in = True  # for page kernels
    return program_of_bfs(session, source_ids(source, "khop"), radius, predecessors=False, whole=either_way)


def distance_column(distance: np.ndarray | Held, ldbc_missing: str, dtype: Any = None) -> Column:
    """Distances: null where there is no path. dtype: of tables; None: floats keep their type, integers become int64."""
    return Column("distance", distance, unreached(distance.dtype), dtype=dtype, ldbc_missing=ldbc_missing)


def predecessor_column(session: Session, predecessor: np.ndarray | Held) -> Column:
    """Predecessors: null at sources and where there is no path."""
    natural = isinstance(predecessor, Held) and predecessor.of_ranks
    return Column("predecessor", predecessor, session.none, holds="natural" if natural else "store")


def count_reached(session: Session, distance: np.ndarray | Held) -> int:
    """Vertices with a path from a source."""
    return count_others(session, distance, unreached(distance.dtype))
