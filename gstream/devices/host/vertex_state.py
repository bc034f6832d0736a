"""Attributes of one device in arrays of host memory, and the calls of compiled kernels on them.

The host device and the fake device keep WA, RA and bitmaps in a VertexState; they differ in when and from how many
threads a kernel runs (`launch`) and in where its pages lie. WA is `value` (and `got` where a program has an apply or
sums), over the chunk; RA is `source` for a pull, over all vertices, and what `push` is given for a push.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gstream.devices.attributes import message_dtype, whole_degrees
from gstream.devices.job import Job, Range, Step
from gstream.devices.vertices import Vertices
from gstream.hostcode import delta_stepping
from gstream.hostcode.bitmaps import count_bits, count_pages, list_bits
from gstream.hostcode.casts import u64
from gstream.hostcode.generate import BLOCK
from gstream.hostcode.intrinsics import trailing_zeros
from gstream.hostcode.jit import kernel
from gstream.hostcode.notify import notify
from gstream.hostcode.parts import find_records
from gstream.paging.kept_memory import FRESH, KeptMemory
from gstream.paging.page_table import PageTable

COMBINE = {"SUM": np.add, "MIN": np.minimum, "MAX": np.maximum, "OR": np.bitwise_or}
BITS = ("active", "next", "open", "remain", "held")  # bitmaps of all vertices
CLAIMS_A_THREAD = 3  # waking a thread takes 20 to 50 us, a claim 5 to 20
Launch = Callable[..., int]  # launch(kernel, *arguments, limit=most threads): the sum of what they return


@kernel
def degrees_of_bits(bits: Any, degree: Any, stride: Any) -> Any:
    """Sum of the degrees of the vertices whose bit is set, estimated from every `stride`-th word; one thread."""
    total = u64(0)
    for index in range(u64(0), u64(len(bits)), u64(stride)):
        word = bits[index]
        while word != u64(0):
            total += u64(degree[(index << u64(6)) + trailing_zeros(word)])
            word &= word - u64(1)
    return total * u64(stride)


class VertexState(Vertices):
    """Arrays of one job on one device; calls are done when they return.

    launch runs a kernel; copies: degrees and so on are copied, not viewed. looked: edges that `heads` looked at, and
    that are not counted yet.
    """

    def __init__(self, job: Job, launch: Launch, copies: bool, memory: KeptMemory = FRESH) -> None:
        self._memory = memory
        self.job, self.code, self.plan = job, job.code, job.plan
        self.launch, self.copies = launch, copies
        self.chunk: Range = (0, min(job.plan.chunk, job.vertices))
        code, words = job.code, (job.vertices + 63) // 64
        self.counter = np.zeros(1, dtype=np.int64)
        self.active, self.next = self._take("active", words, np.uint64, 0), self._take("next", words, np.uint64, 0)
        self.open = self._take("open", words if job.plan.open_bits else 0, np.uint64, ~np.uint64(0))
        self.remain = self._take("remain", words if job.plan.heads else 0, np.uint64, 0)
        room = max(job.plan.chunk, min(BLOCK, job.vertices))  # `start` works by whole blocks
        self.held = np.zeros(words if job.plan.held_bits else 0, dtype=np.uint64)
        self.held_back = self.looked = 0  # vertices, edges
        self.known_edges: int | None = None  # of the frontier, where it was looked through
        self.value = self._take("value", room, code.value_dtype)
        self.got = self._take("got", 0 if code.in_place else room, code.got_dtype, code.identity)
        self.partial_sums = np.zeros((-(-job.vertices // BLOCK), len(code.totals)), dtype=np.float64)
        self.source = self._new_source()
        self.sends, self.no_messages = False, np.empty(0, message_dtype(code))  # `apply` writes messages to source
        self.attribute_bytes = 0
        self.hubs: list[tuple[np.ndarray, np.ndarray]] = []
        self._own_degrees = copies and bool(whole_degrees(code, job.plan.source_copy))
        self._all_degrees = job.host.degree.copy() if self._own_degrees else job.host.degree
        self.attribute_bytes += self._all_degrees.nbytes if self._own_degrees else 0
        self._bind()

    def _take(self, name: str, count: int, dtype: Any, fill: Any = None) -> np.ndarray:
        """`count` elements for the array of that name, all `fill`; None: holding anything."""
        return self._memory.take(count, dtype, fill)

    def _new_source(self) -> np.ndarray | None:
        if self.plan.message:
            return self._take("source", self.job.vertices, message_dtype(self.code))
        if self.plan.source_copy:
            return self._take("source", self.job.vertices, self.code.value_dtype)
        return None

    def _bind(self) -> None:
        """Degrees and per-vertex parameters of the chunk: what the vertex kernels read beside the values."""
        part = slice(*self.chunk)
        self.degree, self.in_degree, self.own = (
            self._all_degrees[part],
            self.job.host.in_degree[part],
            self._parameters()[part],
        )
        if self.copies:
            self.degree = self.degree if self._own_degrees else self.degree.copy()
            self.in_degree, self.own = self.in_degree.copy(), self.own.copy()
            copied = (self.in_degree, self.own) if self._own_degrees else (self.degree, self.in_degree, self.own)
            self.attribute_bytes += sum(array.nbytes for array in copied)

    def _parameters(self) -> np.ndarray:
        """float64[vertices, n], of vertices that this device may compute; the system gives memory for no others."""
        ids, given = self.job.ids, self.code.own
        if ids is None or not given.size:
            return given
        found = np.zeros((self.job.vertices, given.shape[1]))
        found[slice(*ids.own_numbers)] = given[slice(*ids.own)]
        return found

    @property
    def memory_bytes(self) -> int:
        arrays = [self.active, self.next, self.open, self.remain, self.held, self.value, self.got, self.partial_sums]
        arrays += [] if self.source is None else [self.source]
        degree = self._all_degrees if self._own_degrees else self.degree
        arrays += [degree, self.in_degree, self.own] if self.copies else []
        return sum(array.nbytes for array in arrays)

    def load(self, chunk: Range, values: bool) -> None:
        if self.plan.resident:
            return
        self.chunk = chunk
        self._bind()
        if values:
            assert self.job.host.value is not None
            first, last = chunk
            self.value[: last - first] = self.job.host.value[first:last]
            self.attribute_bytes += (last - first) * self.code.value_dtype.itemsize

    def _run(self, kernel: Callable[..., int], *arguments: Any, claims: int) -> int:
        """Launch a kernel that has `claims` pieces of work, on no more threads than are worth waking for them."""
        self.counter[0] = 0
        return self.launch(kernel, *arguments, limit=1 + claims // CLAIMS_A_THREAD)

    def start(self, part: Range) -> None:
        if self.job.ids is not None:
            self._start_shifted(part, self.job.ids.shift)
        else:
            self._start(part, 0, self.next, self.open, self.partial_sums)

    def _start(self, part: Range, shift: int, bits: np.ndarray, opened: np.ndarray, partials: np.ndarray) -> None:
        """First values of `part`, by store IDs; bits and totals to arrays that go by them, too."""
        self._run(
            self.code.start, self.value, self.chunk[0] + shift, self.degree, self.in_degree, self.own,
            self.code.members, bits, opened, partials, *part, self.code.ints, self.code.floats, self.counter,
            claims=blocks_of(part),
        )  # fmt: skip

    def _start_shifted(self, part: Range, shift: int) -> None:
        """The same where numbers in arrays are no store IDs, which `start` may read. Of what is made for all vertices,
        the system gives memory for the own slice alone."""
        first, last = (number + shift for number in part)
        bits, opened = (np.zeros((last + 63) // 64, np.uint64) for _ in range(2))
        partials = np.zeros((-(-last // BLOCK), len(self.code.totals)))
        self._start((first, last), shift, bits, opened, partials)
        self.next[bit_words(part)] = bits[bit_words((first, last))]
        if len(self.open):
            self.open[bit_words(part)] = opened[bit_words((first, last))]
        low, rows = part[0] // BLOCK, partials[first // BLOCK :]
        self.partial_sums[low : low + len(rows)] = rows

    def refresh(self, part: Range) -> None:
        first, last = part
        if self.plan.message:
            self.send(part, self)
        elif self.source is not None:
            self.source[first:last] = self.value[first - self.chunk[0] : last - self.chunk[0]]

    def send(self, part: Range, peer: VertexState) -> None:
        """Messages of a slice of the chunk to `peer`."""
        self._run(
            self.code.message, self.value, self.chunk[0], self.degree, peer.source, 0, *part,
            self.code.ints, self.code.floats, self.counter, claims=blocks_of(part),
        )  # fmt: skip

    def reopen(self) -> None:
        """Nothing where values are not all here: then every vertex counts as open."""
        if self.plan.resident and self.code.has_done and len(self.open):
            self._run(
                self.code.reopen, self.value, 0, self.open, 0, self.job.vertices,
                self.code.ints, self.code.floats, self.counter, claims=blocks_of((0, self.job.vertices)),
            )  # fmt: skip

    def heads(self, step: Step, part: Range) -> None:
        heads, head_skip = self.job.host.heads[step.table.name]
        self.looked += self._run(
            self.code.pull_heads, heads, head_skip, self.open, self.remain, self.value, self.degree, self.active,
            self.next, *part, self.code.ints, self.code.floats, self.counter, claims=blocks_of(part),
        )  # fmt: skip

    def push(
        self, words: np.ndarray, weights: np.ndarray, work: np.ndarray, value: np.ndarray, value_first: int,
        degree: np.ndarray, listed: bool,
    ) -> int:  # fmt: skip
        """Push over `work`: records where `listed`, else parts. value and degree are the RA from value_first on."""
        kernel = self.code.push_records if listed else self.code.push
        dst = self.value if self.code.in_place else self.got
        return self._run(
            kernel, words, weights, work, self.counter, value, value_first, degree, self.active, dst, *self.chunk,
            self.next, self.code.ints, self.code.floats, claims=_claims(work, listed),
        )  # fmt: skip

    def pull(self, words: np.ndarray, weights: np.ndarray, work: np.ndarray, step: Step) -> int:
        """Pull over `work`: records where step.listed, else parts; hub sums of SUM go to `carry`, returned by hubs."""
        source = self.value if self.source is None else self.source
        dst = self.value if self.code.in_place else self.got
        open_bits = self.remain if step.remain else self.open
        degree = self.degree if self.plan.resident else self._all_degrees  # of senders, who lie in any chunk
        head = (words, weights, work, self.counter, source, 0, degree, self.active, dst, *self.chunk, self.next)
        if step.listed is not None:
            records = (*head, open_bits, self.code.ints, self.code.floats)
            return self._run(self.code.pull_records, *records, claims=_claims(work, True))
        carry = np.full(len(work), self.code.identity, dtype=self.code.got_dtype)
        if step.told:
            told = (words, weights, work, self.counter, source, degree, self.next, self.got, carry)
            self.carry = carry
            return self._run(self.code.pull_told, *told, self.code.ints, self.code.floats, claims=len(work))
        parts = (*head, open_bits, carry, self.code.ints, self.code.floats)
        edges = self._run(self.code.pull, *parts, claims=len(work))
        self.carry = carry
        return edges

    def keep_hubs(self, numbers: np.ndarray, rows: np.ndarray, parts: np.ndarray, step: Step) -> None:
        """Note the carry rows of large pages after a pull of the pages `numbers` in `rows`; nothing but for SUM."""
        if self.code.idempotent or step.listed is not None or numbers[-1] < step.table.small_pages:
            return
        order = np.argsort(rows)
        of_part = numbers[order[np.searchsorted(rows, parts[:, 0], sorter=order)]]
        large = of_part >= step.table.small_pages
        self.hubs.append((of_part[large], self.carry[large]))

    def add_hubs(self, table: PageTable, part: Range, peers: Sequence[VertexState]) -> None:
        columns: list[tuple[np.ndarray, np.ndarray]] = []
        for peer in peers:
            columns += peer.hubs
        if not columns:
            return
        numbers, sums = (np.concatenate(column) for column in zip(*columns, strict=True))
        order = np.argsort(numbers, kind="stable")
        vertices = table.first_vertex[numbers[order]]
        inside = (vertices >= np.uint64(part[0])) & (vertices < np.uint64(part[1]))
        at = (vertices[inside] - np.uint64(self.chunk[0])).astype(np.int64)
        with np.errstate(over="ignore", invalid="ignore"):  # the end of a run names sums that diverge
            np.add.at(self.got, at, sums[order][inside])

    def reduce(self, part: Range, peers: Sequence[VertexState]) -> None:
        combine = COMBINE[type(self.code.program).combine.name]
        window = self.window(part)
        mine = self.value if self.code.in_place else self.got
        for peer in peers:
            if peer is not self:
                theirs = peer.value if self.code.in_place else peer.got
                with np.errstate(over="ignore", invalid="ignore"):  # as in add_hubs
                    combine(mine[window], theirs[window], out=mine[window])
                self.next[bit_words(part)] |= peer.next[bit_words(part)]

    def apply(self, part: Range) -> None:
        code = self.code
        self._run(
            code.apply, self.value, self.chunk[0], self.got, self.chunk[0], self.degree, self.in_degree, self.own,
            self.next, self.partial_sums, self.source if self.sends else self.no_messages, *part, code.ints,
            code.floats, self.counter, claims=blocks_of(part),
        )  # fmt: skip

    def apply_again(self, part: Range, everybody: bool) -> None:
        code = self.code
        self._run(
            code.apply_again, self.value, self.got, self.degree, self.in_degree, self.own, self.active, self.next,
            self.partial_sums, self.source if self.sends else self.no_messages, *part, everybody, code.ints,
            code.floats, self.counter, claims=blocks_of(part),
        )  # fmt: skip

    def forget(self, part: Range, told: bool) -> None:
        if told:
            self._run(self.code.forget, self.got, self.next, *part, self.counter, claims=blocks_of(part))
        else:
            self.got[self.window(part)] = self.code.identity

    def notify(self, words: np.ndarray, work: np.ndarray) -> int:
        """Tell the neighbours of active vertices, over parts."""
        return self._run(notify, words, work, self.counter, self.active, self.next, claims=len(work))

    def gather(self, parts: Sequence[Range], peers: Sequence[VertexState], values: bool) -> None:
        for part, peer in zip(parts, peers, strict=True):
            if peer is self or part[0] >= part[1]:
                continue
            bits, window = bit_words(part), self.window(part)
            self.next[bits] = peer.next[bits]
            if len(self.open):
                self.open[bits] = peer.open[bits]
            if len(self.remain):
                self.remain[bits] = peer.remain[bits]
            if values:
                self.value[window] = peer.value[window]
            if not self.code.in_place:
                self.got[window] = self.code.identity

    def store(self, part: Range) -> None:
        if self.plan.resident:
            return
        assert self.job.host.next_value is not None
        self.job.host.next_value[part[0] : part[1]] = self.value[self.window(part)]
        self.attribute_bytes += (part[1] - part[0]) * self.code.value_dtype.itemsize

    def partials(self, part: Range) -> np.ndarray:
        return self.partial_sums[part[0] // BLOCK : -(-part[1] // BLOCK)]

    def advance(self) -> None:
        self.active, self.next = self.next, self.active
        self.known_edges = None
        self.next.fill(0)

    def restore(self, values: np.ndarray, active: np.ndarray) -> None:
        if self.plan.resident:
            self.value[:] = values
        self.active[:] = active
        self.known_edges = None

    def hold_back(self, step: float, least_edges: int) -> None:
        degree = self.job.host.degree
        told = delta_stepping.hold_back(self.active, self.held, self.value, degree, step, least_edges)
        self.held_back, self.known_edges = told

    def readmit(self, table: PageTable, pages: np.ndarray) -> None:
        self.known_edges = None
        delta_stepping.readmit(
            self.active, self.held, self.job.host.degree, table.layout.longest_list, table.first_vertex,
            table.last_vertex, pages, table.spans_hub,
        )  # fmt: skip

    def window(self, part: Range) -> slice:
        """Where a slice of the chunk lies in value and got."""
        return slice(part[0] - self.chunk[0], part[1] - self.chunk[0])

    def bits(self, which: str) -> np.ndarray:
        return {
            "active": self.active, "next": self.next, "held": self.held, "open": self.open, "remain": self.remain,
        }[which]  # fmt: skip

    def count(self, which: str) -> int:
        return int(count_bits(self.bits(which)))

    def active_edges(self) -> int:
        if self.known_edges is not None:
            return self.known_edges
        return int(degrees_of_bits(self.active, self.job.host.degree, 1 + (self.job.vertices >> 22)))

    def list_vertices(self, which: str, most: int) -> np.ndarray | None:
        return list_bits(self.bits(which), 0, self.job.vertices) if self.count(which) <= most else None

    def read_values(self) -> np.ndarray:
        return self.value

    def read_bits(self, which: str) -> np.ndarray:
        return self.bits(which).copy()

    def lists_of(self, which: str, table: PageTable) -> np.ndarray:
        lists = np.zeros(table.pages, np.int64)
        count_pages(self.bits(which), table.first_vertex, table.last_vertex, lists)
        return lists


def blocks_of(part: Range) -> int:
    """Claims of a vertex kernel on a slice."""
    return -(-(part[1] - part[0]) // BLOCK)


def _claims(work: np.ndarray, listed: bool) -> int:
    """How often work is claimed: a part, or 16 records, at a time."""
    return -(-len(work) // 16) if listed else len(work)


def bit_words(part: Range) -> slice:
    """The words of a bitmap that a slice covers; slices begin at multiples of 64."""
    return slice(part[0] >> 6, (part[1] + 63) >> 6)


def records_of(
    words: np.ndarray, numbers: np.ndarray, rows: np.ndarray, table: PageTable, listed: np.ndarray, **cut: int
) -> np.ndarray:
    """Records int64[m, 5] of the vertices `listed` in the pages `numbers`, which lie in `rows` of `words`.

    cut: `skip` and `stretch` of find_records.
    """
    small = int(np.searchsorted(numbers, table.small_pages))
    first, last = table.first_vertex[numbers], table.last_vertex[numbers]
    listed = listed[np.searchsorted(listed, first.min()) : np.searchsorted(listed, last.max(), "right")]
    return find_records(words, rows, first, last, small, listed, **cut)
