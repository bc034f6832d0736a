"""Kernels of k-truss: triangles of every edge, and what is left of them as edges are taken off.

An edge is an entry in the list of its lower end (gstream.algorithms.joins); lists are gathered by blocks, sorted, each
neighbour once, so an entry always has the same number: base, of its block, and its place in the block's `entries`.
alive, dying: u64[ceil(entries / 64)], bits of edges that are there, and of those that this round takes off. support:
u4 or u8[entries], triangles of each edge. Of a block, dying edges stand in lists, too: those of vertex first + k have
the places low_places[low_starts[k]:low_starts[k + 1]].
"""

from __future__ import annotations

from gstream.algorithms.joins import RUN
from gstream.algorithms.nearest import BLOCK
from gstream.algorithms.records import claim, u64
from gstream.algorithms.shared import is_set, lower, set_bit
from gstream.hostcode.intrinsics import atomic_add, trailing_zeros
from gstream.hostcode.jit import helper, kernel
from gstream.records import item_kernel

NONE = u64(0xFFFFFFFFFFFFFFFF)


@kernel
def open_edges(starts, after, base, alive, counter):
    """Set the bits of all entries of a block."""
    while True:
        begin = claim(counter) * u64(RUN)
        if begin >= u64(len(after)):
            return u64(0)
        for k in range(begin, min(begin + u64(RUN), u64(len(after)))):
            for index in range(starts[k], after[k]):
                set_bit(alive, base + index)


@item_kernel(support="sum")
def count_supports(
    item, one_starts, one_after, one, one_base, two_first, two_starts, two_after, two, two_base, support
):  # fmt: skip
    """support += triangles v < u < w, v in block `one`, u in block `two`, of the whole graph. An item: a v."""
    low, high, unit = one_starts[item.number], one_after[item.number], support.dtype.type(1)
    begin, end = item.part(low, high)
    for index in range(begin, end):
        u = u64(one[index]) >> u64(2)
        if u < two_first or u - two_first >= u64(len(two_after)):
            continue
        mine, closed = low, u64(0)
        place, stop = two_starts[u - two_first], two_after[u - two_first]
        while mine < high and place < stop:
            a, b = u64(one[mine]) >> u64(2), u64(two[place]) >> u64(2)
            if a == b:
                closed += u64(1)
                atomic_add(support, one_base + mine, unit)
                atomic_add(support, two_base + place, unit)
            mine += u64(a <= b)
            place += u64(b <= a)
            item.step()
        if closed:
            atomic_add(support, one_base + index, support.dtype.type(closed))


