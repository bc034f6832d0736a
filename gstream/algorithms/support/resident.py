"""Arrays that an algorithm's kernels work on in many rounds: kept in one GPU's memory meanwhile, if one GPU runs them.

    with Resident(session, bits, following, left, last) as resident:
        for number in resident.rounds(last, kept=kept):
            resident.each(choose, items, number, following, bits, last)         an item kernel
            resident.sweep("out", peel, (bits, left, following), bits)
    left is what the kernels made of it

Within the block the host's arrays may be out of date: `read` brings one up to date, `put` says that the host has
changed one. On the host's cores, with several GPUs, and without arrays, all of it works on the host's arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gstream.algorithms.support.array_sweep import ArraySweep, Join
from gstream.devices.job import DeviceMemoryError
from gstream.engine.sweep_state import SweepState
from gstream.hostcode.records import load_kernel
from gstream.records import ItemKernel, RecordKernel
from gstream.records.held import Held, on_host

if TYPE_CHECKING:
    from gstream.algorithms.support.session import Session
    from gstream.devices.gpu.resident_arrays import GpuArrays

MOST_QUEUED = 16  # rounds that are queued before one looks whether they were wanted: 30 us each, and looking takes 50
SWEEP_BYTES = 25 << 20  # of pages that a link moves while a sweep by batches is made ready: 0.5 ms


class Resident:
    """See the module; a context manager."""

    def __init__(self, session: Session, *arrays: np.ndarray | Held) -> None:
        self.session = session
        self._arrays, self._gpu = arrays, self._to_gpu(session, arrays)
        self._swept: dict[str, int] = {}  # bytes of pages by topology that sweeps asked for one by one
        self._shapes: dict[bool, Any] = {}  # of kernels that read weights, and of others
        self._usual = 1  # rounds that are queued at first, without looking: as many as there were the last time
        self._direct = True  # whether the last sweep was only queued

    @staticmethod
    def _to_gpu(session: Session, arrays: tuple[np.ndarray | Held, ...]) -> GpuArrays | None:
        engine = session.engine
        if not (arrays and session.on_one_gpu and session.has_room(arrays)):
            return None
        from gstream.devices.gpu.resident_arrays import GpuArrays

        try:
            gpu = GpuArrays(engine.devices[0], arrays, engine.device_memory)
        except DeviceMemoryError:
            session.note_shortage(arrays)
            return None
        engine.beside_device_bytes = max(engine.beside_device_bytes, gpu.memory_bytes)
        return gpu

    @property
    def on_gpu(self) -> bool:
        """Whether a GPU has the arrays."""
        return self._gpu is not None

    def __enter__(self) -> Resident:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if self._gpu is not None:
            gpu, self._gpu = self._gpu, None
            try:
                if error is None:
                    gpu.bring_back()
            finally:
                gpu.close()

    def begin(self, last: np.ndarray) -> None:
        """Let rounds count from 1 again."""
        if last.any():
            last[:] = 0
            self.put(last)

    def rounds(self, last: np.ndarray, most: int | None = None, kept: SweepState | None = None) -> Iterator[int]:
        """Numbers of rounds, from the one after those that `last` knows, up to one that found nothing to do, or `most`.

        last: uint64[n]; a kernel writes the number of a round that finds something to do there. Rounds that find
        nothing must change nothing, as several may be queued. kept: has a boundary after the rounds that were queued.
        """
        number = before = int(last.max())
        queued = self._at_once(self._usual)
        while int(last.max()) == number and number != most:
            begun = number
            for _ in range(queued if most is None else min(queued, most - number)):
                number += 1
                yield number
            self.read(last)
            if kept is not None:
                kept.boundary(self, number - begun)
            queued = self._at_once(2 * queued)
        self._usual = int(last.max()) - before + 1

    def _at_once(self, rounds: int) -> int:
        """How many of `rounds` may be queued before their result is read. One if sweeps are made one by one: rounds in
        vain would cost more."""
        return min(rounds, MOST_QUEUED) if self._gpu is not None and self._direct else 1

    def each(self, kernel: ItemKernel, count: int, *arguments: Any, items: int | None = None) -> None:
        """Run an item kernel over `count` items; all its arrays are of the block. items: as of session.each."""
        if not self._on_gpu(lambda gpu: gpu.items(kernel, count, arguments)):
            self.session.look(load_kernel(kernel), count, *map(on_host, arguments), items=items)

    def join(self, kernel: ItemKernel, count: int, *arguments: Any) -> None:
        """`each` for a kernel whose work GPUs share, too, that have no arrays of the block: as session.join."""
        if not self._on_gpu(lambda gpu: gpu.items(kernel, count, arguments)):
            self.session.join(kernel, count, *map(on_host, arguments))

    def sweep(
        self, name: str, kernel: RecordKernel, arrays: tuple[Any, ...], bits: Any = None,
        listed: bool = True, join: Join | None = None,
    ) -> None:  # fmt: skip
        """Sweep topology `name` by a record kernel that does nothing at lists of vertices whose bit is not set (None:
        it looks at all lists). listed: few lists may be looked up one by one."""
        if self._on_gpu(lambda gpu: self._queue(gpu, name, kernel, arrays)):
            return
        session = self.session
        if self._gpu is None and listed:
            among = None if bits is None else on_host(bits)
            session.sweep_among(name, kernel, tuple(map(on_host, arrays)), among, join)
            return
        wanted = None if bits is None else session.pages_of(name, self.read(bits))
        swept = ArraySweep(kernel, arrays, join)
        if not self._on_gpu(lambda gpu: self._by_batches(gpu, name, swept, wanted)):
            session.sweep(name, kernel, tuple(map(on_host, arrays)), wanted, join)

    def _on_gpu(self, call: Callable[[GpuArrays], bool]) -> bool:
        """call(the GPU's arrays), if a GPU has them. If it has no room for the call, which then changed nothing, all
        arrays are the host's again."""
        if self._gpu is None:
            return False
        try:
            return call(self._gpu)
        except DeviceMemoryError:
            self.session.note_shortage(self._arrays)
        gpu, self._gpu = self._gpu, None
        try:
            gpu.bring_back()
        finally:
            gpu.close()
        for array in self._arrays:
            if isinstance(array, Held):
                array.leave()
        return False

    def _queue(self, gpu: GpuArrays, name: str, kernel: RecordKernel, arrays: tuple[Any, ...]) -> bool:
        """Queue a sweep over all pages: most end sooner than some pages are chosen. False: not all pages are there."""
        table = self.session.engine.graph.tables[name]
        shape = self._shapes.get(kernel.uses_weights) or self.session.shape_of(name, kernel)
        self._shapes[kernel.uses_weights] = shape
        self._direct = gpu.sweep(kernel, table, shape, arrays)
        return self._direct

    def _by_batches(self, gpu: GpuArrays, name: str, swept: ArraySweep, wanted: np.ndarray | None) -> bool:
        """Sweep pages that are not all on the GPU."""
        session = self.session
        table, weights = session.engine.graph.tables[name], swept.needs_weights
        pages = table.pages if wanted is None else int(np.count_nonzero(wanted))
        self._swept[name] = self._swept.get(name, 0) + table.bytes_of(pages, weights) + SWEEP_BYTES
        if gpu.may_hold(table) and 2 * self._swept[name] >= table.bytes_of(table.pages, weights):
            wanted = None  # all of them stay, so that from now on none is chosen any more
        session.sweep_gpus(name, swept, wanted, gpu)
        return True

    def read(self, array: Any) -> np.ndarray:
        """The array, as it is now."""
        if self._gpu is not None:
            self._gpu.read(array)
        return on_host(array)

    def read_head(self, array: Any, count: int) -> np.ndarray:
        """A copy of the array's first elements, as they are now."""
        if self._gpu is not None:
            return self._gpu.read_head(array, count)
        return on_host(array)[:count].copy()

    def bring(self, *arrays: np.ndarray) -> None:
        """Have those of the arrays that a GPU has up to date."""
        for array in arrays:
            if self._gpu is not None and self._gpu.find(array) is not None:
                self._gpu.read(array)

    def fill(self, array: np.ndarray | Held, byte: int) -> None:
        """Every byte of the array, which is of the block, becomes `byte`."""
        if self._gpu is not None:
            self._gpu.fill(array, byte)
        else:
            on_host(array).view(np.uint8).fill(byte)

    def forget(self, *arrays: np.ndarray | Held) -> None:
        """Nobody will read what kernels have made of these arrays: the host's may stay behind."""
        if self._gpu is not None:
            self._gpu.forget(*arrays)

    def put(self, array: np.ndarray) -> None:
        """The host has changed the array."""
        if self._gpu is not None:
            self._gpu.put(array)
