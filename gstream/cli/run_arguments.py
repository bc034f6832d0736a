"""The options of `gstream run`, which `gstream plan` takes too: declared once, and sorted by whom they are for."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any

import typer

from gstream.algorithms.registry import ALGORITHMS, Algorithm, find_algorithm
from pagestore.errors import UsageError

MOST_GPUS = 1024  # no machine has more
NAMED = {"node": "nodes", "target": "targets"}  # vertices one by one -> those of a file, which they stand for
OWN_OPTIONS = (  # of the algorithms, that the command line has
    "source", "depth_limit", "predecessors", "alpha", "beta", "iterations", "tol", "max_iter", "personalization",
    "normalized", "float64", "radius", "weighted", "wf_improved", "k", "seed", "sketches", "initial", "rate",
    "nodes", "targets", "center", "endpoints", "cutoff", "undirected",
)  # fmt: skip
RUN_OPTIONS = {  # of the driver: name here -> in gstream.options.run_options.RunOptions
    "device_memory": "device_memory", "host_memory": "host_memory", "batch": "batch_bytes", "streams": "streams",
    "cache": "cache", "direction": "direction", "micro": "micro", "threads": "threads",
    "max_supersteps": "max_supersteps",
}  # fmt: skip
OWN = "Options of algorithms and programs"
PROGRAMS_OWN = ("param", "max_supersteps")
GROUPS = {  # headings of --help, in the order of the options
    **dict.fromkeys((*OWN_OPTIONS, *NAMED, *PROGRAMS_OWN), OWN),
    **dict.fromkeys(("output", "force", "json", "ldbc", "trace", "plot", "certify"), "Input and output"),
    **dict.fromkeys(("devices", "gpus", "device_memory", "host_memory", "threads"), "Memory and devices"),
    **dict.fromkeys(("checkpoint", "checkpoint_every", "resume", "no_restart"), "Checkpoints and failures"),
    **dict.fromkeys(("batch", "streams", "cache", "direction", "micro", "no_heads", "no_zero_copy"), "For experts"),
}


def _declared(
    algorithm: str = typer.Argument(..., metavar="ALGORITHM", help=f"{', '.join(ALGORITHMS)} or my.py:MyProgram."),
    store: Path = typer.Argument(..., metavar="STORE", readable=False),
    output: Path = typer.Option(
        None, "-o", "--output", metavar="FILE", help=".csv .tsv .txt (.gz, .zst) .parquet .npy .arrow; - is stdout."
    ),
    force: bool = typer.Option(False, "--force", help="Replace what exists (-o, --trace, --checkpoint)."),
    source: list[str] = typer.Option(
        None, metavar="ID", help="bfs, khop, egonet, rwr, sssp, widest, betweenness: start here; repeatable."
    ),
    depth_limit: int = typer.Option(None, metavar="N", help="bfs: go at most N edges far. Default: to the end."),
    cutoff: float = typer.Option(None, help="sssp: vertices farther away count as not reached."),
    predecessors: bool = typer.Option(None, "--predecessors/--no-predecessors", help="bfs, sssp: default yes."),
    alpha: float = typer.Option(
        None, help="pagerank, rwr: share of rank that follows edges (default 0.85); katz: of each edge (default 0.1)."
    ),
    beta: float = typer.Option(None, help="katz: of each vertex. Default: 1."),
    iterations: int = typer.Option(
        None, metavar="N", help="pagerank: exactly N. Simulations (default 10): too; cdlp (default 10): N at most."
    ),
    tol: float = typer.Option(
        None, help="Centralities: end at this L1 change, not times n as NetworkX. Default: 1e-06; hits 1e-08."
    ),
    max_iter: int = typer.Option(
        None, metavar="N", help="Centralities: end after N iterations. Default: 100; katz 1000; hops of radius 256."
    ),
    personalization: Path = typer.Option(
        None,
        readable=False,
        metavar="FILE",
        help='pagerank: lines of `vertex weight`, parted by a tab, comma or blanks; "a, b" 1.',
    ),
    normalized: bool = typer.Option(None, "--normalized/--no-normalized", help="katz, hits, betweenness: default yes."),
    float64: bool | None = typer.Option(None, "--float64", help="pagerank, sssp, rwr: values in double precision."),
    radius: int = typer.Option(None, metavar="N", help="khop, egonet: edges from the source. Default: 1."),
    weighted: bool | None = typer.Option(None, "--weighted", help="levels: longest paths by weight, too."),
    wf_improved: bool = typer.Option(
        None, "--wf-improved/--no-wf-improved", help="closeness: scale by what is reached. Default: yes."
    ),
    k: int = typer.Option(
        None, metavar="N", help="kcore, ktruss: who is in it; others: N sources, drawn. Default: all."
    ),
    seed: int = typer.Option(
        None,
        metavar="N",
        help="closeness, harmonic, radius (default 0), betweenness (new each time): of what is drawn.",
    ),
    sketches: int = typer.Option(None, metavar="N", help="radius: Flajolet-Martin sketches a vertex. Default: 32."),
    initial: Path = typer.Option(
        None, readable=False, metavar="FILE", help="heat, circuit, neural: lines of `vertex value`, parted likewise."
    ),
    rate: float = typer.Option(
        None, help="heat: share of a difference that flows per unit of weight and step. Default: stable."
    ),
    nodes: Path = typer.Option(None, readable=False, metavar="FILE", help="subgraph, cross: the vertices, one a line."),
    node: list[str] = typer.Option(None, metavar="ID", help="subgraph, cross: one vertex; repeatable."),
    targets: Path = typer.Option(
        None, readable=False, metavar="FILE", help="cross: where edges lead. Default: to all other vertices."
    ),
    target: list[str] = typer.Option(None, metavar="ID", help="cross: one of them; repeatable."),
    center: bool = typer.Option(None, "--center/--no-center", help="egonet: with its sources. Default: yes."),
    endpoints: bool | None = typer.Option(None, "--endpoints", help="betweenness: a path's ends count as on it."),
    undirected: bool | None = typer.Option(None, "--undirected", help="khop, egonet: along edges in either direction."),
    param: list[str] = typer.Option(None, metavar="NAME=VALUE", help="Parameter of a program of your own."),
    max_supersteps: int = typer.Option(None, metavar="N", help="A program of your own: stop after N supersteps."),
    devices: list[str] = typer.Option(None, metavar="NAME", help="host[:N], cuda[:N,M...]. Default: host."),
    gpus: int = typer.Option(None, metavar="N", help="Run on the first N GPUs: --devices cuda:0,1,... in short."),
    device_memory: str = typer.Option(
        None, metavar="SIZE", help="Memory of a device that the run may use. Default: what is free."
    ),
    host_memory: str = typer.Option(
        None, metavar="SIZE", help="Memory that the run may use; pages come from disk. Default: what is free."
    ),
    batch: str = typer.Option(None, metavar="SIZE", help="Pages moved and processed together. Default: 16MiB."),
    streams: int = typer.Option(None, metavar="N", help="Streams of a device that copies. Default: up to 32."),
    cache: str = typer.Option("auto", metavar="auto|lru|pinned|0", help="Policy of the page caches."),
    direction: str = typer.Option("auto", metavar="auto|push|pull", help="Fixed direction of all supersteps."),
    micro: str = typer.Option("hybrid", metavar="vertex|edge|hybrid|1..32", help="Lanes of a GPU that share a list."),
    no_heads: bool = typer.Option(False, "--no-heads", help="Do without the first neighbours of each vertex."),
    no_zero_copy: bool = typer.Option(False, "--no-zero-copy", help="GPUs copy all pages; none is read in place."),
    no_restart: bool = typer.Option(False, "--no-restart", help="A GPU that fails ends the run: no process goes on."),
    threads: int = typer.Option(None, metavar="N", help="Threads of the host. Default: all cores."),
    checkpoint: str = typer.Option(None, metavar="FOLDER", help="Keep the run there, so that --resume can go on."),
    checkpoint_every: str = typer.Option(
        None, metavar="N|TIME", help="Keep it after N supersteps, or 30s, 5m, 1h. Default: 1m."
    ),
    resume: bool = typer.Option(False, "--resume", help="Go on from what --checkpoint kept, on any devices."),
    certify: bool = typer.Option(False, "--certify", help="Prove the answer, or what can be proved of it."),
    ldbc: bool = typer.Option(False, "--ldbc", help="Write FILE as LDBC Graphalytics does."),
    trace: Path = typer.Option(
        None,
        metavar="FILE",
        help="Write what happened when, for Perfetto (ui.perfetto.dev). No GPU makes supersteps by itself then.",
    ),
    plot: Path = typer.Option(None, metavar="FILE", help="degrees: draw the distribution, by matplotlib."),
    json: bool = typer.Option(False, "--json", help="One JSON object on standard output."),
) -> None: ...


def _grouped(declared: Callable[..., Any]) -> None:
    for name, parameter in signature(declared).parameters.items():
        if name in GROUPS:
            parameter.default.rich_help_panel = GROUPS[name]


_grouped(_declared)


def takes(algorithm: Algorithm, option: str) -> bool:
    """Whether an option, by its name in Python, is of use to an algorithm of gstream's."""
    if option in (*OWN_OPTIONS, *NAMED):
        return NAMED.get(option, option) in algorithm.options
    if option == "certify":
        return bool(algorithm.proves)
    return option not in PROGRAMS_OWN and (option != "plot" or algorithm.name == "degrees")


