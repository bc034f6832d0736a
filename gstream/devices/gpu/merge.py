"""Merging several GPUs' attributes, slice by slice: each reduces its slice of everybody's WA, then takes the others'.

A peer's memory is read in place where it can be reached, over NVLink or PCIe; else it is copied here piece by piece,
through the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gstream.devices.attributes import piece_bytes
from gstream.devices.base import Range
from gstream.devices.gpu.batch_queue import BatchQueue
from gstream.devices.gpu.driver import Array
from gstream.devices.gpu.vertex_state import GpuState
from gstream.devices.host.vertex_state import bit_words


def states(peers: Sequence[Any]) -> list[GpuState]:
    """The peers' attributes; devices of one run are all GPUs."""
    return [peer.state for peer in peers]


def meet(peers: Sequence[Any]) -> bool:
    """What Device.meet says, of resident values: GPUs wait for each other, and this thread for batches alone."""
    queues: list[BatchQueue] = [peer.queue for peer in peers]
    for queue in queues:
        with queue.gpu:
            queue.arrive()
    for queue in queues:
        with queue.gpu:
            queue.depend([other.met for other in queues if other is not queue])
    return True


def spread(state: GpuState, slices: Sequence[Range], peers: Sequence[GpuState]) -> None:
    """Let pulls of SUM write to the owner of each slice, one a peer: (end, address) of cuda/pull_sum.cu."""
    table = [(last - state.chunk[0], peer.got.address) for (_, last), peer in zip(slices, peers, strict=True)]
    array = state.gpu.upload(np.array(table, np.uint64))
    state.arrays.append(array)
    state.slices = array.address, len(table)


def send_to(state: GpuState, peers: Sequence[GpuState]) -> None:
    """Let apply write messages to all, and count who changed.

    state.sent: address and number of addresses of messages; address of the count (cuda/vertices.cu).
    """
    array = state.gpu.upload(np.array([_source_of(peer).address for peer in peers], np.uint64))
    state.arrays.append(array)
    state.sent = array.address, len(peers), state.answers.address


def _source_of(state: GpuState) -> Array:
    assert state.source is not None
    return state.source


def reduce(state: GpuState, part: Range, peers: Sequence[GpuState]) -> None:
    """Queue that a slice of every peer's WA, and its next bits, are combined into this one's; `peers` has it, too."""
    words = bit_words(part)
    values, bits = [peer.combined for peer in peers], [peer.next for peer in peers]
    with state.span("merges", f"reduce vertices {part[0]} to {part[1]}"):
        combine(state, "values", "reduce_kernel", peers, values, part[0] - state.chunk[0], part[1] - part[0])
        combine(state, "bits", "merge_bits_kernel", peers, bits, words.start, words.stop - words.start)


def combine(
    state: GpuState, what: str, kernel: str, peers: Sequence[GpuState], arrays: list[Array], at: int, count: int
) -> None:  # fmt: skip
    """Queue that `count` elements from `at` on of everybody's arrays are combined into this one's: all at once, or by
    pieces. Nobody else may combine the same elements meanwhile; what: names buffers, which the last call of that name
    must be done with."""
    mine = arrays[list(peers).index(state)]
    whole = all(peer is state or state.gpu.reaches(peer.gpu) for peer in peers)
    step = max(1, count if whole else piece_bytes(state.job.vertices) // mine.dtype.itemsize)
    for first in range(at, at + count, step):
        size = min(step, at + count - first)
        where = [_reachable(state, peers, k, array, first, size) for k, array in enumerate(arrays)]
        addresses = state.put(f"addresses of {what}", np.array(where, np.uint64))
        state.launch(kernel, state.blocks(size, 256), mine.at(first), addresses.address, len(peers), size)
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


def gather(state: GpuState, parts: Sequence[Range], peers: Sequence[GpuState], values: bool) -> None:
    """Queue copies of the peers' slices (parts, one a peer): bits, and values if `values`; what was got is reset.

    Once `apply` sends, nothing is taken: nobody but a checkpoint asks for bits that the frontier is not counted by.
    """
    for part, peer in zip(parts, peers, strict=True):
        if peer is not state and part[0] < part[1]:
            if values or not state.sent[1]:
                with state.span("merges", f"take vertices {part[0]} to {part[1]}"):
                    _take(state, part, peer, values)
            if state.strewn and not state.code.in_place:
                state.reset(part, state.chunk[0])


def _take(state: GpuState, part: Range, peer: GpuState, values: bool) -> None:
    for mine, theirs in ((state.next, peer.next), (state.open, peer.open), (state.remain, peer.remain)):
        if mine.count:
            _take_bits(state, part, mine, theirs)
    if values:
        _take_values(state, part, peer)


def _take_bits(state: GpuState, part: Range, mine: Array, theirs: Array) -> None:
    words = bit_words(part)
    state.gpu.copy(mine.at(words.start), theirs.at(words.start), 8 * (words.stop - words.start), state.stream)


def _take_values(state: GpuState, part: Range, peer: GpuState) -> None:
    at, nbytes = part[0] - state.chunk[0], (part[1] - part[0]) * state.value.dtype.itemsize
    state.gpu.copy(state.value.at(at), peer.value.at(at), nbytes, state.stream)


def collect(state: GpuState, parts: Sequence[Range], peers: Sequence[GpuState]) -> None:
    """Queue copies of the values and active bits of the peers' slices."""
    for part, peer in zip(parts, peers, strict=True):
        if peer is not state and part[0] < part[1]:
            _take_values(state, part, peer)
            _take_bits(state, part, state.active, peer.active)
