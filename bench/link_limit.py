"""A GPU's link made slower, for benchmarks: after every large copy its stream is kept busy for the time that a link of
that rate would have taken. It is kept busy by copies within the GPU's memory, so that the host's memory is as free as
beside a slow link. Figures made so say that their copies are throttled.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

LEAST_BYTES = 1 << 20  # of copies that are throttled
BLOCK_BYTES = 32 << 20  # of a copy within the GPU's memory
TRIES = 20


class SlowLink:
    """Throttles what is copied to and from one GPU (gstream.devices.gpu.driver.Gpu) to `rate` bytes a second."""

    def __init__(self, gpu: Any, rate: float, link_rate: float) -> None:
        self._gpu = gpu
        self._per_byte = max(0.0, 1 / rate - 1 / link_rate)  # seconds that a byte has to wait
        with gpu:
            self._block = gpu.empty(2 * BLOCK_BYTES, np.uint8)
            self._rate = self._inner_rate()
        self._write, self._read = gpu.write, gpu.queue_read
        gpu.write, gpu.queue_read = self.write, self.read

    def _inner_rate(self) -> float:
        """Bytes a second of copies within the GPU's memory."""
        gpu, stream = self._gpu, self._gpu.stream()
        begin, end = gpu.event(timed=True), gpu.event(timed=True)
        for mark in (begin, end):  # the first round warms up
            mark.record(stream)
            for _ in range(TRIES):
                self._copy(BLOCK_BYTES, stream)
        last = gpu.event(timed=True)
        last.record(stream)
        stream.synchronize()
        return float(TRIES * BLOCK_BYTES / (last.time_since(end) / 1e3))

    def _copy(self, nbytes: int, stream: Any) -> None:
        self._gpu.copy(self._block.at(BLOCK_BYTES), self._block.address, nbytes, stream)

    def wait(self, nbytes: int, stream: Any) -> None:
        """Queue the time that so many bytes have to wait."""
        left = int(nbytes * self._per_byte * self._rate) if nbytes >= LEAST_BYTES else 0
        while left > 0:
            self._copy(min(left, BLOCK_BYTES), stream)
            left -= BLOCK_BYTES

    def write(self, address: int, values: np.ndarray, stream: Any = None, **more: Any) -> None:
        self._write(address, values, stream, **more)
        if stream is not None:
            self.wait(values.nbytes, stream)

    def read(self, address: int, out: np.ndarray, stream: Any) -> None:
        self._read(address, out, stream)
        self.wait(out.nbytes, stream)

    def end(self) -> None:
        del self._gpu.write, self._gpu.queue_read
        with self._gpu:
            self._gpu.synchronize()
            self._block.free()


@contextmanager
def limited(engine: Any, rate: float) -> Iterator[None]:
    """The links of an engine's GPUs at `rate` bytes a second at most; its cost model knows."""
    constants = engine.measure()
    links = [SlowLink(device.gpu, rate, constants.c2) for device in engine.devices if hasattr(device, "gpu")]
    if links:
        slow = {name: min(getattr(constants, name), rate) for name in ("c1", "c2")}
        engine.costs._constants = replace(constants, **slow)
    try:
        yield
    finally:
        for link in links:
            link.end()
