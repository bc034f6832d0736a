"""Ranks under mpiexec against one process that has the same GPUs: time a superstep or a call, and equal answers.

    python bench/ranks.py --gpus 2 --scale 24        one process; ranks as by default, of which the first does the run
                                                     alone; a rank a GPU by NCCL; the same by MPI
    python bench/ranks.py --gpus 4 --scale 24        and two ranks with two GPUs each
    python bench/ranks.py --devices host --ranks 2 --scale 13       does everything still run?

Each way is a process, or several, of its own; the one process comes first. A store that is not there is generated.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from shutil import which
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MOST_PERCENT = 5.0  # that ranks may take longer
STREAMED = {"device_memory": "4GiB", "cache": "0"}
TIMES, SOURCES = 5, (1, 2, 3)
UNBOUND = {  # Open MPI gives a rank of two one core
    "OMPI_MCA_hwloc_base_binding_policy": "none", "PRTE_MCA_hwloc_default_binding_policy": "none",
}  # fmt: skip
HIDES_NCCL = "raise ImportError('left out')\n"
SECONDS = 300.0  # that one way may take


def mpiexec() -> str | None:
    """The launcher of the MPI that this interpreter has."""
    try:
        files = metadata.files("mpich") or []
    except metadata.PackageNotFoundError:
        files = []
    near = [str(file.locate()) for file in files if file.name == "mpiexec"]
    return next((path for path in (*near, which("mpiexec", path=sysconfig.get_path("scripts")), which("mpiexec"))
                 if path and Path(path).exists()), None)  # fmt: skip


# One way: what each of its processes does


def calls(streams: bool) -> Iterator[tuple[str, dict[str, Any], Callable[[Any], Any], Callable[[dict], float]]]:
    """(row, options, call of a graph, seconds of its stats) of each row."""

    def a_step(stats: dict[str, Any]) -> float:
        return float(stats["loop_seconds"] / max(1, len(stats["per_superstep"])))

    if streams:
        yield "PageRank streamed, a superstep", STREAMED, lambda graph: graph.pagerank(iterations=5), a_step
    yield "PageRank in memory, a superstep", {}, lambda graph: graph.pagerank(iterations=20), a_step
    for source in SOURCES:
        yield (
            f"BFS in memory from {source}, loop", {},
            lambda graph, source=source: graph.bfs(source=source, predecessors=False),
            lambda stats: float(stats["loop_seconds"]),
        )  # fmt: skip
    yield "components in memory, a call", {}, lambda graph: graph.wcc(), lambda stats: float(stats["seconds"])


def measure(store: Path, devices: str, out: Path, in_ranks: str) -> None:
    """Write the times of all rows, and their answers, beside each other in `out`. in_ranks: as `gstream run --ranks`,
    "off" in one process."""
    ranks = None
    if in_ranks != "off":
        from gstream.devices.ranks import Ranks

        ranks = Ranks()
    if ranks is None or in_ranks == "share":
        shared = {} if ranks is None else {"ranks": ranks, "threads": max(1, (os.cpu_count() or 1) // ranks.size)}
        time_calls(store, {"devices": devices, **shared}, out, ranks is None or ranks.first)
    else:
        from gstream.cli.one_rank import one_for_all, wait_for_first

        alone = one_for_all(ranks, store, {"devices": [devices]})
        assert alone is not None, "ranks share this run"
        if ranks.first:
            time_calls(store, alone, out, True)
        wait_for_first(ranks, False)
    if ranks is not None:
        ranks.wait()
        ranks.finish()


def time_calls(store: Path, shared: dict[str, Any], out: Path, writes: bool) -> None:
    """Time all rows, with these options of a graph. writes: what was found, and the answers."""
    import numpy as np

    import gstream

    found: dict[str, Any] = {}
    for row, options, call, seconds in calls("cuda" in str(shared["devices"])):
        with gstream.open(store, **shared, **options) as graph:
            times = []
            for _ in range(TIMES):
                result = call(graph)
                times.append(seconds(result.summary["stats"]))
            column = result[result.columns[-1]]
        found[row] = {"seconds": statistics.median(times[1:]), "least": min(times), "note": result.summary.get("note")}
        if writes:
            np.save(out / f"{row}.npy", np.asarray(column))
    if writes:
        (out / "found.json").write_text(json.dumps(found))


# All ways


def run(way: str, folder: Path, store: Path, devices: str, ranks: int, in_ranks: str, hidden: bool) -> dict[str, Any]:
    """Times of one way, by its processes."""
    out = folder / way
    out.mkdir()
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    if hidden:
        (folder / "hidden" / "nccl").mkdir(parents=True)
        (folder / "hidden" / "nccl" / "__init__.py").write_text(HIDES_NCCL)
        paths.insert(0, str(folder / "hidden"))
    command = [sys.executable, __file__, "--child", str(out), "--store", str(store), "--devices", devices]
    if ranks > 1:
        command = [str(mpiexec()), "-n", str(ranks), *command, "--in-ranks", in_ranks]
    given = {**UNBOUND, **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        print(f"{way}: exit code {done.returncode}: {(done.stderr or done.stdout)[-1500:]}", flush=True)
        return {}
    found: dict[str, Any] = json.loads((out / "found.json").read_text())
    return found


def apart(one: Path, other: Path) -> float:
    """The most that two answers differ, as a part of the value; whole numbers that differ at all: infinity."""
    import numpy as np

    mine, theirs = np.load(one), np.load(other)
    if mine.dtype.kind != "f":
        return 0.0 if np.array_equal(mine, theirs) else float("inf")
    return float(np.max(np.abs(mine - theirs) / np.maximum(np.abs(mine), 1e-30), initial=0.0))


def compare(store: Path, devices: str, gpus: int, ranks: int, by_mpi: bool) -> bool:
    """Print a table of all ways; whether answers are equal (sums within 1e-5)."""
    ways = [("one process", 1, "off", False), (f"{ranks} ranks", ranks, "auto", False)]
    ways.append((f"{ranks} that share", ranks, "share", False))
    if gpus >= 4:
        ways.append((f"{gpus // 2} ranks of 2 GPUs", gpus // 2, "share", False))
    if gpus and by_mpi:
        ways.append((f"{ranks} ranks by MPI", ranks, "share", True))
    equal = True
    with tempfile.TemporaryDirectory() as name:
        folder, base = Path(name), dict[str, Any]()
        for way, count, in_ranks, hidden in ways:
            found = run(way, folder, store, devices, count, in_ranks, hidden)
            base, equal = base or found, equal and bool(found)
            for row, told in found.items():
                off = apart(folder / ways[0][0] / f"{row}.npy", folder / way / f"{row}.npy") if base else 0.0
                equal &= off <= 1e-5
                more = 100 * (told["seconds"] / base[row]["seconds"] - 1)
                text = f"{way:18} {row:34} {1e3 * told['seconds']:9.3f} ms (least {1e3 * told['least']:9.3f})"
                over = "" if way == ways[0][0] else f" {more:+7.1f} %{' OVER' if more > MOST_PERCENT else ''}"
                print(f"    {text}{over}, apart {off:.1g} {told['note'] or ''}"[:190], flush=True)
    return equal


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=int, default=0, help="the first so many GPUs of this machine")
    parser.add_argument("--ranks", type=int, default=0, help="default: one a GPU")
    parser.add_argument("--devices", default="", help="in place of --gpus, as of gstream run")
    parser.add_argument("--scale", type=int, default=24)
    parser.add_argument("--store", type=Path, default=None)
    parser.add_argument("--child", type=Path, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--in-ranks", default="off", help=argparse.SUPPRESS)
    parser.add_argument("--no-mpi", action="store_true", help="leave out GPUs' values by MPI, which take minutes")
    given = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    devices = given.devices or "cuda:" + ",".join(map(str, range(given.gpus)))
    if given.child is not None:
        measure(given.store, devices, given.child, given.in_ranks)
        return 0
    if mpiexec() is None:
        print("bench/ranks.py: there is no mpiexec. pip install mpi4py mpich", file=sys.stderr)
        return 3
    store = given.store or Path(tempfile.gettempdir()) / f"ranks-rmat-{given.scale}.gs"
    if not store.exists():
        import gstream

        gstream.generate("rmat", store, scale=given.scale, directed=False, order="degree")
    return 0 if compare(store, devices, given.gpus, given.ranks or given.gpus or 2, not given.no_mpi) else 1


if __name__ == "__main__":
    sys.exit(main())
