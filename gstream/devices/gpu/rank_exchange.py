"""GPUs of several ranks: slices go from rank to rank (gstream.devices.gpu.rank_links), and kernels combine them.

Every rank has as many GPUs. GPU j of a rank deals with GPU j of the others: it gives them what its rank's GPUs have got
for the vertices of their slices, merges its own slice of all, and takes their values. Within a rank GPUs read each
other's memory, as those of one process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gstream.devices.attributes import piece_bytes
from gstream.devices.base import Call
from gstream.devices.gpu.arrays import Array
from gstream.devices.gpu.exchange import (
    PeerExchange,
    forget_hubs,
    hubs_of,
    join_hubs,
    reduce,
    sum_hubs,
)  # fmt: skip
from gstream.devices.gpu.mirrors import GpuMirrors, goes_by_lists
from gstream.devices.gpu.rank_links import Link, Part
from gstream.devices.gpu.vertex_state import GpuState
from gstream.devices.host.vertex_state import BITS, bit_words
from gstream.devices.job import Range
from gstream.devices.ranks import Ranks, ReadsWrites, Ways
from gstream.hostcode.generate import BLOCK
from gstream.paging.ownership import Partition
from gstream.paging.page_table import PageTable

PIECES = 2  # of what comes from another rank: of values and of bits, or what goes and what comes


class Merged(NamedTuple):
    """An array that ranks merge by a kernel, and the place in it of each rank's slice."""

    kernel: str
    array: Array
    places: Sequence[Range]

    @property
    def longest(self) -> int:
        return max(last - first for first, last in self.places)

    def step(self, state: GpuState) -> int:
        """Elements of which others' copies are held at once."""
        return piece_bytes(state.job.vertices) // self.array.dtype.itemsize

    def piece(self, number: int, step: int) -> Merged:
        """Some of each place, from number * step on."""
        at = number * step
        return self._replace(places=[(min(low + at, high), min(low + at + step, high)) for low, high in self.places])


