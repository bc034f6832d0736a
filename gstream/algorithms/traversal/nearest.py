"""Kernels of the predecessor pass: which in-neighbour of a vertex its shortest path comes through.

* distance: value[V] in store order, INF (all bits set, or inf) if there is no path. A *tight* edge u -> v has
  distance[u] + weight == distance[v] in the arithmetic of the distances.
* predecessor: id[V], all bits set if there is none. open_bits: u64[ceil(V / 64)], reached vertices that are no source.
* hops: u4[V], edges of equal distance between a vertex and a nearer one (zero weights, or weights that rounding
  absorbs); FAR if not known.
* natural: id[V], natural indices, or of no element if store IDs are natural indices. Ties go by them, so no answer
  depends on the order of the store.
* `pull`: pages have in-lists, whose vertex is v; otherwise out-lists, whose vertex is u.
"""

from __future__ import annotations

from gstream.algorithms.support.shared import BLOCK, FAR, blocks, lower, named, u32
from gstream.hostcode.adjacency import stretch
from gstream.hostcode.bitmaps import is_set
from gstream.hostcode.casts import u64
from gstream.hostcode.claims import is_stopped
from gstream.hostcode.intrinsics import atomic_add, atomic_min, compare_and_swap
from gstream.hostcode.jit import helper, kernel
from gstream.records import item_kernel, record_kernel

WORDS = LANES = 32  # words of a bitmap that are an item, and other elements: one for each lane
NONE = u64(0xFFFFFFFFFFFFFFFF)
FEW, FEW_SHIFT = u64(127), u64(56)


@helper
def offer(predecessor, v, u, distance, hops, natural):
    """Make u the predecessor of v if (distance, hops, natural index) of u is less than that of the one it has."""
    seen = predecessor[v]
    while True:
        if seen != ~predecessor.dtype.type(0):
            if distance[u] > distance[seen]:
                return
            if distance[u] == distance[seen]:
                if hops[u] > hops[seen]:
                    return
                if hops[u] == hops[seen] and named(natural, u) >= named(natural, seen):
                    return
        written, seen = compare_and_swap(predecessor, v, seen, predecessor.dtype.type(u))
        if written:
            return


@helper
def offer_equal(predecessor, v, u, natural):
    """`offer` where all candidates of v have one distance."""
    seen = predecessor[v]
    while seen == ~predecessor.dtype.type(0) or named(natural, u) < named(natural, seen):
        written, seen = compare_and_swap(predecessor, v, seen, predecessor.dtype.type(u))
        if written:
            return


@helper
def tight(distance, u, v, weight):
    """Whether distance[u] + weight == distance[v]; nonsense where u is not reached, but then u is farther than v."""
    kind = distance.dtype.type
    return kind(distance[u]) + kind(weight) == kind(distance[v])


