"""Real graphs of ../shared/data: each algorithm with a stored answer gives it, on every graph that has some; graphs
without one are held against scipy and networkx. Skipped without the folder.

Stored answers were computed with networkit, igraph and scipy. GSTREAM_LARGE=1 runs the large graphs too.
"""

from __future__ import annotations

import hashlib
import os
from functools import cached_property, lru_cache

import choice
import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

import gstream
from pagestore.memory import convert_arrays
from tests.answers.simple_graphs import simple_pairs
from tests.shared_data import DATA, answers, arrays, edges, hash_weights, manifest, needs_data

pytestmark = needs_data
LARGE = "GSTREAM_LARGE" in os.environ
MOST_EDGES = 150_000  # of a graph that is always run
MOST_SOUGHT = 1 << 26  # vertices * edges of one whose exact betweenness is: a search from every vertex
LONGEST_SECONDS = 1800  # a test of a large graph, its conversion with it
EXACT = {"rtol": 1e-9, "atol": 1e-14}
# git_dag_5repos: page sets of 212 MiB each, beside attributes of 3.4 M vertices
CAPPED = {"git_dag_5repos": {"host_memory": 200 << 20}}


def digest(values, kind):
    return hashlib.sha256(np.ascontiguousarray(values, kind).tobytes()).hexdigest()


class Known:
    """One graph: its edges, its answers, and stores in degree order with small pages, made when they are asked for."""

    def __init__(self, name, folder):
        self.name, self.folder, self.facts = name, folder, manifest()[name]
        self.options = CAPPED.get(name, {})

    @cached_property
    def table(self):
        return edges(self.name)

    @cached_property
    def ends(self):
        return self.table[:, 0].astype(np.int64), self.table[:, 1].astype(np.int64)

    @cached_property
    def answers(self):
        return answers(self.name)

    @cached_property
    def arrays(self):
        return arrays(self.name)

    def opened(self, kind="as it is"):
        """The graph as it is, with the weights of sssp_hashw ("hashed"), or "undirected", both ways an edge each."""
        path, (source, target) = self.folder / f"{kind}.gs", self.ends
        directed = self.facts["directed"] and kind != "undirected"
        if not path.exists():
            weight = self.table[:, 2] if self.table.shape[1] == 3 else None
            if kind == "hashed":
                weight = hash_weights(source, target, directed)
            convert_arrays(
                path, source, target, weight, directed=directed, vertices=self.facts["V"], order="degree",
                page_bytes=1 << 14 if len(source) < 1 << 24 else 1 << 20, memory_bytes=1 << 28,
            )  # fmt: skip
        return gstream.open(path, **self.options)


def check_bfs(known):
    with known.opened() as graph:
        for answer in known.answers["bfs"]:
            result = graph.bfs(source=answer["source"], certify=True)
            levels = result.to_numpy()["distance"]
            assert result.summary["reached"] == answer["reached"]
            assert digest(levels, "<i4") == answer["sha256_int32le"]
            histogram = answer["histogram"] or answer["histogram_first_1000"]
            near = graph.khop(source=answer["source"], radius=2, certify=True)
            assert near.summary["reached"] == sum(histogram[:3])


def check_wcc(known):
    answer = known.answers["wcc"]
    with known.opened() as graph:
        found = [graph.wcc(certify=True)] + ([] if known.facts["directed"] else [graph.hcc(certify=True)])
    for result in found:
        assert result.summary["components"] == answer["components"]
        assert result.top(1)[0]["vertices"] == answer["largest"]
        assert digest(result.to_numpy()["component"], "<u4") == answer["sha256_minid_u32le"]


def check_scc(known):
    with known.opened() as graph:  # in a chain of 19,109 a cap has some pages read again at each turn
        result = graph.scc(certify=True, host_memory=None)
    assert result.summary["components"] == known.answers["scc"]["components"]
    assert result.top(1)[0]["vertices"] == known.answers["scc"]["largest"]


def check_pagerank(known):
    exact, stop = known.arrays, {"tol": 1e-13, "max_iter": 1000, "float64": True}
    with known.opened() as graph:
        double = graph.pagerank(**stop, certify=True)
        single = graph.pagerank(tol=1e-7, certify=True)
    check_top(double, "pagerank", known.answers["pagerank"]["top20"])
    assert abs(np.linalg.norm(double.to_numpy()["pagerank"]) - known.answers["pagerank"]["l2"]) < 1e-12
    if "pagerank" in exact:
        assert np.allclose(double.to_numpy()["pagerank"], exact["pagerank"], rtol=1e-8, atol=0)
        assert np.abs(single.to_numpy()["pagerank"] - exact["pagerank"]).sum() < 1e-5


