"""The interfaces between the driver and what runs page kernels (docs/pages/explanation/places.md).

    Device      memory, jobs, kernels over pages, copies; its `state` has the kernels over vertices
    Exchange    how the devices of a run agree: order, slices of attributes, counts

The driver calls them in this order. Devices may queue their work and do it late. Before a device is in order with the
others (`Exchange.order`), neither peers nor the driver may read its memory.

    attach(job)                           once: memory for WA, RA, bitmaps, page buffers; the rest becomes page cache
    for each chunk: state.load, state.start(slice), gather, state.store        first values, active bits and totals
    each superstep:
      state.heads(slice), gather          pull steps of programs with `done`: what the resident heads settle
      state.refresh(chunk)                RA of a pull: the messages of all vertices, from WA chunk by chunk (unless
                                          `apply` sent them)
      for each chunk of WA:
        state.load(chunk)                 step 1 of Figure 5: WA from host memory, where it is not resident
        begin(step)                       step 2: what is in the device's page cache is processed in one launch,
        run_cached_pages(pages)           pages with few wanted lists in one more, which reads them in host memory,
        submit_in_place(batch)            the rest comes by batches: a copy, then the kernel on one of its streams
        submit(batch)...
        submit_ahead(batch)...            copies for the next superstep, which go on while vertices are worked on
        reduce(slices)                    step 3: each device combines its slice of everybody's copy,
        state.apply(slice)                computes the new values of its slice,
        gather(slices)                    and hands them round (messages instead, where `apply` sent them)
        state.store(slice)                step 4: WA to host memory, where it is not resident
      state.advance()                     what was marked becomes the frontier
      run_ahead(rules)                    supersteps that a device which has all pages makes by itself, instead of these
      state.hold_back(step)               of which only what is near sends, where the plan says so
      (gstream.engine.delta_stepping), state.readmit(pages)                  and the rest of pages that are copied whole
      frontier, state.list_vertices, state.lists_of          what the driver asks the first device about bitmaps
      collect, state.read_bits, state.read_values            what a checkpoint keeps; state.restore is its start
    detach()

    begin_sweep(kernel), run_cached_pages, submit..., end_sweep      a page kernel, not a program; no job is attached
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from typing import Any, ClassVar

import numpy as np

from gstream.devices.job import DevicePlan, DeviceStats, Job, Made, Range, Repeat, Rules, Step
from gstream.devices.page_kernel import PageKernel
from gstream.devices.vertices import Vertices
from gstream.hostcode.generate import BLOCK
from gstream.paging.kept_memory import FRESH
from gstream.paging.ownership import Partition
from gstream.paging.page_source import Batch, nothing
from gstream.paging.page_table import PageTable
from gstream.records.held import Held

Call = Callable[..., Any]  # of a device and its number
Feeding = Generator[None, None, None]  # submits pages to one device, a batch a step


class Device(ABC):
    """One device of a run.

    exchange: how several of its kind agree. in_place: reads pages where they lie in host memory, so that batches need
    no cutting. zero_copy: kernels can read pages in pinned host memory, too, over the link. decodes: it takes coded
    pages. pins: copies run faster from memory that `pin` was called for. pieces: launches for pages that are in memory
    already, where the exchange has work between them. reads_late: a device of tests, which finds out who lets go of
    rows that are still to be read.
    """

    exchange: ClassVar[type[Exchange]]
    in_place = False
    zero_copy = False
    pins = False
    decodes = False
    pieces = 1
    reads_late = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.stats = DeviceStats()

    # Memory and jobs

    @property
    @abstractmethod
    def state(self) -> Vertices:
        """Attributes of the job that is attached."""

    @property
    @abstractmethod
    def memory_bytes(self) -> int:
        """Bytes the device holds now."""

    def capacity(self) -> int | None:
        """Bytes that a job may hold on the device; None where host memory is the only limit."""
        return None

    def cached(self, plan: DevicePlan, tables: dict[str, PageTable], weights: bool) -> dict[str, np.ndarray]:
        """Pages (int64[n] by topology) of runs before that a job planned so will find on the device."""
        return {}

    def pin(self, array: np.ndarray, touched: bool = False) -> Callable[[], None]:
        """Make host memory that batches will come from quick to copy; returns what undoes it.

        touched: it has been written to, for the most part; another thread may write to the rest meanwhile.
        """
        return nothing

    def take(self, count: int, dtype: Any, fill: Any = None) -> np.ndarray:
        """Host memory for an array of a call, quick to copy to and from; all `fill`, None: holding anything."""
        return FRESH.take(count, dtype, fill)

    def hand_over(self) -> np.ndarray | Held:
        """value[V] of a resident job that is over, in store order, where they are: they outlive the job."""
        return self.state.read_values()

    def hold(self, count: int, dtype: Any) -> np.ndarray | Held:
        """Room for an array that kernels of the device make, and that outlives the call; holding anything. Raises
        DeviceMemoryError."""
        return self.take(count, dtype)

    def there(self, name: str, array: np.ndarray) -> np.ndarray | Held:
        """An array of the store's, which never changes, or the device's copy of it, kept by name."""
        return array

    def keeps_all(self, table: PageTable) -> bool:
        """Whether it has memory of its own, with a slot for every page of a topology, and all keep theirs."""
        return False

    def take_stats(self) -> DeviceStats:
        """What was counted since the last call; the counters start anew."""
        counted, self.stats = self.stats, DeviceStats()
        return counted

    @abstractmethod
    def attach(self, job: Job) -> None:
        """Take the memory that job.plan names. Raises ResourceError when it is not there."""

    def wait_quietly(self) -> None:
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

    # Kernels over pages

    @abstractmethod
    def begin(self, step: Step) -> None:
        """The batches that follow belong to `step`."""

    def run_cached_pages(self, table: PageTable, numbers: np.ndarray) -> np.ndarray:
        """Run the step's kernel over those of the pages (int64[n], ascending) that the device holds.

        Returns the others, which must be submitted. Devices that read pages where they lie hold none.
        """
        return numbers

    def absent(self, table: PageTable, numbers: np.ndarray) -> np.ndarray:
        """Those of the pages (int64[n], ascending) that the device would not hold if they were asked for next."""
        return numbers

    @property
    def behind(self) -> int:
        """Batches that were submitted and whose copies are not known to be over."""
        return 0

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

    def wait_for_room(self) -> None:
        """Let the oldest unfinished batch get past its copy, so that its host memory comes free."""
        return None

    def wait(self) -> None:
        """Return when everything that was queued is done. Raises the first error of it."""
        return None

    def repeat(self, table: PageTable, numbers: np.ndarray) -> Repeat | None:
        """What lets the last pull, over these pages, be queued again before its frontier is known; None: it can't."""
        return None

    def run_ahead(self, rules: Rules, first: int, limit: int | None) -> Made | None:
        """Make supersteps from number `first` on, up to number `limit`, without the driver, as far as all pages that
        they need are on the device; the rules are carried on. None where it can't do that."""
        return None

    @abstractmethod
    def frontier(self, edges: bool, table: PageTable | None) -> tuple[int, int, int, np.ndarray | None]:
        """How many vertices are active; the edges that leave them, about, where `edges` asks; how many are held back.

        Last, `lists_of` the active in `table`; None without one. In one call, for a device may take its time to answer.
        """

    @abstractmethod
    def finish_counts(self) -> int:
        """Bring `stats` up to date, as `frontier` does. Returns how many vertices of this device's slice `apply` found
        active, where it sends: those that the first device's `frontier` does not count."""

    @abstractmethod
    def begin_sweep(self, kernel: PageKernel, tables: dict[str, PageTable], plan: DevicePlan) -> None:
        """The batches that follow go to a page kernel with a fresh state; no job is attached."""

    @abstractmethod
    def end_sweep(self) -> Any:
        """Finish and hand out the page kernel's state."""


