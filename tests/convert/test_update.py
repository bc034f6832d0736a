"""A store with changes holds what a conversion of the changed edge list holds, byte for byte where IDs stay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagestore import convert_arrays, open_store
from pagestore.errors import InputError, UsageError
from pagestore.memory import ArraySource
from pagestore.update import Changes, update
from tests.convert.graphs import Graph, check_store, skewed, stored_rows, user_ids


def source_of(graph: Graph, weighted: bool) -> ArraySource:
    return ArraySource(graph.source, graph.target, graph.weight if weighted else None, name="changes")


def changed(path: Path, to: Path, add: Graph, remove: Graph, missing: str = "ignore", **options) -> None:
    with open_store(path) as store:
        weighted = store.meta.weighted
        changes = Changes(source_of(add, weighted), source_of(remove, False), missing)
        update(store, to, changes, threads=2, **options)


def wanted(before: Graph, add: Graph, remove: Graph, directed: bool) -> Graph:
    """The changed edge list."""
    gone = set(zip(remove.source.tolist(), remove.target.tolist(), strict=True))
    gone |= set() if directed else {(target, source) for source, target in gone}
    ends = zip(before.source.tolist(), before.target.tolist(), strict=True)
    stay = np.array([end not in gone for end in ends], bool)
    weight = None
    if before.weight is not None and add.weight is not None:
        weight = np.concatenate([before.weight[stay], add.weight])
    source = np.concatenate([before.source[stay], add.source])
    return Graph(source, np.concatenate([before.target[stay], add.target]), weight)


def edges_in(graph: Graph, directed: bool, dedupe: bool, drop: bool) -> int:
    """Edges that a store of the graph has, an undirected one once."""
    ends = np.stack([graph.source, graph.target], 1)
    ends = ends if directed else np.sort(ends, 1)
    ends = ends[ends[:, 0] != ends[:, 1]] if drop else ends
    return len(np.unique(ends, axis=0)) if dedupe else len(ends)


def arrays_of(path: Path) -> Iterator[tuple[str, bytes]]:
    """All bytes of a store but those that say what it was made from."""
    with open_store(path) as store:
        for name in store.meta.topologies:
            topology = store.topology(name)
            with topology.reader() as reader:
                yield f"{name} pages", reader.read(0, topology.pages).tobytes()
                if topology.weight_dtype is not None:
                    yield f"{name} weights", reader.read_weights(0, topology.pages).tobytes()
        for name in store.array_names:
            yield name, store.array(name).read().tobytes()


@st.composite
def cases(draw) -> tuple[Graph, Graph, Graph]:
    """A graph, what is added and what is removed; some of it there, some not, some with new vertices."""
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    edges, span, fresh = draw(st.integers(0, 400)), draw(st.sampled_from([1, 5, 60])), draw(st.sampled_from([0, 9]))
    stride, base = draw(st.sampled_from([1, 7])), draw(st.integers(0, 3))
    weighted = draw(st.booleans())

    def graph(count: int, most: int) -> Graph:
        source, target = rng.integers(0, most, (2, count)) * stride + base
        return Graph(source, target, rng.integers(0, 4, count) / draw(st.sampled_from([1, 4])) if weighted else None)

    before = graph(edges, span)
    if draw(st.booleans()):
        before.source[: edges // 2] = base
    return before, graph(draw(st.integers(0, 60)), span + fresh), graph(draw(st.integers(0, 40)), span)


@settings(max_examples=20, deadline=None)
@given(
    case=cases(), directed=st.booleans(), dedupe=st.booleans(), drop=st.booleans(),
    topology=st.sampled_from(["both", "out", "in"]), order=st.sampled_from(["natural", "degree"]),
    memory=st.sampled_from([1 << 10, 1 << 30]),
)  # fmt: skip
def test_equals_a_conversion_of_the_changed_edges(
    tmp_path_factory, case, directed, dedupe, drop, topology, order, memory
):
    before, add, remove = case
    folder = tmp_path_factory.mktemp("update")
    first, second, third = (folder / f"{name}.gs" for name in ("first", "second", "third"))
    options = {
        "directed": directed, "dedupe": dedupe, "drop_self_loops": drop, "topology": topology, "order": order,
        "page_bytes": 4096, "threads": 2,
    }  # fmt: skip
    convert_arrays(first, before.source, before.target, before.weight, **options)
    kept = first.read_bytes()
    changed(first, second, add, remove, memory_bytes=memory)
    check_store(second)
    after = wanted(before, add, remove, directed)
    with open_store(second) as store:
        names = sorted(user_ids(store).tolist())
        left = wanted(before, Graph(*np.empty((2, 0), np.int64), np.empty(0)), remove, directed)
        gone = edges_in(before, directed, dedupe, drop) - edges_in(left, directed, dedupe, drop)
        assert store.meta.provenance["changes"][0]["removed"] == gone
    assert names == np.unique([*before.source, *before.target, *add.source, *add.target]).tolist()
    for name in (topology,) if topology != "both" and directed else ("out", "in"):
        assert stored_rows(second, name) == after.rows(directed, dedupe, drop)
    assert first.read_bytes() == kept
    assert sorted(entry.name for entry in folder.iterdir()) == ["first.gs", "second.gs"]
    convert_arrays(third, after.source, after.target, after.weight, **options)
    with open_store(third) as store, open_store(second) as made:
        same = order == "natural" and store.meta.vertices == made.meta.vertices
        for field in ("duplicates", "self_loops", "max_out_degree", "max_in_degree"):
            assert getattr(store.meta, field) == getattr(made.meta, field)
        same = same and store.meta.weight_dtype == made.meta.weight_dtype
    if same:
        assert dict(arrays_of(second)) == dict(arrays_of(third))


@pytest.mark.parametrize("dedupe", [False, True])
def test_hubs_a_page_at_a_time(tmp_path: Path, monkeypatch, dedupe: bool) -> None:
    """Hubs' lists are merged page after page; equal edges on both sides of a page's end are in order of weight."""
    from pagestore.update import merging

    monkeypatch.setattr(merging, "BATCH_BYTES", 4096)
    before = skewed(20_000, 2_000)
    before.source[:9_000], before.target[:3_000] = 6, 9
    add, remove = skewed(800, 2_100, seed=2), Graph(before.source[5_000:5_300], before.target[5_000:5_300])
    add.source[:500], add.target[:200] = 6, 9
    options = {"dedupe": dedupe, "page_bytes": 4096, "threads": 2, "vertices": 6_300}
    first, second, third = (tmp_path / f"{name}.gs" for name in ("first", "second", "third"))
    convert_arrays(first, before.source, before.target, before.weight, **options)
    changed(first, second, add, remove, "refuse")
    after = wanted(before, add, remove, True)
    convert_arrays(third, after.source, after.target, after.weight, **options)
    check_store(second)
    assert dict(arrays_of(second)) == dict(arrays_of(third))


@pytest.mark.parametrize("options", [{"compress": "on"}, {"columns": 32}], ids=str)
def test_coded_and_column_pages(tmp_path: Path, options: dict) -> None:
    before, add = skewed(3_000, 400), skewed(50, 400, seed=3)
    none = Graph(add.source[:0], add.target[:0])
    first, second = tmp_path / "first.gs", tmp_path / "second.gs"
    convert_arrays(first, before.source, before.target, before.weight, page_bytes=4096, **options)
    changed(first, second, add, none)
    check_store(second)
    with open_store(first) as old, open_store(second) as new:
        assert (old.meta.compressed, old.meta.columns) == (new.meta.compressed, new.meta.columns)
    assert stored_rows(second) == wanted(before, add, none, True).rows()


@pytest.mark.parametrize("keep, weight", [("min", 2), ("max", 5), ("sum", 7), ("count", 2), ("first", 5)])
def test_equal_edges_become_one_as_the_store_says(tmp_path: Path, keep: str, weight: int) -> None:
    first, second = tmp_path / "first.gs", tmp_path / "second.gs"
    pair, none = np.array([1]), np.empty(0, np.int64)
    convert_arrays(first, pair, pair + 1, np.array([5.0]), dedupe=True, keep=keep, directed=False)
    changed(first, second, Graph(pair + 1, pair, np.array([2.0])), Graph(none, none))
    assert stored_rows(second) == [(1, 2, weight), (2, 1, weight)]
    with open_store(second) as store:
        step = store.meta.provenance["changes"][-1]
        assert step["weights_changed"] is (keep in ("max", "sum", "count")) and store.meta.dropped_duplicates == 1


def test_refusals(tmp_path: Path) -> None:
    """Removals of what is not there are counted; nothing is left beside the store, which stays as it is."""
    first, second = tmp_path / "first.gs", tmp_path / "second.gs"
    ends = np.arange(20)
    convert_arrays(first, ends, ends + 1, ends / 2, directed=False)
    lost = Graph(np.array([1, 1, 7, 90]), np.array([0, 5, 2, 91]))
    none = Graph(ends[:0], ends[:0], ends[:0] / 2)
    with pytest.raises(InputError, match="at least 1 edge to remove is not in .*, such as 90 -> 91"):
        changed(first, second, none, lost, "refuse")
    with pytest.raises(InputError, match="2 edges to remove are not in .*, such as 1 -> 5"):
        changed(first, second, none, Graph(lost.source[:3], lost.target[:3]), "refuse")
    with open_store(first) as store:
        without = Changes(ArraySource(ends, ends, None, name="bare"), None)
        with pytest.raises(InputError, match="bare: has no weights"):
            update(store, second, without)
        with pytest.raises(UsageError, match="is the store that changes"):
            update(store, first, Changes(None, None))
        with pytest.raises(UsageError, match="--missing perhaps"):
            update(store, second, Changes(None, None, "perhaps"))
    assert [entry.name for entry in tmp_path.iterdir()] == ["first.gs"]
    changed(first, second, none, lost)
    assert len(stored_rows(second)) == 38


@pytest.mark.parametrize("phase", ["merge out", "merge in", "pack"])
@pytest.mark.parametrize("memory", [1 << 10, 1 << 30])
def test_an_interrupted_update_leaves_nothing(tmp_path: Path, phase: str, memory: int) -> None:
    class Interruption(Exception):
        pass

    def stop(progress) -> None:
        if progress.phase == phase:
            raise Interruption

    first = tmp_path / "first.gs"
    before, add = skewed(3_000, 400), skewed(50, 400, seed=3)
    convert_arrays(first, before.source, before.target, before.weight, page_bytes=4096)
    kept = first.read_bytes()
    with pytest.raises(Interruption):
        changed(
            first,
            tmp_path / "second.gs",
            add,
            Graph(add.source[:0], add.target[:0]),
            memory_bytes=memory,
            progress=stop,
        )
    assert first.read_bytes() == kept and [entry.name for entry in tmp_path.iterdir()] == ["first.gs"]
