"""From sorted edges to the store file: what is coded, the description, the arrays, and the files."""

from __future__ import annotations

import json
import os
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pagestore.arrays import degree_dtype
from pagestore.coding.places import Places
from pagestore.convert.coded import LEAST_SAVED, CodedRows, Coding, Measure, RowVector, coded_bytes, raw_bytes
from pagestore.convert.estimate import Budget, check_space
from pagestore.convert.identity import Identity
from pagestore.convert.options import ConvertOptions, ProgressHook, Report
from pagestore.convert.packing import pack_topologies, plan_topologies
from pagestore.convert.rounding import rounding_facts
from pagestore.convert.scan import Tally, stored_dtype
from pagestore.convert.sortededges import SortedEdges
from pagestore.convert.storage import Vector
from pagestore.convert.workfolder import WorkFolder
from pagestore.errors import UsageError
from pagestore.info import column_pages
from pagestore.layout import HEAD_NEIGHBOURS, PageLayout
from pagestore.meta import FORMAT, VERSION, Meta
from pagestore.planning import PagePlan
from pagestore.stripes import own_stripes, stripe_names, stripe_paths, stripes_of
from pagestore.writer import StoreWriter, column_facts, head_rows

NAMESPACE = uuid.UUID("6f1c2a50-7d0e-5b52-9a34-2f6f0c1d8e47")  # of the UUIDs of stores
STRIPE_BYTES = 4 << 20  # of a stretch: a batch of 16 MiB lies on up to 4 disks, so that few batches keep all busy
LEAST_STRETCHES = 8  # of the pages in each direction, in each stripe
NAME_BYTES = 1 << 24  # bytes of string IDs copied at a time


@contextmanager
def coding_of(
    job: Job, edges: dict[str, SortedEdges], plans: dict[str, PagePlan], degrees: dict[str, Vector]
) -> Iterator[Coding]:
    """What is coded in the store, for as long as it is written."""
    if job.options.compress == "off":
        yield Coding()
        return
    heads = {}
    with ExitStack() as kept:
        for name, plan in plans.items() if job.options.heads else ():
            rows = head_rows(job.report.order, job.identity.vertices, plan)
            vector = Vector(rows * HEAD_NEIGHBOURS, plan.layout.id_dtype, job.work.maybe_file(f"{name}.heads"))
            kept.callback(vector.close)
            heads[f"topology/{name}/heads"] = RowVector(vector, HEAD_NEIGHBOURS)
        measure = Measure(plans, job.weight_dtype, heads)
        pack_topologies(edges, plans, measure, job.budget.range_edges, job.threads, job.hook, "measure")
        places = _chosen(job, plans, measure.places())
        if not places:
            yield Coding()
            return
        arrays = [CodedRows(name, rows, rows.vector.dtype, job.threads) for name, rows in heads.items()]
        for name in ("out", "in") if job.directed else ("out",):
            dtype = degree_dtype(_largest(degrees[name]))
            arrays.append(CodedRows(f"vertices/{name}_degree", RowVector(degrees[name]), dtype, job.threads))
        yield Coding(places, arrays, job.weight_dtype is not None and job.weight_dtype.kind == "f")


def _chosen(job: Job, plans: dict[str, PagePlan], places: dict[str, Places]) -> dict[str, Places]:
    """The places of coded pages; {} where `--compress auto` finds that coding saves too little."""
    raw = raw_bytes(plans, job.weight_dtype)
    coded = coded_bytes(places)
    if job.options.compress == "auto" and coded > (1 - LEAST_SAVED) * raw:
        share = coded / raw if raw else 1.0
        job.report.notes.append(f"--compress auto: coded pages would take {share:.0%}; they are stored as they are.")
        return {}
    job.report.coded_bytes, job.report.raw_bytes = coded, raw
    return places


