"""Certificates catch corrupted answers, all of them, and never refuse a right one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gstream
from gstream.algorithms.centrality.pagerank import run_pagerank
from gstream.algorithms.centrality.residual_proofs import certify_pagerank
from gstream.algorithms.components.component_proofs import certify_wcc
from gstream.algorithms.components.wcc import run_wcc
from gstream.algorithms.support.refusal import CertificateError
from gstream.algorithms.support.session import Session
from gstream.algorithms.traversal import distance_proofs as certify
from gstream.algorithms.traversal.bfs import run_bfs, run_khop
from gstream.algorithms.traversal.sssp import run_sssp
from tests.answers.graphs import Example, hub_example
from tests.decoded import decode_edges

CASES = [(directed, topology, 1) for directed in (True, False) for topology in ("both", "out", "in")]
CASES += [(True, "in", 32), (False, "out", 8)]
ROUNDS = 60  # corruptions of each kind, for every case


@pytest.fixture(params=CASES, ids=lambda case: f"{'directed' if case[0] else 'undirected'}-{case[1]}-{case[2]}")
def session(request, tmp_path):
    """A session on a graph with hubs, several components, zero weights and isolated vertices."""
    directed, topology, columns = request.param
    example = hub_example(directed, weighted=True, topology=topology, order="degree", columns=columns)
    with gstream.open(example.stored(tmp_path)) as graph, Session(graph.engine()) as session:
        yield session


def changed(columns, at, vertex, value):
    """The columns with one value of one column replaced."""
    values = columns[at].values.copy()
    values[vertex] = value
    return [replace(column, values=values) if i == at else column for i, column in enumerate(columns)]


def refused(prove, session, columns, options, found):
    try:
        prove(session, columns, options, found)
    except CertificateError:
        return True
    return False


@pytest.mark.parametrize(("run", "prove"), [(run_bfs, certify.certify_bfs), (run_sssp, certify.certify_sssp)])
def test_distances(session, run, prove):
    options = {"source": 11}
    columns, found = run(session, **options)
    random = np.random.default_rng(1)
    distance, predecessor = (column.values for column in columns)
    prove(session, columns, options, found)
    prove(session, columns[:1], options, found)
    reached = predecessor != session.none
    reached[session.store.lookup([11])] = True
    farther = [replace(columns[0], values=np.where(reached, distance + 1, distance)), columns[1]]
    assert refused(prove, session, farther, options, found), "all as far from each other as they are, none at 0"
    for number in range(ROUNDS):
        v = int(random.integers(len(distance)))
        wrong = distance.dtype.type(random.choice([0, 1, 2, 3, 5, 100, np.iinfo(distance.dtype).max]))
        if wrong != distance[v]:
            kept = columns if number % 2 else columns[:1]
            assert refused(prove, session, changed(kept, 0, v, wrong), options, found), (v, distance[v], wrong)
    tight = tight_edges(session, distance, weighted=run is run_sssp)
    for _ in range(ROUNDS):
        v, u = (int(x) for x in random.integers(len(distance), size=2))
        if predecessor[v] != session.none and distance[u] != distance[v]:
            wrong = (u, v) not in tight
            assert refused(prove, session, changed(columns, 1, v, u), options, found) == wrong, (v, u)
        other = session.none if predecessor[v] != session.none else 0
        assert refused(prove, session, changed(columns, 1, v, other), options, found), (v, other)


def tight_edges(session, distance, weighted):
    """{(u, v)}: edges on which a shortest path may come."""
    name = "out" if session.store.has("out") else "in"
    source, target, weight = decode_edges(session.store.topology(name))
    source, target = (source, target) if name == "out" else (target, source)
    step = weight.astype(np.int64) if weighted else 1
    long = distance.astype(np.int64)
    chosen = long[source] + step == long[target]
    return set(zip(source[chosen].tolist(), target[chosen].tolist(), strict=True))


def test_distances_over_the_depth_limit(session):
    options = {"source": 11, "depth_limit": 2}
    columns, found = run_bfs(session, **options)
    certify.certify_bfs(session, columns, options, found)
    whole, found_whole = run_bfs(session, source=11)
    if whole[0].values[whole[0].values != np.uint32(0xFFFFFFFF)].max() > 2:
        assert refused(certify.certify_bfs, session, whole, options, found_whole)


def test_neighbours_are_one_edge_away_unless_asked_otherwise(session):
    columns, found = run_khop(session, source=11, radius=2)
    certify.certify_khop(session, columns, {"source": 11, "radius": 2}, found)
    assert refused(certify.certify_khop, session, columns, {"source": 11}, found)


def test_a_circle_of_zero_weights_is_no_proof(tmp_path):
    """1, 2, 3 hold each other up at distance 1, one less than the way there; every edge agrees with that."""
    example = Example(4, np.array([0, 1, 2, 3]), np.array([1, 2, 3, 1]), np.array([2.0, 0.0, 0.0, 0.0]))
    with gstream.open(example.stored(tmp_path)) as graph, Session(graph.engine()) as session:
        options = {"source": 0}
        columns, found = run_sssp(session, **options)
        values, above = columns[0].values.copy(), columns[1].values.copy()
        values[1:], above[1:] = 1, [3, 1, 2]
        forged = [replace(columns[0], values=values), replace(columns[1], values=above)]
        for given in (forged, forged[:1]):
            with pytest.raises(CertificateError):
                certify.certify_sssp(session, given, options, found)


def test_components(session):
    columns, found = run_wcc(session)
    certify_wcc(session, columns, {}, found)
    label = columns[0].values
    random = np.random.default_rng(2)
    for _ in range(ROUNDS):
        v = int(random.integers(len(label)))
        wrong = int(random.integers(len(label)))
        if wrong != label[v]:
            assert refused(certify_wcc, session, changed(columns, 0, v, wrong), {}, found)
    for _ in range(ROUNDS):  # whole classes renamed, merged or split
        one, other = (int(x) for x in random.choice(np.unique(label), 2, replace=False))
        merged = np.where(label == one, label.dtype.type(other), label)
        renamed = np.where(label == one, label.dtype.type(min(len(label) - 1, one + 1)), label)
        split = np.where((label == one) & (random.random(len(label)) < 0.5), session.store.natural_ids(), label)
        for wrong in (merged, renamed, split):
            if not np.array_equal(wrong, label):
                assert refused(certify_wcc, session, [replace(columns[0], values=wrong)], {}, found)


@pytest.mark.parametrize("float64", [False, True])
def test_pagerank(session, float64):
    options = {"tol": 1e-9 if float64 else 1e-6, "float64": float64}
    columns, found = run_pagerank(session, **options)
    proof = certify_pagerank(session, columns, options, found)
    exact, _ = run_pagerank(session, tol=1e-14, max_iter=1000, float64=True)
    error = np.abs(columns[0].values - exact[0].values).sum()
    assert error <= proof["l1_error_bound"] + 1e-12
    random = np.random.default_rng(3)
    for _ in range(ROUNDS):
        v = int(random.integers(len(columns[0].values)))
        wrong = columns[0].values[v] + random.choice([-1, 1]) * 10.0 ** random.uniform(-4.5, 1)
        assert refused(certify_pagerank, session, changed(columns, 0, v, wrong), options, found)
    for wrong in (np.nan, np.inf):
        assert refused(certify_pagerank, session, changed(columns, 0, 0, wrong), options, found)
    shuffled = [replace(columns[0], values=random.permutation(columns[0].values))]
    assert refused(certify_pagerank, session, shuffled, options, found)


def test_the_first_vertex_is_named_like_others(tmp_path):
    """Its number in the store is 0, which says nothing about whether it is to blame."""
    example = Example(3, np.array([0, 1]), np.array([1, 2]))
    with gstream.open(example.stored(tmp_path)) as graph, Session(graph.engine()) as session:
        columns, found = run_wcc(session)
        with pytest.raises(CertificateError, match="an edge joins vertices 0 and 1, which have different components"):
            certify_wcc(session, [replace(columns[0], values=np.array([0, 1, 1], np.uint32))], {}, found)
        columns, found = run_bfs(session, 0)
        with pytest.raises(CertificateError, match="vertex 1 is at 7, but there is an edge from 0 at 0"):
            certify.certify_bfs(session, changed(columns, 0, 1, 7), {"source": 0}, found)


def test_the_message_names_users_vertices(tmp_path):
    example = Example(3, np.array([0, 1]), np.array([1, 2]), kind="listed")
    with gstream.open(example.stored(tmp_path)) as graph, Session(graph.engine()) as session:
        columns, found = run_bfs(session, 3)
        with pytest.raises(CertificateError, match="vertex 17 is at 5, but there is an edge from 10 at 1"):
            certify.certify_bfs(session, changed(columns, 0, 2, 5), {"source": 3}, found)
