"""Work lists of the edge kernels from the page directory alone: no page is read to cut it (thesis 4.1).

A part is one block's work, uint32[4] as cuda/pages.cuh's `Part`: (row, first, end, group). Of a small page it is slots
[first, end), whole steps of 32, which one warp takes at a time; of a large page words [first, end). A page's parts
depend on the page alone, so the partial sums of a hub are the same wherever its pages are.
"""

from __future__ import annotations

import numpy as np

EDGES_A_PART = 4096  # a 16 MiB batch is 1,000 parts: all SMs of a large GPU are full; a hub's stretch is no tail
SLOTS_A_WARP = 32


def make_parts(
    rows: np.ndarray,
    large: np.ndarray,
    records: np.ndarray,
    edges: np.ndarray,
    group: np.ndarray,
    header_words: int,
    edges_a_part: int = EDGES_A_PART,
) -> np.ndarray:
    """Parts of pages, in page order: uint32[m, 4].

    rows[k] is where page k lies on the device; large, records, edges and group are its directory's columns (group:
    lanes a record, 1 to 32). All have one entry a page.
    """
    records, edges = records.astype(np.int64), edges.astype(np.int64)
    pieces = np.maximum(-(-edges // edges_a_part), 1)
    slots = -(-records // pieces)  # of one piece, before rounding up to whole warps
    step = np.where(large, edges_a_part, -(-slots // SLOTS_A_WARP) * SLOTS_A_WARP)
    begin = np.where(large, header_words + 1, 0)
    end = begin + np.where(large, edges, records)
    step = np.maximum(step, 1)
    counts = -(-(end - begin) // step)
    page = np.repeat(np.arange(len(rows)), counts)
    number = np.arange(len(page)) - np.repeat(np.cumsum(counts) - counts, counts)
    parts = np.empty((len(page), 4), np.uint32)
    parts[:, 0] = rows[page]
    parts[:, 1] = begin[page] + number * step[page]
    parts[:, 2] = np.minimum(begin[page] + (number + 1) * step[page], end[page])
    parts[:, 3] = group[page]
    return parts
