"""Lists of a graph that a GPU does not hold at once: blocks of them are joined there, one beside the other."""

from __future__ import annotations

import choice
import numpy as np
import pytest
from compilers import needs_gxx
from record_graphs import BLOCKS, check_blocks, make_path

import gstream
from gstream.algorithms.labelling import cdlp
from gstream.algorithms.support import blocks
from gstream.devices.gpu import record_sweep as gpusweep
from tests.answers.simple_graphs import blocks_of

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]
V, E, PAGE = 400, 7000, 4096


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return {kind: make_path(tmp_path_factory.mktemp("stores"), kind, V, E, PAGE) for kind in ("undirected", "directed")}


@pytest.mark.long
@pytest.mark.covering(1)
@pytest.mark.parametrize("devices", ["cuda", *choice.also("cuda:0,2")])
@pytest.mark.parametrize("less", [1.75, *choice.also(1)])
@pytest.mark.parametrize(("kind", "name"), BLOCKS)
def test_a_graph_larger_than_the_gpu(paths, kind, name, less, devices):
    with gstream.open(paths[kind]) as graph:
        check_blocks(graph, name, less, {"devices": devices})


@pytest.mark.covering(1)
@pytest.mark.parametrize("devices", ["cuda:0,2", *choice.also("cuda")])
@pytest.mark.parametrize(("kind", "name"), [*BLOCKS[:2], *choice.also(*BLOCKS[2:])])
def test_blocks_of_few_bytes(paths, kind, name, devices):
    """On a GPU that would hold all of them."""
    own = {"k": 9} if name == "ktruss" else {}
    with gstream.open(paths[kind]) as graph:
        expected = graph.execute(name, own)
        with blocks_of(20_000 if name == "cdlp" else 8_000):
            found = graph.execute(name, own, devices=devices)
        assert found.to_arrow() == expected.to_arrow() and "note" not in found.summary
        if name in ("lcc", "triangles"):
            assert found.summary["supersteps"] > 3


@pytest.mark.parametrize("devices", ["cuda", "cuda:0,2"])
@pytest.mark.parametrize("kind", ["undirected", "directed"])
def test_lists_longer_than_degrees_say(paths, kind, devices, monkeypatch):
    """As in a store that somebody made so: no GPU writes past the block, and what they have is joined within it."""
    monkeypatch.setattr(cdlp, "neighbours", lambda session: blocks.neighbours(session) // 2)
    with gstream.open(paths[kind]) as graph:
        found = graph.cdlp(iterations=2, devices=devices)
    assert "note" not in found.summary and (found.to_numpy()["community"] < V).all()


def test_a_list_larger_than_the_gpu_is_left_to_the_cores(paths, monkeypatch):
    """The other blocks are not: vertices whose lists have room are gathered by the GPU."""
    given, close = list[str](), gpusweep.RecordWork.close
    monkeypatch.setattr(
        gpusweep.RecordWork, "close", lambda work, ended: given.append(work.sweep.kernel.name) or close(work, ended)
    )
    with gstream.open(paths["undirected"]) as graph:
        expected = graph.cdlp(iterations=2).to_numpy()
        found = graph.cdlp(iterations=2, devices="cuda", device_memory=30_000)
    assert np.array_equal(found.to_numpy(), expected)
    assert "had no room" in found.summary["note"] and given.count("gather_labels") > 2


def test_a_gpu_that_would_take_too_many_blocks_leaves_them_to_the_cores(paths, monkeypatch):
    monkeypatch.setattr(blocks, "MOST_ON_GPU", 3)
    with gstream.open(paths["undirected"]) as graph:
        expected = graph.triangles().to_numpy()
        found = graph.triangles(devices="cuda", device_memory=50_000)
    assert np.array_equal(found.to_numpy(), expected)
    assert "had no room" in found.summary["note"] and found.summary["supersteps"] == 1
