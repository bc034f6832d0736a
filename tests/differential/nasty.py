"""Graphs that break things, drawn from a seed: shapes, repeated edges, self-loops, isolated vertices and weights.

A graph is what the converter is given (`source`, `target`, `weight` of vertices 0..vertices-1) together with what is
asked of it (directed, dedupe, drop_self_loops). `edges` says, by the definitions alone, what a store has to hold.
References read `edges`, `arcs` and `out`; what they find is kept in `memo`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any

import numpy as np

WEIGHTS = ("none", "ones", "bits", "u8", "ints", "u32", "floats", "zeros", "tiny", "huge", "mixed", "signed", "far")
SIZES = ((8, 20), (25, 30), (70, 12), (300, 2), (1500, 1))  # vertices at most, how often


@dataclass
class Graph:
    """See the module. weight: float64[m], or None; isolated: vertices without an edge may be there."""

    vertices: int
    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None = None
    directed: bool = True
    dedupe: bool = False
    drop_self_loops: bool = False
    shape: str = "given"
    memo: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def known(self, key: Hashable, find: Callable[[], Any]) -> Any:
        """What `find` gives, found once."""
        if key not in self.memo:
            self.memo[key] = find()
        return self.memo[key]

    @property
    def raw(self) -> dict[str, Any]:
        """What makes this graph again."""
        weight = None if self.weight is None else self.weight.tolist()
        return {
            "vertices": self.vertices, "source": self.source.tolist(), "target": self.target.tolist(), "weight": weight,
            "directed": self.directed, "dedupe": self.dedupe, "drop_self_loops": self.drop_self_loops,
        }  # fmt: skip

    @property
    def integers(self) -> bool:
        """Whether a store keeps the weights as integers: u1, i4 or u4."""
        weight = self.weight
        if weight is None or not np.array_equal(weight, np.floor(weight)):
            return False
        least, most = (float(weight.min()), float(weight.max())) if len(weight) else (0.0, 0.0)
        return (least >= 0 and most < 2**32) or (least >= -(2**31) and most < 2**31)

    @cached_property
    def edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """source, target, weight (float64, as stored; ones where there are none) of the edges that a store holds.

        An undirected edge is here once, the lesser end first. Of equal edges that are dropped the lightest stays.
        """
        source, target = self.source, self.target
        weight = np.ones(len(source)) if self.weight is None else self.weight.astype(np.float64)
        if self.weight is not None and not self.integers:
            weight = weight.astype(np.float32).astype(np.float64)
        if not self.directed:
            source, target = np.minimum(source, target), np.maximum(source, target)
        rows = list(zip(source.tolist(), target.tolist(), weight.tolist(), strict=True))
        if self.drop_self_loops:
            rows = [row for row in rows if row[0] != row[1]]
        if self.dedupe:
            least: dict[tuple[int, int], float] = {}
            for u, v, w in rows:
                least[u, v] = min(w, least.get((u, v), w))
            rows = [(u, v, w) for (u, v), w in least.items()]
        columns = list(zip(*rows, strict=True)) or [(), (), ()]
        return np.array(columns[0], np.int64), np.array(columns[1], np.int64), np.array(columns[2], np.float64)

    @cached_property
    def arcs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same in every direction in which they lead: of undirected edges both, of a self-loop one."""
        source, target, weight = self.edges
        if self.directed:
            return self.edges
        back = source != target
        return (
            np.concatenate([source, target[back]]),
            np.concatenate([target, source[back]]),
            np.concatenate([weight, weight[back]]),
        )

    @cached_property
    def out(self) -> list[list[tuple[int, float]]]:
        """(neighbour, weight) of each vertex's arcs."""
        lists: list[list[tuple[int, float]]] = [[] for _ in range(self.vertices)]
        for u, v, w in zip(*(part.tolist() for part in self.arcs), strict=True):
            lists[u].append((v, w))
        return lists

    @cached_property
    def near(self) -> list[set[int]]:
        """Neighbours in either direction, each once, not the vertex itself."""
        sets: list[set[int]] = [set() for _ in range(self.vertices)]
        for u, v in zip(self.edges[0].tolist(), self.edges[1].tolist(), strict=True):
            if u != v:
                sets[u].add(v)
                sets[v].add(u)
        return sets

    @property
    def isolated(self) -> bool:
        """Whether some vertex is in no edge that the converter is given."""
        return len(np.union1d(self.source, self.target)) < self.vertices

    @property
    def has_hub(self) -> bool:
        """Whether a list is longer than the least page."""
        counts = np.bincount(np.concatenate([self.source, self.target]), minlength=1)
        return int(counts.max()) > 1000


def given(raw: dict[str, Any]) -> Graph:
    """The graph that Graph.raw was of."""
    ends = {name: np.array(raw[name], np.int64) for name in ("source", "target")}
    weight = None if raw["weight"] is None else np.array(raw["weight"], np.float64)
    return Graph(**{**raw, **ends, "weight": weight})


