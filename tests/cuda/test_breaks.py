"""Runs that break off, by Ctrl-C, damaged pages or faults of a GPU: what is told, and that engines go on."""

from __future__ import annotations

import random

import choice
import numpy as np
import pytest
import standin
from compilers import needs_gxx
from drawn import LIMITS, PAGE
from schedules import ScheduledEngine, give_memory

import gstream
from gstream.devices.gpu.batch_queue import BatchQueue
from gstream.devices.gpu.device import GpuDevice
from gstream.devices.gpu.driver import DeviceError
from gstream.options.run_options import RunOptions
from gstream.paging.page_source import PageSource
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from pagestore.errors import ResourceError, StoreError

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]
PLACES = {  # memories: 1 is what is needed, and five pages
    "as it is": {},
    "LRU": {"cache": "lru", "device_memory": 1},
    "no cache": {"cache": "0"},
    "from disk": {"cache": "0", "host_memory": 1},
}
# Where Ctrl-C may come: what waits, queues, or notes what is queued
CALLS = [
    (standin.Event, "synchronize"),
    (standin.Event, "record"),
    (standin.Stream, "synchronize"),
    (standin.Stream, "wait_for_event"),
    (standin.Function, "prepared_async_call"),
]


class Interruption(Exception):
    """What stands for Ctrl-C."""


class CtrlC:
    """It comes at call number `at` of CALLS, before that or, if `late`, after it."""

    def __init__(self):
        self.calls, self.at, self.late = 0, 0, False

    def call(self, usual, *arguments, **given):
        self.calls += 1
        here = self.calls == self.at
        if here and not self.late:
            raise Interruption
        usual(*arguments, **given)
        if here:
            raise Interruption

    def count(self, run):
        """How many calls a run makes."""
        before = self.calls
        run()
        return self.calls - before

    def ends(self, run, draw, calls):
        """Whether a run is interrupted that makes about so many calls."""
        self.at, self.late = self.calls + draw.randint(1, calls), draw.random() < 0.5
        try:
            run()
        except Interruption:
            return True
        finally:
            self.at = 0
        return False


@pytest.fixture
def ctrl_c(monkeypatch):
    made = CtrlC()
    for owner, name in CALLS:
        usual = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *arguments, usual=usual, **given: made.call(usual, *arguments, **given))
    return made


@pytest.mark.covering(1)
@pytest.mark.parametrize("devices", ["cuda:0,2", *choice.also("cuda", "cuda:0,1")])
@pytest.mark.parametrize("place", choice.seeds(1, PLACES))
def test_an_engine_goes_on_after_ctrl_c(graphs, ctrl_c, place, devices):
    """Whatever was on its way when a run broke off is not taken for what it should have become."""
    graph, calls, broken = graphs[0], {}, 0
    for seed in range(15):
        name = ("pagerank", "bfs", "sum_signed")[seed % 3]
        options = RunOptions(devices=[devices], batch_bytes=2 * PAGE, streams=2, use_heads=False, **PLACES[place])
        standin.WORK.seed(seed)
        with ScheduledEngine(graph.store, options) as engine:

            def run(engine=engine, name=name):
                return engine.run(graph.programs[name], LIMITS.get(name)).value

            give_memory(engine, graph.programs[name], {"device": 5 * PAGE, "host": 5 * PAGE})
            if name in calls:
                broken += ctrl_c.ends(run, random.Random(seed), calls[name])
            else:
                calls[name] = ctrl_c.count(run)
            np.testing.assert_allclose(run(), graph.expected(name).value, rtol=1e-5, err_msg=f"seed {seed}")
    assert broken >= 8


def test_ctrl_c_while_a_job_is_detached(graphs, monkeypatch):
    graph, detach = graphs[0], GpuDevice.detach
    with ScheduledEngine(graph.store, RunOptions(devices=["cuda"])) as engine:

        def interrupt(queue):
            raise Interruption

        def detaching(device):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(BatchQueue, "close", interrupt)
                detach(device)

        monkeypatch.setattr(GpuDevice, "detach", detaching)
        with pytest.raises(Interruption):
            engine.run(graph.programs["bfs"])
        monkeypatch.setattr(GpuDevice, "detach", detach)
        assert np.array_equal(engine.run(graph.programs["bfs"]).value, graph.expected("bfs").value)
    left = dict(standin.LIVE)
    standin.LIVE.clear()
    assert not left


