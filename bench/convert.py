"""Conversion to a verified store, as a user runs it: directed, both topologies, from text, .npy and the generator.

Rates count the edges of the input against the wall time of `gstream convert --verify` (or `generate --verify`), from
the start of the process to its end; the rate without verification is what the command itself reports.
The scaling rows convert by 1, 2, 4, ... threads up to all cores, at the default of --memory; their notes give each
stage's seconds and share. Over several graphs (`--scale 20 22 24 26`) the rows at 2 GiB and at the default show how
the rate changes with size.

Peak memory is measured from outside; the budget is --memory plus 150 MiB for the interpreter and its libraries. The
store's edges are decoded again and must be the input's, as a multiset.
"""

from __future__ import annotations

import filecmp
import json
from collections.abc import Iterator
from pathlib import Path

from bench import ours, stores
from bench.child import Run, gstream, run
from bench.context import Context
from bench.figures import Figure, Samples, check
from bench.gpu_setup import Setup
from bench.graphs import EDGE_FACTOR, Graph

MIB = 1 << 20
INTERPRETER_MIB = 150
TEXT_TARGET, ARRAY_TARGET = 4.0, 8.0  # M edges/s
TARGET_SCALE = 20  # below, starting Python takes longer than the work
BUDGET_MIB, TIGHT_BUDGET_MIB = 2048, 512
RUNS = 3
THREADS = (1, 2, 4, 8, 16)


def generating(graph: Graph) -> list[str | Path]:
    """Arguments of gstream that make the graph's edges, without the store."""
    made: list[str | Path] = ["generate", "rmat", "--scale", str(graph.scale), "--edge-factor", str(EDGE_FACTOR)]
    return [*made, "--seed", str(graph.seed), "--scramble"]


def cases(context: Context) -> list[tuple[str, list[str | Path], float, int]]:
    """(what, arguments of gstream without the store, target in M edges/s, budget in MiB)."""
    graph = context.graph
    if graph.scale is None:
        return [("shipped text (.gz, string IDs)", ["convert", graph.text()], 0.0, BUDGET_MIB)]
    return [
        ("SNAP text", ["convert", graph.text()], TEXT_TARGET, BUDGET_MIB),
        ("SNAP text", ["convert", graph.text()], TEXT_TARGET, TIGHT_BUDGET_MIB),
        (".npy", ["convert", graph.npy()], ARRAY_TARGET, BUDGET_MIB),
        ("generator", generating(graph), ARRAY_TARGET, BUDGET_MIB),
    ]


def convert(arguments: list[str | Path], store: Path, *more: str) -> Run:
    """Convert into a fresh `store`; more: further options."""
    store.unlink(missing_ok=True)
    return run(gstream(*arguments, store, *more, "--json"))


def check_edges(context: Context, store: Path) -> None:
    """Compare the decoded edges of both topologies with the input (the generator's have the same seed)."""
    expected = stores.input_sum(context.graph.edges)
    for topology in ("out", "in"):
        count, total = ours.decoded_sum(store, topology)
        check(count == len(context.graph.edges), f"{store.name}: {count} edges in {topology}-pages")
        check(total == expected, f"{store.name}: the edges of the {topology}-pages are not the input's")


def rate_figures(context: Context, what: str, runs: list[Run], target: float) -> list[Figure]:
    """Edges a second of conversion and verification together (the target's), and of the conversion alone."""
    millions = len(context.graph.edges) / 1e6
    large = context.graph.scale is not None and context.graph.scale >= TARGET_SCALE
    reports = [json.loads(made.output) for made in runs]
    both = Samples(tuple(made.seconds for made in runs))
    alone = Samples(tuple(report["seconds"] for report in reports))
    figures = []
    for samples, name in ((both, "to a verified store"), (alone, "to a store, neither start nor verification")):
        rates = Samples(tuple(millions / second for second in samples.seconds))
        figures.append(
            Figure(
                what=f"{what} {name}",
                graph=f"{context.graph_name} directed, both topologies",
                value=rates.median,
                unit="M edges/s",
                spread=rates.spread(),
            )
        )
    figures[0].checked = "decoded edges of both topologies equal the input's"
    phases = ", ".join(f"{name} {seconds:.2f}" for name, seconds in reports[-1]["phase_seconds"].items())
    figures[0].note = (
        f"last run: {runs[-1].seconds:.2f} s ({runs[-1].cpu_seconds:.2f} s of CPU): {phases}, "
        f"verify {reports[-1]['verify']['seconds']:.2f} s, the rest is Python's start"
    )
    if large:
        figures[0] = figures[0].versus("the target", target, 1.0, f"at least {target:.0f} M edges/s")
    return figures


