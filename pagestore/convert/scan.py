"""The first pass over the edges: range of IDs, which occur, range of weights, where the edges are; and the spill log.

Encoding: the histograms count edges by their source and by their target in BINS equal ranges of 2^shift user IDs each.
A thread starts with shift 0 and folds its histogram when a greater ID appears.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pagestore.convert.buckets import BINS
from pagestore.convert.crew import Ticker, run_crew
from pagestore.convert.edgefile import HeldEdges, SpillLog
from pagestore.convert.options import ProgressHook
from pagestore.convert.presence import Presence
from pagestore.convert.rounding import check_finite, errors_of
from pagestore.convert.shuffle import shift_for, stages_of
from pagestore.errors import InputError, UsageError
from pagestore.inputs.base import EdgeChunk, EdgeSource
from pagestore.io import Buffers
from pagestore.jit import compiled
from pagestore.sizes import show_things

SAMPLED_CHUNKS = 32  # of a generator, to balance the buckets: at least 1/32 of small graphs, 32 Mi edges of large ones
FLOAT_MAX = float(np.finfo(np.float32).max)
FLOAT_LEAST = float(np.finfo(np.float32).tiny)  # lesser numbers lose digits as float32, below 1.4e-45 all of them
DOUBLE_EXACT = float(1 << 53)  # it and greater integers were perhaps rounded when they became float64 here
U0 = np.uint64(0)


@compiled
def _extent(source, target):
    """Least and greatest ID and the number of self-loops."""
    least, most, loops = ~U0, U0, 0
    for i in range(source.size):
        s, t = source[i], target[i]
        least, most = min(least, min(s, t)), max(most, max(s, t))
        loops += s == t
    return least, most, loops


@compiled
def _histogram(source, target, shift, counts):
    for i in range(source.size):
        counts[0, source[i] >> shift] += np.uint64(1)
        counts[1, target[i] >> shift] += np.uint64(1)


@compiled
def _weights(weight):
    """Least and greatest weight, how many are no integers, how many integers float32 can't hold, one of these, and how
    many are too small for float32, one of these."""
    least, most, broken, inexact, example, tiny, small = weight[0], weight[0], 0, 0, 0.0, 0, 0.0
    for i in range(weight.size):
        w = weight[i]
        least, most = min(least, w), max(most, w)
        whole = w == np.floor(w)
        broken += not whole
        rounded = whole and np.float64(np.float32(w)) != w
        inexact += rounded or (whole and abs(w) >= DOUBLE_EXACT)
        if rounded and example == 0:
            example = w
        if abs(w) < FLOAT_LEAST and w != 0:
            lost = np.float64(np.float32(w)) != w
            tiny += lost
            if lost and (small == 0 or abs(w) < abs(small)):
                small = w
    return least, most, broken, inexact, example, tiny, small


@dataclass
class Tally:
    """What has been seen so far; each thread has one, `merge` adds them up. IDs are user IDs."""

    edges: int = 0
    loops: int = 0
    min_id: int = 1 << 64
    max_id: int = -1
    min_weight: float = float("inf")
    max_weight: float = float("-inf")
    broken_weights: int = 0  # weights that are not integers
    inexact_weights: int = 0  # integer weights that float32 rounds, or that are too large to know
    inexact_example: float = 0.0  # one that is rounded, 0 when none is known
    tiny_weights: int = 0  # weights that float32 stores as 0, or with fewer digits than others
    tiny_example: float = 0.0  # one of them
    round_bits: int | None = None  # significant bits that weights will keep, None: all; and the greatest errors then
    relative_error: float = 0.0
    absolute_error: float = 0.0
    shift: int = 0
    counts: np.ndarray = field(default_factory=lambda: np.zeros((2, BINS), np.uint64))

    def add(self, chunk: EdgeChunk, weighted: bool) -> int:
        """Count a chunk; returns its greatest ID (-1 when it is empty)."""
        if len(chunk) == 0:
            return -1
        least, most, loops = _extent(chunk.source, chunk.target)
        self.edges += len(chunk)
        self.loops += int(loops)
        self.min_id, self.max_id = min(self.min_id, int(least)), max(self.max_id, int(most))
        self._widen(self._shift_for(self.max_id))
        _histogram(chunk.source, chunk.target, np.uint64(self.shift), self.counts)
        if weighted and chunk.weight is not None:
            weight = np.ascontiguousarray(chunk.weight, np.float64)
            found = _weights(weight)
            low, high, broken, inexact, example, tiny, small = found
            self.min_weight, self.max_weight = min(self.min_weight, float(low)), max(self.max_weight, float(high))
            self.broken_weights += int(broken)
            self.inexact_example = self.inexact_example or float(example)
            self.inexact_weights += int(inexact)
            self.tiny_weights += int(tiny)
            self.tiny_example = self.tiny_example or float(small)
            if self.round_bits is not None:
                self._widen_errors(*errors_of(weight, self.round_bits))
        return int(most)

    def _widen_errors(self, relative: float, absolute: float) -> None:
        self.relative_error = max(self.relative_error, relative)
        self.absolute_error = max(self.absolute_error, absolute)

    @staticmethod
    def _shift_for(max_id: int) -> int:
        return max(0, max_id.bit_length() - BINS.bit_length() + 1)

    def _widen(self, shift: int) -> None:
        if shift > self.shift:
            fold = min(1 << (shift - self.shift), BINS)
            folded = self.counts.reshape(2, BINS // fold, fold).sum(axis=2)
            self.counts = np.zeros((2, BINS), np.uint64)
            self.counts[:, : folded.shape[1]] = folded
            self.shift = shift

    def merge(self, other: Tally) -> None:
        """Add another thread's tally."""
        self.edges += other.edges
        self.loops += other.loops
        self.min_id, self.max_id = min(self.min_id, other.min_id), max(self.max_id, other.max_id)
        self.min_weight = min(self.min_weight, other.min_weight)
        self.max_weight = max(self.max_weight, other.max_weight)
        self.broken_weights += other.broken_weights
        self.inexact_weights += other.inexact_weights
        self.tiny_weights += other.tiny_weights
        self.tiny_example = self.tiny_example or other.tiny_example
        self.inexact_example = self.inexact_example or other.inexact_example
        self._widen_errors(other.relative_error, other.absolute_error)
        self._widen(other.shift)
        other._widen(self.shift)
        self.counts = self.counts + other.counts

    def vanishing(self, name: str) -> str:
        """What to tell of weights that are too small for 4-byte floats."""
        count, weight = self.tiny_weights, self.tiny_example
        return (
            f"{name}: {show_things(count, 'weight')} below 1.2e-38 lost digits, {weight:g} is stored as "
            f"{float(np.float32(weight)):g}: weights are stored as 4-byte floats. Scale the weights if that matters."
        )

    def rounding(self, name: str) -> str:
        """What to tell of integer weights that are stored as other numbers."""
        count, weight = self.inexact_weights, self.inexact_example
        example = f", {weight:.0f} as {float(np.float32(weight)):.0f}" if weight else ", or may be, from 2^53 on"
        return (
            f"{name}: {count:,} integer weight{'s are' if count > 1 else ' is'} stored rounded{example}: "
            "fractions among the weights, or integers past 4 bytes, make all of them 4-byte floats, exact for integers "
            "up to 16777216. Scale or round the weights if that matters."
        )

    def weight_dtype(self, name: str) -> np.dtype:
        """The narrowest dtype for the weights seen: u1, i4 or u4 for integers in their range, else f4.

        Raises InputError when a weight is too large for float32, or becomes so when it is rounded.
        """
        low, high = self.min_weight, self.max_weight
        if self.edges == 0 or low > high:
            return np.dtype("u1")
        if not self.broken_weights:
            for dtype in ("u1", "i4", "u4"):
                limits = np.iinfo(dtype)
                if limits.min <= low and high <= limits.max:
                    return np.dtype(dtype)
        for weight in (low, high):
            if abs(weight) > FLOAT_MAX:
                raise InputError(
                    f"{name}: weight {weight:g} is out of range; weights are stored as 4-byte floats, up to "
                    f"{FLOAT_MAX:.3g}. Scale the weights, or pass --no-weights."
                )
        if self.round_bits is not None:
            check_finite(name, self.round_bits, (low, high))
        return np.dtype("f4")


