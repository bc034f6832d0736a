"""`gstream run ALGORITHM STORE`: BFS, PageRank, SSSP, components, or a program of the user's own."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from gstream.cli.paths import refuse_existing, refuse_overwriting
from gstream.cli.sizes import parse_size, show_bytes, show_count, show_seconds
from gstream.cli.terminal import ProgressBar, note, print_json, print_pairs, print_table
from pagestore.errors import UsageError

if TYPE_CHECKING:
    from gstream.graph import Graph
    from gstream.results import Result
    from gstream.stats import StepStats
    from gstream.trace import ChromeTrace

TOP_ROWS = 20
OWN_OPTIONS = (  # of the algorithms, that the command line has
    "source", "depth_limit", "predecessors", "alpha", "iterations", "tol", "max_iter", "personalization", "float64",
)  # fmt: skip
COMPILING = "numba:compiler_lock"  # held while Numba compiles a kernel or loads one that it kept


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("run", short_help="Run an algorithm on a store.")(run)


def run(
    algorithm: str = typer.Argument(..., metavar="ALGORITHM", help="bfs, pagerank, sssp, wcc or my.py:MyProgram."),
    store: Path = typer.Argument(..., metavar="STORE"),
    output: Path = typer.Option(None, "-o", "--output", metavar="FILE", help=".parquet, .csv, .npy or .arrow."),
    source: list[str] = typer.Option(None, metavar="ID", help="bfs, sssp: start here; may be repeated."),
    depth_limit: int = typer.Option(None, metavar="N", help="bfs: go at most N edges far."),
    predecessors: bool = typer.Option(None, "--predecessors/--no-predecessors", help="bfs, sssp: default yes."),
    alpha: float = typer.Option(None, help="pagerank: share of rank that follows edges. Default: 0.85."),
    iterations: int = typer.Option(None, metavar="N", help="pagerank: exactly N iterations."),
    tol: float = typer.Option(None, help="pagerank: end at this L1 change, not times n as NetworkX. Default: 1e-6."),
    max_iter: int = typer.Option(None, metavar="N", help="pagerank: end after N iterations. Default: 100."),
    personalization: Path = typer.Option(None, metavar="FILE", help="pagerank: lines of `vertex weight`."),
    float64: bool = typer.Option(None, "--float64", help="pagerank, sssp: values in double precision."),
    param: list[str] = typer.Option(None, metavar="NAME=VALUE", help="Parameter of a program of your own."),
    max_supersteps: int = typer.Option(None, metavar="N", help="A program of your own: stop after N supersteps."),
    devices: list[str] = typer.Option(
        None, metavar="NAME", help="host[:N], cuda[:N,M...], fake:SEED[:N]. Default: host."
    ),
    gpus: int = typer.Option(None, metavar="N", help="Run on the first N GPUs: --devices cuda:0,1,... in short."),
    device_memory: str = typer.Option(None, metavar="SIZE", help="Memory of a device that the run may use."),
    host_memory: str = typer.Option(None, metavar="SIZE", help="Memory that the run may use; pages come from disk."),
    batch: str = typer.Option(None, metavar="SIZE", help="Pages moved and processed together. Default: 16MiB."),
    streams: int = typer.Option(None, metavar="N", help="Streams of a device that copies. Default: up to 32."),
    cache: str = typer.Option("auto", metavar="auto|lru|pinned|0", help="Policy of the page caches."),
    direction: str = typer.Option("auto", metavar="auto|push|pull", help="Fixed direction of all supersteps."),
    micro: str = typer.Option("hybrid", metavar="vertex|edge|hybrid|1..32", help="Lanes of a GPU that share a list."),
    no_heads: bool = typer.Option(False, "--no-heads", help="Do without the first neighbours of each vertex."),
    threads: int = typer.Option(None, metavar="N", help="Threads of the host. Default: all cores."),
    certify: bool = typer.Option(False, "--certify", help="Prove the answer in one more sweep."),
    ldbc: bool = typer.Option(False, "--ldbc", help="Write FILE as LDBC Graphalytics does."),
    trace: Path = typer.Option(None, metavar="FILE", help="Write what happened when, for Perfetto (ui.perfetto.dev)."),
    json: bool = typer.Option(False, "--json", help="One JSON object on standard output."),
) -> None:
    """Run an algorithm; show the top 20 vertices and the run's figures, or write every vertex with -o."""
    own = {
        "source": source or None, "depth_limit": depth_limit, "predecessors": predecessors, "alpha": alpha,
        "iterations": iterations, "tol": tol, "max_iter": max_iter, "personalization": personalization,
        "float64": float64 or None,
    }  # fmt: skip
    options = engine_options(
        devices=devices, gpus=gpus, device_memory=device_memory, host_memory=host_memory, batch=batch, streams=streams,
        cache=cache, direction=direction, micro=micro, no_heads=no_heads, threads=threads,
        max_supersteps=max_supersteps,
    )  # fmt: skip
    start_gpus(options)
    check_written(store, algorithm, personalization, output, trace, ldbc)

    from numba.core.event import install_timer

    import gstream

    with ProgressBar() as bar, tracing(trace) as spans:
        options |= {"trace": spans, "progress": StepLine(bar)}
        with gstream.open(store, **options) as graph:
            graph.engine().measure()  # its own kernels are not the run's
            began = time.perf_counter()
            with install_timer(COMPILING, lambda seconds: None) as timer:
                result = start(graph, algorithm, chosen(own), param or [], certify)
            seconds = time.perf_counter() - began
    if output is not None:
        result.write(output, ldbc=ldbc)
    show(apart(result.summary, seconds, timer.duration if timer.done else 0.0), result, output, json)


