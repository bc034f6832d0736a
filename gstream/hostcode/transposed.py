"""A topology's edges the other way round, made in host memory from pages that lie there whole.

The result is one small page, as wide as need be (pagestore/layout.py): slots and lists ascend, and kernels read it as
they read a store's pages. It costs one thread about 15 ns an edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gstream.hostcode.casts import u64
from gstream.hostcode.jit import helper, kernel
from gstream.hostcode.page_words import head_of, records_of, stride_of, vertex_of
from pagestore.layout import HEADER_BYTES, SLOT_WORDS

__all__ = ["Transposed", "transpose", "transposed_bytes"]

RECORD_WORDS = 1 + SLOT_WORDS  # of a list beside its neighbours


@dataclass(frozen=True)
class Transposed:
    """words: id[1, W], one small page; weights: weight[1, W] of the same places, or as none were given. first_vertex,
    last_vertex: uint64[1], the least and greatest that have lists."""

    words: np.ndarray
    weights: np.ndarray
    first_vertex: np.ndarray
    last_vertex: np.ndarray


def transposed_bytes(vertices: int, edges: int, id_bytes: int, weight_bytes: int = 0) -> int:
    """Bytes that `transpose` takes at most, its own arrays included."""
    words = HEADER_BYTES // id_bytes + edges + RECORD_WORDS * vertices
    return (id_bytes + weight_bytes) * words + 8 * vertices


def transpose(
    words: np.ndarray, weights: np.ndarray, small: int, first_vertex: np.ndarray, vertices: int
) -> Transposed | None:
    """The lists of who names a vertex, from pages (words: id[pages, W], the first `small` of them small ones; weights:
    weight[pages, W], or of no pages).

    None where a word can't tell where each list begins (more than 2^32 words), and for a graph without edges.
    """
    ends = np.zeros(vertices, np.uint64)
    edges = int(_count_named(words, ends))
    named = np.flatnonzero(ends)
    width = HEADER_BYTES // words.itemsize + edges + RECORD_WORDS * len(named)
    if edges == 0 or width >= 1 << 32:
        return None
    page = np.empty((1, width), words.dtype)
    weighed = np.empty((1, width) if len(weights) else (0, 0), weights.dtype)
    _lay_out(page, ends, len(named))
    _fill(words, weights, small, first_vertex, page, weighed, ends)
    return Transposed(page, weighed, named[:1].astype(np.uint64), named[-1:].astype(np.uint64))


@kernel
def _count_named(words: Any, ends: Any) -> Any:
    """ends[u] += how often pages name u as a neighbour; returns the edges."""
    edges = u64(0)
    for row in range(u64(words.shape[0])):
        stride = stride_of(words, row)
        for slot in range(records_of(words, row)):
            head = head_of(words, row, slot)
            count = u64(words[row, head])
            for k in range(count):
                ends[u64(words[row, head + (k + u64(1)) * stride])] += u64(1)
            edges += count
    return edges


@kernel
def _lay_out(page: Any, ends: Any, named: Any) -> Any:
    """Header, slots and lengths; ends[u]: counts before, the word before the first neighbour of u's list after."""
    width = u64(page.shape[1])
    header = u64(HEADER_BYTES // page.itemsize)
    for index in range(header):
        page[0, index] = 0
    if page.itemsize == 8:
        page[0, 0] = u64(named) << u64(32)
    else:
        page[0, 1] = named
    word, slot = header, u64(0)
    for u in range(u64(len(ends))):
        count = ends[u]
        if count == u64(0):
            continue
        page[0, width - u64(2) * slot - u64(2)] = u
        page[0, width - u64(2) * slot - u64(1)] = word
        page[0, word] = count
        ends[u] = word
        word += count + u64(1)
        slot += u64(1)


@helper
def _name_back(words: Any, weights: Any, row: Any, slot: Any, page: Any, weighed: Any, ends: Any, v: Any) -> Any:
    """Add v to the lists of the neighbours of one record."""
    head, stride = head_of(words, row, slot), stride_of(words, row)
    for k in range(u64(words[row, head])):
        word = head + (k + u64(1)) * stride
        u = u64(words[row, word])
        ends[u] += u64(1)
        page[0, ends[u]] = v
        if len(weights) > 0:
            weighed[0, ends[u]] = weights[row, word]


@kernel
def _fill(words: Any, weights: Any, small: Any, first_vertex: Any, page: Any, weighed: Any, ends: Any) -> Any:
    """The neighbours, hubs of large pages between the vertices of small ones: so lists ascend."""
    pages, large = u64(words.shape[0]), u64(small)
    for row in range(u64(small)):
        for slot in range(records_of(words, row)):
            v = vertex_of(words, row, slot)
            while large < pages and u64(first_vertex[large]) < v:
                _name_back(words, weights, large, u64(0), page, weighed, ends, u64(first_vertex[large]))
                large += u64(1)
            _name_back(words, weights, row, slot, page, weighed, ends, v)
    while large < pages:
        _name_back(words, weights, large, u64(0), page, weighed, ends, u64(first_vertex[large]))
        large += u64(1)
