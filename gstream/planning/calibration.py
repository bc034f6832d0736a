"""Constants of the cost model, measured at the first run on a machine and kept in files of the user's cache folder.

The host's, a file for each number of threads; they take about 0.1 s:

    c1, c2       rate of a copy in memory: chunks of WA, pages to a device that copies
    call_s       handing one task to all threads and waiting for them
    pull_edges   random reads of 4 bytes with a sum, by all threads; push_edges: random atomic additions of 8 bytes
    merge        rate of combining two arrays
    disk         O_DIRECT reads of the store's own pages, and the fewest threads a disk that are as fast as more; kept
                 by file systems

A GPU's, a file for each name of a GPU (gstream.devices.gpu.probe measures them in less than a second):

    c1, c2       rate of the link, c1 in and out by turns, c2 to the GPU; call_s: copies, launch and events of a batch
    list_s       a short list that a kernel reads in place in host memory, with its slot and size
    merge        copies between two GPUs, of which a merge is made; measured when a run first has several
    pull_edges   random reads of 4 bytes with a sum; push_edges: random atomic additions of 4 bytes
    memory       copies within the GPU's memory
    lanes        a record, by classes of pages (gstream.paging.page_lanes); measured by `gstream warm`, and after the
                 first runs that take LANES_AFTER_S

Runs teach the kernels' rates, `merge` and `load` (gstream.planning.cost_model): what is kept is an average of
logarithms in which the last run counts WEIGHT, the one before WEIGHT x (1 - WEIGHT) and so on. It follows a machine
that becomes slower or faster by any factor, nine tenths of the way in eight runs. A default says nothing, so the first
run takes its place. A figure that can't be measured stays at its default; a broken file is written anew.
"""

from __future__ import annotations

import json
import os
import platform
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from gstream.devices.host.threads import Workers
from gstream.hostcode.casts import u64
from gstream.hostcode.generate import cache_folder
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import kernel
from gstream.paging.page_lanes import PageLanes
from gstream.paging.page_rows import page_rows
from gstream.paging.page_table import PageTable
from gstream.paging.readers import Read, Readers
from gstream.planning.cost_equations import DECODED_A_CORE, Constants, GpuConstants
from pagestore.cores import usable_cores
from pagestore.errors import GstreamError

COPY_BYTES = 32 << 20  # larger than caches
TARGETS = 1 << 20  # vertices of the measured gather: values of 4 MiB, between cache and memory as in real graphs
EDGES = 1 << 21
MOST_TRIES, BETTER = 8, 0.98  # of a call: times as many as are wanted without a better one, by this factor
DISK_BYTES = 128 << 20  # of each file: a disk of 1 GB/s takes half a second for four counts of threads
DISK_RUN = 8 << 20
THREADS = (1, 2, 3, 4, 6, 8, 12, 16)  # that read from a disk, as they are tried
APART_SHARE = 4  # of a count's pages are read in no order
LESS_THAN_BEST = 0.95  # of the best rate does: fewer reads at a time take less memory
WEIGHT = 0.25  # of the last run
CALLS_A_BATCH = 3  # copy of the pages, copy of the work list, launch: an event goes with each but one
LANES = " lanes "  # is in the names of their constants
LANES_AFTER_S = 60.0  # of supersteps, from which on measuring takes few percent: a second, or three that compile
LINK, LISTS, KERNELS = ("c1", "c2", "call_s"), ("list_s",), ("pull_edges", "push_edges", "memory")  # of a GPU's probes


@kernel
def gather(targets: Any, values: Any, counter: Any) -> Any:
    """Sum values at random places, 4,096 a claim: what an edge of a pull costs."""
    total = 0.0
    while True:
        begin = u64(atomic_add(counter, 0, 4096))
        if begin >= u64(len(targets)):
            return 1 if total > 0 else 0
        for index in range(begin, begin + u64(4096)):
            total += values[targets[index]]


@kernel
def scatter(targets: Any, sums: Any, counter: Any) -> Any:
    """Add atomically at random places, 4,096 a claim: what an edge of a push costs."""
    while True:
        begin = u64(atomic_add(counter, 0, 4096))
        if begin >= u64(len(targets)):
            return 0
        for index in range(begin, begin + u64(4096)):
            atomic_add(sums, targets[index], 1.0)


def constants(workers: Workers, folder: Path | None = None, who: int | str | None = None) -> Constants:
    """The machine's constants for `workers`, from the file in `folder` (default: the user's cache) or measured.

    who: whose file it is, if not that of runs by so many threads.
    """
    path = _file(workers.threads if who is None else who, folder)
    known = _read(path)
    names = {entry.name for entry in fields(Constants)} - {"disk", "load", "list_s", "decode"}
    if not names <= known.keys():
        known |= {name: value for name, value in asdict(measure(workers)).items() if name in names}
        _write(path, known)
    found = {name: known[name] for name in (*names, "load") if name in known}
    return Constants(**found, decode=DECODED_A_CORE * workers.threads)


