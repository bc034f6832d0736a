"""Column pages on the stand-in for the driver: parts of the directory, and the host's answers from rows."""

from __future__ import annotations

import math

import choice
import numpy as np
import pytest
from compilers import needs_gxx
from engine_graphs import make_store, skewed_edges

import gstream
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.paging.gpu_parts import (
    COLUMNS,
    DENSE,
    EDGES_A_PART,
    PUSH_LANES,
    PUSH_SHIFT,
    SPLIT,
    WARP_LANES,
    carried,
    count_parts,
    make_parts,
    micro_groups,
)
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from gstream.programs.sssp import SSSP
from gstream.programs.wcc import WCC

V, E, PAGE = 3000, 20_000, 4096
PROGRAMS = {
    "bfs": (BFS(source=3), None),
    "sssp": (SSSP(source=3), None),
    "wcc": (WCC(), None),
    "pagerank": (PageRank(tolerance=0.0), 3),
}
OPTIONS = {
    "as it is": {},
    "no cache": {"streams": 1, "cache": "0", "batch_bytes": 3 * PAGE},
    "push by chunks": {"chunk_vertices": 1024, "direction": "push", "batch_bytes": 2 * PAGE},
    "pull, a warp a list": {"direction": "pull", "use_heads": False, "micro": "edge"},
    "two": {"devices": ["cuda:0,2"], "batch_bytes": 2 * PAGE},
}


@pytest.fixture(scope="module", params=["directed 4", *choice.also("undirected 4", "undirected 8")])
def stores(request, tmp_path_factory):
    kind, width = request.param.split()
    source, target = skewed_edges(V, E, 31)
    weight = np.random.default_rng(32).integers(1, 9, E).astype(np.float64)
    folder = tmp_path_factory.mktemp("stores")
    options = {"vertices": V, "directed": kind == "directed", "id_bytes": int(width), "order": "in"}
    made = {columns: make_store(folder, source, target, weight, columns=columns, **options) for columns in (1, 8, 32)}
    assert all(np.count_nonzero(made[c].topology("in").directory["layout"] == c) > 0 for c in (8, 32))
    yield made
    for store in made.values():
        store.close()


@pytest.mark.covering(1)
@needs_gxx
@pytest.mark.usefixtures("standin_gpu")
@pytest.mark.parametrize("options", choice.seeds(2, OPTIONS))
def test_the_device_is_the_host(stores, options):
    for name, (made, limit) in PROGRAMS.items():
        given = {"devices": ["cuda"], **OPTIONS[options]}
        if "chunk_vertices" in given and name == "pagerank":
            given.pop("direction")
        with Engine(stores[1]) as engine:
            wanted = engine.run(made, max_supersteps=limit).value
        for columns in (8, 32):
            with Engine(stores[columns], RunOptions(**given)) as engine:
                for _ in range(2):  # the second run finds pages cached
                    found = engine.run(made, max_supersteps=limit).value
                    if name == "pagerank":
                        np.testing.assert_allclose(found, wanted, rtol=1e-5)
                    else:
                        np.testing.assert_array_equal(found, wanted)


@needs_gxx
@pytest.mark.usefixtures("standin_gpu")
@pytest.mark.parametrize("devices", ["cuda", "cuda:0,2"])
def test_components_by_union_find(stores, devices):
    with gstream.open(stores[1].path) as graph:
        wanted = graph.wcc().to_numpy().tobytes()
    for columns in (8, 32):
        for use_heads in (True, False):
            with gstream.open(stores[columns].path, devices=devices, use_heads=use_heads) as graph:
                assert graph.wcc(certify=True).to_numpy().tobytes() == wanted


def test_sums_of_pieces_of_lists_are_carried():
    """Pages of three lists of 40,000, and of four of 30,000 whose vertices have gaps, which parts share; a hub."""
    large, layout = np.array([False, False, True]), np.zeros(3, np.uint8)
    records, edges = np.array([3, 4, 1], np.uint32), np.array([120_000, 120_000, 20_000], np.uint64)
    groups = micro_groups("hybrid", records, edges, np.full(3, 8, np.uint8), layout, np.array([3, 9, 1], np.uint32))
    parts = make_parts(np.arange(3), large, records, edges, groups, 8)
    order, vertices = carried(parts, np.array([7, 100, 2], np.uint64))
    hubs, counts = np.unique(vertices, return_counts=True)
    shares, stretches = 40_000 // (2 * EDGES_A_PART), -(-20_000 // (2 * EDGES_A_PART))
    assert hubs.tolist() == [2, 7, 8, 9] and counts.tolist() == [stretches, *[shares] * 3]
    assert (np.diff(vertices.astype(np.int64)) >= 0).all()
    assert parts[order, 0].tolist() == [2] * stretches + [0] * (3 * shares)
    assert len(order) <= count_parts(large, records, edges, layout)[1]


def test_parts_are_whole_warps_of_slots():
    """Ten pages of 1,000 records; every other one in columns of 32, the fifth of long lists, the last of a hub."""
    layout = np.array([0, 32, 0, 32, 0, 32, 0, 32, 0, 0], np.uint8)
    records = np.array([1000] * 9 + [1], np.uint32)
    edges = np.array([30_000] * 4 + [2_000_000] + [30_000] * 4 + [9000], np.uint64)
    large, group = np.arange(10) == 9, np.full(10, 8, np.uint8)
    for micro, rows in (("hybrid", 8), ("vertex", 1), ("edge", 32)):
        span = records + np.array([0, 0, 1, 5, 0, 9, 1, 0, 0, 0], np.uint32)
        groups = micro_groups(micro, records, edges, group, layout, span)
        wanted = np.where(layout > 0, COLUMNS + 32, rows)
        wanted[4] = WARP_LANES if micro == "hybrid" else rows
        wanted += np.where((layout == 0) & (micro == "hybrid"), SPLIT, 0)
        wanted += np.where(span == records, DENSE, 0)
        of_pulls = groups & ~np.uint32(PUSH_LANES << PUSH_SHIFT)
        np.testing.assert_array_equal(of_pulls[:9], wanted[:9])  # make_parts knows large pages
        parts = make_parts(np.arange(10), large, records, edges, groups, 8)
        counted = count_parts(large, records, edges, layout)
        order, vertices = carried(parts, np.arange(10, dtype=np.uint64) * 5000)
        slots = math.ceil(1000 / math.ceil(30_000 / EDGES_A_PART))  # a part of a column page has whole warps of them
        stretches = -(-9000 // (2 * EDGES_A_PART))
        assert len(parts) == counted[0] and len(order) == counted[1] == stretches and set(vertices) == {9 * 5000}
        for page in range(9):
            mine = parts[parts[:, 0] == page]
            assert mine[0, 1] == 0 and mine[-1, 2] == 1000 and (mine[1:, 1] == mine[:-1, 2]).all()
            assert (mine[:, 3] == groups[page]).all()
            if layout[page]:
                assert (mine[:, 1] % 32 == 0).all() and len(mine) == math.ceil(1000 / (math.ceil(slots / 32) * 32))
