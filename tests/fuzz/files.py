"""Fuzz targets about files that are no text: archives, arrays, tables, graphs; and any file of any name."""

from __future__ import annotations

import bz2
import dataclasses
import gzip
import io
import lzma
import os
import shutil
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

from pagestore.inputs import InputOptions, linesource
from pagestore.inputs.base import MAX_ID
from pagestore.inputs.detect import FORMATS, _open_one, open_source
from tests.fuzz.targets import Drawn, MemoryStream, Target, Wrong, refusal, work_folder, written
from tests.fuzz.texts import MEMORY, drawn_options, in_order, listed
from tests.torture.inputs import HANDMADE, TEXTS

PACKED = (".gz", ".zst", ".bz2", ".xz")
DTYPES = ("<i8", "<i4", "<u8", "<f8", "S3", "<U3", "?", "<c8", ">i2", "<f2", "<M8[s]", ">U2", "V4")
MEMBERS = ("source", "target", "weight", "format", "shape", "indices", "indptr", "row", "col", "data")
MOST_BYTES = 1 << 20  # that are taken of an archive
ROWS = np.array([[0, 1, 5], [1, 2, 6], [2, 0, 7]])


def read_archive(data: bytes) -> str:
    """A target: a compressed stream against the library's own one-shot reader."""
    drawn = Drawn(data)
    bits = drawn.byte()
    packed = drawn.rest()
    parts, size = [], 0
    with refusal((MemoryError,)) as refused:  # a frame may ask for 2 GiB
        stream = MemoryStream(packed, f"a{PACKED[bits & 3]}", 7 if bits & 4 else 1 << 18, may_be_empty=bool(bits & 8))
        while size < MOST_BYTES and (part := stream.read(1 << 16 if bits & 16 else 100)):
            parts.append(part)
            size += len(part)
    if refused.error is None and size < MOST_BYTES and packed:
        plain = unpacked(packed)
        if plain is not None and plain != b"".join(parts):
            raise Wrong(f"unpacked to {b''.join(parts)[:80]!r} for {plain[:80]!r}")
    return refused.word


def unpacked(packed: bytes) -> bytes | None:
    """What the standard library makes of an archive; None for what it can't read."""
    try:
        if packed.startswith(b"\x1f\x8b"):
            return gzip.decompress(packed)
        if packed.startswith(b"BZh"):
            return bz2.decompress(packed)
        if packed.startswith(b"\xfd7zXZ\0"):
            return lzma.decompress(packed)
        if packed.startswith(b"(\xb5/\xfd"):
            return zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True).read()
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zstandard.ZstdError, MemoryError):
        return None
    return None


def archive_seeds() -> list[bytes]:
    text = b"1 2\n3 4\n" * 3
    raw = zlib.compressobj(9, wbits=31, strategy=zlib.Z_FIXED)
    made = [
        gzip.compress(text, mtime=0), raw.compress(text) + raw.flush(), bz2.compress(text), lzma.compress(text),
        lzma.compress(text, check=lzma.CHECK_NONE), zstandard.ZstdCompressor().compress(text),
        zstandard.ZstdCompressor(write_checksum=True, write_content_size=False).compress(text),
    ]  # fmt: skip
    kinds = (0, 0, 2, 3, 3, 1, 1)
    return [bytes([kind | bits]) + data * times
            for kind, data in zip(kinds, made, strict=True) for bits in (0, 4, 24) for times in (1, 2)]  # fmt: skip


def read_file(*kinds: str) -> Callable[[bytes], str]:
    """A target: a file of one of the formats, opened and read."""

    def run(data: bytes) -> str:
        drawn = Drawn(data)
        kind = kinds[drawn.byte() % len(kinds)]
        with refusal() as refused:
            options = drawn_options(drawn, False)
            source = _open_one(Path(written(f"a.{kind}", drawn.rest())), kind, options, work_folder(), MEMORY)
            try:
                read_all(source)
            finally:
                source.close()
        return refused.word

    return run


def read_members(data: bytes) -> str:
    """A target: an archive whose members are drawn: mutated bytes of an archive seldom get past its CRCs."""
    drawn = Drawn(data)
    head, members = drawn.take(2), {}
    while drawn.left:
        name, kind, rows, columns = (drawn.byte() for _ in range(4))
        dtype = np.dtype(DTYPES[kind % len(DTYPES)])
        shape = ((), (rows % 40,), (rows % 9, columns % 4))[columns >> 6 if columns >> 6 < 3 else 1]
        count = int(np.prod(shape))
        members[MEMBERS[name % len(MEMBERS)]] = np.frombuffer(drawn.take(count * dtype.itemsize), dtype).reshape(shape)
    return read_file("npz")(b"\0" + head + saved(lambda file: np.savez(file, **members)))


