"""NetworkX's backend: answers as NetworkX's own, what is refused, dispatch by itself."""

from __future__ import annotations

import inspect
import subprocess
import sys
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import choice
import networkx as nx
import numpy as np
import pytest
from scipy import sparse

import gstream
from gstream.nx.backend import FEWEST, backend
from gstream.nx.declare import FUNCTIONS
from gstream.nx.info import NAMES
from gstream.nx.left_out import LeftToNetworkXError
from gstream.nx.node_graph import NodeGraph

ROOT = Path(__file__).resolve().parents[2]
VALUES = {
    "source": 0, "target": 9, "n": 3, "k": 3, "distance": 2, "sources": [0, 3], "u": 3, "v": 9, "row_order": [0, 3],
}  # fmt: skip
ALL = nx.utils.backends._registered_algorithms  # by their names in dispatch
TREES = {"bfs_edges", "bfs_predecessors", "bfs_successors", "bfs_tree"}  # of equally short paths another may be taken
SEARCHED = {"leiden_communities", "louvain_communities"}  # which have no one answer
PATHS = {"single_source_shortest_path", "all_pairs_shortest_path", "bidirectional_dijkstra"}


def graphs() -> dict[str, nx.Graph]:
    """Of both kinds, with names, self-loops, parallel edges, isolated nodes and weights."""
    karate = nx.karate_club_graph()
    weighed = nx.gnp_random_graph(30, 0.2, seed=3, directed=True)
    for number, (u, v) in enumerate(weighed.edges):
        weighed.edges[u, v]["weight"] = 1 + number % 7
    loops = nx.Graph(nx.gnp_random_graph(25, 0.1, seed=4))
    loops.add_edges_from([(3, 3), (4, 4)])
    named = nx.relabel_nodes(nx.gnp_random_graph(20, 0.2, seed=5), lambda n: n if n in VALUES.values() else n + 0.5)
    return {
        "karate": nx.Graph(karate.edges), "weighed": weighed, "loops": loops, "named": named,
        "strong": nx.DiGraph(nx.cycle_graph(15, nx.DiGraph).edges), "dag": nx.DiGraph([(0, 3), (3, 9), (0, 9), (9, 5)]),
        "tree": nx.balanced_tree(2, 3), "parallel": nx.MultiGraph([(0, 3), (0, 3), (3, 9), (9, 9), (2, 3)]),
    }  # fmt: skip


def plain(found: Any) -> Any:
    """An answer that can be compared."""
    if sparse.issparse(found):
        found = found.toarray()
    if isinstance(found, np.ndarray):
        return found.tolist()
    if isinstance(found, nx.Graph):
        return (found.is_directed(), set(found), {frozenset(e) if not found.is_directed() else e for e in found.edges})
    if isinstance(found, dict | int | float | tuple | list | set):
        return found
    return list(found)


def close(one: Any, other: Any) -> bool:
    """Equal, floats within 1e-6; lists of nodes in any order."""
    if isinstance(one, float) or isinstance(other, float):
        return one == pytest.approx(other, rel=1e-5, abs=1e-6)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(close(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and len(one) == len(other) and all(isinstance(x, set) for x in one):
        return sorted(map(sorted_nodes, one)) == sorted(map(sorted_nodes, other))
    if (
        isinstance(one, list | tuple)
        and len(one) == len(other)
        and any(isinstance(x, list | dict | tuple) for x in one)
    ):
        return all(close(x, y) for x, y in zip(one, other, strict=True))
    if isinstance(one, list):
        return sorted_nodes(one) == sorted_nodes(other)
    return one == other


def sorted_nodes(nodes: Any) -> list[str]:
    return sorted(map(repr, nodes))


def called(call: Any, graph: Any, signature: inspect.Signature) -> Any:
    """The answer, or the kind of error, to the arguments that VALUES has for parameters without a default."""
    needed = [one for one in list(signature.parameters.values())[1:] if one.default is one.empty]
    values = VALUES | {"communities": [set(list(graph)[0::2]), set(list(graph)[1::2])]}
    try:
        return plain(call(graph, *[values[one.name] for one in needed]))
    except LeftToNetworkXError:
        return LeftToNetworkXError
    except nx.NetworkXException as error:
        return type(error)
    except KeyError:
        return KeyError


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - SEARCHED))
@pytest.mark.parametrize("kind", list(graphs()))
@pytest.mark.covering(1)
def test_answers_are_networkx_s(kind: str, name: str) -> None:
    graph, known = graphs()[kind], FUNCTIONS[name]
    attribute = "weight" if known.reads else None
    ours = backend.convert_from_nx(graph, edge_attrs={attribute: 1} if attribute else None)
    found = called(getattr(backend, name), ours, known.signature)
    if found is LeftToNetworkXError:
        needed = {one: VALUES.get(one) for one in list(known.signature.parameters)[1:] if one in VALUES}
        needed |= {"communities": []} if name == "modularity" else {}
        assert known.can_run((graph,), needed) is not True or name in ("shortest_path", "transitivity")
        return
    if name == "hits" and kind in ("strong", "tree"):  # several vectors have the largest singular value
        return
    if not known.reads:
        nx.set_edge_attributes(graph, 1, "weight")
    wanted = called(ALL[name].orig_func, graph, known.signature)
    if name == "hits" and wanted is nx.PowerIterationFailedConvergence:
        wanted = plain(ALL[name].orig_func(graph, max_iter=1000))  # 3.7 measures hubs by the largest, not by their sum
    if name == "node_degree_xy":  # in any order
        found, wanted = sorted(found), sorted(wanted)
    if name in TREES and not isinstance(wanted, type):  # see below
        return
    if name in PATHS:
        found, wanted = (lengths_of(one) for one in (found, wanted))
    if name == "bidirectional_shortest_path" and isinstance(wanted, list):
        assert nx.is_path(graph, found) and len(found) == len(wanted)
        return
    if name == "dijkstra_path" and isinstance(wanted, list):
        assert nx.is_path(graph, found) and weight_of(graph, found) == weight_of(graph, wanted)
        return
    assert close(found, wanted), (found, wanted)


