"""The full scrub behind `gstream verify`: reads every page and array, names what is wrong, and goes on.

Checked: every CRC; every rule of the format in every page (pagestore/verify_pages.py); lists against degrees, heads and
the directory; that a hub's pages join up; that out- and in-pages hold the same edges; ID tables.

Edge sets are compared by a sum over all edges of a 64-bit mix of (source, target, weight), modulo 2^64: order does not
matter, and two different multisets agree with a chance of about 2^-64.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np

from pagestore.arrays import BLOCK_BYTES
from pagestore.cores import checked_threads, in_order
from pagestore.decode import BATCH_BYTES
from pagestore.errors import StoreError
from pagestore.meta import scrub_first
from pagestore.parts import JoinedStore, open_whole
from pagestore.sizes import show_things
from pagestore.store import Store
from pagestore.topology import Topology
from pagestore.verify_pages import check_run

STEP_ROWS = BLOCK_BYTES  # rows of an array read at once: at most 8 MiB of an ID table
MOST_PROBLEMS = 100  # later ones are only counted
Progress = Callable[[int, int], None]  # bytes read so far, bytes in all


@dataclass
class VerifyReport:
    """What a scrub found. `problems`: one plain line each; `more_problems`: how many beyond the first 100; bytes_read:
    as they lie in the file."""

    path: str
    problems: list[str] = field(default_factory=list)
    more_problems: int = 0
    bad_pages: dict[str, list[int]] = field(default_factory=dict)
    pages: int = 0
    stored_edges: int = 0
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
        """The same for pages and what is wrong with each; listed ones name the user's vertices."""
        listed = problems[: MOST_PROBLEMS - len(self.problems)]
        names = topology.name_pages([number for number, _ in listed], search=True) if listed else []
        for name, (_, what) in zip(names, listed, strict=True):
            self.add(f"{name} {what}")
        self.more_problems += len(problems) - len(listed)

    def damaged(self) -> StoreError:
        """The error for a store in which problems were found."""
        more = f" ({self.more_problems} not listed)" if self.more_problems else ""
        count = len(self.problems) + self.more_problems
        return StoreError(f"{self.path}: {show_things(count, 'problem')} found{more}. Convert the graph again.")


def verify(
    path: str | Store, threads: int | None = None, progress: Progress | None = None,
    stripes: Sequence[str | os.PathLike] = (),
) -> VerifyReport:  # fmt: skip
    """Scrub the store at `path`, a folder of parts, one part, or an open store. threads: default: all cores.

    stripes: folders, as of open_store. Memory: about 40 MiB a thread, more when a page is larger than 16 MiB.

    Raises UsageError (threads), StoreError only when the store can't be opened at all; all else is in the report.
    """
    name = path.path if isinstance(path, Store) else os.fspath(path)
    report, threads = VerifyReport(name), checked_threads(threads)
    began = time.monotonic()
    with nullcontext(path) if isinstance(path, Store) else open_whole(name, stripes) as store:
        paged = [topology.stored_bytes for topology in map(store.topology, store.meta.topologies)]
        others = store.parts[1:] if isinstance(store, JoinedStore) else []
        arrays = [one.array(name).stored_bytes for one in (store, *others) for name in one.array_names]
        total = sum(paged) + sum(arrays)

        def advance(nbytes: int) -> None:
            report.bytes_read += nbytes
            if progress is not None:
                progress(report.bytes_read, total)

        for one in (store, *others):
            for problem in check_tables(one, advance):
                report.add(problem)
        mixes = {}
        for which in store.meta.topologies:
            mixes[which] = _check_topology(store, store.topology(which), threads, report, advance)
        whole = report.ok and not store.meta.parts
        if whole and len(mixes) == 2 and mixes["out"][0] != mixes["in"][1]:
            report.add(f"{name}: the in-pages hold other edges than the out-pages.")
        if whole and not store.meta.directed and mixes["out"][0] != mixes["out"][1]:
            report.add(f"{name}: undirected, but some edge is stored in one direction only.")
    report.seconds = time.monotonic() - began
    return report


