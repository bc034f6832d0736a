"""What Nsight Compute counts in the kernels of PageRank: which lanes work, and how much of what is read is wanted.

    python bench/simd.py --devices cuda:0 --only counters --scale 20

Two papers have such tables: "warp execution efficiency", which the SIMD-efficiency model's ME predicts, by group size S
(Edge-Vertex paper, Table 5: without and with approximate sorting), and global load efficiency, without and with layout
remapping (its Table 7; here column pages). A launch counts as often as it executes instructions.
"""

from __future__ import annotations

import csv
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bench import stores
from bench.child import gstream, run
from bench.families import generated
from bench.figures import Figure
from bench.gpu_setup import Setup
from bench.harness import SkippedError
from bench.lanes import HYBRID, Measured
from pagestore.layout import GROUP_SIZES

LANES_OF_A_WARP = 32
THREADS = "smsp__thread_inst_executed_per_inst_executed.ratio"  # nvprof's warp_execution_efficiency, of 32
LOADS = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"  # nvprof's gld_efficiency
STORES = "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct"  # nvprof's gst_efficiency
WEIGHT = "smsp__inst_executed.sum"
COUNTERS = (THREADS, LOADS, STORES, WEIGHT)
KERNELS = "regex:pull"
LAUNCHES = 8  # that are counted: each is run again for every few counters
ITERATIONS = 3
COLUMNS = "32"


def profiler() -> str:
    """ncu. Raises SkippedError where it is not there."""
    found = shutil.which("ncu") or shutil.which("ncu", path="/usr/local/cuda/bin")
    if found is None:
        raise SkippedError("no ncu on PATH, which counts what kernels do (Nsight Compute, a part of the CUDA toolkit)")
    return found


def count(ncu: str, path: Path, device: str, micro: str) -> dict[str, float]:
    """Counters of the pulls of PageRank on a store, pages on the device, so many lanes to a list."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "counters.csv"
        command = [ncu, "--csv", "--page", "raw", "--metrics", ",".join(COUNTERS), "--kernel-name", KERNELS]
        command += ["--launch-count", str(LAUNCHES), "--log-file", str(log)]
        options = ["--devices", device, "--direction", "pull", "--micro", micro, "--no-restart"]
        run([*command, *gstream("run", "pagerank", path, "--iterations", str(ITERATIONS), *options)])
        return means(log.read_text().splitlines())


def means(lines: Sequence[str]) -> dict[str, float]:
    """The mean of each counter over all launches of a raw page, by instructions executed. Raises SkippedError."""
    begin = next((number for number, line in enumerate(lines) if line.startswith('"ID"')), None)
    rows = [] if begin is None else list(csv.DictReader(lines[begin:]))[1:]  # the first row has the units
    if not rows:
        said = next((line for line in lines if "ERR" in line), "it says nothing")
        raise SkippedError(f"ncu counted no launch: {said.strip()}")
    weights = [_number(row[WEIGHT]) for row in rows]
    whole = sum(weights) or 1.0
    return {
        name: sum(_number(row[name]) * weight for row, weight in zip(rows, weights, strict=True)) / whole
        for name in COUNTERS
    }


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def counters(setup: Setup) -> Iterator[Figure]:
    """Each S on the RMAT graph in both orders, then rows against column pages."""
    if setup.devices.kind != "cuda":
        raise SkippedError("kernels of the host have no warps (--devices cuda:0)")
    ncu, device, family = profiler(), setup.devices.one[0], generated("rmat", setup.scale)
    chosen: dict[str, float] = {}
    for order in ("natural", "degree"):
        graph = Measured.of(family, setup.folder, order)
        for micro in (*map(str, GROUP_SIZES), HYBRID):
            found = count(ncu, graph.path, device, micro)
            share = 100 * found[THREADS] / LANES_OF_A_WARP
            model = 100 * graph.rates_of("in")["chosen" if micro == HYBRID else micro]["ME"]
            row = Figure(f"warp execution efficiency, S = {micro}", graph.name, share, "%", counted=True)
            yield row.versus("the model's ME", model)
            if micro == HYBRID:
                chosen[order] = share
                yield from _bytes(graph.name, found)
    table = Figure("Table 5: warp execution efficiency", graph.name, chosen["degree"], "%", counted=True)
    yield table.versus("in natural order", chosen["natural"])
    path = setup.folder / f"{family.name}-columns.gs"
    options = ["--scale", str(setup.scale), "--scramble", "--order", "degree", "--columns", COLUMNS]
    if not stores.is_kept(path, " ".join(options)):
        run(gstream("generate", "rmat", path, *options, "--force"))
        stores.keep(path, " ".join(options))
    rows, columns = (list(_bytes(graph.name, found)), list(_bytes(graph.name, count(ncu, path, device, HYBRID))))
    for before, after in zip(rows, columns, strict=True):
        yield replace(after, what=f"Table 7: {after.what}, column pages").versus("pages of rows", before.value)


def _bytes(name: str, found: dict[str, float]) -> Iterator[Figure]:
    for words, counter in (("load", LOADS), ("store", STORES)):
        yield Figure(f"global {words} efficiency", name, found[counter], "%", counted=True)
