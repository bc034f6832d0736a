"""GPUs of one process: each reduces its slice of everybody's WA, then takes the others' slices.

A peer's memory is read in place where it can be reached, over NVLink or PCIe; else it is copied here piece by piece,
through the host. What works on vertices is queued on the streams of states (gstream.devices.gpu.vertex_state).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from gstream.devices.attributes import piece_bytes
from gstream.devices.base import Call, Exchange
from gstream.devices.gpu.arrays import Array
from gstream.devices.gpu.batch_queue import BatchQueue
from gstream.devices.gpu.driver import Gpu
from gstream.devices.gpu.stream_lane import Stopwatch
from gstream.devices.gpu.vertex_state import GpuState
from gstream.devices.host.beside import BesideState
from gstream.devices.host.vertex_state import BITS, VertexState, bit_words
from gstream.devices.job import Range, Step
from gstream.paging.page_table import PageTable


class Peer(Protocol):
    """What is used of a GPU's device (gstream.devices.gpu.device); merges: of the job's merges."""

    gpu: Gpu
    merges: Stopwatch

    @property
    def resident(self) -> bool:
        """Whether it has all values of a job."""

    @property
    def state(self) -> GpuState: ...

    @property
    def queue(self) -> BatchQueue: ...

    def wait_for_batches(self) -> None:
        """Return when all batches are over: what works on vertices is in order on its stream."""

    def wait(self) -> None: ...


class PeerExchange(Exchange):
    """Slices are merged by kernels and copies of the GPU that has them, in the order of events of all GPUs."""

    def __init__(self, devices: Sequence[Any]) -> None:
        super().__init__(devices)
        self._peers: list[Peer] = list(devices)
        self.apart, self._spread, self._begun = 0, False, self.partition
        for device in devices:
            with device.gpu:
                self.apart = max(self.apart, sum(not device.gpu.reaches(peer.gpu) for peer in devices))
        self.sends = self.apart == 0
        self.notifies = len(devices) == 1  # several have the bits of their own slices alone, where `apply` sends
        self._told = False

    def order(self) -> None:
        """GPUs that have all values wait for each other, and this thread for batches alone."""
        peers = self._peers
        if len(peers) == 1:
            peers[0].wait_for_batches()
        elif self._resident:
            for peer in peers:
                peer.queue.arrive()
            for peer in peers:
                peer.queue.depend([other.queue.met for other in peers if other is not peer])
        else:
            for peer in peers:
                peer.wait()

    @property
    def _resident(self) -> bool:
        return all(peer.resident for peer in self._peers)

    def queue(self, call: Call) -> None:
        if not self._resident:
            self.each(call)
            return
        for number, device in enumerate(self.devices, self.first):
            call(device, number)

    def begin(self, step: Step) -> None:
        """Pages that change devices leave no sums of long lists behind, which would be added once more."""
        if self._begun != self.partition or self.with_cores:
            self._begun = self.partition
            for state in (peer.state for peer in self._peers):
                with state.gpu:
                    for carry in state.carry.values():
                        state.gpu.fill(carry, 0, state.stream)
        self._told = step.told
        super().begin(step)

    def attach(self, slices: Sequence[Range] | None, sends: bool) -> None:
        """Where all reach all, pulls of SUM write what a vertex got to the peer whose slice has it."""
        super().attach(slices, sends)
        states = [peer.state for peer in self._peers]
        self._spread = slices is not None and len(states) > 1 and self.apart == 0 and not states[0].code.idempotent
        for state in states:
            with state.gpu:
                if sends:  # address and number of addresses of messages; address of the count (cuda/vertices.cu)
                    where = [peer.messages.address for peer in states]
                    state.sent = state.keep_table(where), len(states), state.answers.address
                if self._spread and slices is not None:  # (end, address) of cuda/pull_sum.cu
                    ends = [last - state.chunk[0] for _, last in slices]
                    pairs = [(end, states[number % len(states)].got.address) for number, end in enumerate(ends)]
                    state.slices = state.keep_table([word for pair in pairs for word in pair]), len(pairs)

    def reduce(self, slices: Sequence[Range], pulled: PageTable | None, then: Call) -> None:
        states = [peer.state for peer in self._peers]
        for number, (peer, part) in enumerate(zip(self._peers, slices, strict=True)):
            with peer.gpu:
                if len(states) > 1 and not (pulled is not None and self._spread):
                    with peer.merges.over(peer.state.stream):
                        reduce(peer.state, part, states)
                if pulled is not None:
                    add_hubs(peer.state, pulled.name, part, states, self._told)
            then(peer, number)
        self.order()
        self.sent = self._sending

    def gather(self, slices: Sequence[Range], values: bool) -> None:
        """Copies of the peers' slices. Once `apply` sends, nothing is taken: only a checkpoint needs bits that the
        frontier is not counted by."""
        if len(self.devices) > 1:
            self.queue(lambda peer, _: self._take(peer, slices, values and not self.sent))

    def _take(self, mine: Peer, slices: Sequence[Range], values: bool) -> None:
        state = mine.state
        with mine.gpu, mine.merges.over(state.stream):
            for part, peer in zip(slices, self._peers, strict=True):
                if peer is not mine and part[0] < part[1]:
                    if values or not state.sent[1]:
                        with state.span("merges", f"take vertices {part[0]} to {part[1]}"):
                            take_bits(state, part, peer.state)
                            if values:
                                take_values(state, part, peer.state)
                    if state.scattered and not state.code.in_place:
                        state.reset(part, state.chunk[0])

    def share_told(self) -> None:
        """One device knows all bits."""

    def collect(self) -> None:
        if not self.sent or self._slices is None:
            return
        first, *others = (peer.state for peer in self._peers)
        with first.gpu:
            for part, peer in zip(self._slices[1:], others, strict=True):
                if part[0] < part[1]:
                    take_values(first, part, peer)
                    copy_bits(first, part, first.active, peer.active)

    def hand_out(self, slices: Sequence[Range], cores: VertexState, names: Sequence[str]) -> Call:
        pairs = zip(self._peers, slices, strict=True)
        copied = [hand_out(peer, part, cores, names, peer is self._peers[0]) for peer, part in pairs]

        def wait() -> None:
            for peer, event in zip(self._peers, copied, strict=True):
                with peer.gpu, peer.gpu.suspecting(peer.state.queued):
                    event.synchronize()

        return wait

    def take_in(self, slices: Sequence[Range], cores: BesideState) -> None:
        low, high = cores.touched
        for peer, part in zip(self._peers, slices, strict=True):
            inside = max(part[0], low), min(part[1], high)
            if inside[0] < inside[1]:
                with peer.gpu, peer.merges.over(peer.state.stream):
                    take_in(peer.state, inside, cores)


def hand_out(peer: Peer, part: Range, cores: VertexState, names: Sequence[str], whole: bool) -> Any:
    """Queue copies of a slice of some arrays, all of which are here, to those of the cores, and of bitmaps if `whole`;
    the event that comes after them. Where values change in place, what is queued next comes after them, too."""
    state = peer.state
    with peer.gpu, state.span("merges", f"hand out vertices {part[0]} to {part[1]}"):
        before, event = peer.gpu.event(), peer.gpu.event()
        before.record(state.stream)
        state.outward.wait_for_event(before)
        for name in names:
            mine, theirs = (state.messages if name == "source" else getattr(state, name)), getattr(cores, name)
            first, last = part[0], min(part[1], state.plan.senders) if name == "source" else part[1]
            if name in BITS:
                first, last = 0, state.words if whole else 0
            if first < last:
                state.gpu.queue_read(mine.at(first), theirs[first:last], state.outward)
        event.record(state.outward)
        if state.code.in_place:
            state.stream.wait_for_event(event)
    return event


def take_in(state: GpuState, part: Range, cores: VertexState) -> None:
    """Queue that what the cores brought about is combined into the values and bits of a part."""
    at, count = part[0] - state.chunk[0], part[1] - part[0]
    theirs = cores.value if state.code.in_place else cores.got
    with state.span("merges", f"take in vertices {part[0]} to {part[1]} of the cores"):
        combine_cores(state, "reduce_kernel", state.combined, theirs, at, count)
        if state.code.in_place:
            words = bit_words(part)
            first, count = words.start, words.stop - words.start
            combine_cores(state, "merge_bits_kernel", state.next, cores.next, first, count)


def combine_cores(state: GpuState, kernel: str, mine: Array, theirs: np.ndarray, at: int, count: int) -> None:
    """Queue that `count` elements from `at` on of the cores' array, which is pinned, are combined into this one's.

    Kernels read it in host memory; where they can't it is copied piece by piece.
    """
    gpu, size = state.gpu, mine.dtype.itemsize
    step = count if gpu.reads_host else max(1, piece_bytes(state.job.vertices) // size)
    for first in range(at, at + count, step):
        few = min(step, at + count - first)
        part = theirs[first : first + few]
        where = part.ctypes.data
        if not gpu.reads_host:
            where = state.buffer("piece of cores", few * size, np.uint8).address
            gpu.write(where, part, state.stream)
        copies = state.table_of([mine.at(first), where])
        state.launch(kernel, state.blocks(few, 256), mine.at(first), copies, 2, few)
        if not gpu.reads_host:
            state.wait()  # the next piece takes the same buffers


def reduce(state: GpuState, part: Range, peers: Sequence[GpuState]) -> None:
    """Queue that a slice of every peer's WA, and its next bits, are combined into this one's; `peers` has it, too."""
    words = bit_words(part)
    values, bits = [peer.combined for peer in peers], [peer.next for peer in peers]
    with state.span("merges", f"reduce vertices {part[0]} to {part[1]}"):
        combine(state, "reduce_kernel", peers, values, part[0] - state.chunk[0], part[1] - part[0])
        combine(state, "merge_bits_kernel", peers, bits, words.start, words.stop - words.start)


def add_hubs(state: GpuState, name: str, part: Range, peers: Sequence[GpuState], told: bool) -> None:
    """Queue that sums of a topology's long lists, pulled by any of `peers`, are added to what hubs of `part` got; told:
    to what those got whose next bit is set.

    A page is pulled by one device until the partition changes, so all others have zero for it. Those of this slice are
    combined here and made zero again: the next pull of a page of one's own brings its sum anew.
    """
    if len(peers) > 1:
        join_hubs(state, name, part, peers)
    sum_hubs(state, name, part, told)
    if len(peers) > 1:
        forget_hubs(state, name, part)


def hubs_of(state: GpuState, name: str, part: Range) -> tuple[Range, Range]:
    """Ranges of the hubs of a part, and of what their large pages came to."""
    known = state.tables[name]
    low, high = np.searchsorted(known.hub_ids, np.array(part, np.uint64)).tolist()
    return (low, high), (int(known.hub_starts[low]), int(known.hub_starts[high]))


def join_hubs(state: GpuState, name: str, part: Range, peers: Sequence[GpuState]) -> None:
    """Queue that this one gets what the large pages of a part's hubs came to on any of `peers`."""
    first, last = hubs_of(state, name, part)[1]
    if first < last and len(peers) > 1:
        combine(state, "reduce_kernel", peers, [peer.carry[name] for peer in peers], first, last - first)


