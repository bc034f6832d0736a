"""Shortest paths by weight. The arithmetic fits the weights, so whole-number distances are exact.

distance(v) = least sum of weights of a path along out-edges from the nearest source (networkx's multi-source Dijkstra).

| weights | sums |
|---|---|
| whole numbers | u32 where no path can reach 2^32 - 1, else i64 |
| floats | float32; again in float64 where that holds no such sums (float_sums.py); float64 at once on request |
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.declaration import (
    EXECUTION,
    FLOAT64,
    NOT_NEGATIVE,
    NUMBER,
    PREDECESSORS,
    SOURCE,
    START,
    TARGETS,
    Algorithm,
    Option,
    Work,
)
from gstream.algorithms.support.arguments import limit_of, rounds_of, source_ids, unreached
from gstream.algorithms.support.caps import check_run_memory
from gstream.algorithms.support.part_sweeps import prove_by_slices
from gstream.algorithms.support.session import Session
from gstream.algorithms.traversal import float_sums
from gstream.algorithms.traversal.bfs import count_reached, distance_column, predecessor_column, refuse_ends
from gstream.algorithms.traversal.later import go_on
from gstream.algorithms.traversal.predecessors import find_predecessors, held_bytes, predecessor_bytes
from gstream.algorithms.traversal.slice_predecessors import keep_slices, proves_slices
from gstream.algorithms.traversal.targets import Targets
from gstream.programs.sssp import SSSP, SSSP64, SSSPInteger, SSSPLong
from gstream.records.held import Held
from gstream.results.column import Answer
from gstream.results.result import LDBC_NO_PATH
from pagestore.errors import UsageError
from pagestore.meta import Meta
from pagestore.sizes import show_things

ALGORITHM = Algorithm(
    "sssp", "shortest paths by edge weight from a source",
    """From the nearest source. Sums of integer weights are exact; of float weights float32, or float64 on request. Of
    several predecessors on shortest paths, the one of least distance is taken, then of fewest edges from there, then of
    least ID.""",
    columns=("vertex", "distance", "predecessor"),
    options=(
        SOURCE, PREDECESSORS, FLOAT64,
        Option("cutoff", NUMBER, None, "vertices farther away count as not reached", True), TARGETS,
        EXECUTION, START,
    ),
    plan="program_of_sssp", proof=".distance_proofs:certify_sssp", proof_bytes=37,
    certificate="exact; of float weights a bound of the error",
    kept="4 or 8: distances",
    weights=NOT_NEGATIVE, holds="8 to 12, predecessors 8, reordered 4 more",
    program="gstream.programs.sssp:SSSP",
    units=(".nearest:nearest_by_weight spread_hops", ".later:relax"),
    proof_units=(
        ".distance_proofs:check_paths", "gstream.programs.sssp:SSSP64", ".float_proof:check_lengths",
    ),
    work=Work(edges=1.2, gpu_edges=0.2, times=(3, 6, 20), moved=(0.2, 0.8), spread=1.6,
              switched=(("predecessors", 0.7), ("float64", 1.1))),
)  # fmt: skip

EXACT = 1 << 53  # whole numbers up to this one are float64s


def run_sssp(
    session: Session, source: Any, predecessors: bool = True, float64: bool = False, cutoff: float | None = None,
    targets: Any = None, execution: str = "sync", start: Any = None,
) -> Answer:  # fmt: skip
    """Columns distance (and predecessor), and the summary.

    source: one user ID or several (distance to the nearest). float64: sums in double precision. cutoff: vertices
    farther away count as not reached; the search goes on to them all the same. targets: those beyond the farthest one
    count as not reached; the search goes on all the same. execution: "async" goes over a batch of pages several times
    while it is in memory (gstream.engine.rounds). start: the answer of an earlier run; edges were only
    added since.
    Raises UsageError (no source or target, or one not in the graph; a store without weights; a cutoff below 0),
    InputError (a negative or NaN weight, named by its edge).
    """
    ids = source_ids(source, "sssp")
    if cutoff is not None and not cutoff >= 0:
        raise UsageError(f"--cutoff {cutoff}: must be at least 0; it is the weight of the longest paths. Leave it out.")
    sources = session.store.lookup(ids)
    aim = Targets(session, sources, targets, "sssp", weighted=True)
    program = program_of_sssp(session, ids, float64, predecessors, cutoff, targets, start)
    rounds, converged, note = rounds_of(execution), True, ""
    stays = session.ranks is not None and session.stays
    if start is None:
        outcome = session.run(program, rounds=rounds, stay=stays)
        supersteps, distance, converged = outcome.supersteps, outcome.value, outcome.converged
    else:
        refuse_ends(cutoff, targets)
        asked = {"source": list(ids), "float64": float64, "cutoff": None, "targets": None}
        distance, supersteps = go_on(session, start, "sssp", program.value.dtype, session.later, **asked)
    above = find_predecessors(session, distance, sources, weighted=True)[0] if predecessors else None
    if type(program) is SSSP and (why := float_sums.why_wider(session, distance, sources, above)):
        note = f"distances are summed in float64, as --float64 does: {why}"
        session.begin_again()
        outcome = session.run(SSSP64(source=ids), kept=False, rounds=rounds, stay=stays)
        supersteps, distance, converged = supersteps + outcome.supersteps, outcome.value, outcome.converged
        above = find_predecessors(session, distance, sources, weighted=True)[0] if predecessors else None
    others = () if above is None else (above,)
    limit = aim.cut(distance, *others, none=session.none, limit=limit_of(distance.dtype, cutoff))
    # Tables hold float64 for whole-number sums: exact up to 2^53, and "not reached" is inf in every .npy.
    columns = [distance_column(distance, LDBC_NO_PATH, None if distance.dtype.kind == "f" else np.dtype(np.float64))]
    if above is not None:
        columns.append(predecessor_column(session, above))
    found = session.finish(supersteps, converged, note or _digits_lost(distance))
    found |= {} if targets is None or limit is None else {"limit": limit.item()}
    return columns, found | {"reached": count_reached(session, distance)}


def _digits_lost(distance: np.ndarray | Held) -> str:
    """A note where whole-number distances are greater than the float64 of tables counts."""
    if distance.dtype.itemsize < 8 or distance.dtype.kind == "f":
        return ""

    def past(values: np.ndarray) -> int:
        return int(np.count_nonzero((values > EXACT) & (values != unreached(values.dtype))))

    lost = distance.count(past) if isinstance(distance, Held) else past(distance)
    verb = "is" if lost == 1 else "are"
    return f"{show_things(lost, 'distance')} past 2^53 {verb} shown rounded, to 16 digits" if lost else ""


def program_of_sssp(
    session: Session, source: Any, float64: bool, predecessors: bool, cutoff: float | None = None, targets: Any = None,
    start: Any = None, **options: Any,
) -> SSSP:  # fmt: skip
    """The program of the first search. Raises UsageError (no source, no weights), InputError (a wrong weight), CapError
    as all that follows it would."""
    ids = source_ids(source, "sssp")
    program = program_for(session.meta, float64)(source=ids)
    dtype = program.value.dtype
    whole = predecessors and not keep_slices(session)
    whole |= any(given is not None for given in (cutoff, targets, start))
    session.let_stay(whole=whole, proved=proves_slices(session, weighted=True))
    prove_by_slices(session, program)
    looked_for = predecessors or session.proof_bytes or type(program) is SSSP  # a certificate looks for them, too
    above_bytes = predecessor_bytes(session, program, weighted=True) if looked_for else 0
    if predecessors or session.proof_bytes:
        session.foresee(later=above_bytes)
    follows = (SSSP64(source=ids),) if type(program) is SSSP else ()  # it may, and does in the certificate
    beside = held_bytes(session, dtype, looked_for=not predecessors)
    check_run_memory(session, program, maybe=follows, later_maybe=above_bytes, proof=follows, beside_proof=beside)
    return program


def program_for(meta: Meta, float64: bool = False) -> type[SSSP]:
    """The program whose arithmetic fits the store's weights."""
    if meta.weight_dtype == "f4":
        return SSSP64 if float64 else SSSP
    longest = (meta.vertices - 1) * int(meta.max_weight or 0)
    if longest >= 2**63 - 1:
        return SSSP64
    return SSSPInteger if longest < 2**32 - 1 else SSSPLong
