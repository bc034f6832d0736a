"""Devices of a benchmark, and their ceilings, measured in the same run: the link, peer copies, device memory.

All through `gstream.devices.gpu.driver.Gpu`, as the engine does it. Where the devices are the host's cores, a copy in
host memory stands in for each, so that every benchmark can be tried on a machine without a GPU.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np

from gstream.options.run_options import parse_devices
from pagestore.errors import DeviceMissingError

BUFFER_BYTES = 512 << 20  # beyond a GPU's L2 (60 MB on an H200)
HOST_BUFFER_BYTES = 64 << 20
CHUNK_BYTES = 16 << 20  # copies of the engine's size; the link's rate is within 1 % of its best from here on
PASSES = 4
TRIES = 3  # the best of them: a ceiling is what the machine can do
GROUPS = (2, 4, 8)
ALL_GPUS = "all"


@dataclass(frozen=True)
class Devices:
    """Devices by the names that RunOptions.devices takes."""

    names: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Devices:
        """Of "all" (GPUs), "cuda", "cuda:0,1" or "host"."""
        if text == ALL_GPUS:
            from gstream.devices.gpu.driver import driver

            return cls(tuple(f"cuda:{number}" for number in range(driver().Device.count())) or ("cuda:0",))
        kind = text.partition(":")[0]
        names = [f"{kind}:{part}" if part.isdigit() else part for part in text.split(",")]
        return cls(tuple("cuda:0" if name == "cuda" else name for name in names))

    def check(self) -> None:
        """Raise UsageError on a name that is none, DeviceMissingError where a GPU or what drives it is missing."""
        specs = parse_devices(list(self.names))
        if self.kind != "cuda":
            return
        from gstream.cudacode.generate import find_nvcc
        from gstream.devices.gpu.driver import found

        gpus = len(found())
        for spec in specs:
            if spec.seed >= gpus:
                raise DeviceMissingError(
                    f"--devices cuda:{spec.seed}: there is no such GPU; this machine has {gpus}. Name one from 0 on."
                )
        find_nvcc()

    @property
    def kind(self) -> str:
        return self.names[0].partition(":")[0]

    @property
    def one(self) -> list[str]:
        return [self.names[0]]

    @property
    def several(self) -> list[list[str]]:
        """Two devices, four and eight, as far as they are there; the host's cores make two."""
        if self.kind == "cuda":
            return [list(self.names[:count]) for count in GROUPS if count <= len(self.names)]
        return [["host:2"]] if self.kind == "host" else [[f"{self.names[0]}:2"]]

    def count(self, names: Sequence[str]) -> int:
        return len(names) if self.kind == "cuda" else 1 if list(names) == self.one else 2

    def label(self, names: Sequence[str]) -> str:
        """As in 1 GPU, 2 GPUs, 2 host devices."""
        count = self.count(names)
        return f"{count} {'GPU' if self.kind == 'cuda' else f'{self.kind} device'}{'s' if count > 1 else ''}"


@dataclass(frozen=True)
class Ceiling:
    """A limit of the machine in bytes a second, and its name."""

    name: str
    rate: float

    def best(self, other: Ceiling) -> Ceiling:
        """The faster of two measurements of one thing."""
        return self if self.rate >= other.rate else other


class Lane:
    """One GPU with a pinned buffer and one in its memory."""

    def __init__(self, name: str) -> None:
        from gstream.devices.gpu.driver import Gpu

        self.gpu = Gpu(int(name.partition(":")[2] or 0))
        with self.gpu:
            self.host = self.gpu.pinned(BUFFER_BYTES, np.uint8)
            self.host[:] = 1
            self.there = self.gpu.empty(BUFFER_BYTES, np.uint8)
            self.stream = self.gpu.stream()

    def send(self, chunk_bytes: int) -> None:
        """Queue copies of the whole buffer to the GPU."""
        with self.gpu:
            for first in range(0, BUFFER_BYTES, chunk_bytes):
                part = self.host[first : first + chunk_bytes]
                self.gpu.write(self.there.address + first, part, self.stream)

    def fetch(self, other: Lane) -> None:
        """Queue a copy of another GPU's buffer into this one's."""
        with self.gpu:
            self.gpu.copy(self.there.address, other.there.address, BUFFER_BYTES, self.stream)

    def shift(self) -> None:
        """Queue a copy of half of the buffer to its other half."""
        with self.gpu:
            half = BUFFER_BYTES // 2
            self.gpu.copy(self.there.address + half, self.there.address, half, self.stream)

    def wait(self) -> None:
        with self.gpu:
            self.gpu.synchronize()

    def close(self) -> None:
        with self.gpu:
            self.there.free()
            del self.host, self.stream


