"""`make bench`: measure the converter, the programs, streaming and the command line on this machine's cores.

A full run writes bench/results/host.{json,md}; any other choice of graphs or measurements writes
bench/scratch/results/, so that the table in the project is always whole.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # `python bench/run.py` puts bench/ there, not the project

from bench import harness, report  # noqa: E402
from bench.figures import Figure  # noqa: E402
from bench.graphs import EDGE_FACTOR, SEED  # noqa: E402
from bench.harness import Task  # noqa: E402

MEASUREMENTS = ("cli", "task", "convert", "pagerank", "bfs", "components", "sssp", "algorithms", "changes",
                "stream", "stripes")  # fmt: skip
ONCE = ("cli",)  # measured without a graph
DEFAULT_SCALES = (20, 22)
QUICK_SCALES = (16,)
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
    parser.add_argument("--part", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def measure_here(task: Task, quick: bool, part: Path) -> int:
    """Measure in this process and record the figures in `part`; the exit code."""
    from bench.context import Context

    module = importlib.import_module(f"bench.{task.measurement}")
    facts = harness.header(f"python bench/run.py --one {task.measurement} {task.graph}", GRAPHS)

    def figures() -> Iterator[Figure]:  # the graph is made when the first figure is asked for
        yield from module.measure(Context(task.graph, quick))

    return harness.record(part, task, facts, figures())


def plan(options: argparse.Namespace) -> list[Task]:
    """Measurements in the order they run: a graph at a time, smallest first."""
    scales = options.scale or (QUICK_SCALES if options.quick else DEFAULT_SCALES)
    graphs = ([] if options.no_shipped else ["debian"]) + [f"rmat-{scale}" for scale in scales]
    names = [name for name in MEASUREMENTS if not options.only or name in options.only]
    once = [Task(name, "none") for name in names if name in ONCE]
    return once + [Task(name, graph) for graph in graphs for name in names if name not in ONCE]


def results_folder(options: argparse.Namespace) -> Path:
    whole = not (options.scale or options.only or options.quick or options.no_shipped)
    return options.out or ROOT / "bench" / ("results" if whole else "scratch/results")


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    if options.one:
        return measure_here(Task(*options.one), options.quick, options.part)
    folder = results_folder(options)
    if options.join:
        report.write(folder, "host", *harness.join(options.join))
        return 0
    command = " ".join(["python bench/run.py", *(arguments if arguments is not None else sys.argv[1:])])
    facts = harness.header(command, GRAPHS)
    parts = []
    for task in plan(options):
        parts.append(ROOT / "bench" / "scratch" / "parts" / f"{task.measurement}-{task.graph}.json")
        one = [sys.executable, str(Path(__file__).resolve()), "--one", *task, "--part", str(parts[-1])]
        harness.run_apart(one + ["--quick"] * options.quick, parts[-1], task, facts, LONGEST_SECONDS)
    result, figures = harness.join(parts)
    result |= facts
    paths = report.write(folder, "host", result, figures)
    print(report.markdown("host", result, figures))
    print(f"written: {paths[0]} and {paths[1]}", file=sys.stderr)
    return 1 if result["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
