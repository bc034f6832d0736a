"""Coded pages to pages (pagestore/coding/form.py), and whether one may be read at all.

`sound` follows the planes of every chunk, so that no length, offset or count leads out of the coded page or of the page
made from it: 0.2 ns an edge. `decode_page` trusts it, and so do the kernels of GPUs. A forged page may have any
neighbours and vertices. `decode_page` tells the greatest neighbour. Where that is too great, the page is checked as one
that is not coded (pagestore/check.py).
"""

from __future__ import annotations

import numpy as np

from pagestore.coding import form
from pagestore.coding.bits import (
    U0,
    U1,
    apart,
    below,
    bit_length,
    deposit,
    population,
    trailing_zeros,
    unaligned,
    window,
)
from pagestore.coding.lanes import HAS_PERMUTE, LANES, add_base, choose, sum_up, take
from pagestore.jit import compiled
from pagestore.layout import PageLayout

CHUNK = np.uint64(form.CHUNK)
SUMMED = np.uint64(25)  # bits of the widest gaps of which 64 add up to less than 2^32
WIDE, ROOM = np.uint64(LANES), np.uint64(3 * 64)  # words behind a block that may be written before they have their own
TAKEN = np.uint64(4 * 64)  # bytes from the first field of 64 on that `take` may look at
MOST_UNALIGNED = 57  # bits of fields in 8 bytes from that on in which they begin
U2, U3, U5, U6, U7, U31, U32, U63, U64 = (np.uint64(n) for n in (2, 3, 5, 6, 7, 31, 32, 63, 64))
FULL = ~U0
RELATIVE, REPEATS, SPARSE = (np.uint64(flag) for flag in (form.RELATIVE, form.REPEATS, form.SPARSE))


