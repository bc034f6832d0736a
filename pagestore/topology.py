"""One topology of an open store: its page directory, heads and weights, and the readers that fetch its pages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pagestore.arrays import CheckedArray
from pagestore.errors import StoreError, UsageError
from pagestore.hdf5 import Extent
from pagestore.layout import DIRECTORY, GROUP_SIZES, LARGE, ROW, SLOT_WORDS, SMALL, PageLayout
from pagestore.meta import REBUILD, Meta
from pagestore.reader import PageReader


@dataclass(frozen=True, eq=False)
class Topology:
    """`out` (lists of targets) or `in` (lists of sources).

    directory: DIRECTORY[pages], CRC and structure checked. small_pages: pages 0..small_pages-1 are small, the others
    large. pages_offset, weights_offset: file bytes at which page 0 starts (0 when there are no pages or weights).
    weight_dtype, weight_page_bytes: None and 0 without weights.
    """

    path: str
    name: str
    layout: PageLayout
    directory: np.ndarray
    small_pages: int
    vertices: int
    pages_offset: int
    weight_dtype: np.dtype | None
    weight_page_bytes: int
    weights_offset: int
    _fd: int
    _heads: CheckedArray | None

    @property
    def pages(self) -> int:
        return len(self.directory)

    @property
    def edges(self) -> int:
        return int(self.directory["edges"].sum())

    @property
    def head_rows(self) -> int:
        """Vertices 0..head_rows-1 have a row in `heads`; the others have no edges. 0 when the store has no heads."""
        return 0 if self._heads is None else self._heads.rows

    def heads(self, first: int = 0, last: int | None = None) -> np.ndarray:
        """First 4 neighbours of vertices [first, last), id[n, 4], missing ones `layout.none`; CRC checked.

        Raises UsageError when the store was converted without heads.
        """
        if self._heads is None:
            raise UsageError(f"{self.path}: has no heads; convert again without --no-heads.")
        return self._heads.read(first, last)

    def reader(self, direct: bool = False) -> PageReader:
        """A reader of this topology's pages; `direct` reads past the page cache (O_DIRECT) where the disk can."""
        return PageReader(self, self._fd, direct)

    def name_page(self, number: int) -> str:
        """How messages name a page: topology, number, vertices."""
        row = self.directory[number]
        vertices = f"vertices {row['first_vertex']} to {row['last_vertex']}"
        if row["kind"] == LARGE:
            vertices = f"vertex {row['first_vertex']} from neighbour {row['position']} on"
        return f"{self.path}: page {number} of topology {self.name} ({vertices}, store IDs)"


def open_topology(
    path: str, name: str, meta: Meta, extents: dict[str, Extent], arrays: dict[str, CheckedArray], fd: int
) -> Topology:
    """Read and check the directory of topology `name`. Raises StoreError."""
    base = f"topology/{name}"
    layout = PageLayout(meta.page_bytes, meta.id_bytes)
    directory = arrays[f"{base}/directory"].read()
    check_directory(directory, layout, meta, f"{path}: directory of topology {name}")
    directory.flags.writeable = False
    weights = extents.get(f"{base}/weights")
    return Topology(
        path=path,
        name=name,
        layout=layout,
        directory=directory,
        small_pages=int(np.count_nonzero(directory["kind"] == SMALL)),
        vertices=meta.vertices,
        pages_offset=extents[f"{base}/pages"].offset,
        weight_dtype=None if weights is None else np.dtype(f"<{meta.weight_dtype}"),
        weight_page_bytes=0 if weights is None else weights.shape[1],
        weights_offset=0 if weights is None else weights.offset,
        _fd=fd,
        _heads=arrays.get(f"{base}/heads"),
    )


def check_directory(rows: np.ndarray, layout: PageLayout, meta: Meta, where: str) -> None:
    """Refuse a directory that no planner makes: CRCs protect from accidents, this from crafted files."""
    if rows.dtype != DIRECTORY:
        raise StoreError(f"{where}: its rows have other fields. {REBUILD}")
    small = rows[: int(np.argmax(rows["kind"] != SMALL)) if np.any(rows["kind"] != SMALL) else len(rows)]
    large = rows[len(small) :]
    first, last = rows["first_vertex"].astype(np.int64), rows["last_vertex"].astype(np.int64)
    records, edges = rows["records"].astype(np.int64), rows["edges"].astype(np.int64)
    room = layout.words - layout.header_words - records * (1 + SLOT_WORDS) - edges
    position = rows["position"].astype(np.int64)
    longest = layout.longest_list
    n, m = len(small), len(rows)
    again = first[n + 1 :] == first[n : m - 1]  # large page k+1 continues the hub of large page k
    full = edges[n : m - 1] == longest
    ends = np.append(~again, True) if m > n else np.empty(0, bool)
    rules = {
        "a kind, layout, group or flag is unknown": np.all(large["kind"] == LARGE) and np.all(rows["layout"] == ROW)
        and np.all(np.isin(rows["group"], GROUP_SIZES)) and np.all(rows["flags"] == 0),
        "a vertex is out of range": np.all((first >= 0) & (first <= last) & (last < meta.vertices)),
        "a page is overfull or empty": np.all((records >= 1) & (edges >= records) & (edges <= layout.words)
                                              & (room >= 0) & (records <= last - first + 1)),
        "small pages overlap": np.all(first[1:n] > last[: n - 1]) and not np.any(position[:n]),
        "large pages are out of order": np.all(records[n:] == 1) and np.all(first[n:] == last[n:])
        and np.all(first[n + 1 :] >= first[n : m - 1]) and np.all(full[again])
        and np.all(position[n + 1 :] == np.where(again, position[n : m - 1] + longest, 0))
        and not np.any(position[n : n + 1]) and np.all(position[n:][ends] > 0),
    }  # fmt: skip
    for rule, holds in rules.items():
        if not holds:
            raise StoreError(f"{where}: {rule}. {REBUILD}")
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(edges)])
    if before[-1] != meta.edges or np.any(before[:-1] != rows["edges_before"].astype(np.int64)):
        raise StoreError(f"{where}: its edges don't add up to {meta.edges}. {REBUILD}")
