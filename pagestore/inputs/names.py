"""String IDs become dense integers, ascending by UTF-8 bytes, within a memory budget.

    chunks of names --hash--> edges (hash, hash, weight) on disk
          names not seen lately --by ranges--> name parts --sort, drop equals--> names file, (hash, rank) pairs
    edges --hash to rank--> edge file        in memory when the ranks fit, else by ranges of hashes (dictionary)

Names are sorted and told apart by all their bytes. Hashes carry the ranks: two names with one 64-bit hash are noticed
and another seed is taken. Only the list of names seen lately trusts two hashes, 128 bits.

Chunks are hashed, looked for among the names seen lately, and numbered on all cores, as far as memory holds them. The
files get them in the input's order. Threads share the list of names seen lately without a lock: a name that two of them
find new is written twice, and a slot half written by each holds 128 bits of no name.

Why not DuckDB (2.0: distinct, order, two joins): 10 M edges between 4.9 M names of 15 bytes within 512 MiB took it 44
CPU-seconds and 480 MiB beyond its libraries; this takes 14 and 160, within 64 MiB 29 and 75. 25.7 M distinct names
within 512 MiB: 29 CPU-seconds and 100 MiB.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pagestore.convert.crew import Ticker
from pagestore.convert.edgefile import DenseSource, EdgeFile
from pagestore.convert.options import ProgressHook
from pagestore.convert.storage import Vector
from pagestore.cores import in_order
from pagestore.errors import ResourceError
from pagestore.inputs.base import MAX_ID, EdgeChunk, EdgeSource, StringNames
from pagestore.inputs.blocks import block_bytes
from pagestore.inputs.dictionary import ROUNDS, rewrite_by_parts
from pagestore.inputs.idtable import EMPTY, IdSet, RankTable
from pagestore.inputs.namefile import NameParts, Ranged
from pagestore.inputs.namesort import NameBatch, hash_names, new_names
from pagestore.inputs.several import SeveralSources

CACHE_SHARE, SORT_SHARE, TABLE_SHARE = 8, 4, 2  # parts of the memory: names seen lately, one part, all ranks
BYTES_PER_RANK = 48  # (hash, rank) pairs, their copy in a table
LEAST_SORT_BYTES = 1 << 20
CACHE_SLOTS = 1 << 16  # at first, 1 MiB
GROWTH = 4  # times as many slots once names that were new fill half of them
NAME_BYTES = 8  # of the input that hold a name, about: more slots than names are of no use
SEEDS = 4
CHUNK_SHARE, CHUNK_BLOCKS = 8, 6  # chunks under way take that part of the memory, and each so many times its block
MOST_NAMES = 1 << 24  # told apart: 400 MB at most; `convert.estimate` ends the sample long before


Item = TypeVar("Item")
Made = TypeVar("Made")


class _Collision(Exception):
    """Two names have one hash."""


def dictionary_strings(
    sources: Sequence[Any], workdir: str | Path, memory_bytes: int, hook: ProgressHook | None = None, threads: int = 1
) -> EdgeSource:
    """Make the names in `sources` (readers with `names_of_edges`) dense: a replayable source with `names`.

    Takes up to `memory_bytes` beside the readers' blocks while it works, none to speak of later; temporary files in
    `workdir` last until `close()`. Raises InputError for a line that is no edge, ResourceError when the disk is full.
    """
    union = SeveralSources(sources) if len(sources) > 1 else sources[0]
    folder = Path(tempfile.mkdtemp(prefix="names-", dir=workdir))
    try:
        for seed in range(SEEDS):
            try:
                return _Dictionary(union, sources, folder, memory_bytes, seed, hook, threads).build()
            except _Collision:
                if not union.replayable:
                    break
        raise ResourceError(
            f"{union.name}: two of its names have the same hash, and it can't be read again with another one. "
            f"Save it to a file first."
        )
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def once(which: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """`which` (places of names, int64) without those whose two hashes, 128 bits, repeat.

    Two hubs that fight over a slot of the cache are new again and again; this leaves one of each a chunk.
    """
    order = which[np.argsort(first[which])]
    same = (first[order][1:] == first[order][:-1]) & (second[order][1:] == second[order][:-1])
    return order[np.append(order[:1] == order[:1], ~same)]


def hashes_of(column: Any, seed: np.uint64) -> tuple[NameBatch, np.ndarray]:
    """Names of an Arrow large_string array with their first hashes, and the second ones."""
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[column.offset : column.offset + len(column) + 1]
    characters = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, dtype=np.uint8)
    first, second = np.empty(len(column), dtype=np.uint64), np.empty(len(column), dtype=np.uint64)
    hash_names(characters, ends, seed, first, second)
    return NameBatch(ends, characters, first), second


def empty_cache(slots: int) -> np.ndarray:
    """uint64[slots, 2] of names seen lately: none."""
    return np.full((slots, 2), EMPTY, dtype=np.uint64)


def grown(cache: np.ndarray, slots: int) -> np.ndarray:
    """The same names in more slots."""
    first, second = np.ascontiguousarray(cache[cache[:, 0] != EMPTY].T)
    larger = empty_cache(slots)
    new_names(first, second, larger, np.empty(len(first), np.int64))
    return larger


class _Dictionary:
    def __init__(
        self, union: EdgeSource, sources: Sequence[Any], folder: Path, memory_bytes: int, seed: int,
        hook: ProgressHook | None, threads: int,
    ) -> None:  # fmt: skip
        self._union, self._sources, self._folder, self._hook = union, sources, folder, hook
        self._memory_bytes, self._seed, self._threads = memory_bytes, np.uint64(seed), threads
        a_chunk = CHUNK_BLOCKS * block_bytes(memory_bytes, threads)
        self._at_once = min(threads, memory_bytes // CHUNK_SHARE // a_chunk - 1)

    def _each(self, items: Iterable[Item], work: Callable[[Item], Made]) -> Iterator[tuple[Item, Made]]:
        """(item, work(item)) in order, on as many threads as memory allows."""
        if self._at_once < 2:
            return ((item, work(item)) for item in items)
        return in_order(items, work, self._at_once)

    def build(self) -> EdgeSource:
        hashed = EdgeFile(self._folder / "hashed", self._union.weighted)
        parts = NameParts(self._folder / "part")
        self._distribute(hashed, parts)
        names, hashes = self._write_names(parts)
        if len(names) * BYTES_PER_RANK <= self._memory_bytes // TABLE_SHARE:
            edges = self._rewrite(hashed, hashes)
        else:
            edges = self._rewrite_in_parts(hashed, hashes)
        hashed.remove()
        hashes.close()
        return DenseSource(self._union, edges, None, names)

    def _distribute(self, hashed: EdgeFile, parts: NameParts) -> None:
        most = min(max(self._memory_bytes // CACHE_SHARE // 16, CACHE_SLOTS), 1 << 31)
        least = (self._union.total_bytes or 0) // NAME_BYTES
        self._cache, fresh = empty_cache(min(max(least, CACHE_SLOTS), most)), 0
        ticker = Ticker(self._hook, "read names", self._union.total_bytes, "bytes")
        with self._union.a_pass() if isinstance(self._union, SeveralSources) else nullcontext():
            for source in self._sources:
                for chunk, ends in self._each(source.names_of_edges(), partial(self._hashed, parts)):
                    for _, new in ends:
                        parts.append(new)
                        fresh += len(new.names)
                    if fresh > len(self._cache) // 2 and len(self._cache) < most:
                        self._cache = grown(self._cache, min(GROWTH * len(self._cache), most))
                        fresh = 0
                    hashed.append(ends[0][0], ends[1][0], chunk.weight)
                    ticker.set(self._union.position())
        ticker.finish()

    def _hashed(self, parts: NameParts, chunk: Any) -> list[tuple[np.ndarray, Ranged]]:
        """Of both ends of a chunk's edges: all hashes, and the names not seen lately."""
        ends, cache = [], self._cache
        for column in (chunk.source, chunk.target):
            names, second = hashes_of(column, self._seed)
            new = np.empty(len(names), dtype=np.int64)
            count = int(new_names(names.hashes, second, cache, new))
            ends.append((names.hashes, parts.ranged(names.take(once(new[:count], names.hashes, second)))))
        return ends

    def _write_names(self, parts: NameParts) -> tuple[StringNames, Vector]:
        """Names in ascending order, and their hashes, in files."""
        offsets, data = Vector(1, "<u8", self._folder / "offsets"), Vector(0, "u1", self._folder / "names")
        hashes = Vector(0, "<u8", self._folder / "hashes")
        ticker = Ticker(self._hook, "sort names", None, "names")
        for names in parts.sorted(max(self._memory_bytes // SORT_SHARE, LEAST_SORT_BYTES), threads=self._threads):
            offsets.append(names.offsets[1:] + len(data))
            data.append(names.data)
            hashes.append(names.hashes)
            ticker.set(len(hashes))
        ticker.finish()
        return StringNames(offsets, data), hashes

    def _rewrite(self, hashed: EdgeFile, hashes: Vector) -> EdgeFile:
        table = RankTable(hashes[:])
        if table.repeated:
            raise _Collision
        edges = EdgeFile(self._folder / "edges", self._union.weighted)
        ticker = Ticker(self._hook, "number names", hashed.edges, "edges")
        dtype = np.dtype(np.uint32 if len(hashes) <= 1 << 32 else np.uint64)

        def numbered(chunk: EdgeChunk) -> list[np.ndarray]:
            return [table.ranks(end)[0].astype(dtype) for end in (chunk.source, chunk.target)]

        for chunk, (source, target) in self._each(hashed.read(), numbered):
            edges.append(source, target, chunk.weight)
            ticker.add(len(chunk))
        ticker.finish()
        return edges

    def _rewrite_in_parts(self, hashed: EdgeFile, hashes: Vector) -> EdgeFile:
        """The same, one 64th of the hashes at a time."""
        ticker = Ticker(self._hook, "number names", ROUNDS * hashed.edges, "edges")
        edges = rewrite_by_parts(hashed, hashes, self._folder, ticker.add)
        ticker.finish()
        if edges is None:
            raise _Collision
        return edges


class NameSample(EdgeSource):
    """Edges of `sources` (readers with `names_of_edges`) between hashes of names, as far as they are asked for.

    `distinct_names`, `name_bytes`: different names so far, and the bytes of all ends of edges so far.
    """

    def __init__(self, sources: Sequence[Any]) -> None:
        super().__init__()
        self._sources = sources
        self._union: Any = SeveralSources(sources) if len(sources) > 1 else sources[0]
        self.name, self.directed, self.weighted = self._union.name, self._union.directed, self._union.weighted
        self.total_bytes, self.skipped = self._union.total_bytes, self._union.skipped
        self._seen = IdSet(MOST_NAMES)
        self.name_bytes = 0

    @property
    def distinct_names(self) -> int:
        """Different names among the edges so far."""
        return self._seen.count

    def chunks(self) -> Iterator[EdgeChunk]:
        """See EdgeSource; IDs are hashes."""
        for source in self._sources:
            for chunk in source.names_of_edges():
                ends = []
                for column in (chunk.source, chunk.target):
                    names, _ = hashes_of(column, np.uint64(0))
                    self._seen.add(names.hashes)
                    self.name_bytes += int(names.offsets[-1] - names.offsets[0])
                    ends.append(names.hashes & np.uint64(MAX_ID))
                yield EdgeChunk(ends[0], ends[1], chunk.weight)

    def position(self) -> int:
        """See EdgeSource."""
        return self._union.position()

    def close(self) -> None:
        """See EdgeSource."""
        self._union.close()
