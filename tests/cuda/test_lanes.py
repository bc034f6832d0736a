"""Lanes of classes of pages: what the probe draws and times, what a table says of pages it did not see."""

from __future__ import annotations

import numpy as np
import pytest
from compilers import needs_gxx

import gstream
from gstream.devices.gpu import lane_probe
from gstream.devices.gpu.driver import Gpu
from gstream.paging.gpu_parts import DENSE, PUSH_SHIFT, SPLIT, make_parts, micro_groups
from gstream.paging.page_lanes import LENGTHS, USUAL, WARP_LANES, PageLanes, name_of
from gstream.planning import calibration
from gstream.programs.bfs import BFS
from pagestore.layout import GROUP_SIZES
from pagestore.simd import add_record, best_size, close_page


def test_drawn_pages_are_full_and_of_all_lengths():
    words = 1 << 14
    drawn = list(lane_probe.drawn_lengths(words))
    assert len(drawn) == len(LENGTHS) * len(lane_probe.SPREADS)
    assert {1 << int(np.log2(lengths.mean())) for lengths in drawn} >= set(LENGTHS)
    for lengths in drawn:
        held = lane_probe.HEADER + int(lengths.sum()) + 3 * len(lengths)
        assert lengths.min() >= 1 and words - words // 4 < held <= words


def test_the_group_is_the_converters():
    for lengths in lane_probe.drawn_lengths(1 << 10):
        longest, lanes = np.zeros(6, np.uint64), np.zeros(6, np.uint64)
        for rank, degree in enumerate(lengths.astype(np.uint64)):
            add_record.py_func(degree, rank, longest, lanes)
        close_page.py_func(longest, lanes)
        assert lane_probe.group_of(lengths) == best_size.py_func(lanes)


def test_classes_that_were_not_measured_are_as_near_ones():
    known = {name_of("pull", 4, 8): 16.0, name_of("pull", 16, 8): 1.0, name_of("push", 2, 32): 3.0}
    lanes = PageLanes.measured(known)
    eight = LENGTHS.index(8)
    assert [row[eight] for row in lanes.pull] == [16, 16, 16, 8, 16, 32]  # of equally near ones the larger group's
    assert lanes.push == USUAL.push  # no number of lanes
    assert [row[0] for row in lanes.pull] == [row[0] for row in USUAL.pull]
    mean = np.array([0, 1, 7, 8, 15, 16, 127, 128, 5000], np.uint64)
    group = np.full(len(mean), 2, np.uint8)
    assert lanes.of("pull", group, mean).tolist() == [1, 1, 1, 16, 16, 8, 16, 32, 32]


def test_pulls_and_pushes_have_lanes_of_their_own():
    lanes = PageLanes.measured({name_of("pull", 4, 8): 2.0, name_of("push", 4, 8): 32.0})
    records, edges, group = np.array([9, 9, 9]), np.array([90, 90, 900]), np.array([4, 32, 4], np.uint8)
    rows, span = np.zeros(3, np.uint8), np.array([9, 10, 10])
    groups = micro_groups("hybrid", records, edges, group, rows, span, lanes)
    both = 2 + (6 << PUSH_SHIFT) + SPLIT
    unlike = WARP_LANES + SPLIT
    assert groups.tolist() == [DENSE + both, unlike, 16 + (6 << PUSH_SHIFT) + SPLIT]
    assert micro_groups("4", records, edges, group, rows, span, lanes).tolist() == [4 + DENSE, 4, 4]
    parts = make_parts(np.arange(3), np.array([False, False, True]), records, edges, groups, 8)
    assert parts[:, 3].tolist() == [*groups[:2], 0]


@needs_gxx
@pytest.mark.usefixtures("standin_gpu")
def test_lanes_are_measured_once(tmp_path, monkeypatch):
    for name, value in {"PAGE_BYTES": 4096, "DRAWN": 2, "COPIES": 2, "VERTICES": 256, "ROUNDS": 1}.items():
        monkeypatch.setattr(lane_probe, name, value)
    monkeypatch.setattr(lane_probe, "SPREADS", (1.3,))
    monkeypatch.setattr(lane_probe, "LENGTHS", (4, 64))
    calibration.measure_lanes(Gpu(0), tmp_path)
    (path,) = tmp_path.iterdir()
    kept = path.read_text()
    known = calibration._read(path)
    assert len(known) >= 4 and set(known.values()) <= set(GROUP_SIZES)
    assert {name.split()[0] for name in known} == {"pull", "push"}
    monkeypatch.setattr(lane_probe, "lane_constants", None)  # not called again
    calibration.measure_lanes(Gpu(0), tmp_path)
    assert path.read_text() == kept


@needs_gxx
@pytest.mark.usefixtures("standin_gpu")
def test_a_drawn_page_is_read_as_a_page(monkeypatch):
    """A pull over drawn pages sums up 1 for every neighbour of a list; a push sends as much to every neighbour."""
    monkeypatch.setattr(lane_probe, "PAGE_BYTES", 4096)
    monkeypatch.setattr(lane_probe, "DRAWN", 1)
    monkeypatch.setattr(lane_probe, "COPIES", 1)
    monkeypatch.setattr(lane_probe, "VERTICES", 1024)
    monkeypatch.setattr(lane_probe, "ROUNDS", 1)
    gpu, lengths = Gpu(0), np.arange(1, 31)
    from contextlib import ExitStack

    with gpu, ExitStack() as held:
        taken = {}
        usual = gpu.upload

        def upload(values, **named):
            array = usual(values, **named)
            taken[values.dtype, values.size] = array
            return array

        monkeypatch.setattr(gpu, "upload", upload)
        pages = lane_probe.Pages(gpu, held)
        kernels = list(lane_probe._kernels(gpu, pages, held))
        held.callback(gpu.synchronize)
        pages.fill(lengths)
        got = taken[np.dtype(np.float64), 1024].address
        (_, pull), (_, push), (_, search) = kernels
        for lanes in (1, 8):
            assert pages.seconds(pull, lanes) > 0
            assert gpu.fetch(got, 30, np.float64, pages.stream).tolist() == lengths.tolist()
        gpu.write(got, np.zeros(1024))
        assert pages.seconds(push, 4) > 0 and pages.seconds(search, 2) > 0
        sums = gpu.fetch(got, 1024, np.float64, pages.stream)
        words = pages.random[0].copy()
        ends = lane_probe.HEADER + np.cumsum(lengths + 1)
        listed = np.concatenate([words[end - length : end] for end, length in zip(ends, lengths, strict=True)])
        times = np.bincount(listed, minlength=1024)
        assert (sums == sums.sum() / times.sum() * times).all() and sums.sum() >= 2 * times.sum()


@needs_gxx
@pytest.mark.usefixtures("standin_gpu")
def test_measured_lanes_answer_alike_and_leave_pages_where_they_are(tmp_path, monkeypatch):
    known = {name_of(way, group, 8): 16.0 if way == "pull" else 2.0 for way in ("pull", "push") for group in (1, 32)}
    lanes = PageLanes.measured(known)
    monkeypatch.setattr(PageLanes, "measured", lambda known: lanes)
    path = tmp_path / "graph.gs"
    with gstream.generate("rmat", path, scale=8, seed=3) as graph:
        wanted = graph.bfs(source=0, devices="host").to_numpy()
    with gstream.open(path, devices="cuda:0") as graph:
        for moved in (True, False):
            found = graph.bfs(source=0)
            assert found.to_numpy().tobytes() == wanted.tobytes()
            assert (found.summary["stats"]["bytes_moved"] > 0) == moved
        assert graph.engine().plan(BFS(source=0)).device.lanes == lanes
