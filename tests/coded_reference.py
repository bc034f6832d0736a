"""Coded pages decoded by the words of FORMAT.md, on whole numbers of Python: it shares no code with the store's.

`page_of` gives the page's bytes. It raises IndexError for a bit outside of the coded page. It raises ValueError for a
page that the format does not allow.
"""

from __future__ import annotations

import struct


class Bits:
    """A byte string as bits, the lowest of each byte first."""

    def __init__(self, data: bytes) -> None:
        self.number, self.count = int.from_bytes(data, "little"), 8 * len(data)

    def take(self, bit: int, width: int) -> int:
        if bit + width > self.count:
            raise IndexError(f"bits {bit} to {bit + width} of {self.count}")
        return self.number >> bit & ((1 << width) - 1)


def chunk_items(bits: Bits, first_bit: int, items: int, widths: list[int]) -> tuple[list[tuple[int, int]], int]:
    """(class, field) of each item, and the bit after the last field."""
    planes = [[bits.take(first_bit + k, 1) for k in range(items)]]
    if bits.take(first_bit + items, -items % 32):
        raise ValueError("P0 goes on behind the last item")
    bit = first_bit + items + -items % 32
    for _ in range(3):
        ones = sum(planes[-1])
        planes.append([bits.take(bit + k, 1) for k in range(ones)])
        bit += ones
    kinds = [0] * items
    holders = list(range(items))
    for plane in planes:
        holders = [item for item, one in zip(holders, plane, strict=True) if one]
        for item in holders:
            kinds[item] += 1
    found = []
    for kind in kinds:
        found.append((kind, bits.take(bit, widths[kind])))
        bit += widths[kind]
    return found, bit


def greatest_of(page: bytes, id_bytes: int, records: int) -> int | None:
    """The greatest neighbour of a page; None where its vertices do not ascend."""
    words = struct.unpack(f"<{len(page) // id_bytes}{'I' if id_bytes == 4 else 'Q'}", page)
    slots = [(words[-2 * number - 2], words[-2 * number - 1]) for number in range(records)]
    if any(before[0] >= after[0] for before, after in zip(slots, slots[1:], strict=False)):
        return None
    return max(max(words[at + 1 : at + 1 + words[at]]) for _, at in slots)


