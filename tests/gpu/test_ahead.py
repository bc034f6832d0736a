"""Supersteps that a GPU makes by itself, on a real one: those of the driver, and the host's values."""

from __future__ import annotations

import os

import pytest
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
from visible import NEEDS_GPU

from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from pagestore.errors import UsageError
from pagestore.store import open_store

pytestmark = NEEDS_GPU
V, E = (3_000, 20_000) if "GSTREAM_SMALL" in os.environ else (100_000, 1_000_000)


@pytest.fixture(scope="module", params=KINDS)
def store(request, tmp_path_factory):
    path = make_graph(tmp_path_factory.mktemp("ahead") / "graph.gs", request.param, V, E)
    with open_store(path) as store:
        yield store


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", PROGRAMS)
def test_they_are_the_drivers(store, tmp_path, monkeypatch, kind, options):
    """Supersteps of LEVELS are the same, too; those of the others depend on the GPU."""
    driver_steps, programs = note_driver_steps(monkeypatch), [make(kind, source, tmp_path) for source in SOURCES]
    asked = RunOptions(devices=["cuda:0"], zero_copy=False, **options)  # pages that were copied once are there
    with Engine(store) as host, Engine(store, asked) as engine:
        if kind == "back" and "direction" in options and not store.has("in"):
            with pytest.raises(UsageError):
                engine.run(programs[0])
            return
        for each in programs * 3:
            engine.run(each)
            by_the_driver(engine, each, monkeypatch)
        for each in programs:
            expected = host.run(each)
            driver_steps.clear()
            found = engine.run(each)
            assert found.value.tobytes() == expected.value.tobytes()
            assert len(driver_steps) < found.supersteps or found.supersteps == 0
            if kind in LEVELS:
                assert not driver_steps
                alike = by_the_driver(engine, each, monkeypatch)
                pulled = any(step.direction == "pull" for step in alike.stats.per_superstep)
                unlike = {"edges_visited": 0} if pulled else {}  # a warp stops once another has settled its vertex
                assert told(found, **unlike) == told(alike, **unlike)
            assert all(step.seconds > 0 for step in found.stats.per_superstep)
