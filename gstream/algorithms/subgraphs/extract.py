"""Kernels that take edges between two sets of vertices out of pages: count them, copy them; and their certificate.

near, far: u64[ceil(V / 64)], bits of the vertices whose lists are looked at, and of those that they may lead to. once:
edges have no direction, so that one whose ends are in both sets is met twice: it is taken from the list of its lesser
end, by natural index (natural: id[V], or of none where store IDs are natural indices).
"""

from __future__ import annotations

from gstream.algorithms.support.shared import mixed, named
from gstream.hostcode.bitmaps import is_set
from gstream.hostcode.casts import i64, u64
from gstream.hostcode.intrinsics import atomic_add, bits_of
from gstream.hostcode.jit import helper, kernel
from gstream.hostcode.page_words import list_of, part_of, slots_of, vertex_of
from gstream.records import record_kernel


@helper
def is_taken(near, far, once, natural, v, u):
    """Whether the edge to u in the list of v, which is in `near`, is one of those wanted."""
    if not is_set(far, u):
        return False
    return not once or not is_set(near, u) or not is_set(far, v) or named(natural, v) <= named(natural, u)


@record_kernel(counts="sum")
def count_edges(record, near, far, once, natural, first_vertex, small_pages, counts):
    """counts (i8[pages]) += edges that each page has. first_vertex: u8[pages]."""
    v, found = record.vertex, i64(0)
    if not is_set(near, v):
        return
    for u in record.neighbours():
        found += is_taken(near, far, once, natural, v, u)
    if found:
        atomic_add(counts, record.page(first_vertex, small_pages), found)


@kernel
def copy_edges(words, weights, parts, near, far, once, natural, weighted, owner, other, weight):
    """owner, other, weight: the edges of pages, part after part, in the order of the lists. Returns how many there are,
    which may be more than have room. weights: of `words` if weighted, else anything."""
    place = u64(0)
    for part in range(u64(len(parts))):
        row, begin, end, large, stride = part_of(words, parts, part)
        first_slot, end_slot = slots_of(begin, end, large)
        for slot in range(first_slot, end_slot):
            v = vertex_of(words, row, slot)
            first, count = list_of(words, row, slot, begin, end, large, stride)
            if not is_set(near, v):
                continue
            for k in range(count):
                u = u64(words[row, first + k * stride])
                if is_taken(near, far, once, natural, v, u):
                    if place < u64(len(owner)):
                        owner[place], other[place] = v, u
                        if weighted:
                            weight[place] = weights[row, first + k * stride]
                    place += u64(1)
    return place


@helper
def hashed(source, target, weight):
    """A hash of an edge; weight: its bits, 1 where there is none."""
    return mixed(mixed(mixed(source) + target) + weight)


@helper
def is_wanted(sources, targets, directed, u, w):
    """Whether the edge u -> w leads from one set to the other; where edges have no direction, u - w in any, once."""
    if directed:
        return sources[u] != 0 and targets[w] != 0
    return u <= w and ((sources[u] != 0 and targets[w] != 0) or (sources[w] != 0 and targets[u] != 0))


@helper
def begins(sources, targets, natural, u, w):
    """Whether the row of an edge without direction begins with u: the set that it leads from has u, and where it may
    lead either way, u is the lesser end by natural index."""
    there, back = sources[u] != 0 and targets[w] != 0, sources[w] != 0 and targets[u] != 0
    return there and (not back or named(natural, u) <= named(natural, w))


@record_kernel(sums="sum")
def sum_edges(record, sources, targets, directed, natural, pull, sums):
    """sums (u8[2]) += (edges from a vertex of one set to one of the other, their hashes), all pages looked at.

    sources, targets: u1[V], 1 in the set. pull: pages hold in-lists.
    """
    v, found, total = record.vertex, u64(0), u64(0)
    for other in record.neighbours():
        u, w = (other, v) if pull else (v, other)
        if is_wanted(sources, targets, directed, u, w):
            found += u64(1)
            if directed or begins(sources, targets, natural, u, w):
                total += hashed(u, w, bits_of(record.weight()))
            else:
                total += hashed(w, u, bits_of(record.weight()))
    if found:
        atomic_add(sums, 0, found)
        atomic_add(sums, 1, total)


sum_plain_edges = sum_edges.of_unit_weights("sum_plain_edges")


@kernel
def sum_rows(source, target, weight, weighted, kind, sums):
    """sums (u8[2]) += (rows, the same hashes of them)."""
    total, bits = u64(0), weight.view(kind.dtype)
    for row in range(u64(len(source))):
        total += hashed(u64(source[row]), u64(target[row]), u64(bits[row]) if weighted else u64(1))
    sums[0] += u64(len(source))
    sums[1] += total
