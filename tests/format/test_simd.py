"""UA, UR and ME against the equations of paper 001 written out, and against its own worked numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagestore.decode import best_group_size
from pagestore.layout import GROUP_SIZES
from pagestore.simd import best_group, utilisation

sizes = st.lists(st.one_of(st.integers(1, 40), st.integers(1, 3000)), min_size=1, max_size=120)


def by_the_paper(degrees: list[int], group: int) -> tuple[int, int, int]:
    """(U_A, U_R, all lanes) by equations 1 and 2: warps of 32 lanes, missing groups counted as empty records."""
    across = 32 // group
    padded = degrees + [0] * (-len(degrees) % across)
    u_a = u_r = lanes = 0
    for begin in range(0, len(padded), across):
        warp = padded[begin : begin + across]
        longest = -(-max(warp) // group)
        for degree in warp:
            steps = -(-degree // group)
            u_a += group * steps - degree
            u_r += group * (longest - steps)
            lanes += group * longest
    return u_a, u_r, lanes


@settings(max_examples=60, deadline=None)
@given(sizes)
def test_rates_are_the_equations(degrees):
    table = utilisation(np.array(degrees, np.uint32))
    for group in GROUP_SIZES:
        u_a, u_r, lanes = by_the_paper(degrees, group)
        row = table[group]
        assert row["lanes"] == lanes and row["edges"] == sum(degrees)
        assert row["UA"] == u_a / lanes and row["UR"] == u_r / lanes
        assert row["UA"] + row["UR"] + row["ME"] == pytest.approx(1)


@settings(max_examples=60, deadline=None)
@given(sizes)
def test_the_chosen_size_has_the_best_efficiency(degrees):
    table = utilisation(np.array(degrees, np.uint32))
    chosen = best_group(np.array(degrees, np.uint32))
    most = max(row["edges"] / row["lanes"] for row in table.values())
    assert table[chosen]["ME"] == most
    assert chosen == max(group for group, row in table.items() if row["ME"] == most)
    assert chosen == best_group_size(np.array(degrees))


def test_the_papers_example_of_degree_23():
    """'if a vertex has a degree of 23, then U_A = 9, 9, 1, 1, 1, 0 when S = 32, 16, 8, 4, 2, 1' (section 4)."""
    table = utilisation(np.array([23], np.uint32))
    waste = [round(table[group]["UA"] * table[group]["lanes"]) for group in (32, 16, 8, 4, 2, 1)]
    assert waste == [9, 9, 1, 1, 1, 0]


def test_u_a_rises_and_u_r_falls_with_the_group_size():
    degrees = np.random.default_rng(1).zipf(1.7, 4096).clip(1, 5000).astype(np.uint32)
    table = utilisation(degrees)
    u_a = [table[group]["UA"] * table[group]["lanes"] for group in GROUP_SIZES]
    u_r = [table[group]["UR"] * table[group]["lanes"] for group in GROUP_SIZES]
    assert u_a == sorted(u_a) and u_a[0] == 0
    assert u_r == sorted(u_r, reverse=True) and u_r[-1] == 0


def test_no_records():
    assert all(row["ME"] == 1 for row in utilisation(np.empty(0, np.uint32)).values())
