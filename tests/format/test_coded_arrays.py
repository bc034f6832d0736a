"""Heads and degrees of compressed stores: coder, decoder and reference, damage, forged blocks, and older stores."""

from __future__ import annotations

import random
from dataclasses import replace

import h5py
import numpy as np
import pytest

from pagestore import meta as descriptions
from pagestore import open_store
from pagestore.coding import form
from pagestore.coding.blocks import BlockCoder, decode_blocks
from pagestore.coding.decode import decode_page, sound
from pagestore.coding.encode import Coder
from pagestore.convert import finish
from pagestore.errors import StoreError
from pagestore.layout import HEADER, PageLayout
from pagestore.memory import convert_arrays
from pagestore.meta import Meta
from pagestore.verify import verify
from tests.choice import seeds
from tests.coded_reference import rows_of


def drawn_rows(seed: int, id_bytes: int, heads: bool) -> tuple[np.ndarray, int]:
    """Rows as a store may have, and the number of the first one."""
    draw = np.random.default_rng(seed)
    dtype, most = np.dtype(f"<u{id_bytes}"), 1 << draw.choice([3, 10, 31, 32 if id_bytes == 4 else 60])
    count, first = int(draw.integers(0, 700)), int(draw.choice([0, 256_000, most]))
    found = draw.integers(0, most - 1, (count, 4) if heads else count).astype(dtype)
    if heads:
        found.sort(axis=1)
        found[np.arange(4) >= draw.integers(0, 5, count)[:, None]] = ~dtype.type(0)
    return found, first if id_bytes == 8 else min(first, (1 << 32) - 1024)


def coded(rows: np.ndarray, first: int) -> list[np.ndarray]:
    """Words of each block."""
    heads, coder = rows.ndim == 2, BlockCoder(rows.dtype, rows.ndim == 2)
    size = form.block_rows(heads)
    return [coder.code(rows[at : at + size], first + at).copy() for at in range(0, len(rows), size)]


@pytest.mark.parametrize("heads", [True, False])
@pytest.mark.parametrize("id_bytes", [4, 8])
@pytest.mark.parametrize("seed", seeds(3, range(12)))
def test_blocks_decode_to_their_rows(seed: int, id_bytes: int, heads: bool):
    rows, first = drawn_rows(seed, id_bytes, heads)
    blocks, size = coded(rows, first), form.block_rows(heads)
    measured = BlockCoder(rows.dtype, heads)
    for number, block in enumerate(blocks):
        part, at = rows[number * size :][:size], first + number * size
        assert len(measured.code(part, at, write=False)) == len(block) < 2 * form.BLOCK_ROOM
        none = ~rows.dtype.type(0)
        expected = [row[row != none].tolist() for row in part] if heads else [[int(one)] for one in part]
        assert rows_of(block.tobytes(), heads, at, len(part), id_bytes) == expected
    begins = np.cumsum([0, *map(len, blocks)]).astype(np.int64)
    out = np.zeros_like(rows)
    assert decode_blocks(np.concatenate([np.empty(0, np.uint32), *blocks]), begins, first, out) == -1
    np.testing.assert_array_equal(out, rows)


@pytest.mark.parametrize("heads", [True, False])
@pytest.mark.parametrize("seed", seeds(1, range(4)))
def test_changed_blocks_are_refused_or_read_as_the_reference_does(seed: int, heads: bool):
    rows, first = drawn_rows(100 + seed, 4, heads)
    rows = np.resize(rows, (64, 4) if heads else 64)
    block, draw, read = coded(rows, first)[0].tobytes(), random.Random(seed), 0
    for _ in range(300):
        changed = bytearray(block)
        for _ in range(draw.randint(1, 3)):
            at = draw.choice([draw.randrange(4, 16), draw.randrange(len(block))])
            changed[at] = draw.choice([0, 255, changed[at] ^ 1 << draw.randrange(8)])
        words, out = np.frombuffer(bytes(changed), np.uint32), np.zeros_like(rows)
        begins = np.array([0, len(words)], np.int64)
        wrong = decode_blocks(words, begins, first, out) == 0
        if wrong:
            with pytest.raises((IndexError, ValueError)):
                rows_of(bytes(changed), heads, first, len(rows), 4)
            continue
        read += 1
        expected = rows_of(bytes(changed), heads, first, len(rows), 4)
        if heads:
            expected = [[*row, *[2**32 - 1] * (4 - len(row))] for row in expected]
        np.testing.assert_array_equal(out, np.reshape(expected, out.shape))
    assert 10 < read < 290  # both happen


def stores(folder, **options):
    """The same graph, plain and compressed; several blocks of each array, and vertices without edges."""
    draw = np.random.default_rng(7)
    source, target = draw.integers(0, 2500, 9000), draw.integers(0, 900, 9000)
    for compress in ("off", "on"):
        convert_arrays(
            folder / f"{compress}.gs", source, target, vertices=3000, page_bytes=4096, compress=compress, **options
        )
    return open_store(folder / "off.gs"), open_store(folder / "on.gs")


