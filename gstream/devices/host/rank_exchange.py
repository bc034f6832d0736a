"""How ranks agree, each with one device of host memory: every rank has arrays of all values, and merges its slice.

Of a graph in parts values of mirrors alone go between ranks (gstream.devices.host.mirrors): a rank's part says which
they are. Else all ranks take all values. Bits of frontiers, of programs that go by them, go to all. So do the sums of
hubs, which are added up in the order of pages, as one process does it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gstream.devices.base import Call
from gstream.devices.host.device import HostExchange
from gstream.devices.host.memory_device import MemoryDevice
from gstream.devices.host.mirrors import MOST_KNOWN, Mirrors, PartOfRank
from gstream.devices.host.vertex_state import COMBINE, VertexState, bit_words
from gstream.devices.job import Range
from gstream.devices.ranks import Ranks
from gstream.hostcode.bitmaps import set_bits
from gstream.hostcode.generate import BLOCK
from gstream.paging.ownership import Partition
from gstream.paging.page_table import PageTable


class RankExchange(HostExchange):
    """The one device of this rank, number `first` of as many as there are ranks."""

    def __init__(self, devices: Sequence[MemoryDevice], ranks: Ranks, part: PartOfRank | None = None) -> None:
        super().__init__(devices)
        self._part, self._tables = part, dict[str, PageTable]()
        self._mirrors: Mirrors | None = None
        self._known: dict[Any, Mirrors] = {}
        self._begun = self._own_bits = False  # values were merged; active bits are of this rank's slice alone
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

    def follow(self, tables: dict[str, PageTable]) -> None:
        self._tables = tables

    def attach(self, slices: Sequence[Range] | None, sends: bool) -> None:
        super().attach(slices, sends)
        self._mirrors, self._begun, self._own_bits = None, False, False
        state = self._state
        bits_only = state.plan.held_bits or (state.plan.heads and not state.code.in_place)
        if self._part is None or slices is None or bits_only:  # values of all vertices are looked at
            return
        heads = tuple(sorted(state.job.host.heads))
        ways = tuple(sorted((way, table.name) for way, table in self._tables.items()))
        key = ways, heads, state.code.in_place, tuple(slices)
        if key not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = self._made(self._part, slices)
        self._mirrors = self._known[key]

    def _made(self, part: PartOfRank, slices: Sequence[Range]) -> Mirrors:
        """Mirrors of a run: a pull reads what its pages name, and writes to vertices that they list; a push the other
        way round. Values that are combined where they lie are read where they are written, too."""
        state = self._state
        reads, writes = (np.zeros(len(state.next), np.uint64) for _ in range(2))
        for way, table in self._tables.items():
            own = self.partition.share(table.all_pages(), table.stretch, self.first)
            named, listed = part.named(table.name), part.listed(table, own)
            reads |= named if way == "pull" else listed
            writes |= listed if way == "pull" else named
        for heads, _ in state.job.host.heads.values():
            first, last = slices[self.first]
            told = heads[first:last].reshape(-1)
            set_bits(reads, told[told != ~told.dtype.type(0)].astype(np.uint64))
        if state.code.in_place:
            reads |= writes
        return Mirrors(self.ranks, slices, reads, writes)

    def reopen(self) -> None:
        super().reopen()
        if self._mirrors is not None and self._slices is not None and len(self._state.open):
            self.ranks.gather(self._state.open, _words(self._slices))  # of values that others have not

    def reduce(self, slices: Sequence[Range], pulled: PageTable | None, then: Call) -> None:
        began, state = time.perf_counter(), self._state
        combined = state.value if state.code.in_place else state.got
        combine, mirrors = COMBINE[type(state.code.program).combine.name], self._mirrors
        self._begun = True
        with np.errstate(over="ignore", invalid="ignore"):  # the end of a run names sums that diverge
            if mirrors is None:
                self.ranks.reduce(combined, self._windows(slices), combine)
            elif state.code.in_place:
                mirrors.reduce_changed(combined, state.chunk[0], state.next, combine)
            else:
                mirrors.reduce(combined, state.chunk[0], combine)
        if mirrors is None:
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
        mirrors = self._mirrors if self._begun else None
        self._own_bits = mirrors is not None and not state.code.idempotent
        for bits in (state.next, state.open, state.remain):
            if len(bits) and not self._own_bits:
                self.ranks.gather(bits, _words(slices))
        if self.sent:
            assert state.source is not None, "`apply` sent no messages"
            if mirrors is None:
                self.ranks.gather(state.source, slices)
            else:
                mirrors.gather(state.source, 0, slices)
        elif values and mirrors is not None:
            mirrors.gather(state.value, state.chunk[0], slices, state.next if state.code.in_place else None)
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
        mirrored = self._mirrors is not None and self._begun
        if (self.sent or mirrored) and self._slices is not None:
            self.ranks.gather(self._state.value, self._windows(self._slices))
        if self._own_bits and self._slices is not None:
            self.ranks.gather(self._state.active, _words(self._slices))

    def frontier(self, edges: bool, table: PageTable | None) -> tuple[int, int, int, np.ndarray | None]:
        active, out, held, lists = super().frontier(edges, table)
        if self._own_bits:
            active, out = (sum(self.ranks.everybody(count)) for count in (active, out))
        else:
            self.ranks.check_same("frontiers", active)
        return active, out, held, lists

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
