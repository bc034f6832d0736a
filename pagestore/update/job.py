"""`gstream update`: a store with edges added and removed, as another store.

    additions, removals --IDs to store IDs, sorted--> changes
    pages of the store + changes --merge--> sorted edges --pack--> NAME.partial --rename--> NAME

Removals come first: each takes all edges of its two ends, whatever their weights. So an edge that is in both has the
new weight afterwards. Vertices stay, with or without edges. Everything behind the merge is a conversion's own code, so
pages, heads and degrees are those of a conversion of the changed edge list.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pagestore.convert.buckets import BOTH, IN, OUT
from pagestore.convert.combine import combined
from pagestore.convert.edgefile import SpillLog
from pagestore.convert.estimate import Budget, shares, store_bytes, waiting_heads, work_bytes
from pagestore.convert.finish import write_store
from pagestore.convert.options import DEFAULT_MEMORY_BYTES, ConvertOptions, ProgressHook, Report
from pagestore.convert.pipeline import MOST_4_BYTE_VERTICES, SPILL_SHARE, Conversion
from pagestore.convert.rounding import rounding_facts
from pagestore.convert.scan import Tally, sample_counts
from pagestore.convert.sortededges import SortedEdges
from pagestore.errors import InputError, UsageError
from pagestore.heap import returning_freed_memory
from pagestore.inputs.base import EdgeChunk, EdgeSource, StringNames
from pagestore.meta import Meta
from pagestore.sizes import show_things
from pagestore.store import Store
from pagestore.update.merging import Merging
from pagestore.update.vertices import Vertices, ids_of

MISSING = ("refuse", "ignore")
EXACT_FLOATS = 1 << 24  # whole numbers up to this one are float32s


@dataclass
class Changes:
    """What is to change: open sources of edges to add and to remove, or None. missing: what is done about a removal of
    an edge that is not there, one of MISSING."""

    add: EdgeSource | None
    remove: EdgeSource | None
    missing: str = "refuse"


def update(
    store: Store, path: str | os.PathLike, changes: Changes, memory_bytes: int = DEFAULT_MEMORY_BYTES,
    threads: int | None = None, workdir: Path | None = None, replace: bool = True, progress: ProgressHook | None = None,
) -> Report:  # fmt: skip
    """Write `store` with changes as another store at `path`; it is kept as it is.

    Pages, order, topologies, duplicates and self-loops are handled as the store's own conversion did. `input_edges` of
    the report counts changes. Raises UsageError, InputError (a removal finds nothing, weights are missing),
    ResourceError.
    """
    with np.errstate(all="ignore"):
        if changes.missing not in MISSING:
            raise UsageError(f"--missing {changes.missing}: unknown; it is one of {', '.join(MISSING)}.")
        if Path(path).exists() and Path(path).samefile(store.path):
            raise UsageError(f"{path}: is the store that changes. Write to another name.")
        if store.meta.parts > 1:
            raise UsageError(f"{store.path}: is a part of a graph. Change the whole store, then split it again.")
        options = options_of(store.meta, memory_bytes, threads, workdir, replace)
        if options.round_weights is not None and options.keep == "sum":
            raise UsageError(
                f"{store.path}: its weights are rounded sums, and sums of these would be off by more each time. "
                "Convert the changed edges again."
            )
        add = changes.add if changes.add is not None else _Nothing(store)
        ready_to_add = combined(add, Path(path), _combining(options, store.meta), progress)
        with returning_freed_memory(memory_bytes), ready_to_add as ready:
            changes = Changes(ready, changes.remove, changes.missing)
            return _Updating(store, Path(path), changes, options, progress).run()


def options_of(
    meta: Meta, memory_bytes: int, threads: int | None, workdir: Path | None, replace: bool
) -> ConvertOptions:
    """Options of a conversion whose store is like this one."""
    said = meta.provenance.get("options", {})
    return ConvertOptions(
        memory_bytes=memory_bytes, threads=threads, directed=meta.directed, weights=meta.weighted,
        dedupe=bool(said.get("dedupe")), keep=said.get("keep"), drop_self_loops=bool(said.get("drop_self_loops")),
        topology="both" if len(meta.topologies) == 2 or not meta.directed else meta.topologies[0], order=meta.order,
        order_buckets=said.get("order_buckets"), page_bytes=meta.page_bytes, id_bytes=said.get("id_bytes"),
        workdir=workdir, replace=replace, heads=meta.heads, columns=meta.columns,
        stripe=tuple(said.get("stripe", ())) if meta.stripes else (),
        stripe_pages=meta.stripe_pages or None, compress="on" if meta.compressed else "off",
        round_weights=said.get("round_weights"),
    )  # fmt: skip


def _combining(options: ConvertOptions, meta: Meta) -> ConvertOptions:
    """The options that say how equal additions become one."""
    return ConvertOptions(
        memory_bytes=options.memory_bytes, directed=meta.directed, weights=meta.weighted, dedupe=options.dedupe,
        keep=options.keep, drop_self_loops=options.drop_self_loops, workdir=options.workdir,
    )  # fmt: skip


class _Nothing(EdgeSource):
    """Stands for the changes where a conversion asks its source. dropped: duplicates left out so far."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.name, self.directed, self.weighted = store.path, store.meta.directed, store.meta.weighted
        self.names = (
            StringNames(np.zeros(1, np.uint64), np.empty(0, np.uint8)) if store.meta.id_kind == "strings" else None
        )
        self.vertices, self.replayable, self.dropped = 0, True, 0
        self.provenance: dict[str, Any] = {}

    def chunks(self) -> Iterator[EdgeChunk]:
        return iter(())


