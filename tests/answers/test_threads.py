"""One graph in several threads, in forked children, pickled and copied; what a closed graph has left open."""

from __future__ import annotations

import copy
import importlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import gstream
from gstream.engine import turns
from gstream.engine.make_devices import make_devices
from gstream.hostcode.generate import load_text
from gstream.options.run_options import TEST_DEVICES, DeviceSpec, RunOptions
from pagestore.errors import GstreamError, StoreError, UsageError
from tests.answers.graphs import Example

RING = np.arange(200)
GRAPH = Example(200, RING, (RING * 7 + 1) % 200, RING % 5 + 1.0, directed=False, kind="names", order="degree")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return GRAPH.stored(tmp_path_factory.mktemp("threads"))


def descriptors(path) -> int:
    links = (f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd"))
    return sum(os.readlink(link) == str(path) for link in links if os.path.lexists(link))


def test_threads_take_turns_with_one_graph(path):
    sources = [GRAPH.user_id(vertex) for vertex in range(6)]
    with gstream.open(path) as graph, ThreadPoolExecutor(4) as pool:
        right = {source: graph.bfs(source=source).to_numpy()["distance"] for source in sources}
        for source, found in pool.map(lambda one: (one, graph.bfs(source=one)), sources * 8):
            assert np.array_equal(found.to_numpy()["distance"], right[source])


def test_calls_from_callbacks_are_refused(path, monkeypatch):
    """Of the same thread at once; of another one, which the callback waits for, after a while."""
    monkeypatch.setattr(turns, "CALLBACK_SECONDS", 0.1)
    with gstream.open(path) as graph, ThreadPoolExecutor(1) as pool:
        told = []

        def progress(superstep, step):
            for call in (graph.wcc, graph.close, lambda: pool.submit(graph.wcc).result(30)):
                with pytest.raises(UsageError) as error:
                    call()
                told.append(str(error.value))

        graph.pagerank(iterations=1, progress=progress)
        assert ["within another call" in told[0], "within another call" in told[1]] == [True, True]
        assert "has been in a callback" in told[2]
        assert len(graph.wcc()) == 200  # it still works


def test_a_module_is_seen_whole_by_other_threads():
    text = "import time\ntime.sleep(0.05)\nWHOLE = 1\n"
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: load_text("gstream_slow", text).WHOLE, range(4))) == [1] * 4


def test_a_forked_child_uses_the_graph(path):
    """Whatever other threads were at: it does not wait for them, and its end leaves the parent's graph alone."""
    parent, began, goes_on = os.getpid(), threading.Event(), threading.Event()

    def progress(superstep, step):
        began.set()
        assert os.getpid() != parent or goes_on.wait(600)

    with gstream.open(path, threads=2, progress=progress) as graph, ThreadPoolExecutor(1) as pool:
        other = pool.submit(graph.pagerank, iterations=1)
        assert began.wait(600)
        child = os.fork()
        if child == 0:
            signal.alarm(600)
            found = graph.pagerank(iterations=1).to_numpy(), graph.wcc().to_numpy()
            os._exit(0 if [len(one) for one in found] == [200, 200] else 1)
        goes_on.set()
        right = other.result().to_numpy()
        assert os.waitpid(child, 0)[1] == 0
        assert np.array_equal(graph.pagerank(iterations=1).to_numpy(), right)


