"""Attributes of one job in a GPU's memory, and the kernels of cuda/ on them; the counterpart of state.py's VertexState.

WA is `value` (and `got`) over the chunk, RA of a pull is `source` over all vertices. All launches here go to one
stream; the driver's barriers stand between them and the batches' streams.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gstream.cudacode.generate import Unit, UnitShape, unit_of
from gstream.devices.base import Job, Range, Step
from gstream.devices.cuda import Array, Gpu
from gstream.devices.state import Bitmaps, bit_words, blocks_of, message_dtype
from gstream.hostcode.generate import BLOCK

VERTEX_BLOCKS_A_PROCESSOR = 16  # of kernels that take any launch


class GpuState(Bitmaps):
    """Arrays of one job on `gpu`, and `kernels` by name."""

    def __init__(self, gpu: Gpu, job: Job) -> None:
        self.gpu, self.job, self.code, self.plan = gpu, job, job.code, job.plan
        code, plan, vertices = job.code, job.plan, job.vertices
        table = next(iter(job.tables.values()))
        weight = table.weight_dtype if code.uses_edge else None
        shape = UnitShape(table.layout.id_dtype, weight, job.host.degree.dtype)
        self.unit: Unit = unit_of(type(code.program), shape)
        cubin = self.unit.compile(gpu.architecture)
        self.kernels = gpu.load(cubin, self.unit.kernels, self.unit.context_bytes)
        self.stream = gpu.stream()
        self.chunk: Range = (0, min(plan.chunk, vertices))
        self.words = (vertices + 63) // 64
        self.room = max(plan.chunk, min(BLOCK, vertices))  # `start` works by whole blocks
        self.attribute_bytes = 0
        self.hubs: list[tuple[np.ndarray, np.ndarray]] = []
        self.arrays: list[Array] = []
        make = self._make
        self.active, self.next = make(self.words, np.uint64, 0), make(self.words, np.uint64, 0)
        self.open = make(self.words if plan.open_bits else 0, np.uint64, 0xFF)
        self.remain = make(self.words if plan.heads else 0, np.uint64, 0)
        self.value = make(self.room, code.value_dtype)
        self.got = make(0 if code.in_place else self.room, code.got_dtype)
        self.source = self._new_source()
        self.partial_sums = make(-(-vertices // BLOCK) * len(code.totals), np.float64, 0)
        self.members = self._keep(gpu.upload(code.members))
        self.counter = make(1, np.uint64, 0)
        self.heads_of = {name: (self._keep(gpu.upload(heads)), skip) for name, (heads, skip) in job.host.heads.items()}
        self.addresses = gpu.empty(0, np.uint64)  # of peers' copies
        self.degree = self.in_degree = self.own = make(0, np.uint32)
        self._bound: list[Array] = []
        self._bind()
        self.host_bits = gpu.pinned(max(1, self.words), np.uint64)
        if not code.in_place:
            self.reset((0, self.room), 0)

    def _make(self, count: int, dtype: Any, byte: int | None = None) -> Array:
        array = self.gpu.empty(count, dtype) if byte is None else self.gpu.full(count, dtype, byte)
        return self._keep(array)

    def _keep(self, array: Array) -> Array:
        self.arrays.append(array)
        return array

    def _new_source(self) -> Array | None:
        if self.code.premessage and (self.plan.resident or self.plan.message):  # kernels push messages, too
            return self._make(self.job.vertices, message_dtype(self.code))
        return self._make(self.job.vertices, self.code.value_dtype) if self.plan.source_copy else None

    def _bind(self) -> None:
        """Degrees and per-vertex parameters of the chunk."""
        first, last = self.chunk
        for array in self._bound:
            array.free()
        needs = self.code.reads()
        none = np.zeros(0, np.uint32)
        parts = (
            self.job.host.degree[first:last] if "degree" in needs else none,
            self.job.host.in_degree[first:last] if "in_degree" in needs else none,
            self.code.own[first:last],
        )
        self._bound = [self.gpu.upload(part) for part in parts]
        self.degree, self.in_degree, self.own = self._bound
        self.attribute_bytes += sum(part.nbytes for part in parts)

    @property
    def memory_bytes(self) -> int:
        return sum(array.nbytes for array in (*self.arrays, *self._bound))

    def free(self) -> None:
        for array in (*self.arrays, *self._bound, self.addresses):
            array.free()
        self.arrays, self._bound = [], []

    @property
    def context(self) -> bytes:
        """The kernels' last argument: g's fields and the program's parameters."""
        return self.unit.context(self.code)

    def launch(self, name: str, blocks: int, *arguments: Any) -> None:
        self.kernels[name](self.stream, blocks, *arguments)

    def _any(self, count: int, threads: int) -> int:
        """Blocks of a kernel that takes any launch."""
        return max(1, min(-(-count // threads), VERTEX_BLOCKS_A_PROCESSOR * self.gpu.processors))

    def load(self, chunk: Range, values: bool) -> None:
        if self.plan.resident:
            return
        if chunk != self.chunk:
            self.chunk = chunk
            self._bind()
        if values:
            assert self.job.host.value is not None
            part = self.job.host.value[chunk[0] : chunk[1]]
            self.gpu.write(self.value.address, part)
            self.attribute_bytes += part.nbytes

    def start(self, part: Range) -> None:
        self.launch(
            "start_kernel", blocks_of(part), self.value.address, self.chunk[0], self.degree.address,
            self.in_degree.address, self.own.address, self.members.address, self.next.address, self.open.address,
            self.partial_sums.address, *part, self.context,
        )  # fmt: skip

    def refresh(self, part: Range) -> None:
        """RA of a pull, or of a push whose values are all here: messages, or a copy of the values."""
        first, last = part
        if self.code.premessage:
            assert self.source is not None
            self.launch(
                "message_kernel", self._any(last - first, 512), self.value.address, self.chunk[0], self.degree.address,
                self.source.address, 0, first, last, self.context,
            )  # fmt: skip
        elif self.source is not None:
            at = self.value.at(first - self.chunk[0])
            self.gpu.copy(self.source.at(first), at, (last - first) * self.value.dtype.itemsize)

    def reopen(self) -> None:
        if self.plan.resident and self.code.has_done and self.open.count:
            part = (0, self.job.vertices)
            self.launch("reopen_kernel", blocks_of(part), self.value.address, 0, self.open.address, *part, self.context)

    def heads(self, step: Step, part: Range) -> None:
        heads, skip = self.heads_of[step.table.name]
        self.launch(
            "pull_heads_kernel", self._any(part[1] - part[0], 256), heads.address, skip, self.open.address,
            self.remain.address, self.value.address, self.degree.address, self.active.address, self.next.address,
            *part, self.counter.address, self.context,
        )  # fmt: skip

    def apply(self, part: Range) -> None:
        first = self.chunk[0]
        if not self.code.in_place:
            self.launch(
                "apply_kernel", blocks_of(part), self.value.address, first, self.got.address, first,
                self.degree.address, self.in_degree.address, self.own.address, self.next.address,
                self.partial_sums.address, *part, self.context,
            )  # fmt: skip
        elif self.code.totals:
            self.launch(
                "totals_kernel", blocks_of(part), self.value.address, first, self.degree.address,
                self.in_degree.address, self.own.address, self.partial_sums.address, *part, self.context,
            )  # fmt: skip

    @property
    def combined(self) -> Array:
        """What messages are combined in: values in place, else what vertices got."""
        return self.value if self.code.in_place else self.got

    def reduce(self, part: Range, peers: Sequence[GpuState]) -> None:
        at = part[0] - self.chunk[0]
        count, words = part[1] - part[0], bit_words(part)
        copies = np.array([peer.combined.at(at) for peer in peers], np.uint64)
        bits = np.array([peer.next.at(words.start) for peer in peers], np.uint64)
        self.addresses.free()  # of the last merge, which is over
        addresses = self.addresses = self.gpu.upload(np.concatenate([copies, bits]))
        self.launch(
            "reduce_kernel", self._any(count, 256), self.combined.at(at), addresses.address, len(peers), count
        )  # fmt: skip
        self.launch(
            "merge_bits_kernel", self._any(words.stop - words.start, 256), self.next.at(words.start),
            addresses.at(len(peers)), len(peers), words.stop - words.start,
        )  # fmt: skip

    def gather(self, parts: Sequence[Range], peers: Sequence[GpuState], values: bool) -> None:
        for part, peer in zip(parts, peers, strict=True):
            if peer is self or part[0] >= part[1]:
                continue
            words = bit_words(part)
            for mine, theirs in ((self.next, peer.next), (self.open, peer.open), (self.remain, peer.remain)):
                if mine.count:
                    self.gpu.copy(mine.at(words.start), theirs.at(words.start), 8 * (words.stop - words.start))
            at, count = part[0] - self.chunk[0], part[1] - part[0]
            if values:
                self.gpu.copy(self.value.at(at), peer.value.at(at), count * self.value.dtype.itemsize)
            if not self.code.in_place:
                self.reset(part, self.chunk[0])

    def reset(self, part: Range, first: int) -> None:
        """What the vertices of a range got becomes the identity."""
        count = part[1] - part[0]
        self.launch("reset_kernel", self._any(count, 256), self.got.at(part[0] - first), count)

    def add_hub_sums(self, vertices: np.ndarray, sums: np.ndarray) -> None:
        if len(vertices) == 0:
            return
        order = np.argsort(vertices, kind="stable")  # sums of one vertex stand together, in page order
        which, what = self.gpu.upload(vertices[order]), self.gpu.upload(sums[order].astype(self.got.dtype))
        self.launch(
            "add_hub_sums_kernel", self._any(len(vertices), 256), which.address, what.address, len(vertices),
            self.got.address, *self.chunk,
        )  # fmt: skip
        self.stream.synchronize()
        which.free()
        what.free()

    def store(self, part: Range) -> None:
        if self.plan.resident or part[0] >= part[1]:
            return
        assert self.job.host.next_value is not None
        out = self.job.host.next_value[part[0] : part[1]]
        self.gpu.read(self.value.at(part[0] - self.chunk[0]), out)
        self.attribute_bytes += out.nbytes

    def partials(self, part: Range) -> np.ndarray:
        totals = len(self.code.totals)
        first, last = part[0] // BLOCK, -(-part[1] // BLOCK)
        out = np.empty((last - first, totals), np.float64)
        return self.gpu.read(self.partial_sums.at(first * totals), out)

    def advance(self) -> None:
        self.active, self.next = self.next, self.active
        self.gpu.clear(self.next)

    def take_edges(self) -> int:
        """Edges looked at since the last call."""
        found = self.gpu.read(self.counter.address, np.zeros(1, np.uint64))
        if found[0]:
            self.gpu.clear(self.counter)
        return int(found[0])

    def bits(self, which: str) -> np.ndarray:
        """A bitmap's copy in pinned host memory, good until the next call."""
        array = {"active": self.active, "open": self.open, "remain": self.remain}[which]
        return self.gpu.read(array.address, self.host_bits[: self.words])

    def read_values(self) -> np.ndarray:
        return self.gpu.read(self.value.address, np.empty(self.job.vertices, self.code.value_dtype))
