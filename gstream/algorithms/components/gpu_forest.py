"""Union-find on GPUs: each has a copy of the forest, and links its own slice of heads and its own pages.

The counterpart of forest.HostForest; kernels are cuda/unionfind.cu. Forests of several GPUs are merged by linking every
vertex with its parent in the other forest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gstream.algorithms.components.forest import count_roots, least_members
from gstream.cudacode.generate import UnitShape
from gstream.devices.attributes import piece_bytes
from gstream.devices.gpu.batch_queue import Launch
from gstream.devices.gpu.device import GpuDevice
from gstream.devices.gpu.forest_tree import MOST_SAMPLES, Share, Tree
from gstream.devices.ranks import Ranks
from gstream.records.held import Held
from pagestore.layout import HEAD_NEIGHBOURS

HEADS_PART = 8  # heads that would take more than this part of a GPU's memory come piece by piece


@dataclass(frozen=True)
class LinkPages:
    """A page kernel (gstream.devices.page_kernel) of GPUs alone: each links what pages hold in its own forest."""

    trees: dict[int, Tree]  # by id of the device
    outside: bool  # only lists of vertices outside the giant
    lower_only: bool
    needs_weights: bool = False

    def gpu_work(self, device: GpuDevice) -> LinkWork:
        return LinkWork(self.trees[id(device)], self)

    def merge(self, states: list[Any]) -> None:
        """Nothing: forests are merged by the one who sweeps."""

    def across(self, ranks: Ranks) -> None:
        """Nothing: so are those of ranks."""


class LinkWork:
    """link_pages over batches (gstream.devices.gpu.batch_queue.Work)."""

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
        self.kept = np.empty(self.vertices, session.id_dtype)  # of checkpoints; memory is given when it is written
        session.reserve(self.kept)  # or the answer, as many bytes
        shape = UnitShape(session.id_dtype, None, np.dtype(f"u{session.engine.graph.degree_bytes}"))
        room = session.engine.device_memory
        self.exchange = session.engine.exchange
        piece = piece_bytes(self.vertices) * session.engine.graph.apart
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
                self.trees[0].borrow("natural_ids", self.natural)
        except BaseException:
            self.free()
            raise
        self._note_bytes()

    @staticmethod
    def _most_bytes(session: Any) -> int:
        """Of trees, degrees, heads and labels on one GPU."""
        heads = sum(session.head_rows(name) for name in session.meta.topologies) * HEAD_NEIGHBOURS
        a_vertex = 3 * session.id_dtype.itemsize + 2 * session.engine.graph.degree_bytes + 1
        return int(session.meta.vertices * a_vertex + heads * session.id_dtype.itemsize)

    @classmethod
    def fits(cls, session: Any) -> bool:
        """Whether parents, bits and degrees of all vertices fit every GPU, beside a few batches of pages."""
        return cls._fits(session, labels=False)

    @staticmethod
    def _fits(session: Any, labels: bool) -> bool:
        room, id_bytes = session.engine.device_memory, session.id_dtype.itemsize
        a_vertex = id_bytes * (3 if labels else 1) + session.engine.graph.degree_bytes + 1
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

    @property
    def labelled(self) -> bool:
        """Whether the trees became labels before `label`."""
        return bool(self.roots)

    def bring(self, *arrays: np.ndarray) -> None:
        """Have `kept` up to date."""
        self._wait()
        self.kept[:] = self.trees[0].read()

    def giant_root(self) -> int:
        """A vertex of the giant, once it was looked for."""
        return self.trees[0].read_giant() if self.giant_known else 0

    def take_up(self, giant: int) -> None:
        """Go on from the trees in `kept`; giant: as `giant_root` said of them."""
        for tree in self.trees:
            tree.take_up(self.kept, giant)
        self.giant_known = True

    def heads_pay(self) -> bool:
        """They lie in GPU memory, or come at once; pages may have to come one by one."""
        return True

    def link_heads(self, name: str, first_column: int, end_column: int, outside: bool = False) -> None:
        """Link all vertices, or those outside the giant, with columns of their heads of topology `name`."""
        room, count = self.session.engine.device_memory, len(self.trees)  # every rank links all: that moves nothing
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
                    self.trees[number].link_heads(
                        shares[number], (first_column, end_column), outside, plant, count == 1
                    )

                self._each(link)
                if not whole:
                    self._wait()
                    self._drop([share[0] for share in shares])
        self._merge(None)

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
        if self.session.ranks is not None:  # of several as frequent
            giant = self.session.ranks.of_first(self.trees[0].read_giant())
            self._each(lambda d: self.trees[d].set_giant(giant))

    def pages_outside(self, name: str, least: int, first: bool, last: bool) -> np.ndarray | None:
        """As HostForest has it. If nothing may be left to link, labels are queued before that is known. If `least` is
        more than a head has, and no head outside the giant is full, not even degrees have to come."""
        tree, kept = self.trees[0], f"heads/{self.session.store.topology(name).name}"
        full = least > HEAD_NEIGHBOURS and tree.mark_full(kept, self.session.head_rows(name))
        if full and not self._outside(last):
            return None
        kept = "in_degree" if name == "in" and self.session.meta.directed else "degree"
        tree.mark_long(kept, self.session.degree(name), least)
        return self.session.pages_of(name, tree.outside()) if self._outside(last and not full) else None

    def _outside(self, last: bool) -> int:
        """How many vertices were marked; last: if none was, the forest becomes its labels."""
        tree = self.trees[0]
        hoped = last and self.labels_here and not tree.marked
        if hoped:
            tree.label(self.natural, unless_outside=True)
        edges, outside, trees = tree.counts()
        self.session.stats.edges_visited += edges
        self.roots = trees + self.vertices - tree.linked if hoped and not outside else 0
        return outside

    def link_pages(self, name: str, outside: bool, lower_only: bool, pages: np.ndarray | None = None) -> None:
        """Link what pages hold (bool[pages]; None: all); outside: lists of vertices in the giant are passed over."""
        self._note_bytes()
        self._wait()  # batches have streams of their own
        links = LinkPages({id(tree.device): tree for tree in self.trees}, outside, lower_only)
        self.session.engine.sweep(name, links, pages)
        self._merge(self.session.ranks)

    def _merge(self, ranks: Ranks | None) -> None:
        """All forests become the same; ranks: those of all ranks, too."""
        if len(self.trees) == 1 and ranks is None:
            return
        for tree in self.trees[1:]:
            self.trees[0].join(tree)
        if ranks is not None:
            self.trees[0].join_ranks(ranks, self.exchange.link)
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

    def labels(self) -> tuple[np.ndarray | Held, int]:
        """As HostForest has them, after `label`; on the GPU where they were made there."""
        if self.labels_here:
            return self.trees[0].hand_over(), self.roots
        found = self.trees[0].read()
        return least_members(self.session, found), int(count_roots(found))

    def free(self) -> None:
        for tree in self.trees:
            tree.close()
        self.session.engine.beside_device_bytes = 0
