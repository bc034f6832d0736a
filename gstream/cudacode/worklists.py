"""Work lists of the edge kernels from the page directory alone: no page is read to cut it (thesis 4.1).

A part is one block's work, uint32[4] as cuda/pages.cuh's `Part`: (page, first, end, group). Of a small page it is slots
[first, end), whole steps of 32, which one warp takes at a time; of a large page, whose group is 0, words [first, end).
A page's parts depend on the page alone, so the partial sums of a hub are the same wherever its pages are.
"""

from __future__ import annotations

import numpy as np

EDGES_A_PART = 4096  # a 16 MiB batch is 1,000 parts: all SMs of a large GPU are full; a hub's stretch is no tail
PART_BYTES = 16
SLOTS_A_WARP = 32
LARGE_GROUP = 0
LANES = {"vertex": 1, "edge": 32}  # a record, by micro-level technique (thesis 4.1)


def micro_groups(micro: str, group: np.ndarray) -> np.ndarray:
    """uint8[n]: lanes a record of each page: what the directory says (`group`), or the same for all pages."""
    return group if micro == "hybrid" else np.full_like(group, LANES[micro])


def make_parts(
    numbers: np.ndarray,
    large: np.ndarray,
    records: np.ndarray,
    edges: np.ndarray,
    group: np.ndarray,
    header_words: int,
    edges_a_part: int = EDGES_A_PART,
) -> np.ndarray:
    """Parts of the pages `numbers` (int[n]), in their order: uint32[m, 4].

    large, records, edges and group (lanes a record, 1 to 32) are the directory's columns, one entry a page.
    """
    records, edges = records.astype(np.int64), edges.astype(np.int64)
    begin, end, step = _cuts(large, records, edges, header_words, edges_a_part)
    counts = -(-(end - begin) // step)
    page = np.repeat(np.arange(len(numbers)), counts)
    number = np.arange(len(page)) - np.repeat(np.cumsum(counts) - counts, counts)
    parts = np.empty((len(page), 4), np.uint32)
    parts[:, 0] = numbers[page]
    parts[:, 1] = begin[page] + number * step[page]
    parts[:, 2] = np.minimum(begin[page] + (number + 1) * step[page], end[page])
    parts[:, 3] = np.where(large, LARGE_GROUP, group)[page]
    return parts


def count_parts(large: np.ndarray, records: np.ndarray, edges: np.ndarray) -> int:
    """How many parts make_parts gives."""
    begin, end, step = _cuts(large, records.astype(np.int64), edges.astype(np.int64), 0, EDGES_A_PART)
    return int((-(-(end - begin) // step)).sum())


def _cuts(
    large: np.ndarray, records: np.ndarray, edges: np.ndarray, header_words: int, edges_a_part: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(begin, end, step) of each page's slots or words."""
    pieces = np.maximum(-(-edges // edges_a_part), 1)
    slots = -(-records // pieces)  # of one piece, before rounding up to whole warps
    step = np.where(large, edges_a_part, -(-slots // SLOTS_A_WARP) * SLOTS_A_WARP)
    begin = np.where(large, header_words + 1, 0)
    return begin, begin + np.where(large, edges, records), np.maximum(step, 1)
