"""Supersteps that a GPU makes by itself are those that the driver would have made, one by one."""

from __future__ import annotations

import re

import choice
import pytest
import standin
from ahead_runs import (
    KINDS,
    LEVELS,
    OPTIONS,
    PROGRAMS,
    SOURCES,
    by_the_driver,
    make,
    make_graph,
    note_driver_steps,
    told,
)
from compilers import needs_gxx

import gstream.engine.autonomous
from gstream.cudacode.generate import sources
from gstream.devices.gpu.driver import DeviceError
from gstream.engine.direction import PUSH_COST
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.programs.bfs import BFS
from gstream.programs.sssp import SSSP
from pagestore.errors import UsageError
from pagestore.store import open_store

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]


@pytest.fixture(scope="module", params=choice.seeds(1, KINDS))
def store(request, tmp_path_factory):
    path = make_graph(tmp_path_factory.mktemp("ahead") / "graph.gs", request.param, 3000, 80_000)
    with open_store(path) as store:
        yield store


@pytest.fixture
def driver_steps(monkeypatch):
    return note_driver_steps(monkeypatch)


@pytest.mark.covering(1)
@pytest.mark.parametrize("options", choice.seeds(2, OPTIONS), ids=str)
@pytest.mark.parametrize("kind", choice.seeds(2, PROGRAMS))
def test_they_are_the_drivers(store, driver_steps, tmp_path, monkeypatch, kind, options):
    """Once pages are cached the driver makes none, and where it must make all, they are the same."""
    programs = [make(kind, source, tmp_path) for source in SOURCES]
    if kind == "back" and "direction" in options and not store.has("in"):
        with Engine(store, RunOptions(devices=["cuda:0"], **options)) as engine, pytest.raises(UsageError):
            engine.run(programs[0])
        return
    with Engine(store, RunOptions(devices=["cuda:0"], zero_copy=False, **options)) as engine:
        cold = [engine.run(each) for each in programs]
        for each in programs * 2:  # pages that were not there come to stay, for the driver's choices, too
            engine.run(each)
            by_the_driver(engine, each, monkeypatch)
        for each, first in zip(programs, cold, strict=True):
            driver_steps.clear()
            found = engine.run(each)
            assert not driver_steps
            expected = by_the_driver(engine, each, monkeypatch)
            assert len(driver_steps) == expected.supersteps > 0
            assert first.value.tobytes() == found.value.tobytes() == expected.value.tobytes()
            assert found.converged and expected.converged
            steps, alike = found.stats.per_superstep, expected.stats.per_superstep
            assert len(steps) == found.supersteps and found.stats.bytes_moved == found.stats.cache_misses == 0
            assert all(step.pages <= store.topology("out").pages for step in steps if step.direction == "push")
            for here, there in zip(steps[:1], alike, strict=False):
                assert (here.direction, here.frontier, here.pages) == (there.direction, there.frontier, there.pages)
            assert found.stats.loop_seconds > 0 and all(step.seconds >= 0 for step in found.stats.per_superstep)
            if kind not in LEVELS:
                continue
            assert told(found) == told(expected)
            for name in ("cache_hits", "cache_misses", "edges_visited", "bytes_moved"):
                assert getattr(found.stats, name) == getattr(expected.stats, name), name


@pytest.mark.covering(1)
@pytest.mark.parametrize("limit", [0, 1, 2, 3, 5, 100])
def test_no_more_than_asked_for(store, driver_steps, limit):
    with Engine(store, RunOptions(devices=["cuda:0"])) as engine, Engine(store, RunOptions(devices=["host"])) as host:
        for source in (3, 77, 3, 77, 3):
            driver_steps.clear()
            found = engine.run(BFS(source=source), max_supersteps=limit)
            by_driver = len(driver_steps)
            expected = host.run(BFS(source=source), max_supersteps=limit)
            assert found.value.tobytes() == expected.value.tobytes()
            assert (found.supersteps, found.converged) == (expected.supersteps, expected.converged)
            assert len(found.stats.per_superstep) == found.supersteps <= limit
        assert not by_driver


def test_progress_is_told_of_each(store, driver_steps):
    seen = []
    options = RunOptions(devices=["cuda:0"], progress=lambda number, step: seen.append((number, step.frontier)))
    with Engine(store, options) as engine:
        for _ in range(4):
            seen.clear()
            driver_steps.clear()
            outcome = engine.run(BFS(source=3))
            assert [number for number, _ in seen] == list(range(1, outcome.supersteps + 1))
            assert seen[0][1] == 1
    assert not driver_steps


def test_not_where_somebody_looks_on(store, driver_steps):
    """Watchers see the values of every superstep; weights that are added up are held back by the driver."""
    with Engine(store, RunOptions(devices=["cuda:0"])) as engine:
        for run in (lambda: engine.run(BFS(source=3), watch=lambda *seen: None), lambda: engine.run(SSSP(source=3))):
            for _ in range(2):
                driver_steps.clear()
                assert run().supersteps == len(driver_steps) > 0


def test_a_fault_is_named(store, monkeypatch):
    """An error of CUDA that shows in the wait for a superstep names the GPU."""
    with Engine(store, RunOptions(devices=["cuda:0"])) as engine:
        engine.run(BFS(source=3))
        usual = standin.Event.synchronize

        def failing(event):
            if event in engine.devices[0].pool.over:
                raise standin.LogicError("an illegal memory access, of the test")
            usual(event)

        monkeypatch.setattr(standin.Event, "synchronize", failing)
        with pytest.raises(
            DeviceError, match=r"cuda:0 \(stand-in\).*, one of .*traverse_kernel.* illegal memory access"
        ):
            engine.run(BFS(source=3))


def test_a_first_run_looks_at_no_more(store, driver_steps, monkeypatch):
    """What it has to move the driver had better choose, and heads are looked at once."""
    with Engine(store, RunOptions(devices=["cuda:0"])) as engine:
        found = engine.run(BFS(source=3))
        assert driver_steps
    with Engine(store, RunOptions(devices=["cuda:0"])) as engine:
        expected = by_the_driver(engine, BFS(source=3), monkeypatch)
    assert found.stats.edges_visited == expected.stats.edges_visited
    assert found.value.tobytes() == expected.value.tobytes()


def test_no_time_is_lost(store, monkeypatch):
    """What a device tries in vain counts as the time of the superstep that the driver makes then."""
    monkeypatch.setattr(gstream.engine.autonomous, "_holds", lambda *given: True)
    usual = gstream.engine.autonomous._note

    def noted(run, made, seconds):
        usual(run, made, seconds)
        vain.append(seconds if made.count == 0 else 0.0)

    monkeypatch.setattr(gstream.engine.autonomous, "_note", noted)
    with Engine(store, RunOptions(devices=["cuda:0"])) as engine:
        vain = []
        stats = engine.run(BFS(source=3)).stats
    assert sum(vain) > 0 and stats.loop_seconds > sum(vain)


def test_the_rule_is_one():
    found = re.search(r"PUSH_COST = (\d+);", (sources() / "ahead.cu").read_text())
    assert found and int(found[1]) == PUSH_COST
