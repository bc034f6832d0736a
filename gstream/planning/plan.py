"""The plan of a run: what is resident, the chunks of WA, batches and caches; and what it will move and take.

gstream.planning.planner makes it. A plan fixes everything that memory decides; what the frontier decides (push or
pull, which pages) is chosen in every superstep (gstream.engine.direction).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gstream.devices.job import DevicePlan, Range
from gstream.options.run_options import READ_THREADS
from gstream.paging.ownership import Partition, count_batches, slices
from gstream.paging.page_cache import PageCache
from gstream.paging.page_source import SourcePlan
from gstream.paging.page_table import PageTable
from gstream.planning.cost_equations import Constants, superstep_seconds
from gstream.planning.memory_fit import Graph
from pagestore.errors import ResourceError

SHARED = 0.85  # of their rate alone that cores have while a link copies from the same memory (measured: 0.82)

SWEEPS_TRIED = 8  # of a cache by LRU, whose hits repeat from the second or third on
STEPS = 64  # in which pages as many as its slots come
FEWEST_SLOTS = 50  # pages a slot, from which on nothing is hit


@dataclass(frozen=True)
class Plan:
    """One run's plan, with one for each device in device_plans. Bytes by name in host_bytes.

    case: the thesis's case 1, 2 or 3. sweep: every superstep visits all pages (SUM), so predictions are exact.
    chunks: ranges of vertices for the join; start_chunks: the same, or larger, in whole blocks of totals.
    sources: page set's name -> how host memory holds it; unread: pages of it that are to stay there and have yet to be
    read. in_host_cache, on_devices: pages of it that runs before left in caches, how many, and which on each device.
    spare_bytes: what the run leaves of the host memory that it may take. partition: who owns which pages at first.
    copies: whether any device has memory of its own. sends: `apply` may send messages in place of values, as each
    depends on its vertex alone (gstream.devices.base.Exchange.attach). cores: what the host's cores hold beside the
    devices, where they may take pages; core_constants: how fast they are. idle: why cores that are there don't.
    notifies: a superstep of SUM may sum again the lists of those vertices alone that active ones tell over the
    out-pages, which have a source, too (gstream.engine.notify_pull). spared: devices that were asked for, and would
    make it slower. value_bytes: of a vertex's value. read_threads, disks: threads that read ahead from each disk,
    and how many there are.
    """

    case: int
    sweep: bool
    directions: tuple[str, ...]
    chunks: list[Range]
    start_chunks: list[Range]
    unit: int
    device_plans: tuple[DevicePlan, ...]
    partition: Partition
    copies: bool
    sends: bool
    sources: dict[str, SourcePlan]
    heads: str | None
    weights: bool
    double_buffer: bool
    host_bytes: dict[str, int]
    spare_bytes: int
    graph: Graph
    constants: Constants
    cores: DevicePlan | None = None
    core_constants: Constants | None = None
    idle: str = ""
    notifies: bool = False
    value_bytes: int = 4
    spared: int = 0
    unread: dict[str, int] = field(default_factory=dict)
    in_host_cache: dict[str, int] = field(default_factory=dict)
    on_devices: dict[str, list[np.ndarray]] = field(default_factory=dict)
    read_threads: int = READ_THREADS
    disks: int = 1

    @property
    def device(self) -> DevicePlan:
        """The plan of the first device, for what is the same on all."""
        return self.device_plans[0]

    @property
    def devices(self) -> int:
        return len(self.device_plans)

    @property
    def device_bytes(self) -> dict[str, int]:
        """Bytes by name of the device that holds most."""
        return max((plan.held for plan in self.device_plans), key=lambda held: sum(held.values()))

    def slots(self, table: PageTable) -> list[int]:
        """Of each device's page cache, for a page set; or as many coded pages as it keeps."""
        kept = max(1, table.stored_bytes(table.pages, self.weights)), table.pages
        return [
            plan.cache_pages.get(table.name) or plan.kept_coded.get(table.name, 0) * kept[1] // kept[0]
            for plan in self.device_plans
        ]

    def slices(self, chunk: Range, unit: int | None = None, heavy: int = 0) -> list[Range]:
        """One slice a device of all processes, in order (gstream.paging.ownership.slices)."""
        if self.graph.own is not None:
            return self.graph.own.regions
        return slices(chunk, unit or self.unit, self.partition.devices, heavy)

    def table(self, direction: str) -> PageTable:
        """The page set that a direction reads: out-pages by a push, in-pages by a pull."""
        return self.graph.tables["out" if direction == "push" else "in"]

    def passes(self, direction: str) -> list[np.ndarray]:
        """Page numbers of a full sweep, one array a chunk: a push sees all pages, a pull those of the chunk."""
        table = self.table(direction)
        if direction == "push" or len(self.chunks) == 1:
            return [table.all_pages()] * len(self.chunks)
        return [table.pages_of_range(*chunk) for chunk in self.chunks]

    def page_rates(self, table: PageTable, direction: str) -> tuple[float, float]:
        """Pages a second of all devices' links, and of the cores beside them (0: there are none)."""
        devices = self.constants.c2 * self.devices / max(1, self.moved_bytes(table, 1))
        if self.cores is None or self.core_constants is None:
            return devices, 0.0
        edges = max(1.0, float(table.edges.sum()) / max(1, table.pages))
        return devices, SHARED * self.core_constants.edges(direction) / edges

    def device_share(self, direction: str) -> float:
        """Of the pages that must come: those that devices take, not the cores."""
        devices, cores = self.page_rates(self.table(direction), direction)
        return devices / (devices + cores)

    def sweep_bytes(self, supersteps: int) -> int:
        """Bytes of pages that `supersteps` full sweeps move, cache hits taken off; 0 for frontier programs."""
        if not self.sweep:
            return 0
        table = self.table(self.directions[0])
        moved = 0
        for number, slots in enumerate(self.slots(table)):
            asked = [self.partition.share(pages, table.stretch, number) for pages in self.passes(self.directions[0])]
            hits = _cache_hits(asked, slots, self.device.policy, supersteps, self._held(table, number))
            moved += supersteps * sum(map(len, asked)) - hits
        return self.moved_bytes(table, int(moved * self.device_share(self.directions[0])))

    def moved_bytes(self, table: PageTable, pages: int) -> int:
        """Bytes that cross a device's link for so many pages: of coded ones so many times the mean."""
        source = self.sources.get(table.name)
        coded = source is not None and source.coded
        return (table.stored_bytes if coded else table.bytes_of)(pages, self.weights)

    def decoded_edges(self, table: PageTable, pages: float) -> float:
        """Edges that the cores decode when they read so many pages."""
        source = self.sources[table.name]
        if table.places is None or (source.coded and not source.twice):
            return 0.0
        return self.graph.edges * pages / max(1, table.pages)

    @property
    def tables(self) -> dict[str, PageTable]:
        """The page sets that it uses, or that devices keep in their caches."""
        names = self.sources.keys() | {name for plan in self.device_plans for name in plan.cache_pages}
        return {table.name: table for table in self.graph.tables.values() if table.name in names}

    def _held(self, table: PageTable, number: int) -> np.ndarray:
        """Pages that the cache of a device holds already: int64[n]."""
        return self.on_devices[table.name][number] if self.on_devices.get(table.name) else np.zeros(0, np.int64)

    @property
    def stored_values(self) -> int:
        """Bytes of the values of all vertices in host memory, where they come to devices by chunks."""
        return 0 if self.device.resident else self.host_bytes.get("values", 0)

    @property
    def merged_bytes(self) -> int:
        """Bytes of WA that each device merges with the others in one superstep."""
        return self.device_bytes.get("WA", 0) * len(self.chunks) if self.devices > 1 else 0

    def attribute_seconds(self) -> float:
        """2|WA|/c1: all values out, and as much in, once a run, where they stay on devices behind a link."""
        stay = self.copies and self.device.resident
        return 2 * self.host_bytes.get("values", 0) / self.constants.c1 if stay else 0.0

    def seconds(self, supersteps: int) -> float:
        """Predicted time of so many full sweeps, by equation (1); at the first, caches hold what runs before left."""
        if supersteps == 0:
            return self.attribute_seconds()
        later = (supersteps - 1) * self.superstep_seconds() if supersteps > 1 else 0.0
        return self.attribute_seconds() + self.superstep_seconds(cold=True) + later

    def superstep_seconds(self, cold: bool = False) -> float:
        """Predicted time of one full sweep, by equation (1); cold: the first, with caches as runs before left them."""
        return superstep_seconds(self.constants, devices=self.devices, **self.terms(cold))

    def terms(self, cold: bool = False) -> dict[str, Any]:
        """The terms of equation (1) for one full sweep, as superstep_seconds takes them."""
        direction = self.directions[-1]
        table = self.table(direction)
        again = len(self.chunks) if direction == "push" else 1  # a push sees all pages once a chunk
        passes = self.passes(direction)[: None if again == 1 else 1]
        pages = again * sum(map(len, passes))
        most = max(1, self.device.batch_pages)
        batches = again * sum(count_batches(one, table.stretch, most, table.small_pages) for one in passes)
        source = self.sources[table.name]
        on_devices = sum(self.slots(table))
        hit = min(1.0, on_devices / max(1, table.pages))
        held = sum(len(self._held(table, number)) for number in range(self.devices))
        if self.device.policy == "lru" and hit < 1 and len(self.chunks) > 1:  # other chunks' pages replace a chunk's
            hit, held = 0.0, 0
        slots = source.cache_pages * self.devices + (on_devices if hit else 0)
        if cold:
            hit, slots = min(hit, held / max(1, table.pages)), self.in_host_cache.get(table.name, 0) + held
        from_disk = 0 if source.resident else max(0, pages - slots)
        unread = self.unread.get(table.name, 0) if cold else 0
        share = self.device_share(direction)
        attributes = 0 if self.device.resident else self.device_bytes.get("WA", 0) * len(self.chunks)
        return {
            "attribute_bytes": attributes,
            "page_bytes": int(self.moved_bytes(table, pages) * (1 - hit) * share) if self.copies else 0,
            "disk_bytes": table.stored_bytes(from_disk, self.weights),
            "load_bytes": table.stored_bytes(unread, self.weights),
            "decoded": self.decoded_edges(table, from_disk + unread),
            "batches": batches * (1 - hit) if self.copies else len(self.chunks),
            "edges": self.graph.edges * (len(self.chunks) if direction == "push" else 1),
            "direction": direction,
            "merged_bytes": self.merged_bytes,
        }


