"""Kernels of cuda/ over the vertices of one job on a GPU, queued on the stream of its arrays."""

from __future__ import annotations

import numpy as np

from gstream.devices.gpu.arrays import Array
from gstream.devices.gpu.job_arrays import ANSWERS, JobArrays
from gstream.devices.gpu.memory import in_context
from gstream.devices.host.vertex_state import blocks_of
from gstream.devices.job import Range, Step
from gstream.devices.vertices import Vertices
from gstream.hostcode.generate import BLOCK
from gstream.paging.page_table import PageTable


class GpuState(JobArrays, Vertices):
    """The methods of Vertices set the GPU's context; others are called within it."""

    @in_context
    def load(self, chunk: Range, values: bool) -> None:
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

    @in_context
    def start(self, part: Range) -> None:
        self.launch(
            "start_kernel", blocks_of(part), self.value.address, self.chunk[0], self._chunk_degree,
            self.in_degree.address, self.own.address, self.members.address, self.next.address, self.open.address,
            self.partial_sums.address, *part, self.context,
        )  # fmt: skip

    @in_context
    def refresh(self, part: Range) -> None:
        first, last = part
        if self.code.premessage:
            last = max(first, min(last, self.plan.senders))
            self.launch(
                "message_kernel", self.blocks(last - first, 512), self.value.address, self.chunk[0], self._chunk_degree,
                self.messages.address, 0, first, last, self.context,
            )  # fmt: skip
        elif self.source is not None:
            at = self.value.at(first - self.chunk[0])
            self.gpu.copy(self.source.at(first), at, (last - first) * self.value.dtype.itemsize, self.stream)

    @in_context
    def reopen(self, due: int = 0) -> None:
        """due: address of a number that is 0 where nothing is to be done; 0: none."""
        if self.plan.resident and self.code.has_done and self.open.count:
            part = (0, self.job.vertices)
            given = (self.value.address, 0, self.open.address, *part, self.context)
            self.launch("reopen_kernel", blocks_of(part), due, *given)

    @in_context
    def heads(self, step: Step, part: Range) -> None:
        heads, skip = self.heads_of[step.table.name]
        self.launch(
            "pull_heads_kernel", self.blocks(part[1] - part[0], 256), 0, 0, heads.address, skip, self.open.address,
            self.remain.address, self.value.address, self.degree.address, self.active.address, self.next.address,
            *part, self.counter, self.context,
        )  # fmt: skip

    @in_context
    def apply(self, part: Range) -> None:
        first = self.chunk[0]
        self.launch(
            "apply_kernel", blocks_of(part), self.value.address, first, self.got.address, first, self._chunk_degree,
            self.in_degree.address, self.own.address, self.next.address, self.partial_sums.address, *self.sent,
            self.plan.senders, self.plan.receivers, *part, self.context,
        )  # fmt: skip

    @in_context
    def apply_again(self, part: Range, everybody: bool) -> None:
        self.launch(
            "apply_again_kernel", blocks_of(part), self.value.address, self.got.address, self._chunk_degree,
            self.in_degree.address, self.own.address, self.active.address, self.next.address,
            self.partial_sums.address, *self.sent, self.plan.senders, self.plan.receivers, int(everybody), *part,
            self.context,
        )  # fmt: skip

    @in_context
    def forget(self, part: Range, told: bool) -> None:
        first, last = part
        if told:
            self.launch("forget_kernel", self.blocks(last - first, 256), self.got.address, self.next.address, *part)
        else:
            self.reset(part, 0)

    @in_context
    def store(self, part: Range) -> None:
        if self.plan.resident or part[0] >= part[1]:
            return
        assert self.job.host.next_value is not None
        out = self.job.host.next_value[part[0] : part[1]]
        self.gpu.read(self.value.at(part[0] - self.chunk[0]), out, self.stream)
        self.attribute_bytes += out.nbytes

    @in_context
    def partials(self, part: Range) -> np.ndarray:
        totals = len(self.code.totals)
        first, last = part[0] // BLOCK * totals, -(-part[1] // BLOCK) * totals
        staging = self.staging("partials", self.partial_sums.count, np.float64)
        self.copy_words(self.partial_sums.at(first), staging[first:].ctypes.data, last - first)
        return staging[first:last].reshape(-1, totals)

    @in_context
    def advance(self) -> None:
        self.active, self.next = self.next, self.active
        self.gpu.fill(self.next, 0, self.stream)

    # What kernels counted comes to the host asynchronously: `ask` queues the copy, `_answers` waits for it alone

    def ask(self, frontier: bool, edges: bool = False, table: PageTable | None = None) -> None:
        """Queue what the next `frontier`, or else `take_counts`, says. frontier: of active vertices, too."""
        if frontier and not self._counted:
            self.launch(
                "frontier_kernel", self.blocks(2 * self.words, 512), self.active.address, self.words,
                self.degree.address, int(edges), self.answers.address,
            )  # fmt: skip
        self._counted |= frontier and self.sent[1] > 0
        lists = None if table is None else self._count_pages(self.active, table)
        count = ANSWERS + (0 if lists is None else lists.count)
        address = self.staging("answers", count).ctypes.data
        self.copy_words(self.answers.address, address, ANSWERS, "take_words_kernel")  # they are zero again
        if lists is not None:
            self.copy_words(lists.address, address + 8 * ANSWERS, lists.count)
        self._told = self._told or self.gpu.event()
        self._told.record(self.stream)
        self._asked = count, len(self.queued)

    def _answers(self) -> np.ndarray:
        """uint64[n], the ANSWERS and further counts that `ask` named. Waits for them; valid until the next `ask`."""
        assert self._asked is not None, "nothing was asked"
        (count, before), self._asked = self._asked, None
        with self.gpu.suspecting(self.queued):  # errors of what was queued later may show here, too
            self.gpu.peer_wait.wait_event(self._told)
        del self.queued[:before]
        return self.staging("answers", count)[:count]

    def take_counts(self) -> tuple[int, int]:
        """Edges looked at since the last call, after what is queued on the stream, or was at `ask`; vertices that
        `apply` counted."""
        if self._asked is None:
            self.ask(False)
        found = self._answers()
        return int(found[2]), int(found[0])

    # What the driver asks about bitmaps: answered by kernels, so that a few bytes come back, in as few waits as can be

    @in_context
    def hold_back(self, step: float, least_edges: int) -> None:
        mine, other = (self._pending.at(2 * number) for number in (self._turn, 1 - self._turn))
        self._turn = 1 - self._turn
        bitmaps, blocks = (self.active.address, self.held.address, self.words), self.blocks(2 * self.words, 256)
        self.launch("join_held_kernel", blocks, *bitmaps, self.value.address, self.degree.address, mine, other)
        self.launch(
            "hold_back_kernel", blocks, *bitmaps, self.value.address, mine, int(np.float64(step).view(np.uint64)),
            least_edges, self.answers.at(3),
        )  # fmt: skip

    @in_context
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
        if self._asked is None:
            self.ask(True, edges, table)
        found = self._answers()
        wanted = None if table is None else found[ANSWERS:].view(np.uint32)[: table.pages].copy()
        return int(found[2]), (int(found[0]), int(found[1]), int(found[3]), wanted)

    def _count_pages(self, bits: Array, table: PageTable) -> Array:
        known = self.tables[table.name]
        self.launch(
            "count_pages_kernel", self.blocks(table.pages, 8), bits.address, known.first_vertex.address,
            known.last_vertex.address, table.pages, known.lists.address,
        )  # fmt: skip
        return known.lists

    def list_vertices(self, which: str, most: int) -> np.ndarray | None:
        """Testing every bit of a page on the device takes less time than finding the records of a list."""
        return None

    @in_context
    def lists_of(self, which: str, table: PageTable) -> np.ndarray:
        bits = {"active": self.active, "next": self.next, "open": self.open, "remain": self.remain}[which]
        lists = self._count_pages(bits, table)
        return self.get(lists, 0, lists.count).view(np.uint32)[: table.pages].copy()

    @in_context
    def read_bits(self, which: str) -> np.ndarray:
        bits = {"active": self.active, "held": self.held}[which]
        self.wait()
        return self.gpu.fetch(bits.address, self.words, np.uint64, self.stream)

    @in_context
    def restore(self, values: np.ndarray, active: np.ndarray) -> None:
        if self.plan.resident:
            self.gpu.write(self.value.address, values, self.stream)
        self.gpu.write(self.active.address, active, self.stream)
        self.wait()

    @in_context
    def give_values(self) -> Array:
        """The memory of the values of a resident job, which is over: it is the caller's, and not freed with the job."""
        self.wait()  # errors name the kernels
        self.arrays.remove(self.value)
        return self.value

    @in_context
    def read_values(self) -> np.ndarray:
        self.wait()  # errors name the kernels
        return self.gpu.fetch(self.value.address, self.job.vertices, self.code.value_dtype, self.stream)
