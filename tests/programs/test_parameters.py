"""Parameters: keyword constructor, checks, conversion of text, and how they reach compiled code."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import interpret
from stepping import Graph, Run
from written import program

from gstream.hostcode import GraphShape, compile_host
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank, PersonalizedPageRank
from gstream.programs.sssp import SSSP
from pagestore.errors import UsageError

SHAPE = GraphShape(10, 20, np.dtype("u4"))


def test_defaults_and_keywords():
    assert PageRank().damping == 0.85
    assert PageRank(damping=0.5, tolerance="1e-3").tolerance == 1e-3
    assert BFS(source=7).source == (7,) and BFS(source=["a", 3]).source == ("a", 3)


NUMBER = "it must be a number. Pass damping=0.5, for example."
VERTICES = "it must be one or several vertex IDs. Pass source=1, for example."
MESSAGES = [
    (PageRank, {"dampng": 1}, "PageRank has no parameter 'dampng'; it has damping, tolerance. Did you mean damping?"),
    (PageRank, {"damping": "x"}, f"PageRank: parameter damping is 'x'; {NUMBER}"),
    (PageRank, {"damping": float("nan")}, f"PageRank: parameter damping is nan; {NUMBER}"),
    (BFS, {}, "BFS: parameter source is not given and has no default. Pass source=..."),
    (BFS, {"source": 1.5}, f"BFS: parameter source is 1.5; {VERTICES}"),
    (
        PersonalizedPageRank,
        {},
        "PersonalizedPageRank: parameter preference is not given and has no default. It is an "
        "array, which Python alone can pass: graph.run(PersonalizedPageRank, preference=...).",
    ),
    (
        PersonalizedPageRank,
        {"preference": "1"},
        "PersonalizedPageRank: parameter preference is '1'; it must be an array "
        "of one number a vertex, which Python alone can pass. Pass preference=numpy.ones(vertices), for example.",
    ),
]


@pytest.mark.parametrize(("cls", "given", "message"), MESSAGES)
def test_bad_parameters(cls, given, message):
    with pytest.raises(UsageError) as caught:
        cls(**given)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("int", [3, "-4", np.int32(5), 6.0], [2**63, "x", 1.5, True, None.__class__]),
        ("u32", [0, 2**32 - 1], [-1, 2**32]),
        ("u64", [2**64 - 1], [2**64, -1]),
        ("i32", [-(2**31)], [2**31]),
        ("bool", [True, "false", np.bool_(1), "yes"], [3, "maybe"]),
        ("f32", ["0.5", 3], ["", False]),
        ("Vertex", [3, "alice", np.uint64(5)], [1.5, True]),
    ],
)
def test_kinds(tmp_path, kind, good, bad):
    cls = program(tmp_path, rest=f"p: {kind}")
    for value in good:
        cls(p=value)
    for value in bad:
        with pytest.raises(UsageError, match="parameter p is"):
            cls(p=value)


def test_every_kind_reaches_the_code(tmp_path):
    cls = program(
        tmp_path,
        combine="SUM",
        value="f64",
        start="self.a + self.b * 2 + (4 if self.c else 0) + self.d + self.h + v.own + (1000 if v.id == self.x else 0)"
        " + (5000 if v.id in self.many else 0)",
        rest="""
        a: int = -7
        b: float = 0.25
        c: bool = True
        d: u64 = 2 ** 40
        h: f32 = 0.1
        x: Vertex = 3
        own: PerVertex
        many: Vertices = (8, 2)
        """,
    )
    own = np.arange(10) / 8
    edges = np.array([0, 1]), np.array([1, 2])
    wanted = -7 + 0.5 + 4 + float(2**40) + float(np.float32(0.1)) + own
    wanted += 1000.0 * (np.arange(10) == 3) + 5000.0 * np.isin(np.arange(10), (2, 8))
    given = cls(own=own)
    run = Run(given, Graph(10, *edges, None))
    run.run(max_supersteps=0)
    np.testing.assert_array_equal(run.value, wanted)
    np.testing.assert_array_equal(interpret(given, 10, *edges, max_supersteps=0).values, wanted)


def test_vertices_are_translated():
    asked = []

    def lookup(ids):
        asked.append(list(ids))
        return np.array([{"bob": 4, "eve": 2}[i] for i in ids], np.uint64)

    assert compile_host(BFS(source=["bob", "eve", "bob"]), SHAPE, lookup).members.tolist() == [2, 4]
    assert asked == [["bob", "eve", "bob"]]

    def missing(ids):
        raise UsageError("source 17 is not a vertex of web.gs")

    with pytest.raises(UsageError, match="source 17"):
        compile_host(BFS(source=17), SHAPE, missing)


def test_weights_are_needed():
    with pytest.raises(UsageError, match="sssp.py:.*: SSSP reads e.weight, but the graph has no weights. Convert"):
        compile_host(SSSP(source=1), SHAPE)


def test_per_vertex_array_of_wrong_length(tmp_path):
    cls = program(tmp_path, start="v.own", rest="own: PerVertex")
    with pytest.raises(UsageError, match=r"parameter own has shape \(3,\); it needs one number for each of the 10"):
        compile_host(cls(own=[1, 2, 3]), SHAPE)


def test_one_module_serves_all_parameter_values():
    first, second = compile_host(PageRank(), SHAPE), compile_host(PageRank(damping=0.5), SHAPE)
    assert first.module is second.module and first.floats[2] == 0.85 and second.floats[2] == 0.5
