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
from gstream.algorithms.declaration import SEED, WHOLE, Algorithm, Option, at_most
from gstream.algorithms.support.caps import check_run_memory
from gstream.algorithms.support.session import Session
from gstream.programs.sketches import Sketches
from gstream.results.column import Answer, Column
from pagestore.errors import CapError, UsageError

ALGORITHM = Algorithm(
    "radius", "effective radii and diameter, estimated by sketches (HADI)",
    "Two sketches take one search of all edges. Summary: effective_diameter.",
    definition="edges to 90 % of what a vertex reaches along out-edges, estimated by sketches (HADI)",
    columns=("vertex", "radius"),
    options=(
        Option("sketches", WHOLE, 32, "Flajolet-Martin sketches a vertex"), at_most(256, "hops"), SEED,
    ),
    plan="program_of_radius",
    certificate="none: estimates, which other draws of the sketches would change",
    holds="62, and 2 for each hop (under a cap of 8 at least)",
    program="gstream.programs.sketches:Sketches",
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
    vertices, natural = session.meta.vertices, session.store.natural_ids()
    low, high, finals = np.zeros(vertices), np.zeros(vertices), np.zeros(vertices, np.uint16)

    def spread(levels: list[np.ndarray], first: int, sums: np.ndarray | None) -> bool:
        """Add the sums of R to those of levels first, first + 1, ..., and to the last ones, `sums`, where these are
        not known yet: then there are as many levels as hops, `most` at most. Whether no sketch changed any more."""
        random, converged = np.random.default_rng(seed), True
        for _ in range(sketches // 2):
            draws = np.minimum(random.geometric(0.5, (2, vertices)) - 1, 30)
            low[:], high[:] = 2.0 ** draws[0][natural], 2.0 ** (32 + draws[1][natural])

            def watch(step: int, value: np.ndarray) -> None:
                if sums is not None and step == len(levels) < most:
                    levels.append(sums.copy())
                if first <= step < first + len(levels):
                    session.each(levelcounts.add_lowest_zeros, value, levels[step - first])

            limit = max_iter if sums is not None else min(max_iter, first + len(levels) - 1)
            outcome = session.run(Sketches(low=low, high=high), limit, watch)
            hops.append(outcome.supersteps)
            converged &= outcome.converged
            for later in levels[max(0, outcome.supersteps + 1 - first) :]:
                session.each(levelcounts.add_lowest_zeros, outcome.value, later)
            if sums is not None:
                session.each(levelcounts.add_lowest_zeros, outcome.value, sums)
        return converged

    levels: list[np.ndarray] = []
    hops: list[int] = []  # of each run
    converged = spread(levels, 0, finals)
    supersteps, longest, radii = session.stats.supersteps, max(hops), Radii(finals, sketches)
    radii.add(levels)
    for first in range(most, longest + 1, most):
        levels = [np.zeros_like(finals) for _ in range(min(most, longest + 1 - first))]
        spread(levels, first, None)
        radii.add(levels)
    found = {"effective_diameter": radii.diameter, "hops": longest}
    return [Column("radius", radii.radius)], found | session.finish(supersteps, converged)


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
    program = Sketches(low=np.zeros(vertices), high=np.zeros(vertices))
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


class Radii:
    """Effective radii by levels: sums of R within 0, 1, ... hops, as they come.

    radius: int32[V], of the levels so far. finals: uint16[V], the sums within any number of hops.
    """

    def __init__(self, finals: np.ndarray, sketches: int) -> None:
        self._bound, self._sketches = 2.0 ** (finals / sketches) * SHARE, sketches
        self.radius = np.zeros(len(finals), np.int32)
        self._pairs: list[float] = []  # vertices within so many hops of each other

    def add(self, levels: list[np.ndarray]) -> None:
        """The next levels, uint16[V] each."""
        for level in levels:
            reached = 2.0 ** (level / self._sketches)
            self.radius += reached < self._bound
            self._pairs.append(float(reached.sum()) / PHI)

    @property
    def diameter(self) -> float:
        """The effective diameter, once all levels are there."""
        pairs = self._pairs
        wanted = SHARE * pairs[-1]
        after = next(h for h, within in enumerate(pairs) if within >= wanted)
        if after == 0:
            return 0.0
        return after - 1 + (wanted - pairs[after - 1]) / (pairs[after] - pairs[after - 1])
