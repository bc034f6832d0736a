"""Sparse integer IDs become dense: the distinct ones in ascending order, and every edge between their ranks.

Few enough IDs for the budget (BYTES_PER_ID each): a hash set collects them in one pass over the source, a hash table of
ranks rewrites the edges in a second one. More than that: both are split by ranges of IDs. The edges
and the IDs go to files either way, so nothing stays in memory. Strings: names.py.

Edges rewritten to dense IDs when not even the distinct IDs fit in memory: all is split by ranges, on disk.

    edges --by source--> near[p]   targets --> far[p]          one pass over the source
    near[p].source + far[p] --distinct, sorted--> ids          part after part; base[p] = IDs before it
    near[p] --rank the sources, by target--> turned[q]
    turned[q] --rank the targets--> edges

The ranges are quantiles of the distinct IDs that did fit, so each holds about an equal number of distinct IDs (hashes
of names are cut evenly). Two rounds of writing, 16 to 24 bytes an edge each; a part's distinct IDs must fit, its edges
need not.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from pagestore.convert.crew import Ticker
from pagestore.convert.edgefile import DenseSource, EdgeFile
from pagestore.convert.options import ProgressHook
from pagestore.convert.storage import Vector
from pagestore.errors import InputError, ResourceError
from pagestore.inputs.base import EdgeChunk, EdgeSource
from pagestore.inputs.idtable import IdSet, RankTable, distinct
from pagestore.jit import compiled

PARTS = 64
HASHES_AT_ONCE = 1 << 20
ROUNDS = 3  # times that every edge is read here
Ranker = Callable[[np.ndarray], np.ndarray]
Rank = Callable[[EdgeSource, RankTable, np.ndarray], np.ndarray]
# growing set: 8 bytes / 0.65 * (1 + 1 / 1.6) = 20; then ranks 12 / 0.65 = 19 beside 8 for the sorted IDs and their copy
BYTES_PER_ID = 40
FEWEST_IDS = 1 << 14


@compiled
def part_of_each(splitters: np.ndarray, ids: np.ndarray, part: np.ndarray, counts: np.ndarray) -> None:
    """part[k] (uint8) = number of splitters <= ids[k]; counts[p + 1] counts them."""
    for k in range(np.uint64(len(ids))):
        low, high = 0, len(splitters)
        while low < high:
            middle = (low + high) >> 1
            if splitters[middle] <= ids[k]:
                low = middle + 1
            else:
                high = middle
        part[k] = low
        counts[low + 1] += 1


class Parts:
    """Ranges of IDs between `splitters` (ascending uint64)."""

    def __init__(self, splitters: np.ndarray) -> None:
        self.splitters, self.parts = splitters, len(splitters) + 1

    @classmethod
    def quantiles(cls, known: np.ndarray) -> Parts:
        """PARTS ranges with about as many of the ascending IDs `known` each."""
        return cls(distinct(known[np.linspace(0, len(known), PARTS, endpoint=False).astype(np.int64)[1:]]))

    @classmethod
    def even(cls) -> Parts:
        """PARTS equal ranges of all 64-bit numbers."""
        return cls(np.arange(1, PARTS, dtype=np.uint64) * np.uint64((1 << 64) // PARTS))

    def files(self, folder: Path, name: str, weighted: bool) -> list[EdgeFile]:
        return [EdgeFile(folder / f"{name}{part}", weighted) for part in range(self.parts)]

    def scatter(
        self, files: Sequence[EdgeFile], keys: np.ndarray, others: np.ndarray, weight: np.ndarray | None
    ) -> None:
        """Append (key, other, weight) to the file of the key's range."""
        part = np.empty(len(keys), dtype=np.uint8)
        counts = np.zeros(self.parts + 1, dtype=np.int64)
        part_of_each(self.splitters, keys, part, counts)
        order = np.argsort(part, kind="stable")  # a radix sort for uint8
        bounds = np.cumsum(counts).tolist()
        keys, others = keys[order], others[order]
        weight = None if weight is None else weight[order]
        for number, file in enumerate(files):
            group = slice(bounds[number], bounds[number + 1])
            file.append(keys[group], others[group], None if weight is None else weight[group])


def compact_by_parts(
    source: EdgeSource, folder: Path, known: np.ndarray, most_ids: int, rank: Rank, tick: Callable[[int], None]
) -> EdgeSource:
    """As `dictionary.compact_integers`, given some of the distinct IDs, ascending (uint64).

    most_ids: distinct IDs that the memory holds at once. rank: `dictionary.ranks_of`. `tick` gets the edges read, in
    all ROUNDS times the edges of the source.
    """
    parts = Parts.quantiles(known)
    near, far = _distribute(source, folder, parts, tick)
    ids, bounds = Vector(0, "<i8", folder / "ids"), [0]
    for part in range(parts.parts):
        found = IdSet(most_ids)
        fits = all(found.add(chunk.source) for chunk in far[part].read())
        if fits and not source.closed:
            fits = all(found.add(chunk.source) for chunk in near[part].read())
        if not fits:
            raise ResourceError(
                f"{source.name}: the distinct vertex IDs don't fit in the memory given, not even in {PARTS} parts. "
                f"Pass a larger --memory."
            )
        far[part].remove()
        ids.append(found.sorted())
        bounds.append(len(ids))

    def ranker(part: int) -> Ranker:
        table = RankTable(ids[bounds[part] : bounds[part + 1]].view(np.uint64), bounds[part])
        return lambda values: rank(source, table, values)

    return DenseSource(source, _rank_both(near, parts, ranker, folder, tick), ids)


