"""Plans of graphs that are only counted, and for machines that are not at hand: `gstream plan --vertices --machine`."""

from __future__ import annotations

from typing import Any

from gstream.algorithms.plans import facts_of, facts_of_own
from gstream.algorithms.registry import find_algorithm
from gstream.engine.planned_engine import PlannedEngine
from gstream.options.run_options import RunOptions
from gstream.planning.counted_store import CountedStore
from gstream.planning.estimates import MEASURED, SHEET
from gstream.planning.machines import MEASURED as SAID_MEASURED
from gstream.planning.machines import Machine
from pagestore.convert.choose import may_reorder
from pagestore.convert.estimate import store_bytes
from pagestore.convert.options import ConvertOptions
from pagestore.errors import UsageError
from pagestore.sizes import parse_size

ORDERS = ("natural", "degree")
CONVERT_S = 0.05  # of a conversion, however small it is
VERTEX_S = 0.15e-6  # of one, without its edges (measured: 10 and 40 million vertices of which two have edges)


def counted(
    algorithm: str, own: dict[str, Any], vertices: int | None, edges: int | None, weighted: bool, undirected: bool,
    order: str = "natural",
) -> CountedStore:  # fmt: skip
    """The store of so many vertices and edges that a plan takes for there. Raises UsageError, also for a kind of graph
    that the algorithm refuses."""
    for flag, count in (("--vertices", vertices), ("--edges", edges)):
        if count is None:
            raise UsageError(
                f"{flag}: is not given, and no STORE either. Name a store, or pass --vertices N and --edges N."
            )
    if order not in ORDERS:
        raise UsageError(f"--order {order}: is unknown; it must be one of {', '.join(ORDERS)}.")
    assert vertices is not None and edges is not None
    found = None if algorithm.endswith(".py") or ":" in algorithm else find_algorithm(algorithm)
    if found is not None:
        if not weighted and found.reads_weights(found.defaults | own):
            raise UsageError(f"--weighted: is not given, and {algorithm} reads weights. Pass it.")
        if found.directed is True and undirected:
            raise UsageError(f"--undirected: the graph is undirected, and {found.otherwise}")
        if found.directed is False and not undirected:
            why = found.otherwise.partition(". ")[0]
            raise UsageError(f"--undirected: is not given, and {why}. Pass it.")
    return CountedStore(vertices, edges, weighted, not undirected, order)


def planned_engine(store: Any, machine: Machine, options: dict[str, Any]) -> PlannedEngine:
    """An engine that plans for a machine. options: of RunOptions by name."""
    cap = parse_size(options.pop("host_memory", None), "--host-memory")
    return PlannedEngine(store, RunOptions(**options), machine, cap)


def machine_facts(
    algorithm: str, store: Any, machine: Machine, own: dict[str, Any], options: dict[str, Any],
    certify: bool = False, program: Any = None, parameters: dict[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """What a run on `machine` would hold, move and take, and with a CountedStore its conversion, too."""
    limit = options.get("max_supersteps")
    engine = planned_engine(store, machine, options)
    with engine:
        if program is not None:
            facts = facts_of_own(program, engine, parameters or {}, limit)
        else:
            facts = facts_of(algorithm, engine, own, limit, certify)
        named = ",".join(str(spec.seed) for spec in engine.specs) if engine.on_gpus else ""
    facts |= {"machine": machine.name, "devices_are": f"cuda:{named}" if named else "host", "sources": machine.sources}
    facts["lacks"] = engine.lacks
    if engine.lacks:
        none = ("seconds", "first_seconds", "seconds_a_superstep", "call_seconds")
        facts |= dict.fromkeys(none)  # there is no such run
    return facts | (convert_facts(store, machine) if isinstance(store, CountedStore) else {})


def convert_facts(store: CountedStore, machine: Machine) -> dict[str, Any]:
    """{"store_bytes", "convert_seconds": {kind of input: {"least", "usual", "most"}}} of making the store."""
    meta = store.meta
    options = ConvertOptions()
    width = 4 if meta.weighted else 0
    pages, rest = store_bytes(
        meta.vertices, meta.edges, len(meta.topologies), options, meta.id_bytes, width, named=False
    )
    sorts = len(meta.topologies) + (meta.order != "natural" and may_reorder(meta.order, meta.vertices))
    said = machine.sources.get("convert", "")
    off = MEASURED if said.startswith(SAID_MEASURED) else SHEET
    seconds = {}
    for kind, rate in machine.convert.items():  # rates are of directed edges, sorted for both topologies, and written
        usual = CONVERT_S + max(meta.edges * sorts / 2 / rate, meta.vertices * VERTEX_S, (pages + rest) / machine.disk)
        seconds[kind] = {"least": usual / off, "usual": usual, "most": usual * off}
    return {"store_bytes": pages + rest, "convert_seconds": seconds}
