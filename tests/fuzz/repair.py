"""Stores with changed bytes and right checksums: small stores that are kept, patches to them, and all CRCs made good.

    patch      kind u8, place u16 or u32 (a byte of what kind names, modulo its size), length u8, bytes
    kinds      0 HDF5's own bytes, 1 the description, 2 directories, 3 pages and weights, 4 other arrays, 5 the end

Order of repair: pages' CRCs in the directories, blocks' in /checksums, theirs in /meta, /meta's own, HDF5's. Where the
description itself was changed its text is kept, but for its checksums.
"""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from pagestore import hdf5
from pagestore.arrays import BLOCK_BYTES, checksum_name
from pagestore.convert.options import ConvertOptions
from pagestore.convert.pipeline import convert
from pagestore.crc import block_crcs, crc32, page_crcs
from pagestore.hdf5 import Extent
from pagestore.inputs import InputOptions, open_source
from pagestore.layout import DIRECTORY
from pagestore.memory import convert_arrays
from pagestore.meta import META_BYTES
from tests.fuzz.targets import CORPUS, Drawn

ARCHIVE = CORPUS / "bases.zip"
NAMES = ("weighted", "names", "columns")
KINDS = ("hdf5", "meta", "directory", "pages", "arrays")
PAGE = 4096
MOST_BLOCK = 400  # bytes of a block of a B-tree that the kept stores have
CHECKSUM = re.compile(rb'"([a-z_./]+)":(-?\d+)')


@dataclass(frozen=True)
class Base:
    """An intact store: its bytes, its datasets, the places of each kind, HDF5's checksummed ranges.

    own: HDF5's bytes, all ranges outside of datasets. sums: CRC of each array's block CRCs.
    """

    data: bytes
    extents: dict[str, Extent]
    places: dict[str, np.ndarray]
    headers: tuple[tuple[int, int], ...]
    own: tuple[tuple[int, int], ...]
    sums: dict[str, int]

    def same(self, data: bytearray, begin: int, end: int) -> bool:
        """Bytes of `data` are those of the intact store."""
        return data[begin:end] == self.data[begin:end]

    def same_hdf5(self, data: bytearray) -> bool:
        """What HDF5 says of `data` is what it says of the intact store: it reads no dataset's bytes."""
        return len(data) == len(self.data) and all(self.same(data, *part) for part in self.own)


def write_bases(folder: Path) -> None:
    """Make the stores anew: a hub, weights and both page sets; names, reordered, undirected; columns and sparse IDs."""
    numbers = np.random.default_rng(3)
    source = np.concatenate([numbers.integers(0, 20, 60), np.full(1100, 3)])
    target = np.concatenate([numbers.integers(0, 20, 60), np.arange(1100) % 20])
    convert_arrays(folder / "weighted", source, target, np.arange(1160.0) % 9, vertices=20, page_bytes=PAGE,
                   memory_bytes=1 << 24)  # fmt: skip
    text = folder / "names.txt"
    text.write_text("".join(f"vertex-{n * 7 % 13} vertex-{n * 3 % 11}\n" for n in range(40)))
    options = ConvertOptions(page_bytes=PAGE, memory_bytes=1 << 24, directed=False, order="degree")
    convert(open_source(text, InputOptions(), folder, 1 << 24), folder / "names", options)
    numbers = np.random.default_rng(4)
    source, target = numbers.integers(0, 40, 200) * 5, numbers.integers(0, 40, 200) * 5
    convert_arrays(folder / "columns", source, target, page_bytes=PAGE, memory_bytes=1 << 24, columns=32)


@cache
def bases(folder: Path) -> tuple[Base, ...]:
    """The stores that are kept, unpacked into `folder` to be looked at."""
    found = []
    with zipfile.ZipFile(ARCHIVE) as archive:
        for name in NAMES:
            path = folder / name
            path.write_bytes(archive.read(name))
            found.append(_base(path))
    return tuple(found)


