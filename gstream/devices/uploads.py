"""Vertex arrays of the store on a GPU."""

from __future__ import annotations

import numpy as np

from gstream.devices.cuda import Array, Gpu


class Uploads:
    """Copies of the store's own vertex arrays (degrees, heads), which never change: kept from run to run by name."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._kept: dict[str, Array] = {}

    def keep(self, names: set[str]) -> None:
        """Free all others."""
        for name in [name for name in self._kept if name not in names]:
            self.drop(name)

    def drop(self, name: str) -> None:
        """Free one, where it is there."""
        if name in self._kept:
            self._kept.pop(name).free()

    def get(self, name: str, values: np.ndarray) -> tuple[Array, int]:
        """The copy, made where there is none, and the bytes that moved for it."""
        if name in self._kept:
            return self._kept[name], 0
        self._kept[name] = self._gpu.upload(values)
        return self._kept[name], values.nbytes

    @property
    def memory_bytes(self) -> int:
        return sum(array.nbytes for array in self._kept.values())
