"""Reading pages: ordinary and direct, into given buffers, from many threads, at any alignment."""

from __future__ import annotations

import errno
import os
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from small_stores import random_edges, write_store

from pagestore import crc, open_store
from pagestore.crc import block_crcs, page_crc, page_crcs
from pagestore.errors import ResourceError, StoreError
from pagestore.io import aligned_empty, read_into


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Byte weights: their pages are 1 KiB wide and start anywhere, so direct reads must be rounded out."""
    path = str(tmp_path_factory.mktemp("reader") / "g.gs")
    write_store(path, random_edges(vertices=900, edges=20_000, hub=5000, weight="u1"))
    with open_store(path) as opened:
        yield opened


@pytest.fixture(scope="module")
def expected(store):
    """Pages and weights of the out-topology, straight from the file."""
    data = Path(store.path).read_bytes()
    parts = []
    for name in ("pages", "weights"):
        extent = store.extents[f"topology/out/{name}"]
        parts.append(np.frombuffer(data, np.uint8, extent.nbytes, extent.offset).reshape(extent.shape))
    return parts


@pytest.mark.parametrize("direct", [False, True])
def test_every_run_of_pages(store, expected, direct):
    topology = store.topology("out")
    with topology.reader(direct=direct) as reader:
        for first in range(0, topology.pages, 3):
            for count in (0, 1, 2, topology.pages - first):
                if first + count > topology.pages:
                    continue
                np.testing.assert_array_equal(reader.read(first, count), expected[0][first : first + count])
                np.testing.assert_array_equal(reader.read_weights(first, count), expected[1][first : first + count])


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("shift", [0, 8])
def test_given_buffers(store, expected, direct, shift):
    """`shift` 8: a buffer that O_DIRECT can't fill itself."""
    space = aligned_empty(3 * 4096 + 8)
    out = space[shift : shift + 3 * 4096].reshape(3, 4096)
    with store.topology("out").reader(direct=direct) as reader:
        assert reader.read(2, 3, out=out) is out
        np.testing.assert_array_equal(out, expected[0][2:5])
        with pytest.raises(ValueError, match="contiguous uint8"):
            reader.read(2, 2, out=out)


def test_pages_are_aligned_to_their_size(store):
    assert store.topology("out").pages_offsets[0] % 4096 == 0
    assert aligned_empty(5).ctypes.data % 4096 == 0


def test_many_threads(store, expected):
    topology = store.topology("out")
    with topology.reader(direct=True) as reader, ThreadPoolExecutor(8) as pool:
        firsts = [i % (topology.pages - 1) for i in range(200)]
        for first, pages in zip(firsts, pool.map(lambda at: reader.read(at, 2), firsts), strict=True):
            np.testing.assert_array_equal(pages, expected[0][first : first + 2])


def test_a_reader_outlives_its_store(store, expected):
    with open_store(store.path) as second:
        reader = second.topology("out").reader()
    np.testing.assert_array_equal(reader.read(0, 1), expected[0][:1])
    reader.close()


@pytest.mark.parametrize("direct", [False, True])
def test_a_reader_keeps_no_file_open(store, direct):
    for _ in range(2):
        before = len(os.listdir("/proc/self/fd"))
        reader = store.topology("out").reader(direct=direct)
        assert len(os.listdir("/proc/self/fd")) == before + 1
        reader.close()
        assert len(os.listdir("/proc/self/fd")) == before


def test_direct_reads_take_the_blocks_around_and_no_more(store, expected, monkeypatch):
    """As a direct reader does, on file systems that have no direct reads, too."""
    asked, usual = [], os.preadv
    with store.topology("out").reader() as reader:
        reader._past_cache = [True]
        monkeypatch.setattr(os, "preadv", lambda file, parts, at: asked.append(len(parts[0])) or usual(file, parts, at))
        assert np.array_equal(reader.read_weights(1, 2), expected[1][1:3])
    width = store.topology("out").weight_page_bytes
    assert sum(asked) and max(asked) <= 2 * width + 2 * 4096


def test_a_closed_store_reads_nothing(store):
    """Its descriptor's number may belong to another file by then."""
    closed = open_store(store.path)
    closed.close()
    for read in (closed.out_degree, closed.topology("out").heads, closed.topology("out").reader):
        with pytest.raises(ValueError, match="closed file"):
            read()


