"""Plan the pages of sorted edges, and pack them in parallel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from pagestore.convert.coded import Measure
from pagestore.convert.crew import Ticker, run_crew
from pagestore.convert.options import ProgressHook
from pagestore.convert.sortededges import SortedEdges
from pagestore.convert.storage import WINDOW
from pagestore.io import Buffers
from pagestore.layout import HEAD_NEIGHBOURS, PageLayout
from pagestore.pack import Lists, pack_heads, pack_large, pack_small
from pagestore.planning import PagePlan, PagePlanner, PageRange
from pagestore.writer import StoreWriter

LARGE_BUFFER_BYTES = 16 << 20  # pages of one hub packed at a time


def plan_topologies(
    topologies: Mapping[str, SortedEdges], layout: PageLayout, columns: int, threads: int
) -> dict[str, PagePlan]:
    """The page plan of each topology. Planning goes from vertex to vertex, so a thread does one topology."""
    plans: dict[str, PagePlan] = {}

    def plan(thread: int, name: str) -> None:
        plans[name] = plan_topology(topologies[name], layout, columns)

    run_crew(min(threads, len(topologies)), iter(topologies), plan)
    return {name: plans[name] for name in topologies}


def plan_topology(edges: SortedEdges, layout: PageLayout, columns: int) -> PagePlan:
    """The page plan of a topology, from its degrees alone; `columns` as in ConvertOptions."""
    planner = PagePlanner(layout, columns)
    for _, degrees in edges.degrees.windows():
        planner.add(degrees)
    return planner.finish()


class TopologyPacker:
    """Packs one topology into `writer`. `pack` may be called for different ranges from different threads."""

    def __init__(self, name: str, edges: SortedEdges, plan: PagePlan, writer: StoreWriter | Measure, range_edges: int):
        self.name, self.edges, self.plan, self.writer, self.range_edges = name, edges, plan, writer, range_edges
        self.head_rows = writer.head_rows(name)

    def ranges(self) -> Iterator[tuple[PageRange, int]]:
        """Work items: vertex ranges that share no page, with the number of their first edge."""
        edge = 0
        for part in self.plan.split(max(self.range_edges, self.plan.layout.longest_list)):
            yield part, edge
            edge += part.edges

    def pack(self, part: PageRange, edge: int, buffers: Buffers) -> None:
        """Pack and write all pages and heads of a range whose first edge has number `edge`."""
        vertex, size = self._sizes(part)
        short = size <= self.plan.layout.longest_list
        begins = edge + np.cumsum(size, dtype=np.int64) - size
        hubs = [(int(vertex[at]), int(begins[at]), int(size[at])) for at in np.flatnonzero(~short)]
        targets, weights = self._read(edge, edge + part.edges, hubs)
        lists = Lists(vertex[short], size[short], targets, weights) if hubs else Lists(vertex, size, targets, weights)
        pages = self._pages("small", *part.small, buffers)
        weight_pages = None if weights is None else self._pages("small", *part.small, buffers, weights.dtype)
        pack_small(self.plan, *part.small, lists, pages, weight_pages)
        self.writer.write_pages(self.name, part.small[0], pages, weight_pages)
        for hub in hubs:
            self._pack_hub(*hub, buffers)
        last = min(part.last, self.head_rows)
        for first in range(part.first, last, WINDOW):
            heads = np.empty((min(WINDOW, last - first), HEAD_NEIGHBOURS), self.plan.layout.id_dtype)
            pack_heads(lists, first, heads)
            for owner, begin, _ in hubs:
                if first <= owner < first + len(heads):
                    heads[owner - first] = self.edges.read_targets(begin, begin + HEAD_NEIGHBOURS)
            self.writer.write_array(f"topology/{self.name}/heads", first, heads)

    def _sizes(self, part: PageRange) -> tuple[np.ndarray, np.ndarray]:
        """Vertices of a range that have edges, i8[n], and their degrees."""
        vertices, sizes = [], []
        for first in range(part.first, part.last, WINDOW):
            degrees = self.edges.degrees.read(first, min(first + WINDOW, part.last))
            used = np.flatnonzero(degrees)
            vertices.append(first + used)
            sizes.append(degrees[used] if len(used) < len(degrees) else degrees)
        return (vertices[0], sizes[0]) if len(sizes) == 1 else (np.concatenate(vertices), np.concatenate(sizes))

    def _read(self, edge: int, end: int, hubs: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray | None]:
        """Targets and weights of edges edge..end-1, without those of the hubs, which are left where they are."""
        targets, weights = [], []
        for begin, after in [*((begin, begin + size) for _, begin, size in hubs), (end, end)]:
            targets.append(self.edges.read_targets(edge, begin))
            weights.append(self.edges.read_weights(edge, begin))
            edge = after
        if not hubs:
            return targets[0], weights[0]
        return np.concatenate(targets), None if weights[0] is None else np.concatenate(weights)  # type: ignore[arg-type]

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
            pack_large(plan, vertex, position, targets, pages, page, weights, weight_pages)
            self.writer.write_pages(self.name, page, pages, weight_pages)


def pack_topologies(
    topologies: dict[str, SortedEdges], plans: dict[str, PagePlan], writer: StoreWriter | Measure, range_edges: int,
    threads: int, hook: ProgressHook | None, phase: str = "pack",
) -> None:  # fmt: skip
    """Pack every topology of the store."""
    buffers: dict[int, Buffers] = {}
    ticker = Ticker(hook, phase, sum(edges.edges for edges in topologies.values()), "edges")
    packers = [TopologyPacker(name, edges, plans[name], writer, range_edges) for name, edges in topologies.items()]

    def work(thread: int, item: tuple[TopologyPacker, PageRange, int]) -> None:
        packer, part, edge = item
        packer.pack(part, edge, buffers.setdefault(thread, Buffers()))
        ticker.add(part.edges)

    # One crew for all: none waits for another between the topologies
    run_crew(threads, ((packer, *item) for packer in packers for item in packer.ranges()), work)
    ticker.finish()
