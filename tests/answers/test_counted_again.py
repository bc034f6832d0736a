"""Certificates that count some vertices, or all steps, again: they refuse wrong answers and never a right one."""

from __future__ import annotations

from dataclasses import replace

import choice
import numpy as np
import pytest
from hypothesis import given, settings

import gstream
from gstream.algorithms.centrality import reach, search_proofs, simulations
from gstream.algorithms.centrality.search_proofs import SEARCHES, certify_closeness, certify_harmonic
from gstream.algorithms.density import clustering, triangles
from gstream.algorithms.density import triangle_proofs as spots
from gstream.algorithms.density.clustering_proofs import certify_lcc
from gstream.algorithms.support.refusal import CertificateError
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.watched import watched
from tests.answers.graphs import Example, examples, hub_example
from tests.answers.simple_graphs import big_example, devices

COUNTED = {
    "triangles": (triangles.run_triangles, spots.certify_triangles),
    "lcc": (clustering.run_lcc, certify_lcc),
    "closeness": (reach.run_closeness, certify_closeness),
    "harmonic": (reach.run_harmonic, certify_harmonic),
}
STEPPED = {
    "heat": (simulations.run_heat, simulations.certify_heat),
    "circuit": (simulations.run_circuit, simulations.certify_circuit),
    "neural": (simulations.run_neural, simulations.certify_neural),
}
SAMPLED = {"closeness": [{}, {"wf_improved": False}, {"k": 9, "seed": 4}], "harmonic": [{}, {"k": 9, "seed": 4}]}
STEPS = [{}, {"iterations": 0}, {"iterations": 3}]


def refused(prove, session, columns, values, options, found):
    try:
        prove(session, [replace(columns[0], values=values)], options, found)
    except CertificateError:
        return True
    return False


def first_values(vertices):
    random = np.random.default_rng(8)
    return dict(zip(vertices, random.normal(0, 3, len(vertices)).tolist(), strict=True))


@pytest.mark.long
@pytest.mark.longer
@settings(max_examples=choice.few(6, 60))
@given(example=examples(weights="floats", largest=120), devices=devices)
def test_right_answers_hold(example, devices, tmp_path_factory):
    vertices = [example.user_id(v) for v in example.present]
    with gstream.open(example.stored(tmp_path_factory.mktemp("again")), devices=devices) as graph:
        for name in COUNTED:
            if name != "triangles" or not example.directed:
                for options in SAMPLED.get(name, [{}]):
                    if options.get("k", 0) <= len(vertices):
                        assert graph.execute(name, options, True).summary["certificate"]["holds"]
        for name in STEPPED:
            for options in STEPS:
                own = {**options, "initial": first_values(vertices)}
                assert graph.execute(name, own, True).summary["certificate"]["holds"]
        for rate in (3.0, 1e3):
            found = graph.heat(first_values(vertices), 200, rate=rate, certify=True).summary
            assert not (found["certificate"]["holds"] and "not_finite" in found)


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize(("directed", "topology"), [(True, "both"), (True, "out"), (True, "in"), (False, "both")])
def test_wrong_counts_are_refused(name, directed, topology, tmp_path, monkeypatch):
    monkeypatch.setattr("gstream.algorithms.support.watched.EDGES", 1)  # as if the graph were large
    if topology == "in":
        monkeypatch.setattr(search_proofs, "EDGES", 1)  # searches by a program, not by one thread
    if name == "triangles" and directed:
        return
    (run, prove), random = COUNTED[name], np.random.default_rng(5)
    example = big_example(directed, topology=topology) if name in ("triangles", "lcc") else hub_example(
        directed, order="degree", topology=topology
    )  # fmt: skip
    with gstream.open(example.stored(tmp_path)) as graph, Session(graph.engine()) as session:
        for options in SAMPLED.get(name, [{}]):
            columns, found = run(session, **options)
            values = columns[0].values
            assert prove(session, columns, options, found)["holds"]
            count = spots.AT_ONCE if name in ("triangles", "lcc") else SEARCHES
            at = watched(session, values, count, count, 1)
            assert 0.5 * count <= len(at) <= count and session.store.lookup([11 if name in SAMPLED else 3999])[0] in at
            for v in random.choice(at, 6, replace=False):
                wrong = values.copy()
                wrong[v] = wrong[v] + 1 if name == "triangles" else wrong[v] * 1.0001 + 1e-6
                assert refused(prove, session, columns, wrong, options, found), v
            moved = values.copy()
            moved[at[0]] = 0 if values[at[0]] else 1
            for wrong in (values * 2, values * 0, random.permutation(values), moved):
                assert refused(prove, session, columns, wrong.astype(values.dtype), options, found)
            if values.dtype.kind == "f":
                for wrong in (np.nan, -1e-9):
                    at_last = np.where(np.arange(len(values)) == len(values) - 1, wrong, values)
                    assert refused(prove, session, columns, at_last, options, found)


