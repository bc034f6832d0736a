"""The page directory as the driver reads it: contiguous columns, which pages hold which vertices, stretches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gstream.hostcode.parts import EDGES_A_PART
from gstream.options.run_options import coded_batch, times_longer
from gstream.paging.gpu_parts import count_parts
from gstream.paging.ownership import stretch_pages
from pagestore.coding.places import Places
from pagestore.concurrency import cached_property
from pagestore.layout import PageLayout

NO_PAGES = np.empty(0, np.int64)

LEAST_GROUPS = 2  # ring groups in host memory: one is read while one is used
PART_BYTES = 24  # of gstream.hostcode.parts


MOST_LONGER = 8  # times as many pages as of others that a stretch of coded ones has: memory has room for all of them


@dataclass(frozen=True)
class PageTable:
    """One topology's pages: small ones first, then large ones, each kind in ascending vertex order.

    first_vertex, last_vertex, edges: uint64[pages]. records: uint32[pages], lists in a page; group: uint8[pages], lanes
    of a GPU that best share one (pagestore/simd.py); page_layout: uint8[pages], 0 for rows, else the width of a column
    page's groups. stretch: pages in one unit of ownership. weight_page_bytes is 0 for unweighted topologies. vertices:
    of the graph. places: where coded pages lie in the store; None: pages are stored as they are. reach: the most
    vertices that lie between the first and last vertex of any page. share: pages that one process takes at most, where
    ranks share a run; None: all. opened: what makes a reader of them, where they are not read as they are stored.
    """

    name: str
    layout: PageLayout
    small_pages: int
    first_vertex: np.ndarray
    last_vertex: np.ndarray
    edges: np.ndarray
    records: np.ndarray
    group: np.ndarray
    page_layout: np.ndarray
    crc: np.ndarray
    weight_dtype: np.dtype | None
    weight_page_bytes: int
    stretch: int
    vertices: int = 0
    places: Places | None = None
    share: int | None = None
    opened: Callable[..., Any] | None = None

    @property
    def taken(self) -> int:
        """Pages that this process takes, at most."""
        return self.pages if self.share is None else self.share

    @cached_property
    def pages(self) -> int:
        return len(self.first_vertex)

    @cached_property
    def page_bytes(self) -> int:
        return self.layout.page_bytes

    @cached_property
    def id_dtype(self) -> np.dtype:
        return self.layout.id_dtype

    @property
    def reach(self) -> int:
        if self.pages == 0:
            return 0
        return int((self.last_vertex - self.first_vertex).max()) + 1

    @cached_property
    def spans_hub(self) -> np.ndarray:
        """bool[small_pages]: whether a vertex between the first and last of a page has its list in large pages."""
        hubs = np.unique(self.first_vertex[self.small_pages :])
        first, last = self.first_vertex[: self.small_pages], self.last_vertex[: self.small_pages]
        return np.searchsorted(hubs, first, "left") < np.searchsorted(hubs, last, "right")

    @cached_property
    def edges_before(self) -> tuple[np.ndarray, np.ndarray]:
        """(uint64[pages]: first vertices, ascending; uint64[pages + 1]: edges of all pages before each, and of all)."""
        order = np.argsort(self.first_vertex, kind="stable")
        return self.first_vertex[order], np.append(np.uint64(0), np.cumsum(self.edges[order]))

    @cached_property
    def gpu_parts(self) -> tuple[int, int]:
        """Parts of a GPU's work lists, and how many of them carry sums: at most."""
        large = np.arange(self.pages) >= self.small_pages
        return count_parts(large, self.records, self.edges, self.page_layout)

    @property
    def host_parts_bytes(self) -> int:
        """Bytes of the work lists that a host device keeps of pages which stay in memory: at most."""
        words = self.page_bytes // self.layout.id_dtype.itemsize
        return self.taken * (words // EDGES_A_PART + 1) * PART_BYTES

    def least_bytes(self, weights: bool, devices: int, hosts: int) -> int:
        """The fewest bytes of host memory that do for the pages: rings of LEAST_GROUPS pages a device, or all pages.

        hosts: how many of the devices are the host's cores.
        """
        return min(devices * LEAST_GROUPS * self.bytes_of(1, weights), self.whole_bytes(weights, hosts))

    def whole_bytes(self, weights: bool, hosts: int) -> int:
        """Bytes of host memory that all pages of this process take, with the work lists that host devices keep."""
        return self.bytes_of(self.taken, weights) + hosts * self.host_parts_bytes

    def words_of(self, pages: np.ndarray) -> np.ndarray:
        """id[n, W]: pages uint8[n, page_bytes] seen as words."""
        return pages.view(self.id_dtype)

    def weights_of(self, pages: np.ndarray) -> np.ndarray:
        """weight[n, W]: weights pages uint8[n, weight_page_bytes] seen as weights."""
        assert self.weight_dtype is not None, f"topology {self.name} has no weights"
        return pages.view(self.weight_dtype)

    def all_pages(self) -> np.ndarray:
        """int64[pages]: every page number, ascending."""
        return np.arange(self.pages, dtype=np.int64)

    def pages_of_range(self, first: int, last: int) -> np.ndarray:
        """int64[n]: the pages that may hold a vertex of [first, last), ascending."""
        found = []
        for low, high in ((0, self.small_pages), (self.small_pages, self.pages)):
            start = low + int(np.searchsorted(self.last_vertex[low:high], np.uint64(first), side="left"))
            end = low + int(np.searchsorted(self.first_vertex[low:high], np.uint64(last), side="left"))
            found.append(np.arange(start, max(start, end), dtype=np.int64))
        return np.concatenate(found)

    def coded_sizes(self, weights: bool) -> np.ndarray:
        """int64[pages]: stored bytes of each coded page, or of its weights."""
        assert self.places is not None, "pages are not coded"
        return self._weight_sizes if weights else self._page_sizes

    @cached_property
    def _page_sizes(self) -> np.ndarray:
        assert self.places is not None
        return np.diff(self.places.pages)

    @cached_property
    def _weight_sizes(self) -> np.ndarray:
        assert self.places is not None and self.places.weights is not None
        return np.diff(self.places.weights)

    def longest_coded(self, weights: bool) -> int:
        """Bytes of the longest coded page, with the longest weights of any."""
        kinds = (False, True)[: 1 + weights]
        return sum(int(self.coded_sizes(of).max(initial=0)) for of in kinds)

    def bytes_of(self, pages: int, weights: bool) -> int:
        """Bytes that `pages` pages take where kernels read them, with their weights pages if `weights`."""
        return pages * (self.page_bytes + (self.weight_page_bytes if weights else 0))

    def stored_bytes_of(self, numbers: np.ndarray, weights: bool) -> int:
        """The bytes that the pages `numbers` (int64[n]) take in the store."""
        if self.places is None:
            return self.bytes_of(len(numbers), weights)
        return sum(int(self.coded_sizes(of)[numbers].sum()) for of in (False, True)[: 1 + weights])

    def stored_bytes(self, pages: int, weights: bool) -> int:
        """Bytes that they take in the store: of coded pages so many times the mean."""
        if self.places is None or self.pages == 0:
            return self.bytes_of(pages, weights)
        whole = sum(int(self.coded_sizes(of).sum()) for of in (False, True)[: 1 + weights])
        return whole * pages // self.pages


def page_table(  # type: ignore[no-untyped-def]  # a pagestore Topology
    topology, devices: int, ranks: int = 1
) -> PageTable:
    """PageTable of a pagestore Topology for a run on `devices` devices in each of `ranks` processes."""
    directory, spread = topology.directory, topology.spread
    pages, largest = len(directory), topology.layout.stretch_pages * times_longer(devices)
    if topology.places is not None and pages:
        longest = int(np.diff(topology.places.pages).max())
        largest = max(largest, min(MOST_LONGER * largest, coded_batch(devices) // longest))
    stretch = stretch_pages(pages, devices * ranks, largest) if spread.only is None else spread.stretch

    def column(name: str, *dtype: Any) -> np.ndarray:
        """A copy, of one page too: kernels are compiled anew for arrays that may not be written."""
        return np.array(directory[name], *dtype)

    return PageTable(
        name=topology.name,
        layout=topology.layout,
        small_pages=topology.small_pages,
        first_vertex=column("first_vertex", np.uint64),
        last_vertex=column("last_vertex", np.uint64),
        edges=column("edges", np.uint64),
        records=column("records"),
        group=np.maximum(directory["group"], 1),
        page_layout=column("layout"),
        crc=column("crc"),
        weight_dtype=None if topology.weight_dtype is None else np.dtype(topology.weight_dtype),
        weight_page_bytes=topology.weight_page_bytes or 0,
        stretch=stretch,
        vertices=topology.vertices,
        places=topology.places,
        share=None if ranks == 1 else min(pages, -(-pages // (stretch * ranks)) * stretch),
    )
