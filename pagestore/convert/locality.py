"""`--order llp`: vertices with many common neighbours get near numbers, so that gaps between neighbours are small.

Layered label propagation (P. Boldi, M. Rosa, M. Santini, S. Vigna, WWW 2011). A vertex takes the label l that has the
greatest k - g * (v - k): k of its neighbours, and v vertices in all, have l. A small g makes large clusters. Here g
goes from 1/4 down, by 16 each time. Each clustering moves the vertices of a cluster together and keeps their order
otherwise. So the large clusters of the last g hold those of the g before in a row. The first order is by degree.

The order is a function of the graph alone, whatever threads and memory there are:

* Vertices are taken in BLOCKS ranges of about equal edges. Those of a block look at the same labels, then all change.
* In each sweep a half of the vertices, by a hash, may change: two neighbours would swap their labels for ever.
* Scores are whole numbers, and a hash of label and vertex decides between equal ones.

Vertices of more than MOST_DEGREE edges keep their own label: the table of a thread has room for so many labels.
Vertices without edges stay at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pagestore.convert.crew import Ticker, run_crew
from pagestore.convert.options import ProgressHook
from pagestore.convert.sortededges import SortedEdges
from pagestore.convert.storage import WINDOW, Vector
from pagestore.errors import ResourceError
from pagestore.inputs.idtable import mixed
from pagestore.jit import atomic_add, compiled
from pagestore.sizes import show_bytes, show_count

FIRST_SHIFT, SHIFTS_APART = 2, 4  # g = 2^-2, 2^-6, 2^-10, ..., as long as 1 / g is below the number of vertices
SWEEPS = 8  # of each g; a vertex takes part in half of them
FEWEST_MOVED = 200  # sweeps end where less than the 200th part of the vertices moved
BLOCKS = 16
MOST_DEGREE = 1 << 16
TABLE_BITS = 17  # of a table of labels, at most half full
VECTORS = 5  # of IDs: label, next label, size of a label's cluster, two orders
U0, U1, U64_TABLE = np.uint64(0), np.uint64(1), np.uint64(64 - TABLE_BITS)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def room_for_order(vertices: int, id_bytes: int, threads: int, memory_bytes: int) -> int:
    """Bytes that `locality_order` holds beside the edges it reads. Raises ResourceError above half of memory_bytes."""
    wanted = VECTORS * vertices * id_bytes + threads * _Table.nbytes(id_bytes)
    if 2 * wanted > memory_bytes:
        raise ResourceError(
            f"--order llp: holds {show_bytes(wanted)} for {show_count(vertices)} vertices, and half of --memory is "
            f"{show_bytes(memory_bytes // 2)}. Pass --memory {-(-2 * wanted >> 20)}MiB or more, or --order degree."
        )
    return wanted


class _Table:
    """How often each label is seen, by open addressing; a thread has its own."""

    def __init__(self, dtype: np.dtype) -> None:
        self.labels = np.zeros(1 << TABLE_BITS, dtype)
        self.counts = np.zeros(1 << TABLE_BITS, np.uint32)
        self.used = np.zeros(MOST_DEGREE, np.uint32)

    @staticmethod
    def nbytes(id_bytes: int) -> int:
        return (1 << TABLE_BITS) * (id_bytes + 4) + MOST_DEGREE * 4


@dataclass(frozen=True)
class _Piece:
    """Vertices [first, last) of one block, and the number of their first edge in each of the lists."""

    block: int
    first: int
    last: int
    edges: tuple[int, ...]


@compiled
def _add(targets, begin, end, label, labels, counts, used, filled):
    """Count the labels of targets[begin:end]; returns how many different ones the table has."""
    mask = np.uint64(labels.size - 1)
    for edge in range(begin, end):
        found = label[targets[edge]]
        at = (np.uint64(found) * GOLDEN) >> U64_TABLE
        while counts[at] != 0 and labels[at] != found:
            at = (at + U1) & mask
        if counts[at] == 0:
            labels[at] = found
            used[filled] = at
            filled += U1
        counts[at] += 1
    return filled


@compiled
def _choose(first, degrees, targets, more_degrees, more_targets, label, size, shift, sweep, following, table):
    """following[i] = the label that vertex first + i takes; more_degrees: of lists the other way, or empty."""
    labels, counts, used = table
    at, more_at = U0, U0
    for i in range(degrees.size):
        vertex = first + np.uint64(i)
        own = label[vertex]
        best = own
        begin, more_begin = at, more_at
        at += np.uint64(degrees[i])
        if more_degrees.size:
            more_at += np.uint64(more_degrees[i])
        degree = at - begin + more_at - more_begin
        salt = mixed(vertex * GOLDEN + (sweep >> U1))
        if degree != U0 and degree <= np.uint64(MOST_DEGREE) and (salt >> np.uint64(20)) & U1 == sweep & U1:
            filled = _add(targets, begin, at, label, labels, counts, used, U0)
            filled = _add(more_targets, more_begin, more_at, label, labels, counts, used, filled)
            most, hashed = -(np.int64(size[own]) - 1), np.uint64(0)  # alone among its neighbours
            for k in range(filled):
                found, count = labels[used[k]], np.int64(counts[used[k]])
                counts[used[k]] = 0
                others = np.int64(size[found]) - (1 if found == own else 0) - count
                score, tie = (count << shift) - max(others, 0), mixed(np.uint64(found) ^ salt)
                if score > most or (score == most and tie < hashed):
                    most, best, hashed = score, found, tie
        following[i] = best


@compiled
def _change(first, last, label, following, size):
    """Give the vertices [first, last) their next labels; returns how many are new."""
    moved = 0
    for vertex in range(first, last):
        old, new = label[vertex], following[vertex]
        if new != old:
            atomic_add(size, old, -1)
            atomic_add(size, new, 1)
            label[vertex] = new
            moved += 1
    return moved


@compiled
def _gather(order, label, size, starts, out):
    """out = order with the vertices of each cluster behind its first one. starts: scratch, id[vertices], all zeros."""
    free = U0
    for i in range(order.size):
        cluster = label[order[i]]
        if starts[cluster] == 0:  # one more than where its next vertex goes
            starts[cluster] = free + U1
            free += np.uint64(size[cluster])
        out[np.uint64(starts[cluster]) - U1] = order[i]
        starts[cluster] += 1


def locality_order(
    lists: tuple[SortedEdges, ...], place: Vector, threads: int, chunk_edges: int, hook: ProgressHook | None
) -> None:
    """Turn `place`, the store ID of each vertex by degree, id[vertices], into the order by layered label propagation.

    lists: of an undirected graph one, of a directed one its out-lists and its in-lists. About `chunk_edges` are read at
    a time by each thread.
    """
    vertices, dtype = place.length, place.dtype
    order, out, label, following, size = (np.empty(vertices, dtype) for _ in range(VECTORS))
    for first, window in place.windows():
        order[window] = np.arange(first, first + len(window), dtype=dtype)
    pieces = list(_pieces(lists, chunk_edges))
    tables = [_Table(dtype) for _ in range(threads)]
    shifts = range(FIRST_SHIFT, max(vertices - 1, 0).bit_length(), SHIFTS_APART)
    edges = sum(part.edges for part in lists)
    ticker = Ticker(hook, "order", len(shifts) * SWEEPS * edges, "edges")
    for layer, shift in enumerate(shifts):
        label[:] = np.arange(vertices, dtype=dtype)
        size[:] = 1
        for sweep in range(SWEEPS):
            moved = 0
            for block in range(BLOCKS):
                moved += _sweep_block(
                    lists, [piece for piece in pieces if piece.block == block], threads, tables,
                    (label, following, size), shift, layer * SWEEPS + sweep,
                )  # fmt: skip
            ticker.set((layer * SWEEPS + sweep + 1) * edges)
            if moved * FEWEST_MOVED < vertices:
                break
        following[:] = 0
        _gather(order, label, size, following, out)
        order, out = out, order
    following[order] = np.arange(vertices, dtype=dtype)
    place.write(0, following)
    ticker.finish()


def _sweep_block(
    lists: tuple[SortedEdges, ...], pieces: list[_Piece], threads: int, tables: list[_Table],
    arrays: tuple[np.ndarray, np.ndarray, np.ndarray], shift: int, sweep: int,
) -> int:  # fmt: skip
    """One block's vertices choose, then change; returns how many did."""
    label, following, size = arrays
    none = np.empty(0, label.dtype)
    moved: list[int] = []

    def choose(thread: int, piece: _Piece) -> None:
        given = []
        for part, begin in zip(lists, piece.edges, strict=True):
            degrees = part.degrees.read(piece.first, piece.last)
            end = begin + int(degrees.sum(dtype=np.int64))
            if piece.last == piece.first + 1 and end - begin > MOST_DEGREE:
                end = begin  # it stays: its list, of any length, need not be read
            given += [degrees, part.read_targets(begin, end)]
        if len(lists) == 1:
            given += [given[0][:0], none]
        table = tables[thread]
        _choose(
            np.uint64(piece.first), *given, label, size, np.int64(shift), np.uint64(sweep),
            following[piece.first : piece.last], (table.labels, table.counts, table.used),
        )  # fmt: skip

    def change(thread: int, piece: _Piece) -> None:
        moved.append(int(_change(np.uint64(piece.first), np.uint64(piece.last), label, following, size)))

    run_crew(min(threads, len(pieces)), iter(pieces), choose)
    run_crew(min(threads, len(pieces)), iter(pieces), change)
    return sum(moved)


