"""Attributes of one job in a GPU's memory, and the kernels of cuda/ on them; the counterpart of state.py's VertexState.

WA is `value` (and `got`) over the chunk, RA of a pull is `source` over all vertices. Everything here is queued on one
stream, that of launches over cached pages too; the driver's barriers stand between it and the batches' streams.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, suppress
from typing import Any

import numpy as np

from gstream.cudacode.generate import Unit, UnitShape, unit_of
from gstream.devices.attributes import message_dtype, needed_degrees, whole_degrees
from gstream.devices.base import Job, Range, Step
from gstream.devices.gpu.counters import ANSWERS, Answers
from gstream.devices.gpu.driver import Array, Gpu
from gstream.devices.gpu.page_pool import GpuTable
from gstream.devices.gpu.stream_lane import Spans, span_of
from gstream.devices.gpu.uploads import Uploads
from gstream.devices.host.vertex_state import blocks_of
from gstream.hostcode.generate import BLOCK
from gstream.paging.page_table import PageTable

HOT_SHARE = 0.775  # of a processor's shared memory: with more, L1, the rest, is halved, and a pull slower by a third
VERTEX_BLOCKS_A_PROCESSOR = 16  # of kernels that take any launch


class GpuState:
    """Arrays of one job on `gpu`, and `kernels` by name. tables: the directories of the pool that its pages lie in.

    Ranges are of vertices, within the chunk; what is queued is over after the stream's next synchronize. The methods
    that a device has, too, do what gstream.devices.base says of them.
    """

    def __init__(self, gpu: Gpu, job: Job, tables: dict[str, GpuTable], uploads: Uploads, spans: Spans | None) -> None:
        self._spans = spans
        self.gpu, self.job, self.code, self.plan, self.tables = gpu, job, job.code, job.plan, tables
        code, plan, vertices = job.code, job.plan, job.vertices
        table = next(iter(job.tables.values()))
        weight = table.weight_dtype if code.uses_edge else None
        shape = UnitShape(table.layout.id_dtype, weight, job.host.degree.dtype)
        program: Any = type(code.program)
        self.unit: Unit = unit_of(program, shape, self.code.in_place)
        self.kernels = gpu.load(self.unit)
        self.stream = gpu.stream()
        self.chunk: Range = (0, min(plan.chunk, vertices))
        self.words = (vertices + 63) // 64
        self.room = max(plan.chunk, min(BLOCK, vertices))  # `start` works by whole blocks
        self.attribute_bytes = 0
        self.slices = 0, 0  # address and number of peers' slices (gpumerge.spread)
        self.sent = 0, 0, 0  # gpumerge.send_to
        self._counted = False  # the frontier is, by `apply`
        self.strewn = True  # vertices of peers' slices may have got something here
        self.queued: list[str] = []  # kernels on the stream that are not known to be over
        self.arrays: list[Array] = []
        self._extra: dict[str, Array] = {}  # small buffers that grow when needed
        self._staging: dict[str, np.ndarray] = {}  # pinned, which kernels read and write
        self._told = Answers()
        try:
            self._take_memory(uploads)
            if not code.in_place:
                self.reset((0, self.room), 0)
            gpu.synchronize()
        except BaseException:
            with suppress(gpu.cuda.Error):  # follows the one that is on its way
                self.free()
            raise

    def _take_memory(self, uploads: Uploads) -> None:
        gpu, job, code, plan, vertices = self.gpu, self.job, self.code, self.plan, self.job.vertices
        self.active, self.next = self._make(self.words, np.uint64, 0), self._make(self.words, np.uint64, 0)
        self.open = self._make(self.words if plan.open_bits else 0, np.uint64, 0xFF)
        self.remain = self._make(self.words if plan.heads else 0, np.uint64, 0)
        self.held = self._make(self.words if plan.held_bits else 0, np.uint64, 0)
        nothing_yet = np.zeros((2, 2), np.uint64)  # two Pending of cuda/near.cu, which take turns
        nothing_yet.view(np.uint8)[:, 8:].view(code.got_dtype)[:, 0] = code.identity
        self._pending, self._turn = self._keep(gpu.upload(nothing_yet if plan.held_bits else nothing_yet[:0])), 0
        self.value = self._make(self.room, code.value_dtype)
        self.got = self._make(0 if code.in_place else self.room, code.got_dtype)
        self.source = self._new_source()
        self.hot = self._hot_sources()
        self.partial_sums = self._make(-(-vertices // BLOCK) * len(code.totals), np.float64, 0)
        self.members = self._keep(gpu.upload(code.members))
        self.answers = self._make(ANSWERS, np.uint64, 0)
        self.counter = self.answers.at(2)
        self._bind(uploads)
        self.heads_of: dict[str, tuple[Array, int]] = {}
        for name, (heads, skip) in job.host.heads.items():
            self.heads_of[name] = (self._upload(uploads, f"heads/{name}", heads), skip)
        self.carry = {
            name: self._make(0 if code.idempotent else known.carried, code.got_dtype, 0)
            for name, known in self.tables.items()
        }

    def _make(self, count: int, dtype: Any, byte: int | None = None) -> Array:
        array = self._keep(self.gpu.empty(count, dtype))
        if byte is not None:
            self.gpu.fill(array, byte, self.stream)
        return array

    def _keep(self, array: Array) -> Array:
        self.arrays.append(array)
        return array

    def _upload(self, uploads: Uploads, name: str, values: np.ndarray) -> Array:
        array, moved = uploads.get(name, values)
        self.attribute_bytes += moved
        return array

    def _new_source(self) -> Array | None:
        if self.code.premessage and (self.plan.resident or self.plan.message):  # kernels push messages, too
            return self._make(self.job.vertices, message_dtype(self.code), 0)  # of senders alone there are messages
        return self._make(self.job.vertices, self.code.value_dtype) if self.plan.source_copy else None

    def _hot_sources(self) -> tuple[int, int]:
        """How many of the first sources a pull holds in shared memory, and their bytes; only hubs are worth it."""
        if self.code.idempotent or not self.plan.by_degree:
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
                made[name] = self._upload(uploads, name, values)
            else:
                made[name] = self._make(self.room, values.dtype)
                self._of_chunk.append((made[name], values))
        self.degree, self.in_degree = made["degree"], made["in_degree"]
        if self.plan.resident:
            self.own = self._keep(self.gpu.upload(code.own))
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
        return sum(array.nbytes for array in (*self.arrays, *self._extra.values()))

    def free(self) -> None:
        """Give memory and stream back; nothing may be queued."""
        for array in (*self.arrays, *self._extra.values()):
            array.free()
        self.arrays, self._extra, self.stream = [], {}, None
        self._told.free()

    @property
    def context(self) -> bytes:
        """The kernels' last argument: g's fields and the program's parameters."""
        return self.unit.context(self.code)

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
            have = self._extra[name] = self.gpu.empty(count, dtype)
        return have

    def put(self, name: str, values: np.ndarray) -> Array:
        """A few 8-byte `values` in a buffer of that name; queued. The last ones must have been used: peers meet without
        the driver, so a name is put once between two waits for the stream."""
        staging = self._staging.get(name)
        if staging is None or len(staging) < values.size:
            staging = self._staging[name] = self.gpu.pinned(2 * values.size, values.dtype)
        have = self.buffer(name, len(staging), values.dtype)
        staging[: values.size] = values
        self.copy_words(staging.ctypes.data, have.address, values.size)
        return have

    def get(self, array: Array, first: int, count: int) -> np.ndarray:
        """A few 8-byte elements of an array, after what is queued on the stream; good until the next call."""
        staging = self._staging.get("answers")
        if staging is None or len(staging) < count:
            staging = self._staging["answers"] = self.gpu.pinned(2 * count, np.uint64)
        self.copy_words(array.at(first), staging.ctypes.data, count)
        self.wait()
        return staging[:count].view(array.dtype)

    def copy_words(self, source: int, to: int, count: int, kernel: str = "copy_words_kernel") -> None:
        """Queue the copy of 8-byte words between addresses, of which one may be in pinned host memory."""
        self.kernels[kernel](self.stream, self.blocks(count, 256), source, to, count)

    def wait(self) -> None:
        """Return when what is queued on the stream is over. Raises DeviceError, which names the kernels."""
        with self.gpu.suspecting(self.queued):
            self.gpu.company.wait_for(self.stream)
        self.queued.clear()
        self._told.note_wait()

    def load(self, chunk: Range, values: bool) -> None:
        """Step 1 of Figure 5. A resident job keeps its values and has nothing to load."""
        if self.plan.resident:
            return
        first, last = self.chunk = chunk
        for array, whole in self._of_chunk:
            if array.count:
                self.gpu.write(array.address, whole[first:last], self.stream)
                self.attribute_bytes += whole[first:last].nbytes
        if values:
            assert self.job.host.value is not None
            part = self.job.host.value[first:last]
            self.gpu.write(self.value.address, part, self.stream)
            self.attribute_bytes += part.nbytes
        self.wait()

    def start(self, part: Range) -> None:
        self.launch(
            "start_kernel", blocks_of(part), self.value.address, self.chunk[0], self._chunk_degree,
            self.in_degree.address, self.own.address, self.members.address, self.next.address, self.open.address,
            self.partial_sums.address, *part, self.context,
        )  # fmt: skip

    def refresh(self, part: Range) -> None:
        """RA of a pull, or of a push whose values are all here: messages, or a copy of the values."""
        first, last = part
        if self.code.premessage:
            assert self.source is not None
            last = max(first, min(last, self.plan.senders))
            self.launch(
                "message_kernel", self.blocks(last - first, 512), self.value.address, self.chunk[0], self._chunk_degree,
                self.source.address, 0, first, last, self.context,
            )  # fmt: skip
        elif self.source is not None:
            at = self.value.at(first - self.chunk[0])
            self.gpu.copy(self.source.at(first), at, (last - first) * self.value.dtype.itemsize, self.stream)

    def reopen(self, due: int = 0) -> None:
        """due: address of a number that is 0 where nothing is to be done; 0: none."""
        if self.plan.resident and self.code.has_done and self.open.count:
            part = (0, self.job.vertices)
            given = (self.value.address, 0, self.open.address, *part, self.context)
            self.launch("reopen_kernel", blocks_of(part), due, *given)

    def heads(self, step: Step, part: Range) -> None:
        heads, skip = self.heads_of[step.table.name]
        self.launch(
            "pull_heads_kernel", self.blocks(part[1] - part[0], 256), 0, 0, heads.address, skip, self.open.address,
            self.remain.address, self.value.address, self.degree.address, self.active.address, self.next.address,
            *part, self.counter, self.context,
        )  # fmt: skip

    def apply(self, part: Range) -> None:
        first = self.chunk[0]
        self.launch(
            "apply_kernel", blocks_of(part), self.value.address, first, self.got.address, first, self._chunk_degree,
            self.in_degree.address, self.own.address, self.next.address, self.partial_sums.address, *self.sent,
            self.plan.senders, self.plan.receivers, *part, self.context,
        )  # fmt: skip

    @property
    def combined(self) -> Array:
        """What messages are combined in: values in place, else what vertices got."""
        return self.value if self.code.in_place else self.got

    def reset(self, part: Range, first: int) -> None:
        """What the vertices of a range got becomes the identity."""
        count = part[1] - part[0]
        self.launch("reset_kernel", self.blocks(count, 256), self.got.at(part[0] - first), count)

    def store(self, part: Range) -> None:
        if self.plan.resident or part[0] >= part[1]:
            return
        assert self.job.host.next_value is not None
        out = self.job.host.next_value[part[0] : part[1]]
        self.gpu.read(self.value.at(part[0] - self.chunk[0]), out, self.stream)
        self.attribute_bytes += out.nbytes

    def partials(self, part: Range) -> np.ndarray:
        totals = len(self.code.totals)
        first, last = part[0] // BLOCK * totals, -(-part[1] // BLOCK) * totals
        if "partials" not in self._staging:
            self._staging["partials"] = self.gpu.pinned(self.partial_sums.count, np.float64)
        staging = self._staging["partials"]
        self.copy_words(self.partial_sums.at(first), staging[first:].ctypes.data, last - first)
        return staging[first:last].reshape(-1, totals)

    def advance(self) -> None:
        self.active, self.next = self.next, self.active
        self.gpu.fill(self.next, 0, self.stream)

    def ask(self, frontier: bool, edges: bool = False, table: PageTable | None = None) -> None:
        """Queue what the next `frontier`, or else `take_counts`, says. frontier: of active vertices, too."""
        if frontier and not self._counted:
            self.launch(
                "frontier_kernel", self.blocks(2 * self.words, 512), self.active.address, self.words,
                self.degree.address, int(edges), self.answers.address,
            )  # fmt: skip
        self._counted |= frontier and self.sent[1] > 0
        self._told.ask(self, None if table is None else self._count_pages(self.active, table))

    def take_counts(self) -> tuple[int, int]:
        """Edges looked at since the last call, after what is queued on the stream, or was at `ask`; vertices that
        `apply` counted."""
        if not self._told.asked:
            self.ask(False)
        found = self._told.take(self)
        return int(found[2]), int(found[0])

    # What the driver asks about bitmaps: answered by kernels, so that a few bytes come back, in as few waits as can be

    def hold_back(self, step: float, least_edges: int) -> None:
        mine, other = (self._pending.at(2 * number) for number in (self._turn, 1 - self._turn))
        self._turn = 1 - self._turn
        bitmaps, blocks = (self.active.address, self.held.address, self.words), self.blocks(2 * self.words, 256)
        self.launch("join_held_kernel", blocks, *bitmaps, self.value.address, self.degree.address, mine, other)
        self.launch(
            "hold_back_kernel", blocks, *bitmaps, self.value.address, mine, int(np.float64(step).view(np.uint64)),
            least_edges, self.answers.at(3),
        )  # fmt: skip

    def readmit(self, table: PageTable, pages: np.ndarray) -> None:
        known, whole = self.tables[table.name], np.zeros(-(-table.pages // 2), np.uint64)
        whole.view(np.uint32)[pages] = 1 + table.spans_hub[pages]
        self.launch(
            "readmit_kernel", self.blocks(table.pages, 8), self.active.address, self.held.address,
            self.degree.address, table.layout.longest_list, known.first_vertex.address, known.last_vertex.address,
            table.pages, self.put("whole pages", whole).address,
        )  # fmt: skip

    def frontier(self, edges: bool, table: PageTable | None) -> tuple[int, tuple[int, int, int, np.ndarray | None]]:
        """(edges looked at, what a device says)."""
        if not self._told.asked:
            self.ask(True, edges, table)
        found = self._told.take(self)
        wanted = None if table is None else found[ANSWERS:].view(np.uint32)[: table.pages].copy()
        return int(found[2]), (int(found[0]), int(found[1]), int(found[3]), wanted)

    def _count_pages(self, bits: Array, table: PageTable) -> Array:
        known = self.tables[table.name]
        self.launch(
            "count_pages_kernel", self.blocks(table.pages, 8), bits.address, known.first_vertex.address,
            known.last_vertex.address, table.pages, known.lists.address,
        )  # fmt: skip
        return known.lists

    def lists_of(self, which: str, table: PageTable) -> np.ndarray:
        bits = {"active": self.active, "open": self.open, "remain": self.remain}[which]
        lists = self._count_pages(bits, table)
        return self.get(lists, 0, lists.count).view(np.uint32)[: table.pages].copy()

    def read_bits(self, which: str) -> np.ndarray:
        bits = {"active": self.active, "held": self.held}[which]
        self.wait()
        return self.gpu.fetch(bits.address, self.words, np.uint64, self.stream)

    def restore(self, values: np.ndarray, active: np.ndarray) -> None:
        if self.plan.resident:
            self.gpu.write(self.value.address, values, self.stream)
        self.gpu.write(self.active.address, active, self.stream)
        self.wait()

    def read_values(self) -> np.ndarray:
        self.wait()  # errors name the kernels
        return self.gpu.fetch(self.value.address, self.job.vertices, self.code.value_dtype, self.stream)
