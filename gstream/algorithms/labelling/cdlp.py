"""Community detection by label propagation, as LDBC Graphalytics defines it (Raghavan, Albert, Kumara 2007).

label_0(v) = v;  label_i+1(v) = the most frequent label_i among v's neighbours, the least of several by user ID. A
neighbour both ways counts twice, a repeated edge as often as it is there. A self-loop counts v's own label, on a
directed graph twice. Vertices without neighbours keep their label.

The labels of all neighbours are gathered by blocks (gstream.algorithms.support.blocks); then each vertex takes its most
frequent one. A round moves each page once; of a directed store with one topology, all pages once a block. A mode does
not depend on the order of its labels, so devices, blocks and threads change nothing.
"""

from __future__ import annotations

import numpy as np

from gstream.algorithms.declaration import Algorithm, Work, exactly
from gstream.algorithms.support.blocks import (
    Blocks,
    OnGpu,
    block_bytes,
    check_block_memory,
    degrees_bytes,
    gather,
    head_of,
    most_neighbours,
    neighbours,
)
from gstream.algorithms.support.edgerows import natural_bytes
from gstream.algorithms.support.listsort import new_stack, sort_range
from gstream.algorithms.support.resident import Resident
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.shared import blocks
from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import helper, kernel_with_arrays
from gstream.records import record_kernel
from gstream.results.column import Answer, Column
from pagestore.errors import UsageError
from pagestore.io import aligned_empty

ALGORITHM = Algorithm(
    "cdlp", "communities by label propagation, LDBC's definition",
    "A community is named by a vertex of the graph.",
    definition="LDBC's: rounds all at once, ties to the least label; repeated edges and two-way neighbours "
    "count each",
    columns=("vertex", "community"), groups=True,
    options=(exactly(10, "N rounds, fewer where nothing changes"),), check="check_cdlp",
    certificate="none: a label follows from the labels of the round before, which are gone",
    kept="4: labels",
    holds="16, degrees; blocks", units=("gather_labels",),
    work=Work(edges=4.3, gpu_edges=60.0, per="iterations", spread=1.6),
)  # fmt: skip

FIRST_BYTES = 8  # `Blocks` holds one element more than there are vertices
LABELS = 1 << 16  # that are looked at in one go
CURSOR_BYTES = 8  # of a vertex of a block, beside labels of its neighbours

RUN = 64  # vertices that one claim takes
SLOTS = 8192  # of a thread's table of labels
DISTINCT = 4096  # labels that it takes: more of them are sorted


@record_kernel(cursor="own", entries="own")
def gather_labels(record, first, end, cursor, way, both, label, entries, room):
    """entries: labels of the neighbours of vertices [first, end), each at its vertex's cursor (blocks.gather). room:
    how many entries degrees promise; if a damaged store's lists are longer, they end there."""
    v = record.vertex
    mine = v >= first and v < end
    if not mine and not both:
        return
    place = atomic_add(cursor, v - first, record.count) if mine else u64(0)
    for u in record.neighbours():
        if mine:
            if place < room:
                entries[place] = label[u]
            place += u64(1)
        if both and u >= first and u < end:
            other = atomic_add(cursor, u - first, u64(1))
            if other < room:
                entries[other] = label[v]


@helper
def count_labels(entries, low, high, keys, counts, slots):
    """(whether there was room, the most frequent of entries[low:high], the least of several), by counting in a table.

    keys: id[SLOTS]; counts: uint64[SLOTS], zero before and after; slots: uint64[DISTINCT], for those in use.
    """
    best, most, used, room = entries[low], u64(0), u64(0), True
    for index in range(low, high):
        key = entries[index]
        slot = (u64(key) * u64(0x9E3779B97F4A7C15)) >> u64(51)
        while counts[slot] != u64(0) and keys[slot] != key:
            slot = (slot + u64(1)) & u64(SLOTS - 1)
        if counts[slot] == u64(0):
            if used == u64(DISTINCT):
                room = False
                break
            keys[slot], slots[used] = key, slot
            used += u64(1)
        counts[slot] += u64(1)
        if counts[slot] > most or (counts[slot] == most and key < best):
            best, most = key, counts[slot]
    for index in range(used):
        counts[slots[index]] = u64(0)
    return room, best