def sum_hubs(state: GpuState, name: str, part: Range, told: bool) -> None:
    """Queue that what the large pages of hubs came to is added to what these got."""
    known, (low, high) = state.tables[name], hubs_of(state, name, part)[0]
    if low < high:
        state.launch(
            "add_hub_sums_kernel", state.blocks(32 * (high - low), 256), known.hubs.at(low), known.starts.at(low),
            high - low, state.carry[name].address, state.got.address, *state.chunk, state.next.address if told else 0,
        )  # fmt: skip


def forget_hubs(state: GpuState, name: str, part: Range) -> None:
    """Queue that what the large pages of a part's hubs came to is zero again."""
    first, last = hubs_of(state, name, part)[1]
    if first < last:
        state.launch("reset_kernel", state.blocks(last - first, 256), state.carry[name].at(first), last - first)


def combine(state: GpuState, kernel: str, peers: Sequence[GpuState], arrays: list[Array], at: int, count: int) -> None:
    """Queue that `count` elements from `at` on of everybody's arrays are combined into this one's: all at once, or by
    pieces. Nobody else may combine the same elements meanwhile."""
    mine = arrays[list(peers).index(state)]
    whole = all(peer is state or state.gpu.reaches(peer.gpu) for peer in peers)
    step = max(1, count if whole else piece_bytes(state.job.vertices) // mine.dtype.itemsize)
    for first in range(at, at + count, step):
        size = min(step, at + count - first)
        where = [_reachable(state, peers, k, array, first, size) for k, array in enumerate(arrays)]
        state.launch(kernel, state.blocks(size, 256), mine.at(first), state.table_of(where), len(peers), size)
        if not whole:
            state.wait()  # the next piece takes the same buffers


def _reachable(state: GpuState, peers: Sequence[GpuState], which: int, array: Array, at: int, count: int) -> int:
    """Address of a peer's elements, or of a copy of them."""
    if peers[which] is state or state.gpu.reaches(peers[which].gpu):
        return array.at(at)
    nbytes = count * array.dtype.itemsize
    piece = state.buffer(f"piece of peer {which}", nbytes, np.uint8)
    state.gpu.copy(piece.address, array.at(at), nbytes, state.stream)
    return piece.address


def take_bits(state: GpuState, part: Range, peer: GpuState) -> None:
    for mine, theirs in ((state.next, peer.next), (state.open, peer.open), (state.remain, peer.remain)):
        if mine.count:
            copy_bits(state, part, mine, theirs)


def copy_bits(state: GpuState, part: Range, mine: Array, theirs: Array) -> None:
    words = bit_words(part)
    state.gpu.copy(mine.at(words.start), theirs.at(words.start), 8 * (words.stop - words.start), state.stream)


def take_values(state: GpuState, part: Range, peer: GpuState) -> None:
    at, nbytes = part[0] - state.chunk[0], (part[1] - part[0]) * state.value.dtype.itemsize
    state.gpu.copy(state.value.at(at), peer.value.at(at), nbytes, state.stream)
