"""Plans of runs that ranks share, on paper: `gstream plan --ranks 64 --machine dgx-h100`. A rank has a machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from gstream.algorithms.plans import plan_of, plan_of_own
from gstream.engine.own_slices import is_local, tables_of
from gstream.engine.planned_engine import PlannedEngine
from gstream.options.auto_devices import is_auto
from gstream.options.run_options import RunOptions, parse_devices
from gstream.options.wording import held_in_words
from gstream.paging.ownership import Partition
from gstream.planning.machines import Machine
from gstream.planning.memory_fit import Graph
from gstream.planning.plan import Plan
from gstream.planning.rank_volumes import volumes, volumes_of_gpus
from pagestore.errors import CapError, UsageError
from pagestore.manifest import Manifest, is_parts, read_manifest
from pagestore.meta import MOST_PARTS
from pagestore.sizes import parse_size, show_bytes, show_count, show_seconds

READS_BYTES = 1 / 8  # of a vertex and topology: which a part's pages name


class PaperSlices:
    """As gstream.engine.own_slices.OwnSlices, of the parts of `manifest`, or of a graph like RMAT's in parts that were
    never written."""

    def __init__(self, ranks: int, manifest: Manifest | None) -> None:
        self._ranks, self._manifest, self.splits = ranks, manifest, True

    def plan(self, code: Any, graph: Graph, options: RunOptions, make: Callable[[Graph], Plan]) -> Plan:
        """As of OwnSlices."""
        tables = tables_of(code, graph, options)
        if not tables or not is_local(code):
            return make(graph)
        mirrors = mirrors_of(self._manifest, tables)
        told = volumes(graph.vertices, graph.edges, self._ranks, 0, not code.idempotent, mirrors)
        part = -(-graph.vertices // self._ranks)
        count = min(
            graph.vertices,
            graph.vertices // self._ranks
            + told.mirrors * (1 if mirrors is not None else len(set(tables)))
            + told.listed,
        )
        try:
            return make(replace(graph, vertices=count, of=graph.vertices, slice=part, tables=tables, head_rows={}))
        except CapError:
            return make(graph)


class RankEngine(PlannedEngine):
    """Plans the share of one of several ranks; `program` is what was planned last, in_place as of its code."""

    program: Any = None
    in_place = True

    def __init__(self, store: Any, options: RunOptions, machine: Machine, cap: int | None, ranks: int) -> None:
        super().__init__(store, options, machine, cap, ranks)
        self.manifest = manifest_of(store, ranks)
        if not self.on_gpus:
            self.own = PaperSlices(ranks, self.manifest)
            return
        here = self.exchange.devices
        self.exchange = replace(self.exchange, partition=Partition.equal(len(here) * ranks, ranks), notifies=False)
        self._alone, self.graph = self.exchange, replace(self.graph, apart=2 * (ranks - 1), in_parts=True)

    def plan(self, program: Any, code: Any = None, stay: bool = False) -> Plan:
        """As of Engine."""
        self.program, code = program, code or self.compile(program)
        self.in_place = code.in_place
        return super().plan(program, code, stay)


def manifest_of(store: Any, ranks: int) -> Manifest | None:
    """What is known of the parts of a graph that was cut for so many ranks; None: it was not."""
    found = read_manifest(store.path) if is_parts(store.path) else None
    return found if found is not None and len(found.parts) == ranks else None


def mirrors_of(manifest: Manifest | None, names: Iterable[str]) -> int | None:
    """Most mirrors that a part has by these topologies, or fewer, as both may name the same vertex; None: unknown."""
    if manifest is None:
        return None
    found, outside = set(names), manifest.vertices - manifest.vertices // len(manifest.parts)
    return max(min(outside, sum(part.mirrors.get(name, 0) for name in found)) for part in manifest.parts)


def share_of(manifest: Manifest | None, names: Iterable[str], ranks: int) -> float:
    """Of the edges of these topologies those of the part that has most."""
    counts = [sum(part.edges.get(name, 0) for name in set(names)) for part in manifest.parts] if manifest else []
    return max(counts) / sum(counts) if sum(counts) else 1 / ranks


def rank_facts(
    algorithm: str, store: Any, machine: Machine, own: dict[str, Any], options: dict[str, Any], ranks: int,
    certify: bool = False, program: Any = None, parameters: dict[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """What each of `ranks` ranks holds, exchanges and takes, with the GPUs of a machine each, or its cores. Raises
    UsageError."""
    if not 2 <= ranks <= MOST_PARTS:
        raise UsageError(f"--ranks {ranks}: it must be 2 to {MOST_PARTS}, or auto, share or off.")
    cap = parse_size(options.pop("host_memory", None), "--host-memory")
    wanted = RunOptions(**options)
    kinds = [] if is_auto(wanted.devices) else [spec.kind for spec in parse_devices(wanted.devices)]
    if len(set(kinds)) > 1 or kinds.count("host") > 1:
        raise UsageError(
            f"--devices {','.join(wanted.devices)}: a rank has its machine's cores as one device, or GPUs. Name one."
        )
    engine = RankEngine(store, wanted, machine, cap, ranks)
    with engine:
        if program is not None:
            planned = plan_of_own(program, engine, parameters or {})
        else:
            planned = plan_of(algorithm, engine, own, certify)
    meta = store.meta
    parts, names = engine.manifest, {table.name for table in planned.graph.tables.values()}
    value_bytes = type(engine.program).value.dtype.itemsize
    sizes = meta.vertices, meta.edges, ranks, value_bytes, planned.sweep, mirrors_of(parts, names)
    told = volumes_of_gpus(*sizes, planned.device.resident) if engine.on_gpus else volumes(*sizes, engine.in_place)
    work = planned.superstep_seconds() * share_of(parts, names, ranks)
    exchange = told.bytes / machine.network
    return {
        "store": str(store.path), "machine": machine.name, "ranks": ranks, "frontier": planned.sweep is False,
        "gpus": len(engine.specs) if engine.on_gpus else 0,
        "device_bytes": planned.device_bytes if engine.on_gpus else {}, "chunks": len(planned.chunks),
        "host_bytes": planned.host_bytes, "memory_bytes": sum(planned.host_bytes.values()), "lacks": engine.lacks,
        "in_host_memory": {name: source.resident for name, source in planned.sources.items()},
        "part_bytes": max(part.bytes for part in parts.parts) if parts else part_bytes(store, planned, ranks),
        "mirrors": told.mirrors, "mirrors_are": "the manifest's" if parts else "a model's",
        "exchanged_bytes": told.bytes, "exchanged_least_bytes": told.least,
        "work_seconds": work, "exchange_seconds": exchange, "seconds_a_superstep": work + exchange,
        "network": machine.network, "sources": machine.sources,
    }  # fmt: skip


def part_bytes(store: Any, planned: Plan, ranks: int) -> int:
    """Of a part's file: its pages, and arrays of all vertices."""
    meta, total = store.meta, 0.0
    for name in meta.topologies:
        topology = store.topology(name)
        page = topology.layout.page_bytes + topology.weight_page_bytes
        total += page * len(topology.directory) / ranks + topology.directory.nbytes
        total += topology.head_rows * 4 * meta.id_bytes + meta.vertices * READS_BYTES
    degrees = planned.graph.degree_bytes * (2 if meta.directed else 1)
    order = meta.id_bytes if meta.order != "natural" else 0
    return int(total + meta.vertices * (degrees + order))


