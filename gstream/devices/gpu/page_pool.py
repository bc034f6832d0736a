"""Pages in a GPU's memory: the ring of its streams, the page caches, what kernels read of the directory, launches.

A pool outlives runs: while plans agree, what is cached stays cached. Stores never change, so neither do pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gstream.devices.batch_ring import BatchRing
from gstream.devices.gpu.arrays import LARGEST_ADDRESS
from gstream.devices.gpu.coded import Decoder, KeptCoded
from gstream.devices.gpu.driver import Gpu, Launcher
from gstream.devices.gpu.memory import Memory
from gstream.devices.gpu.stream_lane import ENTRY, Lane
from gstream.devices.job import DevicePlan
from gstream.paging.gpu_parts import carried, make_parts, micro_groups
from gstream.paging.page_table import PageTable
from pagestore.concurrency import cached_property

TOLD = (
    "way", "vertices", "edges", "unexplored", "pulled", "last_vertices", "stale", "looked", "pages", "nanoseconds",
    "blocked",
)  # fmt: skip
# Where things are in struct Course of cuda/ahead.cu, in words: Ahead, Rules, two Ways, Claims; after it the size of a
# frontier.
WAYS, WAY_WORDS = 14, 8
COURSE_WORDS = WAYS + 2 * WAY_WORDS + 4
AT_ONCE = 3  # supersteps that are queued ahead: one takes a GPU about as long as queueing it takes


class GpuTable:
    """One topology's directory on a GPU.

    parts: the work list of all pages; part_of[p]: the first part of page p (int64[pages + 1], on the host, and for
    cuda/ahead.cu on the GPU, with the rows of cached pages and room for entries); lists: uint32[pages], wanted ones;
    carried: how many parts have a sum carried on (worklists.carried); carries: bool[pages], whether a page's parts do;
    place_of: where, uint32[parts]; hub_ids: uint64[hubs], whose they are, ascending; hub_starts: uint64[hubs + 1],
    where the sums of each begin; both on the host, and on the GPU as hubs and starts; first_vertex, last_vertex:
    uint64[pages].
    """

    def __init__(self, memory: Memory, table: PageTable, plan: DevicePlan) -> None:
        """memory: what its arrays are given back with."""
        self.gpu, self.table, self.page_words = memory.gpu, table, table.layout.words
        large = table.all_pages() >= table.small_pages
        parts = make_parts(
            table.all_pages(), large, table.records, table.edges,
            micro_groups(
                plan.micro, table.records, table.edges, table.group, table.page_layout,
                table.last_vertex - table.first_vertex + np.uint64(1), plan.lanes,
            ),
            table.layout.header_words,
        )  # fmt: skip
        self.part_of = np.searchsorted(parts[:, 0], np.arange(table.pages + 1))
        order, vertices = carried(parts, table.first_vertex)
        self.carried, places = len(order), np.zeros(len(parts), np.uint32)
        self.carries = np.zeros(table.pages, bool)
        self.carries[parts[order, 0]] = True
        places[order] = np.arange(len(order), dtype=np.uint32)
        self.hub_ids, starts = np.unique(vertices, return_index=True)
        self.hub_starts = np.append(starts, self.carried).astype(np.uint64)
        self.parts, self.place_of = memory.upload(parts), memory.upload(places)
        self.hubs, self.starts = memory.upload(self.hub_ids), memory.upload(self.hub_starts)
        self.first_vertex, self.last_vertex = memory.upload(table.first_vertex), memory.upload(table.last_vertex)
        self.lists = memory.upload(np.zeros(-(-table.pages // 2), np.uint64))  # wanted ones, a u32 a page
        self._entries, self._put = memory.take(table.pages, ENTRY), np.zeros(0, ENTRY)
        self._part_of = memory.upload(self.part_of.astype(np.uint64))
        self._rows, self._located = memory.take(table.pages, np.uint32), -1
        self._chosen = memory.take(table.pages, ENTRY)  # of launches that the GPU makes up itself

    def entries_of(self, numbers: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """ENTRY[n] of pages (int64[n], ascending) that lie in `rows`: the parts of one launch over them."""
        first = self.part_of[numbers]
        counts = self.part_of[numbers + 1] - first
        entries = np.empty(len(numbers), ENTRY)
        entries["end"] = ends = np.cumsum(counts)
        entries["row"] = rows
        entries["shift"] = first - (ends - counts)
        return entries

    def where(
        self, numbers: np.ndarray, rows: np.ndarray, stream: object, lane: Lane | None = None
    ) -> tuple[int, int]:  # fmt: skip
        """`entries` and `base` of a launch over these pages; queues the copy of its entries, if it needs any."""
        if follows(numbers, rows):
            return 0, int(numbers[0] - rows[0])
        entries = self.entries_of(numbers, rows)
        return self.put(entries, stream) if lane is None else lane.put_entries(entries)

    def put(self, wanted: np.ndarray, stream: object) -> tuple[int, int]:
        """(address, number) of ENTRY[n] as of entries_of, and of no others; queues their copy where they changed."""
        if wanted is not self._put:  # comparing takes as long as a launch
            if not np.array_equal(wanted, self._put):
                self.gpu.write(self._entries.address, wanted, stream)
            self._put = wanted
        return self._entries.address, len(wanted)

    def locate(self, ring: BatchRing) -> None:
        """Say on the GPU where pages are cached now."""
        if self._located != (changes := ring.changes(self.table)):
            self.gpu.write(self._rows.address, ring.rows_of(self.table))
            self._located = changes

    def way(self) -> tuple[int, ...]:
        """struct Way of cuda/ahead.cu."""
        arrays = (self.first_vertex, self.last_vertex, self._part_of, self.parts, self._rows, self.lists, self._chosen)
        return (*(array.address for array in arrays), self.table.pages)


@dataclass(frozen=True)
class Launch:
    """Pages that are to be processed: numbers int64[n], ascending, of one topology, in rows int64[n].

    words, weights: addresses of row 0 of the pages and of what is beside them, on the GPU or in pinned host memory;
    claims: address of Claims in cuda/pages.cuh that no launch under way has;
    entries, base: see Pool in cuda/pages.cuh; the address is 0 where there are none, and base may be negative then.
    lane: None for cached pages. far: the pages are in host memory.
    """

    words: int
    weights: int
    claims: int
    table: GpuTable
    numbers: np.ndarray
    rows: np.ndarray
    entries: int
    base: int
    lane: Lane | None
    far: bool = False

    def arguments(self) -> tuple[int, ...]:
        """The first arguments of every kernel over pages, from words to part_count."""
        first, count = self.parts
        table, base = self.table, self.base & LARGEST_ADDRESS
        where = (self.words, self.weights, table.page_words, self.entries, base, self.far, table.first_vertex.address)
        return (*where, table.parts.address, first, count, self.claims)

    @cached_property
    def parts(self) -> tuple[int, int]:
        """First part, where there are no entries, and number of parts."""
        part_of, numbers = self.table.part_of, self.numbers
        if self.entries:
            return 0, int((part_of[numbers + 1] - part_of[numbers]).sum())
        first = int(part_of[numbers[0]])
        return first, int(part_of[numbers[-1] + 1]) - first

    def blocks(self, kernel: Launcher) -> int:
        """How many of a kernel's blocks there is work for: a warp takes a part."""
        return kernel.blocks(self.parts[1])


