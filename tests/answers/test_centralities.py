"""Katz, eigenvector, HITS and restarted walks against networkx and NumPy; degrees against a count of the edges."""

from __future__ import annotations

from dataclasses import replace

import choice
import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import gstream
from gstream.algorithms.centrality.centralities import run_eigenvector, run_hits, run_katz
from gstream.algorithms.centrality.degrees import certify_degrees, run_degrees
from gstream.algorithms.centrality.residual_proofs import certify_eigenvector, certify_hits, certify_katz
from gstream.algorithms.support.refusal import CertificateError
from gstream.algorithms.support.session import Session
from pagestore.errors import UsageError
from tests.answers.graphs import Example, column, examples, hub_example


def matrix(example):
    """(nodes in a Result's order, A[u, v]: how many edges lead from u to v; an undirected self-loop counts once)."""
    graph = example.networkx()
    nodes = sorted(graph, key=lambda n: n.encode() if isinstance(n, str) else n)
    return nodes, nx.to_numpy_array(graph, nodelist=nodes, weight=None)


def simple(example):
    """The graph for functions of networkx that take no multigraph: repeated edges become weights."""
    nodes, counts = matrix(example)
    kind = nx.DiGraph if example.directed else nx.Graph
    return nx.relabel_nodes(nx.from_numpy_array(counts, create_using=kind), dict(enumerate(nodes)))


def values(result, name):
    return np.array(list(column(result, name).values()), float)


def unit(x):
    return x / (np.sqrt((x * x).sum()) or 1)


def share(x):
    return x / (x.sum() or 1)


def by_power(a, steps):
    a = scipy.sparse.csr_array(a)
    x = np.full(a.shape[0], 1 / a.shape[0])
    for _ in range(steps):
        x = unit(x + a.T @ x)
    return unit(x)


def by_turns(a, rounds):
    hub, authority, a = np.full(len(a), 1 / len(a)), np.zeros(len(a)), scipy.sparse.csr_array(a)
    for _ in range(rounds):
        authority = share(a.T @ hub)
        hub = share(a @ authority)
    return hub, authority