class _Updating(Conversion):
    def __init__(
        self, store: Store, path: Path, changes: Changes, options: ConvertOptions, hook: ProgressHook | None
    ) -> None:
        super().__init__(_Nothing(store), path, options, hook)
        self.store, self.changes = store, changes
        self.topologies = store.meta.topologies
        self.vertices = Vertices(store, max(1 << 20, options.memory_bytes))
        self.report.order = store.meta.order
        self.tally, self.loops, self.hash = Tally(round_bits=options.round_weights), 0, 0

    def _steps(self) -> None:
        meta = self.store.meta
        with self._phase("read"):
            raw = {what: self._read(what) for what in ("add", "remove")}
            self.vertices.settle()
        self._plan()
        with self._phase("changes"):
            logs = {what: self._translated(what, *raw[what]) for what in raw}
            counted = {what: sample_counts(log, self.vertices.vertices, self.threads) for what, log in logs.items()}
        merged: dict[str, SortedEdges] = {}
        for name in self.topologies:
            with self._phase(name):
                merged[name] = self._merged(name, logs, counted)
        first = merged[self.topologies[0]]
        degrees = {name: part.degrees for name, part in merged.items()}
        if meta.directed and len(self.topologies) == 1:
            other = "in" if self.topologies == ("out",) else "out"
            degrees[other] = self._far_degrees(first, "other")
        self._describe(first, logs)
        with self._phase("pack"):
            write_store(self, first, merged, degrees, self.vertices.order(self._id_dtype, self._folder))
        self.report.added_edges = logs["add"].edges
        self.report.edges_before = self.store.meta.graph_edges
        self.report.input_edges = sum(log.edges for log in logs.values())
        self.report.skipped_lines = self._skipped

    @property
    def _skipped(self) -> int:
        """Lines of the changes that are no edges and were left out."""
        return sum(each.skipped.count for each in (self.changes.add, self.changes.remove) if each is not None)

    @property
    def _folder(self) -> Path | None:
        return None if self.budget.results_in_memory else self.work.path

    @property
    def _id_dtype(self) -> np.dtype:
        return np.dtype(f"<u{self.id_bytes}")

    def _read(self, what: str) -> tuple[SpillLog, Any]:
        """A copy of the edges to add or to remove by their own IDs, and what turns these into the user's. Notes new
        vertices."""
        adding = what == "add"
        source = (self.changes.add if adding else self.changes.remove) or _Nothing(self.store)
        weighted = adding and self.weighted
        if weighted and not source.weighted:
            raise InputError(
                f"{source.name}: has no weights, but {self.store.path} has. Add a column of weights, or name it "
                "with --weight-column."
            )
        told = ids_of(source, self.store)
        log = SpillLog(source, weighted, self.work.file(f"{what}.log"), self.options.memory_bytes // SPILL_SHARE)
        self.open.append(log)
        tally = Tally(round_bits=self.options.round_weights)
        for chunk in source.chunks():
            tally.add(chunk, weighted)
            log.append(chunk)
            if adding:
                self.vertices.add(told(chunk.source))
                self.vertices.add(told(chunk.target))
        for listed in (source.vertex_ids() or ()) if adding else ():
            self.vertices.add(listed.astype(np.uint64))
        if adding:
            self.tally = tally
        return log, told

    def _plan(self) -> None:
        """Sets what a conversion knows once it has scanned its source: identity, budget, types."""
        meta, vertices = self.store.meta, self.vertices.vertices
        self.id_bytes = meta.id_bytes if vertices <= MOST_4_BYTE_VERTICES else 8
        self.weight_dtype = self._weights() if meta.weighted else None
        keys = meta.edges + self.tally.edges * (1 if meta.directed else 2)
        width = 0 if self.weight_dtype is None else self.weight_dtype.itemsize
        target_bytes = 4 if vertices <= 1 << 32 else 8
        memory, shuffles, held = self.options.memory_bytes, len(self.topologies), self.vertices.held_bytes
        self.budget = Budget(memory, self.threads, width, target_bytes, held, vertices, keys, shuffles)
        waiting = waiting_heads(vertices, len(self.topologies), self.options, self.id_bytes)
        self.work_size, self.work_kept = work_bytes(self.budget, waiting)
        named = meta.id_kind != "range"
        sizes = store_bytes(vertices, keys, shuffles, self.options, self.id_bytes, width, named)
        self.check_space(shares(self.path, self.options.stripe, *sizes), self.work_size, self.work_kept)
        self.identity = self.vertices.identity(self._folder)

    def _weights(self) -> np.dtype:
        """The dtype that holds old and new weights, and what becomes of equal edges."""
        meta, tally = self.store.meta, self.tally
        old = np.dtype(f"<{meta.weight_dtype}")
        low, high = meta.min_weight, meta.max_weight
        if tally.edges and low is not None and high is not None and old.kind != "f":
            both = self.options.keep in ("sum", "count")
            tally.min_weight = min(low, tally.min_weight + (min(low, 0) if both else 0))
            tally.max_weight = max(high, tally.max_weight + (max(high, 0) if both else 0))
        if not tally.edges:
            return old
        assert self.changes.add is not None  # whose edges were counted
        new = tally.weight_dtype(self.changes.add.name)
        return old if old.kind == "f" else new

    def rounding(self) -> dict[str, float]:
        """The greatest errors of old and new weights."""
        old, tally = self.store.meta.provenance.get("weight_rounding", {}), self.tally
        before = old.get("relative", 0.0), old.get("absolute", 0.0)
        return rounding_facts(tally.round_bits, before, (tally.relative_error, tally.absolute_error))

    def _translated(self, what: str, raw: SpillLog, told: Any) -> Any:
        """A log of the same edges by new store IDs; removals between vertices that are not there are counted."""
        log = SpillLog(raw, raw.weighted, self.work.file(f"{what}.dense"), self.options.memory_bytes // SPILL_SHARE)
        log.edges = 0  # type: ignore[attr-defined]
        self.open.append(log)
        for number in range(raw.chunk_count):
            chunk = raw.chunk(number)
            ends, known = zip(
                *(self.vertices.store_ids(told(end)) for end in (chunk.source, chunk.target)), strict=True
            )
            log.edges += len(chunk)  # type: ignore[attr-defined]
            stay = known[0] & known[1]
            if what == "remove" and not stay.all():
                at = int(np.argmin(stay))
                example = f"{told(chunk.source[at : at + 1])[0]} -> {told(chunk.target[at : at + 1])[0]}"
                self._refuse_missing(int(np.count_nonzero(~stay)), example, "at least")
            if what == "add" and self.options.drop_self_loops:
                loops = ends[0] == ends[1]
                self.loops += int(np.count_nonzero(loops))
                stay &= ~loops
            weight = None if chunk.weight is None else chunk.weight[stay]
            log.append(EdgeChunk(ends[0][stay], ends[1][stay], weight))
        raw.close()
        return log

    def _merged(self, name: str, logs: dict[str, Any], counted: dict[str, Tally]) -> SortedEdges:
        """A topology with its changes. Those of the first one that find nothing are told of."""
        meta, first = self.store.meta, name == self.topologies[0]
        direction = BOTH if not meta.directed else IN if name == "in" else OUT
        added = self._shuffle(f"add-{name}", logs["add"], counted["add"], logs["add"].edges, direction)
        weights, self.weight_dtype = self.weight_dtype, None  # removals have none
        removed = self._shuffle(f"remove-{name}", logs["remove"], counted["remove"], logs["remove"].edges, direction)
        self.weight_dtype = weights
        keep = (self.options.keep or "min") if self.options.dedupe else None
        job = Merging(
            added, removed, self.vertices.moves, self.vertices.vertices, keep, not meta.directed, weights,
            self.threads, self._folder, self.hook,
        )  # fmt: skip
        merged, gone, missing = job.run(self.store.topology(name), f"merged-{name}")
        self.open.append(merged)
        if first:
            self.report.removed_edges = gone
            self.hash = (added.hash * 31 + removed.hash) % (1 << 64)
            ends = [(near, far) for near, far in missing if meta.directed or near <= far]
            if ends:
                near, far = ends[0] if name == "out" else ends[0][::-1]
                self._refuse_missing(len(ends), f"{self._called(near)} -> {self._called(far)}")
        added.close()
        removed.close()
        return merged

    def _called(self, store_id: int) -> str:
        """The user's name of a vertex of the new store."""
        order = self.vertices.order(self._id_dtype, None)
        natural = store_id if order is None else int(np.flatnonzero(order.read(0, len(order)) == store_id)[0])
        identity = self.identity
        if identity.kind == "range":
            return str(identity.id_base + natural)
        return str(identity.names[natural] if identity.kind == "strings" else identity.ids[natural])

    def _refuse_missing(self, count: int, example: str, more: str = "") -> None:
        """InputError, or a note, for removals that found nothing."""
        assert self.changes.remove is not None
        what = f"{f'{more} ' if more else ''}{show_things(count, 'edge')} to remove {'is' if count == 1 else 'are'} not"
        line = f"{self.changes.remove.name}: {what} in {self.store.path}, such as {example}"
        if self.changes.missing == "refuse":
            raise InputError(f"{line}. Correct the list, or pass --missing ignore.")
        self.report.notes.append(f"{line}; ignored.")

    def _describe(self, first: SortedEdges, logs: dict[str, Any]) -> None:
        """Facts of the new store that go on from the old one's."""
        meta, source = self.store.meta, self.source
        source.skipped.count = meta.dropped_lines + self._skipped
        source.dropped = meta.dropped_duplicates + getattr(self.changes.add, "dropped", 0)
        self.report.dropped_self_loops = meta.dropped_self_loops + self.loops
        raised = self.options.keep in ("max", "sum", "count") and first.duplicates > 0
        widest = max(abs(meta.min_weight or 0), abs(meta.max_weight or 0))
        to_floats = self.weight_dtype is not None and self.weight_dtype.kind == "f" and meta.weight_dtype != "f4"
        rounded = to_floats and widest > EXACT_FLOATS
        step = {
            "from": meta.uuid, "added": logs["add"].edges, "removed": self.report.removed_edges,
            "vertices": len(self.vertices.new), "weights": meta.weight_dtype,
            "weights_changed": bool(raised or rounded),
        }  # fmt: skip
        source.provenance = {
            "input_of_first": meta.provenance.get("input_of_first", meta.provenance.get("input")),
            "changes": [*meta.provenance.get("changes", []), step],
        }
        first.hash = self.hash
