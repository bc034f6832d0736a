"""No answer depends on the order of the store: ties go by the natural index."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import choice
import numpy as np
import pytest

import gstream
from gstream.algorithms.registry import ALGORITHMS
from tests.answers.graphs import Example

ORDERS = choice.few(["natural", "degree"], ["natural", "degree", "in", "out"])
UNDIRECTED = ("hcc", "msf", "ktruss", "triangles")
SEARCHED = ("leiden", "louvain")  # for communities of large modularity; which vertices choose at once is by the pages
BY_PAGES = ("subgraph", "egonet", "cross")  # their rows stand as the pages do
TELLS = ("reached", "components", "communities", "colors", "set_vertices", "longest", "levels", "edges", "total")
SUMS = 1e-6  # relative: sums of floats are taken in the order of the lists


def with_ties(directed: bool, acyclic: bool = False) -> Example:
    """A random graph of hubs and many vertices of equal degree, whose weights are 0, 1 and 2."""
    random = np.random.default_rng(11)
    vertices, edges = 150, 420
    source = random.integers(0, vertices, edges)
    target = (vertices * random.random(edges) ** 3).astype(np.int64)  # the first ones are hubs
    moved = random.permutation(vertices)
    source, target = moved[source], moved[target]
    keep = source != target
    source, target = source[keep], target[keep]
    if acyclic:
        source, target = np.minimum(source, target), np.maximum(source, target)
    weight = random.integers(0, 3, len(source))
    return Example(vertices, source, target, weight, directed)


def options_of(name: str, example: Example) -> dict:
    """Those that an algorithm must have, and those that keep it short or leave more to ties."""
    hub = int(np.bincount(example.source).argmax())
    some = {hub: 1.0, 3: 2.0, 77: 0.5}
    asked = {
        "nodes": list(range(0, 150, 2)), "initial": some, "source": [hub, 5], "sketches": 8, "k": 20, "seed": 7,
    }  # fmt: skip
    asked["partition"] = {v: v % 7 for v in range(150)}
    drawn = dict.fromkeys(("betweenness", "closeness", "harmonic"), ("k", "seed"))
    wanted = drawn | {"radius": ("sketches",), "hyperball": ("seed",)}
    defaults = ALGORITHMS[name].defaults
    names = wanted.get(name, ("nodes", "initial", "source", "partition"))
    return {key: value for key, value in asked.items() if key in names and key in defaults}


def answers(name: str, example: Example, folder: Path, devices: str) -> list:
    """(table, rows of `top`, figures) of each order."""
    found = []
    for order in ORDERS:
        with gstream.open(replace(example, order=order).stored(folder), devices=devices) as graph:
            result = getattr(graph, name)(**options_of(name, example))
            figures = {key: value for key, value in result.summary.items() if key in TELLS}
            table = result.to_numpy()
            found.append((np.sort(table) if name in BY_PAGES else table, result.top(20), figures))
    return found


def example_for(name: str, directed: bool) -> Example | None:
    """A graph that the algorithm takes, None where it takes none of that kind."""
    if directed and name in UNDIRECTED:
        return None
    if not directed and name == "levels":
        return None
    return with_ties(directed, acyclic=name == "levels")


CASES = [
    case for case in itertools.product(ALGORITHMS, (True, False)) if case[0] not in SEARCHED and example_for(*case)
]


@pytest.mark.longer
@pytest.mark.parametrize(("name", "directed"), CASES)
@pytest.mark.parametrize("devices", ["host"])
def test_every_algorithm_gives_one_answer_in_any_order(name, directed, devices, tmp_path):
    first, *others = answers(name, example_for(name, directed), tmp_path, devices)
    for table, top, figures in others:
        assert table.dtype == first[0].dtype and figures == first[2]
        for column in table.dtype.names:
            if table.dtype[column].kind == "f":
                np.testing.assert_allclose(table[column], first[0][column], rtol=SUMS, atol=1e-9)
            else:
                np.testing.assert_array_equal(table[column], first[0][column], err_msg=column)
        if name not in BY_PAGES:
            assert [row.get("vertex") for row in top] == [row.get("vertex") for row in first[1]]


@pytest.mark.parametrize("name", SEARCHED)
def test_searches_find_as_much_in_any_order(name, tmp_path):
    found = []
    for order in ORDERS:
        with gstream.open(replace(with_ties(False), order=order).stored(tmp_path), devices="host") as graph:
            found.append(getattr(graph, name)(seed=7).summary["modularity"])
    assert 0.3 < max(found) < min(found) + 0.04
