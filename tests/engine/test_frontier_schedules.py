"""600 seeded schedules of programs with a frontier: whatever fake devices do first, the answers are the host's."""

from __future__ import annotations

import choice
import pytest
from schedules import FRONTIER, Schedule, chunks, long_graph, make_graphs, run_schedules

from gstream.engine.engine import Engine
from tests.fakes import scheduler as late


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    graphs = [*make_graphs(folder), long_graph(folder)]
    yield graphs
    for graph in graphs:
        graph.store.close()


@pytest.mark.parametrize("seeds", choice.seeds(1, chunks(0, 600)), ids=str)
def test_any_schedule_gives_the_hosts_answers(graphs, seeds):
    run_schedules(seeds, graphs, FRONTIER)


def test_a_seed_gives_one_schedule(graphs, monkeypatch):
    """What devices did, in which order: the same for the same seed."""
    did = []
    do_one = late.Scheduler.do_one

    def noted(scheduler):
        did.append((scheduler.name, [[operation.kind for operation in stream] for stream in scheduler.streams]))
        do_one(scheduler)

    monkeypatch.setattr(late.Scheduler, "do_one", noted)
    runs = []
    for seed in (5, 5, 6):  # several devices, pages from disk
        Schedule(seed, graphs, FRONTIER).run()
        runs.append(did[:])
        did.clear()
    assert runs[0] == runs[1] != runs[2]


def test_a_schedule_that_fails_says_how_to_run_it_again(graphs, monkeypatch):
    monkeypatch.setattr(Engine, "run", lambda *arguments: pytest.fail("broken"))
    with pytest.raises(pytest.fail.Exception) as caught:
        Schedule(5, graphs, FRONTIER).run()
    (note,) = caught.value.__notes__
    assert note.startswith("GSTREAM_SEED=5: ") and "RunOptions(devices=['fake:20:" in note
