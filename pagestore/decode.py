"""The reference decoder: pages back to edges, with every structural rule of FORMAT.md checked.

It follows FORMAT.md alone, in numpy. It shares no code with the packer, the planner or the group-size model, so that a
mistake there can't hide here. Messages carry the number of the rule:

    R1 header: kind 0 or 1, layout known (only small pages have columns), and kind, layout, records, first vertex,
       edges and position as the directory says
    R2 slots: vertices ascend strictly, start at the header's first vertex, end at the directory's last, below V
    R3 records: the first starts after the header, each next one where the one before ends, none is empty; in a column
       page this holds for groups of `layout` records, and record i of a group is at its word i
    R4 sizes add up to the page's edges, and records (groups) end before the slots begin
    R5 neighbours are below V and ascend inside a record
    R6 bytes that neither header, sizes, neighbours nor slots use are zero; so are weights beside no neighbour
    R7 a large page has one record, of at most `longest` neighbours, and only the last of a hub's pages has fewer
    R8 the directory's group size has the best mapping efficiency; a column page's is 1
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pagestore.errors import StoreError

if TYPE_CHECKING:
    from pagestore.topology import Topology

BATCH_BYTES = 16 << 20  # pages decoded per read
WIDTHS = (8, 16, 32, 64, 128)  # of the groups of column pages


class RuleError(ValueError):
    """A page breaks a rule of the format; the text names rule and place inside the page."""


@dataclass(frozen=True, eq=False)
class DecodedPage:
    """Records of one page: vertex u8[r], size i8[r]; their edges: source, target u8[e], weight [e] or None.

    `position`: index of a large page's first neighbour in its hub's list. `padding`: words of a column page's groups
    that are neither sizes nor neighbours.
    """

    large: bool
    position: int
    vertex: np.ndarray
    size: np.ndarray
    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None
    padding: int = 0


def decode_page(
    page: np.ndarray, id_bytes: int, vertices: int, row: Any = None, weights: np.ndarray | None = None,
    weight_dtype: np.dtype | None = None,
) -> DecodedPage:  # fmt: skip
    """Decode one page, uint8[page_bytes], of a graph of `vertices`; `row` is its directory row, when known.

    `weights`: its weights page, uint8. Raises RuleError for the first rule that the page breaks.
    """
    kind, layout, records, first, edges, position = _header(page, row)
    words = np.frombuffer(page.tobytes(), f"<u{id_bytes}").astype(np.uint64)
    begin = 32 // id_bytes
    _rule(1 <= records <= (len(words) - begin) // 4, f"R1: {records} records")
    slots = words[len(words) - 2 * records :].reshape(records, 2)[::-1].astype(np.int64)
    vertex, start = slots[:, 0], slots[:, 1]
    _rule(bool(np.all((vertex >= 0) & (vertex < vertices))), "R2: a slot's vertex is out of range")
    _rule(bool(np.all(vertex[1:] > vertex[:-1])), "R2: slots' vertices don't ascend")
    _rule(int(vertex[0]) == first, f"R2: first vertex is {vertex[0]}, {first} in the header")
    if row is not None:
        _rule(int(vertex[-1]) == int(row["last_vertex"]), f"R2: last vertex is {vertex[-1]}, not {row['last_vertex']}")
    end = len(words) - 2 * records
    _rule(int(start[0]) == begin and bool(np.all((start >= begin) & (start < end))), "R3: a record starts elsewhere")
    size = words[start].astype(np.int64)
    _rule(bool(np.all((size >= 1) & (size <= end))), "R3: a record's size is impossible")
    stride = layout or 1
    _rule(bool(np.all(start == _starts(begin, size, stride))), "R3: records don't follow each other")
    used = int(_ends(begin, size, stride)[-1])
    _rule(used <= end, f"R4: records end at word {used}, slots begin at word {end}")
    _rule(int(size.sum()) == edges, f"R4: records hold {size.sum()} neighbours, the header says {edges}")
    ordinal = np.arange(edges)
    owner = np.repeat(np.arange(records), size)
    place = start[owner] + stride * (1 + ordinal - np.repeat(np.cumsum(size) - size, size))
    target = words[place]
    _rule(bool(np.all(target < np.uint64(vertices))), "R5: a neighbour is out of range")
    same = owner[1:] == owner[:-1]
    _rule(not bool(np.any(same & (target[1:] < target[:-1]))), "R5: neighbours don't ascend")
    free = np.ones(end, bool)
    free[:begin] = free[start] = free[place] = False
    _rule(not bool(np.any(words[:end][free])), "R6: free space or padding is not zero")
    if kind == 1:
        longest = len(words) - begin - 3
        _rule(records == 1, f"R7: a large page with {records} records")
        _rule(1 <= edges <= longest and position % longest == 0, f"R7: {edges} neighbours at position {position}")
    else:
        _rule(position == 0, f"R1: small page at position {position}")
    if row is not None:
        best = best_group_size(size) if layout == 0 else 1
        _rule(int(row["group"]) == best, f"R8: group size {row['group']}; {best} wastes least")
    weight = None
    if weights is not None and weight_dtype is not None:
        values = np.frombuffer(weights.tobytes(), weight_dtype)
        weight = values[place]
        beside = np.ones(len(values), bool)
        beside[place] = False
        bits = values.view(f"<u{values.dtype.itemsize}")
        _rule(not bool(np.any(bits[beside])), "R6: a weight beside no neighbour is not zero")
    source = vertex[owner].astype(np.uint64)
    padding = padding_words(size, layout) if layout else 0
    return DecodedPage(kind == 1, position, vertex.astype(np.uint64), size, source, target, weight, padding)


def _header(page: np.ndarray, row: Any) -> tuple[int, int, int, int, int, int]:
    """Kind, layout, records, first vertex, edges and position, as the header and the directory's row say."""
    header = page[:32].tobytes()
    kind, layout = np.frombuffer(header, "<u2", 2).tolist()
    records = int(np.frombuffer(header, "<u4", 1, 4)[0])
    first, edges, position = np.frombuffer(header, "<u8", 3, 8).tolist()
    _rule(kind in (0, 1), f"R1: kind {kind}")
    _rule(layout == 0 or (layout in WIDTHS and kind == 0), f"R1: layout {layout} of kind {kind}")
    if row is not None:
        for name, value in (
            ("kind", kind), ("layout", layout), ("records", records), ("first_vertex", first), ("edges", edges),
            ("position", position),
        ):  # fmt: skip
            _rule(int(row[name]) == value, f"R1: {name} is {value} in the header, {row[name]} in the directory")
    return kind, layout, records, first, edges, position


