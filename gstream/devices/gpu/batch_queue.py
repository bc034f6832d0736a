"""Batches of one job on a GPU: one launch over what is cached, then copy and kernel of the rest, in stream order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from gstream.devices.base import Device
from gstream.devices.batch_ring import Placement, cut_by_reach
from gstream.devices.gpu.coded import Copied, coded_runs
from gstream.devices.gpu.driver import Gpu
from gstream.devices.gpu.memory import in_context
from gstream.devices.gpu.page_pool import Launch, PagePool, is_run
from gstream.devices.gpu.peer_wait import suspects
from gstream.devices.gpu.stream_lane import Lane, Mark, Spans, span_of
from gstream.paging.page_source import Batch
from gstream.paging.page_table import NO_PAGES, PageTable
from pagestore.errors import StoreError


class Work(Protocol):
    """What is done with pages: a program's step, or a page kernel.

    stream: where launches over cached pages go; queued: names of kernels on it that are not known to be over. ready:
    the event on it that launches on other streams come after, if any.
    """

    stream: Any
    queued: list[str]
    ready: Any

    @property
    def name(self) -> str:
        """The kernel that `launch` queues."""

    @property
    def reach(self) -> int:
        """Vertices of a streamed RA that one launch may span; 0: none is streamed."""

    def launch(self, pages: Launch, stream: Any) -> None:
        """Queue the kernel, and before it what it needs beside its pages."""

    def take_edges(self) -> int:
        """Edges looked at since the last call; everything queued is over."""

    def close(self, ended: bool) -> None:
        """The last call: streams and events go. ended: it was given all pages that there were for it."""


class BatchQueue:
    """Queues launches of one job or sweep; `device`: whose figures count. Made and closed in the GPU's context."""

    def __init__(self, gpu: Gpu, device: Device, pool: PagePool, work: Work, spans: Spans | None) -> None:
        self.gpu, self.device, self.pool, self.work, self._spans = gpu, device, pool, work, spans
        self._letting_go: deque[tuple[Lane, Callable[[], None]]] = deque()  # copies queued, and what they let go of
        self._ahead: deque[tuple[Batch, Placement, Lane, Copied]] = deque()  # copied for the next step, in order
        self._held_over, self._held_ticket = gpu.event(), -1  # the launch over cached pages
        self.met, self._depends = Mark(gpu, work.queued), False  # how far work's stream must be before others go on
        self._sweep: tuple[np.ndarray, Launch, Placement] | None = None  # the same, over pages that keep their slots
        self._busy = False  # whether batches were queued that are not known to be over

    def absent(self, table: PageTable, numbers: np.ndarray) -> np.ndarray:
        """Those of the pages (int64[n], ascending) that no slot holds, or will when what is queued is over."""
        return self.pool.ring.absent(numbers, table)

    @in_context
    def run_cached_pages(self, table: PageTable, numbers: np.ndarray) -> np.ndarray:
        """Queue one launch over the pages (int64[n], ascending) that are cached; the others, to be submitted."""
        if (again := self.again(table, numbers)) is not None:
            self.pool.ring.caches[table.name].hits += len(numbers)
            self.device.stats.pages += len(numbers)
            self._launch_held(*again)
            return numbers[:0]
        self._sweep = None  # its entries may be written over
        place, found = self.pool.ring.held(numbers, table)
        held = numbers[found]
        if len(held) == 0:
            return numbers
        self.device.stats.pages += len(held)
        if self.work.reach:
            self._run_cached_by_reach(table, held, place)
            return numbers[~found]
        launch = self.pool.launch(table, held, place.rows, stream=self.work.stream)
        self._launch_held(launch, place)
        if len(held) == len(numbers) and self.pool.ring.stays(table):
            self._sweep = numbers, launch, place
        return numbers[~found]

    def _launch_held(self, launch: Launch, place: Placement) -> None:
        stream, name = self.work.stream, launch.table.table.name
        with span_of(self._spans, "cached pages", f"kernel: {len(launch.numbers)} cached pages of {name}", stream):
            self.work.queued.append(self._launch(launch, stream))
        self._held_over.record(stream)
        self._held_ticket = self.pool.ring.ticket(place)

    def again(self, table: PageTable, numbers: np.ndarray) -> tuple[Launch, Placement] | None:
        """The last launch over cached pages, where it was over the same ones, so that these come by it once more.

        Sweeps ask for the same pages every time, and finding thousands of them takes a tenth of a millisecond.
        """
        if self._sweep is None:
            return None
        last, launch, place = self._sweep
        same = launch.table.table is table and not self.work.reach and np.array_equal(last, numbers)
        return (launch, place) if same else None

    def _run_cached_by_reach(self, table: PageTable, held: np.ndarray, place: Placement) -> None:
        """Cached pages whose RA is streamed: by pieces that lie within reach of each other."""
        at, ring = 0, self.pool.ring
        for piece in cut_by_reach(held, table, self.work.reach, len(held)):
            stream = ring.next_stream()
            rows = place.rows[at : at + len(piece)]
            at += len(piece)
            lane = self.pool.lanes[stream]
            lane.wait()
            self._run(table, piece, Placement(stream, rows, [], rows), lane)

    @in_context
    def submit_in_place(self, batch: Batch) -> None:
        """Queue one launch over pages in pinned host memory, whose addresses are the same to a GPU."""
        lane, known = self.pool.far, self.pool.tables[batch.table.name]
        lane.wait()
        self.device.stats.pages += len(batch.numbers)
        words = batch.pages.ctypes.data, 0 if batch.weights is None else batch.weights.ctypes.data
        where = lane.put_entries(known.entries_of(batch.numbers, batch.rows))
        launch = Launch(*words, lane.claims, known, batch.numbers, batch.rows, *where, lane, far=True)
        self._queue_kernel(launch, lane, "in place")
        lane.ticket = self.pool.ring.ticket(Placement(self.pool.ring.streams, NO_PAGES, [], NO_PAGES))

    @in_context
    def submit(self, batch: Batch) -> None:
        """Queue copies and kernel of a batch; `batch.done` is called when its host memory has been read."""
        try:
            self._submit(batch)
        except self.gpu.cuda.Error as error:  # of a kernel that was queued before: CUDA tells at any later call
            raise self.gpu.failure(self._suspect(), error) from error

    def _suspect(self) -> str:
        """The launches that are not known to be over."""
        going = sorted((lane for lane in self.pool.all_lanes if lane.used), key=lambda lane: lane.ticket)
        return suspects([*self.work.queued, *(lane.what for lane in going)])

    def _submit(self, batch: Batch) -> None:
        self._let_go()
        ring, table = self.pool.ring, batch.table
        ready = self._take_ahead(batch)
        if ready is not None:
            self.device.stats.pages += len(batch.numbers)
            batch.done()
            self._run(table, batch.numbers, *ready)
            return
        pieces, at = cut_by_reach(batch.numbers, table, self.work.reach, ring.batch_pages), 0
        for number, piece in enumerate(pieces):
            place = ring.place(piece, table)
            lane = self.pool.lanes[place.stream]
            self._count_moved(self._copy(batch, slice(at, at + len(piece)), place, lane))
            at += len(piece)
            if number == len(pieces) - 1:
                self._letting_go.append((lane, batch.done))
            self.device.stats.pages += len(piece)
            self._run(table, piece, place, lane)

    @in_context
    def submit_ahead(self, batch: Batch) -> bool:
        """Copy a batch that the next step will ask for, so that the link is busy while vertices are; False: no room.

        Only where all pages pass through the ring, one batch a lane.
        """
        ring = self.pool.ring
        whole = not self.work.reach and len(batch.numbers) <= ring.batch_pages
        if not whole or len(self._ahead) == len(self.pool.lanes) or ring.admits(batch.table):
            return False
        place = ring.place(batch.numbers, batch.table)
        lane = self.pool.lanes[place.stream]
        copied = self._copy(batch, slice(0, len(batch.numbers)), place, lane)
        self._ahead.append((batch, place, lane, copied))
        return True

    def _take_ahead(self, batch: Batch) -> tuple[Placement, Lane] | None:
        """Where a batch lies that was copied ahead; if another one was, all of them are in vain."""
        if self._ahead and np.array_equal(self._ahead[0][0].numbers, batch.numbers):
            _, place, lane, copied = self._ahead.popleft()
            self._count_moved(copied)
            return place, lane
        self._drop_ahead()
        return None

    def _drop_ahead(self) -> None:
        """Forget what was copied in vain; it moved all the same."""
        for *_, copied in self._ahead:
            self._count_moved(copied)
        self._ahead.clear()

    def _count_moved(self, copied: Copied) -> None:
        self.device.stats.pages_moved += copied.pages
        self.device.stats.bytes_moved += copied.nbytes

    def _copy(self, batch: Batch, part: slice, place: Placement, lane: Lane) -> Copied:
        """Queue the copies of a part of a batch, a run of neighbouring rows at a time, and what decodes them, if any.

        All copies go to one stream of their own: changing streams costs the link some 5 %.
        """
        table, pool, stream = batch.table, self.pool, self.pool.copies
        pages = part.stop - part.start
        lane.wait()  # its rows are read until then
        self._let_go_of(lane)
        if place.waits:  # so are cache slots that are overwritten, by launches on any stream
            users = [(other.ticket, other.over) for other in pool.lanes]
            for ticket, over in [*users, (self._held_ticket, self._held_over)]:
                if ticket in place.waits:
                    stream.wait_for_event(over)
        with span_of(self._spans, "copies", f"copy: {pages} pages of {table.name}", stream):
            copied = (self._move_coded if batch.coded else self._move)(batch, part, place, stream)
        lane.copied.record(stream)
        lane.stream.wait_for_event(lane.copied)
        if copied.work:
            with span_of(self._spans, f"stream {place.stream}", f"decode: {pages} pages of {table.name}", lane.stream):
                for decode in copied.work:
                    decode(lane.stream)
        return copied

    def _move(self, batch: Batch, part: slice, place: Placement, stream: Any) -> Copied:
        """Pages into the rows that they are read from; nothing is left to be queued."""
        table, pool, to, source = batch.table, self.pool, place.rows, batch.rows[part]
        for low, high in runs(to, source):
            rows = slice(int(source[low]), int(source[low]) + high - low)
            at = int(to[low])
            self.gpu.write(pool.pages.address + at * table.page_bytes, batch.pages[rows], stream)
            if batch.weights is not None:
                assert pool.weights.nbytes, "pages with weights for work without"
                where = pool.weights.address + at * table.weight_page_bytes
                self.gpu.write(where, batch.weights[rows], stream)
        return Copied(len(to), table.bytes_of(len(to), batch.weights is not None), [])

    def _move_coded(self, batch: Batch, part: slice, place: Placement, stream: Any) -> Copied:
        """Coded pages into the lane's room for them, or to where they stay; those that are there are not moved."""
        table, pool, to, numbers = batch.table, self.pool, place.rows, batch.numbers[part]
        decoder, at = pool.decoder(table), pool.coded.address + place.stream * pool.coded_bytes
        work: list[partial[None]] = []
        kinds = [(batch.pages, batch.begins, pool.pages.address, table.page_bytes, decoder.decode)]
        if batch.weights is not None:
            kinds.append(
                (batch.weights, batch.weights_begins, pool.weights.address, table.weight_page_bytes,
                 decoder.decode_weights)
            )  # fmt: skip
        kept, moved = pool.kept.get(table.name), 0
        here = np.zeros(len(numbers), bool) if kept is None else kept.admit(numbers)[0]
        for weights, (array, begins, address, width, decode) in enumerate(kinds):
            assert begins is not None
            sizes, begins = table.coded_sizes(bool(weights))[numbers], begins[part]
            stay = np.full(len(numbers), -1) if kept is None else kept.places(numbers, bool(weights))
            for low, high in coded_runs(numbers, to, sizes, begins, stay, here):
                begin, end = int(begins[low]), int(begins[high - 1] + sizes[high - 1])
                there = at if stay[low] < 0 else int(stay[low])
                if not here[low]:
                    self.gpu.write(there, array[begin:end], stream)
                    moved += end - begin
                at += end - begin if stay[low] < 0 else 0
                pages = int(numbers[low]), int(numbers[low]) + high - low
                work.append(partial(decode, *pages, there, address + int(to[low]) * width))
        return Copied(int(np.count_nonzero(~here)), moved, work)

    def _run(self, table: PageTable, numbers: np.ndarray, place: Placement, lane: Lane) -> None:
        """Queue the kernel of pages that are being copied to the lane's rows, or that were there."""
        self._queue_kernel(self.pool.launch(table, numbers, place.rows, lane), lane, f"stream {place.stream}")
        lane.ticket = self.pool.ring.ticket(place)

    def _queue_kernel(self, pages: Launch, lane: Lane, track: str) -> None:
        """Queue the kernel on its lane, after what is on the work's stream."""
        self._busy = True
        if self.work.ready is not None:
            lane.stream.wait_for_event(self.work.ready)
        name = f"kernel: {len(pages.numbers)} pages of {pages.table.table.name}"
        with span_of(self._spans, track, name, lane.stream):
            lane.what = self._launch(pages, lane.stream)
        lane.over.record(lane.stream)
        lane.used = True

    def _launch(self, pages: Launch, stream: Any) -> str:
        """Queue the work's kernel; what it was, for errors that show later."""
        first, last, name = pages.numbers[0], pages.numbers[-1], pages.table.table.name
        what = f"{self.work.name} over {len(pages.numbers)} pages, {first} to {last}, of topology {name}"
        try:
            self.work.launch(pages, stream)
        except self.gpu.cuda.Error as error:
            raise self.gpu.failure(what, error) from error
        return what

    @property
    def behind(self) -> int:
        """Batches whose copies are not known to be over."""
        with self.gpu:
            self._let_go()
        return len(self._letting_go)

    def _let_go(self, all_of_them: bool = False) -> None:
        """Tell the sources of batches whose copies are over."""
        while self._letting_go and (all_of_them or self._letting_go[0][0].copied.query()):
            self._let_oldest_go()

    def _let_go_of(self, lane: Lane) -> None:
        """The same for what a lane copied last, before its event stands for another copy; copies end in order."""
        while any(waiting is lane for waiting, _ in self._letting_go):
            self._let_oldest_go()

    @in_context
    def wait_for_room(self) -> None:
        """Let the oldest batch get past its copy."""
        self._let_oldest_go()

    def _let_oldest_go(self) -> None:
        """The same; the caller reports errors of CUDA."""
        if self._letting_go:
            lane, done = self._letting_go.popleft()
            self.gpu.peer_wait.wait_event(lane.copied)
            done()

    @in_context
    def wait_for_batches(self) -> None:
        """Return when all batches are over; launches on the work's stream, and copies ahead, go on."""
        if self._busy:
            self._busy = False
            for lane in self.pool.all_lanes:
                lane.wait()
                lane.ticket = -1
            self._let_go(all_of_them=True)

    @in_context
    def wait(self) -> None:
        """Return when all launches are over; copies ahead go on."""
        self.wait_for_batches()
        with self.gpu.suspecting(self.work.queued):
            self.gpu.peer_wait.wait_for(self.work.stream)
        self.work.queued.clear()
        self.all_over()

    def all_over(self) -> None:
        """Batches are known to be over; launches over cached pages, too, if nothing is queued on the work's stream."""
        if not self.work.queued:
            self._held_ticket = -1
            self.pool.ring.all_over()
        if self._spans is not None:
            self._spans.flush()

    @in_context
    def arrive(self) -> None:
        """Mark how far the work's stream is, once all batches are over."""
        self.wait_for_batches()
        with self.gpu.suspecting(self.work.queued):
            self.met.event.record(self.work.stream)

    @in_context
    def depend(self, others: Sequence[Mark]) -> None:
        """Have what is queued next come after what the others' marks stand for."""
        with self.gpu.suspecting(self.work.queued):
            if not self._depends:
                self._depends = True
                self.gpu.peer_wait.begin(self.gpu.event(), [other.look for other in others])
            for other in others:
                self.work.stream.wait_for_event(other.event)

    def _check_coded(self) -> None:
        """Raise StoreError where a coded page named what is no vertex: its answer is none."""
        if (name := self.pool.misled(self.work.stream)) is not None:
            raise StoreError(
                f"topology {name}: a coded page names a vertex that is not there, though its checksum is right: no "
                "accident made it so. Run `gstream verify` on the store, and convert the graph again."
            )

    def close(self, ended: bool = False) -> None:
        """Return when nothing is queued any more; the last call, also where it breaks off."""
        over = False
        try:
            self.wait()
            self._drop_ahead()
            self.gpu.synchronize()
            if self._spans is not None:
                self._spans.flush()
            self.device.stats.edges += self.work.take_edges()
            self._check_coded()
            over = True
            self.gpu.peer_wait.end()
        finally:
            self.work.close(ended and over)
            self._held_over = None  # not later, when an error's traceback lets go of this queue
            self.met.free()


def runs(to: np.ndarray, source: np.ndarray) -> list[tuple[int, int]]:
    """Ranges of indices in which rows are neighbours on both sides, which one copy moves."""
    if is_run(to) and is_run(source):
        return [(0, len(to))]
    breaks = (np.flatnonzero((np.diff(to) != 1) | (np.diff(source) != 1)) + 1).tolist()
    return list(zip([0, *breaks], [*breaks, len(to)], strict=True))
