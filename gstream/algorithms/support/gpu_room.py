"""What a call knows of the room for its arrays in GPUs' memory; where there is none, the host's cores do the work."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from gstream.devices.job import DeviceMemoryError
from gstream.records import bytes_of

if TYPE_CHECKING:
    from gstream.devices.gpu.kept_values import GpuValues


class GpuRoom:
    """Part of a Session. engine: the Session's."""

    engine: Any
    on_gpus: Any
    _held: WeakSet[GpuValues]  # what `hold` gave
    _sent_back = 0  # the most bytes of arrays that GPUs had no room for
    _refused: float = math.inf  # bytes of arrays that turned out to be too many

    def fits(self, arrays: tuple[Any, ...]) -> bool:
        """`has_room`; where there is none, that is noted."""
        if self.has_room(arrays):
            return True
        self._count_sent_back(arrays)
        return False

    def has_room(self, arrays: tuple[Any, ...]) -> bool:
        """Whether the GPUs hold arrays beside what is held, and some pages."""
        room, needed = self.engine.device_memory, bytes_of(arrays) + self.held_bytes
        return needed < self._refused and (room is None or needed <= room // 2)

    def gpu_room(self, beside: int) -> int | None:
        """Bytes that `has_room` has for arrays with others of `beside` bytes; None: no limit, or no room at all."""
        room = self.engine.device_memory if self.on_gpus else None
        left = math.inf if room is None else min(room // 2, self._refused - 1) - beside - self.held_bytes
        return int(left) if 0 < left < math.inf else None

    @property
    def held_bytes(self) -> int:
        """Of what `hold` gave that is in a GPU's memory and is referred to."""
        return sum(values.memory.nbytes for values in self._held if values.memory is not None)

    def hold(self, size: int, dtype: Any) -> GpuValues | None:
        """Values in the memory of the one GPU that does all of it, which hold anything; None: it has no room. They stay
        as long as somebody refers to them, but where others need the room: then they are in host memory, which the
        caller counts."""
        left = self.gpu_room(0)
        if (left is None and not self.has_room(())) or (left is not None and size * np.dtype(dtype).itemsize > left):
            return None
        engine, device = self.engine, self.engine.devices[0]
        if left is not None and device.memory_bytes > engine.device_memory // 2:
            device.release()
        try:
            values: GpuValues = device.hold(size, dtype)
        except DeviceMemoryError:
            return None
        self._held.add(values)
        engine.beside_device_bytes = max(engine.beside_device_bytes, self.held_bytes)
        return values

    def note_shortage(self, arrays: tuple[Any, ...]) -> None:
        """Note arrays for which the GPUs ran out of memory: arrays of as many bytes are not tried again."""
        self._refused = self._count_sent_back(arrays)

    def _count_sent_back(self, arrays: tuple[Any, ...]) -> int:
        """Note arrays that stay in host memory; returns their bytes."""
        self._sent_back = max(self._sent_back, needed := bytes_of(arrays) + self.held_bytes)
        return needed

    def shortage(self) -> str:
        """What the summary says of it; "" where all had room."""
        if not self._sent_back:
            return ""
        return (
            f"{self._sent_back} bytes of attributes had no room beside pages in the GPUs' memory, so the host's cores "
            "did the work"
        )