@pytest.mark.parametrize(
    ("names", "topology", "asked"),
    [
        (("closeness", "harmonic", "betweenness"), "out", {"chunk_vertices": 128}),
        (("closeness", "harmonic"), "in", {"chunk_vertices": 128}),
        (("closeness", "harmonic", "betweenness"), "out", {"direction": "push"}),
        (("closeness", "harmonic"), "in", {"direction": "pull"}),
        (("betweenness",), "out", {"direction": "pull"}),
        (("closeness", "harmonic", "betweenness"), "both", {"direction": "pull", "chunk_vertices": 128}),
    ],
)
def test_what_runs_is_proved(names, topology, asked, tmp_path, monkeypatch):
    """The searches of a certificate lead the other way, and may need what the run was asked to do without; later calls
    find the engine that was asked for."""
    steps = []
    monkeypatch.setattr(search_proofs, "EDGES", 1)  # searches by a program
    with gstream.open(hub_example(topology=topology).stored(tmp_path)) as graph:

        def look(number, step):
            steps.append(number)

        engine = graph.engine(progress=look, **asked)
        for name in names:
            steps.clear()
            graph.execute(name, {"k": 20}, False, progress=look, **asked)
            told = len(steps)
            result = graph.execute(name, {"k": 20}, True, progress=look, **asked)
            assert result.summary["certificate"]["holds"]
            assert name == "betweenness" or len(steps) > 2 * told, "progress is told of both"
            assert graph.engine(progress=look, **asked) is engine


def test_triangles_add_up(tmp_path, monkeypatch):
    """A wrong count is noticed by the sum where its vertex is not watched."""
    monkeypatch.setattr("gstream.algorithms.support.watched.EDGES", 1)
    with gstream.open(big_example(False).stored(tmp_path)) as graph, Session(graph.engine()) as session:
        columns, found = triangles.run_triangles(session)
        wrong, count = columns[0].values.copy(), spots.AT_ONCE
        at = set(watched(session, wrong, count, count, 1).tolist())
        wrong[next(v for v in range(len(wrong)) if v not in at and wrong[v])] += np.uint64(1)
        with pytest.raises(CertificateError, match="the vertices' triangles are not 3 times"):
            spots.certify_triangles(session, [replace(columns[0], values=wrong)], {}, found)


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", STEPPED)
@pytest.mark.parametrize("options", STEPS, ids=str)
@pytest.mark.parametrize("topology", ["both", "out", "in"])
def test_wrong_steps_are_refused(name, options, topology, tmp_path):
    run, prove = STEPPED[name]
    random = np.random.default_rng(5)
    ends, weight = random.integers(0, 300, (2, 5000)), random.random(5000).astype(np.float32).astype(np.float64)
    ends[0, :1500], ends[1, 1500:3000] = 11, 5  # two large pages each
    example = Example(310, *ends, weight / 2, order="degree", topology=topology)
    options = {**options, "initial": first_values(range(0, example.vertices, 3))}
    with gstream.open(example.stored(tmp_path)) as graph, Session(graph.engine()) as session:
        columns, found = run(session, **options)
        values = columns[0].values
        assert prove(session, columns, options, found)["holds"]
        for _ in range(40):
            wrong = values.copy()
            wrong[random.integers(len(values))] += random.choice([-1, 1]) * 10.0 ** random.uniform(-6, 1)
            assert refused(prove, session, columns, wrong, options, found)
        for wrong in (values * 1.0001, values * 0, random.permutation(values), np.where(values > 0, np.nan, values)):
            assert refused(prove, session, columns, wrong, options, found)
        if options.get("iterations") != 0:
            other, _ = run(session, **{**options, "iterations": options.get("iterations", 10) - 1})
            assert refused(prove, session, columns, other[0].values, options, found), "one step fewer"


def test_what_leads_past_all_numbers_is_neither_proven_nor_a_false_alarm(tmp_path):
    """A rate that is not stable, on both sides of 0."""
    example = Example(3, np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1]), np.full(4, 200.5))
    with gstream.open(example.stored(tmp_path)) as graph, np.errstate(all="ignore"):
        result = graph.heat({0: 1.0, 2: -3.0}, 400, rate=1.0, certify=True)
        assert np.isinf(result.to_numpy()["temperature"]).any() or np.isnan(result.to_numpy()["temperature"]).any()
        proof = result.summary["certificate"]
        assert not proof["holds"] and proof["proves"].startswith("nothing of 3 of 3 values, which are past all numbers")
