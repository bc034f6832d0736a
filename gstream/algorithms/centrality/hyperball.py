"""HyperBall: what lies within t edges of every vertex, for all t, by HyperLogLog counters (Boldi and Vigna 2013).

The counter of B(v, t), the vertices from which paths of t edges or fewer lead to v, is the union of the counters of
B(u, t - 1) over the edges u -> v, and B(v, t - 1). From how much B(v, t) grows follow the centralities of v, and from
the sum over v the neighbourhood function N(t), the pairs of vertices within t edges of each other.

An estimate's relative standard error is about 1.06 / sqrt(m) with m registers a counter; that of N(t) is no greater.
Unions are maxima, so threads, devices and the store's order change nothing.

A round takes in counters of vertices that changed in the round before alone. It pulls while these are many, else their
lists are pushed.
"""

from __future__ import annotations

import numpy as np

from gstream.algorithms.centrality import counters as kernels
from gstream.algorithms.centrality.radius import diameter
from gstream.algorithms.centrality.reach import check_seed
from gstream.algorithms.declaration import SEED, WHOLE, Algorithm, Option, Work
from gstream.algorithms.support.edgerows import natural_bytes, natural_names
from gstream.algorithms.support.session import Session
from gstream.hostcode.bitmaps import bitmap, bitmap_bytes, count_bits
from gstream.programs.wcc import WCC, WCC64
from gstream.results.column import Answer, Column
from pagestore.errors import UsageError

ALGORITHM = Algorithm(
    "hyperball", "centralities, estimated",
    "HyperBall: HyperLogLog counters of what leads to a vertex. Summary: neighbourhood_function from distance 0 on, "
    "distance_distribution from 1 on, average_distance, effective_diameter (90 %), and standard_error of a counter, "
    "1.06 / sqrt(2^log2m). The same on any number of devices.",
    definition="over paths to a vertex, by edges, scaled by what is reached; reachable: vertices with such a path",
    columns=("vertex", "harmonic", "closeness", "reachable"), best="largest",
    options=(
        Option("log2m", WHOLE, 7, "2^N registers a counter, a byte each, 4 to 14"),
        Option("max_distance", WHOLE, None, "end after N edges; default: when no counter changes"), SEED,
    ),
    plan="program_of_hyperball",
    certificate="none: estimates, which another seed would change",
    kept="152: counters of 128 registers, estimates, sums",
    holds="280, with 128 registers", units=(".counters:unite",),
    work=Work(edges=30.0, gpu_edges=60.0, times=(5, 10, 40), moved=(0.7, 1.0), spread=2.0, answer=24),
)  # fmt: skip

LEAST_LOG2M, MOST_LOG2M = 4, 14
PULL_SHARE = 8  # rounds pull while at least V / PULL_SHARE vertices changed in the one before
ALPHA = {16: 0.673, 32: 0.697, 64: 0.709}  # Flajolet et al. 2007, figure 3; of more registers the formula


def run_hyperball(session: Session, log2m: int = 7, max_distance: int | None = None, seed: int = 0) -> Answer:
    """Columns harmonic, closeness and reachable, float64 estimates; the summary has the distance distribution.

    Raises UsageError on numbers outside their limits, CapError where counters have no room.
    """
    check_hyperball(session, log2m, max_distance, seed)
    vertices, words = session.meta.vertices, (1 << log2m) // 8
    held = bytes_of_counters(session, log2m)
    session.check_memory(held + natural_bytes(session))
    counters, size, harmonic, total = np.zeros(vertices * words, np.uint64), *np.zeros((3, vertices))
    front, touched = bitmap(vertices), bitmap(vertices)
    session.reserve(counters, counters, size, harmonic, total, front, touched)
    kept = session.keep(
        counters=counters, size=size, harmonic=harmonic, total=total, front=front, pairs=[], distance=-1
    )  # fmt: skip
    powers, scale = 0.5 ** np.arange(128), alpha(8 * words) * (8 * words) ** 2

    def count(distance: int, changed: np.ndarray, fresh: np.ndarray) -> None:
        session.each(
            kernels.take_counts, changed, fresh, words, distance, powers, scale, counters, size, harmonic, total,
            items=8 * words * count_bits(changed),
        )  # fmt: skip
        kept.pairs.append(float(size.sum()))
        kept.distance = distance

    if kept.distance < 0:
        session.each(kernels.begin_counters, natural_names(session), vertices, seed, log2m, words, counters)
        session.names_done()
        front[:] = _all_bits(vertices)
        count(0, front, counters)
    fresh = counters.copy()
    while count_bits(front) and kept.distance != max_distance:
        _unite(session, words, front, counters, touched, fresh)
        front[:], touched[:] = touched, 0
        if count_bits(front):
            count(kept.distance + 1, front, fresh)
        kept.boundary()
    kept.end()
    converged = not count_bits(front)
    reachable = np.where(total > 0, size - size_of_one(8 * words), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        closeness = np.where(total > 0, reachable / total * (reachable / max(1, vertices - 1)), 0.0)
    columns = [Column("harmonic", harmonic), Column("closeness", closeness), Column("reachable", reachable)]
    return columns, summary(kept.pairs, 8 * words) | session.finish(len(kept.pairs) - 1, converged)


def _unite(
    session: Session, words: int, front: np.ndarray, counters: np.ndarray, touched: np.ndarray, fresh: np.ndarray
) -> None:
    """A round: counters of vertices in `front` over their out-edges, into `fresh`."""
    directed, many = session.meta.directed, count_bits(front) * PULL_SHARE >= session.meta.vertices
    pull = session.store.has("in") and directed or not directed
    if session.store.has("out") and not (many and pull):
        pull = False
    name = "in" if pull and directed else "out"
    arrays = (np.uint64(words), pull, front, counters, touched, fresh)
    session.sweep_among(name, kernels.unite, arrays, None if pull else front)


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


def bytes_of_counters(session: Session, log2m: int) -> int:
    """Counters of two rounds, three numbers and two bits a vertex."""
    vertices = session.meta.vertices
    return vertices * (2 * (1 << log2m) + 24) + 2 * bitmap_bytes(vertices)


def program_of_hyperball(session: Session, log2m: int, max_distance: int | None, seed: int) -> WCC | WCC64:
    """A program that reads the pages that the kernels do, beside the counters. Raises UsageError as the run does."""
    check_hyperball(session, log2m, max_distance, seed)
    held = bytes_of_counters(session, log2m) + natural_bytes(session)
    session.stands_in = True
    session.check_memory(held)
    session.foresee(beside=held)
    return WCC() if session.meta.id_bytes == 4 else WCC64()


def check_hyperball(session: Session, log2m: int, max_distance: int | None, seed: int) -> None:
    """Raise UsageError for numbers outside their limits."""
    if not LEAST_LOG2M <= log2m <= MOST_LOG2M:
        raise UsageError(f"--log2m {log2m}: must be {LEAST_LOG2M} to {MOST_LOG2M}. A counter has 2^N registers.")
    if max_distance is not None and max_distance < 0:
        raise UsageError(f"--max-distance {max_distance}: must be at least 0. It counts edges.")
    check_seed(seed)
    if seed >= 1 << 63:
        raise UsageError(f"--seed {seed}: must be below 2^63. It is where the draw begins.")


def _all_bits(vertices: int) -> np.ndarray:
    bits = np.full((vertices + 63) >> 6, ~np.uint64(0))
    if vertices % 64:
        bits[-1] = (np.uint64(1) << np.uint64(vertices % 64)) - np.uint64(1)
    return bits
