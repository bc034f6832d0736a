"""The papers' graphs, sorts and models on the host: stores, predictions against stores, what checks refuse."""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import columns, families, sorting
from bench.families import REAL, Real, generated, real
from bench.figures import WrongAnswerError, by_turns
from bench.gpu_setup import Setup
from bench.harness import SkippedError
from bench.lanes import best_single, of_kind
from bench.link import Devices
from bench.sorting import SWEEP, Degrees, check_order, check_places
from pagestore import convert_arrays, open_store
from pagestore.info import simd_facts, store_info, used_bytes
from pagestore.layout import GROUP_SIZES, PageLayout
from pagestore.planning import plan_pages


def degrees_of(values, others=None) -> Degrees:
    return Degrees("given", 0, np.array(values, np.uint32), None if others is None else np.array(others, np.uint32))


@pytest.mark.parametrize("kind", families.KINDS)
@pytest.mark.parametrize("count", [10, None])
def test_the_predicted_lanes_are_the_stores(tmp_path: Path, kind: str, count: int | None) -> None:
    """UA, UR and ME of a sorted store, worked out of degrees alone, are those of the store that is converted so."""
    family = generated(kind, 12)
    degrees = Degrees.of(family, tmp_path)
    path = family.store(tmp_path / "sorted.gs", "in", count)
    with open_store(path) as store:
        assert sorting.rates_by_buckets(degrees, count) == simd_facts(store, store.topology("in"))
    with open_store(family.natural(tmp_path)) as store:
        assert sorting.rates_by_buckets(degrees, 1) == simd_facts(store, store.topology("in"))


def by_equations(lengths: list[int], group: int) -> tuple[int, int, int]:
    """(U_A, U_R, sum d) by equations 1 and 2 of the SIMD paper; groups that the last warp lacks have empty records."""
    across = 32 // group
    padded = lengths + [0] * (-len(lengths) % across)
    u_a = u_r = 0
    for begin in range(0, len(padded), across):
        warp = padded[begin : begin + across]
        longest = -(-max(warp) // group)
        u_a += sum(group * -(-d // group) - d for d in warp)
        u_r += sum(group * (longest - -(-d // group)) for d in warp)
    return u_a, u_r, sum(lengths)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6))
def test_info_is_the_papers_equations_page_by_page(tmp_path_factory, seed: int) -> None:
    random = np.random.default_rng(seed)
    source, target = (random.zipf(1.5, 4000) - 1).clip(0, 899), random.integers(0, 900, 4000)
    path = tmp_path_factory.mktemp("lanes") / "g.gs"
    convert_arrays(path, source, target, vertices=900, page_bytes=4096, order=str(random.choice(["natural", "degree"])))
    with open_store(path) as store:
        for name in ("out", "in"):
            topology = store.topology(name)
            rows, lengths = topology.directory, store.out_degree() if name == "out" else store.in_degree()
            facts = simd_facts(store, topology)
            sums = {size: np.zeros(3, np.int64) for size in (*GROUP_SIZES, "chosen")}
            for number, row in enumerate(rows):
                of_page = lengths[int(row["first_vertex"]) : int(row["last_vertex"]) + 1].tolist()
                listed = [d for d in of_page if 0 < d <= topology.layout.longest_list]
                records = listed if number < topology.small_pages else [int(row["edges"])]
                for size in GROUP_SIZES:
                    sums[size] += by_equations(records, size)
                    if size == row["group"]:
                        sums["chosen"] += by_equations(records, size)
            for size, (u_a, u_r, edges) in sums.items():
                lanes, found = u_a + u_r + edges, facts[str(size)]
                assert found["lanes"] == lanes and found["edges"] == edges
                assert (found["UA"], found["UR"], found["ME"]) == (u_a / lanes, u_r / lanes, edges / lanes)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 1)), min_size=1, max_size=200), st.sampled_from(SWEEP),
    st.booleans(),
)  # fmt: skip
def test_host_sorts_pass_their_checks(pairs, count, directed) -> None:
    values = np.array(pairs)
    degrees = degrees_of(values[:, 0], values[:, 1] if directed and values[:, 0].max() else None)
    check_places(degrees, sorting.approximate_on_host(degrees, count)(), count)
    for sort in sorting.HOST_EXACT.values():
        check_order(degrees, sort(degrees.sorted_by))


def test_checks_refuse_what_is_no_sort() -> None:
    degrees = degrees_of([5, 1, 9, 0])
    for place, why in (([0, 1, 2, 3], "a bucket stands wrong"), ([1, 2, 0, 0], "given twice")):
        with pytest.raises(WrongAnswerError, match=why):
            check_places(degrees, np.array(place), None)
    with pytest.raises(WrongAnswerError, match="moves vertices"):
        check_places(degrees_of([3, 3]), np.array([1, 0]), None)
    with pytest.raises(WrongAnswerError, match="degrees rise"):
        check_order(degrees, np.array([0, 2, 1, 3]))
    with pytest.raises(WrongAnswerError, match="is missing"):
        check_order(degrees, np.array([2, 2, 1, 3]))


