"""Arrays in a GPU's memory that come and go together, among them copies of host arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np

from gstream.cudacode.records import bits_of
from gstream.devices.gpu.arrays import Array
from gstream.devices.gpu.driver import DeviceError, Gpu
from gstream.devices.gpu.kept_values import GpuValues
from gstream.records.held import Held, Scratch, is_array, on_host


class OnGpu(Protocol):
    """Whatever belongs to one GPU."""

    @property
    def gpu(self) -> Gpu: ...


S = TypeVar("S", bound=OnGpu)
P = ParamSpec("P")
R = TypeVar("R")


def in_context(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """The method within its GPU's context."""

    @wraps(method)
    def call(self: S, /, *given: P.args, **named: P.kwargs) -> R:
        with self.gpu:
            return method(self, *given, **named)

    return call


class Memory:
    """Arrays on one GPU that are given back together. Call with its context current.

    again: the next call takes as many of the same sizes.
    """

    again = False

    def __init__(self, gpu: Gpu) -> None:
        self.gpu, self.arrays = gpu, list[Array]()

    def take(self, count: int, dtype: Any) -> Array:
        """`count` elements, holding anything."""
        self.arrays.append(self.gpu.empty(count, dtype, self.again))
        return self.arrays[-1]

    def upload(self, values: np.ndarray) -> Array:
        """A copy of `values`, there on return."""
        array = self.take(values.size, values.dtype)
        self.gpu.write(array.address, np.ascontiguousarray(values))
        return array

    @property
    def memory_bytes(self) -> int:
        return sum(array.nbytes for array in self.arrays)

    def free(self) -> None:
        """Give the memory back; what is queued must be over."""
        for array in self.arrays:
            array.free()
        self.arrays = []

    def let_go(self) -> None:
        """`free` when what is queued is over: also where it breaks off, as an error of CUDA that shows here follows the
        one that is on its way."""
        with suppress(self.gpu.cuda.Error, DeviceError):
            self.gpu.synchronize()
        with suppress(self.gpu.cuda.Error):
            self.free()


class Copies(Memory):
    """Copies of host arrays, known by the host array that each is of, which record and item kernels work on.

    base: copies that are there already, whose stream is taken. edges: a counter of edges that launches looked at.
    Of values that are held on the GPU, no copy is made: kernels work on themselves.
    """

    again = True

    def __init__(self, gpu: Gpu, arrays: Iterable[Any], base: Copies | None = None) -> None:
        """Of `arrays` numbers are left out, and arrays that stand there twice have one copy."""
        super().__init__(gpu)
        self._base = base
        self._copies: dict[int, tuple[Any, Array]] = {}
        self._uses = ExitStack()
        try:
            self.stream: Any = gpu.stream() if base is None else base.stream
            self.edges = self._copy(np.zeros(1, np.uint64))
            for array in arrays:
                if is_array(array) and self.find(array) is None:
                    self._copies[id(array)] = array, self._there(array)
        except BaseException:
            self.let_go()
            raise

    def _there(self, array: Any) -> Array:
        """The memory of values that are held here, or a copy of a host array."""
        if isinstance(array, GpuValues) and array.kept.gpu is self.gpu and array.memory is not None:
            return self._uses.enter_context(array.in_use())
        return self._room(array) if isinstance(array, Scratch) else self._copy(on_host(array))

    def _room(self, values: np.ndarray | Scratch) -> Array:
        whole = -(-values.nbytes // 4) * 4  # a word at the end of bytes, too: that is how one is swapped
        return self.take(whole // values.dtype.itemsize, values.dtype)

    def _copy(self, values: np.ndarray) -> Array:
        array = self._room(values)
        self.gpu.write(array.address, np.ascontiguousarray(values))
        return array

    def find(self, array: Any) -> Array | None:
        """The copy of a host array, if there is one."""
        known = self._copies.get(id(array))
        if known is not None:
            return known[1]
        return None if self._base is None else self._base.find(array)

    def arguments(self, given: Sequence[Any]) -> list[int]:
        """What a kernel takes for its arrays, which all have copies, and numbers."""
        words = list[int]()
        for value in given:
            copy = self.find(value)
            words += [bits_of(value)] if copy is None else [copy.address, value.size]
        return words

    def fetch(self, array: np.ndarray) -> np.ndarray:
        """What the copy of a host array holds, after what is queued."""
        copy = self.find(array)
        assert copy is not None, "an array that is not there"
        return self.gpu.fetch(copy.address, array.size, array.dtype, self.stream)

    def write_back(self, arrays: Iterable[np.ndarray]) -> None:
        """Put copies where they came from, but for those of `base`: no memory has to be had, touched and pinned for it.

        Raises DeviceError, and no DeviceMemoryError: arrays that are half written are of no use to the host's cores.
        """
        try:
            for array in {id(array): array for array in arrays if id(array) in self._copies}.values():
                copy = self._copies[id(array)][1]
                if isinstance(array, GpuValues) and array.memory is copy:
                    array.changed()
                elif isinstance(array, Held):
                    array.host()[...] = self.gpu.fetch(copy.address, array.size, array.dtype, self.stream)
                elif array.flags.c_contiguous:
                    self.gpu.read(copy.address, array, self.stream)
                else:
                    array[...] = self.fetch(array)
        except self.gpu.cuda.Error as error:
            raise self.gpu.fault("arrays on their way back", error) from error

    def take_edges(self) -> int:
        """Edges looked at, once what is queued is over."""
        return int(self.gpu.read(self.edges.address, np.zeros(1, np.uint64), self.stream)[0])

    def free(self) -> None:
        super().free()
        self._uses.close()
        self._copies, self.stream = {}, None
