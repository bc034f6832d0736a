"""Ceilings measured in the same run: PageRank over plain CSR arrays, and what the disk delivers with O_DIRECT.

The CSR iteration does what ours does (spread, gather, apply, L1 change) with everything but the pages: 4-byte unsigned
columns, 8-byte row starts, float32 values summed in float64, parts of equal edges taken by threads from one list.
"""

from __future__ import annotations

import itertools
import mmap
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from bench.graphs import Csr

PART_EDGES = 1 << 16
FAST = {"contract", "nsz", "arcp", "afn"}  # full fastmath makes the gather vector code, 2.3 times slower
READ_BYTES = 16 << 20
LEAST_READ = 1 << 30  # so that a burst doesn't pass for a rate
DISK_THREADS = (1, 2, 4, 8)
ALIGNMENT = 4096


@njit(nogil=True, cache=True, fastmath=FAST)
def _spread(rank, degree, message, first, last):
    """message[v] = rank[v] / degree[v]; returns the rank without out-edges (float64)."""
    adrift = 0.0
    for vertex in range(np.uint64(first), np.uint64(last)):
        if degree[vertex] == 0:
            adrift += rank[vertex]
            message[vertex] = 0
        else:
            message[vertex] = rank[vertex] / np.float32(degree[vertex])
    return adrift


@njit(nogil=True, cache=True, fastmath=FAST)
def _gather(indptr, indices, message, rank, first, last, base, alpha):
    """rank[v] = base + alpha * sum of message over v's list, for v in [first, last); returns the L1 change."""
    moved = 0.0
    for vertex in range(np.uint64(first), np.uint64(last)):
        got = 0.0
        for edge in range(indptr[vertex], indptr[vertex + np.uint64(1)]):
            got += message[indices[edge]]
        now = np.float32(base + alpha * got)
        moved += abs(now - rank[vertex])
        rank[vertex] = now
    return moved


class CsrPageRank:
    """PageRank iterations over plain arrays on `threads` threads."""

    def __init__(self, csr: Csr, threads: int, alpha: float) -> None:
        self.csr, self.alpha = csr, alpha
        self.degree = csr.degree.astype(np.uint32)
        wanted = np.arange(0, csr.edges, PART_EDGES, dtype=np.uint64)
        cuts = np.unique(np.searchsorted(csr.indptr, wanted, side="left"))
        self.parts = list(itertools.pairwise([0, *(int(cut) for cut in cuts if 0 < cut < csr.vertices), csr.vertices]))
        self.threads = threads
        self.pool = ThreadPoolExecutor(threads)
        self.message = np.zeros(csr.vertices, dtype=np.float32)
        self.rank = np.full(csr.vertices, 1 / csr.vertices, dtype=np.float32)

    def _sum(self, function: Callable[[int, int], float]) -> float:
        """Sum of function(first, last) over all parts; threads take the next part until none is left."""
        turn = itertools.count()

        def work() -> float:
            total = 0.0
            while (index := next(turn)) < len(self.parts):
                total += function(*self.parts[index])
            return total

        return sum(future.result() for future in [self.pool.submit(work) for _ in range(self.threads)])

    def iterate(self) -> float:
        """One iteration; returns the L1 change."""
        csr, vertices = self.csr, self.csr.vertices
        adrift = self._sum(lambda first, last: _spread(self.rank, self.degree, self.message, first, last))
        base = (1 - self.alpha + self.alpha * adrift) / vertices
        gather = (csr.indptr, csr.indices, self.message, self.rank)
        return self._sum(lambda first, last: _gather(*gather, first, last, base, self.alpha))


def drop_page_cache(path: Path) -> None:
    """Write the file back and ask the kernel to forget its cached pages."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(handle)


def direct_read_rate(path: Path, first: int, size: int, threads: int, passes: int = 1) -> float:
    """Bytes a second that `threads` threads read of [first, first + size) by O_DIRECT, 16 MiB a call."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECT)
    begin = first - first % ALIGNMENT
    offsets = list(range(begin, first + size, READ_BYTES)) * passes
    turn = itertools.count()

    def work() -> int:
        done = 0
        with mmap.mmap(-1, READ_BYTES) as buffer:  # anonymous maps are page-aligned, as O_DIRECT wants
            while (index := next(turn)) < len(offsets):
                left = -(-(first + size - offsets[index]) // ALIGNMENT) * ALIGNMENT
                with memoryview(buffer) as view, view[: min(READ_BYTES, left)] as target:
                    done += os.preadv(handle, [target], offsets[index])
        return done

    try:
        with ThreadPoolExecutor(threads) as pool:
            start = time.perf_counter()
            moved = sum(future.result() for future in [pool.submit(work) for _ in range(threads)])
            return moved / (time.perf_counter() - start)
    finally:
        os.close(handle)


def disk_rate(path: Path, topology: Any, most_bytes: int = 1 << 62) -> float:
    """Best rate, in bytes a second, at which threads read the pages of `path`, the first `most_bytes` of them."""
    first, size = topology.pages_offsets[0], min(topology.pages * topology.layout.page_bytes, most_bytes)
    passes = max(1, LEAST_READ // size)
    return max(direct_read_rate(path, first, size, threads, passes) for threads in DISK_THREADS)


def disk_read_bytes() -> int:
    """Bytes this process made the block layer read so far (the page cache's hits don't count)."""
    for line in Path("/proc/self/io").read_text().splitlines():
        if line.startswith("read_bytes:"):
            return int(line.split()[1])
    raise OSError("/proc/self/io has no read_bytes")
