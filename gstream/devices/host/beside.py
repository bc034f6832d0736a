"""The host's cores beside devices that have memory of their own: they take a share of a superstep's pages (Garaph 5.1).

The others hold all attributes. Before the cores begin, they are handed the attributes that their kernels read
(`needed`); when they are through, the others take in the results, which lie in `touched`. So a superstep without the
cores costs nothing.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from gstream.devices.attributes import message_dtype
from gstream.devices.host.device import HostDevice
from gstream.devices.host.vertex_state import Launch, VertexState
from gstream.devices.job import DevicePlan, Job, Range, Step
from gstream.hostcode.parts import make_parts
from gstream.paging.page_source import Batch, nothing
from gstream.telemetry.trace import Trace
from pagestore.io import aligned_empty, large_empty

Pin = Callable[[np.ndarray], Callable[[], None]]


class KeptArrays:
    """Arrays by name that stay from run to run: pinning memory for a GPU takes as long as copying it some times.

    pin: Device.pin of the first device that copies; None where it pins nothing.
    """

    def __init__(self, pin: Pin | None) -> None:
        self._pin = pin
        self._held: dict[str, tuple[np.ndarray, Any, Callable[[], None]]] = {}  # array, what fills it, what unpins it

    @property
    def memory_bytes(self) -> int:
        return sum(array.nbytes for array, _, _ in self._held.values())

    def take(self, name: str, count: int, dtype: Any, fill: Any) -> np.ndarray:
        """`count` elements, all `fill`: the last user of that name has left them so. fill None: holding anything."""
        dtype = np.dtype(dtype)
        if name in self._held:
            array, filled, _ = self._held[name]
            if (len(array), array.dtype) == (count, dtype) and (fill is None or filled == fill):
                return array
            self.drop(name)
        # Of its own pages of the system's, as a page is pinned once.
        array = large_empty(count, dtype) if self._pin is None else aligned_empty(count * dtype.itemsize).view(dtype)
        if fill is not None:
            array.fill(fill)
        undo = nothing if self._pin is None or count == 0 else self._pin(array)
        self._held[name] = array, fill, undo
        return array

    def drop(self, name: str) -> None:
        self._held.pop(name)[2]()

    def keep(self, names: set[str]) -> None:
        """Give all others back."""
        for name in self._held.keys() - names:
            self.drop(name)


class BesideState(VertexState):
    """Copies of attributes that other devices hold.

    touched: vertices that may have got something; values and bits of no others are to be taken in.
    """

    def __init__(self, job: Job, launch: Launch, kept: KeptArrays) -> None:
        self._kept, self._names = kept, set[str]()
        self.touched: Range = (0, 0)
        super().__init__(job, launch, copies=False)
        kept.keep(self._names)

    def _take(self, name: str, count: int, dtype: Any, fill: Any = None) -> np.ndarray:
        self._names.add(name)
        cleared = fill if name in ("got", "next") else None  # `clear` leaves these as they were; others are handed out
        array = self._kept.take(name, count, dtype, cleared)
        if fill is not None and cleared is None:
            array.fill(fill)
        return array

    def touch(self, part: Range) -> None:
        """Vertices of a part may get something."""
        low, high = self.touched
        self.touched = part if low >= high else (min(low, part[0]), max(high, part[1]))

    def clear(self) -> None:
        """What was got, and next bits, are as at the beginning; nobody may be reading them."""
        low, high = self.touched
        if low < high:
            if not self.code.in_place:
                self.got[low - self.chunk[0] : high - self.chunk[0]] = self.code.identity
            self.next[low >> 6 : (high + 63) >> 6] = 0
        self.touched = 0, 0

    def needed(self, step: Step) -> tuple[str, ...]:
        """The arrays that kernels of a step read, and that the other devices have."""
        return needed(self.code, self.plan, step)


def needed(code: Any, plan: DevicePlan, step: Step) -> tuple[str, ...]:
    """Of a job's BesideState, the arrays that kernels of a step read, and that the other devices have."""
    pull = step.direction == "pull"
    names = ["active"] if code.idempotent else []
    if pull and plan.open_bits:
        names.append("remain" if step.remain else "open")
    if plan.resident:
        message = pull and plan.message
        names += ["source"] if message else []
        names += ["value"] if code.in_place or not message else []
    return tuple(names)


