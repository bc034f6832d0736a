"""The cost model of GPUs, with stand-ins for them: constants by a GPU's name, predictions, what runs teach."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from engine_graphs import make_store, skewed_edges
from standin_gpu import StandInGpu

from gstream.devices.gpu import probe as gpuprobe
from gstream.engine import engine as engine_module
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.planning import calibration as measure
from gstream.planning import cost_model as predict
from gstream.planning.cost_equations import Constants, GpuConstants
from gstream.planning.cost_model import CostModel
from gstream.planning.plan import Plan
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from gstream.telemetry.stats import RunStats, StepStats

DEFAULT = GpuConstants()


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(gpuprobe, "PIN_BYTES", 4 << 20)
    monkeypatch.setattr(gpuprobe, "WHOLE_BYTES", 1 << 20)
    monkeypatch.setattr(gpuprobe, "COPY_BYTES", 1 << 20)


@pytest.fixture
def probes(monkeypatch):
    """What is measured of the stand-ins, and of which."""
    asked = []

    def probe(gpu):
        asked.append(gpu.index)
        return gpuprobe.Probe(pin_rate=4e10, to_device=2e10, from_device=1e10, call_s=5e-6)

    def peer_rate(gpu, other):
        asked.append((gpu.index, other.index))
        return 1e11 / other.index if other.index in gpu.reached else None

    monkeypatch.setattr(gpuprobe, "probe", probe)
    monkeypatch.setattr(gpuprobe, "peer_rate", peer_rate)
    return asked


def test_constants_are_kept_by_the_name_of_a_gpu(tmp_path, probes):
    gpu = StandInGpu(name="NVIDIA H200 (SXM)")
    found = measure.gpu_constants([gpu], tmp_path)
    assert found == replace(DEFAULT, c1=found.c1, c2=2e10, call_s=3 * 5e-6)
    assert found.c1 == pytest.approx(4e10 / 3)  # out and in by turns
    assert measure.gpu_constants([gpu], tmp_path) == found
    assert probes == [0]
    (kept,) = tmp_path.iterdir()
    assert kept.name.endswith("-NVIDIA-H200-SXM-.json")
    assert set(json.loads(kept.read_text())) == {"c1", "c2", "call_s"}  # defaults are not knowledge
    measure.gpu_constants([StandInGpu(name="NVIDIA L4")], tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    for broken in ("{", "[1]", '{"c1": "fast"}', '{"c1": -1}'):
        kept.write_text(broken)
        assert measure.gpu_constants([gpu], tmp_path) == found


def test_merges_are_measured_when_several_gpus_come(tmp_path, probes):
    near = [StandInGpu(0, reached=(1, 2)), StandInGpu(1), StandInGpu(2)]
    assert measure.gpu_constants(near[:1], tmp_path).merge == DEFAULT.merge
    assert measure.gpu_constants(near, tmp_path).merge == 5e10  # the slowest
    assert measure.gpu_constants(near, tmp_path).merge == 5e10
    assert probes == [0, (0, 1), (0, 2)]
    apart = [StandInGpu(0, name="apart"), StandInGpu(1)]
    found = measure.gpu_constants(apart, tmp_path)
    assert found.merge == pytest.approx(found.c1 / 2)  # through the host


def test_a_rate_from_a_busy_time_leaves_no_gpu_idle_for_good(store, tmp_path, monkeypatch, probes):
    with engine_of(store, tmp_path, monkeypatch, devices=2) as engine:
        engine.measure()
    (kept,) = tmp_path.iterdir()
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "merge": 1e6}))
    del probes[:]
    with engine_of(store, tmp_path, monkeypatch, devices=2) as engine:
        judged = []

        def slow_together(alone, together):
            judged.append(together.constants.merge)
            return together.constants.merge < 1e9

        monkeypatch.setattr(engine_module, "is_faster_alone", slow_together)
        assert engine.plan(PageRank()).devices == engine.plan(PageRank()).devices == 2
        assert judged == [1e6, 1e11, 1e11] and probes == [(0, 1)]
    assert json.loads(kept.read_text())["merge"] > 1e6  # averaged with what was kept
    with engine_of(store, tmp_path, monkeypatch, devices=2) as engine:  # slow whenever it is measured
        monkeypatch.setattr(engine_module, "is_faster_alone", lambda alone, together: True)
        assert [engine.plan(PageRank()).spared for _ in range(3)] == [1, 1, 1]
        assert probes == [(0, 1)] * 2


@pytest.mark.parametrize("fails", ["pin", "empty", "copy"])
def test_what_cannot_be_measured_of_a_gpu_is_a_default(tmp_path, fails):
    gpus = [StandInGpu(0, reached=(1,), fails=fails), StandInGpu(1)]
    found = measure.gpu_constants(gpus, tmp_path)  # what could be measured is kept
    if fails == "copy":
        assert found.merge == DEFAULT.merge and found.c2 != DEFAULT.c2
    else:
        assert replace(found, merge=DEFAULT.merge) == DEFAULT
    assert gpus[0].held == gpus[0].pinned == 0


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with make_store(tmp_path_factory.mktemp("s"), *skewed_edges(2000, 30_000, seed=1), vertices=2000) as opened:
        yield opened


def engine_of(store, folder, monkeypatch, devices=1, **options):
    """An engine of fake devices that are taken for GPUs by its cost model."""
    monkeypatch.setattr(predict, "GPU_EDGES", 1000)
    monkeypatch.setattr(engine_module, "is_faster_alone", lambda alone, together: False)
    engine = Engine(store, RunOptions(devices=[f"fake:1:{devices}"], **options))
    gpus = [StandInGpu(number, reached=tuple(range(devices))) for number in range(devices)]
    for device, gpu in zip(engine.devices, gpus, strict=True):
        device.gpu = gpu
    engine.costs = CostModel(engine.devices, 1, lambda: pytest.fail("the host is measured"), folder)
    return engine


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("program", [PageRank(tolerance=0.0), BFS(source=3)], ids=["PageRank", "BFS"])
def test_runs_are_predicted_by_the_gpus_constants(store, tmp_path, monkeypatch, probes, program, devices):
    with engine_of(store, tmp_path, monkeypatch, devices) as engine:
        plan = engine.plan(program)
        assert isinstance(plan.constants, GpuConstants) and plan.constants.c2 == 2e10
        stats = engine.run(program, max_supersteps=6).stats
        assert 0 < stats.predicted_seconds < 1
        assert stats.link_rate == 2e10 * devices
        moved = stats.bytes_moved + stats.attribute_bytes_moved
        assert stats.link_share == pytest.approx(moved / stats.loop_seconds / (2e10 * devices)) and stats.link_share > 0
        if program.combine.idempotent:
            assert engine.measure().pull_edges == DEFAULT.pull_edges  # its pulls end early
        else:
            assert stats.predicted_seconds == pytest.approx(plan.seconds(6))
            learnt = engine.measure().pull_edges
            steps = [step for step in stats.per_superstep if step.bytes_moved == 0]
            assert len(steps) == 5
            merge = stats.merge_seconds / 6 if devices > 1 else 0
            whole = sum(step.edges_visited for step in steps) / sum(step.seconds - merge for step in steps) / devices
            assert learnt == pytest.approx(whole)  # of the first run, as a default says nothing
    if not program.combine.idempotent:
        assert measure.gpu_constants([StandInGpu()], tmp_path).pull_edges == pytest.approx(learnt)
        with engine_of(store, tmp_path, monkeypatch, devices) as engine:
            engine.run(program, max_supersteps=6)
            assert engine.measure().pull_edges != pytest.approx(learnt)


def test_runs_that_stream_teach_nothing(store, tmp_path, monkeypatch, probes):
    with engine_of(store, tmp_path, monkeypatch, cache="0") as engine:
        stats = engine.run(PageRank(tolerance=0.0), max_supersteps=3).stats
        assert all(step.bytes_moved for step in stats.per_superstep)
        assert engine.measure().pull_edges == DEFAULT.pull_edges


def test_fake_devices_keep_the_hosts_constants(store):
    with Engine(store, RunOptions(devices=["fake:1"])) as engine:
        before = engine.measure()
        engine.run(PageRank(tolerance=0.0), max_supersteps=3)
        assert engine.measure() == before and type(before) is Constants


def planned(store, program=None, **options) -> Plan:
    with Engine(store, RunOptions(devices=["fake:1"], **options)) as engine:
        plan = engine.plan(program or PageRank())
    return replace(plan, constants=GpuConstants(c1=1e6, c2=1e6, call_s=0.0, pull_edges=1e15))


def test_the_first_sweep_fills_the_cache(store):
    plan = planned(store)
    table = plan.table("pull")
    values = 2 * 4 * 2000 / 1e6  # PageRank's float32, out and in
    sweep = table.bytes_of(table.pages, False) / 1e6
    assert plan.seconds(0) == plan.attribute_seconds() == pytest.approx(values)
    assert plan.seconds(1) == pytest.approx(values + sweep)
    assert plan.seconds(20) == pytest.approx(values + sweep)
    assert planned(store, cache="0").seconds(20) == pytest.approx(values + 20 * sweep)
    least = sum(plan.device_bytes.values()) - table.bytes_of(table.pages // 2, False)
    some = planned(store, device_memory=least)
    kept = some.device.cache_pages[table.name] / table.pages
    assert 0 < kept < 1
    assert some.seconds(3) == pytest.approx(values + sweep * (3 - 2 * kept))
    by_lru = planned(store, device_memory=least, cache="lru")  # devices take cached pages first
    assert by_lru.seconds(3) == some.seconds(3)
    warm = replace(some, on_devices={table.name: [np.arange(some.device.cache_pages[table.name])]})
    assert warm.seconds(3) == pytest.approx(values + sweep * (3 - 3 * kept))
    assert warm.sweep_bytes(3) == 3 * table.bytes_of(table.pages - some.device.cache_pages[table.name], False)
    whole = replace(plan, on_devices={table.name: [table.all_pages()[1:]]})
    assert whole.sweep_bytes(20) == table.bytes_of(1, False)


def test_the_first_sweep_reads_pages_that_stay(store, tmp_path, monkeypatch):
    """Once an engine: later plans know that they are there. How fast they come is learnt from large readings."""
    with engine_of(store, tmp_path, monkeypatch) as engine:
        first = engine.plan(PageRank())
        table = first.table("pull")
        assert first.unread == {table.name: table.pages}
        slow = replace(first.constants, load=1e3)
        later = replace(first, constants=slow, unread={}).seconds(3)
        assert replace(first, constants=slow).seconds(3) == pytest.approx(
            later + table.bytes_of(table.pages, False) / 1e3, rel=0.01
        )
        engine.run(PageRank(tolerance=0.0), max_supersteps=1)
        assert engine.plan(PageRank()).unread == {table.name: 0}
    large = RunStats(per_superstep=steps_of(0.5, edges=1, bytes_read=1 << 30) + steps_of(1.0, edges=1))
    assert predict.lessons(large, first, gpus=True) == [("load", float(1 << 31))]
    streamed = replace(first, sources={table.name: replace(first.sources[table.name], resident=False)})
    assert predict.lessons(large, streamed, gpus=True) == []


def steps_of(*seconds, direction="pull", edges=1 << 30, **changes):
    return [StepStats(direction, 1, edges_visited=edges, seconds=each, **changes) for each in seconds]


def test_lessons(store):
    plan = planned(store)
    large = steps_of(1.0, 3.0)
    stats = RunStats(per_superstep=[*large, *steps_of(9.0, bytes_moved=1), *steps_of(9.0, edges=1 << 20)])
    assert predict.lessons(stats, plan, gpus=True) == [("pull_edges", (1 << 31) / 4)]
    assert predict.lessons(stats, plan, gpus=False) == []  # fake devices
    host = replace(plan, copies=False)
    stats = RunStats(per_superstep=[*large, *steps_of(9.0, bytes_read=1), *steps_of(2.0, direction="push")])
    assert predict.lessons(stats, host, gpus=False) == [("pull_edges", (1 << 31) / 4), ("push_edges", (1 << 30) / 2)]
    early = replace(plan, device_plans=(replace(plan.device, open_bits=True),))
    assert predict.lessons(RunStats(per_superstep=large), early, gpus=True) == []


def test_merges_teach_how_fast_gpus_reach_each_other(store):
    plan = planned(store)
    little, plan = (
        replace(plan, device_plans=(replace(plan.device, held={"WA": size}),) * 4, directions=("pull", "push"))
        for size in (1 << 20, 1 << 30)
    )
    stats = RunStats(per_superstep=steps_of(1.5, 1.5), merge_seconds=1.0)
    assert predict.lessons(stats, plan, gpus=True) == [
        ("pull_edges", (1 << 31) / 2 / 4),
        ("merge", pytest.approx(2 * 0.75 * (1 << 30) / 0.5)),
    ]
    for other in (little, replace(plan, directions=("pull",))):
        assert [name for name, _ in predict.lessons(stats, other, gpus=True)] == ["pull_edges"]
