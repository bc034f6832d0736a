"""Kernels of cuda/rows.cu: rows of tables, the best of them, and counts. Call with the GPU's context current."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gstream.cudacode.generate import unit_of_rows
from gstream.devices.gpu.arrays import Array
from gstream.devices.gpu.driver import Gpu

NULLABLE, SIGNED, WIDE, FLOATS, DESCENDING = 1, 2, 4, 8, 16
PIECE_BYTES = 32 << 20  # of tables that are made and copied at once: 0.6 ms of a link
BLOCKS_A_PROCESSOR = 8
BEST_BLOCKS_A_PROCESSOR = 4  # that look for the best rows
MOST_BEST = 4096  # values that are brought to the host to be sorted
WORD = 4


@dataclass(frozen=True)
class Source:
    """Where a column's words come from, and what becomes of them: as of take_rows_kernel. values: 0: their number."""

    values: int = 0
    value_bytes: int = 8
    order: int = 0
    renamed: int = 0
    names: int = 0
    id_bytes: int = 4
    base: int = 0
    missing: int = 0
    none: int = 0
    flags: int = 0


@dataclass(frozen=True)
class Part:
    """A column of a table: to which of the outputs it goes, the first of its words in a row there, and the output that
    has its bits of validity, or None."""

    source: Source
    out: int
    column: int = 0
    valid: int | None = None