def member_seeds() -> list[bytes]:
    def member(name: str, dtype: str, *values: int | bytes) -> bytes:
        array = np.array(values, dtype)
        single = name == "format"
        return bytes([MEMBERS.index(name), DTYPES.index(dtype), len(values), 0 if single else 64]) + array.tobytes()

    edges = member("source", "<i8", 0, 1, 2) + member("target", "<i4", 1, 2, 0)
    shape, data = member("shape", "<i8", 3, 3), member("data", "<f8", 5, 6, 7)
    rows = member("indices", "<i4", 1, 2, 0) + member("indptr", "<i4", 0, 1, 2, 3) + shape + data
    pairs = member("row", "<i4", 0, 1, 2) + member("col", "<i4", 1, 2, 0) + shape + data
    made = [edges, edges + member("weight", "<f8", 1, 2, 3), rows + member("format", "S3", b"csr"),
            rows + member("format", "S3", b"csc"), pairs + member("format", "S3", b"coo")]  # fmt: skip
    return [b"\0\0" + one for one in made]


def read_all(source: Any) -> list[tuple]:
    """All edges, whose ends are what the source says that they are. Raises Wrong."""
    found = []
    low, high = source.id_base, MAX_ID if source.vertices is None else source.id_base + source.vertices - 1
    for chunk in source.names_of_edges() if getattr(source, "strings", False) else source.chunks():
        edges = listed(chunk)
        if any(not isinstance(end, str) and not low <= end <= high for edge in edges for end in edge[:2]):
            raise Wrong(f"{edges[:5]} for vertices {low} to {high}")
        if any(not np.isfinite(weight) for _, _, weight in edges):
            raise Wrong(f"weights of {edges[:5]}")
        found += edges
    return found


def read_any(data: bytes) -> str:
    """A target: a file of any name, whose format is found, and whose names of vertices are numbered."""
    drawn = Drawn(data)
    suffix = SUFFIXES[drawn.byte() % len(SUFFIXES)]
    ending, pack = PACKINGS[drawn.byte() % len(PACKINGS)]
    folder = any_folder()
    linesource.parse_in_order = in_order  # type: ignore[assignment]
    try:
        with refusal() as refused:
            options = drawn_options(drawn, True)
            path = written(f"any{suffix}{ending}/a{suffix}{ending}", pack(drawn.rest()))  # .e looks for a .v beside it
            source = open_source(path, without_header(options), folder, MEMORY)
            try:
                read_all(source)
            finally:
                source.close()
        return refused.word
    finally:
        linesource.parse_in_order = IN_THREADS
        for left in os.scandir(folder):
            shutil.rmtree(left.path) if left.is_dir() else os.unlink(left.path)


@cache
def any_folder() -> Path:
    """The work folder of `read_any`, which is emptied after each file."""
    folder = work_folder() / "work"
    folder.mkdir(exist_ok=True)
    return folder


@cache
def without_header(options: InputOptions) -> InputOptions:
    return dataclasses.replace(options, header=None)


IN_THREADS = linesource.parse_in_order
SUFFIXES = [suffix for known in FORMATS.values() for suffix in known.suffixes]
PACKINGS: tuple[tuple[str, Callable[[bytes], bytes]], ...] = (
    ("", bytes), (".gz", lambda data: gzip.compress(data, 1)), (".zst", zstandard.ZstdCompressor().compress),
)  # fmt: skip


def saved(write: Callable[[io.BytesIO], Any]) -> bytes:
    """What `write` puts into a file."""
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def npy_seeds() -> list[bytes]:
    named = np.zeros(3, [("source", "<u4"), ("target", "<u4"), ("weight", "<f4")])
    arrays = (ROWS, ROWS[:, :2].astype("<u4"), np.asfortranarray(ROWS), ROWS.astype("f8"), named, ROWS.astype(">i2"))
    made = [saved(lambda file, array=array: np.save(file, array)) for array in arrays]
    made.append(saved(lambda file: np.lib.format.write_array(file, ROWS, (2, 0))))
    return [b"\0\0\0" + data for data in made]


