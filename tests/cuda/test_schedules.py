"""The GPU device in many orders: whatever its streams do first, the answers are the host's."""

from __future__ import annotations

import choice
import numpy as np
import pytest
import standin
from compilers import needs_gxx
from drawn import IN_STEP, LIMITS, PAGE, Drawn, run_components

import gstream
from gstream.devices.gpu.device import GpuDevice
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]
DEVICES = ["cuda", "cuda", "cuda:0,2", "cuda:0,1", "cuda:0,0", "cuda:0,1,2", "cuda:0,1,2,3"]
SEEDS, A_TEST = 80, 40


@pytest.mark.long
@pytest.mark.longer
@pytest.mark.parametrize("first", choice.seeds(1, range(0, SEEDS, A_TEST)))
def test_any_schedule_gives_the_hosts_answers(graphs, first):
    seen = set()
    for seed in range(first, first + choice.few(12, A_TEST)):
        standin.WORK.seed(seed)
        drawn = Drawn(seed, graphs, DEVICES)
        for outcome in drawn.run():
            stats = outcome.stats
            seen |= {f"case {stats.case}", "chunks" if stats.chunks > 1 else "one chunk", f"{stats.devices} GPUs"}
            seen |= {"cache hits"} if stats.cache_hits else set()
            seen |= {step.direction for step in stats.per_superstep}
        assert not standin.LOST, drawn
    assert len(seen) >= choice.few(8, 12), seen


@pytest.mark.long
def test_sums_by_chunks(wide_graphs):
    """Graphs of three blocks of totals, which chunks of sums are made of."""
    chunks = []
    for graph in wide_graphs:
        graph.programs = {name: graph.programs[name] for name in IN_STEP}
    for seed in range(3000, 3005):
        standin.WORK.seed(seed)
        chunks += [outcome.stats.chunks for outcome in Drawn(seed, wide_graphs, DEVICES).run()]
    assert set(chunks) >= {1, 3}


@pytest.mark.parametrize("heads", [True, False])
@pytest.mark.parametrize("devices", ["cuda:0", "cuda:0,1", "cuda:0,2"])
def test_any_schedule_gives_the_hosts_components(graphs, devices, heads):
    for seed in range(8):
        standin.WORK.seed(seed)
        run_components(seed, graphs, devices, heads)
    assert not standin.LOST


def test_weights_that_a_run_does_not_want_stay_at_home(graphs):
    """SSSP streams weights with its pages, components after it don't."""
    graph = graphs[0]
    options = RunOptions(devices=["cuda"], batch_bytes=2 * PAGE, host_memory=250_000, use_heads=False)
    with Engine(graph.store, options) as engine:
        for name in ("sssp", "bfs"):
            assert np.array_equal(engine.run(graph.programs[name]).value, graph.expected(name).value)
    with gstream.open(graph.store.path, devices="cuda", host_memory=250_000, use_heads=False) as opened:
        opened.sssp(source=3)
        found = opened.wcc()
    with gstream.open(graph.store.path) as opened:
        assert found.to_numpy().tobytes() == opened.wcc().to_numpy().tobytes()


@pytest.mark.parametrize("seed", choice.seeds(5, range(1000, 1040)))
def test_devices_hold_what_was_planned(graphs, monkeypatch, seed):
    drawn, held, detach = Drawn(seed, graphs, DEVICES), [], GpuDevice.detach

    def note(self):
        held.append(self.memory_bytes)
        detach(self)

    monkeypatch.setattr(GpuDevice, "detach", note)
    with drawn.engine() as engine:
        program = drawn.graph.programs[drawn.names[0]]
        drawn.give_memory(engine, drawn.names[0])
        planned = sum(engine.plan(program).device_bytes.values())
        engine.run(program, LIMITS.get(drawn.names[0]))
    small = 20_000  # bytes of buffers that don't grow with the graph: hubs' sums, maps of rows, sets of vertices
    assert 0 < max(held) <= planned + small, drawn