def streams_of(data: bytes, id_bytes: int, records: int, edges: int) -> tuple[int, list[list[tuple[int, int]]]]:
    """Flags, and the items of the vertices' stream (maybe none) and of the neighbours'."""
    flags, words = struct.unpack_from("<II", data, 32)
    if struct.unpack_from("<I", data, 4)[0] != records or struct.unpack_from("<Q", data, 16)[0] != edges:
        raise ValueError("the page's header")
    if flags > 7 or 4 * words != len(data) or len(data) % 16:
        raise ValueError("flags or size")
    bits, entry = Bits(data[:-16]), 40
    counts = ([records] if flags & 4 else []) + [edges]
    entries = sum(-(-count // 1024) for count in counts)
    at, streams = entry // 4 + entries * (4 + id_bytes // 4), []
    lists, last_start = 0, 0
    for which, count in enumerate(counts):
        stream: list[tuple[int, int]] = []
        for begin in range(0, count, 1024):
            offset, packed, told_lists, told_start = struct.unpack_from("<4I", data, entry)
            if (offset, told_lists, told_start) != (at, lists, last_start):
                raise ValueError("an entry")
            widths = [packed >> 6 * k & 63 for k in range(5)]
            if packed >> 30 or max(widths) > (32 if id_bytes == 4 else 63):
                raise ValueError("a width")
            found, end = chunk_items(bits, 32 * at, min(1024, count - begin), widths)
            starts = [begin + k for k, (kind, _) in enumerate(found) if kind > 2]
            if starts and which < len(counts) - 1:
                raise ValueError("a vertex begins a list")
            lists, last_start = lists + len(starts), (starts or [last_start])[-1]
            at, entry = -(-end // 32), entry + 16 + id_bytes
            stream += found
        streams.append(stream)
    if len(data) != 16 * -(-(4 * at + 16) // 16):
        raise ValueError("words that nothing uses")
    if lists != records or streams[-1][0][0] < 3:
        raise ValueError("lists")
    return flags, streams


def page_of(data: bytes, page_bytes: int, id_bytes: int, records: int, edges: int) -> bytes:
    """The page that a coded page stands for."""
    flags, streams = streams_of(data, id_bytes, records, edges)
    mask, first = (1 << 8 * id_bytes) - 1, int.from_bytes(data[8:16], "little")
    vertices = list(range(first, first + records))
    if flags & 4:
        last, vertices = first - 1, []
        for _, field in streams[0]:
            last += field + 1
            vertices.append(last & mask)
    lists: list[list[int]] = []
    for kind, field in streams[-1]:
        if kind > 2:
            apart = field // 2 if field % 2 == 0 else -(field + 1) // 2
            last = vertices[len(lists)] + apart if flags & 1 else field
            lists.append([last & mask])
        else:
            last += field + (0 if flags & 2 else 1)
            lists[-1].append(last & mask)
    words = [word for found in lists for word in (len(found), *found)]
    slots, at = [], 32 // id_bytes
    for vertex, found in zip(vertices, lists, strict=True):
        slots = [vertex & mask, at, *slots]
        at += 1 + len(found)
    body = page_bytes // id_bytes - 32 // id_bytes - len(words) - len(slots)
    every = words + [0] * body + slots
    return data[:32] + b"".join(word.to_bytes(id_bytes, "little") for word in every)


def rows_of(data: bytes, heads: bool, first: int, rows: int, id_bytes: int) -> list[list[int]]:
    """The rows that a block of a coded array stands for: neighbours of vertices first..first+rows-1, or numbers."""
    offset, packed, items, flags = struct.unpack_from("<4I", data)
    widths, header = [packed >> 6 * k & 63 for k in range(5)], 12 if heads else 4
    if offset != header or packed >> 30 or max(widths) > (32 if id_bytes == 4 else 63) or items > 1024:
        raise ValueError("a block's header")
    found, end = chunk_items(Bits(data), 32 * header, items, widths)
    if -(-end // 32) * 4 != len(data):
        raise ValueError("words that nothing uses")
    if not heads:
        if flags or items != rows or any(kind > 2 for kind, _ in found):
            raise ValueError("numbers")
        return [[field] for _, field in found]
    if flags > 3:
        raise ValueError("flags")
    has = Bits(data[16:48])
    mask, lists = (1 << 8 * id_bytes) - 1, [[] for _ in range(rows)]
    owners, last = [number for number in range(rows) if has.take(number, 1)], 0
    owner = -1
    for kind, field in found:
        if kind > 2:
            if not owners:
                raise ValueError("a row that has no neighbours")
            owner = owners.pop(0)
            apart = field // 2 if field % 2 == 0 else -(field + 1) // 2
            last = first + owner + apart if flags & 1 else field
        elif owner < 0:
            raise ValueError("a gap before any neighbour")
        else:
            last += field + (0 if flags & 2 else 1)
        lists[owner].append(last & mask)
    if owners or max(map(len, lists)) > 4:
        raise ValueError("rows")
    return lists


def weights_of(data: bytes, page_bytes: int, kind: str, begin: int, end: int) -> bytes:
    """The weights page that coded weights stand for; kind: u1, i4, u4 or f4."""
    if len(data) % 16 or len(data) < 24:
        raise ValueError("size")
    bits, width, shift = Bits(data[:-16]), data[0], int.from_bytes(data[1:4], "little")
    size, base = int(kind[1]), int.from_bytes(data[4:8], "little")
    if width + shift > 8 * size:
        raise ValueError("width")
    if kind != "f4" and (shift or base):
        raise ValueError("a base of integers")
    page = bytearray(page_bytes)
    for number in range(begin, end):
        field = bits.take(64 + (number - begin) * width, width)
        if kind == "i4" and field:
            field = (field // 2 if field % 2 == 0 else -(field + 1) // 2) & 0xFFFFFFFF
        elif kind == "f4" and field:
            field = (base + field * 2**shift) % 2**32
        page[number * size : (number + 1) * size] = field.to_bytes(size, "little")
    return bytes(page)