def write_vector(writer: StoreWriter, name: str, values: Vector) -> None:
    """Copy a vector into an array of the store."""
    for first, window in values.windows():
        writer.write_array(name, first, window)


class Job:
    """What the steps of a conversion know; pagestore.convert.pipeline fills it and runs them."""

    work: WorkFolder
    budget: Budget
    identity: Identity
    tally: Tally
    id_bytes: int
    weight_dtype: np.dtype | None = None

    def __init__(self, source: Any, path: Path, options: ConvertOptions, hook: ProgressHook | None):
        self.source, self.path, self.options, self.hook = source, path, options, hook
        self.directed = options.is_directed(source.directed)
        self.weighted = bool(options.weights and source.weighted)
        self.threads = options.workers
        names = {"both": ("out", "in"), "out": ("out",), "in": ("in",)}[options.topology]
        self.topologies = names if self.directed else ("out",)
        self.report = Report(path=str(path), directed=self.directed, weighted=self.weighted)

    def dtype_of_weights(self) -> np.dtype | None:
        """Of the weights in the store, once the edges were looked at; None without."""
        return stored_dtype(self.tally, self.source.name, self.weighted)

    def rounding(self) -> dict[str, float]:
        """Bits and greatest errors of rounded weights (rounding_facts); {} where weights are not rounded."""
        tally = self.tally
        return rounding_facts(tally.round_bits, (tally.relative_error, tally.absolute_error))

    def check_target(self) -> None:
        """Raise UsageError where no store, or no temporary file, can be written."""
        path, options = self.path, self.options
        if not path.absolute().parent.is_dir():
            raise UsageError(f"{path.parent}: no such folder. Make it, or write the store elsewhere.")
        if path.is_dir():
            raise UsageError(f"{path}: is a folder; a store is one file. Name a file.")
        if options.workdir is not None and not options.workdir.is_dir():
            raise UsageError(f"--workdir {options.workdir}: no such folder. Make it first.")
        for folder in options.stripe:
            if not os.path.isdir(folder):
                raise UsageError(f"--stripe {folder}: no such folder. Make it first, on a disk of its own.")

    @property
    def folders(self) -> list[Path]:
        """Of the store's files: the main one's, and the stripes'."""
        return [self.path.absolute().parent, *map(Path, self.options.stripe)]

    def new_writer(
        self, meta: Meta, plans: dict[str, PagePlan], names_bytes: int, places: dict[str, Places]
    ) -> StoreWriter:
        """What writes the store. Its stripes, and those of a store that it replaces, are noted for after a kill."""
        folders = self.options.stripe
        replaced, lost = stripes_of(self.path, folders)
        stripes = stripe_paths(meta, folders)
        own_stripes(self.path, stripes)
        if lost:
            self.report.notes.append(
                f"{self.path}: stripes of the store that is replaced were not found; remove them where they are: "
                f"{', '.join(map(os.path.basename, lost))}"
            )
        if stripes or replaced:
            self.work.note_files([*stripes, *replaced])
        try:
            return StoreWriter(str(self.path), meta, plans, names_bytes, folders, places)
        except UsageError:  # another process writes these files
            self.work.note_files([])
            raise

    def check_space(self, sizes: Mapping[Path, int], work_size: int, kept: int) -> None:
        """Raise ResourceError when a disk lacks room; sizes: bytes of the store by folder."""
        check_space(sizes, self.work.path, work_size, kept)

    def written_bytes(self) -> int:
        """Of the store that is in place."""
        return self.path.stat().st_size + sum(os.stat(stripe).st_size for stripe in self.report.stripes)