def test_numbers_of_buckets_that_change_nothing_are_left_out() -> None:
    assert degrees_of([2, 2]).counts() == [1, None]
    assert degrees_of([0, 150]).counts() == [1, 10, 100, None]
    assert degrees_of([0, 1 << 20]).counts() == list(SWEEP)


def test_of_equal_sizes_the_model_names_the_largest() -> None:
    rates = {str(size): {"ME": 0.5 if size in (2, 8) else 0.25} for size in GROUP_SIZES}
    assert best_single(rates) == 8


def test_real_graphs_are_read_as_they_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text with and without weights, and CSR, from any folder; what is missing is left out."""
    files = {"el": "0\t1\n2\t1\n", "wel": "0 1 7\n1 3 2\n"}
    for kind, text in files.items():
        (tmp_path / f"{kind}.{kind}.xz").write_bytes(lzma.compress(text.encode()))
    (tmp_path / "csr").mkdir()
    for name, values in (("indptr", np.array([0, 2, 2, 3], "<u8")), ("indices", np.array([1, 2, 0], "<u4"))):
        (tmp_path / "csr" / f"{name}.xz").write_bytes(lzma.compress(values.tobytes()))
    graphs = {"el": Real(4, True), "wel": Real(4, False), "csr": Real(3, True), "absent": Real(1, True)}
    monkeypatch.setattr(families, "REAL", graphs)
    found = {}
    for family in real(tmp_path):
        with open_store(family.natural(tmp_path / "stores")) as store:
            found[family.name] = (store.meta.vertices, store.meta.edges, store.out_degree().tolist())
    assert found == {"el": (4, 2, [1, 0, 1, 0]), "wel": (4, 4, [1, 2, 0, 1]), "csr": (3, 3, [2, 0, 1])}
    with pytest.raises(SkippedError, match=r"none of el.el.xz, .* in .*empty: --data names"):
        list(real(tmp_path / "empty"))
    assert len(REAL) == 5


def test_without_a_gpu_the_model_stands_alone(tmp_path: Path) -> None:
    setup = Setup(Devices(("host",)), scale=8, folder=tmp_path, merge_scale=8, streams=(1,), sources=2)
    figures = []
    with pytest.raises(SkippedError, match="only the model's figures"):
        for figure in of_kind("uniform")(setup):
            figures.append(figure)
    assert {figure.what.partition(":")[0] for figure in figures} == {"Figure 6", "Model"}
    assert all(figure.counted for figure in figures)


@pytest.mark.parametrize("kind", families.KINDS)
def test_padding_is_the_stores_for_every_width(tmp_path: Path, kind: str) -> None:
    """Worked out of the lists' lengths alone, for other widths than the one that a run compares, too."""
    family = generated(kind, 12)
    for width in columns.WIDTHS:
        with open_store(family.store(tmp_path / "wide.gs", "degree", columns=width)) as store:
            found = columns.Padding.planned(store.layout, np.array(store.out_degree()), width)
            facts = store_info(store)["topologies"]["out"]
            assert found == columns.Padding.told(facts) and (found.share == 0.0 or found.column_pages > 0)


def test_padding_of_all_lists_is_the_papers() -> None:
    """Groups of 32 vertices with edges: 40 of one edge and one of nine make 32 + 32 * 9 words."""
    layout = PageLayout()
    lengths = np.array([1] * 40 + [0] * 5 + [9])
    used = used_bytes(plan_pages(layout, lengths).directory, layout) // layout.id_bytes
    assert columns.all_padded(layout, lengths) == (32 + 32 * 9 - 49) / used
    assert columns.all_padded(layout, np.zeros(3, np.int64)) == 0.0


def test_padding_is_counted_and_not_timed(tmp_path: Path) -> None:
    setup = Setup(Devices(("host",)), scale=10, folder=tmp_path, merge_scale=8, streams=(1,), sources=2)
    figures = list(columns.columns(setup, generated("uniform", 10)))
    rows = [figure for figure in figures if figure.point is None]
    places = [("out", "degree"), ("in", "degree"), ("out", "in-degree"), ("in", "in-degree")]
    places += [("out", "natural"), ("in", "natural")]
    assert [row.graph for row in rows] == [f"uniform-10, {pages}-pages, {order} order" for pages, order in places]
    assert all(figure.counted for figure in figures) and all("pages are column pages" in row.note for row in rows)
    assert len(figures) - len(rows) == 4 * 2 * len(columns.WIDTHS)  # own order and natural; padding and pages
    assert not list(tmp_path.glob("*-columns.gs"))


def test_calls_by_turns_leave_the_first_out() -> None:
    seen: list[str] = []
    calls = [lambda name=name: seen.append(name) or float(len(seen)) for name in "abc"]
    samples = by_turns(calls, 4, 10, 0.0)
    assert [len(each.seconds) for each in samples] == [4, 4, 4] and len(seen) == 15
    turns = {"".join(seen[at : at + 3]) for at in range(0, 15, 3)}
    assert len(turns) > 1 and all(sorted(turn) == list("abc") for turn in turns)
    assert len(by_turns(calls, 1, 6, 60.0)[0].seconds) == 6