class RowKernels:
    """With their streams, and memory for pieces of tables, which are made on one while the other's are copied."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu, self._kernels = gpu, gpu.load(unit_of_rows())
        self.stream, self._other = gpu.stream(), gpu.stream()
        self._scratch: dict[str, Array] = {}

    def free_scratch(self) -> None:
        """Give memory back; nothing may be queued."""
        for array in self._scratch.values():
            array.free()
        self._scratch = {}

    def scratch(self, name: str, nbytes: int) -> Array:
        """At least so many bytes, kept by that name."""
        have = self._scratch.get(name)
        if have is None or have.nbytes < nbytes:
            if have is not None:
                have.free()
            self._scratch[name] = have = self.gpu.empty(-(-nbytes // 8), np.uint64, again=True)
        return have

    def _launch(self, name: str, threads: int, stream: Any, *arguments: Any) -> None:
        blocks = max(1, min(-(-threads // 256), BLOCKS_A_PROCESSOR * self.gpu.processors))
        self._kernels[name](stream, blocks, *arguments)

    def place(self, count: int, out: Array, source: Source) -> None:
        """A column's rows [0, count) to an array of the GPU's, of 4 or 8 bytes each. Whole on return."""
        self._take_rows(self.stream, source, 0, out.address, out.dtype.itemsize // WORD, 0, 0, count)
        self.gpu.peer_wait.wait_for(self.stream)

    def _take_rows(
        self, stream: Any, source: Source, valid: int, out: int, row_words: int, column: int, first: int, rows: int
    ) -> None:
        self._launch(
            "take_rows_kernel", rows, stream, source.values, source.value_bytes, source.order, source.renamed,
            source.names, source.id_bytes, source.base, source.missing, source.none, source.flags, out, row_words,
            column, valid, first, rows,
        )  # fmt: skip

    def fill(self, count: int, outputs: Sequence[tuple[np.ndarray, int]], parts: Sequence[Part]) -> None:
        """Rows [0, count) of a table. outputs: (bytes of a host array, bits of a row in it); 1 bit a row: validity.

        Whole on return. Pieces are of a multiple of 64 rows, so that each begins at a whole word everywhere.
        """
        row_bits = sum(bits for _, bits in outputs)
        rows = max(64, PIECE_BYTES * 8 // row_bits // 64 * 64)
        offsets, size = [], 0
        for _, bits in outputs:
            offsets.append(size)
            size += -(-min(rows, -(-count // 64) * 64) * bits // 64) * 8
        for number, first in enumerate(range(0, count, rows)):
            stream, here = (self.stream, self._other)[number % 2], min(rows, count - first)
            room = self.scratch(f"piece {number % 2}", size).address
            for part in parts:
                valid = 0 if part.valid is None else room + offsets[part.valid]
                words = outputs[part.out][1] // (8 * WORD)
                self._take_rows(stream, part.source, valid, room + offsets[part.out], words, part.column, first, here)
            for (array, bits), offset in zip(outputs, offsets, strict=True):
                begin, end = first * bits // 8, -(-(first + here) * bits // 8)
                self.gpu.queue_read(room + offset, array[begin:end], stream)
        for stream in (self.stream, self._other):
            self.gpu.peer_wait.wait_for(stream)

    def pick(self, values: Array, places: np.ndarray) -> np.ndarray:
        """Values at some places, uint64[n]; values of 4 or 8 bytes."""
        there, dtype = self.scratch("places", places.nbytes), values.dtype
        self.gpu.write(there.address, places)
        out = np.empty(len(places), dtype)
        flags = WIDE if dtype.itemsize == 8 else 0
        given = Source(values.address, dtype.itemsize, there.address, id_bytes=places.itemsize, flags=flags)
        self.fill(len(places), [(out.view(np.uint8), 8 * dtype.itemsize)], [Part(given, 0)])
        return out

    def best_of_warps(self, source: Source, names: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        """(keys, names), uint64[warps], of the best value that each warp sees; all bits set where it sees none. names:
        address of IDs; 0: places. source.flags: FLOATS, SIGNED, DESCENDING, NULLABLE."""
        blocks = self._best_blocks(count)
        warps = 8 * blocks
        room = self.scratch("best", 8 * 2 * warps)
        given = (source.values, source.value_bytes, names, source.id_bytes, source.missing, source.flags, count)
        self._kernels["best_of_warps_kernel"](self.stream, blocks, *given, room.address, room.at(warps))
        found = self.gpu.fetch(room.address, 2 * warps, np.uint64, self.stream).reshape(2, warps)
        return found[0], found[1]

    def find_better(self, source: Source, names: int, count: int, bound: tuple[int, int]) -> np.ndarray | None:
        """Keys, names and places, uint64[3, n], of the values up to a bound, in any order; None: of too many."""
        room = self.scratch("better", 8 * (1 + 3 * MOST_BEST))
        self.gpu.fill(room, 0, self.stream)
        columns = [room.at(1 + number * MOST_BEST) for number in range(3)]
        given = (source.values, source.value_bytes, names, source.id_bytes, source.missing, source.flags, count)
        self._kernels["find_better_kernel"](
            self.stream, self._best_blocks(count), *given, *bound, MOST_BEST, *columns, room.address
        )  # fmt: skip
        found = self.gpu.fetch(room.address, 1 + 3 * MOST_BEST, np.uint64, self.stream)
        return None if found[0] > MOST_BEST else found[1:].reshape(3, -1)[:, : int(found[0])]

    def _best_blocks(self, count: int) -> int:
        return int(max(1, min(count // 256, BEST_BLOCKS_A_PROCESSOR * self.gpu.processors)))

    def count_unlike(self, values: Array, count: int, missing: Any) -> int:
        """How many of the first `count` values are not `missing`."""
        counter = self.scratch("counter", 8)
        self.gpu.fill(counter, 0, self.stream)
        word = int(np.array([missing], values.dtype).view(f"u{values.dtype.itemsize}")[0])
        given = (values.address, values.dtype.itemsize, count, word, counter.address)
        self._launch("count_unlike_kernel", count, self.stream, *given)
        return int(self.gpu.read(counter.address, np.zeros(1, np.uint64), self.stream)[0])

    def group_sizes(self, labels: Source, count: int) -> Array:
        """How many of the values are each number below `count`: words of the labels' width; kept until the next."""
        sizes = self.scratch("sizes", count * labels.value_bytes)
        self.gpu.fill(sizes, 0, self.stream)
        given = (labels.values, labels.value_bytes, count, sizes.address)
        self._launch("count_groups_kernel", count, self.stream, *given)
        return sizes