def npz_seeds() -> list[bytes]:
    edges = {"source": ROWS[:, 0], "target": ROWS[:, 1], "weight": ROWS[:, 2] / 2}
    csr = {"indices": ROWS[:, 1], "indptr": np.array([0, 1, 2, 3]), "format": np.array(b"csr"),
           "shape": np.array([3, 3]), "data": ROWS[:, 2]}  # fmt: skip
    coo = {"row": ROWS[:, 0], "col": ROWS[:, 1], "format": np.array(b"coo"), "shape": np.array([3, 3]),
           "data": ROWS[:, 2]}  # fmt: skip
    made = [saved(lambda file, arrays=arrays: np.savez(file, **arrays)) for arrays in (edges, csr, coo)]
    made.append(saved(lambda file: np.savez_compressed(file, **csr)))
    return [b"\0\0\0" + data for data in made]


@cache
def table() -> Any:
    """A table of names, IDs and weights."""
    import pyarrow as pa

    return pa.table({"source": [1, 2, 3], "target": [2, 3, 1], "weight": [0.5, 1.5, 2.5]})


def arrow_seeds() -> list[bytes]:
    import pyarrow as pa

    names = pa.table({"a": ["x", "y"], "b": pa.array(["y", "z"]).dictionary_encode()})
    made = []
    for new in (pa.ipc.new_file, pa.ipc.new_stream):
        for rows in (table(), names):
            sink = pa.BufferOutputStream()
            with new(sink, rows.schema) as writer:
                writer.write_table(rows)
            made.append(sink.getvalue().to_pybytes())
    return [b"\0\0\0" + data for data in made]


def parquet_seeds() -> list[bytes]:
    import pyarrow.parquet as parquet

    bare = {"store_schema": False, "write_statistics": False, "use_dictionary": False}
    made = [saved(lambda file, kind=kind: parquet.write_table(table(), file, compression=kind, **bare))
            for kind in ("none", "snappy", "zstd")]  # fmt: skip
    return [b"\0\0\0" + data for data in made]


def graph_seeds() -> list[bytes]:
    head = np.array([(0, 4, 3)], "u1,<i8,<i8").tobytes() + np.array([0, 1, 3, 4], "<i8").tobytes()
    lists = np.array([1, 0, 2, 1], "<i4").tobytes()
    weighted = np.array([1, 5, 0, 5, 2, 6, 1, 6], "<i4").tobytes()
    directed = b"\1" + head[1:] + lists + np.array([0, 1, 3, 4], "<i8").tobytes() + lists
    packed = np.array([0, 1, 2, 3], "<u4").tobytes() + np.array([0, 0], "<u2").tobytes()
    return [b"\0\0\0" + head + lists, b"\0\0\0" + directed, b"\1\0\0" + head + weighted, b"\2\0\0" + packed * 3,
            b"\3\0\0" + np.arange(6, dtype="<i8").tobytes()]  # fmt: skip


def any_seeds() -> list[bytes]:
    suffixes = [suffix for known in FORMATS.values() for suffix in known.suffixes]
    texts = [bytes([suffixes.index(name[1:]), pack, bits, 0]) + text.encode()[:300]
             for name, text in TEXTS.items() for pack in (0, 1, 2) for bits in (0, 4)]  # fmt: skip
    binary = [bytes([suffixes.index(suffix), 0, 0, 0]) + seed[3:]
              for suffix, made in ((".npy", npy_seeds), (".npz", npz_seeds), (".arrow", arrow_seeds))
              for seed in made() if len(seed) < 700]  # fmt: skip
    return texts + binary + [b"\0\0\0\0" + data for data in HANDMADE if len(data) < 300]


def targets() -> list[Target]:
    """Those about files."""
    word = "is read or refused in one line"
    return [
        Target("archives", "a compressed stream gives what the format's own library gives, or is refused in one line",
               read_archive, archive_seeds),
        Target("npy", f"a NumPy array {word}", read_file("npy"), npy_seeds, 300),
        Target("npz", f"a NumPy archive {word}", read_file("npz"), npz_seeds, 2000),
        Target("npz members", f"a NumPy archive, whatever is in its arrays, {word}", read_members, member_seeds, 400),
        Target("arrow", f"an Arrow file or stream {word}", read_file("arrow"), arrow_seeds, 2000),
        Target("parquet", f"a Parquet file {word}", read_file("parquet"), parquet_seeds, 2000),
        Target("binary graphs", f"a graph of GAP or Graph500 {word}",
               read_file("sg", "wsg", "graph500", "graph500-int64"), graph_seeds),
        Target("any file", f"a file of any name, compressed or not, {word}", read_any, any_seeds, 700),
    ]  # fmt: skip
