"""Record and item kernels on GPUs: each has copies of the arrays for one sweep; what they wrote becomes one again.

The arrays are of all vertices, little beside the pages: copied before a sweep, and those that the kernel writes back
after it. Where a GPU does not hold them, the host's cores sweep (gstream.algorithms.support.session).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from gstream.cudacode.generate import UnitShape
from gstream.cudacode.records import UNIT_OF_ITEMS, unit_of_records
from gstream.devices.gpu.device import GpuDevice
from gstream.devices.gpu.driver import DeviceError
from gstream.devices.gpu.memory import Copies
from gstream.devices.gpu.page_pool import Launch
from gstream.devices.gpu.resident_arrays import GpuArrays
from gstream.records import ItemKernel, RecordKernel, bytes_of, merge_copies

Arrays = dict[str, Any]  # a kernel's arrays and numbers by name
Join = Callable[[Arrays, list[Arrays]], None]  # writes to the first what several GPUs' copies of it come to


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
        """Raise DeviceError where memory ran out after resident arrays have been changed, as there is no other copy."""
        if self.begun and self.resident is not None:
            raise self.resident.gpu.fault(self.kernel.name, "memory ran out in the middle of its sweep")

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def named(self) -> Arrays:
        """Its arrays and numbers by name."""
        return self.arrays

    @property
    def merges(self) -> dict[str, str]:
        """How copies of the arrays that it writes become one, also of ranks."""
        return self.kernel.merges

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
        self._copies = Copies(device.gpu, sweep.arrays.values(), sweep.resident)
        self._arguments = self._copies.arguments(list(sweep.arrays.values()))
        self.stream, self.found = self._copies.stream, Arrays()
        self.take_edges = self._copies.take_edges

    def launch(self, pages: Launch, stream: Any) -> None:
        blocks, edges = pages.blocks(self._launch), self._copies.edges.address
        self._launch(stream, blocks, *pages.arguments(), edges, *self._arguments)
        self.sweep.begun = True

    def close(self, ended: bool) -> None:
        sweep = self.sweep
        written = {name: sweep.arrays[name] for name in sweep.kernel.merges}
        try:
            if ended and sweep.alone:
                self._copies.write_back(written.values())
            elif ended:
                self.found = {name: self._copies.fetch(array) for name, array in written.items()}
        finally:
            self.stream = None
            self._copies.let_go()


def run_items(
    devices: Sequence[GpuDevice], kernel: ItemKernel, count: int, arrays: Sequence[Any], room: int | None
) -> int:
    """Run an item kernel over `count` items, which the GPUs share; returns the edges that it looked at.

    room: bytes that each may hold; pages that are cached go where the arrays would not fit beside them.
    """
    named = dict(zip(kernel.parameters, arrays, strict=True))
    written = {name: named[name] for name in kernel.merges}
    unit, needed = unit_of_records(kernel, UNIT_OF_ITEMS, arrays), bytes_of(arrays)
    found, edges = list[Copies](), 0
    try:
        for number, device in enumerate(devices):
            if room is not None and device.memory_bytes + needed > room:
                device.release()
            with device.gpu:
                found.append(copies := Copies(device.gpu, arrays))
                launch, given = device.gpu.load(unit)[f"{kernel.name}_kernel"], copies.arguments(arrays)
                split = (number, len(devices), count)
                launch(copies.stream, launch.blocks(count), *split, copies.edges.address, *given)
        made = []
        for copies in found:
            with copies.gpu:
                edges += copies.take_edges()
                if len(found) == 1:
                    copies.write_back(written.values())
                else:
                    made.append({name: copies.fetch(array) for name, array in written.items()})
    finally:
        for copies in found:
            with suppress(DeviceError), copies.gpu:
                copies.let_go()
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
