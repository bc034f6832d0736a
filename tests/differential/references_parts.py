"""Components, cores, colours, triangles and chosen edges, from the definitions: plain Python and SciPy, nothing of
gstream.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from nasty import Graph
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components


def components(graph: Graph, strong: bool) -> np.ndarray:
    """int64[V]: the least vertex of each vertex's component."""
    return graph.known(("components", strong), lambda: _components(graph, strong))


def _components(graph: Graph, strong: bool) -> np.ndarray:
    _, label = connected_components(matrix(graph), directed=True, connection="strong" if strong else "weak")
    least = np.full(graph.vertices, graph.vertices)
    np.minimum.at(least, label, np.arange(graph.vertices))
    return least[label]


def matrix(graph: Graph) -> csr_array:
    """The arcs, each once, without self-loops: ones of int64[V, V]."""
    return graph.known("matrix", lambda: _matrix(graph))


def _matrix(graph: Graph) -> csr_array:
    source, target, _ = graph.arcs
    pairs = np.unique(np.stack([source, target])[:, source != target], axis=1)
    return coo_array((np.ones(pairs.shape[1], np.int64), tuple(pairs)), shape=(graph.vertices,) * 2).tocsr()


def cores(graph: Graph) -> np.ndarray:
    """int64[V]: core numbers; of directed graphs out- and in-neighbours are added up."""
    return graph.known("cores", lambda: _cores(graph))


def _cores(graph: Graph) -> np.ndarray:
    simple = matrix(graph)
    both = (simple + simple.T if graph.directed else simple).tocsr()
    degree, core, level = np.asarray(both.sum(axis=1)).ravel(), np.zeros(graph.vertices, np.int64), 0
    left = set(range(graph.vertices))
    while left:
        level = max(level, int(min(degree[v] for v in left)))
        falling = [v for v in left if degree[v] <= level]
        core[falling] = level
        left.difference_update(falling)
        for v in falling:
            row = slice(both.indptr[v], both.indptr[v + 1])
            degree[both.indices[row]] -= both.data[row]
    return core


def communities(graph: Graph, iterations: int) -> np.ndarray:
    """int64[V]: labels after so many rounds of LDBC's label propagation."""
    return graph.known(("communities", iterations), lambda: _communities(graph, iterations))


def _communities(graph: Graph, iterations: int) -> np.ndarray:
    source, target, _ = graph.arcs
    heard: list[list[int]] = [[] for _ in range(graph.vertices)]
    for u, v in zip(source.tolist(), target.tolist(), strict=True):
        heard[v].append(u)
        if graph.directed:
            heard[u].append(v)
    label = list(range(graph.vertices))
    for _ in range(iterations):
        fresh = [_mode([label[u] for u in of], label[v]) for v, of in enumerate(heard)]
        if fresh == label:
            break
        label = fresh
    return np.array(label, np.int64)


def _mode(labels: list[int], own: int) -> int:
    counts = Counter(labels)
    return min(counts, key=lambda one: (-counts[one], one)) if counts else own


