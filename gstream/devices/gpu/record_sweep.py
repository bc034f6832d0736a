"""Record and item kernels on GPUs: each has copies of the arrays for one sweep; what they wrote becomes one again.

The arrays are of all vertices, little beside the pages: copied before a sweep, and those that the kernel writes back
after it. Where a GPU does not hold them, the host's cores sweep (gstream.algorithms.support.session).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from gstream.cudacode.generate import UnitShape
from gstream.cudacode.records import UNIT_OF_ITEMS, bits_of, unit_of_records
from gstream.devices.gpu.batch_queue import Launch
from gstream.devices.gpu.device import GpuDevice
from gstream.devices.gpu.driver import Array, DeviceError
from gstream.devices.gpu.resident_arrays import GpuArrays
from gstream.records import ItemKernel, RecordKernel, bytes_of

Arrays = dict[str, Any]  # a kernel's arrays and numbers by name
Join = Callable[[Arrays, list[Arrays]], None]  # writes to the first what several GPUs' copies of it come to


class Copies:
    """A kernel's arrays on one GPU. arguments: what its launches take; edges: of what they looked at, a counter.

    resident: arrays that are there already; these are neither copied nor read back, nor freed.
    """

    def __init__(self, device: GpuDevice, arrays: Arrays, resident: GpuArrays | None = None) -> None:
        self.gpu, self.arguments, self._resident = device.gpu, list[int](), set[str]()
        self._held: dict[str, Array] = {}
        self._sizes = {name: value.size for name, value in arrays.items() if isinstance(value, np.ndarray)}
        known: dict[int, str] = {}  # an array may be given twice: a block that meets itself
        try:
            self.edges = self._upload("", np.zeros(1, np.uint64))
            for name, value in arrays.items():
                if isinstance(value, np.ndarray):
                    there = None if resident is None else resident.find(value)
                    if there is not None:
                        self._held[name] = there
                        self._resident.add(name)
                    elif id(value) in known:
                        self._held[name] = self._held[known[id(value)]]
                    else:
                        self._upload(name, value)
                    known[id(value)] = name
                    self.arguments += [self._held[name].address, value.size]
                else:
                    self.arguments.append(bits_of(value))
            self.stream = self.gpu.stream() if resident is None else resident.stream
        except BaseException:
            self.free()
            raise

    def _upload(self, name: str, values: np.ndarray) -> Array:
        whole = -(-values.nbytes // 4) * 4  # a word at the end of bytes, too: that is how one is swapped
        self._held[name] = array = self.gpu.empty(whole // values.itemsize, values.dtype)
        self.gpu.write(array.address, np.ascontiguousarray(values))
        return array

    def take_edges(self) -> int:
        """Edges looked at, once what is queued is over."""
        return int(self.gpu.read(self.edges.address, np.zeros(1, np.uint64), self.stream)[0])

    def read(self, names: Iterable[str]) -> Arrays:
        """The arrays of these names."""
        found = Arrays()
        for name in names:
            array = self._held[name]
            found[name] = self.gpu.fetch(array.address, self._sizes[name], array.dtype, self.stream)
        return found

    def read_back(self, names: Iterable[str], arrays: Arrays) -> None:
        """Put the arrays of these names where they came from: no memory has to be had, touched and pinned for it.

        Raises DeviceError, and no DeviceMemoryError: arrays that are half written are of no use to the host's cores.
        """
        try:
            for name in set(names) - self._resident:
                out, held = arrays[name], self._held[name]
                if out.flags.c_contiguous:
                    self.gpu.read(held.address, out, self.stream)
                else:
                    out[...] = self.read([name])[name]
        except self.gpu.cuda.Error as error:
            raise self.gpu.fault("arrays on their way back", error) from error

    def free(self) -> None:
        """Raises nothing: an error of CUDA that shows here follows one that is on its way."""
        with suppress(self.gpu.cuda.Error):
            for name in self._held.keys() - self._resident:
                self._held[name].free()
        self.stream = None


class GpuSweep:
    """A page kernel (gstream.devices.page_kernel) for one sweep by GPUs alone."""

    def __init__(
        self, kernel: RecordKernel, arrays: Sequence[Any], shape: UnitShape, join: Join | None,
        resident: GpuArrays | None = None,
    ) -> None:  # fmt: skip
        """shape.weight_dtype: None where the kernel reads no weights. join: merges the arrays that are its "own".

        resident: arrays that are on the GPU already, of one that sweeps alone, and stay there.
        """
        self.kernel, self.needs_weights, self.join = kernel, shape.weight_dtype is not None, join
        self.resident, self.begun = resident, False
        if resident is not None:
            resident.note_written(kernel, arrays)
        self.arrays = dict(zip(kernel.parameters, arrays, strict=True))
        self.unit = unit_of_records(kernel, shape, arrays)
        self._works: dict[int, RecordWork] = {}  # by id of the device

    def gpu_work(self, device: GpuDevice) -> RecordWork:
        """The work of a device; a sweep that is tried again has it anew."""
        device.uploads.keep(set())  # arrays of programs have no room in the sweep's plan
        self.begin_again()
        self._works[id(device)] = work = RecordWork(device, self)
        return work

    def begin_again(self) -> None:
        """Raise DeviceError where memory ran out after resident arrays have been changed: nobody has them unchanged."""
        if self.begun and self.resident is not None:
            raise self.resident.gpu.fault(self.kernel.name, "memory ran out in the middle of its sweep")

    @property
    def alone(self) -> bool:
        """Whether one GPU sweeps: what it made of the arrays is what they become."""
        return len(self._works) == 1

    def merge(self, states: list[Any]) -> None:
        """Write what several GPUs made of the arrays to the caller's."""
        if not self.alone:
            merge_into(self.kernel, self.arrays, [work.found for work in self._works.values()], self.join)


