"""Values of mirrors between GPUs of ranks, of sums that are pulled on a graph in parts (cuda/mirrors.cu).

A mirror is a vertex of another rank's slice that this rank's pages name or list. Of every other rank a GPU has bitmaps:
which vertices of its slice it reads and writes, and which of this GPU's slice the other does. So no vertices go with
the values. If most of a slice is sent, the whole slice is sent, which takes no kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gstream.cudacode.generate import unit_of_mirrors
from gstream.devices.attributes import piece_bytes
from gstream.devices.gpu.arrays import Array
from gstream.devices.gpu.driver import Gpu
from gstream.devices.gpu.memory import Memory
from gstream.devices.gpu.rank_links import Link, Part
from gstream.devices.gpu.vertex_state import GpuState
from gstream.devices.job import Range
from gstream.devices.ranks import Ranks

WHOLE = 0.75  # of a slice's values, from which on all of them go
WIDTHS = (4, 8)  # bytes of values that go by lists


def goes_by_lists(state: GpuState) -> bool:
    """Whether a job's sums and messages have widths that lists are for."""
    return state.got.dtype.itemsize in WIDTHS and state.messages.dtype.itemsize in WIDTHS


@dataclass(frozen=True)
class Told:
    """Vertices of a slice that go to or come from a rank: bits of its words, and set bits before each; count of all."""

    bits: Array
    before: Array
    count: int

    def given(self, low: int, high: int) -> tuple[int, int, int, int, int]:
        """A kernel's arguments for elements of the list."""
        return self.bits.address, self.before.address, self.bits.count, low, high