def start_gpus(options: dict[str, Any]) -> None:
    """Let CUDA start while Python imports what a run needs, where the options name GPUs."""
    from gstream.devices.early import start_cuda
    from gstream.options import parse_devices

    specs = parse_devices(options["devices"]) if "devices" in options else []
    numbers = [spec.seed for spec in specs if spec.kind == "cuda"]
    if numbers:
        start_cuda(numbers)


def check_written(
    store: Path, algorithm: str, personalization: Path | None, output: Path | None, trace: Path | None, ldbc: bool
) -> None:
    """Raise, before anything is computed, where a file of the run can't be written or is one that the run reads."""
    from gstream.resultfiles import check_output

    program = Path(algorithm.rpartition(":")[0] or algorithm)
    read = [path for path in (store, program, personalization) if path is not None]
    refuse_overwriting([path for path in (output, trace) if path is not None], read)
    if output is not None:
        check_output(output, ldbc)
    elif ldbc:
        raise UsageError("--ldbc says how a file is written. Pass -o FILE too.")
    if trace is not None:
        refuse_existing(trace, force=True, example="run.json")


@contextmanager
def tracing(path: Path | None) -> Iterator[ChromeTrace | None]:
    """Takes the spans of a run for --trace; they are written when the block ends well."""
    if path is None:
        yield None
        return
    from gstream.trace import ChromeTrace
    from pagestore.convert.storage import disk_errors

    spans = ChromeTrace()
    yield spans
    with disk_errors(path):
        spans.write(path)


class StepLine:
    """Shows each superstep of a run on `bar`, once it is done."""

    def __init__(self, bar: ProgressBar) -> None:
        self.bar, self.pages = bar, 0

    def __call__(self, number: int, step: StepStats) -> None:
        self.pages += step.pages
        self.bar.say(
            f"superstep {number}: {show_count(step.frontier)} vertices active, {step.pages:,} pages in "
            f"{show_seconds(step.seconds)}; {self.pages:,} pages in all"
        )


