"""Cores beside devices that copy: any order of who takes which pages gives the answers of the cores alone."""

from __future__ import annotations

from types import SimpleNamespace

import choice
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planned import PROGRAMS, make
from shared_steps import check_shared, draw_dispatchers, expected_of, shared_options

import gstream
from gstream.engine.dispatcher import PATIENCE, Dispatcher, Learnt, Stretches
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions, parse_devices, split_cores
from gstream.planning import calibration, planner
from gstream.planning.cost_equations import Constants
from gstream.programs.pagerank import PageRank
from gstream.programs.wcc import WCC
from gstream.telemetry.trace import ChromeTrace
from pagestore.errors import UsageError

SHARED = PROGRAMS | {"WCC": WCC()}


@pytest.fixture(autouse=True)
def usual_cores(monkeypatch):
    """Fixed shares go by the cores' rates: those of a machine that is busy, or whose kernels are compiled quickly
    (tests/quick.py), may leave the cores none."""
    monkeypatch.setattr(calibration, "constants", lambda *given: Constants())


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with make(tmp_path_factory.mktemp("stores")) as made:
        yield made


@pytest.fixture(scope="module")
def expected(store):
    return {name: expected_of(store, program) for name, program in SHARED.items()}


@pytest.mark.covering(2)
@pytest.mark.parametrize("devices", [["host", "fake:3"], ["fake:5:3", "host"]], ids=["one", "three"])
@pytest.mark.parametrize("program", SHARED)
@shared_options
def test_any_order_gives_the_same_answers(store, expected, program, devices, options, monkeypatch):
    draw_dispatchers(monkeypatch, f"{program} {devices} {options}")
    monkeypatch.setattr(planner, "idle_cores", lambda *given: "")
    with Engine(store, RunOptions(devices=devices, **options)) as engine:
        taken = check_shared(engine, SHARED[program], expected[program])
    assert taken > 0 or options.get("dispatch") == "fixed"  # a frontier of one page has no share for the cores


@pytest.mark.parametrize("seed", choice.seeds(12, range(60)))
def test_schedules(store, expected, seed, monkeypatch):
    draw_dispatchers(monkeypatch, seed)
    monkeypatch.setattr(planner, "idle_cores", lambda *given: "")
    name = sorted(SHARED)[seed % len(SHARED)]
    options = RunOptions(
        devices=["host", f"fake:{seed}:{1 + seed % 3}"], cache=("auto", "0")[seed % 2], streams=1 + seed % 5
    )
    with Engine(store, options) as engine:
        check_shared(engine, SHARED[name], expected[name])


def test_fixed_shares_repeat_bit_by_bit(store):
    options = RunOptions(devices=["host", "fake:1"], dispatch="fixed")
    found = []
    for _ in range(2):
        with Engine(store, options) as engine:
            found += [engine.run(PageRank(tolerance=0.0), 5) for _ in range(2)]
    assert all(one.value.tobytes() == found[0].value.tobytes() for one in found)
    assert len({one.stats.cores_pages for one in found}) == 1 and found[0].stats.cores_pages > 0


def test_cores_stay_idle_where_devices_hold_all_pages(store):
    with Engine(store, RunOptions(devices=["host", "fake:1"])) as engine:
        plan = engine.plan(PageRank())
        assert plan.cores is None and "holds all pages" in plan.idle
    with Engine(store, RunOptions(devices=["host", "fake:1"], cache="0")) as engine:
        plan = engine.plan(PageRank())
        assert plan.cores is not None and plan.host_bytes["attributes of cores"] == sum(plan.cores.held.values())


@given(st.data())
@settings(max_examples=200)
def test_stretches_are_taken_once_from_both_ends(data):
    sizes = data.draw(st.lists(st.integers(1, 20), max_size=8))
    numbers = np.arange(sum(sizes))
    pages = Stretches(np.split(numbers, np.cumsum(sizes)[:-1]) if sizes else [])
    first, last = [], []
    while pages.left:
        most = data.draw(st.integers(1, 30))
        if data.draw(st.booleans()):
            first += pages.take_first(most).tolist()
        else:
            taken = pages.take_last(most).tolist()
            assert 0 < len(taken) <= most and taken == sorted(taken)
            last = taken + last
        assert pages.left == len(numbers) - len(first) - len(last)
        assert (pages.batches_left > 0) == (pages.left > 0)
    assert first + last == numbers.tolist()
    assert len(pages.take_last(9)) == len(pages.take_first(5)) == 0


