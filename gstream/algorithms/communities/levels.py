"""Levels of Louvain and Leiden: the store's graph, gathered by blocks of lists, and smaller graphs (coarser.py).

Vertices are visited in slices by a hash of the seed; all of a slice choose before any of them moves. So threads,
devices and memory change nothing. Where memory has no room for all lists, those of as many vertices as fit a block are
gathered, slice by slice: a round sweeps the pages as often as there are blocks.
Small graphs have room in any case: one thread visits their vertices in an order by the hash.

Weights are rounded to multiples of a power of two, so coarse that the sum of all is exact in float64: integers that sum
to less than 2^53 stay as they are, others lose less than a rounding of the sum.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gstream.algorithms.communities import moving
from gstream.algorithms.labelling.cdlp import gather_labels
from gstream.algorithms.support.blocks import (
    ROOM_SHARE,
    VERTEX_BYTES,
    Blocks,
    OnGpu,
    Range,
    gather,
    head_of,
    neighbours,
)
from gstream.algorithms.support.resident import Resident
from gstream.algorithms.support.session import ITEMS_A_THREAD, Session
from gstream.records.held import Held as HeldValues
from gstream.records.held import on_host
from pagestore.errors import CapError

ALONE = 1 << 14  # entries of a graph whose vertices one thread visits one by one
TABLES_SHARE = 2  # of the memory that is left, they take so small a part
EXACT_BITS = 53  # of integers in float64
WEIGHTED = np.dtype([("neighbour", np.uint32), ("weight", np.float64)])  # bytes of an entry in blocks
WEIGHTED_WIDE = np.dtype([("neighbour", np.uint64), ("weight", np.float64)])


@dataclass(frozen=True)
class Lists:
    """Lists of vertices [first, first + len(starts) - 1), or of `listed` ones."""

    starts: np.ndarray
    ids: np.ndarray | HeldValues
    weights: np.ndarray | HeldValues
    first: int
    listed: bool = False

    @property
    def on_host(self) -> Lists:
        """With arrays in host memory."""
        return replace(self, ids=on_host(self.ids), weights=on_host(self.weights))

    @property
    def arrays(self) -> tuple[Any, ...]:
        return self.starts, self.ids, self.weights, self.first

    @property
    def for_visits(self) -> tuple[Any, ...]:
        """What kernels that visit vertices take."""
        return *self.arrays, self.listed

    def since(self, index: int) -> Lists:
        """Those from listed[index] on; all of them where none are listed."""
        return replace(self, starts=self.starts[index:]) if self.listed and index else self


def entry_dtype(session: Session, weighted: bool) -> np.dtype:
    """Of an entry in a block, by its size."""
    wide = session.id_dtype.itemsize == 8
    return (WEIGHTED_WIDE if wide else WEIGHTED) if weighted else session.id_dtype


class Gathered(ABC):
    """Lists of which memory holds one block at a time, or all where there is one block."""

    def __init__(self, session: Session, blocks: Blocks, weighted: bool) -> None:
        self.session, self.blocks, self.weighted = session, blocks, weighted
        self.vertices = len(blocks.before) - 1
        self.ids = np.empty(blocks.most_entries, session.id_dtype)
        self.heavy = np.empty(blocks.most_entries if weighted else 0)
        self._cursor = np.empty(blocks.most_vertices, np.uint64)
        self._slot = np.full(self.vertices if len(blocks) > 1 else 0, session.none, session.id_dtype)
        session.reserve(self.ids, self.heavy, self._cursor, self._cursor, self._slot)
        self._whole: Lists | None = None
        self._on_gpu: Lists | None = None

    @property
    def entries(self) -> int:
        return int(self.blocks.before[-1])

    @property
    def longest(self) -> int:
        """Entries of the longest list."""
        return int(np.diff(self.blocks.before).max(initial=1))

    @property
    def with_lists(self) -> Any:
        """The vertices whose lists have entries."""
        return np.flatnonzero(np.diff(self.blocks.before))

    def whole(self) -> Lists | None:
        """All lists, where memory has room for them at once."""
        return next(self.parts()) if len(self.blocks) == 1 else None

    def on_gpu(self) -> Lists | None:
        """`whole`, of which a copy stays on the GPU that does all of it, if it has room."""
        if self._on_gpu is None and len(self.blocks) == 1:
            self._on_gpu = self._gather_on_gpu() if self._whole is None else None
            if self._on_gpu is None:
                self._on_gpu = copy_to_gpu(self.session, next(self.parts()))
        return self._on_gpu

    def _gather_on_gpu(self) -> Lists | None:
        """All lists, in a GPU's memory alone; None: they are to be gathered in host memory first."""
        return None

    def parts(self) -> Iterator[Lists]:
        """The lists, block by block."""
        if self._whole is None and len(self.blocks) == 1:
            self._whole = self._gather(0) if self._on_gpu is None else self._on_gpu.on_host
        for number in range(len(self.blocks)):
            yield self._whole or self._gather(number)

    def among(self, visited: np.ndarray) -> Iterator[tuple[Lists, int, int]]:
        """(lists, begin, end): those of visited[begin:end]. Where there are several blocks, only these are gathered, of
        as many vertices as fit one. visited: id[n]."""
        if len(self.blocks) == 1:
            yield next(self.parts()), 0, len(visited)
            return
        before, begin = self.blocks.before, 0
        after = np.cumsum(before[visited + np.uint64(1)] - before[visited], dtype=np.uint64)
        self.session.reserve(after)
        while begin < len(visited):
            done = after[begin - 1] if begin else np.uint64(0)
            end = int(np.searchsorted(after, done + np.uint64(len(self.ids)), side="right"))
            end = min(end, begin + len(self._cursor))
            starts = np.append(np.uint64(0), after[begin:end] - done)
            self._slot[visited[begin:end]] = np.arange(end - begin, dtype=self._slot.dtype)
            yield self._gather_visited(visited[begin:end], starts), begin, end
            self._slot[visited[begin:end]] = self.session.none
            begin = end
        self.session.release(after)

    @abstractmethod
    def _gather(self, number: int) -> Lists:
        """The lists of a block."""

    @abstractmethod
    def _gather_visited(self, visited: np.ndarray, starts: np.ndarray) -> Lists:
        """The lists of some vertices, whose `_slot` says which of them they are."""