def sound(coded: np.ndarray, layout: PageLayout, records: int, edges: int) -> bool:
    """Whether a coded page uint8[n], aligned to 8 bytes, may be decoded: n is what its directory says, below a page's.

    records, edges: the directory's, which fit a page.
    """
    if coded.nbytes % (4 * form.ROUND_WORDS) or coded.nbytes < 4 * (form.FIRST_ENTRY + form.TAIL_WORDS):
        return False
    geometry = (np.uint64(layout.id_bytes // 4), np.uint64(form.most_width(layout.id_bytes)))
    return bool(_sound(coded.view(np.uint32), coded.view(np.uint64), np.uint64(records), np.uint64(edges), *geometry))


def decode_page(
    coded: np.ndarray, layout: PageLayout, records: int, edges: int, out: np.ndarray, last_vertex: int = 0
) -> int:
    """Fill the page uint8[page_bytes] with what a `sound` coded page says; the greatest neighbour that it names.

    2^64 - 1 where that is not known, and where its vertices do not ascend up to last_vertex, as the directory has it.
    """
    value, masks = np.empty(form.CHUNK, layout.id_dtype), np.empty(64, layout.id_dtype)
    words, stream, page = coded.view(np.uint32), coded.view(np.uint64), out.view(layout.id_dtype)
    out[: 4 * form.PAGE_HEADER_WORDS] = coded[: 4 * form.PAGE_HEADER_WORDS]
    counts = np.uint64(records), np.uint64(edges), np.uint64(last_vertex), np.uint64(layout.header_words)
    return int(_decode(words, stream, page, *counts, value, np.empty(form.CHUNK // 64, np.uint64), masks))


@compiled(inline="always")
def _ones(stream, bit, count):
    """How many of `count` bits from a bit on are 1."""
    end = bit + count
    at, last = bit >> U6, end >> U6
    first = stream[at] >> (bit & U63)
    if at == last:
        return population(first & below(count))
    total = population(first)
    for k in range(at + U1, last):
        total += population(stream[np.uint64(k)])
    return total + population(stream[last] & below(end & U63))


@compiled
def _last_start(stream, plane, third, fourth, items):
    """Number of the last item of class 3 or 4 in a chunk that has some. Planes begin at `plane` and end at `third` and
    `fourth`: the second and the third one."""
    block = (items - U1) & ~U31
    while True:  # from the last 32 items on
        q0 = window(stream, plane + block) & below(min(U32, items - block))
        n1 = population(q0)
        third -= n1
        q1 = window(stream, third) & below(n1)
        n2 = population(q1)
        fourth -= n2
        q2 = window(stream, fourth) & below(n2)
        if q2:
            return block + bit_length(deposit(deposit(q2, q1), q0)) - U1
        block -= U32


@compiled(inline="always")
def chunk_in(stream, at, last, items, widths, most_width):
    """Of a chunk that begins at word `at`: how many items are of class 1, 2 and 3 or more, and the word after it, which
    is 0 where it does not end before word `last` or is wider than it may be."""
    planes, end = (items + U31) >> U5, last << U5
    w0, w1, w2, w3, w4 = (
        widths & U63, widths >> np.uint64(6) & U63, widths >> np.uint64(12) & U63, widths >> np.uint64(18) & U63,
        widths >> np.uint64(24),
    )  # fmt: skip
    if at + planes > last or max(w0, w1, w2, w3, w4) > most_width:
        return U0, U0, U0, U0
    plane, second = at << U5, (at + planes) << U5
    n1 = _ones(stream, plane, items)
    third = second + n1
    if third > end or _ones(stream, plane + items, (planes << U5) - items):
        return U0, U0, U0, U0
    n2 = _ones(stream, second, n1)
    fourth = third + n2
    if fourth > end:
        return U0, U0, U0, U0
    n3 = _ones(stream, third, n2)
    fields = fourth + n3
    if fields > end:
        return U0, U0, U0, U0
    n4 = _ones(stream, fourth, n3)
    bits = (items - n1) * w0 + (n1 - n2) * w1 + (n2 - n3) * w2 + (n3 - n4) * w3 + n4 * w4
    if fields + bits > end:
        return U0, U0, U0, U0
    return n1, n2, n3, (fields + bits + U31) >> U5


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
        widths = np.uint64(words[entry + np.uint64(form.WIDTHS)])
        n1, n2, n3, after = chunk_in(stream, at, last, items, widths, most_width)
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
                last_start = begin + _last_start(stream, plane, third, third + n2, items)
        entry += entry_words
    behind = count - at
    return lists == records and np.uint64(form.TAIL_WORDS) <= behind < np.uint64(form.TAIL_WORDS + form.ROUND_WORDS)


@compiled
def decode_chunk(words, stream, entry, items, value, starts, masks):
    """Fields of a chunk's items, value u4[items] or u8[items]; starts u8[16]: a bit an item, 1 where a list begins.

    The bits of 64 items are put below each other first. Then `take` has all of their fields at once, where the
    processor can and none leads past the stream. Else masks of the fields are made side by side, u4[64] or u8[64],
    scratch. Fields of 4 bytes are taken by these two at a time, and the place behind the last one may be filled, too.
    """
    packed = np.uint64(words[entry + np.uint64(form.WIDTHS)])
    w0, w1, w2, w3, w4 = (
        packed & U63, packed >> np.uint64(6) & U63, packed >> np.uint64(12) & U63, packed >> np.uint64(18) & U63,
        packed >> np.uint64(24),
    )  # fmt: skip
    kind = masks.dtype.type
    of_classes = kind(below(w0)), kind(below(w1)), kind(below(w2)), kind(below(w3)), kind(below(w4))
    plane = np.uint64(words[entry]) << U5
    second = plane + (((items + U31) >> U5) << U5)
    third = second + _ones(stream, plane, items)
    fourth = third + _ones(stream, second, third - second)
    bit = fourth + _ones(stream, third, fourth - third)
    fields, of_fields = value.view(np.uint64), masks.view(np.uint64)
    pairs = U1 if masks.itemsize == 4 else U0
    widest, stream_bytes = max(w0, w1, w2, w3, w4), stream.size << U3
    narrow = HAS_PERMUTE and pairs == U1 and widest <= SUMMED
    wide = widest << pairs > np.uint64(MOST_UNALIGNED)
    for begin in range(U0, items, U64):
        k = np.uint64(begin)
        q0 = unaligned(stream, (plane + k) >> U3) & (~U0 >> (U64 - min(U64, items - k)))
        q1 = deposit(window(stream, second), q0)
        q2 = deposit(window(stream, third), q1)
        q3 = deposit(window(stream, fourth), q2)
        second += population(q0)
        third, fourth = third + population(q1), fourth + population(q2)
        starts[k >> U6] = q2
        if narrow and (bit >> U3) + TAKEN < stream_bytes and items - k >= U64:
            bit = take(value, k, stream, bit, q0, q1, q2, q3, of_classes)
            continue
        choose(masks, q0, q1, q2, q3, of_classes)
        first = k >> pairs
        for i in range((min(U64, items - k) + pairs) >> pairs):
            mask = of_fields[np.uint64(i)]
            bits = window(stream, bit) if wide else unaligned(stream, bit >> U3) >> (bit & U7)
            fields[first + np.uint64(i)] = apart(bits, mask)
            bit += population(mask)


@compiled(inline="always")
def _widest_gap(widths):
    """Bits of the widest gap of a chunk."""
    return max(widths & U63, widths >> np.uint64(6) & U63, widths >> np.uint64(12) & U63)


@compiled(inline="always")
def _put_vertices(page, begin, items, value, last, last_vertex):
    """Put the vertices of a chunk into their slots; 1 where one is greater than it may be, else 0."""
    slots, wrong = np.uint64(page.size), U0
    for k in range(items):
        last += np.uint64(value[k]) + U1
        wrong |= np.uint64(last > last_vertex)
        page[slots - U2 * (begin + np.uint64(k) + U1)] = last
    return wrong


@compiled(inline="always")
def _add_together(page, at, sums, first, stop, base, last):
    """Fill the page from word `at` on with the neighbours base + sums[first:stop]; the last one."""
    for i in range(first, stop, WIDE):
        add_base(page, at + (np.uint64(i) - first), sums, np.uint64(i), base)
    return base + np.uint64(sums[stop - U1]) if stop > first else last


@compiled
def _decode(words, stream, page, records, edges, last_vertex, header_words, value, starts, masks):
    """Fill a page; the greatest neighbour of it, or 2^64 - 1 where that is not known.

    Sums of gaps up to 2^32 stay below 2^64, so that the last neighbour of a list is its greatest one. Gaps of 64 items
    are summed up together, as if one list had them all. A list of these has a base that makes its sums its neighbours.
    """
    one, two = np.uint64(1), np.uint64(2)
    flags = np.uint64(words[form.FLAGS])
    less = U0 if flags & REPEATS else one
    entry_words = np.uint64(form.CARRY + page.itemsize // 4)
    entry = np.uint64(form.FIRST_ENTRY)
    slots = np.uint64(page.size)
    first = np.uint64(words[2]) | (np.uint64(words[3]) << U32)  # the page's first vertex
    free_end = slots - two * records
    sums = np.zeros(2 * 64, page.dtype)
    most = U0
    if flags & SPARSE:
        for begin in range(U0, records, CHUNK):
            items = min(CHUNK, records - np.uint64(begin))
            decode_chunk(words, stream, entry, items, value, starts, masks)
            last = first - one if begin == U0 else np.uint64(page[slots - two * np.uint64(begin)])
            most |= _put_vertices(page, np.uint64(begin), items, value, last, last_vertex)
            entry += entry_words
    else:
        for k in range(records):
            page[slots - two * (np.uint64(k) + one)] = first + np.uint64(k)
    if most or np.uint64(page[slots - two]) != first or np.uint64(page[free_end]) != last_vertex:
        most = FULL
    at, record, slot, last = header_words, header_words, slots, U0
    for begin in range(U0, edges, CHUNK):
        items = min(CHUNK, edges - np.uint64(begin))
        decode_chunk(words, stream, entry, items, value, starts, masks)
        widest = _widest_gap(np.uint64(words[entry + np.uint64(form.WIDTHS)]))
        if widest > U32:
            most = FULL
        for k in range(U0, items, U64):
            begins, i, end = starts[np.uint64(k) >> U6], np.uint64(k), min(np.uint64(k) + U64, items)
            together = widest <= SUMMED and at + ROOM < free_end
            if together:
                sum_up(sums, value, i, less, begins)
            base = last
            while True:
                stop = min(end, np.uint64(k) + trailing_zeros(begins))
                if together:
                    last = _add_together(page, at, sums, i - np.uint64(k), stop - np.uint64(k), base, last)
                else:
                    for j in range(stop - i):
                        last += np.uint64(value[i + np.uint64(j)]) + less
                        page[at + np.uint64(j)] = last
                at, i = at + (stop - i), stop
                if i == end:
                    break
                begins &= begins - one
                most = max(most, last)
                page[record] = at - record - one  # the size of the list before; of the first list, written below
                record, slot = at, slot - two
                page[slot + one] = at
                last = np.uint64(value[i])
                if flags & RELATIVE:
                    last = np.uint64(page[slot]) + ((last >> one) ^ (U0 - (last & one)))
                page[at + one] = last
                last = np.uint64(page[at + one])  # modulo what IDs hold
                most = max(most, last)
                base = last - np.uint64(sums[i - np.uint64(k)])
                at, i = at + two, i + one
        entry += entry_words
    page[record] = at - record - one
    page[at:slot] = 0
    return max(most, last)


def sound_weights(coded: np.ndarray, dtype: np.dtype, elements: int) -> bool:
    """Whether coded weights uint8[n] have fields for so many elements, none wider than these; only floats a base."""
    words, used = coded.view(np.uint32), form.WEIGHTS_HEADER_WORDS + form.TAIL_WORDS
    if coded.nbytes % (4 * form.ROUND_WORDS) or len(words) < used:
        return False
    shift, width = divmod(int(words[0]), 1 << form.SHIFT_BITS)
    if dtype.kind != "f" and (shift or words[1]):
        return False
    return width + shift <= 8 * dtype.itemsize and 32 * (len(words) - used) >= elements * width


def decode_weights(coded: np.ndarray, dtype: np.dtype, begin: int, end: int, out: np.ndarray) -> bool:
    """Fill the weights page uint8[n], elements [begin, end) of it from coded ones; False where these are not sound."""
    elements = out.view(f"<u{dtype.itemsize}")
    if not sound_weights(coded, dtype, end - begin):
        return False
    elements[:begin] = 0
    elements[end:] = 0
    packed, base = coded.view(np.uint32)[: form.WEIGHTS_HEADER_WORDS].astype(np.uint64)
    shift, width = packed >> np.uint64(form.SHIFT_BITS), packed & below(np.uint64(form.SHIFT_BITS))
    bit = np.uint64(32 * form.WEIGHTS_HEADER_WORDS)
    _unpack(coded.view(np.uint64), bit, width, dtype.kind == "i", base, shift, elements[begin:end])
    return True


@compiled
def _unpack(stream, bit, width, signed, base, shift, out):
    for k in range(out.size):
        field = window(stream, bit) & below(width)
        bit += width
        if signed:
            field = (field >> U1) ^ (U0 - (field & U1))
        elif field:
            field = base + (field << shift)  # modulo what elements hold
        out[k] = field
