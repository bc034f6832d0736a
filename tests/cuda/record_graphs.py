"""Graphs and questions for algorithms with kernels of their own; tests/gpu asks a GPU the same."""

from __future__ import annotations

from pathlib import Path

import choice
import numpy as np
import pytest
from engine_graphs import make_store, skewed_edges

import gstream
from gstream.algorithms.support.blocks import Blocks

WIDE = choice.few(4, 8)  # bytes of an ID in undirected graphs: all other kernels, which test_device.py has, too
ASKED = {
    "bfs": {"source": 3},  # what finds predecessors, and what proves answers, are kernels, too
    "sssp": {"source": 3},
    "katz": {"alpha": 0.001, "max_iter": 4},
    "betweenness": {"k": 3, "seed": 1},
    "cdlp": {"iterations": 3},
    "hyperball": {"log2m": 5, "seed": 2},
    "modularity": {"partition": [range(40), range(40, 400)], "weighted": True},
    "stats": {"log2m": 5},
    "subgraph": {"nodes": range(0, 400, 3)},
    "egonet": {"source": 3, "undirected": True},
    "cross": {"nodes": range(0, 400, 3)},
    "heat": {"initial": {3: 1.0, 8: -2.0}, "iterations": 3},
    "circuit": {"initial": {3: 1.0, 8: -2.0}, "iterations": 3},
    "neural": {"initial": {3: 1.0, 8: -2.0}, "iterations": 3},
}
DIRECTED = (
    "betweenness", "bfs", "cdlp", "coloring", "cross", "egonet", "katz", "kcore", "lcc", "leiden", "mis", "scc", "sssp",
    "modularity", "stats", "subgraph", "heat", "circuit", "neural",
)  # fmt: skip
UNDIRECTED = (
    "betweenness", "cdlp", "coloring", "cross", "kcore", "ktruss", "lcc", "louvain", "mis", "modularity",
    "msf", "stats", "subgraph", "triangles",
)  # fmt: skip
KINDS = {"directed": DIRECTED, "undirected": UNDIRECTED, "columns": UNDIRECTED}  # of graphs, and who takes them
CASES = [(kind, name) for kind, names in KINDS.items() for name in names]
BLOCKS = [  # whose lists are worked on by blocks
    *(("undirected", name) for name in ("triangles", "lcc", "ktruss", "cdlp")),
    *(("directed", name) for name in ("lcc", "cdlp")),
]  # fmt: skip
PARTS = {"triangles": 4, "lcc": 4, "ktruss": 2, "cdlp": 1.25}  # lists take less than pages where edges are in one only
PROVEN = ("bfs", "sssp", "katz", "kcore", "scc", "coloring", "mis", "subgraph", "cross", "egonet", "msf", "ktruss")
PROVEN += ("lcc", "triangles", "betweenness", "heat", "circuit", "neural")
ROUNDED = ("betweenness", "katz", "heat", "circuit", "neural", "closeness")  # sums of doubles, in any order


def make_path(folder: Path, kind: str, vertices: int, edges: int, page_bytes: int) -> str:
    """A weighted store with hubs in large pages, self-loops and repeated edges."""
    random = np.random.default_rng(62)
    source, target = skewed_edges(vertices, edges, 61)
    hubs = np.repeat([vertices // 2, 5], page_bytes // 2)  # two large pages of 4-byte IDs each
    source, target = np.append(source, hubs), np.append(target, random.integers(0, vertices, len(hubs)))
    weight = random.integers(1, 9, len(source)).astype(np.float64)
    directed = kind == "directed"
    with make_store(
        folder, source, target, weight, vertices=vertices, directed=directed, page_bytes=page_bytes,
        order="natural" if kind == "undirected" else "degree", id_bytes=WIDE if kind == "undirected" else 4,
        columns=8 if kind == "columns" else 1,
    ) as store:  # fmt: skip
        topology = store.topology("out")
        assert topology.pages > topology.small_pages and store.meta.duplicates and store.meta.self_loops
        return store.path


def check(graph: gstream.Graph, name: str, own: dict, options: dict) -> None:
    """An algorithm gives with these options what the host's cores give, and proves it."""
    expected = graph.execute(name, own)
    found = graph.execute(name, own, certify=name in PROVEN, **options)
    assert "note" not in found.summary
    if name in ("subgraph", "egonet", "cross", "msf", "ktruss"):
        assert len(found) > 0 and found.to_arrow() == expected.to_arrow(), name
        return
    mine, theirs = found.to_numpy(), expected.to_numpy()
    for column in expected.columns:
        if name in ROUNDED:
            least = 1e-13 if name == "neural" else 1e-15  # its terms are up to 8, and cancel
            np.testing.assert_allclose(mine[column], theirs[column], rtol=1e-12, atol=least, err_msg=name)
        else:
            assert np.array_equal(mine[column], theirs[column]), name


def check_blocks(graph: gstream.Graph, name: str, less: float, options: dict) -> None:
    """A GPU that may hold a part of the topology gives the host's answer, block by block, by itself.

    less: so many times less of it than the most for which that holds.
    """
    own = {"cdlp": {"iterations": 3}, "ktruss": {"k": 9}}.get(name, {})
    expected, cut = graph.execute(name, own), list[int]()
    tables = graph.engine().graph.tables.values()
    cap = sum(table.bytes_of(table.pages, False) for table in tables) / (PARTS[name] * less)
    init = Blocks.__init__

    def noted(self: Blocks, *arguments: object, **named: object) -> None:
        init(self, *arguments, **named)
        cut.append(len(self))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Blocks, "__init__", noted)
        found = graph.execute(name, own, device_memory=int(cap), **options)
    assert found.to_arrow() == expected.to_arrow() and len(found) > 0, name
    assert "note" not in found.summary and cut[-1] > 1 and found.summary["supersteps"] > 1, (name, cap, cut)