class Ceilings:
    """Rates of devices, measured when asked for; a context manager, whose end gives the buffers back."""

    def __init__(self, devices: Devices) -> None:
        self.devices = devices
        self._lanes: dict[str, Lane] = {}

    def __enter__(self) -> Ceilings:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for lane in self._lanes.values():
            lane.close()
        self._lanes.clear()

    def lanes(self, names: Sequence[str]) -> list[Lane]:
        for name in names:
            if name not in self._lanes:
                self._lanes[name] = Lane(name)
        return [self._lanes[name] for name in names]

    def link(self, names: Sequence[str], chunk_bytes: int = CHUNK_BYTES) -> Ceiling:
        """Pinned host memory to all of these devices at once."""
        if self.devices.kind != "cuda":
            return _host_copy("host-to-device copies", chunk_bytes)
        lanes = self.lanes(names)
        size = f"{chunk_bytes >> 20} MiB" if chunk_bytes >> 20 else f"{chunk_bytes >> 10} KiB"
        to_all = "" if len(lanes) == 1 else f", to {len(lanes)} GPUs at once"

        def send() -> None:
            for _ in range(PASSES):
                for lane in lanes:
                    lane.send(chunk_bytes)

        rate = _best_rate(lanes, send, PASSES * BUFFER_BYTES * len(lanes))
        return Ceiling(f"pinned host-to-device copies of {size}{to_all}", rate)

    def peer(self, names: Sequence[str], both_ways: bool = False) -> Ceiling:
        """Memory of one GPU to that of another; both ways at once: the rate of each way."""
        if self.devices.kind != "cuda":
            return _host_copy("peer-to-peer copies")
        first, second = self.lanes(names[:2])
        for lane, other in ((first, second), (second, first)):
            with lane.gpu:
                if not lane.gpu.reaches(other.gpu):
                    raise OSError(f"{names[0]} and {names[1]} can't reach each other's memory")

        def fetch() -> None:
            for _ in range(PASSES):
                first.fetch(second)
                if both_ways:
                    second.fetch(first)

        rate = _best_rate([first, second], fetch, PASSES * BUFFER_BYTES)
        return Ceiling(f"peer-to-peer copies{', each way of both at once' if both_ways else ''}", rate)

    def memory(self, name: str) -> Ceiling:
        """A device's own memory: bytes read plus bytes written by copies within it."""
        if self.devices.kind != "cuda":
            return _host_copy("device memory copies, read plus written", read_and_written=2)
        lanes = self.lanes([name])

        def shift() -> None:
            for _ in range(PASSES * 8):
                lanes[0].shift()

        return Ceiling("device memory copies, read plus written", _best_rate(lanes, shift, PASSES * 8 * BUFFER_BYTES))


def _best_rate(lanes: Sequence[Lane], queue: Callable[[], Any], size: int) -> float:
    """Bytes a second of `queue`, which queues copies of `size` bytes in all; the first try warms up."""
    rates = []
    for _ in range(TRIES + 1):
        began = time.perf_counter()
        queue()
        for lane in lanes:
            lane.wait()
        rates.append(size / (time.perf_counter() - began))
    return max(rates[1:])


def _host_copy(name: str, chunk_bytes: int = CHUNK_BYTES, read_and_written: int = 1) -> Ceiling:
    """What stands in for a device's ceiling where there is none."""
    source, target = np.ones(HOST_BUFFER_BYTES, np.uint8), np.zeros(HOST_BUFFER_BYTES, np.uint8)
    rates = []
    for _ in range(TRIES + 1):
        began = time.perf_counter()
        for first in range(0, HOST_BUFFER_BYTES, chunk_bytes):
            target[first : first + chunk_bytes] = source[first : first + chunk_bytes]
        rates.append(read_and_written * HOST_BUFFER_BYTES / (time.perf_counter() - began))
    return Ceiling(f"copies in host memory in place of {name}", max(rates[1:]))


def gpu_lines(devices: Devices) -> list[str]:
    """The GPUs, one a line, for the facts of a result; none where the devices are the host's cores."""
    if devices.kind != "cuda":
        return []
    from gstream.devices.gpu.driver import Gpu

    lines = []
    for name in devices.names:
        gpu = Gpu(int(name.partition(":")[2]))
        with gpu:
            free = gpu.free_bytes()
        lines.append(
            f"{name}: {gpu.name}, {gpu.processors} processors, {gpu.architecture}, {free / 2**30:.1f} GiB free"
        )
    return lines
