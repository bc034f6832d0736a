"""Programs that go backward, and what watches a run: on every kind of device, streamed and by chunks."""

from __future__ import annotations

import choice
import numpy as np
import pytest
from engine_graphs import make_store, skewed_edges
from oracle import interpret
from written import load

from gstream.engine.engine import Engine
from gstream.language.program import ProgramError
from gstream.options.run_options import RunOptions
from pagestore.errors import GstreamError, UsageError

V, E, PAGE = 20_000, 40_000, 4096
PROGRAMS = """
class Hops(Program):
    combine, value, backward = MIN, u32, True
    source: Vertex = 7
    def start(self, v, g): return 0 if v.id == self.source else INF
    def send(self, u, e, g): return u.value + 1
    def done(self, v): return v.value != INF

class Shares(Program):
    combine, value, backward = SUM, f64, True
    def start(self, v, g): return 1 + v.id % 5
    def send(self, u, e, g): return u.value / u.degree + e.weight
    def apply(self, v, got, g): return got + v.in_degree + 10 * v.degree

class Labels(Program):
    combine, value, backward = MAX, i64, True
    def start(self, v, g): return v.id
    def send(self, u, e, g): return u.value - e.weight
    @total
    def grown(self, v): return v.value - v.before
"""
OPTIONS = {
    "host": {},
    "two hosts": {"devices": ["host:2"], "batch_bytes": 2 * PAGE},
    "from disk": {"host_memory": 1_600_000},
    "chunks": {"chunk_vertices": 8192, "direction": "push"},
    "chunks, pull": {"chunk_vertices": 8192, "direction": "pull"},
    "fake": {"devices": ["fake:3:2"], "batch_bytes": 2 * PAGE, "cache": "0"},
    "fake, chunks": {"devices": ["fake:5"], "chunk_vertices": 8192, "direction": "push", "batch_bytes": PAGE},
}


@pytest.fixture(scope="module", params=[True, *choice.also(False)], ids=["directed", "undirected"])
def graph(request, tmp_path_factory):
    """(store, programs, what the interpreter says of them)."""
    source, target = skewed_edges(V, E, 41)
    weight = np.random.default_rng(42).integers(1, 9, E).astype(np.float64)
    folder = tmp_path_factory.mktemp("backward")
    programs = {name: load(folder, PROGRAMS, name) for name in ("Hops", "Shares", "Labels")}
    with make_store(
        folder, source, target, weight, vertices=V, directed=request.param, page_bytes=PAGE
    ) as store:  # fmt: skip
        ends = (source, target, weight.astype(np.uint8))
        if not request.param:
            back = source != target
            ends = tuple(np.concatenate(pair) for pair in zip(
                ends, (target[back], source[back], ends[2][back]), strict=True))  # fmt: skip
        expected = {name: interpret(cls(), V, *ends, max_supersteps=4) for name, cls in programs.items()}
        yield store, programs, expected


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    ("options", "name"),
    [pytest.param(options, name, marks=[] if options in ("host", "from disk", "fake") else pytest.mark.long)
     for options in OPTIONS for name in ("Hops", "Shares", "Labels")
     if (options, name) != ("chunks, pull", "Hops")],  # refused: a pull in place has no chunks
)  # fmt: skip
def test_backward_is_forward_over_turned_edges(graph, name, options):
    store, programs, expected = graph
    watched = []
    with Engine(store, RunOptions(**OPTIONS[options])) as engine:
        found = engine.run(programs[name](), 4, watch=lambda step, value, _: watched.append((step, value.copy())))
    if name == "Hops":  # in place: within a superstep a path may come further than one edge
        assert np.all(found.value <= expected[name].values)
    else:
        np.testing.assert_allclose(found.value, expected[name].values, rtol=1e-12)
    assert [step for step, _ in watched] == list(range(found.supersteps + 1))
    assert np.array_equal(watched[-1][1], found.value)


def test_what_is_watched_is_each_superstep(graph):
    store, programs, _ = graph
    labels = programs["Labels"]
    for devices in (["host"], ["fake:1:2"]):
        watched: dict[int, np.ndarray] = {}

        def keep(step, value, active, watched=watched):
            watched[step] = value.copy()
            changed = value != watched[step - 1] if step else value != labels.identity()
            assert np.array_equal(np.unpackbits(active.view(np.uint8), bitorder="little")[: len(value)], changed)

        with Engine(store, RunOptions(devices=devices)) as engine:
            engine.run(labels(), 3, watch=keep)
            for limit in range(4):
                assert np.array_equal(engine.run(labels(), limit).value, watched[limit])


def test_messages_name_the_topology(tmp_path):
    cls = load(tmp_path, PROGRAMS, "Hops")
    with make_store(tmp_path, np.array([0]), np.array([1]), vertices=9, page_bytes=PAGE, topology="out") as store:
        with Engine(store, RunOptions(direction="push")) as engine:
            with pytest.raises(UsageError, match="the store has no in-topology"):
                engine.run(cls())
    with pytest.raises(ProgramError, match="backward is 1; it must be True or False"):
        load(tmp_path, PROGRAMS.replace("MIN, u32, True", "MIN, u32, 1"), "Hops")


def test_a_pull_in_place_has_no_chunks(graph):
    store, programs, _ = graph
    with Engine(store, RunOptions(**OPTIONS["chunks, pull"])) as engine:
        with pytest.raises(GstreamError, match="--direction pull|chunk"):
            engine.run(programs["Hops"](), 4)
