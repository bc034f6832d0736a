"""The scrub names what is wrong even where every checksum is right: rules, degrees, heads, ID tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_stores import Edges, random_edges, write_store

from pagestore import open_store
from pagestore import verify as verify_module
from pagestore.check import scan_neighbours, walk_records
from pagestore.decode import RuleError, decode_page
from pagestore.errors import StoreError
from pagestore.ids import UserIds
from pagestore.verify import MOST_PROBLEMS, VerifyReport, verify

EDGES = random_edges(seed=11, vertices=200, edges=3000, hub=2500, weight="u1")


def written(tmp_path, change, edges: Edges = EDGES, **options) -> str:
    """A store of `edges` to which `change(writer, pages, weights)` did something before the checksums were made."""
    path = str(tmp_path / "whole.gs")
    write_store(path, edges, **options)
    with open_store(path) as store, store.topology("out").reader() as reader:
        pages = reader.read(0, store.topology("out").pages)
        weights = reader.read_weights(0, store.topology("out").pages) if edges.weight is not None else None
    path = str(tmp_path / "changed.gs")
    writer = write_store(path, edges, finish=False, **options)
    change(writer, pages, weights)
    writer.finish()
    return path


def page_problem(tmp_path, number: int, word: int, value: int) -> str:
    """The one problem of a store whose page `number` has `value` in word `word`."""

    def change(writer, pages, weights):
        pages.view(np.uint32)[number, word] = value
        writer.write_pages("out", number, pages[number : number + 1], weights[number : number + 1])

    report = verify(written(tmp_path, change))
    assert report.bad_pages == {"out": [number]} and len(report.problems) == 1
    return report.problems[0]


def test_changed_pages_with_right_checksums(tmp_path):
    """Word 8 of a small page is the size of its first record, words 1022 and 1023 are its first slot."""
    for word, value, rule in (
        (8, 2000, "R3"), (8, 3, "R3"), (9, 200, "R5"), (9, 199, "R5"), (1022, 199, "R2"), (1023, 9, "R3"),
    ):  # fmt: skip
        text = page_problem(tmp_path, 0, word, value)
        assert "page 0 of topology out (vertices 0 to" in text and f"breaks the format: {rule}" in text
    with open_store(str(tmp_path / "whole.gs")) as store:
        topology = store.topology("out")
        last_small = topology.small_pages - 1
        used = 8 + int(topology.directory[last_small]["edges"] + topology.directory[last_small]["records"])
    assert "R6" in page_problem(tmp_path, last_small, used, 1)


def test_hub_stretches_that_do_not_join(tmp_path):
    """Two full large pages of one hub with their lists exchanged: each page is sound, the list is not."""

    def change(writer, pages, weights):
        plan = writer.plans["out"]
        a, b = plan.small_pages + 1, plan.small_pages + 2
        pages[[a, b], 32:] = pages[[b, a], 32:]
        weights[[a, b]] = weights[[b, a]]
        writer.write_pages("out", a, pages[a : b + 1], weights[a : b + 1])

    edges = random_edges(seed=11, vertices=200, edges=3000, hub=4000, weight="u1")
    report = verify(written(tmp_path, change, edges))
    assert any("starts with a neighbour below the last of the page before" in text for text in report.problems)


@pytest.mark.parametrize(
    "name, row, value, words",
    [
        ("vertices/out_degree", 5, 3, "out_degree sums to"),
        ("topology/out/heads", 7, np.array([9, 9, 9, 9]), "the heads of vertex 7 are not its first neighbours"),
        ("vertices/in_degree", 0, 0, "in_degree sums to"),
    ],
)
def test_arrays_that_contradict_the_pages(tmp_path, name, row, value, words):
    path = written(tmp_path, lambda writer, *_: writer.write_array(name, row, np.array([value])))
    assert any(words in text for text in verify(path).problems)


def test_degrees_exchanged_between_two_vertices(tmp_path):
    """Sum and maximum stay right; the pages tell."""

    def change(writer, *_):
        degrees = np.bincount(EDGES.source.astype(int), minlength=200)
        at = next(v for v in range(60) if degrees[v] != degrees[v + 1])
        writer.write_array("vertices/out_degree", at, degrees[[at + 1, at]])

    report = verify(written(tmp_path, change))
    assert any("neighbours here and degree" in text for text in report.problems)


@pytest.mark.parametrize("off", [1, -1, -2500])
def test_degrees_of_hubs_that_contradict_their_pages(tmp_path, off):
    """A hub of 2,500 edges and more: another degree, or one that a small page would hold."""
    degrees = np.bincount(EDGES.source.astype(int), minlength=200)
    hub = int(degrees.argmax())

    path = written(tmp_path, lambda w, *_: w.write_array("vertices/out_degree", hub, degrees[[hub]] + off))
    problems = verify(path).problems
    assert any("large pages of topology out don't match the degrees of 0 to 200" in text for text in problems)
    fits = [text for text in problems if f"vertex {hub} has degree" in text and "which fits a small page" in text]
    assert bool(fits) == (off == -2500)


def test_heads_that_end_before_the_last_list(tmp_path, monkeypatch):
    """In a reordered store they go up to the last vertex with edges; here a row is missing."""
    path = str(tmp_path / "g.gs")
    edges = Edges(np.array([0, 1], np.uint64), np.array([1, 0], np.uint64), 4)
    write_store(path, edges, store_of=np.arange(4))
    assert verify(path).ok
    monkeypatch.setattr("pagestore.writer.head_rows", lambda order, vertices, plan: plan.last_with_edges)
    write_store(path, edges, store_of=np.arange(4))
    problems = verify(path).problems
    assert any("heads have 1 rows; vertex 1 has edges" in text for text in problems)


@pytest.mark.parametrize("name", ["vertices/ids", "vertices/out_degree", "topology/in/heads"])
def test_tables_that_fail_their_checksums_are_not_judged_by_what_they_hold(tmp_path, name):
    path = str(tmp_path / "g.gs")
    write_store(path, EDGES, ids=np.arange(200) * 3)
    with open_store(path) as store:
        offset = store.extents[name].offset
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(b"\xff" * 8)
    report = verify(path)
    assert len(report.problems) == 1, "said once, not for each page that is held against it"
    assert f"{name}, rows 0 to" in report.problems[0] and "fail their checksum" in report.problems[0]
    assert not report.bad_pages and "gstream verify" not in report.problems[0]
    scrub = rf"fail their checksum\. `gstream verify {path}` lists all that is damaged\. .*; convert the graph again\."
    with open_store(path) as store, pytest.raises(StoreError, match=scrub):
        store.array(name).read()


def test_a_damaged_directory_is_no_matter_for_a_scrub(tmp_path):
    """It is read when the store is opened, so that a scrub could say no more."""
    path = str(tmp_path / "g.gs")
    write_store(path, EDGES)
    with open_store(path) as store:
        offset = store.extents["topology/in/directory"].offset
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(b"\xff" * 8)
    for read in (open_store, verify):
        with pytest.raises(StoreError, match=r"/directory, .* checksum\. The store .*; convert the graph again\.$"):
            read(path)


def test_damaged_pages_of_a_reordered_store_name_the_users_vertices(tmp_path, monkeypatch):
    """All of them, which are looked for at once."""
    path = str(tmp_path / "g.gs")
    ids, store_of = np.arange(200) * 10 + 7, np.random.default_rng(3).permutation(200)
    write_store(path, EDGES, ids=ids, store_of=store_of)
    with open_store(path) as store:
        offset, rows = store.topology("out").pages_offsets[0], store.topology("out").directory[:3]
    with open(path, "r+b") as file:
        for number in range(3):
            file.seek(offset + number * 4096 + 100)
            file.write(b"\xff" * 8)
    searched, search = [], UserIds._searched
    monkeypatch.setattr(UserIds, "_searched", lambda self, wanted: searched.append(1) or search(self, wanted))
    report = verify(path)
    assert report.bad_pages == {"out": [0, 1, 2]} and len(report.problems) == 3 and len(searched) == 1
    user_of = ids[np.argsort(store_of)]
    for row, problem in zip(rows, report.problems, strict=True):
        first, last = user_of[row["first_vertex"]], user_of[row["last_vertex"]]
        vertex, vertices = f"your vertex {first},", f"your vertices {first}, ..., {last},"
        assert f"store IDs), {vertex if row['kind'] else vertices} fails its checksum." in problem


def test_a_list_without_a_page_and_a_head_without_edges(tmp_path):
    """Vertex 3 has no edges; its degree or its head says that it has."""
    edges = Edges(np.array([0, 1], np.uint64), np.array([1, 0], np.uint64), 4)
    path = written(tmp_path, lambda w, *_: w.write_array("vertices/out_degree", 3, np.array([1])), edges)
    assert any("has 2 lists in small pages; the degrees say 3" in text for text in verify(path).problems)
    path = written(tmp_path, lambda w, *_: w.write_array("topology/out/heads", 3, np.zeros((1, 4))), edges)
    assert any("don't fit the degrees" in text for text in verify(path).problems)


@pytest.mark.parametrize(
    "ids, order, words",
    [
        (np.array([1, 5, 5, 9]), None, "vertices/ids don't ascend"),
        (np.array([-1, 5, 6, 9]), None, "vertices/ids don't ascend"),
        (["a", "c", "b", "d"], None, "names don't ascend"),
        (["a", "b", "b", "d"], None, "names don't ascend"),
        (None, np.array([0, 1, 1, 3]), "is no permutation; store ID 2 is missing"),
        (None, np.array([0, 1, 2, 4]), "holds 4; the last vertex is 3"),
    ],
)
def test_id_tables_that_make_no_sense(tmp_path, ids, order, words):
    path = str(tmp_path / "g.gs")
    write_store(path, Edges(np.array([0], np.uint64), np.array([1], np.uint64), 4), ids=ids, store_of=order)
    assert any(words in text for text in verify(path).problems)


@pytest.mark.parametrize("swapped", range(7))
@pytest.mark.parametrize("kind", ["names", "integers"])
def test_ids_are_compared_across_what_is_read_at_once(tmp_path, monkeypatch, kind, swapped):
    """Two at a time: a pair that is exchanged may lie within one reading, or in two."""
    monkeypatch.setattr(verify_module, "STEP_ROWS", 16 if kind == "names" else 2)
    ids = [f"v{number}" for number in range(8)] if kind == "names" else np.arange(8) * 3
    path = str(tmp_path / "g.gs")
    edges = Edges(np.array([0], np.uint64), np.array([1], np.uint64), 8)
    write_store(path, edges, ids=ids)
    assert verify(path).ok
    ids[swapped], ids[swapped + 1] = ids[swapped + 1], ids[swapped]
    write_store(path, edges, ids=ids)
    (problem,) = verify(path).problems
    assert problem.startswith(f"{path}: {'names' if kind == 'names' else 'vertices/ids'} don't ascend")


def test_sums_of_edges_wrap_around_the_same_way_everywhere(tmp_path, monkeypatch):
    """In runs of two pages, whose sums pass 2^64 at other places in out- and in-pages."""
    monkeypatch.setattr(verify_module, "BATCH_BYTES", 2 * 4096)
    path = str(tmp_path / "g.gs")
    for seed in range(8):
        write_store(path, random_edges(seed=seed, vertices=400, edges=3000 + 700 * seed, weight="u1"))
        report = verify(path, threads=2)
        assert report.ok and report.pages > 4, report.problems


def test_missing_edges_between_topologies_are_found(tmp_path):
    """In-pages that hold other edges than the out-pages, all CRCs being right."""
    path, other = str(tmp_path / "a.gs"), str(tmp_path / "b.gs")
    crossed = Edges(np.array([0, 1], np.uint64), np.array([1, 0], np.uint64), 3)
    loops = Edges(np.array([0, 1], np.uint64), np.array([0, 1], np.uint64), 3)
    write_store(path, crossed, incoming=loops)
    assert verify(path).problems == [f"{path}: the in-pages hold other edges than the out-pages."]
    write_store(other, Edges(crossed.source[:1], crossed.target[:1], 3), directed=False, topologies=("out",))
    assert verify(other).problems == [f"{other}: undirected, but some edge is stored in one direction only."]


def test_sound_stores_of_every_shape(tmp_path):
    path = str(tmp_path / "g.gs")
    none = np.empty(0, np.uint64)
    for edges, options in (
        (Edges(none, none, 0), {}),
        (Edges(none, none, 5), {"heads": False}),
        (EDGES, {"id_bytes": 8, "topologies": ("in",)}),
        (random_edges(hub=4000), {"store_of": np.random.default_rng(1).permutation(300)}),
        (random_edges(vertices=3, edges=9), {"ids": ["", "x", "é"]}),
    ):
        write_store(path, edges, **options)
        seen: list[int] = []
        report = verify(path, threads=2, progress=lambda done, total, seen=seen: seen.append(total - done))
        assert report.ok, report.problems
        assert seen == sorted(seen, reverse=True) and (not seen or seen[-1] == 0)


def test_a_report_is_bounded():
    report = VerifyReport("g.gs")
    for number in range(MOST_PROBLEMS + 7):
        report.add(f"problem {number}")
    assert len(report.problems) == MOST_PROBLEMS and report.more_problems == 7 and not report.ok


@settings(max_examples=300, deadline=None)
@given(
    seed=st.integers(0, 1 << 32), spot=st.integers(0, 1023), value=st.integers(0, 1 << 32).map(lambda v: v % (1 << 32)),
    columns=st.sampled_from([1, 1, 8, 16, 32]),
)  # fmt: skip
def test_the_quick_check_agrees_with_the_decoder(seed, spot, value, columns):
    """One word of a sound page changed: both refuse, or both accept."""
    rng = np.random.default_rng(seed)
    vertices, records = 40, int(rng.integers(1, 30))
    words = np.zeros(1024, np.uint32)
    vertex = np.sort(rng.permutation(vertices)[:records])
    base, edges = 8, 0
    for first in range(0, records, columns):
        group = rng.integers(1, 25, min(columns, records - first))
        for rank, size in enumerate(group):
            at = base + rank
            words[at] = size
            words[at + columns : at + columns * (1 + size) : columns] = np.sort(rng.integers(0, vertices, size))
            slot = 1022 - 2 * (first + rank)
            words[slot : slot + 2] = vertex[first + rank], at
        base, edges = base + columns * (1 + int(group.max())), edges + int(group.sum())
    words[:8] = (columns if columns > 1 else 0) << 16, records, vertex[0], 0, edges, 0, 0, 0
    if spot >= 8:  # the header is compared with the directory elsewhere
        words[spot] = value if rng.integers(2) else value % vertices
    owners, sizes = np.zeros((2, records), np.uint64)
    heads, sums = np.empty((records, 4), np.uint32), np.zeros(4, np.uint64)
    geometry = np.uint64(8), np.uint64(vertices), np.uint64(columns)
    quick = walk_records(words, *geometry, owners, sizes, True) == 0 and int(owners[0]) == vertex[0]
    quick = quick and int(sizes.sum()) == edges
    quick = quick and scan_neighbours(words, np.empty(0, np.uint8), *geometry, owners, sizes, heads, sums) == 0
    try:
        decode_page(words.view(np.uint8), 4, vertices)
        assert quick
    except RuleError:
        assert not quick


def small_page(columns: int) -> np.ndarray:
    """u32[64]: vertices 1, 4 and 9 with lists of 2, 1 and 3 of 40 vertices; the slots begin at word 58."""
    words = np.zeros(64, np.uint32)
    starts = (8, 9, 10) if columns > 1 else (8, 11, 13)
    for slot, (vertex, start, ends) in enumerate(zip((1, 4, 9), starts, ([5, 7], [3], [2, 2, 39]), strict=True)):
        words[62 - 2 * slot : 64 - 2 * slot] = vertex, start
        words[start] = len(ends)
        words[start + columns : start + columns * (1 + len(ends)) : columns] = ends
    return words


def walked(words: np.ndarray, columns: int, records: int = 3) -> int:
    vertex, size = np.zeros((2, records), np.uint64)
    return walk_records(words, np.uint64(8), np.uint64(40), np.uint64(columns), vertex, size, True)


COMMON = [(62, 40, 2), (60, 1, 2), (60, 0, 2), (58, 4, 2), (63, 9, 3), (61, 12, 3), (59, 14, 3), (8, 0, 3), (57, 1, 6)]
ROWS = [(13, 0, 3), (13, 45, 4), (13, 44, 0), (13, 2**32 - 1, 4), (62, 0, 0), (58, 39, 0), (17, 1, 6)]
COLUMNS = [(10, 0, 3), (10, 58, 4), (10, 6, 4), (10, 5, 0), (8, 3, 0), (8, 6, 4), (25, 1, 6), (48, 1, 6), (16, 0, 0)]


@pytest.mark.parametrize("columns", [1, 8])
def test_each_rule_by_its_number(columns):
    """One word of a sound page changed: the rule that it breaks, at the bound and one past it."""
    sound = small_page(columns)
    assert walked(sound, columns) == 0
    for word, value, rule in COMMON + (ROWS if columns == 1 else COLUMNS):
        words = sound.copy()
        words[word] = value
        assert walked(words, columns) == rule, (word, value)


def test_a_list_may_not_begin_among_the_slots():
    """Where the lists before it fill the page to the last word."""
    words = small_page(1)
    words[11], words[59] = 46, 58
    assert walked(words, 1) == 3
    words = np.zeros(58, np.uint32)  # eight lists of a group fill it to word 40, where nine slots begin
    words[8:16] = 3
    for slot in range(9):
        words[56 - 2 * slot : 58 - 2 * slot] = 22 + slot, 8 + slot
    words[41] = 40
    assert walked(words, 8, records=9) == 3


@pytest.mark.parametrize("columns", [1, 8])
def test_neighbours_ascend_and_weights_lie_beside_them(columns):
    """Equal neighbours are fine; heads are the first four, and a page of rows tells its first and last neighbour."""
    sound, weights = small_page(columns), np.zeros(64, np.uint8)
    edges = np.flatnonzero(sound[8:58]) + 8
    edges = edges[~np.isin(edges, (8, 9, 10) if columns > 1 else (8, 11, 13))]
    weights[edges] = 7

    def scanned(words, weights):
        vertex, size = np.array([1, 4, 9], np.uint64), np.array([2, 1, 3], np.uint64)
        heads, sums = np.zeros((3, 4), np.uint32), np.zeros(4, np.uint64)
        geometry = np.uint64(8), np.uint64(40), np.uint64(columns)
        return scan_neighbours(words, weights, *geometry, vertex, size, heads, sums), heads, sums

    rule, heads, sums = scanned(sound, weights)
    none = 2**32 - 1
    assert rule == 0 and heads.tolist() == [[5, 7, none, none], [3, none, none, none], [2, 2, 39, none]]
    assert sums[3] == 39 and (columns > 1 or sums[2] == 5), "of large pages, which are of rows"
    assert scanned(sound, np.zeros(0, np.uint8))[0] == 0
    last = int(np.flatnonzero(sound == 39)[0])
    for value, expected in ((40, 5), (1, 5), (2, 0)):
        words = sound.copy()
        words[last] = value
        assert scanned(words, weights)[0] == expected
    for word in (8, 57, 63):  # a size, padding, a slot
        beside = weights.copy()
        beside[word] = 1
        assert scanned(sound, beside)[0] == 6
    others = weights.copy()
    others[edges[0]] = 8
    assert (scanned(sound, others)[2][:2] != sums[:2]).all(), "another weight makes other sums"
