"""Fuzz targets about coded pages and arrays: the check before they are decoded, against the reference decoder."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from pagestore.coding import form
from pagestore.coding.blocks import BlockCoder, decode_blocks
from pagestore.coding.decode import decode_page, decode_weights, sound
from pagestore.coding.encode import Coder, coded_weights
from pagestore.layout import HEADER, PageLayout
from tests.coded_reference import greatest_of, page_of, rows_of, weights_of
from tests.fuzz.targets import Drawn, Target, Wrong

T = TypeVar("T")
PAGE = 4096
WEIGHTS = ("u1", "i4", "u4", "f4")
FIRST = 1 << 20  # number of a block's first row
LISTS = (
    {1: [0, 2, 5], 3: [1], 7: [2, 2, 8]},
    {n: list(range(n, n + 12)) for n in range(40)},
    {5: [3, 900_000, 900_001], 4_000_000: [7]},
    {6: list(range(0, 1200, 3)), 7: list(range(500))},
)


def agreed(taken: bool, read: Callable[[], T]) -> T | None:
    """What the reference reads; None where both refuse. taken: whether the store's check does not."""
    try:
        found = read()
    except (IndexError, ValueError, struct.error) as error:
        if taken:
            raise Wrong(f"the check takes what the reference refuses: {error}") from error
        return None
    if not taken:
        raise Wrong("the check refuses what the reference reads")
    return found


def read_coded(data: bytes) -> str:
    """A target: ID width, records and edges as a directory may say them, then a coded page."""
    drawn = Drawn(data)
    layout = PageLayout(PAGE, 8 if drawn.byte() & 1 else 4)
    records, edges = drawn.number(2), drawn.number(2)
    if not 1 <= records <= edges or layout.header_words + 3 * records + edges > layout.words:
        return "refused by the directory"
    coded = drawn.rest()[: PAGE - 1]
    held = np.frombuffer(coded + b"\0" * (-len(coded) % 8), np.uint64).copy().view(np.uint8)[: len(coded)]
    taken = sound(held, layout, records, edges)
    page = agreed(taken, lambda: page_of(coded, PAGE, layout.id_bytes, records, edges))
    if page is None:
        return "refused"
    out = np.full(PAGE, 0xA5, np.uint8)
    last = int(np.frombuffer(page, layout.id_dtype)[-2 * records])
    greatest = decode_page(held, layout, records, edges, out, last)
    if out.tobytes() != page:
        raise Wrong("a decoded page is another one than the reference's")
    if greatest < {4: 1 << 32, 8: 1 << 63}[layout.id_bytes] and greatest != greatest_of(page, layout.id_bytes, records):
        raise Wrong("the greatest neighbour is another one than the reference's")
    return "read"


def coded_seeds() -> list[bytes]:
    """Coded pages of all flags, and some of them cut, or with a changed word."""
    found = []
    for id_bytes in (4, 8):
        layout = PageLayout(PAGE, id_bytes)
        for lists in LISTS:
            words = np.zeros(layout.words, layout.id_dtype)
            at, edges = layout.header_words, sum(map(len, lists.values()))
            if at + 3 * len(lists) + edges > layout.words:
                continue
            header = np.array([(0, 0, len(lists), min(lists), edges, 0)], HEADER)
            words.view(np.uint8)[: HEADER.itemsize] = header.view(np.uint8)
            for number, (vertex, others) in enumerate(lists.items()):
                words[at : at + 1 + len(others)] = [len(others), *others]
                words[layout.words - 2 * number - 2 : layout.words - 2 * number] = [vertex, at]
                at += 1 + len(others)
            coder = Coder(layout)
            coder.code(words.view(np.uint8), len(lists), edges)
            page = coder.words.tobytes()
            head = bytes([id_bytes == 8]) + len(lists).to_bytes(2, "little") + edges.to_bytes(2, "little")
            found += [head + page, head + page[:-16]]
            for word in (4, form.FLAGS, form.WORDS, form.FIRST_ENTRY, form.FIRST_ENTRY + 1, form.FIRST_ENTRY + 9):
                found.append(head + page[: 4 * word] + b"\x07" + page[4 * word + 1 :])
    return found


