"""The options of `gstream run`, which `gstream plan` takes too: the driver's stand here, in groups of --help; those of
algorithms come from their declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

import typer

from gstream.algorithms.declaration import (
    EXTENT,
    NUMBER,
    SWITCH,
    SYNC_OR_ASYNC,
    VERTEX_SET,
    VERTICES,
    WHOLE,
    Algorithm,
    Option,
    flag,
    singular,
)
from gstream.algorithms.registry import ALGORITHMS, OPTIONS, find_algorithm
from gstream.cli.logs import HELP, LOG_HELP
from gstream.language.loading import is_program_path
from pagestore.errors import UsageError

MOST_GPUS = 1024  # no machine has more
RUN_OPTIONS = (  # of the driver, as gstream.options.run_options.RunOptions has them
    "device_memory", "host_memory", "threads", "read_threads", "batch_bytes", "streams", "cache", "direction",
    "dispatch", "micro",
    "max_supersteps",
)  # fmt: skip
OWN = "Options of algorithms and programs"
# Of what else there is, the value is the path of a file.
TYPES: dict[Any, Any] = {
    WHOLE: int,
    NUMBER: float,
    EXTENT: float,
    SWITCH: bool | None,
    VERTICES: list[str],
    SYNC_OR_ASYNC: str,
}  # else the path of a file
ALGORITHM_HELP = "One of those below, or a program of your own: my.py:MyProgram."
STORE_HELP = "A store. run takes an edge list, too, and converts it once into the cache."
COUNTED_HELP = "A store; without one, --vertices and --edges."
Declared = dict[str, tuple[Any, Any]]  # option -> (type, what typer makes it of)


def _option(typed: Any, shown: str | None, text: str, *names: str, default: Any = None, **more: Any) -> tuple[Any, Any]:
    """An option. shown: what --help calls its value."""
    return typed, typer.Option(default, *names, metavar=shown, help=text, **more)


def _switch(name: str, text: str) -> tuple[Any, Any]:
    return _option(bool, None, text, name, default=False)


PROGRAMS_OWN: Declared = {
    "param": _option(list[str], "NAME=VALUE", "Parameter of a program of your own."),
    "max_supersteps": _option(int, "N", "A program of your own: stop after N supersteps."),
}
DRIVERS: dict[str, Declared] = {
    "Input and output": {
        "output": _option(
            Path, "FILE", ".csv .tsv .txt (.gz, .zst) .parquet .npy .arrow; - is stdout.", "-o", "--output"
        ),
        "top": _option(int, "N", "Rows to show, without -o or with --json. Default: 20, of stats none.", min=0),
        "force": _switch("--force", "Replace what exists (-o, --trace, --report, --plot, --checkpoint)."),
        "json": _switch("--json", "One JSON object on standard output."),
        "progress": _option(str, "auto|plain|json|off", HELP, default="auto"),
        "log_file": _option(Path, "FILE", LOG_HELP),
        "ldbc": _switch("--ldbc", "Write FILE as LDBC Graphalytics does."),
        "trace": _option(
            Path,
            "FILE",
            "Write what happened when, for Perfetto (ui.perfetto.dev). No GPU makes supersteps by itself then.",
        ),
        "report": _option(Path, "FILE", "Write a page about the run: .html. Traces the run, as --trace does."),
        "plot": _option(Path, "FILE", "Draw how the values are distributed, or up to 2,000 edges: .png .svg .pdf."),
        "certify": _switch("--certify", "Prove the answer, or what can be proved of it."),
        "stripe": _option(list[str], "A,B,...", "Folders of the stripes of a store on several disks."),
    },
    "Memory and devices": {
        "devices": _option(list[str], "NAME", "auto, host[:N], cuda[:N,M...], or host,cuda:N. Default: auto."),
        "gpus": _option(int, "N", "Run on the first N GPUs: --devices cuda:0,1,... in short."),
        "device_memory": _option(str, "SIZE", "Memory of a device that the run may use. Default: what is free."),
        "host_memory": _option(
            str, "SIZE", "Memory that the run may use; pages come from disk. Default: what is free."
        ),
        "threads": _option(int, "N", "Threads of the host. Default: all cores."),
        "ranks": _option(
            str,
            "auto|share|off",
            "Of processes that mpiexec or srun started: share the run, on one machine only if asked to. off: each runs "
            "alone. plan takes a number, too.",
            default="auto",
        ),
    },
    "Checkpoints and failures": {
        "checkpoint": _option(str, "FOLDER", "Keep the run there, so that --resume can go on."),
        "checkpoint_every": _option(str, "N|TIME", "Keep it after N supersteps, or 30s, 5m, 1h. Default: 1m."),
        "resume": _switch("--resume", "Go on from what --checkpoint kept, on any devices."),
        "no_restart": _switch("--no-restart", "A GPU that fails ends the run: no process goes on."),
    },
    "For experts": {
        "batch": _option(str, "SIZE", "Pages moved and processed together. Default: 16MiB."),
        "read_threads": _option(str, "N|auto", "Threads that read ahead, for each disk. Default: as measured."),
        "streams": _option(int, "N", "Streams of a device that copies. Default: 32 where memory holds their batches."),
        "cache": _option(str, "auto|lru|pinned|0", "Policy of the page caches.", default="auto"),
        "direction": _option(str, "auto|push|pull", "Fixed direction of all supersteps.", default="auto"),
        "dispatch": _option(
            str, "auto|fixed", "Pages of GPUs and cores: to the device that is free, or fixed shares.", default="auto"
        ),
        "micro": _option(str, "vertex|edge|hybrid|1..32", "Lanes of a GPU that share a list.", default="hybrid"),
        "no_heads": _switch("--no-heads", "Do without the first neighbours of each vertex."),
        "no_zero_copy": _switch("--no-zero-copy", "GPUs copy all pages; none is read in place."),
    },
}

COUNTED_HEADING = "Without a store, or for another machine"
COUNTED: dict[str, Declared] = {
    COUNTED_HEADING: {
        "vertices": _option(str, "N", "Vertices of the graph. --undirected and --weighted say what it is."),
        "edges": _option(str, "N", "Its edges; undirected ones each once."),
        "order": _option(str, "natural|degree", "Its order in the store.", default="natural"),
        "machine": _option(str, "NAME|FILE", "Plan for laptop, h100x8, ..., or a file of gstream doctor --save."),
    }
}


def options_of(algorithms: Iterable[Algorithm]) -> Declared:
    """The options that these algorithms have, each once: its help says what it means to whom."""
    users: dict[str, list[tuple[str, Option]]] = {}
    for algorithm in algorithms:
        for option in algorithm.options:
            users.setdefault(option.name, []).append((algorithm.name, option))
    found: Declared = {}
    for name, uses in users.items():
        kind, names = uses[0][1].kind, (flag(name),)
        if kind == SWITCH:
            is_on = any(option.default for _, option in uses)
            names = (f"{flag(name)}/--no-{flag(name)[2:]}" if is_on else flag(name),)
        more = {} if kind in TYPES else {"readable": False}
        found[name] = _option(TYPES.get(kind, Path), kind.shown, help_of(uses), *names, **more)
        if kind == VERTEX_SET:
            who = ", ".join(algorithm for algorithm, _ in uses)
            found[singular(name)] = _option(list[str], "ID", f"{who}: one of {flag(name)}; repeatable.")
    return found


def help_of(uses: list[tuple[str, Option]]) -> str:
    """What an option means: algorithms to which it means the same stand together."""
    texts: dict[str, dict[str, list[str]]] = {}
    for name, option in uses:
        texts.setdefault(option.help, {}).setdefault(_shown(option.default), []).append(name)
    said = []
    for text, by_default in texts.items():
        shown = [f"{', '.join(names)} {default}" for default, names in by_default.items() if default]
        if shown and "" not in by_default:
            shown[0] = next(iter(by_default))  # of the others, too, but where they are named
        who = ", ".join(name for names in by_default.values() for name in names)
        said.append(f"{who}: {text}" + (f" (default {'; '.join(shown)})" if shown else ""))
    return "; ".join(said) + ("; repeatable." if uses[0][1].kind == VERTICES else ".")


def _shown(default: Any) -> str:
    """A default as users write it; "" if the option has none."""
    if default is None or isinstance(default, bool):
        return "yes" if default else ""
    return default if isinstance(default, str) else f"{default:g}"


def takes_run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`command(**given)` with a signature that typer reads: the driver's options, and those of all known algorithms.
    One whose attribute `counted` is true may do without a store: COUNTED says what takes its place. An attribute `only`
    names the one algorithm that it runs."""
    counted, only = getattr(command, "counted", False), getattr(command, "only", None)
    store = typer.Argument(None if counted else ..., metavar="[STORE]" if counted else "STORE", readable=False,
                           help=COUNTED_HELP if counted else STORE_HELP)  # fmt: skip
    declared: Declared = {"store": (Path, store)}
    own = options_of([ALGORITHMS[only]] if only else ALGORITHMS.values())
    if only is None:
        declared = {"algorithm": (str, typer.Argument(..., metavar="ALGORITHM", help=ALGORITHM_HELP))} | declared
        own |= PROGRAMS_OWN
    for heading, group in ((OWN, own), *(COUNTED if counted else {}).items(), *DRIVERS.items()):
        for _, made in group.values():
            made.rich_help_panel = heading
        declared |= group
    parameters = [Parameter(name, Parameter.KEYWORD_ONLY, default=made) for name, (_, made) in declared.items()]
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {name: typed for name, (typed, _) in declared.items()}
    return command


