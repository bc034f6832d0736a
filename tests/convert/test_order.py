"""The approximate sort (Edge-Vertex paper, 4.1): its buckets, when it is off, by which degree, its reported cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagestore import convert_arrays, open_store
from pagestore.convert import order, pipeline
from pagestore.convert.order import degree_order, extremes
from pagestore.convert.storage import Vector
from pagestore.info import store_info
from tests.convert.graphs import check_store, stored_rows, user_ids

RING = np.arange(300)  # every vertex one edge out and one in


def vector(values: list[int]) -> Vector:
    found = Vector(len(values), np.uint32)
    found.write(0, np.array(values, np.uint32))
    return found


def places(degrees: list[int], others: list[int] | None, buckets: int | None) -> list[int]:
    given = vector(degrees)
    other = None if others is None else vector(others)
    return degree_order(given, other, extremes(given), buckets, np.dtype(np.uint32), None).read(0, None).tolist()


def by_the_paper(degrees: list[int], others: list[int] | None, buckets: int) -> list[int]:
    """Listing 1's projection, greatest first; stable in a bucket; vertices without edges last. No sort: max == min."""
    least, most = min(degrees), max(degrees)
    if least == most:
        return list(range(len(degrees)))
    keys = []
    for vertex, degree in enumerate(degrees):
        bucket = (degree - least) * (buckets - 1) // (most - least)
        alone = degree == 0 and (others is None or others[vertex] == 0)
        keys.append((alone, most - degree if most - least < buckets else -bucket, vertex))
    place = [0] * len(degrees)
    for position, key in enumerate(sorted(keys)):
        place[key[2]] = position
    return place


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 2)), min_size=1, max_size=80),
    st.sampled_from([1, 2, 3, 7, 16, 50, 1000]),
    st.booleans(),
)
def test_places_are_the_papers(pairs, buckets, directed):
    degrees = [degree for degree, _ in pairs]
    others = [other for _, other in pairs] if directed and max(degrees) else None
    assert places(degrees, others, buckets) == by_the_paper(degrees, others, buckets)
    assert places(degrees, others, None) == by_the_paper(degrees, others, 1 << 20)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 1 << 31), min_size=2, max_size=60), st.sampled_from([1, 5, 999, None]))
def test_buckets_are_in_order_and_stable(degrees, buckets):
    place = places(degrees, None, buckets)
    assert sorted(place) == list(range(len(degrees)))
    width = (max(degrees) - min(degrees)) / max((buckets or 2) - 1, 1)
    ordered = [degree for _, degree in sorted(zip(place, degrees, strict=True))]
    if buckets is not None and buckets > 1:
        worst = max((high - low for low, high in zip(ordered, ordered[1:], strict=False)), default=0)
        assert worst <= width  # what stands later is greater by less than a bucket's width
    if buckets == 1 and 0 not in degrees:
        assert place == list(range(len(degrees)))


def test_degrees_past_the_last_bucket_share_it():
    """One a degree goes up to a bound; what lies above stands together in front, as it came."""
    most = order.MAX_ORDER_BUCKETS
    assert places([5, most + 9, most, most + 70, most - 1], None, None) == [4, 0, 1, 2, 3]


@pytest.mark.parametrize("name", ["degree", "in", "out"])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("memory", [1 << 10, 1 << 30])
def test_the_sort_is_off_where_all_degrees_are_equal(tmp_path, monkeypatch, name, directed, memory):
    """Paper, 5.5: 'if the difference between the maximum and minimum degree is 0 ... disable the sorting'."""
    shuffles = []
    reshuffle = pipeline.Conversion._reshuffle
    monkeypatch.setattr(
        pipeline.Conversion,
        "_reshuffle",
        lambda self, what, *rest: shuffles.append(what) or reshuffle(self, what, *rest),
    )
    target = np.roll(RING, -1)
    path = tmp_path / "ring.gs"
    convert_arrays(path, RING, target, directed=directed, order=name, page_bytes=4096, memory_bytes=memory, threads=2)
    assert "ordered" not in shuffles
    with open_store(path) as store:
        assert user_ids(store).tolist() == RING.tolist() and store.meta.order == name
    check_store(path)
    edges = {(int(a), int(b), 1.0) for a, b in zip(RING, target, strict=True)}
    wanted = edges if directed else edges | {(b, a, w) for a, b, w in edges}
    assert stored_rows(path) == sorted(wanted)
    shuffles.clear()
    convert_arrays(path, RING[1:], target[1:], directed=directed, order=name, page_bytes=4096)
    assert "ordered" in shuffles  # one edge less, and two vertices differ from the others


def test_by_out_degree_unless_in_is_asked_for(tmp_path):
    """A pull's hot values are its sources', so `degree` means the out-degree."""
    source, target = np.array([0, 0, 0, 1, 2, 3]), np.array([4, 5, 4, 4, 5, 4])
    heads = {}
    for name in ("degree", "out", "in"):
        convert_arrays(tmp_path / "g.gs", source, target, order=name, page_bytes=4096)
        with open_store(tmp_path / "g.gs") as store:
            heads[name] = user_ids(store).tolist()
            degrees = (store.in_degree() if name == "in" else store.out_degree()).astype(int).tolist()
            assert degrees == sorted(degrees, reverse=True)
    assert heads["degree"] == heads["out"] == [0, 1, 2, 3, 4, 5] and heads["in"][:2] == [4, 5]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["natural", "degree"]))
def test_eta_is_the_share_of_in_degrees_from_2_on(tmp_path_factory, seed, directed, name):
    random = np.random.default_rng(seed)
    source, target = random.integers(0, 40, (2, random.integers(1, 80)))
    path = tmp_path_factory.mktemp("eta") / "g.gs"
    convert_arrays(path, source, target, vertices=50, directed=directed, order=name, page_bytes=4096)
    ends = target if directed else np.concatenate([target, source[source != target]])
    with open_store(path) as store:
        assert store_info(store)["eta"] == np.mean(np.bincount(ends, minlength=50) >= 2)


@pytest.mark.parametrize(
    ("directed", "order", "remedy"),
    [(True, "natural", "in"), (True, "out", "in"), (False, "natural", "degree"), (True, "in", ""), (False, "in", "")],
)
def test_columns_that_an_order_leaves_rows_are_told(tmp_path, directed, order, remedy):
    random = np.random.default_rng(5)
    vertices, edges = 4000, 60_000
    source = random.integers(0, vertices, edges)
    target = (random.random(edges) ** 4 * vertices).astype(np.int64)  # few vertices are the target of many
    shuffled = random.permutation(vertices)
    report = convert_arrays(
        tmp_path / "g.gs", shuffled[source], shuffled[target], directed=directed, order=order, columns=8,
        page_bytes=1 << 15,
    )  # fmt: skip
    told = [note for note in report.notes if note.startswith("--columns: ")]
    assert bool(told) == bool(remedy)
    assert all(f"Pass --order {remedy}." in note for note in told)
