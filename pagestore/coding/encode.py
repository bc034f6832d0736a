"""Pages to coded pages (pagestore/coding/form.py), at about 4 ns an edge; and how many bytes one takes, before.

The widths of a chunk are those with the fewest bits, of equals the least ones. So a coded page is a function of the
page alone.
"""

from __future__ import annotations

import threading

import numpy as np

from pagestore.coding import form
from pagestore.coding.bits import U0, U1, below, bit_length, extract, population, store_unaligned
from pagestore.jit import compiled
from pagestore.layout import PageLayout

CHUNK = np.uint64(form.CHUNK)
LENGTHS = 65  # of fields: 0 to 64 bits
U3, U4, U5, U6, U7, U12, U18, U24, U31, U32 = (np.uint64(n) for n in (3, 4, 5, 6, 7, 12, 18, 24, 31, 32))
FULL_BYTES = np.uint64(56)
STARTS = 3  # the first class of a list's first neighbour
RELATIVE, REPEATS, SPARSE = (np.uint64(flag) for flag in (form.RELATIVE, form.REPEATS, form.SPARSE))


class Coder:
    """Codes pages of one layout, one after the other; a thread has its own.

    `code` leaves the words of the last page in `words`, u4[n].
    """

    def __init__(self, layout: PageLayout) -> None:
        self.layout = layout
        self._room = np.zeros(layout.page_bytes // 2 + 4 * form.CHUNK, np.uint32)  # twice a page: more than any takes
        self._value, self._scratch = np.zeros(form.CHUNK, np.uint64), np.zeros(form.CHUNK, np.uint8)
        self._counts = np.zeros((2, LENGTHS), np.int64)
        self.words = self._room[:0]

    def code(self, page: np.ndarray, records: int, edges: int, write: bool = True) -> int:
        """Bytes of the coded page of uint8[page_bytes]; `page_bytes` where it is no smaller, and stored as it is.

        write: False measures only.
        """
        layout = self.layout
        used = _code_page(
            page.view(layout.id_dtype), np.uint64(layout.header_words), np.uint64(records), np.uint64(edges),
            np.uint64(layout.id_bytes // 4), self._room, write, self._value, self._scratch, self._counts,
        )  # fmt: skip
        used = -(-(int(used) + form.TAIL_WORDS) // form.ROUND_WORDS) * form.ROUND_WORDS
        if 4 * used >= layout.page_bytes:
            if write:
                self.words = page.view("<u4")
            return layout.page_bytes
        if write:
            self._finish(page, used)
        return 4 * used

    def _finish(self, page: np.ndarray, used: int) -> None:
        self.words = self._room[:used]
        self.words[: form.PAGE_HEADER_WORDS] = page.view("<u4")[: form.PAGE_HEADER_WORDS]
        self.words[form.WORDS] = used


class Coders:
    """A Coder for each thread."""

    def __init__(self, layout: PageLayout) -> None:
        self.layout, self._threads = layout, threading.local()

    @property
    def own(self) -> Coder:
        """The calling thread's."""
        if not hasattr(self._threads, "coder"):
            self._threads.coder = Coder(self.layout)
        found: Coder = self._threads.coder
        return found


@compiled
def _facts(words, header_words, records, id_words):
    """Flags of a page: what its lists and vertices are like."""
    one, two = np.uint64(1), np.uint64(2)
    at, flags = header_words, U0
    absolute, relative = U0, U0
    slots = np.uint64(words.size)
    for i in range(records):
        vertex, size = np.uint64(words[slots - two * (np.uint64(i) + one)]), np.uint64(words[at])
        first = np.uint64(words[at + one])
        absolute += bit_length(first)
        relative += bit_length(zigzag(first, vertex, id_words))
        repeats = False
        for j in range(at + two, at + one + size):
            repeats |= words[np.uint64(j)] == words[np.uint64(j) - one]
        if repeats:
            flags |= REPEATS
        at += one + size
    if relative < absolute:
        flags |= RELATIVE
    ends = np.uint64(words[slots - two * records]) - np.uint64(words[slots - two])
    if ends + one != records:
        flags |= SPARSE
    return flags


@compiled(inline="always")
def zigzag(value, base, id_words):
    """The difference of two IDs, modulo what IDs hold, as a number that is small when they are near: 0, -1, 1, -2 as
    0, 1, 2, 3."""
    apart = np.int64(value - base)
    if id_words == U1:
        apart = np.int64(np.int32(np.uint32(apart)))
    return np.uint64((apart << 1) ^ (apart >> 63))


@compiled
def _code_page(words, header_words, records, edges, id_words, out, write, value, scratch, counts):
    """Words that a coded page takes without its tail; `out` has them, and zeros behind, if `write`."""
    one, two = np.uint64(1), np.uint64(2)
    flags = _facts(words, header_words, records, id_words)
    less = U0 if flags & REPEATS else one
    entry_words = np.uint64(form.CARRY) + id_words
    vertex_chunks = (records + CHUNK - one) // CHUNK if flags & SPARSE else U0
    entry = np.uint64(form.FIRST_ENTRY)
    end = entry + entry_words * (vertex_chunks + (edges + CHUNK - one) // CHUNK)
    if write:
        out[form.FLAGS] = np.uint32(flags)
    slots, lengths = np.uint64(words.size), scratch
    if flags & SPARSE:
        last = np.uint64(words[slots - two]) - one
        for begin in range(U0, records, CHUNK):
            items = min(CHUNK, records - np.uint64(begin))
            counts[:] = 0
            carry = last
            for i in range(items):
                vertex = np.uint64(words[slots - two * (np.uint64(begin) + np.uint64(i) + one)])
                value[i] = vertex - last - one
                last = vertex
                lengths[i] = np.uint8(bit_length(value[i]))
                counts[0, lengths[i]] += 1
            if write:
                _write_entry(out, entry, id_words, end, U0, U0, carry)
            end = code_chunk(value, items, counts, out, entry, end, write, scratch)
            entry += entry_words
    at, left, lists, last, last_start, vertex = header_words, U0, U0, U0, U0, U0
    for begin in range(U0, edges, CHUNK):
        items = min(CHUNK, edges - np.uint64(begin))
        counts[:] = 0
        if write:
            _write_entry(out, entry, id_words, end, lists, last_start, last)
        k = U0
        while k < items:
            if left == U0:  # a list begins
                lists += one
                vertex, left = np.uint64(words[slots - two * lists]), np.uint64(words[at]) - one
                last = np.uint64(words[at + one])
                at += two
                last_start = np.uint64(begin) + k
                value[k] = zigzag(last, vertex, id_words) if flags & RELATIVE else last
                size = bit_length(value[k])
                counts[1, size] += 1
                lengths[k] = np.uint8(size + np.uint64(LENGTHS))
                k += one
            for _ in range(min(left, items - k)):
                neighbour = np.uint64(words[at])
                at += one
                left -= one
                value[k] = neighbour - last - less
                last = neighbour
                lengths[k] = np.uint8(bit_length(value[k]))
                counts[0, lengths[k]] += 1
                k += one
        end = code_chunk(value, items, counts, out, entry, end, write, scratch)
        entry += entry_words
    if write:
        out[end : end + np.uint64(form.TAIL_WORDS + form.ROUND_WORDS)] = np.uint32(0)
    return end


@compiled(inline="always")
def _write_entry(out, entry, id_words, offset, lists, last_start, carry):
    out[entry + np.uint64(form.OFFSET)] = np.uint32(offset)
    out[entry + np.uint64(form.LISTS)] = np.uint32(lists)
    out[entry + np.uint64(form.LAST_START)] = np.uint32(last_start)
    out[entry + np.uint64(form.CARRY)] = np.uint32(carry)
    if id_words == np.uint64(2):
        out[entry + np.uint64(form.CARRY + 1)] = np.uint32(carry >> U32)


@compiled
def _longest(counts):
    """The greatest length that is counted, and how many there are of all lengths."""
    most, total = 0, 0
    for length in range(LENGTHS):
        if counts[length]:
            most = length
            total += counts[length]
    return most, total


@compiled
def _gap_widths(counts):
    """Widths w0 <= w1 <= w2 of the gaps' three classes, and the bits that all gaps take: the fewest."""
    most, total = _longest(counts)
    best0, best1, fewest = most, most, total * (1 + most)  # all in one class
    low = 0
    for first in range(most):
        low += counts[first]
        middle = 0
        for second in range(first + 1, most + 1):
            middle += counts[second]
            if counts[second] or second == most:
                high = total - low - middle
                bits = low * (1 + first) + middle * (2 + second) + high * (3 + most)
                if bits < fewest:
                    best0, best1, fewest = first, second, bits
    return best0, best1, most, fewest


@compiled
def _start_widths(counts):
    """Widths of the two classes of first neighbours, and the bits that all of them take."""
    most, total = _longest(counts)
    best, fewest, low = most, total * (4 + most), 0
    for first in range(most):
        low += counts[first]
        bits = low * (4 + first) + (total - low) * (4 + most)
        if bits < fewest:
            best, fewest = first, bits
    return best, most, fewest


@compiled
def code_chunk(value, items, counts, out, entry, begin, write, scratch):
    """The word after a chunk that starts at word `begin`. value: u8[items], fields; counts: of their lengths."""
    w0, w1, w2, gap_bits = _gap_widths(counts[0])
    w3, w4, start_bits = _start_widths(counts[1])
    planes = (items + U31) >> U5
    end = begin + planes + ((np.uint64(gap_bits + start_bits) - items + U31) >> U5)
    if not write:
        return end
    widths, more = np.empty(2 * LENGTHS, np.uint8), np.zeros((2, 2 * LENGTHS), np.uint64)
    ones = np.zeros(3, np.uint64)  # of the chunk, in the first three planes
    for length in range(2 * LENGTHS):
        start = length >= LENGTHS
        size = length - LENGTHS if start else length
        if counts[np.uint64(start), np.uint64(size)] == 0:
            continue
        kind = STARTS + (size > w3) if start else (size > w0) + (size > w1)
        widths[length] = (w3 if kind == STARTS else w4) if start else w0 if kind == 0 else w1 if kind == 1 else w2
        # A bit for each plane that the class has a 1 in: of two planes in each word
        more[0, length] = np.uint64(kind > 0) | np.uint64(kind > 1) << U32
        more[1, length] = np.uint64(kind > 2) | np.uint64(kind > 3) << U32
        for plane in range(min(3, kind)):
            ones[plane] += np.uint64(counts[np.uint64(start), np.uint64(size)])
    packed = np.uint64(w0) | np.uint64(w1) << U6 | np.uint64(w2) << U12 | np.uint64(w3) << U18 | np.uint64(w4) << U24
    out[entry + np.uint64(form.WIDTHS)] = np.uint32(packed)
    out[begin : end + U1] = np.uint32(0)
    lengths = scratch
    second = (begin + planes) << U5
    third = second + ones[0]
    fourth = third + ones[1]
    bit = fourth + ones[2]
    for first in range(U0, items, U32):
        block = np.uint64(first)
        low, high = U0, U0
        for i in range(min(U32, items - block)):
            low |= more[0, lengths[block + np.uint64(i)]] << np.uint64(i)
            high |= more[1, lengths[block + np.uint64(i)]] << np.uint64(i)
        q0, q1, q2, q3 = low & below(U32), low >> U32, high & below(U32), high >> U32
        out[begin + (block >> U5)] = np.uint32(q0)
        _put(out, second, extract(q1, q0))
        _put(out, third, extract(q2, q1))
        _put(out, fourth, extract(q3, q2))
        second, third, fourth = second + population(q0), third + population(q1), fourth + population(q2)
    byte, bits = bit >> U3, bit & U7
    held = np.uint64(out[bit >> U5] >> np.uint32(bit & U24)) & below(bits)  # the last bits of the planes
    for k in range(items):
        width, field = np.uint64(widths[lengths[k]]), value[k]
        if width > U32:
            held |= (field & below(U32)) << bits
            store_unaligned(out, byte, held)
            byte, held, field, width = byte + U4, held >> U32, field >> U32, width - U32
        held |= field << bits
        store_unaligned(out, byte, held)
        bits += width
        byte, held, bits = byte + (bits >> U3), held >> (bits & FULL_BYTES), bits & U7
    return end


@compiled(inline="always")
def _put(out, bit, word):
    """Add up to 32 bits to a stream of words u4[n], which has zeros from this bit on."""
    at, word = bit >> U5, word << (bit & U31)
    out[at] |= np.uint32(word)
    out[at + U1] |= np.uint32(word >> U32)


def coded_weights(page: np.ndarray, dtype: np.dtype, begin: int, end: int) -> np.ndarray:
    """Weights page uint8[n] as coded words u4[m], or as it is where that is no larger.

    Elements [begin, end) are those in use.
    """
    values = _weight_values(page, dtype, begin, end)
    width, shift, base = _weight_form(values, dtype)
    if (size := _weights_size(len(values), width)) >= len(page):
        return page.view("<u4")
    out = np.zeros(size // 4, np.uint32)
    out[0], out[1] = width | shift << form.SHIFT_BITS, base
    _pack(values, *(np.uint64(one) for one in (width, shift, base)), out, np.uint64(form.WEIGHTS_HEADER_WORDS))
    return out


def weights_bytes(page: np.ndarray, dtype: np.dtype, begin: int, end: int) -> int:
    """Bytes of what `coded_weights` gives."""
    values = _weight_values(page, dtype, begin, end)
    return min(len(page), _weights_size(len(values), _weight_form(values, dtype)[0]))


def _weight_values(page: np.ndarray, dtype: np.dtype, begin: int, end: int) -> np.ndarray:
    """What fields of weights are made of, u4[end - begin]: patterns, of i4 their zigzag."""
    values = page.view(f"<u{dtype.itemsize}")[begin:end].astype(np.uint32, copy=False)
    return (values << 1) ^ (values.view(np.int32) >> 31).view(np.uint32) if dtype.kind == "i" else values


def _weight_form(values: np.ndarray, dtype: np.dtype) -> tuple[int, int, int]:
    """The width that the greatest field needs, shift and base, which are 0 but for floats.

    The shift is how many zeros all patterns end with. The base is the least of those that are not 0, less one step.
    """
    digits = int(np.bitwise_or.reduce(values)) if dtype.kind == "f" else 0
    if not digits:
        return int(values.max(initial=0)).bit_length(), 0, 0
    shift = (digits & -digits).bit_length() - 1
    base = int((values - np.uint32(1)).min()) + 1 - (1 << shift)
    return (int(values.max()) - base >> shift).bit_length(), shift, base


def _weights_size(count: int, width: int) -> int:
    words = form.WEIGHTS_HEADER_WORDS + (count * width + 31 >> 5) + form.TAIL_WORDS
    return 4 * (-(-words // form.ROUND_WORDS) * form.ROUND_WORDS)


@compiled
def _pack(values, width, shift, base, out, word):
    held, bits = U0, U0
    for k in range(values.size):
        value = np.uint64(values[k])
        held |= ((value - base) >> shift if value else U0) << bits
        bits += width
        if bits >= U32:
            out[word] = np.uint32(held)
            word, held, bits = word + U1, held >> U32, bits - U32
    if bits > U0:
        out[word] = np.uint32(held)