class GpuMirrors(Memory):
    """Of one GPU; slices: of the GPUs of its number, one a rank."""

    def __init__(self, gpu: Gpu, ranks: Ranks, slices: Sequence[Range], reads: np.ndarray, writes: np.ndarray) -> None:
        super().__init__(gpu)
        self._ranks, self._slices = ranks, slices
        self._others = [rank for rank in range(ranks.size) if rank != ranks.rank]
        with gpu:
            self._kernels = gpu.load(unit_of_mirrors())
            self._reads, self._read_by = self._lists(reads)
            self._writes, self._written_by = self._lists(writes)

    def _lists(self, bits: np.ndarray) -> tuple[dict[int, Told | None], dict[int, Told | None]]:
        """For each rank: (this rank's mirrors in its slice, its mirrors in this rank's slice); None: whole slices."""
        mine = {rank: self._told(bits[_words(self._slices[rank])], self._slices[rank]) for rank in self._others}
        own = self._slices[self._ranks.rank]
        rooms = {rank: np.empty(len(bits[_words(own)]), np.uint64) for rank in self._others}
        self._ranks.swap_parts(
            [(rank, _bytes(bits[_words(self._slices[rank])])) for rank in self._others],
            [(rank, _bytes(room)) for rank, room in rooms.items()],
        )
        return mine, {rank: self._told(room, own) for rank, room in rooms.items()}

    def _told(self, words: np.ndarray, part: Range) -> Told | None:
        ends = np.cumsum(np.bitwise_count(words).astype(np.uint64))
        count = int(ends[-1]) if len(ends) else 0
        if count >= WHOLE * (part[1] - part[0]) or not len(words):
            return None
        before = np.concatenate([[0], ends[:-1]]).astype(np.uint32)
        return Told(self.upload(words), self.upload(before), count)

    def gather(self, state: GpuState, number: int, link: Link, senders: int) -> None:
        """Messages of mirrors come from their owners. senders: vertices from this one on send nothing."""
        array = state.messages
        own = self._slices[self._ranks.rank]
        gives = [(rank, self._read_by[rank], own) for rank in self._others]
        takes = [(rank, self._reads[rank], self._slices[rank]) for rank in self._others]
        self._swap(state, number, link, array, senders, gives, takes, "put_kernel", (array.dtype.itemsize // 4,))

    def reduce(self, state: GpuState, number: int, link: Link, receivers: int) -> None:
        """Own slice of what vertices got becomes what all ranks have of it, in their order after this one."""
        array, own = state.got, self._slices[self._ranks.rank]
        gives = [(rank, self._writes[rank], self._slices[rank]) for rank in self._others]
        takes = [(rank, self._written_by[rank], own) for rank in self._others]
        kind = f"{'f' if array.dtype.base.kind == 'f' else 'u'}{8 * array.dtype.itemsize}"
        self._swap(state, number, link, array, receivers, gives, takes, f"add_{kind}_kernel", ())

    def _swap(
        self, state: GpuState, number: int, link: Link, array: Array, end: int,
        gives: Sequence[tuple[int, Told | None, Range]], takes: Sequence[tuple[int, Told | None, Range]], kernel: str,
        more: tuple[int, ...],
    ) -> None:  # fmt: skip
        """Piece by piece: pick what other ranks take, swap, and have `kernel` bring in what comes."""
        width, nbytes = array.dtype.itemsize, piece_bytes(state.job.vertices)
        step = nbytes // width
        rooms = [state.buffer(f"pieces of ranks {k}", len(self._others) * nbytes, np.uint8) for k in range(2)]
        for at in range(0, max(_count(told, part, end) for _, told, part in (*gives, *takes)), step):
            out, into = list[Part](), list[Part]()
            for k, (rank, low, high, told, part) in enumerate(_pieces(gives, end, at, step)):
                address = array.at(part[0] + low)
                if told is not None:
                    address = rooms[0].address + k * nbytes
                    given = array.at(part[0]), *told.given(low, high), address, width // 4
                    self._launch(state, "pick_kernel", told, *given)
                out.append(Part(rank, address, (high - low) * width))
            came = list(_pieces(takes, end, at, step))
            for k, (rank, low, high, _, _) in enumerate(came):
                into.append(Part(rank, rooms[1].address + k * nbytes, (high - low) * width))
            self._link_swap(state, number, link, out, into)
            for k, (_, low, high, told, part) in enumerate(came):
                self._bring_in(state, array, kernel, told, part, low, high, rooms[1].address + k * nbytes, more)

    def _link_swap(self, state: GpuState, number: int, link: Link, out: list[Part], into: list[Part]) -> None:
        full = [[part for part in parts if part.nbytes] for parts in (out, into)]
        if full[0] or full[1]:
            link.swap(state, number, *full)

    def _bring_in(
        self, state: GpuState, array: Array, kernel: str, told: Told | None, part: Range, low: int, high: int,
        address: int, more: tuple[int, ...],
    ) -> None:  # fmt: skip
        """Elements [low, high) of a list or slice, which lie at an address."""
        if low >= high:
            return
        first, width = array.at(part[0]), array.dtype.itemsize
        if told is not None:
            self._launch(state, kernel, told, first, *told.given(low, high), address, *more)
        elif kernel == "put_kernel":
            self.gpu.copy(array.at(part[0] + low), address, (high - low) * width, state.stream)
        else:
            copies = state.table_of([array.at(part[0] + low), address])
            state.launch("reduce_kernel", state.blocks(high - low, 256), array.at(part[0] + low), copies, 2, high - low)

    def _launch(self, state: GpuState, name: str, told: Told, *arguments: Any) -> None:
        state.queued.append(f"{name} of mirrors")
        with state.span("merges", name):
            self._kernels[name](state.stream, state.blocks(32 * told.bits.count, 256), *arguments)


def _words(part: Range) -> slice:
    return slice(part[0] // 64, -(-part[1] // 64)) if part[0] < part[1] else slice(0, 0)


def _bytes(words: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(words).view(np.uint8)


def _count(told: Told | None, part: Range, end: int) -> int:
    """Elements that go: of a list, or of a slice's vertices before `end`."""
    return told.count if told is not None else max(0, min(part[1], end) - part[0])


def _pieces(
    parts: Sequence[tuple[int, Told | None, Range]], end: int, at: int, step: int
) -> Iterator[tuple[int, int, int, Told | None, Range]]:
    """(rank, first, last element, list, slice) of each part, of its elements from `at` on."""
    for rank, told, part in parts:
        count = _count(told, part, end)
        yield rank, min(at, count), min(at + step, count), told, part
