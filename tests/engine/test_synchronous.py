"""After k supersteps a value rests on what lies within k edges: on any device, by chunks, pushed or pulled, and after a
resumption with another limit. Runs without a limit relax in place only where nobody could tell."""

from __future__ import annotations

import os
import random

import choice
import numpy as np
import pytest
from engine_graphs import make_store, run_program, skewed_edges
from oracle import interpret

from gstream import MAX, MIN, OR, PerVertex, Program, f32, i64, total, u32
from gstream.engine.engine import Engine
from gstream.language.python_printer import emitter_of
from gstream.language.relaxing import is_in_place
from gstream.options.run_options import RunOptions
from gstream.programs.bfs import BFS
from gstream.programs.sssp import SSSP
from pagestore.errors import UsageError

V, E, MOST = 300, 900, 5
DEVICES = ["host", "host:2", "fake:1", "fake:2:2", "fake:3:3"]
WAYS = [{}, {"direction": "push"}, {"direction": "pull"}, {"direction": "push", "chunk_vertices": 64},
        {"chunk_vertices": 128}, {"threads": 1}, {"use_heads": False}, {"batch_bytes": 4096, "cache": "0"}]  # fmt: skip


class Spread(Program):
    """The greatest start value within as many edges as supersteps."""

    combine, value = MAX, i64
    x: PerVertex

    def start(self, v, g):
        return v.x

    def send(self, u, e, g):
        return u.value


class Bits(Program):
    """Which of 30 vertices lie within as many edges."""

    combine, value = OR, u32

    def start(self, v, g):
        return 2**v.id if v.id < 30 else 0

    def send(self, u, e, g):
        return u.value


class Until(Program):
    """The least ID that came; ends when half of all vertices have one below 40."""

    combine, value = MIN, f32

    def start(self, v, g):
        return v.id + 0.5

    def send(self, u, e, g):
        return u.value

    @total
    def low(self, v):
        return 1 if v.value < 40 else 0

    def halt(self, g):
        return g.low > g.vertices / 2


class Clock(Program):
    """The number of the superstep that reached v first, and what is left of it."""

    combine, value = MIN, u32

    def start(self, v, g):
        return 0 if v.id < 3 else INF  # noqa: F821

    def send(self, u, e, g):
        return 100 * g.superstep + u.value % 7


class Falling(Program):
    """A greater value sends a lesser message: what is passed over would have counted."""

    combine, value = MAX, i64

    def start(self, v, g):
        return v.id % 50

    def send(self, u, e, g):
        return 60 - u.value if u.value < 55 else u.value


PROGRAMS = {
    "spread": (lambda: Spread(x=np.random.default_rng(5).integers(-99, 99, V)), True),
    "sssp": (lambda: SSSP(source=3), True),
    "bits": (Bits, True),
    "until": (Until, False),
    "clock": (Clock, False),
    "falling": (Falling, False),
    "bfs": (lambda: BFS(source=(3, 250)), True),
}  # made by; whether a run without a limit relaxes in place


def edges_of(shape):
    """Random edges with hubs and a long path whose order is that of the pages; or a path alone, either way round."""
    if shape == "random":
        source, target = skewed_edges(V - 20, E, seed=7)
        path = np.arange(V - 21, V - 1)
        return np.append(source, path), np.append(target, path + 1)
    path = np.arange(V - 1)
    return (path, path + 1) if shape == "path" else (path + 1, path)


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    """Stores by name, and the edges of each."""
    made = {}
    for shape in ("random", "path", "path back"):
        source, target = edges_of(shape)
        weight = np.random.default_rng(8).integers(1, 9, len(source)).astype(np.float64)
        store = make_store(tmp_path_factory.mktemp("stores"), source, target, weight, vertices=V)
        made[shape] = store, source, target, weight.astype(store.meta.weight_dtype)
    yield made
    for store, *_ in made.values():
        store.close()


@pytest.fixture(scope="module")
def expected(graphs):
    """What plain Python makes of a program, by name, graph and supersteps."""
    known = {}

    def of(name, shape, limit):
        if (name, shape, limit) not in known:
            _, source, target, weight = graphs[shape]
            weight = weight if name == "sssp" else None
            found = interpret(PROGRAMS[name][0](), V, source, target, weight, 1000 if limit is None else limit)
            known[name, shape, limit] = found
        return known[name, shape, limit]

    return of


def cases():
    """(program, graph, devices, options), all with GSTREAM_LARGE, else each pair of a program and a way once."""
    every = [(name, shape, device, way) for name in PROGRAMS for shape in ("random", "path", "path back")
             for device in DEVICES for way in WAYS]  # fmt: skip
    if os.environ.get("GSTREAM_LARGE"):
        return every
    draw = random.Random(27)
    return [draw.choice([case for case in every if (case[0], case[3]) == (name, way)])
            for name in PROGRAMS for way in WAYS]  # fmt: skip