def takes_run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`command(**given)` with the arguments and options declared above: typer reads the signature that this gives."""
    return wraps(_declared, assigned=("__annotations__",))(command)


def own_options(given: dict[str, Any]) -> dict[str, Any]:
    """What was given of the algorithms' own options; vertices that were named one by one stand for those of a file."""
    own = {name: given[name] for name in OWN_OPTIONS if given[name] not in (None, [])}
    for name, several in NAMED.items():
        if given[name] and several in own:
            raise UsageError(f"--{name} and --{several} both say which vertices. Pass one of the two.")
        if given[name]:
            own[several] = given[name]
    return own


def engine_options(given: dict[str, Any]) -> dict[str, Any]:
    """Options of the driver as `gstream.options.run_options.RunOptions` names them; what was not given is left out."""
    devices, gpus = given["devices"], given["gpus"]
    if gpus is not None:
        if not 1 <= gpus <= MOST_GPUS:
            raise UsageError(f"--gpus {gpus}: it must be 1 to {MOST_GPUS}. Leave it out to run on the cores.")
        if devices:
            raise UsageError(f"--gpus {gpus}: --devices names the devices already. Pass one of the two options.")
        devices = [f"cuda:{number}" for number in range(gpus)]
    options = {known: given[name] for name, known in RUN_OPTIONS.items() if given[name] is not None}
    options |= {"use_heads": not given["no_heads"], "zero_copy": not given["no_zero_copy"]}
    return options | ({"devices": devices} if devices else {})


