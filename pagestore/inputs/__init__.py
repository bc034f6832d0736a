"""Inputs: every edge-list format becomes an `EdgeSource` (base.py) through `open_source` (detect.py)."""

from pagestore.inputs.base import EdgeChunk, EdgeSource, InputOptions, SkippedLines, StringNames
from pagestore.inputs.detect import FORMATS, open_source

__all__ = ["FORMATS", "EdgeChunk", "EdgeSource", "InputOptions", "SkippedLines", "StringNames", "open_source"]
