"""One topology of an open store: its page directory, heads and weights, and the readers that fetch its pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pagestore.arrays import CheckedArray
from pagestore.errors import StoreError, UsageError
from pagestore.hdf5 import Extent
from pagestore.layout import GROUP_SIZES, LARGE, ROW, SLOT_WORDS, SMALL, PageLayout
from pagestore.meta import REBUILD, Meta, scrub_first
from pagestore.reader import PageReader
from pagestore.storefile import StoreFile

CHECKED = ("layout", "group", "records", "first_vertex", "last_vertex", "edges", "edges_before", "position")
KNOWN_GROUP = np.isin(np.arange(256), GROUP_SIZES)  # bool[256]: by the directory's u1


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
    _file: StoreFile
    _heads: CheckedArray | None
    _in_order: bool  # store IDs follow the order of the user's
    _user_ids: Callable[[list[int], bool], list[str]]

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

    def heads(self, first: int = 0, last: int | None = None, check: bool = True) -> np.ndarray:
        """First 4 neighbours of vertices [first, last), id[n, 4], missing ones `layout.none`; CRC checked.

        check: that they are vertices, too. Raises UsageError when the store was written without heads, StoreError.
        """
        if self._heads is None:
            raise UsageError(f"{self.path}: has no heads. Convert the graph again.")
        found = self._heads.read(first, last)
        if check:
            from pagestore.check import beyond_heads  # Numba: as in pagestore.reader

            if beyond_heads(found.reshape(-1), self.last_id, self.layout.id_dtype.type(self.layout.none)):
                raise StoreError(
                    f"{self.path}: heads of topology {self.name} name vertices that are not there, though their "
                    f"checksum is right: no accident made them so. {self.remedy}"
                )
        return found

    @property
    def last_id(self) -> np.unsignedinteger:
        """The last vertex, as the pages' words are."""
        return self.layout.id_dtype.type(max(self.vertices, 1) - 1)

    def reader(self, direct: bool = False) -> PageReader:
        """A reader of this topology's pages; `direct` reads past the page cache (O_DIRECT) where the disk can."""
        opened = self._file.opened()
        return PageReader(self, opened.fileno(), direct)

    def name_page(self, number: int, search: bool = False) -> str:
        """How messages name a page: topology, number, vertices by store IDs, and by the user's where they differ.

        search: look for the user's IDs in a reordered store, too, which takes as long as it takes to read an array.
        """
        return self.name_pages([number], search)[0]

    def name_pages(self, numbers: list[int], search: bool = False) -> list[str]:
        """The same of several pages: a search reads the array once."""
        rows = self.directory[numbers]
        first = self._user_ids(rows["first_vertex"].tolist() + rows["last_vertex"].tolist(), search)
        last = first[len(numbers) :]
        return [self._name_page(number, *ends) for number, *ends in zip(numbers, first, last, strict=False)]

    def _name_page(self, number: int, first: str, last: str) -> str:
        row = self.directory[number]
        ends = int(row["first_vertex"]), int(row["last_vertex"])
        vertices = f"vertices {ends[0]} to {ends[1]}"
        yours = f", your vertices {first} to {last}," if self._in_order else f", your vertices {first}, ..., {last},"
        if row["kind"] == LARGE:
            vertices, yours = f"vertex {ends[0]} from neighbour {row['position']} on", f", your vertex {first},"
        same = not (first and last) or (first, last) == (str(ends[0]), str(ends[1]))
        return f"{self.path}: page {number} of topology {self.name} ({vertices}, store IDs){'' if same else yours}"

    @property
    def remedy(self) -> str:
        """What can be done about a damaged page, for messages."""
        return scrub_first(self.path) + REBUILD


def open_topology(
    path: str, name: str, meta: Meta, extents: dict[str, Extent], arrays: dict[str, CheckedArray], file: StoreFile,
    user_ids: Callable[[list[int], bool], list[str]],
) -> Topology:  # fmt: skip
    """Read and check the directory of topology `name`. user_ids: UserIds.names. Raises StoreError."""
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
        _file=file,
        _heads=arrays.get(f"{base}/heads"),
        _in_order=meta.order == "natural",
        _user_ids=user_ids,
    )


def check_directory(rows: np.ndarray, layout: PageLayout, meta: Meta, where: str) -> None:
    """Refuse a directory that no planner makes: CRCs protect from accidents, this from crafted files."""
    column = {name: rows[name].astype(np.int64) for name in CHECKED}
    small = rows["kind"] == SMALL
    count = int(np.count_nonzero(small))
    first, last = column["first_vertex"], column["last_vertex"]
    rules = {
        "a kind is unknown or out of order": small[:count].all() and (rows["kind"][count:] == LARGE).all(),
        "a layout, group or flag is unknown": KNOWN_GROUP[rows["group"]].all()
        and _layouts_known(column, count, meta.columns) and not rows["flags"].any(),
        "a vertex is out of range": ((first >= 0) & (first <= last) & (last < meta.vertices)).all(),
        "a page is overfull or empty": _sizes_fit(column, layout),
        "small pages overlap": (first[1:count] > last[: max(count, 1) - 1]).all()
        and not column["position"][:count].any(),
        "large pages are out of order": count == len(rows)
        or _large_join({name: values[count:] for name, values in column.items()}, layout.longest_list),
    }  # fmt: skip
    for rule, holds in rules.items():
        if not holds:
            raise StoreError(f"{where}: {rule}. {REBUILD}")
    before = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(column["edges"], out=before[1:])
    if before[-1] != meta.edges or (before[:-1] != column["edges_before"]).any():
        raise StoreError(f"{where}: its edges don't add up to {meta.edges}. {REBUILD}")


def _layouts_known(column: dict[str, np.ndarray], small: int, columns: int) -> bool:
    """Pages are of rows, or small ones of columns of the store's width, with a lane a record."""
    layout = column["layout"]
    if columns == 1:
        return bool((layout == ROW).all())
    in_columns = (layout == columns) & (column["group"] == 1) & (np.arange(len(layout)) < small)
    return bool(((layout == ROW) | in_columns).all())


def _sizes_fit(column: dict[str, np.ndarray], layout: PageLayout) -> bool:
    """Records and slots fit the page, and no record is empty (edges first: later sums then can't overflow)."""
    records, edges = column["records"], column["edges"]
    inside = (edges >= 0) & (edges <= layout.words)
    used = layout.header_words + records * (1 + SLOT_WORDS) + np.where(inside, edges, 0)
    vertices = column["last_vertex"] - column["first_vertex"] + 1
    return bool((inside & (records >= 1) & (edges >= records) & (used <= layout.words) & (records <= vertices)).all())


def _large_join(column: dict[str, np.ndarray], longest: int) -> bool:
    """Each hub has at least two pages, all full but the last, with positions that follow each other."""
    hub, position = column["first_vertex"], column["position"]
    if len(hub) == 0:
        return True
    again = hub[1:] == hub[:-1]  # page k + 1 continues the hub of page k
    last = np.append(~again, True)
    return bool(
        np.all(column["records"] == 1)
        and np.all(hub == column["last_vertex"])
        and np.all(hub[1:] >= hub[:-1])
        and np.all(column["edges"][:-1][again] == longest)
        and position[0] == 0
        and np.all(position[1:] == np.where(again, position[:-1] + longest, 0))
        and np.all(position[last] > 0)
    )
