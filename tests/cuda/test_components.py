"""Components on the stand-in for the driver: labels are made before it is known whether all is linked."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse
from compilers import needs_gxx
from engine_graphs import make_store, skewed_edges
from scipy.sparse.csgraph import connected_components

from gstream.algorithms.session import Session
from gstream.algorithms.wcc import run_wcc
from gstream.devices.gputree import Tree
from gstream.driver import Engine
from gstream.options import RunOptions

V, APART = 1500, 60  # vertices with edges; the last of them form components of their own
ALL = V + 4000
pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]


CASES = [(size, directed, order) for size in (2, 5, 6) for directed in (False, True) for order in ("degree", "natural")]


@pytest.fixture(scope="module", params=CASES, ids=str)
def graph(request, tmp_path_factory):
    """(store, labels, vertices of a clique): one giant, and cliques beside it. Of 5, their heads are full, and no list
    is longer. The last vertices have no edges."""
    (size, directed, order), rng = request.param, np.random.default_rng(4)
    source, target = skewed_edges(V - APART, 8000, 5)
    cliques = np.array(
        [(first + a, first + b) for first in range(V - APART, V, size) for a in range(size) for b in range(a)]
    )
    names = rng.permutation(V)  # of those with edges, so that the giant's least vertex is anywhere
    source, target = (
        names[np.concatenate([ends, more])] for ends, more in zip((source, target), cliques.T, strict=True)
    )
    _, found = connected_components(
        sparse.coo_array((np.ones(len(source)), (source, target)), (ALL, ALL)), directed=False
    )
    least = np.full(ALL, ALL)
    np.minimum.at(least, found, np.arange(ALL))
    folder = tmp_path_factory.mktemp("stores")
    with make_store(folder, source, target, vertices=ALL, directed=directed, order=order) as store:
        yield store, least[found], size


@pytest.fixture
def launched(monkeypatch):
    """Kernels, in order."""
    names, usual = [], Tree.launch

    def launch(tree, name, count, *arguments):
        names.append(name)
        usual(tree, name, count, *arguments)

    monkeypatch.setattr(Tree, "launch", launch)
    return names


@pytest.mark.parametrize("devices", ["cuda", "cuda:0,2"])
@pytest.mark.parametrize("labels", [True, False])
def test_labels_are_the_least_vertices(graph, launched, monkeypatch, devices, labels):
    store, expected, size = graph
    if not labels:  # as where a GPU has no room for them
        monkeypatch.setattr("gstream.devices.gpuforest.GpuForest._fits", classmethod(lambda _, s, labels: not labels))
    with Engine(store, RunOptions(devices=[devices])) as engine, Session(engine) as session:
        (column,), found = run_wcc(session)
        edges = session.stats.edges_visited
        came = engine.devices[0].uploads.find("degree") is not None
    of_natural = np.empty(ALL, np.int64)
    of_natural[store.natural_of(np.arange(ALL))] = column.values
    assert np.array_equal(of_natural, expected)
    assert found["components"] == len(np.unique(expected))
    assert ("link_seconds_kernel" in launched) == (labels and devices == "cuda")
    assert came or size == 2 and devices == "cuda"  # degrees, which are of no use where no head is full
    tries = launched.count("relabel_kernel")
    assert tries == labels if size == 2 else labels <= tries <= 2 * labels
    with Engine(store) as engine, Session(engine) as session:
        run_wcc(session)
        if len(devices.split(",")) == 1:  # several look at lists that one knows to be in the giant
            assert edges <= session.stats.edges_visited + V