def gpu_constants(gpus: Sequence[Any], folder: Path | None = None) -> GpuConstants:
    """Constants of a run's GPUs (gstream.devices.gpu.driver.Gpu), which are taken to be alike: from the file or
    measured.

    Measures the first of them, and the way to it from the others where there are several. What can't be measured, for
    lack of memory or of nvcc, say, is a default, and is tried again by the next process.
    """
    path = _file(gpus[0].name, folder)
    known, found = _read(path), dict[str, float]()
    for given, probe in ((LINK, _link), (LISTS, _lists), (KERNELS, _kernels)):
        if not known.keys() >= set(given):
            with suppress(GstreamError, OSError):
                found |= {name: rate for name, rate in probe(gpus[0]).items() if name not in known}
    if len(gpus) > 1 and "merge" not in known:
        with suppress(GstreamError, OSError):
            found["merge"] = _merge_rate(gpus, (known | found).get("c1", GpuConstants.c1))
    if found:
        _write(path, known | found)
    names = {entry.name for entry in fields(GpuConstants)} - {"disk", "lanes", "decode"}
    rates = {name: value for name, value in (known | found).items() if name in names}
    return GpuConstants(**rates, decode=DECODED_A_CORE * usable_cores(), lanes=PageLanes.measured(known))


def measure_lanes(gpu: Any, folder: Path | None = None) -> None:
    """Measure the lanes of classes of pages on a GPU, and keep them in its file; not again where they are known.

    What can't be measured, for lack of memory or of nvcc, is left to the next process.
    """
    from gstream.devices.gpu.lane_probe import lane_constants

    path = _file(gpu.name, folder)
    if not any(LANES in name for name in _read(path)):
        with suppress(GstreamError, OSError):
            found = lane_constants(gpu)
            _write(path, _read(path) | found)


def _link(gpu: Any) -> dict[str, float]:
    from gstream.devices.gpu.probe import probe

    found = probe(gpu)
    both_ways = 2 / (1 / found.to_device + 1 / found.from_device)
    return {"c1": both_ways, "c2": found.to_device, "call_s": CALLS_A_BATCH * found.call_s}


def _lists(gpu: Any) -> dict[str, float]:
    from gstream.devices.gpu.probe import list_seconds

    seconds = list_seconds(gpu)
    return {} if seconds is None else {"list_s": seconds}


def _kernels(gpu: Any) -> dict[str, float]:
    from gstream.devices.gpu.probe import kernel_rates

    return kernel_rates(gpu)


def merge_rate(gpus: Sequence[Any], known: GpuConstants) -> float:
    """Measured: bytes/s between two of the GPUs; what is known where it can't be measured, for lack of memory, say."""
    with suppress(GstreamError, OSError):
        return _merge_rate(gpus, known.c1)
    return known.merge


def _merge_rate(gpus: Sequence[Any], link: float) -> float:
    """Of the slowest pair; through the host, over the link twice, where GPUs can't reach each other."""
    from gstream.devices.gpu.probe import peer_rate

    rates = [peer_rate(gpus[0], other) for other in gpus[1:]]
    return min(link / 2 if rate is None else rate for rate in rates)


def learn(who: int | str, rates: Iterable[tuple[str, float]], folder: Path | None = None) -> None:
    """Average what runs taught, (name, rate) in order, into the file of `who`: a number of threads, or a GPU's name.

    Does nothing where there is no file: nothing has been measured yet.
    """
    path = _file(who, folder)
    known = _read(path)
    if known:
        for name, rate in rates:
            known[name] = averaged(known.get(name), rate)
        _write(path, known)


def known(who: int | str, folder: Path | None = None) -> dict[str, float]:
    """What the file of `who` says; nothing where there is none."""
    return _read(_file(who, folder))


def averaged(known: float | None, rate: float) -> float:
    """The rate to go by after a run at `rate`."""
    return rate if known is None else known ** (1 - WEIGHT) * rate**WEIGHT


def _file(who: int | str, folder: Path | None) -> Path:
    plain = re.sub(r"[^A-Za-z0-9.]+", "-", str(who))
    return (folder or cache_folder()) / f"constants-{platform.node()}-{plain}.json"


@dataclass(frozen=True)
class Disk:
    """How the disks of a store read: bytes/s of all at once, by `threads` threads for each; apart: of single pages in
    no order."""

    rate: float
    threads: int
    apart: float