def weight_of(graph: nx.Graph, path: list[Any]) -> float:
    """Of the lightest of parallel edges; 1 where none is given."""
    steps = [graph.get_edge_data(u, v) for u, v in nx.utils.pairwise(path)]
    return sum(
        min(one.get("weight", 1) for one in (step.values() if graph.is_multigraph() else [step])) for step in steps
    )


def lengths_of(found: Any) -> Any:
    """Paths as their lengths."""
    if isinstance(found, dict):
        return {node: len(path) for node, path in found.items()}
    if isinstance(found, list):
        return [(node, lengths_of(paths)) for node, paths in found]
    return found[0] if isinstance(found, tuple) else found


def test_self_loops_are_not_their_own_opposites() -> None:
    made = nx.DiGraph([(0, 0), (0, 3), (3, 0), (3, 9), (9, 9)])
    assert nx.overall_reciprocity(made, backend="gstream") == nx.overall_reciprocity(made) == 0.4


@pytest.mark.parametrize("name", sorted(SEARCHED))
def test_communities_are_as_good_as_networkx_s(name: str) -> None:
    made = nx.relabel_nodes(nx.random_partition_graph([20, 30, 50], 0.3, 0.02, seed=5), str)
    peer = nx.community.modularity(made, nx.community.louvain_communities(made, seed=1))
    call = getattr(nx.community, name)
    if "metric" in inspect.signature(call.orig_func).parameters:  # of NetworkX 3.7, whose default is another
        with pytest.raises(RuntimeError, match=f"'{name}' is not implemented by 'gstream' backend for the given"):
            call(made, backend="gstream")
        call = partial(call, metric="modularity")
    found = call(made, seed=3, backend="gstream")
    assert set().union(*found) == set(made) and sum(map(len, found)) == len(made)
    assert nx.community.modularity(made, found) >= 0.98 * peer
    assert found == call(made, seed=3, backend="gstream") and call(made, seed=None, backend="gstream")
    assert nx.community.modularity(made, found, backend="gstream") == pytest.approx(
        nx.community.modularity(made, found), abs=1e-12
    )
    with pytest.raises(nx.NetworkXException, match="partition"):
        nx.community.modularity(made, found[1:], backend="gstream")
    with pytest.raises(ValueError, match="max_level argument must be a positive integer"):
        call(made, max_level=0, backend="gstream")


@pytest.mark.parametrize("name", sorted(TREES))
def test_a_tree_of_a_search_is_of_shortest_paths(name: str) -> None:
    graph = nx.gnp_random_graph(40, 0.1, seed=7)
    found = getattr(backend, name)(backend.convert_from_nx(graph), 0)
    if name == "bfs_predecessors":
        found = [(before, node) for node, before in found]
    if name == "bfs_successors":
        found = [(before, node) for before, nodes in found for node in nodes]
    edges = list(found.edges) if name == "bfs_tree" else list(found)
    wanted = nx.single_source_shortest_path_length.orig_func(graph, 0)
    assert {v for _, v in edges} == set(wanted) - {0} and all(graph.has_edge(u, v) for u, v in edges)
    assert all(wanted[v] == wanted[u] + 1 for u, v in edges)


