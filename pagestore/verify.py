"""The full scrub behind `gstream verify`: reads every page and array, names what is wrong, and goes on.

Checked: every CRC; every rule of the format in every page (pagestore/decode.py); lists against degrees, heads and the
directory; that all lists of a hub's pages join up; that out- and in-pages hold the same edges; ID tables.

Equality of edge sets is tested by a sum over all edges of a 64-bit mix of (source, target, weight), modulo 2^64:
order does not matter, and two different multisets agree with a chance of about 2^-64.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from pagestore.arrays import BLOCK_BYTES
from pagestore.crc import page_crcs
from pagestore.decode import BATCH_BYTES, DecodedPage, RuleError, decode_page
from pagestore.errors import StoreError
from pagestore.store import Store, open_store
from pagestore.topology import Topology
from pagestore.verify_tables import check_tables

MOST_PROBLEMS = 100  # later ones are only counted
Progress = Callable[[int, int], None]  # bytes read so far, bytes in all


@dataclass
class VerifyReport:
    """What a scrub found. `problems`: one plain line each; `more_problems`: how many beyond the first 100."""

    path: str
    problems: list[str] = field(default_factory=list)
    more_problems: int = 0
    bad_pages: dict[str, list[int]] = field(default_factory=dict)
    pages: int = 0
    edges: int = 0
    bytes_read: int = 0
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return not self.problems

    def add(self, problem: str) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)
        else:
            self.more_problems += 1


@dataclass
class _Batch:
    """What one run of pages says: its problems and what neighbouring runs need to know.

    `forward`, `backward`: mixes of its edges as (first, second) and as (second, first). `ends`: number of a large
    page -> its first and last neighbour.
    """

    problems: list[tuple[int, str]] = field(default_factory=list)
    forward: int = 0
    backward: int = 0
    edges: int = 0
    ends: dict[int, tuple[int, int]] = field(default_factory=dict)


def verify(path: str, threads: int | None = None, progress: Progress | None = None) -> VerifyReport:
    """Scrub the store at `path` with `threads` threads (all cores by default); memory: 200 MiB a thread at most.

    Raises StoreError only when the store can't be opened at all; all else is in the report.
    """
    report = VerifyReport(os.fspath(path))
    began = time.monotonic()
    with open_store(path) as store, ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        total = sum(extent.nbytes for extent in store.extents.values())
        for problem in check_tables(store):
            report.add(problem)
        report.bytes_read = sum(
            extent.nbytes for name, extent in store.extents.items() if not name.endswith(("/pages", "/weights"))
        )
        mixes = {}
        for name in store.meta.topologies:
            topology = store.topology(name)
            mixes[name] = _check_topology(
                store, topology, pool, threads or os.cpu_count() or 1, report, progress, total
            )
        if report.ok and len(mixes) == 2 and mixes["out"][0] != mixes["in"][1]:
            report.add(f"{path}: the in-pages hold other edges than the out-pages.")
        if report.ok and not store.meta.directed and mixes["out"][0] != mixes["out"][1]:
            report.add(f"{path}: undirected, but some edge is stored in one direction only.")
    report.seconds = time.monotonic() - began
    return report


def _check_topology(
    store: Store, topology: Topology, pool: ThreadPoolExecutor, threads: int, report: VerifyReport,
    progress: Progress | None, total: int,
) -> tuple[int, int]:  # fmt: skip
    """Scrub one topology; returns the mixes of its edges as (first, second) and as (second, first)."""
    step = max(1, BATCH_BYTES // topology.layout.page_bytes)
    forward, backward = 0, 0
    ends: dict[int, tuple[int, int]] = {}
    bad: list[int] = []
    width = topology.layout.page_bytes + topology.weight_page_bytes
    for first, batch in _in_order(
        pool, threads, lambda at: _check_batch(store, topology, at, step), topology.pages, step
    ):
        for number, problem in batch.problems:
            bad.append(number)
            report.add(problem)
        forward, backward = (forward + batch.forward) % (1 << 64), (backward + batch.backward) % (1 << 64)
        report.edges += batch.edges
        ends.update(batch.ends)
        count = min(step, topology.pages - first)
        report.pages += count
        report.bytes_read += count * width
        if progress is not None:
            progress(report.bytes_read, total)
    for problem in _check_joints(topology, ends):
        report.add(problem)
    for problem in _check_gaps(store, topology):
        report.add(problem)
    if bad:
        report.bad_pages[topology.name] = bad
    return forward, backward


def _in_order(pool: ThreadPoolExecutor, ahead: int, work: Callable, count: int, step: int) -> Iterator[tuple]:
    """Results of work(0), work(step), ... in order, with at most `ahead` + 1 of them in flight."""
    pending: list[tuple[int, Future]] = []
    for first in range(0, count, step):
        pending.append((first, pool.submit(work, first)))
        if len(pending) > ahead:
            at, future = pending.pop(0)
            yield at, future.result()
    for at, future in pending:
        yield at, future.result()


def _check_batch(store: Store, topology: Topology, first: int, step: int) -> _Batch:
    """Pages first..first+step-1: CRCs, rules, degrees and heads."""
    count = min(step, topology.pages - first)
    batch = _Batch()
    with topology.reader() as reader:
        try:
            pages = reader.read(first, count, check=False)
            weights = None if topology.weight_dtype is None else reader.read_weights(first, count, check=False)
        except StoreError as error:
            batch.problems.append((first, str(error)))
            return batch
    rows = topology.directory[first : first + count]
    wrong = page_crcs(first, pages) != rows["crc"]
    wrong_weights = np.zeros(count, bool) if weights is None else page_crcs(first, weights) != rows["weights_crc"]
    for i in range(count):
        name = topology.name_page(first + i)
        if wrong[i] or wrong_weights[i]:
            what = "fails its checksum" if wrong[i] else "has weights that fail their checksum"
            batch.problems.append((first + i, f"{name} {what}."))
            continue
        try:
            page = decode_page(
                pages[i], topology.layout.id_bytes, topology.vertices, rows[i],
                None if weights is None else weights[i], topology.weight_dtype,
            )  # fmt: skip
            _check_against_arrays(store, topology, page)
        except (RuleError, StoreError) as error:
            batch.problems.append((first + i, f"{name} breaks the format: {error}."))
            continue
        batch.edges += len(page.source)
        batch.forward += _mix(page.source, page.target, page.weight)
        batch.backward += _mix(page.target, page.source, page.weight)
        if page.large:
            batch.ends[first + i] = (int(page.target[0]), int(page.target[-1]))
    return batch


def _check_against_arrays(store: Store, topology: Topology, page: DecodedPage) -> None:
    """Sizes are the vertices' degrees, and heads are the first 4 neighbours. Raises RuleError."""
    low, high = int(page.vertex[0]), int(page.vertex[-1]) + 1
    degrees = store.out_degree(low, high) if topology.name == "out" else store.in_degree(low, high)
    longest = topology.layout.longest_list
    if page.large:
        if int(degrees[0]) <= longest:
            raise RuleError(f"vertex {low} has degree {degrees[0]}, which fits a small page")
    else:
        listed = np.zeros(high - low, np.int64)
        listed[(page.vertex - np.uint64(low)).astype(np.int64)] = page.size
        expected = np.where(degrees <= longest, degrees, 0).astype(np.int64)
        if np.any(listed != expected):
            at = int(np.argmax(listed != expected))
            raise RuleError(f"vertex {low + at} has {listed[at]} neighbours here and degree {degrees[at]}")
    if topology.head_rows and page.position == 0:
        if high > topology.head_rows:
            raise RuleError(f"heads have {topology.head_rows} rows; vertex {high - 1} has edges")
        heads = topology.heads(low, high)
        starts = np.cumsum(page.size) - page.size
        column = np.arange(heads.shape[1])
        there = column < page.size[:, None]
        index = np.where(there, starts[:, None] + column, 0)
        expected_heads = np.where(there, page.target[index], np.uint64(topology.layout.none))
        stored = heads[(page.vertex - np.uint64(low)).astype(np.int64)]
        if np.any(stored != expected_heads):
            at = int(np.argmax(np.any(stored != expected_heads, axis=1)))
            raise RuleError(f"the heads of vertex {page.vertex[at]} are not its first neighbours")


