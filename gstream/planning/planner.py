"""The planner: makes the plan of a run, one a device, or says how much memory is lacking.

It reads sizes only, never pages, so that `gstream plan` costs nothing. Memory.fit chooses what lies on devices within
the caps; its errors name a cap that is enough, by the same sums that decide what fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from gstream.devices.job import DevicePlan, Range
from gstream.options.run_options import READ_THREADS, RunOptions
from gstream.paging.ownership import Partition
from gstream.paging.page_source import SourcePlan
from gstream.paging.page_table import PageTable
from gstream.planning.cache_slots import coded_room, keeps_all, other_lists, slots_of
from gstream.planning.cost_equations import Constants
from gstream.planning.memory_fit import (
    BLOCK,
    DeviceFit,
    Graph,
    Layout,
    Ring,
    TooLittleError,
    chunk_unit,
    copies_source,
    fit_devices,
    fixed_bytes,
    holds_back,
    layouts,
    takes_message,
    topologies,
    vertex_bytes,
    why_fewer,
)
from gstream.planning.page_sources import bytes_of_pages, bytes_to_tell, plan_sources
from gstream.planning.plan import Plan
from pagestore.errors import CapError, UsageError
from pagestore.layout import HEAD_NEIGHBOURS
from pagestore.sizes import show_things

NO_CAP = 1 << 62
ROW_BYTES = 24  # a row of a rank, while ranks hand each other values by the order of rows: its vertex, rank and place


@dataclass(frozen=True)
class Place:
    """The memory of a device. copies: it is the device's own, so pages are copied to it. cap: bytes it may hold. after:
    devices of ranks before this one."""

    copies: bool
    cap: int = NO_CAP
    after: int = 0


@dataclass(frozen=True)
class Memory:
    """The memory that a run of a compiled program may take, and what it needs whatever its layout is.

    places: one a device. host_memory, taken, later, tells, decodes: as of make_plan.
    """

    code: Any
    graph: Graph
    options: RunOptions
    places: Sequence[Place]
    host_memory: int
    taken: int = 0
    later: int = 0
    tells: bool = False
    decodes: bool = False

    @property
    def staged(self) -> int:
        """Bytes of the longest coded page; 0 where none comes so."""
        tables = [table for table in self.graph.tables.values() if self.decodes and table.places is not None]
        return max((table.longest_coded(self.weights) for table in tables), default=0)

    @property
    def weights(self) -> bool:
        """Whether pages come with their weights."""
        return bool(self.code.uses_edge)

    @property
    def devices(self) -> int:
        return len(self.places)

    @property
    def copies(self) -> bool:
        """Whether any device has memory of its own."""
        return any(place.copies for place in self.places)

    @property
    def hosts(self) -> int:
        """Devices that live in host memory: both caps bind them."""
        return sum(not place.copies for place in self.places)

    def caches(
        self, fit: DeviceFit, used: dict[str, PageTable], known: dict[str, PageTable], partition: Partition,
        number: int, constants: Constants,
    ) -> tuple[dict[str, int], dict[str, int]]:  # fmt: skip
        """What device `number` keeps: (slots of pages by topology, bytes of coded pages by topology). known: as of
        make_plan."""
        if not (self.places[number].copies and self.options.cache_policy):
            return {}, {}
        number += self.places[number].after
        slots = slots_of(used, known, fit.spare, partition, number, self.weights)
        if not self.decodes or self.code.idempotent or self.options.cache_policy != "pinned":
            return slots, {}
        stored = {name: table for name, table in used.items() if table.places is not None}
        owned = {name: partition.share(table.all_pages(), table.stretch, number) for name, table in stored.items()}
        coded = coded_room(stored, slots, fit.spare, owned, self.weights, constants.c2)
        return ({} if coded else slots), coded

    @cached_property
    def page_bytes(self) -> int:
        return max(table.bytes_of(1, self.weights) for table in self.graph.tables.values())

    @cached_property
    def batch_pages(self) -> int:
        """Of the largest batch worth having."""
        tables = self.graph.tables.values()
        stretch, most = min(table.stretch for table in tables), max(table.pages for table in tables)
        page = self.staged or self.page_bytes
        return max(1, min(self.options.batch_on(self.devices, self.staged > 0) // page, stretch, most))

    @property
    def reach(self) -> int:
        return self.graph.tables["out"].reach if "out" in self.graph.tables else 0

    def used(self, layout: Layout) -> dict[str, PageTable]:
        """The page sets that a layout reads, by their names."""
        return {self.graph.tables[name].name: self.graph.tables[name] for name in topologies(layout)}

    def told(self, layout: Layout) -> PageTable | None:
        """The out-pages, over which vertices may tell others of a change; None where they don't."""
        return self.graph.tables["out"] if layout.told else None

    def beside(self, layout: Layout) -> int:
        """Host memory that is needed beside what host devices hold: all vertices' arrays, and the fewest pages."""
        pages = sum(table.least_bytes(self.weights, self.devices, self.hosts) for table in self.used(layout).values())
        return self.taken + sum(self.host_bytes(layout).values()) + pages

    def capacity(self, layout: Layout, number: int) -> int:
        """Bytes of attributes that a device may hold."""
        place = self.places[number]
        return place.cap if place.copies else min(place.cap, (self.host_memory - self.beside(layout)) // self.hosts)

    def host_bytes(self, layout: Layout) -> dict[str, int]:
        """Arrays that host memory holds for all vertices, beside what host devices hold.

        A checkpoint takes bitmaps of active and of held vertices, and at a restart its values beside the run's. Values
        of GPUs take no more than the answer will.
        """
        code, graph = self.code, self.graph
        needs = code.reads() & {"degree", "in_degree"}
        if code.idempotent:
            needs |= {"degree"}  # frontiers are weighed by their edges
        copied = 8 * graph.slice * code.own.shape[1] if graph.of else 0  # by numbers, of which the slice takes memory
        given = code.own.nbytes + copied
        held = {"degrees": graph.vertices * graph.degree_bytes * len(needs), "parameters": given}
        if layout.heads:
            held["heads"] = graph.head_rows[graph.tables["in"].name] * HEAD_NEIGHBOURS * graph.id_bytes
        values = graph.vertices * code.value_dtype.itemsize
        if not layout.resident:
            held["values"] = values * (2 if _double(code, layout) else 1)
        elif self.copies:
            held["values"] = values
        if self.options.checkpoint is not None:
            bitmaps = 2 * 8 * -(-graph.whole // 64)
            held["checkpoint"] = bitmaps + (0 if layout.resident and self.copies else values)
        own = graph.slice * code.value_dtype.itemsize
        if graph.of and graph.stays:
            rows = 0 if graph.in_order else own + graph.slice * ROW_BYTES
            held["values of the slice"] = own + rows
        elif graph.of:
            held["values of all ranks"] = own + graph.of * code.value_dtype.itemsize
        return {name: size for name, size in held.items() if size}

    def fit(self) -> list[DeviceFit]:
        """What lies on each device. Raises UsageError or CapError where nothing fits."""
        candidates = self._candidates()
        if self.copies:
            room = [layout for layout in candidates if self.beside(layout) <= self.host_memory]
            if not room:
                least = min(candidates, key=self.beside)
                raise self._too_little("--host-memory", self.beside(least), least)
            candidates = room
        sizes = self.batch_pages, self.page_bytes, self.reach, self.staged
        rings = [Ring(self.options.streams if place.copies else 0, *sizes) for place in self.places]
        try:
            fits = fit_devices(self.code, self.graph, candidates, rings, self.capacity, self.options.chunk_vertices)
        except TooLittleError as error:
            raise self._refusal(error.needed) from None
        if self.options.host_memory is not None and self.later > self.host_memory:
            raise self._too_little("--host-memory", self.later, fits[0].layout)
        return fits

    def _refusal(self, needed: dict[Layout, int]) -> CapError:
        """Of layouts that lack memory. needed: bytes on a device. The device's cap is named among those that the host's
        leaves room for."""
        whole = {layout: self.beside(layout) + self.hosts * need for layout, need in needed.items()}
        room = [layout for layout in needed if whole[layout] <= self.host_memory]
        if not room:
            least = min(whole, key=whole.__getitem__)
            return self._too_little("--host-memory", whole[least], least)
        least = min(room, key=needed.__getitem__)
        return self._too_little("--device-memory", needed[least], least)

    def _candidates(self) -> list[Layout]:
        """Layouts that the store's topologies and the options allow, best first. Raises UsageError."""
        direction, graph = self.options.direction, self.graph
        found = layouts(self.code, graph, direction, self.options.use_heads, self.tells)
        if not found:
            missing = "out" if direction == "push" or "in" in graph.tables else "in"
            if graph.turned:
                missing = "in" if missing == "out" else "out"
            raise UsageError(
                f"--direction {direction}: the store has no {missing}-topology, which that needs. "
                "Leave the option out, or convert with --topology both."
            )
        if self.options.chunk_vertices is not None and self.options.chunk_vertices < graph.vertices:
            return [layout for layout in found if not layout.resident] or found
        return found

    def _too_little(self, option: str, need: int, layout: Layout) -> CapError:
        cap, beside = min(place.cap for place in self.places), ""
        if option == "--host-memory":
            cap, need = self.host_memory, max(need, self.later)
            beside = f"; {self.taken} of them for what the algorithm holds beside the program" if self.taken else ""
        return CapError(
            f"{option} {cap} bytes: too little for this program on {self.graph.vertices} vertices; {need} bytes are "
            f"needed at least ({layout.name}{beside}). Raise {option}.",
            option,
            need,
        )


def make_plan(
    code: Any, graph: Graph, options: RunOptions, places: Sequence[Place], partition: Partition, host_memory: int,
    constants: Constants, known: dict[str, PageTable] | None = None, taken: int = 0, later: int = 0,
    cores: bool = False, tells: bool = False, reads: Callable[[], int] = lambda: READ_THREADS, decodes: bool = False,
) -> Plan:  # fmt: skip
    """Plan a run of a compiled program. Raises UsageError or ResourceError where it can't be done.

    places: one a device; partition: who owns which pages. host_memory: bytes that host memory may hold. known: page
    sets that devices may have cached before: they keep them where there is room for all. taken: bytes that an algorithm
    holds beside the program. later: that it takes in all when the program has ended; a host_memory that lacks them is
    refused here, before any work. cores: the host's stand beside devices that all copy. tells: devices can notify
    (gstream.engine.notify_pull). reads: as of plan_sources. decodes: all devices decode coded pages, and no cores stand
    beside them.
    """
    memory = Memory(code, graph, options, places, host_memory, taken, later, tells, decodes and not cores)
    fits = memory.fit()
    layout, chunk, unit = fits[0].layout, fits[0].chunk, chunk_unit(code)
    used, weights, hosts = memory.used(layout), memory.weights, memory.hosts
    host = memory.host_bytes(layout)
    if hosts:
        fit = next(fit for fit, place in zip(fits, places, strict=True) if not place.copies)
        host |= {f"{name} of {show_things(hosts, 'device')}": size * hosts for name, size in fit.held.items()}
    left = host_memory - taken - sum(host.values())
    told = memory.told(layout)
    kept = (known or {}) | ({} if told is None else {told.name: told})
    caches = [
        memory.caches(fit, used, kept, partition, number, constants)
        for number, fit in enumerate(fits)
    ]  # fmt: skip
    cached = [slots for slots, _ in caches]
    most = {name: max(slots.get(name, 0) for slots in cached) for slots in cached for name in slots}
    counts, told_weights = (memory.devices, hosts), weights and memory.copies  # a device's batches are all alike
    telling = 0 if told is None else bytes_to_tell(told, told_weights, used, weights, counts, left)
    left -= telling
    reading = partial(plan_sources, options=options, cap=host_memory, reads=reads)
    moves_again = not all(keeps_all(table, cached, partition, places[0].after) for table in used.values())
    coded = memory.decodes and (moves_again or not code.idempotent)
    using = partial(reading, used, weights, on_device=most, coded=coded, lists=code.idempotent)
    sources = using(counts=counts, left=left)
    beside, idle = None, ""
    if cores:
        beside, idle = _beside(memory, fits, sources, cached, left, using)
    if beside is not None:
        host["attributes of cores"] = sum(beside.held.values())
        left, counts = left - host["attributes of cores"], (memory.devices + 1, 1)
        sources = using(counts=counts, left=left)
    if told is not None and telling:
        sources |= reading({told.name: told}, told_weights, counts=counts, left=telling, on_device={})
    held = used if told is None else used | {told.name: told}
    host |= bytes_of_pages(sources, held, memory.devices + (beside is not None), max(hosts, int(beside is not None)))
    plans = tuple(_device_plan(memory, fit, *cache) for fit, cache in zip(fits, caches, strict=True))
    slots = {name: sum(plan.cache_pages.get(name, 0) for plan in plans) for name in used}
    whole = not memory.copies or all(slots[name] >= table.pages for name, table in used.items())
    whole &= all(sources[name].resident for name in used)
    chunks = _ranges(graph.vertices, chunk, unit)
    return Plan(
        case=3 if not layout.resident else 1 if whole else 2, sweep=not code.idempotent,
        directions=layout.directions, chunks=chunks,
        start_chunks=_ranges(graph.vertices, chunk, BLOCK), unit=unit, device_plans=plans, partition=partition,
        copies=memory.copies, sends=_sends(code, layout) and len(chunks) == 1, sources=sources,
        heads=graph.tables["in"].name if layout.heads else None, weights=weights,
        double_buffer=_double(code, layout), host_bytes=host, spare_bytes=host_memory - taken - sum(host.values()),
        graph=graph, constants=constants, cores=beside, idle=idle,
        notifies=told is not None and told.name in sources, value_bytes=code.value_dtype.itemsize,
    )  # fmt: skip


def _beside(
    memory: Memory, fits: list[DeviceFit], sources: dict[str, SourcePlan], cached: list[dict[str, int]], left: int,
    reading: Callable[..., dict[str, SourcePlan]],
) -> tuple[DevicePlan | None, str]:  # fmt: skip
    """What cores beside devices that copy hold, or why they stay idle; fixed shares are given anyway. left: bytes of
    host memory that pages may take. reading: plan_sources of the run."""
    fit, used, fixed = fits[0], memory.used(fits[0].layout), memory.options.dispatch == "fixed"
    code, graph = memory.code, memory.graph
    held = fixed_bytes(code, fit.layout, graph, False)
    held["WA"] = max(fit.chunk, min(BLOCK, graph.vertices)) * vertex_bytes(code, fit.layout, graph, False)
    try:
        with_cores = reading(counts=(memory.devices + 1, 1), left=left - sum(held.values()))
    except CapError:
        return None, "the host's memory has no room for their attributes"
    whole = all(sum(slots.get(name, 0) for slots in cached) >= used[name].pages for name in used)
    if idle := "" if fixed else idle_cores(whole, all(plan.resident for plan in with_cores.values())):
        return None, idle
    plan = DevicePlan(
        resident=fit.layout.resident, message=takes_message(code, fit.layout),
        source_copy=copies_source(code, fit.layout), chunk=fit.chunk, heads=fit.layout.heads, open_bits=code.has_done,
        senders=graph.reached("out"), receivers=graph.reached("in"), held=held,
    )  # fmt: skip
    return plan, ""


def idle_cores(whole: bool, in_memory: bool) -> str:
    """Why cores have nothing to give; "" where they may have. whole: devices hold all pages; in_memory: the host
    does."""
    if whole:
        return "the devices' memory holds all pages"
    return "" if in_memory else "pages come from disk"


def _device_plan(memory: Memory, fit: DeviceFit, cached: dict[str, int], coded: dict[str, int]) -> DevicePlan:
    """The plan of one device. cached: slots of its page cache, by topology; coded: bytes of coded pages it keeps."""
    code, graph, options = memory.code, memory.graph, memory.options
    caches = {f"page cache ({name})": slots * memory.page_bytes for name, slots in cached.items()}
    tables = {table.name: table for table in graph.tables.values()}
    caches |= {f"coded pages ({name})": size for name, size in coded.items()}
    caches["work lists (kept)"] = other_lists({name: tables[name] for name in cached}, memory.used(fit.layout))
    return DevicePlan(
        resident=fit.layout.resident, message=takes_message(code, fit.layout),
        source_copy=copies_source(code, fit.layout), chunk=fit.chunk, reach=memory.reach, heads=fit.layout.heads,
        open_bits=code.has_done, held_bits=holds_back(code, fit.layout, graph),
        by_degree=graph.by_degree, streams=max(1, fit.streams),
        fewer=why_fewer(fit.streams, options.streams, memory.page_bytes * fit.batch_pages) if fit.streams else "",
        batch_pages=fit.batch_pages or memory.batch_pages, coded_bytes=fit.batch_pages * memory.staged,
        cache_pages=cached, kept_coded=coded, policy=options.cache_policy, micro=options.micro,
        senders=graph.reached("out"), receivers=graph.reached("in"),
        held=fit.held | {name: size for name, size in caches.items() if size},
        spare_bytes=max(0, fit.spare - sum(caches.values())),
    )  # fmt: skip


def _sends(code: Any, layout: Layout) -> bool:
    """Whether a message of a pull of sums depends on its vertex alone: `apply` does not know yet what totals are."""
    fits = layout.resident and layout.directions == ("pull",) and takes_message(code, layout)
    return fits and not code.idempotent and not any(kind == "g" for kind, _ in code.emitter.reads("send"))


def _double(code: Any, layout: Layout) -> bool:
    """A push by chunks reads old values of all vertices while new ones are stored."""
    return not layout.resident and not code.in_place and "push" in layout.directions


def _ranges(vertices: int, chunk: int, unit: int) -> list[Range]:
    step = max(1, vertices) if chunk >= vertices else max(unit, chunk // unit * unit)
    return [(first, min(first + step, vertices)) for first in range(0, vertices, step)]
