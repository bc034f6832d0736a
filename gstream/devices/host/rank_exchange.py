"""How ranks agree, each with one device of host memory: every rank has arrays of all values, and merges its slice.

All ranks take all values and bits. So do the sums of hubs go to all, which are added up in the order of pages, as one
process does it. Of a graph in parts most programs do with less (gstream.devices.host.own_slices).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from gstream.devices.base import Call
from gstream.devices.host.device import HostExchange
from gstream.devices.host.memory_device import MemoryDevice
from gstream.devices.host.vertex_state import COMBINE, VertexState, bit_words
from gstream.devices.job import Range
from gstream.devices.ranks import Ranks
from gstream.hostcode.generate import BLOCK
from gstream.paging.ownership import Partition
from gstream.paging.page_table import PageTable


class RankExchange(HostExchange):
    """The one device of this rank, number `first` of as many as there are ranks."""

    def __init__(self, devices: Sequence[MemoryDevice], ranks: Ranks) -> None:
        super().__init__(devices)
        self.notifies = False
        self.ranks, self.first = ranks, ranks.rank
        self.partition = Partition.equal(ranks.size)

    @property
    def _state(self) -> VertexState:
        return self.devices[0].state

    @property
    def bytes_exchanged(self) -> int:  # type: ignore[override]
        return self.ranks.bytes_sent

    def each(self, call: Call) -> None:
        call(self.devices[0], self.first)

    queue = each

    def reduce(self, slices: Sequence[Range], pulled: PageTable | None, then: Call) -> None:
        began, state = time.perf_counter(), self._state
        combined = state.value if state.code.in_place else state.got
        with np.errstate(over="ignore", invalid="ignore"):  # the end of a run names sums that diverge
            combine = COMBINE[type(state.code.program).combine.name]
            self.ranks.reduce(combined, self._windows(slices), combine)
        self.ranks.reduce(state.next, _words(slices), np.bitwise_or)
        if pulled is not None:
            self._share_hubs(state)
            state.add_hubs(pulled, slices[self.first], [state])
        self._took(began)
        then(self.devices[0], self.first)
        self.sent = self._sending

    def _share_hubs(self, state: VertexState) -> None:
        """Have the sums of all ranks' large pages."""
        numbers = [found for found, _ in state.hubs] or [np.empty(0, np.int64)]
        sums = [found for _, found in state.hubs] or [np.empty(0, state.code.got_dtype)]
        state.hubs = [(self.ranks.joined(np.concatenate(numbers)), self.ranks.joined(np.concatenate(sums)))]

    def gather(self, slices: Sequence[Range], values: bool) -> None:
        began, state = time.perf_counter(), self._state
        for bits in (state.next, state.open, state.remain):
            if len(bits):
                self.ranks.gather(bits, _words(slices))
        if self.sent:
            assert state.source is not None, "`apply` sent no messages"
            self.ranks.gather(state.source, slices)
        elif values:
            self.ranks.gather(state.value, self._windows(slices))
        if not state.code.in_place:
            for number, part in enumerate(slices):
                if number != self.first and part[0] < part[1]:
                    state.got[state.window(part)] = state.code.identity
        self._took(began)

    def store(self, slices: Sequence[Range]) -> None:
        super().store(slices)
        host = self._state.job.host
        if not self._state.plan.resident and host.next_value is not None:
            self.ranks.gather(host.next_value, slices)

    def collect(self) -> None:
        if self.sent and self._slices is not None:
            self.ranks.gather(self._state.value, self._windows(self._slices))

    def frontier(self, edges: bool, table: PageTable | None) -> tuple[int, int, int, np.ndarray | None]:
        found = super().frontier(edges, table)
        self.ranks.check_same("frontiers", found[0])
        return found

    def partials(self, slices: Sequence[Range]) -> Iterator[tuple[slice, np.ndarray]]:
        sums = self._state.partial_sums
        rows = [(first // BLOCK, -(-last // BLOCK)) if first < last else (0, 0) for first, last in slices]
        self.ranks.gather(sums, rows)
        for first, last in rows:
            yield slice(first, last), sums[first:last]

    def _windows(self, slices: Sequence[Range]) -> list[Range]:
        """Where slices of the chunk lie in value and got."""
        start = self._state.chunk[0]
        return [(first - start, last - start) for first, last in slices]

    def _took(self, began: float) -> None:
        self.devices[0].stats.merge_seconds += time.perf_counter() - began


def _words(slices: Sequence[Range]) -> list[Range]:
    """The words of a bitmap that slices cover."""
    found = [bit_words(part) for part in slices]
    return [(words.start, max(words.start, words.stop)) if part[0] < part[1] else (0, 0)
            for words, part in zip(found, slices, strict=True)]  # fmt: skip
