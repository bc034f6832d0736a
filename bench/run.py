"""`make bench`: measure the converter, the programs, streaming and the command line on this machine's cores.

Each measurement runs in a process of its own, one after the other, so that none inherits another's memory, threads or
warm caches, and one that fails doesn't take the rest with it. A full run writes bench/results/host.{json,md}; any
other choice of graphs or measurements writes bench/scratch/results/, so that the table in the project is always whole.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # `python bench/run.py` puts bench/ there, not the project

from bench import machine, report  # noqa: E402
from bench.figures import Figure, WrongAnswerError  # noqa: E402
from bench.graphs import EDGE_FACTOR, SEED  # noqa: E402

MEASUREMENTS = ("cli", "convert", "pagerank", "bfs", "components", "sssp", "stream")
ONCE = ("cli",)  # measured without a graph
DEFAULT_SCALES = (20, 22)
QUICK_SCALES = (16,)
WRONG_EXIT = 10
GRAPHS = (
    f"rmat-S: 2^S vertices, {EDGE_FACTOR} edges a vertex, Graph500 parameters (.57, .19, .19), seed {SEED}, scrambled "
    "IDs; undirected: both directions, no duplicates, no self-loops. debian: the graph that ships with gstream"
)
LONGEST_SECONDS = 3600  # of one measurement on one graph


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", type=int, nargs="+", help="scales of the RMAT graphs (default 20 22)")
    parser.add_argument("--only", nargs="+", choices=MEASUREMENTS, help="these measurements only")
    parser.add_argument("--quick", action="store_true", help="scale 16 and few repeats: does everything still run?")
    parser.add_argument("--no-shipped", action="store_true", help="leave out the graph that ships with gstream")
    parser.add_argument("--out", type=Path, help="folder for the results")
    parser.add_argument("--join", type=Path, nargs="+", metavar="JSON", help="measure nothing: join results into one")
    parser.add_argument("--one", nargs=2, metavar=("NAME", "GRAPH"), help=argparse.SUPPRESS)
    parser.add_argument("--answer", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def measure_here(name: str, graph_name: str, quick: bool, answer: Path) -> int:
    """Run one measurement in this process and write its figures to `answer`; the exit code."""
    import importlib

    from bench.context import Context

    module = importlib.import_module(f"bench.{name}")
    others = machine.Disturbance()
    try:
        figures = module.measure(Context(graph_name, quick))
    except WrongAnswerError as error:
        print(f"wrong answer: {error}", file=sys.stderr)
        return WRONG_EXIT
    busy = round(others.cores(), 3)
    answer.write_text(json.dumps([figure.as_dict() | {"disturbance": busy} for figure in figures]))
    return 0


def load_figures(rows: list[dict[str, Any]]) -> list[Figure]:
    return [Figure(**{key: value for key, value in row.items() if key not in ("ratio", "passed")}) for row in rows]


def measure_apart(name: str, graph_name: str, quick: bool, folder: Path) -> tuple[list[Figure], str]:
    """Run one measurement in a process of its own: (figures, "") or ([], why not)."""
    answer = folder / f"{name}-{graph_name}.json"
    answer.unlink(missing_ok=True)
    command = [sys.executable, str(Path(__file__).resolve()), "--one", name, graph_name, "--answer", str(answer)]
    command += ["--quick"] if quick else []
    try:
        done = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, timeout=LONGEST_SECONDS)
    except subprocess.TimeoutExpired:
        return [], f"not done after {LONGEST_SECONDS} s"
    if done.returncode or not answer.exists():
        print(done.stderr, file=sys.stderr)
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return [], last[0].replace(f"{ROOT}/", "")
    return load_figures(json.loads(answer.read_text())), ""


def plan(options: argparse.Namespace) -> list[tuple[str, str]]:
    """(measurement, graph) in the order they run: a graph at a time, smallest first."""
    scales = options.scale or (QUICK_SCALES if options.quick else DEFAULT_SCALES)
    graphs = ([] if options.no_shipped else ["debian"]) + [f"rmat-{scale}" for scale in scales]
    names = [name for name in MEASUREMENTS if not options.only or name in options.only]
    once = [(name, "none") for name in names if name in ONCE]
    return once + [(name, graph) for graph in graphs for name in names if name not in ONCE]


def join(files: list[Path]) -> tuple[dict[str, Any], list[Figure]]:
    """Results of runs on one machine (each on cores of its own, say) as one; facts are those of the first."""
    wholes = [json.loads(file.read_text()) for file in files]
    figures = [figure for whole in wholes for figure in load_figures(whole.pop("figures"))]
    return wholes[0] | {
        "command": "; ".join(whole["command"] for whole in wholes),
        "seconds": sum(whole["seconds"] for whole in wholes),
        "failures": [failure for whole in wholes for failure in whole["failures"]],
    }, figures


def results_folder(options: argparse.Namespace) -> Path:
    whole = not (options.scale or options.only or options.quick or options.no_shipped)
    return options.out or ROOT / "bench" / ("results" if whole else "scratch/results")


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    if options.one:
        name, graph = options.one
        return measure_here(name, graph, options.quick, options.answer)
    folder = results_folder(options)
    if options.join:
        report.write(folder, *join(options.join))
        return 0
    facts = machine.facts()
    scratch = ROOT / "bench" / "scratch" / "answers"
    scratch.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    figures: list[Figure] = []
    failures: list[dict[str, Any]] = []
    for name, graph in plan(options):
        print(f"... {name} {graph}", file=sys.stderr, flush=True)
        found, error = measure_apart(name, graph, options.quick, scratch)
        figures += found
        failures += [{"measurement": name, "graph": graph, "error": error}] if error else []
    result = {
        "command": " ".join(["python bench/run.py", *(arguments if arguments is not None else sys.argv[1:])]),
        "machine": facts,
        "graphs": GRAPHS,
        "seconds": time.perf_counter() - start,
        "failures": failures,
    }
    paths = report.write(folder, result, figures)
    print(report.markdown(result, figures))
    print(f"written: {paths[0]} and {paths[1]}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