def test_a_store_s_graph_is_a_graph_of_networkx_s_functions(tmp_path: Path) -> None:
    edges = {"source": ["b", "b", "é", "a"], "target": ["é", "a", "b", "c"]}
    graph = gstream.from_edges(*edges.values())
    mirror = nx.DiGraph(list(zip(*edges.values(), strict=True)))
    assert nx.pagerank(graph) == pytest.approx(nx.pagerank(mirror), abs=1e-6)
    assert sorted(nx.bfs_edges(graph, "b")) == sorted(nx.bfs_edges(mirror, "b"))
    assert nx.shortest_path(graph, "b", "c") == ["b", "a", "c"]
    assert nx.has_path(graph, "c", "a") is False
    with pytest.raises(nx.NodeNotFound, match="Source z is not in G"):
        nx.single_source_shortest_path_length(graph, "z")
    assert set(backend.convert_to_nx(NodeGraph.of(graph)).edges) == set(mirror.edges)


def test_what_only_networkx_does_is_refused_by_name() -> None:
    graph = gstream.from_edges([0, 1], [1, 2], [2.0, 3.0])
    loose = gstream.from_edges([0, 1], [1, 2], [2.0, 0.0])
    with pytest.raises(LeftToNetworkXError, match="betweenness_centrality: weights of 0 leave .* Graph.to_networkx"):
        backend.betweenness_centrality(loose, weight="weight")
    with pytest.raises(RuntimeError, match="is not implemented by"):  # NetworkX's own, as no backend is left
        nx.betweenness_centrality(loose, weight="weight")
    assert nx.betweenness_centrality(graph)[1] > 0.3
    with pytest.raises(LeftToNetworkXError, match="the graph's weights are called weight"):
        backend.dijkstra_path_length(graph, 0, 2, weight="amount")
    assert nx.dijkstra_path_length(graph, 0, 2) == 5
    with pytest.raises(LeftToNetworkXError, match="connected_components: only undirected graphs"):
        backend.connected_components(graph)


RANKS: dict[str, dict[str, Any]] = {  # function: what says that it is by weights
    "pagerank": {}, "hits": {}, "katz_centrality": {"weight": "weight"},
    "eigenvector_centrality": {"weight": "weight", "max_iter": 1000},
}  # fmt: skip


@pytest.mark.parametrize("name", ["pagerank", *choice.also("hits", "katz_centrality", "eigenvector_centrality")])
def test_ranks_by_weights_are_networkx_s(name: str) -> None:
    edges = ([0, 0, 1, 2, 2], [1, 2, 2, 0, 3], [1, 6, 2, 0.5, 4])
    ours, mirror = gstream.from_edges(*edges), nx.DiGraph()
    mirror.add_weighted_edges_from(zip(*edges, strict=True))
    call, given = getattr(nx, name), RANKS[name]
    found = call(ours, **given)
    assert close(found, call(mirror, **given)) and not close(found, call(nx.DiGraph(mirror.edges), **given))
    if name == "pagerank":
        assert close(nx.pagerank(ours, weight=None), nx.pagerank(mirror, weight=None))


def test_paths_by_weights_are_networkx_s() -> None:
    edges = ([0, 0, 1, 2, 2, 3], [1, 2, 2, 0, 3, 4], [1, 6, 2, 0.5, 4, 1])
    ours, mirror = gstream.from_edges(*edges), nx.DiGraph()
    mirror.add_weighted_edges_from(zip(*edges, strict=True))
    for name, key in (("closeness", "distance"), ("harmonic", "distance"), ("betweenness", "weight")):
        call = getattr(nx, f"{name}_centrality")
        assert close(call(ours, **{key: "weight"}), call(mirror, **{key: "weight"}))
        assert not close(call(ours, **{key: "weight"}), call(ours))
    for radius in (0, 2.5, 3):
        found = nx.ego_graph(ours, 0, radius, distance="weight")
        assert set(found) == set(nx.ego_graph(mirror, 0, radius, distance="weight"))
    both = gstream.from_edges(*edges, directed=False)
    for v in range(5):
        wanted = nx.closeness_centrality(mirror.to_undirected(), distance="weight")[v]
        assert nx.closeness_centrality(both, v, "weight") == pytest.approx(wanted)


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("normalized", [False, True])
def test_a_random_that_the_caller_keeps_draws_as_networkx_s(normalized: bool, ends: bool) -> None:
    for graph in (nx.karate_club_graph(), nx.gnp_random_graph(20, 0.2, seed=3, directed=True)):
        ours, theirs = Random(5), Random(5)
        for k in (1, 4, len(graph)):
            options = {"k": k, "normalized": normalized, "endpoints": ends}
            found = nx.betweenness_centrality(graph, seed=ours, backend="gstream", **options)
            wanted = nx.betweenness_centrality(graph, seed=theirs, **options)
            assert found == pytest.approx(wanted, nan_ok=True)
        assert ours.random() == theirs.random()