class Exchange(ABC):
    """How the devices of a run agree. `devices`: those of this process.

    Devices are numbered through all processes of a run, each of which makes the same calls in the same order. `slices`
    has one range of the WA chunk a device, in order of numbers; together they make up the chunk. apart: the most
    devices whose memory one device can't read. sends: `apply` can hand its messages to all devices. sent: it has, and
    values and bits may be with the device alone whose slice has them. notifies: supersteps may be a notify and
    a pull of what was told (gstream.engine.notify_pull): all devices know all active bits then.

    partition: which pages each device is given; others may be put in its place between supersteps. with_cores: cores
    beside the devices take pages of the step that begins. first: the number of the first of `devices`. ranks: the
    processes of the run (gstream.devices.ranks), where there are several. bytes_exchanged: that went to them so far.
    note: why devices of ranks agree in a slower way than they could.
    """

    apart = first = 0
    ranks: Any = None
    bytes_exchanged, note = 0, ""
    sends = sent = with_cores = notifies = False
    _slices: Sequence[Range] | None = None
    _sending = False

    def __init__(self, devices: Sequence[Device]) -> None:
        self.devices = devices
        self.partition = Partition.equal(len(devices))

    def close(self) -> None:
        """End threads."""
        return None

    # Order

    @abstractmethod
    def order(self) -> None:
        """Have what is called next on any device come after all that was called on all of them."""

    def each(self, call: Call) -> None:
        """call(device, number) for every device, side by side where they allow it; then `order`."""
        for number, device in enumerate(self.devices, self.first):
            call(device, number)
        self.order()

    def queue(self, call: Call) -> None:
        """The same, but devices that queue what they do, and have all values, go on before others have done it.

        The next `order` comes before any of them changes what another may be reading.
        """
        self.each(call)

    def feed(self, feedings: Sequence[Feeding]) -> None:
        """Go through the steps of all, one a device; then `order`.

        A step of each at a time, all from this thread: threads that feed GPUs wait for each other's interpreter. A
        batch takes a thread some 60 us beside 300 us of the link's time; two threads took 340 us each (measured).
        """
        with ExitStack() as stack:
            going = deque(stack.enter_context(closing(feeding)) for feeding in feedings)
            while going:
                feeding = going.popleft()
                try:
                    next(feeding)
                except StopIteration:
                    continue
                going.append(feeding)
        self.order()

    def begin(self, step: Step) -> None:
        """The pages that follow belong to `step`, and are given out by the partition as it is."""
        for device in self.devices:
            device.begin(step)

    # Attributes

    def attach(self, slices: Sequence[Range] | None, sends: bool) -> None:
        """All devices have a job; its chunks are merged from now on. slices: those of every merge, where all values are
        on the devices. sends: let `apply` write messages to all devices, in place of values.

        A pull of sums needs of a vertex what it sends, and nothing else. So one pass over the vertices is saved, and
        the link carries only what those send that have out-edges.
        """
        self._slices, self._sending, self.sent = slices, sends, False

    def follow(self, tables: dict[str, PageTable]) -> None:
        """Before `attach`: the directions that supersteps may take, with the page set of each."""
        return None

    def reopen(self) -> None:
        """Have the open bits of all devices say which vertices are not done."""
        self.each(lambda device, _: device.state.reopen())

    @abstractmethod
    def reduce(self, slices: Sequence[Range], pulled: PageTable | None, then: Call) -> None:
        """Combine all copies of each slice of WA, and its next bits, on its device; then(device, number), and `order`.

        pulled: a SUM was pulled over this topology: add what its large pages came to, in page order, so that a hub's
        sum has the same bits wherever its pages were.
        """

    @abstractmethod
    def gather(self, slices: Sequence[Range], values: bool) -> None:
        """Hand every slice to all devices: next, open and remain bits, and values if `values`; reset what was got.

        May be queued (see `queue`). Where `apply` has sent, values stay where they are, and bits may.
        """

    def store(self, slices: Sequence[Range]) -> None:
        """Have the new values of all slices in host memory, where they do not stay on devices."""
        for device, part in zip(self.devices, slices[self.first :], strict=False):
            device.state.store(part)

    @abstractmethod
    def collect(self) -> None:
        """Bring the values and active bits of all slices to the first device, if `apply` has sent."""

    def values(self, stay: bool = False) -> Any:
        """value[V] of resident jobs, and bits for `bits_of_all`. stay: on the device, where the run is over."""
        self.collect()
        return self.devices[0].hand_over() if stay else self.devices[0].state.read_values()

    def bits_of_all(self, which: str) -> np.ndarray:
        """The "active" or "held" bits of all vertices after `values`."""
        return self.devices[0].state.read_bits(which)

    def hold_back(self, step: float, least_edges: int) -> None:
        """Vertices.hold_back of all devices, once nobody takes bits from another any more."""
        self.order()
        for device in self.devices:
            device.state.hold_back(step, least_edges)

    def restore(self, values: Any, active: np.ndarray) -> None:
        """Take up values and bits of all vertices. values: of ranks with slices, what gives those of a range, too."""
        self.each(lambda device, _: device.state.restore(values, active))

    # Cores beside devices that copy (gstream.devices.host.beside)

    @abstractmethod
    def hand_out(self, slices: Sequence[Range], cores: Any, names: Sequence[str]) -> Call:
        """Copy arrays of these names (BesideState.needed) to the BesideState `cores`: of values and messages each
        device's slice, and the first device's bitmaps.

        Returns what waits until they are there, in any thread. May be queued: the devices may go on.
        """

    @abstractmethod
    def take_in(self, slices: Sequence[Range], cores: Any) -> None:
        """Combine what cores.touched got into each device's slice, `reduce` follows; may be queued."""

    @abstractmethod
    def share_told(self) -> None:
        """Combine the next bits of all devices, on all of them, after a notify; where it `notifies`."""

    # Counts

    def agreed(self, choice: bool) -> bool:
        """A choice that all processes make, of which each may know something else."""
        return choice

    def frontier(self, edges: bool, table: PageTable | None) -> tuple[int, int, int, np.ndarray | None]:
        """What Device.frontier says, of all devices. Their figures are up to date then, and partials have come."""
        active, out, held, lists = self.devices[0].frontier(edges, table)
        for device in self.devices[1:]:
            active += device.finish_counts()
        return active, out, held, lists

    def partials(self, slices: Sequence[Range]) -> Iterator[tuple[slice, np.ndarray]]:
        """(rows, float64[rows, totals]) of each slice: partials of its blocks, there when `frontier` has returned."""
        for device, (first, last) in zip(self.devices, slices, strict=True):
            if first < last:
                yield slice(first // BLOCK, -(-last // BLOCK)), device.state.partials((first, last))
