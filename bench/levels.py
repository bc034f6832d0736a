"""The SIMD paper's Figures 2, 3 and 6 by level: what each level of BFS offers to lanes, worked out of degrees.

Figure 2: vertices and out-edges of each level's frontier. Figure 3: out-degrees as boxes. Figure 6 by level: UA, UR and
ME (sections 4.1 and 4.2) of a level's frontier, whose vertices lie in store order, 32 / S lists a warp. The levels are
of one BFS on the host; lists are those that a push expands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from bench import ours
from bench.families import Family, generated, real
from bench.figures import Figure
from bench.gpu_setup import Setup, Store
from pagestore.layout import GROUP_SIZES

WARP = 32
MOST_POINTS = 48  # of a curve of Figure 2: of more levels, some at equal distances
MOST_LEVELS = 6  # of Figure 6: those with the most edges
LEAST_EDGES = 32  # a smaller frontier fills no warp
QUARTILES = (0, 25, 50, 75, 100)
FRONTIERS, DEGREES, LEVELS = "simd-2", "simd-3", "simd-levels"


def lane_shares(lengths: np.ndarray, group: int) -> dict[str, float]:
    """UA, UR and ME of lists of these lengths, `group` lanes a list, by the paper's equations 1 to 3."""
    across = WARP // group
    padded = np.zeros(-(-max(1, len(lengths)) // across) * across, np.int64)
    padded[: len(lengths)] = lengths
    steps = -(-padded // group)
    longest = steps.reshape(-1, across).max(axis=1, keepdims=True)
    lanes = int(longest.sum()) * WARP
    intra = int((group * steps - padded).sum())
    edges = int(padded.sum())
    if not lanes:
        return {"UA": 0.0, "UR": 0.0, "ME": 0.0}
    return {"UA": intra / lanes, "UR": (lanes - intra - edges) / lanes, "ME": edges / lanes}


def by_level(family: Family, setup: Setup) -> tuple[str, list[np.ndarray], np.ndarray]:
    """(graph, out-degrees of each level's vertices in store order, all out-degrees)."""
    import pagestore

    path = family.natural(setup.folder)
    source = Store.read(path, "", 0, 0).sources(1)[0]
    with ours.opened(path, devices=["host"]) as session:
        level = ours.in_store_order(session.bfs(source, False)).astype(np.int64)
    with pagestore.open_store(path) as store:
        degree = np.array(store.out_degree(), np.int64)
    reached = level < np.iinfo(np.uint32).max
    count = int(level[reached].max()) + 1
    order = np.argsort(np.where(reached, level, count), kind="stable")
    ends = np.searchsorted(level[order][: int(reached.sum())], np.arange(1, count + 1))
    return family.name, np.split(degree[order][: int(reached.sum())], ends[:-1]), degree


def levels(setup: Setup, family: Family) -> Iterator[Figure]:
    name, frontiers, degree = by_level(family, setup)
    yield from figure_2(name, frontiers)
    yield from figure_3(name, degree)
    yield from figure_6(name, frontiers)


def figure_2(name: str, frontiers: list[np.ndarray]) -> Iterator[Figure]:
    """Sizes of both frontiers by level."""
    drawn = np.unique(np.linspace(0, len(frontiers) - 1, min(MOST_POINTS, len(frontiers))).astype(int))
    for level in drawn.tolist():
        for what, size in (("vertices", len(frontiers[level])), ("edges", int(frontiers[level].sum()))):
            point = {"plot": FRONTIERS, "panel": name, "series": f"{what} of the frontier", "x": level}
            yield Figure(f"Figure 2: {what} of level {level}", name, max(1, size), "of a level", point=point,
                         counted=True)  # fmt: skip
    edges = np.array([each.sum() for each in frontiers], np.float64)
    share = 100 * float(np.sort(edges)[::-1][:3].sum() / max(1.0, edges.sum()))
    yield Figure("Figure 2: edges in the three largest levels", name, share, "%", counted=True,
                 note=f"{len(frontiers):,} levels")  # fmt: skip


def figure_3(name: str, degree: np.ndarray) -> Iterator[Figure]:
    """The five numbers of a box."""
    for part, value in zip(QUARTILES, np.percentile(degree, QUARTILES), strict=True):
        point = {"plot": DEGREES, "panel": "out-degrees", "series": name, "x": part}
        yield Figure(f"Figure 3: out-degree, {part} %", name, float(value), "edges a vertex", point=point, counted=True)


def figure_6(name: str, frontiers: list[np.ndarray]) -> Iterator[Figure]:
    """Shares of lanes by level, of the levels with the most edges; and what a size for each level would gain."""
    sizes = np.array([each.sum() for each in frontiers])
    chosen = [level for level in np.argsort(-sizes)[:MOST_LEVELS].tolist() if sizes[level] >= LEAST_EDGES]
    best_lanes = 0.0
    single = dict.fromkeys(GROUP_SIZES, 0.0)
    for place, level in enumerate(chosen, 1):
        shares = {size: lane_shares(frontiers[level], size) for size in GROUP_SIZES}
        for size in GROUP_SIZES:
            for what in ("UA", "UR", "ME"):
                point = {"plot": LEVELS, "panel": f"{what}, {name}", "series": f"S = {size}", "x": place}
                yield Figure(f"Figure 6 by level: {what}, S = {size}, level {level}", name, 100 * shares[size][what],
                             "%", point=point, counted=True)  # fmt: skip
            single[size] += float(sizes[level]) / max(shares[size]["ME"], 1e-9)
        best_lanes += float(sizes[level]) / max(max(each["ME"] for each in shares.values()), 1e-9)
    edges = float(sum(sizes[level] for level in chosen))
    if edges:
        size = min(single, key=lambda each: single[each])
        row = Figure("Figure 6 by level: ME, a size a level", name, 100 * edges / best_lanes, "%", counted=True)
        yield row.versus(f"the best single size, S = {size}", 100 * edges / single[size])


def of_kind(kind: str) -> Callable[[Setup], Iterator[Figure]]:
    """A stage: the generated graph of this kind at the stage's scale."""
    return lambda setup: levels(setup, generated(kind, setup.scale))


def of_real(setup: Setup) -> Iterator[Figure]:
    """A stage: every real graph that is there."""
    for family in real(setup.data):
        yield from levels(setup, family)
