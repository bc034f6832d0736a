"""The converter: any EdgeSource to a store, external, bounded in memory, parallel, resumable.

    report = convert(source, "web.gs", ConvertOptions(memory_bytes=2 << 30), progress)
    print(estimate.estimate(source, "web.gs", options))     # --dry-run

The steps, in the order of reading: pipeline, scan, shuffle (buckets, sorting, emit), sortededges, order, finish.
`pagestore.memory.convert_arrays` does the same for arrays in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pagestore import lazily

if TYPE_CHECKING:
    from pagestore.convert.estimate import Estimate
    from pagestore.convert.options import ConvertOptions, Progress, Report
    from pagestore.convert.pipeline import convert

__all__ = ["ConvertOptions", "Estimate", "Progress", "Report", "convert"]

_OPTIONS = dict.fromkeys(("ConvertOptions", "Progress", "Report"), "pagestore.convert.options")
__getattr__ = lazily(
    __name__, {**_OPTIONS, "Estimate": "pagestore.convert.estimate", "convert": "pagestore.convert.pipeline"}
)
