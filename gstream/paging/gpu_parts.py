"""Work lists of the edge kernels from the page directory alone: no page is read to cut it (thesis 4.1).

A part is one warp's work, uint32[4] as cuda/pages.cuh's `Part`: (page, first, end, group). Of a small page it is slots
[first, end), `group` lanes a record; of a large page, whose group is 0, words [first, end). A column page's lists have
a lane each, whatever --micro says, and its parts are whole warps of slots. Lists that are long even for a warp are
shared: the same slots stand in several parts, each with one of several equal shares of each list. A kernel that needs
whole lists leaves them to the first of these parts.
A page's parts depend on the page alone, so the partial sums of a list are the same wherever its pages are.
"""

from __future__ import annotations

import numpy as np

from gstream.paging.page_lanes import USUAL, WARP_LANES, PageLanes
from pagestore.layout import GROUP_SIZES, ROW

EDGES_A_PART = 2048  # a 16 MiB batch is 2,000 parts: larger ones leave warps idle at the end of a launch
STRETCH_PARTS = 2  # the edges of a stretch of a hub's large pages, in parts: a sum of each stretch comes back
PART_BYTES = 16
LARGE_GROUP = 0
SHARE_PARTS = 2  # mean edges of a list, in parts, from which the lists of a small page are shared
SHARES_SHIFT, SHARE_SHIFT = 16, 24  # of a part's group: how many share its lists (0: unshared), and which share it has
MOST_SHARES = 255
COLUMNS = 256  # the group of parts of a column page is COLUMNS + its stride
DENSE = 512  # is added where the vertices of a page's slots follow each other
PUSH_SHIFT, PUSH_LANES = 10, 7  # of a part's group: 0, or 1 + log2 of the lanes that a push has instead
SPLIT = 8192  # is added where a warp takes long lists whole: a team would keep others waiting
# Lanes a record, by micro-level technique (thesis 4.1), or by number (SIMD paper's group size S).
LANES = {"vertex": 1, "edge": 32, **{str(size): size for size in GROUP_SIZES}}


def micro_groups(
    micro: str, records: np.ndarray, edges: np.ndarray, group: np.ndarray, layout: np.ndarray, span: np.ndarray,
    lanes: PageLanes = USUAL,
) -> np.ndarray:  # fmt: skip
    """uint32[n]: lanes a record of each page: the same for all pages of rows, or by `lanes`; column pages have their
    own.

    Pages that were not forced to a number of lanes are SPLIT. span: vertices from the first to the last of each page;
    as many as records: the page is DENSE.
    """
    if micro != "hybrid":
        groups = np.full(len(group), LANES[micro], np.uint32)
    else:
        mean = edges // np.maximum(records, 1)
        groups, pushed = lanes.of("pull", group, mean), lanes.of("push", group, mean)
        own = np.where(pushed == groups, 0, 1 + np.log2(pushed)).astype(np.uint32)
        groups |= own << np.uint32(PUSH_SHIFT) | np.uint32(SPLIT)
    groups = np.where(layout == ROW, groups, COLUMNS + layout.astype(np.uint32)).astype(np.uint32)
    return groups + np.where(span == records, np.uint32(DENSE), np.uint32(0))


def make_parts(
    numbers: np.ndarray, large: np.ndarray, records: np.ndarray, edges: np.ndarray, group: np.ndarray,
    header_words: int, edges_a_part: int = EDGES_A_PART,
) -> np.ndarray:  # fmt: skip
    """Parts of the pages `numbers` (int[n]), in their order: uint32[m, 4].

    large, records and edges are the directory's columns, one entry a page; group is what micro_groups gives.
    """
    records, edges = records.astype(np.int64), edges.astype(np.int64)
    group = np.where(large, LARGE_GROUP, group).astype(np.uint32)
    begin, end, step = _cuts(large, records, edges, group & COLUMNS > 0, header_words, edges_a_part)
    shares = np.where(group & (DENSE - 1) == WARP_LANES, _shares(records, edges, edges_a_part), 1)
    counts = -(-(end - begin) // step) * shares
    page = np.repeat(np.arange(len(numbers)), counts)
    number, share = np.divmod(np.arange(len(page)) - np.repeat(np.cumsum(counts) - counts, counts), shares[page])
    parts = np.empty((len(page), 4), np.uint32)
    parts[:, 0] = numbers[page]
    parts[:, 1] = begin[page] + number * step[page]
    parts[:, 2] = np.minimum(begin[page] + (number + 1) * step[page], end[page])
    parts[:, 3] = group[page] | np.where(shares > 1, shares, 0)[page] << SHARES_SHIFT | share << SHARE_SHIFT
    return parts


def carried(parts: np.ndarray, first_vertex: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Parts that hold a piece of one list alone, int64[k], and the vertex of each, uint64[k], ascending by vertex.

    Their sums are added up afterwards. Those of large pages, and of small ones where lists are shared and the directory
    says whose a slot is (DENSE). first_vertex: uint64[pages].
    """
    group = parts[:, 3] & (1 << SHARES_SHIFT) - 1
    shared = (parts[:, 3] >> SHARES_SHIFT & MOST_SHARES > 0) & (group & DENSE > 0)
    chosen = np.flatnonzero(shared | (group == LARGE_GROUP))
    slot = np.where(shared, parts[:, 1], 0)[chosen].astype(np.uint64)
    vertex = first_vertex[parts[chosen, 0].astype(np.int64)] + slot
    order = np.argsort(vertex, kind="stable")
    return chosen[order], vertex[order]


def _shares(records: np.ndarray, edges: np.ndarray, edges_a_part: int) -> np.ndarray:
    """int64[n]: warps that share each list of a page, by its mean length."""
    return np.clip(edges // np.maximum(records, 1) // (SHARE_PARTS * edges_a_part), 1, MOST_SHARES)


def count_parts(
    large: np.ndarray, records: np.ndarray, edges: np.ndarray, layout: np.ndarray
) -> tuple[int, int]:  # fmt: skip
    """How many parts make_parts gives, and how many of them are `carried`: at most, for lists may be shared."""
    sizes = records.astype(np.int64), edges.astype(np.int64)
    begin, end, step = _cuts(large, *sizes, layout != ROW, 0, EDGES_A_PART)
    shares = np.where(large | (layout != ROW), 1, _shares(*sizes, EDGES_A_PART))
    counts = -(-(end - begin) // step) * shares
    return int(counts.sum()), int(counts[large | (shares > 1)].sum())


def _cuts(
    large: np.ndarray, records: np.ndarray, edges: np.ndarray, in_columns: np.ndarray, header_words: int,
    edges_a_part: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """(begin, end, step) of each page's slots or words."""
    pieces = np.maximum(-(-edges // edges_a_part), 1)
    slots = -(-records // pieces)
    step = np.where(in_columns, -(-slots // WARP_LANES) * WARP_LANES, slots)
    begin = np.where(large, header_words + 1, 0)
    step = np.maximum(np.where(large, STRETCH_PARTS * edges_a_part, step), 1)
    return begin, begin + np.where(large, edges, records), step
