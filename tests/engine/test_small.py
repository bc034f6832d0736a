"""Supersteps that the host's cores make without the driver are those that it would have made, one by one."""

from __future__ import annotations

from dataclasses import astuple, replace

import choice
import numpy as np
import pytest
from engine_graphs import skewed_edges
from hypothesis import given, settings
from hypothesis import strategies as st
from written import program

from gstream.algorithms.support.session import Session
from gstream.engine import one_thread
from gstream.engine import small_frontier as small
from gstream.engine.engine import Engine
from gstream.engine.own_slices import host_vertices
from gstream.engine.run import Run
from gstream.hostcode.bitmaps import bitmap, set_bits
from gstream.hostcode.small_frontier import list_active
from gstream.options.run_options import RunOptions
from gstream.options.stopping import RunStopped, StopRequest
from gstream.programs.bfs import BFS, BFSBack
from gstream.programs.sssp import SSSP
from gstream.programs.widest import Widest
from gstream.telemetry.trace import ChromeTrace
from pagestore.memory import convert_arrays
from pagestore.store import open_store

KINDS = {
    "directed": {"order": "degree"}, "undirected": {"order": "degree", "directed": False},
    "natural order": {"order": "natural"}, "out alone": {"order": "degree", "topology": "out"},
    "columns": {"order": "degree", "columns": 8}, "in alone": {"order": "natural", "topology": "in"},
}  # fmt: skip
LEVELS = ("bfs", "back", "numbered")  # each superstep is a set; of others values spread within one, as lists are taken
ENDS = "\ndef done(self, v): return v.value != INF\n"
MADE = {
    "bfs": lambda source, folder: BFS(source=source),
    "back": lambda source, folder: BFSBack(source=source),
    "sssp": lambda source, folder: SSSP(source=source),
    "widest": lambda source, folder: Widest(source=source),
    "labels": lambda source, folder: program(folder, start="v.id", send="u.value")(),
    "numbered": lambda source, folder: program(
        folder, start=f"0 if v.id == {source} else INF", send="g.superstep", rest=ENDS
    )(),
}


def write(path, kind, source, target, vertices, page_bytes=4096, **more):
    weight = np.random.default_rng(6).integers(1, 100, len(source)).astype(np.float64)
    more.update(KINDS[kind], vertices=vertices, page_bytes=page_bytes)
    convert_arrays(path, source, target, weight=weight, **more)
    return path


@pytest.fixture(scope="module", params=choice.seeds(2, KINDS))
def store(request, tmp_path_factory):
    """Of a long path with a web at its end, whose hub has large pages: frontiers of one vertex, many, and few again."""
    source, target = skewed_edges(3000, 40_000, 5)
    path = np.arange(3000, 3400)
    source, target = np.concatenate([source, path]), np.concatenate([target, np.append(path[1:], 7)])
    written = write(tmp_path_factory.mktemp("small") / "graph.gs", request.param, source, target, 3400)
    with open_store(written) as store:
        yield store


@pytest.fixture
def usual(monkeypatch, most_edges):
    monkeypatch.setattr(small, "MOST_EDGES", most_edges)


@pytest.fixture
def driver_steps(monkeypatch):
    """The pages of each superstep that the driver made whole."""
    made, join = [], Run.join
    monkeypatch.setattr(Run, "join", lambda run, *given: made.append(given[1]) or join(run, *given))
    return made


def by_the_driver(engine, made, **given):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gstream.engine.small_frontier.SmallFrontier.applies", lambda run: False)
        return engine.run(made, **given)


def told(outcome, stored=True):
    """Each superstep but for its times, its pages, which the driver counts by their first and last vertices, and the
    edges of a pull, whose threads see more or less of each other. Not stored: the driver pulls where one thread pushes
    along lists that it turned round."""
    unlike = dict.fromkeys(("seconds", "compile_seconds", "pages", "bytes_moved", "bytes_read", "timed"), 0)
    unlike |= {} if stored else {"direction": ""}
    told = outcome.stats.per_superstep
    looked = [step.edges_visited * (stored and step.direction == "push") for step in told]
    return [astuple(replace(step, **unlike, edges_visited=n)) for step, n in zip(told, looked, strict=True)]


