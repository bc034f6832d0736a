"""Effective radii and the effective diameter, estimated by sketches of what lies within some edges (HADI: Kang et al.
2011).

A Flajolet-Martin sketch stands for the vertices within h edges of v along out-edges. R is the position of its lowest
bit that is 0, on average over the sketches; N(h, v) = 2^R / 0.77351 is the estimate of how many these vertices are. Its
standard error is 78 % divided by the root of the number of sketches (14 % with 32), and more if N is below 10.
* Effective radius of v: the least h with N(h, v) >= 0.9 N(all, v).
* Effective diameter: the h, interpolated between two levels, with N(h) = 0.9 N(all), N being summed over all v.
"""

from __future__ import annotations

import numpy as np

from gstream.algorithms.centrality import levelcounts
from gstream.algorithms.centrality.reach import check_seed
from gstream.algorithms.declaration import SEED, WHOLE, Algorithm, Option, Work
from gstream.algorithms.support.caps import check_run_memory
from gstream.algorithms.support.session import Session
from gstream.engine.sweep_state import Arrays, SweepState
from gstream.programs.sketches import Sketches
from gstream.results.column import Answer, Column
from pagestore.errors import CapError, UsageError

ALGORITHM = Algorithm(
    "radius", "effective radii and diameter, estimated",
    "Two sketches take one search of all edges. Summary: effective_diameter.",
    definition="edges to 90 % of what a vertex reaches along out-edges, estimated by sketches (HADI)",
    columns=("vertex", "radius"),
    options=(
        Option("sketches", WHOLE, 32, "Flajolet-Martin sketches a vertex"),
        Option("max_iter", WHOLE, 256, "end after N hops"), SEED,
    ),
    plan="program_of_radius",
    certificate="none: estimates, which other draws of the sketches would change",
    kept="14, and 2 for each hop: sums of sketches, two sketches, radii",
    holds="62, and 2 for each hop (under a cap of 8 at least)",
    program="gstream.programs.sketches:Sketches",
    work=Work(edges=1.4, gpu_edges=60.0, times=(30, 106, 300), moved=(0.5, 1.0), spread=1.5),
)  # fmt: skip

PHI = 0.77351  # Flajolet and Martin 1985
RADIUS_BYTES = 22  # a vertex: two numbers of the program, sums and radii; names and levels come on top
LEVELS = (64, 16, 8)  # of radii that are kept at once under a memory cap: the most that have room
SHARE = 0.9  # of what is ever reached, within an effective radius


def run_radius(session: Session, sketches: int = 32, max_iter: int = 256, seed: int = 0) -> Answer:
    """Column radius (effective, in edges), and the summary: effective_diameter, `hops` until no sketch changed.

    Holds 2 bytes a vertex for each hop. Under a memory cap it keeps LEVELS hops at once, and spreads the same sketches
    again for the hops after these. Raises UsageError on numbers outside their limits.
    """
    _, most = _begin(session, sketches, max_iter, seed)
    vertices = session.meta.vertices
    # first: of the levels that are added up now; draw: of two sketches, that are spread; the others are of the first
    # time, when all hops are seen. pairs, radius: of the levels before.
    kept = session.keep(
        finals=np.zeros(vertices, np.uint16), radius=np.zeros(vertices, np.int32), levels=Arrays(), pairs=[],
        first=0, draw=0, converged=True, longest=0, supersteps=0,
    )  # fmt: skip
    while kept.first == 0 or kept.first <= kept.longest:
        _spread(session, kept, sketches, seed, max_iter, most)
        add_radii(kept, sketches)
        kept.first, kept.draw = kept.first + len(kept.levels), 0
        kept.levels = Arrays(np.zeros_like(kept.finals) for _ in range(min(most, kept.longest + 1 - kept.first)))
    kept.end()
    found = {"effective_diameter": diameter(kept.pairs), "hops": kept.longest}
    return [Column("radius", kept.radius)], found | session.finish(kept.supersteps, kept.converged)


