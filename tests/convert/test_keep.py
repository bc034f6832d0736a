"""--dedupe --keep: one edge of equal ones, with the weight that is asked for, whatever threads and memory."""

from __future__ import annotations

import choice
import numpy as np
import pytest

import gstream
from pagestore.convert import ConvertOptions, combine, convert
from pagestore.errors import InputError, UsageError
from pagestore.memory import ArraySource
from pagestore.store import open_store

KEEPS = {"min": min, "max": max, "sum": sum, "count": len, "first": lambda weights: weights[0]}
RANDOM = np.random.default_rng(7)
SOURCE, TARGET = RANDOM.integers(0, 12, (2, 3000))
WEIGHT = (RANDOM.random(3000) * 100).astype(np.float32).astype(float)


def expected(keep, directed, loops):
    groups: dict[tuple, list[float]] = {}
    for source, target, weight in zip(SOURCE.tolist(), TARGET.tolist(), WEIGHT.tolist(), strict=True):
        if loops or source != target:
            ends = (source, target) if directed else (min(source, target), max(source, target))
            groups.setdefault(ends, []).append(weight)
    return {ends: np.float32(KEEPS[keep](weights)) for ends, weights in groups.items()}


def edges_of(path, tmp_path):
    gstream.open(path).export(tmp_path / "edges.csv", force=True)
    lines = (tmp_path / "edges.csv").read_text().split()[1:]
    rows = [line.split(",") for line in lines]
    return {(int(a), int(b)): np.float32(weight) for a, b, weight in rows}


@pytest.mark.covering(1)
@pytest.mark.parametrize("keep", ["sum", "first", *choice.also("min", "max", "count")])
@pytest.mark.parametrize("directed", [True, False])
def test_the_weight_that_is_kept(tmp_path, monkeypatch, keep, directed):
    """In one piece, in stretches, and in parts that are cut again."""
    uuids = set()
    for threads, least, levels in ((1, 1 << 12, 5), (3, 16, 5), (2, 16, 1)):
        monkeypatch.setattr(combine, "LEAST_EDGES", least)
        monkeypatch.setattr(combine, "MEMORY_SHARE", 1 << 40)
        monkeypatch.setattr(combine, "MOST_LEVELS", levels)
        options = ConvertOptions(
            threads=threads,
            directed=directed,
            dedupe=True,
            keep=keep,
            drop_self_loops=threads == 3,
            memory_bytes=1 << 26,
        )
        report = convert(ArraySource(SOURCE, TARGET, WEIGHT), tmp_path / "a.gs", options)
        answer = expected(keep, directed, threads != 3)
        assert {
            ends: weight for ends, weight in edges_of(tmp_path / "a.gs", tmp_path).items() if ends in answer
        } == answer
        assert report.edges == len(answer)
        assert report.input_edges == 3000 == report.edges + report.dropped_duplicates + report.dropped_self_loops
        if threads != 3:
            uuids.add(report.uuid)
    assert len(uuids) == 1
    assert [path.name for path in tmp_path.iterdir() if "partial" in path.name] == []


def test_names_and_counts(tmp_path):
    (tmp_path / "a.txt").write_text("b a\na b\nb a\na c\n")
    graph = gstream.convert(tmp_path / "a.txt", dedupe=True, keep="count")
    graph.export(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().split()[1:] == ['"a","b",1', '"a","c",1', '"b","a",2']
    undirected = gstream.convert(tmp_path / "a.txt", tmp_path / "u.gs", dedupe=True, keep="count", directed=False)
    assert (undirected.conversion["edges"], undirected.conversion["dropped_duplicates"]) == (2, 2)
    with open_store(tmp_path / "u.gs") as store:
        assert (store.meta.min_weight, store.meta.max_weight) == (1, 3)


def test_the_order_of_files_is_the_order_of_the_input(tmp_path):
    for name, weight in (("b.txt", 5), ("a.txt", 7)):
        (tmp_path / name).write_text(f"1 2 {weight}\n")
    for names, kept in ((("b.txt", "a.txt"), 5), (("a.txt", "b.txt"), 7)):
        graph = gstream.convert([tmp_path / name for name in names], dedupe=True, keep="first")
        assert [batch[2].tolist() for batch in map(list, graph.edges())] == [[kept]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": "sum"}, "--keep: says which weight of equal edges --dedupe keeps. Pass --dedupe too."),
        ({"keep": "most", "dedupe": True}, "--keep most: unknown; it is one of min, max, sum, count, first."),
        ({"keep": "count", "dedupe": True, "weights": False}, "--keep count and --no-weights contradict each other"),
    ],
)
def test_options_that_do_not_fit(options, message):
    with pytest.raises(UsageError, match=message):
        ConvertOptions(**options)


def test_edges_without_weights_have_none_to_combine(tmp_path):
    with pytest.raises(UsageError, match="--keep max: arrays has no weights. Pass --keep count"):
        convert(ArraySource(SOURCE, TARGET), tmp_path / "a.gs", ConvertOptions(dedupe=True, keep="max"))
    report = convert(ArraySource(SOURCE, TARGET), tmp_path / "a.gs", ConvertOptions(dedupe=True, keep="first"))
    assert report.edges == len(expected("first", True, True)) and not report.weighted


def test_a_sum_past_float64_names_its_edge(tmp_path):
    source = ArraySource(np.array([3, 3]), np.array([4, 4]), np.array([1e308, 1e308]))
    with pytest.raises(InputError, match="the weights of edge 3 -> 4 add up past float64"):
        convert(source, tmp_path / "a.gs", ConvertOptions(dedupe=True, keep="sum"))
