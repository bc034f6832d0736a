"""Page kernels of gstream.algorithms.traversal.levels: peeling (Kahn 1962), longest paths, and a way back along a
cycle.

They walk out-pages: the owner of a list is the source of its edges.
"""

from __future__ import annotations

from gstream.algorithms.support.shared import is_set, raise_to, set_bit
from gstream.hostcode.adjacency import stretch
from gstream.hostcode.casts import u64
from gstream.hostcode.claims import is_stopped
from gstream.hostcode.intrinsics import atomic_add, trailing_zeros
from gstream.hostcode.jit import kernel
from gstream.records import item_kernel, record_kernel

ROW = 32  # words of bitmaps that are an item: one for each lane


@item_kernel(following="own", bits="own", level="int64[] own", last="own")
def take_level(item, number, passed, following, bits, level, last):
    """The vertices of `following` are those of `bits` now, and their level is number - 1 + passed, counted from 0.
    last: u64[1], the last round that had any. An item is ROW words of bits."""
    begin, end = item.part(item.number * u64(ROW), min((item.number + u64(1)) * u64(ROW), u64(len(bits))))
    for index in range(begin, end):
        word = following[index]
        following[index] = u64(0)
        bits[index] = word
        if word != u64(0):
            last[0] = u64(number)
        while word != u64(0):
            level[(index << u64(6)) + trailing_zeros(word)] = number - 1 + passed
            word &= word - u64(1)


@record_kernel(left="own", following="own")
def peel(record, bits, left, following):
    """Take the vertices of `bits` away: left[v] of each edge's target falls by 1, and at 0 it is in `following`."""
    if not is_set(bits, record.vertex):
        return
    for v in record.neighbours():
        if atomic_add(left, v, left.dtype.type(-1)) == 1:
            set_bit(following, v)


@kernel
def peel_alone(words, weights, places, left, level, distance, queue, ends, most, counter):
    """Whole levels by one thread: peel and reach_out of the queued vertices, then of those that fall to 0.

    words, places: gstream.hostcode.adjacency; weights: those of words, or of no rows: distance (float64[V]) stays.
    queue: id[V]; ends: int64[3], where the vertices that are due begin in it, where they end, and their level; they may
    be more than `most` in the end. Returns the edges looked at.
    """
    begin, end, number, edges = u64(ends[0]), u64(ends[1]), ends[2], u64(0)
    weighted = len(weights) > 0
    while begin != end and end - begin <= u64(most) and not is_stopped(counter):
        after = end
        for index in range(begin, end):
            u, k = u64(queue[index]), u64(0)
            level[u] = number
            while True:
                row, word, more, stride = stretch(words, places, u, k)
                if more == u64(0):
                    break
                for step in range(more):
                    place = word + step * stride
                    v = u64(words[row, place])
                    if weighted:
                        distance[v] = max(distance[v], distance[u] + weights[row, place])
                    left[v] -= left.dtype.type(1)
                    if left[v] == 0:
                        queue[after] = v
                        after += u64(1)
                k += more
            edges += k
        begin, end, number = end, after, number + 1
    ends[0], ends[1], ends[2] = begin, end, number
    return edges


@record_kernel(distance="float64[] max")
def reach_out(record, bits, distance):
    """distance[v] of each edge's target, float64[V], grows to distance[u] + weight; for u in `bits`."""
    u = record.vertex
    if not is_set(bits, u):
        return
    for v in record.neighbours():
        raise_to(distance, v, distance[u] + record.weight())


@record_kernel(above="one")
def find_above(record, left, above):
    """above[v] = some u -> v, of vertices that peeling left over."""
    u = record.vertex
    if left[u] == 0:
        return
    for v in record.neighbours():
        if left[v] != 0:
            above[v] = u


@record_kernel(longest="float64[]", again="float64[] max")
def distances_again(record, longest, again):
    """again[v] (float64[V], 0 at first) = the greatest longest[u] + weight over u -> v, of all edges."""
    for v in record.neighbours():
        raise_to(again, v, longest[record.vertex] + record.weight())


levels_again = distances_again.of_unit_weights("levels_again", longest="int64[]", again="int64[]")  # of levels
