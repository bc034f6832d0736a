"""`make bench-gpu`: the engine on GPUs against the machine's ceilings, its peers and its targets.

Stages, each in a process of its own, smallest graph first; results are kept figure by figure (bench.suite), so that a
run that is cut short keeps what it found, and `--join` puts the results of several runs into one table.

    python bench/gpu.py --devices cuda:0,1 --scale 24 26             # everything
    python bench/gpu.py --only bfs components --scale 24 --out A      # two stages; A/gpu.json
    python bench/gpu.py --join A/gpu.json B/gpu.json                  # into bench/results/gpu.{json,md}, plots beside
    python bench/gpu.py --devices host --scale 13 --merge-scale 13    # does everything still run?
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # `python bench/gpu.py` puts bench/ there, not the project

from bench import needs  # noqa: E402

needs.check()

from bench import convert, gpu_algorithms, gpu_coded, gpu_memory, gpu_pagerank, gpu_start, gpu_traversals, task  # noqa: E402
from bench.figures import Wanted  # noqa: E402
from bench.gpu_setup import RACE, making  # noqa: E402
from bench.suite import Suite  # noqa: E402

STAGES = {
    "make-undirected": making("undirected"),
    "make-columns": making("columns"),
    "make-weighted": making("weighted"),
    "make-out": making("out"),
    "make-merge": gpu_memory.make_merge,
    "link": gpu_memory.link,
    "pagerank-streamed": gpu_pagerank.streamed,
    "pagerank-incore": gpu_pagerank.in_core,
    "pagerank-columns": gpu_pagerank.columns,
    "bfs": gpu_traversals.bfs,
    "components": gpu_traversals.components,
    "pagerank-push": gpu_pagerank.push,
    "sssp": gpu_traversals.sssp,
    "coded": gpu_coded.coded,
    "coded-weights": gpu_coded.weights,
    "reading": gpu_memory.reading,
    "merge": gpu_memory.merge,
    "warm-start": gpu_start.warm_start,
    "task": task.on_gpus,
    "convert": convert.on_gpus,
    "algorithms": gpu_algorithms.algorithms,
}
ONCE = {"make-out", "make-merge", "link", "pagerank-push", "merge", "warm-start", "task", "convert", "algorithms"}
ABOUT = "The engine on GPUs against the machine's ceilings, its peers and its targets."
WANTED = (
    Wanted("PageRank streamed, bytes of pages", "rmat-26, undirected", "95 % of the link"),
    Wanted("PageRank streamed, bytes of pages", "rmat-28, undirected", "95 % of the link"),
    Wanted("PageRank streamed, host overhead", "", "under 5 % of a superstep"),
    Wanted("PageRank streamed, 2 GPUs against one", "rmat-24, undirected", "1.95 times one"),
    Wanted("PageRank streamed, 2 GPUs against one", "rmat-26, undirected", "1.95 times one"),
    Wanted("PageRank streamed, 2 GPUs against one", "rmat-28, undirected", "1.9 times one"),
    Wanted("PageRank streamed, 4 GPUs against one", "", "3.7 times one"),
    Wanted("PageRank in-core by pull, rate", "rmat-24, undirected", "60 G edges/s"),
    Wanted("PageRank in-core by pull, rate", "rmat-26, undirected", "60 G edges/s"),
    Wanted("PageRank in-core by push, rate", "rmat-24, out", "20 G edges/s"),
    Wanted("BFS in-core", "rmat-24, undirected", "6 ms at scale 24"),
    Wanted("BFS streamed", "rmat-24, undirected", "45 ms at scale 24"),
    Wanted("PageRank in-core by pull, 2 GPUs against one", "", "1.7 times one"),
    *(Wanted(what, target=f"{aim:g} ms at scale {n}") for what, aims in RACE.values() for n, aim in aims.items()),
    Wanted("BFS streamed, bytes moved", "rmat-24, undirected", "at most 1.2 times the topology"),
    Wanted("components streamed", "rmat-24, undirected", "45 ms at scale 24"),
    Wanted("components streamed without heads", "rmat-24, undirected", "90 % of the link"),
    Wanted("components streamed without heads", "rmat-24, undirected", "45 ms at scale 24"),
    Wanted("PageRank streamed, coded pages, iteration", "rmat-24, undirected", "18 ms"),
    Wanted("PageRank streamed, coded pages, iteration", "rmat-26, undirected", "75 ms"),
    Wanted("SSSP streamed, coded pages", "rmat-24, weighted", "55 ms"),
    Wanted("reading a store into pinned memory", "", "at the disk's rate"),
    Wanted("merge of WA", "rmat-28, edge factor 1, out, as generated", "70 % of the peer-to-peer rate"),
    Wanted("warm start: a first run with its kernels compiled, until the first copy", "", "under 1 s"),
)  # the targets, whether a stage measures them or not
SUITE = Suite(
    name="gpu", script="bench/gpu.py", stages=STAGES, once=frozenset(ONCE), scales=(24, 26), about=ABOUT, wanted=WANTED
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(SUITE.main())