@pytest.mark.parametrize("devices", ["cuda:0,1", *choice.also("cuda", "cuda:0,2")])
def test_components_after_ctrl_c(graphs, ctrl_c, devices):
    path, calls, broken = graphs[0].store.path, {}, 0
    with gstream.open(path) as graph:
        expected = graph.wcc().to_numpy().tobytes()
    for seed in range(20):
        heads = seed % 2 == 0
        standin.WORK.seed(seed)
        cache = "0" if seed % 4 < 2 else "auto"
        with gstream.open(path, devices=devices, batch_bytes=2 * PAGE, use_heads=heads, cache=cache) as graph:
            if heads in calls:
                broken += ctrl_c.ends(graph.wcc, random.Random(seed), calls[heads])
            else:
                calls[heads] = ctrl_c.count(graph.wcc)
            assert graph.wcc().to_numpy().tobytes() == expected, f"seed {seed}"
    assert broken >= 12


def test_a_damaged_page_in_the_middle(graphs, monkeypatch):
    """Copies that are queued when reading fails are over before their memory goes; the next run is right."""
    graph, usual, reads = graphs[0], PageSource._read, [0]

    def read(self, numbers, rows):
        reads[0] += 1
        if reads[0] == 9:
            raise StoreError("made up by the test")
        usual(self, numbers, rows)

    monkeypatch.setattr(PageSource, "_read", read)
    options = RunOptions(devices=["cuda"], batch_bytes=PAGE, host_memory=150_000, use_heads=False)
    with ScheduledEngine(graph.store, options) as engine:
        with pytest.raises(StoreError):
            engine.run(BFS(source=3))
        assert np.array_equal(engine.run(BFS(source=3)).value, graph.expected("bfs").value)


# What fails after a fault: all that waits, queues, takes or gives back memory, and changes contexts
FAULTY = [
    (standin.Context, "push"),
    (standin.Context, "pop"),
    (standin.Context, "synchronize"),
    (standin.Stream, "synchronize"),
    (standin.Event, "synchronize"),
    (standin.Event, "query"),
    (standin.Allocation, "free"),
    (standin.Scheduler, "add"),
    (standin.DRIVER, "mem_alloc"),
]


class Fault:
    """Once `kernel` has been launched, every call fails; errors are numbered."""

    def __init__(self, monkeypatch):
        self.kernel, self.there, self.errors = "", False, 0
        for owner, name in FAULTY:
            fails = self.failing(getattr(owner, name))
            monkeypatch.setattr(
                owner, name, staticmethod(fails) if owner is standin.Context and name != "push" else fails
            )
        launch = standin.Function.prepared_async_call

        def launched(function, *arguments, **given):
            launch(function, *arguments, **given)
            self.there = self.there or function.name == self.kernel

        monkeypatch.setattr(standin.Function, "prepared_async_call", launched)

    def failing(self, usual):
        def call(*arguments, **given):
            if self.there:
                self.errors += 1
                raise standin.LogicError(f"an illegal memory access, error {self.errors} of the test")
            return usual(*arguments, **given)

        return call

    def over(self):
        """What GPUs held, and had to do, is lost with their process."""
        self.there = False
        for lost in (standin.WORK.queues, standin.contexts(), standin.LIVE):
            lost.clear()


@pytest.fixture
def fault(monkeypatch):
    made = Fault(monkeypatch)
    yield made
    made.over()


@pytest.mark.parametrize("devices", ["cuda", "cuda:0,1", "cuda:0,2"])
@pytest.mark.parametrize(
    "kernel",
    [
        "reset_kernel",
        "start_kernel",
        "message_kernel",
        "pull_kernel",
        "add_hub_sums_kernel",
        "apply_kernel",
        "copy_words_kernel",
    ],
)
def test_errors_that_stick(graphs, fault, devices, kernel):
    """After a fault every call of CUDA fails: the first error is told, and cleaning up raises nothing."""
    with ScheduledEngine(graphs[0].store, RunOptions(devices=[devices], batch_bytes=PAGE, cache="0")) as engine:
        engine.run(PageRank(tolerance=0.0), max_supersteps=1)
        fault.kernel = kernel
        for error in ("error 1 of the test", "it failed before"):
            with pytest.raises(DeviceError, match=rf"cuda:[012] \(stand-in\).*{error}.*There is no answer"):
                engine.run(PageRank(tolerance=0.0), max_supersteps=3)
    assert fault.errors > 2


