"""How ranks agree that have the state of their own slice and mirrors alone (gstream.paging.own_ids).

Slices are given by numbers. What a pull sums goes to other ranks while pages stream (streamed_sums.py), all else when
they are through. After a superstep mirrors have the values, and the bits, of their owners. Sums of hubs go to all
ranks, which add them up in the order of pages, as one process does it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gstream.devices.base import Call, Feeding
from gstream.devices.host.device import HostDevice
from gstream.devices.host.mirrors import Mirrors
from gstream.devices.host.rank_exchange import RankExchange
from gstream.devices.host.rank_values import RankValues
from gstream.devices.host.streamed_sums import ENDLESS, PIECES, StreamedSums
from gstream.devices.host.vertex_state import COMBINE, bit_words, degrees_of_bits
from gstream.devices.job import Range, Step
from gstream.devices.ranks import Ranks, ReadsWrites, Ways
from gstream.hostcode import delta_stepping
from gstream.hostcode.bitmaps import count_bits
from gstream.hostcode.generate import BLOCK
from gstream.paging.own_ids import OwnIds
from gstream.paging.page_table import PageTable
from gstream.telemetry.trace import Trace

DEGREES_A_WORD = 22  # bits: frontiers of more vertices are weighed by a sample


class OwnSliceExchange(RankExchange):
    """The one device of this rank. ids: of its state. read_and_written: bits of what a run so reads and writes."""

    devices: Sequence[HostDevice]

    def __init__(
        self, devices: Sequence[HostDevice], ranks: Ranks, ids: OwnIds, read_and_written: ReadsWrites,
        trace: Trace | None = None,
    ) -> None:  # fmt: skip
        super().__init__(devices, ranks)
        self.ids, self._read_and_written, self._trace = ids, read_and_written, trace
        self._ways: Ways = ()
        self._known: tuple[Ways, bool] | None = None  # what `_mirrors` and `_sums` are of; None: there are none
        self._mirrors: Mirrors
        self._sums: StreamedSums
        self._begun = self._streams = False  # values were merged; the superstep's sums go while pages stream
        self._later = np.empty(0, np.int64), np.empty(0, np.uint64)  # own small pages and their first vertices

    @property
    def mirrors_bytes(self) -> int:
        """Of bitmaps of mirrors."""
        return 0 if self._known is None else self._mirrors.nbytes

    def forget(self) -> None:
        """Free bitmaps of mirrors, until the next run."""
        if self._known is not None:
            self._known = None
            del self._mirrors, self._sums

    def follow(self, tables: dict[str, PageTable]) -> None:
        self._ways = tuple(sorted((way, table.name) for way, table in tables.items()))

    def attach(self, slices: Sequence[Range] | None, sends: bool) -> None:
        super().attach(slices, sends)
        self._begun, key = False, (self._ways, self._state.code.idempotent)
        if key != self._known:  # those of one run, as they are as large as bitmaps of all vertices
            self.forget()
            self._mirrors, self._known = self._made(), key
            self._sums = StreamedSums(self.ranks, self._mirrors, self.ids, self._trace)

    def _made(self) -> Mirrors:
        """Values that are combined where they lie, or tell what is done, are read where they are written, too."""
        reads, writes = self._read_and_written(self._ways)
        return Mirrors(self.ranks, self.ids, reads | writes if self._state.code.idempotent else reads, writes)

    def begin(self, step: Step) -> None:
        super().begin(step)
        state, device, table = self._state, self.devices[0], step.table
        self._streams = step.direction == "pull" and not state.code.idempotent
        device.pieces, device.last_page = PIECES if self._streams else 1, -1
        if self._streams:
            own = self.partition.share(table.all_pages(), table.stretch, self.first)
            own = own[own < table.small_pages]
            self._later = own, table.first_vertex[own]
            self._sums.begin(state.got, COMBINE[type(state.code.program).combine.name])

    def feed(self, feedings: Sequence[Feeding]) -> None:
        for _ in feedings[0]:
            if self._streams:
                pages, first = self._later
                after = int(np.searchsorted(pages, self.devices[0].last_page, "right"))
                self._sums.passed(int(first[after]) if after < len(pages) else ENDLESS)

    def reduce(self, slices: Sequence[Range], pulled: PageTable | None, then: Call) -> None:
        began, state, code = time.perf_counter(), self._state, self._state.code
        combine = COMBINE[type(code.program).combine.name]
        self._begun = True
        with np.errstate(over="ignore", invalid="ignore"):  # the end of a run names sums that diverge
            if self._streams:
                self._sums.finish()
            elif code.in_place:
                self._mirrors.reduce(state.value, combine, state.next)
            else:
                self._mirrors.reduce(state.got, combine)
        self._streams, self.devices[0].pieces = False, 1
        if pulled is not None:
            self._share_hubs(state)
            state.add_hubs(pulled, self.ids.own_numbers, [state])
        self._took(began)
        then(self.devices[0], self.first)
        self.sent = self._sending

    def gather(self, slices: Sequence[Range], values: bool) -> None:
        began, state, code = time.perf_counter(), self._state, self._state.code
        if self.sent:
            assert state.source is not None, "`apply` sent no messages"
            self._mirrors.gather(state.source)
        else:
            self._mirrors.gather(state.value, state.next if code.idempotent else None, not self._begun)
        if not code.in_place:
            first, last = self.ids.own_numbers
            state.got[:first] = state.got[last:] = code.identity
        state.reopen()
        self._took(began)

    def reopen(self) -> None:
        self._state.reopen()

    def hold_back(self, step: float, least_edges: int) -> None:
        """All go by the least value and the edges of all slices: mirrors are held back where their owners are."""
        state, (first, last) = self._state, self.ids.own_numbers
        words, degree = bit_words((first, last)) if first < last else slice(0, 0), state.job.host.degree
        delta_stepping.join(state.active, state.held, degree)
        own, state.held_back = state.active[words], 0
        told = self.ranks.everybody(
            (int(degrees_of_bits(own, degree[first:], 1)), float(delta_stepping.least_of(own, state.value[first:])))
        )
        if sum(edges for edges, _ in told) >= least_edges:
            limit = min(least for _, least in told) + step
            delta_stepping.hold_past(state.active, state.held, state.value, degree, limit)
            state.held_back = int(count_bits(state.held[words]))

    def frontier(self, edges: bool, table: PageTable | None) -> tuple[int, int, int, np.ndarray | None]:
        self.devices[0].finish_counts()
        state, (first, last) = self._state, self.ids.own_numbers
        bits = state.active[bit_words((first, last))] if first < last else state.active[:0]
        active, out = int(count_bits(bits)), 0
        if edges and active:
            stride = 1 + (self.ids.slices[-1][1] >> DEGREES_A_WORD)
            out = int(degrees_of_bits(bits, state.job.host.degree[first:], stride))
        told = np.sum(self.ranks.everybody((active, out, state.held_back)), axis=0).tolist()
        return told[0], told[1], told[2], None if table is None else state.lists_of("active", table)

    def agreed(self, choice: bool) -> bool:
        return bool(self.ranks.of_first(choice))

    def values(self, stay: bool = False) -> Any:
        own = self._state.value[slice(*self.ids.own_numbers)].copy()
        found = RankValues(self.ranks, own, list(self.ids.slices))
        return found if stay else found.host()

    def bits_of_all(self, which: str) -> np.ndarray:
        found = np.zeros(-(-self.ids.slices[-1][1] // 64), np.uint64)
        words = [bit_words(part) if part[0] < part[1] else slice(0, 0) for part in self.ids.slices]
        if self.ids.own[0] < self.ids.own[1]:
            found[words[self.first]] = self._state.bits(which)[bit_words(self.ids.own_numbers)]
        self.ranks.gather(found, [(part.start, part.stop) for part in words])
        return found

    def restore(self, values: Any, active: np.ndarray) -> None:
        self._state.restore(self.ids.select(lambda first, last: values[first:last]), self.ids.bits(active))

    def partials(self, slices: Sequence[Range]) -> Iterator[tuple[slice, np.ndarray]]:
        rows = [(first // BLOCK, -(-last // BLOCK)) if first < last else (0, 0) for first, last in self.ids.slices]
        sums, (low, high), begin = self._state.partial_sums, rows[self.first], self.ids.first // BLOCK
        found = np.empty((max(last for _, last in rows), sums.shape[1]))
        found[low:high] = sums[begin : begin + high - low]
        self.ranks.gather(found, rows)
        for first, last in rows:
            yield slice(first, last), found[first:last]