@pytest.mark.covering(1)
@pytest.mark.parametrize("devices", ["host", "host:2"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", choice.seeds(3, MADE))
@pytest.mark.parametrize("source", [3000, 3, 1500])
def test_they_are_the_drivers(store, usual, driver_steps, tmp_path, kind, source, threads, devices):
    made, stored = MADE[kind](source, tmp_path), store.has("in" if kind == "back" else "out")
    with Engine(store, RunOptions(threads=threads, devices=devices)) as engine:
        expected = by_the_driver(engine, made)
        assert len(driver_steps) == expected.supersteps
        for _ in range(2):
            driver_steps.clear()
            found = engine.run(made)
            assert found.value.tobytes() == expected.value.tobytes() and found.converged
            assert len(steps := found.stats.per_superstep) == found.supersteps
            assert found.stats.loop_seconds > 0 and all(step.seconds >= 0 for step in steps)
            assert sum(step.edges_visited for step in steps) == found.stats.edges_visited
            assert sum(step.pages for step in steps) == found.stats.pages_moved
            if kind in LEVELS:
                assert told(found, stored) == told(expected, stored)
                for here, there in zip(steps, expected.stats.per_superstep, strict=True):
                    assert here.pages <= there.pages
        if kind != "labels" and source == 3000 and kind != "back":
            assert found.supersteps > 400 and len(driver_steps) < 40
            assert [sum(step.timed for step in run.stats.per_superstep) < 100 for run in (found, expected)] == [1, 0]


@pytest.mark.covering(1)
@pytest.mark.parametrize("limit", [0, 1, 2, 3, 50, 1000])
def test_no_more_than_asked_for(store, usual, limit):
    with Engine(store) as engine:
        for _ in range(2):
            found = engine.run(BFS(source=3000), max_supersteps=limit)
            expected = by_the_driver(engine, BFS(source=3000), max_supersteps=limit)
            assert found.value.tobytes() == expected.value.tobytes()
            assert (found.supersteps, found.converged) == (expected.supersteps, expected.converged)
            assert told(found, store.has("out")) == told(expected, store.has("out"))


def test_progress_is_told_of_each(store, usual):
    seen = []
    with Engine(store, RunOptions(progress=lambda number, step: seen.append((number, step.frontier)))) as engine:
        outcome = engine.run(BFS(source=3000))
    assert [number for number, _ in seen] == list(range(1, outcome.supersteps + 1))
    assert [vertices for _, vertices in seen] == [step.frontier for step in outcome.stats.per_superstep]


def test_pages_that_were_not_read_are_left_to_the_driver(tmp_path, usual, driver_steps):
    """What lies in their rows is no page; a hub's large pages are looked for, too."""
    ring = np.arange(20_000)
    ends = np.append(ring, np.full(3000, 9)), np.append((ring + 1) % 20_000, np.arange(3000) * 5)
    path = write(tmp_path / "ring.gs", "natural order", *ends, 20_000)
    with open_store(path) as store, Engine(store) as engine:
        found = engine.run(BFS(source=5))
        cold = len(driver_steps)
        again = engine.run(BFS(source=5))
        assert 3 <= cold < found.supersteps and found.value.tobytes() == again.value.tobytes()
        assert len(driver_steps) - cold < cold
    with open_store(path) as store, Engine(store) as engine:
        assert by_the_driver(engine, BFS(source=5)).value.tobytes() == found.value.tobytes()


AWAY = ({"chunk_vertices": 512}, {"host_memory": "180KiB"})


@pytest.mark.parametrize("store", [kind for kind in KINDS if kind != "in alone"], indirect=True)
@pytest.mark.parametrize("options", AWAY, ids=str)
def test_not_where_values_or_pages_come_and_go(store, usual, driver_steps, options):
    with Engine(store, RunOptions(direction="push", **options)) as engine:
        found = engine.run(BFS(source=3000))
    assert len(driver_steps) >= found.supersteps > 400


def grid(side, weights):
    """Both ways, weights drawn from a seed."""
    place = np.arange(side * side).reshape(side, side)
    source = np.concatenate((place[:, :-1].ravel(), place[:-1].ravel()))
    target = np.concatenate((place[:, 1:].ravel(), place[1:].ravel()))
    return source, target, np.random.default_rng(8).integers(*weights, len(source)).astype(np.float64)


@pytest.mark.parametrize("weights", [(1, 256), (0, 2), (0, 1)])
@pytest.mark.parametrize("kind", ["sssp", "widest"])
def test_least_values_send_first(tmp_path, usual, driver_steps, monkeypatch, kind, weights):
    """Then edges are looked at about once; however few may wait, the values are the driver's."""
    source, target, weight = grid(60, weights)
    convert_arrays(tmp_path / "grid.gs", source, target, weight=weight, directed=False, page_bytes=4096)
    with open_store(tmp_path / "grid.gs") as store, Engine(store) as engine:
        expected = by_the_driver(engine, MADE[kind](0, tmp_path))
        driver_steps.clear()
        found = engine.run(MADE[kind](0, tmp_path))
        assert found.value.tobytes() == expected.value.tobytes() and not driver_steps
        assert found.stats.edges_visited < (2.5 if kind == "sssp" else 5) * store.meta.edges
        assert any(step.held for step in found.stats.per_superstep) == (weights != (0, 1))
        for most in (0, 1, 40):
            monkeypatch.setattr(small, "MOST_WAITING", most)
            assert engine.run(MADE[kind](0, tmp_path)).value.tobytes() == expected.value.tobytes()


class Lost(Exception):
    pass


@pytest.mark.long
@pytest.mark.parametrize("most", [small.MOST_WAITING, 40])
@pytest.mark.parametrize("kind", ["sssp", *choice.also("widest")])
def test_a_run_that_goes_on_has_the_same_supersteps(tmp_path, monkeypatch, kind, most):
    """As one that nothing ends: each sends as many, and as many wait, whichever pages are in memory."""
    monkeypatch.setattr(small, "MOST_WAITING", most)
    source, target, weight = grid(20, (1, 256))
    convert_arrays(tmp_path / "grid.gs", source, target, weight=weight, directed=False, page_bytes=4096)

    def run(**options):
        with Engine(store, RunOptions(threads=1, **options)) as engine:
            return engine.run(MADE[kind](0, tmp_path))

    def die(number, step):
        if number == superstep:
            raise Lost

    with open_store(tmp_path / "grid.gs") as store:
        expected = run()
        assert sum(step.held for step in expected.stats.per_superstep) > 100
        for superstep in [1, 2, 3, 5, 8, *range(9, expected.supersteps + 1, 20)]:
            kept = {"checkpoint": tmp_path / str(superstep), "checkpoint_every": 1}
            with pytest.raises(Lost):
                run(**kept, progress=die)
            found = run(**kept, resume=True)
            assert found.value.tobytes() == expected.value.tobytes() and found.supersteps == expected.supersteps
            steps = expected.stats.per_superstep[superstep - 1 :]
            assert [astuple(step)[:2] for step in found.stats.per_superstep] == [astuple(step)[:2] for step in steps]
            assert [step.held for step in found.stats.per_superstep] == [step.held for step in steps]


def test_pages_are_read_between_them(tmp_path, usual, driver_steps):
    """Those that have yet to be read take no superstep of the driver's: whoever waits would send in it, too."""
    source, target, weight = grid(60, (1, 256))
    convert_arrays(tmp_path / "grid.gs", source, target, weight=weight, directed=False, page_bytes=4096)
    with open_store(tmp_path / "grid.gs") as store, Engine(store) as engine:
        cold, warm = (engine.run(SSSP(source=0)) for _ in range(2))
        assert not driver_steps and cold.supersteps == warm.supersteps
        assert sum(step.bytes_read for step in cold.stats.per_superstep) == engine.sources.bytes_read > 0


def test_long_runs_tell_of_many_supersteps_at_once(tmp_path, usual, driver_steps, monkeypatch):
    """Supersteps, edges and progress add up; a path takes as many supersteps as it has vertices, and no more edges."""
    monkeypatch.setattr(small, "WORK", 900)
    seen, path = [], np.arange(5000)
    convert_arrays(tmp_path / "path.gs", path, path + 1, page_bytes=4096)
    options = RunOptions(progress=lambda number, step: seen.append((number, step.supersteps)))
    with open_store(tmp_path / "path.gs") as store, Engine(store, options) as engine:
        engine.run(BFS(source=0))
        driver_steps.clear(), seen.clear()
        found = engine.run(BFS(source=0))
    assert found.value.tolist() == list(range(5001)) and found.supersteps == 5001
    assert len(driver_steps) < 20 and found.stats.supersteps == 5001 and found.stats.edges_visited < 5100
    assert len(found.stats.per_superstep) < one_thread.TOLD + 40 and all(n == 1 for _, n in seen[: one_thread.TOLD])
    assert [number for number, _ in seen] == np.cumsum([count for _, count in seen]).tolist()
    assert sum(step.frontier for step in found.stats.per_superstep) == 5001


@pytest.mark.parametrize("room", [True, False])
def test_in_lists_are_turned_round(tmp_path, usual, driver_steps, monkeypatch, room):
    """A path of in-lists alone: after some pulls each edge is looked at once more; all of them again and again only
    where memory has no room for the lists turned round, or pulls are asked for."""
    if not room:
        monkeypatch.setattr("gstream.engine.whole_lists.turned_bytes", lambda *given: 1 << 60)
    path = np.arange(600)
    convert_arrays(tmp_path / "path.gs", path, path + 1, page_bytes=4096, topology="in")
    for options in (RunOptions(), RunOptions(direction="pull")):
        driver_steps.clear()
        with open_store(tmp_path / "path.gs") as store, Engine(store, options) as engine:
            found = engine.run(BFS(source=0))
        turned = room and options.direction == "auto"
        assert found.value.tolist() == list(range(601)) and found.supersteps == 601
        assert (len(driver_steps) < 12) == turned
        assert (found.stats.edges_visited <= 600 * 12) == turned


def test_pages_of_hubs_between_small_ones(tmp_path, usual):
    """A small page holds lists before and after a hub, which has large pages: it is one page all the same."""
    source = np.concatenate([np.zeros(20, np.int64), *(np.full(1500 if v % 2 else 1, v) for v in range(1, 21))])
    lists = [np.arange(100, 100 + (1500 if v % 2 else 1)) for v in range(1, 21)]
    path = write(tmp_path / "hubs.gs", "natural order", source, np.concatenate([np.arange(1, 21), *lists]), 4000)
    with open_store(path) as store, Engine(store, RunOptions(direction="push")) as engine:
        expected = by_the_driver(engine, BFS(source=0))
        found = engine.run(BFS(source=0))
        assert store.topology("out").small_pages == 1
    assert [step.pages for step in found.stats.per_superstep[:2]] == [1, 21]
    assert told(found) == told(expected) and found.stats.pages_moved == expected.stats.pages_moved


@pytest.mark.parametrize("id_bytes", [4, *choice.also(8)])
@pytest.mark.parametrize("kind", ["bfs", *choice.also("sssp")])
def test_ids_of_either_width(tmp_path, usual, driver_steps, kind, id_bytes):
    """A program that asks for no weights has none, though they lie in memory for one that does."""
    source, target = skewed_edges(3000, 20_000, 5)
    path = np.arange(3000, 3400)
    ends = np.concatenate([source, path]), np.concatenate([target, np.append(path[1:], 7)])
    with open_store(write(tmp_path / "wide.gs", "natural order", *ends, 3400, id_bytes=id_bytes)) as store:
        with Engine(store) as engine:
            engine.run(SSSP(source=3))
            expected = by_the_driver(engine, MADE[kind](3000, tmp_path))
            driver_steps.clear()
            found = engine.run(MADE[kind](3000, tmp_path))
    assert found.value.tobytes() == expected.value.tobytes()
    assert found.supersteps - len(driver_steps) > 350


@pytest.mark.parametrize("kind", ["bfs", "sssp"])
def test_stops_and_errors_between_them(store, usual, tmp_path, kind):
    """One that is asked to stop keeps its state and goes on from it; after an error the engine runs as before."""
    made, stop, at = MADE[kind](3000, tmp_path), StopRequest(), [0]

    def ask(number, step):
        if number % 100 == 0 and number not in at:
            at.append(number)
            stop.ask()

    def fail(number, step):
        if number == at[-1]:
            raise Lost

    with Engine(store) as engine:
        expected = by_the_driver(engine, made)
    kept, found = {"checkpoint": tmp_path / "kept", "checkpoint_every": 10**6}, None
    while found is None:
        stop.asked = False
        try:
            with Engine(store, RunOptions(**kept, resume=True, stop=stop, progress=ask)) as engine:
                found = engine.run(made)
        except RunStopped as stopped:
            assert stopped.superstep >= at[-1]
    assert found.value.tobytes() == expected.value.tobytes() and len(at) == 1 + found.supersteps // 100
    with Engine(store, RunOptions(progress=fail)) as engine:
        for number in (1, 2, 50, 300):
            at.append(number)
            if expected.supersteps >= number:
                with pytest.raises(Lost), Session(engine) as session:
                    session.run(made)
            at.append(0)
            found = engine.run(made)
            assert found.value.tobytes() == expected.value.tobytes()
            assert sum(step.pages for step in found.stats.per_superstep) == found.stats.pages_moved
            assert sum(step.edges_visited for step in found.stats.per_superstep) == found.stats.edges_visited


@pytest.mark.parametrize("degree", [2**32 - 1, *choice.also(0, None)])
def test_degrees_that_lie_cost_nothing_but_time(store, usual, monkeypatch, degree):
    """As those of a store may; None: any. No more lists are written down than there is room for."""
    with Engine(store) as engine:
        expected = [by_the_driver(engine, made).value.tobytes() for made in (BFS(source=3000), SSSP(source=3))]

        def lying(*given):
            found = host_vertices(*given)
            lies = np.random.default_rng(3).integers(0, 2**32, len(found.degree))
            found.degree = (lies if degree is None else np.full(len(lies), degree)).astype(found.degree.dtype)
            return found

        monkeypatch.setattr("gstream.engine.engine.host_vertices", lying)
        for most in (1, 40, 16384):
            monkeypatch.setattr(small, "MOST_EDGES", most)
            assert [engine.run(made).value.tobytes() for made in (BFS(source=3000), SSSP(source=3))] == expected


def test_a_checkpoint_and_a_watch_are_the_drivers(store, usual, driver_steps, tmp_path):
    """Somebody looks on: the state between supersteps is there."""
    expected, seen = {}, {}
    with Engine(store) as engine:
        by_the_driver(engine, BFS(source=3000), watch=lambda n, value, _: expected.update({n: value.tobytes()}))
        driver_steps.clear()
        engine.run(BFS(source=3000), watch=lambda n, value, _: seen.update({n: value.tobytes()}))
    assert seen == expected and len(seen) - 1 >= len(driver_steps) + 300 * store.has("out")
    kept = {"checkpoint": tmp_path / "kept", "checkpoint_every": 1}
    with Engine(store, RunOptions(**kept)) as engine:
        engine.run(BFS(source=3000), max_supersteps=len(seen) // 2)
    with Engine(store, RunOptions(**kept, resume=True)) as engine:
        found = engine.run(BFS(source=3000))
    assert found.value.tobytes() == expected[max(expected)] and found.supersteps == max(expected)


def test_a_trace_has_every_superstep(store, usual):
    trace = ChromeTrace()
    with Engine(store, RunOptions(trace=trace)) as engine:
        found = engine.run(BFS(source=3000))
    names = [event["name"] for event in trace.events() if event["ph"] == "X"]
    assert sum(name.startswith(("push, ", "pull, ", "push by one thread, ")) for name in names) == found.supersteps
    assert any(name.startswith("push by one thread, 1 active") for name in names)


@settings(max_examples=200)
@given(data=st.data())
def test_listing(data):
    """Whatever bits are set: the vertices in order, as many as have room, and the edges of all."""
    words = data.draw(st.integers(1, 40))
    active = data.draw(st.sets(st.integers(0, 64 * words - 1)))
    degree = np.random.default_rng(words).integers(0, 9, 64 * words).astype(np.uint32)
    bits = bitmap(64 * words)
    set_bits(bits, np.array(sorted(active), np.uint64))
    listed = np.zeros(data.draw(st.integers(50, 70)), np.uint64)
    assert list_active(bits, degree, listed) == (len(active), degree[sorted(active)].sum())
    assert listed[: len(active)].tolist() == sorted(active)[: len(listed)]
