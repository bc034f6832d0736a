"""Answers of calls on a GPU, over the stand-in for the driver: predecessors where the pages are, arrays in pinned
memory that is used again."""

from __future__ import annotations

import numpy as np
import pytest
from compilers import needs_gxx
from standin import is_pinned

import gstream
from gstream.algorithms.traversal import predecessors
from pagestore.memory import convert_arrays

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]
V, E = 1500, 9000


@pytest.fixture(scope="module", params=["undirected", "directed"])
def path(request, tmp_path_factory):
    rng = np.random.default_rng(5)
    edges = rng.integers(0, V, (2, E)).astype(np.uint64)
    where = tmp_path_factory.mktemp("stores") / f"{request.param}.gs"
    directed = request.param == "directed"
    convert_arrays(where, *edges, vertices=V, directed=directed, page_bytes=4096, order="degree")
    return where


@pytest.fixture
def kept(monkeypatch):
    """Small arrays are kept, too."""
    monkeypatch.setattr("gstream.paging.kept_memory.LEAST_BYTES", 1)


def test_predecessors_are_found_where_the_pages_are(path, kept, monkeypatch):
    with gstream.open(path) as graph:
        expected = [graph.bfs(source, devices="host") for source in (0, 7, [3, 9])]
        monkeypatch.setattr(predecessors, "_by_hops", None)  # the host's way
        for source, other in zip((0, 7, [3, 9]), expected, strict=True):
            found = graph.bfs(source, devices="cuda")
            assert found.to_numpy().tobytes() == other.to_numpy().tobytes()
            assert found.summary["reached"] == other.summary["reached"]


def test_distances_alone_are_certified(path):
    with gstream.open(path, devices="cuda") as graph:
        for found in (graph.bfs(0, predecessors=False, certify=True), graph.khop(0, radius=2, certify=True)):
            assert found.summary["certificate"]["holds"]


def test_a_gpu_without_room_leaves_them_to_the_host(path, kept):
    with gstream.open(path) as graph:
        other = graph.bfs(0, devices="host")
        found = graph.bfs(0, devices="cuda", device_memory="64KiB", batch_bytes="4KiB")
        assert found.to_numpy().tobytes() == other.to_numpy().tobytes()


def test_answers_lie_in_pinned_memory_that_is_used_again(path, kept):
    with gstream.open(path, devices="cuda") as graph:
        held = [(source, graph.bfs(source, certify=True)) for source in range(3)]
        assert all(is_pinned(column.values) for _, found in held for column in found._columns)
        graph.bfs(5)
        memory = graph.engine().devices[0].gpu.answers
        before = memory.made
        for source in range(5, 20):
            graph.bfs(source)
        assert memory.made == before
        rows = [found.to_numpy() for _, found in held]
        other = graph.bfs(40)
    assert not is_pinned(other._columns[0].values)  # the graph is closed
    with gstream.open(path) as graph:
        for (source, found), row in zip(held, rows, strict=True):
            expected = graph.bfs(source, devices="host").to_numpy()
            assert row.tobytes() == expected.tobytes() == found.to_numpy().tobytes()


def test_under_a_cap_of_memory_nothing_is_kept(path, kept):
    with gstream.open(path, devices="cuda", host_memory="4MiB") as graph:
        found = graph.bfs(0)
        assert graph.engine().devices[0].gpu.answers is None
        assert found.summary["reached"] == graph.bfs(0, devices="host").summary["reached"]
