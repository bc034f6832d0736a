"""One GPU's copy of a forest of union-find (gstream.algorithms.components.gpu_forest); the kernels are
cuda/unionfind.cu.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, suppress
from typing import Any

import numpy as np

from gstream.cudacode.generate import UnitShape, unit_of_components
from gstream.devices.gpu.arrays import Array
from gstream.devices.gpu.device import GpuDevice
from gstream.devices.gpu.driver import DeviceError
from gstream.devices.gpu.memory import Memory
from gstream.devices.gpu.rank_links import Link, Part
from gstream.devices.gpu.stream_lane import span_of
from gstream.devices.ranks import Ranks
from gstream.records.held import Held

BLOCKS_A_PROCESSOR = 16
COUNTS = ("edges looked at", "vertices outside the giant", "trees")  # which kernels add up
MOST_SAMPLES = 256  # threads of the one block that compares them

Share = tuple[str, np.ndarray, int]  # heads id[n, 4] of vertices from the number on, and the name of their copy


class Tree(Memory):
    """One GPU's copy of the forest. Calls only queue what they do, but for those that answer with numbers or arrays,
    and those that take two trees."""

    again = True

    def __init__(
        self, device: GpuDevice, vertices: int, linked: int, shape: UnitShape, piece: int, labels: bool
    ) -> None:
        """linked: vertices from this one on have no edges, and stay trees of their own. piece: bytes of what is copied
        at once from forests whose memory can't be read; 0 where all can be. labels: whether `label` will be called."""
        super().__init__(device.gpu)
        self.device, self.vertices, self.dtype = device, vertices, shape.id_dtype
        self.linked = linked
        self._numbers: Any = None  # pinned
        unit = unit_of_components(shape)
        with self.gpu, ExitStack() as undo:
            self.kernels = self.gpu.load(unit)
            self.stream = self.gpu.stream()
            undo.callback(self.let_go)
            self.parent, self._counts = self.take(vertices, self.dtype), self.take(len(COUNTS), np.uint64)
            self.counter, self._outside, self._trees = map(self._counts.at, range(len(COUNTS)))
            self._told = np.zeros(len(COUNTS), np.int64)
            self.bits = self.take((linked + 63) // 64, np.uint64)
            self.piece = self.take(piece // self.dtype.itemsize, self.dtype)
            self.least = self.take(linked if labels else 0, self.dtype)
            self.giant = self.take(1, np.uint64)
            self._numbers = self.gpu.pinned(len(COUNTS), np.int64)
            self.gpu.fill(self._counts, 0, self.stream)
            self.launch("make_trees_kernel", vertices, self.parent.address, vertices)
            self.stream.synchronize()
            undo.pop_all()

    def free(self) -> None:
        super().free()
        if self._numbers is not None:
            self.gpu.keep_pinned(self._numbers)
        self.stream = self._numbers = None

    def launch(self, name: str, count: int, *arguments: Any) -> None:
        """A kernel of one thread an element, or fewer."""
        blocks = max(1, min(-(-count // 256), BLOCKS_A_PROCESSOR * self.gpu.processors))
        with self._span("vertices", name):
            self.kernels[name](self.stream, blocks, *arguments)

    def _span(self, track: str, name: str) -> AbstractContextManager[None]:
        return span_of(self.device.spans, track, name, self.stream)

    def _over(self) -> None:
        """Everything queued is known to be over."""
        if self.device.spans is not None:
            self.stream.synchronize()  # the mark behind the last copy, too
            self.device.spans.flush()

    def borrow(self, name: str, values: np.ndarray) -> Array:
        """The GPU's copy of an array of the store's (Uploads' name); counted where it has to move."""
        with self.gpu:
            array, moved = self.device.uploads.get(name, values)
        self.device.stats.attribute_bytes += moved
        return array

    def link_heads(self, share: Share, columns: tuple[int, int], outside: bool, plant: bool, alone: bool) -> None:
        """Link the vertices of a share of the heads with some of its columns; outside: but not those of the giant.

        plant: the first column of these heads is linked by plant_kernel, which leaves some of it to the next call.
        alone: this GPU gets all heads in each call, so that what labels are made in later holds the second column.
        """
        name, heads, first = share
        count = max(0, min(len(heads), self.linked - first))  # in natural order some behind it are empty
        seconds = self.least.address if alone else 0
        with self.gpu:
            array = self.borrow(name, heads)
            given = (self.parent.address, array.address, first, count)
            if plant and columns == (0, 1):
                self.launch("plant_kernel", count, *given, seconds, self.counter)
            elif plant and columns == (1, 2) and seconds:
                self.launch("link_seconds_kernel", count, *given, seconds, self.counter)
            else:
                begin = 0 if plant else columns[0]
                way = (begin, columns[1], plant, self.giant_where(outside), self.counter)
                self.launch("link_heads_kernel", count, *given, *way)

    def compress(self) -> None:
        """Queue that every vertex points to its root."""
        with self.gpu:
            self.launch("compress_kernel", self.linked, self.parent.address, self.linked)

    def wait(self) -> None:
        with self.gpu:
            self.stream.synchronize()
            self._over()

    def find_giant(self, rows: int, samples: int) -> None:
        """Queue that the most frequent root among evenly spaced vertices below `rows` is the giant's from now on."""
        samples = min(rows, samples, MOST_SAMPLES)
        with self.gpu:
            self.launch("giant_kernel", 1, self.parent.address, rows // max(1, samples), samples, self.giant.address)

    def giant_where(self, used: bool) -> int:
        """Its address for a kernel; 0 where it is not used."""
        return self.giant.address if used else 0

    def mark_full(self, name: str, rows: int) -> bool:
        """Compress, and mark vertices outside the giant whose heads are full; `counts` says how many.

        False where the GPU does not have these heads (Uploads' name).
        """
        heads = self.device.uploads.find(name)
        if heads is not None:
            self._mark(heads.address, rows, 0, 0)
        return heads is not None

    def mark_long(self, name: str, degree: np.ndarray, least: int) -> None:
        """The same for vertices with `least` edges or more."""
        self._mark(0, 0, self.borrow(name, degree).address, least)

    def _mark(self, heads: int, rows: int, degree: int, least: int) -> None:
        with self.gpu:
            self.launch(
                "mark_outside_kernel", self.linked, self.parent.address, self.linked, self.giant.address, heads, rows,
                degree, least, self.bits.address, self._outside,
            )  # fmt: skip

    @property
    def marked(self) -> bool:
        """Whether any vertex is known to have been marked: `label` with unless_outside then does nothing."""
        return bool(self._told[1])

    def outside(self) -> np.ndarray:
        """uint64[ceil(V / 64)]: the vertices that were marked last."""
        bits = np.zeros((self.vertices + 63) // 64, np.uint64)
        with self.gpu:
            self.gpu.read(self.bits.address, bits[: self.bits.count], self.stream)
        return bits

    def label(self, natural: np.ndarray | None, unless_outside: bool) -> None:
        """Make the parents labels, as HostForest.labels has them; trees must be compressed, and a giant found.

        natural: id[V], None where natural indices are store IDs. unless_outside: not where any vertex was marked.
        """
        with self.gpu:
            names = 0 if natural is None else self.borrow("natural_ids", natural).address
            self.gpu.fill(self.least, 0xFF, self.stream)
            unless = self._outside if unless_outside else 0
            self.launch(
                "least_natural_kernel", self.linked, self.parent.address, names, self.linked, self.giant.address,
                self.least.address, self._trees, unless,
            )  # fmt: skip
            given = (self.parent.address, self.least.address, names, self.linked, self.vertices)
            self.launch("relabel_kernel", self.vertices, *given, unless)

    def counts(self) -> tuple[int, int, int]:
        """(edges looked at, vertices marked, trees labelled) since the last call, when all is over."""
        with self.gpu:
            found = self.gpu.read(self._counts.address, self._numbers, self.stream) - self._told
            self._over()
        self._told += found
        return int(found[0]), int(found[1]), int(found[2])

    def join(self, other: Tree) -> None:
        """Take over the links of another GPU's forest, on which nothing is queued."""
        with self.gpu, self._span("merges", f"join the forest of {other.device.name}"):
            whole = self.gpu.reaches(other.gpu)
            step = self.linked if whole else self.piece.count
            for first in range(0, self.linked, max(1, step)):
                size, theirs = min(step, self.linked - first), other.parent.at(first)
                if not whole:
                    self.gpu.copy(self.piece.address, theirs, size * self.dtype.itemsize, self.stream)
                    theirs = self.piece.address
                self.launch("link_forest_kernel", size, self.parent.address, theirs, first, size)
        self.wait()

    def join_ranks(self, ranks: Ranks, link: Link) -> None:
        """Take over the links of other ranks' forests. All ranks make this call.

        From the last vertices to the first: a link of these may change while others come, and leads to a root whose own
        link is yet to go. The other way round a root that went as such would never be linked.
        """
        others = [rank for rank in range(ranks.size) if rank != ranks.rank]
        step, width = self.piece.count // len(others), self.dtype.itemsize
        with self.gpu, self._span("merges", "join the forests of other ranks"):
            for first in reversed(range(0, self.linked, step)):
                size = min(step, self.linked - first)
                rooms = [self.piece.at(k * step) for k in range(len(others))]
                given = [Part(rank, self.parent.at(first), size * width) for rank in others]
                taken = [Part(rank, room, size * width) for rank, room in zip(others, rooms, strict=True)]
                link.swap(self, 0, given, taken)
                for room in rooms:
                    self.launch("link_forest_kernel", size, self.parent.address, room, first, size)

    def become(self, other: Tree) -> None:
        """Be a copy of another GPU's forest, on which nothing is queued."""
        with self.gpu:
            size = self.linked * self.dtype.itemsize
            with self._span("merges", f"take the forest of {other.device.name}"):
                self.gpu.copy(self.parent.address, other.parent.address, size, self.stream)
        self.wait()

    def read(self) -> np.ndarray:
        """The parents or labels, id[V]."""
        with self.gpu:
            with self._span("copies", "copy: the forest, on its way back"):
                found = self.gpu.fetch(self.parent.address, self.vertices, self.dtype, self.stream)
            self._over()
            return found

    def hand_over(self) -> Held:
        """The parents or labels, which outlive the tree; nothing is done with it afterwards."""
        self.wait()
        self.arrays.remove(self.parent)
        return self.device.kept.keep(self.parent, self.vertices)

    def read_giant(self) -> int:
        """The giant's root when it was found."""
        found = np.zeros(1, np.uint64)
        with self.gpu:
            self.gpu.read(self.giant.address, found, self.stream)
            self._over()
        return int(found[0])

    def set_giant(self, giant: int) -> None:
        """Have this giant."""
        with self.gpu:
            self.gpu.write(self.giant.address, np.array([giant], np.uint64))

    def take_up(self, parent: np.ndarray, giant: int) -> None:
        """Have these parents, id[V], and this giant."""
        with self.gpu:
            self.gpu.write(self.parent.address, parent)
        self.set_giant(giant)
        self.device.stats.attribute_bytes += parent.nbytes

    def close(self) -> None:
        """Give its memory back. Raises nothing."""
        with suppress(DeviceError), self.gpu:
            self.let_go()
