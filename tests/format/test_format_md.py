"""FORMAT.md's worked page, row and heads are what the packer, planner and writer produce."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from small_stores import Edges, write_store

import pagestore
from pagestore.arrays import datasets_of
from pagestore.crc import page_crc
from pagestore.decode import decode_page
from pagestore.layout import DIRECTORY, HEADER_BYTES, PageLayout
from pagestore.memory import convert_arrays
from pagestore.meta import Meta
from tests.coded_reference import page_of, rows_of, weights_of

TEXT = (Path(pagestore.__file__).parent / "FORMAT.md").read_text()
HEX = r"((?:[0-9a-f]{2} ?){4}(?: +(?:[0-9a-f]{2} ?){4})*)"

WORKED = Edges(np.array([0, 0, 2, 5, 5, 5], np.uint64), np.array([1, 2, 0, 1, 1, 7], np.uint64), 8)


def described(key: str) -> list[tuple[str, bytes]]:
    """(first column, bytes) of the lines of the code blocks whose first column matches `key`."""
    return [
        (match[1], bytes.fromhex(match[2].replace(" ", "")))
        for match in re.finditer(rf"^({key}) +{HEX}(?: |$)", TEXT, re.MULTILINE)
    ]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("format") / "worked.gs")
    write_store(path, WORKED)
    with pagestore.open_store(path) as opened:
        yield opened


def worked_page() -> np.ndarray:
    page = np.zeros(4096, np.uint8)
    for offset, data in described(r"[0-9a-f]{4}"):
        page[int(offset, 16) : int(offset, 16) + len(data)] = np.frombuffer(data, np.uint8)
    return page


def test_the_worked_page_is_the_packed_page(store):
    assert len(described(r"[0-9a-f]{4}")) == 14
    with store.topology("out").reader() as reader:
        np.testing.assert_array_equal(reader.read(0, 1)[0], worked_page())


def worked_column_page() -> np.ndarray:
    page = np.zeros(4096, np.uint8)
    for offset, data in described(r"column [0-9a-f]{4}"):
        at = int(offset.split()[1], 16)
        page[at : at + len(data)] = np.frombuffer(data, np.uint8)
    return page


def test_the_worked_column_page_is_the_packed_page(tmp_path):
    path = str(tmp_path / "columns.gs")
    write_store(path, WORKED, columns=8)
    with pagestore.open_store(path) as store, store.topology("out").reader() as reader:
        np.testing.assert_array_equal(reader.read(0, 1)[0], worked_column_page())
        assert store.meta.padding_words["out"] == 23 and f"{23} of them padding" in TEXT
    column, row = decode_page(worked_column_page(), 4, 8), decode_page(worked_page(), 4, 8)
    assert (column.source.tolist(), column.target.tolist()) == (row.source.tolist(), row.target.tolist())


def test_the_worked_coded_page_is_the_stored_page(tmp_path):
    """Coded by the converter, read by the reference decoder, which shares no code with it."""
    page = bytearray()
    for offset, data in described(r"coded [0-9a-f]{4}"):
        assert len(page) == int(offset.split()[1], 16)
        page += data
    assert page_of(bytes(page), 4096, 4, 3, 6) == worked_page().tobytes()
    edges = WORKED.source.astype(int), WORKED.target.astype(int)
    convert_arrays(tmp_path / "a.gs", *edges, vertices=8, page_bytes=4096, compress="on", topology="out")
    with pagestore.open_store(tmp_path / "a.gs") as store, store.topology("out").reader() as reader:
        assert reader.read_coded(0, 1).tobytes() == bytes(page)
        assert reader.read(0, 1).tobytes() == worked_page().tobytes()


def test_the_worked_coded_floats_are_the_stored_weights(tmp_path):
    coded = b"".join(data for _, data in described(r"floats [0-9a-f]{4}"))
    edges, weights = (WORKED.source.astype(int), WORKED.target.astype(int)), [0.5, 1.5, 1, 2, 3, 0.5]
    convert_arrays(tmp_path / "a.gs", *edges, weights, vertices=8, page_bytes=4096, compress="on", topology="out")
    with pagestore.open_store(tmp_path / "a.gs") as store, store.topology("out").reader() as reader:
        assert reader.read_coded(0, 1, weights=True).tobytes() == coded
        page = reader.read_weights(0, 1)[0]
    assert weights_of(coded, 4096, "f4", 8, 17) == page.tobytes()
    assert page.view("<f4")[8:17].tolist() == [0, 0.5, 1.5, 0, 1, 0, 2, 3, 0.5]


def test_the_worked_coded_heads_are_the_stored_heads(tmp_path):
    block = b"".join(data for _, data in described(r"heads [0-9a-f]{4}"))
    rows = [[1, 2], [], [0], [], [], [1, 1, 7], [], []]
    assert rows_of(block, True, 0, 8, 4) == rows
    edges = WORKED.source.astype(int), WORKED.target.astype(int)
    convert_arrays(tmp_path / "a.gs", *edges, vertices=8, page_bytes=4096, compress="on", topology="out")
    with pagestore.open_store(tmp_path / "a.gs") as store, h5py.File(tmp_path / "a.gs") as file:
        assert file["topology/out/heads"][()].tobytes() == block
        assert file["coded/topology.out.heads"][()].tolist() == [len(block) // 4]
        assert [row[row != 2**32 - 1].tolist() for row in store.topology("out").heads()] == rows


def test_the_worked_row_is_the_directory_row(store):
    row = b"".join(data for _, data in described("row"))
    assert row[48:52] == page_crc(0, worked_page()).to_bytes(4, "little")
    assert store.topology("out").directory.tobytes() == row


def test_the_worked_heads_are_the_stored_heads(store):
    heads = b"".join(data for _, data in described("head"))
    assert store.topology("out").heads().tobytes() == heads


def test_the_worked_page_decodes_to_its_edges():
    page = decode_page(worked_page(), 4, 8)
    assert list(zip(page.source.tolist(), page.target.tolist(), strict=True)) == [
        (0, 1), (0, 2), (2, 0), (5, 1), (5, 1), (5, 7),
    ]  # fmt: skip


def test_the_directory_table_has_the_offsets_of_the_dtype():
    offsets = {name: DIRECTORY.fields[name][1] for name in DIRECTORY.names}
    table = TEXT.split("## A directory row")[1].split("## What")[0]
    for line in re.findall(r"^\| ([0-9][^|]*)\| (.*) \|$", table, re.MULTILINE):
        starts = [int(span.split("-")[0]) for span in line[0].split(",")]
        names = re.findall(r"`(\w+)`", line[1]) or ["crc", "weights_crc"]
        for name, start in zip(names, starts, strict=False):
            assert offsets[name] == start, name
    assert DIRECTORY.itemsize == 56 and HEADER_BYTES == 32


def test_every_dataset_is_in_the_table():
    for kind, order in (("range", "natural"), ("integers", "degree"), ("strings", "natural")):
        meta = Meta(1, 1, True, 4096, 4, True, "f4", order, ("out", "in"), kind)
        arrays = {f"topology/{name}/heads": [1, 9] for name in meta.topologies} | {"vertices/out_degree": [1, 9]}
        counts = {"out": 1, "in": 1}
        coded = replace(
            meta, stored_bytes=counts, stored_weights=counts, coded_arrays=arrays | {"vertices/in_degree": [1, 9]}
        )
        rows = {"out": 1, "in": 1}
        for name in datasets_of(meta, rows, rows, 1) | datasets_of(coded, rows, rows, 1):
            shown = re.sub(r"([/.])(out|in)([/.])", r"\1T\3", f"/{name}")
            assert f"`{shown}`" in TEXT or shown.startswith("/checksums/"), name


def test_the_longest_list_of_the_default_page():
    assert f"{PageLayout().longest_list:,}" in TEXT
