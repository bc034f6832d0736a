"""How long a first run on a GPU takes to get going, as a user waits for it: processes measured from outside."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.child import gstream, run
from bench.figures import Figure, Samples
from bench.gpu_setup import Setup
from bench.harness import SkippedError

STARTS = 5
LEAST_SECONDS = 1.0


def warm_start(setup: Setup) -> Iterator[Figure]:
    """`gstream run pagerank` with compiled kernels on disk: until its first pages are copied, and until it ends."""
    if setup.devices.kind != "cuda":
        raise SkippedError("only GPUs trace copies")
    store = setup.store("undirected")
    firsts, wholes = [], []
    for number in range(STARTS + 1):
        first, whole = started(store.path, setup.devices.one)
        if number:  # the first compiles, measures the GPU, and brings the store into the system's page cache
            firsts.append(first)
            wholes.append(whole)
    samples = Samples(tuple(firsts))
    label = setup.devices.label(setup.devices.one)
    yield Figure(
        what=f"warm start: a first run with its kernels compiled, until the first copy, {label}",
        graph=store.name,
        value=samples.median,
        unit="s",
        spread=samples.spread(),
        note=f"from the start of the process; {Samples(tuple(wholes)).median:.2f} s until it has ended, for one "
        f"iteration of PageRank over {store.page_bytes / 2**20:.0f} MiB, pinned and read from the system's page cache",
    ).aim(LEAST_SECONDS, "under 1 s")


def started(path: Path, names: list[str]) -> tuple[float, float]:
    """Seconds from the start of a process until it queued its first copy of pages, and until it ended."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "run.json"
        options = [option for name in names for option in ("--devices", name)]
        began = time.perf_counter()
        run(gstream("run", "pagerank", path, *options, "--iterations", "1", "--trace", trace))
        ended = time.perf_counter()
        found = json.loads(trace.read_text())
    copies = [event["ts"] for event in found["traceEvents"] if event["name"].startswith("copy: ")]
    return found["otherData"]["monotonic_s"] + min(copies) / 1e6 - began, ended - began
