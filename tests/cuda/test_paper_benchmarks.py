"""bench/edge_vertex.py and bench/simd.py with a GPU, over the stand-in: every stage runs and checks its answers."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from compilers import needs_gxx

from bench import gpu_sort, lanes, sorting
from bench.families import generated
from bench.figures import WrongAnswerError
from bench.gpu_setup import Setup
from bench.link import Devices
from gstream.options.run_options import MICRO
from gstream.paging.gpu_parts import LANES, micro_groups
from pagestore.layout import GROUP_SIZES

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]


class NumpySorts:
    """What stands for CUB: the same calls, done at once."""

    def __init__(self, architecture: str) -> None:
        assert architecture == "sm_90"

    def __call__(self, name, temp, temp_bytes, arrays, count, bits, stream) -> int:
        assert (temp == 0) == (temp_bytes == 0) and name in ("radix", "merge")
        if temp:
            given = [np.ctypeslib.as_array(ctypes.cast(at, ctypes.POINTER(ctypes.c_uint32)), (count,)) for at in arrays]
            keys, keys_out, vertices, vertices_out = given
            assert int(keys.max()) < 1 << bits
            order = np.argsort(~keys, kind="stable")
            keys_out[:], vertices_out[:] = keys[order], vertices[order]
        return 64


@pytest.fixture
def setup(tmp_path, monkeypatch) -> Setup:
    monkeypatch.setattr(gpu_sort, "ExactSorts", NumpySorts)
    monkeypatch.setattr(lanes, "ITERATIONS", (1, 2))
    monkeypatch.setattr(sorting, "ITERATIONS", 2)
    for module in (lanes, sorting):
        monkeypatch.setattr(module, "REPEATS", 1)
    return Setup(
        Devices(("cuda:0",)), scale=7, folder=tmp_path, merge_scale=8, streams=(1,), sources=2, least_seconds=0.0
    )


def points(figures, plot):
    """{(panel, series): [x, ...]} of one plot."""
    found: dict = {}
    for figure in figures:
        if figure.point and figure.point["plot"] == plot:
            found.setdefault((figure.point["panel"], figure.point["series"]), []).append(figure.point["x"])
    return found


@pytest.mark.parametrize("kind", ["rmat", "grid"])
def test_sorts_on_the_host_and_a_gpu(setup, kind):
    figures = list(sorting.of_kind(kind, sorting.sorts)(setup))
    graph = f"{kind}-7"
    counts = [1, 10, 100, 1 << 20] if kind == "rmat" else [1, 1 << 20]
    curves = points(figures, "edge_vertex")
    panels = ("sort, host", "sort, GPU", "ME, a lane a list", "ME, lanes chosen by page")
    assert curves == {(panel, graph): counts for panel in panels}
    against = {figure.against for figure in figures if "on the GPU" in figure.what and figure.against}
    assert against == {"CUB radix", "CUB radix, 32 bits", "CUB merge"}
    assert {panel for panel, _ in points(figures, "edge_vertex-11")} == {f"{kind}, host", f"{kind}, GPU"}
    assert figures[0].what.startswith("Table 2: eta") and figures[0].counted


def test_pagerank_by_buckets(setup):
    figures = list(sorting.of_kind("rmat", sorting.pagerank)(setup))
    curves = points(figures, "edge_vertex")
    wanted = [1, 10, 100, 1 << 20]
    assert curves == {(f"Figure 12: PageRank, {where}", "rmat-7"): wanted for where in ("host", "GPU")}
    rows = [figure.what for figure in figures if figure.against == "natural order"]
    assert len(rows) == 8 and sum("by out-degree" in row for row in rows) == 2
    assert [path.name for path in setup.folder.glob("*.gs")] == ["rmat-7-natural.gs"]


@pytest.mark.long
def test_lanes_forced_and_chosen(setup):
    """Each S in turn is what the kernels are given; speeds stand beside the model's ME."""
    figures = list(lanes.of_kind("rmat")(setup))
    sizes = list(GROUP_SIZES)
    for plot, sets in (("simd", 1), ("simd-more", 3)):  # natural order's out-pages; the other three
        assert list(points(figures, plot).values()) == [sizes] * 3 * sets
    curves = points(figures, "simd-5")
    assert all(xs == sizes for xs in curves.values()) and len(curves) == 2 * 2 * 2
    assert {series for _, series in curves} == {"measured", "ME by the model"}
    rows = [figure for figure in figures if figure.against.startswith("the fastest single S")]
    assert len(rows) == 2 * 2 * 2 and all("rank correlation" in row.note or "ME" in row.note for row in rows)


def test_wrong_answers_are_no_figures(setup, monkeypatch):
    monkeypatch.setattr(gpu_sort.DegreeSort, "places", lambda self: np.zeros(self.vertices, np.uint32))
    degrees = sorting.Degrees.of(generated("rmat", 7), setup.folder)
    with pytest.raises(WrongAnswerError, match="a place is given twice"):
        list(sorting.gpu_sorts(setup, degrees))


@pytest.mark.parametrize("size", GROUP_SIZES)
def test_a_number_of_lanes_is_every_pages(size):
    column = np.array([1, 32, 8], np.uint8)
    assert LANES[str(size)] == size and {*LANES, "hybrid"} == {*MICRO}
    ones, none = np.ones(3, np.uint32), np.zeros(3, np.uint8)
    assert micro_groups(str(size), ones, np.full(3, 5000), column, none, ones + 1).tolist() == [size] * 3
