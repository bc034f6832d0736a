"""Supersteps of SUM that one thread makes without the driver are those that the driver would have made, bit by bit."""

from __future__ import annotations

import choice
import numpy as np
import pytest
from engine_graphs import skewed_edges
from written import program

from gstream.engine import small_frontier as small
from gstream.engine.engine import Engine
from gstream.hostcode.transposed import transpose, transposed_bytes
from gstream.options.run_options import RunOptions
from gstream.options.stopping import Asked
from gstream.programs.pagerank import PageRank, PersonalizedPageRank, PersonalizedPageRank64
from pagestore.memory import convert_arrays
from pagestore.store import open_store

VERTICES = 20_000  # more than a block of totals
KINDS = {
    "directed": {"order": "degree"}, "undirected": {"order": "natural", "directed": False},
    "columns": {"order": "degree", "columns": 8}, "in alone": {"order": "natural", "topology": "in"},
}  # fmt: skip
COUNTED = """
def apply(self, v, got, g): return got + v.value / 2 + (1 if g.superstep == 40 else 0)
@total
def largest(self, v): return v.value - v.before
"""


def at(*vertices):
    values = np.zeros(VERTICES)
    values[list(vertices)] = 1 / len(vertices)
    return values


MADE = {
    "walk": lambda folder: PersonalizedPageRank(preference=at(3000)),
    "walk in doubles": lambda folder: PersonalizedPageRank64(preference=at(3000), tolerance=1e-12),
    "walk from a dead end": lambda folder: PersonalizedPageRank(preference=at(0, VERTICES - 1)),
    "ranks": lambda folder: PageRank(),
    "weights": lambda folder: program(folder, "SUM", "f64", "1 if v.id == 3000 else 0", "u.value * e.weight / 256"),
    "numbers": lambda folder: program(folder, "SUM", "i64", "7 if v.id == 3000 else 0", "u.value - 3 * u.value"),
    "own value and superstep": lambda folder: program(
        folder, "SUM", "f64", "1 if v.id == 3000 else 0", "u.value / (1 + u.degree)", COUNTED
    ),
    "sent by superstep": lambda folder: program(
        folder, "SUM", "f64", "1 if v.id == 3000 else 0", "u.value / (1 + g.superstep)"
    ),
}


@pytest.fixture(scope="module", params=["columns", *choice.also("directed", "in alone", "undirected")])
def store(request, tmp_path_factory):
    """Long paths from 3000 on and elsewhere, and beside them a web whose hub has large pages and which no path enters;
    a path goes on from it."""
    source, target = skewed_edges(3000, 30_000, 5)
    path = np.arange(3000, VERTICES - 1)
    source = np.concatenate([source, path, path[::7], [7]])
    target = np.concatenate([target, path + 1, path[::7] + 1, [12_000]])
    keep = target != 3000
    at = tmp_path_factory.mktemp("settled") / "graph.gs"
    weight = np.random.default_rng(6).integers(1, 100, len(source)).astype(np.float64)
    convert_arrays(at, source[keep], target[keep], weight=weight[keep], vertices=VERTICES, page_bytes=4096,
                   **KINDS[request.param])  # fmt: skip
    with open_store(at) as store:
        yield store


@pytest.fixture(params=["small", "few change"])
def way(request, monkeypatch, most_edges):
    """Whether one thread makes all supersteps, or those of few changes."""
    monkeypatch.setattr(small, "MOST_EDGES", 1 << 30 if request.param == "small" else 0)
    return request.param


def by_the_driver(engine, made, **given):
    with pytest.MonkeyPatch.context() as patch:
        for path in ("settled_sums.SettledSums", "notify_pull.NotifyPull"):
            patch.setattr(f"gstream.engine.{path}.applies", lambda run: False)
        return engine.run(made, **given)


def same(found, expected):
    return (
        found.value.tobytes() == expected.value.tobytes()
        and (found.supersteps, found.converged) == (expected.supersteps, expected.converged)
        and found.totals == expected.totals
        and [step.frontier for step in found.stats.per_superstep]
        == [step.frontier for step in expected.stats.per_superstep]
    )


