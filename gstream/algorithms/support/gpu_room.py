"""What a call knows of the room for its arrays in GPUs' memory; where there is none, the host's cores do the work."""

from __future__ import annotations

import math
from typing import Any

from gstream.records import bytes_of


class GpuRoom:
    """Part of a Session. engine: the Session's."""

    engine: Any
    on_gpus: Any
    _sent_back = 0  # the most bytes of arrays that GPUs had no room for
    _refused: float = math.inf  # bytes of arrays that turned out to be too many

    def fits(self, arrays: tuple[Any, ...]) -> bool:
        """`has_room`; where there is none, that is noted."""
        if self.has_room(arrays):
            return True
        self._count_sent_back(arrays)
        return False

    def has_room(self, arrays: tuple[Any, ...]) -> bool:
        """Whether the GPUs hold arrays beside some pages."""
        room, needed = self.engine.device_memory, bytes_of(arrays)
        return needed < self._refused and (room is None or needed <= room // 2)

    def gpu_room(self, beside: int) -> int | None:
        """Bytes that `has_room` has for arrays with others of `beside` bytes; None: no limit, or no room at all."""
        room = self.engine.device_memory if self.on_gpus else None
        left = math.inf if room is None else min(room // 2, self._refused - 1) - beside
        return int(left) if 0 < left < math.inf else None

    def note_shortage(self, arrays: tuple[Any, ...]) -> None:
        """Note arrays for which the GPUs ran out of memory: arrays of as many bytes are not tried again."""
        self._refused = self._count_sent_back(arrays)

    def _count_sent_back(self, arrays: tuple[Any, ...]) -> int:
        """Note arrays that stay in host memory; returns their bytes."""
        self._sent_back = max(self._sent_back, needed := bytes_of(arrays))
        return needed

    def shortage(self) -> str:
        """What the summary says of it; "" where all had room."""
        if not self._sent_back:
            return ""
        return (
            f"{self._sent_back} bytes of attributes had no room beside pages in the GPUs' memory, so the host's cores "
            "did the work"
        )
