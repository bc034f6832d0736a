"""What calls teach plans: by the size of the graph, whatever others teach about rates; doubtful calls teach nothing."""

from __future__ import annotations

import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from engine_graphs import make_store, skewed_edges

from gstream.algorithms import call_times
from gstream.algorithms.call_times import call_facts, teach, times_of, work_of
from gstream.algorithms.plans import facts_of, plan_of
from gstream.algorithms.registry import find_algorithm
from gstream.engine.engine import Engine
from gstream.planning import calibration
from gstream.planning.cost_model import CostModel
from gstream.planning.estimates import MEASURED, estimate
from gstream.planning.lessons import LEARNT, Lesson, lesson_name, lesson_of

SEARCH = {"source": [1]}


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    ends, weight = skewed_edges(1000, 15000, seed=1), np.ones(15000, np.uint8)
    with make_store(tmp_path_factory.mktemp("lessons"), *ends, weight, vertices=1000) as store, Engine(store) as engine:
        yield engine


@pytest.fixture(scope="module")
def measured(opened, tmp_path_factory):
    """A folder with what is measured of this machine, which takes a second."""
    folder = tmp_path_factory.mktemp("measured")
    calibration.constants(opened.workers, folder)
    return folder


@pytest.fixture
def engine(opened, measured, tmp_path, monkeypatch):
    monkeypatch.setattr(call_times, "LEAST_EDGES", 1)
    monkeypatch.setattr(call_times, "WRONG", 1e4)  # these calls are no real ones
    shutil.copytree(measured, tmp_path, dirs_exist_ok=True)
    opened.costs = CostModel(opened.devices, opened.options.host_threads, lambda: opened.workers, tmp_path)
    return opened


def again(engine):
    """The engine as a process that comes later finds what was learnt."""
    engine.costs.close()
    engine.costs = CostModel(engine.devices, engine.options.host_threads, lambda: engine.workers, engine.costs._folder)


def call(engine, name, seconds, supersteps=1, read=0, compiled=0.0, converged=True, **own):
    """A call that took so long."""
    algorithm = find_algorithm(name)
    own = algorithm.defaults | own
    stats = {"seconds": seconds, "bytes_read_disk": read}
    summary = {"stats": stats, "supersteps": supersteps, "converged": converged}
    teach(algorithm, engine, own, summary, compiled, lambda: plan_of(name, engine, own))


def facts(engine, name, **own):
    return call_facts(find_algorithm(name), engine, warm(engine, name, **own), own)


def warm(engine, name, **own):
    """The plan of a call whose pages are in memory."""
    planned = plan_of(name, engine, own)
    return replace(planned, unread=dict.fromkeys(planned.unread, 0))


@pytest.fixture
def read_before(monkeypatch, engine):
    """Plans of calls after the first, which find the pages in memory."""
    monkeypatch.setattr(engine.sources, "unread", lambda *_: 0)


def test_the_lesson_of_the_graph_most_like_the_planned_one():
    def graph(edges, vertices):
        return SimpleNamespace(edges=edges, vertices=vertices)

    known = {
        lesson_name("takes bfs", graph(1 << 22, 1 << 18)): 2.0,
        lesson_name("takes bfs", graph(1 << 26, 1 << 22)): 3.0,
        lesson_name("takes bfs weighted=True", graph(1 << 24, 1 << 20)): 5.0,
        lesson_name("takes bfs supersteps", graph(1 << 24, 1 << 20)): 7.0,
    }
    assert lesson_of(known, "takes bfs", graph(1 << 22, 1 << 18)) == Lesson(2.0, LEARNT)
    near, far = (lesson_of(known, "takes bfs", graph(1 << power, 1 << power - 4)) for power in (25, 34))
    assert near.factor == far.factor == 3.0 and LEARNT < near.off < far.off
    assert lesson_of(known, "takes bfs", graph(1 << 22, 1 << 21)).off > LEARNT, "of another density"
    assert lesson_of(known, "takes wcc", graph(1 << 22, 1 << 18)) is None
    assert lesson_of({"takes wcc": 4.0}, "takes wcc", graph(3, 9)) == Lesson(4.0, LEARNT), "of a machine's file"


@pytest.mark.parametrize("name", ["bfs", "pagerank", "lcc"])
def test_a_lesson_counts_once_and_leaves_the_disk_alone(engine, name):
    own = SEARCH if name == "bfs" else {}
    algorithm, planned = find_algorithm(name), warm(engine, name, **own)
    times, _ = times_of(algorithm, algorithm.defaults | own, 1000)
    work = work_of(algorithm, algorithm.defaults | own)
    fresh, taught = (estimate(work, times, planned, False, one, MEASURED).usual for one in (None, Lesson(3.0)))
    assert taught == pytest.approx(3 * fresh)
    cold = replace(planned, unread=dict.fromkeys(planned.unread, 10**6))
    first = estimate(work, times, cold, False, None, MEASURED).usual - fresh
    assert first > 0
    assert estimate(work, times, cold, False, Lesson(3.0), MEASURED).usual == pytest.approx(3 * fresh + first)


