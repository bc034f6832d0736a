"""The converter: any EdgeSource to a store, external, bounded in memory, parallel, resumable.

    report = convert(source, "web.gs", ConvertOptions(memory_bytes=2 << 30), progress)
    print(estimate.estimate(source, "web.gs", options))     # --dry-run

The steps, in the order of reading: pipeline, scan, shuffle (scatter, bucketstore, radix, split, emit), order, expand,
build, finish. `pagestore.memory.convert_arrays` is the same for arrays at hand.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pagestore.convert.estimate import Estimate
    from pagestore.convert.options import ConvertOptions, Progress, Report
    from pagestore.convert.pipeline import convert

__all__ = ["ConvertOptions", "Estimate", "Progress", "Report", "convert"]

_WHERE = {
    "ConvertOptions": "options", "Estimate": "estimate", "Progress": "options", "Report": "options",
    "convert": "pipeline",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'pagestore.convert' has no attribute {name!r}")
    return getattr(import_module(f"pagestore.convert.{_WHERE[name]}"), name)