def _spread(session: Session, kept: SweepState, sketches: int, seed: int, max_iter: int, most: int) -> None:
    """Add the sums of R to those of the levels from kept.first on. The first time also to the last ones, `finals`;
    there are then as many levels as hops, `most` at most."""
    vertices, natural, random = session.meta.vertices, session.store.natural_ids(), np.random.default_rng(seed)
    low, high, levels, first = np.zeros(vertices), np.zeros(vertices), kept.levels, kept.first
    limit = max_iter if first == 0 else min(max_iter, first + len(levels) - 1)

    def watch(step: int, value: np.ndarray, active: np.ndarray) -> None:
        if first == 0 and step == len(levels) < most:
            levels.append(kept.finals.copy())
        if first <= step < first + len(levels):
            session.each(levelcounts.add_lowest_zeros, value, levels[step - first])

    for number in range(sketches // 2):
        draws = np.minimum(random.geometric(0.5, (2, vertices)) - 1, 30)
        if number < kept.draw:
            continue
        low[:], high[:] = 2.0 ** draws[0][natural], 2.0 ** (32 + draws[1][natural])
        outcome = session.run(Sketches(low=low, high=high), limit, watch)
        for later in levels[max(0, outcome.supersteps + 1 - first) :]:
            session.each(levelcounts.add_lowest_zeros, outcome.value, later)
        if first == 0:
            session.each(levelcounts.add_lowest_zeros, outcome.value, kept.finals)
            kept.longest = max(kept.longest, outcome.supersteps)
            kept.converged = bool(kept.converged and outcome.converged)
            kept.supersteps += outcome.supersteps
        kept.draw = number + 1
        kept.boundary(rounds=0)


def program_of_radius(session: Session, sketches: int, max_iter: int, seed: int) -> Sketches:
    """The program of two sketches. Raises UsageError on numbers that mean nothing, CapError if the fewest of LEVELS
    have no room."""
    return _begin(session, sketches, max_iter, seed)[0]


def _begin(session: Session, sketches: int, max_iter: int, seed: int) -> tuple[Sketches, int]:
    """(program, how many levels have room beside it); the arrays of radii are foreseen."""
    if sketches < 2 or sketches % 2 or sketches > 1024:
        raise UsageError(f"--sketches {sketches}: must be an even number from 2 to 1024. The default is 32.")
    if max_iter < 0:
        raise UsageError(f"--max-iter {max_iter}: must be at least 0. It counts hops.")
    check_seed(seed)
    engine, vertices = session.engine, session.meta.vertices
    program = Sketches(low=session.zeros(), high=session.zeros())
    session.foresee(beside=vertices * (RADIUS_BYTES + session.id_dtype.itemsize))
    if engine.options.host_memory is None:
        return program, max_iter + 1
    beside, counts = engine.beside_bytes, [min(most, max_iter + 1) for most in LEVELS]
    for most in counts:
        engine.beside_bytes = beside + most * 2 * vertices
        try:
            check_run_memory(session, program)
            break
        except CapError:
            if most == counts[-1]:
                raise
    return program, most


def add_radii(kept: SweepState, sketches: int) -> None:
    """Take the next levels, uint16[V] each, into `radius` (int32[V]) and `pairs`, vertices within so many hops of each
    other. finals: uint16[V], sums of R within any number of hops."""
    bound = 2.0 ** (kept.finals / sketches) * SHARE
    for level in kept.levels:
        reached = 2.0 ** (level / sketches)
        kept.radius += reached < bound
        kept.pairs.append(float(reached.sum()) / PHI)


def diameter(pairs: list[float]) -> float:
    """The effective diameter, by the vertices within 0, 1, ... hops of each other."""
    wanted = SHARE * pairs[-1]
    after = next(h for h, within in enumerate(pairs) if within >= wanted)
    if after == 0:
        return 0.0
    return after - 1 + (wanted - pairs[after - 1]) / (pairs[after] - pairs[after - 1])
