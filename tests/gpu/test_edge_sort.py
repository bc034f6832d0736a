"""Conversions whose edges are sorted on a GPU, whose blocks really run at once: their stores have the cores' bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from visible import NEEDS_GPU

from gstream.interop.sorting import sorter_for
from pagestore.convert import convert
from pagestore.convert.options import ConvertOptions
from pagestore.generate import rmat

pytestmark = NEEDS_GPU
MEMORY_BYTES = 8 << 30  # threads of a machine with several GPUs take more than the default
SCALE = 10 if "GSTREAM_SMALL" in os.environ else 17  # for compute-sanitizer, as in test_gpu.py
KINDS: dict[str, dict[str, Any]] = {
    "directed": {},
    "degree order": {"order": "degree"},
    "undirected": {"directed": False, "dedupe": True, "drop_self_loops": True},
    "in-lists alone": {"topology": "in"},
}


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_bytes_are_those_of_the_cores(tmp_path: Path, kind: str, weights: bool) -> None:
    reports = {}
    for name in ("cuda:0", "host"):
        options = ConvertOptions(sorter=sorter_for(name), memory_bytes=MEMORY_BYTES, **KINDS[kind])
        reports[name] = convert(rmat(SCALE, weights=weights), tmp_path / name, options)
        assert (reports[name].sorted_on, reports[name].notes) == (name, [])
    assert (tmp_path / "cuda:0").read_bytes() == (tmp_path / "host").read_bytes()
