"""Stages of a benchmark on GPUs: chosen by name, each in a process of its own, joined into one result.

A stage is a function from a Setup to figures, which come one by one; harness.record keeps each in the stage's part,
FOLDER/parts/NAME-STAGE-SCALE.json. After every stage the whole result is written: NAME.json, NAME.md, plots.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench import harness, plots, report
from bench.figures import Figure, Wanted
from bench.gpu_setup import LEAST_SECONDS, Setup
from bench.graphs import EDGE_FACTOR, SEED
from bench.harness import Task
from bench.link import ALL_GPUS, Devices, gpu_lines
from bench.machine import ROOT
from pagestore.errors import GstreamError

GRAPHS = (
    f"rmat-S: 2^S vertices, {EDGE_FACTOR} edges a vertex where nothing else is said, Graph500 parameters "
    f"(.57, .19, .19), seed {SEED}; undirected: both directions, no duplicates, no self-loops, scrambled IDs, degree "
    "order; columns: the same in column pages; weighted: the same with weights 1 to 255; out: directed, out-pages "
    "only, otherwise the same; out, as generated: directed, out-pages only, natural order"
)
FOLDERS = {"--stores": None, "--out": None, "--data": "FOLDER"}  # what is said for them
MERGE_SCALE = 28
LINK_LIMIT = 12.0  # GB/s, as of PCIe 4 x8
STREAMS = (1, 2, 4, 8, 16, 32)
SOURCES = 16
LONGEST_SECONDS = 600.0  # of one stage on one graph

Stage = Callable[[Setup], Iterator[Figure]]


@dataclass(frozen=True)
class Suite:
    """A benchmark program. once: stages that run on the smallest graph only, or on one of their own; wanted: figures
    whose absence the report names; devices: what --devices is by default; graph: what a task's graph is called;
    graphs: what its graphs are."""

    name: str
    script: str
    stages: Mapping[str, Stage]
    once: frozenset[str]
    scales: tuple[int, ...]
    about: str
    wanted: tuple[Wanted, ...] = ()
    devices: str = ALL_GPUS
    graph: str = "rmat-{}"
    graphs: str = GRAPHS

    def parse(self, arguments: Sequence[str] | None) -> argparse.Namespace:
        parser = argparse.ArgumentParser(prog=self.script, description=self.about)
        add = parser.add_argument
        scales = " ".join(map(str, self.scales))
        add("--only", nargs="+", choices=list(self.stages), metavar="STAGE", help=f"of {', '.join(self.stages)}")
        add("--scale", "--scales", type=int, nargs="+", help=f"scales of the RMAT graphs (default {scales})")
        add(
            "--devices",
            default=self.devices,
            help=f"{ALL_GPUS} (GPUs), cuda:0,1, host (default {self.devices})",
        )
        add("--out", type=Path, help="folder for the results")
        add("--stores", type=Path, help="folder where stores are kept (default bench/scratch/gpu)")
        add("--data", type=Path, help="folder with real graphs, NAME.el.xz (default ../shared/data, where it is)")
        add("--sources", type=int, default=SOURCES, help="starts of BFS and SSSP")
        add("--streams", type=int, nargs="+", default=list(STREAMS), help="counts of streams to try")
        add("--link-limit", type=float, default=LINK_LIMIT, help="GB/s of links that are throttled for a stage")
        add("--merge-scale", type=int, default=MERGE_SCALE, help="scale of the graph whose merges are measured")
        add("--seconds", type=float, default=LEAST_SECONDS, help="how long runs on a sorted store are repeated")
        add("--limit", type=float, default=LONGEST_SECONDS, help="seconds after which a stage is ended")
        add("--join", type=Path, nargs="+", metavar="JSON", help="measure nothing: join results into one")
        add("--part", type=Path, help=argparse.SUPPRESS)  # run one stage in this process and record it there
        return parser.parse_args(arguments)

    def tasks(self, options: argparse.Namespace) -> list[tuple[str, int]]:
        """(stage, scale) in the order they run: a graph at a time, smallest first."""
        scales = sorted(options.scale or self.scales)
        names = [name for name in self.stages if not options.only or name in options.only]
        return [(name, scale) for scale in scales for name in names if name not in self.once or scale == scales[0]]

    def folder(self, options: argparse.Namespace) -> Path:
        """bench/results/ for a whole run and for results that are joined, scratch for others."""
        usual = options.devices == self.devices or not options.devices.startswith(("host", "fake"))
        whole = not (options.scale or options.only) and (options.join or usual)
        return options.out or ROOT / "bench" / ("results" if whole else "scratch/results")

    def measure_here(self, options: argparse.Namespace) -> int:
        """Run the one stage that was named in this process; the exit code."""
        (stage,), (scale,) = options.only, options.scale
        facts = harness.header(self.command_of(options), self.graphs)

        def told() -> Iterator[Figure]:
            devices = Devices.parse(options.devices)  # here, so that a missing GPU is recorded as a failure
            facts["machine"]["gpus"] = gpu_lines(devices)
            setup = Setup(
                devices=devices, scale=scale, folder=options.stores or ROOT / "bench" / "scratch" / "gpu",
                merge_scale=options.merge_scale, streams=tuple(options.streams), sources=options.sources,
                data=options.data, least_seconds=options.seconds, link_limit=1e9 * options.link_limit,
            )  # fmt: skip
            for figure in self.stages[stage](setup):
                print(f"    {' | '.join(cell for cell in report.cells(figure) if cell)}", file=sys.stderr, flush=True)
                yield figure

        return harness.record(options.part, Task(stage, self.graph.format(scale)), facts, told())

    def command_of(self, options: argparse.Namespace) -> str:
        """What measures one stage again as `options` have it."""
        (stage,), (scale,) = options.only, options.scale
        words = [f"python {self.script} --only {stage} --scale {scale} --devices {options.devices}"]
        usual = {
            "sources": [SOURCES],
            "streams": list(STREAMS),
            "merge_scale": [MERGE_SCALE],
            "link_limit": [LINK_LIMIT],
            "seconds": [LEAST_SECONDS],
        }
        for name, value in usual.items():
            now = getattr(options, name) if isinstance(getattr(options, name), list) else [getattr(options, name)]
            words += [f"--{name.replace('_', '-')}", *map(str, now)] if now != value else []
        words += without_folders([f"--data={options.data}"] if options.data else [])
        return " ".join(words)

    def write(self, folder: Path, parts: Sequence[Path], facts: Mapping[str, Any]) -> dict[str, Any]:
        """Join the parts and write the table, the JSON and the plots."""
        result, figures = harness.join(parts)
        result |= facts
        result["missing"] = [asdict(wanted) for wanted in self.wanted if not wanted.is_among(figures)]
        report.write(folder, self.name, result, figures)
        plots.draw(folder, self.name, figures)
        return result

    def main(self, arguments: Sequence[str] | None = None) -> int:
        given = list(sys.argv[1:] if arguments is None else arguments)
        options = self.parse(given)
        if options.part:
            return self.measure_here(options)
        folder = self.folder(options)
        if options.join:
            self.write(folder, options.join, {})
            return 0
        try:
            Devices.parse(options.devices).check()
        except GstreamError as error:
            print(f"{self.script}: {error}", file=sys.stderr)
            return error.exit_code
        command = {"command": " ".join([f"python {self.script}", *without_folders(given)])}
        dead_facts = harness.header(command["command"], self.graphs)  # of a stage that dies before it says any
        result: dict[str, Any] = {}
        parts: list[Path] = []
        for stage, scale in self.tasks(options):
            part = folder / "parts" / f"{self.name}-{stage}-{scale}.json"
            one = [*given, "--only", stage, "--scale", str(scale), "--part", str(part.absolute())]
            command_line = [sys.executable, str(ROOT / self.script), *one]
            harness.run_apart(command_line, part, Task(stage, self.graph.format(scale)), dead_facts, options.limit)
            parts.append(part)
            result = self.write(folder, parts, command)
        print((folder / f"{self.name}.md").read_text())
        return 1 if result["failures"] else 0


def without_folders(given: Sequence[str]) -> list[str]:
    """Arguments whose folders, which are one machine's, are not named: those that decide nothing are left out."""
    kept: list[str] = []
    words = iter(given)
    for word in words:
        name, is_one, _ = word.partition("=")
        if name not in FOLDERS:
            kept.append(word)
            continue
        if not is_one:
            next(words, None)
        kept += [name, said] if (said := FOLDERS[name]) else []
    return kept
