"""UA, UR and ME against the equations of the SIMD paper written out, and against its own worked numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagestore.decode import best_group_size
from pagestore.layout import GROUP_SIZES
from pagestore.simd import SIZES, best_size, page_sums, rates

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


def sums(degrees: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Lanes and U_A, u8[6] each, of a page with lists of these lengths."""
    lanes, intra = np.zeros((2, 1, SIZES), np.uint64)
    first, last = np.array([0]), np.array([len(degrees) - 1])
    page_sums(np.array(degrees, np.uint32), 0, first, last, np.uint64(1 << 32), lanes, intra)
    return lanes[0], intra[0]


def utilisation(degrees: list[int]) -> dict[int, dict[str, float | int]]:
    """Rates of such a page by group size."""
    lanes, intra = sums(degrees)
    return {size: rates(int(lanes[i]), int(intra[i]), sum(degrees)) for i, size in enumerate(GROUP_SIZES)}


@settings(max_examples=60, deadline=None)
@given(sizes)
def test_rates_are_the_equations(degrees):
    table = utilisation(degrees)
    for group in GROUP_SIZES:
        u_a, u_r, lanes = by_the_paper(degrees, group)
        row = table[group]
        assert row["lanes"] == lanes and row["edges"] == sum(degrees)
        assert row["UA"] == u_a / lanes and row["UR"] == u_r / lanes
        assert row["UA"] + row["UR"] + row["ME"] == pytest.approx(1)


@settings(max_examples=60, deadline=None)
@given(sizes)
def test_the_chosen_size_has_the_best_efficiency(degrees):
    table = utilisation(degrees)
    chosen = best_size(sums(degrees)[0])
    most = max(row["edges"] / row["lanes"] for row in table.values())
    assert table[chosen]["ME"] == most
    assert chosen == max(group for group, row in table.items() if row["ME"] == most)
    assert chosen == best_group_size(np.array(degrees))


def test_the_papers_example_of_degree_23():
    """'if a vertex has a degree of 23, then U_A = 9, 9, 1, 1, 1, 0 when S = 32, 16, 8, 4, 2, 1' (section 4)."""
    table = utilisation([23])
    waste = [round(table[group]["UA"] * table[group]["lanes"]) for group in (32, 16, 8, 4, 2, 1)]
    assert waste == [9, 9, 1, 1, 1, 0]


def test_u_a_rises_and_u_r_falls_with_the_group_size():
    degrees = np.random.default_rng(1).zipf(1.7, 4096).clip(1, 5000).tolist()
    table = utilisation(degrees)
    u_a = [table[group]["UA"] * table[group]["lanes"] for group in GROUP_SIZES]
    u_r = [table[group]["UR"] * table[group]["lanes"] for group in GROUP_SIZES]
    assert u_a == sorted(u_a) and u_a[0] == 0
    assert u_r == sorted(u_r, reverse=True) and u_r[-1] == 0


def test_no_records():
    assert all(row["ME"] == 1 for row in utilisation([]).values())
