"""Pulls by tiles of sources on GPUs: the ranks that one sweep over whole lists gives, wherever lists are cut."""

from __future__ import annotations

import os

import numpy as np
import pytest
from visible import NEEDS_GPU, gpus

from gstream.devices.gpu import tiles as gputiles
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.programs.pagerank import PageRank
from pagestore.memory import convert_arrays
from pagestore.store import open_store

pytestmark = NEEDS_GPU
SMALL = "GSTREAM_SMALL" in os.environ
# shared memory holds some 45,000 values: there are two tiles and a rest
V, E = (100_000, 400_000) if SMALL else (200_000, 4_000_000)
DEVICES = ["cuda:0", "cuda:0,0"] + ["cuda:0,1"] * (gpus() > 1) + ["cuda:0,1,2,3"] * (gpus() > 3)


@pytest.fixture(scope="module", params=["directed 4", "directed 8", "undirected 4"])
def store(request, tmp_path_factory):
    kind, width = request.param.split()
    random = np.random.default_rng(5)
    source, target = (V * random.random((2, E)) ** 2).astype(np.int64)
    path = tmp_path_factory.mktemp("tiles") / "graph.gs"
    convert_arrays(
        path, source, target, vertices=V, directed=kind == "directed", id_bytes=int(width), page_bytes=1 << 16,
        order="degree",
    )  # fmt: skip
    with open_store(path) as made:
        yield made


@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize(("piece_edges", "range_share"), [(0.01, 1e-3), (4, 1e-3), (4, 1)])
def test_ranks_are_those_of_whole_lists(store, monkeypatch, devices, piece_edges, range_share):
    """Of all lists, and of the long ones; with many ranges behind the tiles, and one; the sums are of doubles, so that
    their order makes little difference."""
    made, tiles_of = [], gputiles.tiles_of
    monkeypatch.setattr(gputiles, "PIECE_EDGES", piece_edges)
    monkeypatch.setattr(gputiles, "RANGE_EDGES", 0.01)
    monkeypatch.setattr(gputiles, "RANGE_SHARE", range_share)
    monkeypatch.setattr(gputiles, "L2_SHARE", 0)
    monkeypatch.setattr(
        "gstream.devices.gpu.program_work.tiles_of", lambda *given: made.append(tiles_of(*given)) or made[-1]
    )
    supersteps = gputiles.PATIENCE + 6
    with Engine(store) as engine:
        wanted = engine.run(PageRank(tolerance=0.0), max_supersteps=supersteps).value
    with Engine(store, RunOptions(devices=[devices])) as engine:
        for _ in range(2):
            found = engine.run(PageRank(tolerance=0.0), max_supersteps=supersteps).value
            np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert len(made) == len(devices.split(","))  # the second run has the pieces of the first one
    assert all(tiles is not None for tiles in made)
    assert all((len(tiles._cut.range_rows) > 1) == (range_share < 1) for tiles in made)
