"""`make bench-gpu`: the engine on GPUs against the machine's ceilings, its peers and its targets.

Stages, each in a process of its own, smallest graph first; results are kept figure by figure (bench.suite), so that a
machine that is lent for minutes can be used in several runs, whose results `--join` puts into one table.

    python bench/gpu.py --devices cuda:0,1 --scale 24 26             # everything
    python bench/gpu.py --only bfs components --scale 24 --out A      # two stages; A/gpu.json
    python bench/gpu.py --join A/gpu.json B/gpu.json                  # into bench/results/gpu.{json,md}, plots beside
    python bench/gpu.py --devices host --scale 13 --merge-scale 13    # does everything still run?
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # `python bench/gpu.py` puts bench/ there, not the project

from bench import gpu_memory, gpu_pagerank, gpu_traversals, stores  # noqa: E402
from bench.figures import Figure  # noqa: E402
from bench.gpu_memory import MERGE_KIND  # noqa: E402
from bench.gpu_setup import Setup  # noqa: E402
from bench.suite import Stage, Suite  # noqa: E402


def making(kind: str) -> Stage:
    """A stage that generates a store which others need, apart from them: their limits are for measuring."""

    def make(setup: Setup) -> Iterator[Figure]:
        merges = kind == MERGE_KIND
        scale, edge_factor = (setup.merge_scale, 1) if merges else (setup.scale, stores.EDGE_FACTOR)
        _, seconds = stores.generated(setup.folder, scale, kind, edge_factor)
        if seconds:  # it was not there yet
            store = setup.store(kind, edge_factor, scale)
            rate = store.edges / seconds / 1e6
            yield Figure(f"generating a store, {kind}", store.name, rate, "M edges/s", note=f"{seconds:.1f} s")

    return make


STAGES = {
    "make-undirected": making("undirected"),
    "make-weighted": making("weighted"),
    "make-out": making("out"),
    "make-merge": making(MERGE_KIND),
    "link": gpu_memory.link,
    "pagerank-streamed": gpu_pagerank.streamed,
    "pagerank-incore": gpu_pagerank.in_core,
    "bfs": gpu_traversals.bfs,
    "components": gpu_traversals.components,
    "pagerank-push": gpu_pagerank.push,
    "sssp": gpu_traversals.sssp,
    "reading": gpu_memory.reading,
    "merge": gpu_memory.merge,
}
ONCE = {"make-weighted", "make-out", "make-merge", "link", "pagerank-push", "sssp", "merge"}
ABOUT = "The engine on GPUs against the machine's ceilings, its peers and its targets."
SUITE = Suite(
    name="gpu", script="bench/gpu.py", stages=STAGES, once=frozenset(ONCE), scales=(24, 26), about=ABOUT
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(SUITE.main())
