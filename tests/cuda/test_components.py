"""Components on the stand-in for the driver: labels that are made before it is known whether all is linked, what
moves, and what a trace shows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse
from compilers import needs_gxx
from engine_graphs import make_store, skewed_edges
from scipy.sparse.csgraph import connected_components

from gstream.algorithms.components.forest import HostForest
from gstream.algorithms.components.gpu_forest import HEADS_PART
from gstream.algorithms.components.wcc import _united, run_wcc
from gstream.algorithms.support.session import Session
from gstream.devices.gpu.forest_tree import Tree
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.records.held import on_host
from gstream.telemetry.trace import ChromeTrace

V, APART = 1500, 60  # vertices with edges; the last of them form components of their own
ALL = V + 4000
LOOKS = 3  # at the first topology's heads: the first column, the second, the others; at the other one's all at once
BACK = "copy: the forest, on its way back"
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


@pytest.mark.covering(1)
@pytest.mark.parametrize("devices", ["cuda", "cuda:0,2"])
@pytest.mark.parametrize("labels", [True, False])
def test_labels_are_the_least_vertices(graph, launched, monkeypatch, devices, labels):
    store, expected, size = graph
    if not labels:  # as where a GPU has no room for them
        monkeypatch.setattr(
            "gstream.algorithms.components.gpu_forest.GpuForest._fits", classmethod(lambda _, s, labels: not labels)
        )
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
    monkeypatch.setattr(HostForest, "heads_pay", lambda forest: True)
    with Engine(store) as engine, Session(engine) as session:
        run_wcc(session)
        if len(devices.split(",")) == 1:  # several look at lists that one knows to be in the giant
            assert edges <= session.stats.edges_visited + V


@pytest.mark.covering(1)
@pytest.mark.parametrize("devices", ["cuda", "cuda:0,2"])
def test_trees_of_an_earlier_answer_are_linked_also_where_heads_lie_on_gpus(graph, devices):
    """The giant is there, and edges of cliques were added since: their heads need not be full."""
    store, expected, _ = graph
    of_store = expected[store.natural_of(np.arange(ALL))]
    members = np.flatnonzero(of_store == np.bincount(of_store).argmax())
    with Engine(store, RunOptions(devices=[devices])) as engine:
        with Session(engine) as session:
            run_wcc(session)
        with Session(engine) as session:
            former = np.arange(ALL, dtype=session.id_dtype)
            former[members] = members[0]
            labels, found = _united(session, former=former)
            assert np.array_equal(on_host(labels), of_store)
    assert found["components"] == len(np.unique(expected))


def moving(session):
    """Bytes of the heads by their names on GPUs, and of what else may come of the store's arrays."""
    store, names = session.store, session.meta.topologies
    heads = {f"heads/{store.topology(name).name}": store.topology(name).heads().nbytes for name in names}
    others = {"degree": store.out_degree(), "natural_ids": session.natural_ids()}
    others |= {"in_degree": store.in_degree()} if session.meta.directed else {}
    return heads, {name: array.nbytes for name, array in others.items()}


@pytest.mark.covering(1)
@pytest.mark.parametrize("devices", ["cuda", "cuda:0,2", "cuda:0,1,3"])
def test_heads_count_as_moved_once(graph, devices):
    """To all GPUs together; degrees, where they come, and names in degree order are for the first GPU alone."""
    store, _, size = graph
    with Engine(store, RunOptions(devices=[devices])) as engine:

        def moved():
            with Session(engine) as session:
                return run_wcc(session)[1]["stats"]["attribute_bytes_moved"]

        with Session(engine) as session:
            heads, others = moving(session)
        first, found = engine.devices[0].uploads, moved()
        came = {name for name in others if first.find(name) is not None}
        assert ("natural_ids" in came) == (store.meta.order == "degree")
        assert came - {"natural_ids"} or size == 2 and devices == "cuda"
        assert found == sum(heads.values()) + sum(others[name] for name in came)
        assert moved() == 0  # all is there
        for device in engine.devices:
            device.release()
        assert moved() == found


def test_heads_that_come_by_pieces_move_for_each_look(graph):
    store, room = graph[0], 250_000
    with Engine(store, RunOptions(devices=["cuda"], device_memory=room, batch_bytes=4096)) as engine:
        with Session(engine) as session:
            heads, others = moving(session)
            moved = run_wcc(session)[1]["stats"]["attribute_bytes_moved"]
        came = sum(nbytes for name, nbytes in others.items() if engine.devices[0].uploads.find(name) is not None)
    first, *others_once = heads.values()
    looks = LOOKS if first * HEADS_PART > room else 1
    assert (looks == LOOKS) == (store.meta.order == "natural")  # in degree order vertices without edges have none
    assert moved == came + looks * first + sum(others_once)


@pytest.mark.parametrize("devices", ["cuda", "cuda:0,2"])
def test_a_trace_has_every_phase(graph, launched, devices):
    """Every kernel that is launched, every copy of what is the store's, pages where they come, and merges."""
    (store, _, size), trace = graph, ChromeTrace()
    with Engine(store, RunOptions(devices=[devices], trace=trace)) as engine:
        with Session(engine) as session:
            pages = run_wcc(session)[1]["stats"]["pages_moved"]
        spans = list(trace._spans)  # all of them: none waits for the engine's end
        kept = {device.name: [f"copy: {name}" for name in device.uploads._kept] for device in engine.devices}
    first, *others = kept
    assert all(begin <= end for *_, begin, end in spans)
    assert sorted(name for _, track, name, *_ in spans if track == "vertices") == sorted(launched)
    assert bool(pages) == (size == 6)
    for gpu in kept:
        copies = [name for process, track, name, *_ in spans if (process, track) == (gpu, "copies")]
        tracks = {(track, name) for process, track, name, *_ in spans if process == gpu}
        phases = ["plant", "link_heads", "compress", "giant"]
        phases += ["mark_outside", "least_natural", "relabel"] if gpu == first else []
        assert {("vertices", f"{phase}_kernel") for phase in phases} <= tracks
        assert sorted(name for name in copies if " pages of " not in name and name != BACK) == sorted(kept[gpu])
        assert any(name.startswith("copy: heads/") for name in copies) and BACK not in copies
        assert any(" pages of " in name for name in copies) == bool(pages)
        assert any(track == "stream 0" and name.startswith("kernel: ") for track, name in tracks) == bool(pages)
    for gpu in others:
        assert (first, "merges", f"join the forest of {gpu}") in {span[:3] for span in spans}
        assert (gpu, "merges", f"take the forest of {first}") in {span[:3] for span in spans}