class Queue:
    """A device whose link is slow: a batch is over when it is waited for."""

    def __init__(self):
        self.behind, self.given, self.ahead = 0, [], 0

    def submit(self, batch):
        self.behind += 1
        self.given.append((self.behind, len(batch)))

    def wait_for_room(self):
        self.behind -= 1

    def submit_ahead(self, batch):
        self.ahead += 1
        return True


@pytest.mark.parametrize(("rate", "most", "ahead", "last"), [(1e3, 2, 2, 4), (2e4, 5, 5, 6), (1e6, 8, 40, 16)])
def test_a_device_leaves_pages_to_the_cores_while_its_link_is_busy(rate, most, ahead, last):
    """What is queued, or copied ahead, can't go to the cores any more: no more than the link takes some ms for."""
    source = SimpleNamespace(batches=lambda numbers, *given: [numbers], first_again=lambda numbers, weights: [numbers])
    source.plan = SimpleNamespace(batch_pages=16)
    device, waiting = Queue(), Stretches([np.arange(16 * first, 16 * first + 16) for first in range(40)])
    run = SimpleNamespace(plan=SimpleNamespace(weights=False), devices=[device])
    for _ in Dispatcher._feed(SimpleNamespace(_run=run), device, source, waiting, True, Learnt(rate, rate)):
        pass
    assert max(behind for behind, _ in device.given) == most and device.ahead == ahead
    assert device.given[-1][0] <= 2 and last - 1 <= max(size for _, size in device.given[-3:]) <= last
    assert sum(size for _, size in device.given) == 16 * 40


def test_devices_beside_each_other_are_named():
    assert [spec.kind for spec in parse_devices(["host,cuda:0,1"])] == ["cuda", "cuda", "host"]
    assert split_cores(parse_devices(["host:2"])) == (parse_devices(["host:2"]), False)
    for names in ("host:2,cuda:0", "host,cuda:0,host", "cuda:0,fake:1"):
        with pytest.raises(UsageError, match="--devices"):
            parse_devices([names])


def test_everything_around_a_run_works_with_cores_beside(store, tmp_path):
    """Certificates, checkpoints, spans and algorithms that are no programs."""
    given = {"devices": ["host,fake:2"], "dispatch": "fixed"}
    trace = ChromeTrace()
    with gstream.open(store.path) as alone, gstream.open(store.path, **given) as graph:
        assert graph.bfs(3, certify=True, trace=trace).summary["certificate"]["proves"]
        assert any(event["args"]["name"] == "cores" for event in trace.events() if event["name"] == "process_name")
        assert np.array_equal(graph.kcore().to_numpy(), alone.kcore().to_numpy())
    kept = {"checkpoint": tmp_path / "kept", "checkpoint_every": 1}
    with Engine(store, RunOptions(**given, **kept)) as engine:
        engine.run(PageRank(tolerance=0.0), 3)
    with Engine(store, RunOptions(**given, **kept, resume=True)) as engine:
        found = engine.run(PageRank(tolerance=0.0), 6)
    assert found.stats.kept.resumed == 3 and found.stats.cores_pages > 0
    np.testing.assert_allclose(found.value, expected_of(store, PageRank(tolerance=0.0)), rtol=1e-5)


def test_cores_that_make_supersteps_longer_are_tried_ever_more_rarely():
    """Of 200 runs of ten supersteps that cores make longer, few have one; once it pays, all have."""
    learnt, tried = Learnt(1.0, 1.0), []
    for number in range(200):
        learnt.begin_run()
        for _ in range(10):
            if learnt.worse < PATIENCE:
                tried.append(number)
                learnt.compare(longer=True)
    assert tried[:6] == [0, 0, 2, 5, 10, 19] and len(tried) <= 10
    while learnt.worse >= PATIENCE:
        learnt.begin_run()
    for _ in range(3):
        learnt.compare(longer=False)
        learnt.begin_run()
        assert learnt.worse == 0
    learnt.compare(longer=True)
    learnt.compare(longer=True)
    assert learnt.rest == 1
