"""What a conversion takes: how the memory budget is spent, how large the store and temporary files will be.

partition   threads x (a source chunk + the keys packed from a piece of it)  + rank table [+ all keys]
sort        threads x (2 key buffers + 2 weight buffers + the result of one bucket)  [+ all keys, results so far]
pack        threads x (edges of a range + its pages)                          [+ results]
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pagestore.convert.choose import may_reorder, order_shuffles
from pagestore.convert.locality import room_for_order
from pagestore.convert.options import ConvertOptions
from pagestore.convert.scan import Tally, stored_dtype
from pagestore.convert.shuffle import MAX_BUCKETS
from pagestore.convert.storage import free_bytes
from pagestore.errors import ResourceError
from pagestore.layout import HEAD_NEIGHBOURS, PageLayout
from pagestore.meta import META_BYTES
from pagestore.planning import COLUMN_WASTE
from pagestore.writer import MOST_ALIGNED

KEY_BYTES = 8
USED_SHARE = 0.9  # of the budget; the rest is the allocator's slack and small things
CODE_BYTES = 24 << 20  # machine code of all kernels beyond the 150 MiB that interpreter and libraries may take
LEAST_SHARE = 0.4  # of tiny budgets, which the code alone would use up
IDS_PER_BYTE = 1  # a rank table for IDs below `memory_bytes` takes a quarter of it (presence.py)
LEAST_IDS = 1 << 20
LEAST_SORT_KEYS = 1 << 10
BUCKET_KEYS = 1 << 20  # keys a bucket in memory: 2 x 8 MiB to sort; of 2^18 the blocks would break huge pages
LEAST_BUCKET_KEYS = 1 << 16
PIECE_EDGES = 1 << 18  # edges packed at a time: 2 MiB of keys stay near the core
BUCKET_PIECE = 1 << 12  # edges a bucket gets of a piece: handing over costs 3 us of Python, or a write of 32 KiB
LEAST_PIECE_EDGES = 1 << 10
RANGE_EDGES = 1 << 20  # edges packed into pages at a time: 4 MiB of pages
PACK_BYTES_PER_EDGE = 64
CHUNK_EDGES = 1 << 20
MOST_BUCKETS = 1 << 10  # where vertices without edges are many
RECORD_WORDS = 3  # size word and slot of a list
NAMED_EDGE_BYTES = 24  # hashes and numbers of an edge between names, in temporary files
TABLE_BYTES = 1 << 11  # of HDF5's names
SLACK = 1.02  # small pages end where the next list doesn't fit
SAMPLE_EDGES = 1 << 22  # edges that a dry run reads: 60 MB of text
NS_PER_KEY = 60.0  # one core's time for a stored edge, from chunk to page (measured: bench/results)
NS_PER_NAME = 700.0  # for a distinct name: writing, sorting and numbering it (measured: names.py)
NS_PER_NAMED_EDGE = 100.0  # for an edge between names: from hashes to numbers


@dataclass(frozen=True)
class Budget:
    """Sizes that follow from `memory_bytes` and `threads`; `weight_bytes` of the stored dtype (0: unweighted)."""

    memory_bytes: int
    threads: int
    weight_bytes: int
    target_bytes: int
    table_bytes: int  # rank table, and what else stays all the time
    vertices: int
    keys: int  # keys of one shuffle, at most
    shuffles: int

    @property
    def usable(self) -> int:
        """Bytes to share out."""
        share = max(self.memory_bytes * USED_SHARE - CODE_BYTES, self.memory_bytes * LEAST_SHARE)
        return max(0, int(share) - self.table_bytes)

    @property
    def chunk_edges(self) -> int:
        """Edges a chunk, where the source leaves it to us: an eighth of the budget is in flight at most."""
        most = self.usable // (8 * self.threads * (16 + 3 * KEY_BYTES + self.weight_bytes))
        return min(CHUNK_EDGES, max(LEAST_PIECE_EDGES, most))

    @property
    def sort_limit(self) -> int:
        """Keys that a thread may sort at once when keys and results are in files."""
        return max(LEAST_SORT_KEYS, self.usable // (self.threads * self._sort_bytes))

    @property
    def _sort_bytes(self) -> int:
        """Bytes a key while its bucket is sorted: both buffers, the result, its copy, half a degree."""
        return 2 * (KEY_BYTES + self.weight_bytes) + 2 * (self.target_bytes + self.weight_bytes) + 2

    @property
    def bucket_keys(self) -> int:
        """Keys aimed at for a bucket in memory: small, since nothing is gained by large ones."""
        share = self.keys // (8 * self.threads)
        return max(LEAST_SORT_KEYS, min(self.sort_limit, BUCKET_KEYS, max(LEAST_BUCKET_KEYS, share)))

    def piece_edges(self, buckets: int) -> int:
        """Edges packed at a time: PIECE_EDGES, more when each bucket would get little of that."""
        return min(self.chunk_edges, max(PIECE_EDGES, buckets * BUCKET_PIECE))

    @property
    def _key_bytes(self) -> int:
        return self.keys * (KEY_BYTES + self.weight_bytes)

    @property
    def _working_bytes(self) -> int:
        chunk = CHUNK_EDGES * (16 + 8) + PIECE_EDGES * 2 * (KEY_BYTES + self.weight_bytes)
        bucket = min(max(BUCKET_KEYS, self.keys // MAX_BUCKETS), self.keys) * self._sort_bytes
        return self.threads * max(bucket, min(chunk, self.usable // self.threads // 4))

    @property
    def results_in_memory(self) -> bool:
        """Sorted edges of every shuffle stay in memory, and all vectors of vertices with them."""
        results = self.keys * (self.target_bytes + self.weight_bytes) * (1 if self.shuffles > 1 else 0)
        vectors = self.vertices * (8 + 4 * self.target_bytes)
        return self._key_bytes + results + vectors + self._working_bytes <= self.usable

    @property
    def keys_in_memory(self) -> bool:
        """Keys wait for their sort in memory."""
        return self.results_in_memory or self._key_bytes + self._working_bytes <= self.usable

    @property
    def vertex_window_bytes(self) -> int:
        """Bytes of a window over the vertices (counters, permutation)."""
        return max(1 << 12, self.usable // 2)

    @property
    def bucket_vertices(self) -> int:
        """Vertices a bucket may span: their degrees are counted in memory."""
        return max(self.sort_limit // 2, self.vertices // MOST_BUCKETS, 1)

    @property
    def range_edges(self) -> int:
        """Edges packed into pages at a time."""
        return min(RANGE_EDGES, max(LEAST_PIECE_EDGES, self.usable // (self.threads * PACK_BYTES_PER_EDGE)))

    def id_limit(self) -> int:
        """User IDs below this get a bitmap; others go through the dictionary."""
        return max(LEAST_IDS, self.memory_bytes * IDS_PER_BYTE)


def store_bytes(
    vertices: int, edges: int, topologies: int, options: ConvertOptions, id_bytes: int, weight_bytes: int, named: bool
) -> tuple[int, int]:
    """About how many bytes the pages will take, and all else in the store, with gaps; `edges` of one topology, `named`:
    user IDs are stored."""
    layout = PageLayout(options.page_bytes, id_bytes)
    words = edges + RECORD_WORDS * min(vertices, edges)
    slack = SLACK + (1 / (COLUMN_WASTE - 1) if options.columns > 1 else 0)
    pages = int(words * slack) // (layout.words - layout.header_words) + 1
    weight_page = layout.weight_page_bytes(weight_bytes) if weight_bytes else 0
    page = options.page_bytes + weight_page
    heads = vertices * HEAD_NEIGHBOURS * id_bytes if options.heads else 0
    vectors = vertices * (8 + (8 if named else 0) + (id_bytes if may_reorder(options.order, vertices) else 0))
    rest = topologies * heads + vectors + META_BYTES + TABLE_BYTES
    if not options.stripe:
        sizes = [pages * size for size in (options.page_bytes, weight_page) if size] * topologies
        rest = laid_out(rest, sizes, min(options.page_bytes, MOST_ALIGNED)) - sum(sizes)
    return topologies * pages * page, rest


def laid_out(before: int, sizes: list[int], alignment: int) -> int:
    """Bytes of an HDF5 file with datasets of these sizes behind `before` others: large ones begin at a multiple of
    `alignment`, small ones lie where a gap takes them, and tables follow the first large one."""
    end, gap, tables = before, 0, TABLE_BYTES
    for size in sizes:
        if size < alignment and size <= gap:
            gap -= size
        elif size < alignment:
            end += size
        else:
            begin = -(-end // alignment) * alignment
            end, gap, tables = begin + size + tables, begin - end, 0
    return end


def work_bytes(budget: Budget, heads: int) -> tuple[int, int]:
    """Temporary bytes at most, and what of them is there while pages are packed. heads: bytes of those that will be
    coded."""
    if budget.results_in_memory:
        return heads, heads
    results = budget.keys * (budget.target_bytes + budget.weight_bytes) + budget.vertices * 8
    keys = 0 if budget.keys_in_memory else budget.keys * (KEY_BYTES + budget.weight_bytes)
    return budget.shuffles * results + max(keys, heads), budget.shuffles * results + heads


def waiting_heads(vertices: int, topologies: int, options: ConvertOptions, id_bytes: int) -> int:
    """Bytes of heads that lie in temporary files until they are coded."""
    return 0 if options.compress == "off" or not options.heads else topologies * vertices * HEAD_NEIGHBOURS * id_bytes


def same_disk(first: Path, second: Path) -> bool:
    """True when both folders are in one file system."""
    return os.stat(first).st_dev == os.stat(second).st_dev


def shares(store: Path, stripe: tuple[str, ...], pages: int, rest: int) -> dict[Path, int]:
    """Bytes of a store in each folder that it has files in; `pages`, `rest` as of `store_bytes`."""
    found = dict.fromkeys([store.absolute().parent, *map(Path, stripe)], 0)
    found[store.absolute().parent] += rest
    for folder in map(Path, stripe or [store.absolute().parent]):
        found[folder] += -(-pages // max(1, len(stripe)))
    return found


def needed_bytes(
    store: Mapping[Path, int], work: Path, work_size: int, kept: int, spilled: int = 0
) -> list[tuple[Path, int]]:
    """Free bytes that a conversion needs on each disk: (a folder on it, bytes).

    store: as of `shares`; work: the folder of temporary files. It writes `work_size` temporary bytes at most; `kept` of
    them still lie there while the store is written, and `spilled` of them are written already.
    """
    disks: list[tuple[Path, int]] = []
    for folder, size in store.items():
        other = next((disk for disk in disks if same_disk(disk[0], folder)), None)
        if other is not None:
            disks.remove(other)
        disks.append((folder, size) if other is None else (other[0], other[1] + size))
    for number, (folder, size) in enumerate(disks):
        if same_disk(folder, work):
            disks[number] = folder, max(work_size, kept + size) - spilled
            return disks
    return [*disks, (work, work_size - spilled)]


def check_space(store: Mapping[Path, int], work: Path, work_size: int, kept: int, spilled: int = 0) -> None:
    """Raise ResourceError when a disk lacks room; arguments as of `needed_bytes`."""
    for place, needed in needed_bytes(store, work, work_size, kept, spilled):
        free = free_bytes(place)
        if needed > free:
            raise ResourceError(
                f"{place}: the conversion needs {needed:,} bytes there; {free:,} are free. Free some space, put "
                "temporary files on another disk with --workdir, or raise --memory."
            )


@dataclass(frozen=True)
class Disk:
    """Bytes that a conversion needs on the disk of a folder, and bytes that are free there."""

    folder: str
    needed: int
    free: int


@dataclass(frozen=True)
class Estimate:
    """What a conversion would take, estimated unless `exact`: then all edges were read, and the vertices are known.

    sampled_edges: edges read for it. kept_bytes: temporary bytes while the store is written. disks: what is needed and
    free on each. stripes: files beside the store's main one. size_known: False for a pipe that goes on: the figures are
    of the edges read.
    """

    vertices: int
    input_edges: int
    stored_edges: int  # of one topology
    topologies: int
    weight_dtype: str | None
    exact: bool
    store_bytes: int
    work_bytes: int
    in_memory: bool
    free_store_bytes: int
    free_work_bytes: int
    seconds: float
    threads: int
    sampled_edges: int
    kept_bytes: int
    disks: tuple[Disk, ...]
    stripes: int
    size_known: bool

    @property
    def fits(self) -> bool:
        """Whether the disks have room, by the estimate; the conversion itself asks `check_space`."""
        return all(disk.needed <= disk.free for disk in self.disks)


def estimate(source: Any, path: str | os.PathLike, options: ConvertOptions) -> Estimate:
    """Sizes, free space and time for converting `source`; reads up to SAMPLE_EDGES of it, from a pipe for good."""
    store = Path(path)
    directed = options.is_directed(source.directed)
    weighted = bool(options.weights and (source.weighted or options.keep == "count"))
    topologies = 2 if directed and options.topology == "both" else 1
    tally, read_seconds = Tally(), 0.0
    counted = getattr(source, "edge_count", None)
    chunks = (source.chunk(i) for i in range(source.chunk_count)) if counted is not None else source.chunks()
    started = time.perf_counter()
    ended = size_known = True
    for chunk in chunks:
        tally.add(chunk, weighted)
        if tally.edges >= SAMPLE_EDGES:
            ended = False
            break
    read_seconds = (time.perf_counter() - started) / max(1, tally.edges)
    edges = tally.edges
    if counted is not None:
        edges, ended = counted, tally.edges >= counted
    elif not ended and (size_known := bool(source.total_bytes and source.position())):
        edges = max(tally.edges, int(tally.edges * source.total_bytes / source.position()))
    known = source.vertices if source.vertices is not None else options.num_vertices
    named = hasattr(source, "distinct_names")
    if named:  # hashes stand for names: what was seen of them is scaled up
        known = int(source.distinct_names * edges / max(1, tally.edges))
    vertices = known if known is not None else min(tally.max_id + 1, 2 * edges)
    stored = edges if directed else 2 * edges
    id_bytes = options.id_bytes or (4 if vertices < 1 << 32 else 8)
    tally.round_bits = options.round_weights if ended else None  # of a part, integers say nothing
    dtype = stored_dtype(tally, source.name, weighted)
    width = 0 if dtype is None else dtype.itemsize
    shuffles = topologies + order_shuffles(options.order, vertices, directed)
    held = 0
    if options.order == "llp" and known is not None and not named:  # else vertices are guessed, mostly too many
        held = room_for_order(vertices, 4 if vertices <= 1 << 32 else 8, options.workers, options.memory_bytes)
    budget = Budget(options.memory_bytes, options.workers, width, id_bytes, held, vertices, stored, shuffles)
    pages, rest = store_bytes(vertices, stored, topologies, options, id_bytes, width, known is None)
    work, kept = work_bytes(budget, waiting_heads(vertices, topologies, options, id_bytes))
    folder = store.absolute().parent
    # One core's share for each stored edge and shuffle; reading runs beside it only where the source is ours.
    seconds = stored * shuffles * NS_PER_KEY * 1e-9 / options.workers + edges * read_seconds
    if named:
        seconds += (vertices * NS_PER_NAME + edges * NS_PER_NAMED_EDGE) * 1e-9
        names_bytes = vertices * (8 + source.name_bytes // max(1, 2 * tally.edges))
        rest += names_bytes
        work += edges * NAMED_EDGE_BYTES + names_bytes
    places = shares(store, options.stripe, pages, rest)
    disks = needed_bytes(places, options.workdir or folder, work, kept)
    return Estimate(
        vertices, edges, stored, topologies, None if dtype is None else dtype.name, ended and known is not None,
        pages + rest,
        work, budget.results_in_memory, free_bytes(folder), free_bytes(options.workdir or folder), seconds,
        options.workers, tally.edges, kept,
        tuple(Disk(str(place), needed, free_bytes(place)) for place, needed in disks), len(options.stripe), size_known,
    )  # fmt: skip
