"""Inputs: every edge-list format becomes an `EdgeSource` (base.py) through `open_source` (detect.py).

`open_source` is imported at first use: generating a graph needs none of the readers' libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pagestore.inputs.base import EdgeChunk, EdgeSource, InputOptions, SkippedLines, StringNames

if TYPE_CHECKING:
    from pagestore.inputs.detect import FORMATS, open_source

__all__ = ["FORMATS", "EdgeChunk", "EdgeSource", "InputOptions", "SkippedLines", "StringNames", "open_source"]


def __getattr__(name: str) -> Any:
    if name not in ("FORMATS", "open_source"):
        raise AttributeError(f"module 'pagestore.inputs' has no attribute {name!r}")
    from pagestore.inputs import detect

    return getattr(detect, name)
