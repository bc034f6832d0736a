"""PageRank streamed from disk under a memory cap below the topology, against the disk's own O_DIRECT rate.

Ours: bytes that the block layer read for the process (page-cache hits don't count) during a long minus a short run, by
the time between them. The ceiling: plain O_DIRECT reads of the same bytes of the same file, 16 MiB a call, by the best
of several thread counts, measured before and after; the faster of the two stands.

And how fast one core checks pages (their CRCs, and that every list stays within its bounds) as they come into memory:
the time of reading them from the page cache with checks less that without. Disks are slower, as long as that is.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from bench import ceilings, ours, peers, stores
from bench.context import Context
from bench.figures import Figure, Samples, by_turns, check, timed
from bench.pagerank import ALPHA, RELATIVE, check_ranks

SHORT, LONG = 2, 12  # iterations
RUNS = 3
ORDERS = ("natural", "degree")
NEED_SHARE = 0.8
VERTEX_BYTES = 32  # what a streamed PageRank holds a vertex, generously
BATCH_BYTES, CHECKED_BYTES = 16 << 20, 1 << 30  # as runs read them; of a topology
CHECK_RATE = 4e9
RESIDENT_SHARE = 8  # an eighth of the topology fits beside that, as for a graph much larger than memory


def stream_rate(session: ours.Session, path: Path, runs: int, floor_bytes: int) -> tuple[Samples, list[float], Any]:
    """(seconds between the short and the long run, bytes a second read from disk in between, last answer)."""
    rates, seconds = [], []
    for _ in range(runs):
        moments = []
        for iterations in (SHORT, LONG):
            ceilings.drop_page_cache(path)
            before = ceilings.disk_read_bytes()
            samples, answer = timed(1, lambda n=iterations: session.pagerank(ALPHA, iterations=n))
            moments.append((samples.median, ceilings.disk_read_bytes() - before))
        between = moments[1][0] - moments[0][0]
        read = moments[1][1] - moments[0][1]
        check(read >= floor_bytes, f"only {read} bytes came from the disk; {floor_bytes} had to: the page cache helped")
        seconds.append(between)
        rates.append(read / between)
    return Samples(tuple(seconds)), rates, answer


def measure(context: Context) -> list[Figure]:
    if context.graph.scale is None:
        return []  # the shipped graph is a page or two
    return [figure for order in ORDERS for figure in (*measure_order(context, order), checks(context, order))]


def checks(context: Context, order: str) -> Figure:
    """Bytes that a core checks in a second."""
    import pagestore
    from pagestore.io import aligned_empty

    with pagestore.open_store(stores.kron(context.graph, order)) as store:
        topology = store.topology("out")
        page_bytes = topology.layout.page_bytes
        batch, pages = max(1, BATCH_BYTES // page_bytes), min(topology.pages, max(1, CHECKED_BYTES // page_bytes))
        out = aligned_empty(batch * page_bytes).reshape(batch, page_bytes)

        def read(check: bool) -> float:
            start = time.perf_counter()
            for first in range(0, pages, batch):
                count = min(batch, pages - first)
                reader.read(first, count, out[:count], check)
            return time.perf_counter() - start

        with topology.reader() as reader:
            checked, unchecked = by_turns([partial(read, True), partial(read, False)], RUNS, 50, 3.0)
    seconds = median(a - b for a, b in zip(checked.seconds, unchecked.seconds, strict=True))  # of each turn
    check(seconds > 0, "reading took longer without checks than with them: too much else goes on")
    return Figure(
        what="pages checked as they are read, one core",
        graph=f"{context.graph_name} undirected, {order} order",
        value=pages * page_bytes / seconds / 1e6,
        unit="MB/s",
        against="the least that was asked for",
        against_value=CHECK_RATE / 1e6,
        need=1.0,
        target="at least 4 GB/s a core",
        note=f"{pages * page_bytes >> 20} MiB from the page cache, {1e3 * unchecked.median:.0f} ms of reading apart",
    )


def measure_order(context: Context, order: str) -> list[Figure]:
    """Rate and time of an iteration with the vertices in one order."""
    import pagestore

    path = stores.kron(context.graph, order)
    csr = context.graph.kron
    with pagestore.open_store(path) as store:
        topology = store.topology("out")
        topology_bytes = topology.pages * topology.layout.page_bytes
        cap = VERTEX_BYTES * csr.vertices + topology_bytes // RESIDENT_SHARE
        check(cap < topology_bytes, "the cap is not below the topology: take a larger scale")
        before = ceilings.disk_rate(path, topology)
        with ours.opened(path) as session:
            session.pagerank(ALPHA, iterations=1)  # warm-up: reads all pages
            resident = timed(RUNS, lambda: session.pagerank(ALPHA, iterations=LONG))[0].median / LONG
        with ours.opened(path, host_memory=cap) as session:
            session.pagerank(ALPHA, iterations=1)  # warm-up: compiles
            streamed = (LONG - SHORT) * (topology_bytes - cap)
            seconds, rates, answer = stream_rate(session, path, context.times(RUNS), streamed)
            ranks = session.ranks(answer)
        ceiling = max(before, ceilings.disk_rate(path, topology))
    matrix = peers.scipy_matrix(csr, "float64")
    check_ranks(ranks, peers.power_iteration(matrix, csr.degree, ALPHA, LONG), RELATIVE["float32"], "streamed")
    middle = sorted(rates)[len(rates) // 2]
    graph = f"{context.graph_name} undirected, {order} order"
    note = f"--host-memory {cap >> 20} MiB, topology {topology_bytes >> 20} MiB"
    rate = Figure(
        what="PageRank streamed, disk reads",
        graph=graph,
        value=middle / 1e6,
        unit="MB/s",
        against="O_DIRECT reads of the same file",
        against_value=ceiling / 1e6,
        need=NEED_SHARE,
        target="at least 80 % of the disk",
        spread={"least": min(rates) / 1e6, "median": middle / 1e6, "most": max(rates) / 1e6, "runs": len(rates)},
        checked=f"ranks within {RELATIVE['float32']:.0e} relative of scipy's power iteration",
        note=note,
    )
    step = Figure(
        what="PageRank streamed, iteration",
        graph=graph,
        value=seconds.median / (LONG - SHORT) * 1e3,
        unit="ms",
        spread=seconds.spread(1e3 / (LONG - SHORT)),
        against="the slower of the disk alone and the cores alone",
        against_value=max(topology_bytes / ceiling, resident) * 1e3,
        note=f"{note}; disk alone {topology_bytes / ceiling * 1e3:.0f} ms, all pages in memory {resident * 1e3:.0f} ms",
    )
    return [rate, step]
