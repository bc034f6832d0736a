"""Long rows of tiny frontiers are one thread's, whatever the devices; the answers are those that devices come to."""

from __future__ import annotations

import choice
import pytest
from lent_runs import FIRST, LAST, check, driver_steps, never_lent, write_path

from gstream.engine import lent_frontier
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.options.stopping import RunStopped, StopRequest
from gstream.programs.bfs import BFS
from gstream.programs.sssp import SSSP
from pagestore.store import open_store

KINDS = {
    "directed": {},
    "degree order": {"order": "degree"},
    "out alone": {"topology": "out"},
    "columns": {"columns": 8},
    "in alone": {"topology": "in"},
}
DEVICES = ["fake:1", "fake:3:2"]


@pytest.fixture(scope="module", params=["degree order", *choice.also("in alone", "directed", "out alone", "columns")])
def store(request, tmp_path_factory):
    with open_store(write_path(tmp_path_factory.mktemp("lent") / "graph.gs", **KINDS[request.param])) as store:
        yield store


@pytest.mark.covering(1)
@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("kind", ["bfs", "sssp", "numbered", *choice.also("sssp, float64", "widest", "labels")])
def test_the_answer_is_the_devices(store, tmp_path, kind, devices):
    check(store, [devices], kind, tmp_path)


@pytest.mark.covering(1)
@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("limit", [1, 40, 200, 401, 450, 5000])
def test_no_more_than_asked_for(store, devices, limit):
    for program in (BFS(source=FIRST), SSSP(source=FIRST)):
        with Engine(store, RunOptions(devices=[devices])) as engine:
            expected, found = (run(program, max_supersteps=limit) for run in (
                lambda *given, **more: never_lent(engine, *given, **more), engine.run))  # fmt: skip
        assert found.value.tobytes() == expected.value.tobytes()
        assert (found.supersteps, found.converged) == (expected.supersteps, expected.converged)


@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.covering(1)
@pytest.mark.parametrize("every", [50, "1s"])
def test_a_run_that_is_kept_goes_on(store, tmp_path, devices, every):
    with Engine(store) as engine:
        expected = engine.run(SSSP(source=FIRST))

    def stop_at(number, step):
        if number >= 100:
            stop.asked = True

    stop = StopRequest()
    kept = {"devices": [devices], "checkpoint": tmp_path, "checkpoint_every": every}
    with Engine(store, RunOptions(**kept, stop=stop, progress=stop_at)) as engine, pytest.raises(RunStopped) as stopped:
        engine.run(SSSP(source=FIRST))
    assert 100 <= stopped.value.superstep < expected.supersteps
    with Engine(store, RunOptions(**kept, resume=True)) as engine:
        found = engine.run(SSSP(source=FIRST))
    assert found.value.tobytes() == expected.value.tobytes() and found.stats.kept.resumed == stopped.value.superstep


@pytest.mark.parametrize("devices", DEVICES)
def test_what_somebody_looks_at_is_not_lent(store, devices):
    seen = []
    with Engine(store, RunOptions(devices=[devices])) as engine, driver_steps() as made:
        engine.run(BFS(source=FIRST), watch=lambda number, value, _: seen.append(int((value != 2**32 - 1).sum())))
        assert len(made) == len(seen) - 1 and seen[:100] == list(range(1, 101))


def test_lists_that_host_memory_has_no_room_for_are_not_made(store):
    with Engine(store, RunOptions(devices=["fake:1"])) as engine:
        expected = engine.run(BFS(source=FIRST))
        room = sum(engine.plan(BFS(source=FIRST)).host_bytes.values())
    with Engine(store, RunOptions(devices=["fake:1"], host_memory=room + 1000)) as engine, driver_steps() as made:
        found = engine.run(BFS(source=FIRST))
    assert found.value.tobytes() == expected.value.tobytes() and len(made) > 800
    assert found.stats.peak_memory_bytes <= room + 1000


def test_large_frontiers_go_back(store, monkeypatch):
    """After each, twice as many tiny supersteps must come first."""
    lent = []
    monkeypatch.setattr(lent_frontier, "FEW_EDGES", 64)
    take = lent_frontier.Lent.take
    monkeypatch.setattr(lent_frontier.Lent, "take", lambda arrays: lent.append(arrays) or take(arrays))
    with Engine(store, RunOptions(devices=["fake:1"])) as engine:
        found = engine.run(BFS(source=FIRST))
    assert found.value[store.lookup([FIRST, LAST])].tolist() == [0, found.supersteps - 1]
    assert len(lent) == 2, "once for each path"
