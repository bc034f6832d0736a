"""Pages made by hand for kernel tests: a second packer, in NumPy, that shares no code with pagestore's.

With `columns` every second small page is one of columns, however much that pads it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pagestore.layout import HEADER, HEADER_BYTES, PageLayout


@dataclass
class Pages:
    """One topology: pages as words, weight pages, and what the directory would say."""

    layout: PageLayout
    words: np.ndarray  # id[pages, W]
    weights: np.ndarray  # weight[pages, W], or uint8[0, 0]
    first_vertex: np.ndarray  # u64[pages]
    last_vertex: np.ndarray
    small: int
    heads: np.ndarray  # id[V, 4]
    degree: np.ndarray  # u32[V]


def in_rows(sizes, header):
    """First word of each record, and word of each neighbour, of lists that lie one after the other."""
    starts = header + np.cumsum(sizes + 1) - (sizes + 1)
    return starts, np.repeat(starts, sizes) + 1 + within(sizes)


def in_columns(sizes, header, columns):
    """The same for groups of `columns` lists side by side."""
    ends = column_ends(sizes, header, columns)
    group, lane = np.divmod(np.arange(len(sizes)), columns)
    starts = np.concatenate([[header], ends[columns - 1 :: columns]])[group] + lane
    return starts, np.repeat(starts, sizes) + columns * (1 + within(sizes))


def within(sizes):
    """Number of each neighbour in its list."""
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def column_ends(sizes, header, columns):
    """Where groups of `columns` lists end if there is one list, if there are two, and so on."""
    padded = np.append(sizes, np.zeros(-len(sizes) % columns, np.int64)).reshape(-1, columns)
    longest = np.maximum.accumulate(padded, axis=1)
    before = np.concatenate([[0], np.cumsum(1 + longest[:-1, -1])])
    return (header + columns * (before[:, None] + 1 + longest)).ravel()[: len(sizes)]


def make_pages(vertices, source, target, weight=None, page_bytes=4096, id_bytes=4, columns=1) -> Pages:
    """Pages of the lists source -> targets (ascending)."""
    layout = PageLayout(page_bytes, id_bytes)
    order = np.lexsort((target, source))
    source, target = np.asarray(source)[order], np.asarray(target)[order].astype(layout.id_dtype)
    weight = None if weight is None else np.asarray(weight)[order]
    degree = np.bincount(source.astype(np.int64), minlength=vertices)
    begin = np.concatenate([[0], np.cumsum(degree)])
    header, width = layout.header_words, layout.words
    rows, spans = [], []

    def add(kind, vs, position, record_words, stretch, stride=1):
        row, extra = np.zeros(width, layout.id_dtype), np.zeros(width, target.dtype if weight is None else weight.dtype)
        head = np.zeros(1, HEADER)
        head["kind"], head["records"], head["first_vertex"] = kind, len(vs), vs[0]
        head["edges"], head["position"] = stretch[1] - stretch[0], position
        head["layout"] = stride if stride > 1 else 0
        row[:header] = head.view(layout.id_dtype)
        counts = record_words - 1
        starts, inside = in_rows(counts, header) if stride == 1 else in_columns(counts, header, stride)
        row[starts] = counts
        row[inside] = target[stretch[0] : stretch[1]]
        if weight is not None:
            extra[inside] = weight[stretch[0] : stretch[1]]
        slots = width - 2 * (np.arange(len(vs)) + 1)
        row[slots], row[slots + 1] = vs, starts
        rows.append((row, extra))
        spans.append((vs[0], vs[-1]))

    listed = np.flatnonzero((degree > 0) & (degree <= layout.longest_list))
    cost = np.concatenate([[0], np.cumsum(degree[listed] + 3)])
    at = 0
    while at < len(listed):
        end = int(np.searchsorted(cost, cost[at] + width - header, side="right")) - 1
        vs = listed[at:end]
        # hubs between two listed vertices go to large pages: the small page's edges are gathered by record
        if begin[vs[-1] + 1] - begin[vs[0]] != degree[vs].sum():
            hub = int(np.flatnonzero(degree[vs[0] : vs[-1]] > layout.longest_list)[0]) + vs[0]
            vs = vs[vs < hub]
        stride = columns if len(rows) % 2 and header + columns * (1 + degree[vs[0]]) + 2 <= width else 1
        if stride > 1:
            needed = column_ends(degree[vs], header, stride) + 2 * np.arange(1, len(vs) + 1)
            vs = vs[: np.count_nonzero(needed <= width)]
        add(0, vs, 0, degree[vs] + 1, (begin[vs[0]], begin[vs[-1] + 1]), stride)
        at += len(vs)
    small = len(rows)
    for v in np.flatnonzero(degree > layout.longest_list):
        for position in range(0, int(degree[v]), layout.longest_list):
            count = min(layout.longest_list, int(degree[v]) - position)
            first = begin[v] + position
            add(1, np.array([v]), position, np.array([count + 1]), (first, first + count))
    words = np.stack([row for row, _ in rows]) if rows else np.zeros((0, width), layout.id_dtype)
    weights = np.zeros((0, 0), np.uint8)
    if weight is not None and rows:
        weights = np.stack([extra for _, extra in rows])
    heads = np.full((vertices, 4), layout.none, layout.id_dtype)
    for k in range(4):
        has = np.flatnonzero(degree > k)
        heads[has, k] = target[begin[has] + k]
    first, last = (np.array([span[i] for span in spans], np.uint64) for i in (0, 1))
    assert HEADER_BYTES == HEADER.itemsize
    return Pages(layout, words, weights, first, last, small, heads, degree.astype(np.uint32))