def draw(random: Random) -> Graph:
    """Any graph."""
    numbers = np.random.default_rng(random.getrandbits(63))
    shape = random.choice(sorted(SHAPES))
    most = random.choices([size for size, _ in SIZES], [often for _, often in SIZES])[0]
    vertices, ends = SHAPES[shape](random.randint(1, most), numbers)
    ends = np.array(ends, np.int64).reshape(-1, 2)
    if random.random() < 0.35 and len(ends):  # repeated edges, turned ones, loops, and some more
        again = ends[numbers.integers(0, len(ends), random.choice([1, 3, len(ends)]))]
        ends = np.concatenate([ends, again if random.random() < 0.5 else again[:, ::-1]])
    if random.random() < 0.3 and shape != "dag":
        ends = np.concatenate([ends, numbers.integers(0, vertices, (random.choice([1, 2, 5]), 2))])
    if random.random() < 0.2 and shape != "dag":
        ends = np.concatenate([ends, np.repeat(numbers.integers(0, vertices, (random.choice([1, 3]), 1)), 2, axis=1)])
    if random.random() < 0.3:
        vertices += random.choice([1, 2, 7, 70])  # isolated, at the end until vertices change places
    if random.random() < 0.5:
        ends = numbers.permutation(vertices)[ends]
    ends = ends[numbers.permutation(len(ends))]
    if random.random() < 0.5:
        vertices, ends = without_isolated(vertices, ends)
    directed = random.random() < 0.5
    graph = Graph(
        vertices, ends[:, 0].copy(), ends[:, 1].copy(), None, directed, random.random() < 0.15, random.random() < 0.15,
        shape,
    )  # fmt: skip
    graph.weight = draw_weight(random.choice(WEIGHTS), len(ends), vertices, numbers)
    return graph


def without_isolated(vertices: int, ends: np.ndarray) -> tuple[int, np.ndarray]:
    """The vertices that occur alone, in their order."""
    if len(ends) == 0:
        return vertices, ends
    found, places = np.unique(ends, return_inverse=True)
    return len(found), places.reshape(-1, 2)


def draw_weight(kind: str, edges: int, vertices: int, numbers: Any) -> np.ndarray | None:
    """float64[edges] of a kind; integers where all are whole."""
    unit = numbers.random(edges)
    most = 3e38 / (vertices + 1)  # no path's sum is past float32's
    found = {
        "none": lambda: None,
        "ones": lambda: np.ones(edges),
        "bits": lambda: numbers.integers(0, 2, edges),
        "u8": lambda: numbers.integers(0, 256, edges),
        "ints": lambda: numbers.integers(0, 70_000, edges),
        "u32": lambda: numbers.integers(2**31, 2**32, edges) // numbers.choice([1, 1, 1000], edges),
        "floats": lambda: unit * 10,
        "zeros": lambda: unit * numbers.integers(0, 2, edges),
        "tiny": lambda: unit * 10.0 ** -numbers.integers(30, 40, edges),
        "huge": lambda: unit * most,
        "mixed": lambda: np.where(unit < 0.5, unit * 1e-6, unit * 1e6),
        "signed": lambda: numbers.integers(-3, 6, edges) * (0.5 if numbers.random() < 0.5 else 1),
        "far": lambda: numbers.integers(2**32, 2**50, edges),  # whole, and too large for 32 bits: float32
    }[kind]()
    return None if found is None else found.astype(np.float64)


def _pairs(*columns: Any) -> np.ndarray:
    return np.stack(np.broadcast_arrays(*map(np.atleast_1d, columns)), axis=1).astype(np.int64)


def _path(n: int, r: Any) -> Any:
    return n, _pairs(np.arange(n - 1), np.arange(1, n))


def _cycle(n: int, r: Any) -> Any:
    return n, _pairs(np.arange(n), (np.arange(n) + 1) % n)


def _star(n: int, r: Any) -> Any:
    leaves = _pairs(0, np.arange(1, n))
    return n, leaves if r.random() < 0.5 else leaves[:, ::-1]


def _two_hubs(n: int, r: Any) -> Any:
    n = max(n, 3)
    others = np.arange(2, n)
    return n, np.concatenate([_pairs(0, others), _pairs(others, 1), _pairs(0, 1)])


def _large_lists(n: int, r: Any) -> Any:
    """Lists of one or two hubs that take several pages of 4 KiB, over few vertices."""
    n = max(n, 3)
    count = int(r.integers(1100, 2600))
    hub = _pairs(0, r.integers(0, n, count))
    if r.random() < 0.5:
        hub = np.concatenate([hub, _pairs(1, r.integers(0, n, 1200)), _pairs(0, 1)])
    return n, np.concatenate([hub if r.random() < 0.5 else hub[:, ::-1], r.integers(0, n, (n, 2))])


