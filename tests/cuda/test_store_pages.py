"""The GPU's kernels over pages that pagestore wrote, by the directory's own group sizes, against the host's kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from compilers import needs_gxx
from emulated import EmulatedRun, Launcher, compile_units, unit_shape
from engine_graphs import make_store, skewed_edges
from handmade import Pages
from stepping import WAYS, Run

from gstream.hostcode import GraphShape
from gstream.paging.gpu_parts import make_parts
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from gstream.programs.sssp import SSSP
from gstream.programs.wcc import WCC
from pagestore.layout import LARGE

pytestmark = needs_gxx
VERTICES, EDGES = 3000, 30_000
CLASSES = {"bfs": BFS, "sssp": SSSP, "wcc": WCC, "pagerank": PageRank}
PARAMETERS = {"bfs": {"source": (1, 7)}, "sssp": {"source": 1}, "pagerank": {"tolerance": 1e-3}}


@dataclass
class StoreGraph:
    """A store as stepping.Run wants a graph; parts of its pages by the directory."""

    vertices: int
    edges: int
    out: Pages
    into: Pages
    parts: dict[int, np.ndarray]

    def shape(self):
        return GraphShape(self.vertices, self.edges, self.out.layout.id_dtype, self.out.weights.dtype)


def load(store: Any) -> StoreGraph:
    pages, parts = {}, {}
    for name in ("out", "in"):
        topology, directory = store.topology(name), store.topology(name).directory
        with topology.reader() as reader:
            words = reader.read(0, topology.pages).view(topology.layout.id_dtype)
            weights = reader.read_weights(0, topology.pages).view(topology.weight_dtype)
        first, last = (np.ascontiguousarray(directory[f"{end}_vertex"]) for end in ("first", "last"))
        degree = store.out_degree() if name == "out" else store.in_degree()
        found = Pages(topology.layout, words, weights, first, last, topology.small_pages, topology.heads(), degree)
        columns = (directory["kind"] == LARGE, directory["records"], directory["edges"], directory["group"])
        pages[name] = found
        parts[id(found)] = make_parts(np.arange(len(words)), *columns, topology.layout.header_words, 500)
    return StoreGraph(store.meta.vertices, store.meta.edges, pages["out"], pages["in"], parts)


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    source, target = skewed_edges(VERTICES, EDGES, 11)
    weight = np.random.default_rng(2).integers(1, 200, EDGES).astype(np.uint8)
    with make_store(folder, source, target, weight) as store:
        graph = load(store)
    library, units = compile_units(CLASSES, dict.fromkeys(CLASSES, unit_shape(graph.shape())))
    return graph, {key: Launcher(library, key, units[key]) for key in CLASSES}


def test_the_store_has_what_is_to_be_tried(ready):
    graph, _ = ready
    groups = {int(group) for parts in graph.parts.values() for group in parts[:, 3]}
    assert len(groups) > 2 and graph.out.small < len(graph.out.words) and graph.into.small < len(graph.into.words)


@pytest.mark.parametrize(
    ("key", "way"),  # heads are not made for SUM
    [(key, way) for key in CLASSES for way in (("push", "pull") if key == "pagerank" else WAYS)],
)
def test_store_pages(ready, key, way):
    graph, launchers = ready
    given = CLASSES[key](**PARAMETERS.get(key, {}))
    host, mine = Run(given, graph, way), EmulatedRun(launchers[key], given, graph, way, group=8)
    mine.parts = graph.parts
    wanted, got = host.run(), mine.run()
    if key == "pagerank":
        np.testing.assert_allclose(got, wanted, rtol=1e-6)
        assert mine.supersteps == host.supersteps and int(mine.edges[0]) == host.edges
    else:
        np.testing.assert_array_equal(got, wanted)
        assert (wanted != wanted.max()).sum() > VERTICES // 4