def _cache_hits(asked: list[np.ndarray], slots: int, policy: str | None, sweeps: int, held: np.ndarray) -> int:
    """Hits of a device's page cache over so many full sweeps, as the policies of gstream.paging.page_cache have them.

    asked: the pages of one sweep in order, one array a chunk. held: pages that are in the cache. The first others that
    come stay, too, and are hits from then on. Devices take cached pages first, so LRU hits what it has in each sweep,
    before others replace it; by chunks, other chunks' pages do.
    """
    if not slots or policy is None or not sweeps:
        return 0
    order = np.concatenate(asked)
    _, first = np.unique(order, return_index=True)
    if policy == "lru" and slots < len(first):
        if len(asked) > 1:
            return _lru_hits(asked, slots, sweeps, held)
        return int(np.isin(order, held).sum()) + (sweeps - 1) * slots
    fresh = order[np.sort(first)]
    fresh = fresh[~np.isin(fresh, held)]
    if policy == "pinned":
        fresh = fresh[: max(0, slots - len(held))]
    return sweeps * int(np.isin(order, np.append(held, fresh)).sum()) - len(fresh)


def _lru_hits(asked: list[np.ndarray], slots: int, sweeps: int, held: np.ndarray) -> int:
    """The same of LRU over several chunks, by a cache that is asked; later sweeps are as the last one tried."""
    if slots * FEWEST_SLOTS < sum(map(len, asked)):
        return 0
    cache = PageCache(1 + max(int(pages.max(initial=0)) for pages in (*asked, held)), slots, "lru")
    cache.admit(held)
    hits, step = [0], max(1, slots // STEPS)
    for _ in range(min(sweeps, SWEEPS_TRIED)):
        for pages in asked:
            missing = pages[cache.look_up(pages) < 0]
            for begin in range(0, len(missing), step):
                cache.admit(missing[begin : begin + step])
        hits.append(cache.hits)
    return hits[-1] + max(0, sweeps - SWEEPS_TRIED) * (hits[-1] - hits[-2])


def out_of_memory(host_bytes: dict[str, int]) -> ResourceError:
    """What a run raises that host memory ends on; host_bytes: the plan's."""
    largest = sorted(host_bytes.items(), key=lambda item: -item[1])[:3]
    parts = ", ".join(f"{name} {size}" for name, size in largest)
    return ResourceError(
        f"host memory ran out; the run takes {sum(host_bytes.values())} bytes ({parts}). "
        "Pass a lower --host-memory, so that pages are streamed from disk, or end other programs."
    )