@pytest.mark.parametrize(("name", "most"), [("leiden", 4), ("louvain", 8)])
def test_tries_of_small_graphs_are_planned(engine, name, most):
    algorithm, planned = find_algorithm(name), warm(engine, "wcc")
    once = algorithm.work._replace(tries=(1, 0))
    few, many = (estimate(work, (1, 1, 1), planned, True, None, MEASURED).usual for work in (once, algorithm.work))
    none = estimate(once._replace(gpu_edges=0.0), (1, 1, 1), planned, True, None, MEASURED).usual
    assert many - none == pytest.approx(most * (few - none)), "times what a pass takes, and not what a call does"
    of_all = algorithm.work.tries[1]
    assert [algorithm.work.tried(edges) for edges in (0, of_all // most, of_all // 2, of_all, 2 * of_all)] == [
        most, most, 2, 1, 1
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["bfs", "sssp", "lcc", "degrees", "closeness"])
def test_a_call_is_planned_as_the_least_of_those_before(engine, read_before, name):
    own = SEARCH if name in ("bfs", "sssp") else {}
    for seconds in (0.05, 0.02, 0.03):
        call(engine, name, seconds, **own)
    for _ in range(2):
        found = facts(engine, name, **own)["call_seconds"]
        assert found["usual"] == pytest.approx(0.02)
        assert found["most"] == pytest.approx(0.02 * LEARNT, rel=0.05)
        assert found["least"] == pytest.approx(0.02 / LEARNT, rel=0.05)
        rates = engine.costs.constants  # that other algorithms' runs teach change nothing
        engine.costs._constants = replace(rates, pull_edges=3 * rates.pull_edges, push_edges=3 * rates.push_edges)
        found = facts(engine, name, **own)["call_seconds"]["usual"]
        assert found == pytest.approx(0.02)
        again(engine)


def test_later_processes_follow_a_machine_that_changes(engine, read_before):
    call(engine, "lcc", 0.04)
    again(engine)
    before = facts(engine, "lcc")["call_seconds"]["usual"]
    call(engine, "lcc", 0.01)
    now = facts(engine, "lcc")["call_seconds"]["usual"]
    assert before == pytest.approx(0.04) and 0.01 < now < before
    again(engine)
    assert facts(engine, "lcc")["call_seconds"]["usual"] == pytest.approx(now)


def test_supersteps_that_calls_took_are_planned(engine, read_before):
    for _ in range(2):
        call(engine, "pagerank", 0.05, supersteps=40)
    found = facts(engine, "pagerank")
    assert found["call_seconds"]["usual"] == pytest.approx(0.05)
    assert "40 supersteps until --tol, 31 to 52, as of runs here" in found["rests_on"]
    whole = [facts_of(name, engine, {}) for name in ("pagerank", "katz")]
    assert [one["supersteps_are"] for one in whole] == ["learnt", "assumed"] and whole[0]["supersteps"] == 40
    half = facts(engine, "pagerank", iterations=20)["call_seconds"]["usual"]
    assert 0.025 <= half < 0.05, "a factor is of a superstep"
    call(engine, "pagerank", 0.01, supersteps=5, converged=False)  # a limit's number is no other call's
    assert facts(engine, "pagerank")["rests_on"] == found["rests_on"]


@pytest.mark.parametrize(
    ("seconds", "more"),
    [
        (0.0001, {}),
        (0.2, {"compiled": 0.1}),
        (5.0, {"compiled": 2.0}),
        (0.4, {"read": 1 << 20}),
        (1e6, {}),
    ],
    ids=["too short", "most compiles", "much compiles", "a short first call", "another kind of graph"],
)
def test_doubtful_calls_teach_nothing(engine, read_before, seconds, more):
    call(engine, "lcc", seconds, **more)
    assert not any(name.startswith("takes") for name in engine.costs.lessons())


def test_the_only_call_of_a_process_teaches_where_it_is_long(engine, read_before, monkeypatch):
    call(engine, "lcc", 0.025, compiled=0.005)
    assert "lcc on RMAT graphs" in facts(engine, "lcc")["rests_on"][0]
    monkeypatch.setattr(call_times, "FIRST_S", 0.015)
    call(engine, "lcc", 0.025, compiled=0.005)
    again(engine)
    found = facts(engine, "lcc")
    assert found["call_seconds"]["usual"] == pytest.approx(0.02)
    assert found["rests_on"][0] == "runs of lcc here, within 1.3 times"


def test_the_first_reading_is_of_pages_that_calls_want(engine):
    def usual(name, **own):
        planned = plan_of(name, engine, own)
        planned = replace(planned, unread=dict.fromkeys(planned.sources, 10**4))
        return call_facts(find_algorithm(name), engine, planned, own)["call_seconds"]

    first, none = usual("pagerank", iterations=1), usual("degrees")
    assert first["usual"] > 10 * none["usual"], "degrees lie beside the pages"
    assert none["usual"] < usual("wcc")["usual"] < first["usual"] < usual("wcc")["most"], "links of heads may be enough"
    call(engine, "pagerank", 0.0, iterations=1)
    assert usual("pagerank", iterations=1)["usual"] < first["usual"] / 10, "a call was here before"


def test_small_graphs_teach_nothing(engine, monkeypatch):
    monkeypatch.setattr(call_times, "LEAST_EDGES", 20_000)
    call(engine, "lcc", 1.0)
    assert not any(name.startswith("takes") for name in engine.costs.lessons())