class Stored(Gathered):
    """The store's graph: in- and out-neighbours of directed ones together."""

    def __init__(self, session: Session, weighted: bool, identity: np.ndarray, later: int = 0) -> None:
        """identity: id[V], ascending numbers. later: bytes that the call will hold beside. Raises ResourceError."""
        self._identity = identity
        self.own = 1.0 if session.meta.directed else 2.0  # a self-loop stands in one list, or in an out- and an in-list
        sizes = neighbours(session)
        session.reserve(sizes)
        dtype = entry_dtype(session, weighted)
        blocks = Blocks(session, sizes, dtype, on_gpu=OnGpu(identity.nbytes, dtype.itemsize, 8), later=later)
        if len(blocks) > 1 and int(blocks.before[-1]) <= ALONE:
            raise _too_little(session, weighted, int(blocks.before[-1]))
        self.alone = np.flatnonzero(sizes == 0).astype(session.id_dtype)  # vertices without lists
        session.reserve(self.alone)
        session.release(sizes)
        del sizes
        super().__init__(session, blocks, weighted)
        self._unit = unit_of(session) if weighted else 0.0

    def _gather_on_gpu(self) -> Lists | None:
        session, block = self.session, self.blocks.range(0)
        if self.weighted or (ids := session.hold(block.entries, session.id_dtype)) is None:
            return None
        with Resident(session, self._identity, ids, self._cursor) as resident:
            if not resident.on_gpu:
                return None
            given = self._identity, ids, np.uint64(block.entries)
            gather(session, block, gather_labels, given, self._cursor, resident)
            resident.forget(self._cursor)
        return Lists(block.starts, ids, self.heavy, 0)

    def _gather_visited(self, visited: np.ndarray, starts: np.ndarray) -> Lists:
        """The lists of some vertices."""
        block = Range(int(visited.min()), int(visited.max()) + 1, starts)
        cursor, ids = self._cursor[: len(visited)], self.ids[: block.entries]
        heavy, room = self.heavy[: block.entries], np.uint64(block.entries)
        if self.weighted:
            kernel = moving.gather_weighted_visited
            gather(self.session, block, kernel, (self._slot, ids, heavy, room), cursor)
            self._round(heavy)
        else:
            gather(self.session, block, moving.gather_visited, (self._slot, ids, room), cursor)
        return Lists(starts, ids, heavy, 0, True)

    def _round(self, heavy: np.ndarray) -> None:
        """Make weights multiples of the unit."""
        if self._unit:
            np.multiply(np.rint(np.divide(heavy, self._unit, out=heavy), out=heavy), self._unit, out=heavy)

    def _gather(self, number: int) -> Lists:
        block, session = self.blocks.range(number), self.session
        cursor, ids = self._cursor[: block.end - block.first], head_of(self.ids, block.entries)
        heavy = head_of(self.heavy, block.entries) if self.weighted else self.heavy
        room = np.uint64(block.entries)
        if self.weighted:
            gather(session, block, moving.gather_weighted, (ids, heavy, room), cursor)
            self._round(heavy)
        else:
            gather(session, block, gather_labels, (self._identity, ids, room), cursor)
        return Lists(block.starts, ids, heavy, block.first)