def check_rwr(known):
    answer, exact = known.answers["rwr"], known.arrays
    stop = {"tol": 1e-13, "max_iter": 1000, "float64": True, "certify": True}
    with known.opened() as graph:
        personal = graph.pagerank(personalization={answer["source"]: 1.0}, **stop)
        walk = graph.rwr(source=answer["source"], **stop)
    for result, name in ((personal, "pagerank"), (walk, "proximity")):
        check_top(result, name, answer["top20"])
        assert abs(np.linalg.norm(result.to_numpy()[name]) - answer["l2"]) < 1e-12
        if "rwr_top1000_id" in exact:
            found = result.to_numpy()[name][exact["rwr_top1000_id"]]
            assert np.allclose(found, exact["rwr_top1000_val"], rtol=1e-8, atol=1e-14)


def check_top(result, name, expected):
    values = result.to_numpy()[name]
    for (vertex, value), row in zip(expected, result.top(20), strict=True):
        assert np.isclose(row[name], value, **EXACT) and np.isclose(values[vertex], value, **EXACT)


def check_sssp(known):
    check_distances(known, "as it is", known.answers["sssp"])


def check_sssp_hashw(known):
    check_distances(known, "hashed", known.answers["sssp_hashw"])


def check_distances(known, kind, expected):
    with known.opened(kind) as graph:
        for answer in expected:
            result = graph.sssp(source=answer["source"], float64=True, certify=True)
            distance = result.to_numpy()["distance"]
            reached = distance[np.isfinite(distance)]
            assert len(reached) == answer["reached"]
            assert np.isclose(reached.max(), answer["max"], rtol=1e-6)
            assert np.isclose(reached.sum(), answer["sum"], rtol=1e-6)
            if answer.get("sha256_u32le"):
                assert np.array_equal(reached, np.round(reached))
                whole = np.where(np.isfinite(distance), distance, 2**32 - 1)
                assert digest(whole, "<u4") == answer["sha256_u32le"]


def check_kcore(known):
    answer = known.answers["kcore"]
    with known.opened("undirected") as graph:
        result = graph.kcore(certify=True)
    cores = result.to_numpy()["core"]
    assert result.summary["largest_core"] == answer["max"] == cores.max()
    assert (cores == answer["max"]).sum() == answer["size_of_max_core"]
    assert digest(cores, "<u4") == answer["sha256_u32le"]


def check_triangles(known):
    answer = known.answers["triangles"]
    with known.opened("undirected") as graph:
        result = graph.triangles()
    assert result.summary["triangles"] == answer["total"]
    assert digest(result.to_numpy()["triangles"], "<u8") == answer["sha256_pervertex_u64le"]


def check_lcc_ldbc(known):
    answer = known.answers["lcc_ldbc"]
    with known.opened() as graph:
        lcc = graph.lcc().to_numpy()["lcc"]
    assert np.isclose(lcc.sum(), answer["sum"], **EXACT) and np.isclose(lcc.max(), answer["max"], **EXACT)
    if "lcc" in known.arrays:
        assert np.allclose(lcc, known.arrays["lcc"], rtol=1e-12, atol=0)


def check_cdlp_ldbc_10it(known):
    answer = known.answers["cdlp_ldbc_10it"]
    with known.opened() as graph:
        result = graph.cdlp(iterations=10)
    assert result.summary["communities"] == answer["communities"]
    assert result.top(1)[0]["vertices"] == answer["largest"]
    assert digest(result.to_numpy()["community"], "<u4") == answer["sha256_u32le"]


def check_betweenness_from_sources(known):
    with known.opened() as graph:
        result = graph.betweenness(source=known.answers["sources"], normalized=False)
    check_between(result, known.answers["betweenness_from_sources"], known.arrays, "bc_sources")


def check_betweenness(known):
    with known.opened() as graph:
        result = graph.betweenness(normalized=False)
    check_between(result, known.answers["betweenness"], known.arrays, "bc")


def check_between(result, answer, exact, name):
    found = result.to_numpy()["betweenness"]
    assert np.isclose(found.sum(), answer["sum"], rtol=1e-9)
    vertices, values = np.array(answer["top20"]).T
    assert np.allclose(found[vertices.astype(np.int64)], values, rtol=1e-9)
    if name in exact:
        assert np.allclose(found, exact[name], rtol=1e-9, atol=1e-9)