@pytest.mark.covering(1)
@pytest.mark.parametrize("devices", ["host", "host:2"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("limit", [60, 9, 1])
@pytest.mark.parametrize(
    "kind",
    ["walk", "walk from a dead end", "ranks", "weights",
     *choice.also("own value and superstep", "walk in doubles", "numbers", "sent by superstep")],
)  # fmt: skip
def test_they_are_the_drivers(store, way, tmp_path, kind, limit, threads, devices):
    made = MADE[kind](tmp_path)
    made = made() if isinstance(made, type) else made
    with Engine(store, RunOptions(threads=threads, devices=devices)) as engine:
        expected = by_the_driver(engine, made, max_supersteps=limit)
        found = engine.run(made, max_supersteps=limit)
    assert same(found, expected)
    assert sum(step.edges_visited for step in found.stats.per_superstep) == found.stats.edges_visited
    assert sum(step.pages for step in found.stats.per_superstep) == found.stats.pages_moved


def walk_program():
    return PersonalizedPageRank(preference=at(3000), tolerance=1e-9)


def walk(engine, **given):
    return engine.run(walk_program(), **given)


def test_few_changes_look_at_few_edges(tmp_path, monkeypatch):
    """A walk along a path looks at what changes: two vertices of it at a time."""
    monkeypatch.setattr(small, "MOST_EDGES", 0)
    path = np.arange(VERTICES - 1)
    convert_arrays(tmp_path / "path.gs", path, path + 1)
    with open_store(tmp_path / "path.gs") as store, Engine(store) as engine:
        found = engine.run(PersonalizedPageRank(preference=at(0), tolerance=1e-9), max_supersteps=100)
        steps = found.stats.per_superstep
        assert found.supersteps == len(steps) == 100
        assert all(step.edges_visited <= 4 and step.pages <= 4 for step in steps)


def test_the_driver_goes_on_where_much_changes(store, monkeypatch):
    """The walk enters the web, and comes out of it: the thread gives up, and takes twice as long to try again."""
    monkeypatch.setattr(small, "MOST_EDGES", 0)
    with Engine(store, RunOptions(threads=2)) as engine:
        monkeypatch.setattr("gstream.engine.settled_sums.TELL", 1 << 30)  # it may tell of nobody
        found, expected = walk(engine, max_supersteps=60), by_the_driver(engine, walk_program(), max_supersteps=60)
    assert same(found, expected)


def test_it_is_told_of_each_and_watched(store, way):
    seen, values = [], []
    progress = RunOptions(progress=lambda number, step: seen.append((number, step.frontier)))
    with Engine(store, progress) as engine:
        found = engine.run(walk_program(), 50, watch=lambda number, value, _: values.append((number, value.copy())))
        expected = by_the_driver(engine, walk_program(), max_supersteps=50, watch=lambda *given: None)
        watched = []
        by_the_driver(
            engine, walk_program(), max_supersteps=50, watch=lambda *given: watched.append((given[0], given[1].copy()))
        )
    assert same(found, expected) and [number for number, _ in seen[:50]] == list(range(1, 51))
    assert [number for number, _ in values] == list(range(51))
    assert all(mine.tobytes() == theirs.tobytes() for (_, mine), (_, theirs) in zip(values, watched, strict=True))


def test_exactly_so_many(store, way):
    """A run of a fixed number of supersteps goes on when nothing changes any more."""
    made = PersonalizedPageRank(preference=at(3000), tolerance=0.0, damping=0.01)
    with Engine(store) as engine:
        found = engine.run(made, 40, asked=Asked("pagerank", exactly=True))
        expected = by_the_driver(engine, made, max_supersteps=40, asked=Asked("pagerank", exactly=True))
    assert same(found, expected) and found.supersteps == 40 and found.stats.per_superstep[-1].frontier == 0


def test_out_lists_need_room(store, monkeypatch):
    """Where neither the store nor host memory has them, all lists are summed in every superstep."""
    monkeypatch.setattr(small, "MOST_EDGES", 0)
    monkeypatch.setattr("gstream.engine.whole_lists.turned_bytes", lambda *given: 1 << 60)
    with Engine(store) as engine:
        found = walk(engine, max_supersteps=40)
    least = min(step.edges_visited for step in found.stats.per_superstep)
    assert (least == max(step.edges_visited for step in found.stats.per_superstep)) == (
        "out" not in engine.graph.tables
    )


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wide", [False, True])
def test_transposed(tmp_path, kind, wide):
    """Slots and lists ascend, of wide IDs, too, and hubs of large pages come between others."""
    source, target = skewed_edges(700, 9000, 3)
    weight = np.random.default_rng(6).integers(1, 100, len(source)).astype(np.float64)
    convert_arrays(tmp_path / "graph.gs", source, target, weight, vertices=700, page_bytes=4096, **KINDS[kind],
                   **({"id_bytes": 8} if wide else {}))  # fmt: skip
    with open_store(tmp_path / "graph.gs") as store, Engine(store) as engine:
        weighing = program(tmp_path, "SUM", "f64", "1", "e.weight")()
        engine.run(weighing, 1)
        table = engine.graph.tables["in"]
        there = engine.sources.in_memory(table, True)
        words, weights = there.words, there.weights
        made = transpose(words, weights, table.small_pages, table.first_vertex, 700)
        lists: dict[int, list[tuple[int, int]]] = {}
        for row in range(table.pages):
            records = int(words[row, :8].view(np.uint32)[1])
            for slot in range(records):
                v, head = (int(word) for word in words[row, len(words[row]) - 2 * slot - 2 :][:2])
                stride = max(1, int(words[row, :1].view(np.uint16)[1]))
                for word in range(head + stride, head + stride * (int(words[row, head]) + 1), stride):
                    lists.setdefault(int(words[row, word]), []).append((v, int(weights[row, word])))
        taken = transposed_bytes(700, sum(map(len, lists.values())), words.itemsize, weights.itemsize)
        assert made.words.nbytes + made.weights.nbytes <= taken
    page, found = made.words[0], {}
    slots = int(page[:8].view(np.uint32)[1])
    for slot in range(slots):
        u, head = (int(word) for word in page[len(page) - 2 * slot - 2 :][:2])
        inside = slice(head + 1, head + 1 + int(page[head]))
        found[u] = list(zip(page[inside].tolist(), made.weights[0][inside].tolist(), strict=True))
    assert list(found) == sorted(lists)
    for u, listed in lists.items():
        assert [v for v, _ in found[u]] == sorted(v for v, _ in listed) and sorted(found[u]) == sorted(listed)
    assert (int(made.first_vertex[0]), int(made.last_vertex[0])) == (min(lists), max(lists))
