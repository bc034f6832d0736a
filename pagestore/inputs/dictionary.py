"""Sparse integer IDs become dense: the distinct ones in ascending order, and every edge between their ranks.

Few enough IDs for the budget (BYTES_PER_ID each): a hash set collects them in one pass over the source, a hash table of
ranks rewrites the edges in a second one. More than that: `dictionary_parts.py` splits both by ranges of IDs. The edges
and the IDs go to files either way, so nothing stays in memory. Strings: names.py.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from pagestore.convert.crew import Ticker
from pagestore.convert.edgefile import DenseSource, EdgeFile
from pagestore.convert.options import ProgressHook
from pagestore.convert.storage import Vector
from pagestore.errors import InputError
from pagestore.inputs.base import EdgeSource
from pagestore.inputs.idtable import IdSet, RankTable

# growing set: 8 bytes / 0.65 * (1 + 1 / 1.6) = 20; then ranks 12 / 0.65 = 19 beside 8 for the sorted IDs and their copy
BYTES_PER_ID = 40
FEWEST_IDS = 1 << 14


def compact_integers(
    source: EdgeSource, workdir: str | Path, memory_bytes: int, hook: ProgressHook | None = None,
    edges_in_all: int | None = None,
) -> EdgeSource:  # fmt: skip
    """Make the IDs of `source`, which is replayable, dense: a source with `ids` (int64, ascending) and `vertices`.

    The vertices are those of the vertex file too. Takes up to `memory_bytes` while it works, none to speak of later;
    temporary files in `workdir` last until `close()`. Raises InputError for an endpoint that a closed vertex file
    lacks, ResourceError when the disk is full.
    """
    folder = Path(tempfile.mkdtemp(prefix="ids-", dir=workdir))
    limit = max(memory_bytes // BYTES_PER_ID, FEWEST_IDS)
    found = IdSet(limit)
    ticker = Ticker(hook, "collect IDs", edges_in_all, "edges")
    if not all(found.add(ids) for ids in all_ids(source, ticker.add)):
        from pagestore.inputs.dictionary_parts import ROUNDS, compact_by_parts

        rounds = None if edges_in_all is None else ROUNDS * edges_in_all
        ticker = Ticker(hook, "number IDs", rounds, "edges")
        compact = compact_by_parts(source, folder, found.sorted(), limit, ranks_of, ticker.add)
        ticker.finish()
        return compact
    ticker.finish()
    ticker = Ticker(hook, "number IDs", edges_in_all, "edges")
    ids = found.sorted()
    stored = Vector(len(ids), "<i8", folder / "ids")
    stored.write(0, ids)
    table = RankTable(ids)
    edges = EdgeFile(folder / "edges", source.weighted)
    with ThreadPoolExecutor(2) as pool:  # look-ups wait for memory and release the GIL
        for chunk in source.chunks():
            near, far = pool.map(partial(ranks_of, source, table), (chunk.source, chunk.target))
            edges.append(near, far, chunk.weight)
            ticker.add(len(chunk))
    ticker.finish()
    return DenseSource(source, edges, stored)


def all_ids(source: EdgeSource, tick: Callable[[int], None]) -> Iterator[np.ndarray]:
    """Uint64 arrays that together hold every vertex: of the vertex file, and of the edges unless it is closed.

    `tick` is told the edges read.
    """
    for ids in source.vertex_ids() or ():
        yield np.ascontiguousarray(ids).view(np.uint64)
    if not source.closed:
        for chunk in source.chunks():
            yield chunk.source
            yield chunk.target
            tick(len(chunk))


def ranks_of(source: EdgeSource, table: RankTable, ids: np.ndarray) -> np.ndarray:
    """Ranks of the endpoints `ids`; InputError when one is no vertex."""
    ranks, known = table.ranks(np.ascontiguousarray(ids))
    if known < len(ids):
        raise InputError(f"{source.name}: vertex {ids[known]} has an edge but is not in the vertex file. Add it there.")
    return ranks