@kernel
def mark_dying(alive, support, wanted, dying, least, counter):
    """dying: edges in fewer than `wanted` triangles, written whole; returns how many. least (u8[1]): the fewest
    triangles of the others."""
    found, fewest = u64(0), NONE
    while True:
        begin = claim(counter) * u64(BLOCK // 64)
        if begin >= u64(len(alive)):
            lower(least, u64(0), fewest)
            return found
        for index in range(begin, min(begin + u64(BLOCK // 64), u64(len(alive)))):
            left, word = alive[index], u64(0)
            while left != u64(0):
                bit = trailing_zeros(left)
                left &= left - u64(1)
                triangles = u64(support[(index << u64(6)) + bit])
                if triangles < wanted:
                    word |= u64(1) << bit
                    found += u64(1)
                else:
                    fewest = min(fewest, triangles)
            dying[index] = word


@kernel
def take_dying(alive, dying, support, number, counter):
    """Take the dying edges off; their `support` becomes `number`."""
    while True:
        begin = claim(counter) * u64(BLOCK // 64)
        if begin >= u64(len(alive)):
            return u64(0)
        for index in range(begin, min(begin + u64(BLOCK // 64), u64(len(alive)))):
            left = dying[index]
            alive[index] &= ~left
            while left != u64(0):
                support[(index << u64(6)) + trailing_zeros(left)] = number
                left &= left - u64(1)


@helper
def next_set(bits, at, end):
    """The first set bit of [at, end); `end` where there is none. Late rounds have few: words are passed over."""
    while at < end:
        word = bits[at >> u64(6)] >> (at & u64(63))
        if word != u64(0):
            return min(at + trailing_zeros(word), end)
        at = (at | u64(63)) + u64(1)
    return end


@kernel
def list_dying(starts, after, base, dying, low_starts, low_places, counter):
    """Dying edges of a block's vertices: their number, in low_starts[k + 1], if low_places is empty, else places."""
    while True:
        begin = claim(counter) * u64(RUN)
        if begin >= u64(len(after)):
            return u64(0)
        for k in range(begin, min(begin + u64(RUN), u64(len(after)))):
            found, end = u64(0), base + after[k]
            edge = next_set(dying, base + starts[k], end)
            while edge < end:
                if len(low_places):
                    low_places[low_starts[k] + found] = edge - base
                found += u64(1)
                edge = next_set(dying, edge + u64(1), end)
            if len(low_places) == 0:
                low_starts[k + u64(1)] = found


@helper
def place_of(entries, low, high, w):
    """Where neighbour w stands in entries[low:high]; NONE where it does not."""
    end = high
    while low < high:
        middle = (low + high) >> u64(1)
        if u64(entries[middle]) >> u64(2) < w:
            low = middle + u64(1)
        else:
            high = middle
    return low if low < end and u64(entries[low]) >> u64(2) == w else NONE


@helper
def lose(support, dying, edge):
    """One triangle less for an edge that stays."""
    if not is_set(dying, edge):
        atomic_add(support, edge, ~support.dtype.type(0))


@item_kernel(support="sum")
def lose_triangles(
    item, one_starts, one_after, one, one_base, one_low_starts, one_low_places,
    two_first, two_starts, two_after, two, two_base, two_low_starts, two_low_places, alive, dying, support,
):  # fmt: skip
    """support -= triangles v < u < w that lose an edge, v in block `one`, u in block `two`; each is met once.

    An item is a v. Where v - u dies, at all w in both lists; else at the dying edges v - w whose w is in u's list, and
    at the dying edges u - w whose v - w is there and stays.
    """
    k = item.number
    low, high = one_starts[k], one_after[k]
    begin, end = item.part(one_base + low, one_base + high)
    following = next_set(alive, begin, end)
    while following < end:
        edge = following
        following = next_set(alive, edge + u64(1), end)
        u = u64(one[edge - one_base]) >> u64(2)
        if u < two_first or u - two_first >= u64(len(two_after)):
            continue
        row = u - two_first
        mine, place, stop = low, two_starts[row], two_after[row]
        if is_set(dying, edge):
            while mine < high and place < stop:
                a, b = u64(one[mine]) >> u64(2), u64(two[place]) >> u64(2)
                if a == b and is_set(alive, one_base + mine) and is_set(alive, two_base + place):
                    lose(support, dying, one_base + mine)
                    lose(support, dying, two_base + place)
                mine += u64(a <= b)
                place += u64(b <= a)
                item.step()
            continue
        for each in range(one_low_starts[k], one_low_starts[k + u64(1)]):
            found = place_of(two, place, stop, u64(one[one_low_places[each]]) >> u64(2))
            item.step()
            if found != NONE and is_set(alive, two_base + found):
                lose(support, dying, edge)
                lose(support, dying, two_base + found)
        for each in range(two_low_starts[row], two_low_starts[row + u64(1)]):
            found = place_of(one, low, high, u64(two[two_low_places[each]]) >> u64(2))
            item.step()
            if found != NONE and is_set(alive, one_base + found) and not is_set(dying, one_base + found):
                lose(support, dying, edge)
                lose(support, dying, one_base + found)


@kernel
def list_edges(first, starts, after, entries, base, chosen, support, filled, source, target, number, counter):
    """source, target: both ends of the edges whose bit is set, number: theirs of `support` where wanted (else of none);
    filled (u8[1]): how many."""
    while True:
        begin = claim(counter) * u64(RUN)
        if begin >= u64(len(after)):
            return u64(0)
        for k in range(begin, min(begin + u64(RUN), u64(len(after)))):
            found = u64(0)
            for index in range(starts[k], after[k]):
                found += u64(is_set(chosen, base + index))
            place = atomic_add(filled, 0, found)
            for index in range(starts[k], after[k]):
                if is_set(chosen, base + index):
                    source[place], target[place] = u64(first) + k, u64(entries[index]) >> u64(2)
                    if len(number):
                        number[place] = support[base + index]
                    place += u64(1)
