"""Supersteps of SUM on a GPU that gather again at notified vertices alone have the bits of sweeps (notify.cu)."""

from __future__ import annotations

import choice
import numpy as np
import pytest
from compilers import needs_gxx
from engine_graphs import make_store, skewed_edges
from written import program

from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.programs.heat import Heat
from gstream.programs.pagerank import PageRank, PersonalizedPageRank

pytestmark = [pytest.mark.usefixtures("standin_gpu"), needs_gxx]
SIDE, WEB = 100, 1000
VERTICES = WEB + SIDE * SIDE  # two blocks of totals
WAYS = {
    "cached": {},
    "streamed": {"cache": "0", "batch_bytes": 16384, "streams": 3},
    "from disk": {"host_memory": 850_000, "cache": "0", "batch_bytes": 8192, "streams": 2},
}  # fmt: skip
STORES = {
    "degree": {"order": "degree"},
    "columns": {"order": "degree", "columns": 8},
    "undirected": {"directed": False},
}
COUNTED = """
def apply(self, v, got, g): return got + v.value / 2 + (1 if g.superstep == 5 else 0)
@total
def grown(self, v): return v.value - v.before
"""
DAMPED = """
def apply(self, v, got, g): return v.value / 2 + got / 4
def activate(self, v): return abs(v.value - v.before) > 1e-6 * abs(v.before)
"""


@pytest.fixture(autouse=True)
def sweeps_are_long(monkeypatch):
    monkeypatch.setattr("gstream.engine.notify_pull.LEAST_SECONDS", 0.0)


def one(vertex=WEB + SIDE * SIDE // 2 + 50):
    values = np.zeros(VERTICES)
    values[vertex] = 1
    return values


def written(send, rest):
    return lambda folder: program(folder, "SUM", "f64", f"1 if v.id == {WEB + 3000} else 0", send, rest)()


MADE = {
    "walk": lambda folder: PersonalizedPageRank(preference=one()),
    "walk into the web": lambda folder: PersonalizedPageRank(preference=one(WEB + 5)),
    "heat": lambda folder: Heat(initial=one(), inflow=np.full(VERTICES, 1.0), rate=0.1),
    "ranks": lambda folder: PageRank(tolerance=1e-4),
    "own value and superstep": written("u.value / (1 + u.degree)", COUNTED),
    "activate": written("u.value * e.weight / 100", DAMPED),
}


@pytest.fixture(scope="module", params=choice.seeds(1, STORES))
def store(request, tmp_path_factory):
    """A grid of streets both ways, from which a road leads to a web whose hubs have large pages."""
    source, target = skewed_edges(WEB, 12_000, 5)
    cell = WEB + np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    ends = [(cell[:, :-1].ravel(), cell[:, 1:].ravel()), (cell[:-1].ravel(), cell[1:].ravel())]
    source = np.concatenate([source, *(a for a, _ in ends), *(b for _, b in ends), [WEB + 6]])
    target = np.concatenate([target, *(b for _, b in ends), *(a for a, _ in ends), [0]])
    weight = np.random.default_rng(6).integers(1, 100, len(source)).astype(np.float64)
    folder = tmp_path_factory.mktemp("stores")
    with make_store(folder, source, target, weight, vertices=VERTICES, **STORES[request.param]) as made:
        yield made


def run(store, made, limit, **options):
    with Engine(store, RunOptions(devices=["cuda"], **options)) as engine:
        return engine.run(made, max_supersteps=limit)


@pytest.mark.long
@pytest.mark.covering(1)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("limit", [12, 2])
@pytest.mark.parametrize("kind", MADE)
def test_same_bits(store, tmp_path, kind, limit, way):
    made = MADE[kind](tmp_path)
    mine, theirs = run(store, made, limit, **WAYS[way]), run(store, made, limit, direction="pull", **WAYS[way])
    assert mine.value.tobytes() == theirs.value.tobytes() and repr(mine.totals) == repr(theirs.totals)
    assert [s.frontier for s in mine.stats.per_superstep] == [s.frontier for s in theirs.stats.per_superstep]


@pytest.mark.covering(1)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["walk", "heat", "activate"])
def test_few_edges(store, tmp_path, kind, way):
    made = MADE[kind](tmp_path)
    mine, theirs = run(store, made, 6, **WAYS[way]), run(store, made, 6, direction="pull", **WAYS[way])
    assert {step.direction for step in mine.stats.per_superstep} == {"notify-pull"}
    assert 20 * mine.stats.edges_visited < theirs.stats.edges_visited
    assert way == "cached" or 3 * mine.stats.bytes_moved < theirs.stats.bytes_moved


def test_the_cores_agree(store, tmp_path):
    """GPUs add up in another order."""
    made = MADE["heat"](tmp_path)
    with Engine(store, RunOptions(devices=["host"])) as engine:
        assert np.allclose(run(store, made, 12).value, engine.run(made, max_supersteps=12).value, rtol=1e-12, atol=0)


def test_it_is_left_out_where_sweeps_are_short(store, tmp_path, monkeypatch):
    monkeypatch.setattr("gstream.engine.notify_pull.LEAST_SECONDS", 60.0)
    steps = run(store, MADE["heat"](tmp_path), 3).stats.per_superstep
    assert [(step.direction, step.edges_visited) for step in steps] == [("pull", store.meta.edges)] * 3