def padding_words(size: np.ndarray, layout: int) -> int:
    """Words of a column page's groups that are neither sizes nor neighbours; size: of its lists, in slot order."""
    lists = size.astype(np.int64)
    return int(_ends(0, lists, layout)[-1]) - len(lists) - int(lists.sum())


def _ends(begin: int, size: np.ndarray, stride: int) -> np.ndarray:
    """i8[groups]: the word after each group of `stride` records, which is as long as its longest list."""
    padded = np.zeros(-(-len(size) // stride) * stride, np.int64)
    padded[: len(size)] = size
    return begin + stride * np.cumsum(1 + padded.reshape(-1, stride).max(axis=1))


def _starts(begin: int, size: np.ndarray, stride: int) -> np.ndarray:
    """i8[records]: where each record starts: side by side in a group."""
    groups = np.concatenate([[begin], _ends(begin, size, stride)[:-1]])
    index = np.arange(len(size))
    return groups[index // stride] + index % stride


def best_group_size(size: np.ndarray) -> int:
    """The group size 1..32 whose warps of 32 lanes take the fewest lane steps; of equals the largest (SIMD paper)."""
    best, fewest = 0, -1
    longest = np.zeros(-(-len(size) // 32) * 32, np.int64)
    longest[: len(size)] = size
    for group in (32, 16, 8, 4, 2, 1):  # 32 / group lists are side by side, and take the steps of the longest
        if group < 32:
            longest = np.maximum(longest[::2], longest[1::2])
        lanes = 32 * int(((longest + (group - 1)) // group).sum())
        if fewest < 0 or lanes < fewest:
            best, fewest = group, lanes
    return best


def decode_topology(topology: Topology) -> Iterator[tuple[int, DecodedPage]]:
    """Page numbers and decoded pages in page order, CRCs checked. Raises StoreError naming the page."""
    step = max(1, BATCH_BYTES // topology.layout.page_bytes)
    with topology.reader() as reader:
        for first in range(0, topology.pages, step):
            count = min(step, topology.pages - first)
            pages = reader.read(first, count)
            weights = None if topology.weight_dtype is None else reader.read_weights(first, count)
            for i in range(count):
                row = topology.directory[first + i]
                try:
                    decoded = decode_page(
                        pages[i], topology.layout.id_bytes, topology.vertices, row,
                        None if weights is None else weights[i], topology.weight_dtype,
                    )  # fmt: skip
                except RuleError as error:
                    raise StoreError(
                        f"{topology.name_page(first + i)} breaks the format: {error}. {topology.remedy}"
                    ) from error
                yield first + i, decoded


def _rule(holds: bool, text: str) -> None:
    if not holds:
        raise RuleError(text)
