"""Checkpoints: a run that ends after any superstep goes on, on any devices, to the same answer; others are refused."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from engine_graphs import Balance, Least, make_store, skewed_edges

from gstream.devices.job import DeviceMemoryError
from gstream.engine.checkpoint import Keeper
from gstream.engine.checkpoint_slots import SlotFolder
from gstream.engine.engine import Engine
from gstream.engine.program_state import hash_of
from gstream.options.run_options import RunOptions
from gstream.options.stopping import Every, RunStopped, StopRequest
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from gstream.programs.sssp import SSSP
from gstream.programs.wcc import WCC
from pagestore.errors import InputError, ResourceError, UsageError

V, E, CHAIN = 2000, 16000, 8
PROGRAMS = {
    "bfs": (lambda: BFS(source=7), None),
    "sssp": (lambda: SSSP(source=7), None),
    "labels": (WCC, None),
    "pagerank": (lambda: PageRank(tolerance=1e-3), 50),
    "balance": (Balance, 4),
}
WAYS = {
    "host": {},
    "two hosts": {"devices": ["host:2"]},
    "chunks": {"chunk_vertices": 640},
    "push": {"direction": "push"},
    "from disk": {"host_memory": 250_000, "batch_bytes": 8192},
    "fake": {"devices": ["fake:1"], "streams": 3, "batch_bytes": 8192},
    "three fakes by chunks": {"devices": ["fake:3:3"], "chunk_vertices": 192, "batch_bytes": 4096, "streams": 2},
}  # fmt: skip


class Killed(Exception):
    pass


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """With a chain at its end, against the order of pages: what is relaxed in place takes a superstep an edge, too."""
    source, target = skewed_edges(V - CHAIN, E, seed=3)
    source = np.concatenate([source, [7], np.arange(V - 1, V - CHAIN, -1)])
    target = np.concatenate([target, np.arange(V - 1, V - CHAIN - 1, -1)])
    weight = np.random.default_rng(4).integers(1, 60, len(source)).astype(np.float64)
    with make_store(tmp_path_factory.mktemp("stores"), source, target, weight, vertices=V) as made:
        yield made


@pytest.fixture(scope="module")
def whole(store):
    """What runs give that nothing ends."""

    def run(name):
        program, limit = PROGRAMS[name]
        with Engine(store, RunOptions(threads=1)) as engine:
            return engine.run(program(), limit)

    return {name: run(name) for name in PROGRAMS}


def run(store, name, folder, **options):
    program, limit = PROGRAMS[name]
    with Engine(store, RunOptions(checkpoint=folder, **options)) as engine:
        return engine.run(program(), limit)


def run_until(store, name, folder, superstep, **options):
    """A run that dies in a superstep; with a checkpoint after each it leaves that of the one before."""

    def die(number, step):
        if number == superstep:
            raise Killed

    with pytest.raises(Killed):
        run(store, name, folder, checkpoint_every=1, progress=die, **options)


def check(name, found, expected):
    if name == "pagerank":
        np.testing.assert_allclose(found.value, expected.value, rtol=1e-6)
    else:
        assert found.value.tobytes() == expected.value.tobytes()
    assert found.totals == pytest.approx(expected.totals, rel=1e-4)
    assert found.converged == expected.converged


@pytest.mark.parametrize("name", PROGRAMS)
def test_killed_in_every_superstep(store, whole, tmp_path, name):
    """One thread: what is relaxed in place then takes the same supersteps each time."""
    expected = whole[name]
    assert expected.supersteps >= 4
    assert any(step.held for step in expected.stats.per_superstep) == (name == "sssp"), "near first"
    for superstep in range(1, expected.supersteps + 1):
        run_until(store, name, tmp_path / str(superstep), superstep, threads=1)
        found = run(store, name, tmp_path / str(superstep), resume=True, threads=1)
        check(name, found, expected)
        assert found.supersteps == expected.supersteps
        assert len(found.stats.per_superstep) == expected.supersteps - superstep + 1
        assert found.stats.kept.resumed == (superstep - 1 or None)
        if name != "pagerank":
            steps = expected.stats.per_superstep[superstep - 1 :]
            assert [s.frontier for s in found.stats.per_superstep] == [s.frontier for s in steps]
            assert [s.held for s in found.stats.per_superstep] == [s.held for s in steps]


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("way", WAYS)
def test_goes_on_elsewhere(store, whole, tmp_path, name, way):
    """From each way to another, there and back."""
    names = list(WAYS)
    other = names[(names.index(way) + 3) % len(names)]
    folder = tmp_path / "kept"
    run_until(store, name, folder, 3, **WAYS[way])
    run_until(store, name, folder, 4, resume=True, **WAYS[other])
    check(name, run(store, name, folder, resume=True, **WAYS[way]), whole[name])


def test_a_stop_is_heeded_after_the_superstep(store, whole, tmp_path):
    stop = StopRequest()

    def ask(number, step):
        if number == 2:
            assert stop.ask()

    with pytest.raises(RunStopped, match="after superstep 2. Go on with --resume") as caught:
        run(store, "sssp", tmp_path, stop=stop, progress=ask)
    assert caught.value.superstep == 2
    assert not stop.ask(), "no run is under way"
    found = run(store, "sssp", tmp_path, resume=True)
    check("sssp", found, whole["sssp"])
    assert found.stats.kept.resumed == 2
    assert not stop.heeded


def test_a_stop_before_the_run_keeps_its_start(store, whole, tmp_path):
    """A handler's exception may be lost where Python ignores it: the request is not."""
    for name in ("sssp", "pagerank"):
        stop = StopRequest()
        assert not stop.ask()
        with pytest.raises(RunStopped, match="after superstep 0"):
            run(store, name, tmp_path / name, stop=stop)
        found = run(store, name, tmp_path / name, resume=True)
        check(name, found, whole[name])
        assert found.stats.kept.resumed == 0


