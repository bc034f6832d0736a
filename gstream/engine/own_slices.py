"""Runs of ranks on a graph in parts, each of which has the state of its own slice and mirrors alone.

A rank's part says which vertices are mirrors: those that its pages name or list. They get numbers
(gstream.paging.own_ids), the run is planned for a graph of so many vertices, and pages are renumbered as they are read.
Programs that need more than that (`is_local`), and plans by chunks, hold values of all vertices instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gstream.devices.base import Device
from gstream.devices.host.device import HostDevice
from gstream.devices.host.mirrors import Mirrors, PartOfRank
from gstream.devices.host.own_slices import OwnSliceExchange
from gstream.devices.job import HostVertices
from gstream.devices.ranks import Ranks, ReadsWrites, Ways
from gstream.engine.part_arrays import PartArrays
from gstream.hostcode.generate import BLOCK
from gstream.options.run_options import RunOptions
from gstream.paging.kept_memory import elements_of
from gstream.paging.own_ids import WORD, OwnIds
from gstream.paging.ownership import Partition, slices
from gstream.paging.page_table import PageTable
from gstream.paging.vertex_arrays import VertexArrays
from gstream.planning.memory_fit import Graph
from gstream.planning.plan import Plan
from gstream.records.held import Held
from gstream.telemetry.trace import Trace
from pagestore import Store
from pagestore.errors import CapError
from pagestore.io import aligned_empty


def is_local(code: Any) -> bool:
    """Whether a program does with the state of a slice and its mirrors: no method but `start` reads a vertex's ID."""
    emitter = code.emitter
    reads = emitter.reads(*(name for name in emitter.lowered if name != "start"))
    return not {("v", "id"), ("u", "id")} & reads


def tables_of(code: Any, graph: Graph, options: RunOptions) -> dict[str, PageTable]:
    """The page tables that a run may read: of sums those of the better direction alone."""
    ways = {"push": ("out",), "pull": ("in",)}.get(options.direction, ("in", "out"))
    found = {name: graph.tables[name] for name in ways if name in graph.tables}
    return found if code.idempotent else dict(list(found.items())[:1])


def degrees(store: Any, code: Any, plan: Plan, name: str) -> tuple[str, Callable[[], np.ndarray]]:
    """What VertexArrays takes for "degree" or "in_degree" of a program: for one that goes backward, of turned edges."""
    out = (name == "degree") != (type(code.program).backward and store.meta.directed)
    found = ("degree", store.out_degree) if out else ("in_degree", store.in_degree)
    return found if plan.graph.own is None else plan.graph.own.of(*found)


def host_vertices(store: Any, arrays: VertexArrays, code: Any, plan: Plan) -> HostVertices:
    """Attributes in host memory, read from the store where they are not there yet."""
    needs, of, none = code.reads(), partial(degrees, store, code, plan), np.zeros(0, dtype=np.uint32)
    host = HostVertices(
        degree=arrays.get(*of("degree")) if code.idempotent or "degree" in needs else none,
        in_degree=arrays.get(*of("in_degree")) if "in_degree" in needs else none,
    )
    if not plan.device.resident:
        size = plan.graph.vertices * code.value_dtype.itemsize
        host.value = elements_of(aligned_empty(size), code.value_dtype)
        host.next_value = elements_of(aligned_empty(size), code.value_dtype) if plan.double_buffer else host.value
    if plan.heads is not None:
        topology = store.topology(plan.heads)
        host.heads[plan.heads] = (arrays.get(f"heads/{plan.heads}", topology.heads), 0)
    return host


def values_bytes(plan: Plan, value: Any) -> int:
    """Of what ranks that have slices take from a run at its end: their own values, and all where these come to all."""
    if plan.graph.own is None:
        return 0
    return plan.graph.slice * plan.value_bytes + (0 if isinstance(value, Held) else int(value.nbytes))


