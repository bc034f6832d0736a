"""The host's cores as a device: pages are read where they lie in host memory, by all threads at once.

Work is cut into parts of about 16,384 edges (Garaph 4.1: edge-balanced), which the threads claim from one atomic
counter. A pull is lock-free: every list belongs to one part, and hubs that span large pages have one replica a part,
added up at the end in page order. Calls are finished when they return.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from gstream.devices.host.memory_device import MemoryDevice, MemoryExchange
from gstream.devices.host.threads import Workers
from gstream.devices.host.vertex_state import records_of
from gstream.devices.job import Range
from gstream.hostcode.bitmaps import clear_bits, list_bits
from gstream.hostcode.parts import EDGES_A_PART, make_parts
from gstream.paging.kept_memory import FRESH, KeptMemory
from gstream.paging.page_source import Batch
from gstream.telemetry.trace import Trace

EDGES_A_VISIT = 32  # edges that take the time of finding a list
WHOLE_LIST = 1 << 62  # a kernel may need to know what stands before a neighbour in its list


class HostExchange(MemoryExchange):
    """Cores that are alone send as they apply: that saves a pass over the vertices."""

    def __init__(self, devices: Sequence[MemoryDevice]) -> None:
        super().__init__(devices)
        self.sends = len(devices) == 1

    def attach(self, slices: Sequence[Range] | None, sends: bool) -> None:
        super().attach(slices, sends)
        self.devices[0].state.sends = sends


class HostDevice(MemoryDevice):
    """`threads` cores of this machine. Several such devices share the machine and its pages, but no attributes."""

    exchange = HostExchange
    in_place = True

    last_page = -1  # that was submitted

    def __init__(self, name: str, threads: int, trace: Trace | None = None, memory: KeptMemory = FRESH) -> None:
        self._workers, self._trace = Workers(threads, name), trace
        super().__init__(name, self._workers.run, copies=False, memory=memory)
        # page set -> its resident pages (weakly: they may be dropped for another run), their parts
        self._all_parts: dict[str, tuple[weakref.ref[np.ndarray], np.ndarray]] = {}

    @property
    def memory_bytes(self) -> int:
        return super().memory_bytes + sum(parts.nbytes for _, parts in self._all_parts.values())

    def close(self) -> None:
        super().close()
        self._all_parts.clear()
        self._workers.close()

    def submit(self, batch: Batch) -> None:
        began, pages, self.last_page = time.perf_counter(), len(batch.numbers), int(batch.numbers[-1])
        words = batch.pages.view(batch.table.id_dtype)
        weights = None if batch.weights is None else batch.table.weights_of(batch.weights)
        edges = self._process(batch, words, weights) if self._sweep is None else self._visit(batch, words, weights)
        if self._trace is not None:
            ended = time.perf_counter()
            self._trace.span(self.name, "kernels", f"{pages} pages of {batch.table.name}", began, ended)
        self.count(edges, pages, batch.nbytes)
        batch.done()

    def count(self, edges: int, pages: int, nbytes: int) -> None:
        """Add pages that were looked at to the figures: they count as moved, as they are to a GPU."""
        self.stats.edges += edges
        self.stats.pages += pages
        self.stats.pages_moved += pages
        self.stats.bytes_moved += nbytes

    def _visit(self, batch: Batch, words: np.ndarray, weights: np.ndarray | None) -> int:
        """A batch of a sweep. Few lists wake few threads."""
        assert self._sweep is not None
        kernel: Any = self._sweep[0]
        state, counter = self._sweep[1], np.zeros(1, dtype=np.int64)
        listed: np.ndarray | None = getattr(kernel, "listed", None)
        if listed is None:
            return self._workers.run(kernel.run, words, weights, self._parts(words, batch), counter, state)
        records = records_of(words, batch.numbers, batch.rows, batch.table, listed, stretch=WHOLE_LIST)
        threads = 1 + (len(records) * EDGES_A_VISIT + int(records[:, 2].sum())) // EDGES_A_PART
        return self._workers.run(kernel.run_listed, words, weights, records, counter, state, limit=threads)

    def _process(self, batch: Batch, words: np.ndarray, weights: np.ndarray | None) -> int:
        state, step = self.state, self.step
        weights = state.code.no_weights if weights is None else weights
        if step.listed is not None:
            work = records_of(words, batch.numbers, batch.rows, batch.table, step.listed, skip=step.skip)
        else:
            work = self._parts(words, batch)
        if step.direction == "notify":
            return state.notify(words, work)
        if step.direction == "pull":
            edges = state.pull(words, weights, work, step)
            state.keep_hubs(batch.numbers, batch.rows, work, step)
            return edges
        value = state.value if state.plan.resident else state.job.host.value
        assert value is not None
        edges = state.push(words, weights, work, value, 0, state.job.host.degree, step.listed is not None)
        for _ in range(step.rounds):
            work = self._changed(batch, words)
            if len(work) == 0:
                break
            edges += state.push(words, weights, work, value, 0, state.job.host.degree, True)
        return edges

    def _changed(self, batch: Batch, words: np.ndarray) -> np.ndarray:
        """Records of the vertices whose whole lists the batch has and that are to send in the next superstep; they do
        not any more."""
        state, table = self.state, batch.table
        small = int(np.searchsorted(batch.numbers, table.small_pages))
        numbers, rows = batch.numbers[:small], batch.rows[:small]
        stretches = np.split(numbers, np.flatnonzero(np.diff(numbers) != 1) + 1) if small else []
        found = [
            list_bits(state.next, int(table.first_vertex[part[0]]), int(table.last_vertex[part[-1]]) + 1)
            for part in stretches
        ]
        listed = np.concatenate(found) if found else np.zeros(0, np.uint64)
        if len(listed) == 0:
            return np.zeros((0, 5), np.int64)
        records = records_of(words, numbers, rows, table, listed)
        clear_bits(state.next, records[:, 3])
        return records

    def _forget_parts(self, name: str, pages: weakref.ref[np.ndarray]) -> None:
        """The pages are gone; those of another run may be there already."""
        if name in self._all_parts and self._all_parts[name][0] is pages:
            del self._all_parts[name]

    def _parts(self, words: np.ndarray, batch: Batch) -> np.ndarray:
        """Parts of a batch; those of a page set that lies in memory whole are made once."""
        table, numbers = batch.table, batch.numbers
        known = self._all_parts.get(table.name)
        if known is None or known[0]() is not batch.pages:
            parts = make_parts(words, batch.rows)
            if len(numbers) == table.pages and batch.rows is numbers:
                pages = weakref.ref(batch.pages, lambda gone: self._forget_parts(table.name, gone))
                self._all_parts[table.name] = (pages, parts)
            return parts
        if len(numbers) == table.pages:
            return known[1]
        wanted = np.zeros(table.pages, dtype=np.bool_)
        wanted[numbers] = True
        return known[1][wanted[known[1][:, 0]]]
