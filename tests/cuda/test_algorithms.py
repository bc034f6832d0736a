"""Every algorithm that is a program over the stand-in for the driver: the host's answers, resident and streamed."""

from __future__ import annotations

import numpy as np
import pytest
from compilers import needs_gxx
from engine_graphs import make_store, skewed_edges

import gstream
from gstream.algorithms.entries import ENTRIES

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]
V, E, PAGE = 1500, 9000, 4096
OWN = {
    "rwr": {"source": [3, 5], "max_iter": 4, "float64": True},
    "katz": {"alpha": 0.01, "max_iter": 4},
    "eigenvector": {"max_iter": 4},
    "hits": {"max_iter": 2},
    "khop": {"source": 3, "radius": 2},
    "widest": {"source": 3},
    "closeness": {"k": 70},
    "harmonic": {"k": 3},
    "radius": {"sketches": 2},
    "heat": {"initial": {3: 1.0, 8: -2.0}, "iterations": 3},
    "circuit": {"initial": {3: 1.0, 8: -2.0}, "iterations": 3},
    "neural": {"initial": {3: 1.0, 8: -2.0}, "iterations": 3},
}
OPTIONS = {
    "as it is": {"devices": "cuda"},
    "streamed": {"devices": "cuda", "cache": "0", "batch_bytes": 2 * PAGE, "streams": 2},
    "two": {"devices": "cuda:0,2", "batch_bytes": 2 * PAGE},
    "by push": {"devices": "cuda", "direction": "push"},
}


@pytest.fixture(scope="module", params=["directed", "undirected", "acyclic"])
def path(request, tmp_path_factory):
    source, target = skewed_edges(V, E, 51)
    if request.param == "acyclic":
        keep = source != target
        source, target = np.minimum(source, target)[keep], np.maximum(source, target)[keep]
    weight = np.random.default_rng(52).integers(1, 9, len(source)).astype(np.float64)
    directed = request.param != "undirected"
    with make_store(
        tmp_path_factory.mktemp("stores"), source, target, weight, vertices=V, directed=directed, page_bytes=PAGE,
        id_bytes=4 if directed else 8,
    ) as store:  # fmt: skip
        return store.path, request.param


@pytest.mark.parametrize("options", OPTIONS)
def test_the_device_is_the_host(path, options):
    path, kind = path
    names = [entry["name"] for entry in ENTRIES]
    skipped = {"directed": {"hcc", "levels"}, "undirected": {"levels"}, "acyclic": set(names) - {"levels", "hits"}}
    with gstream.open(path) as graph:
        for name in names:
            if name in skipped[kind]:
                continue
            own = OWN.get(name, {})
            expected = graph.execute(name, own)
            found = graph.execute(name, own, **OPTIONS[options])
            if name not in ("hcc", "widest"):  # in place: values may come further in a superstep
                assert found.summary["supersteps"] == expected.summary["supersteps"], name
            for column in expected.columns:
                mine, theirs = found.to_numpy()[column], expected.to_numpy()[column]
                np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-15, err_msg=name)