def test_where_gpus_meet_a_fault_names_its_kernel(graphs, monkeypatch):
    """It shows first where the one that pulled marks how far it is."""
    launch, record, pulled = standin.Function.prepared_async_call, standin.Event.record, []

    def launched(function, *arguments, **given):
        launch(function, *arguments, **given)
        if function.name == "pull_kernel" and function.context.index == 2:
            pulled.append(function)

    def recorded(event, stream):
        if len(pulled) == 1 and event in marks:
            pulled.append(event)
            raise standin.LogicError("an illegal memory access, of the test")
        record(event, stream)

    with ScheduledEngine(graphs[0].store, RunOptions(devices=["cuda:0,2"])) as engine:
        engine.run(PageRank(tolerance=0.0), max_supersteps=2)
        arrive, marks = BatchQueue.arrive, []
        monkeypatch.setattr(BatchQueue, "arrive", lambda queue: (marks.append(queue.met.event), arrive(queue)))
        monkeypatch.setattr(standin.Function, "prepared_async_call", launched)
        monkeypatch.setattr(standin.Event, "record", recorded)
        with pytest.raises(DeviceError, match=r"cuda:[02] .*pull_kernel of PageRank.*memory access, of the test"):
            engine.run(PageRank(tolerance=0.0), max_supersteps=2)


class Death:
    """One GPU dies as it launches `kernel`: what it had queued is never done, and every call for it fails."""

    def __init__(self, monkeypatch, kernel):
        self.dead = None
        push, launch, do_one = standin.Context.push, standin.Function.prepared_async_call, standin.Scheduler.do_one

        def entered(context):
            if context.index == self.dead:
                raise standin.LogicError("an uncorrectable ECC error, of the test")
            push(context)

        def launched(function, *arguments, **given):
            launch(function, *arguments, **given)
            if function.name == kernel and function.context.index == 2:
                self.dead = 2

        def done(scheduler):
            ready = [queue for queue in scheduler.queues if queue.ready and queue.context.index != self.dead]
            if self.dead is None:
                return do_one(scheduler)
            if not ready:
                return False
            operation, _ = scheduler.random.choice(ready).operations.popleft()
            operation()
            return True

        monkeypatch.setattr(standin.Context, "push", entered)
        monkeypatch.setattr(standin.Function, "prepared_async_call", launched)
        monkeypatch.setattr(standin.Scheduler, "do_one", done)

    def over(self):
        self.dead = None
        for lost in (standin.WORK.queues, standin.contexts(), standin.LIVE):
            lost.clear()


@pytest.mark.parametrize("cache", ["0", "auto"])
@pytest.mark.parametrize("kernel", ["message_kernel", "pull_kernel", "apply_kernel"])
def test_nobody_waits_for_a_gpu_that_is_dead(graphs, monkeypatch, kernel, cache):
    """The other one's streams would: its device says which GPU it was, and cleans up without waiting."""
    with ScheduledEngine(graphs[0].store, RunOptions(devices=["cuda:0,2"], batch_bytes=PAGE, cache=cache)) as engine:
        engine.run(PageRank(tolerance=0.0), max_supersteps=2)
        death = Death(monkeypatch, kernel)
        with pytest.raises(
            DeviceError, match=r"cuda:2 \(stand-in\).*ECC error, of the test.*There is no answer"
        ) as said:
            engine.run(PageRank(tolerance=0.0), max_supersteps=4)
        assert said.value.gpu == 2
        death.over()


@pytest.mark.parametrize("devices", ["cuda", "cuda:0,1", "cuda:0,2"])
@pytest.mark.parametrize(
    "kernel",
    [
        "make_trees_kernel",
        "link_heads_kernel",
        "link_pages_kernel",
        "giant_kernel",
    ],
)
def test_errors_that_stick_in_components(graphs, fault, devices, kernel):
    heads = kernel != "link_pages_kernel"
    with gstream.open(graphs[0].store.path, devices=devices, use_heads=heads, batch_bytes=PAGE, cache="0") as graph:
        graph.wcc()
        fault.kernel = kernel
        for error in ("error 1 of the test", ""):
            with pytest.raises(DeviceError, match=rf"cuda:[012] \(stand-in\).*{error}.*There is no answer"):
                graph.wcc()
    assert fault.errors > 2


def test_a_full_gpu_says_so(graphs, monkeypatch):
    monkeypatch.setattr(standin.DRIVER, "mem_get_info", lambda: (1 << 20, 1 << 30))
    with ScheduledEngine(graphs[0].store, RunOptions(devices=["cuda"])) as engine:
        with pytest.raises(
            ResourceError, match="cuda:0 .*only 1048576 bytes of its memory are free. End other programs"
        ):
            engine.run(BFS(source=3))
