"""Union-find on GPUs: a copy of the forest on each, its links found by its own slice of heads and its own pages.

The counterpart of gstream.algorithms.forest.HostForest; kernels are cuda/unionfind.cu. Forests of several GPUs are
merged by linking every vertex with its parent in the other forest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from gstream.algorithms import unionfind
from gstream.algorithms.forest import least_members
from gstream.cudacode.generate import UnitShape, unit_of_page_kernels
from gstream.devices.cuda import Array, DeviceError
from gstream.devices.gpu import GpuDevice
from gstream.devices.gpuqueue import Launch
from gstream.fit import piece_bytes
from pagestore.layout import HEAD_NEIGHBOURS

BLOCKS_A_PROCESSOR = 16
COUNTS = ("edges looked at", "vertices outside the giant", "trees")  # which kernels add up
MOST_SAMPLES = 256  # threads of the one block that compares them
HEADS_PART = 8  # heads that would take more than this part of a GPU's memory come piece by piece


Share = tuple[str, np.ndarray, int]  # heads id[n, 4] of vertices from the number on, and the name of their copy


class Tree:
    """One GPU's copy of the forest. Links and compressions are queued; `wait` ends them.

    So do all other calls, which answer something.
    """

    def __init__(
        self, device: GpuDevice, vertices: int, linked: int, shape: UnitShape, piece: int, labels: bool
    ) -> None:
        """linked: vertices from this one on have no edges, and stay trees of their own. piece: bytes of what is copied
        at once from forests whose memory can't be read; 0 where all can be. labels: whether `label` will be called."""
        self.device, self.gpu, self.vertices, self.dtype = device, device.gpu, vertices, shape.id_dtype
        self.linked = linked
        unit = unit_of_page_kernels("components", ("unionfind.cu", "bits.cu"), shape)
        with self.gpu, ExitStack() as undo:
            self.kernels = self.gpu.load(unit)
            self.stream = self.gpu.stream()
            self.arrays: list[Array] = []
            undo.callback(self._let_go)
            self.parent, self._counts = self._take(vertices, self.dtype), self._take(len(COUNTS), np.uint64)
            self.counter, self._outside, self._trees = map(self._counts.at, range(len(COUNTS)))
            self._told = np.zeros(len(COUNTS), np.int64)
            self.bits = self._take((linked + 63) // 64, np.uint64)
            self.piece = self._take(piece // self.dtype.itemsize, self.dtype)
            self.least = self._take(linked if labels else 0, self.dtype)
            self.giant = self._take(1, np.uint64)
            self._numbers = self.gpu.pinned(len(COUNTS), np.int64)
            self.gpu.fill(self._counts, 0, self.stream)
            self.launch("make_trees_kernel", vertices, self.parent.address, vertices)
            self.stream.synchronize()
            undo.pop_all()

    def _let_go(self) -> None:
        """Raises nothing: an error of CUDA that shows here follows one that is on its way."""
        with suppress(self.gpu.cuda.Error):
            for array in self.arrays:
                array.free()
        self.stream = None

    def _take(self, count: int, dtype: Any) -> Array:
        self.arrays.append(self.gpu.empty(count, dtype))
        return self.arrays[-1]

    def launch(self, name: str, count: int, *arguments: Any) -> None:
        """A kernel of one thread an element, or fewer."""
        blocks = max(1, min(-(-count // 256), BLOCKS_A_PROCESSOR * self.gpu.processors))
        self.kernels[name](self.stream, blocks, *arguments)

    def link_heads(self, share: Share, columns: tuple[int, int], outside: bool, plant: bool) -> None:
        """Link the vertices of a share of the heads with some of its columns; outside: but not those of the giant.

        plant: the first column of these heads is linked by plant_kernel, which leaves some of it to the next call; what
        labels are made in later holds the second column until then.
        """
        name, heads, first = share
        with self.gpu:
            array, _ = self.device.uploads.get(name, heads)
            given = (self.parent.address, array.address, first, len(heads))
            if plant and columns == (0, 1):
                self.launch("plant_kernel", len(heads), *given, self.least.address, self.counter)
            elif plant and columns == (1, 2) and self.least.count:
                self.launch("link_seconds_kernel", len(heads), *given, self.least.address, self.counter)
            else:
                begin = 0 if plant else columns[0]
                way = (begin, columns[1], plant, self.giant_where(outside), self.counter)
                self.launch("link_heads_kernel", len(heads), *given, *way)

    def compress(self) -> None:
        """Queue that every vertex points to its root."""
        with self.gpu:
            self.launch("compress_kernel", self.linked, self.parent.address, self.linked)

    def wait(self) -> None:
        with self.gpu:
            self.stream.synchronize()

    def find_giant(self, rows: int, samples: int) -> None:
        """Queue that the most frequent root among evenly spaced vertices below `rows` is the giant's from now on."""
        samples = min(rows, samples, MOST_SAMPLES)
        with self.gpu:
            self.launch("giant_kernel", 1, self.parent.address, rows // max(1, samples), samples, self.giant.address)

    def giant_where(self, used: bool) -> int:
        """Its address for a kernel; 0 where it is not used."""
        return self.giant.address if used else 0

    def mark_outside(self, degree: np.ndarray, name: str, least: int) -> None:
        """Compress, and mark vertices outside the giant with `least` edges or more; `counts` says how many."""
        with self.gpu:
            array, _ = self.device.uploads.get(name, degree)
            self.launch(
                "mark_outside_kernel", self.linked, self.parent.address, self.linked, self.giant.address,
                array.address, least, self.bits.address, self._outside,
            )  # fmt: skip

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
            array = None if natural is None else self.device.uploads.get("natural_ids", natural)[0]
            self.gpu.fill(self.least, 0xFF, self.stream)
            names, unless = 0 if array is None else array.address, self._outside if unless_outside else 0
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
        self._told += found
        return int(found[0]), int(found[1]), int(found[2])

    def join(self, other: Tree) -> None:
        """Take over the links of another GPU's forest, on which nothing is queued."""
        with self.gpu:
            whole = self.gpu.reaches(other.gpu)
            step = self.linked if whole else self.piece.count
            for first in range(0, self.linked, max(1, step)):
                size, theirs = min(step, self.linked - first), other.parent.at(first)
                if not whole:
                    self.gpu.copy(self.piece.address, theirs, size * self.dtype.itemsize, self.stream)
                    theirs = self.piece.address
                self.launch("link_forest_kernel", size, self.parent.address, theirs, first, size)
            self.stream.synchronize()

    def become(self, other: Tree) -> None:
        """Be a copy of another GPU's forest, on which nothing is queued."""
        with self.gpu:
            size = self.linked * self.dtype.itemsize
            self.gpu.copy(self.parent.address, other.parent.address, size, self.stream)
            self.stream.synchronize()

    def read(self) -> np.ndarray:
        """The parents or labels, id[V]."""
        with self.gpu:
            return self.gpu.fetch(self.parent.address, self.vertices, self.dtype, self.stream)

    def free(self) -> None:
        """Give its memory back. Raises nothing."""
        with suppress(DeviceError), self.gpu:
            self._let_go()


@dataclass(frozen=True)
class LinkPages:
    """A page kernel (gstream.sweep) that only GPUs run: links what pages hold, each GPU in its own forest."""

    trees: dict[int, Tree]  # by id of the device
    outside: bool  # only lists of vertices outside the giant
    lower_only: bool
    needs_weights: bool = False

    def gpu_work(self, device: GpuDevice) -> LinkWork:
        return LinkWork(self.trees[id(device)], self)

    def merge(self, states: list[Any]) -> None:
        """Nothing: forests are merged by the one who sweeps."""


class LinkWork:
    """link_pages over batches (gstream.devices.gpuqueue.Work)."""

    reach, name, ready = 0, "link_pages_kernel", None

    def __init__(self, tree: Tree, links: LinkPages) -> None:
        self.tree, self.links, self.stream = tree, links, tree.stream
        self.queued: list[str] = []

    def launch(self, pages: Launch, stream: Any) -> None:
        kernel = self.tree.kernels["link_pages_kernel"]
        kernel(
            stream, pages.blocks(kernel), *pages.arguments(), self.tree.parent.address,
            self.tree.giant_where(self.links.outside), self.links.lower_only, self.tree.counter,
        )  # fmt: skip

    def take_edges(self) -> int:
        return self.tree.counts()[0]

    def close(self, ended: bool) -> None:
        self.stream = None


class GpuForest:
    """The forest of one call, on all GPUs of a session's engine."""

    def __init__(self, session: Any) -> None:
        self.session, self.vertices = session, session.meta.vertices
        linked = max(session.engine.graph.reached(name) for name in ("out", "in"))
        self.devices: Sequence[GpuDevice] = session.engine.devices
        session.hold(np.empty(self.vertices, session.id_dtype))  # the answer's; memory is given when it is written
        shape = UnitShape(session.id_dtype, None, session.degree("out").dtype)
        room = session.engine.device_memory
        piece = piece_bytes(self.vertices) if session.engine.graph.apart else 0
        self.labels_here = self._fits(session, labels=True)
        self.natural = None if session.meta.order == "natural" or not self.labels_here else session.natural_ids()
        self.trees: list[Tree] = []
        self.planted: str | None = None  # the topology whose first heads are the first links of all
        self.roots, self.giant_known = 0, False  # how many there are, once there are labels
        try:
            for device in self.devices:
                if room is not None and device.memory_bytes + self._most_bytes(session) + piece > room:
                    device.release()  # pages that are cached from runs before
                labels = self.labels_here and not self.trees  # the first one's forest is the answer
                self.trees.append(Tree(device, self.vertices, linked, shape, piece, labels))
            if self.natural is not None:
                with self.devices[0].gpu:
                    self.devices[0].uploads.get("natural_ids", self.natural)
        except BaseException:
            self.free()
            raise
        self._note_bytes()

    @staticmethod
    def _most_bytes(session: Any) -> int:
        """Of trees, degrees, heads and labels on one GPU."""
        heads = sum(session.head_rows(name) for name in session.meta.topologies) * HEAD_NEIGHBOURS
        a_vertex = 3 * session.id_dtype.itemsize + 2 * session.degree("out").itemsize + 1
        return int(session.meta.vertices * a_vertex + heads * session.id_dtype.itemsize)

    @classmethod
    def fits(cls, session: Any) -> bool:
        """Whether parents, bits and degrees of all vertices fit every GPU, beside a few batches of pages."""
        return cls._fits(session, labels=False)

    @staticmethod
    def _fits(session: Any, labels: bool) -> bool:
        room, id_bytes = session.engine.device_memory, session.id_dtype.itemsize
        a_vertex = id_bytes * (3 if labels else 1) + session.degree("out").itemsize + 1
        return room is None or session.meta.vertices * a_vertex <= room // 2

    def _note_bytes(self) -> None:
        """What the engine's plans for sweeps leave to the forest."""
        held = max(sum(a.nbytes for a in tree.arrays) + tree.device.uploads.memory_bytes for tree in self.trees)
        self.session.engine.beside_device_bytes = held

    def _each(self, call: Callable[[int], None]) -> None:
        """call(number) for every tree, then wait for all where there are several."""
        for number in range(len(self.trees)):
            call(number)
        if len(self.trees) > 1:
            self._wait()

    def _wait(self) -> None:
        for tree in self.trees:
            tree.wait()

    def link_heads(self, name: str, first_column: int, end_column: int, outside: bool = False) -> None:
        """Link all vertices, or those outside the giant, with columns of their heads of topology `name`."""
        room, count = self.session.engine.device_memory, len(self.trees)
        if self.planted is None:
            assert first_column == 0, "columns are linked in order"
            self.planted = name
        plant = name == self.planted and first_column <= 1
        kept = f"heads/{self.session.store.topology(name).name}"
        for first, heads in self.session.heads(name):
            pieces = 1 if room is None else max(1, -(-heads.nbytes * HEADS_PART // room))
            whole = pieces == 1 and len(heads) == self.session.head_rows(name)
            bounds = [len(heads) * k // (pieces * count) for k in range(pieces * count + 1)]
            for piece in range(0, pieces * count, count):
                shares = [
                    (kept if whole and count == 1 else f"{kept} from {first + low}", heads[low:high], first + low)
                    for low, high in zip(bounds[piece:], bounds[piece + 1 : piece + count + 1], strict=False)
                ]

                def link(number: int, shares: list[Share] = shares) -> None:
                    self.trees[number].link_heads(shares[number], (first_column, end_column), outside, plant)

                self._each(link)
                if not whole:
                    self._wait()
                    self._drop([share[0] for share in shares])
        self._merge()

    def _drop(self, names: list[str]) -> None:
        for tree, name in zip(self.trees, names, strict=True):
            with tree.gpu:
                tree.device.uploads.drop(name)

    def compress(self) -> None:
        self._each(lambda d: self.trees[d].compress())

    def find_giant(self, rows: int, samples: int) -> None:
        """Find the most frequent root among evenly spaced vertices below `rows` (> 0); trees must be compressed."""
        self.giant_known = True
        self._each(lambda d: self.trees[d].find_giant(rows, samples))

    def pages_outside(self, name: str, least: int, first: bool, last: bool) -> np.ndarray | None:
        """As HostForest has it. Where nothing may be left to be linked, labels are queued before that is known."""
        kept, tree = "in_degree" if name == "in" and self.session.meta.directed else "degree", self.trees[0]
        tree.mark_outside(self.session.degree(name), kept, least)
        hoped = last and self.labels_here
        if hoped:
            tree.label(self.natural, unless_outside=True)
        edges, outside, trees = tree.counts()
        self.session.stats.edges_visited += edges
        if outside:
            return self.session.pages_of(name, tree.outside())
        self.roots = trees + self.vertices - tree.linked if hoped else 0
        return None

    def link_pages(self, name: str, outside: bool, lower_only: bool, pages: np.ndarray | None = None) -> None:
        """Link what pages hold (bool[pages]; None: all); outside: lists of vertices in the giant are passed over."""
        self._note_bytes()
        self._wait()  # batches have streams of their own
        self.session.sweep(name, LinkPages({id(tree.device): tree for tree in self.trees}, outside, lower_only), pages)
        self._merge()

    def _merge(self) -> None:
        """All forests become the same."""
        if len(self.trees) == 1:
            return
        for tree in self.trees[1:]:
            self.trees[0].join(tree)
        self.trees[0].compress()
        self.trees[0].wait()
        for tree in self.trees[1:]:
            tree.become(self.trees[0])

    def label(self) -> None:
        """Work the labels out, where a GPU has room for them; else `labels` does, on the host's cores."""
        tree = self.trees[0]
        if self.labels_here and not self.roots:
            if not self.giant_known:
                tree.find_giant(tree.linked, MOST_SAMPLES)
            tree.label(self.natural, unless_outside=False)
        counts = [tree.counts() for tree in self.trees if not (tree is self.trees[0] and self.roots)]
        self.session.stats.edges_visited += sum(edges for edges, _, _ in counts)
        self.roots = self.roots or counts[0][2] + self.vertices - tree.linked

    def labels(self) -> tuple[np.ndarray, int]:
        """As HostForest has them, after `label`."""
        found = self.trees[0].read()
        if self.labels_here:
            return found, self.roots
        return least_members(self.session, found), int(unionfind.count_roots(found))

    def free(self) -> None:
        for tree in self.trees:
            tree.free()
        self.session.engine.beside_device_bytes = 0
