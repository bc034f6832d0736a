"""`--order auto`: degree order where hubs dominate, natural order elsewhere, whatever the edges come in."""

from __future__ import annotations

import numpy as np
import pytest

from pagestore.convert import ConvertOptions, choose, convert
from pagestore.generate import grid, rmat, uniform
from pagestore.memory import ArraySource
from pagestore.store import open_store

RANDOM = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def small_graphs_are_looked_at(monkeypatch):
    monkeypatch.setattr(choose, "LEAST_VERTICES", 256)


def edges_of(source):
    chunk = source.chunk(0)
    return chunk.source.copy(), chunk.target.copy()


def near_hubs():
    """Sites of 64 pages, three of which are hubs, with edges within a site alone."""
    site = np.arange(64).repeat(600) * 64
    others = np.where(RANDOM.random(len(site)) < 0.5, 64, 3)
    ring = np.arange(4096)
    source, target = site + RANDOM.integers(0, 3, len(site)), site + RANDOM.integers(0, others)
    return np.append(source, ring), np.append(target, (ring + 1) % 4096)


def made(path, edges, order="auto", **options):
    source = ArraySource(*edges, name="edges", vertices=4096)
    return convert(source, path, ConvertOptions(order=order, page_bytes=4096, **options))


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize(
    ("name", "order", "reason"),
    [("rmat", "degree", "hubs: 1/16"), ("scrambled", "degree", "hubs: 1/16"), ("uniform", "natural", "few hubs"),
     ("grid", "natural", "few hubs"), ("near", "natural", "near IDs"), ("few", "natural", "caches")],
)  # fmt: skip
def test_degree_order_where_hubs_dominate(tmp_path, monkeypatch, name, order, reason, directed):
    kinds = {
        "rmat": rmat(12),
        "scrambled": rmat(12, scramble=True),
        "uniform": uniform(12),
        "grid": grid(12),
        "few": rmat(12),
    }
    if name == "few":
        monkeypatch.setattr(choose, "LEAST_VERTICES", 1 << 17)
    edges = near_hubs() if name == "near" else edges_of(kinds[name])
    report = made(tmp_path / "graph.gs", edges, directed=directed)
    assert report.order == order and reason in report.order_reason
    with open_store(tmp_path / "graph.gs") as store:
        assert store.meta.order == order and store.meta.provenance["order_reason"] == report.order_reason


@pytest.mark.parametrize("topology", ["both", "out", "in"])
def test_equal_edges_give_equal_bytes(tmp_path, topology):
    """Whatever their order, the threads and the memory: the choice looks at sorted edges."""
    source, target = edges_of(rmat(12))
    stores = []
    for number, options in enumerate(({"threads": 1}, {"threads": 3}, {"threads": 2, "memory_bytes": 1 << 20})):
        moved = RANDOM.permutation(len(source)) if number else np.arange(len(source))
        made(tmp_path / "graph.gs", (source[moved], target[moved]), topology=topology, **options)
        stores.append((tmp_path / "graph.gs").read_bytes())
    assert stores[0] == stores[1] == stores[2]


def test_the_chosen_order_is_that_order(tmp_path):
    """All arrays of both stores are equal; what they were made with differs."""
    edges = edges_of(rmat(12))
    for order in ("auto", "degree"):
        made(tmp_path / f"{order}.gs", edges, order)
    with open_store(tmp_path / "auto.gs") as auto, open_store(tmp_path / "degree.gs") as degree:
        assert auto.meta.uuid != degree.meta.uuid and auto.meta.order == degree.meta.order == "degree"
        assert (auto.natural_ids() == degree.natural_ids()).all()


def test_shares_are_those_of_all_edges(tmp_path, monkeypatch):
    """Where as many edges are drawn as there are, and of hubs past the greatest degree that is told apart."""
    source, target = edges_of(rmat(12))
    seen = {}
    monkeypatch.setattr(choose, "RUNS", len(source))
    monkeypatch.setattr(choose, "MOST_DEGREE", 1 << 9)
    for name in ("_near_share", "_hub_share"):
        real = getattr(choose, name)
        monkeypatch.setattr(choose, name, lambda *given, name=name, real=real: seen.setdefault(name, real(*given)))
    made(tmp_path / "graph.gs", (source, target))
    degrees = np.sort(np.bincount(source))[::-1]
    hubs = np.count_nonzero(degrees) // choose.HUBS
    assert seen["_hub_share"] == pytest.approx(degrees[:hubs].sum() / len(source))
    apart = np.abs(source.astype(np.int64) - target.astype(np.int64))
    assert seen["_near_share"] == pytest.approx((apart < 4096 // choose.NEAR).mean())


def test_a_graph_without_edges_keeps_its_order(tmp_path):
    none = np.zeros(0, np.uint64)
    assert made(tmp_path / "graph.gs", (none, none)).order == "natural"