def check_all(graph, a, nodes, certify=True):
    """Every centrality of an open graph whose matrix is `a`."""
    x = by_power(a, 300)
    largest = np.linalg.norm(x + a.T @ x) * 1.1  # of A + I, which is more; power iteration may be a little short
    alpha = 0.1 if largest * 0.1 < 0.9 else 0.5 / largest
    katz = graph.katz(alpha=alpha, beta=2.0, tol=1e-13, certify=certify)
    exact = np.linalg.solve(np.eye(len(a)) - alpha * a.T, np.full(len(a), 2.0))
    np.testing.assert_allclose(values(katz, "katz"), unit(exact), rtol=1e-8)
    raw = graph.katz(alpha=alpha, tol=1e-13, normalized=False, certify=certify)
    np.testing.assert_allclose(values(raw, "katz"), exact / 2, rtol=1e-8)
    for tol, most in ((1e-12, 40), (1e-3, 200)):
        power = graph.eigenvector(tol=tol, max_iter=most, certify=certify)
        expected = by_power(a, power.summary["supersteps"])
        np.testing.assert_allclose(values(power, "eigenvector"), expected, rtol=1e-9, atol=1e-15)
        assert power.summary["converged"] == (power.summary["l1_change"] < tol)
    for tol, most in ((1e-12, 10), (1e-3, 60)):
        hits = graph.hits(tol=tol, max_iter=most, certify=certify)
        hub, authority = by_turns(a, hits.summary["supersteps"] // 2)
        np.testing.assert_allclose(values(hits, "hub"), hub, rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(values(hits, "authority"), authority, rtol=1e-9, atol=1e-15)
    walk = graph.rwr(source=nodes[:2], alpha=0.7, tol=1e-13, max_iter=300, float64=True, certify=certify)
    degree, start = a.sum(axis=1), np.zeros(len(a))
    start[: len(nodes[:2])] = 1 / len(nodes[:2])
    step = np.where(degree[:, None] > 0, a / np.maximum(degree, 1)[:, None], start)
    exact = np.linalg.solve(np.eye(len(a)) - 0.7 * step.T, 0.3 * start)
    np.testing.assert_allclose(values(walk, "proximity"), exact, rtol=1e-9, atol=1e-12)  # rank that tends to 0


def check_degrees(graph, example):
    place = {v: n for n, v in enumerate(example.present.tolist())}
    source, target = ([place[v] for v in ends.tolist()] for ends in (example.source, example.target))
    out, into = (np.bincount(np.array(ends, int), minlength=len(place)) for ends in (source, target))
    loops = np.bincount([u for u, v in zip(source, target, strict=True) if u == v], minlength=len(place))
    table = graph.degrees(certify=True).to_numpy()
    whole = {"vertices": out + into if example.directed else out + into - loops}
    if example.directed:
        whole |= {"out": out, "in": into}
    assert table.dtype.names == ("degree", *whole)
    assert table["degree"].tolist() == sorted(set(np.concatenate(list(whole.values())).tolist()))
    for name, degrees in whole.items():
        histogram = np.bincount(degrees)
        expected = [histogram[d] if d < len(histogram) else 0 for d in table["degree"]]
        assert table[name].tolist() == expected, name


@settings(max_examples=200)
@given(example=examples(largest=120))
def test_random_graphs(example, tmp_path_factory):
    nodes, a = matrix(example)
    with gstream.open(example.stored(tmp_path_factory.mktemp("central"))) as graph:
        check_all(graph, a, nodes)
        check_degrees(graph, example)


@settings(max_examples=40)
@given(example=examples(largest=120, edges_at_least=1), alpha=st.sampled_from([0.1, 0.01]))
def test_networkx(example, alpha, tmp_path_factory):
    """Where networkx's own iterations end, and its answers are the only ones."""
    plain, (nodes, a) = simple(example), matrix(example)
    singular = np.sort(np.linalg.svd(a, compute_uv=False))[::-1]
    others = sorted(abs(np.linalg.eigvals(a + np.eye(len(a)))))[-2:]
    with gstream.open(example.stored(tmp_path_factory.mktemp("networkx"))) as graph:
        if max(abs(np.linalg.eigvals(a))) * alpha < 0.9:
            theirs = nx.katz_centrality(plain, alpha, tol=1e-12, weight="weight")
            found = column(graph.katz(alpha=alpha, tol=1e-12), "katz")
            assert all(abs(found[v] - theirs[v]) < 1e-9 for v in nodes)
        if len(others) == 2 and others[0] < 0.9 * others[1]:
            theirs = nx.eigenvector_centrality(plain, 3000, tol=1e-12 / len(nodes), weight="weight")
            found = column(graph.eigenvector(3000, tol=1e-12), "eigenvector")
            assert all(abs(found[v] - theirs[v]) < 1e-8 for v in nodes)
        if len(a) > 1 and singular[0] > 0 and singular[1] < 0.9 * singular[0]:
            result = graph.hits(3000, tol=1e-13)
            for name, theirs in zip(("hub", "authority"), nx.hits(plain), strict=True):
                found = column(result, name)
                assert all(abs(found[v] - theirs[v]) < 1e-7 for v in nodes), name


@pytest.mark.parametrize("directed", [True, *choice.also(False)])
@pytest.mark.parametrize("devices", ["host:3", *choice.also("host", "fake:1:2")])
def test_hubs_and_devices(directed, devices, tmp_path):
    for topology in ("both", "out", "in"):
        example = hub_example(directed, topology=topology, order="degree")
        nodes, a = matrix(example)
        with gstream.open(example.stored(tmp_path), devices=devices) as graph:
            check_all(graph, a, nodes)
            check_degrees(graph, example)


@pytest.mark.parametrize("options", [{"host_memory": 150_000}, {"devices": "fake:3", "device_memory": 90_000}])
def test_streamed(options, tmp_path):
    path = hub_example().stored(tmp_path)
    with gstream.open(path) as free, gstream.open(path, **options) as capped:
        for name in ("katz", "eigenvector", "hits"):
            own = {"max_iter": 10} | ({"alpha": 0.001} if name == "katz" else {})
            expected, found = (graph.execute(name, own) for graph in (free, capped))
            np.testing.assert_allclose(values(found, found.columns[1]), values(expected, found.columns[1]), rtol=1e-12)


def test_hits_not_normalized(tmp_path):
    example = hub_example()
    nodes, a = matrix(example)
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.hits(max_iter=7, normalized=False, certify=True)
    _, authority = by_turns(a, 7)
    np.testing.assert_allclose(values(result, "authority"), unit(authority), rtol=1e-9)
    np.testing.assert_allclose(values(result, "hub"), a @ unit(authority), rtol=1e-9)
    assert not result.summary["converged"] and result.summary["supersteps"] == 14
    assert result.summary["stats"]["edges_visited"] == 15 * 3000


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("katz", {"alpha": float("nan")}, "alpha nan: must be a number. The default is 0.1."),
        ("katz", {"beta": float("inf")}, "beta inf: must be a number. The default is 1.0."),
        ("katz", {"alpha": 5.0}, "alpha 5.0: sums over walks grow without end on this graph"),
        ("katz", {"tol": -1.0}, "tol -1.0"),
        ("eigenvector", {"max_iter": -1}, "max_iter -1"),
        ("eigenvector", {"alpha": 0.5}, "eigenvector: has no option 'alpha'; it has max_iter, tol, weighted."),
        ("hits", {"tol": float("inf")}, "tol inf"),
        ("rwr", {"source": None}, "rwr: no source was given. Pass source=ID"),
        ("rwr", {"source": 99}, "source 99 is not a vertex of"),
        ("rwr", {"source": 0, "alpha": 1.0}, "alpha 1.0: must be at least 0 and less than 1."),
    ],
)
def test_wrong_use(name, options, message, tmp_path):
    example = Example(3, np.array([0, 0, 1, 1, 2]), np.array([1, 1, 0, 0, 2]))
    with gstream.open(example.stored(tmp_path)) as graph, pytest.raises(UsageError) as caught:
        graph.execute(name, options)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("name", ["hits", "eigenvector", "katz", "rwr"])