def stored_dtype(tally: Tally, name: str, weighted: bool) -> np.dtype | None:
    """The dtype of all weights of a source, None without any. Raises UsageError where there are none to be rounded."""
    dtype = tally.weight_dtype(name) if weighted else None
    if tally.round_bits is not None and (dtype is None or (dtype.kind != "f" and tally.edges)):
        what = "its weights are integers, which are stored as they are" if dtype else "it has no weights"
        raise UsageError(f"--round-weights: {name}: {what}. Leave the option out.")
    return dtype


@dataclass
class Scan:
    """What the first pass found. `source`: where the second pass reads, the spill log or the source itself.

    `presence`: IDs that occur, None when the vertices are known; `sparse`: an ID was too large for the bitmap.
    """

    source: Any
    tally: Tally
    presence: Presence | None
    sparse: bool


def scan(
    source: EdgeSource, weighted: bool, known_vertices: bool, id_limit: int, spill: SpillLog | None, threads: int,
    hook: ProgressHook | None, round_bits: int | None = None,
) -> Scan:  # fmt: skip
    """Read every edge once. IDs below `id_limit` are marked unless `known_vertices`; a `spill` log takes a copy, if it
    can.

    round_bits: significant bits that weights will keep, None: all.
    """
    presence = None if known_vertices else Presence(id_limit)
    tallies = [Tally(round_bits=round_bits) for _ in range(threads)]
    by_bytes = source.total_bytes is not None and not hasattr(source, "chunk_count")
    total = source.total_bytes if by_bytes else getattr(source, "edge_count", None)
    ticker = Ticker(hook, "read", total, "bytes" if by_bytes else "edges")

    buffers: dict[int, Buffers] = {}

    def look(thread: int, item: Any) -> None:
        own = buffers.setdefault(thread, Buffers())
        chunk: EdgeChunk = source.chunk(item, own) if isinstance(item, int) else item  # type: ignore[attr-defined]
        greatest = tallies[thread].add(chunk, weighted)
        if presence is not None and greatest < id_limit:
            presence.mark(chunk.source)
            presence.mark(chunk.target)
        if spill is not None:
            spill.append(chunk)
        if by_bytes:
            ticker.set(source.position())
        else:
            ticker.add(len(chunk))

    for items in stages_of(source):
        run_crew(threads, items, look)
    ticker.finish()
    tally = tallies[0]
    for other in tallies[1:]:
        tally.merge(other)
    if presence is not None and tally.max_id < id_limit:
        _add_listed(source, tally, presence)
    sparse = presence is not None and tally.max_id >= id_limit
    kept = None if isinstance(spill, HeldEdges) and not spill.whole else spill
    return Scan(kept or source, tally, None if sparse else presence, sparse)


