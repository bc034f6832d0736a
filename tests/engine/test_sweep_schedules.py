"""600 seeded schedules of sums over all pages, which are copied ahead: pulls have the host's bits, in any order."""

from __future__ import annotations

from collections import Counter

import choice
import pytest
from schedules import SWEEPS, chunks, make_graphs, run_schedules, wide_graph

from tests.fakes import device as fake


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    graphs = [*make_graphs(folder), wide_graph(folder)]
    yield graphs
    for graph in graphs:
        graph.store.close()


@pytest.fixture
def ahead(monkeypatch):
    """Counts batches copied ahead: those of use, and those whose kernel was queued before they were copied."""
    count = Counter()
    take = fake.FakeDevice._take_ahead

    def taken(device, batch):
        place = take(device, batch)
        count["used"] += place is not None
        count["late"] += place is not None and any(op.kind == "ahead" for op in device._schedule.streams[place.stream])
        return place

    monkeypatch.setattr(fake.FakeDevice, "_take_ahead", taken)
    return count


@pytest.mark.parametrize("seeds", choice.seeds(1, chunks(600, 1200)), ids=str)
def test_any_schedule_gives_the_hosts_answers(graphs, ahead, seeds):
    run_schedules(seeds, graphs, SWEEPS)
    assert len(seeds) == 1 or ahead["used"] > ahead["late"] > 0