def _clique(n: int, r: Any) -> Any:
    n = min(n, 40)
    return n, _pairs(*np.triu_indices(n, 1))


def _clique_chain(n: int, r: Any) -> Any:
    size = int(r.integers(3, 7))
    inside = _pairs(*np.triu_indices(size, 1))
    many = max(1, n // size)
    joined = _pairs(np.arange(many - 1) * size + size - 1, (np.arange(many - 1) + 1) * size)
    return many * size, np.concatenate([*(inside + k * size for k in range(many)), joined])


def _comb(n: int, r: Any) -> Any:
    spine = max(1, int(np.sqrt(n)))
    tooth = max(1, n // spine)
    at = np.arange(spine * tooth)
    teeth = at[at % tooth != 0]
    back = np.arange(spine - 1) * tooth
    return spine * tooth, np.concatenate([_pairs(teeth - 1, teeth), _pairs(back, back + tooth)])


def _tree(n: int, r: Any) -> Any:
    at = np.arange(1, n)
    ends = _pairs((r.random(n - 1) * at).astype(np.int64), at)
    return n, ends if r.random() < 0.5 else ends[:, ::-1]


def _binary_tree(n: int, r: Any) -> Any:
    return n, _pairs((np.arange(1, n) - 1) // 2, np.arange(1, n))


def _bipartite(n: int, r: Any) -> Any:
    left = max(1, n // 3)
    return n + 1, _pairs(r.integers(0, left, 2 * n), r.integers(left, n + 1, 2 * n))


def _grid(n: int, r: Any) -> Any:
    width = int(r.integers(1, max(2, int(np.sqrt(n)) + 1)))
    height = max(1, n // width)
    at = np.arange(width * height)
    across, down = at[at % width < width - 1], at[: width * (height - 1)]
    return width * height, np.concatenate([_pairs(across, across + 1), _pairs(down, down + width)])


def _rmat(n: int, r: Any) -> Any:
    scale = max(1, int(np.ceil(np.log2(max(2, n)))))
    ends = np.zeros((int(r.integers(1, 8)) * n, 2), np.int64)
    for bit in range(scale):
        part = r.choice(4, len(ends), p=[0.57, 0.19, 0.19, 0.05])
        ends += np.stack([part // 2, part % 2], axis=1) << bit
    return 1 << scale, ends


def _dag(n: int, r: Any) -> Any:
    n = max(n, 2)
    ends = np.sort(r.integers(0, n, (int(r.integers(1, 5)) * n, 2)), axis=1)
    return n, ends[ends[:, 0] != ends[:, 1]]


def _dense_dag(n: int, r: Any) -> Any:
    return _clique(n, r)


def _random(n: int, r: Any) -> Any:
    return n, r.integers(0, n, (int(n * r.choice([0.5, 1, 2, 4])), 2))


def _crowded(n: int, r: Any) -> Any:
    return n, (n * r.random((3 * n, 2)) ** 3).astype(np.int64)


def _loops(n: int, r: Any) -> Any:
    some = r.integers(0, n, max(1, n // 2))
    return n, _pairs(some, some)


def _multi(n: int, r: Any) -> Any:
    n = min(n, 6)
    return n, r.integers(0, n, (int(r.integers(5, 120)), 2))


def _islands(n: int, r: Any) -> Any:
    size = int(r.integers(1, 6))
    n = max(n, size)
    base = r.integers(0, n // size, 2 * n) * size
    return n, np.stack([base + r.integers(0, size, 2 * n), base + r.integers(0, size, 2 * n)], axis=1)


def _functional(n: int, r: Any) -> Any:
    return n, _pairs(np.arange(n), r.integers(0, n, n))


def _lollipop(n: int, r: Any) -> Any:
    size = min(10, n)
    rest = np.arange(size, n)
    return n, np.concatenate([_pairs(*np.triu_indices(size, 1)), _pairs(rest - 1, rest)])


def _ladder_of_cycles(n: int, r: Any) -> Any:
    """Cycles of three, each with an edge to the next: strong components in a row."""
    many = max(1, n // 3)
    at = np.arange(3 * many)
    joined = _pairs(np.arange(many - 1) * 3, (np.arange(many - 1) + 1) * 3)
    return 3 * many, np.concatenate([_pairs(at, at - at % 3 + (at + 1) % 3), joined])


def _nothing(n: int, r: Any) -> Any:
    return n, np.empty((0, 2), np.int64)


def _one(n: int, r: Any) -> Any:
    return 1, np.zeros((int(r.integers(0, 3)), 2), np.int64)


def _one_edge(n: int, r: Any) -> Any:
    return 2, _pairs(0, np.ones(int(r.integers(1, 4)), np.int64))


SHAPES: dict[str, Callable[[int, Any], Any]] = {
    name.strip("_"): shape
    for name, shape in list(globals().items())
    if name.startswith("_") and name != "_pairs" and getattr(shape, "__module__", "") == __name__
}
