"""One stream of a GPU with what its batches need beside pages: events, the work list, a streamed RA."""

from __future__ import annotations

import numpy as np

from gstream.devices.cuda import Gpu


class Lane:
    """One stream with its event, and buffers for the work list and the RA of its batch."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu, self.stream, self.over, self.copied = gpu, gpu.stream(), gpu.event(), gpu.event()
        self.used = False
        self.parts = np.zeros((0, 4), np.uint32)
        self.device_parts = gpu.empty(0, np.uint8)
        self.value = self.degree = self.message = gpu.empty(0, np.uint8)

    def wait(self) -> None:
        """Return when its last batch is over; the GIL is free meanwhile."""
        if self.used:
            self.over.synchronize()
            self.used = False

    def put_parts(self, parts: np.ndarray) -> int:
        """Queue the copy of a work list; its address on the device."""
        if len(parts) > len(self.parts):
            self.device_parts.free()
            self.parts = self.gpu.pinned((2 * len(parts), 4), np.uint32)
            self.device_parts = self.gpu.empty(self.parts.nbytes, np.uint8)
        self.parts[: len(parts)] = parts
        self.gpu.write(self.device_parts.address, self.parts[: len(parts)], self.stream)
        return self.device_parts.address

    @property
    def memory_bytes(self) -> int:
        return sum(array.nbytes for array in (self.device_parts, self.value, self.degree, self.message))

    def free(self) -> None:
        for array in (self.device_parts, self.value, self.degree, self.message):
            array.free()
