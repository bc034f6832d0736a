"""One refusal names a cap that is enough: for every algorithm and its certificate, on stores of every topology, on
hosts and on devices with memory of their own, whichever caps there are; and half of it is too little."""

from __future__ import annotations

import random
import re
from typing import Any

import choice
import numpy as np
import pytest

import gstream
from gstream.algorithms.density import triangles
from gstream.algorithms.registry import ALGORITHMS
from gstream.algorithms.support.blocks import neighbours
from gstream.algorithms.support.session import Session
from pagestore.errors import CapError, InputError, UsageError
from pagestore.memory import convert_arrays
from tests.answers.graphs import Example

START, SOME, FIRST, ALL = "one vertex", "some vertices", "first values", "all vertices, in three groups"
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "bfs": [{"source": START}, {"source": START, "predecessors": False}],
    "sssp": [{"source": START}, {"source": START, "predecessors": False}, {"source": START, "float64": True}],
    "pagerank": [{"iterations": 2}, {"personalization": FIRST, "max_iter": 2},
                 {"weighted": True, "iterations": 2}],
    "hits": [{"max_iter": 2}, {"max_iter": 2, "weighted": True}],
    "katz": [{"alpha": 1e-3, "max_iter": 2}, {"alpha": 1e-3, "max_iter": 2, "weighted": True}],
    "eigenvector": [{"max_iter": 2}],
    "rwr": [{"source": START, "max_iter": 2}], "closeness": [{"k": 3}, {"k": 3, "weighted": True}],
    "harmonic": [{"k": 3}, {"k": 3, "weighted": True}],
    "radius": [{"sketches": 2}], "hyperball": [{"log2m": 4}], "heat": [{"initial": FIRST, "iterations": 2}],
    "circuit": [{"initial": FIRST, "iterations": 2}], "neural": [{"initial": FIRST, "iterations": 2}],
    "khop": [{"source": START}, {"source": START, "undirected": True}], "widest": [{"source": START}],
    "subgraph": [{"nodes": SOME}], "cross": [{"nodes": SOME}],
    "egonet": [{"source": START}, {"source": START, "undirected": True}, {"source": START, "weighted": True}],
    "betweenness": [{"k": 2, "seed": 1}, {"k": 2, "seed": 1, "weighted": True}], "kcore": [{}, {"k": 2}],
    "ktruss": [{}, {"k": 3}],
    "cdlp": [{"iterations": 2}], "levels": [{}, {"weighted": True}],
    "modularity": [{"partition": ALL}, {"partition": ALL, "weighted": True}],
    "stats": [{"log2m": 4}, {"distances": False}],
}  # fmt: skip
DEVICES = ("host", "host:2", "fake:7", "fake:8:3")
STORES = {  # vertices, edges, and how they are stored
    "both": (150, 900, {"topology": "both"}),
    "out": (120, 700, {"topology": "out", "kind": "names"}),
    "in": (120, 600, {"topology": "in", "order": "degree", "heads": False}),
    "undirected": (150, 700, {"directed": False, "kind": "gaps", "order": "degree"}),
    "acyclic": (100, 400, {"kind": "listed"}),
    "few": (3, 4, {"topology": "both"}),
}
SPARE = {"leiden": 4, "louvain": 4}  # what they name has room for one list of all vertices, in a smaller graph
NEEDED = re.compile(r"(host_memory|device_memory) \d+ bytes: too little.* (\d+) bytes are needed at least")


def example(name: str) -> Example:
    vertices, edges, stored = STORES[name]
    random = np.random.default_rng(len(name))
    ends = (vertices * random.random((2, edges)) ** 2).astype(np.int64)
    if name == "acyclic":
        ends = np.sort(ends[:, ends[0] != ends[1]], axis=0)
    whole = name in choice.few(tuple(STORES), ("out", "undirected", "acyclic", "few"))  # one kind of weights in "some"
    weight = ends[0] % 9 if whole else random.random(ends.shape[1]).astype(np.float32)
    return Example(vertices, *ends, weight.astype(np.float64), **stored)


def given(options: dict[str, Any], example: Example) -> dict[str, Any]:
    """Options with the example's vertices in the places of words."""
    users = [example.user_id(int(v)) for v in example.present[:4]]
    parted = {example.user_id(int(v)): int(v) % 3 for v in example.present}
    known = {ALL: parted, START: users[0], SOME: users[1:], FIRST: {users[0]: 1.0, users[-1]: 2.0}}
    return {name: known.get(value, value) if isinstance(value, str) else value for name, value in options.items()}


