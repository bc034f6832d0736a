"""The last launch over cached pages once more, before the driver knows whether it has to come (gstream.overlap)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gstream.devices.gpuqueue import Launch

if TYPE_CHECKING:
    from gstream.devices.gpu import GpuDevice

ALL_CLAIMED = 0xF0000000  # more claims than a launch has, and few enough to count on in 32 bits


class GpuRepeat:
    """A gstream.devices.repeat.Repeat: `launch`, for a program's pull over pages that all stay on the GPU."""

    def __init__(self, device: GpuDevice, launch: Launch) -> None:
        self._device, self._launch = device, launch

    def ask(self, frontier: bool) -> None:
        with self._device.gpu:
            self._device.state.ask(frontier)

    def retract(self) -> None:
        """Warps that find all of it claimed end; claims are made for the next run again once they have."""
        device, launch = self._device, self._launch
        with device.gpu:
            state, claims = device.state, [(launch.claims, 1), *device.work.claims]
            claimed = np.full(max(count for _, count in claims), ALL_CLAIMED, np.uint64)
            for address, count in claims:  # by a copy: a kernel would have to wait for processors
                device.gpu.write(address, claimed[:count], device.pool.copies)
            state.wait()
            device.pool.copies.synchronize()
            device.gpu.write(launch.claims, np.zeros(1, np.uint64))
            state.take_counts()
            device.stats.pages -= len(launch.numbers)
            device.pool.ring.caches[launch.table.table.name].hits -= len(launch.numbers)
            device.queue.all_over()
