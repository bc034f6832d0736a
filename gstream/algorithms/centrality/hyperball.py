"""HyperBall: what lies within t edges of every vertex, for all t, by HyperLogLog counters (Boldi and Vigna 2013).

The counter of B(v, t), the vertices from which paths of t edges or fewer lead to v, is the union of the counters of
B(u, t - 1) over the edges u -> v, and B(v, t - 1). From how much B(v, t) grows follow the centralities of v, and from
the sum over v the neighbourhood function N(t), the pairs of vertices within t edges of each other.

An estimate's relative standard error is about 1.06 / sqrt(m) with m registers a counter; that of N(t) is no greater.
Unions are maxima, so threads, devices and the store's order change nothing.

The counters are a program of vectors (gstream.programs.balls), whose supersteps are the distances. After each one the
vertices whose counters changed are counted again.
"""

from __future__ import annotations

import numpy as np

from gstream.algorithms.centrality import counters as kernels
from gstream.algorithms.centrality.radius import diameter
from gstream.algorithms.centrality.reach import check_seed
from gstream.algorithms.declaration import SEED, WHOLE, Algorithm, Option, Work
from gstream.algorithms.support.caps import check_run_memory
from gstream.algorithms.support.edgerows import natural_bytes, natural_names
from gstream.algorithms.support.session import Session
from gstream.hostcode.bitmaps import count_bits
from gstream.programs.balls import Balls, balls
from gstream.results.column import Answer, Column
from pagestore.errors import UsageError

ALGORITHM = Algorithm(
    "hyperball", "closeness and harmonic centrality, estimated",
    "HyperBall: HyperLogLog counters of what leads to a vertex. Summary: neighbourhood_function from distance 0 on, "
    "distance_distribution from 1 on, average_distance, effective_diameter (90 %), and standard_error of a counter, "
    "1.06 / sqrt(2^log2m). The same on any number of devices.",
    definition="over paths to a vertex, by edges, scaled by what is reached; reachable: vertices with such a path",
    columns=("vertex", "harmonic", "closeness", "reachable"), best="largest",
    options=(
        Option("log2m", WHOLE, 7, "2^N registers a counter, a byte each, 4 to 12"),
        Option("max_distance", WHOLE, None, "end after N edges; default: when no counter changes"), SEED,
    ),
    plan="program_of_hyperball",
    certificate="none: estimates, which another seed would change",
    kept="24, and 152 while it runs: estimates, counters of 128 registers",
    holds="288, with 128 registers", program="gstream.programs.balls:Balls",
    work=Work(edges=0.7, gpu_edges=7.5, times=(5, 10, 40), moved=(0.7, 1.0), spread=2.0, answer=24),
)  # fmt: skip

LEAST_LOG2M, MOST_LOG2M = 4, 12  # of vectors, which have 4,096 bytes at most
ALPHA = {16: 0.673, 32: 0.697, 64: 0.709}  # Flajolet et al. 2007, figure 3; of more registers the formula


def run_hyperball(session: Session, log2m: int = 7, max_distance: int | None = None, seed: int = 0) -> Answer:
    """Columns harmonic, closeness and reachable, float64 estimates; the summary has the distance distribution.

    Raises UsageError on numbers outside their limits, CapError where counters have no room.
    """
    program = program_of_hyperball(session, log2m, max_distance, seed)
    check_run_memory(session, program)
    vertices, registers = session.meta.vertices, 1 << log2m
    size, harmonic, total = np.zeros((3, vertices))
    kept = session.keep(size=size, harmonic=harmonic, total=total, pairs=[], supersteps=None, converged=False)
    powers, scale = 0.5 ** np.arange(64), alpha(registers) * registers**2

    def count(distance: int, counters: np.ndarray, changed: np.ndarray) -> None:
        if distance == 0:
            size[:] = harmonic[:] = total[:] = 0.0
            kept.pairs = []
        elif not (found := count_bits(changed)):
            return
        session.each(
            kernels.take_counts, changed, counters, distance, powers, scale, size, harmonic, total,
            items=registers * (found if distance else vertices),
        )  # fmt: skip
        kept.pairs.append(float(size.sum()))

    if kept.supersteps is None:
        session.each(kernels.draw_ranks, natural_names(session), vertices, seed, log2m, program.drawn)
        session.names_done()
        outcome = session.run(program, max_distance, count)
        kept.supersteps, kept.converged = outcome.supersteps, outcome.converged
    kept.end()
    reachable = np.where(total > 0, size - size_of_one(registers), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        closeness = np.where(total > 0, reachable / total * (reachable / max(1, vertices - 1)), 0.0)
    columns = [Column("harmonic", harmonic), Column("closeness", closeness), Column("reachable", reachable)]
    return columns, summary(kept.pairs, registers) | session.finish(len(kept.pairs) - 1, kept.converged)


def program_of_hyperball(session: Session, log2m: int, max_distance: int | None, seed: int) -> Balls:
    """The program of the counters, in which nothing is drawn. Raises UsageError for numbers outside their limits."""
    check_hyperball(session, log2m, max_distance, seed)
    session.foresee(beside=beside_counters(session))
    return balls(log2m)(drawn=session.zeros())


def summary(pairs: list[float], registers: int) -> dict:
    """What the neighbourhood function says. pairs: N(0), N(1), ... with every vertex paired with itself, estimates."""
    found: dict = {"standard_error": 1.06 / registers**0.5, "neighbourhood_function": pairs}
    grown = np.diff(pairs)
    if grown.sum() > 0:
        found["distance_distribution"] = (grown / grown.sum()).tolist()
        found["average_distance"] = float((grown * np.arange(1, len(pairs))).sum() / grown.sum())
    return found | {"effective_diameter": diameter(pairs) if pairs and pairs[-1] > 0 else 0.0}


def alpha(registers: int) -> float:
    """The constant that makes the estimate unbiased."""
    return ALPHA.get(registers, 0.7213 / (1 + 1.079 / registers))


def size_of_one(registers: int) -> float:
    """What a counter of one vertex estimates."""
    return registers * float(np.log(registers / (registers - 1)))


def beside_counters(session: Session) -> int:
    """Bytes of what a run holds beside its program: what each vertex draws and three estimates; and names, first."""
    return 32 * session.meta.vertices + natural_bytes(session)


def check_hyperball(session: Session, log2m: int, max_distance: int | None, seed: int) -> None:
    """Raise UsageError for numbers outside their limits."""
    if not LEAST_LOG2M <= log2m <= MOST_LOG2M:
        raise UsageError(f"--log2m {log2m}: must be {LEAST_LOG2M} to {MOST_LOG2M}. A counter has 2^N registers.")
    if max_distance is not None and max_distance < 0:
        raise UsageError(f"--max-distance {max_distance}: must be at least 0. It counts edges.")
    check_seed(seed)
    if seed >= 1 << 63:
        raise UsageError(f"--seed {seed}: must be below 2^63. It is where the draw begins.")