def _check_joints(topology: Topology, ends: dict[int, tuple[int, int]]) -> Iterator[str]:
    """A hub's list ascends from one of its pages to the next."""
    vertices = topology.directory["first_vertex"]
    for number in sorted(ends):
        if number - 1 in ends and vertices[number - 1] == vertices[number] and ends[number][0] < ends[number - 1][1]:
            yield f"{topology.name_page(number)} starts with a neighbour below the last of the page before."


def _check_gaps(store: Store, topology: Topology) -> Iterator[str]:
    """Each vertex with edges has its list in some page: degrees against the directory, in bounded memory."""
    degree_of = store.out_degree if topology.name == "out" else store.in_degree
    small = topology.directory[: topology.small_pages]
    large = topology.directory[topology.small_pages :]
    hubs, where = np.unique(large["first_vertex"], return_inverse=True)
    listed = np.bincount(where, weights=large["edges"].astype(np.float64), minlength=len(hubs)).astype(np.uint64)
    longest = topology.layout.longest_list
    step = BLOCK_BYTES
    for low in range(0, topology.vertices, step):
        high = min(low + step, topology.vertices)
        try:
            degrees = degree_of(low, high).astype(np.uint64)
        except StoreError as error:
            yield str(error)
            return
        expected = np.flatnonzero(degrees > longest)
        a, b = np.searchsorted(hubs, np.array([low, high], np.uint64))
        if not np.array_equal(expected + low, hubs[a:b]) or np.any(degrees[expected] != listed[a:b]):
            yield f"{store.path}: large pages of topology {topology.name} don't match the degrees of {low} to {high}."
        covered = np.zeros(high - low + 1, np.int64)
        i, j = (
            np.searchsorted(small["last_vertex"], np.uint64(low)),
            np.searchsorted(small["first_vertex"], np.uint64(high)),
        )
        starts = np.maximum(small["first_vertex"][i:j].astype(np.int64), low) - low
        stops = np.minimum(small["last_vertex"][i:j].astype(np.int64) + 1, high) - low
        np.add.at(covered, starts, 1)
        np.add.at(covered, stops, -1)
        outside = (np.cumsum(covered)[:-1] == 0) & (degrees > 0) & (degrees <= longest)
        if outside.any():
            vertex = low + int(np.argmax(outside))
            yield f"{store.path}: vertex {vertex} has edges, but no page of topology {topology.name} holds its list."


def _mix(source: np.ndarray, target: np.ndarray, weight: np.ndarray | None) -> int:
    """Sum over edges of a 64-bit mix of the edge, modulo 2^64 (multiplications and shifts of splitmix64)."""
    value = source * np.uint64(0x9E3779B97F4A7C15)
    value ^= (target + np.uint64(0x632BE59BD9B4E019)) * np.uint64(0xBF58476D1CE4E5B9)
    if weight is not None:
        value += weight.view(f"<u{weight.dtype.itemsize}").astype(np.uint64) * np.uint64(0xD6E8FEB86659FD93)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        value ^= value >> np.uint64(shift)
        value *= np.uint64(factor)
    value ^= value >> np.uint64(31)
    return int(value.sum(dtype=np.uint64))
