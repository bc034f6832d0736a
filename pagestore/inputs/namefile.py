"""Names on disk: temporary files of unsorted names, split by ranges of names, and sorted ones without repetitions.

A part whose names don't fit in memory is split again by its own splitters, so the input's order does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pagestore.convert.edgefile import grouped
from pagestore.convert.storage import TempFile
from pagestore.cores import in_order
from pagestore.errors import ResourceError
from pagestore.inputs.namesort import NameBatch, pick_splitters, ranges_of, sort_order

PARTS = 64
SAMPLE = 1 << 16
READ_NAMES = 1 << 16
BYTES_PER_NAME = 144  # offsets, hashes, order, words and their copies while a part is sorted
COPIES = 3  # of the bytes of names: as read, joined, in order
DEEPEST = 8  # levels of splitting: 64^8 parts


class NameFile:
    """A growing file of names and hashes, read forward: lengths u4[n], hashes u8[n] and bytes of each batch."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._batches: list[tuple[int, int]] = []  # names and bytes
        self._file, self._end = TempFile(path), 0
        self.names = self.bytes = 0

    def append(self, names: NameBatch) -> None:
        """Add names."""
        if len(names) == 0:
            return
        first, last = int(names.offsets[0]), int(names.offsets[-1])
        for array in (names.lengths.astype("<u4"), names.hashes, names.data[first:last]):
            self._end = self._file.write(self._end, array)
        self._batches.append((len(names), last - first))
        self.names, self.bytes = self.names + len(names), self.bytes + last - first

    def close(self) -> None:
        """Give the descriptor back for now."""
        self._file.close()

    def read(self) -> Iterator[NameBatch]:
        """All names, small batches joined to READ_NAMES or so."""
        return map(joined, grouped(self._stored(), READ_NAMES))

    def _stored(self) -> Iterator[NameBatch]:
        at = 0
        for count, size in self._batches:
            offsets = np.zeros(count + 1, dtype=np.int64)
            np.cumsum(self._file.read(at, np.empty(count, "<u4")), out=offsets[1:])
            hashes = self._file.read(at + 4 * count, np.empty(count, "<u8"))
            yield NameBatch(offsets, self._file.read(at + 12 * count, np.empty(size, np.uint8)), hashes)
            at += 12 * count + size

    def remove(self) -> None:
        """Close and remove the file."""
        self._file.remove()


def joined(batches: list[NameBatch]) -> NameBatch:
    """One batch of all names."""
    lengths = np.concatenate([batch.lengths for batch in batches]) if batches else np.empty(0, dtype=np.int64)
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    parts = [batch.data[int(batch.offsets[0]) : int(batch.offsets[-1])] for batch in batches]
    hashes = [batch.hashes for batch in batches]
    return NameBatch(
        offsets,
        np.concatenate(parts) if parts else np.empty(0, dtype=np.uint8),
        np.concatenate(hashes) if hashes else np.empty(0, dtype=np.uint64),
    )


@dataclass(frozen=True)
class Ranged:
    """Names, and the range of splitters that each falls into; None: there were no splitters yet."""

    names: NameBatch
    part: np.ndarray | None


class NameParts:
    """Names split into files by the splitters of the first batch; `path` names them."""

    def __init__(self, path: Path) -> None:
        self._path, self._splitters = (
            path,
            NameBatch(np.zeros(1, np.int64), np.empty(0, np.uint8), np.empty(0, np.uint64)),
        )
        self.files: list[NameFile] = []

    def ranged(self, names: NameBatch) -> Ranged:
        """The names with their ranges, as `append` takes them; any thread may call it."""
        if not self.files or not len(names):
            return Ranged(names, None)
        part = np.empty(len(names), dtype=np.uint8)
        ranges_of(names.data, names.offsets, self._splitters.data, self._splitters.offsets, part)
        order = np.argsort(part, kind="stable")
        return Ranged(names.take(order), part[order])

    def append(self, given: Ranged | NameBatch) -> None:
        """Add names; the first ones choose the splitters."""
        names = given.names if isinstance(given, Ranged) else given
        if not len(names):
            return
        if not self.files:
            step = max(len(names) // SAMPLE, 1)
            self._splitters = pick_splitters(names.take(np.arange(0, len(names), step)), PARTS)
            self.files = [
                NameFile(self._path.with_name(f"{self._path.name}-{part}")) for part in range(len(self._splitters) + 1)
            ]
        if not isinstance(given, Ranged) or given.part is None:
            given = self.ranged(names)
            names = given.names
        bounds = np.cumsum(np.bincount(given.part, minlength=len(self.files))).tolist()  # type: ignore[arg-type]
        for file, begin, end in zip(self.files, [0, *bounds], bounds, strict=False):
            file.append(NameBatch(names.offsets[begin : end + 1], names.data, names.hashes[begin:end]))

    def sorted(self, memory_bytes: int, depth: int = 0, threads: int = 1) -> Iterator[NameBatch]:
        """All distinct names in ascending order, a part at a time, on as many threads as `memory_bytes` allow.

        The files are removed on the way.
        """
        for file in self.files:
            file.close()
        fitting = [size for file in self.files if (size := _sort_bytes(file)) <= memory_bytes]

        def distinct(file: NameFile) -> NameBatch | None:
            return _without_repetitions(joined(list(file.read()))) if _sort_bytes(file) <= memory_bytes else None

        at_once = min(threads, memory_bytes // max(1, *fitting, 1) - 1)
        made: Iterable[tuple[NameFile, NameBatch | None]] = ((file, distinct(file)) for file in self.files)
        for file, names in in_order(self.files, distinct, at_once) if at_once > 1 else made:
            if names is not None:
                yield names
            elif depth < DEEPEST and file.names > 1:
                finer = NameParts(file.path.with_name(file.path.name + "-"))
                for batch in self._sampled_first(file):
                    finer.append(batch)
                yield from finer.sorted(memory_bytes, depth + 1)
            else:
                raise ResourceError(
                    f"{file.names} vertex names of {file.bytes} bytes don't fit in the memory given, and can't be "
                    f"split further. Pass a larger --memory."
                )
            file.remove()

    @staticmethod
    def _sampled_first(file: NameFile) -> Iterator[NameBatch]:
        """The names of `file`, ahead of them a sample from all over it, which decides the splitters.

        A batch is yielded without its repetitions, so a part of one name, many times, shrinks at every level.
        """
        sample = []
        for batch in file.read():
            step = max(file.names // SAMPLE, 1)
            sample.append(batch.take(np.arange(0, len(batch), step)))
        yield _without_repetitions(joined(sample))
        for batch in file.read():
            yield _without_repetitions(batch)


def _sort_bytes(file: NameFile) -> int:
    """That sorting a file's names takes."""
    return COPIES * file.bytes + BYTES_PER_NAME * file.names


def _without_repetitions(names: NameBatch) -> NameBatch:
    order, equal = sort_order(names)
    return names.take(order[~equal])
