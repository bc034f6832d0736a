"""Supersteps of SUM that gather again at notified vertices alone have the bits of sweeps, and look at few edges."""

from __future__ import annotations

import choice
import numpy as np
import pytest
from engine_graphs import make_store, skewed_edges
from written import program

from gstream.engine import small_frontier as small
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.programs.heat import Heat
from gstream.programs.pagerank import PageRank, PersonalizedPageRank

SIDE = 160  # of a grid, as roads are
WEB, VERTICES = 2000, 2000 + SIDE * SIDE  # more than three blocks of totals
WAYS = {  # read_threads: what was measured of the disk would change how many pages find room
    "host": {},
    "two hosts": {"devices": ["host:2"]},
    "three hosts, one thread": {"devices": ["host:3"], "threads": 1},
    "from disk": {"host_memory": 1_700_000, "batch_bytes": 8192, "read_threads": 3},
    "two hosts from disk": {"host_memory": 2_600_000, "batch_bytes": 8192, "read_threads": 3, "devices": ["host:2"]},
}  # fmt: skip
STORES = {
    "directed": {"order": "degree"}, "undirected": {"order": "natural", "directed": False},
    "columns": {"order": "degree", "columns": 8},
}  # fmt: skip
COUNTED = """
def apply(self, v, got, g): return got + v.value / 2 + (1 if g.superstep == 5 else 0)
@total
def grown(self, v): return v.value - v.before
"""
DAMPED = """
def apply(self, v, got, g): return v.value / 2 + got / 4
def activate(self, v): return abs(v.value - v.before) > 1e-6 * abs(v.before)
"""


def one(vertex=WEB + SIDE * SIDE // 2 + 80):
    values = np.zeros(VERTICES)
    values[vertex] = 1
    return values


def heat(folder):
    return Heat(initial=one(), inflow=np.full(VERTICES, 1.0), rate=0.1)


def written(send, rest):
    return lambda folder: program(folder, "SUM", "f64", f"1 if v.id == {WEB + 9000} else 0", send, rest)()


MADE = {
    "walk": lambda folder: PersonalizedPageRank(preference=one()),
    "walk into the web": lambda folder: PersonalizedPageRank(preference=one(WEB + 5)),
    "heat": heat,
    "ranks": lambda folder: PageRank(tolerance=1e-4),
    "own value and superstep": written("u.value / (1 + u.degree)", COUNTED),
    "activate": written("u.value * e.weight / 100", DAMPED),
    "not from 0": written("u.value + 1", "def apply(self, v, got, g): return min(got, 3)"),
}
OTHERS = ("walk into the web", "own value and superstep", "not from 0")


@pytest.fixture(scope="module", params=["columns", *choice.also("directed", "undirected")])
def store(request, tmp_path_factory):
    """A grid of streets both ways, from which a road leads to a web whose hubs have large pages."""
    source, target = skewed_edges(WEB, 30_000, 5)
    cell = WEB + np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    ends = [(cell[:, :-1], cell[:, 1:]), (cell[:-1], cell[1:])]
    ends = [(a.ravel(), b.ravel()) for a, b in ends] + [(b.ravel(), a.ravel()) for a, b in ends]
    source = np.concatenate([source, *(a for a, _ in ends), [WEB + 6]])
    target = np.concatenate([target, *(b for _, b in ends), [0]])
    weight = np.random.default_rng(6).integers(1, 100, len(source)).astype(np.float64)
    folder = tmp_path_factory.mktemp("stores")
    with make_store(folder, source, target, weight, vertices=VERTICES, **STORES[request.param]) as made:
        yield made


@pytest.fixture(autouse=True)
def no_small_graphs(monkeypatch):
    monkeypatch.setattr(small, "MOST_EDGES", 0)


def swept(store, made, limit, **options):
    """Every superstep sums all lists."""
    with pytest.MonkeyPatch.context() as patch:
        for path in ("settled_sums.SettledSums", "notify_pull.NotifyPull"):
            patch.setattr(f"gstream.engine.{path}.applies", lambda run: False)
        with Engine(store, RunOptions(**options)) as engine:
            return engine.run(made, max_supersteps=limit)


def found(store, made, limit, settled=False, **options):
    with pytest.MonkeyPatch.context() as patch:
        if not settled:
            patch.setattr("gstream.engine.settled_sums.SettledSums.applies", lambda run: False)
        with Engine(store, RunOptions(**options)) as engine:
            return engine.run(made, max_supersteps=limit)


def same(mine, theirs):
    return (
        mine.value.tobytes() == theirs.value.tobytes()
        and (mine.supersteps, mine.converged) == (theirs.supersteps, theirs.converged)
        and repr(mine.totals) == repr(theirs.totals)
        and [step.frontier for step in mine.stats.per_superstep]
        == [step.frontier for step in theirs.stats.per_superstep]
    )


@pytest.mark.covering(1)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("limit", [25, 2, 1])
@pytest.mark.parametrize("kind", ["walk", "heat", "ranks", "activate", *choice.also(*OTHERS)])
def test_same_bits(store, tmp_path, kind, limit, way):
    made = MADE[kind](tmp_path)
    assert same(found(store, made, limit, **WAYS[way]), swept(store, made, limit, **WAYS[way]))


@pytest.mark.covering(1)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["walk", "heat", "activate"])
def test_few_edges(store, tmp_path, kind, way):
    """After some supersteps from one vertex, of all edges a twentieth was looked at, and of the pages few were read."""
    made = MADE[kind](tmp_path)
    mine, theirs = found(store, made, 8, **WAYS[way]), swept(store, made, 8, **WAYS[way])
    assert 20 * mine.stats.edges_visited < theirs.stats.edges_visited
    assert {step.direction for step in mine.stats.per_superstep} == {"notify-pull"}
    assert sum(step.edges_visited for step in mine.stats.per_superstep) == mine.stats.edges_visited
    if "disk" in way:
        assert 3 * mine.stats.bytes_read_disk < theirs.stats.bytes_read_disk
        assert mine.stats.peak_memory_bytes <= WAYS[way]["host_memory"]


