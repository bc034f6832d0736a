"""Stores of a graph, drawn from a seed: orders, topologies, page sizes, widths of IDs, columns, and what vertices are
called."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from nasty import Graph

from pagestore.convert import ConvertOptions, convert
from pagestore.inputs import InputOptions, open_source
from pagestore.memory import ArraySource
from pagestore.planning import PagePlanner

NAMING = ("dense", "dense", "from 1", "gaps", "listed", "31 bits", "32 bits", "63 bits", "names")
WITH_ISOLATED = ("dense", "dense", "from 1", "listed")
PAGES = ((4096, 12), (8192, 3), (65536, 2), (1 << 20, 1))  # bytes, how often
LETTERS = "abcXYZ0189_.-+éß漢𝄞"


@dataclass(frozen=True)
class StoreOptions:
    """How a graph is stored; `naming` is of the IDs that the user sees."""

    naming: str = "dense"
    order: str = "natural"
    topology: str = "both"
    page_bytes: int = 4096
    id_bytes: int | None = None
    columns: int = 1
    heads: bool = True
    order_buckets: int | None = None

    @property
    def as_dict(self) -> dict[str, Any]:
        """What makes them again."""
        return asdict(self)


def draw(random: Random, graph: Graph) -> StoreOptions:
    """Any store of the graph."""
    order = random.choice(["natural", "natural", "degree", "in", "out", "llp"])
    return StoreOptions(
        naming=random.choice(WITH_ISOLATED if graph.isolated else NAMING),
        order=order,
        topology=random.choice(["both", "both", "out", "in"]) if graph.directed else "both",
        page_bytes=random.choices([size for size, _ in PAGES], [often for _, often in PAGES])[0],
        id_bytes=random.choice([None, 4, 8]),
        columns=random.choice([1, 1, 8, 32]),
        heads=random.random() < 0.7,
        order_buckets=random.choice([None, None, 1, 3]) if order != "natural" else None,
    )


def names_of(graph: Graph, naming: str) -> np.ndarray:
    """What the user calls each vertex, ascending: int64[V] or str[V]. The same for graphs of one size."""
    count, random = graph.vertices, Random(f"{graph.vertices} {naming}")
    if naming == "names":
        found: set[str] = set()
        while len(found) < count:
            found.add("".join(random.choices(LETTERS, k=random.randint(1, 9))).strip("#%"))
            found.discard("")
        return np.array(sorted(found, key=lambda name: name.encode()), dtype=np.str_).reshape(count)
    if naming == "dense":
        return np.arange(count)
    if naming == "from 1":
        return np.arange(1, count + 1)
    starts = {"gaps": (3, 9), "listed": (5, 7), "31 bits": (2**31 - 3 * count, 5), "32 bits": (2**32 - 2 * count, 4)}
    start, step = starts.get(naming, (2**63 - 1 - 6 * count, 6))
    return start + step * np.arange(count) + np.array([random.randrange(step) for _ in range(count)], np.int64)


def write(graph: Graph, options: StoreOptions, path: Path) -> np.ndarray:
    """Convert the graph to a store at `path`; the names of its vertices."""
    names, naming = names_of(graph, options.naming), options.naming
    asked = ConvertOptions(
        memory_bytes=1 << 28, threads=1, directed=graph.directed, dedupe=graph.dedupe,
        drop_self_loops=graph.drop_self_loops, topology=options.topology, order=options.order,
        order_buckets=options.order_buckets, page_bytes=options.page_bytes, id_bytes=options.id_bytes,
        heads=options.heads, columns=options.columns,
    )  # fmt: skip
    with _small_groups():
        convert(_source(graph, naming, names, path), path, asked)
    return names


def _source(graph: Graph, naming: str, names: np.ndarray, path: Path) -> Any:
    if naming == "names":
        text = path.with_suffix(".txt")
        columns = [names[graph.source].tolist(), names[graph.target].tolist()]
        if graph.weight is not None:
            columns.append([repr(weight) for weight in graph.weight.tolist()])
        text.write_text("".join("\t".join(row) + "\n" for row in zip(*columns, strict=True)), "utf-8")
        weight = None if graph.weight is None else 3
        reading = InputOptions(string_ids=True, weight_column=weight, header=False, comments="none", format="tsv")
        return open_source([text], reading, path.parent, 1 << 28)
    if naming in ("dense", "from 1"):
        base = int(naming == "from 1")
        return ArraySource(graph.source + base, graph.target + base, graph.weight, graph.vertices, None, base)
    if naming == "listed":
        return ArraySource(graph.source, graph.target, graph.weight, None, names)
    return ArraySource(names[graph.source], names[graph.target], graph.weight)


@contextmanager
def _small_groups() -> Any:
    """Pages of 4 KiB hold few groups of columns: half of them may be padding."""
    usual, PagePlanner.waste = PagePlanner.waste, 2
    try:
        yield
    finally:
        PagePlanner.waste = usual
