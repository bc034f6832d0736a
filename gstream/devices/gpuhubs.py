"""Sums of hubs' large pages, which a pull leaves in `carry`, one a part, added up in page order wherever pages were."""

from __future__ import annotations

import numpy as np

from gstream.devices.gpustate import GpuState


def fold(state: GpuState, name: str) -> None:
    """Queue that the sums of all large pages of a topology are added to what their vertices got, here on the GPU."""
    known = state.tables[name]
    state.launch(
        "add_hub_sums_kernel", state.blocks(len(known.large_pages), 256), known.hubs.address,
        state.carry[name].address, len(known.large_pages), state.got.address, *state.chunk,
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
    which, what = state.put("hubs", vertices), state.put("hub sums", sums)
    state.launch(
        "add_hub_sums_kernel", state.blocks(len(vertices), 256), which.address, what.address, len(vertices),
        state.got.address, *state.chunk,
    )  # fmt: skip
