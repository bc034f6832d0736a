"""Stores on several disks: a sweep's reads against the sum of what each disk delivers alone, in the same run.

Folders come from the variable GSTREAM_BENCH_DISKS (A,B,...); without it there are two in bench/scratch. The ceiling is
the sum over disks of the best O_DIRECT rate of a stripe read alone; folders on one disk count once, and the note says
so. A sweep reads every page as a run does: by a pool of threads a stripe, ahead of use, with all checks.

Where there is one disk, slower ones are emulated as well: every read of a stripe waits until a disk of the given rate
would have delivered it. So a row shows what order and depth of the reads give away, and nothing about disks.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from bench import ceilings
from bench.child import gstream, run
from bench.context import Context
from bench.figures import Figure, Samples, check
from bench.graphs import EDGE_FACTOR, SEED
from bench.machine import ROOT

DISKS = "GSTREAM_BENCH_DISKS"
NEED_SHARE = 0.95
RUNS = 5
EMULATED = (2, 4)  # disks
EMULATED_RATE = 100e6  # bytes a second of each: little enough that neither cores nor the real disk set the pace
LEAST_BYTES = 1 << 29  # of a sweep: pages are asked for again until so many were read


def measure(context: Context) -> list[Figure]:
    """Real folders, then emulated disks."""
    if context.graph.scale is None:
        return []  # the shipped graph is a page or two
    named = os.environ.get(DISKS)
    figures = []
    with ExitStack() as undo:
        scratch = ROOT / "bench" / "scratch"
        scratch.mkdir(parents=True, exist_ok=True)
        given = [Path(name) for name in named.split(",")] if named else [scratch] * 2
        folders = [Path(undo.enter_context(tempfile.TemporaryDirectory(dir=place))) for place in given]
        path = generated(context, folders, folders[0] / "striped.gs")
        figures.append(of_folders(context, path, folders))
    for disks in EMULATED:
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            folders = [Path(folder, str(number)) for number in range(disks)]
            for place in folders:
                place.mkdir()
            figures.append(of_emulated(context, generated(context, folders, Path(folder, "striped.gs")), folders))
    return figures


def generated(context: Context, folders: Sequence[Path], path: Path) -> Path:
    """A striped store of the measured graph."""
    options = ["--scale", context.graph.scale, "--edge-factor", EDGE_FACTOR, "--seed", SEED, "--topology", "out"]
    run(gstream("generate", "rmat", path, *options, "--scramble", "--stripe", ",".join(map(str, folders))))
    return path


def of_folders(context: Context, path: Path, folders: Sequence[Path]) -> Figure:
    """The sweep's rate against the sum of the disks' rates, measured before and after."""
    import pagestore

    with pagestore.open_store(path, folders) as store:
        before = alone(store)
        samples, size, threads = swept(store, context.times(RUNS))
        after = alone(store)
    disks: dict[int, float] = {}
    for folder, rate in zip(folders, map(max, zip(before, after, strict=True)), strict=True):
        device = os.stat(folder).st_dev
        disks[device] = max(disks.get(device, 0.0), rate)
    single = "; one disk, so its rate counts once" if len(disks) < len(folders) else ""
    return figure(
        f"striped pages read, {len(folders)} folders on {len(disks)} disk{'s' * (len(disks) > 1)}",
        context, samples, size, sum(disks.values()), "O_DIRECT rates of the stripes alone, summed over disks",
        f"{threads} threads a stripe{single}",
    )  # fmt: skip


def of_emulated(context: Context, path: Path, folders: Sequence[Path]) -> Figure:
    """The same on disks of one rate each, which are emulated by waiting."""
    import pagestore

    with pagestore.open_store(path, folders) as store:
        samples, size, threads = swept(store, context.times(RUNS), EMULATED_RATE)
    return figure(
        f"striped pages read, {len(folders)} emulated disks", context, samples, size, EMULATED_RATE * len(folders),
        "the emulated disks' rates, summed",
        f"emulated: reads wait for disks of {EMULATED_RATE / 1e6:.0f} MB/s; {threads} threads each",
    )  # fmt: skip


def figure(what: str, context: Context, samples: Samples, size: int, ceiling: float, against: str, note: str) -> Figure:
    rates = Samples(tuple(size / second / 1e6 for second in samples.seconds))
    return Figure(
        what=what, graph=f"{context.graph_name} directed, out-pages", value=rates.median, unit="MB/s", against=against,
        against_value=ceiling / 1e6, need=NEED_SHARE, target="at least 95 % of the sum of the disks",
        spread=rates.spread(), checked="checksums and lists of every page", note=note,
    )  # fmt: skip


def alone(store: Any) -> list[float]:
    """The best O_DIRECT rate of each stripe, read alone by several numbers of threads, in bytes a second."""
    rates = []
    for stripe in store.stripes:
        extent = stripe.extents["topology/out/pages"]
        passes = max(1, ceilings.LEAST_READ // max(1, extent.nbytes))
        where = Path(stripe.file.path), extent.offset, extent.nbytes
        rates.append(max(ceilings.direct_read_rate(*where, threads, passes) for threads in ceilings.DISK_THREADS))
    return rates


def swept(store: Any, runs: int, rate: float | None = None) -> tuple[Samples, int, int]:
    """Seconds of sweeps over the out-pages, bytes of each, threads a stripe; rate: of an emulated disk."""
    from gstream.engine.disk_readers import DiskReaders
    from gstream.options.run_options import BATCH_BYTES
    from gstream.paging.page_source import PageSource, SourcePlan, nothing
    from gstream.paging.page_table import page_table

    topology = store.topology("out")
    table = page_table(topology, 1)
    check(table.pages > 8 * len(store.stripes), "too few pages: take a larger scale")
    reader = topology.reader(direct=True)
    readers = DiskReaders(store, {"out": table}, None)
    batch = max(1, min(BATCH_BYTES // table.page_bytes, table.stretch))
    plan = SourcePlan(False, False, batch, readers.streamed() + 2)
    source = PageSource(table, reader if rate is None else _Emulated(reader, rate), plan, readers, lambda nbytes: None)
    repeats = max(1, LEAST_BYTES // (table.pages * table.page_bytes))
    numbers, seconds = table.all_pages(), []
    try:
        for _ in range(runs + 1):  # the first touches the rows
            began = time.perf_counter()
            for again in range(repeats):
                for part in source.batches(numbers, False, nothing, again=again + 1 < repeats):
                    part.done()
            seconds.append(time.perf_counter() - began)
    finally:
        source.close()
        readers.close()
    return Samples(tuple(seconds[1:])), repeats * table.pages * table.page_bytes, readers.threads


class _Emulated:
    """A reader of stripes on slower disks: each one gives its bytes at `rate`, one request after the other."""

    def __init__(self, reader: Any, rate: float) -> None:
        self._reader, self._rate, self.spread = reader, rate, reader.spread
        self._busy_until = [0.0] * reader.spread.files
        self._locks = [threading.Lock() for _ in self._busy_until]

    def read(self, first: int, count: int, out: np.ndarray) -> np.ndarray:
        for part in self.spread.runs(first, count):
            with self._locks[part.file]:
                begins = max(self._busy_until[part.file], time.perf_counter())
                ends = self._busy_until[part.file] = begins + part.pages * out.shape[1] / self._rate
            self._reader.read(part.first, part.pages, out[part.first - first :][: part.pages])
            time.sleep(max(0.0, ends - time.perf_counter()))
        return out
