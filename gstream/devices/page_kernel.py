"""Page kernels: the thesis's user-defined K_Q, a function of one page and the resident attributes (GStream thesis 3.5).

What no message program expresses well (union-find components, certificates, predecessors) is written as a PageKernel;
`Engine.sweep` streams pages to it through the same plan, page source, cache and devices as programs.

    state  = kernel.make_state()                    once a device
    kernel.run(words, weights, parts, counter, state)   once a batch, by every thread of the device at the same time
    result = kernel.merge(states)                   once, when all devices have finished
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np


class PageKernel(Protocol):
    """What a sweep calls for each batch of pages. `run` must spend its time without the GIL (`@njit(nogil=True)`)."""

    needs_weights: bool
    # gpu_work(device) -> gstream.devices.gpu.batch_queue.Work, where there is one: what a GPU does instead of `run`,
    # with a state of its own; end_sweep then gives None. Without it a GPU's pages are swept by the host's cores. Record
    # kernels (gstream.records) have both.
    # listed, run_listed, where there are any: run_listed is `run` for the lists of vertices `listed` (uint64[k],
    # ascending) alone, whose parts are of find_records (gstream.hostcode.parts); `run` finds nothing to do elsewhere.

    def make_state(self) -> Any:
        """State of one device. Devices that share the host's memory may be given the same arrays by the kernel if
        `run` touches them with atomics only; otherwise each device gets its own and `merge` combines them."""

    def run(
        self, words: np.ndarray, weights: np.ndarray | None, parts: np.ndarray, counter: np.ndarray, state: Any
    ) -> int:
        """Process parts of a batch until `counter` (int64[1], bumped atomically, zero at first) has passed them all.

        words: id[rows, W], pages seen as words; weights: weight[rows, W] of the same rows, None unless needs_weights;
        parts: int64[m, 3] (row, first, end): slots [first, end) of a small page, words [first, end) of a large one.
        Returns the edges it looked at.
        """

    def merge(self, states: list[Any]) -> Any:
        """One result from the states of all devices (a list of one where there is one device)."""
