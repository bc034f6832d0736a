"""Kernels of the certificates: each looks at every edge once and shares no code with what it checks.

failure: int64[3], (violations, u, v of the first one counted), store IDs. u -> v is an edge; `pull`: pages hold
in-lists, so their vertex is v; otherwise u.
"""

from __future__ import annotations

from gstream.algorithms.records import claim, i64, part_of, record, slots_end, u64
from gstream.algorithms.shared import set_bit
from gstream.hostcode.intrinsics import atomic_add, compare_and_swap
from gstream.hostcode.jit import helper, kernel
from gstream.records import record_kernel


@helper
def note(failure, u, v):
    """Count a violation; the first one leaves its vertices."""
    if atomic_add(failure, 0, 1) == 0:
        failure[1], failure[2] = i64(u), i64(v)


@helper
def onward(distance, u, weight):
    """Distance by way of u. Past INF, integers wrap or grow: the caller looks at u again where that matters."""
    kind = distance.dtype.type
    return kind(distance[u]) + kind(weight)


@helper
def check_step(distance, none, last, predecessor, proven, u, v, reach, failure):
    """An edge whose `reach` is v's distance or less: v must not be farther, but `reach` may be past `last`; if u is v's
    predecessor, that is proven."""
    if distance[u] == none:
        return
    if reach <= last and reach < distance[v]:
        note(failure, u, v)
    if u64(predecessor[v]) == u and reach == distance[v]:
        set_bit(proven, v)


@record_kernel(proven="or", failure="note")
def check_hops(record, distance, none, last, predecessor, proven, pull, failure):
    """Breadth-first distances u4[V]; `last`: vertices farther away are not reached (depth limit). proven: bits of
    vertices whose predecessor is an in-neighbour one step nearer.
    """
    for other in record.neighbours():
        u, v = (other, record.vertex) if pull else (record.vertex, other)
        reach = onward(distance, u, 1)
        # Tested here because most edges end here, and a call with seven arrays costs 30 ns.
        if reach <= distance[v]:
            check_step(distance, none, last, predecessor, proven, u, v, reach, failure)


@record_kernel(proven="or", failure="note")
def check_paths(record, distance, none, last, predecessor, proven, pull, failure):
    """The same for weighted distances, in their own arithmetic."""
    for other in record.neighbours():
        u, v = (other, record.vertex) if pull else (record.vertex, other)
        reach = onward(distance, u, record.weight())
        if reach <= distance[v]:
            check_step(distance, none, last, predecessor, proven, u, v, reach, failure)


@record_kernel(failure="note")
def check_lengths(record, score, pull, failure):
    """No edge u -> v has score[v] > score[u] + weight; score: float64[V], inf where there is no path."""
    for other in record.neighbours():
        u, v = (other, record.vertex) if pull else (record.vertex, other)
        if onward(score, u, record.weight()) < score[v]:
            note(failure, u, v)


@kernel
def find_cycle(predecessor, distance, seen):
    """A vertex on a cycle of predecessors of equal distance, or V. seen: u1[V], zero.

    Predecessors that are nearer end a walk: no cycle leads through them.
    """
    none, count = ~predecessor.dtype.type(0), u64(len(predecessor))
    for start in range(count):
        v = start
        while seen[v] == 0:
            seen[v] = 1
            above = predecessor[v]
            if above == none or distance[above] != distance[v]:
                break
            v = u64(above)
            if seen[v] == 1:
                return v
        v = start
        while seen[v] == 1:
            seen[v] = 2
            above = predecessor[v]
            if above == none or distance[above] != distance[v]:
                break
            v = u64(above)
    return count


@helper
def find_root(tree, v):
    """Root of v's tree, halving the path on the way; any thread may halve, so the step is a compare-and-swap."""
    while True:
        above = tree[v]
        if u64(above) == v:
            return v
        higher = tree[above]
        if higher == above:
            return u64(above)
        compare_and_swap(tree, v, above, higher)
        v = u64(higher)


@kernel
def check_labels(words, parts, counter, label, tree, failure):
    """Components: both ends of every edge have one label; `tree` (id[V], 0..V-1 at first) unites them."""
    edges = u64(0)
    while True:
        part = claim(counter)
        if part >= u64(len(parts)):
            return edges
        row, begin, end, large, stride = part_of(words, parts, part)
        for slot in range(begin, slots_end(begin, end, large)):
            owner, first, count = record(words, row, slot, begin, end, large, stride)
            edges += count
            word, stop = first, first + count * stride
            while word != stop:  # one counter: with two, the registers don't do, and rows took 15 % longer
                other = u64(words[row, word])
                word += stride
                if label[owner] != label[other]:
                    note(failure, owner, other)
                while True:
                    one, two = find_root(tree, owner), find_root(tree, other)
                    if one == two:
                        break
                    low, high = min(one, two), max(one, two)
                    written, _ = compare_and_swap(tree, high, tree.dtype.type(high), tree.dtype.type(low))
                    if written:
                        break


@record_kernel(received="sum")
def spread_rank(record, share, received, pull):
    """received[v] += sum of share[u] over u -> v; both float64[V]."""
    owner = record.vertex
    if pull:
        total = 0.0
        for u in record.neighbours():
            total += share[u]
        atomic_add(received, owner, total)
    else:
        for v in record.neighbours():
            atomic_add(received, v, share[owner])
