"""Certificates refuse right answers that were changed a little: one value, two swapped, a whole column, the summary."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gstream
from gstream.algorithms.registry import ALGORITHMS
from gstream.algorithms.support.refusal import CertificateError
from gstream.algorithms.support.session import Session
from tests.answers.graphs import Example

VERTICES = 40
SOURCE = {"source": 3}
HEATED = {"initial": {v: v - 3.0 for v in range(0, 30, 3)}}
CASES = [
    ("bfs", "directed", SOURCE),
    ("khop", "directed", SOURCE | {"radius": 2}),
    ("khop", "directed", SOURCE | {"radius": 2, "undirected": True}),
    ("sssp", "directed", SOURCE),
    ("sssp", "undirected", SOURCE | {"float64": True}),
    ("widest", "directed", SOURCE),
    ("wcc", "directed", {}),
    ("hcc", "undirected", {}),
    ("scc", "directed", {}),
    ("levels", "acyclic", {"weighted": True}),
    ("pagerank", "directed", {"tol": 1e-9, "float64": True}),
    ("pagerank", "undirected", {"iterations": 60}),
    ("pagerank", "directed", {"tol": 1e-9, "weighted": True}),
    ("rwr", "directed", SOURCE | {"tol": 1e-9, "weighted": True}),
    ("katz", "directed", {"alpha": 0.02, "weighted": True}),
    ("eigenvector", "undirected", {"max_iter": 1000, "tol": 1e-9, "weighted": True}),
    ("hits", "directed", {"weighted": True}),
    ("rwr", "directed", SOURCE | {"tol": 1e-9, "float64": True}),
    ("katz", "directed", {"alpha": 0.05}),
    ("katz", "directed", {"alpha": 0.05, "normalized": False}),
    ("eigenvector", "undirected", {"max_iter": 1000, "tol": 1e-9}),
    ("hits", "directed", {}),
    ("hits", "undirected", {"normalized": False}),
    ("heat", "directed", HEATED),
    ("circuit", "directed", HEATED),
    ("neural", "directed", HEATED),
    ("kcore", "directed", {}),
    ("kcore", "undirected", {"k": 2}),
    ("triangles", "undirected", {}),
    ("lcc", "directed", {}),
    ("closeness", "directed", {}),
    ("harmonic", "directed", {"k": 10}),
    ("betweenness", "directed", {}),
    ("betweenness", "undirected", {"k": 9, "seed": 1, "endpoints": True}),
    ("closeness", "directed", {"weighted": True}),
    ("harmonic", "undirected", {"weighted": True}),
    ("msf", "undirected", {}),
    ("ktruss", "undirected", {}),
    ("ktruss", "undirected", {"k": 3}),
    ("degrees", "directed", {}),
    ("mis", "undirected", {}),
]  # (algorithm, graph, options)


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """Paths of three graphs with a hub, triangles, repeated edges, self-loops and vertices without edges."""
    random = np.random.default_rng(3)
    source = (36 * random.random(120) ** 1.5).astype(np.int64)
    target = (36 * random.random(120)).astype(np.int64)
    weight = random.integers(0, 9, 120) / 4
    folder = tmp_path_factory.mktemp("stores")
    low, high = np.minimum(source, target), np.maximum(source, target) + 1
    return {
        "directed": Example(VERTICES, source, target, weight, order="degree").stored(folder),
        "undirected": Example(VERTICES, source, target, weight, directed=False).stored(folder),
        "acyclic": Example(VERTICES, low, high, weight).stored(folder),
    }


def changed(values, random):
    """(what, values) of one column's wrong answers."""
    most = np.iinfo(values.dtype).max if values.dtype.kind in "iu" else np.inf
    for v in random.permutation(len(values))[:4].tolist():
        x, u = values[v].item(), int(random.integers(len(values)))
        if values.dtype.kind in "iu":
            wrong = [y for y in (x + 1, x - 1, 0, most, most - 1, -1) if np.iinfo(values.dtype).min <= y <= most]
        else:
            wrong = [x * 1.001, x * 0.99, -x, 0.0, np.nan, np.inf, -np.inf, 1e308, x + 1]
        for y in wrong:
            other = values.copy()
            other[v] = y
            yield f"one value: {x} -> {y}", other
        swapped = values.copy()
        swapped[[u, v]] = values[[v, u]]
        yield f"swap of {values[u]} and {x}", swapped
    if values.dtype.kind == "f":
        for factor in (1.001, 0.99, -1.0, np.nan):
            yield f"all times {factor}", values * factor
    else:
        yield "all one more", values + values.dtype.type(1)
        for one in np.unique(values)[:2]:
            yield f"all {one} are another's", np.where(values == one, values[random.integers(len(values))], values)
    yield "rolled", np.roll(values, 1)