def test_plans_count_the_supersteps_of_iterations(name, tmp_path):
    example = hub_example(True, topology="both")
    own = {"max_iter": 3, "tol": 0.0} | {"katz": {"alpha": 1e-4}, "rwr": {"source": 0}}.get(name, {})
    with gstream.open(example.stored(tmp_path)) as graph:
        assert graph.plan(name, **own)["supersteps"] == getattr(graph, name)(**own).summary["supersteps"]


def test_tables_and_plots(tmp_path):
    from gstream.reporting.plots import plot_result

    example = Example(5, np.array([0, 0, 1, 0]), np.array([1, 2, 2, 1]))
    with gstream.open(example.stored(tmp_path)) as graph:
        table = graph.degrees()
    expected = [
        {"degree": 0, "vertices": 2, "out": 3, "in": 3}, {"degree": 1, "vertices": 0, "out": 1, "in": 0},
        {"degree": 2, "vertices": 1, "out": 0, "in": 2}, {"degree": 3, "vertices": 2, "out": 1, "in": 0},
    ]  # fmt: skip
    assert table.to_arrow().to_pylist() == table.to_pandas().to_dict("records") == table.top() == expected
    assert len(table) == 4 and table.top(1) == expected[:1]
    assert table.summary["mean_degree"] == 1.6 and table.summary["greatest_degree"] == 3
    table.write(tmp_path / "d.csv")
    assert (tmp_path / "d.csv").read_text() == "degree,vertices,out,in\n0,2,3,3\n1,0,1,0\n2,1,0,2\n3,2,1,0\n"
    table.write(tmp_path / "d.npy")
    assert np.load(tmp_path / "d.npy")["out"].tolist() == [3, 1, 0, 1]
    pytest.importorskip("matplotlib")
    plot_result(table, path=tmp_path / "d.png")
    assert (tmp_path / "d.png").read_bytes()[:4] == b"\x89PNG"
    lone = replace(example, directed=False)
    with gstream.open(lone.stored(tmp_path)) as graph:  # one row of dots, not three
        plot_result(graph.degrees(), path=tmp_path / "lone.svg")
        plot_result(table, path=tmp_path / "three.svg")
    shown = [(tmp_path / name).read_text() for name in ("lone.svg", "three.svg")]
    assert ["out-degree" in text for text in shown] == [False, True] and "<!-- degree -->" in shown[0]
    for path, message in (("d.txt", "the ending says the format"), ("no/d.png", "its folder .*no does not exist")):
        with pytest.raises(UsageError, match=message):
            plot_result(table, path=tmp_path / path)


