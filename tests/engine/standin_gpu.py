"""Stands in for gstream.devices.gpu.driver.Gpu: host memory behind the same calls, which are counted and may fail."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from pagestore.errors import DeviceMissingError, GstreamError


class Memory:
    """What Gpu.empty gives; `address` is the GPU's number and an offset."""

    def __init__(self, gpu: StandInGpu, count: int, dtype: Any) -> None:
        self.gpu, self.nbytes = gpu, count * np.dtype(dtype).itemsize
        self.address = (gpu.index + 1) << 40

    def free(self) -> None:
        assert self.gpu.entered, "memory is freed where its GPU's context is current"
        self.gpu.held -= self.nbytes


class Event:
    def record(self, stream: Any) -> None:
        pass


class StandInGpu:
    """GPU `index` that reaches the GPUs in `reached`.

    fails: the call that raises GstreamError, at its turn number `turn`. held: bytes of it that are taken; pinned:
    bytes of host memory that are; calls: how often each call came.
    """

    def __init__(
        self, index: int = 0, name: str = "Stand-in 1", reached: tuple[int, ...] = (), fails: str = "", turn: int = 1
    ) -> None:
        self.index, self.name, self.reached, self.fails, self.turn = index, name, reached, fails, turn
        self.held = self.pinned = self.entered = 0
        self.reads_host = False
        self.calls: Counter[str] = Counter()

    def __enter__(self) -> StandInGpu:
        self.entered += 1
        return self

    def __exit__(self, *error: object) -> None:
        self.entered -= 1

    def _call(self, name: str) -> None:
        assert self.entered, f"{name} is called in the GPU's context"
        self.calls[name] += 1
        if name == self.fails and self.calls[name] == self.turn:
            raise GstreamError(f"{name} failed")

    def empty(self, count: int, dtype: Any) -> Memory:
        self._call("empty")
        memory = Memory(self, count, dtype)
        self.held += memory.nbytes
        return memory

    def load(self, unit: Any) -> Any:
        raise DeviceMissingError("no nvcc")

    def pin(self, array: np.ndarray) -> Any:
        self._call("pin")
        self.pinned += array.nbytes

        def unpin() -> None:
            self.pinned -= array.nbytes

        return unpin

    def write(self, address: int, values: np.ndarray, stream: Any = None) -> None:
        self._call("write")
        assert 0 <= address - ((self.index + 1) << 40) <= self.held - values.nbytes

    def read(self, address: int, out: np.ndarray, stream: Any = None) -> np.ndarray:
        self._call("read")
        return out

    def copy(self, to: int, source: int, nbytes: int, stream: Any = None) -> None:
        self._call("copy")
        assert (to >> 40) != (source >> 40), "from one GPU to the other"

    def stream(self) -> Any:
        self._call("stream")
        return object()

    def event(self) -> Event:
        self._call("event")
        return Event()

    def synchronize(self) -> None:
        self._call("synchronize")

    def reaches(self, other: StandInGpu) -> bool:
        self._call("reaches")
        return other.index in self.reached
