"""How many SIMD lanes a page wastes at each group size (SIMD paper, section 4: equations 1 and 2).

A warp of 32 lanes is cut into 32/S groups of S lanes; a group takes one record. A record of d neighbours takes
ceil(d/S) steps; a warp takes as many steps as D, its longest record. Summed over all records of a page:

    U_A = sum S*ceil(d/S) - d                      lanes idle inside a group
    U_R = sum S*ceil(D/S) - S*ceil(d/S)            lanes of groups that wait for the warp's longest record
    lanes = sum d + U_A + U_R,   UA = U_A/lanes, UR = U_R/lanes, ME = sum d / lanes  (UA + UR + ME = 1)

All sums are exact integers. Groups that a page's last warp lacks count as groups with an empty record: the paper's N
is large enough to ignore them, but a large page has N = 1 and would otherwise be best served by a single lane.
"""

from __future__ import annotations

import numpy as np

from pagestore.jit import compiled
from pagestore.layout import GROUP_SIZES

WARP_LANES = 32
SIZES = len(GROUP_SIZES)  # group size S = 1 << i for i in 0..5


@compiled
def add_record(degree, rank, longest, lanes):
    """Count record number `rank` of a page: longest u8[6] of the open warps, lanes u8[6] of the closed ones."""
    for i in range(SIZES):
        if degree > longest[i]:
            longest[i] = degree
        last = (WARP_LANES >> i) - 1
        if (rank & last) == last:
            lanes[i] += ((longest[i] + np.uint64((1 << i) - 1)) >> np.uint64(i)) * np.uint64(WARP_LANES)
            longest[i] = 0


@compiled
def close_page(longest, lanes):
    """Close the open warps of a page: afterwards lanes u8[6] are final and `longest` is zero."""
    for i in range(SIZES):
        lanes[i] += ((longest[i] + np.uint64((1 << i) - 1)) >> np.uint64(i)) * np.uint64(WARP_LANES)
        longest[i] = 0


@compiled
def best_size(lanes):
    """Group size with the fewest lanes, so the best ME; of equals the largest (its reads coalesce best)."""
    best = SIZES - 1
    for i in range(SIZES - 1, -1, -1):
        if lanes[i] < lanes[best]:
            best = i
    return 1 << best


def rates(lanes: int, intra: int, edges: int) -> dict[str, float | int]:
    """UA, UR and ME from exact sums: total lanes, lanes idle inside groups, edges."""
    total = max(lanes, 1)
    inter = lanes - intra - edges
    return {
        "lanes": lanes,
        "edges": edges,
        "UA": intra / total,
        "UR": inter / total,
        "ME": edges / total if lanes else 1.0,
    }


@compiled
def page_sums(degrees, base, first, last, longest_list, lanes, intra):
    """Lanes and U_A of small pages, u8[pages, 6] each, from the degrees of vertices base..base+n-1.

    Page p lists the vertices of [first[p], last[p]] with degree 1..longest_list.
    """
    longest = np.zeros(SIZES, np.uint64)
    for page in range(first.size):
        rank = 0
        for at in range(first[page] - base, last[page] - base + 1):
            degree = np.uint64(degrees[at])
            if degree == 0 or degree > longest_list:
                continue
            add_record(degree, rank, longest, lanes[page])
            rank += 1
            for i in range(SIZES):
                size = np.uint64(1 << i)
                intra[page, i] += ((degree + size - np.uint64(1)) >> np.uint64(i)) * size - degree
        close_page(longest, lanes[page])
