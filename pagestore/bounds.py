"""Whether pages and heads that come into host memory are what they should be: then no kernel reads past an end.

A checksum finds accidents. A page that somebody made has the right one, whatever its slots, sizes and neighbours say;
kernels on cores and GPUs take them as they are. So every page is looked at once, at the rate of memory: rules R2 to R4
of pagestore/decode.py by `walk_records`, and of R5 that neighbours are vertices. That they ascend, and that degrees and
heads agree with them, is for `gstream verify`: a graph is wrong then, and nothing is read that is not there.
"""

from __future__ import annotations

import numpy as np

from pagestore.check import walk_records
from pagestore.jit import compiled
from pagestore.layout import HEADER, HEADER_BYTES, PageLayout

TOLD = ("records", "first_vertex", "last_vertex", "edges", "layout")  # of a page by the directory


@compiled
def first_unsound(words, header_words, last_id, records, first, last, edges, layout, vertex, size):
    """Index of the first page that breaks a rule, of words id[n, W]; n where none does.

    last_id: the last vertex, as id. records, first, last, edges, layout: the directory's of these pages; vertex, size:
    u8[greatest number of records], written over.
    """
    vertices = np.uint64(last_id) + np.uint64(1)
    for page in range(len(words)):
        count = records[page]
        owners, sizes = vertex[:count], size[:count]
        columns = max(np.uint64(1), np.uint64(layout[page]))
        if walk_records(words[page], header_words, vertices, columns, owners, sizes, False) != 0:
            return page
        if owners[0] != first[page] or owners[count - 1] != last[page] or sizes.sum() != edges[page]:
            return page
        lists = words[page, header_words : words.shape[1] - 2 * count]  # with sizes, which are mostly less
        if beyond(lists, last_id) and not all_within(words[page], last_id, columns, sizes):
            return page
    return len(words)


@compiled
def beyond(words, most):
    """Whether any of the words is greater. In a form that becomes SIMD instructions: 30 GB/s, of most others 7."""
    found = False
    for k in range(words.size):
        found |= words[k] > most
    return found


@compiled
def beyond_heads(words, most, none):
    """Whether any of the words is greater, and not `none`."""
    found = False
    for k in range(words.size):
        found |= (words[k] > most) & (words[k] != none)
    return found


@compiled
def all_within(words, last_id, columns, size):
    """Whether the neighbours of a page that `walk_records` passed are all vertices."""
    one, two = np.uint64(1), np.uint64(2)
    for record in range(size.size):
        at = np.uint64(words[np.uint64(words.size) - two * np.uint64(record) - one])
        for _ in range(size[record]):
            at += columns
            if words[at] > last_id:
                return False
    return True


def unsound(layout: PageLayout, rows: np.ndarray, last_id: np.generic, pages: np.ndarray) -> int | None:
    """Index of the first of `pages` (uint8[n, page_bytes]) that differs from its row of the directory, or None."""
    headers = pages[:, :HEADER_BYTES].copy().view(HEADER)[:, 0]
    differ = np.any([headers[name] != rows[name] for name in HEADER.names or ()], axis=0)
    scratch = np.empty((2, int(rows["records"].max())), np.uint64)
    told = [np.ascontiguousarray(rows[name]) for name in TOLD]
    words, begin = pages.view(layout.id_dtype), np.uint64(layout.header_words)
    found = first_unsound(words, begin, last_id, *told, *scratch)
    wrong = np.append(np.flatnonzero(differ), found)
    return None if wrong[0] == len(pages) else int(wrong.min())
