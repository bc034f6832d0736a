"""Blocks of coded arrays: heads and degrees of a compressed store (pagestore/FORMAT.md, "Coded arrays").

A block holds 256 rows of heads or 1024 numbers, as one chunk of a coded page does (pagestore/coding/form.py): a row's
first neighbour is an item like the first one of a list, the others are gaps, and numbers are as gaps are. So blocks are
coded and decoded at the rates of pages.
"""

from __future__ import annotations

import threading

import numpy as np

from pagestore.coding import form
from pagestore.coding.bits import U0, U1, bit_length
from pagestore.coding.decode import chunk_in, decode_chunk
from pagestore.coding.encode import LENGTHS, code_chunk, zigzag
from pagestore.jit import compiled

U6, U63 = np.uint64(6), np.uint64(63)
RELATIVE, REPEATS = np.uint64(form.RELATIVE), np.uint64(form.REPEATS)


class BlockCoder:
    """Codes blocks of one array, one after the other; a thread has its own. dtype: of the rows; heads: they are id[n,
    4], else numbers [n]."""

    def __init__(self, dtype: np.dtype, heads: bool) -> None:
        self.heads, self._words = heads, np.uint64(dtype.itemsize // 4)
        self._room = np.zeros(2 * form.BLOCK_ROOM, np.uint32)
        self._value, self._scratch = np.zeros(form.CHUNK, np.uint64), np.zeros(form.CHUNK, np.uint8)
        self._counts = np.zeros((2, LENGTHS), np.int64)

    def code(self, rows: np.ndarray, first: int, write: bool = True) -> np.ndarray:
        """The words, u4[n], of a block whose first row is number `first`; good until the next call. write: False makes
        as many words, which mean nothing."""
        own = self._room, write, self._value, self._scratch, self._counts
        if self.heads:
            end = _code_heads(rows, np.uint64(first), self._words, *own)
        else:
            end = _code_numbers(rows, *own)
        return self._room[: int(end)]


class BlockCoders:
    """A BlockCoder for each thread."""

    def __init__(self, dtype: np.dtype, heads: bool) -> None:
        self._kind, self._threads = (dtype, heads), threading.local()

    @property
    def own(self) -> BlockCoder:
        """The calling thread's."""
        if not hasattr(self._threads, "coder"):
            self._threads.coder = BlockCoder(*self._kind)
        found: BlockCoder = self._threads.coder
        return found


@compiled
def _code_heads(rows, first, id_words, out, write, value, lengths, counts):
    """Words of a block of heads id[n, 4]; `out` has them if `write`."""
    none = ~rows.dtype.type(0)
    absolute, relative, repeats = U0, U0, False
    for i in range(rows.shape[0]):
        if rows[i, 0] != none:
            absolute += bit_length(np.uint64(rows[i, 0]))
            relative += bit_length(zigzag(np.uint64(rows[i, 0]), first + np.uint64(i), id_words))
            for j in range(1, rows.shape[1]):
                repeats |= rows[i, j] == rows[i, j - 1] and rows[i, j] != none
    flags = (RELATIVE if relative < absolute else U0) | (REPEATS if repeats else U0)
    less = U0 if repeats else U1
    header = np.uint64(form.HEADS_HEADER)
    if write:
        out[np.uint64(form.NUMBERS_HEADER) : header] = np.uint32(0)
    counts[:] = 0
    items = U0
    for i in range(rows.shape[0]):
        if rows[i, 0] == none:
            continue
        if write:
            out[form.NUMBERS_HEADER + (i >> 5)] |= np.uint32(1 << (i & 31))
        last = np.uint64(rows[i, 0])
        value[items] = zigzag(last, first + np.uint64(i), id_words) if flags & RELATIVE else last
        size = bit_length(value[items])
        counts[1, size] += 1
        lengths[items] = np.uint8(size + np.uint64(LENGTHS))
        items += U1
        for j in range(1, rows.shape[1]):
            if rows[i, j] == none:
                break
            value[items] = np.uint64(rows[i, j]) - last - less
            last = np.uint64(rows[i, j])
            lengths[items] = np.uint8(bit_length(value[items]))
            counts[0, lengths[items]] += 1
            items += U1
    return _code_block(value, items, counts, out, header, flags, write, lengths)


@compiled
def _code_numbers(rows, out, write, value, lengths, counts):
    """Words of a block of numbers; `out` has them if `write`."""
    counts[:] = 0
    for i in range(rows.size):
        value[i] = np.uint64(rows[i])
        lengths[i] = np.uint8(bit_length(value[i]))
        counts[0, lengths[i]] += 1
    return _code_block(value, np.uint64(rows.size), counts, out, np.uint64(form.NUMBERS_HEADER), U0, write, lengths)


@compiled(inline="always")
def _code_block(value, items, counts, out, header, flags, write, lengths):
    if write:
        out[form.OFFSET], out[form.ITEMS], out[form.BLOCK_FLAGS] = np.uint32(header), np.uint32(items), np.uint32(flags)
    return code_chunk(value, items, counts, out, U0, header, write, lengths)


def decode_blocks(coded: np.ndarray, begins: np.ndarray, first: int, out: np.ndarray) -> int:
    """Fill rows [n, 4] or [n], whose first one has number `first` and begins a block, from blocks that follow each
    other; the number of the first block that no coder writes, -1 where all are sound.

    coded: u4[m]; begins: i8[blocks + 1], words of `coded` at which blocks begin.
    """
    scratch = (
        np.zeros(form.BLOCK_ROOM, np.uint64), np.empty(form.CHUNK, out.dtype), np.empty(form.CHUNK // 64, np.uint64),
        np.empty(64, out.dtype),
    )  # fmt: skip
    geometry = np.uint64(out.dtype.itemsize // 4), np.uint64(form.most_width(out.dtype.itemsize))
    if out.ndim == 2:
        return int(_all_heads(coded, begins, np.uint64(first), out, *geometry, *scratch))
    return int(_all_numbers(coded, begins, out, geometry[1], *scratch))


@compiled
def _all_heads(coded, begins, first, out, id_words, most_width, room, value, starts, masks):
    held, rows = room.view(np.uint32), form.HEAD_ROWS
    for block in range(begins.size - 1):
        low, count = block * rows, _hold(coded, begins, block, held)
        part = out[low : low + rows]
        if count == U0 or not _decode_heads(
            held, room, count, first + np.uint64(low), part, id_words, most_width, value, starts, masks
        ):
            return block
    return -1


@compiled
def _all_numbers(coded, begins, out, most_width, room, value, starts, masks):
    held, rows = room.view(np.uint32), form.NUMBER_ROWS
    for block in range(begins.size - 1):
        low, count = block * rows, _hold(coded, begins, block, held)
        part = out[low : low + rows]
        if count == U0 or not _decode_numbers(held, room, count, part, most_width, value, starts, masks):
            return block
    return -1


@compiled(inline="always")
def _hold(coded, begins, block, held):
    """Copy a block's words, and zeros behind them, to an address for words of 8 bytes; how many, 0 where too many."""
    begin, end = begins[block], begins[block + 1]
    if end + form.TAIL_WORDS - begin > held.size:
        return U0
    held[: end - begin] = coded[begin:end]
    held[end - begin : end + form.TAIL_WORDS - begin] = np.uint32(0)
    return np.uint64(end - begin)


@compiled
def _take_block(words, stream, count, header, most_width, value, starts, masks):
    """Fill value and starts; how many items the block has, and how many of them are first neighbours. No items where
    it is none that a coder writes."""
    items = np.uint64(words[form.ITEMS])
    if header > count or np.uint64(words[form.OFFSET]) != header or items > np.uint64(form.CHUNK):
        return U0, U0, False
    _, _, n3, after = chunk_in(stream, header, count, items, np.uint64(words[form.WIDTHS]), most_width)
    if after != count:
        return U0, U0, False
    decode_chunk(words, stream, U0, items, value, starts, masks)
    return items, n3, True


@compiled
def _decode_numbers(words, stream, count, out, most_width, value, starts, masks):
    header = np.uint64(form.NUMBERS_HEADER)
    items, n3, right = _take_block(words, stream, count, header, most_width, value, starts, masks)
    if not right or n3 != U0 or items != np.uint64(out.size) or words[form.BLOCK_FLAGS] != 0:
        return False
    for i in range(out.size):
        out[i] = value[i]
    return True


@compiled
def _decode_heads(words, stream, count, first, out, id_words, most_width, value, starts, masks):
    header = np.uint64(form.HEADS_HEADER)
    items, n3, right = _take_block(words, stream, count, header, most_width, value, starts, masks)
    flags, none = np.uint64(words[form.BLOCK_FLAGS]), ~out.dtype.type(0)
    if not right or flags > RELATIVE + REPEATS:
        return False
    less = U0 if flags & REPEATS else U1
    at = U0
    for i in range(out.shape[0]):
        out[i] = none
        if not words[form.NUMBERS_HEADER + (i >> 5)] >> np.uint32(i & 31) & np.uint32(1):
            continue
        if at == items or not _begins(starts, at):
            return False
        last = np.uint64(value[at])
        if flags & RELATIVE:
            last = first + np.uint64(i) + ((last >> U1) ^ (U0 - (last & U1)))
        out[i, 0] = last
        at += U1
        n3 -= U1
        for j in range(1, out.shape[1]):
            if at == items or _begins(starts, at):
                break
            last += np.uint64(value[at]) + less
            out[i, j] = last
            at += U1
    return at == items and n3 == U0


@compiled(inline="always")
def _begins(starts, at):
    """Whether an item is the first one of its row."""
    return starts[at >> U6] >> (at & U63) & U1