def stretch_of(plans: dict[str, PagePlan], stripes: int) -> int:
    """Pages of a stretch: STRIPE_BYTES, less where the disks would get few stretches and so unlike shares."""
    plan = max(plans.values(), key=lambda plan: plan.pages)
    return max(1, min(STRIPE_BYTES // plan.layout.page_bytes, plan.pages // (LEAST_STRETCHES * stripes)))


def describe(
    job: Job, first: SortedEdges, edges: dict[str, SortedEdges], plans: dict[str, PagePlan],
    degrees: dict[str, Vector], coding: Coding,
) -> Meta:  # fmt: skip
    """The store's description; its UUID follows from input, options and content."""
    identity, options = job.identity, job.options
    one = next(iter(edges.values()))
    weights: dict[str, Any] = {}
    if job.weight_dtype is not None:
        low, high = first.weight_range or (None, None)
        dtype = f"{job.weight_dtype.kind}{job.weight_dtype.itemsize}"
        weights = {"weight_dtype": dtype, "min_weight": low, "max_weight": high}
    provenance = {
        "input": job.source.name,
        "input_bytes": job.source.total_bytes,
        "options": options.lasting(),
        **({"weight_rounding": rounding} if (rounding := job.rounding()) else {}),
        **({"order_reason": job.report.order_reason} if job.report.order_reason else {}),
        **getattr(job.source, "provenance", {}),
    }
    content = [FORMAT, VERSION, provenance, identity.digest(), identity.vertices, job.directed, f"{first.hash:016x}"]
    text = json.dumps([*content, sorted(edges)], sort_keys=True, default=str)
    store_uuid = str(uuid.uuid5(NAMESPACE, text))
    striped: dict[str, Any] = {}
    if options.stripe:
        striped = {
            "stripes": stripe_names(job.path, options.stripe, store_uuid),
            "stripe_pages": options.stripe_pages or stretch_of(plans, len(options.stripe)),
        }
    largest = {name: _largest(vector) for name, vector in degrees.items()}
    left = first.duplicates if options.dedupe else 0
    dropped = left + getattr(job.source, "dropped", 0)
    return Meta(
        vertices=identity.vertices, edges=one.edges, directed=job.directed, page_bytes=options.page_bytes,
        id_bytes=job.id_bytes, weighted=job.weighted, order=job.report.order, topologies=job.topologies,
        id_kind=identity.kind, id_base=identity.id_base, heads=options.heads, max_out_degree=largest["out"],
        max_in_degree=largest.get("in", largest["out"]), self_loops=first.loops, duplicates=first.duplicates - left,
        dropped_duplicates=dropped, dropped_self_loops=job.report.dropped_self_loops,
        dropped_lines=job.source.skipped.count, uuid=store_uuid, provenance=provenance, **weights, **striped,
        **column_facts(plans), **coding.facts,
    )  # fmt: skip


def _largest(values: Vector) -> int:
    return max((int(window.max()) for _, window in values.windows()), default=0)


def _isolated(degrees: dict[str, Vector]) -> int:
    """Vertices without any edge."""
    windows = zip(*(vector.windows() for vector in degrees.values()), strict=True)
    return sum(
        len(found[0][1]) - int(np.count_nonzero(np.logical_or.reduce([part for _, part in found]))) for found in windows
    )


def write_store(
    job: Job, first: SortedEdges, edges: dict[str, SortedEdges], degrees: dict[str, Vector], place: Vector | None
) -> None:
    """Write NAME.partial, rename it, and tell the report. `degrees` by direction, `place`: store ID of each vertex."""
    layout = PageLayout(job.options.page_bytes, job.id_bytes)
    plans = plan_topologies(edges, layout, job.options.columns, job.threads)
    with coding_of(job, edges, plans, degrees) as coding:
        meta = describe(job, first, edges, plans, degrees, coding)
        _write(job, meta, edges, plans, degrees, place, coding)
    _tell(job, meta, plans, edges)
    job.report.isolated = _isolated(degrees)


def _write(
    job: Job, meta: Meta, edges: dict[str, SortedEdges], plans: dict[str, PagePlan], degrees: dict[str, Vector],
    place: Vector | None, coding: Coding,
) -> None:  # fmt: skip
    identity = job.identity
    names_bytes = len(identity.names.data) if identity.kind == "strings" else 0
    writer = job.new_writer(meta, plans, names_bytes, dict(coding.places))
    try:
        sizes: Counter[Path] = Counter()
        for folder, size in zip(job.folders, writer.file_bytes, strict=True):
            sizes[folder] += size
        job.check_space(sizes, 0, 0)
        pack_topologies(edges, plans, writer, job.budget.range_edges, job.threads, job.hook)
        for array in coding.arrays:
            array.write(writer.write_array)
        for name in () if coding.arrays else ("out", "in") if job.directed else ("out",):
            write_vector(writer, f"vertices/{name}_degree", degrees[name])
        if place is not None:
            write_vector(writer, "vertices/store_of", place)
        _write_identity(writer, identity)
        writer.finish(threads=job.threads)
    except BaseException:
        writer.abort()
        raise


def _tell(job: Job, meta: Meta, plans: dict[str, PagePlan], edges: dict[str, SortedEdges]) -> None:
    """Copy what the report says of a store that is in place."""
    report, skipped = job.report, job.source.skipped
    for name in ("vertices", "weight_dtype", "self_loops", "duplicates", "dropped_duplicates", "page_bytes", "id_bytes",
                 "uuid"):  # fmt: skip
        setattr(report, name, getattr(meta, name))
    report.stripes = stripe_paths(meta, job.options.stripe)
    report.input_edges = job.tally.edges + getattr(job.source, "dropped", 0)
    report.store_bytes = job.written_bytes()
    report.out_edges, report.in_edges = (edges[name].edges if name in edges else 0 for name in ("out", "in"))
    report.weights_rounded = job.tally.inexact_weights if meta.weight_dtype == "f4" else 0
    report.weight_rounding = job.rounding()
    report.skipped_lines, report.comment_lines = skipped.count, skipped.comments
    report.filtered_rows = skipped.filtered
    report.pages = {name: plan.pages for name, plan in plans.items()}
    report.small_pages = {name: plan.small_pages for name, plan in plans.items()}
    report.column_pages = {name: column_pages(plan.directory) for name, plan in plans.items()}
    report.padding_bytes = {name: plan.padding_words * meta.id_bytes for name, plan in plans.items()}
    if job.options.columns > 1:
        report.notes += rows_in_spite_of_columns(report, report.order)


def rows_in_spite_of_columns(report: Report, order: str) -> list[str]:
    """A line where most small pages that a pull reads stay rows though `--columns` was given.

    A column page needs neighbouring vertices with lists of like length: of a directed graph `--order in` puts in-lists
    so, `--order out` out-lists.
    """
    pulled = "in" if "in" in report.small_pages else "out"
    small, columns = report.small_pages[pulled], report.column_pages[pulled]
    if columns * 2 >= small:
        return []
    best = pulled if report.directed else "degree"
    in_order = order == best if report.directed else order not in ("natural", "llp")
    lists = f"{pulled}-lists" if report.directed else "lists"
    return [
        f"--columns: {columns:,} of {small:,} small pages of {lists} hold columns, as {lists} side by side are of "
        f"unlike length. {'Drop the option' if in_order else f'Pass --order {best}'}."
    ]


def _write_identity(writer: StoreWriter, identity: Any) -> None:
    """User IDs, or names, in ascending order."""
    if identity.kind == "integers":
        first = 0
        for window in identity.user_ids():
            writer.write_array("vertices/ids", first, window)
            first += len(window)
    elif identity.kind == "strings":
        names = identity.names
        for first in range(0, len(names.offsets), NAME_BYTES // 8):
            writer.write_array("vertices/names/offsets", first, names.offsets[first : first + NAME_BYTES // 8])
        for first in range(0, len(names.data), NAME_BYTES):
            writer.write_array("vertices/names/bytes", first, names.data[first : first + NAME_BYTES])