def _check_topology(
    store: Store, topology: Topology, threads: int, report: VerifyReport, advance: Callable[[int], None]
) -> tuple[int, int]:
    """Scrub one topology; returns the mixes of its edges as (first, second) and as (second, first)."""
    step = max(1, BATCH_BYTES // topology.layout.page_bytes)
    forward, backward = 0, 0
    ends: dict[int, tuple[int, int]] = {}
    bad: list[tuple[int, str]] = []
    padding, unread = 0, False
    runs = topology.spread.ranges(topology.pages, step)
    for (first, count), batch in in_order(runs, lambda run: check_run(store, topology, *run), threads):
        bad += batch.problems
        for line in batch.unread:
            report.add(line)
            unread = True
        forward, backward = (forward + batch.forward) % (1 << 64), (backward + batch.backward) % (1 << 64)
        report.stored_edges += batch.edges
        padding += batch.padding_words
        ends.update(batch.ends)
        report.pages += count
        advance(topology.stored_between(first, first + count))
    report.add_pages(topology, bad + list(_check_joints(topology, ends)))
    for problem in _check_cover(store, topology):
        report.add(problem)
    told = store.meta.padding_words.get(topology.name, 0)
    if not bad and not unread and padding != told and not store.meta.parts:
        report.add(f"{store.path}: topology {topology.name} has {padding} words of padding; /meta says {told}.")
    if bad:
        report.bad_pages[topology.name] = [number for number, _ in bad]
    return forward, backward


def _check_joints(topology: Topology, ends: dict[int, tuple[int, int]]) -> Iterator[tuple[int, str]]:
    """Pages of hubs whose list does not ascend from the page before, and a message."""
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


def check_tables(store: Store, advance: Callable[[int], None]) -> Iterator[str]:
    """One plain line for each array that fails its checksum or contradicts the description in /meta.

    `advance` gets how many bytes were read since it was last called.
    """
    whole = True
    for name in store.array_names:
        array = store.array(name)
        try:
            for first in range(0, array.rows, STEP_ROWS):
                last = min(first + STEP_ROWS, array.rows)
                array.read(first, last)
                advance(array.stored_bytes * last // array.rows - array.stored_bytes * first // array.rows)
        except StoreError as error:
            whole = False
            yield str(error)
    if whole:
        yield from _check_degrees(store)
        yield from _check_ids(store)
        yield from _check_order(store)
        yield from _check_heads(store)


def _check_degrees(store: Store) -> Iterator[str]:
    meta = store.meta
    for name, longest in (("out_degree", meta.max_out_degree), ("in_degree", meta.max_in_degree)):
        if f"vertices/{name}" not in store.array_names:
            continue
        total, most = 0, 0
        for degrees in _steps(store, f"vertices/{name}"):
            total += int(degrees.sum(dtype=np.uint64))
            most = max(most, int(degrees.max()))
        if total != meta.edges or most != longest:
            yield (
                f"{store.path}: {name} sums to {total} with maximum {most}; "
                f"the description says {meta.edges} and {longest}."
            )


def _check_ids(store: Store) -> Iterator[str]:
    if store.meta.id_kind == "integers":
        last = -1
        for ids in _steps(store, "vertices/ids"):
            if ids[0] <= last or np.any(ids[1:] <= ids[:-1]):
                yield f"{store.path}: vertices/ids don't ascend from 0 up."
                return
            last = int(ids[-1])
    if store.meta.id_kind == "strings":
        before: str | None = None
        for first in range(0, store.meta.vertices, STEP_ROWS // 8):
            try:
                names = store.user_ids(first, min(first + STEP_ROWS // 8, store.meta.vertices)).to_pylist()
            except StoreError as error:
                yield str(error)
                return
            ordered = all(a < b for a, b in zip(names, names[1:], strict=False))
            if not ordered or (before is not None and names[0] <= before):
                yield f"{store.path}: names don't ascend, vertices {first} to {first + len(names)}."
                return
            before = names[-1]


def _check_order(store: Store) -> Iterator[str]:
    """store_of is a permutation: every store ID occurs (one byte a vertex of memory)."""
    if store.meta.order == "natural":
        return
    seen = np.zeros(store.meta.vertices, bool)
    for ids in _steps(store, "vertices/store_of"):
        if int(ids.max()) >= len(seen):
            yield f"{store.path}: vertices/store_of holds {ids.max()}; the last vertex is {len(seen) - 1}."
            return
        seen[ids] = True
    if not seen.all():
        yield f"{store.path}: vertices/store_of is no permutation; store ID {int(np.argmin(seen))} is missing."


def _check_heads(store: Store) -> Iterator[str]:
    """Vertices without edges have empty heads, and vertices past the heads' last row have no edges."""
    for name in store.meta.topologies:
        topology = store.topology(name)
        if not store.meta.heads:
            continue
        degree_of = store.out_degree if name == "out" else store.in_degree
        for first in range(0, store.meta.vertices, STEP_ROWS):
            last = min(first + STEP_ROWS, store.meta.vertices)
            degrees = degree_of(first, last)
            kept = max(0, min(last, topology.head_rows) - first)
            heads = (
                topology.heads(first, first + kept, check=False) if kept else np.empty((0, 4), topology.layout.id_dtype)
            )
            if np.any(degrees[kept:]) or np.any(heads[degrees[:kept] == 0] != topology.layout.none):
                yield f"{store.path}: heads of topology {name} don't fit the degrees of vertices {first} to {last}."


def _steps(store: Store, name: str) -> Iterator[np.ndarray]:
    array = store.array(name)
    for first in range(0, array.rows, STEP_ROWS):
        yield array.read(first, min(first + STEP_ROWS, array.rows))
