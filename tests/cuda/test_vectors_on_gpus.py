"""Programs whose values are vectors on GPUs, over a stand-in for the driver: what plain NumPy says."""

from __future__ import annotations

import choice
import numpy as np
import pytest
from compilers import needs_gxx
from engine_graphs import make_store, skewed_edges
from vector_programs import MORE, PROGRAMS, Edges, check, expected_of
from written import load

from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]
V, E, PAGE, STEPS = 9000, 12_000, 4096, 3
OPTIONS = {
    "as it is": {},
    "push": {"direction": "push", "batch_bytes": 4 * PAGE},
    "pull, from disk": {"direction": "pull", "host_memory": 5_000_000, "batch_bytes": 2 * PAGE, "cache": "0"},
    "chunks": {"chunk_vertices": 8192, "batch_bytes": 4 * PAGE, "streams": 3},
    "chunks by push": {"chunk_vertices": 8192, "direction": "push", "batch_bytes": 4 * PAGE},
    "two": {"devices": ["cuda:0,2"], "batch_bytes": 2 * PAGE},
    "two, push": {"devices": ["cuda:0,2"], "direction": "push"},
    "two that don't reach each other": {"devices": ["cuda:0,1"], "batch_bytes": 2 * PAGE, "cache": "0"},
    "a warp a list": {"micro": "edge", "direction": "pull"},
    "cores beside": {"devices": ["cuda:0", "host"]},
}


@pytest.fixture(scope="module", params=["rows", *choice.also("columns")])
def graph(request, tmp_path_factory):
    """(store, programs, what NumPy says of them)."""
    source, target = skewed_edges(V, E, 51)
    hub, others = np.full(1500, 3), np.arange(1500) * 5
    source, target = np.concatenate([source, hub, others]), np.concatenate([target, others, hub])
    weight = np.random.default_rng(52).integers(1, 9, len(source))
    edges, folder = Edges(source, target, weight.astype(np.uint8), V), tmp_path_factory.mktemp("vectors")
    programs = {name: load(folder, PROGRAMS, name) for name in ("Counters", "Nearest", "Diffusion", *MORE)}
    expected = {name: expected_of(name, edges, STEPS) for name in programs}
    options = {"columns": 8} if request.param == "columns" else {}
    with make_store(
        folder, source, target, weight.astype(np.float64), vertices=V, page_bytes=PAGE, **options
    ) as store:  # fmt: skip
        assert store.topology("out").pages > store.topology("out").small_pages, "the graph has no hub"
        yield store, programs, expected


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", ["Counters", "Diffusion", *choice.also("Nearest", *MORE)])
@pytest.mark.parametrize("options", OPTIONS)
def test_values_are_those_of_numpy(graph, name, options):
    store, programs, expected = graph
    with Engine(store, RunOptions(**{"devices": ["cuda:0"], **OPTIONS[options]})) as engine:
        check(name, engine.run(programs[name](), STEPS), expected[name])
