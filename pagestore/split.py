"""A store, or a graph in other parts, becomes a graph in parts (pagestore/manifest.py): pages are dealt by stretches,
arrays are copied.

A part is written at a time, so what is held is a stretch of pages and one bitmap of the vertices. Pages are checked as
they are read, and copied as they are: checksums go by their numbers in the whole. Coded pages are decoded: a first pass
finds their checksums, which the directories of all parts have.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pagestore.arrays import BLOCK_BYTES, checksum_name, datasets_of
from pagestore.cores import checked_threads, in_order
from pagestore.crc import block_crcs, crc32, page_crcs
from pagestore.errors import ResourceError, UsageError
from pagestore.faults import disk_error
from pagestore.io import drain
from pagestore.jit import compiled
from pagestore.layout import STRETCH_BYTES
from pagestore.manifest import LEFT, MANIFEST, Manifest, Part, is_parts, own_range, part_name
from pagestore.meta import FORMAT, MOST_PARTS, SEAL_BYTES, Meta, encode_meta
from pagestore.partialfile import PartialFile
from pagestore.parts import open_whole
from pagestore.reader import PageReader
from pagestore.replacing import lock_file, sync_folder
from pagestore.sizes import show_bytes
from pagestore.store import Store
from pagestore.stripes import spread_of
from pagestore.topology import Topology
from pagestore.writer import FIXED, MOST_ALIGNED, bytes_of

STRETCHES_A_PART = 8  # at least, where the graph has the pages: parts differ by an eighth at most
READ_BLOCKS = 16  # of an array at a time
WORD = 64  # vertices of a word of a bitmap
Progress = Callable[[int, int], None]  # bytes written so far, bytes in all


@dataclass(frozen=True)
class SplitReport:
    """path: the folder. seconds: of all."""

    path: str
    manifest: Manifest
    seconds: float


def split(
    store: str | os.PathLike, path: str | os.PathLike, parts: int, force: bool = False, threads: int | None = None,
    stripes: tuple[str, ...] = (), progress: Progress | None = None, heads: bool = True,
) -> SplitReport:  # fmt: skip
    """Write the store, or the graph in parts, as a graph in `parts` parts, in the folder `path`, which is made. force:
    replace one there. heads: each part gets those of all vertices.

    Raises UsageError (numbers of parts, what is at `path`), StoreError, ResourceError. What an interrupted call leaves
    has no manifest; the next call with this folder removes it.
    """
    began, threads = time.monotonic(), checked_threads(threads)
    check_parts(parts)
    with open_whole(store, stripes) as opened:
        _refuse(opened, os.fspath(path))
        with _folder(os.fspath(path), force) as folder:
            manifest = _Splitter(opened, folder, parts, threads, progress, heads and opened.meta.heads).run()
    return SplitReport(os.fspath(path), manifest, time.monotonic() - began)


def _refuse(store: Store, path: str) -> None:
    if store.meta.parts:
        raise UsageError(f"{store.path}: is a part already. Split the whole store, or the folder of all parts.")
    if is_parts(path) and is_parts(store.path) and os.path.samefile(path, store.path):
        raise UsageError(f"{path}: can't be split into itself. Name another folder.")


def check_target(path: str, force: bool) -> None:
    """Raise UsageError where no parts can be written at `path`. force: over those that are there."""
    if os.path.exists(path) and not os.path.isdir(path):
        raise UsageError(f"{path}: is a file; parts lie in a folder. Name another one.")
    if not os.path.isdir(parent := os.path.dirname(os.path.abspath(path))):
        raise UsageError(f"{path}: folder {parent} does not exist. Make it first.")
    if is_parts(path) and not force:
        raise UsageError(f"{path}: exists. Pass --force to replace it, or another name.")
    if other := [name for name in (os.listdir(path) if os.path.isdir(path) else []) if not LEFT.fullmatch(name)]:
        raise UsageError(f"{path}: holds other files, as {sorted(other)[0]}. Name another folder.")


def check_parts(parts: int) -> None:
    """Raise UsageError for a number of parts that can't be."""
    if not 2 <= parts <= MOST_PARTS:
        raise UsageError(f"--parts {parts}: it must be 2 to {MOST_PARTS}, as many as there will be ranks.")


@contextmanager
def _folder(path: str, force: bool) -> Iterator[str]:
    """The folder, made and locked, without what was there of another split. Raises UsageError, ResourceError."""
    lock = -1
    try:
        check_target(path, force)
        os.makedirs(path, exist_ok=True)
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            lock_file(lock, path)
        except BlockingIOError:
            raise UsageError(f"{path}: another process is writing it. Wait for it, or name another folder.") from None
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(path, MANIFEST))  # first: without it nothing there counts
        for name in os.listdir(path):
            os.unlink(os.path.join(path, name))
        yield path
    except OSError as error:
        raise disk_error(error, path) from error
    finally:
        if lock >= 0:
            os.close(lock)


