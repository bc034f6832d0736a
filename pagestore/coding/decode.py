"""Coded pages to pages (pagestore/coding/form.py), and whether one may be read at all.

`sound` follows the planes of every chunk, so that no length, offset or count leads out of the coded page or of the page
made from it: 0.3 ns an edge. `decode_page` trusts it, and so do the kernels of GPUs. What the fields say is not looked
at: neighbours and vertices of a forged page may be any, as those of a page that is not coded (pagestore/check.py).
"""

from __future__ import annotations

import numpy as np

from pagestore.coding import form
from pagestore.coding.bits import U0, U1, below, deposit, population, trailing_zeros, unaligned, window
from pagestore.jit import compiled
from pagestore.layout import PageLayout

CHUNK = np.uint64(form.CHUNK)
MOST_UNALIGNED = 57  # bits of a field in 8 bytes from that on in which it begins
U3, U5, U7, U31, U32, U63 = (np.uint64(n) for n in (3, 5, 7, 31, 32, 63))
RELATIVE, REPEATS, SPARSE = (np.uint64(flag) for flag in (form.RELATIVE, form.REPEATS, form.SPARSE))


def sound(coded: np.ndarray, layout: PageLayout, records: int, edges: int) -> bool:
    """Whether a coded page uint8[n], aligned to 8 bytes, may be decoded: n is what its directory says, below a page's.

    records, edges: the directory's, which fit a page.
    """
    if coded.nbytes % (4 * form.ROUND_WORDS) or coded.nbytes < 4 * (form.FIRST_ENTRY + form.TAIL_WORDS):
        return False
    geometry = (np.uint64(layout.id_bytes // 4), np.uint64(form.most_width(layout.id_bytes)))
    return bool(_sound(coded.view(np.uint32), coded.view(np.uint64), np.uint64(records), np.uint64(edges), *geometry))


def decode_page(coded: np.ndarray, layout: PageLayout, records: int, edges: int, out: np.ndarray) -> None:
    """Fill the page uint8[page_bytes] with what a `sound` coded page says."""
    value, starts = np.empty(form.CHUNK, np.uint64), np.empty(form.CHUNK // 32, np.uint32)
    words, stream, page = coded.view(np.uint32), coded.view(np.uint64), out.view(layout.id_dtype)
    out[: 4 * form.PAGE_HEADER_WORDS] = coded[: 4 * form.PAGE_HEADER_WORDS]
    counts = np.uint64(records), np.uint64(edges)
    geometry = np.uint64(layout.id_bytes // 4), np.uint64(layout.header_words)
    _decode(words, stream, page, *counts, *geometry, value, starts, np.empty(32, np.uint32))


@compiled(inline="always")
def _ones(stream, bit, count):
    """How many of `count` bits from a bit on are 1."""
    total = U0
    while count >= U32:
        total += population(window(stream, bit) & below(U32))
        bit, count = bit + U32, count - U32
    return total + population(window(stream, bit) & below(count))


@compiled
def _last_start(stream, plane, second, third, items):
    """Number of the last item of class 3 or 4 in a chunk that has some; planes begin at these bits."""
    last, p0, p1, p2 = U0, U0, U0, U0
    for block in range(U0, items, U32):  # the last block that has one
        q0 = window(stream, plane + np.uint64(block)) & below(min(U32, items - np.uint64(block)))
        n1 = population(q0)
        q1 = window(stream, second) & below(n1)
        n2 = population(q1)
        q2 = window(stream, third) & below(n2)
        if q2:
            last, p0, p1, p2 = np.uint64(block), q0, q1, q2
        second, third = second + n1, third + n2
    found = k = last
    while p0:
        b0 = p0 & U1
        b1 = b0 & p1
        if b1 & p2:
            found = k
        p0, p1, p2, k = p0 >> U1, p1 >> b0, p2 >> b1, k + U1
    return found


@compiled(inline="always")
def chunk_in(stream, at, last, items, widths, most_width):
    """Of a chunk that begins at word `at`: how many items are of class 1 or more and of class 3 or more, and the word
    after it, which is 0 where it does not end before word `last` or is wider than it may be."""
    planes, end = (items + U31) >> U5, last << U5
    w0, w1, w2, w3, w4 = (
        widths & U63, widths >> np.uint64(6) & U63, widths >> np.uint64(12) & U63, widths >> np.uint64(18) & U63,
        widths >> np.uint64(24),
    )  # fmt: skip
    if at + planes > last or max(w0, w1, w2, w3, w4) > most_width:
        return U0, U0, U0
    plane, second = at << U5, (at + planes) << U5
    n1 = _ones(stream, plane, items)
    third = second + n1
    if third > end or _ones(stream, plane + items, (planes << U5) - items):
        return U0, U0, U0
    n2 = _ones(stream, second, n1)
    fourth = third + n2
    if fourth > end:
        return U0, U0, U0
    n3 = _ones(stream, third, n2)
    fields = fourth + n3
    if fields > end:
        return U0, U0, U0
    n4 = _ones(stream, fourth, n3)
    bits = (items - n1) * w0 + (n1 - n2) * w1 + (n2 - n3) * w2 + (n3 - n4) * w3 + n4 * w4
    if fields + bits > end:
        return U0, U0, U0
    return n1, n3, (fields + bits + U31) >> U5


@compiled
def _sound(words, stream, records, edges, id_words, most_width):
    flags, count = np.uint64(words[form.FLAGS]), np.uint64(words.size)
    if flags > RELATIVE + REPEATS + SPARSE or words[form.WORDS] != count:
        return False
    if words[1] != records or words[4] != edges or words[5] != 0:  # the page's header
        return False
    entry_words = np.uint64(form.CARRY) + id_words
    vertex_chunks = (records + CHUNK - U1) // CHUNK if flags & SPARSE else U0
    all_chunks = vertex_chunks + (edges + CHUNK - U1) // CHUNK
    entry = np.uint64(form.FIRST_ENTRY)
    at, last = entry + entry_words * all_chunks, count - np.uint64(form.TAIL_WORDS)
    lists, last_start = U0, U0
    for chunk in range(all_chunks):
        of_vertices = np.uint64(chunk) < vertex_chunks
        begin = (np.uint64(chunk) - (U0 if of_vertices else vertex_chunks)) * CHUNK
        items = min(CHUNK, (records if of_vertices else edges) - begin)
        planes = (items + U31) >> U5
        if np.uint64(words[entry]) != at:
            return False
        if words[entry + np.uint64(form.LISTS)] != lists or words[entry + np.uint64(form.LAST_START)] != last_start:
            return False
        plane = at << U5
        n1, n3, after = chunk_in(stream, at, last, items, np.uint64(words[entry + np.uint64(form.WIDTHS)]), most_width)
        if after == U0:
            return False
        at = after
        if of_vertices:
            if n3 != U0:
                return False
        else:
            second = plane + (planes << U5)
            third = second + n1
            if begin == U0 and not (window(stream, plane) & window(stream, second) & window(stream, third) & U1):
                return False
            lists += n3
            if n3 != U0:
                last_start = begin + _last_start(stream, plane, second, third, items)
        entry += entry_words
    behind = count - at
    return lists == records and np.uint64(form.TAIL_WORDS) <= behind < np.uint64(form.TAIL_WORDS + form.ROUND_WORDS)


@compiled
def decode_chunk(words, stream, entry, items, value, starts, sizes):
    """Fields of a chunk's items, value u8[items]; starts u4[32]: a bit an item, 1 where a list begins.

    The bits of 32 items are put below each other first, so that their widths are summed side by side. sizes: scratch,
    u4[32].
    """
    packed = np.uint64(words[entry + np.uint64(form.WIDTHS)])
    w0, w1, w2, w3, w4 = (
        np.uint32(packed & U63), np.uint32(packed >> np.uint64(6) & U63), np.uint32(packed >> np.uint64(12) & U63),
        np.uint32(packed >> np.uint64(18) & U63), np.uint32(packed >> np.uint64(24)),
    )  # fmt: skip
    more1, more2, more3, more4 = w1 - w0, w2 - w1, w3 - w2, w4 - w3  # modulo 2^32
    plane = np.uint64(words[entry]) << U5
    second = plane + (((items + U31) >> U5) << U5)
    third = second + _ones(stream, plane, items)
    fourth = third + _ones(stream, second, third - second)
    bit = fourth + _ones(stream, third, fourth - third)
    one, none, wide = np.uint32(1), np.uint32(0), max(w0, w1, w2, w3, w4) > np.uint32(MOST_UNALIGNED)
    for begin in range(U0, items, U32):
        k = np.uint64(begin)
        q0 = window(stream, plane) & below(min(U32, items - k))
        q1 = deposit(window(stream, second), q0)
        q2 = deposit(window(stream, third), q1)
        q3 = deposit(window(stream, fourth), q2)
        plane, second = plane + U32, second + population(q0)
        third, fourth = third + population(q1), fourth + population(q2)
        p0, p1, p2, p3 = np.uint32(q0), np.uint32(q1), np.uint32(q2), np.uint32(q3)
        for i in range(32):
            at = np.uint32(i)
            size = w0 + ((none - ((p0 >> at) & one)) & more1) + ((none - ((p1 >> at) & one)) & more2)
            size += ((none - ((p2 >> at) & one)) & more3) + ((none - ((p3 >> at) & one)) & more4)
            sizes[i] = size
        starts[k >> U5] = p2
        for i in range(min(U32, items - k)):
            width = np.uint64(sizes[i])
            bits = window(stream, bit) if wide else unaligned(stream, bit >> U3) >> (bit & U7)
            value[k + np.uint64(i)] = bits & below(width)
            bit += width


@compiled
def _decode(words, stream, page, records, edges, id_words, header_words, value, starts, sizes):
    one, two = np.uint64(1), np.uint64(2)
    flags = np.uint64(words[form.FLAGS])
    less = U0 if flags & REPEATS else one
    entry_words, entry = np.uint64(form.CARRY) + id_words, np.uint64(form.FIRST_ENTRY)
    slots = np.uint64(page.size)
    first = np.uint64(words[2]) | (np.uint64(words[3]) << U32)  # the page's first vertex
    if flags & SPARSE:
        last = first - one
        for begin in range(U0, records, CHUNK):
            items = min(CHUNK, records - np.uint64(begin))
            decode_chunk(words, stream, entry, items, value, starts, sizes)
            for k in range(items):
                last += value[k] + one
                page[slots - two * (np.uint64(begin) + np.uint64(k) + one)] = last
            entry += entry_words
    else:
        for k in range(records):
            page[slots - two * (np.uint64(k) + one)] = first + np.uint64(k)
    at, record, slot, last = header_words, header_words, slots, U0
    for begin in range(U0, edges, CHUNK):
        items = min(CHUNK, edges - np.uint64(begin))
        decode_chunk(words, stream, entry, items, value, starts, sizes)
        for k in range(U0, items, U32):
            begins, i, end = np.uint64(starts[np.uint64(k) >> U5]), np.uint64(k), min(np.uint64(k) + U32, items)
            while True:
                stop = min(end, np.uint64(k) + trailing_zeros(begins))
                while i < stop:
                    last += value[i] + less
                    page[at] = last
                    at, i = at + one, i + one
                if i == end:
                    break
                begins &= begins - one
                page[record] = at - record - one  # the size of the list before; of the first list, written below
                record, slot = at, slot - two
                page[slot + one] = at
                last = value[i]
                if flags & RELATIVE:
                    last = np.uint64(page[slot]) + ((last >> one) ^ (U0 - (last & one)))
                page[at + one] = last
                at, i = at + two, i + one
        entry += entry_words
    page[record] = at - record - one
    page[at:slot] = 0


def sound_weights(coded: np.ndarray, dtype: np.dtype, elements: int) -> bool:
    """Whether coded weights uint8[n] have fields for so many elements, none wider than these."""
    words, used = coded.view(np.uint32), form.WEIGHTS_HEADER_WORDS + form.TAIL_WORDS
    if coded.nbytes % (4 * form.ROUND_WORDS) or len(words) < used:
        return False
    width = int(words[0])
    return width <= 8 * dtype.itemsize and 32 * (len(words) - used) >= elements * width


def decode_weights(coded: np.ndarray, dtype: np.dtype, begin: int, end: int, out: np.ndarray) -> bool:
    """Fill the weights page uint8[n], elements [begin, end) of it from coded ones; False where these are not sound."""
    elements = out.view(f"<u{dtype.itemsize}")
    if not sound_weights(coded, dtype, end - begin):
        return False
    elements[:begin] = 0
    elements[end:] = 0
    bit = np.uint64(32 * form.WEIGHTS_HEADER_WORDS)
    _unpack(coded.view(np.uint64), bit, np.uint64(coded.view(np.uint32)[0]), dtype.kind == "i", elements[begin:end])
    return True


@compiled
def _unpack(stream, bit, width, signed, out):
    for k in range(out.size):
        field = window(stream, bit) & below(width)
        bit += width
        if signed:
            field = (field >> U1) ^ (U0 - (field & U1))
        out[k] = field
