"""Helpers: write a small input, open it, collect its edges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pagestore.inputs import EdgeSource, InputOptions, open_source

MEMORY = 1 << 28


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def opened(paths: Any, folder: Path, **options: Any) -> EdgeSource:
    work = folder / "work"
    work.mkdir(exist_ok=True)
    return open_source(paths, InputOptions(**options), work, MEMORY)


def edges_of(source: EdgeSource) -> list[tuple]:
    """(source, target) or (source, target, weight) of every edge, with the user's IDs or names, in order."""
    found: list[tuple] = []
    for chunk in source.chunks():
        assert chunk.source.dtype == chunk.target.dtype == np.uint64
        assert (chunk.weight is not None) == source.weighted
        ends = [chunk.source.tolist(), chunk.target.tolist()]
        if source.names is not None:
            ends = [[source.names[n] for n in end] for end in ends]
        elif source.ids is not None:
            ends = [[int(source.ids[n]) for n in end] for end in ends]
        found += zip(*ends, *([chunk.weight.tolist()] if chunk.weight is not None else []), strict=True)
    return found


def read(folder: Path, name: str, content: str | bytes, **options: Any) -> list[tuple]:
    """Edges of one small file."""
    source = opened(write(folder, name, content), folder, **options)
    try:
        return edges_of(source)
    finally:
        source.close()
