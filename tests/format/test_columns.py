"""Column pages: plan, bytes, reference decoder and scrub against the definition in FORMAT.md written out in Python."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_stores import Edges, pack_range, random_edges, write_store

from pagestore import open_store
from pagestore.convert.options import ConvertOptions
from pagestore.decode import RuleError, decode_page, padding_words
from pagestore.errors import StoreError, UsageError
from pagestore.info import store_info
from pagestore.layout import PageLayout
from pagestore.meta import Meta
from pagestore.planning import COLUMN_LONGEST, COLUMN_WASTE, PagePlanner, plan_pages
from pagestore.topology import check_directory
from pagestore.verify import verify
from tests.decoded import decode_edges

LAYOUTS = [PageLayout(4096, 4), PageLayout(4096, 8), PageLayout(8192, 4)]
degrees_of = st.one_of(
    st.lists(st.one_of(st.integers(0, 3), st.integers(0, 200), st.sampled_from([127, 128, 129, 1014])), max_size=200),
    st.tuples(st.integers(1, 60), st.integers(1, 800), st.integers(0, 2)).map(  # of like length, as in degree order
        lambda drawn: [drawn[0] + (i * 7 % 11 < drawn[2]) for i in range(drawn[1])]
    ),
).map(lambda values: np.array(values, np.uint32))


@pytest.fixture
def loose(monkeypatch):
    """Pages of 4 KiB hold few groups: with a third to waste, many of them are column pages."""
    monkeypatch.setattr(PagePlanner, "waste", 3)


def group_words(sizes: list[int], columns: int) -> int:
    return sum(columns * (1 + max(sizes[i : i + columns])) for i in range(0, len(sizes), columns))


def by_definition(degrees: np.ndarray, layout: PageLayout, columns: int, waste: int) -> list[tuple[int, list[int]]]:
    """(layout, vertices) of each small page, from the words of FORMAT.md."""
    lists = [v for v, d in enumerate(degrees.tolist()) if 0 < d <= layout.longest_list]
    space, pages = layout.words - layout.header_words, []
    while lists:
        sizes = degrees[lists].tolist()
        fit = 0
        while fit < len(lists) and sizes[fit] <= COLUMN_LONGEST:
            if group_words(sizes[: fit + 1], columns) + 2 * (fit + 1) > space:
                break
            fit += 1
        lost = space - 3 * fit - sum(sizes[:fit])
        if fit == len(lists):
            lost = group_words(sizes, columns) - fit - sum(sizes)
        width = columns
        if columns == 1 or fit == 0 or lost > layout.words // waste:
            width, fit = 0, int(np.searchsorted(np.cumsum(np.array(sizes) + 3), space, "right"))
        pages.append((width, lists[:fit]))
        lists = lists[fit:]
    return pages


@settings(max_examples=150, deadline=None)
@given(degrees_of, st.sampled_from(LAYOUTS), st.sampled_from([1, 8, 32, 128]), st.integers(1, 90), st.booleans())
def test_the_plan_is_its_definition_for_any_chunks(degrees, layout, columns, chunk, strict):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PagePlanner, "waste", COLUMN_WASTE if strict else 3)
        plan = plan_pages(layout, degrees, columns)
        planner = PagePlanner(layout, columns)
        for begin in range(0, len(degrees), chunk):
            planner.add(degrees[begin : begin + chunk])
        again = planner.finish()
        pages = by_definition(degrees, layout, columns, PagePlanner.waste)
    np.testing.assert_array_equal(again.directory, plan.directory)
    padding = 0
    for row, (width, vertices) in zip(plan.directory[: plan.small_pages], pages, strict=True):
        assert (row["layout"], row["first_vertex"], row["last_vertex"]) == (width, vertices[0], vertices[-1])
        assert (row["records"], row["edges"]) == (len(vertices), degrees[vertices].sum())
        if width:
            assert row["group"] == 1
            sizes = degrees[vertices].tolist()
            padding += group_words(sizes, width) - len(sizes) - sum(sizes)
    assert plan.padding_words == again.padding_words == padding


@st.composite
def graphs(draw) -> Edges:
    """Lists of like length, so that many pages are column pages, a few longer ones, and sometimes a hub."""
    vertices, each = draw(st.integers(1, 300)), draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    count = np.full(vertices, each) + (rng.random(vertices) < 0.05) * rng.integers(0, 40, vertices)
    if draw(st.booleans()):
        count[rng.integers(0, vertices)] = 1500
    source = np.repeat(np.arange(vertices), count)
    dtype = draw(st.sampled_from([None, "u1", "i4", "f4"]))
    weight = None if dtype is None else rng.integers(0, 250, len(source)).astype(dtype)
    return Edges(source.astype(np.uint64), rng.integers(0, vertices, len(source)).astype(np.uint64), vertices, weight)


@pytest.mark.usefixtures("loose")
@settings(max_examples=60, deadline=None)
@given(edges=graphs(), id_bytes=st.sampled_from([4, 8]), split=st.integers(1, 3000), width=st.sampled_from([8, 32, 64]))
def test_any_graph_comes_back(tmp_path_factory, edges, id_bytes, split, width):
    path = str(tmp_path_factory.mktemp("columns") / "g.gs")
    write_store(path, edges, id_bytes=id_bytes, split=split, columns=width)
    with open_store(path) as store:
        for name, wanted in (("out", edges), ("in", edges.turned())):
            source, target, weight = decode_edges(store.topology(name))
            assert Edges(source, target, edges.vertices, weight).rows() == wanted.rows()
    report = verify(path, threads=1)
    assert report.ok, report.problems


@pytest.fixture
def regular(loose) -> Edges:
    """900 lists of 4 to 6 edges."""
    source = np.repeat(np.arange(900), np.arange(900) % 3 + 4)
    target = np.random.default_rng(4).integers(0, 900, len(source))
    return Edges(source.astype(np.uint64), target.astype(np.uint64), 900, (target % 200 + 1).astype("u1"))


@pytest.mark.parametrize("most", [1, 700, 3000])
def test_ranges_give_the_pages_of_the_whole(regular, most):
    edges = regular.sorted()
    degrees = np.bincount(edges.source.astype(np.int64), minlength=900).astype(np.uint32)
    degrees[100:130], degrees[400] = 300, 0  # pages of rows, too; targets are only moved
    ends = np.concatenate([[0], np.cumsum(degrees.astype(np.int64))])
    target = np.random.default_rng(1).integers(1, 900, ends[-1]).astype(np.uint64)
    weight = target.astype("i4")
    plan = plan_pages(PageLayout(4096, 4), degrees, 8)
    assert {0, 8} == set(plan.directory["layout"].tolist())
    whole = pack_range(plan, 0, 900, degrees, target, weight)
    parts = []
    for part in plan.split(most):
        edges = slice(ends[part.first], ends[part.last])
        parts.append(
            pack_range(plan, part.first, part.last, degrees[part.first : part.last], target[edges], weight[edges])
        )
    np.testing.assert_array_equal(np.concatenate([part.small for part in parts]), whole.small)
    np.testing.assert_array_equal(np.concatenate([part.small_weights for part in parts]), whole.small_weights)
    with pytest.raises(ValueError, match="not those of the plan"):
        pack_range(plan, 0, 900, degrees[::-1], target)


def test_a_store_says_what_its_columns_take(regular, tmp_path):
    path = str(tmp_path / "g.gs")
    write_store(path, regular, columns=8)
    with open_store(path) as store:
        assert (store.meta.version, store.meta.columns) == (2, 8)
        facts = store_info(store, simd=True)
        for name in ("out", "in"):
            topology, found = store.topology(name), facts["topologies"][name]
            degrees = store.out_degree() if name == "out" else store.in_degree()
            padding = 0
            for row in topology.directory[topology.directory["layout"] == 8]:
                sizes = degrees[row["first_vertex"] : row["last_vertex"] + 1]
                padding += padding_words(sizes[sizes > 0], 8)
            assert found["padding_bytes"] == 4 * padding > 0 and found["column_pages"] > 2
            assert found["padding"] == pytest.approx(padding / (found["fill"] * topology.pages * 1024))
    with h5py.File(path) as file:
        assert file.attrs["version"] == 2  # what a reader of version 1 looks at first, and refuses
    assert facts["version"] == 2 and facts["columns"] == 8


def written(tmp_path, edges, change) -> str:
    """A store in columns of 8 to which `change(writer, words, weights)` did something before the checksums."""
    path = str(tmp_path / "whole.gs")
    write_store(path, edges, columns=8)
    with open_store(path) as store, store.topology("out").reader() as reader:
        pages, weights = (read(0, store.topology("out").pages) for read in (reader.read, reader.read_weights))
    path = str(tmp_path / "changed.gs")
    writer = write_store(path, edges, columns=8, finish=False)
    change(writer, pages, weights)
    writer.finish()
    return path


@pytest.mark.parametrize(
    "word, value, rule",
    [
        (8, 900, "R3"), (8, 3, "R4"), (8, 0, "R3"), (15, 6, "R4"), (16, 900, "R5"), (16, 899, "R5"), (56, 1, "R6"),
        (1023, 9, "R3"), (1022, 899, "R2"), (1007, 9, "R3"), (60, 3, "R6"),
    ],
)  # fmt: skip
def test_changed_words_with_right_checksums(regular, tmp_path, word, value, rule):
    """Words 8 to 15 are the sizes 4, 5, 6, 4, 5, 6, 4, 5 of the first group, word 56 its first padding."""

    def change(writer, pages, weights):
        words = pages.view(np.uint32)
        assert words[0, 8:16].tolist() == [4, 5, 6, 4, 5, 6, 4, 5] and words[0, 56] == 0 and words[0, 64] == 6
        words[0, word] = value
        writer.write_pages("out", 0, pages[:1], weights[:1])

    report = verify(written(tmp_path, regular, change))
    assert report.bad_pages == {"out": [0]} and len(report.problems) == 1
    assert f"breaks the format: {rule}" in report.problems[0]


def test_a_weight_in_padding(regular, tmp_path):
    def change(writer, pages, weights):
        weights[0, 56] = 1
        writer.write_pages("out", 0, pages[:1], weights[:1])

    assert "R6: a weight beside no neighbour" in verify(written(tmp_path, regular, change)).problems[0]


def test_padding_that_is_told_wrong(regular, tmp_path):
    path = str(tmp_path / "g.gs")
    writer = write_store(path, regular, columns=8, finish=False)
    writer.meta.padding_words["out"] += 1
    writer.finish()
    assert any("words of padding; /meta says" in text for text in verify(path).problems)


def column_page(layout=8, kind=0, records=2, edges=3, body=None, slots=((3, 8), (7, 9))) -> np.ndarray:
    """Vertices 3 (neighbours 1, 9) and 7 (neighbour 4), unless told otherwise."""
    words = [0] * 1024
    body = {8: 2, 9: 1, 16: 1, 17: 4, 24: 9} if body is None else body
    for word, value in body.items():
        words[word] = value
    for i, slot in enumerate(slots):
        words[1022 - 2 * i : 1024 - 2 * i] = slot
    data = bytearray(struct.pack("<1024I", *words))
    data[:32] = struct.pack("<HHIQQQ", kind, layout, records, slots[0][0], edges, 0)
    return np.frombuffer(bytes(data), np.uint8)


BROKEN = {
    "no such width": ("R1", {"layout": 4}),
    "a width that is no power of two": ("R1", {"layout": 24}),
    "a large page in columns": ("R1", {"kind": 1, "records": 1, "slots": [(3, 8)]}),
    "records one after the other": ("R3", {"slots": [(3, 8), (7, 11)]}),
    "records in the wrong order": ("R3", {"slots": [(3, 9), (7, 8)]}),
    "an empty record": ("R3", {"body": {8: 2, 9: 0, 16: 1, 24: 9}, "edges": 2}),
    "a group past the slots": ("R4", {"body": {8: 126, 9: 1}, "edges": 127}),
    "another edge count": ("R4", {"edges": 4}),
    "a neighbour out of range": ("R5", {"body": {8: 2, 9: 1, 16: 1, 17: 10, 24: 9}}),
    "neighbours that descend": ("R5", {"body": {8: 2, 9: 1, 16: 9, 17: 4, 24: 1}}),
    "padding beside a size": ("R6", {"body": {8: 2, 9: 1, 10: 1, 16: 1, 17: 4, 24: 9}}),
    "padding after a list": ("R6", {"body": {8: 2, 9: 1, 16: 1, 17: 4, 24: 9, 25: 3}}),
    "free space": ("R6", {"body": {8: 2, 9: 1, 16: 1, 17: 4, 24: 9, 32: 3}}),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_rules_are_named(case):
    rule, changes = BROKEN[case]
    with pytest.raises(RuleError, match=rule):
        decode_page(column_page(**changes), 4, 10)


def test_a_column_page_by_hand():
    page = decode_page(column_page(), 4, 10)
    assert page.size.tolist() == [2, 1] and page.source.tolist() == [3, 3, 7] and page.target.tolist() == [1, 9, 4]
    assert page.padding == 8 * 3 - 2 - 3


def test_random_bytes_never_crash():
    rng = np.random.default_rng(0)
    for _ in range(300):
        noise = rng.integers(0, 256, 4096, dtype=np.uint8)
        noise[:8] = struct.unpack("8B", struct.pack("<HHI", 0, rng.choice([8, 32, 128]), rng.integers(1, 4)))
        with pytest.raises(RuleError):
            decode_page(noise, int(rng.choice([4, 8])), 10)


def test_directories_that_no_planner_makes(loose):
    layout, degrees = PageLayout(4096, 4), np.concatenate([np.full(300, 5), [3000]]).astype(np.uint32)
    rows = plan_pages(layout, degrees, 8).directory
    meta = Meta(301, int(degrees.sum()), True, 4096, 4, columns=8, padding_words={"out": 0})
    check_directory(rows, layout, meta, "g")
    for row, name, value in [(0, "layout", 16), (0, "layout", 1), (0, "group", 2), (-1, "layout", 8)]:
        broken = rows.copy()
        broken[name][row] = value
        with pytest.raises(StoreError, match="a layout, group or flag is unknown"):
            check_directory(broken, layout, meta, "g")
    with pytest.raises(StoreError, match="a layout, group or flag is unknown"):
        check_directory(rows, layout, Meta(301, int(degrees.sum()), True, 4096, 4), "g")


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"columns": 4}, "columns is 4"),
        ({"columns": 8, "padding_words": {}}, "not of the page sets"),
        ({"columns": 8, "padding_words": {"out": -1}}, "holds counts"),
        ({"padding_words": {"out": 1}}, "not of the page sets"),
    ],
)
def test_descriptions_that_contradict_themselves(changes, words):
    with pytest.raises(StoreError, match=words):
        Meta(5, 5, True, 4096, 4, **changes).check("g")


def test_stores_without_column_pages_keep_their_bytes(tmp_path):
    """Pages, directory and description of version 1, as the code before column pages wrote them (7d6e5c0)."""
    path = str(tmp_path / "g.gs")
    write_store(path, random_edges(seed=5, vertices=200, edges=2000, hub=1500, weight="i4"))
    digest = hashlib.sha256()
    with h5py.File(path) as file:
        assert file.attrs["version"] == 1
        for name in ("meta", "topology/out/pages", "topology/out/weights", "topology/out/directory"):
            digest.update(file[name][...].tobytes())
    assert digest.hexdigest() == "db132aeaa51d0b4cad826c0c940b6f782a5499a50d096837ea20a913b9063811"


def test_columns_that_would_waste_too_much_change_no_page(tmp_path):
    """Random lists of 1 to 25: with --columns 32 every page is one of rows, and the store one of version 1."""
    stores = []
    for columns in (1, 32):
        path = str(tmp_path / f"{columns}.gs")
        write_store(path, random_edges(), columns=columns)
        stores.append(Path(path).read_bytes())
    assert stores[0] == stores[1]


def test_options():
    assert "columns" not in ConvertOptions().lasting() and ConvertOptions(columns=32).lasting()["columns"] == 32
    with pytest.raises(UsageError, match="--columns 12: it must be 1 \\(none\\), or a power of two from 8 to 128"):
        ConvertOptions(columns=12)
