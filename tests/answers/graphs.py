"""Small graphs for the answers' tests: drawn by Hypothesis, stored by the converter, and as networkx graphs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import choice
import networkx as nx
import numpy as np
import pytest
from hypothesis import strategies as st

from pagestore.convert import ConvertOptions, convert
from pagestore.inputs import InputOptions, open_source
from pagestore.memory import convert_arrays
from pagestore.planning import PagePlanner

NUMBER = itertools.count()
KINDS = ("dense", "gaps", "listed", "names")
LARGEST = choice.few([2, 6, 256], [2, 6, 256, 70000])  # of whole weights; the last take four bytes, and other kernels


@dataclass
class Example:
    """Edges over vertices 0..vertices-1 and how they are stored; `kind` says which IDs the user sees."""

    vertices: int
    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None = None
    directed: bool = True
    kind: str = "dense"
    order: str = "natural"
    topology: str = "both"
    heads: bool = True
    columns: int = 1

    def __repr__(self) -> str:
        edges = list(zip(self.source.tolist(), self.target.tolist(), strict=True))
        shown = edges if len(edges) < 60 else f"{len(edges)} edges"
        return (
            f"Example({self.vertices}, {shown}, weight={None if self.weight is None else self.weight[:60].tolist()}, "
            f"directed={self.directed}, {self.kind}, {self.order}, {self.topology}, heads={self.heads}, "
            f"columns={self.columns})"
        )

    @property
    def present(self) -> np.ndarray:
        """The vertices that the store has: all, or those that occur."""
        if self.kind in ("dense", "listed"):
            return np.arange(self.vertices)
        return np.unique(np.concatenate([self.source, self.target]))

    def user_id(self, vertex: int) -> Any:
        if self.kind == "dense":
            return int(vertex)
        return f"v{vertex:03d}é" if self.kind == "names" else int(vertex) * 7 + 3

    def stored(self, folder: Path) -> Path:
        """Path of a new store with 4 KiB pages; these hold few groups, so columns may waste half of them."""
        path = folder / f"graph{next(NUMBER)}.gs"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PagePlanner, "waste", 2)
            self.convert(path)
        return path

    def convert(self, path: Path) -> None:
        options: dict[str, Any] = {
            "directed": self.directed, "order": self.order, "page_bytes": 4096, "heads": self.heads,
            "topology": self.topology if self.directed else "both", "memory_bytes": 1 << 28, "threads": 1,
            "columns": self.columns,
        }  # fmt: skip
        if self.kind == "names":
            text = path.parent / f"{path.stem}.txt"
            columns = [[self.user_id(v) for v in ends] for ends in (self.source, self.target)]
            if self.weight is not None:
                columns.append(self.weight.tolist())
            text.write_text("".join("\t".join(map(str, row)) + "\n" for row in zip(*columns, strict=True)))
            given = InputOptions(string_ids=True, weight_column=None if self.weight is None else 3)
            with_names = open_source([text], given, path.parent, 1 << 28)
            convert(with_names, path, ConvertOptions(**options))
        elif self.kind == "gaps":
            source, target = self.source * 7 + 3, self.target * 7 + 3
            convert_arrays(path, source, target, self.weight, **options)
        elif self.kind == "listed":
            ids = np.arange(self.vertices) * 7 + 3
            convert_arrays(path, self.source, self.target, self.weight, ids=ids, **options)
        else:
            convert_arrays(path, self.source, self.target, self.weight, vertices=self.vertices, **options)

    def networkx(self) -> Any:
        """The same graph, nodes named as the user does."""
        graph = nx.MultiDiGraph() if self.directed else nx.MultiGraph()
        graph.add_nodes_from(self.user_id(v) for v in self.present)
        weight = np.ones(len(self.source)) if self.weight is None else self.weight
        for u, v, w in zip(self.source, self.target, weight.tolist(), strict=True):
            graph.add_edge(self.user_id(u), self.user_id(v), weight=w)
        return graph


@st.composite
def examples(draw, weights: str | None = None, edges_at_least: int = 0, largest: int = 300) -> Example:
    """Directed and undirected graphs with self-loops, duplicates, hubs, isolated vertices and several components.

    weights: None, "integers" (with zeros) or "floats".
    """
    kind = draw(st.sampled_from(KINDS))
    least = 1 if kind in ("gaps", "names") else edges_at_least
    vertices = draw(st.sampled_from([1, 2, 5, 12, 40, 150]))
    edges = draw(st.integers(least, draw(st.sampled_from([3, 20, largest]))))
    random = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    ends = random.integers(0, vertices, (2, edges))
    if draw(st.booleans()):  # low numbers crowd, and few vertices are met: gaps, isolated vertices, components
        ends = (vertices * random.random((2, edges)) ** 3).astype(np.int64)
    if draw(st.booleans()) and edges:
        ends[0, : edges // 2] = ends[0, 0]
    weight = None
    if weights == "integers":
        weight = random.integers(0, draw(st.sampled_from(LARGEST)), edges).astype(np.float64)
    elif weights == "floats":
        weight = (random.random(edges) * random.integers(0, 3, edges)).astype(np.float32).astype(np.float64)
    return Example(
        vertices, ends[0], ends[1], weight, directed=draw(st.booleans()), kind=kind,
        order=draw(st.sampled_from(["natural", "degree"])), topology=draw(st.sampled_from(["both", "out", "in"])),
        heads=draw(st.booleans()), columns=draw(st.sampled_from([1, 8, 32])),
    )  # fmt: skip


def hub_example(directed: bool = True, weighted: bool = False, **options: Any) -> Example:
    """3,000 edges with a hub on each side whose list takes two large pages of 4 KiB."""
    random = np.random.default_rng(7)
    ends = random.integers(0, 1500, (2, 3000))
    ends[0, :1200], ends[1, 1200:2400] = 11, 5
    weight = random.integers(0, 9, 3000).astype(np.float64) if weighted else None
    return Example(1600, ends[0], ends[1], weight, directed=directed, **options)


def column(result: Any, name: str) -> dict[Any, Any]:
    """{user ID: value} of one column, by way of Arrow (None where there is none)."""
    table = result.to_arrow()
    return dict(zip(table.column("vertex").to_pylist(), table.column(name).to_pylist(), strict=True))