def _base(path: Path) -> Base:
    data, extents = path.read_bytes(), hdf5.locate(str(path))
    kind_of = {"meta": "meta"}
    for name in extents:
        ending = name.rpartition("/")[2]
        kind_of.setdefault(name, {"directory": "directory", "pages": "pages", "weights": "pages"}.get(ending, "arrays"))
    used = np.zeros(len(data), bool)
    places: dict[str, list[np.ndarray]] = {kind: [] for kind in KINDS}
    for name, extent in extents.items():
        inside = np.arange(extent.offset, extent.offset + extent.nbytes)
        used[inside] = True
        text = len(data[extent.offset : extent.offset + extent.nbytes].rstrip()) if name == "meta" else len(inside)
        places[kind_of[name]].append(inside[:text])
    headers = _headers(data)
    own = [np.arange(first, last + 4) for first, last in headers]
    places["hdf5"] = [np.concatenate(own), np.flatnonzero(~used)[: len(np.concatenate(own))]]
    edges = np.flatnonzero(np.diff(used, prepend=True, append=True)).tolist()
    kept = {name: extents[checksum_name(name)] for name in extents if checksum_name(name) in extents}
    sums = {name: crc32(data[e.offset : e.offset + e.nbytes]) for name, e in kept.items()}
    every = {k: np.concatenate(v or [np.zeros(1, int)]) for k, v in places.items()}
    return Base(data, extents, every, headers, tuple(zip(edges[::2], edges[1::2], strict=True)), sums)


def _headers(data: bytes) -> tuple[tuple[int, int], ...]:
    """(first byte, byte of the checksum) of the superblock, of every object header, and of the B-trees and heaps that
    keep many attributes (HDF5 format, II.A, IV.A, III.A.2 and III.G)."""
    found = [(0, 44)]
    for match in re.finditer(rb"BTHD|BTLF|FRHP", data):
        at = match.start()
        ends = (end for end in range(at + 8, min(at + MOST_BLOCK, len(data) - 4)))
        is_end = (end for end in ends if lookup3(data[at:end]) == int.from_bytes(data[end : end + 4], "little"))
        found += [(at, end) for end in is_end][:1]
    for match in re.finditer(rb"OHDR\x02", data):
        at, flags = match.start(), data[match.start() + 5]
        skip = 6 + 16 * bool(flags & 32) + 4 * bool(flags & 16)
        width = 1 << (flags & 3)
        size = int.from_bytes(data[at + skip : at + skip + width], "little")
        end = at + skip + width + size
        if end + 4 <= len(data) and lookup3(data[at:end]) == int.from_bytes(data[end : end + 4], "little"):
            found.append((at, end))
    return tuple(found)


def lookup3(data: bytes) -> int:
    """Bob Jenkins's hash of 2006 (lookup3.c, hashlittle, from 0), the checksum of HDF5's metadata."""
    most = 0xFFFFFFFF

    def turn(x: int, by: int) -> int:
        return (x << by | x >> (32 - by)) & most

    a = b = c = (0xDEADBEEF + len(data)) & most
    at = 0
    while len(data) - at > 12:
        a, b, c = (n + int.from_bytes(data[at + i : at + i + 4], "little") & most
                   for n, i in ((a, 0), (b, 4), (c, 8)))  # fmt: skip
        for by_a, by_b, by_c in ((4, 6, 8), (16, 19, 4)):
            a = (a - c & most) ^ turn(c, by_a)
            c = c + b & most
            b = (b - a & most) ^ turn(a, by_b)
            a = a + c & most
            c = (c - b & most) ^ turn(b, by_c)
            b = b + a & most
        at += 12
    if at == len(data):
        return c
    rest = data[at:].ljust(12, b"\0")
    a, b, c = (n + int.from_bytes(rest[i : i + 4], "little") & most for n, i in ((a, 0), (b, 4), (c, 8)))
    for x, y, by in (("c", "b", 14), ("a", "c", 11), ("b", "a", 25), ("c", "b", 16), ("a", "c", 4), ("b", "a", 14),
                     ("c", "b", 24)):  # fmt: skip
        now = {"a": a, "b": b, "c": c}
        now[x] = (now[x] ^ now[y]) - turn(now[y], by) & most
        a, b, c = now["a"], now["b"], now["c"]
    return c


