"""Small graphs as stores without a file: the same edges, and the same answers to whoever reads them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from pagestore import convert_arrays, open_store
from pagestore.convert import ConvertOptions
from pagestore.convert.pipeline import Conversion
from pagestore.decode import decode_topology
from pagestore.errors import StoreError
from pagestore.inmemory import MOST_EDGES, convert_in_memory
from pagestore.memory import ArraySource
from pagestore.store import Store


def rows(store: Store, name: str) -> list[tuple]:
    """(near, far, weight) of every edge of a topology, by store IDs."""
    found = []
    for _, page in decode_topology(store.topology(name)):
        weight = np.ones(len(page.source)) if page.weight is None else page.weight
        found += zip(page.source.tolist(), page.target.tolist(), weight.tolist(), strict=True)
    return sorted(found)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("order", ["natural", "degree"])
def test_it_holds_what_a_file_holds(tmp_path, directed: bool, weighted: bool, order: str) -> None:
    rng = np.random.default_rng(3)
    source, target = rng.integers(0, 60, (2, 500))
    weight = rng.integers(1, 9, 500) if weighted else None
    options = {"directed": directed, "order": order, "page_bytes": 4096}
    store, report = convert_in_memory(ArraySource(source, target, weight, 60, name="small"), ConvertOptions(**options))
    convert_arrays(tmp_path / "graph.gs", source, target, weight, vertices=60, **options)
    with open_store(tmp_path / "graph.gs") as filed:
        assert sorted(store.array_names) == sorted(filed.array_names)
        for name in store.array_names:
            if not name.endswith("directory"):  # of weights' CRCs alike, too
                assert (store.array(name).read() == filed.array(name).read()).all(), name
        for name in store.meta.topologies:
            assert rows(store, name) == rows(filed, name)
        assert (report.vertices, report.out_edges) == (60, filed.meta.edges)


def test_pages_suit_the_size() -> None:
    sizes = {}
    for edges in (0, 100, 5000, MOST_EDGES):
        source = np.arange(edges) % 977
        store, _ = convert_in_memory(ArraySource(source, source[::-1], vertices=977), ConvertOptions())
        sizes[edges] = store.meta.page_bytes
    assert sizes == {0: 4096, 100: 4096, 5000: 4096, MOST_EDGES: 32768}
    asked, _ = convert_in_memory(ArraySource([0], [1], vertices=2), ConvertOptions(page_bytes=8192))
    assert asked.meta.page_bytes == 8192


def test_pickled_it_is_its_bytes() -> None:
    store, _ = convert_in_memory(ArraySource([0, 1], [1, 2], [5, 7], ids=[3, 8, 9], name="small"), ConvertOptions())
    edges = rows(store, "out")
    copied = pickle.loads(pickle.dumps(store))
    store.close()
    assert rows(copied, "out") == edges == [(0, 1, 5), (1, 2, 7)]
    assert copied.user_ids().tolist() == [3, 8, 9] and copied.lookup([9]).tolist() == [2]


def test_it_stays_while_it_is_not_in_use() -> None:
    store, _ = convert_in_memory(ArraySource([0], [1], vertices=2), ConvertOptions())
    store.let_go()
    assert rows(store, "in") == [(1, 0, 1.0)]


def test_damage_is_found() -> None:
    store, _ = convert_in_memory(ArraySource([0], [1], vertices=2), ConvertOptions())
    page = store.extents["topology/out/pages"]
    with open(f"/proc/self/fd/{store.file.opened().fileno()}", "r+b") as file:
        file.seek(page.offset + 100)
        file.write(b"x")
    with pytest.raises(StoreError, match="fails its checksum"):
        rows(store, "out")


def test_a_failure_leaves_nothing(monkeypatch) -> None:
    monkeypatch.setattr(Conversion, "_reshuffle", lambda *rest: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        convert_in_memory(ArraySource([0], [1], vertices=2), ConvertOptions())
