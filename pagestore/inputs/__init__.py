"""Inputs: every edge-list format becomes an `EdgeSource` (base.py) through `open_source` (detect.py)."""

from pagestore.inputs.base import EdgeChunk, EdgeSource, InputOptions, SkippedLines, StringNames

__all__ = ["EdgeChunk", "EdgeSource", "InputOptions", "SkippedLines", "StringNames", "open_source"]


def __getattr__(name: str) -> object:
    # detect.py pulls in readers, the readers pull in numba: only when something is really opened
    if name == "open_source":
        from pagestore.inputs.detect import open_source

        return open_source
    raise AttributeError(name)
