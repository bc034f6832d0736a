"""Graphs from a seed: RMAT (Graph500's parameters), uniformly random edges, a grid.

    source = rmat(scale=20, edge_factor=16, seed=1, scramble=True, weights=True)
    convert(source, "kron20.gs", ConvertOptions(directed=False, dedupe=True, drop_self_loops=True))

Edge number e is a function of (seed, e) alone: its random bits are splitmix64 of a counter. So any thread may make any
chunk, and the graph never depends on threads, chunks or machine. Measured: 30 ns an edge at scale 20, 40 at 29.
Sources: Chakrabarti et al., R-MAT (2004); the Graph500 specification, section 3 (A, B, C = 0.57, 0.19, 0.19).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pagestore.convert.emit import mix
from pagestore.errors import UsageError
from pagestore.inputs.base import CHUNK_EDGES, EdgeChunk, NumberedSource
from pagestore.io import Buffers
from pagestore.jit import compiled

GRAPH500 = (0.57, 0.19, 0.19)  # A, B, C; D is what is left
MAX_SCALE = 40
MAX_EDGES = 1 << 44
LEVEL_BITS = 21  # random bits for one level of RMAT: three levels a draw of 64
MAX_WEIGHT = 255
BLOCK = 128  # edges whose levels are drawn side by side: 2 KiB, in the first-level cache
U1, U63 = np.uint64(1), np.uint64(63)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_WEIGHT_STREAM = np.uint64(0xD1B54A32D192ED03)


@compiled(inline="always")
def scrambled(vertex, scale, keys):
    """A keyed bijection on [0, 2^scale): odd multiplications and shifts, each of which can be undone."""
    mask = (U1 << scale) - U1
    half = (scale + U1) >> U1
    for i in range(keys.size):
        vertex = (vertex * (keys[i] | U1) + (keys[i] >> np.uint64(17))) & mask
        vertex ^= vertex >> half
    return vertex


@compiled(inline="always")
def _level(r, limits, s, t):
    """One level of the quadtree: quadrants A, B, C, D by r. No compares: the sign of limit - 1 - r says r >= limit."""
    right, down, corner = (limits[0] - r) >> U63, (limits[1] - r) >> U63, (limits[2] - r) >> U63
    return (s << U1) | down, (t << U1) | (right - down + corner)


@compiled
def _rmat(first, scale, seed, limits, keys, source, target):
    """Each level takes one bit of both ends; a draw of 64 bits serves three, and those past `scale` are dropped.

    `limits`: A, A+B, A+B+C less 1, in units of 2^-21. The inner loop takes a block of edges and has no branches, so
    LLVM uses SIMD units (24 ns an edge at scale 20; edge by edge 45, with branches 140).
    """
    draws = (scale + np.uint64(2)) // np.uint64(3)
    excess = draws * np.uint64(3) - scale
    mask = (U1 << np.uint64(LEVEL_BITS)) - U1
    low, middle, high = limits[0], limits[1], limits[2]
    for begin in range(0, source.size, BLOCK):
        s, t = source[begin : begin + BLOCK], target[begin : begin + BLOCK]
        start = seed + (first + np.uint64(begin)) * draws * GOLDEN
        for i in range(s.size):
            s[i], t[i] = np.uint64(0), np.uint64(0)
        for draw in range(draws):
            for i in range(s.size):
                bits = mix(start + (np.uint64(i) * draws + np.uint64(draw) + U1) * GOLDEN)
                a, b = _level(bits & mask, (low, middle, high), s[i], t[i])
                a, b = _level((bits >> np.uint64(LEVEL_BITS)) & mask, (low, middle, high), a, b)
                s[i], t[i] = _level((bits >> np.uint64(2 * LEVEL_BITS)) & mask, (low, middle, high), a, b)
        for i in range(s.size):
            s[i] = scrambled(s[i] >> excess, scale, keys)
            t[i] = scrambled(t[i] >> excess, scale, keys)


@compiled
def _uniform(first, scale, seed, keys, source, target):
    mask = (U1 << scale) - U1
    for i in range(source.size):
        counter = seed + (first + np.uint64(i)) * np.uint64(2) * GOLDEN
        source[i] = scrambled(mix(counter + GOLDEN) & mask, scale, keys)
        target[i] = scrambled(mix(counter + GOLDEN + GOLDEN) & mask, scale, keys)


@compiled
def _grid(first, rows, columns, scale, keys, source, target):
    """Edges to the right, row by row, then edges down, row by row."""
    across = rows * (columns - U1)
    for i in range(source.size):
        edge = first + np.uint64(i)
        if edge < across:
            vertex = edge // (columns - U1) * columns + edge % (columns - U1)
            other = vertex + U1
        else:
            vertex = edge - across
            other = vertex + columns
        source[i] = scrambled(vertex, scale, keys)
        target[i] = scrambled(other, scale, keys)


@compiled
def _weights(first, seed, weight):
    for i in range(weight.size):
        draw = mix((seed ^ _WEIGHT_STREAM) + (first + np.uint64(i)) * GOLDEN)
        weight[i] = np.float64(U1 + (draw >> np.uint64(32)) * np.uint64(MAX_WEIGHT) // (U1 << np.uint64(32)))


class GeneratedSource(NumberedSource):
    """A generated graph of 2^scale vertices 0..2^scale-1.

    `chunk_edges` may be set before the first chunk. `weight_range`: (least, greatest) of the integer weights, None
    without. make(first, seed, keys, source, target) fills both ends with the edges from number `first` on.
    """

    trusted = True

    def __init__(
        self, kind: str, scale: int, edge_count: int, seed: int, scramble: bool, weights: bool,
        make: Callable[[np.uint64, np.uint64, np.ndarray, np.ndarray, np.ndarray], None], **more: Any,
    ):  # fmt: skip
        super().__init__()
        if not 0 <= seed < 1 << 64:
            raise UsageError(f"--seed {seed}: out of range; it is 0 to 2^64-1.")
        self.kind, self.scale, self.edge_count, self.seed = kind, scale, edge_count, seed
        self.name = f"{kind} of scale {scale}, seed {seed}"
        self.vertices, self.weighted = 1 << scale, weights
        self.weight_range = (1.0, float(MAX_WEIGHT)) if weights else None
        self.chunk_edges = CHUNK_EDGES
        draws = splitmix(seed, 8)
        self._make, self._seed = make, draws[0]
        self._keys = draws[1:4] if scramble else draws[:0]
        self.provenance: dict[str, Any] = {
            "generator": kind, "scale": scale, "edges": edge_count, "seed": seed, "scramble": scramble, **more,
        }  # fmt: skip
        self.fingerprint = {"generated": self.provenance, "weights": weights}

    def chunk(self, number: int, buffers: Buffers | None = None) -> EdgeChunk:
        """See NumberedSource: edges number * chunk_edges and on."""
        empty = (buffers or Buffers()).get
        first = number * self.chunk_edges
        count = min(self.chunk_edges, self.edge_count - first)
        source, target = empty("source", count, np.uint64), empty("target", count, np.uint64)
        self._make(np.uint64(first), self._seed, self._keys, source, target)
        weight = None
        if self.weighted:
            weight = empty("weight", count, np.float64)
            _weights(np.uint64(first), self._seed, weight)
        return EdgeChunk(source, target, weight)


def rmat(
    scale: int, edge_factor: int = 16, seed: int = 1, *, scramble: bool = False, weights: bool = False,
    abc: tuple[float, float, float] = GRAPH500,
) -> GeneratedSource:  # fmt: skip
    """RMAT: edge_factor * 2^scale edges, skewed; duplicates and self-loops included, as Graph500 has them.

    `scramble` renames the vertices by a keyed bijection; `weights`: integers 1..255. Raises UsageError.
    """
    if len(abc) != 3 or min(abc) < 0 or sum(abc) > 1:
        raise UsageError(f"RMAT probabilities {abc}: A, B and C must be 0 or more and add up to at most 1.")
    limits = np.array([round(float(p) * (1 << LEVEL_BITS)) for p in np.cumsum(abc)], np.uint64) - U1
    edges, bits = _edges_of(scale, edge_factor), np.uint64(scale)
    return GeneratedSource(
        "rmat", scale, edges, seed, scramble, weights,
        lambda first, drawn, keys, source, target: _rmat(first, bits, drawn, limits, keys, source, target),
        abc=list(abc),
    )  # fmt: skip


def uniform(
    scale: int, edge_factor: int = 16, seed: int = 1, *, scramble: bool = False, weights: bool = False
) -> GeneratedSource:
    """edge_factor * 2^scale edges whose ends are uniformly random. Raises UsageError."""
    edges, bits = _edges_of(scale, edge_factor), np.uint64(scale)
    return GeneratedSource(
        "uniform", scale, edges, seed, scramble, weights,
        lambda first, drawn, keys, source, target: _uniform(first, bits, drawn, keys, source, target),
    )  # fmt: skip


def grid(scale: int, seed: int = 1, *, scramble: bool = False, weights: bool = False) -> GeneratedSource:
    """A grid of 2^(scale//2) rows: an edge to the right and one down from each vertex that has such a neighbour."""
    check_scale(scale)
    rows, columns = 1 << (scale // 2), 1 << (scale - scale // 2)
    edges = rows * (columns - 1) + (rows - 1) * columns
    shape = (np.uint64(rows), np.uint64(columns), np.uint64(scale))
    return GeneratedSource(
        "grid", scale, edges, seed, scramble, weights,
        lambda first, drawn, keys, source, target: _grid(first, *shape, keys, source, target),
    )  # fmt: skip


def check_scale(scale: int) -> None:
    """UsageError for a scale that no generator takes."""
    if not 0 <= scale <= MAX_SCALE:
        raise UsageError(f"--scale {scale}: out of range; it is 0 to {MAX_SCALE}.")


def splitmix(seed: int, count: int) -> np.ndarray:
    """The first `count` numbers (uint64) of splitmix64 from `seed`."""
    counters = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * GOLDEN
    return np.array([mix(counter) for counter in counters], np.uint64)


def _edges_of(scale: int, edge_factor: int) -> int:
    check_scale(scale)
    if not 0 <= edge_factor <= MAX_EDGES >> scale:
        raise UsageError(f"--edge-factor {edge_factor}: out of range; scale {scale} takes 0 to {MAX_EDGES >> scale}.")
    return edge_factor << scale