def made_again(command: Callable[..., Any]) -> Any:
    """The command of such a function, with the options of algorithms that were found since it was made."""
    app = typer.Typer(add_completion=False)
    app.command()(takes_run_options(command))
    return typer.main.get_command(app)


def takes(algorithm: Algorithm, option: str, heading: str | None) -> bool:
    """Whether an option, by its name in Python, is of use to an algorithm that has a name."""
    if option == "certify":
        return bool(algorithm.proof)
    own = {one.name: one.kind for one in algorithm.options}
    singles = {singular(name) for name, kind in own.items() if kind == VERTEX_SET}
    return heading != OWN or option in own or option in singles


def own_options(given: dict[str, Any]) -> dict[str, Any]:
    """What was given of the algorithms' own options; vertices that were named one by one stand for those of a file."""
    own = {}
    for name, option in OPTIONS.items():
        value, single = given.get(name), singular(name) if option.kind == VERTEX_SET else name
        if given.get(single) and single != name:
            if value is not None:
                raise UsageError(f"{flag(single)} and {flag(name)} both say which vertices. Pass one of the two.")
            value = given[single]
        elif value is not None and option.kind not in TYPES:
            value = Path(value)
        elif value is not None and option.kind == EXTENT and value % 1 == 0:
            value = int(value)
        if value not in (None, []):
            own[name] = value
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
    named = {name: given[name.removesuffix("_bytes")] for name in RUN_OPTIONS}
    options = {name: value for name, value in named.items() if value is not None}
    options |= {"use_heads": not given["no_heads"], "zero_copy": not given["no_zero_copy"]}
    return options | ({"devices": devices} if devices else {})


