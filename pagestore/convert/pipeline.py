"""An EdgeSource becomes a store: scan, partition, sort, order, plan, pack, rename.

    source --scan--> vertices, weights --shuffle--> sorted edges --order, shuffle--> sorted in the new order
                                                         |--shuffle--> sorted the other way
    sorted edges --degrees--> page plan --pack--> NAME.partial --rename--> NAME

Every step's result depends on the edges and the lasting options only, so the store's bytes are the same for any
memory, any number of threads and any interruption. Measured on one core, RMAT scale 20
from an .npy file, natural order, both topologies, ns of processor time an input edge: read 10, partition out 13, sort
out 13, partition in 7, sort in 7, pack 15 (of which writing 4); verify 11. Text: read 35 to 40.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pagestore.convert.buckets import BOTH, IN, OUT, Buckets
from pagestore.convert.choose import choose_order, order_shuffles
from pagestore.convert.combine import combined
from pagestore.convert.edgefile import HeldEdges, SpillLog
from pagestore.convert.elsewhere import Elsewhere, SorterKeys, may_hold, one_bucket
from pagestore.convert.estimate import Budget, shares, store_bytes, waiting_heads, work_bytes
from pagestore.convert.finish import Job, write_store
from pagestore.convert.identity import check_range, found_identity, given_identity, restore_scan, save_scan
from pagestore.convert.locality import locality_order, room_for_order
from pagestore.convert.options import ConvertOptions, ProgressHook, Report
from pagestore.convert.order import count_far_ends, degree_order, extremes
from pagestore.convert.scan import Tally, list_counts, sample_counts, scan
from pagestore.convert.shuffle import Shuffle, Shuffler, plan_buckets
from pagestore.convert.sortededges import Expansion, SortedEdges
from pagestore.convert.sorter import EdgeSorter, SorterError
from pagestore.convert.storage import Vector, allow_many_files
from pagestore.convert.workfolder import WorkFolder
from pagestore.errors import UsageError
from pagestore.heap import returning_freed_memory
from pagestore.inputs.said import Promise, broken
from pagestore.replacing import refuse_replacing

LABELS = {OUT: "out", IN: "in", BOTH: "edges"}  # of what is partitioned and sorted, for progress
FIRST, ORDERED, TURNED = "first", "ordered", "turned"  # names of the shuffles: the first one reads the source
AROUND = "around"  # lists the other way, in natural order
MOST_4_BYTE_VERTICES = (1 << 32) - 1
DRAWN_EDGES = 1 << 16  # of sorted edges, looked at in one place to balance the buckets
SAMPLE_EDGES = 1 << 14  # a generator's edges looked at in one place, to balance the buckets
SPILL_SHARE = 4  # a spill log may take this part of the budget before it goes to a file


def convert(
    source: Any, path: str | os.PathLike, options: ConvertOptions | None = None, progress: ProgressHook | None = None
) -> Report:
    """Write the edges of `source` (an EdgeSource) as a store at `path`, which is replaced when it is complete.

    Raises InputError (bad edges), UsageError (options that contradict each other, or another conversion is writing
    the same store), ResourceError (disk or memory). Temporary files are removed on the way out, whatever happened;
    with `options.resume` an interrupted conversion keeps them, as a killed one does.
    """
    with np.errstate(all="ignore"):  # what the caller set with numpy.seterr is for arithmetic of its own
        options = options or ConvertOptions()
        with returning_freed_memory(options.memory_bytes), combined(source, Path(path), options, progress) as ready:
            return Conversion(ready, Path(path), options, progress).run()


class Conversion(Job):
    """The steps from a source to a store at `path`; `pagestore.inmemory` has one without a file."""

    def __init__(self, source: Any, path: Path, options: ConvertOptions, hook: ProgressHook | None):
        super().__init__(source, path, options, hook)
        self.check_target()
        self.direction = BOTH if not self.directed else IN if self.topologies == ("in",) else OUT
        self.open: list[Any] = []  # closed at the end, whatever happens
        self.elsewhere: Elsewhere | None = None  # sorts instead of the cores

    def work_folder(self) -> WorkFolder:
        """Where temporary files go."""
        return WorkFolder(self.path, self.options.workdir, self.options.resume)

    def run(self) -> Report:
        """All steps, one process at a time for a store (WorkFolder)."""
        started = time.perf_counter() - self.source.opening_seconds
        self.report.phase_seconds["open"] = self.source.opening_seconds
        allow_many_files()
        fingerprint = {"source": self.source.fingerprint, "options": self.options.lasting()}
        resume = self.options.resume and fingerprint["source"] is not None
        self.work = self.work_folder()
        keep = False
        try:
            self.work.open(resume, fingerprint)
            if not self.options.replace:  # by now another conversion may have made it
                refuse_replacing(self.path, force=False)
            self.report.resumed = self.work.resumed
            if self.work.replaced:
                self.report.notes.append(f"{self.work.home}: leftovers of an earlier conversion were replaced")
            self._steps()
        except BaseException:
            keep = self.work.keep
            raise
        finally:
            try:
                self._clean_up(keep)
            except BaseException:  # a signal, which comes once: wherever it came, all is done then
                self._clean_up(keep)
                raise
        counted = None if self.options.num_vertices is not None else self.report.vertices
        counts = counted, self.report.input_edges + self.report.skipped_lines
        if not self.report.filtered_rows:
            self.report.notes += broken(self.source.name, Promise(*self.source.promised), *counts)
        if self.report.weights_rounded and self.options.round_weights is None:  # else the errors tell
            self.report.notes.append(self.tally.rounding(self.source.name))
        if self.weighted and self.tally.tiny_weights and self.options.round_weights is None:
            self.report.notes.append(self.tally.vanishing(self.source.name))
        self.report.seconds = time.perf_counter() - started
        self.report.peak_memory_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return self.report

    def _clean_up(self, keep: bool) -> None:
        """Close everything; remove temporary files unless `keep`. May be called again where it was interrupted."""
        if not keep:
            self.work.forget()
        for item in self.open:
            if not (keep and isinstance(item, SortedEdges | SpillLog)):
                item.close()
        self.work.close(keep=keep)

    def _steps(self) -> None:
        sorter = None if self.options.sorter is None else self.options.sorter(self.source)
        if sorter is not None:
            self.open.append(sorter)
        with self._phase("read"):
            self._scan()
        self._budget_and_space()
        if sorter is not None:
            self._take_sorter(sorter)
        with self._phase("out" if self.direction != IN else "in"):
            first = self._first()
        edges, place = first, None
        if self.options.order != "natural":
            with self._phase("order"):
                self._choose(first)
                if self.report.order != "natural":
                    edges, place = self._reorder(first)
        sorted_edges = {self.topologies[0]: edges}
        if len(self.topologies) > 1:
            with self._phase("in"):
                turned = Expansion(edges, None, self.budget.chunk_edges, 0)
                sorted_edges["in"] = self._by_sorter(Elsewhere.turned) or self._reshuffle(TURNED, turned, IN)
        degrees = {name: part.degrees for name, part in sorted_edges.items()}
        if self.directed and len(self.topologies) == 1:
            with self._phase("degrees"):
                other = "in" if self.topologies == ("out",) else "out"
                degrees[other] = self._far_degrees(edges, "other")
        self.report.work_bytes = max(self.report.work_bytes, self.work.used_bytes())
        with self._phase("pack"):
            write_store(self, first, sorted_edges, degrees, place)

    def _choose(self, first: SortedEdges) -> None:
        """Tell the report which order the store gets."""
        self.report.order = self.options.order
        if self.options.order == "auto":
            choice = choose_order(first)
            self.report.order, self.report.order_reason = choice.order, choice.reason

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.report.phase_seconds[name] = time.perf_counter() - started

    def _scan(self) -> None:
        """Sets tally, identity, edges_from (what the first shuffle reads)."""
        source, options, bits = self.source, self.options, self.options.round_weights
        restored = restore_scan(self.work, source, FIRST)
        self.compacted = False
        if restored is not None:
            self.tally, self.identity, segments = restored
            self.edges_from = source
            if segments is not None:
                self.edges_from = self._spill(source)
                self.edges_from.reopen(segments)
            return
        vertices = source.vertices if source.vertices is not None else options.num_vertices
        if self._trusted(vertices):
            assert vertices is not None
            source.chunk_edges = SAMPLE_EDGES
            self.tally = sample_counts(source, vertices, self.threads)
            source.chunk_edges = Budget(options.memory_bytes, self.threads, 4, 4, 0, 0, 0, 1).chunk_edges
            self.tally.edges, self.edges_from = source.edge_count, source
            if source.weight_range is not None:
                self.tally.min_weight, self.tally.max_weight = source.weight_range
            self.identity = given_identity(source, vertices, source.id_base)
            return
        spill: SpillLog | None = None
        if not source.replayable:
            spill = self._spill(source)
        elif not hasattr(source, "chunk_count"):  # then it is parsed
            spill = HeldEdges(source, self.weighted, options.memory_bytes // SPILL_SHARE)
        limit = Budget(options.memory_bytes, self.threads, 0, 4, 0, 0, 0, 1).id_limit()
        found = scan(source, self.weighted, vertices is not None, limit, spill, self.threads, self.hook, bits)
        if found.sparse:
            from pagestore.inputs.dictionary import compact_integers

            self.compacted = True
            memory = options.memory_bytes - (spill.held_bytes if spill else 0)
            source = compact_integers(found.source, self.work.path, memory, self.hook, found.tally.edges)
            self.open.append(source)
            if spill:
                spill.close()
            vertices = source.vertices
            found = scan(source, self.weighted, True, 0, None, self.threads, self.hook, bits)
        self.tally, self.edges_from = found.tally, found.source
        if vertices is None:
            self.identity = found_identity(found)
        else:
            self.identity = given_identity(source, vertices, source.id_base)
            check_range(source, self.tally, self.identity)

    def _trusted(self, vertices: int | None) -> bool:
        """A generator knows its vertices, edges and weights: no need to look at all edges first."""
        known = vertices is not None and self.source.trusted and self.options.round_weights is None
        return known and (not self.weighted or self.source.weight_range is not None)

    def _spill(self, source: Any) -> SpillLog:
        spill = SpillLog(source, self.weighted, self.work.file("spill.log"), self.options.memory_bytes // SPILL_SHARE)
        self.open.append(spill)
        return spill

    def _budget_and_space(self) -> None:
        options, tally, identity = self.options, self.tally, self.identity
        self.weight_dtype = self.dtype_of_weights()
        vertices = identity.vertices
        if options.id_bytes == 4 and vertices > MOST_4_BYTE_VERTICES:
            raise UsageError(f"--id-bytes 4: {vertices} vertices need 8; the limit is 2^32-1. Leave the option out.")
        self.id_bytes = options.id_bytes or (4 if vertices <= MOST_4_BYTE_VERTICES else 8)
        keys = tally.edges * (1 if self.directed else 2)
        width = 0 if self.weight_dtype is None else self.weight_dtype.itemsize
        held = 0 if identity.table is None else identity.table.nbytes
        if isinstance(self.edges_from, SpillLog) and not isinstance(self.edges_from, HeldEdges):
            held += self.edges_from.held_bytes
        shuffles = len(self.topologies) + order_shuffles(options.order, vertices, self.directed)
        target_bytes = 4 if vertices <= 1 << 32 else 8
        if options.order == "llp":
            held += room_for_order(vertices, target_bytes, self.threads, options.memory_bytes)
        budget = Budget(options.memory_bytes, self.threads, width, target_bytes, held, vertices, keys, shuffles)
        if isinstance(kept := self.edges_from, HeldEdges):
            kept.once = True
            self.edges_from = kept if budget.results_in_memory else kept.origin  # else memory is short
        self.budget = budget
        waiting = waiting_heads(vertices, len(self.topologies), options, self.id_bytes)
        self.work_size, self.work_kept = work_bytes(budget, waiting)
        sizes = store_bytes(
            vertices, keys, len(self.topologies), options, self.id_bytes, width, identity.kind != "range"
        )
        if not budget.results_in_memory and "scan" not in self.work.manifest:
            spill = self.edges_from.file if isinstance(self.edges_from, SpillLog) else None
            if spill is not None or not isinstance(self.edges_from, SpillLog):
                save_scan(self.work, tally, identity, spill.segments if spill else None, self.compacted)
        if not self.work.resumed:
            self.check_space(shares(self.path, options.stripe, *sizes), self.work_size, self.work_kept)

    def _take_sorter(self, sorter: EdgeSorter) -> None:
        """Let a sorter work, if memory holds its lists."""
        self.elsewhere = Elsewhere(sorter, self.identity.vertices, self.weight_dtype, self.threads, self.hook)
        if not self.budget.results_in_memory:
            self._give_up("sorted edges are larger than --memory")
        elif not may_hold(self.budget.keys, self.identity.vertices):
            self._give_up("there are more than 2^32 of them, or of vertices")

    def _give_up(self, why: str) -> None:
        """Let the cores do what follows."""
        if self.elsewhere is not None:
            self.report.notes.append(f"the host's cores sorted the edges: {why}.")
            self.elsewhere.sorter.close()
            self.elsewhere, self.report.sorted_on = None, "host"

    def _by_sorter(self, sort: Callable[[Elsewhere], SortedEdges]) -> SortedEdges | None:
        """What a sorter makes; None where there is none, or it gives up."""
        if self.elsewhere is None:
            return None
        try:
            result = sort(self.elsewhere)
        except SorterError as error:
            self._give_up(str(error))
            return None
        self.open.append(result)
        return result

    def _first(self) -> SortedEdges:
        """The source's edges, sorted."""
        tally, identity, options, direction = self.tally, self.identity, self.options, self.direction

        def sort(elsewhere: Elsewhere) -> SortedEdges:
            bins = (max(identity.base + identity.vertices - 1, tally.max_id, 0) >> tally.shift) + 1
            buckets = one_bucket(bins, tally.shift, (identity.base, identity.table), identity.vertices, direction)
            job = Shuffle(
                FIRST, identity.vertices, buckets, self.weight_dtype, options.dedupe, options.drop_self_loops,
                self.threads, self.budget.piece_edges(1), 0, True, True, options.round_weights,
            )  # fmt: skip
            shuffler = Shuffler(job, self.work, self.hook, LABELS[direction])

            def fill(keys: SorterKeys) -> None:
                shuffler.deal(self.edges_from, tally.edges, keys)

            made = elsewhere.first(fill, self.budget.keys, options.dedupe, direction)
            self.report.dropped_self_loops += shuffler.dropped_loops
            self.report.sorted_on = elsewhere.sorter.name
            return made

        made = self._by_sorter(sort)
        if isinstance(kept := self.edges_from, HeldEdges) and not kept.whole:  # the sorter failed, or is done
            self.edges_from = kept.origin
        return made or self._shuffle(FIRST, self.edges_from, tally, tally.edges, direction)

    def _shuffle(self, name: str, source: Any, counts: Tally, total: int, direction: int) -> SortedEdges:
        """Partition and sort the source's edges (user IDs in the first shuffle, dense ones later)."""
        first = name == FIRST
        budget, identity, options = self.budget, self.identity, self.options
        saved = "sizes" in self.work.manifest.get("shuffles", {}).get(name, {})
        table = identity.table if first else None
        bounds = self.work.file(f"{name}.buckets.npz")
        if saved:
            buckets = Buckets.load(bounds, table)
        else:
            near = {OUT: counts.counts[0], IN: counts.counts[1], BOTH: counts.counts.sum(axis=0)}[direction]
            greatest = identity.base + identity.vertices - 1 if first else identity.vertices - 1
            bins = (max(greatest, counts.max_id, 0) >> counts.shift) + 1
            aim = budget.bucket_keys if budget.keys_in_memory else int(0.8 * budget.sort_limit)
            ids = (identity.base if first else 0, table)
            buckets = plan_buckets(
                near[:bins], counts.shift, ids, identity.vertices, direction, aim, budget.bucket_vertices
            )
            if not budget.results_in_memory:  # else there is nothing to resume
                buckets.save(bounds)
        in_memory = budget.results_in_memory and not saved
        job = Shuffle(
            name, identity.vertices, buckets, None if name == AROUND else self.weight_dtype, first and options.dedupe,
            first and options.drop_self_loops, self.threads, budget.piece_edges(buckets.count), budget.sort_limit,
            budget.keys_in_memory and not saved, in_memory, options.round_weights,
            name not in (ORDERED, TURNED, AROUND), name in (TURNED, AROUND),
        )  # fmt: skip
        shuffler = Shuffler(job, self.work, self.hook, LABELS[direction])
        result = shuffler.run(source, total)
        self.open.append(result)
        self.report.dropped_self_loops += shuffler.dropped_loops
        self.report.work_bytes = max(self.report.work_bytes, self.work.used_bytes())
        return result

    def _reshuffle(self, name: str, edges: Expansion, direction: int) -> SortedEdges:
        vertices = self.identity.vertices
        if direction == OUT:
            counts = list_counts(edges, vertices)
        else:
            drawn = Expansion(edges.edges, edges.place, DRAWN_EDGES, self.budget.vertex_window_bytes)
            counts = sample_counts(drawn, vertices, self.threads)
        return self._shuffle(name, edges, counts, edges.edges.edges * edges.stages, direction)

    def _far_degrees(self, edges: SortedEdges, name: str, any_alone: bool = False) -> Vector:
        path = None if self.budget.results_in_memory else self.work.file(f"{name}.far")
        result = count_far_ends(
            edges, self.threads, self.budget.chunk_edges, self.budget.vertex_window_bytes, path, self.hook, any_alone
        )
        self.open.append(result)
        return result

    def _reorder(self, first: SortedEdges) -> tuple[SortedEdges, Vector]:
        """Sort again with vertices renumbered; returns the edges and each dense vertex's store ID."""
        options = self.options
        near_is = "in" if self.direction == IN else "out"
        by_near = not self.directed or near_is == ("out" if self.report.order in ("degree", "out") else "in")
        far = self._far_degrees(first, "order", any_alone=by_near) if self.directed else None
        by, other = (first.degrees, far) if by_near else (far, first.degrees)
        assert by is not None
        path = None if self.budget.results_in_memory else self.work.file("place")
        span = extremes(by)
        place = degree_order(by, other, span, options.order_buckets, first.targets.dtype, path)
        self.open.append(place)
        if self.report.order == "llp":
            self._nest(first, place)
        elif span[0] == span[1]:  # no vertex has moved: the edges are in order as they are
            return first, place
        expansion = Expansion(first, place, self.budget.chunk_edges, self.budget.vertex_window_bytes)
        edges = self._by_sorter(lambda sorter: sorter.ordered(place)) or self._reshuffle(ORDERED, expansion, OUT)
        if self.budget.results_in_memory:
            first.close()
        return edges, place

    def _nest(self, first: SortedEdges, place: Vector) -> None:
        """Turn the order by degree into the one by locality, which reads lists of both directions."""
        lists: tuple[SortedEdges, ...] = (first,)
        if self.directed:
            lists += (self._reshuffle(AROUND, Expansion(first, None, self.budget.chunk_edges, 0), IN),)
        locality_order(lists, place, self.threads, self.budget.chunk_edges, self.hook)
        if self.directed and self.budget.results_in_memory:
            lists[1].close()