def check(found, wanted):
    assert np.array_equal(found.value, wanted.values)
    assert (found.supersteps, found.converged) == (wanted.supersteps, wanted.converged)


def may_run(name, way):
    """A pull of values that change in place has no chunks: breadth-first search."""
    return name != "bfs" or "chunk_vertices" not in way or way.get("direction") == "push"


@pytest.mark.longer
@pytest.mark.parametrize("name", choice.seeds(1, PROGRAMS))
def test_values_after_some_supersteps(graphs, expected, name):
    for _, shape, device, way in [case for case in cases() if case[0] == name and may_run(name, case[3])]:
        with Engine(graphs[shape][0], RunOptions(devices=[device], **way)) as engine:
            for limit in (
                choice.few((1, MOST), (0, 1, 2, 3, MOST)) if shape == "random" else choice.few((MOST,), (2, MOST))
            ):
                found = engine.run(PROGRAMS[name][0](), max_supersteps=limit)
                check(found, expected(name, shape, limit))


@pytest.mark.parametrize("name", choice.seeds(1, PROGRAMS))
def test_values_at_the_end(graphs, expected, name):
    """Without a limit: the same values; and the same supersteps, too, where somebody could tell."""
    program, in_place = PROGRAMS[name]
    cls = type(program())
    assert is_in_place(cls, emitter_of(cls, "u8")) == in_place
    assert is_in_place(cls, emitter_of(cls, "u8"), limited=True) == (name == "bfs")
    for device in ("host", "fake:4:2"):
        found, wanted = (
            run_program(graphs["random"][0], program(), RunOptions(devices=[device])),
            expected(name, "random", None),
        )
        assert np.array_equal(found.value, wanted.values) and found.converged
        assert in_place and name != "bfs" or found.supersteps == wanted.supersteps


@pytest.mark.parametrize("name", ["spread", "clock", *choice.also("sssp", "until", "bfs")])
def test_going_on_to_another_limit(graphs, expected, name, tmp_path):
    """Two supersteps on one device, two more on another, then to the end."""
    store, program = graphs["path back"][0], PROGRAMS[name][0]
    for number, device in enumerate(("host", "fake:1:2", "host:2", "host")):
        limit = 2 * (number + 1) if number < 3 else None
        options = RunOptions(devices=[device], checkpoint=tmp_path, checkpoint_every=1, resume=number > 0)
        with Engine(store, options) as engine:
            found, wanted = engine.run(program(), max_supersteps=limit), expected(name, "path back", limit)
        assert np.array_equal(found.value, wanted.values), limit
        assert limit is None or found.supersteps == wanted.supersteps


def test_a_run_in_place_is_not_gone_on_with_to_a_limit(graphs, tmp_path):
    """Nor is one that went on in place from a synchronous one. Breadth-first search is synchronous always."""
    store = graphs["random"][0]

    def run(program, limit, **options):
        given = RunOptions(checkpoint=tmp_path / type(program).__name__, checkpoint_every=1, **options)
        with Engine(store, given) as engine:
            return engine.run(program, max_supersteps=limit)

    run(SSSP(source=3), 1)
    whole = run(SSSP(source=3), None, resume=True)
    said = "whose values may have come farther than .* Resume without a limit, or start afresh: pass --force"
    with pytest.raises(UsageError, match=said):
        run(SSSP(source=3), 1000, resume=True)
    assert np.array_equal(run(SSSP(source=3), None, resume=True).value, whole.value)
    run(BFS(source=3), None)
    assert run(BFS(source=3), 1000, resume=True).converged


def test_whoever_looks_on_sees_synchronous_supersteps(graphs, expected):
    seen = []
    with Engine(graphs["path"][0]) as engine:
        engine.run(PROGRAMS["spread"][0](), watch=lambda step, values, _: seen.append((step, values.copy())))
    for step, values in seen[:MOST]:
        assert np.array_equal(values, expected("spread", "path", step).values)


def test_messages_stop_early_for_values_alone(graphs):
    """`done` is asked of what a vertex got only where no `apply` makes another value of it."""
    store, source, target, _ = graphs["random"]
    wanted = interpret(Sums(), V, source, target, None, 6)
    for direction in ("push", "pull"):
        check(run_program(store, Sums(), RunOptions(direction=direction, max_supersteps=6)), wanted)


class Sums(Program):
    """Adds up the greatest messages, but to 9 and from 90 on."""

    combine, value = MAX, i64

    def start(self, v, g):
        return v.id % 5

    def send(self, u, e, g):
        return u.value % 11

    def apply(self, v, got, g):
        return v.value + got if got > 0 and v.value < 90 and v.value != 9 else v.value

    def done(self, v):
        return v.value >= 90 or v.value == 9