@pytest.mark.longer
@pytest.mark.parametrize("directed", [True, *choice.also(False)])
def test_certificates_refuse_what_is_wrong(directed, tmp_path):
    random = np.random.default_rng(6)
    example = hub_example(directed, topology="both" if directed else "out")
    cases = [
        (run_katz, certify_katz, {"alpha": 0.001, "tol": 1e-10}),
        (run_katz, certify_katz, {"alpha": 0.001, "normalized": False}),
        (run_eigenvector, certify_eigenvector, {"tol": 1e-12}),
        (run_hits, certify_hits, {"tol": 1e-12}),
        (run_hits, certify_hits, {"normalized": False, "tol": 1e-12}),
    ]
    with gstream.open(example.stored(tmp_path)) as graph, Session(graph.engine()) as session:
        for run, prove, options in cases:
            columns, found = run(session, **options, max_iter=3000)
            assert found["converged"]
            prove(session, columns, options, found)
            for at, values in enumerate(column.values for column in columns):
                for number in range(choice.few(8, 40)):
                    wrong, v = values.copy(), int(random.integers(len(values)))
                    wrong[v] += random.choice([-1, 1]) * 10.0 ** random.uniform(-2, 1) if number else np.nan
                    forged = [replace(c, values=wrong) if i == at else c for i, c in enumerate(columns)]
                    with pytest.raises(CertificateError):
                        prove(session, forged, options, found)


def test_degrees_are_certified(tmp_path):
    with gstream.open(hub_example().stored(tmp_path)) as graph, Session(graph.engine()) as session:
        columns, found = run_degrees(session)
        certify_degrees(session, columns, {}, found)
        for at in range(1, 4):
            wrong = columns[at].values.copy()
            wrong[0] += 1
            forged = [replace(c, values=wrong) if i == at else c for i, c in enumerate(columns)]
            with pytest.raises(CertificateError):
                certify_degrees(session, forged, {}, found)


def test_eigenvectors_of_other_eigenvalues_are_refused(tmp_path):
    """Of a greater eigenvalue there is none (Perron, Frobenius): signs tell, and what other parts grow by."""
    clique = [(u, v) for u in range(5) for v in range(u)]
    ring = [(5 + k, 5 + (k + 1) % 8) for k in range(8)]
    source, target = np.array(clique + ring).T
    example = Example(15, source, target, directed=False)  # eigenvalues 4 and 2; two vertices have no edge
    with gstream.open(example.stored(tmp_path)) as graph, Session(graph.engine()) as session:
        columns, found = run_eigenvector(session, max_iter=5000, tol=1e-12)
        certify_eigenvector(session, columns, {"tol": 1e-12}, found)
        among_ring = np.where((np.arange(15) >= 5) & (np.arange(15) < 13), 8**-0.5, 0.0)
        alone = (np.arange(15) == 14).astype(float)
        for wrong in (-columns[0].values, among_ring, alone):
            for claimed in (found, {**found, "converged": False}):
                with pytest.raises(CertificateError):
                    certify_eigenvector(session, [replace(columns[0], values=wrong)], {"tol": 1e-12}, claimed)
        for early in range(4):  # of a run that ended before it converged nothing else is said
            columns, found = run_eigenvector(session, max_iter=early)
            certify_eigenvector(session, columns, {}, found)


