"""From sorted edges to the store file: plan the pages, pack them in parallel, write everything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pagestore.convert.crew import Ticker, run_crew
from pagestore.convert.options import ProgressHook
from pagestore.convert.sortededges import SortedEdges
from pagestore.convert.storage import WINDOW, Vector
from pagestore.io import Buffers
from pagestore.layout import HEAD_NEIGHBOURS, PageLayout
from pagestore.pack import ALL_BITS, pack_heads, pack_large, pack_small
from pagestore.planning import PagePlan, PagePlanner, PageRange
from pagestore.writer import StoreWriter

LARGE_BUFFER_BYTES = 16 << 20  # pages of one hub packed at a time


def plan_topology(edges: SortedEdges, layout: PageLayout, columns: int) -> PagePlan:
    """The page plan of a topology, from its degrees alone; `columns` as in ConvertOptions."""
    planner = PagePlanner(layout, columns)
    for _, degrees in edges.degrees.windows():
        planner.add(degrees)
    return planner.finish()


@dataclass
class _Lists:
    """The short lists (and hubs) of a window of vertices."""

    first: int
    last: int
    short: np.ndarray  # degrees of vertices that go to small pages, 0 for the others; u8[last - first]
    hubs: list[tuple[int, int, int]]  # vertex, number of its first edge, degree
    keys: np.ndarray  # targets of the short lists
    weights: np.ndarray | None


class TopologyPacker:
    """Packs one topology into `writer`. `pack` may be called for different ranges from different threads."""

    def __init__(self, name: str, edges: SortedEdges, plan: PagePlan, writer: StoreWriter, range_edges: int):
        self.name, self.edges, self.plan, self.writer, self.range_edges = name, edges, plan, writer, range_edges
        self.head_rows = writer.datasets[f"topology/{name}/heads"][1][0] if writer.meta.heads else 0

    def ranges(self) -> Iterator[tuple[TopologyPacker, PageRange, int]]:
        """Work items: vertex ranges that share no page, with the number of their first edge."""
        edge = 0
        for part in self.plan.split(max(self.range_edges, self.plan.layout.longest_list)):
            yield self, part, edge
            edge += part.edges

    def pack(self, part: PageRange, edge: int, buffers: Buffers) -> None:
        """Pack and write all pages and heads of a range whose first edge has number `edge`."""
        plan = self.plan
        dtype = None if self.edges.weights is None else self.edges.weights.dtype
        pages = self._pages("small", *part.small, buffers)
        weight_pages = None if dtype is None else self._pages("small", *part.small, buffers, dtype)
        open_vertices = np.empty(0, np.int64)  # short lists so far, to know how full the open page is
        open_degrees = np.empty(0, np.uint64)
        for first in range(part.first, part.last, WINDOW):
            last = min(first + WINDOW, part.last)
            lists = self._read(first, last, edge)
            begin, end = plan.small_range(first, last)
            page_first = int(plan.directory["first_vertex"][begin]) if begin < end else first
            inside = open_vertices >= page_first
            open_vertices, open_degrees = open_vertices[inside], open_degrees[inside]
            rows = slice(begin - part.small[0], end - part.small[0])
            if begin < end:
                pack_small(
                    plan, first, last, lists.short, lists.keys, ALL_BITS, pages[rows], lists.weights,
                    None if weight_pages is None else weight_pages[rows], open_degrees,
                )  # fmt: skip
            used = np.flatnonzero(lists.short)
            open_vertices = np.concatenate([open_vertices, used + first])
            open_degrees = np.concatenate([open_degrees, lists.short[used]])
            heads = self._heads(lists)
            for hub in lists.hubs:
                self._pack_hub(*hub, buffers)
            if heads is not None:
                self.writer.write_array(f"topology/{self.name}/heads", first, heads)
            edge += int(lists.short.sum()) + sum(hub[2] for hub in lists.hubs)
        self.writer.write_pages(self.name, part.small[0], pages, weight_pages)

    def _read(self, first: int, last: int, edge: int) -> _Lists:
        """The lists of vertices [first, last); hubs are left where they are."""
        degrees = self.edges.degrees.read(first, last).astype(np.uint64)
        hub_at = np.flatnonzero(degrees > self.plan.layout.longest_list)
        if not len(hub_at):
            end = edge + int(degrees.sum())
            return _Lists(
                first, last, degrees, [], self.edges.read_targets(edge, end), self.edges.read_weights(edge, end)
            )
        ends = edge + np.cumsum(degrees).astype(np.int64)
        hubs, targets, weights = [], [], []
        for at in hub_at.tolist():
            degree = int(degrees[at])
            begin = int(ends[at]) - degree
            hubs.append((first + at, begin, degree))
            targets.append(self.edges.read_targets(edge, begin))
            weights.append(self.edges.read_weights(edge, begin))
            edge = begin + degree
        targets.append(self.edges.read_targets(edge, int(ends[-1])))
        weights.append(self.edges.read_weights(edge, int(ends[-1])))
        degrees[hub_at] = 0
        joined = None if self.edges.weights is None else np.concatenate([w for w in weights if w is not None])
        return _Lists(first, last, degrees, hubs, np.concatenate(targets), joined)

    def _heads(self, lists: _Lists) -> np.ndarray | None:
        rows = min(lists.last, self.head_rows) - lists.first
        if rows <= 0:
            return None
        heads = np.empty((lists.last - lists.first, HEAD_NEIGHBOURS), self.plan.layout.id_dtype)
        pack_heads(lists.short, lists.keys, ALL_BITS, heads)
        for vertex, edge, _ in lists.hubs:
            heads[vertex - lists.first] = self.edges.read_targets(edge, edge + HEAD_NEIGHBOURS)
        return heads[:rows]

    def _pages(self, kind: str, begin: int, end: int, buffers: Buffers, dtype: np.dtype | None = None) -> np.ndarray:
        """Zeroed buffer for the pages begin..end-1, or for their weights of `dtype`."""
        layout = self.plan.layout
        width = layout.page_bytes if dtype is None else layout.weight_page_bytes(dtype.itemsize)
        pages = buffers.get(f"{kind} pages" if dtype is None else f"{kind} weights", (end - begin) * width, np.uint8)
        pages.fill(0)
        return pages.reshape(end - begin, width)

    def _pack_hub(self, vertex: int, edge: int, degree: int, buffers: Buffers) -> None:
        """Pack a hub's large pages, a few at a time."""
        plan, longest = self.plan, self.plan.layout.longest_list
        first_page, _ = plan.large_range(vertex, vertex + 1)
        step = longest * max(1, min(LARGE_BUFFER_BYTES // plan.layout.page_bytes, self.range_edges // longest))
        for position in range(0, degree, step):
            end = min(position + step, degree)
            page = first_page + position // longest
            targets = self.edges.read_targets(edge + position, edge + end)
            weights = self.edges.read_weights(edge + position, edge + end)
            count = -(-(end - position) // longest)
            pages = self._pages("large", page, page + count, buffers)
            weight_pages = None if weights is None else self._pages("large", page, page + count, buffers, weights.dtype)
            pack_large(plan, vertex, position, targets, ALL_BITS, pages, page, weights, weight_pages)
            self.writer.write_pages(self.name, page, pages, weight_pages)


def pack_topologies(
    topologies: dict[str, SortedEdges], plans: dict[str, PagePlan], writer: StoreWriter, range_edges: int,
    threads: int, hook: ProgressHook | None,
) -> None:  # fmt: skip
    """Pack every topology of the store."""
    buffers: dict[int, Buffers] = {}
    ticker = Ticker(hook, "pack", sum(edges.edges for edges in topologies.values()), "edges")

    def work(thread: int, item: tuple[TopologyPacker, PageRange, int]) -> None:
        packer, part, edge = item
        packer.pack(part, edge, buffers.setdefault(thread, Buffers()))
        ticker.add(part.edges)

    for name, edges in topologies.items():
        packer = TopologyPacker(name, edges, plans[name], writer, range_edges)
        run_crew(threads, packer.ranges(), work)
    ticker.finish()


def write_vector(writer: StoreWriter, name: str, values: Vector) -> None:
    """Copy a vector into an array of the store."""
    for first, window in values.windows():
        writer.write_array(name, first, window)