class RecordWork:
    """Batches of one sweep on one GPU (gstream.devices.gpu.batch_queue.Work); found: what it wrote, after `close`."""

    reach, ready = 0, None

    def __init__(self, device: GpuDevice, sweep: GpuSweep) -> None:
        self.sweep, self.queued, self.name = sweep, list[str](), f"{sweep.kernel.name}_kernel"
        self._launch = device.gpu.load(sweep.unit)[self.name]
        for lane in device.pool.lanes if sweep.resident is not None else ():
            lane.reserve(device.pool.ring.batch_pages)  # nothing may run out once arrays are being changed for good
        self._copies = Copies(device, sweep.arrays, sweep.resident)
        self.stream, self.found = self._copies.stream, Arrays()

    def launch(self, pages: Launch, stream: Any) -> None:
        copies, blocks = self._copies, pages.blocks(self._launch)
        self._launch(stream, blocks, *pages.arguments(), copies.edges.address, *copies.arguments)
        self.sweep.begun = True

    def take_edges(self) -> int:
        return self._copies.take_edges()

    def close(self, ended: bool) -> None:
        sweep = self.sweep
        try:
            if ended and sweep.alone:
                self._copies.read_back(sweep.kernel.merges, sweep.arrays)
            elif ended:
                self.found = self._copies.read(sweep.kernel.merges)
        finally:
            self.stream = None
            self._copies.free()


def run_items(
    devices: Sequence[GpuDevice], kernel: ItemKernel, count: int, arrays: Sequence[Any], room: int | None
) -> int:
    """Run an item kernel over `count` items, which the GPUs share; returns the edges that it looked at.

    room: bytes that each may hold; pages that are cached go where the arrays would not fit beside them.
    """
    named = dict(zip(kernel.parameters, arrays, strict=True))
    unit, needed = unit_of_records(kernel, UNIT_OF_ITEMS, arrays), bytes_of(arrays)
    found, edges = list[Copies](), 0
    try:
        for number, device in enumerate(devices):
            if room is not None and device.memory_bytes + needed > room:
                device.release()
            with device.gpu:
                found.append(Copies(device, named))
                launch = device.gpu.load(unit)[f"{kernel.name}_kernel"]
                split = (number, len(devices), count)
                launch(found[-1].stream, launch.blocks(count), *split, found[-1].edges.address, *found[-1].arguments)
        made = []
        for copies in found:
            with copies.gpu:
                edges += copies.take_edges()
                if len(found) == 1:
                    copies.read_back(kernel.merges, named)
                else:
                    made.append(copies.read(kernel.merges))
    finally:
        for copies in found:
            with suppress(DeviceError), copies.gpu:
                copies.free()
    if made:
        merge_into(kernel, named, made, None)
    return edges


def merge_into(kernel: RecordKernel, arrays: Arrays, copies: list[Arrays], join: Join | None) -> None:
    """Write what several GPUs' copies of arrays come to, to the arrays."""
    merged = set[int]()  # an array may be given twice: it becomes one once
    for name, how in kernel.merges.items():
        if how != "own" and id(arrays[name]) not in merged:
            merge_copies(how, arrays[name], [copy[name] for copy in copies])
            merged.add(id(arrays[name]))
    if "own" in kernel.merges.values():
        assert join is not None, f"{kernel.name}: nobody merges its arrays"
        join(arrays, copies)


def merge_copies(how: str, array: np.ndarray, copies: list[np.ndarray]) -> None:
    """array becomes what its copies come to, each changed by one GPU (gstream.records says how)."""
    before = array.copy()
    if how == "note":
        array[0] += sum(int(copy[0] - before[0]) for copy in copies)
        found = [copy for copy in copies if copy[0] > before[0]]
        if before[0] == 0 and found:
            array[1:] = found[0][1:]
        return
    for copy in copies:
        if how == "or":
            array |= copy
        elif how in ("min", "max"):
            (np.minimum if how == "min" else np.maximum)(array, copy, out=array)
        elif how == "sum":
            array += copy - before
        else:  # one
            np.copyto(array, copy, where=copy != before)