def checkpoint_options(given: dict[str, Any]) -> dict[str, Any]:
    """What was given about checkpoints, as `gstream.options.run_options.RunOptions` names it. --force is for files,
    too.
    """
    options = {"checkpoint": given["checkpoint"], "checkpoint_every": given["checkpoint_every"]}
    asked = {"resume": given["resume"], "replace_checkpoint": given["force"] and not given["resume"]}
    return {name: value for name, value in options.items() if value is not None} | asked


def check_asked(given: dict[str, Any], own: dict[str, Any], parameters: dict[str, str]) -> None:
    """UsageError, in the command line's words, for an option that the algorithm does not have."""
    from gstream.language.loading import is_program_path

    algorithm, certify, store = given["algorithm"], given["certify"], str(given["store"])
    if store in ALGORITHMS and algorithm not in ALGORITHMS:
        raise UsageError(f"{algorithm} {store}: the algorithm comes first. Write {store} {algorithm}.")
    typed = {several: name for name, several in NAMED.items() if given[name]}  # what an own option was given as
    if is_program_path(algorithm):
        for name in own:
            raise UsageError(f"{flag(typed.get(name, name))}: is no option of {algorithm}. Pass --param NAME=VALUE.")
        if certify:
            raise UsageError(f"--certify: {algorithm} has no certificate; algorithms of gstream's have. Leave it out.")
        return
    found = find_algorithm(algorithm)
    known = found.options
    if certify:
        found.check_certificate()
    for name, value in parameters.items():
        raise UsageError(f"--param {name}={value}: is for programs of your own; {algorithm} has options. See --help.")
    for name in own:
        if name not in known:
            flags = ", ".join(flag(option) for option in known if option in OWN_OPTIONS) or "none of its own"
            asked = flag(typed.get(name, name))
            raise UsageError(f"{asked}: is no option of {algorithm}, which has {flags}. Leave it out.")
    check_ends(own)


def flag(name: str) -> str:
    """An option as users write it."""
    return f"--{name.replace('_', '-')}"


def check_ends(own: dict[str, Any]) -> None:
    """UsageError for two options that each say when PageRank ends."""
    for name in ("tol", "max_iter"):
        if "iterations" in own and name in own:
            raise UsageError(
                f"--iterations and {flag(name)} contradict each other: one asks for exactly so many iterations, the "
                f"other for as many as it takes. Drop one of them."
            )


def parse_parameters(given: list[str]) -> dict[str, str]:
    """`NAME=VALUE` texts as a dictionary; programs read the values by their parameters' types."""
    parsed: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--param {text}: must be NAME=VALUE, as --param damping=0.9.")
        parsed[name] = value
    return parsed
