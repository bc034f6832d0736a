"""`--order llp`: the order is what a slow reading of its rules makes, on any threads and memory, and is worth it."""

from __future__ import annotations

import numpy as np
import pytest

from pagestore import convert_arrays, open_store
from pagestore.convert import locality
from pagestore.convert.estimate import estimate
from pagestore.convert.options import ConvertOptions
from pagestore.errors import ResourceError
from pagestore.memory import ArraySource
from tests.convert.graphs import check_store, skewed, stored_rows

FEW, ALL = 4096, 1 << 64


def mixed(word: int) -> int:
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        word = (word ^ (word >> 33)) * factor % ALL
    return word ^ (word >> 33)


def by_the_rules(neighbours: list[list[int]], order: list[int]) -> list[int]:
    """Vertices in their new order. order: the same by degree."""
    count, total = len(neighbours), sum(map(len, neighbours))
    befores = np.concatenate([[0], np.cumsum([len(those) for those in neighbours])])[:-1]
    blocks = [min(int(before) * locality.BLOCKS // total, locality.BLOCKS - 1) for before in befores]
    for layer, shift in enumerate(range(2, (count - 1).bit_length(), 4)):
        label = list(range(count))
        for sweep in range(8 * layer, 8 * layer + 8):
            moved = 0
            for block in range(locality.BLOCKS):
                following = {}
                for vertex in (v for v in range(count) if blocks[v] == block and neighbours[v]):
                    salt = mixed((vertex * 0x9E3779B97F4A7C15 + sweep // 2) % ALL)
                    if salt >> 20 & 1 != sweep & 1:
                        continue
                    seen = [label[other] for other in neighbours[vertex]]
                    own = label[vertex]
                    scores = [(1 - label.count(own), 0, own)]
                    for found in set(seen):
                        others = label.count(found) - (found == own) - seen.count(found)
                        scores.append((2**shift * seen.count(found) - max(others, 0), -mixed(found ^ salt), found))
                    following[vertex] = max(scores)[2]
                moved += sum(label[vertex] != new for vertex, new in following.items())
                for vertex, new in following.items():
                    label[vertex] = new
            if moved * 200 < count:
                break
        firsts = {found: at for at, found in reversed(list(enumerate(label[vertex] for vertex in order)))}
        order = sorted(order, key=lambda vertex: firsts[label[vertex]])
    return order


@pytest.mark.parametrize("directed", [True, False])
def test_the_order_is_that_of_the_rules(tmp_path, directed):
    random = np.random.default_rng(4)
    source, target = (random.random((2, 500)) ** 2 * 90).astype(int)
    convert_arrays(tmp_path / "g.gs", source, target, vertices=100, directed=directed, order="llp", page_bytes=FEW)
    neighbours: list[list[int]] = [[] for _ in range(100)]
    for one, other in zip(source.tolist(), target.tolist(), strict=True):
        neighbours[one].append(other)
        if directed or one != other:
            neighbours[other].append(one)
    degrees = np.bincount(target, minlength=100) if directed else np.array(list(map(len, neighbours)))
    alone = np.array([not those for those in neighbours])
    wanted = by_the_rules(neighbours, np.lexsort((np.arange(100), -degrees, alone)).tolist())
    with open_store(tmp_path / "g.gs") as store:
        assert store.meta.order == "llp" and store.natural_of(np.arange(100)).tolist() == wanted
    check_store(tmp_path / "g.gs")


@pytest.mark.parametrize("directed", [True, False])
def test_the_store_is_the_same_on_any_threads_and_memory(tmp_path, directed):
    graph = skewed(20_000, 1000)
    options = {"directed": directed, "order": "llp", "page_bytes": 1 << 14, "compress": "on"}
    made = []
    for threads, memory in ((1, 1 << 30), (3, 1 << 30), (2, 6 << 20)):
        path, wanted = tmp_path / f"{threads}.gs", {"threads": threads, "memory_bytes": memory, **options}
        report = convert_arrays(path, graph.source, graph.target, graph.weight, **wanted)
        assert bool(report.work_bytes) == (memory < 1 << 30)
        made.append(path.read_bytes())
    assert made[0] == made[1] == made[2]
    assert stored_rows(path) == graph.rows(directed)


def test_a_list_longer_than_the_tables_stays_and_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("pagestore.convert.estimate.CHUNK_EDGES", 1000)
    leaves = np.arange(1, locality.MOST_DEGREE + 2)
    convert_arrays(tmp_path / "star.gs", np.zeros(len(leaves), int), leaves, directed=False, order="llp")
    with open_store(tmp_path / "star.gs") as store:
        places = store.store_ids()
        assert places[0] == 0 and np.array_equal(np.sort(places), np.arange(len(places)))


def test_a_quarter_of_the_bits_go_where_neighbours_are_many_and_strewn(tmp_path):
    """Cliques of 30 whose members have any numbers: gaps by degree are long, within a cluster short."""
    random = np.random.default_rng(2)
    names = random.permutation(6000).reshape(-1, 30)
    source = np.repeat(names, 30, axis=1).ravel()
    target = np.tile(names, 30).ravel()
    kept = (source < target) & (random.random(len(source)) < 0.7)
    sizes = {}
    for order in ("degree", "llp"):
        report = convert_arrays(
            tmp_path / "g.gs", source[kept], target[kept], directed=False, order=order, compress="on", page_bytes=FEW
        )
        sizes[order] = report.coded_bytes
    assert sizes["llp"] < 0.75 * sizes["degree"]


def test_memory_that_the_order_lacks_is_told_before_the_work(tmp_path):
    with pytest.raises(
        ResourceError, match=r"--order llp: holds 20\.32 MiB for 1 M vertices.*Pass --memory 41MiB or more"
    ):
        convert_arrays(tmp_path / "g.gs", [0], [1], vertices=1_000_000, order="llp", memory_bytes=1 << 25, threads=1)
    source = ArraySource(np.array([0]), np.array([1]), vertices=1_000_000)
    with pytest.raises(ResourceError, match="--order llp: holds"):  # a dry run tells it, too
        estimate(source, tmp_path / "g.gs", ConvertOptions(order="llp", memory_bytes=1 << 25, threads=1))
    assert not list(tmp_path.iterdir())