@helper
def mode_of_sorted(entries, low, high):
    """The most frequent of entries[low:high], which ascend; the least of several."""
    best, most, index = entries[low], u64(0), low
    while index < high:
        same = index + u64(1)
        while same < high and entries[same] == entries[index]:
            same += u64(1)
        if same - index > most:
            best, most = entries[index], same - index
        index = same
    return best


@kernel_with_arrays
def take_modes(starts, entries, first, top, label, fresh, changed, counter):
    """fresh[first + k] = the most frequent of entries[starts[k]:starts[k + 1]], the least of several; without entries
    the label stays. changed: int64[1], new labels. Entries, of `top` bits at most, may get sorted."""
    stack, moved = new_stack(), 0
    keys, counts, slots = np.empty(SLOTS, label.dtype), np.zeros(SLOTS, np.uint64), np.empty(DISTINCT, np.uint64)
    for begin, end in blocks(counter, len(starts) - 1, RUN):
        for k in range(begin, end):
            low, high, v = starts[k], starts[k + u64(1)], u64(first) + k
            fresh[v] = label[v]
            if low == high:
                continue
            counted, best = count_labels(entries, low, high, keys, counts, slots)
            if not counted:
                sort_range(entries, low, high, u64(top), stack)
                best = mode_of_sorted(entries, low, high)
            fresh[v] = best
            moved += best != label[v]
    atomic_add(changed, 0, moved)
    return u64(0)


def run_cdlp(session: Session, iterations: int = 10) -> Answer:
    """Column community: the label of each vertex after `iterations` rounds. Raises UsageError, ResourceError."""
    if iterations < 0:
        raise UsageError(f"--iterations {iterations}: is negative; it counts rounds. Pass 0 or more.")
    check_cdlp(session)
    natural = session.meta.order == "natural"
    label = np.arange(session.meta.vertices, dtype=session.id_dtype) if natural else session.natural_ids().copy()
    fresh = np.empty_like(label)
    session.names_done()
    session.reserve(label, fresh)
    on_gpu = OnGpu(label.nbytes, label.itemsize, CURSOR_BYTES)
    blocks = Blocks(session, neighbours(session), label.dtype, on_gpu=on_gpu)
    entries = aligned_empty(blocks.most_entries * label.itemsize).view(label.dtype)  # which GPUs pin
    cursor = np.empty(blocks.most_vertices, np.uint64)
    session.reserve(entries, cursor, cursor)
    only = [blocks.range(0)] if len(blocks) == 1 else []
    top, changed = session.meta.vertices.bit_length(), np.zeros(1, np.int64)
    kept = session.keep(label=label, rounds=0, changed=1)  # changed: labels, in the last round
    kept.check_limit(kept.rounds, iterations)
    with Resident(session, *((label, fresh, entries, cursor) if only else ())) as resident:
        while kept.rounds < iterations and kept.changed:
            changed[0] = 0
            for number in range(len(blocks)):
                block = only[0] if only else blocks.range(number)
                within = head_of(entries, block.entries)  # GPUs copy no more than that
                given = (session, block, gather_labels, (label, within, np.uint64(block.entries)))
                if only:
                    gather(*given, cursor, resident)
                    resident.read(entries)
                else:
                    gather(*given, cursor[: block.end - block.first])
                session.each(take_modes, block.starts, within, block.first, top, label, fresh, changed)
            label, fresh = fresh, label
            if only:
                resident.put(label)
            kept.label, kept.rounds, kept.changed = label, kept.rounds + 1, int(changed[0])
            kept.boundary()
        resident.forget(entries, cursor)
    kept.end()
    found = {"communities": count_communities(label)}
    return [Column("community", label, holds="natural")], found | session.finish(kept.rounds, True)


def count_communities(label: np.ndarray) -> int:
    """How many labels occur, which are below their number."""
    there = np.zeros(len(label), np.bool_)
    for first in range(0, len(label), LABELS):
        there[label[first : first + LABELS]] = True
    return int(np.count_nonzero(there))


def check_cdlp(session: Session, iterations: int = 10) -> None:
    """Too little memory is said before any work."""
    vertices, labels = session.meta.vertices, session.meta.vertices * 2 * session.id_dtype.itemsize
    read, named = degrees_bytes(session), natural_bytes(session)
    ends = (1 + session.meta.directed) * session.meta.edges
    most = read + named + labels + block_bytes(session, ends, session.id_dtype) + vertices
    held = labels + 8 * vertices + FIRST_BYTES
    check_block_memory(session, held, most_neighbours, session.id_dtype, alone=read + labels, most=most)