def rank_lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """The same for people."""
    resident = all(facts["in_host_memory"].values())
    most, gpus = "at most " if facts["frontier"] else "", facts["gpus"]
    known, least = facts["mirrors_are"] == "the manifest's", facts["exchanged_least_bytes"]
    where_few = f"; {show_bytes(least)} where no value changes" if least < facts["exchanged_bytes"] else ""
    mirrors = "at most, as the manifest says" if known else "each, of a graph like RMAT's"
    rests = "the manifest, a model of what lists send" if known else "a model of volumes"
    chunks = f", in {facts['chunks']} chunks of vertices" if facts["chunks"] > 1 else ""
    lines = [
        ("run", f"{facts['algorithm']} on {facts['store']}, {facts['ranks']} ranks, each with the "
                f"{f'{gpus} GPU(s)' if gpus else 'cores'} of one {facts['machine']}{chunks}"),
        ("parts", f"{show_bytes(facts['part_bytes'])} of disk {'at most' if known else 'each'}; "
                  f"pages {'in memory' if resident else 'from disk'}"),
        *_held("holds", facts["host_bytes"]),
        ("memory", f"{show_bytes(facts['memory_bytes'])} each, in all"),
        *_held("a GPU", facts["device_bytes"]),
        *([("lacks", f"memory: {show_bytes(facts['lacks'])} are needed, more than {facts['machine']} has; so no time")]
          if facts["lacks"] else []),
        ("mirrors", f"{'' if known else 'about '}{show_count(facts['mirrors'])} {mirrors}"),
        ("sends", f"{most}about {show_bytes(facts['exchanged_bytes'])} each, a superstep{where_few}"),
        *([] if facts["lacks"] else
          [("takes", f"{most}about {show_seconds(facts['seconds_a_superstep'])} a superstep: "
                     f"{show_seconds(facts['work_seconds'])} of work, then {show_seconds(facts['exchange_seconds'])} "
                     f"of exchange at {facts['network'] / 1e9:.3g} GB/s")]),
        ("rests on", f"{rests} and the machine's figures; no run on several machines was measured"),
    ]  # fmt: skip
    return [*lines, *(("of which", f"{name}: {said}") for name, said in facts["sources"].items()
                      if name != "convert" and (gpus or "gpu" not in name))]  # fmt: skip


def _held(label: str, sizes: dict[str, int]) -> list[tuple[str, str]]:
    return [(label, f"{show_bytes(size)} {held_in_words(name)}") for name, size in sizes.items() if size]