def patched(base: Base, drawn: Drawn, inside: bool = False) -> bytearray:
    """The bytes of a store with the drawn patches. inside: to its datasets alone."""
    data = bytearray(base.data)
    while drawn.left:
        kind = 1 + drawn.byte() % 4 if inside else drawn.byte() % 6
        place, value = drawn.number(2 if kind < 3 else 4), drawn.take(drawn.byte() % 24)
        if kind == 5:
            del data[len(data) - place % len(data) :]
            continue
        places = base.places[KINDS[kind]]
        at = int(places[place % len(places)])
        data[at : at + len(value)] = value[: max(0, len(data) - at)]
    return data


def repaired(base: Base, data: bytearray) -> bytearray:
    """`data` with all its checksums right, where they stood in the intact store."""
    if len(data) < len(base.data):
        return data

    def differs(name: str) -> bool:
        extent = base.extents[name]
        return not base.same(data, extent.offset, extent.offset + extent.nbytes)

    for name, extent in base.extents.items():
        topology = name.removesuffix("/directory")
        if topology != name and any(differs(f"{topology}/{part}") for part in ("directory", "pages", "weights")
                                    if f"{topology}/{part}" in base.extents):  # fmt: skip
            _repair_directory(base, data, topology, extent)
    sums = {}
    for name in base.sums:
        kept = base.extents[checksum_name(name)]
        if differs(name) or differs(checksum_name(name)):
            crcs = block_crcs(_bytes(data, base.extents[name]), 0, BLOCK_BYTES).astype("<u4").tobytes()
            data[kept.offset : kept.offset + kept.nbytes] = crcs
            sums[name] = crc32(crcs)
    if sums or differs("meta"):
        _repair_meta(data, base.extents["meta"].offset, {n.encode(): s for n, s in {**base.sums, **sums}.items()})
    for begin, end in base.headers:
        if not base.same(data, begin, end + 4):
            data[end : end + 4] = lookup3(bytes(data[begin:end])).to_bytes(4, "little")
    return data


def _repair_meta(data: bytearray, first: int, sums: dict[bytes, int]) -> None:
    whole = bytes(data[first : first + META_BYTES])
    end = whole.rfind(b"}") + 1
    text = CHECKSUM.sub(lambda m: b'"%s":%d' % (m[1], sums[m[1]]) if m[1] in sums else m[0], whole[:end])
    data[first : first + META_BYTES] = sealed(text + whole[end:])


def sealed(text: bytes) -> bytes:
    """A description of the right size and with the right checksum: its first 20 bytes are made so."""
    text = b'{"crc32":"00000000",' + text[20:]
    text = text[:META_BYTES].ljust(META_BYTES)
    return text[:10] + b"%08x" % crc32(text) + text[18:]


def _bytes(data: bytearray, extent: Extent) -> np.ndarray:
    return np.frombuffer(bytes(data[extent.offset : extent.offset + extent.nbytes]), np.uint8)


def _repair_directory(base: Base, data: bytearray, topology: str, extent: Extent) -> None:
    rows = _bytes(data, extent).copy().view(DIRECTORY)
    for dataset, column in (("pages", "crc"), ("weights", "weights_crc")):
        pages = base.extents.get(f"{topology}/{dataset}")
        if pages is not None and len(rows):
            rows[column] = page_crcs(0, _bytes(data, pages).reshape(pages.shape))
    data[extent.offset : extent.offset + extent.nbytes] = rows.tobytes()