def test_matrices_of_listed_nodes_are_networkx_s() -> None:
    graph = nx.MultiDiGraph([("a", "b", {"weight": 2}), ("a", "b", {"weight": 3}), ("b", "c"), ("c", "c"), ("d", "a")])
    for nodes in (["c", "a", "b"], ["c"], ["d", "c", "b", "a"]):
        found = nx.to_numpy_array(graph, nodes, backend="gstream")
        assert (found == nx.to_numpy_array(graph, nodes)).all()
        matrix = nx.to_scipy_sparse_array(graph, nodes, backend="gstream")
        assert (matrix.toarray() == found).all()
    for nodes in ([], ["a", "a"], ["e"]):
        assert "the list of nodes" in str(backend.can_run("to_numpy_array", (graph, nodes), {}))


def test_a_class_with_adjacencies_of_its_own_is_not_read() -> None:
    from networkx.algorithms.approximation.kcomponents import _AntiGraph

    graph = _AntiGraph(nx.path_graph(4).edges)
    with pytest.raises(LeftToNetworkXError, match="has adjacencies of its own"):
        backend.convert_from_nx(graph)
    with pytest.raises(gstream.GstreamError, match="has adjacencies of its own"):
        gstream.from_networkx(graph)
    kind = type("Roads", (nx.DiGraph,), {})
    assert len(gstream.from_networkx(kind([(0, 1)]))) == 2


def test_a_node_that_is_not_there_is_networkx_s_error() -> None:
    graph = backend.convert_from_nx(nx.path_graph(3))
    with pytest.raises(nx.NetworkXError, match="Node 7 is not in the graph"):
        backend.eccentricity(graph, 7)


def test_answers_are_plain_numbers() -> None:
    graph = backend.convert_from_nx(nx.path_graph(4))
    for found in (backend.pagerank(graph), backend.core_number(graph), backend.closeness_centrality(graph)):
        assert all(type(value) in (int, float) for value in found.values())


def test_dispatch_by_itself_leaves_small_graphs_alone() -> None:
    small = nx.path_graph(10)
    assert "edges" in str(backend.should_run("pagerank", (small,), {}))
    assert backend.should_run("pagerank", (nx.path_graph(FEWEST + 1),), {}) is True
    assert backend.can_run("pagerank", (small,), {}) is True
    assert backend.can_run("pagerank", (small,), {"nstart": {0: 1}}) == "nstart={0: 1} is NetworkX's"


def test_what_stays_with_networkx_says_why() -> None:
    def why(name: str, *args: Any) -> str:
        return str(backend.can_run(name, args, {}))

    path = nx.path_graph(250)
    assert why("diameter", path) == why("is_tree", path) == "True" and "adjacencies" in why("bfs_edges", path, 0)
    assert "sooner" in str(backend.should_run("is_tree", (nx.path_graph(FEWEST + 1),), {}))
    for weight, said in ((0.5, "True"), (3, "True"), (0.1, "float32"), (-1, "at least 0"), ("x", "at least 0")):
        nx.set_edge_attributes(path, weight, "weight")
        assert said in why("single_source_dijkstra_path_length", path, 0)
    assert "no name of an edge attribute" in why("dijkstra_path_length", path, 0, 1, lambda u, v, d: 1)
    assert why("pagerank", nx.Graph()) == "the graph has no nodes"


def test_what_networkx_asks_at_its_import_loads_nothing() -> None:
    assert list(NAMES) == sorted(FUNCTIONS)
    code = "import sys, gstream.nx.info; print([m for m in sys.modules if m in ('numpy', 'networkx', 'gstream.graph')])"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_filtered_views_of_networkx(kind: type[nx.Graph]) -> None:
    """Their lists may say that they are longer than they are."""
    given = kind([(0, 1), (1, 2), (1, 2), (2, 0), (2, 2), (3, 0)])
    kept = [edge for number, edge in enumerate(given.edges) if number % 2]
    for view in (given.edge_subgraph(kept), nx.restricted_view(given, [3], [kept[0]]), given.subgraph([0, 2])):
        found = gstream.from_networkx(view)
        assert (found.info["vertices"], found.info["edges"]) == (len(view), view.number_of_edges())
        mine = nx.degree_centrality(view, backend="gstream")
        assert mine == pytest.approx(nx.degree_centrality(view.copy()))
