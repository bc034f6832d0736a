"""The part of a scrub that reads pages: one run of pages at a time, on any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from pagestore.arrays import BLOCK_BYTES
from pagestore.check import scan_neighbours, walk_records
from pagestore.coding.reading import NOT_SOUND, aligned, decode_one, pieces
from pagestore.crc import page_crc, page_crcs
from pagestore.decode import RuleError, best_group_size, decode_page, padding_words
from pagestore.errors import StoreError
from pagestore.io import aligned_empty
from pagestore.layout import HEAD_NEIGHBOURS, LARGE, ROW, other_headers
from pagestore.reader import PageReader
from pagestore.store import Store
from pagestore.topology import Topology

UNSOUND = "breaks the format: its coded bytes lead out of the page."
Read = Callable[[int, int], np.ndarray]  # rows first..last-1 of an array
WINDOW_ROWS = BLOCK_BYTES // 8  # rows of an array fetched at once: bounds memory when vertices lie far apart


@dataclass
class RunResult:
    """The problems of one run of pages, and facts for its neighbours.

    `problems`: pages, and what is wrong with each. `unread`: lines about failed reads, once each.
    `forward`, `backward`: mixes of its edges as (first, second) and as (second, first), modulo 2^64. `ends`: number
    of a large page -> its first and last neighbour. `padding_words`: of the groups of its column pages.
    """

    problems: list[tuple[int, str]] = field(default_factory=list)
    unread: dict[str, None] = field(default_factory=dict)
    forward: int = 0
    backward: int = 0
    edges: int = 0
    padding_words: int = 0
    ends: dict[int, tuple[int, int]] = field(default_factory=dict)


def check_run(store: Store, topology: Topology, first: int, step: int) -> RunResult:
    """Pages first..first+step-1 (or to the last): CRCs, all rules, degrees and heads."""
    count = min(step, topology.pages - first)
    result = RunResult()
    with topology.reader() as reader:
        try:
            pages, wrong = _read(topology, reader, first, count, False)
            weights, wrong_weights = None, dict.fromkeys(range(count), "")
            if topology.weight_dtype is not None:
                weights, wrong_weights = _read(topology, reader, first, count, True)
        except StoreError as error:
            result.unread[str(error)] = None
            return result
    rows = topology.directory[first : first + count]
    headers_differ = other_headers(rows, pages)
    last = int(rows["last_vertex"][rows["kind"] != LARGE].max(initial=0))
    degrees = _RowsAhead(store.out_degree if topology.name == "out" else store.in_degree, last)
    arrays = degrees, _RowsAhead(partial(topology.heads, check=False), last)
    for i in range(count):
        if what := wrong[i] or wrong_weights[i]:
            result.problems.append((first + i, what))
            continue
        try:
            _check_page(arrays, topology, first + i, pages[i], None if weights is None else weights[i],
                        bool(headers_differ[i]), result)  # fmt: skip
        except RuleError as error:
            result.problems.append((first + i, f"breaks the format: {error}."))
        except StoreError as error:  # of an array that the page is held against
            result.unread[str(error)] = None
    return result


def _read(
    topology: Topology, reader: PageReader, first: int, count: int, weights: bool
) -> tuple[np.ndarray, dict[int, str]]:
    """Pages, or their weights, and what is wrong with the bytes of each: "" where nothing is."""
    sums = topology.directory["weights_crc" if weights else "crc"][first : first + count]
    fails = "has weights that fail their checksum." if weights else "fails its checksum."
    if topology.places is None:
        read = reader.read_weights if weights else reader.read
        pages = read(first, count, check=False)
        bad = page_crcs(first, pages) != sums
        return pages, {i: fails if bad[i] else "" for i in range(count)}
    pages = aligned_empty(count * (topology.weight_page_bytes if weights else topology.layout.page_bytes))
    pages = pages.reshape(count, -1)
    wrong = {}
    for number, piece in pieces(topology, first, reader.read_coded(first, count, weights, check=False), weights):
        wrong[number - first] = fails
        if page_crc(number, piece) == sums[number - first]:
            greatest = decode_one(topology, number, aligned(piece), weights, pages[number - first])
            wrong[number - first] = UNSOUND if greatest == NOT_SOUND else ""
    return pages, wrong


class _RowsAhead:
    """Rows of an array of vertices for the small pages of a run, whose vertices ascend up to `last`: these are read
    together, as each block of the array is read and checked whole."""

    def __init__(self, read: Read, last: int) -> None:
        self._read, self._last = read, last
        self._first, self._rows = 0, np.empty(0)

    def __call__(self, low: int, high: int) -> np.ndarray:
        """Rows low..high-1. Raises StoreError."""
        if low < self._first or high > self._first + len(self._rows):
            try:
                rows = self._read(low, max(high, min(self._last + 1, low + WINDOW_ROWS)))
            except StoreError:
                return self._read(low, high)  # the damage may lie behind them
            self._first, self._rows = low, rows
        return self._rows[low - self._first : high - self._first]


def _check_page(
    arrays: tuple[Read, Read], topology: Topology, number: int, page: np.ndarray, weights: np.ndarray | None,
    header_differs: bool, result: RunResult,
) -> None:  # fmt: skip
    """One page whose CRCs are right, against the rules and `arrays`: degrees and heads. Raises RuleError."""
    layout, row = topology.layout, topology.directory[number]
    words = page.view(layout.id_dtype)
    carrier = np.empty(0, np.uint8)
    if weights is not None and topology.weight_dtype is not None:
        carrier = weights.view(f"<u{topology.weight_dtype.itemsize}")
    vertex, size = np.zeros((2, int(row["records"])), np.uint64)
    heads = np.empty((len(vertex), HEAD_NEIGHBOURS), layout.id_dtype)
    sums = np.zeros(4, np.uint64)
    geometry = (np.uint64(layout.header_words), np.uint64(topology.vertices), np.uint64(row["layout"] or 1))
    sound = not header_differs and walk_records(words, *geometry, vertex, size, True) == 0
    sound = sound and scan_neighbours(words, carrier, *geometry, vertex, size, heads, sums) == 0
    sound = sound and int(vertex[0]) == row["first_vertex"] and int(vertex[-1]) == row["last_vertex"]
    group = 1 if row["layout"] != ROW else best_group_size(size.astype(np.int64))
    sound = sound and int(size.sum()) == row["edges"] and group == row["group"]
    if not sound:
        decode_page(page, layout.id_bytes, topology.vertices, row, weights, topology.weight_dtype)
        raise RuleError("the quick check refuses what the reference decoder accepts; please report this store")
    _check_degrees(arrays[0], topology, row["kind"] == LARGE, vertex, size)
    if topology.head_rows and row["position"] == 0:
        _check_heads(arrays[1], topology, vertex, heads)
    result.edges += int(row["edges"])
    if row["layout"] != ROW:
        result.padding_words += padding_words(size, int(row["layout"]))
    result.forward = (result.forward + int(sums[0])) % (1 << 64)
    result.backward = (result.backward + int(sums[1])) % (1 << 64)
    if row["kind"] == LARGE:
        result.ends[number] = (int(sums[2]), int(sums[3]))


def _check_degrees(read: Read, topology: Topology, large: bool, vertex: np.ndarray, size: np.ndarray) -> None:
    degrees = _gather(read, vertex)
    if large:
        if int(degrees[0]) <= topology.layout.longest_list:
            raise RuleError(f"vertex {vertex[0]} has degree {degrees[0]}, which fits a small page")
    elif np.any(degrees != size):
        at = int(np.argmax(degrees != size))
        raise RuleError(f"vertex {vertex[at]} has {size[at]} neighbours here and degree {degrees[at]}")


def _check_heads(read: Read, topology: Topology, vertex: np.ndarray, expected: np.ndarray) -> None:
    if int(vertex[-1]) >= topology.head_rows:
        raise RuleError(f"heads have {topology.head_rows} rows; vertex {vertex[-1]} has edges")
    found = _gather(read, vertex)
    if not np.array_equal(found, expected):
        differ = np.any(found != expected, axis=1)
        raise RuleError(f"the heads of vertex {vertex[int(np.argmax(differ))]} are not its first neighbours")


def _gather(read: Read, vertex: np.ndarray) -> np.ndarray:
    """Rows of an array at ascending `vertex`, fetched in windows of at most WINDOW_ROWS rows."""
    parts, at = [], 0
    while at < len(vertex):
        low = int(vertex[at])
        end = int(np.searchsorted(vertex, np.uint64(low + WINDOW_ROWS), "left"))
        rows = read(low, int(vertex[end - 1]) + 1)
        parts.append(rows if len(rows) == end - at else rows[(vertex[at:end] - np.uint64(low)).astype(np.intp)])
        at = end
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