def chosen(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def start(graph: Graph, algorithm: str, own: dict[str, Any], parameters: list[str], certify: bool) -> Result:
    """Run an algorithm of gstream's, or a program by its path."""
    from gstream.algorithms.registry import find_algorithm
    from gstream.loading import is_program_path

    if not is_program_path(algorithm):
        if parameters:
            raise UsageError(
                f"--param {parameters[0]}: is for programs of your own; {algorithm} has options. See --help."
            )
        check_own(algorithm, own)
        check_ends(own)
        required = {name: None for name in ("source",) if name in find_algorithm(algorithm).options}
        return graph.execute(algorithm, {**required, **own}, certify)
    if own:
        raise UsageError(f"{flag(next(iter(own)))}: is no option of {algorithm}. Pass --param NAME=VALUE.")
    if certify:
        raise UsageError(f"--certify: {algorithm} has no certificate; bfs, pagerank, sssp and wcc have. Leave it out.")
    return graph.run(algorithm, **parse_parameters(parameters))


def check_own(algorithm: str, own: dict[str, Any]) -> None:
    """UsageError, in the command line's words, for an option that `algorithm` does not have."""
    from gstream.algorithms.registry import find_algorithm

    known = find_algorithm(algorithm).options
    for name in own:
        if name not in known:
            flags = ", ".join(flag(option) for option in known if option in OWN_OPTIONS) or "none of its own"
            raise UsageError(f"{flag(name)}: is no option of {algorithm}, which has {flags}. Leave it out.")


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


def show(summary: dict[str, Any], result: Result, output: Path | None, json: bool) -> None:
    """The top rows and the figures, or one JSON object; a note where PageRank did not converge."""
    if not summary.get("converged", True):
        note(f"not converged after {summary['supersteps']} supersteps: the result is as far as it came.")
    top = result.top(TOP_ROWS)
    if json:
        print_json({**summary, "output": output, "rows": len(result), "top": top})
        return
    if output is None and top:
        print_table(list(top[0]), [list(row.values()) for row in top])
        print()
    print_pairs(summary_lines(summary, output, len(result)))


def apart(summary: dict[str, Any], seconds: float, compile_seconds: float) -> dict[str, Any]:
    """The summary of a run of `seconds` with the time of compiling named apart from the run's, and rates without it."""
    stats = dict(summary["stats"])
    stats["compile_seconds"] = compile_seconds
    seconds = stats["seconds"] = max(0.0, seconds - compile_seconds)
    for rate, amount in (("edges_per_second", "edges_visited"), ("bytes_per_second", "bytes_moved")):
        stats[rate] = stats[amount] / seconds if seconds > 0 else 0.0
    return {**summary, "stats": stats}


def summary_lines(summary: dict[str, Any], output: Path | None, rows: int) -> list[tuple[str, str]]:
    """A run's figures, for people."""
    stats = summary["stats"]
    seconds = stats["seconds"]
    ended = "" if summary.get("converged", True) else ", not converged"
    compiled = stats["compile_seconds"]
    compiling = f", after {show_seconds(compiled)} to compile or load kernels" if compiled > 0.001 else ""
    asked = stats["cache_hits"] + stats["cache_misses"]
    planned = f"; planned {show_bytes(stats['predicted_bytes'])}" if stats["predicted_bytes"] else ""
    lines = [
        ("run", f"{summary['algorithm']} on {summary['store']}: {show_seconds(seconds)}{compiling}"),
        ("supersteps", f"{summary['supersteps']}{ended}{superstep_times(stats)}"),
        ("pages moved", f"{stats['pages_moved']:,}, {show_bytes(stats['bytes_moved'])} "
                        f"({stats['bytes_per_second'] / 1e9:.3g} GB/s){planned}"),
        ("read from disk", show_bytes(stats["bytes_read_disk"])),
        ("edges", f"{stats['edges_visited']:,} visited, {show_count(stats['edges_per_second'])} edges/s"),
        ("cache hits", f"{stats['cache_hits']:,} of {asked:,} pages ({stats['r_hit']:.0%})" if asked else "none used"),
        ("peak memory", f"{show_bytes(stats['peak_memory_bytes'])} of pages and attributes, "
                        f"{show_bytes(peak_rss())} in all"),
    ]  # fmt: skip
    for name in ("reached", "components", "l1_change"):
        if name in summary:
            value = summary[name]
            lines.append((name.replace("_", " "), f"{value:,}" if isinstance(value, int) else f"{value:.3g}"))
    if summary.get("certificate"):
        lines.append(("certificate", certificate_text(summary["certificate"])))
    if output is not None:
        lines.append(("written", f"{output}: {rows:,} rows"))
    return lines


def superstep_times(stats: dict[str, Any]) -> str:
    """How long the supersteps took, beside it what the cost model said where it could before the run, as of bytes."""
    taken = sum(step["seconds"] for step in stats["per_superstep"])
    planned = f"; planned {show_seconds(stats['predicted_seconds'])}" if stats["predicted_bytes"] else ""
    compiled = taken > stats["seconds"]  # some of that was for compiling, which is named apart
    return f" in {show_seconds(taken)}{planned}" if taken and not compiled else ""


def certificate_text(certificate: dict[str, Any]) -> str:
    """What --certify proved, on one line."""
    return f"{certificate['proves']} ({show_seconds(certificate['seconds'])})"


def peak_rss() -> int:
    """Most memory that this process has held, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def engine_options(
    devices: list[str] | None = None,
    gpus: int | None = None,
    device_memory: str | None = None,
    host_memory: str | None = None,
    batch: str | None = None,
    streams: int | None = None,
    cache: str = "auto",
    direction: str = "auto",
    micro: str = "hybrid",
    no_heads: bool = False,
    threads: int | None = None,
    max_supersteps: int | None = None,
) -> dict[str, Any]:
    """Options of the driver as `gstream.options.RunOptions` names them; what was not given is left out."""
    if gpus is not None:
        if gpus < 1:
            raise UsageError(f"--gpus {gpus}: a run on GPUs takes one at least. Leave it out to run on the cores.")
        if devices:
            raise UsageError(f"--gpus {gpus}: --devices names the devices already. Pass one of the two options.")
        devices = [f"cuda:{number}" for number in range(gpus)]
    given = {
        "devices": devices or None,
        "device_memory": parse_size(device_memory, "--device-memory"),
        "host_memory": parse_size(host_memory, "--host-memory"),
        "batch_bytes": parse_size(batch, "--batch"),
        "streams": streams,
        "cache": cache,
        "direction": direction,
        "micro": micro,
        "use_heads": not no_heads,
        "threads": threads,
        "max_supersteps": max_supersteps,
    }
    return chosen(given)
