"""What is made of Nsight Compute's raw pages: means by instructions, and a reason where nothing was counted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bench import counters
from bench.gpu_setup import Setup
from bench.harness import SkippedError
from bench.link import Devices

NAMES = ["ID", "Process ID", "Kernel Name", *counters.COUNTERS]
PAGE = [
    "==PROF== Connected to process 7",
    ",".join(f'"{name}"' for name in NAMES),
    ",".join(['""', '""', '""', '""', '"%"', '"%"', '"inst"']),
    '"0","7","pull_kernel","16","50.0","100","1,000"',
    '"1","7","pull_kernel","32","90.0","20","3,000"',
]


def test_launches_count_by_their_instructions():
    found = counters.means(PAGE)
    assert found[counters.THREADS] == 28
    assert found[counters.LOADS] == 80 and found[counters.STORES] == 40


@pytest.mark.parametrize("lines", [[], PAGE[:3], ["==ERROR== ERR_NVGPUCTRPERM - no permission"]])
def test_nothing_was_counted(lines):
    with pytest.raises(SkippedError, match="ERR_NVGPUCTRPERM|says nothing"):
        counters.means(lines)


def test_what_is_missing_is_said(monkeypatch, tmp_path):
    def setup(devices: str) -> Setup:
        return Setup(Devices.parse(devices), scale=8, folder=tmp_path, merge_scale=8, streams=(1,), sources=2)

    with pytest.raises(SkippedError, match="have no warps"):
        list(counters.counters(setup("host")))
    monkeypatch.setattr(shutil, "which", lambda *given, **named: None)
    with pytest.raises(SkippedError, match="no ncu on PATH"):
        list(counters.counters(setup("cuda:0")))


def test_the_tables(monkeypatch, tmp_path):
    """Of a graph that is there, with counters that are made up."""
    asked: list[tuple[str, str]] = []

    def count(ncu: str, path: Path, device: str, micro: str) -> dict[str, float]:
        asked.append((path.name, micro))
        columns = "columns" in path.name
        return {counters.THREADS: 24.0 if "degree" in path.name else 8.0, counters.LOADS: 90.0 if columns else 30.0,
                counters.STORES: 60.0, counters.WEIGHT: 1.0}  # fmt: skip

    monkeypatch.setattr(counters, "count", count)
    monkeypatch.setattr(counters, "profiler", lambda: "ncu")
    setup = Setup(Devices(("cuda:0",)), scale=6, folder=tmp_path, merge_scale=8, streams=(1,), sources=2)
    figures = {figure.what: figure for figure in counters.counters(setup)}
    assert [micro for _, micro in asked] == [*(["1", "2", "4", "8", "16", "32", "hybrid"] * 2), "hybrid"]
    five = figures["Table 5: warp execution efficiency"]
    assert (five.value, five.against_value, five.ratio) == (75.0, 25.0, 3.0)
    seven = figures["Table 7: global load efficiency, column pages"]
    assert (seven.value, seven.against_value) == (90.0, 30.0)
    assert figures["warp execution efficiency, S = 4"].against == "the model's ME"
