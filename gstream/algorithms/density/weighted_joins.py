"""Clustering by weights: the geometric mean of each triangle's weights (Onnela et al. 2005; directed: Fagiolo 2007).

With s(u, v) the cube roots of the weights of u -> v and v -> u, added up, vertex v has
sum of s(v, u) s(v, w) s(u, w) over pairs of neighbours / (d (d - 1) - 2 b) / the greatest weight of the graph;
d: edges from v and to v, b: neighbours with edges both ways. An undirected edge is one each way.

Lists are those of joins.py, with entries of 64 bits: neighbour << 34 | arcs << 32 | a float32. The float is the edge's
weight until the list is tidy, and s from then on.
"""

from __future__ import annotations

from gstream.algorithms.density.joins import RUN, arcs_of, is_higher
from gstream.algorithms.support.listsort import new_stack, sort_range
from gstream.algorithms.support.shared import blocks
from gstream.hostcode.casts import f32, f64, u64
from gstream.hostcode.intrinsics import atomic_add, atomic_or, bits_of, f32_of_bits
from gstream.hostcode.jit import helper, kernel, kernel_with_arrays
from gstream.records import item_kernel, record_kernel

NEIGHBOUR = 34  # bits of an entry below the neighbour
MOST = 1 << 30  # vertices whose numbers have room above them


@helper
def cube_root(x):
    """Of a number of at least 0, by Newton's steps from within a factor of 2."""
    if x <= 0.0:
        return 0.0
    rest, scale = x, 1.0
    while rest >= 8.0:
        rest, scale = rest * 0.125, scale * 2.0
    while rest < 1.0:
        rest, scale = rest * 8.0, scale * 0.5
    root = 1.0 + (rest - 1.0) / 7.0
    for _ in range(5):  # 2 digits, then twice as many each time
        root = root - (root * root * root - rest) / (3.0 * root * root)
    return root * scale


@helper
def strength_of(entry):
    """s of a tidy entry."""
    return f64(f32_of_bits(u64(entry) & u64(4294967295)))


@record_kernel(cursor="own", entries="uint64[] own")
def gather_weights(record, first, end, cursor, way, both, size, entries):
    """joins.gather_higher, each entry with its edge's weight."""
    v = record.vertex
    mine = v >= first and v < end
    if not mine and not both:
        return
    back = u64(3) if way == 3 else u64(3 - way)
    for u in record.neighbours():
        weight = bits_of(f32(record.weight()))
        if mine and is_higher(size, u, v):
            place = atomic_add(cursor, v - first, u64(1))
            entries[place] = (u << u64(34)) | (u64(way) << u64(32)) | weight
        elif both and u >= first and u < end and is_higher(size, v, u):
            place = atomic_add(cursor, u - first, u64(1))
            entries[place] = (v << u64(34)) | (back << u64(32)) | weight


@kernel_with_arrays
def tidy_weights(starts, entries, top, after, counter):
    """Sort each list and let a neighbour stand in it once, with s; after: uint64[n], where lists end."""
    stack = new_stack()
    for begin, end in blocks(counter, len(starts) - 1, RUN):
        for k in range(begin, end):
            low, high = starts[k], starts[k + u64(1)]
            sort_range(entries, low, high, u64(top), stack)
            place = low
            for index in range(low, high):
                arcs, s = (entries[index] >> u64(32)) & u64(3), cube_root(strength_of(entries[index]))
                u = entries[index] >> u64(34)
                if place > low and entries[place - u64(1)] >> u64(34) == u:
                    place -= u64(1)
                    arcs, s = arcs | ((entries[place] >> u64(32)) & u64(3)), s + strength_of(entries[place])
                entries[place] = (u << u64(34)) | (arcs << u64(32)) | bits_of(f32(s))
                place += u64(1)
            after[k] = place
    return u64(0)


@kernel
def count_arcs(first, starts, after, entries, degree, mutual, counter):
    """degree[v] += edges at v, mutual[v] += its neighbours with edges both ways, by both ends of the entries."""
    for begin, end in blocks(counter, len(after), RUN):
        for k in range(begin, end):
            arcs, twice = u64(0), u64(0)
            for index in range(starts[k], after[k]):
                u, here = entries[index] >> u64(34), arcs_of(entries[index] >> u64(32))
                atomic_add(degree, u, degree.dtype.type(here))
                arcs += here
                if here == u64(2):
                    atomic_add(mutual, u, mutual.dtype.type(1))
                    twice += u64(1)
            atomic_add(degree, u64(first) + k, degree.dtype.type(arcs))
            atomic_add(mutual, u64(first) + k, mutual.dtype.type(twice))
    return u64(0)


@item_kernel(one="uint64[]", two="uint64[]", sums="float64[] sum")
def close_weighted(item, one_first, one_starts, one_after, one, two_first, two_starts, two_after, two, sums):
    """joins.close_triangles: sums of each of a triangle's vertices += the product of its three s."""
    k, of_v = item.number, 0.0
    low, high = one_starts[k], one_after[k]
    begin, end = item.part(low, high)
    for index in range(begin, end):
        u = one[index] >> u64(34)
        if u < two_first or u - two_first >= u64(len(two_after)):
            continue
        place, stop = two_starts[u - two_first], two_after[u - two_first]
        mine, of_u, s = low, 0.0, strength_of(one[index])
        while mine < high and place < stop:
            a, b = one[mine] >> u64(34), two[place] >> u64(34)
            if a == b:
                product = s * strength_of(one[mine]) * strength_of(two[place])
                of_u += product
                atomic_add(sums, a, product)
            mine += u64(a <= b)
            place += u64(b <= a)
            item.step()
        if of_u > 0.0:
            atomic_add(sums, u, of_u)
            of_v += of_u
    if of_v > 0.0:
        atomic_add(sums, u64(one_first) + k, of_v)


@record_kernel(met="or", chosen="uint64[]", near="float64[] sum")
def mark_strengths(record, way, chosen, met, near):
    """near[2 u + i] += cube roots of the weights of edges between u and vertex chosen[i], self-loops apart; bits 2 i
    and 2 i + 1 of met[u]: there is one, by way 1 and by way 2. way 3: the list of each end has the edge."""
    v = record.vertex
    for i in range(2):
        ours = v == chosen[i]
        for u in record.neighbours():
            if u != v and (ours or (way != 3 and u == chosen[i])):
                end = u if ours else v
                bits = u64(way) if ours or way == 3 else u64(3 - way)
                atomic_or(met, end, bits << (u64(2) * u64(i)))
                atomic_add(near, u64(2) * end + u64(i), cube_root(f64(record.weight())))


@record_kernel(near="float64[]", found="float64[2] sum")
def sum_strengths(record, near, found):
    """found[i] (float64[2]) += near[2 u + i] near[2 v + i] * the cube root of the weight, over edges from v to u."""
    v = record.vertex
    mine, other = near[u64(2) * v], near[u64(2) * v + u64(1)]
    if mine == 0.0 and other == 0.0:
        return
    of_first, of_second = 0.0, 0.0
    for u in record.neighbours():
        if u != v:
            root = cube_root(f64(record.weight()))
            of_first += root * near[u64(2) * u]
            of_second += root * near[u64(2) * u + u64(1)]
    atomic_add(found, u64(0), of_first * mine)
    atomic_add(found, u64(1), of_second * other)
