"""One topology of an open store: its page directory, heads and weights, and the readers that fetch its pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pagestore.arrays import StoredArray
from pagestore.coding.form import ROUND_WORDS
from pagestore.coding.places import Places
from pagestore.errors import StoreError, UsageError
from pagestore.layout import GROUP_SIZES, LARGE, ROW, SLOT_WORDS, SMALL, PageLayout
from pagestore.meta import REBUILD, Meta
from pagestore.pageset import PageSet
from pagestore.reader import PageReader
from pagestore.spread import Spread
from pagestore.stripes import Stripe

CHECKED = ("layout", "group", "records", "first_vertex", "last_vertex", "edges", "edges_before", "position")
CODED_ALIGN = 4 * ROUND_WORDS
KNOWN_GROUP = np.isin(np.arange(256), GROUP_SIZES)  # bool[256]: by the directory's u1


@dataclass(frozen=True, eq=False)
class Topology(PageSet):
    """`out` (lists of targets) or `in` (lists of sources): its pages and heads.

    small_pages: pages 0..small_pages-1 are small, the others large.
    """

    small_pages: int
    _heads: StoredArray | None

    @property
    def edges(self) -> int:
        return int(self.directory["edges"].sum())

    @property
    def head_rows(self) -> int:
        """Vertices 0..head_rows-1 have a row in `heads`; the others have no edges. 0 when the store has no heads."""
        return 0 if self._heads is None else self._heads.rows

    def heads(self, first: int = 0, last: int | None = None, check: bool = True) -> np.ndarray:
        """First 4 neighbours of vertices [first, last), id[n, 4], missing ones `layout.none`; CRC checked.

        check: whether they are vertices. Raises UsageError when the store was written without heads, StoreError.
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

    def reader(self, direct: bool = False) -> PageReader:
        """A reader of this topology's pages; `direct` reads past the page cache (O_DIRECT) where the disk can."""
        opened = [file.opened() for file in self.files]
        return PageReader(self, [file.fileno() for file in opened], direct)


def open_topology(
    path: str, name: str, meta: Meta, arrays: dict[str, StoredArray], files: Sequence[Stripe],
    user_ids: Callable[[list[int], bool], list[str]], spread: Spread,
) -> Topology:  # fmt: skip
    """Read and check the directory of topology `name`. files: those that hold its pages, as `spread` says; user_ids:
    UserIds.names.

    Raises StoreError.
    """
    base = f"topology/{name}"
    layout = PageLayout(meta.page_bytes, meta.id_bytes)
    directory = arrays[f"{base}/directory"].read()
    check_directory(directory, layout, meta, f"{path}: directory of topology {name}")
    directory.flags.writeable = False
    offsets, weights_offsets = (
        tuple(file.extents[f"{base}/{what}"].offset if f"{base}/{what}" in file.extents else 0 for file in files)
        for what in ("pages", "weights")
    )
    dtype = None if meta.weight_dtype is None else np.dtype(f"<{meta.weight_dtype}")
    return Topology(
        path=path, name=name, layout=layout, directory=directory,
        small_pages=int(np.count_nonzero(directory["kind"] == SMALL)), vertices=meta.vertices,
        files=tuple(file.file for file in files), spread=spread, pages_offsets=offsets,
        weight_dtype=dtype, weight_page_bytes=0 if dtype is None else layout.weight_page_bytes(dtype.itemsize),
        weights_offsets=weights_offsets, places=_places(arrays, meta, name, layout, dtype, path),
        _heads=arrays.get(f"{base}/heads"),
        _in_order=meta.order == "natural", _user_ids=user_ids,
    )  # fmt: skip


def _places(
    arrays: dict[str, StoredArray], meta: Meta, name: str, layout: PageLayout, weight_dtype: np.dtype | None, path: str
) -> Places | None:
    """Where coded pages lie, and their weights; None where pages are not coded. Raises StoreError."""
    if not meta.compressed:
        return None
    weight_bytes = 0 if weight_dtype is None else layout.weight_page_bytes(weight_dtype.itemsize)
    kinds = ("stored", meta.stored_bytes, layout.page_bytes), ("stored_weights", meta.stored_weights, weight_bytes)
    found = []
    for array, totals, longest in kinds:
        if name not in totals:
            continue
        sizes = arrays[f"topology/{name}/{array}"].read().astype(np.int64)
        if sizes.sum() != totals[name] or np.any((sizes == 0) | (sizes > longest) | (sizes % CODED_ALIGN != 0)):
            raise StoreError(f"{path}: topology/{name}/{array} holds sizes that no coded page has. {REBUILD}")
        found.append(np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]))
    return Places(found[0], found[1] if len(found) > 1 else None)


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
