"""The page plan: greedy by its definition, the same for any chunks, and cut only where no page is shared."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagestore.decode import best_group_size
from pagestore.layout import LARGE, SMALL, PageLayout
from pagestore.planning import PagePlanner, plan_pages

LAYOUTS = [PageLayout(4096, 4), PageLayout(4096, 8), PageLayout(8192, 4)]
degrees_of = st.lists(
    st.one_of(
        st.integers(0, 3), st.integers(0, 200), st.sampled_from([504, 505, 506, 1012, 1013, 1014, 2026, 2027, 9000])
    ),
    max_size=150,
).map(lambda values: np.array(values, np.uint32))


def greedy(degrees: np.ndarray, layout: PageLayout) -> list[tuple]:
    """(kind, vertices, edges, position) of each page, from the words of the definition."""
    small, large, page, used = [], [], [], 0
    for vertex, degree in enumerate(degrees.tolist()):
        if degree > layout.longest_list:
            for position in range(0, degree, layout.longest_list):
                large.append((LARGE, [vertex], min(layout.longest_list, degree - position), position))
        elif degree:
            if page and used + 1 + degree + 2 > layout.words:
                small.append((SMALL, page, int(degrees[page].sum()), 0))
                page = []
            if not page:
                used = layout.header_words
            page = [*page, vertex]
            used += 1 + degree + 2
    if page:
        small.append((SMALL, page, int(degrees[page].sum()), 0))
    return small + large


@settings(max_examples=80, deadline=None)
@given(degrees_of, st.sampled_from(LAYOUTS), st.integers(1, 40))
def test_the_plan_is_the_greedy_one_for_any_chunks(degrees, layout, chunk):
    plan = plan_pages(layout, degrees)
    expected = greedy(degrees, layout)
    assert plan.pages == len(expected) and plan.small_pages == sum(kind == SMALL for kind, *_ in expected)
    before = 0
    for row, (kind, vertices, edges, position) in zip(plan.directory, expected, strict=True):
        assert (row["kind"], row["records"], row["edges"], row["position"]) == (kind, len(vertices), edges, position)
        assert (row["first_vertex"], row["last_vertex"], row["edges_before"]) == (vertices[0], vertices[-1], before)
        sizes = degrees[vertices] if kind == SMALL else np.array([edges])
        assert row["group"] == best_group_size(sizes.astype(np.int64))
        before += edges
    assert plan.edges == before == int(degrees.sum()) and plan.max_degree == int(degrees.max(initial=0))
    assert plan.last_with_edges == (int(np.flatnonzero(degrees)[-1]) if degrees.any() else -1)
    planner = PagePlanner(layout)
    for begin in range(0, len(degrees), chunk):
        planner.add(degrees[begin : begin + chunk])
    np.testing.assert_array_equal(planner.finish().directory, plan.directory)


@settings(max_examples=80, deadline=None)
@given(degrees_of, st.integers(1, 20_000))
def test_split_covers_every_vertex_and_shares_no_page(degrees, max_edges):
    plan = plan_pages(PageLayout(4096, 4), degrees)
    small, large, vertex, edges = 0, plan.small_pages, 0, 0
    for part in plan.split(max_edges):
        assert part.first == vertex and part.last > part.first
        assert part.edges == int(degrees[part.first : part.last].sum())
        assert part.small == plan.small_range(part.first, part.last)
        if part.small[0] < part.small[1]:
            assert part.small[0] == small
            small = part.small[1]
        if part.large[0] < part.large[1]:
            assert part.large[0] == large
            large = part.large[1]
        pages = part.small[1] - part.small[0]
        hubs = np.count_nonzero(degrees[part.first : part.last] > 1013)
        assert part.edges <= max_edges or pages <= 1 or hubs
        vertex, edges = part.last, edges + part.edges
    assert (small, large, vertex, edges) == (plan.small_pages, plan.pages, len(degrees), int(degrees.sum()))


def test_longest_list_fills_a_page_to_the_last_word():
    layout = PageLayout(4096, 4)
    plan = plan_pages(layout, np.array([layout.longest_list, layout.longest_list + 1], np.uint32))
    assert plan.directory["kind"].tolist() == [SMALL, LARGE, LARGE]
    assert plan.directory["edges"].tolist() == [1013, 1013, 1]


def test_degrees_past_4_billion():
    degree = (1 << 32) + 5
    plan = plan_pages(PageLayout(1 << 20, 8), np.array([1, degree], np.uint64))
    assert plan.edges == degree + 1 and plan.max_degree == degree
    assert int(plan.directory["edges"].sum()) == degree + 1
    assert int(plan.directory["position"][-1]) == (plan.pages - 2) * PageLayout(1 << 20, 8).longest_list


@pytest.mark.parametrize("columns", [-1, 0, 2, 5])
def test_impossible_columns_are_refused(columns):
    with pytest.raises(ValueError, match=f"columns is {columns}; it must be 1 or one of"):
        PagePlanner(PageLayout(4096, 4), columns)


@pytest.mark.parametrize("page_bytes, id_bytes", [(4095, 4), (2048, 4), (6144, 4), (4096, 2), (4096, 5)])
def test_impossible_layouts_are_refused(page_bytes, id_bytes):
    with pytest.raises(ValueError, match="must be"):
        PageLayout(page_bytes, id_bytes)