def read_block(data: bytes) -> str:
    """A target: kind, ID width and rows, then a block of a coded array."""
    drawn = Drawn(data)
    kind, rows, words = drawn.byte(), drawn.number(2), drawn.rest()
    heads, id_bytes = bool(kind & 1), 8 if kind & 2 else 4
    rows = 1 + rows % form.block_rows(heads)
    words = words[: len(words) // 4 * 4]
    none = (1 << 8 * id_bytes) - 1
    out = np.zeros((rows, 4) if heads else rows, f"<u{id_bytes}")
    coded = np.frombuffer(words, np.uint32)
    taken = decode_blocks(coded, np.array([0, len(coded)], np.int64), FIRST, out) < 0
    expected = agreed(taken, lambda: rows_of(words, heads, FIRST, rows, id_bytes))
    if expected is None:
        return "refused"
    if heads:
        expected = [[*row, *[none] * (4 - len(row))] for row in expected]
    if out.tolist() != (expected if heads else [one for (one,) in expected]):
        raise Wrong("the rows of a block are others than the reference's")
    return "read"


def block_seeds() -> list[bytes]:
    """Blocks of both kinds, whole, cut, or with a changed word."""
    draw, found = np.random.default_rng(1), []
    for kind in range(4):
        heads, dtype = bool(kind & 1), np.dtype("<u8" if kind & 2 else "<u4")
        for most in (4, 1 << 30):
            rows = np.sort(draw.integers(0, most, (90, 4) if heads else (90, 1)), axis=1).astype(dtype)
            rows[draw.integers(0, 90, 40), -1:] = ~dtype.type(0) if heads else 0
            block = BlockCoder(dtype, heads).code(rows if heads else rows[:, 0], FIRST).tobytes()
            start = bytes([kind]) + (89).to_bytes(2, "little")
            found += [start + block, start + block[:-4]]
            found += [start + block[: 4 * word] + b"\x05" + block[4 * word + 1 :] for word in (0, 1, 2, 3, 4, 13)]
    return found


def read_weights(data: bytes) -> str:
    """A target: kind of weights, first element in use and how many, then coded weights."""
    drawn = Drawn(data)
    kind, begin, count = WEIGHTS[drawn.byte() % len(WEIGHTS)], drawn.byte(), drawn.number(2)
    dtype = np.dtype(f"<{kind}")
    end, size = begin + count, PAGE // 4 * dtype.itemsize
    if end > PAGE // 4:
        return "refused by the directory"
    coded = drawn.rest()[: size - 1]
    held = np.frombuffer(coded + b"\0" * (-len(coded) % 8), np.uint64).copy().view(np.uint8)[: len(coded) // 4 * 4]
    out = np.full(size, 0xA5, np.uint8)
    taken = len(coded) % 4 == 0 and decode_weights(held, dtype, begin, end, out)
    page = agreed(taken, lambda: weights_of(coded, size, kind, begin, end))
    if page is not None and out.tobytes() != page:
        raise Wrong("decoded weights are others than the reference's")
    return "refused" if page is None else "read"


def weights_seeds() -> list[bytes]:
    """Coded weights of all kinds, whole, cut, or with a changed byte."""
    draw, found = np.random.default_rng(1), []
    for number, kind in enumerate(WEIGHTS):
        for most in (2, 90):
            page = np.zeros(PAGE // 4, f"<{kind}")
            page[8:108] = draw.integers(0, most, 100) / (4 if kind == "f4" else 1)
            coded = coded_weights(page.view(np.uint8), page.dtype, 8, 108).tobytes()
            start = bytes([number, 8]) + (100).to_bytes(2, "little")
            found += [start + coded, start + coded[:-16]]
            found += [start + coded[:at] + b"\x09" + coded[at + 1 :] for at in (0, 1, 4, 9)]
    return found


def targets() -> list[Target]:
    """All of them."""
    return [
        Target("coded arrays", "a block is refused, or two decoders agree", read_block, block_seeds, 3 + PAGE),
        Target("coded weights", "they are refused, or two decoders agree", read_weights, weights_seeds, 4 + PAGE),
        Target("coded pages", "a coded page is refused, or two decoders agree", read_coded, coded_seeds, 5 + PAGE),
    ]  # fmt: skip