@kernel
def open_vertices(distance, none, is_source, bits, counter):
    """bits: reached vertices that are no source (is_source: u64 bitmap). Written whole."""
    for begin, end in blocks(counter, len(bits), BLOCK // 64):
        for index in range(begin, end):
            word, first = u64(0), index * u64(64)
            for v in range(first, min(first + u64(64), u64(len(distance)))):
                if distance[v] != none:
                    word |= u64(1) << (v & u64(63))
            bits[index] = word & ~is_source[index]
    return u64(0)


@kernel
def nearest_heads(heads, first, distance, predecessor, bits, counter):
    """Breadth-first search: settle the open vertices first..first+len(heads)-1 from their heads, and clear their bits.
    In-lists ascend, so in natural order the first neighbour one step nearer is the least. first is a multiple of 64."""
    none, edges = ~heads.dtype.type(0), u64(0)
    for begin, end in blocks(counter, len(heads)):
        for row in range(begin, end):
            v = u64(first) + row
            if not is_set(bits, v):
                continue
            wanted = distance[v] - u32(1)
            for column in range(4):
                neighbour = heads[row, column]
                if neighbour == none:
                    break
                edges += u64(1)
                if distance[neighbour] == wanted:
                    predecessor[v] = neighbour
                    bits[v >> u64(6)] &= ~(u64(1) << (v & u64(63)))
                    break
    return edges


@item_kernel(drawn="own")
def draw(item, distance, natural, at, drawn):
    """drawn[k]: of vertex at[k] the distance, or FEW if that is less, in the 8 high bits, and the natural index in the
    others. at: uint64[n]. An item is LANES elements."""
    begin, end = item.share(LANES, len(at))
    for index in range(begin, end):
        drawn[index] = min(u64(distance[at[index]]), FEW) << FEW_SHIFT | u64(natural[at[index]])


@item_kernel(bits="own")
def open_pushing(item, distance, natural, until, bits):
    """bits: reached vertices whose natural index is below that of `until` for the next level. until: uint64[levels],
    the last one for all levels beyond. bits is written whole. An item is WORDS words of it."""
    begin, end = item.share(WORDS, len(bits))
    for index in range(begin, end):
        word, first = u64(0), index << u64(6)
        for v in range(first, min(first + u64(64), u64(len(distance)))):
            if distance[v] != ~distance.dtype.type(0):
                level = min(u64(distance[v]) + u64(1), u64(len(until)) - u64(1))
                word |= u64(named(natural, v) < until[level]) << (v & u64(63))
        bits[index] = word


@item_kernel(bits="own")
def open_childless(item, predecessor, open_bits, bits):
    """bits: the bits of open_bits whose vertex has no predecessor. Written whole. An item is WORDS words of bits."""
    begin, end = item.share(WORDS, len(bits))
    for index in range(begin, end):
        word, first = u64(0), index << u64(6)
        if open_bits[index] != u64(0):
            for v in range(first, min(first + u64(64), u64(len(predecessor)))):
                word |= u64(predecessor[v] == ~predecessor.dtype.type(0)) << (v & u64(63))
        bits[index] = word & open_bits[index]


@item_kernel(bits="own")
def open_orphans(item, distance, predecessor, bits):
    """bits: reached vertices without a predecessor, but for sources, which are at distance 0. Written whole. An item is
    WORDS words of bits."""
    begin, end = item.share(WORDS, len(bits))
    for index in range(begin, end):
        word, first = u64(0), index << u64(6)
        for v in range(first, min(first + u64(64), u64(len(distance)))):
            if predecessor[v] == ~predecessor.dtype.type(0):
                far = distance[v]
                word |= u64(far != ~distance.dtype.type(0) and far != 0) << (v & u64(63))
        bits[index] = word


@item_kernel(key="uint32[] own", beyond="int64[1] sum", shift="int64")
def make_keys(item, distance, natural, shift, key, beyond):
    """key (u4[V]) = distance << shift | natural index; all bits set if there is no path. beyond: how many distances
    have no room in one. An item is LANES vertices."""
    most = u64(FAR) >> u64(shift)
    begin, end = item.share(LANES, len(key))
    for v in range(begin, end):
        far = u64(distance[v])
        if far == u64(FAR):
            key[v] = FAR
        else:
            key[v] = u32(far << u64(shift) | u64(natural[v]))
            if far + u64(1) >= most:  # the greatest level is that of no path: nobody may be one step nearer
                atomic_add(beyond, 0, 1)


@record_kernel(key="uint32[]", least="uint32[] min", shift="int64")
def push_key(record, key, least, until, shift):
    """`nearest_by_hops` of the vertices that `open_pushing` opens, by keys: least[v] = the least key of an in-neighbour
    that pushes. It takes one gather an edge instead of two and a branch that is hard to foresee."""
    mine = key[record.vertex]
    if mine == FAR:
        return
    onward = (mine >> u32(shift)) + u32(1)
    if (mine & ((u32(1) << u32(shift)) - u32(1))) >= until[min(u64(onward), u64(len(until)) - u64(1))]:
        return
    for v in record.neighbours():
        if key[v] >> u32(shift) == onward and mine < least[v]:
            atomic_min(least, v, mine)


@record_kernel(key="uint32[]", least="uint32[] min", shift="int64")
def pull_key(record, key, least, until, shift):
    """The same of vertices into which nobody pushed, from all in-neighbours: none is nearer than one step. Who pushed
    is below the bound of the level and nobody else is, so that a list of several pages is looked at whole."""
    owner = record.vertex
    mine, found = key[owner], least[owner]
    level = mine >> u32(shift)
    if level == u32(0) or mine == FAR:
        return
    if found != FAR:
        bound = until[min(u64(level), u64(len(until)) - u64(1))]
        if (found & ((u32(1) << u32(shift)) - u32(1))) < bound:
            return
    found = FAR
    for u in record.neighbours():
        found = min(found, key[u])
    if found >> u32(shift) < level and found < least[owner]:
        atomic_min(least, owner, found)


@item_kernel(least="uint32[] own", shift="int64", store_of="id[]")
def take_least(item, least, shift, store_of):
    """least[v] (a key, or all bits set) becomes the store ID of the key's vertex. store_of: id[V]. An item is LANES
    vertices."""
    mask = (u64(1) << u64(shift)) - u64(1)
    begin, end = item.share(LANES, len(least))
    for v in range(begin, end):
        if least[v] != FAR:
            least[v] = store_of[u64(least[v]) & mask]


@record_kernel(predecessor="own")
def nearest_by_hops(record, distance, natural, predecessor, bits, pull):
    """Breadth-first search: the least in-neighbour one step nearer, by natural index. Vertices whose bits are set look
    for theirs, or offer themselves to their out-neighbours."""
    owner = record.vertex
    if not is_set(bits, owner):
        return
    if pull:
        wanted = distance[owner] - u32(1)
        found = NONE
        least = NONE
        for u in record.neighbours():
            if distance[u] == wanted:
                name = named(natural, u)
                if name < least:
                    found = u
                    least = name
                if len(natural) == 0:  # lists ascend
                    break
        if found != NONE:
            offer_equal(predecessor, owner, found, natural)
    else:
        onward = distance[owner] + u32(1)
        for v in record.neighbours():
            if distance[v] == onward:
                offer_equal(predecessor, v, owner, natural)


@record_kernel(distance="length[]", predecessor="own")
def nearest_by_weight(record, distance, hops, natural, predecessor, open_bits, pull):
    """The in-neighbour of least (distance, hops, natural index) of those on tight edges that come before v so."""
    owner = record.vertex
    if pull and not is_set(open_bits, owner):
        return
    for other in record.neighbours():
        u, v = (other, owner) if pull else (owner, other)
        if not tight(distance, u, v, record.weight()):  # most edges end here
            continue
        if distance[u] > distance[v] or not is_set(open_bits, v):
            continue
        if distance[u] < distance[v] or hops[u] < hops[v]:
            offer(predecessor, v, u, distance, hops, natural)


@kernel
def take_offers(predecessor, other, distance, hops, natural, counter):
    """Of two copies of `predecessor` the one that comes first."""
    for begin, end in blocks(counter, len(predecessor)):
        for v in range(begin, end):
            if other[v] != ~predecessor.dtype.type(0):
                offer(predecessor, v, u64(other[v]), distance, hops, natural)
    return u64(0)


@kernel
def take_equal_offers(predecessor, other, natural, counter):
    """`take_offers` of breadth-first search: all candidates of a vertex have one distance."""
    for begin, end in blocks(counter, len(predecessor)):
        for v in range(begin, end):
            if other[v] != ~predecessor.dtype.type(0):
                offer_equal(predecessor, v, u64(other[v]), natural)
    return u64(0)


@record_kernel(distance="length[]", hops="min", changed="sum")
def spread_hops(record, distance, hops, open_bits, pull, changed):
    """One round over tight edges between equal distances: hops[v] = min(hops[v], hops[u] + 1).

    Rounds are repeated until `changed` (int64[1]) stays 0; the least solution is the same in any order of work.
    """
    owner = record.vertex
    if pull and not is_set(open_bits, owner):
        return
    for other in record.neighbours():
        u, v = (other, owner) if pull else (owner, other)
        if distance[u] != distance[v] or hops[u] == FAR or not is_set(open_bits, v):
            continue
        if tight(distance, u, v, record.weight()) and lower(hops, v, hops[u] + u32(1)):
            atomic_add(changed, 0, 1)


@helper
def pass_hops(words, weights, places, distance, hops, queue, end, u):
    """spread_hops along the edges of u, to vertices without hops, which join the queue: (its end, edges looked at)."""
    k = u64(0)
    while True:
        row, word, more, stride = stretch(words, places, u, k)
        if more == u64(0):
            return end, k
        for step in range(more):
            place = word + step * stride
            v = u64(words[row, place])
            if distance[u] == distance[v] and hops[v] == FAR and tight(distance, u, v, weights[row, place]):
                hops[v], queue[end] = hops[u] + u32(1), v
                end += u64(1)
        k += more


@kernel
def spread_hops_alone(words, weights, places, distance, none, hops, plateau, queue, counter):
    """All rounds of spread_hops by one thread, breadth first; hops are FAR on the plateaus, and 0 elsewhere.

    words, weights, places: gstream.hostcode.adjacency, of out-lists. none: the distance of vertices that are not
    reached. plateau: bits of vertices. queue: id[V]. Returns the edges looked at.
    """
    begin, end, edges = u64(0), u64(0), u64(0)
    for u in range(u64(len(hops))):
        if is_stopped(counter):
            break
        if distance[u] != none and not is_set(plateau, u):
            end, looked = pass_hops(words, weights, places, distance, hops, queue, end, u)
            edges += looked
    while begin != end and not is_stopped(counter):
        end, looked = pass_hops(words, weights, places, distance, hops, queue, end, u64(queue[begin]))
        begin, edges = begin + u64(1), edges + looked
    return edges


@kernel
def unsettled(predecessor, bits, remain, counter):
    """remain: the bits of `bits` whose vertex has no predecessor. Returns how many there are."""
    found, none = u64(0), ~predecessor.dtype.type(0)
    for begin, end in blocks(counter, len(bits), BLOCK // 64):
        for index in range(begin, end):
            word, first = u64(0), index * u64(64)
            if bits[index] != u64(0):
                for v in range(first, min(first + u64(64), u64(len(predecessor)))):
                    if is_set(bits, v) and predecessor[v] == none:
                        word |= u64(1) << (v & u64(63))
                        found += u64(1)
            remain[index] = word
    return found


@kernel
def find_deep(predecessor, depth, most, counter):
    """How many threads found a vertex with more than `most` (<= 254) others above it; each ends at its first one.
    depth: u1[V], zero; 1 + the vertices above v if that was found. predecessor: no cycles."""
    none = ~predecessor.dtype.type(0)
    for begin, end in blocks(counter, len(predecessor)):
        for v in range(begin, end):
            top, steps = v, u64(0)
            while depth[top] == 0 and predecessor[top] != none and steps <= u64(most):
                top, steps = u64(predecessor[top]), steps + u64(1)
            above = steps + max(u64(depth[top]), u64(1))
            if above > u64(most) + u64(1):
                return u64(1)
            below = v
            while below != top:
                depth[below] = above
                below, above = u64(predecessor[below]), above - u64(1)
            depth[top] = above
    return u64(0)
