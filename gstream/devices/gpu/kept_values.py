"""Values that stay in a GPU's memory after the call that made them, until they are read or their room is needed.

    job, sweep --keep--> GpuValues --host()--> an array in host memory, and still here
                             |  make_room, close: to host memory, and gone from here
                             v
                         the memory is used again once nobody refers to it

One lock a GPU: a table that is being made keeps what it reads where it is. What launches work on is `in_use` meanwhile.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import RLock, main_thread
from typing import Any

import numpy as np

from gstream.devices.gpu.arrays import Array
from gstream.devices.gpu.driver import DeviceError, Gpu
from gstream.devices.gpu.row_kernels import RowKernels
from gstream.devices.job import DeviceMemoryError
from gstream.records.held import Held
from pagestore.errors import GstreamError

WORDS = (4, 8)  # bytes of values that kernels of tables take


class Lease:
    """Memory of a GPU that is given back when nobody refers to it any more, by whichever thread that is."""

    def __init__(self, kept: KeptValues, array: Array) -> None:
        self.array, self._back = array, kept.take_back

    def __del__(self) -> None:
        self._back(self.array)


class GpuValues(Held):
    """`count` values in GPU memory, in store order. lease: their memory; None once they are in host memory alone."""

    def __init__(self, kept: KeptValues, array: Array, count: int) -> None:
        super().__init__(count, array.dtype)
        self.kept, self.users = kept, 0
        self.lease: Lease | None = Lease(kept, array)
        self._host: np.ndarray | None = None
        self._read: Callable[[], np.ndarray] | None = None

    def host(self) -> np.ndarray:
        with self.kept.lock:
            if self._read is not None:
                return self._read()
            if self._host is None:
                assert self.lease is not None
                self._host = self.kept.fetch(self.lease.array, self.size)
            return self._host

    def count_unlike(self, none: Any) -> int:
        with self.kept.lock:
            if self.memory is not None and self.dtype.itemsize in WORDS:
                with suppress(DeviceMemoryError):
                    return self.kept.count_unlike(self, none)
            return int(np.count_nonzero(self.host() != none))

    def take(self, places: np.ndarray) -> np.ndarray:
        with self.kept.lock:
            if self.memory is not None and self._host is None and len(places) and self.dtype.itemsize in WORDS:
                with suppress(DeviceMemoryError), self.in_use() as array, self.kept.gpu:
                    return self.kept.rows.pick(array, places.astype(np.uint64))
            return self.host()[places]

    def leave(self) -> None:
        """Be in host memory alone."""
        if self._read is None:
            self.host()
        self.lease = None

    @property
    def memory(self) -> Array | None:
        """Where they are on the GPU; None: they are not there any more."""
        return None if self.lease is None else self.lease.array

    @contextmanager
    def in_use(self) -> Iterator[Array]:
        """Their memory, which stays theirs within the block."""
        with self.kept.lock:
            assert self.lease is not None, "values that left the GPU"
            self.users, array = self.users + 1, self.lease.array
        try:
            yield array
        finally:
            self.users -= 1

    def changed(self) -> None:
        """A kernel wrote to them."""
        self._host = None

    def put(self, array: np.ndarray) -> None:
        """Copy an array of as many values, which nobody changes, here: to leave, they need not be brought anywhere."""
        with self.in_use() as memory, self.kept.gpu:
            self.kept.gpu.write(memory.address, np.ascontiguousarray(array))
        self.reads_as(lambda: array)

    def shrink(self, count: int) -> None:
        """Only the first values are of use; the others' memory is given back if they are many."""
        with self.kept.lock:
            self.size, self._host = count, None if self._host is None else self._host[:count]
            if self.memory is None or 2 * count >= self.memory.count:
                return
            with suppress(DeviceMemoryError), self.in_use() as memory, self.kept.gpu:
                fewer = self.kept.gpu.empty(count, self.dtype, again=True)
                self.kept.copy(fewer, memory)
                self.lease = Lease(self.kept, fewer)

    def reads_as(self, read: Callable[[], np.ndarray]) -> None:
        """They can be had again: to leave, they need not be brought anywhere."""
        self._read = read