def test_a_module_that_another_thread_imports_is_imported_anew_by_a_child(tmp_path, monkeypatch):
    (tmp_path / "imported_slowly.py").write_text("import os, sys, time\ntime.sleep(0.5 * sys.slow)\nWHOLE = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "slow", True, raising=False)
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(importlib.import_module, "imported_slowly")
        while "imported_slowly" not in sys.modules:
            time.sleep(0.01)
        child = os.fork()
        if child == 0:
            signal.alarm(600)
            sys.slow = False
            os._exit(0 if importlib.import_module("imported_slowly").WHOLE else 1)
        assert os.waitpid(child, 0)[1] == 0 and other.result().WHOLE
    del sys.modules["imported_slowly"]


def test_a_run_does_not_go_on_in_a_child_of_its_callback(path):
    def progress(superstep, step):
        if os.fork() > 0:
            assert os.wait()[1] == 0

    parent = os.getpid()
    with gstream.open(path) as graph:
        try:
            graph.pagerank(iterations=1, progress=progress)
            assert os.getpid() == parent
        except GstreamError as error:
            os._exit(0 if "forked this process" in str(error) else 1)
        finally:
            if os.getpid() != parent:
                os._exit(2)


def test_results_are_copied_pickled_and_read_when_their_store_is_gone(tmp_path):
    path = GRAPH.stored(tmp_path)
    with gstream.open(path) as graph:
        made = [graph.bfs(source=GRAPH.user_id(0)), graph.msf(), graph.degrees(), graph.ktruss()]
        edges = graph.subgraph([GRAPH.user_id(vertex) for vertex in range(20)])
        right, rows = [one.to_numpy() for one in made], edges.to_numpy()
    assert np.array_equal(pickle.loads(pickle.dumps(edges)).to_numpy(), rows)
    again = [pickle.loads(pickle.dumps(one)) for one in made]
    path.rename(tmp_path / "elsewhere.gs")
    for copies in (made, again, copy.deepcopy(made), [copy.copy(one) for one in made]):
        assert all(np.array_equal(one.to_numpy(), array) for one, array in zip(copies, right, strict=True))
    with pytest.raises(StoreError, match="can't be opened again"):
        edges.to_numpy()
    Example(3, np.array([0, 1]), np.array([1, 2])).stored(tmp_path).rename(path)
    with pytest.raises(StoreError, match="another store is there"):
        edges.to_numpy()


def test_graphs_are_pickled_by_their_place(path):
    graph = gstream.open(path, threads=1, progress=lambda superstep, step: None)
    with pickle.loads(pickle.dumps(graph)) as other, copy.deepcopy(graph) as third:
        assert np.array_equal(other.wcc().to_numpy(), third.wcc().to_numpy())
    graph.close()
    with pytest.raises(UsageError, match="was closed"):
        pickle.dumps(graph)


def test_closed_and_dropped_graphs_hold_nothing(path):
    threads = threading.active_count()
    graphs = [gstream.open(path) for _ in range(20)]
    kept = [graph.degrees() for graph in graphs]
    for graph in graphs[:10]:
        graph.close()
        graph.close()
    del graphs, graph
    assert descriptors(path) == 0 and threading.active_count() == threads
    assert all(len(one.to_numpy()) for one in kept)


def test_devices_that_were_made_are_closed_where_one_is_missing(monkeypatch):
    monkeypatch.setenv(TEST_DEVICES, "no.such.module:make")
    threads = threading.active_count()
    specs = [DeviceSpec("host", 0), DeviceSpec("host", 1), DeviceSpec("fake", 0)]
    with pytest.raises(ModuleNotFoundError):
        make_devices(specs, RunOptions(threads=4))
    assert threading.active_count() == threads


def worked(graph, source, result):
    return graph.bfs(source=source).to_numpy()["distance"], result.to_numpy()["distance"]


def test_a_process_of_another_kind_takes_a_graph_and_a_result(path):
    """Started afresh, it imports gstream and opens the store again."""
    source = GRAPH.user_id(3)
    with gstream.open(path) as graph, ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        result = graph.bfs(source=source)
        for distances in pool.submit(worked, graph, source, result).result(600):
            assert np.array_equal(distances, result.to_numpy()["distance"])


def test_close_waits_for_a_run_of_another_thread(path):
    graph, began = gstream.open(path), threading.Event()

    def progress(superstep, step):
        began.set()
        time.sleep(0.05)

    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(graph.pagerank, iterations=2, progress=progress)
        assert began.wait(600)
        graph.close()
        assert len(run.result()) == 200
