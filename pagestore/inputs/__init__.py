"""Inputs: every edge-list format becomes an `EdgeSource` (base.py) through `open_source` (detect.py).

`open_source` is imported at first use: generating a graph needs none of the readers' libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pagestore import lazily
from pagestore.inputs.base import EdgeChunk, EdgeSource, InputOptions, SkippedLines, StringNames

if TYPE_CHECKING:
    from pagestore.inputs.detect import open_source

__all__ = ["EdgeChunk", "EdgeSource", "InputOptions", "SkippedLines", "StringNames", "open_source"]

__getattr__ = lazily(__name__, {"open_source": "pagestore.inputs.detect"})
