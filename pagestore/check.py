"""Compiled checks of pages: the rules R2 to R6 of pagestore/decode.py at some ns an edge.

The scrub asks for all of them (`walk_records`, `scan_neighbours`). Every reader asks `unsound`, at the rate of memory:
a checksum finds accidents, but a forged page has the right one, whatever its slots, sizes and neighbours
say, and kernels on cores and GPUs take them as they are. So R2 to R4, and of R5 that neighbours are vertices, are
checked before any kernel sees a page. Wrong order, degrees or heads make a wrong graph, but no read past an end.

The reference decoder is the authority; on any other answer than "sound" it is asked for the words. The kernels share no
code with the packer. Every index is unsigned and compared with its bound before it is used: pages may hold anything.
"""

from __future__ import annotations

import numpy as np

from pagestore.jit import compiled
from pagestore.layout import HEAD_NEIGHBOURS, PageLayout, other_headers

TOLD = ("records", "first_vertex", "last_vertex", "edges", "layout")  # of a page by the directory

# Odd 64-bit constants of splitmix64 and of the golden ratio
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_WEIGHT, _LAST = np.uint64(0xD6E8FEB86659FD93), np.uint64(0x94D049BB133111EB)


@compiled
def walk_records(words, header_words, vertices, columns, vertex, size, rest):
    """Follow slots and records of a page (id[W]); fills vertex, size (u8[records]); returns the broken rule or 0.

    columns: records of a group, 1 in a page of rows. len(vertex) records and their slots must fit W, which the
    directory's checks ensure. rest: look at words that belong to no list, too (R6).
    """
    one, two = np.uint64(1), np.uint64(2)
    slots = np.uint64(words.size) - two * np.uint64(vertex.size)
    at, end = np.uint64(header_words), np.uint64(header_words)
    for i in range(vertex.size):
        slot = np.uint64(words.size) - two * (np.uint64(i) + one)
        owner, start = np.uint64(words[slot]), np.uint64(words[slot + one])
        if owner >= vertices or (i > 0 and owner <= vertex[i - 1]):
            return 2
        rank = np.uint64(i) & (columns - one)
        at = end if rank == 0 else at + one
        if start != at or at >= slots:
            return 3
        count = np.uint64(words[at])
        if count == 0 or count >= slots:
            return 3 if count == 0 else 4
        end = max(end, at - rank + columns * (one + count))
        if end > slots:
            return 4
        vertex[i], size[i] = owner, count
    if not rest:
        return 0
    used = np.uint64(0)  # words that are not zero: sizes and, but for vertex 0, neighbours
    if columns == one:
        header_words = end
    else:
        used = np.uint64(vertex.size)
        for i in range(vertex.size):
            k = np.uint64(words[np.uint64(words.size) - two * (np.uint64(i) + one) + one])
            for _ in range(size[i]):
                k += columns
                used += np.uint64(words[k] != 0)
    for word in range(header_words, slots):
        used -= np.uint64(words[np.uint64(word)] != 0)
    return 6 if used != 0 else 0


@compiled
def scan_neighbours(words, weights, header_words, vertices, columns, vertex, size, heads, sums):
    """Neighbours of a page that `walk_records` passed; returns the broken rule or 0.

    weights: unsigned[W], or empty without weights. Fills heads id[records, 4] with each record's first neighbours, and
    sums u8[4]: mixes of the edges as (first, second) and as (second, first), first and last neighbour of the page.
    """
    one, two = np.uint64(1), np.uint64(2)
    at = np.uint64(header_words)
    forward, backward, beside, last = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
    weighted = weights.size > 0
    bad = False
    for i in range(vertex.size):
        if columns == one:
            at += one
        else:
            at = np.uint64(words[np.uint64(words.size) - two * np.uint64(i) - one]) + columns
        owner = vertex[i]
        owner_first, owner_second = owner * _FIRST, owner * _SECOND
        last = np.uint64(0)
        for j in range(size[i]):
            k = at + np.uint64(j) * columns
            target = np.uint64(words[k])
            bad |= (target >= vertices) | (target < last)
            last = target
            a, b = owner_first ^ (target * _SECOND), (target * _FIRST) ^ owner_second
            if weighted:
                weight = np.uint64(weights[k])
                beside += np.uint64(weight != 0)
                a += weight * _WEIGHT
                b += weight * _WEIGHT
            forward += (a ^ (a >> np.uint64(32))) * _LAST >> np.uint64(7)
            backward += (b ^ (b >> np.uint64(32))) * _LAST >> np.uint64(7)
        for j in range(HEAD_NEIGHBOURS):
            if np.uint64(j) < size[i]:
                heads[i, j] = words[at + np.uint64(j) * columns]
            else:
                heads[i, j] = ~np.uint64(0)
        if columns == one:
            at += size[i]
    sums[0], sums[1] = forward, backward
    sums[2], sums[3] = np.uint64(words[np.uint64(header_words) + one]), last
    if bad:
        return 5
    if weighted:
        nonzero = np.uint64(0)
        for m in range(weights.size):
            nonzero += np.uint64(weights[np.uint64(m)] != 0)
        if nonzero != beside:
            return 6
    return 0


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
        if owners[0] != first[page] or owners[count - 1] != last[page] or _total(sizes) != edges[page]:
            return page
        lists = words[page, header_words : words.shape[1] - 2 * count]  # list sizes are in it: mostly less than IDs
        if beyond(lists, last_id) and not all_within(words[page], last_id, columns, sizes):
            return page
    return len(words)


@compiled
def _total(sizes):
    """Their sum; that of an array's method would have each process load SciPy with this kernel."""
    total = np.uint64(0)
    for k in range(sizes.size):
        total += sizes[k]
    return total


@compiled
def beyond(words, most):
    """Whether any word is greater. LLVM makes SIMD instructions of this form: 30 GB/s; of most others 7."""
    found = False
    for k in range(words.size):
        found |= words[k] > most
    return found


@compiled
def beyond_heads(words, most, none):
    """Whether any word is greater, and not `none`."""
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
    differ = other_headers(rows, pages)
    scratch = np.empty((2, int(rows["records"].max())), np.uint64)
    told = [np.array(rows[name]) for name in TOLD]  # copies: the kernel is compiled anew for read-only arrays
    words, begin = pages.view(layout.id_dtype), np.uint64(layout.header_words)
    found = first_unsound(words, begin, last_id, *told, *scratch)
    wrong = np.append(np.flatnonzero(differ), found)
    return None if wrong[0] == len(pages) else int(wrong.min())
