"""Neighbour samples: against the reference decoder's edges, uniform by a test of fixed seed, from few pages."""

from __future__ import annotations

import runpy
import sys
from abc import ABC, abstractmethod
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import gstream
from pagestore.decode import decode_topology
from pagestore.errors import UsageError
from pagestore.reader import PageReader

VERTICES, HUB = 900, 30
KINDS = {
    "natural": {},
    "degree": {"order": "degree"},
    "columns": {"order": "degree", "columns": 8, "directed": False},
    "undirected": {"directed": False},
    "compressed": {"compress": True},
}


def ends() -> tuple[np.ndarray, np.ndarray]:
    """Drawn edges, vertices without any, and a hub with 3,000 parallel in- and out-edges: lists in large pages."""
    rng = np.random.default_rng(5)
    source, target = rng.integers(0, VERTICES - 50, (2, 6000))
    many = np.repeat(np.arange(750), 4)
    hub = np.full(len(many), HUB)
    return np.concatenate([source, hub, many]), np.concatenate([target, many, hub])


@pytest.fixture(scope="module", params=list(KINDS))
def graph(request):
    source, target = ends()
    weights = np.arange(len(source)) % 97 + 1
    with gstream.from_edges(
        source, target, weights, num_vertices=VERTICES, page_size=4096, **KINDS[request.param]
    ) as g:
        yield g


def stored(graph, name: str):
    """(near, far, weight) natural indices of every edge, in the order of the pages; near: whose list."""
    store = graph.store
    pages = [page for _, page in decode_topology(store.topology(name))]
    source, target = (
        store.natural_of(np.concatenate([getattr(page, side) for page in pages])).astype(np.int64)
        for side in ("source", "target")
    )
    weight = np.concatenate([page.weight for page in pages])
    return source, target, weight


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("direction", ["in", "out"])
def test_samples_are_of_the_graph(graph, direction: str, replace: bool) -> None:
    """Every edge is there, with its weight; counts are min(k, degree), none comes twice, layers follow each other."""
    name = direction if graph.is_directed() else "out"
    near, far, weight = stored(graph, name)
    degree = np.bincount(near, minlength=VERTICES)
    fanouts, seeds = [5, 300, -1] if not replace else [5, 9], [HUB, 3, 890, 17]
    assert degree[HUB] > 2000 and degree[890] == 0
    found = graph.sample(
        seeds, fanouts, seed=4, replace=replace, direction=direction, weights=True, page_memory="64KiB"
    )
    assert found.nodes[: len(seeds)].tolist() == seeds and len(set(found.nodes.tolist())) == len(found.nodes)
    assert found.index.tolist() == found.nodes.tolist()
    mine, other = (found.col, found.row) if direction == "in" else (found.row, found.col)
    assert (near[found.edge] == found.index[mine]).all() and (far[found.edge] == found.index[other]).all()
    assert (weight[found.edge] == found.weight).all()
    assert found.nodes_per_hop.sum() == len(found.nodes) and found.edges_per_hop.sum() == len(found.row)
    first, begin, met = 0, 0, len(seeds)
    for hop, fanout in enumerate(fanouts):
        frontier = np.arange(first, first + found.nodes_per_hop[hop])
        drawn = slice(begin, begin + found.edges_per_hop[hop])
        least = degree[found.index[frontier]] if fanout < 0 else np.minimum(fanout, degree[found.index[frontier]])
        if replace:
            least = np.where(degree[found.index[frontier]] > 0, fanout, 0)
        assert np.bincount(mine[drawn] - first, minlength=len(frontier)).tolist() == least.tolist()
        assert replace or len(np.unique(found.edge[drawn])) == len(found.edge[drawn])
        new = np.unique(other[drawn])
        met += found.nodes_per_hop[hop + 1]
        assert new.max() < met and set(range(met - found.nodes_per_hop[hop + 1], met)) <= set(new.tolist())
        first, begin = first + len(frontier), drawn.stop


def test_they_do_not_depend_on_memory(graph) -> None:
    taken = [graph.sample(range(0, 200, 7), [4, 4], seed=9, page_memory=size) for size in (1, "32KiB", "1GiB", "1GiB")]
    for other in taken[1:]:
        assert all((getattr(taken[0], name) == getattr(other, name)).all() for name in ("nodes", "row", "col", "edge"))
    other = graph.sample(range(0, 200, 7), [4, 4], seed=10)
    assert len(other.edge) != len(taken[0].edge) or (other.edge != taken[0].edge).any()


@pytest.mark.parametrize(("length", "count"), [(20, 3), (20, 17), (600, 300), (3000, 40)])
def test_draws_are_uniform(length: int, count: int) -> None:
    """Chi-squared of how often each of a vertex's edges, and each pair of neighbouring places, is drawn."""
    runs = 400
    graph = gstream.from_edges(np.zeros(length, int), np.arange(1, length + 1), page_size=4096)
    drawn = [graph.sample([0], [count], seed=seed, direction="out").nodes[1:] for seed in range(runs)]
    assert all(len(set(one.tolist())) == count for one in drawn)
    met = np.bincount(np.concatenate(drawn) - 1, minlength=length)
    expected = runs * count / length
    chi = ((met - expected) ** 2).sum() / expected / (1 - count / length)
    assert abs(chi - length) < 4 * np.sqrt(2 * length)
    both = np.array([(np.diff(np.sort(one)) == 1).sum() for one in drawn])
    pairs = (length - 1) * count * (count - 1) / (length * (length - 1))
    assert abs(both.mean() - pairs) < 4 * both.std() / np.sqrt(runs) + 1e-9


