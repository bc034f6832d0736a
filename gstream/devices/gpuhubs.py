"""Sums of hubs' large pages, which a pull leaves in `carry`, one a part, added up in page order wherever pages were."""

from __future__ import annotations

import numpy as np

from gstream.devices.cuda import Array
from gstream.devices.gpustate import GpuState


def fold(state: GpuState, name: str) -> None:
    """Queue that the sums of all large pages of a topology are added to what their vertices got, here on the GPU."""
    known = state.tables[name]
    _launch(state, known.hubs, state.carry[name], len(known.large_pages))


def _launch(state: GpuState, vertices: Array, sums: Array, count: int) -> None:
    state.launch(
        "add_hub_sums_kernel", state.blocks(count, 256), vertices.address, sums.address, count, state.got.address,
        *state.chunk,
    )  # fmt: skip


def sums_of(state: GpuState, name: str, done: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Page and sum of each part of the large pages `done` of a topology, in part order."""
    known = state.tables[name]
    sums = state.get(state.carry[name], 0, len(known.large_pages)).copy()
    if len(done) == known.table.pages - known.table.small_pages:
        return known.large_pages, sums
    chosen = np.isin(known.large_pages, done)
    return known.large_pages[chosen], sums[chosen]


def add(state: GpuState, vertices: np.ndarray, sums: np.ndarray) -> None:
    """Queue that sums got[k] are added, in order, to what `vertices` uint64[k] got; passed over outside the chunk."""
    if len(vertices) == 0:
        return
    order = np.argsort(vertices, kind="stable")  # sums of one vertex stand together, in page order
    vertices, sums = vertices[order], sums[order].astype(state.got.dtype)
    _launch(state, state.put("hubs", vertices), state.put("hub sums", sums), len(vertices))
