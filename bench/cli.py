"""How long short commands take, a fresh process each time.

`gstream --help` by the clock, the median of five. Commands on the shipped graph, whose kernels are compiled, by the
time of all threads, the least of five. The graph is two pages, so such a command is its start: Python's imports, and
kernels that are loaded.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.child import Run, gstream, run
from bench.context import Context
from bench.figures import Figure, Samples, check
from bench.graphs import SHIPPED

RUNS = 5
LIMIT_SECONDS = 0.3
BFS_SECONDS = 0.6
EDGE = "libc6\tbash\n"  # which the graph lacks


def measure(context: Context) -> Iterator[Figure]:
    """Figures of all of them."""
    runs = _runs(gstream("--help"))
    check("convert" in runs[0].output, "gstream --help does not mention convert")
    samples = Samples(tuple(made.seconds for made in runs))
    bare = Samples(tuple(made.seconds for made in _runs([sys.executable, "-c", "pass"])))
    yield Figure(
        what="gstream --help", graph="", value=samples.median, unit="s", against="the limit",
        against_value=LIMIT_SECONDS, need=1.0, target="under 0.3 s", spread=samples.spread(),
        checked="the help names the commands",
    )  # fmt: skip
    yield Figure(
        what="gstream --help", graph="", value=samples.median, unit="s", against="python -c pass",
        against_value=bare.median,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        yield from _starts(Path(folder))


def _starts(folder: Path) -> Iterator[Figure]:
    store, changed, edge = folder / "graph.gs", folder / "changed.gs", folder / "edge.tsv"
    edge.write_text(EDGE)
    for words, said in (
        (("convert", SHIPPED, store, "--force"), "282,402 edges stored"),
        (("info", store), "282,402"),
        (("verify", store), "whole"),
        (("export", store, folder / "back.csv", "--force"), "282,402 edges"),
        (("update", store, changed, "--add", edge, "--force"), "282,403 edges stored"),
        (("run", "bfs", store, "--source", "libc6"), "reached"),
    ):
        runs = _runs(gstream(*words))
        check(all(said in made.output + made.errors for made in runs), f"{words[0]} does not say {said}")
        name = "run bfs" if words[0] == "run" else words[0]
        figure = Figure(
            what=f"gstream {name}, seconds of all threads", graph="debian", value=min(one.cpu_seconds for one in runs),
            unit="s", checked=f"says {said}", note=f"by the clock {min(one.seconds for one in runs):.2f} s",
        )  # fmt: skip
        yield figure.aim(BFS_SECONDS, "at most 0.6 s") if name == "run bfs" else figure


def _runs(command: list[str]) -> list[Run]:
    """Runs of a command but the first, which fills the page cache, and compiles."""
    return [run(command) for _ in range(RUNS + 1)][1:]