def triangles(graph: Graph) -> np.ndarray:
    """int64[V]: pairs of neighbours that are neighbours themselves; of undirected graphs."""
    simple = matrix(graph)
    return graph.known("triangles", lambda: np.asarray((simple @ simple).multiply(simple).sum(axis=1)).ravel() // 2)


def clustering(graph: Graph) -> np.ndarray:
    """float64[V]: arcs among the neighbours either way / d (d - 1), LDBC's."""
    return graph.known("clustering", lambda: _clustering(graph))


def _clustering(graph: Graph) -> np.ndarray:
    simple = matrix(graph)
    either = ((simple + simple.T) > 0).astype(np.int64)
    arcs = np.asarray((either @ simple).multiply(either).sum(axis=1)).ravel()
    d = np.asarray(either.sum(axis=1)).ravel()
    return np.divide(arcs, d * (d - 1), out=np.zeros(graph.vertices), where=d > 1)


def trusses(graph: Graph) -> dict[tuple[int, int], int]:
    """Truss number of each edge (lesser end first) of an undirected graph taken as simple."""
    return graph.known("trusses", lambda: _trusses(graph))


def _trusses(graph: Graph) -> dict[tuple[int, int], int]:
    near = [set(each) for each in graph.near]
    left = {(u, v) for u in range(graph.vertices) for v in near[u] if u < v}
    found: dict[tuple[int, int], int] = {}
    k = 2
    while left:
        weak = [(u, v) for u, v in left if len(near[u] & near[v]) < k - 1]  # not in the (k + 1)-truss
        if not weak:
            k += 1
            continue
        for u, v in weak:
            found[u, v] = k
            left.discard((u, v))
            near[u].discard(v)
            near[v].discard(u)
    return found


def forest(graph: Graph) -> list[tuple[int, int, float]]:
    """(lesser end, greater end, weight) of the minimum spanning forest, ties by the ends (Kruskal), ascending."""
    return graph.known("forest", lambda: _forest(graph))


def _forest(graph: Graph) -> list[tuple[int, int, float]]:
    up = list(range(graph.vertices))

    def root(v: int) -> int:
        while up[v] != v:
            up[v] = up[up[v]]
            v = up[v]
        return v

    rows = zip(*(part.tolist() for part in graph.edges), strict=True)
    kept = []
    for u, v, w in sorted(rows, key=lambda row: (row[2], row[0], row[1])):
        if root(u) != root(v):
            up[root(u)] = root(v)
            kept.append((u, v, w))
    return sorted(kept)


def degree_rows(graph: Graph) -> list[tuple[int, ...]]:
    """(degree, vertices of it) of an undirected graph; of a directed one of (both added up, out, in)."""
    source, target, _ = graph.arcs
    out = np.bincount(source, minlength=graph.vertices)
    into = np.bincount(target, minlength=graph.vertices)
    counts = [Counter(each.tolist()) for each in ([out + into, out, into] if graph.directed else [out])]
    return [(d, *(count[d] for count in counts)) for d in sorted(set().union(*counts))]


def mixing(graph: Graph) -> dict[str, float]:
    """assortativity of all arcs; transitivity, and reciprocity of directed graphs, of the simple graph."""
    source, target, _ = graph.arcs
    out = np.bincount(source, minlength=graph.vertices)
    into = np.bincount(target, minlength=graph.vertices)
    x, y = out[source].astype(float), (into if graph.directed else out)[target].astype(float)
    x, y = x - x.mean() if len(x) else x, y - y.mean() if len(y) else y
    spread = np.sqrt((x * x).sum() * (y * y).sum())
    found = {"assortativity": float((x * y).sum() / spread) if len(x) and np.ptp(x) and np.ptp(y) else np.nan}
    simple = matrix(graph)
    either = ((simple + simple.T) > 0).astype(np.int64)
    d = np.asarray(either.sum(axis=1)).ravel()
    paths = int((d * (d - 1)).sum())
    found["transitivity"] = int((either @ either).multiply(either).sum()) / paths if paths else 0.0
    if graph.directed:
        found["reciprocity"] = simple.multiply(simple.T).sum() / simple.sum() if simple.nnz else np.nan
    return found


def given_communities(
    graph: Graph, side: np.ndarray, weighted: bool, resolution: float, undirected: bool
) -> tuple[dict[str, np.ndarray], float]:
    """By the definition: (columns of communities by their least vertex, the weight of all edges), from sums over edges
    and vertices in the order of the edge list."""
    source, target, weight = graph.edges
    weight = weight.astype(float) if weighted else np.ones(len(source))
    total = weight.sum()
    _, least, side, vertices = np.unique(side, return_index=True, return_inverse=True, return_counts=True)
    count, same = len(least), side[source] == side[target]
    out, into = np.bincount(side[source], weight, count), np.bincount(side[target], weight, count)
    if not graph.directed or undirected:
        out = into = (out + into) / 2
    inside = np.bincount(side[source][same], weight[same], count)
    with np.errstate(invalid="ignore"):
        adds = inside / total - resolution * out * into / total**2
    columns = {
        "community": least, "vertices": vertices, "inside": inside, "strength": (out + into) / 2, "modularity": adds,
    }  # fmt: skip
    return {name: column[np.argsort(least)] for name, column in columns.items()}, float(total)


def chosen_edges(graph: Graph, sources: set[int], targets: set[int]) -> list[tuple[int, int, float]]:
    """Edges from one set to the other, ascending; an undirected edge once, the lesser end first if both ends fit."""
    rows = []
    for u, v, w in zip(*(part.tolist() for part in graph.edges), strict=True):
        if u in sources and v in targets:
            rows.append((u, v, w))
        elif not graph.directed and v in sources and u in targets:
            rows.append((v, u, w))
    return sorted(rows)


def stored_degree(graph: Graph) -> np.ndarray:
    """int64[V]: entries of each vertex's lists, out and in added up on directed graphs."""
    source, target, _ = graph.arcs
    out = np.bincount(source, minlength=graph.vertices)
    return out + np.bincount(target, minlength=graph.vertices) if graph.directed else out


def bad_set(graph: Graph, inside: np.ndarray) -> str:
    """Why this is no set that a greedy walk over the vertices, small degrees first, finds; "" if it is one."""
    size, near = stored_degree(graph), graph.near
    for v in range(graph.vertices):
        others = [u for u in near[v] if inside[u]]
        if inside[v] and others:
            return f"{v} and {others[0]} are neighbours and both in the set"
        if not inside[v] and not any(size[u] <= size[v] for u in others):
            return f"{v} is not in the set, and no neighbour of no greater degree is"
    return ""


def bad_coloring(graph: Graph, color: np.ndarray) -> str:
    """Why no greedy walk, large degrees first, gives these colours; "" if one does."""
    size, near = stored_degree(graph), graph.near
    for v in range(graph.vertices):
        ahead: set[Any] = {int(color[u]) for u in near[v] if size[u] >= size[v]}
        if any(color[u] == color[v] for u in near[v]):
            return f"{v} has the colour {color[v]} of a neighbour"
        if not set(range(int(color[v]))) <= ahead:
            return f"{v} has the colour {color[v]}, and a lesser one was free"
    return ""