def is_same(values, right):
    """Whether a change changed nothing that a sum of doubles would show."""
    if values.dtype.kind != "f":
        return np.array_equal(values, right)
    return bool(np.all((values == right) | (np.abs(values - right) < 1e-12)))


@pytest.mark.parametrize(("name", "graph", "options"), CASES, ids=lambda value: str(value)[:40])
def test_wrong_answers_are_refused(stores, name, graph, options):
    algorithm, random = ALGORITHMS[name], np.random.default_rng(7)
    with gstream.open(stores[graph]) as opened, np.errstate(all="ignore"):
        with Session(opened.engine(), name) as session:
            columns, found = algorithm.load(f"run_{algorithm.name}")(session, **options)

        def is_refused(given, said):
            with Session(opened.engine(), name) as session:
                try:
                    algorithm.load(algorithm.proof)(session, given, options, said)
                except CertificateError:
                    return True
            return False

        assert not is_refused(columns, found)
        for at, column in enumerate(columns[:1] if name in ("bfs", "sssp") else columns):
            for what, values in changed(column.values, random):
                given = [*columns[:at], replace(column, values=values), *columns[at + 1 :]]
                if not is_same(values, column.values):
                    assert is_refused(given, found), (column.name, what)
        figures = {key: value for key, value in found.items() if type(value) in (int, float)} | {"supersteps": 0}
        for key in figures.keys() - {"supersteps", "l1_change"}:
            assert is_refused(columns, found | {key: figures[key] * 1.01 + 1}), key


def test_colours_of_no_greedy_colouring_are_refused(stores):
    algorithm = ALGORITHMS["coloring"]
    with gstream.open(stores["directed"]) as graph, Session(graph.engine(), "coloring") as session:
        columns, found = algorithm.load(f"run_{algorithm.name}")(session)
        proof = algorithm.load(algorithm.proof)(session, columns, {}, found)
        assert "neighbours of all lesser colours" in proof["proves"]
        for v, color in enumerate(columns[0].values.tolist()):
            values = columns[0].values.copy()
            values[v] = found["colors"]
            wrong = [replace(columns[0], values=values)]
            with pytest.raises(CertificateError):
                algorithm.load(algorithm.proof)(session, wrong, {}, found)
            if color != found["colors"] - 1:  # as if that many were said
                with pytest.raises(CertificateError, match="and no neighbour of a lesser one"):
                    algorithm.load(algorithm.proof)(session, wrong, {}, found | {"colors": found["colors"] + 1})


def test_colours_past_64_take_another_sweep(tmp_path):
    source, target = np.triu_indices(140, 1)
    algorithm = ALGORITHMS["coloring"]
    with gstream.open(Example(141, source, target, directed=False).stored(tmp_path)) as graph:
        with Session(graph.engine(), "coloring") as session:
            columns, found = algorithm.load(f"run_{algorithm.name}")(session)
            assert found["colors"] == 140 and algorithm.load(algorithm.proof)(session, columns, {}, found)["holds"]
            values = columns[0].values.copy()
            values[140] = 139
            with pytest.raises(CertificateError):
                algorithm.load(algorithm.proof)(session, [replace(columns[0], values=values)], {}, found)


def test_the_residual_of_a_hub_allows_each_term_its_rounding(tmp_path):
    """90,000 equal terms, each added with the same rounding: their sum is off by more than the root of their number."""
    leaves = np.arange(1, 30_001)
    example = Example(30_001, np.concatenate([leaves, leaves, leaves]), np.zeros(90_000, np.int64))
    with gstream.open(example.stored(tmp_path)) as graph:
        for call in (graph.katz, graph.hits, graph.eigenvector):
            assert call(certify=True, tol=1e-13, max_iter=50).summary["certificate"]["holds"]
