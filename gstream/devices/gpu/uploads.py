"""Vertex arrays on a GPU beside those of programs: the store's own, and what a call keeps there."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from gstream.devices.gpu.arrays import Array
from gstream.devices.gpu.driver import Gpu
from gstream.devices.gpu.stream_lane import Spans, span_of


class Kept(Protocol):
    """Arrays that a call keeps on a GPU (gstream.devices.gpu.resident_arrays)."""

    @property
    def memory_bytes(self) -> int: ...

    def wait(self) -> None:
        """Return when nothing queued works on them, or on pages."""


class Uploads:
    """Copies of the store's own vertex arrays (degrees, heads), which never change: kept from run to run by name.

    resident: what a call keeps on the GPU meanwhile.
    """

    resident: Kept | None = None

    def __init__(self, gpu: Gpu, spans: Spans | None = None) -> None:
        self._gpu, self.spans = gpu, spans
        self._kept: dict[str, Array] = {}

    def keep(self, names: set[str]) -> None:
        """Free all others, as runs and sweeps do that begin, and those who give pages back."""
        if self.resident is not None:
            self.resident.wait()
        for name in [name for name in self._kept if name not in names]:
            self.drop(name)

    def drop(self, name: str) -> None:
        """Free one, where it is there."""
        if name in self._kept:
            self._kept.pop(name).free()

    def find(self, name: str) -> Array | None:
        """The copy, where there is one."""
        return self._kept.get(name)

    def get(self, name: str, values: np.ndarray) -> tuple[Array, int]:
        """The copy, made where there is none, and the bytes that moved for it."""
        if name in self._kept:
            return self._kept[name], 0
        self._kept[name] = self._gpu.upload(values, span_of(self.spans, "copies", f"copy: {name}", None))
        return self._kept[name], values.nbytes

    @property
    def memory_bytes(self) -> int:
        resident = 0 if self.resident is None else self.resident.memory_bytes
        return resident + sum(array.nbytes for array in self._kept.values())
