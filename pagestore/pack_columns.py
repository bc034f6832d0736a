"""Packing lists into column pages (layout: pagestore/layout.py; the rest of packing: pagestore/pack.py).

A kernel of its own, so that pages of rows are written as fast as without columns. A group's lists are written one
after the other, 4 or 8 bytes to each of its rows: a group of 32 lists of 16 is 2 KiB, which stays in L1 meanwhile.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pagestore.jit import compiled
from pagestore.layout import SLOT_WORDS, PageLayout


def pack_columns(
    layout: PageLayout, rows: np.ndarray, inside: np.ndarray, part: tuple[Any, ...], weights: Any, weight_words: Any
) -> bool:
    """Fill pages, all of one width, with the lists of some vertices; False when the plan says otherwise.

    rows: their directory; inside: u8[n], sizes of the lists that lie in the first page already. part: lengths u8[n],
    first vertex, keys, mask, words id[pages, W]. weights and weight_words: unsigned[m] and [pages, W], or None.
    """
    lengths, first, keys, mask, words = part
    if weights is None:
        weights = weight_words = np.empty(0, np.uint8)
    return bool(
        _columns(
            lengths, first, keys, mask, words.reshape(-1), weights, weight_words.reshape(-1), np.uint64(layout.words),
            np.uint64(layout.header_words), np.uint64(layout.longest_list), np.uint64(rows["layout"][0]), inside,
            rows["first_vertex"].astype(np.uint64), rows["records"].astype(np.uint64),
        )
    )  # fmt: skip


@compiled
def _columns(
    lengths, first, keys, mask, words, weights, weight_words, page_words, header_words, longest, columns, inside,
    starts, records,
):  # fmt: skip
    """Lay sizes, lists, slots and weights; a list of `inside` only moves what comes after it."""
    one, two, weighted = np.uint64(1), np.uint64(SLOT_WORDS), weights.size > 0
    page, row, key, slot = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
    base, end = header_words, header_words  # first word of the open group, and the word after it
    for i in range(inside.size + lengths.size):
        degree = inside[i] if i < inside.size else lengths[i - inside.size]
        if degree == 0:
            continue
        if degree > longest:
            key += degree
            continue
        if row < starts.size and slot == records[row]:
            page += page_words
            row += one
            slot, base, end = np.uint64(0), header_words, header_words
        if row >= starts.size:
            return False
        rank = slot & (columns - one)
        base = end if rank == 0 else base
        end = max(end, base + columns * (degree + one))
        slot += one
        if end + two * slot > page_words:
            return False
        if i < inside.size:
            continue
        vertex = first + np.uint64(i - inside.size)
        if slot == one and starts[row] != vertex:
            return False
        words[page + base + rank] = degree
        at = page + page_words - two * slot
        words[at], words[at + one] = vertex, base + rank
        at = page + base + rank
        for j in range(degree):
            at += columns
            words[at] = keys[key + np.uint64(j)] & mask
            if weighted:
                weight_words[at] = weights[key + np.uint64(j)]
        key += degree
    return row + one >= starts.size
