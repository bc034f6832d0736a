"""`--order auto`: which order of its vertices a graph is stored in.

Degree order pays where hubs dominate: the values that most edges read then lie side by side. It costs where neighbours
have neighbouring numbers, as in web, road and mesh graphs, whose natural order it destroys, and where caches hold the
values of all vertices in any order. So it is taken where all three hold (`bench/orders.py` measures both orders):

* at least LEAST_VERTICES vertices have edges in the lists looked at;
* the HUBS-th part of these, those of most edges, have at least LEAST_HUB_SHARE of the edges;
* of the edges drawn, at most MOST_NEAR_SHARE join vertices that are nearer than the NEAR-th part of all numbers.

Degrees and edges are looked at once these are sorted, and edges are drawn at even steps of that order. So the choice is
a function of the edge set alone: input order, threads, memory and pipes do not change it. Counts are whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pagestore.convert.sortededges import SortedEdges
from pagestore.sizes import show_count

LEAST_VERTICES = 1 << 17  # 512 KiB of 4-byte values
HUBS, LEAST_HUB_SHARE = 16, 0.5
NEAR, MOST_NEAR_SHARE = 64, 0.125
RUNS, RUN_EDGES = 512, 64  # edges are drawn in runs: a read of a file for each
WINDOW = 1 << 17  # degrees looked at together: 1 MiB as 8-byte numbers
MOST_DEGREE = 1 << 16  # degrees from here on count alike: there are less than edges / 2^16 such vertices


@dataclass(frozen=True)
class Choice:
    """`order`: "natural" or "degree". `reason`: a clause for people, with the figure that decided."""

    order: str
    reason: str


def may_reorder(order: str, vertices: int) -> bool:
    """Whether a graph of so many vertices may get another order than its natural one, if `order` is asked for."""
    return order != "natural" and not (order == "auto" and vertices < LEAST_VERTICES)


def order_shuffles(order: str, vertices: int, directed: bool) -> int:
    """How often all edges are sorted for that: by locality a directed graph's lists are wanted both ways first."""
    return may_reorder(order, vertices) + (order == "llp" and directed)


def choose_order(edges: SortedEdges) -> Choice:
    """The order for a graph with these lists, in natural order: of all vertices one way."""
    counts = None if edges.vertices < LEAST_VERTICES else _degree_counts(edges)
    used = edges.vertices if counts is None else int(counts[1:].sum())
    if counts is None or used < LEAST_VERTICES:
        return Choice(
            "natural",
            f"caches hold the values of {show_count(used)} {'vertex' if used == 1 else 'vertices'} in any order",
        )
    share = _hub_share(counts, used // HUBS, edges.edges)
    hubs = f"1/{HUBS} of the vertices have {share:.0%} of the edges"
    if share < LEAST_HUB_SHARE:
        return Choice("natural", f"few hubs: {hubs}")
    near = _near_share(edges)
    if near > MOST_NEAR_SHARE:
        return Choice("natural", f"{near:.0%} of the edges drawn join vertices with near IDs")
    return Choice("degree", f"hubs: {hubs}")


def _degree_counts(edges: SortedEdges) -> np.ndarray:
    """i8[MOST_DEGREE + 1]: vertices by degree."""
    counts = np.zeros(MOST_DEGREE + 1, np.int64)
    for _, window in edges.degrees.windows(WINDOW):
        counts += np.bincount(np.minimum(window, MOST_DEGREE), minlength=MOST_DEGREE + 1)
    return counts


def _hub_share(counts: np.ndarray, hubs: int, edges: int) -> float:
    """The share of the edges that the `hubs` vertices of most edges have."""
    others, small = int(counts.sum()) - hubs, np.arange(MOST_DEGREE)
    before = np.cumsum(counts[:MOST_DEGREE]) - counts[:MOST_DEGREE]
    taken = np.clip(others - before, 0, counts[:MOST_DEGREE])  # the others are those of fewest edges
    return 1 - int((taken * small).sum()) / edges


def _near_share(edges: SortedEdges) -> float:
    """The share of edges whose ends' numbers differ by less than vertices / NEAR, among those drawn."""
    begins = np.unique(np.arange(RUNS, dtype=np.int64) * max(1, edges.edges // RUNS))
    begins = begins[begins < edges.edges]
    at = np.unique(np.minimum(begins[:, None] + np.arange(RUN_EDGES), edges.edges - 1))
    far = np.concatenate([edges.read_targets(int(begin), min(int(begin) + RUN_EDGES, edges.edges)) for begin in begins])
    drawn = np.concatenate([np.arange(begin, min(begin + RUN_EDGES, edges.edges)) for begin in begins])
    far = far[np.searchsorted(drawn, at)].astype(np.int64)
    near, edge = np.empty(len(at), np.int64), 0
    for first, degrees in edges.degrees.windows(WINDOW):
        ends = edge + np.cumsum(degrees, dtype=np.int64)
        here = slice(*np.searchsorted(at, [edge, int(ends[-1])])) if len(ends) else slice(0)
        near[here] = first + np.searchsorted(ends, at[here], "right")
        edge = int(ends[-1]) if len(ends) else edge
    return float(np.mean(np.abs(near - far) < max(1, edges.vertices // NEAR)))