class PagePool(Memory):
    """Rows for pages and for their weights, the lanes that fill them, and the tables of all topologies of a plan.

    told, course, over: of supersteps made ahead: pinned rows in which they tell what they were, what they begin from,
    and events. kept: coded pages that stay, by topology. far: the lane of launches over pages in host memory.
    held_claims: address of the claims (cuda/pages.cuh) of launches over cached pages, which come one after the other;
    lanes have their own. made: what was made of pages that stay, for runs to come; None: nothing.
    """

    made: Memory | None = None

    def __init__(self, gpu: Gpu, plan: DevicePlan, tables: dict[str, PageTable], weights: bool) -> None:
        super().__init__(gpu)
        self._key = _key(plan, weights)
        self.ring = BatchRing(plan, tables)
        self.lanes, self.far, self.copies = [Lane(gpu) for _ in range(plan.streams)], Lane(gpu), gpu.stream()
        table = next(iter(tables.values()))
        self.over = [gpu.event() for _ in range(AT_ONCE + 2)]
        try:
            self.told = gpu.pinned((AT_ONCE + 2, len(TOLD)), np.uint64)
            self.course = gpu.pinned(COURSE_WORDS, np.uint64)
            self.pages = self.take(self.ring.rows * table.page_bytes, np.uint8)
            weight_bytes = self.ring.rows * (table.weight_page_bytes if weights else 0)
            self.weights = self.take(weight_bytes, np.uint8)
            claims = self.upload(np.zeros(2 * (plan.streams + 2), np.uint64))
            for number, lane in enumerate(self.all_lanes):
                lane.claims = claims.at(2 * number)
            self.held_claims = claims.at(2 * (plan.streams + 1))
            self.coded_bytes = plan.coded_bytes
            self.coded = self.take(plan.streams * plan.coded_bytes, np.uint8)
            self.kept = {name: KeptCoded(self, tables[name], size, weights) for name, size in plan.kept_coded.items()}
            self._decoders: dict[str, Decoder] = {}
            self.tables = {name: GpuTable(self, known, plan) for name, known in tables.items()}
        except BaseException:
            self.let_go()
            raise

    def serves(self, plan: DevicePlan, tables: dict[str, PageTable], weights: bool) -> bool:
        """Whether another job with that plan can go on with it; tables that it has no use for are in no plan."""
        return self._key == _key(plan, weights) and self.tables.keys() == tables.keys()

    @property
    def memory_bytes(self) -> int:
        made = 0 if self.made is None else self.made.memory_bytes
        return super().memory_bytes + made + sum(lane.memory_bytes for lane in self.all_lanes)

    def keep_made(self, made: Memory | None) -> None:
        """Keep this instead of what was kept; nothing that works with that may be queued."""
        if self.made is not None:
            self.made.free()
        self.made = made

    def launch(
        self, table: PageTable, numbers: np.ndarray, rows: np.ndarray, lane: Lane | None = None, stream: Any = None
    ) -> Launch:
        """Over pages in rows of the pool. lane: brings them there; None: they are cached, and `stream` is theirs."""
        known = self.tables[table.name]
        claims = self.held_claims if lane is None else lane.claims
        where = known.where(numbers, rows, stream, lane)
        return Launch(self.pages.address, self.weights.address, claims, known, numbers, rows, *where, lane)

    def decoder(self, table: PageTable) -> Decoder:
        """What decodes a topology's pages; made when the first ones come."""
        if table.name not in self._decoders:
            self._decoders[table.name] = Decoder(self, table)
        return self._decoders[table.name]

    def misled(self, stream: Any) -> str | None:
        """The topology of coded pages that named what is no vertex, as far as is known after `stream`; if any."""
        return next((name for name, decoder in self._decoders.items() if decoder.told(stream)), None)

    @property
    def all_lanes(self) -> list[Lane]:
        return [*self.lanes, self.far]

    def free(self) -> None:
        """Give memory and streams back; nothing may be queued."""
        super().free()
        self.keep_made(None)
        for lane in self.all_lanes:
            lane.free()
        self.lanes, self.over, self.copies = [], [], None  # not later, when an error's traceback lets go of this pool


def _key(plan: DevicePlan, weights: bool) -> tuple[object, ...]:
    """What two jobs must agree in to share a pool."""
    slots = {name: count for name, count in plan.cache_pages.items() if count}
    coded = plan.coded_bytes, plan.kept_coded
    return (plan.streams, plan.batch_pages, coded, slots, plan.policy, plan.micro, plan.lanes, weights)


def follows(numbers: np.ndarray, rows: np.ndarray) -> bool:
    """Whether pages (int64[n], ascending) and their rows are both without gaps."""
    return int(numbers[-1] - numbers[0]) == len(numbers) - 1 and is_run(rows)


def is_run(rows: np.ndarray) -> bool:
    """Whether rows (int64[n], distinct) are neighbours in ascending order."""
    return int(rows[-1] - rows[0]) == len(rows) - 1 and bool((rows[1:] > rows[:-1]).all())
