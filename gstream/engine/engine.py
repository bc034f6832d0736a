"""The driver's front: an engine holds devices, page sources and caches of one open store, kept from run to run.

with Engine(store, options) as engine:
    outcome = engine.run(program)           # values in store order, supersteps, converged, stats
    state = engine.sweep("out", kernel)     # a page kernel over one topology
    engine.plan(program)                    # what `run` would hold and move
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from gstream.devices.base import Device, Exchange
from gstream.devices.host.device import HostDevice
from gstream.devices.host.threads import Workers
from gstream.devices.job import DeviceMemoryError, DevicePlan, Job
from gstream.devices.page_kernel import PageKernel
from gstream.engine.checkpoint import Keeper, make_keeper
from gstream.engine.counts import take_counts
from gstream.engine.demand import Demand
from gstream.engine.disk_readers import DiskReaders
from gstream.engine.known_plans import KnownPlans
from gstream.engine.lifted_caps import LiftedCaps
from gstream.engine.make_devices import alone, choose_devices, make_beside, make_devices, make_exchange, memory_for
from gstream.engine.own_slices import OwnSlices, degrees, host_vertices, reads_and_writes, values_bytes
from gstream.engine.rank_parts import check_store
from gstream.engine.rank_sweeps import agreed_capacity, agreed_room, less_room, over_ranks
from gstream.engine.run import Run
from gstream.engine.run_state import Watch
from gstream.engine.superstep import own_share, stream
from gstream.engine.turns import Turn
from gstream.hostcode.compile import GraphShape, compile_host
from gstream.options.memory import spare_memory
from gstream.options.run_options import RunOptions, split_cores
from gstream.options.stopping import Asked
from gstream.paging.kept_memory import MEMORY
from gstream.paging.page_table import PageTable
from gstream.paging.readers import QUIET
from gstream.paging.source_pool import Sources
from gstream.paging.vertex_arrays import VertexArrays
from gstream.planning.cache_slots import keeps_all
from gstream.planning.cost_equations import Constants
from gstream.planning.cost_model import CostModel, is_faster_alone, what_is_there
from gstream.planning.memory_fit import graph_of, work_list_bytes
from gstream.planning.page_sources import plan_sources
from gstream.planning.plan import Plan, out_of_memory
from gstream.planning.planner import NO_CAP, Place
from gstream.planning.sweep_plan import make_sweep_plans
from gstream.telemetry.stats import RunOutcome, RunStats
from pagestore.concurrency import cached_property, wait_ahead_of_others
from pagestore.heap import keep_freed_memory

ROOM_SECONDS = 1.0  # what is free is asked no more often: that takes 0.4 ms
wait_ahead_of_others()  # all code that takes part is loaded


class Engine(LiftedCaps):
    """Runs programs and page kernels over `store` with one set of options. Use from one thread; close it."""

    plans_only = False  # whether there is nothing to run on
    sheet = False  # whether plans rest on figures that nobody measured

    def __init__(self, store: Any, options: RunOptions | None = None, turn: Turn | None = None) -> None:
        self.store, self.options, self.turn = store, options or RunOptions(), turn or Turn(store.path)
        keep_freed_memory()
        self.ranks = ranks = self.options.ranks
        self.in_ranks = ranks is not None
        check_store(store, ranks)
        found, self.note, wanted = choose_devices(self.options, store.meta.edges)
        self.specs, beside = split_cores(wanted)
        self.device_counts = len(self.specs), sum(spec.kind == "host" for spec in self.specs)  # the latter: hosts
        self.graph = graph_of(store, len(self.specs), 1 if ranks is None else ranks.size)
        self.devices: list[Device] = found or make_devices(self.specs, self.options)
        self.exchange = make_exchange(self.devices, ranks, reads_and_writes(store, ranks, self.graph.tables))
        self.note = self.note or self.exchange.note
        self._alone = alone(self.exchange)
        self.own: Any = OwnSlices(store, ranks, self.exchange.devices, self.options.host_memory is not None)
        self.cores = make_beside(self.devices, self.options) if beside else None
        self._server = ThreadPoolExecutor(1, "cores", *QUIET) if beside else None
        self.graph = replace(self.graph, apart=self.exchange.apart)
        self._readers = DiskReaders(store, self.graph.tables, self.options.read_threads)
        poison = any(device.reads_late for device in self.devices)
        capped = self.options.host_memory is not None
        pin = self.devices[0].pin if self.devices[0].pins else None
        self.sources = Sources(store, len(self.devices), pin, self._readers, capped, poison, self.options.trace)
        self.sources.follow(self.options.progress, self.turn.tell)
        self.arrays = VertexArrays(self.devices[0])
        self.costs = CostModel(self.devices, self.options.host_threads, lambda: self.workers)
        self.memory = memory_for(self.options)  # of arrays that calls make
        self.way = ""  # how programs go, values whole, whatever was asked for: auto, push or pull
        self._room = agreed_room(ranks, self.costs)  # when host_memory was looked at, and what it was
        self.most_device_bytes = agreed_capacity(ranks, self.devices)  # or what a device turned out to have
        self.keeper: Keeper | None = None  # of the call that runs programs and sweeps, where it keeps checkpoints
        self._plans = KnownPlans()
        self.swept: dict[str, PageTable] = {}  # topologies that the caller sweeps in turn
        self._known: dict[bool, dict[str, PageTable]] = {False: {}, True: {}}  # page sets so far; True: with weights
        # What the caller holds beside programs and sweeps, in host memory and on each device, and what its call takes
        # in all after the program that runs.
        self.peak = self.beside_bytes = self.beside_device_bytes = self.later_bytes = 0

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End all threads and free pages and devices."""
        self.costs.close()
        self._readers.close()
        self.exchange.close()
        self._alone.close()
        if "workers" in vars(self):
            self.workers.close()
        self.sources.clear()
        self.arrays.keep(set())
        if self._server is not None and self.cores is not None:
            self._server.shutdown()
            self.cores.close()
        for device in self.devices:
            device.close()

    def exchange_of(self, plan: Plan) -> Exchange:
        """How the devices of a plan agree."""
        return self._alone if plan.spared else self.own.exchange_of(plan) or self.exchange

    def serve(self, call: Callable[[], Any]) -> Future[Any]:
        """Call in the thread that works for cores beside other devices."""
        assert self._server is not None
        return self._server.submit(call)

    @cached_property
    def workers(self) -> Workers:
        """Threads for kernels over all vertices, while the devices rest."""
        return Workers(self.options.host_threads, "vertices")

    @property
    def host_memory(self) -> int:
        """Bytes that attributes and pages may take in host memory: the cap, or most of what is free."""
        if self.options.host_memory is not None:
            return self.options.host_memory
        asked, room = self._room
        if time.monotonic() - asked > ROOM_SECONDS:
            room = spare_memory() + self._held_bytes() + self.memory.free_bytes
            self._room = (time.monotonic(), room)
        return room

    @property
    def device_memory(self) -> int | None:
        """Bytes that a device may hold: the cap, or what the fullest device has left; None: no limit."""
        return min((room for room in self._device_memories() if room is not None), default=None)

    def _device_memories(self) -> list[int | None]:
        """Bytes that each device may hold: the cap, or its memory; None: no limit."""
        caps = [size for size in (self.options.device_memory, self.most_device_bytes) if size is not None]
        found = [device.capacity() for device in self.devices]
        return [min([*caps, *([] if size is None else [size])], default=None) for size in found]

    def compile(self, program: Any, limited: bool | None = None) -> Any:
        """HostCode of a program for this store's graph. limited: as of compile_host; None: as the options say."""
        meta, topology = self.store.meta, next(iter(self.graph.tables.values()))
        shape = GraphShape(
            vertices=self.graph.vertices, edges=self.graph.edges, id_dtype=topology.layout.id_dtype,
            weight_dtype=topology.weight_dtype, directed=meta.directed,
            below_zero=meta.edges > 0 and not (meta.min_weight is not None and meta.min_weight >= 0),
        )  # fmt: skip
        limited = self.options.max_supersteps is not None if limited is None else limited
        return compile_host(program, shape, self.store.lookup, limited)

    def plan(self, program: Any, code: Any = None, stay: bool = False) -> Plan:
        """What running `program` will hold and move. stay: as of `run`. Raises UsageError or ResourceError where it
        can't be run."""
        code = code or self.compile(program)
        plan = self._plan_on(self.exchange, program, code, stay)
        if plan.copies and plan.devices > 1 and self.ranks is None:
            one = self._plan_on(self._alone, program, code, stay)
            if is_faster_alone(one, plan):
                now = self.costs.looked_again(plan.constants)
                if now is plan.constants or is_faster_alone(one, replace(plan, constants=now)):
                    return replace(one, spared=plan.devices - 1)
        return plan

    def _plan_on(self, exchange: Exchange, program: Any, code: Any, stay: bool) -> Plan:
        """The plan of a program for the devices of an exchange: all, or the first one."""
        options = replace(self.options, direction=self.way, chunk_vertices=None) if self.way else self.options
        graph = replace(self.graph.turn() if type(program).backward else self.graph, stays=stay)
        caps = [NO_CAP if room is None else room for room in self._device_memories()]
        places = [
            Place(not device.in_place, cap, exchange.first) for device, cap in zip(exchange.devices, caps, strict=False)
        ]
        where = places, exchange.partition, self.host_memory, self._known[code.uses_edge]
        decodes = all(device.decodes for device in exchange.devices)
        reads = self._readers.at_once, self._readers.streamed
        more: Any = (self.beside_bytes, self.later_bytes), self.cores is not None, exchange.notifies, reads, decodes
        plan = self.own.plan(code, graph, options, lambda graph: self._plans.plan(code, graph, options, *where, *more))
        plan = replace(plan, device_plans=tuple(map(self.costs.with_lanes, plan.device_plans)))
        plan = what_is_there(plan, plan.tables, self.sources, exchange.devices)
        cores = None if plan.cores is None else self.costs.core_constants
        constants = self.measure().at(self.graph.vertices, self.graph.by_degree, code.value_dtype.itemsize)
        return replace(self._readers.planned(plan, constants, self.ranks is None), core_constants=cores)

    @property
    def on_gpus(self) -> bool:
        """Whether all devices that hold values are GPUs."""
        return all(spec.kind == "cuda" for spec in self.specs)

    def measure(self) -> Constants:
        """How fast kernels and links are here: measured once on a machine, kept on disk, learnt from runs."""
        return self.costs.constants

    def run(
        self, program: Any, max_supersteps: int | None = None, watch: Watch | None = None, asked: Asked | None = None,
        stay: bool = False,
    ) -> RunOutcome:  # fmt: skip
        """Run a Program to its end, or for max_supersteps (default: the options').

        asked: what the user asked for, if not the program itself. stay: values may stay on devices, or with ranks.
        watch(superstep, value[V], bits of what changed) is called from the start (0) on; it may keep neither array.
        Raises UsageError (also for a source that is not in the graph), ResourceError, StoreError (a damaged page).
        """
        began = time.perf_counter()
        limit = self.options.max_supersteps if max_supersteps is None else max_supersteps
        asked = asked or Asked(type(program).__name__)
        code = self.compile(program, limited=(limit is not None or watch is not None) and not asked.rounds)
        with make_keeper(self.options, self.store.meta, code, limit, asked, self.keeper) as keeper:
            while True:
                plan = self.plan(program, code, stay)
                try:
                    outcome = self._run(code, plan, limit, asked, watch, keeper, stay)
                    break
                except DeviceMemoryError as error:  # cache, batches and chunk shrink, in this order, until nothing fits
                    self.most_device_bytes = less_room(self.ranks, error, sum(plan.device_bytes.values()))
        outcome.stats.seconds = time.perf_counter() - began
        return outcome

    def _run(
        self, code: Any, plan: Plan, limit: int | None, asked: Asked, watch: Watch | None, keeper: Keeper | None,
        stay: bool,
    ) -> RunOutcome:  # fmt: skip
        """Run a compiled program as planned."""
        if self.options.host_memory is not None:  # what the plan has no room for goes
            needed = code.reads() - {"weight"} | ({"degree"} if code.idempotent else set())
            self.arrays.keep({degrees(self.store, code, plan, name)[0] for name in needed} | {f"heads/{plan.heads}"})
        self.own.keep(plan.graph.own)
        self._known[plan.weights] |= plan.tables
        if not all(self.sources.serve(table, plan.weights) for table in plan.tables.values()):
            MEMORY.release()  # pages are worth more
        self.sources.prepare(plan.sources, plan.tables, int(plan.cores is not None))
        host = host_vertices(self.store, self.arrays, code, plan)
        fixed = plan.graph.vertices, plan.tables, host, plan.graph.own
        jobs = [Job(code, known, *fixed) for known in plan.device_plans]
        read_before = self.sources.bytes_read
        values = {id(array): array for array in (host.value, host.next_value) if array is not None}
        try:
            with ExitStack() as undo:  # before pages go: copies may be queued that read them
                for array in values.values():
                    undo.callback(self.devices[0].pin(array))
                for device, job in zip(self.devices, jobs, strict=False):  # of one device, where others are spared
                    undo.callback(device.detach)
                    device.attach(job)
                if self.cores is not None and plan.cores is not None:
                    undo.callback(self.cores.detach)
                    self.cores.attach(replace(jobs[0], plan=plan.cores))
                for device in self.devices:
                    undo.callback(device.wait_quietly)  # all, before one gives memory back that others may work on
                run = Run(self, code, plan, host, asked, limit, watch, keeper)
                converged = run.go()
                value = run.values(stay)
                self.sources.end_reading()
                self.note_peak(plan.stored_values + values_bytes(plan, value))
        except MemoryError as error:
            raise out_of_memory(plan.host_bytes) from error
        except BaseException:
            self._forget()
            raise
        run.stats.loop_seconds = sum(step.seconds for step in run.stats.per_superstep)
        run.stats.bytes_read_disk = self.sources.bytes_read - read_before
        self._fill_stats(run.stats, plan, run.supersteps - run.began_at)
        return RunOutcome(value, run.supersteps, converged, run.totals, run.stats)

    def sweep(
        self, name: str, kernel: PageKernel, wanted: np.ndarray | None = None, table: PageTable | None = None
    ) -> Any:
        """Stream topology `name` ("out" or "in") to a page kernel; wanted: bool[pages], the pages to visit (all).
        table: of the same pages, by other numbers of vertices.

        Returns kernel.merge of the devices' states. Raises UsageError (no such topology), ResourceError, StoreError.
        """
        self.store.topology(name)  # names the converter's option where the topology is missing
        if table is None:
            self.own.keep(None)
        table = table or self.graph.tables[name]
        known = self._known[kernel.needs_weights]
        self.swept[table.name] = known[table.name] = table
        pages = table.all_pages() if wanted is None else np.flatnonzero(wanted)
        plans = self._sweep_plans(kernel.needs_weights, known)
        self._prepare_sweep(table, kernel.needs_weights, plans)
        while True:
            try:
                return self._sweep(kernel, table, pages, list(map(self.costs.with_lanes, plans)))
            except DeviceMemoryError as error:
                if (rows := max(plan.rows for plan in plans)) == 1:
                    raise
                held = table.bytes_of(rows, kernel.needs_weights) + work_list_bytes(table)
                held += max(plan.streams * plan.coded_bytes for plan in plans)
                self.most_device_bytes = self.beside_device_bytes + less_room(self.ranks, error, held)
                plans = self._sweep_plans(kernel.needs_weights, known)

    def _sweep_plans(self, weights: bool, known: dict[str, PageTable]) -> list[DevicePlan]:
        """One a device."""
        rooms = [None if room is None else room - self.beside_device_bytes for room in self._device_memories()]
        where = self.options, self.exchange.partition, self.exchange.first
        return make_sweep_plans(self.swept, weights, *where, rooms, known, self._decode)

    def _prepare_sweep(self, table: PageTable, weights: bool, plans: list[DevicePlan]) -> None:
        """Make the source of a sweep, unless one serves it."""
        cached, at = [plan.cache_pages for plan in plans], (self.exchange.partition, self.exchange.first)
        coded = self._decode and not keeps_all(table, cached, *at)
        if not self.sources.serve(table, weights, coded) or self._over_cap():
            left = self.host_memory - self.beside_bytes - self.arrays.nbytes - self.own.nbytes
            cap, given = self.host_memory, (weights, self.options, self.device_counts)
            sources = plan_sources({table.name: table}, *given, left, cap, {}, self._readers.streamed, coded, True)
            self.sources.prepare(sources, {table.name: table})
        else:
            self.sources.give(table, coded)

    @property
    def _decode(self) -> bool:
        """Whether all devices take coded pages."""
        return all(device.decodes for device in self.exchange.devices)

    def _sweep(self, kernel: PageKernel, table: PageTable, pages: np.ndarray, plans: list[DevicePlan]) -> Any:
        tables = {other.name: other for other in self.graph.tables.values() if other.name in plans[0].cache_pages}
        try:
            with ExitStack() as undo:
                for device, plan in zip(self.devices, plans, strict=True):
                    undo.callback(device.detach)
                    device.begin_sweep(kernel, tables, plan)
                demand = Demand(table, pages, table.records[pages].astype(np.int64))
                with over_ranks(self.ranks, kernel):
                    if self.sources.work is not None:
                        self.sources.work.begin(0, own_share(self.exchange, demand))
                    stream(self.exchange, self.sources, demand, kernel.needs_weights)
                    states = [device.end_sweep() for device in self.devices]
                    undo.pop_all()
                    self.note_peak()
                    return kernel.merge(states)
        except BaseException:
            self._forget()
            raise

    def _forget(self) -> None:
        """After an error: pages that were on their way may be in any state, on devices and in host memory."""
        for device in [*self.devices, *([] if self.cores is None else [self.cores])]:
            device.release()
        self.sources.drop_streamed()

    def holds(self, name: str) -> bool:
        """Whether the pages of topology `name` lie in host memory, as far as sweeps and runs before asked for them."""
        return self.sources.holds(self.graph.tables[name].name)

    def _over_cap(self) -> bool:
        cap = self.options.host_memory
        return cap is not None and self._held_bytes() + self.beside_bytes > cap

    def trim(self) -> None:
        """Drop pages where memory, with what the caller of `sweep` holds, is over its cap."""
        if self._over_cap():
            self.sources.clear()

    def _held_bytes(self) -> int:
        """Tracked bytes of host memory: pages, arrays of vertices, host devices' attributes, bitmaps of slices."""
        hosts = sum(device.memory_bytes for device in [*self.devices, self.cores] if isinstance(device, HostDevice))
        return self.sources.bytes_held + self.arrays.nbytes + hosts + self.own.nbytes

    def note_peak(self, more: int = 0) -> None:
        """Take what is held now, with what the caller holds and `more` bytes, into the peak."""
        self.peak = max(self.peak, self._held_bytes() + self.beside_bytes + more)

    def add_counts(self, stats: RunStats) -> None:
        """Add what devices and caches counted since the last call, in runs and sweeps, to `stats`."""
        take_counts(stats, self.devices, self.cores, self.sources)
        self.note_peak()
        stats.peak_memory_bytes = self.peak

    def _fill_stats(self, stats: RunStats, plan: Plan, supersteps: int) -> None:
        """Counted figures, and the planner's beside them."""
        self.add_counts(stats)
        stats.devices = plan.devices
        stats.case, stats.chunks = plan.case, len(plan.chunks)
        stats.on_device_bytes = sum(plan.device_bytes.values())
        stats.predicted_bytes = plan.sweep_bytes(supersteps)
        self.costs.account(stats, plan, supersteps)