def _too_little(session: Session, weighted: bool, entries: int) -> CapError:
    """A small graph has no room."""
    need = session.engine.beside_bytes + lists_room(session, weighted) + session.least_pages(True)
    return CapError(
        f"--host-memory {session.engine.host_memory} bytes: too little; {need} bytes are needed at least: all "
        f"{entries} neighbours of a small graph must fit a quarter of what is left. Raise --host-memory.",
        "--host-memory",
        need,
    )


def lists_room(session: Session, weighted: bool) -> int:
    """Bytes with which lists have room in any case: all those of a small graph, else the longest."""
    meta = session.meta
    entries = (1 + meta.directed) * meta.edges
    longest = min(entries, max(ALONE, meta.max_out_degree + meta.max_in_degree))
    return ROOM_SHARE * (
        longest * (entry_dtype(session, weighted).itemsize) + VERTEX_BYTES * min(meta.vertices, longest + 1)
    )


def unit_of(session: Session) -> float:
    """The power of two that weights are multiples of; 0.0 if they need no rounding."""
    meta = session.meta
    bits = math.frexp(4.0 * max(meta.edges, 1) * float(meta.max_weight or 0))[1]  # twice from both ends
    whole = np.dtype(meta.weight_dtype).kind != "f"
    return 0.0 if whole and bits <= EXACT_BITS else math.ldexp(1.0, bits - EXACT_BITS)


def copy_to_gpu(session: Session, lists: Lists) -> Lists:
    """The lists with copies on the GPU, as far as it has room."""

    def copied(array: Any) -> np.ndarray | HeldValues:
        values = session.hold(len(array), array.dtype) if len(array) else None
        if values is None:
            return array
        values.put(array)
        return values

    host = lists.on_host
    return replace(lists, ids=copied(host.ids), weights=copied(host.weights))


class Held:
    """A smaller graph in host memory, or on the GPU that does all of it: host memory has room, though."""

    own = 1.0
    with_lists = slice(None)  # all vertices' lists have entries

    def __init__(self, session: Session, lists: Lists) -> None:
        self.session, self.vertices = session, len(lists.starts) - 1
        self._lists, self._on_gpu = lists, None if isinstance(lists.ids, np.ndarray) else lists
        session.reserve(lists.starts, lists.ids, lists.weights)

    @property
    def entries(self) -> int:
        return len(self._lists.ids)

    @property
    def longest(self) -> int:
        """Entries of the longest list."""
        return int(np.diff(self._lists.starts).max(initial=1))

    def on_gpu(self) -> Lists:
        """All lists, of which a copy stays on the GPU, if it has room."""
        if self._on_gpu is None:
            self._on_gpu = copy_to_gpu(self.session, self._lists)
        return self._on_gpu

    def whole(self) -> Lists:
        """All lists."""
        return self._lists.on_host

    def parts(self) -> Iterator[Lists]:
        """All lists at once."""
        yield self.whole()

    def among(self, visited: np.ndarray) -> Iterator[tuple[Lists, int, int]]:
        """As Stored.among."""
        yield self.whole(), 0, len(visited)

    def free(self) -> None:
        """Give the memory back."""
        lists = self._lists
        self.session.release(lists.starts, lists.ids, lists.weights)
        del self._lists, self._on_gpu


class Tables:
    """A hash table for each thread, for lists of up to `most` distinct ends; memory may have room for fewer threads."""

    def __init__(self, session: Session, most: int) -> None:
        engine, slots = session.engine, max(8, 1 << (2 * most - 1).bit_length())
        room = max(0, engine.host_memory - engine.beside_bytes) // TABLES_SHARE
        fit = room // (slots * (2 * session.id_dtype.itemsize + 8))
        self.threads = max(1, min(engine.workers.threads, fit))
        slots *= self.threads
        self.keys = np.full(slots, session.none, session.id_dtype)
        self.sums, self.used = np.empty(slots), np.empty(slots, session.id_dtype)
        self._turn, self._session = np.zeros(1, np.int64), session
        session.reserve(self.keys, self.sums, self.used)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What a kernel is given."""
        self._turn[0] = 0
        return self.keys, self.sums, self.used, self._turn, self.threads

    def items(self, found: int | None = None) -> int | None:
        """Options of `session.each`: as many threads as there are hash tables. found: the work."""
        most = None if self.threads == self._session.engine.workers.threads else (self.threads - 1) * ITEMS_A_THREAD
        return found if most is None else most if found is None else min(found, most)

    def free(self) -> None:
        """Give the memory back, if that was not done."""
        self._session.release(self.keys, self.sums, self.used)
        self.keys, self.sums, self.used = self.keys[:0], self.sums[:0], self.used[:0]
