"""Bitmaps, parts and record lists against what NumPy says."""

from __future__ import annotations

import numpy as np
import pytest
from handmade import make_pages
from hypothesis import given, settings
from hypothesis import strategies as st

from gstream.hostcode import (
    bitmap,
    count_bits,
    count_pages,
    find_records,
    list_bits,
    make_parts,
    set_bits,
)


@given(st.sets(st.integers(0, 299)), st.integers(0, 299), st.integers(0, 299))
def test_bitmaps(members, first, last):
    bits = bitmap(300)
    set_bits(bits, np.array(sorted(members), np.uint64))
    assert count_bits(bits) == len(members)
    first, last = min(first, last), max(first, last)
    assert list_bits(bits, first, last).tolist() == [v for v in sorted(members) if first <= v < last]
    low = np.arange(0, 300, 30, dtype=np.uint64)
    lists = np.zeros(10, np.int64)
    count = count_pages(bits, low, low + np.uint64(25), lists)
    assert lists.tolist() == [sum(a <= v <= a + 25 for v in members) for a in low.tolist()]
    assert count == np.count_nonzero(lists)


def graph(seed, vertices=4000, edges=12000):
    rng = np.random.default_rng(seed)
    source = rng.integers(0, vertices, edges)
    source[: edges // 3] = rng.choice([3, 900, 901], edges // 3)
    return source, rng.integers(0, vertices, edges)


@pytest.mark.parametrize("id_bytes", [4, 8])
@pytest.mark.parametrize("columns", [1, 8, 32])
@given(seed=st.integers(0, 10**6), skip=st.sampled_from([0, 4]), stretch=st.sampled_from([1, 100, 4096]))
@settings(max_examples=10)
def test_records_are_the_lists(id_bytes, columns, seed, skip, stretch):
    source, target = graph(seed)
    pages = make_pages(4000, source, target, id_bytes=id_bytes, columns=columns)
    wanted = np.unique(np.random.default_rng(seed).integers(0, 4000, 300)).astype(np.uint64)
    records = find_records(
        pages.words, np.arange(len(pages.words)), pages.first_vertex, pages.last_vertex, pages.small, wanted,
        skip=skip, stretch=stretch,
    )  # fmt: skip
    found = {}
    for row, first, count, v, stride in records.tolist():
        assert 0 < count <= stretch and stride == (columns if row < pages.small and row % 2 else 1)
        found.setdefault(v, []).extend(pages.words[row, first : first + count * stride : stride].tolist())
    for v in wanted.tolist():
        assert found.get(v, []) == sorted(target[source == v].tolist())[skip:]
    assert set(found) <= set(wanted.tolist())


def test_records_of_absent_pages_are_left_out():
    source, target = graph(7)
    pages = make_pages(4000, source, target)
    rows = np.array([1, 3, 5, pages.small + 1, pages.small + 2])
    everything = np.arange(4000, dtype=np.uint64)
    first, last = pages.first_vertex[rows], pages.last_vertex[rows]
    records = find_records(pages.words, rows, first, last, 3, everything, skip=4)
    held = [pages.words[row] for row in rows]
    edges = sum(int(row[4]) for row in held)
    assert set(records[:, 0].tolist()) == set(rows.tolist())
    assert len(np.unique(records[:, 3])) <= 3 * 330 + 3
    # the hub's later stretch loses no head: its position is not 0
    assert held[3][6] > 0 and records[records[:, 0] == rows[3], 2].sum() == held[3][4]
    assert records[:, 2].sum() <= edges


@given(st.integers(0, 10**6), st.sampled_from([1, 50, 300, 10**6]), st.sampled_from([1, 8, 64]))
@settings(max_examples=20)
def test_parts_cover_every_edge_once(seed, edges_a_part, columns):
    source, target = graph(seed)
    pages = make_pages(4000, source, target, columns=columns)
    rows = np.arange(len(pages.words))[::-1].copy()
    parts = make_parts(pages.words, rows, edges_a_part)
    seen = []
    for row, first, end in parts.tolist():
        page = pages.words[row].astype(np.int64)
        if page[0] == 1:
            assert end - first <= edges_a_part
            seen += [(page[-2], u) for u in page[first:end]]
            continue
        edges, stride = 0, max(1, page[0] >> 16)
        for slot in range(first, end):
            v, head = page[len(page) - 2 * slot - 2], page[len(page) - 2 * slot - 1]
            seen += [(v, page[head + stride * (k + 1)]) for k in range(page[head])]
            edges += page[head]
        assert end - first == 1 or edges < edges_a_part + pages.layout.longest_list
    assert sorted(seen) == sorted(zip(source.tolist(), target.tolist(), strict=True))