def test_a_stop_in_the_last_superstep_keeps_the_answer(store, whole, tmp_path):
    stop, last = StopRequest(), whole["bfs"].supersteps
    with pytest.raises(RunStopped):
        run(store, "bfs", tmp_path, stop=stop, progress=lambda number, step: number == last and stop.ask())
    found = run(store, "bfs", tmp_path, resume=True)
    check("bfs", found, whole["bfs"])
    assert found.stats.per_superstep == [] and found.supersteps == last


def test_how_often(store, whole, tmp_path):
    steps = whole["sssp"].supersteps
    for every, written in ((1, steps), (3, steps // 3 + (steps % 3 > 0)), ("0s", steps), ("1h", 0), (None, 0)):
        folder = tmp_path / str(every)
        kept = run(store, "sssp", folder, checkpoint_every=every, threads=1).stats.kept
        assert kept.written == written
        assert (kept.bytes > 0) == (kept.seconds > 0) == folder.exists() == (written > 0)


def test_what_is_kept_at_the_end_gives_the_answer_at_once(store, whole, tmp_path):
    run(store, "labels", tmp_path, checkpoint_every=2)
    found = run(store, "labels", tmp_path, resume=True)
    check("labels", found, whole["labels"])
    assert found.stats.per_superstep == [] and found.stats.kept.written == 0


def test_an_iteration_may_go_on_further(store, tmp_path):
    with Engine(store, RunOptions(checkpoint=tmp_path, checkpoint_every=2)) as engine:
        engine.run(PageRank(tolerance=0.0), 4)
    with Engine(store, RunOptions(checkpoint=tmp_path, resume=True)) as engine:
        found = engine.run(PageRank(tolerance=0.0), 9)
        with pytest.raises(UsageError, match="is of superstep 9, and this run is to end after 3. Raise that limit"):
            engine.run(PageRank(tolerance=0.0), 3)
    with Engine(store) as engine:
        expected = engine.run(PageRank(tolerance=0.0), 9)
    np.testing.assert_allclose(found.value, expected.value, rtol=1e-6)
    assert len(found.stats.per_superstep) == 5


def test_a_damaged_slot_costs_supersteps_not_the_answer(store, whole, tmp_path):
    run_until(store, "sssp", tmp_path, 5)
    newer = tmp_path / "slot-1"  # of superstep 4
    data = bytearray(newer.read_bytes())
    data[len(data) // 2] ^= 4
    newer.write_bytes(data)
    found = run(store, "sssp", tmp_path, resume=True)
    check("sssp", found, whole["sssp"])
    assert (found.stats.kept.resumed, found.stats.kept.slot) == (3, "slot-0")
    assert f"{newer} fails its checksum" in found.stats.kept.damaged
    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match="no checkpoint can be read: .*slot-0 was cut; .*slot-1 was cut. Start afresh"):
        run(store, "sssp", tmp_path, resume=True)


def test_nothing_is_replaced_unasked(store, whole, tmp_path):
    run_until(store, "sssp", tmp_path, 4)
    for name in ("sssp", "bfs"):
        with pytest.raises(UsageError, match="holds a checkpoint of SSSP after superstep 3. Pass --resume to go on"):
            run(store, name, tmp_path)
    found = run(store, "bfs", tmp_path, replace_checkpoint=True)
    check("bfs", found, whole["bfs"])
    assert list(tmp_path.iterdir()) == []
    found = run(store, "bfs", tmp_path, resume=True)
    check("bfs", found, whole["bfs"])
    assert found.stats.kept.resumed is None


@pytest.mark.parametrize(
    "changed",
    [
        {"state": None}, {"state": []}, {"state": {}}, {"store": 3}, {"program": None}, {"options": []}, {"hash": []},
        {"parameters": None}, {"run": {}},
    ],
)  # fmt: skip
def test_descriptions_with_right_checksums_that_no_run_wrote(store, tmp_path, changed):
    run_until(store, "sssp", tmp_path, 4)
    with SlotFolder(tmp_path) as slots:
        found = slots.newest()
        slots.write({**found.description, **changed}, found.arrays)
    with pytest.raises(InputError, match="is no checkpoint of gstream's. Start afresh: pass --force"):
        run(store, "sssp", tmp_path, resume=True)
    with pytest.raises(UsageError, match="holds a checkpoint of .* after superstep"):
        run(store, "sssp", tmp_path)


@pytest.mark.parametrize(
    "changed",
    [
        {"superstep": "4"}, {"superstep": True}, {"pulled": 1}, {"near_step": "x"}, {"last_vertices": 0.5}, {"more": 1},
        {"order_step": 3}, {"order_limit": "x"},
    ],
)  # fmt: skip
def test_states_that_no_run_wrote(store, tmp_path, changed):
    run_until(store, "sssp", tmp_path, 4)
    with SlotFolder(tmp_path) as slots:
        found = slots.newest()
        found.description["state"].update(changed)
        slots.write(found.description, found.arrays)
    with pytest.raises(InputError, match="is no checkpoint of gstream's. Start afresh: pass --force"):
        run(store, "sssp", tmp_path, resume=True)


class Same(Least):
    def start(self, v, g):
        return v.id + self.bias  # a comment is no change


class Other(Least):
    def start(self, v, g):
        return v.id + self.bias + 1


def test_the_hash_is_of_what_is_computed():
    assert hash_of(Same) == hash_of(Least) != hash_of(Other)
    assert len({hash_of(cls) for cls in (Least, Other, BFS, SSSP, WCC, PageRank)}) == 6


def test_others_are_refused(store, tmp_path):
    def attempt(program, on=store):
        with Engine(on, RunOptions(checkpoint=tmp_path / "kept", resume=True, checkpoint_every=1)) as engine:
            return engine.run(program)

    attempt(Least(bias=3))
    assert attempt(Least(bias=3)).stats.kept.resumed
    with pytest.raises(UsageError, match="is of a run with bias=3; this one has bias=4. Pass the same, or start"):
        attempt(Least(bias=4))
    with pytest.raises(UsageError, match="its checkpoint is of Least; this run is of BFS. Name another folder"):
        attempt(BFS(source=7))
    Other.__name__ = "Least"
    with pytest.raises(
        UsageError, match="its checkpoint is of Least, whose text has changed since. Name another folder"
    ):
        attempt(Other(bias=3))
    source, target = skewed_edges(V, E, seed=5)
    with (
        make_store(tmp_path / "stores", source, target, vertices=V) as another,
        pytest.raises(UsageError, match=f"UUID {store.meta.uuid}; this one's is {another.meta.uuid} .gstream info"),
    ):
        attempt(Least(bias=3), another)
    shutil.rmtree(tmp_path / "kept")
    assert attempt(Least(bias=3)).stats.kept.resumed is None


def test_arrays_are_told_apart(store, tmp_path):
    from gstream.programs.pagerank import PersonalizedPageRank

    def attempt(preference):
        with Engine(store, RunOptions(checkpoint=tmp_path, resume=True, checkpoint_every=1)) as engine:
            return engine.run(PersonalizedPageRank(preference=preference, tolerance=0.0), 3)

    preference = np.full(V, 1 / V)
    attempt(preference)
    assert attempt(preference.copy()).stats.kept.resumed == 3
    preference[5] *= 1.5
    with pytest.raises(UsageError, match="preference=array"):
        attempt(preference)


def test_two_runs_and_one_folder(store, tmp_path):
    def second(number, step):
        with pytest.raises(UsageError, match="another run writes its checkpoints there now"):
            run(store, "bfs", tmp_path)
        raise Killed

    with pytest.raises(Killed):
        run(store, "bfs", tmp_path, progress=second)


def test_a_folder_that_can_not_be_is_refused_before_the_run(store, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="Name a folder"):
        run(store, "bfs", Path(tmp_path / "file"), progress=lambda number, step: pytest.fail("it ran"))


def test_the_default_takes_a_twentieth_of_the_time_at_most(monkeypatch, tmp_path):
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    for seconds, waits in ((0.0, 60.0), (2.0, 60.0), (30.0, 600.0)):
        keeper = Keeper(SlotFolder(tmp_path), {}, Every(), None)
        keeper.begin(0)
        keeper.kept.written, keeper.kept.seconds = 2, 2 * seconds
        now[0] += waits - 0.1
        assert not keeper._due(5)
        now[0] += 0.2
        assert keeper._due(5)
        keeper.slots.close()


def test_another_attempt_with_less_memory_goes_on(store, whole, tmp_path):
    """Where a device runs out of memory in a superstep, what was kept before is not made again."""
    for resume in (False, True):
        folder, seen = tmp_path / str(resume), []
        if resume:
            run_until(store, "sssp", folder, 3, devices=["fake:1"])

        def progress(number, step, seen=seen):
            seen.append(number)
            if seen.count(4) == 1 and number == 4:
                raise DeviceMemoryError("no room")

        given = {"checkpoint_every": 1, "resume": resume, "progress": progress, "devices": ["fake:1"]}
        check("sssp", run(store, "sssp", folder, **given), whole["sssp"])
        assert seen[: seen.index(4) + 2] == [*range(3 if resume else 1, 5), 4]


@pytest.mark.parametrize("way", ["host", "two hosts", "chunks", "fake"])
@pytest.mark.parametrize("name", ["bfs", "pagerank"])
def test_host_memory_counts_what_checkpoints_take(store, tmp_path, name, way):
    """Bitmaps, and the values that are gone on from, unless the answer takes as much afterwards."""

    def least(**options):
        with Engine(store, RunOptions(host_memory=1000, **options)) as engine:
            with pytest.raises(ResourceError) as refused:
                engine.run(PROGRAMS[name][0]())
        return int(re.search(r"(\d+) bytes are needed", str(refused.value)).group(1))

    program, values = PROGRAMS[name][0](), 4 * V
    options = WAYS[way]
    with Engine(store, RunOptions(**options)) as engine:
        without = engine.plan(program).host_bytes
    with Engine(store, RunOptions(checkpoint=tmp_path, **options)) as engine:
        held = engine.plan(program).host_bytes
    bits = 2 * 8 * -(-V // 64)
    assert held.pop("checkpoint") == bits + (values if way != "fake" else 0)
    assert held == without
    if way != "fake":
        assert least(checkpoint=tmp_path, **options) == least(**options) + bits + values