def test_only_pages_of_the_frontier_are_read(monkeypatch) -> None:
    source, target = ends()
    graph = gstream.from_edges(source, target, num_vertices=VERTICES, page_size=4096)
    read, pages = PageReader.read, []

    def counted(reader, first, count, *rest):
        pages.extend(range(first, first + count))
        return read(reader, first, count, *rest)

    monkeypatch.setattr(PageReader, "read", counted)
    graph.sample([HUB], [1])
    assert len(pages) == 1 < graph.store.topology("in").pages
    graph.sample([HUB, 3], [2])
    before = len(pages)
    graph.sample([3, HUB], [2])
    assert len(pages) == before and len(set(pages)) == before
    graph.release()
    graph.sample([3], [2])
    assert len(pages) == before + 1


def test_names_and_arrow() -> None:
    graph = gstream.from_edges(["a", "c", "b"], ["b", "b", "d"])
    found = graph.sample(["d", "b"], [-1, 2])
    assert found.nodes.tolist()[:2] == ["d", "b"] and set(found.nodes) == set("abcd")
    assert found.nodes_to_arrow().to_pydict()["hop"] == [0, 0, 1, 1]
    edges = found.edges_to_arrow().to_pydict()
    named = {(found.nodes[row], found.nodes[col]) for row, col in zip(edges["row"], edges["col"], strict=True)}
    assert named == {("a", "b"), ("c", "b"), ("b", "d")} and edges["hop"] == [0, 0, 0]
    sparse = gstream.from_edges([10**12, 7], [7, 500])
    assert sorted(sparse.sample([500], [1, 1]).nodes.tolist()) == [7, 500, 10**12]
    assert len(sparse.sample([], [3]).row) == 0


class Tensor(np.ndarray):
    """What the example uses of a tensor."""

    def numpy(self) -> np.ndarray:
        return np.asarray(self)


class BaseSampler(ABC):
    """What PyG's asks of samplers (2.8; earlier ones ask for less)."""

    @abstractmethod
    def sample_from_nodes(self, index: object, **kwargs: object) -> object: ...

    @abstractmethod
    def sample_from_edges(self, index: object, neg_sampling: object = None) -> object: ...


EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "pyg_sampler.py"


@pytest.fixture
def page_sampler(monkeypatch) -> type:
    """The example's class, over a stand-in of the little that it uses of torch and torch_geometric."""
    torch, pyg, sampler = (ModuleType(name) for name in ("torch", "torch_geometric", "torch_geometric.sampler"))
    torch.from_numpy = lambda array: array.view(Tensor)
    sampler.BaseSampler, sampler.SamplerOutput = BaseSampler, SimpleNamespace
    for module in (torch, pyg, sampler):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return runpy.run_path(str(EXAMPLE))["PageSampler"]


@pytest.mark.parametrize("names", ["range", "sparse", "strings"])
def test_the_example_for_pyg(page_sampler, names: str) -> None:
    ids = np.arange(3, 9) if names == "range" else np.arange(6) ** 7 if names == "sparse" else np.array(list("abcdef"))
    graph = gstream.from_edges(ids[[0, 1, 2, 3, 5]], ids[[1, 2, 3, 4, 0]])
    node = np.array([4, 0]).view(Tensor)
    inputs = SimpleNamespace(node=node, input_id=np.array([7, 8]), time=None)
    first, second = (page_sampler(graph, [-1, -1], seed=2).sample_from_nodes(inputs) for _ in range(2))
    assert first.node.tolist() == [4, 0, 3, 5, 2] and isinstance(first.row, Tensor)
    assert (first.row.tolist(), first.col.tolist()) == ([2, 3, 4], [0, 1, 2])
    assert (first.num_sampled_nodes, first.num_sampled_edges) == ([2, 2, 1], [2, 1])
    assert first.metadata == (inputs.input_id, None) and second.edge.tolist() == first.edge.tolist()


def test_the_example_over_pyg_itself() -> None:
    """Each batch of a NodeLoader has the features of its vertices, and edges of the graph that lead to them."""
    torch = pytest.importorskip("torch")
    loader = pytest.importorskip("torch_geometric.loader")
    data = pytest.importorskip("torch_geometric.data")
    ends = (40 * np.random.default_rng(2).random((2, 300)) ** 2).astype(np.int64)
    graph = gstream.from_edges(*ends, num_vertices=40)
    x = torch.arange(40.0)[:, None]
    sampler = runpy.run_path(str(EXAMPLE))["PageSampler"](graph, [4, 3])
    given = data.Data(x=x, edge_index=torch.empty(2, 0, dtype=torch.long))
    edges, seen = {*zip(*ends.tolist(), strict=True)}, []
    for batch in loader.NodeLoader(given, sampler, input_nodes=torch.arange(20), batch_size=8):
        seen += batch.n_id[: batch.batch_size].tolist()
        assert torch.equal(batch.x, x[batch.n_id])
        source, target = batch.n_id[batch.edge_index].tolist()
        assert source and {*zip(source, target, strict=True)} <= edges
    assert seen == [*range(20)]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"seeds": [99]}, "seed 99 is not a vertex"),
        ({"seeds": [1, 1]}, "1 is given twice"),
        ({"fanouts": []}, "fanouts"),
        ({"fanouts": [-2]}, "-1 takes all"),
        ({"direction": "both"}, "direction"),
        ({"weights": True}, "no edge weights"),
        ({"seed": -1}, "seed -1"),
        ({"direction": "out"}, "no out-topology"),
    ],
)
def test_mistakes(given: dict, says: str) -> None:
    graph = gstream.from_edges([0, 1], [1, 2], topology="in")
    with pytest.raises(UsageError, match=says):
        graph.sample(**{"seeds": [1], "fanouts": [2]} | given)
