"""Damage: each flipped bit, cut or exchanged page is refused by a StoreError or changes nothing that can be read.

Inside datasets a sample of bits does: CRC-32 notices every single flipped bit of what it covers, so all that can be
wrong is a byte that no checksum covers, and whole blocks are. GSTREAM_FLIPS sets how many bits are flipped (default
1500, spread over all parts of the file); "hdf5" flips every bit outside the datasets (5 minutes), "all" every bit of
the file (2 hours).
"""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from small_stores import random_edges, write_store

from pagestore import open_store
from pagestore.errors import StoreError
from pagestore.verify import verify
from tests.torture.contents import everything

FLIPS = os.environ.get("GSTREAM_FLIPS", "1500")


@pytest.fixture(scope="module")
def store_path(tmp_path_factory) -> str:
    """A weighted store with hubs, sparse IDs and reordered vertices: every kind of dataset but names."""
    path = str(tmp_path_factory.mktemp("damage") / "small.gs")
    edges = random_edges(seed=5, vertices=90, edges=900, hub=1100, weight="i4")
    write_store(path, edges, ids=np.arange(90) * 7 + 3, store_of=np.random.default_rng(2).permutation(90))
    return path


def flip(fd: int, bit: int) -> None:
    byte = os.pread(fd, 1, bit // 8)[0] ^ (1 << bit % 8)
    os.pwrite(fd, bytes([byte]), bit // 8)


def chosen_bits(path: str) -> list[int]:
    """All bits of the file, or a sample that takes an equal share from each dataset and from HDF5's own bytes."""
    size = os.path.getsize(path)
    if FLIPS == "all":
        return list(range(8 * size))
    with open_store(path) as store:
        extents = [e for e in store.extents.values() if e.nbytes]
    rng = random.Random(1)
    used = np.zeros(size, bool)
    for extent in extents:
        used[extent.offset : extent.offset + extent.nbytes] = True
    own = np.flatnonzero(~used)  # HDF5's own bytes, and gaps before aligned datasets; they get half of the flips
    if FLIPS == "hdf5":
        return [8 * byte + bit for byte in own.tolist() for bit in range(8)]
    bits = [8 * int(rng.choice(own)) + rng.randrange(8) for _ in range(int(FLIPS) // 2)]
    share = int(FLIPS) // 2 // len(extents)
    for extent in extents:
        bits += [8 * extent.offset + rng.randrange(8 * extent.nbytes) for _ in range(share)]
    return sorted(set(bits))


def test_every_flipped_bit_is_refused_or_harmless(store_path, tmp_path):
    path = str(tmp_path / "flipped.gs")
    shutil.copy(store_path, path)
    intact = everything(path)
    refused = 0
    fd = os.open(path, os.O_RDWR)
    try:
        for bit in chosen_bits(path):
            flip(fd, bit)
            try:
                assert everything(path) == intact, f"bit {bit} changed what is read"
            except StoreError:
                refused += 1
            flip(fd, bit)
    finally:
        os.close(fd)
    assert everything(path) == intact
    assert refused > 0


def test_flips_inside_datasets_are_always_refused(store_path, tmp_path):
    """Nothing inside a dataset is unprotected, the free space of pages included."""
    path = str(tmp_path / "flipped.gs")
    shutil.copy(store_path, path)
    with open_store(path) as store:
        extents = dict(store.extents)
    rng = random.Random(3)
    fd = os.open(path, os.O_RDWR)
    try:
        for name, extent in extents.items():
            for bit in {0, 8 * extent.nbytes - 1, *(rng.randrange(8 * extent.nbytes) for _ in range(8))}:
                flip(fd, 8 * extent.offset + bit)
                with pytest.raises(StoreError):
                    pytest.fail(f"{name}: bit {bit} went unnoticed: {everything(path)}")
                flip(fd, 8 * extent.offset + bit)
    finally:
        os.close(fd)


def test_a_store_cut_anywhere_is_refused(store_path, tmp_path):
    data = Path(store_path).read_bytes()
    with open_store(store_path) as store:
        ends = {extent.offset + extent.nbytes for extent in store.extents.values()}
    lengths = {0, 1, 7, 8, 9, 48, 511, 512, 4095, 4096, len(data) - 1, len(data) - 4096, *(end - 1 for end in ends)}
    lengths |= set(random.Random(7).sample(range(len(data)), 60))
    path = str(tmp_path / "cut.gs")
    for length in sorted(lengths):
        with open(path, "wb") as file:
            file.write(data[:length])
        with pytest.raises(StoreError):
            everything(path)


def swap(path: str, dataset: str, first: int, second: int) -> None:
    """Exchange two pages of a dataset in place."""
    with open_store(path) as store:
        extent = store.extents[dataset]
    width = extent.shape[1]
    fd = os.open(path, os.O_RDWR)
    a, b = (os.pread(fd, width, extent.offset + n * width) for n in (first, second))
    os.pwrite(fd, b, extent.offset + first * width)
    os.pwrite(fd, a, extent.offset + second * width)
    os.close(fd)


@pytest.mark.parametrize("dataset", ["topology/out/pages", "topology/in/pages", "topology/out/weights"])
def test_swapped_pages_are_named(store_path, tmp_path, dataset):
    path = str(tmp_path / "swapped.gs")
    shutil.copy(store_path, path)
    swap(path, dataset, 0, 1)
    topology = dataset.split("/")[1]
    report = verify(path)
    assert report.bad_pages == {topology: [0, 1]}
    assert f"{path}: page 0 of topology {topology} (vertices " in report.problems[0]
    with pytest.raises(StoreError, match=rf"page 0 of topology {topology} \(vertices \d+ to \d+, store IDs\)"):
        everything(path)


def overwrite(path: str, dataset: str, number: int, data: bytes) -> None:
    with open_store(path) as store:
        extent = store.extents[dataset]
    fd = os.open(path, os.O_RDWR)
    os.pwrite(fd, data, extent.offset + number * extent.shape[1])
    os.close(fd)


@pytest.mark.parametrize("fill", [b"\x00", b"\xff"])
def test_a_zeroed_page_is_named(store_path, tmp_path, fill):
    path = str(tmp_path / "zeroed.gs")
    shutil.copy(store_path, path)
    overwrite(path, "topology/out/pages", 2, fill * 4096)
    with open_store(path) as store:
        rows = store.topology("out").directory
    report = verify(path)
    assert report.bad_pages == {"out": [2]}
    vertex = int(rows["first_vertex"][2])
    assert (
        len(report.problems) == 1
        and f"vertex {vertex} from" in report.problems[0]
        or f"vertices {vertex} to" in (report.problems[0])
    )


def test_a_stale_page_of_the_same_number_is_refused(store_path, tmp_path):
    """The page that an earlier conversion of another graph left at the same place."""
    old = str(tmp_path / "old.gs")
    write_store(old, random_edges(seed=6, vertices=90, edges=900, hub=1100, weight="i4"))
    with open_store(old) as store, store.topology("out").reader() as reader:
        stale = reader.read(0, 1).tobytes()
    path = str(tmp_path / "stale.gs")
    shutil.copy(store_path, path)
    overwrite(path, "topology/out/pages", 0, stale)
    assert verify(path).bad_pages == {"out": [0]}


def test_verify_goes_on_after_a_bad_page(store_path, tmp_path):
    path = str(tmp_path / "two.gs")
    shutil.copy(store_path, path)
    overwrite(path, "topology/out/pages", 0, b"x" * 100)
    overwrite(path, "topology/in/pages", 1, b"y" * 100)
    report = verify(path)
    assert report.bad_pages == {"out": [0], "in": [1]}
    with open_store(path) as store:
        assert report.pages == store.topology("out").pages + store.topology("in").pages


def test_an_intact_store_has_no_problems(store_path):
    report = verify(store_path)
    assert report.ok and report.stored_edges == 4000 and report.bytes_read > 8 * 4096
