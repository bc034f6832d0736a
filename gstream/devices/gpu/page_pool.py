"""Pages in a GPU's memory: the ring of its streams, the page caches, and what kernels read of the directory.

A pool outlives runs: while plans agree, what is cached stays cached. Stores never change, so neither do pages.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from gstream.devices.autonomous import COURSE_WORDS, TOLD
from gstream.devices.batch_ring import BatchRing
from gstream.devices.gpu.driver import Array, Gpu
from gstream.devices.gpu.stream_lane import ENTRY, Lane
from gstream.devices.job import DevicePlan
from gstream.paging.gpu_parts import carried, make_parts, micro_groups
from gstream.paging.page_table import PageTable

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

    def __init__(self, gpu: Gpu, table: PageTable, micro: str, arrays: list[Array]) -> None:
        """`arrays` takes what is allocated, as it is."""
        self.gpu, self.table = gpu, table
        large = table.all_pages() >= table.small_pages
        parts = make_parts(
            table.all_pages(), large, table.records, table.edges,
            micro_groups(
                micro, table.records, table.edges, table.group, table.page_layout,
                table.last_vertex - table.first_vertex + np.uint64(1),
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

        def keep(array: Array) -> Array:
            arrays.append(array)
            return array

        self.parts, self.place_of = keep(gpu.upload(parts)), keep(gpu.upload(places))
        self.hubs, self.starts = keep(gpu.upload(self.hub_ids)), keep(gpu.upload(self.hub_starts))
        self.first_vertex, self.last_vertex = keep(gpu.upload(table.first_vertex)), keep(gpu.upload(table.last_vertex))
        self.lists = keep(gpu.upload(np.zeros(-(-table.pages // 2), np.uint64)))  # wanted ones, a u32 a page
        self._entries, self._put = keep(gpu.empty(table.pages, ENTRY)), np.zeros(0, ENTRY)
        self._part_of = keep(gpu.upload(self.part_of.astype(np.uint64)))
        self._rows, self._located = keep(gpu.empty(table.pages, np.uint32)), -1
        self._chosen = keep(gpu.empty(table.pages, ENTRY))  # of launches that the GPU makes up itself

    def entries_of(self, numbers: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """ENTRY[n] of pages (int64[n], ascending) that lie in `rows`: the parts of one launch over them."""
        first = self.part_of[numbers]
        counts = self.part_of[numbers + 1] - first
        entries = np.empty(len(numbers), ENTRY)
        entries["end"] = ends = np.cumsum(counts)
        entries["row"] = rows
        entries["shift"] = first - (ends - counts)
        return entries

    def put_entries(self, numbers: np.ndarray, rows: np.ndarray, stream: object) -> tuple[int, int]:
        """(address, number) of the entries of these pages and no others; queues their copy where they changed."""
        return self.put(self.entries_of(numbers, rows), stream)

    def put(self, wanted: np.ndarray, stream: object) -> tuple[int, int]:
        """The same for ENTRY[n] as of entries_of."""
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


class PagePool:
    """Rows for pages and for their weights, the lanes that fill them, and the tables of all topologies of a plan.

    told, course, over: of supersteps made ahead: pinned rows in which they tell what they were, what they begin from,
    and events. far: the lane of launches over pages in host memory. held_claims: address of the claims
    (cuda/pages.cuh) of launches over cached pages, which come one after the other; lanes have their own.
    """

    def __init__(self, gpu: Gpu, plan: DevicePlan, tables: dict[str, PageTable], weights: bool) -> None:
        self._key = _key(plan, weights)
        self.ring = BatchRing(plan, tables)
        self.lanes, self.far, self.copies = [Lane(gpu) for _ in range(plan.streams)], Lane(gpu), gpu.stream()
        self._arrays: list[Array] = []
        table = next(iter(tables.values()))
        self.over = [gpu.event() for _ in range(AT_ONCE + 2)]
        try:
            self.told = gpu.pinned((AT_ONCE + 2, len(TOLD)), np.uint64)
            self.course = gpu.pinned(COURSE_WORDS, np.uint64)
            self.pages = self._keep(gpu.empty(self.ring.rows * table.page_bytes, np.uint8))
            weight_bytes = self.ring.rows * (table.weight_page_bytes if weights else 0)
            self.weights = self._keep(gpu.empty(weight_bytes, np.uint8))
            claims = self._keep(gpu.upload(np.zeros(2 * (plan.streams + 2), np.uint64)))
            for number, lane in enumerate(self.all_lanes):
                lane.claims = claims.at(2 * number)
            self.held_claims = claims.at(2 * (plan.streams + 1))
            self.tables = {name: GpuTable(gpu, known, plan.micro, self._arrays) for name, known in tables.items()}
        except BaseException:
            with suppress(gpu.cuda.Error):  # follows the one that is on its way
                self.free()
            raise

    def _keep(self, array: Array) -> Array:
        self._arrays.append(array)
        return array

    def serves(self, plan: DevicePlan, tables: dict[str, PageTable], weights: bool) -> bool:
        """Whether another job with that plan can go on with it; tables that it has no use for are in no plan."""
        return self._key == _key(plan, weights) and self.tables.keys() == tables.keys()

    @property
    def memory_bytes(self) -> int:
        return sum(array.nbytes for array in self._arrays) + sum(lane.memory_bytes for lane in self.all_lanes)

    @property
    def all_lanes(self) -> list[Lane]:
        return [*self.lanes, self.far]

    def free(self) -> None:
        """Give memory and streams back; nothing may be queued."""
        for array in self._arrays:
            array.free()
        for lane in self.all_lanes:
            lane.free()
        self.lanes, self.over, self.copies = [], [], None  # not later, when an error's traceback lets go of this pool


def _key(plan: DevicePlan, weights: bool) -> tuple[object, ...]:
    """What two jobs must agree in to share a pool."""
    slots = {name: count for name, count in plan.cache_pages.items() if count}
    return (plan.streams, plan.batch_pages, slots, plan.policy, plan.micro, weights)
