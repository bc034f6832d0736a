"""Column pages change no answer: every program, direction, device and order gives what rows give."""

from __future__ import annotations

import choice
import numpy as np
import pytest
from engine_graphs import Balance, make_store, skewed_edges

import gstream
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from gstream.programs.sssp import SSSP
from gstream.programs.wcc import WCC
from pagestore.errors import InputError

V, E = 2000, 24000
PROGRAMS = {
    "bfs": (BFS(source=7), None),
    "sssp": (SSSP(source=7), None),
    "wcc": (WCC(), None),
    "pagerank": (PageRank(tolerance=0.0), 5),
    "balance": (Balance(), 3),
}
CONFIGURATIONS = {
    "host": {},
    "push": {"direction": "push"},
    "pull": {"direction": "pull", "use_heads": False},
    "two hosts by chunks": {"chunk_vertices": 192, "devices": ["host:2"]},
    "from disk": {"host_memory": 200_000, "batch_bytes": 8192, "cache": "0"},
    "fake": {"devices": ["fake:2"], "streams": 2, "batch_bytes": 8192},
    "three fakes": {"devices": ["fake:3:3"], "streams": 4, "batch_bytes": 4096},
}


@pytest.fixture(scope="module", params=["directed in 4", *choice.also("undirected degree 4", "undirected degree 8")])
def stores(request, tmp_path_factory):
    """{columns: store}: the same graph in rows alone and with column pages of two widths."""
    kind, order, width = request.param.split()
    source, target = skewed_edges(V, E, seed=1)
    weight = np.random.default_rng(2).integers(1, 100, E).astype(np.float64)
    folder = tmp_path_factory.mktemp("stores")
    options = {"vertices": V, "directed": kind == "directed", "order": order, "id_bytes": int(width)}
    made = {columns: make_store(folder, source, target, weight, columns=columns, **options) for columns in (1, 8, 32)}
    for columns in (8, 32):
        layouts = made[columns].topology("in").directory["layout"]
        assert np.count_nonzero(layouts == columns) > (10 if columns == 8 else 0) and np.count_nonzero(layouts == 0) > 2
    yield made
    for store in made.values():
        store.close()


@pytest.mark.parametrize("configuration", choice.seeds(5, CONFIGURATIONS))
def test_programs(stores, configuration):
    for name, (made, limit) in PROGRAMS.items():
        values = {}
        for columns, store in stores.items():
            with Engine(store, RunOptions(**CONFIGURATIONS[configuration])) as engine:
                values[columns] = engine.run(made, max_supersteps=limit).value
        for columns in (8, 32):
            if name == "pagerank":  # a push adds in any order
                np.testing.assert_allclose(values[columns], values[1], rtol=1e-6)
            else:
                np.testing.assert_array_equal(values[columns], values[1], err_msg=f"{name}, columns {columns}")


@pytest.mark.parametrize("devices", ["host", "host:2", "fake:5"])
def test_algorithms_with_predecessors_and_certificates(stores, devices):
    found = {}
    for columns, store in stores.items():
        with gstream.open(store.path, devices=devices) as graph:
            results = [
                graph.bfs(source=7, certify=True),
                graph.sssp(source=7, certify=True),
                graph.wcc(certify=True, use_heads=False),
                graph.pagerank(certify=True),
            ]
            found[columns] = [result.to_numpy() for result in results]
    for columns in (8, 32):
        for mine, wanted in zip(found[columns][:3], found[1][:3], strict=True):
            assert mine.tobytes() == wanted.tobytes()
        np.testing.assert_allclose(found[columns][3]["pagerank"], found[1][3]["pagerank"], rtol=1e-5)


@pytest.mark.parametrize("columns", [1, 8])
def test_an_edge_with_a_negative_weight_is_named(tmp_path, columns):
    source = np.repeat(np.arange(200), 5)
    target = (source * 7 + np.tile(np.arange(5), 200) * 13) % 200
    weight = np.where((source == 77) & (target == (77 * 7 + 26) % 200), -2.0, 1.0)
    with make_store(tmp_path, source, target, weight, vertices=200, columns=columns) as store:
        assert (store.topology("out").directory["layout"][0] == 8) == (columns == 8)
        with (
            gstream.open(store.path) as graph,
            pytest.raises(InputError, match=f"from 77 to {(77 * 7 + 26) % 200} has weight -2"),
        ):
            graph.sssp(source=0)