def check_degree(known):
    answer, directed = known.answers["degree"], known.facts["directed"]
    with known.opened() as graph:
        rows = graph.degrees(certify=True).to_numpy()
    out, into = (rows[name if directed else "vertices"] for name in ("out", "in"))
    assert rows["degree"][out > 0].max() == answer["max_out"] and rows["degree"][into > 0].max() == answer["max_in"]
    assert out[rows["degree"] == 0].sum() == answer["dangling"]
    assert rows["vertices"][rows["degree"] == 0].sum() == answer["isolated"]


CHECKS = {name.removeprefix("check_"): check for name, check in globals().items() if name.startswith("check_")}


def is_large(name, what=""):
    """Whether a graph is left to GSTREAM_LARGE; exact betweenness of one takes as many searches as vertices."""
    vertices, count = (manifest()[name][key] for key in "VE")
    return count > MOST_EDGES or (what == "betweenness" and vertices * count > MOST_SOUGHT)


def case(name, *what):
    if not is_large(name, *what):
        seconds = what == ("betweenness",)  # of test_betweenness.py's graphs, too
        return pytest.param(name, *what, marks=pytest.mark.long if seconds else ())
    skipped = pytest.mark.skipif(not LARGE, reason="a large graph; GSTREAM_LARGE=1 runs it")
    return pytest.param(name, *what, marks=(skipped, pytest.mark.timeout(LONGEST_SECONDS)))


def by_size():
    return sorted(manifest(), key=lambda name: manifest()[name]["E"]) if DATA.is_dir() else []


ANSWERED = [name for name in by_size() if (DATA / "answers" / f"{name}.json").exists()]
CASES = [case(name, what) for name in ANSWERED for what in answers(name) if what in CHECKS]
REST = [name for name in by_size() if name not in ANSWERED]
OTHERS = choice.seeds(4, (name for name in REST if not is_large(name))) + [
    case(name) for name in REST if is_large(name)
]


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    """known(name): the tests of one graph follow each other, so the last one alone is kept."""

    @lru_cache(maxsize=1)
    def known(name):
        return Known(name, tmp_path_factory.mktemp(name))

    return known


@pytest.mark.covering(1)
@pytest.mark.parametrize(("name", "what"), CASES)
def test_stored_answers(graphs, name, what):
    CHECKS[what](graphs(name))


def test_every_stored_answer_has_a_check():
    """Beside those that are facts of the graph; exact eccentricities are no algorithm of ours."""
    facts = {"name", "V", "E", "directed", "weighted", "sources", "undirected_simple_edges", "crosschecks", "seconds"}
    assert {what for name in ANSWERED for what in answers(name)} - facts - {"eccentricity"} <= set(CHECKS)


def named_by_least(label):
    """int64[V]: of components numbered 0, 1, ... each one's least vertex."""
    return np.unique(label, return_index=True)[1][label]


@pytest.mark.parametrize("name", OTHERS)
def test_others_are_scipys_and_networkxs(graphs, name):
    """Distances, components, triangles and core numbers."""
    known = graphs(name)
    (source, target), vertices, directed = known.ends, known.facts["V"], known.facts["directed"]
    pairs = simple_pairs(np.stack([source, target], axis=1))
    arcs = csr_array((np.ones(len(source)), (source, target)), (vertices, vertices))
    sources = [int(source[len(source) // 3]), int(np.bincount(source).argmax())]
    with known.opened() as graph:
        for one, expected in zip(sources, dijkstra(arcs, directed, sources, unweighted=True), strict=True):
            levels = graph.bfs(source=one, certify=True).to_numpy()["distance"]
            assert np.array_equal(levels, np.where(np.isfinite(expected), expected, -1))
        for found, kind in ((graph.wcc(certify=True), "weak"), (graph.scc(certify=True), "strong")):
            expected = named_by_least(connected_components(arcs, directed, kind)[1])
            assert np.array_equal(found.to_numpy()["component"], expected)
    with known.opened("undirected") as graph:
        triangles, cores = graph.triangles().to_numpy()["triangles"], graph.kcore(certify=True).to_numpy()["core"]
    upper = csr_array((np.ones(len(pairs), np.int64), pairs.T), (vertices, vertices))
    near = upper + upper.T
    assert np.array_equal(triangles, np.asarray((near @ near).multiply(near).sum(axis=1)).ravel() // 2)
    plain = nx.empty_graph(vertices)
    plain.add_edges_from(pairs.tolist())
    assert cores.tolist() == list(nx.core_number(plain).values())
