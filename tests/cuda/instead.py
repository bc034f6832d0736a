"""Puts the stand-in for CUDA's driver (standin.py) where the GPU device looks for the driver."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import standin

from gstream.cudacode.generate import Unit
from gstream.devices.gpu import driver as gpu_module
from gstream.devices.gpu import probe as gpuprobe
from gstream.devices.gpu.batch_queue import BatchQueue


def install(compile_unit: Callable[[Unit], Path], put: Callable[[Any, str, Any], None] = setattr) -> None:
    """Let the GPU device find this driver, and kernels that compile_unit made, in this process and those it forks."""
    put(gpu_module, "driver", lambda: standin.DRIVER)
    put(gpu_module.Gpu, "pin", standin.pin)
    put(gpu_module.Gpu, "_uses_host_addresses", lambda gpu: True)
    put(BatchQueue, "submit_in_place", only_pinned(BatchQueue.submit_in_place))
    put(Unit, "compile", lambda unit, architecture: compile_unit(unit))
    for name, size in (("LISTS", 1 << 10), ("EDGES", 1 << 12), ("TARGETS", 1 << 8), ("LARGE_BYTES", 1 << 20)):
        put(gpuprobe, name, size)  # every thread is a fiber


def only_pinned(submit: Callable) -> Callable:
    """A real GPU faults on host memory that nobody pinned; the emulated kernels would read it."""

    def submit_in_place(queue, batch) -> None:
        for rows in (batch.pages, batch.weights):
            assert rows is None or all(standin.is_pinned(rows[row]) for row in batch.rows), "rows that are not pinned"
        submit(queue, batch)

    return submit_in_place
