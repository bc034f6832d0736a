"""Sums of pieces of long lists, which a pull leaves in `carry`, added up in one order wherever the pages were."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gstream.devices.base import Range
from gstream.devices.gpu.merge import combine
from gstream.devices.gpu.vertex_state import GpuState


def add(state: GpuState, name: str, part: Range, peers: Sequence[GpuState]) -> None:
    """Queue that sums of a topology's long lists, pulled by any of `peers`, are added to what hubs of `part` got.

    A page is always pulled by the same device, so all others have zero for it. Those of this slice are combined here
    and made zero again: the next pull of a page of one's own brings its sum anew.
    """
    known, carry = state.tables[name], state.carry[name]
    low, high = np.searchsorted(known.hub_ids, np.array(part, np.uint64)).tolist()
    first, last = int(known.hub_starts[low]), int(known.hub_starts[high])
    if first == last:
        return
    several = len(peers) > 1
    if several:
        combine(state, "hub sums", "reduce_kernel", peers, [peer.carry[name] for peer in peers], first, last - first)
    state.launch(
        "add_hub_sums_kernel", state.blocks(32 * (high - low), 256), known.hubs.at(low), known.starts.at(low),
        high - low, carry.address, state.got.address, *state.chunk,
    )  # fmt: skip
    if several:
        state.launch("reset_kernel", state.blocks(last - first, 256), carry.at(first), last - first)