def disk(open_reader: Callable[[], Any], table: PageTable, paths: list[str], folder: Path | None = None) -> Disk | None:
    """How the disks that `paths`, a store's files, lie on read: from the file, or measured on the store's pages.

    The threads are the fewest that read within LESS_THAN_BEST of the fastest count. None for a store that is too small.
    """
    file = (folder or cache_folder()) / f"constants-disk-{platform.node()}.json"
    known = _read(file)
    disks = "+".join(sorted({str(os.stat(path).st_dev) for path in paths}))
    names = disks, f"{disks} threads", f"{disks} apart"
    if not known.keys() >= set(names):
        if table.pages * table.page_bytes < DISK_RUN * max(THREADS):
            return None
        found = _best_of(open_reader(), table)
        known |= dict(zip(names, (found.rate, found.threads, found.apart), strict=True))
        _write(file, known)
    rate, threads, apart = (known[name] for name in names)
    return Disk(rate, int(threads), min(apart, rate))


def measure(workers: Workers) -> Constants:
    """Constants measured now, all but the disk's."""
    random = np.random.default_rng(1)
    targets = random.integers(0, TARGETS, EDGES, dtype=np.uint32)
    values, sums, counter = np.ones(TARGETS, np.float32), np.zeros(TARGETS), np.zeros(1, np.int64)

    def spread(function: Any, *arguments: Any) -> Callable[[], None]:
        def once() -> None:
            counter[0] = 0
            workers.run(function, *arguments, counter)

        return once

    block = np.ones(COPY_BYTES // 8)
    other = np.ones_like(block)
    copy = COPY_BYTES / _least_seconds(lambda: np.copyto(other, block))
    merge = COPY_BYTES / _least_seconds(lambda: np.add(other, block, out=other))
    nothing = targets[:0]
    return Constants(
        c1=copy, c2=copy, merge=merge, call_s=_least_seconds(spread(gather, nothing, values), 50),
        pull_edges=EDGES / _least_seconds(spread(gather, targets, values)),
        push_edges=EDGES / _least_seconds(spread(scatter, targets, sums)),
    )  # fmt: skip


def _least_seconds(call: Callable[[], Any], times: int = 8) -> float:
    """The least time of a call, of which `times` in a row were no better: other work on the machine only adds to it."""
    call()  # compiles, and touches memory
    least, worse = float("inf"), 0
    for _ in range(MOST_TRIES * times):
        began = time.perf_counter()
        call()
        taken = time.perf_counter() - began
        worse = 0 if taken < BETTER * least else worse + 1
        least = min(least, taken)
        if worse == times:
            break
    return max(least, 1e-9)


def _best_of(reader: Any, table: PageTable) -> Disk:
    """Rates by ever more threads a disk, until more don't help; each count reads other pages, which no cache holds."""
    sample = min(table.pages, reader.spread.files * DISK_BYTES // table.page_bytes)
    rates: dict[int, float] = {}
    for number, threads in enumerate(THREADS):
        first = number * sample % (table.pages - sample + 1)
        rates[threads] = _disk_rate(reader, table, threads, range(first, first + sample))
        if rates[threads] < max(rates.values()) * LESS_THAN_BEST:
            break
    best = max(rates.values())
    threads = next(threads for threads, rate in rates.items() if rate >= best * LESS_THAN_BEST)
    strewn = np.random.default_rng(1).permutation(table.pages)[: sample // APART_SHARE]
    return Disk(rates[threads], threads, _disk_rate(reader, table, threads, strewn.tolist(), most=1))


def _disk_rate(reader: Any, table: PageTable, threads: int, pages: Sequence[int], most: int = 0) -> float:
    """Bytes a second of reading these pages, each file by so many threads; most: pages of one read, 0: DISK_RUN."""
    most, own, parts = most or max(1, DISK_RUN // table.page_bytes), threading.local(), []

    def read(first: int, count: int) -> None:
        if not hasattr(own, "pages"):
            own.pages = page_rows(most, table.page_bytes)
        reader.read(first, count, out=own.pages[:count])

    readers = Readers(reader.spread.files, threads)
    try:
        began = time.perf_counter()
        for at in range(0, len(pages), most):
            for run in reader.spread.runs(pages[at], min(most, len(pages) - at)):
                parts.append(readers.submit(run.file, read, run.first, run.pages))
        Read(parts).result()
        return len(pages) * table.page_bytes / max(time.perf_counter() - began, 1e-9)
    finally:
        readers.close()


def _read(path: Path) -> dict[str, float]:
    try:
        found = json.loads(path.read_text())
        return {str(name): float(value) for name, value in found.items() if float(value) > 0}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _write(path: Path, found: dict[str, float]) -> None:
    try:
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            json.dump(found, file)
        os.replace(file.name, path)
    except OSError:
        pass  # measured again next time
