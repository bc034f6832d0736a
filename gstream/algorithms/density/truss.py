"""Kernels of k-truss: triangles of every edge, and what is left of them as edges are taken off.

An edge is an entry in the list of its lower end (joins.py). Lists are gathered by blocks and sorted, each neighbour
once. So an edge always has the same number: that of its block's first entry, plus its place in the block.
* alive, dying: u64[ceil(entries / 64)], bits of edges that are there, and of those that this round takes off. support:
  u4 or u8[entries], triangles of each edge. Beside a block's lists they are the block's.
* A block's dying edges stand in lists, too: those of vertex first + k have the places
  low_places[starts[k]:low_after[k]].
* level: u64[2], the triangles that an edge must be in to stay, and the fewest of any that stays, or NONE. last: u64[2],
  the last rounds in which edges died, and in which more triangles were wanted.
"""

from __future__ import annotations

from gstream.algorithms.density.joins import RUN
from gstream.algorithms.support.shared import blocks, lower
from gstream.hostcode.bitmaps import is_set, set_bit
from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import atomic_add, trailing_zeros
from gstream.hostcode.jit import helper, kernel
from gstream.records import item_kernel

NONE = u64(0xFFFFFFFFFFFFFFFF)
WORDS = LANES = 32  # words of bits, or vertices, that are an item: one for each lane
DUE, OPENED = 0, 1  # of `last`
WANTED, NEXT = 0, 1  # of `level`


@kernel
def open_edges(starts, after, alive, counter):
    """Set the bits of all entries of a block."""
    for begin, end in blocks(counter, len(after), RUN):
        for k in range(begin, end):
            for index in range(starts[k], after[k]):
                set_bit(alive, index)
    return u64(0)


@item_kernel(one_support="sum", two_support="sum")
def count_supports(item, one_starts, one_after, one, one_support, two_first, two_starts, two_after, two, two_support):
    """one_support, two_support += triangles v < u < w, v in block `one`, u in block `two`. An item is a v."""
    low, high, unit = one_starts[item.number], one_after[item.number], one_support.dtype.type(1)
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
                atomic_add(one_support, mine, unit)
                atomic_add(two_support, place, unit)
            mine += u64(a <= b)
            place += u64(b <= a)
            item.step()
        if closed:
            atomic_add(one_support, index, one_support.dtype.type(closed))


@item_kernel(dying="own", last="own", level="uint64[] own")
def mark_dying(item, number, alive, support, dying, last, level):
    """dying: edges in fewer triangles than level[WANTED]; last[DUE]: the round, if there are any. level[NEXT]: the
    fewest triangles of the others, if it was NONE. An item is WORDS words of bits."""
    begin, end = item.share(WORDS, len(alive))
    wanted, fewest = level[WANTED], NONE
    for index in range(begin, end):
        left, word = alive[index], u64(0)
        while left != u64(0):
            bit = trailing_zeros(left)
            left &= left - u64(1)
            triangles = u64(support[(index << u64(6)) + bit])
            if triangles < wanted:
                word |= u64(1) << bit
            else:
                fewest = min(fewest, triangles)
        dying[index] = word
        if word != u64(0):
            last[DUE] = u64(number)
    lower(level, u64(NEXT), fewest)


@item_kernel(dying="own", last="own", level="uint64[] own")
def mark_next(item, number, alive, support, dying, last, level):
    """If nothing dies in this round, want one triangle more than level[NEXT]: edges in no more die. last[OPENED]: the
    round, if there are any."""
    fewest = level[NEXT]
    if last[DUE] == u64(number) or fewest == NONE:
        return
    begin, end = item.share(WORDS, len(alive))
    for index in range(begin, end):
        left, word = alive[index], u64(0)
        while left != u64(0):
            bit = trailing_zeros(left)
            left &= left - u64(1)
            if u64(support[(index << u64(6)) + bit]) == fewest:
                word |= u64(1) << bit
        dying[index] = word
        if word != u64(0):
            last[OPENED] = u64(number)
        if index == u64(0):
            level[WANTED] = fewest + u64(1)


@item_kernel(alive="own", support="own", level="uint64[] own")
def take_dying(item, alive, dying, support, level):
    """Take off the dying edges: their `support` becomes their truss number, level[WANTED] + 1. level[NEXT] becomes
    NONE."""
    begin, end = item.share(WORDS, len(alive))
    for index in range(begin, end):
        left = dying[index]
        if index == u64(0):
            level[NEXT] = NONE
        if left != u64(0):
            alive[index] &= ~left
        while left != u64(0):
            support[(index << u64(6)) + trailing_zeros(left)] = support.dtype.type(level[WANTED] + u64(1))
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


@item_kernel(low_after="own", low_places="own")
def list_dying(item, starts, after, dying, low_after, low_places):
    """Dying edges of a block's vertices: their places, and where those of each vertex end. An item: LANES vertices."""
    begin, end = item.share(LANES, len(after))
    for k in range(begin, end):
        place, stop = starts[k], after[k]
        edge = next_set(dying, starts[k], stop)
        while edge < stop:
            low_places[place] = edge
            place += u64(1)
            edge = next_set(dying, edge + u64(1), stop)
        low_after[k] = place


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


@item_kernel(one_support="sum", two_support="sum")
def lose_triangles(
    item, one_starts, one_after, one, one_low_after, one_low_places, one_alive, one_dying, one_support,
    two_first, two_starts, two_after, two, two_low_after, two_low_places, two_alive, two_dying, two_support,
):  # fmt: skip
    """one_support, two_support -= triangles v < u < w that lose an edge, each met once; v in block `one`, u in block
    `two`.

    An item is a v. If v - u dies, all w in both lists close one. Else these do: the dying edges v - w whose w is in u's
    list, and the dying edges u - w whose v - w is there and stays.
    """
    k = item.number
    low, high = one_starts[k], one_after[k]
    begin, end = item.part(low, high)
    following = next_set(one_alive, begin, end)
    while following < end:
        edge = following
        following = next_set(one_alive, edge + u64(1), end)
        u = u64(one[edge]) >> u64(2)
        if u < two_first or u - two_first >= u64(len(two_after)):
            continue
        row = u - two_first
        mine, place, stop = low, two_starts[row], two_after[row]
        if is_set(one_dying, edge):
            while mine < high and place < stop:
                a, b = u64(one[mine]) >> u64(2), u64(two[place]) >> u64(2)
                if a == b and is_set(one_alive, mine) and is_set(two_alive, place):
                    lose(one_support, one_dying, mine)
                    lose(two_support, two_dying, place)
                mine += u64(a <= b)
                place += u64(b <= a)
                item.step()
            continue
        for each in range(low, one_low_after[k]):
            found = place_of(two, place, stop, u64(one[one_low_places[each]]) >> u64(2))
            item.step()
            if found != NONE and is_set(two_alive, found):
                lose(one_support, one_dying, edge)
                lose(two_support, two_dying, found)
        for each in range(place, two_low_after[row]):
            found = place_of(one, low, high, u64(two[two_low_places[each]]) >> u64(2))
            item.step()
            if found != NONE and is_set(one_alive, found) and not is_set(one_dying, found):
                lose(one_support, one_dying, edge)
                lose(one_support, one_dying, found)


@kernel
def list_edges(first, starts, after, entries, base, chosen, support, filled, source, target, number, counter):
    """source, target: ends of the edges whose bit is set; number: their `support`, if it has elements; filled (u8[1]):
    how many."""
    for begin, end in blocks(counter, len(after), RUN):
        for k in range(begin, end):
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
    return u64(0)
