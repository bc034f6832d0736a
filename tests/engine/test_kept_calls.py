"""Every algorithm that sweeps: killed in any of its sweeps, it goes on to the same answer, here or elsewhere."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal

import numpy as np
import pytest
from kept_calls import CALLS, E, V, check_same, make_graphs

import gstream
from gstream.algorithms.components import scc
from gstream.algorithms.registry import ALGORITHMS
from gstream.engine import checkpoint_slots
from gstream.engine.checkpoint import Keeper
from gstream.engine.checkpoint_slots import SlotFolder
from gstream.engine.engine import Engine
from gstream.options.stopping import RunStopped, StopRequest
from pagestore.errors import InputError, ResourceError, UsageError
from tests.choice import few, seeds
from tests.torture.ordeals import in_child

WAYS = {
    "three threads": {"threads": 3},
    "two hosts": {"devices": ["host:2"]},
    "fakes": {"devices": ["fake:1:2"], "batch_bytes": 8192},
    "capped": {"host_memory": 0},  # as little as does
}


class Killed(Exception):
    pass


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    return make_graphs(tmp_path_factory.mktemp("stores"))


@pytest.fixture(autouse=True)
def searches(monkeypatch):
    """scc goes by searches and colours, as on larger graphs."""
    monkeypatch.setattr(scc, "AT_ONCE", 0)


def call(graphs, name, **options):
    kind, algorithm, own, given = CALLS[name]
    with gstream.open(graphs[kind], **{"devices": "host", **given}) as graph:
        return graph.execute(algorithm, own, **options)


def counted(monkeypatch, reached):
    """Call `reached` ahead of every sweep of a page kernel, and after every superstep of a program."""
    sweep = Engine.sweep

    def swept(self, *given, **named):
        reached()
        return sweep(self, *given, **named)

    monkeypatch.setattr(Engine, "sweep", swept)
    return {"progress": lambda number, step: reached()}


def sweeps_of(graphs, name):
    """How many sweeps and supersteps a call makes."""
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        given = counted(patch, lambda: seen.append(1))
        expected = call(graphs, name, threads=1, **given)
    return len(seen), expected


def killed_in(graphs, name, folder, sweep, **options):
    """A process that is killed in a sweep, by number."""

    def run():
        left = [sweep]

        def reached():
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        with pytest.MonkeyPatch.context() as patch:
            call(graphs, name, checkpoint=folder, checkpoint_every=1, **counted(patch, reached), **options)

    return in_child(run).code


def ended_at(graphs, name, folder, boundary, **options):
    """A call that dies right after it came to a boundary, by number; whether it came so far."""
    between, left = Keeper._between, [boundary]

    def passed(self, *given):
        between(self, *given)
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Keeper, "_between", passed)
        try:
            call(graphs, name, checkpoint=folder, checkpoint_every=1, **options)
        except Killed:
            return True
    return False


def test_every_algorithm_that_sweeps_is_tried():
    assert {CALLS[name][1] for name in CALLS} == {name for name, one in ALGORITHMS.items() if one.kept}
    assert {name for name, one in ALGORITHMS.items() if not one.kept} == {
        "degrees",
        "leiden",
        "louvain",
        "modularity",
        "stats",
    }


@pytest.mark.longer
@pytest.mark.parametrize("name", seeds(3, CALLS))
def test_killed_in_every_sweep(graphs, tmp_path, name):
    """With SIGKILL; one thread, so that sums are the same, too. It goes on twice: once more from its end."""
    sweeps, expected = sweeps_of(graphs, name)
    resumed = []
    for sweep in few([sweeps], range(1, sweeps + 1)):
        folder = tmp_path / "kept"
        assert killed_in(graphs, name, folder, sweep, threads=1) == -signal.SIGKILL, sweep
        for _ in range(2):
            found = call(graphs, name, checkpoint=folder, checkpoint_every=1, resume=True, threads=1)
            check_same(found, expected, True)
            resumed.append(found.summary["stats"]["kept"]["resumed"])
        assert set(os.listdir(folder)) <= {"slot-0", "slot-1"}
        shutil.rmtree(folder)
    assert any(resumed), "it went on from somewhere"


@pytest.mark.longer
@pytest.mark.parametrize("name", seeds(10, CALLS))
def test_goes_on_elsewhere(graphs, tmp_path, name):
    """From one thread to other threads, devices or caps, there and back."""
    expected = call(graphs, name, threads=1)
    for way in few([list(WAYS)[list(CALLS).index(name) % len(WAYS)]], WAYS):
        options, folder = WAYS[way], tmp_path / way
        if "host_memory" in options:
            with pytest.raises(ResourceError) as refused:
                call(graphs, name, checkpoint=tmp_path / "unused", host_memory=1)
            options = {"host_memory": 4 * int(re.search(r"(\d+) bytes are needed", str(refused.value))[1]) // 3}
        if not ended_at(graphs, name, folder, 2, threads=1):
            return
        ended_at(graphs, name, folder, 3, resume=True, **options)
        for given in ({"threads": 1}, options):
            found = call(graphs, name, checkpoint=folder, checkpoint_every=1, resume=True, **given)
            check_same(found, expected, False)
            assert found.summary["stats"]["kept"]["resumed"]


@pytest.mark.parametrize("name", ["mis", "closeness", "msf", "heat", "wcc, without heads"])
def test_a_stop_ends_the_sweep_and_keeps_it(graphs, tmp_path, name):
    expected, stop, asked = call(graphs, name, threads=1), StopRequest(), []
    between = Keeper._between

    def passed(self, *given):
        if not asked:
            asked.append(stop.ask())
        between(self, *given)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(RunStopped, match="Go on with resume=True"):
        patch.setattr(Keeper, "_between", passed)
        call(graphs, name, checkpoint=tmp_path, stop=stop, threads=1)
    assert asked == [True], "a sweep was under way"
    found = call(graphs, name, checkpoint=tmp_path, resume=True, threads=1)
    check_same(found, expected, True)
    assert found.summary["stats"]["kept"]["holds"]


def test_others_are_refused_by_name(graphs, tmp_path):
    """Of another algorithm, graph, option or input; nothing is replaced unasked."""
    assert ended_at(graphs, "kcore", tmp_path, 2)
    again = {"checkpoint": tmp_path, "resume": True}
    with gstream.open(graphs["directed"]) as graph:
        with pytest.raises(UsageError, match="its checkpoint is of kcore; this run is of mis. Name another folder"):
            graph.mis(**again)
        with pytest.raises(UsageError, match="is of a run with no k; this one has k=3. Pass the same, or start afresh"):
            graph.kcore(k=3, **again)
        with pytest.raises(UsageError, match="holds a checkpoint of kcore after superstep 2. Pass resume=True"):
            graph.mis(checkpoint=tmp_path)
    with gstream.open(graphs["undirected"]) as graph:
        with pytest.raises(UsageError, match="its checkpoint is of the store with UUID "):
            graph.kcore(**again)
        assert graph.kcore(checkpoint=tmp_path, replace_checkpoint=True).summary["converged"]


def test_options_by_which_no_program_runs_are_others(graphs, tmp_path):
    with gstream.open(graphs["directed"], checkpoint=tmp_path, checkpoint_every=1) as graph:
        graph.khop(source=7, radius=3)
        with pytest.raises(UsageError, match="with undirected=False; this one has undirected=True. Pass the same"):
            graph.khop(source=7, radius=3, undirected=True, resume=True)
        graph.khop(source=7, radius=3, undirected=True, replace_checkpoint=True)
        with pytest.raises(UsageError, match="with undirected=True; this one has undirected=False. Pass the same"):
            graph.khop(source=7, radius=3, resume=True)


def test_input_that_has_changed_is_refused(graphs, tmp_path):
    nodes = tmp_path / "nodes.txt"
    nodes.write_text("\n".join(map(str, range(40))))
    given = {"checkpoint": tmp_path / "kept", "checkpoint_every": 1}
    with gstream.open(graphs["directed"]) as graph:
        expected = graph.subgraph(nodes=nodes, **given)
        check_same(graph.subgraph(nodes=nodes, resume=True, **given), expected, True)
        nodes.write_text("\n".join(map(str, range(30))))
        said = "its checkpoint is of subgraph, whose input, a file that it reads, has changed since"
        with pytest.raises(UsageError, match=said):
            graph.subgraph(nodes=nodes, resume=True, **given)


@pytest.mark.parametrize(
    ("name", "limit", "less", "more"),
    [("cdlp", "iterations", 1, 30), ("hits", "max_iter", 1, 300), ("khop", "radius", 1, 9)],
)
def test_what_says_when_it_ends_may_change(graphs, tmp_path, name, limit, less, more):
    kind, algorithm, own, _ = CALLS[name]
    assert ended_at(graphs, name, tmp_path, 2)
    with gstream.open(graphs[kind], checkpoint=tmp_path, resume=True, threads=1) as graph:
        with pytest.raises(
            UsageError, match=f"is of superstep 2, and this run is to end after {less}. Raise that limit"
        ):
            graph.execute(algorithm, own | {limit: less})
        found = graph.execute(algorithm, own | {limit: more})
        check_same(found, graph.execute(algorithm, own | {limit: more}, checkpoint=None, resume=False), True)


@pytest.mark.parametrize("name", ["coloring", "closeness", "radius"])
def test_a_full_disk_leaves_the_slot_before(graphs, tmp_path, monkeypatch, name):
    expected = call(graphs, name, threads=1)
    assert ended_at(graphs, name, tmp_path, 2, threads=1)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(*given):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint_slots, "write_from", full)
        with pytest.raises(ResourceError, match="whole in .*: the same command with resume=True goes on from"):
            call(graphs, name, checkpoint=tmp_path, checkpoint_every=1, resume=True, threads=1)
    assert before and {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    check_same(call(graphs, name, checkpoint=tmp_path, resume=True, threads=1), expected, True)


def test_a_full_disk_in_a_search_of_scc_is_no_reason_to_search_no_more(graphs, tmp_path, monkeypatch):
    def full(*given):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(checkpoint_slots, "write_from", full)
    with pytest.raises(ResourceError, match="holds no checkpoint yet"):
        call(graphs, "scc", checkpoint=tmp_path, checkpoint_every=1)


@pytest.mark.parametrize("changed", [{"rounds": "2"}, {"rounds": 2.5}, {}, {"rounds": None}])
def test_numbers_that_no_run_wrote(graphs, tmp_path, changed):
    assert ended_at(graphs, "mis", tmp_path, 2)
    with SlotFolder(tmp_path) as slots:
        found = slots.newest()
        found.description["own"]["numbers"] = changed
        slots.write(found.description, found.arrays)
    with pytest.raises(InputError, match="is no checkpoint of this graph and algorithm. Start afresh"):
        call(graphs, "mis", checkpoint=tmp_path, resume=True)


def test_arrays_of_another_length_or_version(graphs, tmp_path):
    assert ended_at(graphs, "mis", tmp_path, 2)
    with SlotFolder(tmp_path) as slots:
        found = slots.newest()
        slots.write(found.description, {"own/state": found.arrays["own/state"][:-1]})
    with pytest.raises(InputError, match="is no checkpoint of this graph and algorithm"):
        call(graphs, "mis", checkpoint=tmp_path, resume=True)
    with SlotFolder(tmp_path) as slots:
        found.description["own"]["gstream"] = "0.0.0"
        slots.write(found.description, found.arrays)
    with pytest.raises(UsageError, match="its checkpoint is of another version of gstream"):
        call(graphs, "mis", checkpoint=tmp_path, resume=True)


def test_a_damaged_slot_costs_sweeps_not_the_answer(graphs, tmp_path):
    expected = call(graphs, "coloring")
    assert ended_at(graphs, "coloring", tmp_path, 4)
    with SlotFolder(tmp_path) as slots:
        newer = slots.newest().path
    data = bytearray(newer.read_bytes())
    data[-5] ^= 1
    newer.write_bytes(data)
    found = call(graphs, "coloring", checkpoint=tmp_path, resume=True)
    check_same(found, expected, True)
    kept = found.summary["stats"]["kept"]
    assert kept["resumed"] == 3 and f"{newer} fails its checksum" in kept["damaged"]


class Spans:
    def __init__(self):
        self.names = []

    def span(self, process, track, name, start_s, end_s):
        if track == "checkpoints":
            assert process == "disk" and start_s <= end_s
            self.names.append(name)


def test_traces_show_checkpoints(graphs, tmp_path):
    assert ended_at(graphs, "mis", tmp_path, 1)
    spans = Spans()
    found = call(graphs, "mis", checkpoint=tmp_path, checkpoint_every=1, resume=True, trace=spans)
    last = found.summary["supersteps"]
    written = [f"write a checkpoint, superstep {number}" for number in range(2, last + 1)]
    assert spans.names == ["read a checkpoint, superstep 1", *written]


@pytest.mark.parametrize("name", seeds(10, CALLS))
def test_what_is_declared_is_what_is_kept(graphs, tmp_path, name):
    """The least number of bytes a vertex, or an edge, and bits of all of them."""
    call(graphs, name, checkpoint=tmp_path, checkpoint_every=1)
    said = ALGORITHMS[CALLS[name][1]].kept
    sizes = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", said.partition(":")[0])]
    count = E + 50 if "an edge" in said else V
    with SlotFolder(tmp_path) as folder:
        taken = sum(array.nbytes for array in folder.newest().arrays.values())
    hops = 60 * 2 if name == "radius" else 0
    assert min(sizes) * count <= taken * 1.1 + 64 and taken <= (max(sizes) + 2 + hops) * count + 512


def test_plans_count_what_is_kept(graphs, tmp_path):
    """Arrays are read back into themselves, so an algorithm's take nothing more; the values of a program do."""

    def least(name, **options):
        with pytest.raises(ResourceError) as refused:
            call(graphs, name, host_memory=1, **options)
        return int(re.search(r"(\d+) bytes are needed", str(refused.value))[1])

    for name in ("mis", "coloring", "kcore", "msf", "levels"):
        need = least(name)
        assert least(name, checkpoint=tmp_path / name) == need
        expected = call(graphs, name)
        assert ended_at(graphs, name, tmp_path / name, 2, host_memory=need)
        found = call(graphs, name, checkpoint=tmp_path / name, resume=True, host_memory=need)
        check_same(found, expected, True)
        assert found.summary["stats"]["peak_memory_bytes"] <= need
    assert least("neural", checkpoint=tmp_path / "neural") - least("neural") >= 8 * V


def test_a_folder_without_room_is_refused_before_the_first_sweep(graphs, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: (1000, 0, 100))
    given = counted(monkeypatch, lambda: None)
    with pytest.raises(ResourceError, match="100 bytes are free there; two checkpoints of"):
        call(graphs, "mis", checkpoint=tmp_path / "kept", **given)
    assert np.all([not path.name.startswith("slot") for path in tmp_path.iterdir()])
