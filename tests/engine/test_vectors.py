"""Programs whose values are vectors, against plain NumPy, on every kind of host device, streamed and by chunks."""

from __future__ import annotations

import re

import choice
import numpy as np
import pyarrow as pa
import pytest
from engine_graphs import make_store, skewed_edges
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from vector_programs import MORE, PROGRAMS, Edges, check, expected_of, firsts, stepped
from written import load

import gstream
from gstream.engine.engine import Engine
from gstream.language.program import ProgramError
from gstream.options.run_options import RunOptions
from pagestore.errors import UsageError

V, E, PAGE, STEPS = 20_000, 40_000, 4096, 4
NAMES = ["Counters", "Nearest", "Diffusion", *choice.also(*MORE)]
OPTIONS = {
    "host": {},
    "push, two hosts": {"devices": ["host:2"], "direction": "push", "batch_bytes": 2 * PAGE},
    "pull": {"direction": "pull", "threads": 1},
    "from disk": {"host_memory": 12_000_000, "batch_bytes": 4 * PAGE},
    "chunks": {"chunk_vertices": 8192, "direction": "push"},
    "chunks, pull, two hosts": {"chunk_vertices": 8192, "direction": "pull", "devices": ["host:2"]},
    "fake": {"devices": ["fake:3:2"], "batch_bytes": 2 * PAGE, "cache": "0"},
    "fake, chunks": {"devices": ["fake:5:2"], "chunk_vertices": 8192, "direction": "push", "batch_bytes": PAGE},
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    """(store, programs, what NumPy says of them, edges)."""
    source, target = skewed_edges(V, E, 41)
    weight = np.random.default_rng(42).integers(1, 9, E)
    edges, folder = Edges(source, target, weight.astype(np.uint8), V), tmp_path_factory.mktemp("vectors")
    programs = {name: load(folder, PROGRAMS, name) for name in ("Counters", "Nearest", "Diffusion", *MORE)}
    expected = {name: expected_of(name, edges, STEPS) for name in programs}
    with make_store(folder, source, target, weight.astype(np.float64), vertices=V, page_bytes=PAGE) as store:
        assert store.topology("out").pages > store.topology("out").small_pages, "the graph has no hub"
        yield store, programs, expected, edges


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("options", OPTIONS)
def test_values_are_those_of_numpy(graph, name, options):
    store, programs, expected, _ = graph
    with Engine(store, RunOptions(**OPTIONS[options])) as engine:
        check(name, engine.run(programs[name](), STEPS), expected[name])


@pytest.mark.parametrize("name", ["Counters", "Nearest", *choice.also("Sets")])
def test_a_run_ends_when_no_element_changes(graph, name):
    store, programs, _, edges = graph
    with Engine(store, RunOptions()) as engine:
        found = engine.run(programs[name]())
    assert found.converged and found.supersteps > 2
    assert np.array_equal(found.value, stepped(name, edges, found.value))
    assert not np.array_equal(found.value, firsts(name, V))


def test_a_plan_counts_whole_vectors(graph):
    store, programs, _, _ = graph
    with Engine(store, RunOptions()) as engine:
        plan, scalar = engine.plan(programs["Counters"]()), engine.measure().at(V, engine.graph.by_degree)
    assert plan.device.held["WA"] == V * 2 * 64, "values, and what vertices got"
    assert plan.constants.pull_edges == pytest.approx(scalar.pull_edges / 4), "they take a kernel longer"


def test_a_run_goes_on_from_a_checkpoint(graph, tmp_path):
    store, programs, expected, _ = graph

    def end(number, step):
        if number == 3:
            raise InterruptedError

    kept = {"checkpoint": tmp_path / "kept", "checkpoint_every": 1}
    with pytest.raises(InterruptedError), Engine(store, RunOptions(progress=end, **kept)) as engine:
        engine.run(programs["Diffusion"](), STEPS)
    with Engine(store, RunOptions(resume=True, chunk_vertices=8192, **kept)) as engine:
        found = engine.run(programs["Diffusion"](), STEPS)
    assert found.stats.kept.resumed == 2
    check("Diffusion", found, expected["Diffusion"])


def test_an_answer_has_lists_of_numbers(graph, tmp_path):
    store, programs, expected, _ = graph
    wanted = expected["Nearest"][0]
    reached = wanted != 2**32 - 1
    with gstream.open(store.path, max_supersteps=STEPS) as opened:
        result = opened.run(programs["Nearest"])
    table = result.to_arrow()
    assert table.schema.field("value").type == pa.list_(pa.uint32(), 2)
    numbers = table["value"].combine_chunks().values
    assert np.array_equal(numbers.is_valid().to_numpy(False), reached.reshape(-1)) and not reached.all()
    assert np.array_equal(numbers.fill_null(2**32 - 1).to_numpy(False), wanted.reshape(-1))
    assert np.array_equal(result["value"], wanted) and np.array_equal(result.to_numpy()["value"], wanted)
    one = int(np.flatnonzero(reached[:, 0] & ~reached[:, 1])[0])
    shown = [int(wanted[one, 0]), None]
    assert result.at(one)["value"] == result.top(one + 1)[one]["value"] == dict(result)[one] == shown
    assert result.to_pandas()["value"][5].tolist() == wanted[5].tolist()
    for name in ("out.parquet", "out.csv", "out.npy"):
        result.write(tmp_path / name)
    assert parquet.read_table(tmp_path / "out.parquet").equals(table)
    assert np.array_equal(np.load(tmp_path / "out.npy")["value"], wanted)
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "vertex,value_0,value_1" and lines[one + 1] == f"{one},{shown[0]}," and len(lines) == V + 1
    with pytest.raises(UsageError, match="has one number a vertex"):
        result.write(tmp_path / "out.txt", ldbc=True)
    with pytest.raises(UsageError, match="plot: no column holds numbers"):
        result.plot()


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 30).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.tuples(*[st.integers(0, n - 1)] * 2), max_size=60))
    ),
    st.sampled_from(["Counters", "Nearest", "Diffusion", *MORE]),
    st.sampled_from([{}, {"direction": "push"}, {"direction": "pull"}, {"devices": ["fake:7:2"]}]),
    st.integers(1, 5),
)
def test_any_graph(tmp_path_factory, drawn, name, options, steps):
    vertices, pairs = drawn
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    weight = (ends.sum(1) % 9 + 1).astype(np.uint8)
    folder = tmp_path_factory.mktemp("any")
    edges = Edges(ends[:, 0], ends[:, 1], weight, vertices)
    program = load(folder, PROGRAMS, name)
    with make_store(folder, *ends.T, weight.astype(np.float64), vertices=vertices, page_bytes=PAGE) as store:
        with Engine(store, RunOptions(**options)) as engine:
            found = engine.run(program(), steps)
    check(name, found, expected_of(name, edges, found.supersteps))