def _distribute(
    source: EdgeSource, folder: Path, parts: Parts, tick: Callable[[int], None]
) -> tuple[list[EdgeFile], list[EdgeFile]]:
    """Near: edges by the range of their source. Far: IDs that are vertices for another reason, twice in a row."""
    near, far = parts.files(folder, "near", source.weighted), parts.files(folder, "far", False)
    for listed in source.vertex_ids() or ():
        ids = np.ascontiguousarray(listed).view(np.uint64)
        parts.scatter(far, ids, ids, None)
    for chunk in source.chunks():
        parts.scatter(near, chunk.source, chunk.target, chunk.weight)
        if not source.closed:
            ids = distinct(chunk.target)
            parts.scatter(far, ids, ids, None)
        tick(len(chunk))
    return near, far


def _rank_both(
    near: Sequence[EdgeFile], parts: Parts, ranker: Callable[[int], Ranker], folder: Path, tick: Callable[[int], None]
) -> EdgeFile:
    """Edges of `near` (by ranges of their source) with both ends ranked; `ranker(p)` ranks IDs of range p."""
    weighted = near[0].weighted
    turned = parts.files(folder, "turned", weighted)
    for part, file in enumerate(near):
        rank = ranker(part)
        for chunk in file.read():
            parts.scatter(turned, chunk.target, rank(chunk.source), chunk.weight)
            tick(len(chunk))
        file.remove()
    edges = EdgeFile(folder / "edges", weighted)
    for part, file in enumerate(turned):
        rank = ranker(part)
        for chunk in file.read():
            edges.append(chunk.target, rank(chunk.source), chunk.weight)
            tick(len(chunk))
        file.remove()
    return edges


def rewrite_by_parts(hashed: EdgeFile, hashes: Vector, folder: Path, tick: Callable[[int], None]) -> EdgeFile | None:
    """Edges of `hashed` between ranks; `hashes` holds the 64-bit hash of each rank. None when a hash repeats.

    `tick` gets the number of edges read, ROUNDS times all of them.
    """
    parts = Parts.even()
    pairs = parts.files(folder, "pairs", False)
    for first, window in hashes.windows(HASHES_AT_ONCE):
        parts.scatter(pairs, window, np.arange(first, first + len(window), dtype=np.uint64), None)
    near = parts.files(folder, "near", hashed.weighted)
    for chunk in hashed.read():
        parts.scatter(near, chunk.source, chunk.target, chunk.weight)
        tick(len(chunk))
    repeated = False

    def ranker(part: int) -> Ranker:
        nonlocal repeated
        none = EdgeChunk(np.empty(0, np.uint64), np.empty(0, np.uint64))
        pair = EdgeChunk.joined([none, *pairs[part].read()])
        table = RankTable(pair.source, ranks=pair.target)
        repeated |= table.repeated
        return lambda values: table.ranks(values)[0]

    edges = _rank_both(near, parts, ranker, folder, tick)
    for file in pairs:
        file.remove()
    if repeated:
        edges.remove()
        return None
    return edges


def compact_integers(
    source: EdgeSource, workdir: str | Path, memory_bytes: int, hook: ProgressHook | None = None,
    edges_in_all: int | None = None,
) -> EdgeSource:  # fmt: skip
    """Make the IDs of `source`, which is replayable, dense: a source with `ids` (int64, ascending) and `vertices`.

    A vertex file adds vertices. Takes up to `memory_bytes` while it works, and little later; temporary files in
    `workdir` last until `close()`. Raises InputError for an endpoint that a closed vertex file lacks, ResourceError
    when the disk is full.
    """
    folder = Path(tempfile.mkdtemp(prefix="ids-", dir=workdir))
    limit = max(memory_bytes // BYTES_PER_ID, FEWEST_IDS)
    found = IdSet(limit)
    ticker = Ticker(hook, "collect IDs", edges_in_all, "edges")
    if not all(found.add(ids) for ids in all_ids(source, ticker.add)):
        rounds = None if edges_in_all is None else ROUNDS * edges_in_all
        ticker = Ticker(hook, "number IDs", rounds, "edges")
        compact = compact_by_parts(source, folder, found.sorted(), limit, ranks_of, ticker.add)
        ticker.finish()
        return compact
    ticker.finish()
    ticker = Ticker(hook, "number IDs", edges_in_all, "edges")
    ids = found.sorted()
    stored = Vector(len(ids), "<i8", folder / "ids")
    stored.write(0, ids)
    table = RankTable(ids)
    edges = EdgeFile(folder / "edges", source.weighted)
    with ThreadPoolExecutor(2) as pool:  # look-ups wait for memory and release the GIL
        for chunk in source.chunks():
            near, far = pool.map(partial(ranks_of, source, table), (chunk.source, chunk.target))
            edges.append(near, far, chunk.weight)
            ticker.add(len(chunk))
    ticker.finish()
    return DenseSource(source, edges, stored)


def all_ids(source: EdgeSource, tick: Callable[[int], None]) -> Iterator[np.ndarray]:
    """Uint64 arrays that together hold every vertex: of the vertex file, and of the edges unless it is closed.

    `tick` gets the number of edges read.
    """
    for ids in source.vertex_ids() or ():
        yield np.ascontiguousarray(ids).view(np.uint64)
    if not source.closed:
        for chunk in source.chunks():
            yield chunk.source
            yield chunk.target
            tick(len(chunk))


def ranks_of(source: EdgeSource, table: RankTable, ids: np.ndarray) -> np.ndarray:
    """Ranks of the endpoints `ids`; InputError when one is no vertex."""
    ranks, known = table.ranks(np.ascontiguousarray(ids))
    if known < len(ids):
        raise InputError(f"{source.name}: vertex {ids[known]} has an edge but is not in the vertex file. Add it there.")
    return ranks
