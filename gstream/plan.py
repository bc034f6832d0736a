"""The planner: what is resident, the chunks of WA, batches and caches of a run; and what it will move and take.

`make_plan` reads sizes only, never pages, so that `gstream plan` costs nothing. A plan fixes everything that memory
decides; what the frontier decides (push or pull, which pages) is chosen in every superstep (gstream.direction).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gstream.caching import other_lists, slots_of_run, slots_of_sweep
from gstream.costs import Constants, superstep_seconds
from gstream.devices.base import DevicePlan, Range
from gstream.fit import (
    BLOCK,
    Graph,
    Layout,
    Ring,
    TooLittleError,
    busy_streams,
    chunk_unit,
    copies_source,
    fit_device,
    holds_back,
    layouts,
    takes_message,
    topologies,
    work_list_bytes,
)
from gstream.options import DeviceSpec, RunOptions
from gstream.ownership import cut_batches, share, slices
from gstream.pages import SourcePlan
from gstream.pagetable import LEAST_GROUPS, PageTable
from pagestore.errors import ResourceError, UsageError
from pagestore.layout import HEAD_NEIGHBOURS


@dataclass(frozen=True)
class Plan:
    """One run's plan. Bytes by name in device_bytes (of each device) and host_bytes.

    case: the thesis's case 1, 2 or 3. sweep: every superstep visits all pages (SUM), so predictions are exact.
    chunks: ranges of vertices for the join; start_chunks: the same, or larger, in whole blocks of totals.
    sources: page set's name -> how host memory holds it; unread: pages of it that are to stay there and have yet to be
    read. in_host_cache, on_devices: pages of it that runs before left in caches, how many, and which on each device.
    """

    case: int
    sweep: bool
    directions: tuple[str, ...]
    chunks: list[Range]
    start_chunks: list[Range]
    unit: int
    device: DevicePlan
    devices: int
    copies: bool
    sources: dict[str, SourcePlan]
    heads: str | None
    weights: bool
    double_buffer: bool
    device_bytes: dict[str, int]
    host_bytes: dict[str, int]
    graph: Graph
    constants: Constants
    unread: dict[str, int] = field(default_factory=dict)
    in_host_cache: dict[str, int] = field(default_factory=dict)
    on_devices: dict[str, list[np.ndarray]] = field(default_factory=dict)

    def slices(self, chunk: Range, unit: int | None = None, heavy: int = 0) -> list[Range]:
        """One slice a device, in order (gstream.ownership.slices)."""
        return slices(chunk, unit or self.unit, self.devices, heavy)

    def table(self, direction: str) -> PageTable:
        """The page set that a direction reads: out-pages by a push, in-pages by a pull."""
        return self.graph.tables["out" if direction == "push" else "in"]

    def passes(self, direction: str) -> list[np.ndarray]:
        """Page numbers of a full sweep, one array a chunk: a push sees all pages, a pull those of the chunk."""
        table = self.table(direction)
        if direction == "push" or len(self.chunks) == 1:
            return [table.all_pages() for _ in self.chunks]
        return [table.pages_of_range(*chunk) for chunk in self.chunks]

    def sweep_bytes(self, supersteps: int) -> int:
        """Bytes of pages that `supersteps` full sweeps move, cache hits taken off; 0 for frontier programs."""
        if not self.sweep:
            return 0
        table = self.table(self.directions[0])
        moved = 0
        for number in range(self.devices):
            asked = [share(pages, table.stretch, self.devices, number) for pages in self.passes(self.directions[0])]
            slots = self.device.cache_pages.get(table.name, 0)
            hits = _cache_hits(asked, slots, self.device.policy, supersteps, self._held(table, number))
            moved += supersteps * sum(map(len, asked)) - hits
        return table.bytes_of(moved, self.weights)

    @property
    def tables(self) -> dict[str, PageTable]:
        """The page sets that it uses, or that devices keep in their caches."""
        names = self.sources.keys() | self.device.cache_pages.keys()
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
        direction = self.directions[-1]
        table = self.table(direction)
        pages = sum(map(len, self.passes(direction)))
        batches = sum(
            len(cut_batches(numbers, table.stretch, max(1, self.device.batch_pages), table.small_pages))
            for numbers in self.passes(direction)
        )
        source = self.sources[table.name]
        hit = min(1.0, self.device.cache_pages.get(table.name, 0) * self.devices / max(1, table.pages))
        held = sum(len(self._held(table, number)) for number in range(self.devices))
        if self.device.policy == "lru" and hit < 1:  # a cyclic sweep larger than the cache
            hit, held = 0.0, 0
        slots = (source.cache_pages + (self.device.cache_pages.get(table.name, 0) if hit else 0)) * self.devices
        if cold:
            hit, slots = min(hit, held / max(1, table.pages)), self.in_host_cache.get(table.name, 0) + held
        from_disk = 0 if source.resident else max(0, pages - slots)
        attributes = 0 if self.device.resident else self.device_bytes.get("WA", 0) * len(self.chunks)
        return superstep_seconds(
            self.constants, devices=self.devices, attribute_bytes=attributes,
            page_bytes=int(table.bytes_of(pages, self.weights) * (1 - hit)) if self.copies else 0,
            disk_bytes=table.bytes_of(from_disk, self.weights),
            load_bytes=table.bytes_of(self.unread.get(table.name, 0), self.weights) if cold else 0,
            batches=batches * (1 - hit) if self.copies else len(self.chunks),
            edges=self.graph.edges * (len(self.chunks) if direction == "push" else 1), direction=direction,
            merged_bytes=self.merged_bytes,
        )  # fmt: skip


def _cache_hits(asked: list[np.ndarray], slots: int, policy: str | None, sweeps: int, held: np.ndarray) -> int:
    """Hits of a page cache over so many full sweeps, as the policies of gstream.cache have them.

    asked: the pages of one sweep in order, one array a chunk. held: pages that are in the cache. The first others that
    come stay, too, and are hits from then on.
    """
    if not slots or policy is None or not sweeps:
        return 0
    order = np.concatenate(asked)
    _, first = np.unique(order, return_index=True)
    if policy == "lru" and slots < len(first):
        return 0  # a cyclic sweep larger than the cache
    fresh = order[np.sort(first)]
    fresh = fresh[~np.isin(fresh, held)]
    if policy == "pinned":
        fresh = fresh[: max(0, slots - len(held))]
    return sweeps * int(np.isin(order, np.append(held, fresh)).sum()) - len(fresh)


def make_plan(
    code: Any, graph: Graph, options: RunOptions, specs: list[DeviceSpec], host_memory: int, constants: Constants,
    known: dict[str, PageTable] | None = None, taken: int = 0, later: int = 0,
) -> Plan:  # fmt: skip
    """Plan a run of a compiled program. Raises UsageError or ResourceError where it can't be done.

    host_memory: bytes that host memory may hold. known: page sets that devices may have cached before: they keep them
    where there is room for all. taken: bytes that an algorithm holds beside the program. later: that it takes in all
    when the program has ended; a host_memory that lacks them is refused here, before any work.
    """
    copies = any(spec.kind != "host" for spec in specs)
    candidates = layouts(code, graph, options.direction, options.use_heads)
    if not candidates:
        missing = "out" if options.direction == "push" or "in" in graph.tables else "in"
        if graph.turned:
            missing = "in" if missing == "out" else "out"
        raise UsageError(
            f"--direction {options.direction}: the store has no {missing}-topology, which that needs. "
            "Leave the option out, or convert with --topology both."
        )
    weights, tables = code.uses_edge, {table.name: table for table in graph.tables.values()}
    page = max(table.bytes_of(1, weights) for table in tables.values())
    largest = min(table.stretch for table in tables.values())
    largest = max(1, min(options.batch_on(len(specs)) // page, largest, max(table.pages for table in tables.values())))
    own, hosts = not copies, 0 if copies else len(specs)  # host devices live in host memory: both caps bind
    cap = options.device_memory if options.device_memory is not None else 1 << 62

    def beside(layout: Layout) -> int:
        """Host memory that is needed beside what host devices hold: all vertices' arrays, and the fewest pages."""
        page_sets = {graph.tables[name].name: graph.tables[name] for name in topologies(layout)}
        pages = sum(table.least_bytes(weights, len(specs), hosts) for table in page_sets.values())
        return taken + sum(_host_bytes(code, graph, layout, copies, options).values()) + pages

    def capacity(layout: Layout) -> int:
        return min(cap, (host_memory - beside(layout)) // len(specs)) if own else cap

    if options.chunk_vertices is not None and options.chunk_vertices < graph.vertices:
        candidates = [layout for layout in candidates if not layout.resident] or candidates
    if copies and not any(beside(layout) <= host_memory for layout in candidates):
        least = min(candidates, key=beside)
        raise _too_little("--host-memory", host_memory, max(beside(least), later), graph, least, taken)
    candidates = [layout for layout in candidates if own or beside(layout) <= host_memory]
    reach = graph.tables["out"].reach if "out" in graph.tables else 0
    ring = Ring(options.streams if copies else 0, largest, page, reach)
    try:
        fit = fit_device(code, graph, candidates, ring, capacity, options.chunk_vertices)
    except TooLittleError as error:
        need, layout = error.bytes_needed, error.layout
        if own and capacity(layout) < cap:
            whole = max(beside(layout) + len(specs) * need, later)
            raise _too_little("--host-memory", host_memory, whole, graph, layout, taken) from None
        raise _too_little("--device-memory", cap, need, graph, layout) from None
    if options.host_memory is not None and later > host_memory:
        raise _too_little("--host-memory", host_memory, later, graph, fit.layout, taken)
    host = _host_bytes(code, graph, fit.layout, copies, options) | (_times(fit.held, len(specs)) if own else {})
    used = {graph.tables[name].name: graph.tables[name] for name in topologies(fit.layout)}
    left = host_memory - taken - sum(host.values())
    caches = copies and options.cache_policy is not None
    cached = slots_of_run(used, known or {}, fit.spare, len(specs), weights) if caches else {}
    sources = plan_sources(used, weights, options, (len(specs), hosts), left, host_memory, cached)
    host |= {f"pages ({name})": plan.bytes_held(tables[name]) * (1 if plan.resident else len(specs))
             for name, plan in sources.items()}  # fmt: skip
    lists = sum(hosts * tables[name].host_parts_bytes for name, plan in sources.items() if plan.resident)
    host |= {"work lists": lists} if lists else {}
    device = DevicePlan(
        resident=fit.layout.resident, message=takes_message(code, fit.layout),
        source_copy=copies_source(code, fit.layout), chunk=fit.chunk, reach=reach, heads=fit.layout.heads,
        open_bits=code.has_done, held_bits=holds_back(code, fit.layout, graph),
        by_degree=graph.by_degree, streams=max(1, fit.streams),
        batch_pages=fit.batch_pages or largest,
        cache_pages=cached, policy=options.cache_policy, micro=options.micro,
        senders=graph.reached("out"), receivers=graph.reached("in"),
    )  # fmt: skip
    caches_held = _cache_bytes(device, page, other_lists({name: tables[name] for name in cached}, used))
    device = replace(device, spare_bytes=max(0, fit.spare - sum(caches_held.values())))
    unit = chunk_unit(code)
    fits = all(plan.resident for plan in sources.values()) and (not copies or _all_cached(device, used, len(specs)))
    return Plan(
        case=3 if not fit.layout.resident else 1 if fits else 2, sweep=not code.idempotent,
        directions=fit.layout.directions, chunks=_ranges(graph.vertices, fit.chunk, unit),
        start_chunks=_ranges(graph.vertices, fit.chunk, BLOCK), unit=unit, device=device, devices=len(specs),
        copies=copies, sources=sources, heads=graph.tables["in"].name if fit.layout.heads else None, weights=weights,
        double_buffer=_double(code, fit.layout), device_bytes=fit.held | caches_held, host_bytes=host,
        graph=graph, constants=constants,
    )  # fmt: skip


def make_sweep_plan(
    tables: dict[str, PageTable], weights: bool, options: RunOptions, devices: int, room: int | None,
    known: dict[str, PageTable] | None = None,
) -> DevicePlan:  # fmt: skip
    """Batch buffers and page caches of a device that copies, for sweeps without attributes of the driver's.

    tables: topologies that are swept in turn; each has its part of what may be cached. room: bytes that the device has
    for them; None: no limit. known: as in make_plan.
    """
    page = max(table.bytes_of(1, weights) for table in tables.values())
    lists = sum(work_list_bytes(table) for table in tables.values())
    capacity, stretch = (
        max(0, (1 << 62 if room is None else room) - lists),
        min(table.stretch for table in tables.values()),
    )
    most = max(table.pages for table in tables.values())
    batch = max(1, min(options.batch_on(devices) // page, stretch, most, capacity // (4 * page)))
    streams = max(1, min(options.streams or busy_streams(page * batch), capacity // (2 * page * batch)))
    spare = max(0, capacity - streams * batch * page) if options.cache_policy else 0
    cached = slots_of_sweep(tables, known or {}, spare, devices, weights)
    return DevicePlan(
        resident=True, message=False, source_copy=False, chunk=0, reach=0, heads=False, open_bits=False, senders=0,
        receivers=0,
        streams=streams, batch_pages=batch, cache_pages=cached, policy=options.cache_policy,
        micro=options.micro,
    )  # fmt: skip


def _cache_bytes(device: DevicePlan, page: int, lists: int) -> dict[str, int]:
    """Bytes by name of caches, and of the directories of page sets that are kept for other runs."""
    held = {f"page cache ({name})": slots * page for name, slots in device.cache_pages.items()}
    return {name: size for name, size in {**held, "work lists (kept)": lists}.items() if size}


def _double(code: Any, layout: Layout) -> bool:
    """A push by chunks reads old values of all vertices while new ones are stored."""
    return not layout.resident and not code.in_place and "push" in layout.directions


def _times(held: dict[str, int], devices: int) -> dict[str, int]:
    return {f"{name} of {devices} device(s)": size * devices for name, size in held.items()}


def _ranges(vertices: int, chunk: int, unit: int) -> list[Range]:
    step = max(1, vertices) if chunk >= vertices else max(unit, chunk // unit * unit)
    return [(first, min(first + step, vertices)) for first in range(0, vertices, step)]


def _host_bytes(code: Any, graph: Graph, layout: Layout, copies: bool, options: RunOptions) -> dict[str, int]:
    """Arrays that host memory holds for all vertices, beside what host devices hold.

    A checkpoint takes bitmaps of who is active and who is held back, and where it is gone on from its values beside the
    run's; those of GPUs take no more than the answer will.
    """
    needs = code.reads() & {"degree", "in_degree"}
    if code.idempotent:
        needs |= {"degree"}  # frontiers are weighed by their edges
    held = {"degrees": graph.vertices * graph.degree_bytes * len(needs), "parameters": code.own.nbytes}
    if layout.heads:
        held["heads"] = graph.head_rows[graph.tables["in"].name] * HEAD_NEIGHBOURS * graph.id_bytes
    values = graph.vertices * code.value_dtype.itemsize
    if not layout.resident:
        held["values"] = values * (2 if _double(code, layout) else 1)
    elif copies:
        held["values"] = values
    if options.checkpoint is not None:
        held["checkpoint"] = 2 * 8 * -(-graph.vertices // 64) + (0 if layout.resident and copies else values)
    return {name: size for name, size in held.items() if size}


def _too_little(option: str, cap: int, need: int, graph: Graph, layout: Layout, held: int = 0) -> ResourceError:
    beside = f"; {held} of them for what the algorithm holds beside the program" if held else ""
    return ResourceError(
        f"{option} {cap} bytes: too little for this program on {graph.vertices} vertices; {need} bytes are needed "
        f"at least ({layout.name}{beside}). Raise {option}."
    )


def out_of_memory(host_bytes: dict[str, int]) -> ResourceError:
    """What a run raises that host memory ends on; host_bytes: the plan's."""
    largest = sorted(host_bytes.items(), key=lambda item: -item[1])[:3]
    parts = ", ".join(f"{name} {size}" for name, size in largest)
    return ResourceError(
        f"host memory ran out; the run takes {sum(host_bytes.values())} bytes ({parts}). "
        "Pass a lower --host-memory, so that pages are streamed from disk, or end other programs."
    )


def plan_sources(
    tables: dict[str, PageTable], weights: bool, options: RunOptions, counts: tuple[int, int], left: int, cap: int,
    on_device: dict[str, int],
) -> dict[str, SourcePlan]:  # fmt: skip
    """How host memory holds the pages: all of them where they fit in `left` bytes, else a ring and a cache.

    counts: of devices, and of host devices. on_device: slots of each device's own cache, by topology; pages that these
    keep are not kept here, too. Raises ResourceError, naming the bytes needed, where PageTable.least_bytes do not fit.
    """
    plans: dict[str, SourcePlan] = {}
    (devices, hosts), waiting = counts, sorted(tables.values(), key=lambda table: table.pages)
    least = [table.least_bytes(weights, *counts) for table in waiting]
    if sum(least) > left:
        raise ResourceError(
            f"--host-memory {cap} bytes: too little; {cap - left + sum(least)} bytes are needed at least, of which "
            f"{cap - left} for attributes of vertices. Raise --host-memory."
        )
    for index, table in enumerate(waiting):
        page, whole = table.bytes_of(1, weights), table.whole_bytes(weights, hosts)
        batch = max(1, min(options.batch_on(devices) // page, table.stretch))
        if whole + sum(least[index + 1 :]) <= left:
            plans[table.name] = SourcePlan(True, weights, batch)
            left -= whole
            continue
        budget = left // (len(waiting) - index) // devices
        groups, policy = options.read_threads + 2, options.cache_policy
        most = budget // 2 if policy else budget
        while batch > 1 and groups * batch * page > max(most, LEAST_GROUPS * page):
            batch //= 2
        groups = max(LEAST_GROUPS, min(groups, budget // (batch * page)))
        assert groups * batch * page <= budget, "tables come by size: where all of one has no room, others are as large"
        skip = on_device.get(table.name, 0) if policy == "pinned" else 0
        cache = min((budget - groups * batch * page) // page, max(0, table.pages - skip)) if policy else 0
        plans[table.name] = SourcePlan(False, weights, batch, groups, cache, policy, skip)
        left -= devices * plans[table.name].bytes_held(table)
    return plans


def _all_cached(device: DevicePlan, tables: dict[str, PageTable], devices: int) -> bool:
    return all(device.cache_pages.get(name, 0) * devices >= table.pages for name, table in tables.items())