def needed_bytes(code: Any, plan: DevicePlan, step: Step, vertices: int) -> int:
    """Bytes of these arrays, about."""
    names = needed(code, plan, step)
    sent = min(vertices, plan.senders) * message_dtype(code).itemsize if "source" in names else 0
    values = vertices * code.value_dtype.itemsize if "value" in names else 0
    return sent + values + len(set(names) - {"source", "value"}) * vertices // 8


class PageParts:
    """Work lists of pages that lie in memory whole, each made once: finding parts takes a tenth of a pull."""

    def __init__(self, pages: np.ndarray) -> None:
        self._pages = weakref.ref(pages)
        self._parts: list[np.ndarray | None] = [None] * len(pages)
        self.nbytes = 0

    def serve(self, pages: np.ndarray) -> bool:
        return self._pages() is pages

    def of(self, words: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """int64[m, 3] of the pages `rows` (int64[n], ascending) of `words`."""
        new = np.array([row for row in rows.tolist() if self._parts[row] is None], np.int64)
        if len(new):
            made = make_parts(words, new)
            self.nbytes += made.nbytes
            for row, parts in zip(new.tolist(), np.split(made, np.searchsorted(made[:, 0], new[1:])), strict=True):
                self._parts[row] = parts
        return np.concatenate([self._parts[row] for row in rows.tolist()])


class BesideDevice(HostDevice):
    """`threads` cores beside devices that copy. pin: as of KeptArrays; keeps: their arrays stay from run to run."""

    def __init__(self, threads: int, pin: Pin | None, keeps: bool, trace: Trace | None = None) -> None:
        super().__init__("cores", threads, trace)
        self._keeps = keeps
        self._kept = KeptArrays(pin)
        self._job: Job | None = None
        self._page_parts: dict[str, PageParts] = {}
        self.learnt: dict[Any, Any] = {}  # rates of both sides, from run to run (gstream.engine.dispatcher)

    @property
    def state(self) -> BesideState:
        """Made when the cores first take part in a run."""
        if self._state is None:
            assert self._job is not None, "no job is attached"
            self._state = BesideState(self._job, self._workers.run, self._kept)
        assert isinstance(self._state, BesideState)
        return self._state

    @property
    def memory_bytes(self) -> int:
        return self._kept.memory_bytes + sum(parts.nbytes for parts in self._page_parts.values())

    def attach(self, job: Job) -> None:
        self._job = job

    def begin(self, step: Step) -> None:
        """Nobody reads what was got before any more."""
        self.state.clear()
        super().begin(step)

    def detach(self) -> None:
        """The other devices are through with it."""
        if self._state is not None:
            self.state.clear()
        super().detach()
        self._job = None
        if not self._keeps:
            self.release()

    def release(self) -> None:
        """After an error: arrays may be in any state."""
        self._kept.keep(set())
        self._page_parts.clear()

    def close(self) -> None:
        super().close()
        self.release()

    def count(self, edges: int, pages: int, nbytes: int) -> None:
        """No page moves."""
        self.stats.edges += edges
        self.stats.pages += pages

    def submit(self, batch: Batch) -> None:
        state, table, numbers = self.state, batch.table, batch.numbers
        low, high = state.chunk
        if self.step.direction == "pull":  # of a page's own vertices alone
            low = max(low, int(table.first_vertex[numbers].min()))
            high = min(high, int(table.last_vertex[numbers].max()) + 1)
        if low < high:
            state.touch((low, high))
        super().submit(batch)

    def _parts(self, words: np.ndarray, batch: Batch) -> np.ndarray:
        if batch.rows is not batch.numbers:  # of a ring
            return super()._parts(words, batch)
        known = self._page_parts.get(batch.table.name)
        if known is None or not known.serve(batch.pages):
            known = self._page_parts[batch.table.name] = PageParts(batch.pages)
        return known.of(words, batch.rows)

    def finish(self, step: Step) -> None:
        """Add up what long lists came to."""
        state = self.state
        if step.direction == "pull" and not state.code.idempotent:
            state.add_hubs(step.table, state.chunk, [state])
            state.hubs = []