@pytest.mark.parametrize("normalized", [True, *choice.also(False)])
def test_hits_that_are_negative_or_scaled_are_refused(normalized, tmp_path):
    options = {"tol": 1e-12, "normalized": normalized}
    with gstream.open(hub_example().stored(tmp_path)) as graph, Session(graph.engine()) as session:
        columns, found = run_hits(session, max_iter=3000, **options)
        certify_hits(session, columns, options, found)
        hub, authority = (column.values for column in columns)
        for wrong in ((hub, -authority), (-hub, -authority), (hub, 2 * authority), (2 * hub, 2 * authority)):
            forged = [replace(column, values=values) for column, values in zip(columns, wrong, strict=True)]
            with pytest.raises(CertificateError):
                certify_hits(session, forged, options, found)


def test_hits_of_a_lesser_part_are_refused(tmp_path):
    """Two stars: the smaller one's hub and authorities are a solution, too."""
    source, target = np.array([(0, v) for v in range(2, 12)] + [(1, v) for v in range(12, 15)]).T
    with gstream.open(Example(15, source, target).stored(tmp_path)) as graph, Session(graph.engine()) as session:
        columns, found = run_hits(session, max_iter=3000)
        certify_hits(session, columns, {}, found)
        hub, authority = (np.arange(15) == 1).astype(float), (np.arange(15) >= 12) / 3
        forged = [replace(column, values=v) for column, v in zip(columns, (hub, authority), strict=True)]
        with pytest.raises(CertificateError, match="elsewhere"):
            certify_hits(session, forged, {}, found)


@pytest.mark.parametrize("directed", [True, False])
def test_degrees_exchanged_in_a_column_are_refused(directed, tmp_path):
    """Their sums are right: only a look at each vertex tells."""
    with gstream.open(hub_example(directed).stored(tmp_path)) as graph, Session(graph.engine()) as session:
        columns, found = run_degrees(session)
        certify_degrees(session, columns, {}, found)
        for at in range(1, len(columns)):
            values = columns[at].values
            degree = columns[0].values
            a = next(
                k for k in range(len(degree) - 2) if degree[k] + 2 == degree[k + 2] and degree[k] + 1 == degree[k + 1]
            )
            wrong = values.copy()
            wrong[[a, a + 1, a + 2]] += [1, -2, 1]  # as many vertices, as many edges
            forged = [replace(c, values=wrong) if i == at else c for i, c in enumerate(columns)]
            with pytest.raises(CertificateError, match=f"column {columns[at].name} has"):
                certify_degrees(session, forged, {}, found)


@pytest.mark.filterwarnings("error:overflow", "error:invalid value")
@pytest.mark.parametrize("devices", ["host", "host:2", "fake:1:2"])
def test_sums_of_hubs_that_grow_past_all_numbers_warn_of_nothing_else(devices, tmp_path):
    random = np.random.default_rng(1)
    source, target = random.integers(0, 5, (2, 1500))
    ends = np.append(source, np.zeros(1500, np.int64)), np.append(np.zeros(1500, np.int64), target)
    Example(5, *ends).convert(tmp_path / "hub.gs")  # lists of large pages
    with gstream.open(tmp_path / "hub.gs") as graph:
        for alpha in np.geomspace(1.0, 1000.0, 16):  # in some the sums of pages are finite, and their sum is not
            with pytest.raises(UsageError, match="grow without end"):
                graph.katz(alpha=alpha, devices=devices)