def peak_figure(context: Context, what: str, runs: list[Run], budget_mib: int) -> Figure:
    """Highest resident memory of the conversions against the budget."""
    return Figure(
        what=f"{what}, peak memory of the conversion",
        graph=f"{context.graph_name} directed, both topologies",
        value=max(made.peak_bytes for made in runs) / MIB,
        unit="MiB",
        against="budget + 150 MiB",
        against_value=float(budget_mib + INTERPRETER_MIB),
        need=1.0,
        target="within the budget + 150 MiB",
    )


def scaling_figures(context: Context, what: str, arguments: list[str | Path], store: Path) -> list[Figure]:
    """The rate of a conversion by its threads, at the default of --memory, beside the rate of one thread."""
    figures: list[Figure] = []
    for threads in (threads for threads in THREADS if threads <= context.threads):
        runs = [convert(arguments, store, "--threads", str(threads)) for _ in range(context.times(RUNS))]
        reports = [json.loads(made.output) for made in runs]
        millions = len(context.graph.edges) / 1e6
        rates = Samples(tuple(millions / report["seconds"] for report in reports))
        last, made = reports[-1], runs[-1]
        stages = {**last["phase_seconds"], "beside": last["seconds"] - sum(last["phase_seconds"].values())}
        figure = Figure(
            what=f"{what} to a store by {threads} threads, default memory",
            graph=f"{context.graph_name} directed, both topologies",
            value=rates.median,
            unit="M edges/s",
            spread=rates.spread(),
        )
        figure.note = f"last run: {last['seconds']:.2f} s; the whole command {made.cpu_seconds:.2f} s of CPU: "
        figure.note += ", ".join(f"{name} {s:.2f} ({s / last['seconds']:.0%})" for name, s in stages.items())
        figures.append(figure.versus("one thread", figures[0].value) if figures else figure)
    return figures


def measure(context: Context) -> list[Figure]:
    figures = []
    store = context.graph.folder / "converted.gs"
    for what, arguments, target, budget_mib in cases(context):
        memory = ("--memory", f"{budget_mib}MiB", "--verify")
        runs = [convert(arguments, store, *memory) for _ in range(context.times(RUNS))]
        check_edges(context, store)
        store.unlink()
        label = f"{what}, --memory {budget_mib}MiB,"
        figures += rate_figures(context, label, runs, target)
        figures.append(peak_figure(context, label.rstrip(","), runs, budget_mib))
    commands = {label: command for label, command, _, _ in cases(context)}  # one of each label, whatever its budget
    for label, command in commands.items():
        figures += scaling_figures(context, label, command, store)
        store.unlink()
    return figures


def on_gpus(setup: Setup) -> Iterator[Figure]:
    """Rows of `make bench-gpu`: edges sorted on its first GPU beside the same conversions on the cores."""
    graph = Graph(f"rmat-{setup.scale}")
    device = next((name for name in setup.devices.one if name.startswith("cuda")), "auto")
    stores_by = {name: graph.folder / f"converted-{name.partition(':')[0]}.gs" for name in (device, "host")}
    inputs = {"generator": generating(graph), ".npy": ["convert", graph.npy()]}
    for what, arguments in inputs.items():
        made = {name: [convert(arguments, path, "--devices", name) for _ in range(RUNS)]
                for name, path in stores_by.items()}  # fmt: skip
        first, second = stores_by.values()
        check(filecmp.cmp(first, second, shallow=False), f"{what}: stores differ in their bytes")
        rates = {name: _rates(graph, runs) for name, runs in made.items()}
        last = json.loads(made[device][-1].output)
        stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in last["phase_seconds"].items())
        yield Figure(
            what=f"{what} to a store, edges sorted on a GPU", graph=f"rmat-{setup.scale} directed, both topologies",
            value=rates[device].median, unit="M edges/s", spread=rates[device].spread(),
            checked="its bytes are those of the cores' store",
            note=f"last run: edges sorted on {last['sorted_on']}, {stages}",
        ).versus("the cores", rates["host"].median)  # fmt: skip
    for path in stores_by.values():
        path.unlink()


def _rates(graph: Graph, runs: list[Run]) -> Samples:
    """Million edges a second, of what conversions say of themselves."""
    return Samples(tuple(len(graph.edges) / 1e6 / json.loads(made.output)["seconds"] for made in runs))
