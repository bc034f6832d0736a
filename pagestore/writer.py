"""Writing a store: its files at their final sizes first, then pages and arrays by pwrite in any order, then renames.

    absent --create--> NAME.partial (every dataset, unfilled) --write_*--> --finish: CRCs, /meta, fsync, rename--> NAME

A striped store has a file more for each stripe (pagestore/stripes.py). These are renamed first, and the main file last.

Invariants: NAME is absent, old or complete at any moment. The same calls give the same bytes, whatever their order or
thread.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pagestore.arrays import BLOCK_BYTES, checksum_name, datasets_of
from pagestore.coding.encode import Coder, Coders, coded_weights
from pagestore.coding.places import Places
from pagestore.cores import in_order
from pagestore.crc import block_crcs, crc32, page_crc, page_crcs
from pagestore.layout import HEADER, HEADER_BYTES, ROW, PageLayout
from pagestore.meta import FORMAT, Meta, encode_meta
from pagestore.partialfile import PartialFile
from pagestore.planning import PagePlan
from pagestore.stripes import FORMAT as STRIPE_FORMAT
from pagestore.stripes import HEADER as STRIPE_HEADER
from pagestore.stripes import header_of, own_stripes, spread_of, stripe_datasets, stripe_paths

MOST_ALIGNED = 1 << 20  # pages start at multiples of min(page, 1 MiB)
READ_BLOCKS = 16  # of arrays read back at a time, by all threads together
FIXED = ("uuid", "vertices", "edges", "directed", "weighted", "page_bytes", "id_bytes", "order")  # root's attributes
_CODED = ("stored_bytes", "stored_weights", "coded_arrays", "coded_floats")
_LAID_OUT = (*FIXED, "columns", "padding_words", "stripes", "stripe_pages", *_CODED)


class StoreWriter:
    """One store being written. `write_pages` and `write_array` may be called from many threads at once.

    meta: the graph's facts; counts that come late may be replaced at `finish`. plans: one PagePlan for each of
    `meta.topologies`. names_bytes: length of all names in UTF-8 when `meta.id_kind` is "strings". folders: of the files
    that meta.stripes names, one each. places: where coded pages lie, where `meta.compressed`. file_bytes: of the
    datasets in each file.
    Raises ResourceError when the disk is full, UsageError when another process is writing the store, or where a stripe
    would take the place of another store's.
    """

    def __init__(
        self, path: str, meta: Meta, plans: dict[str, PagePlan], names_bytes: int = 0,
        folders: Sequence[str | os.PathLike] = (), places: Mapping[str, Places] | None = None,
    ) -> None:  # fmt: skip
        self.path = os.fspath(path)
        self.meta, self.plans = meta, plans
        pages = {name: plan.pages for name, plan in plans.items()}
        heads = {name: head_rows(meta.order, meta.vertices, plan) for name, plan in plans.items()}
        self.datasets = datasets_of(meta, pages, heads, names_bytes)
        self.directories = {name: plan.directory.copy() for name, plan in plans.items()}
        if column_facts(plans) != {"columns": meta.columns, "padding_words": meta.padding_words}:
            raise ValueError("the description and the plans disagree about column pages")
        self.places = places or {}
        self._coders = Coders(PageLayout(meta.page_bytes, meta.id_bytes)) if self.places else None
        self._written = {name: np.zeros(plan.pages, bool) for name, plan in plans.items()}
        self.spread = spread_of(meta)
        striped = [stripe_datasets(meta, pages, number) for number in range(len(meta.stripes))]
        self.file_bytes = [bytes_of(datasets) for datasets in (self.datasets, *striped)]
        self._stripes: list[PartialFile] = []
        self.main = self.make_file(self.path, self.datasets, {"format": FORMAT, "version": meta.version})
        try:
            paths = stripe_paths(meta, folders)
            self._kept = own_stripes(self.path, paths)  # of the store that is replaced, which has equal ones
            for number, (name, datasets) in enumerate(zip(paths, striped, strict=True)):
                said = {"format": STRIPE_FORMAT, "stripe": number, "stripes": len(striped)}
                self._stripes.append(self.make_file(name, datasets, said))
            for name, rows in self.directories.items():
                self.write_array(f"topology/{name}/directory", 0, rows)
            for name, place in self.places.items():
                self.write_array(f"topology/{name}/stored", 0, np.diff(place.pages))
                if place.weights is not None:
                    self.write_array(f"topology/{name}/stored_weights", 0, np.diff(place.weights))
        except BaseException:
            self.abort()
            raise

    def make_file(self, path: str, datasets: dict[str, tuple], attributes: dict[str, Any]) -> PartialFile:
        """One file of the store."""
        meta = self.meta
        attributes |= {name: getattr(meta, name) for name in FIXED}
        return PartialFile(path, datasets, attributes, min(meta.page_bytes, MOST_ALIGNED))

    def write_pages(self, topology: str, first: int, pages: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Write pages first..first+n-1, uint8[n, page_bytes], with their weights uint8[n, weight_page_bytes]."""
        if len(pages) == 0:
            return
        rows = self.directories[topology][first : first + len(pages)]
        headers = pages[:, :HEADER_BYTES].copy().view(HEADER)[:, 0]
        if len(rows) != len(pages) or any(np.any(headers[key] != rows[key]) for key in HEADER.names or ()):
            raise ValueError(f"pages {first} to {first + len(pages)} are not those of the plan")
        if self.meta.weighted and weights is None:
            raise ValueError("a weighted store needs the weights of each page")
        if self._coders is not None:
            self._put_coded(self._coders.own, topology, first, pages, weights)
        else:
            rows["crc"] = page_crcs(first, pages)
            self._put_pages(f"topology/{topology}/pages", first, pages)
            if weights is not None:
                rows["weights_crc"] = page_crcs(first, weights)
                self._put_pages(f"topology/{topology}/weights", first, weights)
        self.main.put(f"topology/{topology}/directory", first, rows)
        self._written[topology][first : first + len(pages)] = True

    def head_rows(self, topology: str) -> int:
        """Rows of a topology's heads that are written with its pages; 0 where they are coded."""
        whole = self.meta.heads and not self.meta.coded_arrays
        return self.datasets[f"topology/{topology}/heads"][1][0] if whole else 0

    def write_array(self, name: str, first: int, rows: np.ndarray) -> None:
        """Write rows first..first+n-1 of an array, for example "vertices/out_degree" or "topology/out/heads"; of one
        that is coded, its words."""
        dtype = self.main.extents[name].dtype
        self.main.put(name, first, np.ascontiguousarray(rows, dtype))

    def finish(self, meta: Meta | None = None, threads: int = 1) -> None:
        """Write checksums and /meta, fsync, rename to the final names. `meta` replaces counts that came late.

        threads: read the arrays back for their checksums.
        """
        meta = meta or self.meta
        if any(getattr(meta, name) != getattr(self.meta, name) for name in _LAID_OUT):
            raise ValueError("a fixed field of the description changed after the file was laid out")
        for name, written in self._written.items():
            if not written.all():
                raise ValueError(f"topology {name}: page {int(np.argmin(written))} was never written")
        checksums = {}
        for name in self.main.extents:
            if checksum_name(name) in self.main.extents:
                crcs = self._crcs(name, threads)
                self.main.put(checksum_name(name), 0, crcs)
                checksums[name] = crc32(crcs.tobytes())
        self.main.put("meta", 0, np.frombuffer(encode_meta(meta, checksums), np.uint8))
        for number, stripe in enumerate(self._stripes):
            stripe.put(STRIPE_HEADER, 0, np.frombuffer(header_of(meta, number), np.uint8))
            stripe.publish()
        self.main.publish()

    def close(self) -> None:
        """Close the files; NAME.partial and those of stripes stay."""
        for file in (self.main, *self._stripes):
            file.close()

    def abort(self) -> None:
        """Close the files and remove them, unless NAME is the new store: the sync after its rename may have failed."""
        for stripe in self._stripes:
            stripe.abort(withdraw=stripe.path not in self._kept and not self.main.published)
        self.main.abort()

    def __enter__(self) -> StoreWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _put_pages(self, name: str, first: int, pages: np.ndarray) -> None:
        for run in self.spread.runs(first, len(pages)):
            file = self._stripes[run.file] if self._stripes else self.main
            file.put(name, run.row, pages[run.first - first :][: run.pages])

    def _put_coded(
        self, coder: Coder, topology: str, first: int, pages: np.ndarray, weights: np.ndarray | None
    ) -> None:
        """Code pages first..first+n-1 and write them, with their weights; CRCs go into the directory."""
        rows, place = self.directories[topology], self.places[topology]
        for number in range(first, first + len(pages)):
            counts = int(rows["records"][number]), int(rows["edges"][number])
            coder.code(pages[number - first], *counts)
            self._put_piece(f"topology/{topology}/pages", place.pages, number, coder.words)
            rows["crc"][number] = page_crc(number, coder.words)
            if weights is not None:
                assert place.weights is not None
                dtype, begin = np.dtype(self.meta.weight_dtype), coder.layout.header_words
                piece = coded_weights(weights[number - first], dtype, begin, begin + sum(counts))
                self._put_piece(f"topology/{topology}/weights", place.weights, number, piece)
                rows["weights_crc"][number] = page_crc(number, piece)

    def _put_piece(self, name: str, begins: np.ndarray, number: int, piece: np.ndarray) -> None:
        if piece.nbytes != begins[number + 1] - begins[number]:
            raise ValueError(f"{name}: page {number} takes {piece.nbytes} bytes coded, other than was measured")
        self.main.put(name, int(begins[number]), piece)

    def _crcs(self, name: str, threads: int) -> np.ndarray:
        """CRCs of an array's blocks, read back: several writes may have shared a block."""
        nbytes, step = self.main.extents[name].nbytes, BLOCK_BYTES * max(1, READ_BLOCKS // threads)

        def of(begin: int) -> np.ndarray:
            data = self.main.read(name, begin, min(step, nbytes - begin))
            return block_crcs(data, begin // BLOCK_BYTES, BLOCK_BYTES)

        begins = range(0, nbytes, step)
        if threads == 1 or len(begins) < 2:  # to start threads takes longer than a small array
            crcs = [of(begin) for begin in begins]
        else:
            crcs = [made for _, made in in_order(begins, of, threads)]
        return np.concatenate([np.empty(0, "<u4"), *crcs]).astype("<u4")


def bytes_of(datasets: dict[str, tuple]) -> int:
    """Of all datasets (name -> dtype, shape) of a file."""
    return sum(math.prod(shape) * dtype.itemsize for dtype, shape in datasets.values())


def column_facts(plans: dict[str, PagePlan]) -> dict[str, Any]:
    """The fields of Meta about column pages."""
    columns = max((int(plan.directory["layout"].max(initial=ROW)) for plan in plans.values()), default=ROW)
    if columns == ROW:
        return {"columns": 1, "padding_words": {}}
    return {"columns": columns, "padding_words": {name: plan.padding_words for name, plan in plans.items()}}


def head_rows(order: str, vertices: int, plan: PagePlan) -> int:
    """Rows of a topology's heads: every vertex in natural order, else up to the last vertex that has edges."""
    return vertices if order == "natural" else plan.last_with_edges + 1