@pytest.mark.parametrize("options", [{}, {"directed": False}, {"order": "degree", "topology": "in"}, {"id_bytes": 8}])
def test_a_compressed_store_has_the_arrays_of_the_plain_one(tmp_path, options):
    plain, store = stores(tmp_path, **options)
    assert store.meta.needs == ["compressed", "coded_arrays"] and verify(store).ok
    draw = np.random.default_rng(1)
    for name in store.meta.topologies:
        mine, other = store.topology(name), plain.topology(name)
        assert mine.head_rows == other.head_rows and mine.heads().dtype == other.heads().dtype
        for low, high in [(0, mine.head_rows), *np.sort(draw.integers(0, mine.head_rows + 1, (20, 2))).tolist()]:
            np.testing.assert_array_equal(mine.heads(low, high), other.heads(low, high))
    for low, high in [(0, 3000), (1023, 1025), (5, 5), (2999, 3000)]:
        np.testing.assert_array_equal(store.out_degree(low, high), plain.out_degree(low, high))
        np.testing.assert_array_equal(store.in_degree(low, high), plain.in_degree(low, high))
    with pytest.raises(IndexError):
        store.out_degree(0, 3001)
    held = [one.extents["vertices/out_degree"].nbytes + one.extents["topology/in/heads"].nbytes
            for one in (plain, store) if "topology/in/heads" in one.extents]  # fmt: skip
    assert not held or held[1] < 0.6 * held[0]


def test_large_arrays_are_decoded_by_several_threads(tmp_path, monkeypatch):
    monkeypatch.setattr("pagestore.coding.arrays.WINDOW_BLOCKS", 2)
    plain, store = stores(tmp_path)
    np.testing.assert_array_equal(store.topology("out").heads(300, 2900), plain.topology("out").heads(300, 2900))


@pytest.mark.parametrize("name", ["topology/out/heads", "vertices/in_degree", "coded/topology.in.heads"])
def test_every_changed_word_is_told(tmp_path, name):
    stores(tmp_path)[1].close()
    with h5py.File(tmp_path / "on.gs", "r+", libver=("v110", "v110")) as file:
        held = file[name][()]
        held[len(held) // 2] ^= 64
        file[name][...] = held
    if name.startswith("coded/"):
        with pytest.raises(StoreError, match="coded/topology.in.heads.* checksum"):
            open_store(tmp_path / "on.gs")
        return
    with open_store(tmp_path / "on.gs") as store:
        report = verify(store)
        assert not report.ok and "checksum" in report.problems[0] and name in report.problems[0]
        with pytest.raises(StoreError, match="checksum"):
            store.topology("out").heads() if "heads" in name else store.in_degree()


def test_blocks_that_no_converter_writes_are_refused_by_name(tmp_path, monkeypatch):
    _, store = stores(tmp_path)
    array = store.array("vertices/out_degree")
    read = type(array._words).read
    monkeypatch.setattr(type(array._words), "read", lambda self, *given: read(self, *given) | np.uint32(1 << 31))
    with pytest.raises(StoreError, match="vertices/out_degree, rows 1024 to 2048 break the format"):
        store.out_degree(1500, 1501)


@pytest.mark.parametrize(
    "forged", [[], {}, {"vertices/out_degree": [8, 9]}, [8], [8, -1], [9, 9], [8, 1.5], "8, 9"], ids=repr
)
def test_forged_descriptions_are_refused(forged):
    meta = Meta(8, 1, True, 4096, 4, topologies=("out",), stored_bytes={"out": 16})
    names = ("topology/out/heads", "vertices/out_degree", "vertices/in_degree")
    right = {name: [8, 9] for name in names}
    replace(meta, coded_arrays=right).check("a.gs")
    wrong = forged if isinstance(forged, dict) and forged else {**right, "vertices/in_degree": forged}
    with pytest.raises(StoreError, match="coded arrays are not those of its graph"):
        replace(meta, coded_arrays=wrong).check("a.gs")
    with pytest.raises(StoreError, match="coded arrays are not those of its graph"):
        replace(meta, coded_arrays=right, stored_bytes={}).check("a.gs")


def test_compressed_stores_that_were_written_before_are_read(tmp_path, monkeypatch):
    """Their heads and degrees lie there as they are read."""
    made = finish.Coding
    monkeypatch.setattr(finish, "Coding", lambda places=None, arrays=(), floats=False: made(places or {}))
    plain, store = stores(tmp_path)
    assert store.meta.needs == ["compressed"] and verify(store).ok
    np.testing.assert_array_equal(store.topology("in").heads(), plain.topology("in").heads())
    np.testing.assert_array_equal(store.out_degree(), plain.out_degree())


def test_a_reader_that_does_not_know_the_feature_names_it(tmp_path, monkeypatch):
    stores(tmp_path)
    monkeypatch.delitem(descriptions.NEEDS, "coded_arrays")
    with pytest.raises(StoreError, match="needs coded_arrays, which this gstream does not know"):
        open_store(tmp_path / "on.gs")


def test_first_neighbours_that_are_far_are_coded_modulo_what_ids_hold():
    """Of 4-byte IDs: vertex 5 has neighbour 2^32 - 10, and the lists of all others lie near."""
    layout, count, base = PageLayout(4096, 4), 20, (1 << 32) - 200
    page = np.zeros(4096, np.uint8)
    words = page.view("<u4")
    vertices = [5, *range(base, base + count - 1)]
    for number, vertex in enumerate(vertices):
        at = layout.header_words + 2 * number
        words[at : at + 2] = 1, (1 << 32) - 10 if vertex == 5 else vertex + 1
        words[len(words) - 2 * number - 2 : len(words) - 2 * number] = vertex, at
    page[: HEADER.itemsize] = np.array([(0, 0, count, 5, count, 0)], HEADER).view(np.uint8)
    coder = Coder(layout)
    size = coder.code(page, count, count)
    held = np.zeros(size // 8, np.uint64).view(np.uint8)
    held[:] = coder.words.view(np.uint8)
    assert coder.words[form.FLAGS] & form.RELATIVE and sound(held, layout, count, count)
    out = np.ones(4096, np.uint8)
    decode_page(held, layout, count, count, out)
    assert out.tobytes() == page.tobytes()
