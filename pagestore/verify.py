"""The full scrub behind `gstream verify`: reads every page and array, names what is wrong, and goes on.

Checked: every CRC; every rule of the format in every page (compiled: pagestore/check.py; words for what is wrong:
pagestore/decode.py); lists against degrees, heads and the
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
from pagestore.cores import checked_threads
from pagestore.decode import BATCH_BYTES
from pagestore.errors import StoreError
from pagestore.meta import scrub_first
from pagestore.store import Store, open_store
from pagestore.topology import Topology
from pagestore.verify_pages import check_run
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
        """List a problem, or count it; an array that fails its checksum says so to all who read it."""
        problem = problem.replace(scrub_first(self.path), "")
        if len(self.problems) >= MOST_PROBLEMS:
            self.more_problems += 1
        elif problem not in self.problems:
            self.problems.append(problem)

    def add_pages(self, topology: Topology, problems: list[tuple[int, str]]) -> None:
        """The same for pages and what each of them does wrong; those that are listed name the user's vertices."""
        listed = problems[: MOST_PROBLEMS - len(self.problems)]
        names = topology.name_pages([number for number, _ in listed], search=True) if listed else []
        for name, (_, what) in zip(names, listed, strict=True):
            self.add(f"{name} {what}")
        self.more_problems += len(problems) - len(listed)


def verify(path: str, threads: int | None = None, progress: Progress | None = None) -> VerifyReport:
    """Scrub the store at `path` with `threads` threads (all cores by default); memory: about 40 MiB a thread (more when
    a page is larger than 16 MiB).

    Raises UsageError (threads), StoreError only when the store can't be opened at all; all else is in the report.
    """
    report, threads = VerifyReport(os.fspath(path)), checked_threads(threads)
    began = time.monotonic()
    with open_store(path) as store, ThreadPoolExecutor(threads) as pool:
        paged = [extent.nbytes for name, extent in store.extents.items() if name.endswith(("/pages", "/weights"))]
        total = sum(paged) + sum(store.extents[name].nbytes for name in store.array_names)

        def advance(nbytes: int) -> None:
            report.bytes_read += nbytes
            if progress is not None:
                progress(report.bytes_read, total)

        for problem in check_tables(store, advance):
            report.add(problem)
        mixes = {}
        for name in store.meta.topologies:
            topology = store.topology(name)
            mixes[name] = _check_topology(store, topology, pool, threads, report, advance)
        if report.ok and len(mixes) == 2 and mixes["out"][0] != mixes["in"][1]:
            report.add(f"{path}: the in-pages hold other edges than the out-pages.")
        if report.ok and not store.meta.directed and mixes["out"][0] != mixes["out"][1]:
            report.add(f"{path}: undirected, but some edge is stored in one direction only.")
    report.seconds = time.monotonic() - began
    return report


def _check_topology(
    store: Store, topology: Topology, pool: ThreadPoolExecutor, threads: int, report: VerifyReport,
    advance: Callable[[int], None],
) -> tuple[int, int]:  # fmt: skip
    """Scrub one topology; returns the mixes of its edges as (first, second) and as (second, first)."""
    step = max(1, BATCH_BYTES // topology.layout.page_bytes)
    forward, backward = 0, 0
    ends: dict[int, tuple[int, int]] = {}
    bad: list[tuple[int, str]] = []
    padding, unread = 0, False
    width = topology.layout.page_bytes + topology.weight_page_bytes
    for first, batch in _in_order(pool, threads, lambda at: check_run(store, topology, at, step), topology.pages, step):
        bad += batch.problems
        for line in batch.unread:
            report.add(line)
            unread = True
        forward, backward = (forward + batch.forward) % (1 << 64), (backward + batch.backward) % (1 << 64)
        report.edges += batch.edges
        padding += batch.padding_words
        ends.update(batch.ends)
        count = min(step, topology.pages - first)
        report.pages += count
        advance(count * width)
    report.add_pages(topology, bad + list(_check_joints(topology, ends)))
    for problem in _check_cover(store, topology):
        report.add(problem)
    told = store.meta.padding_words.get(topology.name, 0)
    if not bad and not unread and padding != told:
        report.add(f"{store.path}: topology {topology.name} has {padding} words of padding; /meta says {told}.")
    if bad:
        report.bad_pages[topology.name] = [number for number, _ in bad]
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


def _check_joints(topology: Topology, ends: dict[int, tuple[int, int]]) -> Iterator[tuple[int, str]]:
    """A hub's list ascends from one of its pages to the next: those that don't, and what is wrong."""
    vertices = topology.directory["first_vertex"]
    for number in sorted(ends):
        if number - 1 in ends and vertices[number - 1] == vertices[number] and ends[number][0] < ends[number - 1][1]:
            yield number, "starts with a neighbour below the last of the page before."


def _check_cover(store: Store, topology: Topology) -> Iterator[str]:
    """Every vertex with edges has its list in the pages.

    Slots ascend and each one's size is its vertex's degree (checked page by page), so it is enough that there are as
    many slots as vertices with a degree that fits small pages, and that the hubs' stretches add up to their degrees.
    """
    degree_of = store.out_degree if topology.name == "out" else store.in_degree
    large = topology.directory[topology.small_pages :]
    hubs, where = np.unique(large["first_vertex"], return_inverse=True)
    listed = np.zeros(len(hubs), np.uint64)
    np.add.at(listed, where, large["edges"])
    longest = topology.layout.longest_list
    lists = 0
    for low in range(0, topology.vertices, BLOCK_BYTES):
        high = min(low + BLOCK_BYTES, topology.vertices)
        try:
            degrees = degree_of(low, high).astype(np.uint64)
        except StoreError as error:
            yield str(error)
            return
        expected = np.flatnonzero(degrees > longest)
        a, b = np.searchsorted(hubs, np.array([low, high], np.uint64))
        if not np.array_equal(expected + low, hubs[a:b]) or np.any(degrees[expected] != listed[a:b]):
            yield f"{store.path}: large pages of topology {topology.name} don't match the degrees of {low} to {high}."
        lists += int(np.count_nonzero(degrees)) - len(expected)
    records = int(topology.directory["records"][: topology.small_pages].sum(dtype=np.uint64))
    if lists != records:
        yield f"{store.path}: topology {topology.name} has {records} lists in small pages; the degrees say {lists}."
