"""What the tests of page kernels share: the drawn graphs as simple ones, and the schedules that must not matter."""

from __future__ import annotations

import gzip
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import choice
import networkx as nx
import numpy as np
import pytest
from hypothesis import strategies as st

import gstream
from gstream.algorithms.support import blocks
from tests.answers.graphs import Example

DEVICES = ("host", "host:2", "fake:3", "fake:5:3")
SCHEDULES: list[Any] = [
    *choice.also({"devices": "host:1"}, {"devices": "host:3"}), {"devices": "fake:7:2", "host_memory": 400_000},
    *choice.also({"host_memory": 300_000}), {"devices": "host:2", "host_memory": 400_000, "batch_bytes": 8192},
]  # fmt: skip
devices = st.sampled_from(DEVICES)
SHIPPED = Path(gstream.__file__).parent / "data" / "debian.txt.gz"


def simple(example: Example) -> Any:
    """The example as nx.DiGraph or nx.Graph: duplicates once, no self-loops."""
    graph = (nx.DiGraph if example.directed else nx.Graph)(example.networkx())
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph


def big_example(directed: bool, **options: Any) -> Example:
    """60,000 edges over 4,000 vertices, with duplicates, self-loops and hubs: ten times what its attributes take."""
    random = np.random.default_rng(4)
    ends = (4000 * random.random((2, 60000)) ** 2).astype(np.int64)
    ends[0, :2500], ends[1, 2500:5000] = 3999, 3998
    return Example(4010, *ends, directed=directed, order="degree", **options)


def simple_pairs(table: np.ndarray) -> np.ndarray:
    """int64[m, 2]: the edges of a simple undirected graph, the lesser end first, ascending."""
    return np.unique(np.sort(table[table[:, 0] != table[:, 1], :2], axis=1), axis=0)


@cache
def shipped_pairs() -> tuple[int, np.ndarray]:
    """(vertices, pairs) of the graph that ships with gstream, as a simple undirected one, names as their ranks."""
    lines = [line for line in gzip.open(SHIPPED, "rt").read().splitlines() if not line.startswith("#")]
    words = np.array(" ".join(lines).split())
    names, ranks = np.unique(words, return_inverse=True)
    return len(names), simple_pairs(ranks.reshape(-1, 2))


@contextmanager
def blocks_of(room):
    """Blocks of so many bytes at most, so that the nested loop has many rounds."""
    cut = blocks.Blocks._cut
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks.Blocks, "_cut", lambda self, given: cut(self, min(given, room)))
        yield
