"""The one interface between the driver and anything that runs page kernels (architecture sections 5 and 6).

What the driver calls, in this order. Work may be queued and done late by all calls but attach, load and finish;
`finish` is the barrier, and until a device has finished, nothing of it may be read by peers or by the driver. Several
devices may `meet` instead: then peers may read what is there by then, and the driver what `frontier`, `tally` and its
other questions answer, which wait.

    attach(job)                           once: memory for WA, RA, bitmaps, page buffers; the rest becomes page cache
    for each chunk: load, start(slice), finish, gather, store       first values, active bits and totals
    each superstep:
      heads(slice), finish, gather        pull steps of programs with `done`: what the resident heads settle
      refresh(chunk)                      RA of a pull: the messages of all vertices, from WA chunk by chunk (unless
                                          `apply` wrote them: send_to)
      for each chunk of WA:
        load(chunk)                       step 1 of Figure 5: WA from host memory, where it is not resident
        begin(step)                       step 2: what is in the device's page cache is processed in one launch,
        submit_held(pages)                pages with few wanted lists in one more, which reads them in host memory,
        submit_in_place(batch)            the rest comes by batches: a copy, then the kernel on one of its streams
        submit(batch)...
        submit_ahead(batch)...            copies for the next superstep, which go on while vertices are worked on
        finish                            thread synchronization of all devices
        reduce(slice, peers), finish      step 3: each device combines its slice of everybody's copy,
        apply(slice), finish              computes the new values of its slice,
        gather(slices, peers), finish     and hands them round (messages instead, where `apply` wrote them)
        store(slice)                      step 4: WA to host memory, where it is not resident
      advance()                           what was marked becomes the frontier
      run_ahead(rules)                    supersteps that a device which has all pages makes by itself, instead of these
      hold_back(step)                     of which only what is near sends, where the plan says so
      (gstream.engine.delta_stepping), readmit(pages)                      and the rest of pages that are copied whole
      frontier, list_vertices, lists_of                what the driver asks the first device about bitmaps
      collect(slices, peers), read_bits, read_values    what a checkpoint keeps; restore(values, active) is its start
    detach()

    begin_sweep(kernel), submit_held, submit..., end_sweep      a page kernel instead of a program; no job is attached

A slice is a range [first, last) of the chunk; the slices of all devices, in device order, make up the chunk.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gstream.devices.autonomous import Made, Rules
from gstream.devices.device_stats import DeviceStats
from gstream.devices.early_pull import Repeat
from gstream.devices.page_kernel import PageKernel
from gstream.paging.page_source import Batch, nothing
from gstream.paging.page_table import PageTable
from pagestore.errors import ResourceError

Range = tuple[int, int]


class DeviceMemoryError(ResourceError):
    """A device has less memory than the plan thought: plan again with less."""


@dataclass
class HostVertices:
    """Attributes in host memory. Arrays are of all V vertices, or of none where the program does not read them.

    degree, in_degree: u4 or u8; own: as HostCode lays out PerVertex parameters; value: the values where no device
    holds them all (None otherwise); next_value: where new values go while old ones are still read (else `value`).
    heads: topology name -> (id[rows, 4], head_skip).
    """

    degree: np.ndarray
    in_degree: np.ndarray
    value: np.ndarray | None = None
    next_value: np.ndarray | None = None
    heads: dict[str, tuple[np.ndarray, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class DevicePlan:
    """What one device holds; numbers in vertices and pages.

    resident: the values of all vertices stay on the device (one chunk); otherwise WA is loaded by chunks.
    message: RA of a pull is an array of messages; source_copy: RA of a pull is a copy of all values (chunked WA).
    held_bits: vertices may be held back. chunk: vertices of WA at once.
    reach: vertices of RA that one batch of a streamed RA may span.
    by_degree: the first vertices have the most edges. cache_pages: topology name -> slots of the page cache.
    micro: lanes that share a record (RunOptions.micro). spare_bytes: of its memory, that nothing else is planned for.
    senders, receivers: vertices from these on have no out-edges, and no in-edges, as far as is known.
    """

    resident: bool
    message: bool
    source_copy: bool
    chunk: int
    reach: int
    heads: bool
    open_bits: bool
    senders: int
    receivers: int
    held_bits: bool = False
    by_degree: bool = False
    streams: int = 1
    batch_pages: int = 1
    cache_pages: dict[str, int] = field(default_factory=dict)
    policy: str | None = None
    micro: str = "hybrid"
    spare_bytes: int = 0

    @property
    def rows(self) -> int:
        """Pages that a device which copies has room for: batch buffers and caches."""
        return self.streams * self.batch_pages + sum(self.cache_pages.values())


@dataclass
class Job:
    """One program on one store: its compiled code (gstream.hostcode.HostCode), plan and host arrays."""

    code: Any
    plan: DevicePlan
    vertices: int
    tables: dict[str, PageTable]
    host: HostVertices


@dataclass
class Step:
    """What the kernels of one nested-loop join have in common.

    direction: "push" or "pull"; table: the topology whose pages come. listed: uint64[k], ascending: only these
    vertices (push: sources that are all active; pull: vertices that are all open), the first `skip` neighbours of
    each left out; None: all, by their bits. remain: a pull goes by the remain bits that `heads` wrote, not by the
    open bits.
    """

    direction: str
    table: PageTable
    listed: np.ndarray | None = None
    skip: int = 0
    remain: bool = False


class Device(ABC):
    """One device of a run. `in_place`: reads pages where they lie in host memory, so that batches need no cutting.

    `zero_copy`: kernels can read pages in pinned host memory, too, over the link.
    `pins`: copies run faster from memory that `pin` was called for.
    `queues`: calls only queue what they do, so that one thread serves several such devices in turn.
    `reads_late`: a device of tests, which finds out who lets go of rows that are still to be read.
    `threaded`: the driver may serve it from a thread of its own beside other devices; where it may not, devices are
    finished in order of `lateness`, asked for each time.
    """

    in_place = False
    zero_copy = False
    pins = False
    queues = False
    reads_late = False
    threaded = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.stats = DeviceStats()

    def lateness(self) -> float:
        """Order in which devices that are not threaded are finished."""
        return 0.0

    def capacity(self) -> int | None:
        """Bytes that a job may hold on the device; None where host memory is the only limit."""
        return None

    def cached(self, plan: DevicePlan, tables: dict[str, PageTable], weights: bool) -> dict[str, np.ndarray]:
        """Pages (int64[n] by topology) of runs before that a job planned so will find on the device."""
        return {}

    def apart(self, peers: Sequence[Device]) -> int:
        """How many of the peers have memory that this device can't read."""
        return 0

    def spread(self, slices: list[Range], peers: Sequence[Device]) -> bool:
        """Let pulls of SUM write what a vertex got to the peer whose slice has it, so that none needs to `reduce`.

        False where that can't be done; all peers say the same. Holds until `detach`.
        """
        return False

    def send_to(self, peers: Sequence[Device]) -> bool:
        """Let `apply` also write what vertices send, to all peers: no `refresh` then, and no `gather` of values.
        Values and bits may stay with the device whose slice has them, until `collect`.

        False where that can't be done; all peers say the same. Holds until `detach`.
        """
        return False

    def run_ahead(self, rules: Rules, first: int, limit: int | None) -> Made | None:
        """Make supersteps from number `first` on, up to number `limit`, without the driver, as far as all pages that
        they need are on the device; the rules are carried on. None where it can't do that."""
        return None

    def pin(self, array: np.ndarray, touched: bool = False) -> Callable[[], None]:
        """Make host memory that batches will come from quick to copy; returns what undoes it.

        touched: it has been written to, for the most part; another thread may write to the rest meanwhile.
        """
        return nothing

    def take_stats(self) -> DeviceStats:
        """What was counted since the last call; the counters start anew."""
        counted, self.stats = self.stats, DeviceStats()
        return counted

    @abstractmethod
    def attach(self, job: Job) -> None:
        """Take the memory that job.plan names. Raises ResourceError when it is not there."""

    def rest(self) -> None:
        """Return when nothing that was queued is under way; raises nothing."""
        return None

    @abstractmethod
    def detach(self) -> None:
        """Forget the job or sweep, and what is queued of it; give its memory back (page caches may stay)."""

    @abstractmethod
    def release(self) -> None:
        """Give back what is kept between runs."""

    @abstractmethod
    def close(self) -> None:
        """End threads and free everything."""

    @property
    @abstractmethod
    def memory_bytes(self) -> int:
        """Bytes the device holds now."""

    @abstractmethod
    def load(self, chunk: Range, values: bool) -> None:
        """Make `chunk` the WA chunk. values: bring its values from host memory. Done on return. Resident: nothing."""

    @abstractmethod
    def start(self, part: Range) -> None:
        """First values, next bits, open bits and partials of a slice of the chunk."""

    @abstractmethod
    def refresh(self, part: Range) -> None:
        """RA of a pull for a slice of the chunk: messages or a copy of the values."""

    @abstractmethod
    def reopen(self) -> None:
        """Open bits of all vertices from their values (resident, programs with `done`)."""

    @abstractmethod
    def heads(self, step: Step, part: Range) -> None:
        """Settle open vertices of a slice from the heads of step.table; writes value, next, open and remain bits."""

    @abstractmethod
    def begin(self, step: Step) -> None:
        """The batches that follow belong to `step`."""

    def submit_held(self, table: PageTable, numbers: np.ndarray) -> np.ndarray:
        """Run the step's kernel over those of the pages (int64[n], ascending) that the device holds.

        Returns the others, which must be submitted. Devices that read pages where they lie hold none.
        """
        return numbers

    def absent(self, table: PageTable, numbers: np.ndarray) -> np.ndarray:
        """Those of the pages (int64[n], ascending) that the device would not hold if they were asked for next."""
        return numbers

    @abstractmethod
    def submit(self, batch: Batch) -> None:
        """Copy a batch and run the step's kernel over it, in stream order; batch.done is called after the copy."""

    def submit_in_place(self, batch: Batch) -> None:
        """Run the step's kernel over pages that stay in host memory, of which it reads what is wanted.

        What crosses a link is for the driver to count. Devices that copy nothing read all pages so.
        """
        self.submit(batch)

    def submit_ahead(self, batch: Batch) -> bool:
        """Copy a batch that the next step will submit first, after others copied so; False: no more."""
        return False

    def repeat(self, table: PageTable, numbers: np.ndarray) -> Repeat | None:
        """What lets the last pull, over these pages, be queued again before its frontier is known; None: it can't."""
        return None

    @abstractmethod
    def make_room(self) -> None:
        """Let the oldest unfinished batch get past its copy, so that its host memory comes free."""

    @abstractmethod
    def finish(self) -> None:
        """Return when everything that was queued is done. Raises the first error of it."""

    def meet(self, peers: Sequence[Device]) -> bool:
        """Have what is called next on any peer come after all that was called; False: they must be finished first."""
        return False

    @abstractmethod
    def tally(self) -> int:
        """Bring `stats` up to date, after finish; `frontier` does so too. Returns how many vertices of this device's
        slice `apply` found active, where it sends: those that the first device's `frontier` does not count."""

    def settle(self) -> None:
        """Return when what is called next comes after everything that was queued: `finish` for a device alone."""
        self.finish()

    @abstractmethod
    def reduce(self, part: Range, peers: Sequence[Device]) -> None:
        """Combine every peer's copy of a slice of WA, and its next bits, into this device's."""

    @abstractmethod
    def add_hubs(self, table: PageTable, part: Range, peers: Sequence[Device]) -> None:
        """Add the sums of the large pages that any of the peers pulled since `begin` to what hubs of a slice got.

        In page order, so that a hub's sum has the same bits wherever its pages were.
        """

    @abstractmethod
    def apply(self, part: Range) -> None:
        """New values of a slice from what it got, its next bits and partials (programs that do not relax in place)."""

    @abstractmethod
    def gather(self, parts: Sequence[Range], peers: Sequence[Device], values: bool) -> None:
        """Take every peer's slice: next, open and remain bits, and values if `values`; reset what was got.

        Where `apply` sends, bits may stay where they are.
        """

    @abstractmethod
    def collect(self, parts: Sequence[Range], peers: Sequence[Device]) -> None:
        """Take the values and active bits of the peers' slices, which no `gather` brought (send_to)."""

    @abstractmethod
    def store(self, part: Range) -> None:
        """Values of a slice of the chunk to host memory (HostVertices.next_value)."""

    @abstractmethod
    def partials(self, part: Range) -> np.ndarray:
        """float64[blocks of the slice, totals]: there when `frontier` or `tally` has returned; until the next call."""

    @abstractmethod
    def advance(self) -> None:
        """Next bits become the active bits; next bits are cleared."""

    @abstractmethod
    def hold_back(self, step: float, least_edges: int) -> None:
        """Who was held back is active again; of least_edges and more, those with values past the least + step are held.

        Only where the plan has held_bits.
        """

    @abstractmethod
    def readmit(self, table: PageTable, pages: np.ndarray) -> None:
        """Who is held back in small pages (int64[n]) is active after all; not hubs, whose large pages do not come."""

    @abstractmethod
    def frontier(self, edges: bool, table: PageTable | None) -> tuple[int, int, int, np.ndarray | None]:
        """How many vertices are active; the edges that leave them, about, where `edges` asks; how many are held back.

        Last, `lists_of` the active in `table`; None without one. In one call, for a device may take its time to answer.
        """

    @abstractmethod
    def list_vertices(self, which: str, most: int) -> np.ndarray | None:
        """uint64[k], ascending: vertices whose bit is set; which: "active", "open" or "remain".

        None where there are more than `most`, and from devices whose kernels had rather test every bit.
        """

    @abstractmethod
    def lists_of(self, which: str, table: PageTable) -> np.ndarray:
        """integers[pages]: how many vertices of each page's range of `table` have their bit set."""

    @abstractmethod
    def read_values(self) -> np.ndarray:
        """value[V] of a resident job, in store order."""

    @abstractmethod
    def read_bits(self, which: str) -> np.ndarray:
        """uint64[ceil(V / 64)], a copy: the "active" bits, or the "held" ones where the plan has held_bits."""

    @abstractmethod
    def restore(self, values: np.ndarray, active: np.ndarray) -> None:
        """Go on from value[V] (resident; else the driver has put them into HostVertices) and active bits. No vertex is
        held back, all are open. Done when the device has finished."""

    @abstractmethod
    def begin_sweep(self, kernel: PageKernel, tables: dict[str, PageTable], plan: DevicePlan) -> None:
        """The batches that follow go to a page kernel with a fresh state; no job is attached."""

    @abstractmethod
    def end_sweep(self) -> Any:
        """Finish and hand out the page kernel's state."""