def _add_listed(source: EdgeSource, tally: Tally, presence: Presence) -> None:
    """Mark the vertices of a vertex file. Raises InputError when it must name all vertices but does not."""
    listed = source.vertex_ids()
    if listed is None:
        return
    alone = Presence(presence.limit) if source.closed else presence
    for ids in listed:
        if len(ids):
            tally.min_id, tally.max_id = min(tally.min_id, int(ids.min())), max(tally.max_id, int(ids.max()))
            if tally.max_id >= presence.limit:
                return
            alone.mark(ids.astype(np.uint64))
    if source.closed:
        missing = presence.first_not_in(alone)
        if missing is not None:
            raise InputError(
                f"{source.name}: vertex {missing} has an edge but is not in the vertex file. Add it there."
            )
        presence.bitmap = alone.bitmap


def sample_counts(source: Any, limit: int, threads: int) -> Tally:
    """A tally of some chunks of a source that is asked by number, its counts scaled up to all of them.

    `limit`: one past the greatest ID. Only the balance of the buckets depends on it.
    """
    tallies, buffers = [Tally() for _ in range(threads)], [Buffers() for _ in range(threads)]
    for own in tallies:
        own.shift = shift_for(limit)
    stages = getattr(source, "stages", 1)
    chosen = np.unique(np.linspace(0, max(0, source.chunk_count - 1), SAMPLED_CHUNKS).astype(np.int64))

    def look(thread: int, number: int) -> None:
        chunk = source.chunk(number, buffers[thread])
        tallies[thread].add(EdgeChunk(chunk.source, chunk.target), weighted=False)

    for stage in range(stages):
        if hasattr(source, "enter"):
            source.enter(stage)
        run_crew(min(threads, len(chosen)), iter(chosen.tolist() if source.chunk_count else []), look)
    tally = tallies[0]
    for other in tallies[1:]:
        tally.merge(other)
    if tally.edges and source.chunk_count > len(chosen):
        scale = source.chunk_count / len(chosen)
        tally.counts = np.ceil(tally.counts * scale).astype(np.uint64)
    return tally


def list_counts(edges: Any, limit: int) -> Tally:
    """The tally of an Expansion's near ends alone: each is there as often as its list is long.

    `limit`: one past the greatest ID.
    """
    tally = Tally(shift=shift_for(limit))
    for first, degrees in edges.edges.degrees.windows():
        last = first + len(degrees)
        near = np.arange(first, last) if edges.place is None else edges.place.read(first, last)
        tally.counts[0] += np.bincount(near >> tally.shift, degrees, BINS).astype(np.uint64)
    return tally