def named_caps(call: Any, caps: tuple[str, ...]) -> tuple[dict[str, int], Any]:
    """(caps as the refusals name them, the Result): all are 1 byte at first, and none is named twice."""
    asked, refused = dict.fromkeys(caps, 1), set()
    while True:
        try:
            return asked, call(**asked)
        except CapError as error:
            found = NEEDED.search(str(error))
            assert found, error
            assert found[1] in asked and found[1] not in refused, error
            refused.add(found[1])
            asked[found[1]] = int(found[2])


def test_options_are_those_of_the_algorithms():
    """A run whose options are refused is passed over below."""
    for name, choices in OPTIONS.items():
        assert all(set(own) <= set(ALGORITHMS[name].defaults) for own in choices), name


@pytest.mark.longer
@pytest.mark.parametrize("store", ["both", *choice.also("undirected", "in", "few", "out", "acyclic")])
def test_the_first_cap_that_is_named_is_enough(store, tmp_path):
    """Runs are drawn, so that each algorithm meets some devices and some caps."""
    drawn, made = random.Random(store), example(store)
    ran = 0
    with gstream.open(made.stored(tmp_path)) as graph:
        for name, algorithm in ALGORITHMS.items():
            for certify in {False, bool(algorithm.proof) and drawn.random() < 0.6}:
                options = OPTIONS.get(name, [{}])
                own = given(drawn.choice(choice.few(options[:1], options)), made)
                devices = drawn.choice(DEVICES)
                caps = drawn.choice([("host_memory",), ("device_memory",), ("host_memory", "device_memory")])
                run = {"devices": devices, "threads": drawn.choice([1, 2]), "use_heads": drawn.random() < 0.7}

                def call(name=name, own=own, certify=certify, run=run, **caps):
                    return graph.execute(name, own, certify, **run, **caps)

                try:
                    asked, found = named_caps(call, caps)
                except (UsageError, InputError):  # another topology, or no cycle, is needed
                    continue
                ran += 1
                if asked.get("host_memory", 1) > 1:
                    assert found.summary["stats"]["peak_memory_bytes"] <= asked["host_memory"], (name, run)
                    with pytest.raises(CapError):
                        call(**asked | {"host_memory": asked["host_memory"] // SPARE.get(name, 2)})
    assert ran > len(ALGORITHMS)


def test_pages_of_a_mebibyte_that_hold_a_small_graph_whole(tmp_path):
    drawn, made = random.Random(5), example("both")
    store = tmp_path / "large.gs"
    convert_arrays(store, made.source, made.target, made.weight, vertices=made.vertices, memory_bytes=1 << 28)
    with gstream.open(store) as graph:
        for name in ("bfs", "sssp", "wcc", "scc", "hits", "kcore", "coloring", "cdlp", "egonet", "betweenness", "heat"):
            own, certify = given(OPTIONS.get(name, [{}])[0], made), bool(ALGORITHMS[name].proof)
            run = {"devices": drawn.choice(["host", "host:2"]), "threads": 1}
            asked, found = named_caps(lambda **caps: graph.execute(name, own, certify, **run, **caps), ("host_memory",))  # noqa: B023
            assert found.summary["stats"]["peak_memory_bytes"] <= asked["host_memory"], name


def repeated(directed: bool, vertices: int, edges: int, draws: np.random.Generator) -> Example:
    """A hub whose edges repeat, and some other edges."""
    ends = draws.integers(0, vertices, (2, edges))
    ends[0, : edges * 2 // 3] = 0
    return Example(vertices, *ends, directed=directed)


@pytest.mark.parametrize("directed", [True, *choice.also(False)])
def test_little_less_than_the_named_cap_is_too_little_where_edges_repeat(directed, tmp_path):
    made = repeated(directed, 2000, 12_000, np.random.default_rng(4))
    with gstream.open(made.stored(tmp_path), threads=1) as graph:
        for name in ("lcc",) if directed else ("triangles", "lcc", "ktruss"):
            asked, _ = named_caps(lambda **caps: graph.execute(name, {}, **caps), ("host_memory",))  # noqa: B023
            with pytest.raises(CapError):
                graph.execute(name, {}, host_memory=asked["host_memory"] * 9 // 10)


@pytest.mark.parametrize("directed", [False, True])
def test_no_list_of_higher_neighbours_is_longer_than_degrees_say(directed, tmp_path):
    draws = np.random.default_rng(7)
    for number in range(20):
        vertices, edges = int(draws.integers(1, 40)), int(draws.integers(0, 400))
        made = repeated(directed, vertices, edges, draws)
        folder = tmp_path / str(number)
        folder.mkdir()
        with gstream.open(made.stored(folder)) as graph, Session(graph.engine()) as session:
            size = neighbours(session)
            assert triangles._count_higher(session, size).max(initial=0) <= triangles.most_higher(session)
