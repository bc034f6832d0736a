"""Edges through plan, pack, write and the reference decoder: any graph, ID width, weight type and cut."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_stores import Edges, new_pages, pack_range, random_edges, short_lists, write_store

from pagestore import open_store
from pagestore.layout import PageLayout
from pagestore.pack import Lists, pack_heads, pack_large, pack_small
from pagestore.planning import plan_pages
from pagestore.verify import verify
from tests.decoded import decode_edges

WEIGHTS = [None, "u1", "i4", "u4", "f4"]


@st.composite
def graphs(draw) -> Edges:
    """Few vertices, so that edges repeat and self-loops occur, and up to two hubs over several 4 KiB pages."""
    vertices = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    count = draw(st.integers(0, 400))
    source, target = rng.integers(0, vertices, (2, count))
    for _ in range(draw(st.integers(0, 2))):
        hub, degree = int(rng.integers(0, vertices)), draw(st.sampled_from([505, 1013, 1014, 2026, 2027, 5000]))
        source = np.append(source, np.full(degree, hub))
        target = np.append(target, rng.integers(0, vertices, degree))
    dtype = draw(st.sampled_from(WEIGHTS))
    weight = None if dtype is None else rng.integers(0, 250, len(source)).astype(dtype)
    return Edges(source.astype(np.uint64), target.astype(np.uint64), vertices, weight)


@settings(max_examples=60, deadline=None)
@given(edges=graphs(), id_bytes=st.sampled_from([4, 8]), split=st.integers(1, 3000), heads=st.booleans())
def test_any_graph_comes_back(tmp_path_factory, edges, id_bytes, split, heads):
    path = str(tmp_path_factory.mktemp("round") / "g.gs")
    write_store(path, edges, id_bytes=id_bytes, split=split, heads=heads)
    with open_store(path) as store:
        source, target, weight = decode_edges(store.topology("out"))
        assert Edges(source, target, edges.vertices, weight).rows() == edges.rows()
        target, source, weight = decode_edges(store.topology("in"))
        assert Edges(source, target, edges.vertices, weight).rows() == edges.rows()
    report = verify(path, threads=1)
    assert report.ok, report.problems


def test_the_cut_does_not_change_a_byte(tmp_path):
    edges = random_edges(hub=5000, weight="f4")
    paths = [str(tmp_path / f"{split}.gs") for split in (1, 700, 100_000)]
    for path, split in zip(paths, (1, 700, 100_000), strict=True):
        write_store(path, edges, split=split)
    assert len({Path(path).read_bytes() for path in paths}) == 1


@pytest.fixture(scope="module")
def prepared():
    """Plan, degrees, ends, and sorted targets of a graph with hubs next to and inside pages."""
    edges = random_edges(seed=9, vertices=400, edges=6000, hub=2500, weight="i4")
    extra = np.full(1500, 17, np.uint64)
    edges = Edges(
        np.append(edges.source, extra), np.append(edges.target, extra % 7), 400,
        np.append(edges.weight, extra.astype("i4")),
    ).sorted()  # fmt: skip
    degrees = np.bincount(edges.source.astype(np.int64), minlength=400).astype(np.uint32)
    plan = plan_pages(PageLayout(4096, 4), degrees)
    ends = np.concatenate([[0], np.cumsum(degrees.astype(np.int64))])
    whole = pack_range(plan, 0, 400, degrees, edges.target, edges.weight)
    return plan, degrees, ends, edges.target, edges.weight, whole


@pytest.mark.parametrize("step", [1, 500, 1013, 1100, 9000])
def test_a_hub_can_be_packed_in_pieces(prepared, step):
    plan, _, ends, target, weight, whole = prepared
    pages = new_pages(plan, plan.small_pages, plan.pages)
    weights = new_pages(plan, plan.small_pages, plan.pages, weight.dtype)
    for hub in np.unique(plan.directory["first_vertex"][plan.small_pages :]).tolist():
        low, high = int(ends[hub]), int(ends[hub + 1])
        for at in reversed(range(low, high, step)):
            to = min(at + step, high)
            pack_large(plan, hub, at - low, target[at:to], pages, plan.small_pages, weight[at:to], weights)
    np.testing.assert_array_equal(pages, whole.large)
    np.testing.assert_array_equal(weights, whole.large_weights)


def test_narrow_targets_and_threads_give_the_same_pages(prepared):
    """4-byte targets, one thread for each part, straight into one buffer."""
    plan, degrees, ends, target, _, whole = prepared
    targets = target.astype(np.uint32)
    pages = new_pages(plan, 0, plan.small_pages)

    def work(part):
        a, b = part.first, part.last
        lists = short_lists(plan, a, degrees[a:b], targets[ends[a] : ends[b]], None)
        pack_small(plan, *part.small, lists, pages[slice(*part.small)])

    threads = [threading.Thread(target=work, args=(part,)) for part in plan.split(900)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(pages, whole.small)


def test_heads_are_the_first_neighbours(prepared):
    plan, degrees, ends, target, _, _ = prepared
    lists = Lists(np.flatnonzero(degrees), degrees[degrees > 0], target)
    heads = np.concatenate([np.zeros((part, 4), np.uint32) for part in (150, 250)])
    pack_heads(lists, 0, heads[:150])
    pack_heads(lists, 150, heads[150:])
    for vertex in range(400):
        row = target[ends[vertex] : ends[vertex + 1]][:4].tolist()
        assert heads[vertex].tolist() == row + [0xFFFFFFFF] * (4 - len(row))


def test_contradictions_are_refused_before_anything_is_written(prepared):
    plan, degrees, _, target, _, _ = prepared
    small = plan.small_range(0, 400)
    pages, lists = new_pages(plan, *small), short_lists(plan, 0, degrees, target, None)
    swapped = Lists(lists.vertex, lists.size[::-1], lists.target)
    short, moved = Lists(lists.vertex, lists.size, lists.target[:-1]), short_lists(plan, 1, degrees, target, None)
    fewer = Lists(lists.vertex[:-1], lists.size[:-1], lists.target[: -int(lists.size[-1])])
    for wrong in (short, swapped, moved, fewer):
        with pytest.raises(ValueError, match="not those of the plan"):
            pack_small(plan, *small, wrong, new_pages(plan, *small))
    with pytest.raises(ValueError, match="no large pages"):
        pack_large(plan, 0, 0, target[:5], new_pages(plan, 0, 1), 0)
    for buffer in (pages[1:], np.zeros((len(pages), 8192), np.uint8)[:, ::2]):
        with pytest.raises(ValueError, match="page buffer has shape"):
            pack_small(plan, *small, lists, buffer)
    weighted = Lists(lists.vertex, lists.size, lists.target, np.zeros(len(lists.target), np.uint8))
    for other in (None, pages):
        with pytest.raises(ValueError, match=f"weights need {len(pages)} pages of 1024 bytes"):
            pack_small(plan, *small, weighted, pages, other)
    assert not pages.any()


def test_ids_up_to_the_largest(tmp_path):
    """8-byte IDs keep all 64 bits of a neighbour; 4-byte IDs all 32."""
    for id_bytes, target in ((4, (1 << 32) - 2), (8, (1 << 63) - 1)):
        plan = plan_pages(PageLayout(4096, id_bytes), np.array([1], np.uint32))
        packed = pack_range(plan, 0, 1, np.array([1], np.uint32), np.array([target], np.uint64))
        words = packed.small.view(plan.layout.id_dtype)
        assert int(words[0, plan.layout.header_words + 1]) == target


def test_a_hub_is_written_to_its_own_pages_only():
    """Not to the next hub's, nor past the buffer that was given."""
    layout = PageLayout(page_bytes=4096, id_bytes=4)
    longest = layout.longest_list
    plan = plan_pages(layout, np.array([longest + 1, longest + 1], np.int64))
    keys = np.arange(longest + 1, dtype=np.uint64)
    assert (plan.small_pages, plan.pages) == (0, 4)
    pack_large(plan, 0, 0, keys, new_pages(plan, 0, 2), 0)
    for vertex, position, begin, end in ((0, longest, 0, 4), (0, 2 * longest, 0, 4), (1, 0, 2, 3), (1, 0, 3, 4)):
        with pytest.raises(ValueError, match=f"of vertex {vertex} lie outside the buffer or the plan"):
            pack_large(plan, vertex, position, keys, new_pages(plan, begin, end), begin)