def test_a_first_sweep_where_messages_of_nothing_count(store, tmp_path):
    steps = found(store, MADE["not from 0"](tmp_path), 8).stats.per_superstep
    assert [step.direction for step in steps[:2]] == ["pull", "pull"] and steps[0].edges_visited == store.meta.edges


@pytest.mark.parametrize("settled", [False, True])
def test_one_thread_takes_over_and_hands_back(store, tmp_path, settled):
    """The walk grows past what one thread tells over; the driver goes on from what is kept."""
    made = MADE["walk"](tmp_path)
    for threads in (1, 2):
        mine = found(store, made, 40, settled, threads=threads)
        assert same(mine, swept(store, made, 40, threads=threads))
        assert max(step.edges_visited for step in mine.stats.per_superstep) < store.meta.edges / 2


@pytest.mark.parametrize("way", ["host", "two hosts", "from disk"])
def test_a_resumed_run_begins_with_a_sweep(store, tmp_path, way):
    made, folder = MADE["walk"](tmp_path), tmp_path / "kept"
    kept = {"checkpoint": str(folder), "checkpoint_every": 5}
    found(store, made, 10, **WAYS[way], **kept)
    mine = found(store, made, 25, **WAYS[way], **kept, resume=True)
    steps = mine.stats.per_superstep
    assert len(steps) == 15 and steps[0].edges_visited == store.meta.edges
    assert {step.direction for step in steps[1:]} == {"notify-pull"}
    assert mine.value.tobytes() == swept(store, made, 25, **WAYS[way]).value.tobytes()


def test_it_is_not_taken_where_most_are_active(store):
    steps = found(store, PageRank(tolerance=1e-4), 5).stats.per_superstep
    many = [step for step in steps if 2 * step.frontier > VERTICES]
    assert many and all(step.direction == "pull" for step in many)
    assert all(step.edges_visited == store.meta.edges for step in many)


def test_it_is_left_out_where_asked(store, tmp_path):
    steps = found(store, MADE["heat"](tmp_path), 3, direction="pull").stats.per_superstep
    assert [step.edges_visited for step in steps] == [store.meta.edges] * 3


def test_the_plan_counts_the_pages_to_tell_over(store, tmp_path):
    with Engine(store) as engine:
        plan = engine.plan(MADE["heat"](tmp_path))
    out = store.topology("out")
    assert plan.notifies and out.name in plan.sources
    assert plan.host_bytes[f"pages ({out.name})"] >= len(out.directory) * store.meta.page_bytes
