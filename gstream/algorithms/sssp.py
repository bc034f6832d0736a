"""Shortest paths as a user calls them: the arithmetic fits the weights, so whole-number distances are exact.

distance(v) = least sum of weights of a path along out-edges from the nearest source (networkx's multi-source Dijkstra).
Integer weights: sums in u32 where no path can reach 2^32 - 1, else in i64. Float weights: float32, and again in float64
where that holds no such sums (gstream.algorithms.floatsums), or at once on request; then a distance is the least sum in
that arithmetic.

Runs gstream.programs.sssp; needs weights of 0 or more; holds 8 to 12 bytes a vertex, of predecessors 8 more;
certificate: gstream.algorithms.certify.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gstream.algorithms import floatsums
from gstream.algorithms.bfs import count_reached, distance_column, predecessor_column, source_ids
from gstream.algorithms.caps import foresee_runs
from gstream.algorithms.predecessors import find_predecessors, held_bytes, limit_of, predecessor_bytes, unreached
from gstream.algorithms.session import Session
from gstream.programs.sssp import SSSP, SSSP64, SSSPInteger, SSSPLong
from gstream.results import LDBC_NO_PATH, Column
from pagestore.errors import InputError, UsageError
from pagestore.meta import Meta
from pagestore.sizes import show_things

EXACT = 1 << 53  # whole numbers up to this one are float64s


def run_sssp(
    session: Session, source: Any, predecessors: bool = True, float64: bool = False, cutoff: float | None = None
) -> tuple[list[Column], dict[str, Any]]:
    """Columns distance (and predecessor), and the summary.

    source: one user ID or several (distance to the nearest). float64: sums in double precision. cutoff: vertices
    farther away count as not reached; the search goes on to them all the same.
    Raises UsageError (no source, or one that is not in the graph; a store without weights; a cutoff below 0),
    InputError (a negative or NaN weight, named by its edge).
    """
    ids = source_ids(source, "sssp")
    if cutoff is not None and not cutoff >= 0:
        raise UsageError(f"--cutoff {cutoff}: must be at least 0; it is the weight of the longest paths. Leave it out.")
    check_weights(session)
    sources = session.store.lookup(ids)
    program = program_for(session.meta, float64)
    above_bytes = predecessor_bytes(session, program.value.dtype, weighted=True)
    later = above_bytes if predecessors or session.proof_bytes else 0  # a certificate looks for them, too
    wide = SSSP64(source=ids)  # may follow float32 sums, and does in their certificate
    follows = (wide,) if program is SSSP else ()
    beside = held_bytes(session, program.value.dtype, looked_for=not predecessors)
    foresee_runs(
        session, program(source=ids), maybe=follows, later=later, later_maybe=above_bytes, proof=follows,
        beside_proof=beside,
    )  # fmt: skip
    outcome = session.run(program(source=ids), later=later)
    supersteps, distance, note = outcome.supersteps, outcome.value, ""
    above = find_predecessors(session, distance, sources, weighted=True) if predecessors else None
    if program is SSSP and (why := floatsums.why_wider(session, distance, sources, above)):
        note = f"distances are summed in float64, as --float64 does: {why}"
        session.begin_again()
        outcome = session.run(wide, later=later, kept=False)
        supersteps, distance = supersteps + outcome.supersteps, outcome.value
        above = find_predecessors(session, distance, sources, weighted=True) if predecessors else None
    limit = limit_of(distance.dtype, cutoff)
    if limit is not None:
        far = distance > limit
        distance[far] = unreached(distance.dtype)
        if above is not None:
            above[far] = session.none
    # Tables hold float64 for whole-number sums: exact up to 2^53, and "not reached" is inf in every .npy.
    column = distance_column(distance, LDBC_NO_PATH)
    columns = [column if column.dtype.kind == "f" else replace(column, dtype=np.dtype(np.float64))]
    if above is not None:
        columns.append(predecessor_column(session, above))
    found = session.finish(supersteps, outcome.converged, note or _digits_lost(distance))
    return columns, found | {"reached": count_reached(distance)}


def _digits_lost(distance: np.ndarray) -> str:
    """A note where whole-number distances are greater than the float64 of tables counts."""
    if distance.dtype.itemsize < 8 or distance.dtype.kind == "f":
        return ""
    lost = int(np.count_nonzero((distance > EXACT) & (distance != unreached(distance.dtype))))
    verb = "is" if lost == 1 else "are"
    return f"{show_things(lost, 'distance')} past 2^53 {verb} shown rounded, to 16 digits" if lost else ""


def program_for(meta: Meta, float64: bool = False) -> type[SSSP]:
    """The program whose arithmetic fits the store's weights."""
    if meta.weight_dtype == "f4":
        return SSSP64 if float64 else SSSP
    longest = (meta.vertices - 1) * int(meta.max_weight or 0)
    if longest >= 2**63 - 1:
        return SSSP64
    return SSSPInteger if longest < 2**32 - 1 else SSSPLong


def need_weights(session: Session, algorithm: str) -> None:
    """Raise UsageError when the store has no weights."""
    if not session.meta.weighted:
        other = ", or run bfs" if algorithm == "sssp" else ""
        raise UsageError(
            f"{session.store.path}: has no edge weights, which {algorithm} needs. Convert again from an input with "
            f"weights (--weight-column N, and not --no-weights){other}."
        )


def check_weights(session: Session, algorithm: str = "sssp") -> None:
    """Raise when the store has no weights, or one that no shortest path can have; the edge is named by user IDs."""
    meta, store = session.meta, session.store
    need_weights(session, algorithm)
    if meta.edges == 0 or (meta.min_weight is not None and meta.min_weight >= 0):
        return
    source, target, weight = find_bad_edge(session)
    what = "is NaN" if weight != weight else "is negative"
    raise InputError(
        f"{store.path}: the edge from {source} to {target} has weight {weight:g}, which {what}; "
        f"{algorithm} needs weights of 0 and more. Convert again with other weights."
    )


def find_bad_edge(session: Session) -> tuple[Any, Any, float]:
    """(source, target, weight) by user IDs of one edge whose weight is negative or NaN: the first in page order."""
    name = "out" if session.store.has("out") else "in"
    topology = session.store.topology(name)
    layout = topology.layout
    with topology.reader() as reader:
        for page in range(topology.pages):
            words = reader.read(page, 1).view(layout.id_dtype)[0]
            weights = reader.read_weights(page, 1).view(topology.weight_dtype)[0]
            if np.all(weights >= 0):
                continue
            for slot in range(int(topology.directory["records"][page])):
                owner, start = (int(word) for word in words[layout.words - 2 * slot - 2 :][:2])
                stride = int(topology.directory["layout"][page]) or 1
                inside = slice(start + stride, start + stride * (1 + int(words[start])), stride)
                bad = np.flatnonzero(~(weights[inside] >= 0))
                if len(bad):
                    edge = (owner, int(words[inside][bad[0]]))
                    ends = session.user_ids(edge if name == "out" else edge[::-1])
                    return ends[0], ends[1], float(weights[inside][bad[0]])
    raise InputError(f"{session.store.path}: claims a negative weight that it does not have. Convert the graph again.")
