"""Pass one over the edges: a tally, the IDs that occur, and the spill log of inputs that can't be read twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pagestore.convert.buffers import Buffers
from pagestore.convert.crew import Ticker, run_crew
from pagestore.convert.options import ProgressHook
from pagestore.convert.presence import Presence
from pagestore.convert.shuffle import shift_for, stages_of
from pagestore.convert.spill import SpillLog
from pagestore.convert.survey import Tally
from pagestore.errors import InputError
from pagestore.inputs.base import EdgeChunk, EdgeSource

SAMPLED_CHUNKS = 32  # of a generator, to balance the buckets: at least 1/32 of small graphs, 32 Mi edges of large ones


@dataclass
class Scan:
    """What the first pass found. `source`: where the second pass reads, the spill log or the source itself.

    `presence`: IDs that occur, None when the vertices are known; `sparse`: an ID was too large for the bitmap.
    """

    source: Any
    tally: Tally
    presence: Presence | None
    sparse: bool


def scan(
    source: EdgeSource, weighted: bool, known_vertices: bool, id_limit: int, spill: SpillLog | None, threads: int,
    hook: ProgressHook | None,
) -> Scan:  # fmt: skip
    """Read every edge once. IDs below `id_limit` are marked unless `known_vertices`; a `spill` log takes a copy."""
    presence = None if known_vertices else Presence(id_limit)
    tallies = [Tally() for _ in range(threads)]
    by_bytes = source.total_bytes is not None and not hasattr(source, "chunk_count")
    total = source.total_bytes if by_bytes else getattr(source, "edge_count", None)
    ticker = Ticker(hook, "read", total, "bytes" if by_bytes else "edges")

    buffers: dict[int, Buffers] = {}

    def look(thread: int, item: Any) -> None:
        own = buffers.setdefault(thread, Buffers())
        chunk: EdgeChunk = source.chunk(item, own) if isinstance(item, int) else item  # type: ignore[attr-defined]
        greatest = tallies[thread].add(chunk, weighted)
        if presence is not None and greatest < id_limit:
            presence.mark(chunk.source)
            presence.mark(chunk.target)
        if spill is not None:
            spill.append(chunk)
        if by_bytes:
            ticker.set(source.position())
        else:
            ticker.add(len(chunk))

    for items in stages_of(source):
        run_crew(threads, items, look)
    ticker.finish()
    tally = tallies[0]
    for other in tallies[1:]:
        tally.merge(other)
    if presence is not None and tally.max_id < id_limit:
        _add_listed(source, tally, presence)
    sparse = presence is not None and tally.max_id >= id_limit
    return Scan(spill or source, tally, None if sparse else presence, sparse)


def _add_listed(source: EdgeSource, tally: Tally, presence: Presence) -> None:
    """Mark the vertices of a vertex file. Raises InputError when it must name all vertices but does not."""
    listed = source.vertex_ids()
    if listed is None:
        return
    alone = Presence(presence.limit) if source.closed else presence
    for ids in listed:
        if len(ids):
            tally.min_id, tally.max_id = min(tally.min_id, int(ids.min())), max(tally.max_id, int(ids.max()))
            if tally.max_id >= presence.limit:
                return
            alone.mark(ids.astype(np.uint64))
    if source.closed:
        missing = presence.first_not_in(alone)
        if missing is not None:
            raise InputError(
                f"{source.name}: vertex {missing} has an edge but is not in the vertex file. Add it there."
            )
        presence.bitmap = alone.bitmap


def sample_counts(source: Any, limit: int) -> Tally:
    """A tally of some chunks of a source that is asked by number, its counts scaled up to all of them.

    `limit`: one past the greatest ID. Only the balance of the buckets depends on it.
    """
    tally, buffers = Tally(), Buffers()
    tally.shift = shift_for(limit)
    stages = getattr(source, "stages", 1)
    chosen = np.unique(np.linspace(0, max(0, source.chunk_count - 1), SAMPLED_CHUNKS).astype(np.int64))
    for stage in range(stages):
        if hasattr(source, "enter"):
            source.enter(stage)
        for number in chosen.tolist() if source.chunk_count else []:
            chunk = source.chunk(number, buffers)
            tally.add(EdgeChunk(chunk.source, chunk.target), weighted=False)
    if tally.edges:
        scale = source.chunk_count / len(chosen)
        tally.counts = np.ceil(tally.counts * scale).astype(np.uint64)
    return tally
