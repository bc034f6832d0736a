"""Arrays of one job in a GPU's memory, its stream, and small buffers on the way to and from the host.

WA is `value` (and `got`) over the chunk, RA of a pull is `source` over all vertices. Everything is queued on one
stream, that of launches over cached pages too; the driver's barriers stand between it and the batches' streams.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from gstream.cudacode.generate import Unit, UnitShape, unit_of
from gstream.devices.attributes import message_dtype, needed_degrees, whole_degrees
from gstream.devices.gpu.arrays import Array
from gstream.devices.gpu.driver import Gpu
from gstream.devices.gpu.memory import Memory
from gstream.devices.gpu.page_pool import GpuTable
from gstream.devices.gpu.stream_lane import Spans, span_of
from gstream.devices.gpu.uploads import Uploads
from gstream.devices.job import Job, Range
from gstream.hostcode.generate import BLOCK

HOT_SHARE = 0.775  # of a processor's shared memory: with more, L1, the rest, is halved, and a pull slower by a third
ANSWERS = 4  # 8-byte numbers that kernels count in: active, their edges; edges looked at; held back
TABLE_WORDS = 256
VERTEX_BLOCKS_A_PROCESSOR = 16  # of kernels that take any launch


class JobArrays(Memory):
    """Arrays of one job on `gpu`, and `kernels` by name. tables: the directories of the pool that its pages lie in.

    What is queued is over after the stream's next synchronize. Call with the GPU's context current.
    """

    again = True

    def __init__(self, gpu: Gpu, job: Job, tables: dict[str, GpuTable], uploads: Uploads, spans: Spans | None) -> None:
        super().__init__(gpu)
        self._spans = spans
        self.job, self.code, self.plan, self.tables = job, job.code, job.plan, tables
        code, plan, vertices = job.code, job.plan, job.vertices
        table = next(iter(job.tables.values()))
        weight = table.weight_dtype if code.uses_edge else None
        shape = UnitShape(table.layout.id_dtype, weight, job.host.degree.dtype)
        program: Any = type(code.program)
        self.unit: Unit = unit_of(program, shape, self.code.in_place)
        self.kernels = gpu.load(self.unit)
        self.stream, self.outward = gpu.stream(), gpu.stream()  # the latter: to cores beside GPUs
        self.chunk: Range = (0, min(plan.chunk, vertices))
        self.words = (vertices + 63) // 64
        self.room = max(plan.chunk, min(BLOCK, vertices))  # `start` works by whole blocks
        self.attribute_bytes = 0
        self.slices = 0, 0  # address and number of peers' slices, and
        self.sent = 0, 0, 0  # of their messages (gstream.devices.gpu.exchange)
        self._counted = False  # the frontier is, by `apply`
        self.scattered = True  # vertices of peers' slices may have got something here
        self.queued: list[str] = []  # kernels on the stream that are not known to be over
        self._extra: dict[str, Array] = {}  # small buffers that grow when needed
        self._tables, self._tabled = dict[tuple[int, ...], int](), 0  # addresses; words that are there
        self._staging: dict[str, np.ndarray] = {}  # pinned, which kernels read and write
        self._told: Any = None  # event: the answers that were asked for have come
        self._asked: tuple[int, int] | None = None  # numbers on their way; kernels that were queued before them
        try:
            self._take_memory(uploads)
            if not code.in_place:
                self.reset((0, self.room), 0)
            gpu.synchronize()
        except BaseException:
            self.let_go()
            raise

    def _take_memory(self, uploads: Uploads) -> None:
        job, code, plan, vertices = self.job, self.code, self.plan, self.job.vertices
        self.active, self.next = self._make(self.words, np.uint64, 0), self._make(self.words, np.uint64, 0)
        self.open = self._make(self.words if plan.open_bits else 0, np.uint64, 0xFF)
        self.remain = self._make(self.words if plan.heads else 0, np.uint64, 0)
        self.held = self._make(self.words if plan.held_bits else 0, np.uint64, 0)
        nothing_yet = np.zeros((2, 2), np.uint64)  # two Pending of cuda/near.cu, which take turns
        nothing_yet.view(np.uint8)[:, 8:].view(code.got_dtype.base)[:, 0] = code.identity
        self._pending, self._turn = self.upload(nothing_yet if plan.held_bits else nothing_yet[:0]), 0
        self.value = self._make(self.room, code.value_dtype)
        self.got = self._make(0 if code.in_place else self.room, code.got_dtype)
        self.source = self._new_source()
        self.hot = self._hot_sources()
        self.partial_sums = self._make(-(-vertices // BLOCK) * len(code.totals), np.float64, 0)
        self.members = self.upload(code.members)
        self.answers = self._make(ANSWERS, np.uint64, 0)
        self.counter = self.answers.at(2)
        self._bind(uploads)
        self.heads_of: dict[str, tuple[Array, int]] = {}
        for name, (heads, skip) in job.host.heads.items():
            self.heads_of[name] = (self._borrow(uploads, f"heads/{name}", heads), skip)
        self.carry = {
            name: self._make(0 if code.idempotent else known.carried, code.got_dtype, 0)
            for name, known in self.tables.items()
        }

    def _make(self, count: int, dtype: Any, byte: int | None = None) -> Array:
        array = self.take(count, dtype)
        if byte is not None:
            self.gpu.fill(array, byte, self.stream)
        return array

    def keep_table(self, words: list[int]) -> int:
        """Address of 8-byte words, there until the job ends."""
        return self.upload(np.array(words, np.uint64)).address

    def _borrow(self, uploads: Uploads, name: str, values: np.ndarray) -> Array:
        array, moved = uploads.get(name, values)
        self.attribute_bytes += moved
        return array

    def _new_source(self) -> Array | None:
        if self.code.premessage and (self.plan.resident or self.plan.message):  # kernels push messages, too
            return self._make(self.job.vertices, message_dtype(self.code), 0)  # of senders alone there are messages
        return self._make(self.job.vertices, self.code.value_dtype) if self.plan.source_copy else None

    def _hot_sources(self) -> tuple[int, int]:
        """How many of the first sources a pull holds in shared memory, and their bytes; only hubs are worth it."""
        if self.code.idempotent or not self.plan.by_degree or self.code.vector:
            return 0, 0
        size = (self.value if self.source is None else self.source).dtype.itemsize
        room = min(self.kernels["pull_kernel"].spare_shared, int(HOT_SHARE * self.gpu.shared_bytes))
        count = min(self.plan.senders, room // size)
        return count, count * size

    def _bind(self, uploads: Uploads) -> None:
        """Degrees and per-vertex parameters: of all vertices, or room for those of a chunk."""
        code, host, needs = self.code, self.job.host, needed_degrees(self.code, self.plan.resident)
        whole = needs if self.plan.resident else whole_degrees(code, self.plan.source_copy)
        self._whole_degree = "degree" in whole
        columns = {"degree": host.degree, "in_degree": host.in_degree}
        self._of_chunk: list[tuple[Array, np.ndarray]] = []
        made: dict[str, Array] = {}
        for name, values in columns.items():
            if name not in needs:
                made[name] = self._make(0, values.dtype)
            elif name in whole:
                made[name] = self._borrow(uploads, name, values)
            else:
                made[name] = self._make(self.room, values.dtype)
                self._of_chunk.append((made[name], values))
        self.degree, self.in_degree = made["degree"], made["in_degree"]
        if self.plan.resident:
            self.own = self.upload(code.own)
            self.attribute_bytes += code.own.nbytes
        else:
            self.own = self._make(self.room * code.own.shape[1], code.own.dtype)
            self._of_chunk.append((self.own, code.own))

    @property
    def _chunk_degree(self) -> int:
        """Address of the out-degree of the chunk's first vertex."""
        return self.degree.at(self.chunk[0] if self._whole_degree else 0)

    @property
    def memory_bytes(self) -> int:
        return super().memory_bytes + sum(array.nbytes for array in self._extra.values())

    def free(self) -> None:
        """Give memory and stream back; nothing may be queued."""
        self.arrays += self._extra.values()
        super().free()
        for staged in self._staging.values():
            self.gpu.keep_pinned(staged)
        self._extra, self._staging, self.stream, self.outward, self._told = {}, {}, None, None, None

    @property
    def context(self) -> bytes:
        """The kernels' last argument: g's fields and the program's parameters."""
        return self.code.context(self.unit.context_bytes)

    def launch(self, name: str, blocks: int, *arguments: Any) -> None:
        """Queue a kernel of the unit on the stream; the context comes last, where it takes one."""
        self.queued.append(f"{name} of {self.unit.program}")
        with self.span("vertices", name):
            self.kernels[name](self.stream, blocks, *arguments)

    def span(self, track: str, name: str) -> AbstractContextManager[None]:
        """A span of the trace over what is queued on the stream within the block, where there is a trace."""
        return span_of(self._spans, track, name, self.stream)

    def blocks(self, count: int, threads: int) -> int:
        """Blocks of a kernel that takes any launch."""
        return max(1, min(-(-count // threads), VERTEX_BLOCKS_A_PROCESSOR * self.gpu.processors))

    def buffer(self, name: str, count: int, dtype: Any) -> Array:
        """At least `count` elements that go by that name and are kept; what used the last ones may be under way."""
        have = self._extra.get(name)
        if have is None or have.count < count:
            if have is not None:
                self.wait()
                self._extra.pop(name).free()
            have = self._extra[name] = self.gpu.empty(count, dtype, again=True)
        return have

    def staging(self, name: str, count: int, dtype: Any = np.uint64) -> np.ndarray:
        """Pinned host memory of at least `count` elements that goes by that name."""
        have = self._staging.get(name)
        if have is None or len(have) < count:
            have = self._staging[name] = self.gpu.pinned(2 * count, dtype)
        return have

    def put(self, name: str, values: np.ndarray) -> Array:
        """A few 8-byte `values` in a buffer of that name; queued. The last ones must have been used: peers meet without
        the driver, so a name is put once between two waits for the stream."""
        staging = self.staging(name, values.size, values.dtype)
        have = self.buffer(name, len(staging), values.dtype)
        staging[: values.size] = values
        self.copy_words(staging.ctypes.data, have.address, values.size)
        return have

    def table_of(self, words: Sequence[int]) -> int:
        """Address of these 8-byte words, for a launch that comes next; queued, unless they are there."""
        key = tuple(words)
        if key not in self._tables:
            first = self._tabled
            staging = self.staging("tables", max(TABLE_WORDS, len(key)))
            have = self.buffer("tables", len(staging), np.uint64)
            if first + len(key) > len(staging):
                self.wait()  # launches that read what goes
                self._tables.clear()
                first = 0
            self._tabled = first + len(key)
            staging[first : self._tabled] = key
            self.copy_words(staging[first:].ctypes.data, have.at(first), len(key))
            self._tables[key] = have.at(first)
        return self._tables[key]

    def get(self, array: Array, first: int, count: int) -> np.ndarray:
        """A few 8-byte elements of an array, after what is queued on the stream; good until the next call."""
        staging = self.staging("got", count)
        self.copy_words(array.at(first), staging.ctypes.data, count)
        self.wait()
        return staging[:count].view(array.dtype)

    def copy_words(self, source: int, to: int, count: int, kernel: str = "copy_words_kernel") -> None:
        """Queue the copy of 8-byte words between addresses, of which one may be in pinned host memory."""
        self.kernels[kernel](self.stream, self.blocks(count, 256), source, to, count)

    def wait(self) -> None:
        """Return when what is queued on the stream is over. Raises DeviceError, which names the kernels."""
        with self.gpu.suspecting(self.queued):
            self.gpu.peer_wait.wait_for(self.stream)
        self.queued.clear()
        if self._asked is not None:
            self._asked = self._asked[0], 0

    @property
    def messages(self) -> Array:
        assert self.source is not None, "a program whose messages are not made ready"
        return self.source

    @property
    def combined(self) -> Array:
        """What messages are combined in: values in place, else what vertices got."""
        return self.value if self.code.in_place else self.got

    def reset(self, part: Range, first: int) -> None:
        """What the vertices of a range got becomes the identity."""
        count = part[1] - part[0]
        self.launch("reset_kernel", self.blocks(count, 256), self.got.at(part[0] - first), count)
