"""Numbers of the vertices that a rank holds: in the order of store IDs, its own slice whole, pages by them."""

from __future__ import annotations

import numpy as np
import pytest

from gstream.hostcode.bitmaps import bits_where, list_bits
from gstream.hostcode.generate import BLOCK
from gstream.paging.own_ids import WORD, OwnIds
from gstream.paging.ownership import slices


@pytest.fixture(params=range(6))
def drawn(request: pytest.FixtureRequest) -> tuple[OwnIds, np.ndarray]:
    """Numbers of any rank, of which some have no vertex, and bool[V] of the mirrors and the own slice."""
    draw = np.random.default_rng(request.param)
    vertices, ranks = int(draw.integers(1, 5 * BLOCK)), int(draw.integers(2, 8))
    rank, cut = int(draw.integers(ranks)), slices((0, vertices), BLOCK, ranks)
    mirrors = draw.random(vertices) < draw.random()
    ids = OwnIds.made("in", bits_where(mirrors), cut, rank)
    mirrors[slice(*cut[rank])] = True
    return ids, mirrors


def test_numbers_keep_the_order_and_the_own_slice(drawn):
    ids, here = drawn
    numbers = ids.numbers(np.flatnonzero(here).astype(np.uint64))
    assert (np.diff(numbers) > 0).all() and (not len(numbers) or 0 <= numbers[0] and numbers[-1] < ids.count)
    (first, last), (low, high) = ids.own, ids.own_numbers
    assert (ids.numbers(np.arange(first, last)) == np.arange(low, high)).all() and low % WORD == 0
    strangers = ids.numbers(np.flatnonzero(~here))
    assert not ((strangers >= low) & (strangers < high)).any()  # what lists a stranger writes to none of the slice
    assert ids.count <= here.sum() + 3 * WORD


def test_ranges_of_slices_hold_their_vertices_alone(drawn):
    ids, here = drawn
    for first, last in ids.slices:
        for part in ((first, last), (first, (first + last) // 2)):
            members = ids.numbers(part[0] + np.flatnonzero(here[slice(*part)]))
            low, high = ids.range_of(part)
            inside = list_bits(ids.bits(bits_where(here)), low, high) if part[0] < part[1] else np.empty(0)
            assert np.array_equal(inside, members)


def test_arrays_and_bits_by_numbers(drawn):
    ids, here = drawn
    whole, members = np.arange(1, len(here) + 1), np.flatnonzero(here)
    found = ids.select(lambda first, last: whole[first:last])
    assert len(found) == ids.count and np.array_equal(found[ids.numbers(members)], whole[members])
    assert np.count_nonzero(found) == len(members)
    odd = here & (whole % 2 == 1)
    assert np.array_equal(list_bits(ids.bits(bits_where(odd)), 0, ids.count), ids.numbers(np.flatnonzero(odd)))


@pytest.mark.parametrize("stride", [1, 8])
def test_pages_by_numbers(drawn, stride):
    """A page of one record: its vertex, and neighbours `stride` words apart."""
    ids, here = drawn
    members = np.flatnonzero(here)
    if not len(members):
        assert ids.count == 0  # no vertex has a number, so there is no page
        return
    named = np.resize(members, 20)
    words = np.zeros((1, 256), np.uint32)
    words[0, -2:], words[0, 8] = (members[-1], 8), len(named)
    words[0, 8 + stride : 8 + stride * 21 : stride] = named
    ids.renumber(words, np.array([1], np.uint32), np.array([stride], np.uint8))
    assert words[0, -2] == ids.numbers(members[-1:])[0] and words[0, 8] == len(named)
    assert np.array_equal(words[0, 8 + stride : 8 + stride * 21 : stride], ids.numbers(named))
