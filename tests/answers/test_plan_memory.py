"""What plans say that a call will hold, beside what it takes: as Python's allocator counts that, pages too.

Two sizes of a graph are run without a cap. What a vertex with its edges more takes is compared, so that constants do
not count; whatever NumPy allocates does, temporary arrays too.
"""

from __future__ import annotations

import gc
import mmap
import tracemalloc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import choice
import numpy as np
import pytest

import gstream
import pagestore.arrays
import pagestore.io
from gstream.algorithms.registry import ALGORITHMS
from tests.answers.graphs import Example
from tests.answers.test_caps import OPTIONS, given

SIZES = 6_000, 24_000  # vertices, whose arrays are too small for memory that is kept for the next call
DEGREE = 8
BEGINS = 4096  # bytes at whose multiples mappings begin
ACYCLIC = ("levels",)
LEAST, MOST = 0.94, 1.2  # of what a run takes, that a plan says
LEAST_OF_PROGRAMS, LEAST_OF_SEVERAL = 0.84, 0.7  # whose temporary arrays no plan counts; of several runs in a row
SEVERAL = "hits", "radius", "closeness", "harmonic"
PAGES = [name for name, one in ALGORITHMS.items() if one.check and name not in ("betweenness", "stats", "egonet")]
RMAT = "leiden", "louvain"  # what smaller graphs take is known of RMAT graphs alone
# Nobody knows before how many pages or edges these need: (name, whether it has options).
AT_MOST = {("wcc", False), ("hcc", False), ("scc", False), ("ktruss", True), ("degrees", False)}


def traced_mapping(_: int, size: int, **flags: Any) -> memoryview:
    """As an anonymous mapping, of memory that Python counts."""
    memory = np.zeros(size + BEGINS, np.uint8)
    first = -memory.ctypes.data % BEGINS
    return memoryview(memory)[first : first + size]


@contextmanager
def mappings_counted() -> Iterator[None]:
    names = {name: getattr(mmap, name) for name in ("MAP_PRIVATE", "MAP_ANONYMOUS")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pagestore.arrays, "CACHED_BLOCKS", 0)
        patch.setattr(pagestore.io, "mmap", SimpleNamespace(mmap=traced_mapping, **names))
        yield


def example(vertices: int, directed: bool, acyclic: bool) -> Example:
    """Lists of some lengths, each vertex has one."""
    draws = np.random.default_rng(1)
    source = np.concatenate([np.arange(vertices), (vertices * draws.random((DEGREE - 1) * vertices) ** 2).astype(int)])
    target = np.concatenate([draws.permutation(vertices), draws.integers(0, vertices, (DEGREE - 1) * vertices)])
    if acyclic:
        source, target = np.minimum(source, target), np.maximum(source, target) + 1
        vertices += 1
    return Example(vertices, source, target, draws.random(len(source)).astype(np.float32), directed=directed)


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    """(directed, acyclic) -> [(path, example) of each size], made when asked for."""
    folder, made = tmp_path_factory.mktemp("plans"), {}

    def give(directed: bool, acyclic: bool) -> list[tuple[Any, Example]]:
        if (directed, acyclic) not in made:
            examples = [example(vertices, directed, acyclic) for vertices in SIZES]
            made[directed, acyclic] = [(one.stored(folder), one) for one in examples]
        return made[directed, acyclic]

    return give


def cases(names: Iterable[str]) -> list[tuple[str, bool, int]]:
    """(algorithm, whether its graph is directed, number of its options)."""
    return [
        (name, directed, number)
        for name in names
        for directed in (True, False)
        if ALGORITHMS[name].directed in (None, directed)
        for number in range(len(OPTIONS.get(name, [{}])))
    ]


@pytest.mark.longer
@pytest.mark.parametrize(
    "name, directed, number",
    [("ktruss", False, 0), ("scc", True, 0), *choice.also(*cases(name for name in ALGORITHMS if name not in RMAT))],
)
def test_a_plan_says_what_a_run_takes(name, directed, number, graphs):
    taken, planned = [], []
    for path, made in graphs(directed, name in ACYCLIC):
        own = given(OPTIONS.get(name, [{}])[number], made)
        with gstream.open(path, threads=1) as graph:
            graph.execute(name, own)  # compiles, and imports what it needs
        with mappings_counted(), gstream.open(path, threads=1) as graph:
            planned.append(sum(graph.plan(name, **own)["host_bytes"].values()))
            gc.collect()
            tracemalloc.start()
            graph.execute(name, own)
            taken.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    more = SIZES[1] - SIZES[0]
    takes, says = ((many - few) / more for few, many in (taken, planned))
    least = LEAST if name in PAGES else LEAST_OF_SEVERAL if name in SEVERAL else LEAST_OF_PROGRAMS
    assert takes * least <= says, "bytes a vertex"
    if (name, bool(number)) not in AT_MOST:
        assert says <= takes * MOST
