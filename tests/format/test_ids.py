"""The three names of a vertex translate into each other, and a name that is none is refused in plain words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_stores import Edges, random_edges, write_store

from pagestore import arrays, open_store
from pagestore import ids as ids_module
from pagestore.errors import StoreError, UsageError

NONE = np.empty(0, np.uint64)


def store_with(path: str, ids=None, vertices: int | None = None, store_of=None):
    count = vertices if vertices is not None else len(ids)
    write_store(path, Edges(NONE, NONE, count), ids=ids, store_of=store_of)
    return open_store(path)


def test_a_range(tmp_path):
    with store_with(str(tmp_path / "g.gs"), vertices=10) as store:
        assert store.user_ids().tolist() == list(range(10))
        assert store.lookup([0, 9, "3"]).tolist() == [0, 9, 3]
        assert store.lookup([0, 9]).dtype == np.uint64
        with pytest.raises(UsageError) as caught:
            store.lookup([3, 10])
        assert str(caught.value) == (
            f"source 10 is not a vertex of {store.path}; its 10 IDs run from 0 to 9. Name one of them."
        )
        assert store.lookup(np.array([9, 2, 2], np.uint32)).tolist() == [9, 2, 2]
        for wrong in (np.array([3, 10]), np.array([-1]), np.array([(1 << 64) - 1], np.uint64)):
            with pytest.raises(UsageError, match=f"source {wrong[-1]} is not a vertex"):
                store.lookup(wrong)
        for wrong in (-1, 1 << 70, "9999999999999999999999"):
            with pytest.raises(UsageError, match="is not a vertex"):
                store.lookup([wrong])
        assert store.lookup([3.0, "+4", "005", np.int8(5)]).tolist() == [3, 4, 5, 5]
        for wrong in ("1_0", "++4", " 4", "\u0664", "4.0", b"1_0", ""):
            with pytest.raises(UsageError, match="whose IDs are whole numbers"):
                store.lookup([wrong])
        for wrong in (2.5, float("nan"), float("inf"), np.float32(2.9)):
            with pytest.raises(UsageError, match="source .* is not a vertex of .*, whose IDs are whole numbers"):
                store.lookup([wrong])
            with pytest.raises(UsageError, match="whose IDs are whole numbers"):
                store.lookup(np.array([1.0, wrong]))
        with pytest.raises(UsageError, match="source 'abc' is not a vertex of .*, whose IDs are whole numbers"):
            store.lookup(["abc"])


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("gnom", "gnome"), ("gnoem", "gnome"), ("gnomes", "gnome"), ("gnume", "gnome"), ("Gnome", "gnome"),
        (" gnome ", "gnome"), ("libc", "libc6 or libc-bin"), ("\u00fcbr", "\u00fcber"), ("kde", "KDE"),
    ],
)  # fmt: skip
def test_a_slip_in_a_name_is_told_what_was_meant(tmp_path, word, meant):
    names = ["0ad", "KDE", "gnome", "libc-bin", "libc6", "zzuf", "\u00fcber"]
    with store_with(str(tmp_path / "g.gs"), names) as store:
        with pytest.raises(UsageError) as caught:
            store.lookup(["0ad", word])
        assert str(caught.value) == (
            f"source {word} is not a vertex of {store.path}; its 7 IDs run from 0ad to \u00fcber. Did you mean {meant}?"
        )
        for other in ("perl", "", "x" * 1000):
            with pytest.raises(UsageError, match=r"Name one of them\.$"):
                store.lookup([other])
        store.call("web.parts")
        with pytest.raises(UsageError, match="perl is not a vertex of web.parts; its"):
            store.lookup(["perl"])


def test_no_vertices(tmp_path):
    with store_with(str(tmp_path / "g.gs"), vertices=0) as store:
        assert len(store.user_ids()) == 0
        with pytest.raises(UsageError, match="which has no vertices"):
            store.lookup([0])


def test_sparse_integers_and_an_order(tmp_path):
    ids = np.array([2, 3, 5, 7, 11, (1 << 63) - 1])
    store_of = np.array([5, 4, 3, 2, 1, 0])
    with store_with(str(tmp_path / "g.gs"), ids, store_of=store_of) as store:
        assert store.user_ids(1, 4).tolist() == [3, 5, 7]
        assert store.lookup([(1 << 63) - 1, 2, 7, 7]).tolist() == [0, 5, 2, 2]
        assert store.store_ids(2, 5).tolist() == [3, 2, 1]
        assert store.natural_of(np.array([0, 5, 3])).tolist() == [5, 0, 2]
        assert store.natural_ids(1, 4).tolist() == [4, 3, 2]
        for first, last in ((3, 7), (-1, 2), (4, 3)):
            with pytest.raises(IndexError, match=f"vertices {first} to {last} of 6"):
                store.user_ids(first, last)
        with pytest.raises(UsageError, match="target 4 is not a vertex of .* run from 2 to 9223372036854775807"):
            store.lookup([2, 4], what="target")
        for wrong in (-5, 1 << 63, 12, 1):
            with pytest.raises(UsageError):
                store.lookup([wrong])


def test_tables_that_lie_under_right_checksums(tmp_path):
    """Store IDs past the last vertex, and names whose offsets fall or pass the last byte."""
    path, edges = str(tmp_path / "g.gs"), Edges(NONE, NONE, 4)
    with store_with(path, vertices=4, store_of=np.array([0, 1, 2, 4])) as store:
        for read in (store.store_ids, lambda: store.natural_of(np.array([0])), lambda: store.natural_ids(0, 4)):
            with pytest.raises(StoreError, match="vertices/store_of holds an ID past the last vertex"):
                read()
    far = 6 * 10**18  # the next one is less by more than 2^63: their difference is positive
    for row, *values in ((1, 3), (0, 2), (4, 1 << 40), (3, far, 2**64 - far), (2, far, 2**64 - far, 4)):
        writer = write_store(path, edges, ids=["a", "b", "c", "d"], finish=False)
        writer.write_array("vertices/names/offsets", row, np.array(values, np.uint64))
        writer.finish()
        with open_store(path) as store, pytest.raises(StoreError, match="vertices/names/offsets are not ascending"):
            store.user_ids()


def test_strings(tmp_path):
    names = sorted(["", "a", "b c", "Zürich", "日本", "𝄞", "z", "aa", "x" * 300], key=str.encode)
    with store_with(str(tmp_path / "g.gs"), names) as store:
        assert store.user_ids().to_pylist() == names
        assert store.user_ids(3, 6).to_pylist() == names[3:6]
        assert store.lookup(list(reversed(names))).tolist() == list(reversed(range(len(names))))
        with pytest.raises(UsageError, match="source Zurich is not a vertex"):
            store.lookup(["a", "Zurich"])


class Raw(str):
    """A name of bytes that are no text."""

    def encode(self, *given):
        return b"\xff"


def test_names_that_are_no_text(tmp_path):
    """Whose checksums are right all the same."""
    with store_with(str(tmp_path / "g.gs"), ["a", Raw("b")]) as store:
        for read in (store.user_ids, lambda: store.lookup(["a"])):
            with pytest.raises(StoreError, match="vertices/names/bytes are not UTF-8"):
                read()


def test_names_in_messages_are_on_one_line(tmp_path):
    with (
        store_with(str(tmp_path / "g.gs"), ["a", "b"]) as store,
        pytest.raises(UsageError, match=r"source 'x\\x1b\\n' is not a vertex"),
    ):
        store.lookup(["x\x1b\n"])
    with (
        store_with(str(tmp_path / "h.gs"), ["\x1f", "b\n"]) as store,
        pytest.raises(UsageError, match=r"its 2 IDs run from '\\x1f' to 'b\\n'\."),
    ):
        store.lookup(["a"])


@settings(max_examples=40, deadline=None)
@given(data=st.data(), block=st.integers(1, 9), strings=st.booleans(), share=st.sampled_from([0, 3, 16]))
def test_any_lookup_over_several_blocks(tmp_path_factory, data, block, strings, share):
    """Blocks of a few IDs, so that the search crosses many; lookups in any order, present or not, by tables of places
    or by searching."""
    one = st.text(max_size=3) if strings else st.integers(0, 60)
    known = sorted(data.draw(st.sets(one, min_size=1, max_size=40)), key=str.encode if strings else None)
    asked = data.draw(st.lists(st.one_of(st.sampled_from(known), one), max_size=30))
    path = str(tmp_path_factory.mktemp("ids") / "g.gs")
    before = ids_module.BLOCK_IDS, ids_module.TABLE_SHARE
    ids_module.BLOCK_IDS, ids_module.TABLE_SHARE = block, share
    try:
        with store_with(path, known if strings else np.array(known)) as store:
            if set(asked) <= set(known):
                assert store.lookup(asked).tolist() == [known.index(value) for value in asked]
            else:
                with pytest.raises(UsageError, match="is not a vertex"):
                    store.lookup(asked)
    finally:
        ids_module.BLOCK_IDS, ids_module.TABLE_SHARE = before


@pytest.mark.parametrize("blocks", [1, 8])
def test_a_search_over_real_blocks(tmp_path, monkeypatch, blocks):
    """Three MiB of IDs: first, last and middle of each block, of which that many stay in memory."""
    monkeypatch.setattr(arrays, "CACHED_BLOCKS", blocks)
    ids = np.arange(400_000, dtype=np.int64) * 3 + 1
    with store_with(str(tmp_path / "g.gs"), ids) as store:
        places = np.array([0, 1, 131_071, 131_072, 131_073, 262_143, 262_144, 399_999])
        assert store.lookup(ids[places].tolist()).tolist() == places.tolist()
        assert store.lookup(ids[places]).tolist() == places.tolist()
        with pytest.raises(UsageError):
            store.lookup([int(ids[131_072]) + 1])
        assert len(store.array("vertices/ids")._cache) == min(blocks, 4)
        many = np.random.default_rng(0).permutation(400_000)[:70_000]
        np.testing.assert_array_equal(store.lookup(ids[many].tolist()), many)


def test_many_lookups_in_an_order(tmp_path, monkeypatch):
    monkeypatch.setattr(ids_module, "BLOCK_IDS", 10)  # stretches that are read, of which some are left out
    order = np.random.default_rng(1).permutation(50)
    with store_with(str(tmp_path / "g.gs"), vertices=50, store_of=order) as store:
        assert store.lookup(range(50)).tolist() == order.tolist()
        for wanted in ([], [49], [41, 3, 3, 49, 9, 10, 0], ["7", True, 48]):
            assert store.lookup(wanted).tolist() == [order[int(one)] for one in wanted]
        for wrong in ([3, 50], [-1], [1 << 63], [1 << 70, 2], [2.5]):
            with pytest.raises(UsageError):
                store.lookup(wrong)
        np.testing.assert_array_equal(store.natural_of(order), np.arange(50))


def test_degrees_and_slices(tmp_path):
    edges = random_edges(vertices=200)
    write_store(str(tmp_path / "g.gs"), edges)
    with open_store(str(tmp_path / "g.gs")) as store:
        out = np.bincount(edges.source.astype(int), minlength=200)
        np.testing.assert_array_equal(store.out_degree(), out)
        np.testing.assert_array_equal(store.out_degree(17, 60), out[17:60])
        np.testing.assert_array_equal(store.in_degree(199), np.bincount(edges.target.astype(int), minlength=200)[199:])
        assert len(store.out_degree(200)) == 0
        with pytest.raises(IndexError):
            store.out_degree(0, 201)
