"""Constants of the cost model, measured at the first run on a machine and kept in a file of the user's cache folder.

    c1, c2       rate of a copy in memory: chunks of WA, pages to a device that copies
    call_s       handing one task to all threads and waiting for them
    pull_edges   random reads of 4 bytes with a sum, by all threads; push_edges: random atomic additions of 8 bytes
    merge        rate of combining two arrays
    disk         O_DIRECT reads of the store's own pages, by the threads that read ahead; kept by file system

The whole takes about 0.1 s. A figure that can't be measured stays at its default; a broken file is written anew.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from gstream.costs import Constants
from gstream.devices.threads import Workers
from gstream.hostcode.casts import u64
from gstream.hostcode.generate import cache_folder
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import kernel
from gstream.pages import page_rows
from gstream.pagetable import PageTable

COPY_BYTES = 32 << 20  # larger than caches
TARGETS = 1 << 20  # vertices of the measured gather: values of 4 MiB, between cache and memory as in real graphs
EDGES = 1 << 21
DISK_BYTES = 64 << 20
DISK_RUN = 8 << 20


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


def constants(workers: Workers, folder: Path | None = None) -> Constants:
    """The machine's constants for `workers`, from the file in `folder` (default: the user's cache) or measured."""
    path = _file(workers.threads, folder)
    known = _read(path)
    names = {entry.name for entry in fields(Constants)} - {"disk"}
    if names <= known.keys():
        return Constants(**{name: known[name] for name in names})
    measured = measure(workers)
    _write(path, known | {name: value for name, value in asdict(measured).items() if name in names})
    return measured


def learn(threads: int, direction: str, edges_per_second: float, folder: Path | None = None) -> None:
    """Keep the rate of a run's kernels where it is above what is known: a machine that was busy measured too little."""
    path, name = _file(threads, folder), f"{direction}_edges"
    known = _read(path)
    if edges_per_second > known.get(name, np.inf):
        _write(path, known | {name: edges_per_second})


def _file(threads: int, folder: Path | None) -> Path:
    return (folder or cache_folder()) / f"constants-{platform.node()}-{threads}.json"


def with_disk(
    known: Constants, reader: Any, table: PageTable, path: str, readers: ThreadPoolExecutor, threads: int,
    folder: Path | None = None,
) -> Constants:  # fmt: skip
    """The same constants with the rate of the disk that `path` lies on, from the file or measured on its pages."""
    file = (folder or cache_folder()) / f"constants-disk-{platform.node()}.json"
    rates = _read(file)
    name = str(os.stat(path).st_dev)
    if name not in rates and table.pages * table.page_bytes >= DISK_RUN:
        rates[name] = _disk_rate(reader, table, readers, threads)
        _write(file, rates)
    return replace(known, disk=rates[name]) if name in rates else known


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
    call()  # compiles, and touches memory
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return max(min(taken), 1e-9)


def _disk_rate(reader: Any, table: PageTable, readers: ThreadPoolExecutor, threads: int) -> float:
    """Bytes a second of reading up to DISK_BYTES of pages, `threads` runs of DISK_RUN at a time."""
    run = max(1, DISK_RUN // table.page_bytes)
    pages = min(table.pages, DISK_BYTES // table.page_bytes)
    buffers = [page_rows(run, table.page_bytes) for _ in range(threads)]

    def read(lane: int) -> None:
        for first in range(lane * run, pages, threads * run):
            count = min(run, pages - first)
            reader.read(first, count, out=buffers[lane][:count])

    list(readers.map(read, range(threads)))  # touches the buffers
    began = time.perf_counter()
    list(readers.map(read, range(threads)))
    return pages * table.page_bytes / max(time.perf_counter() - began, 1e-9)


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