class OwnSlices:
    """What is known of such runs on an engine's store. ranks: None where one process does the run. devices: of this
    one; only host devices have such states. capped: its memory is."""

    def __init__(self, store: Store, ranks: Ranks | None, devices: Sequence[Device], capped: bool = False) -> None:
        self._store, self._devices = store, [device for device in devices if isinstance(device, HostDevice)]
        local = ranks is not None and store.meta.parts and len(self._devices) == len(devices)
        self._ranks = ranks if local else None
        self._capped = self._ranks is not None and self._ranks.any(capped)
        self._exchanges: dict[str, OwnSliceExchange] = {}  # by the name of the ids, which are numbered for each
        self._parts: dict[str, PartArrays] = {}  # by the same name

    @property
    def splits(self) -> bool:
        """Whether ranks may have the state of their slices alone."""
        return self._ranks is not None

    @property
    def nbytes(self) -> int:
        """Of the bitmaps that say what is in slices and mirrors."""
        ids = {id(made.ids): made.ids.nbytes for made in self._exchanges.values()}
        return (
            sum(ids.values())
            + sum(made.mirrors_bytes for made in self._exchanges.values())
            + sum(part.mirrors.nbytes for part in self._parts.values())
        )

    def plan(self, code: Any, graph: Graph, options: RunOptions, make: Callable[[Graph], Plan]) -> Plan:
        """make(graph), of the rank's own slice and mirrors where that will do. All ranks make this call alike."""
        local = self._graph(code, graph, options)
        if local is None or self._ranks is None:
            return make(graph)
        try:
            plan: Plan | None = make(local)
        except CapError:
            plan = None
        fits = plan is not None and plan.device.resident
        lacks = self._ranks.any(not fits)  # slices differ: what fits one rank may be too much for another
        return make(graph) if plan is None or lacks else plan

    def keep(self, ids: OwnIds | None) -> None:
        """Free the bitmaps of all choices of vertices but `ids`, where memory is capped on any rank: caps of what works
        with values of all vertices have no room for them. All ranks make this call alike."""
        if self._capped:
            name = "" if ids is None else ids.name
            self._exchanges = {key: made for key, made in self._exchanges.items() if key == name}
            self._parts = {key: made for key, made in self._parts.items() if key == name}

    def exchange_of(self, plan: Plan) -> OwnSliceExchange | None:
        """How ranks agree in a run that was planned so."""
        return None if plan.graph.own is None else self._exchanges[plan.graph.own.name]

    def part(self, tables: Sequence[PageTable], trace: Trace | None) -> PartArrays | None:
        """What page kernels take that sweep these page sets of the engine's graph by numbers; None: ranks have no
        slices. All ranks make this call alike."""
        if self._ranks is None or not self._store.meta.edges:
            return None
        known = {table.name: table for table in tables}
        ids = self._ids(self._ranks, known, trace)
        if self._capped:
            self._exchanges[ids.name].forget()  # sweeps have mirrors of their own
        if ids.name not in self._parts:
            numbered = {name: ids.table(table, self._store.topology(name).reader) for name, table in known.items()}
            part = _Part(self._store, self._ranks, known)
            named = np.bitwise_or.reduce([bits for name in known for bits in part.bits(name)])
            self._parts[ids.name] = PartArrays(self._ranks, ids, numbered, Mirrors(self._ranks, ids, named, named))
        return self._parts[ids.name]

    def _graph(self, code: Any, graph: Graph, options: RunOptions) -> Graph | None:
        tables = tables_of(code, graph, options)
        whole = options.chunk_vertices is not None or not graph.edges or not tables
        if self._ranks is None or whole or not is_local(code):
            return None
        known = {table.name: table for table in tables.values()}
        ids = self._ids(self._ranks, known, options.trace)
        local = {name: ids.table(table, self._store.topology(name).reader) for name, table in known.items()}
        return replace(
            graph, vertices=ids.count, of=graph.vertices, slice=ids.own[1] - ids.own[0], own=ids, head_rows={},
            tables={name: local[table.name] for name, table in tables.items()},
        )  # fmt: skip

    def _ids(self, ranks: Ranks, tables: dict[str, PageTable], trace: Trace | None) -> OwnIds:
        name = "+".join(sorted(tables))
        if name not in self._exchanges:
            vertices, part = self._store.meta.vertices, _Part(self._store, ranks, tables)
            cut = slices((0, vertices), BLOCK, ranks.size)
            bits = np.bitwise_or.reduce([bits for one in tables for bits in part.bits(one)])
            ids = OwnIds.made(name, bits, cut, ranks.rank)
            ids = replace(ids, count=max(ranks.everybody(ids.count)))  # plans are the same on all ranks

            def read_and_written(ways: Ways) -> tuple[np.ndarray, np.ndarray]:
                return part.read_and_written([(way, table.partition(" ")[0]) for way, table in ways])

            self._exchanges[name] = OwnSliceExchange(self._devices, ranks, ids, read_and_written, trace)
        return self._exchanges[name].ids


def reads_and_writes(store: Store, ranks: Ranks | None, tables: dict[str, PageTable]) -> ReadsWrites | None:
    """What a rank's part of a graph says of the vertices that its pages read and write, by store IDs; None of a whole
    store. tables: all of the graph's."""
    if ranks is None or not store.meta.parts:
        return None
    return _Part(store, ranks, {table.name: table for table in tables.values()}).read_and_written


class _Part:
    """Which vertices a rank's pages name and list."""

    def __init__(self, store: Store, ranks: Ranks, tables: dict[str, PageTable]) -> None:
        """tables: by store IDs."""
        self._store, self._ranks, self._tables = store, ranks, tables
        self._part = PartOfRank(self._named, self._degrees)

    def bits(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """uint64[ceil(V / 64)] each: vertices that pages of a topology name, and list."""
        table = self._tables[name]
        own = Partition.equal(self._ranks.size).share(table.all_pages(), table.stretch, self._ranks.rank)
        return self._named(name), self._part.listed(table, own)

    def read_and_written(self, ways: Sequence[tuple[str, str]]) -> tuple[np.ndarray, np.ndarray]:
        """A pull reads what its pages name, and writes to vertices that they list; a push the other way round."""
        reads, writes = (np.zeros(-(-self._store.meta.vertices // WORD), np.uint64) for _ in range(2))
        for way, name in ways:
            named, listed = self.bits(name)
            reads |= named if way == "pull" else listed
            writes |= listed if way == "pull" else named
        return reads, writes

    def _named(self, topology: str) -> np.ndarray:
        return self._store.array(f"topology/{topology}/reads").read()

    def _degrees(self, topology: str, first: int, last: int) -> np.ndarray:
        return (self._store.out_degree if topology == "out" else self._store.in_degree)(first, last)
