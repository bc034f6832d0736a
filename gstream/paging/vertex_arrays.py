"""Arrays of all vertices that an engine reads from the store once and keeps: degrees, heads, natural indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gstream.paging.page_source import in_own_pages


class VertexArrays:
    """By name; pinned where `device` will copy them."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._arrays: dict[str, np.ndarray] = {}
        self._unpin: dict[str, Callable[[], None]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._arrays.values())

    def get(self, name: str, read: Callable[[], np.ndarray]) -> np.ndarray:
        """The array of that name, read at its first use."""
        if name not in self._arrays:
            array = in_own_pages(read()) if self._device.pins else read()
            self._unpin[name] = self._device.pin(array)
            self._arrays[name] = array
        return self._arrays[name]

    def keep(self, names: set[str]) -> None:
        """Drop the others."""
        for name in self._arrays.keys() - names:
            self._unpin.pop(name)()
            del self._arrays[name]
