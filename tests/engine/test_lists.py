"""Lists of chosen vertices found in pages: every neighbour once, whatever the stretches they are cut into."""

from __future__ import annotations

import numpy as np
import pytest
from engine_graphs import make_store, skewed_edges

from gstream.hostcode.parts import find_records

V, E = 900, 20_000


@pytest.fixture(scope="module", params=[1, 8])
def pages(request, tmp_path_factory):
    """(words of all pages, directory's columns, {vertex: its neighbours}) of a store with hubs."""
    source, target = skewed_edges(V, E, seed=8)
    with make_store(tmp_path_factory.mktemp("lists"), source, target, vertices=V, columns=request.param) as store:
        topology = store.topology("out")
        assert 0 < topology.small_pages < topology.pages
        with topology.reader() as reader:
            words = reader.read(0, topology.pages).view(np.uint32)
        first, last = (topology.directory[name].astype(np.uint64) for name in ("first_vertex", "last_vertex"))
        small = topology.small_pages
    return words, first, last, small, {v: np.sort(target[source == v]).tolist() for v in np.unique(source).tolist()}


@pytest.mark.parametrize("stretch", [1, 3, 100, 4096])
@pytest.mark.parametrize("skip", [0, 4])
def test_every_neighbour_is_in_one_stretch(pages, stretch, skip):
    """In stretches of one there are many more of them than lists: more room is taken than was thought to do."""
    words, first, last, small, lists = pages
    flat, rows = words.reshape(len(words), -1), np.arange(len(words))
    for wanted in (sorted(lists), sorted(lists)[::7], sorted(lists)[:1]):
        found = find_records(flat, rows, first, last, small, np.array(wanted, np.uint64), skip, stretch)
        got = {v: [] for v in wanted}
        for row, begin, count, vertex, stride in found.tolist():
            assert 1 <= count <= stretch
            got[vertex] += flat[row, begin : begin + count * stride : stride].tolist()
        assert {v: sorted(ends) for v, ends in got.items()} == {v: lists[v][skip:] for v in wanted}
    assert len(find_records(flat, rows, first, last, small, np.zeros(0, np.uint64), skip, stretch)) == 0
