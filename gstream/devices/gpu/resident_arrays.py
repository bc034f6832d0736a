"""Arrays of one call that stay in a GPU's memory while record and item kernels work on them, round by round.

A sweep that copies its arrays to a GPU and back takes milliseconds; a launch over pages that are cached, with arrays
that are there, some 10 us. So launches are only queued here, on one stream, and waited for where the host reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from mmap import PAGESIZE
from typing import Any

import numpy as np

from gstream.cudacode.generate import UnitShape
from gstream.cudacode.records import UNIT_OF_ITEMS, bits_of, unit_of_records
from gstream.devices.gpu.device import GpuDevice
from gstream.devices.gpu.driver import PINNED_TO_FETCH, DeviceError, Launcher, never_free
from gstream.devices.gpu.memory import Copies
from gstream.devices.gpu.page_pool import Launch, PagePool
from gstream.devices.gpu.stream_lane import span_of
from gstream.paging.page_source import nothing
from gstream.paging.page_table import PageTable
from gstream.records import ItemKernel, RecordKernel, bytes_of
from gstream.records.held import Held, is_array
from pagestore.errors import ResourceError


class GpuArrays(Copies):
    """Copies on one GPU that one call keeps. Between `put` and `read` the host's array may be behind the GPU's."""

    def __init__(self, device: GpuDevice, arrays: Sequence[np.ndarray | Held], room: int | None) -> None:
        """room: bytes that the GPU may hold; cached pages go where these arrays would not fit beside them."""
        assert all(isinstance(a, Held) or a.flags.c_contiguous for a in arrays), (
            "a copy goes back to where it came from"
        )
        self.device = device
        self._pins = dict[int, Callable[[], None]]()
        self._written: dict[int, Any] = {}
        self._queued: dict[str, None] = {}  # names of kernels that are not known to be over, in order
        self._launches: dict[str, tuple[PagePool, Launch, np.ndarray | None]] = {}  # by topology
        self._prepared: dict[tuple[Any, ...], tuple[Launcher, list[int], list[tuple[int, int]], list[np.ndarray]]] = {}
        if room is not None and device.memory_bytes + bytes_of(arrays) > room:
            device.release()
        with device.gpu:
            super().__init__(device.gpu, arrays)
        device.uploads.resident = self

    def bytes_with(self, arguments: Iterable[Any]) -> int:
        """What the GPU holds where those of a kernel's arguments are copied, too, that have no copies."""
        return self.memory_bytes + bytes_of(value for value in arguments if self.find(value) is None)

    def may_hold(self, table: PageTable) -> bool:
        """Whether there is a slot for every page of a topology, and all keep theirs."""
        return self.device.keeps_all(table)

    def note_written(self, kernel: RecordKernel, arguments: Sequence[Any]) -> list[np.ndarray]:
        """A kernel changes copies: the arrays that they are of."""
        given = zip(kernel.parameters, arguments, strict=True)
        written = [array for name, array in given if name in kernel.merges and self.find(array)]
        self._written |= {id(array): array for array in written}
        return written

    def items(self, kernel: ItemKernel, count: int, arguments: Sequence[Any]) -> bool:
        """Queue an item kernel over `count` items; all its arrays have copies. True."""
        prepared = self._prepare(kernel, UNIT_OF_ITEMS, arguments)
        assert prepared is not None, f"{kernel.name}: an array that is not there"
        launch, given = prepared
        with self.gpu, self._span(kernel, f"{count} items"):
            launch(self.stream, launch.blocks(count), 0, 1, count, self.edges.address, *given)
        return True

    def sweep(self, kernel: RecordKernel, table: PageTable, shape: UnitShape, arguments: Sequence[Any]) -> bool:
        """Queue a record kernel over all pages of a topology, if the GPU has these and copies of all arrays."""
        with self.gpu:
            pages = self._whole(table, shape.weight_dtype is not None)
            prepared = None if pages is None else self._prepare(kernel, shape, arguments)
            if pages is None or prepared is None:
                return False
            launch, given = prepared
            with self._span(kernel, f"{table.pages} cached pages of {table.name}"):
                launch(self.stream, pages.blocks(launch), *pages.arguments(), self.edges.address, *given)
        self.device.stats.pages += table.pages
        self.device.stats.cache_hits += table.pages
        return True

    def _span(self, kernel: RecordKernel, what: str) -> AbstractContextManager[None]:
        """A trace's span over what is queued within the block."""
        return span_of(self.device.spans, "rounds", f"kernel: {kernel.name}, {what}", self.stream)

    def _whole(self, table: PageTable, weights: bool) -> Launch | None:
        """A launch over all pages of a topology, with their weights if asked for; None if they are not there for good.

        Finding hundreds of pages takes longer than queueing a launch over them.
        """
        pool = self.device.kept_pool
        if pool is None or not self.may_hold(table) or not pool.ring.caches[table.name].whole:
            return None
        if weights and not pool.weights.nbytes:
            return None
        known = self._launches.get(table.name)
        if known is None or known[0] is not pool:
            rows = pool.ring.rows_of(table).astype(np.int64)
            launch = pool.launch(table, table.all_pages(), rows, stream=self.stream)
            entries = launch.table.entries_of(launch.numbers, rows) if launch.entries else None
            known = self._launches[table.name] = pool, launch, entries
        _, launch, entries = known
        if entries is not None:
            launch.table.put(entries, self.stream)  # others may have been put there since
        return launch

    def _prepare(
        self, kernel: RecordKernel, shape: UnitShape, arguments: Sequence[Any]
    ) -> tuple[Launcher, list[int]] | None:
        """The launcher and its last arguments, which take longer to find than to launch: kept, but for numbers. None
        where an array has no copy."""
        kinds = [id(value) if is_array(value) else type(value) for value in arguments]
        key = (kernel, shape.weight_dtype is None, *kinds)
        if key not in self._prepared:
            if not all(self.find(value) for value in arguments if is_array(value)):
                return None
            sizes = [2 if self.find(value) else 1 for value in arguments]
            places = [(sum(sizes[:index]), index) for index, size in enumerate(sizes) if size == 1]  # of numbers
            with self.gpu:
                launch = self.gpu.load(unit_of_records(kernel, shape, arguments))[f"{kernel.name}_kernel"]
            written = self.note_written(kernel, arguments)
            self._prepared[key] = launch, self.arguments(arguments), places, written
        launch, words, places, written = self._prepared[key]
        self._written |= {id(array): array for array in written}
        self._queued[kernel.name] = None
        given = words.copy()
        for place, index in places:
            given[place] = bits_of(arguments[index])
        return launch, given

    def read(self, array: np.ndarray | Held) -> None:
        """Bring a host array up to date, after what is queued."""
        copy = self.find(array)
        assert copy is not None, "an array that is not there"
        if isinstance(array, Held):
            self.wait()
            array.changed()  # who asks for them reads them anew
            return
        with self.gpu, self.gpu.suspecting(list(self._queued)):
            self._pin(array)
            self.gpu.read(copy.address, array, self.stream)
            self._over()

    def read_head(self, array: np.ndarray | Held, count: int) -> np.ndarray:
        """The first elements of what the GPU holds of an array, after what is queued."""
        copy = self.find(array)
        assert copy is not None, "an array that is not there"
        with self.gpu, self.gpu.suspecting(list(self._queued)):
            found = self.gpu.fetch(copy.address, count, copy.dtype, self.stream)
            self._over()
            return found

    def _over(self) -> None:
        """Everything queued is known to be over."""
        self._queued.clear()
        if self.device.spans is not None:
            self.device.spans.flush()

    def _pin(self, array: np.ndarray) -> None:
        """Pin a large array that has the system's pages for itself, which is read round by round then; once."""
        if array.nbytes < PINNED_TO_FETCH or array.ctypes.data % PAGESIZE or id(array) in self._pins:
            return
        if self.gpu.answers is not None and self.gpu.answers.has(array):
            return
        try:
            self._pins[id(array)] = self.gpu.pin(array)
        except ResourceError:
            self._pins[id(array)] = nothing

    def put(self, array: np.ndarray) -> None:
        """Have a copy follow a host array that the host has changed, after what is queued."""
        copy = self.find(array)
        assert copy is not None, "an array that is not there"
        self.wait()
        with self.gpu:
            self.gpu.write(copy.address, array)

    def fill(self, array: np.ndarray | Held, byte: int) -> None:
        """Queue that every byte of a copy becomes `byte`."""
        copy = self.find(array)
        assert copy is not None, "an array that is not there"
        with self.gpu:
            self.gpu.fill(copy, byte, self.stream)
        self._written[id(array)] = array

    def forget(self, *arrays: np.ndarray | Held) -> None:
        """Nobody will read what kernels have made of these arrays so far."""
        for array in arrays:
            self._written.pop(id(array), None)

    def wait(self) -> None:
        """Return when what is queued is over: others may work with the pages, and on the copies, then."""
        if self._queued:
            with self.gpu, self.gpu.suspecting(list(self._queued)):
                self.gpu.peer_wait.wait_for(self.stream)
                self._over()

    def bring_back(self) -> None:
        """Bring all host arrays up to date that kernels wrote to. Raises as `write_back`."""
        self.wait()
        with self.gpu:
            self.write_back(self._written.values())
            self.device.stats.edges += self.take_edges()

    def close(self) -> None:
        """Give the memory back. Raises nothing: an error of CUDA that shows here follows one that is on its way."""
        if self.device.uploads.resident is self:
            self.device.uploads.resident = None
        try:
            with self.gpu:
                self.gpu.synchronize()
                for unpin in self._pins.values():
                    unpin()
                self.free()
        except DeviceError:
            never_free(vars(self).copy())
