"""Record kernels on GPUs: each has copies of the arrays for one sweep; what they wrote becomes one on the host.

The arrays are of all vertices, little beside the pages: copied before a sweep, and those that the kernel writes back
after it. Where a GPU does not hold them, the host's cores sweep (gstream.algorithms.session).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from gstream.cudacode.generate import UnitShape
from gstream.cudacode.records import bits_of, unit_of_records
from gstream.devices.cuda import Array
from gstream.devices.gpu import GpuDevice
from gstream.devices.gpuqueue import Launch
from gstream.records import RecordKernel

Arrays = dict[str, Any]  # a kernel's arrays and numbers by name
Join = Callable[[Arrays, list[Arrays]], None]  # writes to the first what several GPUs' copies of it come to


class GpuSweep:
    """A page kernel (gstream.sweep) for one sweep by GPUs alone."""

    def __init__(self, kernel: RecordKernel, arrays: tuple[Any, ...], shape: UnitShape, join: Join | None) -> None:
        """shape.weight_dtype: None where the kernel reads no weights. join: merges the arrays that are its "own"."""
        self.kernel, self.needs_weights, self.join = kernel, shape.weight_dtype is not None, join
        self.arrays = dict(zip(kernel.parameters, arrays, strict=True))
        self.unit = unit_of_records(kernel, shape, arrays)
        self._works: dict[int, RecordWork] = {}  # by id of the device

    def gpu_work(self, device: GpuDevice) -> RecordWork:
        """The work of a device; a sweep that is tried again has it anew."""
        device.uploads.keep(set())  # arrays of programs have no room in the sweep's plan
        self._works[id(device)] = work = RecordWork(device, self)
        return work

    def merge(self, states: list[Any]) -> None:
        """Write what the GPUs made of the arrays to the caller's."""
        copies = [work.copies for work in self._works.values()]
        if len(copies) == 1:
            for name, copy in copies[0].items():
                self.arrays[name][...] = copy
            return
        for name, how in self.kernel.merges.items():
            if how != "own":
                merge_copies(how, self.arrays[name], [copy[name] for copy in copies])
        if "own" in self.kernel.merges.values():
            assert self.join is not None, f"{self.kernel.name}: nobody merges its arrays"
            self.join(self.arrays, copies)


class RecordWork:
    """Batches of one sweep on one GPU (gstream.devices.gpuqueue.Work); `copies`: what it wrote, after `close`."""

    reach, ready = 0, None

    def __init__(self, device: GpuDevice, sweep: GpuSweep) -> None:
        self.gpu, self.sweep, self.queued = device.gpu, sweep, list[str]()
        self.name = f"{sweep.kernel.name}_kernel"
        self.copies: Arrays = {}
        self._launch = self.gpu.load(sweep.unit)[self.name]
        self._held: list[Array] = []
        self._arrays: dict[str, Array] = {}
        self._arguments: list[int] = []
        try:
            self._edges = self._upload(np.zeros(1, np.uint64))
            for name, value in sweep.arrays.items():
                if isinstance(value, np.ndarray):
                    self._arrays[name] = self._upload(value)
                    self._arguments += [self._arrays[name].address, value.size]
                else:
                    self._arguments.append(bits_of(value))
            self.stream = self.gpu.stream()
        except BaseException:
            self._free()
            raise

    def _upload(self, values: np.ndarray) -> Array:
        array = self.gpu.empty(values.size, values.dtype)
        self._held.append(array)
        self.gpu.write(array.address, np.ascontiguousarray(values))
        return array

    def launch(self, pages: Launch, stream: Any) -> None:
        blocks = pages.blocks(self._launch)
        self._launch(stream, blocks, *pages.arguments(), self._edges.address, *self._arguments)

    def take_edges(self) -> int:
        return int(self.gpu.read(self._edges.address, np.zeros(1, np.uint64), self.stream)[0])

    def close(self) -> None:
        try:
            for name in self.sweep.kernel.merges:
                array = self._arrays[name]
                self.copies[name] = self.gpu.fetch(array.address, array.count, array.dtype, self.stream)
        finally:
            self._free()

    def _free(self) -> None:
        """Raises nothing: an error of CUDA that shows here follows one that is on its way."""
        with suppress(self.gpu.cuda.Error):
            for array in self._held:
                array.free()
        self.stream = None


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
