"""Louvain and Leiden by a GPU's tables: the answer of the cores, bit by bit."""

from __future__ import annotations

import choice
import numpy as np
import pytest
from compilers import needs_gxx
from record_graphs import make_path

import gstream
from gstream.algorithms.communities import coarser, gpu_coarser, gpu_moves, gpu_slices, leiden, levels
from pagestore.memory import convert_arrays

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    draw = np.random.default_rng(8)
    ends = draw.integers(0, 400, (2, 8000))
    ends[0, :5000] = 7  # its list is longer than two pieces
    convert_arrays(folder / "hub.gs", *ends, directed=False, page_bytes=4096)
    return {"hub": folder / "hub.gs"} | {
        kind: make_path(folder, kind, 400, 3000, 4096) for kind in ("directed", "undirected")
    }


@pytest.mark.parametrize(
    ("name", "kind", "weighted"),
    [
        ("leiden", "hub", False),
        *choice.also(("leiden", "undirected", False), ("leiden", "directed", True), ("louvain", "undirected", True)),
    ],
)
def test_a_gpu_chooses_as_the_cores_do(name, kind, weighted, paths, monkeypatch):
    monkeypatch.setattr(levels, "ALONE", 500)
    monkeypatch.setattr(leiden, "ALONE", 500)
    monkeypatch.setattr(leiden.Work, "tried", lambda *_: 1)
    monkeypatch.setattr(leiden, "SLICE", 100)
    monkeypatch.setattr(gpu_slices, "ON_GPU", 0)
    rounds, merges = [], []
    move, merge = gpu_slices.GpuSlices.move, gpu_slices.GpuSlices.merge
    monkeypatch.setattr(gpu_slices.GpuSlices, "move", lambda *given: rounds.append(move(*given)) or rounds[-1])
    monkeypatch.setattr(gpu_slices.GpuSlices, "merge", lambda *given: merges.append(merge(*given)))
    made, make = [], gpu_coarser.GpuGroups.make
    monkeypatch.setattr(gpu_coarser.GpuGroups, "make", lambda *given: made.append(make(*given)) or made[-1])
    asked = {"weighted": weighted, "seed": 4}
    with gstream.open(paths[kind]) as graph:
        assert kind != "hub" or graph.store.out_degree().max() > 2 * gpu_moves.PIECE
        expected = graph.execute(name, asked)
    assert not rounds and not made
    with gstream.open(paths[kind], devices="cuda") as graph:
        found = graph.execute(name, asked, certify=True)
        assert rounds and rounds[0] > 100 and bool(merges) == (name == "leiden")
        assert made and all(stayed is not None for stayed in made)
        chosen = len(rounds)
        monkeypatch.setattr(gpu_slices, "TABLE_SLOTS", 1)  # tables of a few lists: slices have several bins
        monkeypatch.setattr(gpu_coarser, "BATCH_SLOTS", 1)  # of a few groups
        monkeypatch.setattr(coarser.Found, "has_room", False)  # their lists go to the host
        made.clear()
        few = graph.execute(name, asked)
        assert len(rounds) == 2 * chosen and made and all(stayed is None for stayed in made)
        blocks = graph.execute(name, asked, device_memory=200_000)  # no room for all lists: visited ones are gathered
        assert len(rounds) < 3 * chosen and "had no room" in blocks.summary["note"]
    for result in (found, few, blocks):
        assert np.array_equal(result.to_numpy(), expected.to_numpy())
        assert result.summary["modularity"] == expected.summary["modularity"]
