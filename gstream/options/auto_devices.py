"""`--devices auto`, the default: whether a run is worth a GPU, and whether there may be one. Nothing here starts CUDA.

A run takes the first GPU that CUDA_VISIBLE_DEVICES leaves, and the host's cores beside it, if the cores alone would
take longer for the store's edges than CUDA takes to start.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

GPUS = Path("/proc/driver/nvidia/gpus")  # a folder for each, where the driver is loaded
DEVICE_FILES = Path("/dev")  # nvidia0, nvidia1, ...: containers may have no such folders
VISIBLE = "CUDA_VISIBLE_DEVICES"
AUTO = "auto"
SWEEPS = 10  # of all edges, that a run is taken to make
CORE_EDGES = 0.27e9  # edges a second that a core pulls (measured: 4.14 G by 15)
START_S, READY_S = 1.0, 0.02  # of the first GPU of a process, and what a run takes to begin on one
EDGE_BYTES = 4  # of a store's file, at least
FEWEST = 1 << 22  # edges that are worth starting CUDA for, on any machine


def is_auto(names: list[str]) -> bool:
    """Whether RunOptions.devices leave the choice to gstream."""
    return ",".join(names) == AUTO


def gpus_there() -> int:
    """GPUs that this process may use, as far as files say: no driver is asked."""
    try:
        count = len(os.listdir(GPUS))
    except OSError:
        count = sum(path.name[6:].isdecimal() for path in DEVICE_FILES.glob("nvidia[0-9]*"))
    named = os.environ.get(VISIBLE)
    if named is None or not count:
        return count
    listed = [one.strip() for one in named.split(",")]
    ends = [at for at, one in enumerate(listed) if one in ("", "-1")]  # CUDA ignores what follows
    return min(count, ends[0] if ends else len(listed))


def is_worth_a_gpu(edges: int, threads: int, started: bool) -> bool:
    """Whether cores take longer for so many edges than a GPU takes to start; started: CUDA is, in this process."""
    seconds = SWEEPS * edges / (threads * CORE_EDGES)
    return seconds > READY_S if started else seconds > START_S and edges >= FEWEST


def cuda_has_started() -> bool:
    """In this process. Looks only: the module is loaded if so."""
    driver = sys.modules.get("gstream.devices.gpu.driver")
    return driver is not None and driver.has_started()


def file_may_be_worth(store: str | os.PathLike, threads: int) -> bool:
    """The same, as far as the size of a store's file says."""
    try:
        size = os.stat(store).st_size
    except OSError:
        return False
    return is_worth_a_gpu(size // EDGE_BYTES, threads, started=False)
