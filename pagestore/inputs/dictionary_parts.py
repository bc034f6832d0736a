"""Dense IDs when not even the distinct IDs fit in memory: everything is split into PARTS ranges of IDs, on disk.

    edges --by source--> near[p]   targets --> far[p]          one pass over the source
    near[p].source + far[p] --distinct, sorted--> ids          part after part; base[p] = IDs before it
    near[p] --rank the sources, by target--> turned[q]
    turned[q] --rank the targets--> edges

The ranges are quantiles of the distinct IDs that did fit, so each holds about an equal number of distinct IDs. Two
rounds of writing, 16 to 24 bytes an edge each; a part's distinct IDs must fit, its edges need not.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numba import njit

from pagestore.errors import ResourceError
from pagestore.inputs.base import EdgeSource
from pagestore.inputs.edgefile import DenseSource, EdgeFile, map_file, write_array
from pagestore.inputs.idtable import IdSet, RankTable, distinct

PARTS = 64


@njit(nogil=True, cache=True)
def part_of_each(splitters: np.ndarray, ids: np.ndarray, part: np.ndarray, counts: np.ndarray) -> None:
    """part[k] (uint8) = number of splitters <= ids[k]; counts[p + 1] counts them."""
    for k in range(np.uint64(len(ids))):
        low, high = 0, len(splitters)
        while low < high:
            middle = (low + high) >> 1
            if splitters[middle] <= ids[k]:
                low = middle + 1
            else:
                high = middle
        part[k] = low
        counts[low + 1] += 1


class Parts:
    """Splits arrays by the range their IDs fall into."""

    def __init__(self, known: np.ndarray, parts: int) -> None:
        picked = known[np.linspace(0, len(known), parts, endpoint=False).astype(np.int64)[1:]]
        self.splitters = distinct(picked)
        self.parts = len(self.splitters) + 1

    def split(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Order int64[n] that groups `ids` by part, and the bounds int64[parts + 1] of the groups."""
        part = np.empty(len(ids), dtype=np.uint8)
        counts = np.zeros(self.parts + 1, dtype=np.int64)
        part_of_each(self.splitters, ids, part, counts)
        return np.argsort(part, kind="stable"), np.cumsum(counts)  # a radix sort for uint8


def compact_by_parts(source: EdgeSource, folder: Path, known: np.ndarray, memory_bytes: int) -> EdgeSource:
    """As `dictionary.compact_integers`, given some of the distinct IDs, ascending (uint64)."""
    from pagestore.inputs.dictionary import BYTES_PER_ID, FEWEST_IDS, ranks_of

    parts = Parts(known, PARTS)
    del known
    near, far = _distribute(source, folder, parts)
    path = folder / "ids"
    bounds = [0]
    with open(path, "wb", buffering=0) as file:
        for part in range(parts.parts):
            found = IdSet(max(memory_bytes // BYTES_PER_ID, FEWEST_IDS))
            fits = all(found.add(chunk.source) for chunk in far[part].read())
            if fits and not source.closed:
                fits = all(found.add(chunk.source) for chunk in near[part].read())
            if not fits:
                raise ResourceError(
                    f"{source.name}: the distinct vertex IDs don't fit in the memory given, not even in {PARTS} parts. "
                    f"Pass a larger --memory."
                )
            far[part].remove()
            bounds.append(bounds[-1] + found.count)
            write_array(file, found.sorted())
    ids = map_file(path, "<u8", bounds[-1])
    turned = [EdgeFile(folder / f"turned{part}", 8, source.weighted) for part in range(parts.parts)]
    for part, file_ in enumerate(near):
        table = RankTable(ids[bounds[part] : bounds[part + 1]], bounds[part])
        for chunk in file_.read():
            ranks = ranks_of(source, table, chunk.source)
            _scatter(turned, parts, chunk.target, ranks, chunk.weight)
        file_.remove()
    edges = EdgeFile(folder / "edges", 4 if bounds[-1] <= 1 << 32 else 8, source.weighted)
    for part, file_ in enumerate(turned):
        file_.finish()
        table = RankTable(ids[bounds[part] : bounds[part + 1]], bounds[part])
        for chunk in file_.read():
            edges.append(chunk.target, ranks_of(source, table, chunk.source), chunk.weight)
        file_.remove()
    edges.finish()
    return DenseSource(source, edges, map_file(path, "<i8", bounds[-1]), None, [path])


def _distribute(source: EdgeSource, folder: Path, parts: Parts) -> tuple[list[EdgeFile], list[EdgeFile]]:
    """Near: edges by the range of their source. Far: IDs that are vertices for another reason, twice in a row."""
    near = [EdgeFile(folder / f"near{part}", 8, source.weighted) for part in range(parts.parts)]
    far = [EdgeFile(folder / f"far{part}", 8, False) for part in range(parts.parts)]
    for listed in source.vertex_ids() or ():
        ids = np.ascontiguousarray(listed).view(np.uint64)
        _scatter(far, parts, ids, ids, None)
    for chunk in source.chunks():
        _scatter(near, parts, chunk.source, chunk.target, chunk.weight)
        if not source.closed:
            ids = distinct(chunk.target)
            _scatter(far, parts, ids, ids, None)
    for file in (*near, *far):
        file.finish()
    return near, far


def _scatter(
    files: list[EdgeFile], parts: Parts, keys: np.ndarray, others: np.ndarray, weight: np.ndarray | None
) -> None:
    """Append (key, other, weight) to the file of the key's range."""
    order, bounds = parts.split(keys)
    keys, others = keys[order], others[order]
    weight = None if weight is None else weight[order]
    for part in range(parts.parts):
        group = slice(int(bounds[part]), int(bounds[part + 1]))
        files[part].append(keys[group], others[group], None if weight is None else weight[group])