def _pieces(lists: tuple[SortedEdges, ...], chunk_edges: int) -> Iterator[_Piece]:
    """All vertices: BLOCKS blocks of about equal edges, each in pieces of about `chunk_edges`.

    A vertex that keeps its label for its degree is a piece of its own where its list is longer than a piece.
    """
    total = max(1, sum(part.edges for part in lists))
    edges, done = [0] * len(lists), 0
    for first in range(0, lists[0].vertices, WINDOW):
        windows = [part.degrees.read(first, min(first + WINDOW, lists[0].vertices)) for part in lists]
        ends = [np.cumsum(window, dtype=np.int64) for window in windows]
        degrees = np.sum([window.astype(np.int64) for window in windows], axis=0)
        before = done + np.cumsum(degrees) - degrees
        block, piece = np.minimum(before * BLOCKS // total, BLOCKS - 1), before // chunk_edges
        long = degrees > max(chunk_edges, MOST_DEGREE)
        new = np.ones(len(degrees), np.bool_)
        new[1:] = (block[1:] != block[:-1]) | (piece[1:] != piece[:-1]) | long[1:] | long[:-1]
        cuts = [*np.flatnonzero(new).tolist(), len(degrees)]
        for low, high in zip(cuts[:-1], cuts[1:], strict=True):
            begins = tuple(edge + (int(end[low - 1]) if low else 0) for edge, end in zip(edges, ends, strict=True))
            yield _Piece(int(block[low]), first + low, first + high, begins)
        edges = [edge + int(end[-1]) for edge, end in zip(edges, ends, strict=True)]
        done += int(degrees.sum())
