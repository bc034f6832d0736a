"""Our side of every comparison: the Python interface a user has, and answers as plain arrays in vertex order.

Only the calls of `Session` are timed; turning a result into arrays (`ranks`, `labels`, ...) is not, nor is it for
networkit. All measured stores have the IDs 0..V-1, so row v of a result is vertex v.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import gstream
import pagestore
from bench.peers import UNREACHED
from bench.stores import mixed_sum
from pagestore.decode import decode_topology


@contextmanager
def asked_of(devices: Sequence[Any]) -> Iterator[list[int]]:
    """Pages that supersteps and sweeps ask `devices` for meanwhile, cached or not, as the engine takes their counts."""
    asked: list[int] = []

    def noted(take: Callable[[], Any]) -> Callable[[], Any]:
        def taken() -> Any:
            counted = take()
            asked.append(counted.pages)
            return counted

        return taken

    for device in devices:
        device.take_stats = noted(device.take_stats)
    try:
        yield asked
    finally:
        for device in devices:
            del device.take_stats


class Session:
    """An open graph; `options` (a memory cap) hold for every run.

    Beside an answer's own figures stands `pages_asked`: a page counts once in each superstep or sweep that asks for it.
    """

    def __init__(self, graph: Any, options: dict[str, Any]) -> None:
        self.graph, self.options = graph, options

    def pagerank(
        self,
        alpha: float,
        iterations: int | None = None,
        tolerance: float | None = None,
        float64: bool = False,
        max_iterations: int = 100,
    ) -> Any:
        """Result of a fixed number of iterations, or of a run to an L1 tolerance."""
        stop = {"iterations": iterations} if iterations else {"tol": tolerance, "max_iter": max_iterations}
        return self._noted(self.graph.pagerank, alpha=alpha, float64=float64, **stop)

    def bfs(self, source: int, predecessors: bool) -> Any:
        return self._noted(self.graph.bfs, source=source, predecessors=predecessors)

    def sssp(self, source: int) -> Any:
        return self._noted(self.graph.sssp, source=source, predecessors=False)

    def components(self) -> Any:
        return self._noted(self.graph.wcc)

    def execute(self, algorithm: str, own: dict[str, Any], certify: bool = False) -> Any:
        """Any algorithm by name, with its own options; certify: CertificateError where the answer is wrong."""
        return self._noted(self.graph.execute, algorithm, own, certify)

    def _noted(self, call: Callable[..., Any], *own: Any, **options: Any) -> Any:
        with asked_of(self.graph.engine(**self.options).devices) as asked:
            answer = call(*own, **options, **self.options)
        answer.summary["stats"]["pages_asked"] = sum(asked)
        return answer

    def forget(self) -> None:
        """Drop what devices hold from earlier runs: pages, heads, degrees."""
        for device in self.graph.engine(**self.options).devices:
            device.release()

    @staticmethod
    def ranks(answer: Any) -> np.ndarray:
        """f8[V]"""
        return answer.to_numpy()["pagerank"].astype(np.float64)

    @staticmethod
    def distances(answer: Any) -> np.ndarray:
        """f8[V] (SSSP) or i8[V] (BFS), UNREACHED (-1) where there is no path."""
        values = answer.to_numpy()["distance"]
        if values.dtype.kind == "f":
            return np.where(np.isinf(values), UNREACHED, values).astype(np.float64)
        return values.astype(np.int64)

    @staticmethod
    def predecessors(answer: Any) -> np.ndarray:
        """i8[V], negative where there is none."""
        return answer.to_numpy()["predecessor"].astype(np.int64)

    @staticmethod
    def labels(answer: Any) -> np.ndarray:
        """i8[V]: the least vertex of each component."""
        return answer.to_numpy()["component"].astype(np.int64)


@dataclass(frozen=True)
class Account:
    """What a run did, by its own figures. loop_s: its superstep loop, or union-find from the first link to the labels;
    whole_s: all of it, attaching and answer too."""

    loop_s: float
    whole_s: float
    bytes_moved: int  # of pages
    attribute_bytes: int
    pages: int
    pages_moved: int
    pages_asked: int  # by supersteps and sweeps, cached or not
    pages_in_place: int  # whose wanted lists alone were read, over the link
    edges_visited: int
    supersteps: int
    r_hit: float
    merge_s: float
    bytes_read: int
    first_s: float  # the first superstep

    @classmethod
    def of(cls, answer: Any) -> Account:
        stats = answer.summary["stats"]
        steps = stats["per_superstep"]
        loop_s = stats["loop_seconds"]
        return cls(
            loop_s=loop_s,
            whole_s=stats["seconds"],
            bytes_moved=stats["bytes_moved"],
            attribute_bytes=stats["attribute_bytes_moved"],
            pages=sum(step["pages"] for step in steps) if steps else stats["pages_moved"],
            **{name: stats[name] for name in ("pages_moved", "pages_asked", "pages_in_place", "edges_visited")},
            supersteps=answer.summary["supersteps"],
            r_hit=stats["r_hit"],
            merge_s=stats["merge_seconds"],
            bytes_read=stats["bytes_read_disk"],
            first_s=steps[0]["seconds"] if steps else loop_s,
        )


def work_of(accounts: Sequence[Account], seconds: float) -> str:
    """In words: edges looked at a second of runs that took `seconds` on average, and pages moved over those needed.

    Needed is each page once in every superstep or sweep that asks for it. A device that reads pages where they lie,
    as the host's cores do, moves just these; what a GPU's cache holds is not moved.
    """
    edges, moved, asked, in_place = (
        sum(getattr(account, name) for account in accounts) / len(accounts)
        for name in ("edges_visited", "pages_moved", "pages_asked", "pages_in_place")
    )
    rate = edges / seconds
    parts = [f"{rate / 1e9:.3g} G" if rate >= 1e9 else f"{rate / 1e6:.3g} M"]
    parts[0] += f" edges/s of {edges:.0f} looked at"
    if asked:
        parts.append(f"{moved:.4g} pages moved, {moved / asked:.3g} times the {asked:.4g} that supersteps needed")
    else:
        parts.append("no page is needed")
    if in_place:
        parts.append(f"of {in_place:.4g} pages the wanted lists alone")
    return "; ".join(parts)


def in_store_order(answer: Any) -> np.ndarray:
    """First column of an answer as the engine gave it: for comparing two runs on one store, where putting 2^24 rows
    into the order of user IDs would take longer than both runs."""
    return answer._columns[0].values


@contextmanager
def opened(path: Path, **options: Any) -> Iterator[Session]:
    """A session on the store at `path`."""
    with gstream.open(path) as graph:
        yield Session(graph, options)


def decoded_sum(path: Path, topology: str) -> tuple[int, int]:
    """(edges, `mixed_sum` of them as source -> target in user IDs) of one topology, by the reference decoder.

    String IDs count as their numbers in byte order, as in bench.graphs.
    """
    count = total = 0
    with pagestore.open_store(path) as store:
        strings = store.meta.id_kind == "strings"
        ids = np.arange(store.meta.vertices) if strings else store.user_ids()
        ids = ids[store.natural_ids().astype(np.int64)]
        for _, page in decode_topology(store.topology(topology)):
            ends = ids[page.source.astype(np.int64)], ids[page.target.astype(np.int64)]
            count += len(ends[0])
            total += mixed_sum(*(ends if topology == "out" else ends[::-1]))
    return count, total % (1 << 64)