class _Splitter:
    """One split of an open store into a locked folder."""

    def __init__(
        self, store: Store, folder: str, parts: int, threads: int, progress: Progress | None, heads: bool
    ) -> None:
        self.store, self.folder, self.threads, self.progress = store, folder, threads, progress
        topologies = [store.topology(name) for name in store.meta.topologies]
        fewest = min(topology.pages for topology in topologies)
        self.step = max(1, STRETCH_BYTES // store.meta.page_bytes)
        stretch = max(1, min(self.step, fewest // (STRETCHES_A_PART * parts)))
        self.metas = [
            replace(
                store.meta, heads=heads, stripes=(), stripe_pages=0, part=part, parts=parts, part_stretch=stretch,
                stored_bytes={}, stored_weights={}, coded_arrays={}, coded_floats=False,
            )
            for part in range(parts)
        ]  # fmt: skip
        self.topologies, self.done = topologies, 0
        self.directories: dict[str, np.ndarray] = {}  # of pages that are coded in the store, by their arrays' names
        self.total = sum(bytes_of(self._copied(meta)) for meta in self.metas)

    def run(self) -> Manifest:
        """All parts, then the manifest."""
        free = shutil.disk_usage(self.folder).free
        if free < self.total:
            raise ResourceError(
                f"{self.folder}: the parts take {show_bytes(self.total)}, and {show_bytes(free)} are free. Free some "
                "space, or write to another disk."
            )
        meta, source = self.store.meta, os.path.abspath(self.store.path)
        if meta.compressed:
            self.directories = {f"topology/{one.name}/directory": self._decoded(one) for one in self.topologies}
        parts = [self._write(number) for number in range(len(self.metas))]
        stretch = self.metas[0].part_stretch
        manifest = Manifest(meta.uuid, source, meta.vertices, meta.graph_edges, stretch, parts)
        name = os.path.join(self.folder, MANIFEST)
        with open(name + ".partial", "wb") as file:
            drain(file.fileno(), 0, np.frombuffer(manifest.encode(), np.uint8))
            os.fsync(file.fileno())
        os.replace(name + ".partial", name)
        sync_folder(self.folder)
        sync_folder(os.path.dirname(os.path.abspath(self.folder)))
        return manifest

    def _datasets(self, meta: Meta) -> dict[str, tuple]:
        names = self.store.extents.get("vertices/names/bytes")
        pages = {topology.name: topology.pages for topology in self.topologies}
        heads = {topology.name: topology.head_rows for topology in self.topologies}
        return datasets_of(meta, pages, heads, 0 if names is None else names.count)

    def _copied(self, meta: Meta) -> dict[str, tuple]:
        """Datasets whose bytes are counted as they are written: all but checksums and the description."""
        datasets = self._datasets(meta)
        return {
            name: kind for name, kind in datasets.items() if name != "meta" and not name.startswith(checksum_name(""))
        }

    def _write(self, number: int) -> Part:
        """One part, whole under its name."""
        meta, sums, facts = self.metas[number], dict[str, int](), list[dict[str, int]]()
        said = {"format": FORMAT, "version": meta.version, **{name: getattr(meta, name) for name in FIXED}}
        path = os.path.join(self.folder, part_name(number))
        file = PartialFile(path, self._datasets(meta), said, min(meta.page_bytes, MOST_ALIGNED))
        try:
            for name in self._arrays(meta):
                sums[name] = self._copy_array(file, name)
            for topology in self.topologies:
                named = np.zeros(-(-meta.vertices // WORD), "<u8")
                facts.append(self._deal(file, topology, meta, named))
                sums[f"topology/{topology.name}/reads"] = self._put_array(
                    file, f"topology/{topology.name}/reads", named
                )
            description = encode_meta(meta, sums)
            file.put("meta", 0, np.frombuffer(description, np.uint8))
            file.publish()
        except BaseException:
            file.abort()
            raise
        kept = [{topology.name: one[key] for topology, one in zip(self.topologies, facts, strict=True)}
                for key in ("pages", "edges", "named", "mirrors")]  # fmt: skip
        return Part(part_name(number), description[:SEAL_BYTES].decode(), os.path.getsize(path), *kept)

    def _arrays(self, meta: Meta) -> list[str]:
        """Those of the store that a part has, too."""
        left = ["/stored", "/stored_weights", "/reads", *([] if meta.heads else ["/heads"])]
        return [name for name in self.store.array_names if not name.endswith(tuple(left))]

    def _decoded(self, topology: Topology) -> np.ndarray:
        """The directory of a topology whose pages are stored as they are."""
        rows = topology.directory.copy()
        with topology.reader() as reader:
            read = partial(_read, topology, reader)
            for (first, count), (pages, weights) in in_order(
                spread_of(self.store.meta).ranges(topology.pages, self.step), read, self.threads
            ):
                rows["crc"][first : first + count] = page_crcs(first, pages)
                if weights is not None:
                    rows["weights_crc"][first : first + count] = page_crcs(first, weights)
        return rows

    def _copy_array(self, file: PartialFile, name: str) -> int:
        """An array as it is; the CRC of its checksums."""
        array, crcs = self.store.array(name), []
        rows, blocks = array.block_rows()
        times = max(1, READ_BLOCKS // blocks)
        for number, first in enumerate(range(0, array.rows, rows * times)):
            last = min(first + rows * times, array.rows)
            data = self.directories[name][first:last] if name in self.directories else array.read(first, last)
            file.put(name, first, data)
            crcs.append(block_crcs(data.reshape(-1).view(np.uint8), number * times * blocks, BLOCK_BYTES))
            self._wrote(data.nbytes)
        return self._put_sums(file, name, crcs)

    def _put_array(self, file: PartialFile, name: str, data: np.ndarray) -> int:
        file.put(name, 0, data)
        self._wrote(data.nbytes)
        return self._put_sums(file, name, [block_crcs(data.view(np.uint8), 0, BLOCK_BYTES)])

    @staticmethod
    def _put_sums(file: PartialFile, name: str, crcs: list[np.ndarray]) -> int:
        joined = np.concatenate([np.empty(0, "<u4"), *crcs]).astype("<u4")
        file.put(checksum_name(name), 0, joined)
        return crc32(joined.tobytes())

    def _deal(self, file: PartialFile, topology: Topology, meta: Meta, named: np.ndarray) -> dict[str, int]:
        """A part's pages of a topology; `named` gets the vertices that they name. Returns counts."""
        spread, rows, layout = spread_of(meta), topology.directory, topology.layout
        edges, base = 0, f"topology/{topology.name}"
        with topology.reader() as reader:
            read = partial(_read, topology, reader)
            for (first, count), (pages, weights) in in_order(
                spread.ranges(topology.pages, self.step), read, self.threads
            ):
                row = next(spread.runs(first, count)).row
                file.put(f"{base}/pages", row, pages)
                if weights is not None:
                    file.put(f"{base}/weights", row, weights)
                about = rows[first : first + count]
                mark_named(pages.view(layout.id_dtype), about["records"].astype(np.int64),
                           np.maximum(about["layout"], 1).astype(np.int64), named)  # fmt: skip
                edges += int(about["edges"].sum())
                self._wrote(pages.nbytes + (0 if weights is None else weights.nbytes))
        own = own_range(meta.vertices, meta.part, meta.parts)
        whole = count_bits(named, 0, meta.vertices)
        return {"pages": spread.here(topology.pages), "edges": edges, "named": whole,
                "mirrors": whole - count_bits(named, *own)}  # fmt: skip

    def _wrote(self, nbytes: int) -> None:
        self.done += nbytes
        if self.progress is not None:
            self.progress(self.done, self.total)


def _read(topology: Topology, reader: PageReader, run: tuple[int, int]) -> tuple[np.ndarray, np.ndarray | None]:
    """(pages, their weights) of a run, (first, count)."""
    weights = None if topology.weight_dtype is None else reader.read_weights(*run)
    return reader.read(*run), weights


def count_bits(words: np.ndarray, first: int, last: int) -> int:
    """How many of the vertices [first, last) are in a bitmap, u8[n]."""
    low, high = first // WORD, -(-last // WORD)
    if first >= last:
        return 0
    ends = words[low:high].copy()
    ends[0] &= np.uint64(~((1 << first % WORD) - 1) & (1 << WORD) - 1)
    if last % WORD:
        ends[-1] &= np.uint64((1 << last % WORD) - 1)
    return int(np.bitwise_count(ends).sum(dtype=np.int64))


@compiled
def mark_named(words, records, strides, named):
    """Set the bit of every neighbour in pages, id[pages, W], that were checked. records, strides: i8[pages]."""
    for page in range(words.shape[0]):
        end = words.shape[1]
        for record in range(records[page]):
            at = np.int64(words[page, end - 2 * record - 1])
            for _ in range(words[page, at]):
                at += strides[page]
                vertex = np.uint64(words[page, at])
                named[vertex >> np.uint64(6)] |= np.uint64(1) << (vertex & np.uint64(63))