class KeptValues:
    """All of one GPU. Call within or without its context."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu, self.lock = gpu, RLock()
        self._values: weakref.WeakSet[GpuValues] = weakref.WeakSet()
        self._of_store: dict[str, GpuValues] = {}
        self._rows: RowKernels | None = None
        self._stream: Any = None
        self._open = True
        gpu.make_room = self.make_room

    def __iter__(self) -> Iterator[GpuValues]:
        return iter(list(self._values))

    def keep(self, array: Array, count: int) -> GpuValues:
        """Values that stay: the first `count` elements of an array, which nobody else gives back."""
        values = GpuValues(self, array, count)
        self._values.add(values)
        return values

    def make(self, count: int, dtype: Any) -> GpuValues:
        """Values that hold anything. Raises as Gpu.empty."""
        with self.gpu:
            return self.keep(self.gpu.empty(count, dtype, again=True), count)

    def there(self, name: str, read: Callable[[], np.ndarray]) -> GpuValues:
        """A copy of an array of the store's, which never changes: kept by name from call to call."""
        with self.lock:
            known = self._of_store.get(name)
            if known is None or known.memory is None:
                array = read()
                self._of_store[name] = known = self.make(array.size, array.dtype)
                with known.in_use() as memory, self.gpu:
                    self.gpu.write(memory.address, np.ascontiguousarray(array))
                known.reads_as(read)
            return known

    @property
    def rows(self) -> RowKernels:
        """Kernels of tables and counts. Call with the lock held, within the context."""
        if self._rows is None:
            self._rows = RowKernels(self.gpu)
        return self._rows

    def fetch(self, array: Array, count: int) -> np.ndarray:
        """The first elements of an array, in host memory."""
        with self.lock, self.gpu:
            self._stream = self._stream or self.gpu.stream()
            return self.gpu.fetch(array.address, count, array.dtype, self._stream)

    def copy(self, to: Array, array: Array) -> None:
        """Copy the first elements of an array, as many as `to` has; over on return. Call with the lock held, within the
        context."""
        self._stream = self._stream or self.gpu.stream()
        self.gpu.copy(to.address, array.address, to.nbytes, self._stream)
        self.gpu.synchronize()

    def count_unlike(self, values: GpuValues, missing: Any) -> int:
        """How many of the values are not `missing`."""
        with self.lock, values.in_use() as array, self.gpu:
            return self.rows.count_unlike(array, values.size, missing)

    def take_back(self, array: Array) -> None:
        """Nobody refers to an array any more: another one takes its memory, or it is freed."""
        if self._open and array.shelved:
            array.free()
            return
        try:
            with self.gpu:
                array.free()
                if not self._open and self.gpu.shelves is not None:
                    self.gpu.shelves.free()
        except (GstreamError, TypeError, AttributeError):  # a GPU that failed, or the end of the process
            return

    def make_room(self) -> bool:
        """Values go to host memory, and what is free goes back to the driver. Whether that was any."""
        with self.lock:
            moved = False
            for values in self:
                if values.users == 0 and values.lease is not None:
                    values.leave()
                    moved = True
            with self.gpu:
                if self._rows is not None:
                    self._rows.free_scratch()
                freed = 0 if self.gpu.shelves is None else self.gpu.shelves.free()
                return freed > 0 or moved

    def close(self) -> None:
        """All values to host memory; raises nothing. Those of a GPU that failed are lost, and nobody reads any when the
        process ends, which starts no thread then."""
        if not main_thread().is_alive():
            for values in self:
                values.lease = None
        with suppress(DeviceError):
            self.make_room()
        with self.lock:
            self._open = False
            self._of_store = {}
            self._rows = self._stream = None  # within the context: streams go
