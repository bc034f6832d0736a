"""The programs for GPUs: what they say where something is missing, what their stages measure and count."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import choice
import numpy as np
import pytest

from bench import algorithms, convert, edge_vertex, gpu_algorithms, gpu_memory, gpu_pagerank, gpu_traversals, graphs
from bench.figures import Figure, WrongAnswerError
from bench.gpu_setup import Setup, Store
from bench.link import Ceiling, Devices
from bench.machine import ROOT
from bench.suite import without_folders

SCRIPTS = ("bench/gpu.py", "bench/thesis.py", "bench/edge_vertex.py", "bench/simd.py")


def said(command: Sequence[str], code: int) -> str:
    """The one line on standard error of a command that ends with `code`."""
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize("script", SCRIPTS)
def test_an_interpreter_without_libraries_is_refused_in_a_line(script: str) -> None:
    line = said(["-S", script], 3)  # -S: no site-packages
    assert "has no numpy, llvmlite, numba" in line and "-m pip install '.[cuda,bench]'" in line and "PYTHON=" in line


@pytest.mark.parametrize("script", choice.seeds(1, SCRIPTS))
def test_a_gpu_that_is_not_there_is_named_in_a_line(script: str) -> None:
    assert said([script, "--devices", "cuda:99"], 3).startswith(f"{script}: --devices cuda")
    assert said([script, "--devices", "gpu"], 2).startswith(f"{script}: --devices gpu: not a device")


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    return Setup(Devices.parse("fake:1"), scale=8, folder=tmp_path, merge_scale=8, streams=(1,), sources=2)


@pytest.mark.long
def test_components_are_streamed_with_heads_and_without(setup: Setup) -> None:
    figures = {figure.what.rpartition(",")[0]: figure for figure in gpu_traversals.components(setup)}
    moved = "components streamed, heads moved in the run"
    assert list(figures) == ["components in-core", "components streamed", moved, "components streamed without heads"]
    assert "heads alone settle it, no page moves" in figures["components streamed"].note
    assert figures["components streamed"].ratio is None  # no bytes, so no share of the link
    assert figures["components in-core"].ceiling and figures["components in-core"].ratio  # heads are read there
    swept = figures["components streamed without heads"]
    assert swept.ceiling and swept.ratio and "heads alone" not in swept.note
    assert "edges/s of " in swept.note and "pages moved, 1 times the " in swept.note
    assert "no page is needed" in figures["components streamed"].note


@pytest.mark.long
def test_every_algorithm_is_measured_on_gpus(setup: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some of the rows: a value a vertex, a float a vertex, rows of edges."""
    some = ("kcore", "katz", "msf")
    monkeypatch.setattr(graphs, "WORK", tmp_path)
    monkeypatch.setattr(gpu_algorithms, "ROWS", [row for row in algorithms.ROWS if row.name in some])
    figures = list(gpu_algorithms.algorithms(setup))
    places = [f"{name} {place}, 1 fake device" for name in some for place in ("in-core", "streamed")]
    assert sorted(figure.what for figure in figures) == sorted(places)
    assert all(figure.against == "this machine's cores" and figure.ratio for figure in figures)
    assert all("edges/s of " in figure.note for figure in figures)
    found = {figure.what: re.search(r"pages moved, (\S+) times the (\d+) ", figure.note) for figure in figures}
    for name in some:  # fake devices keep pages from superstep to superstep, none from sweep to sweep
        cached, streamed = (found[f"{name} {place}, 1 fake device"] for place in ("in-core", "streamed"))
        assert cached and streamed and streamed[1] == "1" and cached[2] == streamed[2]
        assert (float(cached[1]) < 1) == (name == "katz")


@pytest.mark.long
def test_conversions_are_measured_on_gpus(setup: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "WORK", tmp_path)
    monkeypatch.setattr(convert, "RUNS", 1)
    figures = list(convert.on_gpus(setup))
    assert [figure.what.partition(" to ")[0] for figure in figures] == ["generator", ".npy"]
    assert all(figure.against == "the cores" and figure.ratio and "sorted on host" in figure.note for figure in figures)
    assert not list(tmp_path.rglob("*.gs"))


def test_wrong_answers_of_gpus_are_refused() -> None:
    ranks = np.array([0.5, 0.25, 0.25])
    gpu_algorithms.check_answer("katz", ranks * (1 + 1e-6), ranks)
    gpu_algorithms.check_answer("msf", np.array([3, 1, 2]), np.array([1, 2, 3]))
    for name, found, expected in (
        ("katz", ranks + [0, 0, 0.01], ranks),
        ("kcore", np.array([1, 2]), np.array([2, 1])),
        ("msf", np.array([1, 2]), np.array([1, 2, 3])),
    ):
        with pytest.raises(WrongAnswerError, match=name):
            gpu_algorithms.check_answer(name, found, expected)


@pytest.mark.long
def test_merges_are_measured_between_two_devices(setup: Setup) -> None:
    rate, time = gpu_memory.merge(setup)
    assert (rate.unit, time.unit) == ("GB/s", "ms")
    assert rate.value * time.value * 1e6 == pytest.approx(12 * (1 << 8) // 2)


def test_a_merge_brings_float64_sums_and_float32_values() -> None:
    store = Store(Path("graph.gs"), "rmat-28", vertices=1 << 28, edges=1 << 28, page_bytes=1 << 30, a_page=1 << 20)
    rate, time = gpu_memory.merge_figures("2 GPUs", store, 6e-3, Ceiling("peer-to-peer copies", 400e9))
    assert rate.value == pytest.approx((8 + 4) * (1 << 27) / 6e-3 / 1e9)
    assert rate.ratio == pytest.approx(time.ratio) == pytest.approx(rate.value / 400)
    assert (rate.passed, time.passed) == (False, None)


@pytest.mark.parametrize(("devices", "scale", "aim"), [(2, 24, 1.95), (2, 28, 1.9), (4, 28, 3.7), (8, 24, None)])
def test_speedups_have_targets_for_two_and_four(devices: int, scale: int, aim: float | None) -> None:
    single, several = (Figure(f"PageRank streamed, iteration, {n} GPUs", "g", 8 / n, "ms") for n in (1, devices))
    figure = gpu_pagerank.speedup(single, several, gpu_pagerank.STREAMED_SPEEDUPS.get((devices, scale)))
    assert (figure.what, figure.value) == (f"PageRank streamed, {devices} GPUs against one", devices)
    assert figure.target == (f"{aim} times one" if aim else "")


def test_results_name_no_folders() -> None:
    """What decided figures is said all the same."""
    given = ["--scale", "20", "--stores", "/a/b", "--only", "bfs", "--out=/c", "--data", "/d", "--limit", "9"]
    assert without_folders(given) == ["--scale", "20", "--only", "bfs", "--data", "FOLDER", "--limit", "9"]
    given += ["--sources", "4", "--devices", "host"]
    command = edge_vertex.SUITE.command_of(edge_vertex.SUITE.parse([*given[:4], "--only", "real-sort", *given[6:]]))
    assert command == (
        "python bench/edge_vertex.py --only real-sort --scale 20 --devices host --sources 4 --data FOLDER"
    )