class GpuRankExchange(PeerExchange):
    """The GPUs of this rank, numbers from `first` on of as many as all ranks have."""

    def __init__(
        self, devices: Sequence[Any], ranks: Ranks, link: Link, read_and_written: ReadsWrites | None = None
    ) -> None:  # fmt: skip
        """read_and_written: of a rank's part of the graph; None: all read one store."""
        super().__init__(devices)
        self._read_and_written, self._ways = read_and_written, Ways()
        self._mirrors: list[GpuMirrors] = []
        self._begun_merging = False  # of the run: first values have gone to all
        self._known: tuple[Any, list[GpuMirrors]] | None = None  # those of the last run
        self.ranks, self.link, count = ranks, link, len(devices)
        self.note = link.note
        self.first = ranks.rank * count
        self.partition = self._begun = Partition.equal(ranks.size * count, ranks.size)
        self.apart += PIECES * (ranks.size - 1)  # as many are held of others at once
        self.notifies = False
        self._blocks: np.ndarray | None = None  # float64[blocks, totals]
        self._waiting: list[tuple[list[Range], list[tuple[slice, np.ndarray]]]] = []  # partials on their way

    @property
    def bytes_exchanged(self) -> int:  # type: ignore[override]
        return self.ranks.bytes_sent

    def close(self) -> None:
        self._forget_mirrors()
        self.link.close()

    def _forget_mirrors(self) -> None:
        for mirrors in [] if self._known is None else self._known[1]:
            with mirrors.gpu:
                mirrors.let_go()
        self._known = None

    def follow(self, tables: dict[str, PageTable]) -> None:
        self._ways = tuple(sorted((way, table.name) for way, table in tables.items()))

    def attach(self, slices: Sequence[Range] | None, sends: bool) -> None:
        """Sums that are pulled of messages take, on a graph in parts, values of mirrors alone."""
        super().attach(slices, sends)
        self._blocks, self._waiting, self._mirrors, self._begun_merging = None, [], [], False
        pulls = all(way == "pull" for way, _ in self._ways)
        if self._read_and_written is None or slices is None or not (sends and pulls):
            return
        if goes_by_lists(self._peers[0].state):
            key = self._ways, tuple(slices)
            if self._known is None or self._known[0] != key:
                self._forget_mirrors()
                bits = self._read_and_written(self._ways)
                self._known = (
                    key,
                    [
                        GpuMirrors(peer.gpu, self.ranks, slices[number :: len(self._peers)], *bits)
                        for number, peer in enumerate(self._peers)
                    ],
                )
            self._mirrors = self._known[1]

    def reduce(self, slices: Sequence[Range], pulled: PageTable | None, then: Call) -> None:
        self._begun_merging = True
        states = [peer.state for peer in self._peers]
        spread = pulled is not None and self._spread
        for number, peer in enumerate(self._peers):
            with peer.gpu, peer.merges.over(peer.state.stream):
                for part in slices[number :: len(states)] if len(states) > 1 else ():
                    if not spread:
                        reduce(peer.state, part, states)
                    if pulled is not None:
                        join_hubs(peer.state, pulled.name, part, states)
        for number, (peer, part) in enumerate(zip(self._peers, self._own(slices), strict=True)):
            with peer.gpu:
                with peer.merges.over(peer.state.stream):
                    self._merge(number, peer.state, slices, pulled)
                if pulled is not None:
                    sum_hubs(peer.state, pulled.name, part, self._told)
                    for other in slices[number :: len(states)] if len(states) > 1 else [part]:
                        forget_hubs(peer.state, pulled.name, other)
            then(peer, self.first + number)
        self.order()
        self.sent = self._sending

    def _merge(self, number: int, state: GpuState, slices: Sequence[Range], pulled: PageTable | None) -> None:
        """Own slice becomes what all ranks have of it. Of a pulled sum no bits are set yet."""
        start = state.chunk[0]
        parts = _before(state.plan.receivers, slices[number :: len(self._peers)])  # others can't have got anything
        merged = [Merged("reduce_kernel", state.combined, [(first - start, last - start) for first, last in parts])]
        if pulled is not None and self._mirrors:
            merged = []
            self._mirrors[number].reduce(state, number, self.link, state.plan.receivers)
        if pulled is None:
            merged.append(Merged("merge_bits_kernel", state.next, list(map(_words, parts))))
        else:
            hubs = [hubs_of(state, pulled.name, part)[1] for part in parts]
            merged.append(Merged("reduce_kernel", state.carry[pulled.name], hubs))
        first, last = parts[self.ranks.rank]
        with state.span("merges", f"reduce vertices {first} to {last}"):
            most = max(-(-one.longest // one.step(state)) for one in merged)
            for piece in range(most):
                self._merge_pieces(number, state, [one.piece(piece, one.step(state)) for one in merged])

    def _merge_pieces(self, number: int, state: GpuState, merged: Sequence[Merged]) -> None:
        """Own place of each array becomes what all ranks' arrays have there, in their order."""
        gives, takes, rank = list[Part](), list[Part](), self.ranks.rank
        rooms: list[list[int]] = []
        for k, (_, array, places) in enumerate(merged):
            width, (low, high) = array.dtype.itemsize, places[rank]
            room = state.buffer(
                f"pieces of ranks {k}", (self.ranks.size - 1) * piece_bytes(state.job.vertices), np.uint8
            )
            starts = {other: room.address + n * width * (high - low) for n, other in enumerate(self._others())}
            gives += [Part(r, array.at(places[r][0]), width * (places[r][1] - places[r][0])) for r in starts]
            takes += [Part(r, start, width * (high - low)) for r, start in starts.items()]
            rooms.append([array.at(low) if r == rank else starts[r] for r in range(self.ranks.size)])
        self._swap(number, state, gives, takes)
        for (kernel, array, places), where in zip(merged, rooms, strict=True):
            low, high = places[rank]
            if low < high:
                copies = state.table_of(where)
                state.launch(kernel, state.blocks(high - low, 256), array.at(low), copies, len(where), high - low)

    def _swap(self, number: int, state: GpuState, gives: list[Part], takes: list[Part]) -> None:
        """Without what is empty."""
        full = [[part for part in parts if part.nbytes] for parts in (gives, takes)]
        if full[0] or full[1]:
            self.link.swap(state, number, *full)

    def _others(self) -> list[int]:
        return [rank for rank in range(self.ranks.size) if rank != self.ranks.rank]

    def _own(self, slices: Sequence[Range]) -> Sequence[Range]:
        return slices[self.first : self.first + len(self._peers)]

    def gather(self, slices: Sequence[Range], values: bool) -> None:
        first = self._peers[0].state
        senders, receivers, in_place = first.plan.senders, first.plan.receivers, first.code.in_place
        if self.sent and self._mirrors:
            for number, peer in enumerate(self._peers):
                with peer.gpu, peer.merges.over(peer.state.stream):
                    self._mirrors[number].gather(peer.state, number, self.link, senders)
            self._share_here(slices, ("source",))
        elif self.sent:
            self._share(_before(senders, slices), ("source",))
        else:
            changed = _before(receivers, slices) if in_place and self._begun_merging else slices
            self._share(changed, ("next", "open", "remain", *(("value",) if values else ())))
        for number, peer in enumerate(self._peers, self.first):
            state = peer.state
            with peer.gpu:
                for other, part in enumerate(_before(receivers, slices)):
                    if other != number and part[0] < part[1] and state.scattered and not in_place:
                        state.reset(part, state.chunk[0])

    def _share(self, slices: Sequence[Range], names: Sequence[str]) -> None:
        """All slices of a state's arrays come to all GPUs."""
        count = len(self._peers)
        for number, peer in enumerate(self._peers):
            with peer.gpu, peer.merges.over(peer.state.stream):
                gives, takes = list[Part](), list[Part]()
                for name in names:
                    places = [_place(peer.state, name, part) for part in slices[number::count]]
                    gives += [Part(rank, *places[self.ranks.rank]) for rank in self._others()]
                    takes += [Part(rank, *places[rank]) for rank in self._others()]
                self._swap(number, peer.state, gives, takes)
        self._share_here(slices, names)

    def _share_here(self, slices: Sequence[Range], names: Sequence[str]) -> None:
        """What each GPU of this rank deals with comes to the others."""
        if len(self._peers) > 1:
            self.order()
            for number in range(len(self._peers)):
                self._take_here(number, slices, names)
            self.order()

    def _take_here(self, number: int, slices: Sequence[Range], names: Sequence[str]) -> None:
        """One GPU takes what others of its rank have of the slices that they deal with."""
        peer, count = self._peers[number], len(self._peers)
        with peer.gpu, peer.merges.over(peer.state.stream):
            for k, part in enumerate(slices):
                if k % count != number:
                    for name in names:
                        to, nbytes = _place(peer.state, name, part)
                        theirs = _place(self._peers[k % count].state, name, part)[0]
                        peer.gpu.copy(to, theirs, nbytes, peer.state.stream)

    def store(self, slices: Sequence[Range]) -> None:
        for peer, part in zip(self._peers, self._own(slices), strict=True):
            peer.state.store(part)
        host = self._peers[0].state.job.host
        if not self._resident and host.next_value is not None:
            count = len(self._peers)
            for number in range(count):
                self.ranks.gather(host.next_value, slices[number::count])

    def collect(self) -> None:
        if self.sent and self._slices is not None:
            self._share(self._slices, ("active", "value"))

    def frontier(self, edges: bool, table: PageTable | None) -> tuple[int, int, int, np.ndarray | None]:
        active, out, held, lists = super().frontier(edges, table)
        if self.sent:  # `apply` counted those of its own slices
            counts = np.array([active, out], np.int64)
            self.ranks.combine(counts, "sum")
            active, out = counts.tolist()
        else:
            self.ranks.check_same("frontiers", active)
        waiting, self._waiting = self._waiting, []
        for rows, own in waiting:
            assert self._blocks is not None, "no partials are on their way"
            for where, partials in own:
                self._blocks[where] = partials
            self.ranks.gather(self._blocks, rows)
        return active, out, held, lists

    def partials(self, slices: Sequence[Range]) -> Iterator[tuple[slice, np.ndarray]]:
        own = list(super().partials(self._own(slices)))
        code, vertices, count = self._peers[0].state.code, self._peers[0].state.job.vertices, len(self._peers)
        if self._blocks is None:
            self._blocks = np.zeros((-(-vertices // BLOCK), len(code.totals)))
        rows = [(first // BLOCK, -(-last // BLOCK)) if first < last else (0, 0) for first, last in slices]
        of_ranks = [rows[rank * count : (rank + 1) * count] for rank in range(self.ranks.size)]
        joined = [(min(full)[0], max(full)[1]) if (full := [r for r in some if r[0] < r[1]]) else (0, 0)
                  for some in of_ranks]  # fmt: skip
        self._waiting.append((joined, own))
        for first, last in joined:
            yield slice(first, last), self._blocks[first:last]


def _before(end: int, parts: Sequence[Range]) -> list[Range]:
    """What is left of ranges of vertices before `end`."""
    return [(min(first, end), min(last, end)) for first, last in parts]


def _words(part: Range) -> Range:
    """The words of a bitmap that a slice covers."""
    words = bit_words(part)
    return (words.start, words.stop) if part[0] < part[1] else (0, 0)


def _place(state: GpuState, name: str, part: Range) -> tuple[int, int]:
    """Address and bytes of a slice of one of a state's arrays; of one that is not there, nothing."""
    array: Array = getattr(state, name)
    if array.count == 0 or part[0] >= part[1]:
        return 0, 0
    start = state.chunk[0] if name == "value" else 0
    first, last = _words(part) if name in BITS else (part[0] - start, part[1] - start)
    return array.at(first), array.dtype.itemsize * (last - first)