def checkpoint_options(given: dict[str, Any]) -> dict[str, Any]:
    """What was given about checkpoints, as `gstream.options.run_options.RunOptions` names it. --force is for files,
    too."""
    options = {"checkpoint": given["checkpoint"], "checkpoint_every": given["checkpoint_every"]}
    asked = {"resume": given["resume"], "replace_checkpoint": given["force"] and not given["resume"]}
    return {name: value for name, value in options.items() if value is not None} | asked


def check_asked(given: dict[str, Any], own: dict[str, Any], parameters: dict[str, Any]) -> None:
    """UsageError, in the command line's words, for an option that the algorithm does not have."""
    from gstream.algorithms.execute import check_certificate

    algorithm, certify, store = given["algorithm"], given["certify"], str(given["store"])
    if store in ALGORITHMS and algorithm not in ALGORITHMS:
        raise UsageError(f"{algorithm} {store}: the algorithm comes first. Write {store} {algorithm}.")
    typed = {
        name: singular(name)
        for name, value in own.items()
        if OPTIONS[name].kind == VERTEX_SET and isinstance(value, list)
    }
    if is_program_path(algorithm):
        for name in own:
            raise UsageError(f"{flag(typed.get(name, name))}: is no option of {algorithm}. Pass --param NAME=VALUE.")
        if certify:
            raise UsageError(f"--certify: {algorithm} has no certificate; algorithms of gstream's have. Leave it out.")
        return
    found = find_algorithm(algorithm)
    if certify:
        check_certificate(found)
    for name, value in parameters.items():
        raise UsageError(f"--param {name}={value}: is for programs of your own; {algorithm} has options. See --help.")
    for name in own:
        if name not in found.defaults:
            flags = ", ".join(flag(option) for option in found.defaults) or "none of its own"
            asked = flag(typed.get(name, name))
            raise UsageError(f"{asked}: is no option of {algorithm}, which has {flags}. Leave it out.")
    check_ends(own)


def check_ends(own: dict[str, Any]) -> None:
    """UsageError for two options that each say when PageRank ends."""
    for name in ("tol", "max_iter"):
        if "iterations" in own and name in own:
            raise UsageError(
                f"--iterations and {flag(name)} contradict each other: one asks for exactly so many iterations, the "
                f"other for as many as it takes. Drop one of them."
            )


def parse_parameters(given: list[str]) -> dict[str, Any]:
    """`NAME=VALUE` texts as a dictionary; programs read the values by their parameters' types. Values of a name that is
    given several times are a list, as of vertices."""
    parsed: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--param {text}: must be NAME=VALUE, as --param damping=0.9.")
        before = parsed.get(name, [])
        parsed[name] = [*(before if isinstance(before, list) else [before]), value] if name in parsed else value
    return parsed