@pytest.mark.parametrize("name", ["open", "preadv"])
def test_file_systems_without_direct_reads(store, expected, monkeypatch, name):
    """One refuses the flag, another accepts it and refuses to read."""
    real, calls = getattr(os, name), []

    def refuse(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            raise OSError(22, "Invalid argument")
        return real(*arguments)

    monkeypatch.setattr(os, name, refuse)
    with store.topology("out").reader(direct=True) as reader:
        assert not reader.direct
        np.testing.assert_array_equal(reader.read(0, 2), expected[0][:2])


def test_out_of_range_and_missing_weights(store, tmp_path):
    topology = store.topology("out")
    with topology.reader() as reader:
        for first, count in ((-1, 1), (0, topology.pages + 1), (topology.pages, 1), (0, -1)):
            with pytest.raises(IndexError):
                reader.read(first, count)
    write_store(str(tmp_path / "plain.gs"), random_edges())
    with open_store(str(tmp_path / "plain.gs")) as plain, plain.topology("out").reader() as reader:
        with pytest.raises(ValueError, match="no weights"):
            reader.read_weights(0, 1)


def test_unchecked_reads_return_what_is_there(store, tmp_path):
    path = tmp_path / "bad.gs"
    data = bytearray(Path(store.path).read_bytes())
    data[store.topology("out").pages_offsets[0] + 100] ^= 1
    path.write_bytes(data)
    with open_store(str(path)) as bad, bad.topology("out").reader() as reader:
        reader.read(0, 1, check=False)
        with pytest.raises(StoreError, match=r"page 0 of topology out \(vertices 0 to \d+, store IDs\) fails"):
            reader.read(0, 2)


def test_a_file_cut_while_open(store, tmp_path):
    path = tmp_path / "cut.gs"
    path.write_bytes(Path(store.path).read_bytes())
    with open_store(str(path)) as cut:
        topology = cut.topology("out")
        end = topology.pages_offsets[0] + topology.pages * 4096 - 100
        os.truncate(path, end)
        for direct in (False, True):
            with topology.reader(direct=direct) as reader, pytest.raises(StoreError, match=f"ends at byte {end}"):
                reader.read(topology.pages - 1, 1)


def test_weights_of_a_file_cut_while_open(store, tmp_path):
    """Those of a page begin and end inside blocks, so direct reads take more than is asked for."""
    path = tmp_path / "cut.gs"
    path.write_bytes(Path(store.path).read_bytes())
    with open_store(str(path)) as cut:
        topology = cut.topology("out")
        end = topology.weights_offsets[0] + topology.pages * topology.weight_page_bytes - 100
        os.truncate(path, end)
        for direct in (False, True):
            with topology.reader(direct=direct) as reader, pytest.raises(StoreError, match=f"ends at byte {end}"):
                reader.read_weights(topology.pages - 1, 1)


def test_closing_twice(store):
    reader = store.topology("out").reader()
    number = reader._fds[0]
    with open(store.path, "rb") as another:
        reader.close()
        os.dup2(another.fileno(), number)
    reader.close()
    assert os.fstat(number).st_size == store.file_bytes, "the number was another file's by then"
    os.close(number)


def test_what_is_not_contiguous_is_not_moved(tmp_path):
    with open(tmp_path / "f", "wb+") as file, pytest.raises(ValueError, match="only contiguous arrays are moved"):
        read_into(file.fileno(), 0, np.zeros((4, 4), np.uint8)[:, ::2], "f")


def test_without_the_c_library(monkeypatch):
    """Where ISA-L's function can't be found there is no compiled loop, and pages are summed one by one."""
    monkeypatch.setattr(crc, "_address", lambda: None)
    assert crc._compiled_loop.__wrapped__() is None


def test_crcs_with_and_without_the_loop(monkeypatch):
    """Compiled rows, single calls and zlib agree; the number is part of the CRC."""
    pages = np.random.default_rng(0).integers(0, 256, (5, 4096), dtype=np.uint8)
    single = [page_crc(7 + i, page) for i, page in enumerate(pages)]
    assert page_crcs(7, pages).tolist() == single
    monkeypatch.setattr(crc, "_compiled_loop", lambda: None)
    assert page_crcs(7, pages).tolist() == single
    monkeypatch.setattr(crc, "crc32", zlib.crc32)
    assert page_crcs(7, pages).tolist() == single
    assert page_crcs(8, pages)[0] != single[0]
    blocks = block_crcs(pages.reshape(-1)[:10_000], 7, 4096)
    assert blocks.tolist() == [*single[:2], page_crc(9, pages.reshape(-1)[8192:10_000])]
    with pytest.raises(ValueError, match="contiguous"):
        page_crcs(0, pages[:, ::2])


@pytest.mark.parametrize("direct", [False, True])
def test_a_failing_disk_is_told_with_the_page(store, monkeypatch, direct):
    """It is the disk's fault (exit 5), not the store's."""
    topology = store.topology("out")
    with topology.reader(direct) as reader:

        def fail(*arguments):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        monkeypatch.setattr(os, "preadv", fail)
        said = r"page 1 of topology out \(vertices \d+ to \d+, store IDs\).*: reading at byte \d+ failed "
        with pytest.raises(ResourceError, match=said + r"\(input/output error\)\. Check the disk, then run again\."):
            reader.read(1, 1)


@pytest.mark.parametrize("reordered", [False, True])
@pytest.mark.parametrize("kind", ["integers", "strings"])
def test_a_damaged_page_names_the_users_vertices(tmp_path, kind, reordered):
    """Those of its first and last store ID; and what can be done."""
    edges = random_edges()
    store_of = np.random.default_rng(3).permutation(edges.vertices).astype(np.uint32) if reordered else None
    ids = np.arange(edges.vertices, dtype=np.int64) * 10 + 7
    ids = [f"vertex-{number:06}" for number in ids] if kind == "strings" else ids
    path = str(tmp_path / "named.gs")
    write_store(path, edges, ids=ids, store_of=store_of)
    with open_store(path) as whole:
        offset, row = whole.topology("out").pages_offsets[0], whole.topology("out").directory[0]
    with open(path, "r+b") as file:
        file.seek(offset + 100)
        byte = file.read(1)[0]
        file.seek(offset + 100)
        file.write(bytes([byte ^ 1]))
    natural = np.arange(edges.vertices) if store_of is None else np.argsort(store_of)
    first, last = (ids[natural[row[end]]] for end in ("first_vertex", "last_vertex"))
    with open_store(path) as bad, bad.topology("out").reader() as reader, pytest.raises(StoreError) as caught:
        reader.read(0, 1)
    between = ", ..., " if reordered else " to "
    assert f"store IDs), your vertices {first}{between}{last}, fails its checksum. `gstream verify {path}`" in str(
        caught.value
    )


@pytest.mark.parametrize(("code", "remedy"), [(errno.EMFILE, "ulimit -n"), (errno.EIO, "Check the disk")])
def test_a_store_that_can_not_be_opened_for_want_of_handles(store, monkeypatch, code, remedy):
    def fail(*arguments, **named):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("pagestore.hdf5.Descriptor", fail)
    with pytest.raises(ResourceError, match=remedy):
        open_store(store.path)
