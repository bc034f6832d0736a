"""Graphs with known answers from the folder ../shared/data, where it is present."""

from __future__ import annotations

import io
import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="the suites and real graphs of ../shared/data lie beside some checkouts only"
)


@cache
def manifest() -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry for entry in json.loads((DATA / "manifest.json").read_text())}


def edges(name: str) -> np.ndarray:
    """float64[edges, 2 or 3]: source, target and weight, where there is one; int64[edges, 2] of a graph as CSR."""
    if (DATA / "graphs" / name).is_dir():
        parts = (("indptr", "<u8"), ("indices", "<u4"))
        indptr, target = (np.frombuffer(lzma.open(DATA / "graphs" / name / f"{part}.xz").read(), kind)
                          for part, kind in parts)  # fmt: skip
        return np.stack([np.repeat(np.arange(len(indptr) - 1), np.diff(indptr.astype(np.int64))), target], axis=1)
    kind = "wel" if (DATA / "graphs" / f"{name}.wel.xz").exists() else "el"
    text = lzma.open(DATA / "graphs" / f"{name}.{kind}.xz").read()
    return np.loadtxt(io.BytesIO(text), ndmin=2)


def answers(name: str) -> dict[str, Any]:
    return json.loads((DATA / "answers" / f"{name}.json").read_text())


def arrays(name: str) -> Any:
    """Answers as arrays by name; empty where only the summary is there."""
    path = DATA / "answers" / f"{name}.npz.xz"
    return np.load(io.BytesIO(lzma.open(path).read())) if path.exists() else {}


def hash_weights(source: np.ndarray, target: np.ndarray, directed: bool) -> np.ndarray:
    """The weights 1..64 of `sssp_hashw`, float64."""
    a, b = (source, target) if directed else (np.minimum(source, target), np.maximum(source, target))
    mixed = (a.astype(np.uint64) * np.uint64(73856093)) ^ (b.astype(np.uint64) * np.uint64(19349663))
    return (np.uint64(1) + mixed % np.uint64(64)).astype(np.float64)
