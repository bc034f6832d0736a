"""Conversions whose edges are sorted on a GPU, over the stand-in: their stores have the bytes of the cores'."""

from __future__ import annotations

import choice
import numpy as np
import pytest
import standin
from compilers import needs_gxx

from gstream.devices.gpu import edge_sort
from gstream.devices.gpu.edge_sort import GpuEdgeSorter
from gstream.devices.gpu.memory import Memory
from gstream.interop.sorting import sorter_for
from pagestore.convert.sorter import SorterError
from pagestore.memory import convert_arrays
from tests.convert.graphs import check_store, skewed

pytestmark = needs_gxx
VERTICES, EDGES = 1500, 9000  # three tiles, more where edges are stored in both directions
KINDS = {
    "directed": {},
    "degree order": {"order": "degree"},
    "in-lists alone": {"topology": "in"},
    "out-lists in in-order": {"topology": "out", "order": "in"},
    "undirected": {"directed": False},
    "no equal edges": {"dedupe": True},
    "undirected, no equal edges, no loops": {"directed": False, "dedupe": True, "drop_self_loops": True},
    "undirected in degree order": {"directed": False, "dedupe": True, "order": "degree"},
}
WEIGHTS = {
    "none": lambda drawn: None, "bytes": lambda drawn: drawn, "signed": lambda drawn: drawn - 100,
    "fractions": lambda drawn: (drawn - 100) / 8,
}  # fmt: skip


def stored(path, graph, weight, sorter, **options):
    report = convert_arrays(
        path, graph.source, graph.target, weight, page_bytes=4096, memory_bytes=1 << 30, threads=2, sorter=sorter,
        **options,
    )  # fmt: skip
    return report, path.read_bytes()


def drawn_weights(kind):
    return WEIGHTS[kind](np.random.default_rng(3).integers(0, 200, EDGES))


@pytest.mark.usefixtures("standin_gpu")
@pytest.mark.parametrize("weights", ["none", "bytes", *choice.also("signed", "fractions")])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.covering(1)
def test_bytes_are_those_of_the_cores(tmp_path, monkeypatch, kind, weights):
    monkeypatch.setattr(edge_sort, "LANE_BYTES", 1 << 12)  # several pieces each
    graph, weight = skewed(EDGES, VERTICES), drawn_weights(weights)
    on_gpu, gpu_bytes = stored(tmp_path / "gpu.gs", graph, weight, sorter_for("cuda:0"), **KINDS[kind])
    on_host, host_bytes = stored(tmp_path / "host.gs", graph, weight, sorter_for("host"), **KINDS[kind])
    assert (on_gpu.sorted_on, on_host.sorted_on) == ("cuda:0", "host") and not on_gpu.notes
    assert on_gpu.dropped_self_loops == on_host.dropped_self_loops
    assert gpu_bytes == host_bytes
    check_store(tmp_path / "gpu.gs")


@pytest.mark.usefixtures("standin_gpu")
def test_without_edges(tmp_path):
    none = np.zeros(0, np.int64)
    for name in ("cuda:0", "host"):
        convert_arrays(tmp_path / name, none, none, num_vertices=5, sorter=sorter_for(name))
    assert (tmp_path / "cuda:0").read_bytes() == (tmp_path / "host").read_bytes()


@pytest.mark.usefixtures("standin_gpu")
class TestTheCoresGoOn:
    """With a note that says why."""

    def check(self, tmp_path, why, **options):
        graph, wanted = skewed(EDGES, VERTICES), {"order": "degree", **options}
        report, found = stored(tmp_path / "gpu.gs", graph, graph.weight, sorter_for("cuda:0"), **wanted)
        _, due = stored(tmp_path / "host.gs", graph, graph.weight, None, **wanted)
        assert found == due
        (note,) = report.notes
        assert note.startswith("the host's cores sorted the edges: ") and why in note and note.endswith(".")

    def test_where_the_gpu_is_too_small(self, tmp_path, monkeypatch):
        monkeypatch.setattr(standin, "MEMORY_BYTES", edge_sort.SPARE_BYTES + (100 << 10))
        self.check(tmp_path, "free, and sorting takes")

    def test_where_there_is_no_gpu(self, tmp_path, monkeypatch):
        monkeypatch.setattr(standin, "PRIMARY", [])
        self.check(tmp_path, "there is no such GPU")

    @pytest.mark.parametrize("method", ["append", "rename", "turn", "read_codes"])
    def test_where_the_gpu_fails(self, tmp_path, monkeypatch, method):
        def fail(*arguments):
            raise SorterError("it was switched off")

        monkeypatch.setattr(GpuEdgeSorter, method, fail)
        self.check(tmp_path, "it was switched off")

    def test_of_errors_of_cuda(self, tmp_path, monkeypatch):
        def fail(*arguments):
            raise standin.LogicError("an illegal address")

        monkeypatch.setattr(GpuEdgeSorter, "_sort", fail)
        self.check(tmp_path, "an illegal address")

    def test_of_errors_of_cuda_that_show_again_at_the_end(self, tmp_path, monkeypatch):
        let_go = Memory.let_go

        def fail(*arguments):
            raise standin.LogicError("an illegal address")

        def fail_again(memory):
            let_go(memory)
            raise memory.gpu.fault("", "an illegal address")

        monkeypatch.setattr(GpuEdgeSorter, "_sort", fail)
        monkeypatch.setattr(Memory, "let_go", fail_again)
        self.check(tmp_path, "an illegal address")
