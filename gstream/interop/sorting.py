"""`--devices` of a conversion: the GPU that sorts its edges, where there is one and they are many."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from gstream.options.auto_devices import gpus_there, is_auto
from pagestore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pagestore.convert.sorter import EdgeSorter

FEWEST = 1 << 26  # edges that are worth starting CUDA for: cores take 1.5 s
EDGE_BYTES = 16  # of a file, about: a line of two IDs, or a row of two numbers


def sorter_for(devices: Any = None) -> Callable[[Any], EdgeSorter | None]:
    """What ConvertOptions.sorter takes; devices: "auto", "host" or "cuda:N". Raises UsageError for anything else."""
    asked = "auto" if devices is None else devices
    if not isinstance(asked, str):
        raise UsageError(f"--devices {asked!r}: must be one word, as auto, host or cuda:0.")
    if is_auto([asked]):
        return _worthwhile
    from gstream.options.run_options import parse_devices

    specs = parse_devices([asked])
    if len(specs) > 1 or specs[0].kind not in ("host", "cuda"):
        raise UsageError(f"--devices {asked}: a conversion takes one GPU, or the cores. Pass auto, host or cuda:N.")
    return partial(_on_gpu, specs[0].seed) if specs[0].kind == "cuda" else _none


def _none(source: Any) -> None:
    """The cores sort."""


def _on_gpu(index: int, source: Any) -> EdgeSorter:
    from gstream.devices.gpu.edge_sort import GpuEdgeSorter

    return GpuEdgeSorter(index)


def _worthwhile(source: Any) -> EdgeSorter | None:
    """The first GPU, for as many edges as are worth it by what the source says of itself."""
    edges = getattr(source, "edge_count", None) or (source.total_bytes or 0) // EDGE_BYTES
    return _on_gpu(0, source) if edges >= FEWEST and gpus_there() else None