REFUSED = [  # text of Counters, what stands there instead, the message
    ("u.value[i]", "u.value", "`u.value` has 64 elements. Read one: u.value[i]."),
    ("u.value[i]", "u.value[i + 1]", "may be none of the 64 elements. An index is i, a whole number below 64, or"),
    ("u.value[i]", "u.value[64]", "`u.value[64]` may be none of the 64 elements"),
    ("u.value[i]", "u.value[u.id % 65]", "may be none of the 64 elements"),
    ("u.value[i]", "u.degree[i]", "`u.degree[i]` is no element of a value"),
    ("e, g, i", "e, g", "Write `def send(self, u, e, g, i)`"),
    ("def send", "def done(self, v, i): return True\n    def send", "done is for values of one number"),
    ("u8[64]", "u8[0]", "u8[0]: a vector has 1 to 4096 numbers. Write u8[4], for example."),
    ("u8[64]", "u8", "value is u8; it must be"),
    ("u8[64]", "u32", "`u.value[i]` is no element of a value"),
]


@pytest.mark.parametrize(("text", "instead", "message"), REFUSED)
def test_refusals(tmp_path, text, instead, message):
    counters = PROGRAMS.partition("class Nearest")[0]
    assert text in counters
    if instead == "u32":
        counters = counters.replace("g, i)", "g)").replace("i * 7", "7")
    with pytest.raises(ProgramError, match=re.escape(message)):
        load(tmp_path, counters.replace(text, instead, 1), "Counters")
