"""What an algorithm needs of an engine: programs, sweeps of page kernels, heads, degrees, threads, and the figures.

One `Session` is made for each call of an algorithm; the engine behind it keeps pages and devices from call to call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from gstream.algorithms.support.array_sweep import Across, ArraySweep, Join
from gstream.algorithms.support.gpu_room import GpuRoom
from gstream.algorithms.support.keeping import Keeping
from gstream.devices.job import DeviceMemoryError
from gstream.devices.ranks import Ranks
from gstream.engine.direction import LISTED
from gstream.hostcode.bitmaps import count_bits, count_pages, list_bits
from gstream.hostcode.records import load_kernel
from gstream.options.stopping import Asked
from gstream.planning.memory_fit import Graph
from gstream.records import ItemKernel, RecordKernel, bytes_of
from gstream.records.held import Held
from gstream.telemetry.stats import RunOutcome, RunStats
from pagestore.errors import CapError
from pagestore.layout import HEAD_NEIGHBOURS

if TYPE_CHECKING:
    from gstream.devices.gpu.resident_arrays import GpuArrays

ITEMS_A_THREAD = 1 << 16  # a few ns each, beside 20 to 50 us for waking a thread
LONG_EDGES = 1 << 18  # of fewer, lists are joined with lists in some 0.1 s
LIST_BYTES = 5000  # that are copied to a GPU and back while the host's cores find and read a list: some 200 ns
# Heads are kept where they take at most this part of the memory cap, else read by parts a tenth as large.
HEADS_SHARE = 4


class Session(Keeping, GpuRoom):
    """One call of an algorithm on an engine; use it as a context manager."""

    def __init__(self, engine: Any, name: str = "", options: dict[str, Any] | None = None) -> None:
        """name, options: of the algorithm, as the user knows them; none where programs are run as they are."""
        self.engine = engine
        self.asked = Asked(name, options) if name else None
        self.store = engine.store
        self.meta = engine.store.meta
        self.stats = RunStats()
        self._counter = np.zeros(1, np.int64)
        self._needed: set[str] = set()  # arrays that the engine keeps and the call works with
        self.proof_bytes = 0  # that the certificate takes in all, where one follows the run
        self.programs: list[Any] = []  # of the call, whose caps are checked together
        self.stays = False  # the values of the program that is planned: `let_stay`
        self.stands_in = False  # the planned program stands for page kernels, whose caps are checked
        self.least_bytes = self.most_bytes = 0  # of arrays: `check_memory`
        self.sweeps, self.weighs, self.swept_if = True, False, ""  # whether the call reads pages, and weights; when
        self.holds: Callable[[Graph], dict[str, int]] | None = None  # what these hold, where ranks have slices alone
        self.later = 0  # bytes in all that the call takes after its programs
        self._held, self._lacking = WeakSet(), ""  # lacking, a note: an option of the caller had no effect
        self._read_before = engine.sources.bytes_read
        self._began = time.perf_counter()
        engine.peak = 0  # of this call, or plan

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.engine.add_counts(RunStats())  # a certificate's, and those of a call that failed, are no later one's
        self.engine.beside_bytes = self.engine.beside_device_bytes = self.engine.later_bytes = 0
        self.engine.swept.clear()
        self.engine.way = ""

    def foresee(self, beside: int = 0, later: int = 0) -> None:
        """Count what a call takes with its programs, before the first is planned. beside: bytes of arrays that it holds
        beside them; later: bytes in all after them. The plan of a program says what all of it takes."""
        self.engine.beside_bytes += beside
        self.later = max(self.later, later)
        self.engine.later_bytes = max(self.later, self.proof_bytes)

    def reserve(self, *arrays: np.ndarray | Held) -> None:
        """Count arrays of all vertices as held: sweeps have so much less for pages. Raises ResourceError."""
        self.engine.beside_bytes += sum(array.nbytes for array in arrays)
        self._make_room()
        cap, held = self.engine.options.host_memory, self.engine.beside_bytes
        if cap is not None and held > cap:
            raise self._too_little(held + self.least_pages(), held)

    def zeros(self) -> np.ndarray:
        """float64[V] of zeros; of a plan that nothing runs by, one number in all places."""
        vertices = self.meta.vertices
        return np.broadcast_to(np.zeros(1), vertices) if self.engine.plans_only else np.zeros(vertices)

    def release(self, *arrays: np.ndarray | Held) -> None:
        """The opposite of `reserve`, for arrays that are given back before the call ends."""
        self.engine.note_peak()
        self.engine.beside_bytes -= sum(array.nbytes for array in arrays)

    def begin_again(self) -> None:
        """The opposite of `reserve` for all arrays so far."""
        self.engine.note_peak()
        self.engine.beside_bytes = self.engine.beside_device_bytes = 0
        self._needed.clear()

    def check_memory(
        self, swept: int, alone: int = 0, weights: bool = False, enough: Callable[[], int] = int, most: int = 0
    ) -> None:
        """Raise ResourceError, before any work, if the memory cap is less than a call is known to take.

        swept: bytes of arrays beside which pages are swept, with weights or without. alone: the most bytes while no
        page is swept. enough: finds the bytes that do for sure, which the error names, if the call may take more than
        these. most: bytes of arrays where memory is not short, which a plan tells; they count what the engine keeps.
        """
        self.weighs |= weights
        self.least_bytes = max(self.least_bytes, swept, alone)
        self.most_bytes = max(self.most_bytes, self.least_bytes, most)
        cap, need = self.engine.options.host_memory, max(swept + self.least_pages(weights), alone, self.proof_bytes)
        if cap is not None and need > cap:
            raise self._too_little(max(need, enough()), max(swept, alone))

    def least_pages(self, weights: bool = False) -> int:
        """The fewest bytes of pages beside which a sweep works."""
        counts = self.engine.device_counts
        return max(table.least_bytes(weights, *counts) for table in self.engine.graph.tables.values())

    def _make_room(self) -> None:
        """Drop arrays that this call has not asked for, and pages, where memory is over its cap."""
        cap, engine = self.engine.options.host_memory, self.engine
        pages = 0 if cap is None else self.least_pages(self.meta.weighted)
        if cap is not None and engine.beside_bytes + engine.arrays.nbytes + pages > cap:
            engine.arrays.keep(self._needed)
        engine.trim()

    def _too_little(self, need: int, held: int) -> CapError:
        said, option = f"--host-memory {self.engine.options.host_memory} bytes: too little;", "--host-memory"
        if need <= self.proof_bytes:
            return CapError(
                f"{said} {self.proof_bytes} bytes are needed at least, to certify the answer. Raise --host-memory, or "
                "leave --certify out.",
                option,
                self.proof_bytes,
            )
        return CapError(
            f"{said} {need} bytes are needed at least: the attributes of {self.meta.vertices} vertices alone take "
            f"{held} bytes. Raise --host-memory.",
            option,
            need,
        )

    def _array(self, name: str, read: Callable[[], np.ndarray]) -> np.ndarray:
        """An array that the engine keeps, as far as memory goes. Raises ResourceError."""
        array = self.engine.arrays.get(name, read)
        if self.on_gpus or not name.startswith("heads/"):  # heads are read again part by part; GPUs' copies may be due
            self._needed.add(name)
        self._make_room()
        cap, held = self.engine.options.host_memory, self.engine.beside_bytes + self.engine.arrays.nbytes
        if cap is not None and held > cap and name in self.engine.arrays:  # heads of hosts may have gone at once
            raise self._too_little(held + self.least_pages(), held)
        return array

    def degrees_done(self) -> None:
        """Degrees that were asked for may go where memory is short."""
        self._needed -= {"degree", "in_degree"}

    def names_done(self) -> None:
        """`natural_ids` and `store_ids` may go where memory is short."""
        self._needed -= {"natural_ids", "store_ids"}

    @property
    def id_dtype(self) -> np.dtype:
        return self.store.layout.id_dtype

    @property
    def none(self) -> int:
        """The store ID that means "no vertex"."""
        return self.store.layout.none

    def run(
        self, program: Any, max_supersteps: int | None = None, watch: Any = None, stay: bool = False, **own: Any
    ) -> RunOutcome:
        """engine.run; its figures are added to the session's. own: of gstream.options.stopping.Asked."""
        asked = self.asked or Asked(type(program).__name__)
        asked = replace(asked, **{"kept": self.asked is None or self.engine.keeper is not None, **own})
        self.foresee()
        outcome = self.engine.run(program, max_supersteps, watch, asked, stay)
        if asked.rounds and not outcome.stats.rounds:
            self._lacking = (
                "supersteps as usual: --execution async goes over batches again on host cores that hold all values and "
                "push"
            )
        self.stats = outcome.stats.after(self.stats)
        return outcome

    def let_stay(self, whole: bool = False, proved: bool = False) -> None:
        """Values may stay where the run leaves them: on a device, or, unless the call takes them `whole`, a slice with
        each rank. proved: its certificate does with slices, too."""
        self.stays = not (self.engine.in_ranks and (whole or (self.proof_bytes and not proved)))

    @property
    def on_gpus(self) -> bool:
        """Whether all devices are GPUs, so that they run record kernels themselves."""
        return bool(self.engine.on_gpus)

    @property
    def on_one_gpu(self) -> bool:
        """Whether one GPU does all of it, so that arrays of the call may stay in its memory."""
        return self.on_gpus and len(self.engine.devices) == 1 and self.ranks is None

    @property
    def ranks(self) -> Ranks | None:
        """The processes of the run, where there are several."""
        return self.engine.exchange.ranks

    @property
    def copies_arrays(self) -> bool:
        """Whether each device works on a copy of a sweep's arrays, so that it does not see what others write."""
        return self.on_gpus or self.ranks is not None

    def sweep_among(
        self,
        name: str,
        kernel: RecordKernel,
        arrays: tuple[Any, ...],
        bits: np.ndarray | None,
        join: Join | None = None,
    ) -> None:
        """`sweep` for a kernel that does nothing at lists of vertices whose bit is not set; None: it looks at all.

        Only pages that may hold other lists are swept. The host's cores look up few lists one by one. They do so for
        GPUs too if the arrays would take longer to copy and host memory holds the pages.
        """
        if bits is None:
            self.sweep(name, kernel, arrays, join=join)
            return
        wanted, count = self.pages_of(name, bits), count_bits(bits)
        records = int(self.engine.graph.tables[name].records[wanted].sum())
        away = self.on_gpus and not (self.engine.holds(name) and count * LIST_BYTES < bytes_of(arrays))
        if away or count * LISTED >= records:
            self.sweep(name, kernel, arrays, wanted, join)
        else:
            listed = list_bits(bits, 0, self.meta.vertices)
            self.engine.sweep(name, ArraySweep(kernel, arrays, join, listed), wanted)

    def sweep(
        self, name: str, kernel: Callable[..., int] | RecordKernel, arrays: tuple[Any, ...],
        wanted: np.ndarray | None = None, join: Join | None = None, across: Across | None = None,
    ) -> None:  # fmt: skip
        """engine.sweep of topology `name` by a kernel over arrays (ArraySweep). wanted: bool[pages]; None: all pages.

        GPUs run record kernels if they hold the arrays beside some pages. Otherwise the host's cores do, and a note in
        the run's summary says so.
        """
        sweep = ArraySweep(kernel, arrays, join, across=across)
        if self.on_gpus and isinstance(kernel, RecordKernel) and self.fits(arrays):
            try:
                self.sweep_gpus(name, sweep, wanted)
                return
            except DeviceMemoryError:
                self.note_shortage(arrays)
        self.engine.sweep(name, sweep, wanted)

    def join(self, kernel: ItemKernel, count: int, *arrays: Any) -> None:
        """Run an item kernel over `count` items, on GPUs as `sweep`; the edges it looked at count among the run's."""
        if self.on_gpus and self.fits(arrays):
            from gstream.devices.gpu.record_sweep import run_items

            try:
                room = self.engine.device_memory
                self.stats.edges_visited += run_items(self.engine.devices, kernel, count, arrays, room)
                return
            except DeviceMemoryError:
                self.note_shortage(arrays)
        self.look(load_kernel(kernel), count, *arrays, long=True)

    def shape_of(self, name: str, kernel: RecordKernel) -> Any:
        """The gstream.cudacode.generate.UnitShape of a kernel over topology `name`."""
        from gstream.cudacode.generate import UnitShape

        return UnitShape(self.id_dtype, self.engine.graph.tables[name].weight_dtype if kernel.uses_weights else None)

    def sweep_gpus(
        self, name: str, swept: ArraySweep, wanted: np.ndarray | None, resident: GpuArrays | None = None
    ) -> None:
        """engine.sweep by GPUs. resident: arrays that one GPU has already. Raises DeviceMemoryError if GPUs turn out to
        have less; nothing was written then."""
        from gstream.devices.gpu.record_sweep import GpuSweep

        kernel, arrays = swept.kernel, swept.arrays
        assert isinstance(kernel, RecordKernel)
        engine, most = self.engine, self.engine.most_device_bytes
        needed = bytes_of(arrays) if resident is None else resident.bytes_with(arrays)
        engine.beside_device_bytes = max(engine.beside_device_bytes, needed)  # no less than before: caches stay so
        sweep = GpuSweep(kernel, arrays, self.shape_of(name, kernel), swept.join, resident)
        try:
            engine.sweep(name, sweep, wanted)
        except DeviceMemoryError:
            sweep.begin_again()
            engine.most_device_bytes = most  # other runs have no such arrays
            raise

    def each(self, kernel: Callable[..., int], *arguments: Any, items: int | None = None, long: bool = False) -> int:
        """Call a compiled kernel on all threads with a fresh counter as its last argument; the sum of its results.

        items: things of some ns each that it looks at; few wake few threads. None: they take longer. long: it may take
        seconds, so this thread waits, which costs 5 us, and a signal stops the kernel.
        """
        self._counter[0] = 0
        limit = None if items is None else 1 + items // ITEMS_A_THREAD
        claims = self._counter if long and self.meta.edges >= LONG_EDGES else None
        return self.engine.workers.run(kernel, *arguments, self._counter, limit=limit, claims=claims)

    def look(self, kernel: Callable[..., int], *arguments: Any, items: int | None = None, long: bool = False) -> None:
        """`each` for a kernel that returns the edges it looked at: they count among the run's."""
        self.stats.edges_visited += self.each(kernel, *arguments, items=items, long=long)

    def gathers(self) -> tuple[str, bool]:
        """(topology, pull) of a sweep that needs every edge once: in-pages where there are some, else out-pages."""
        return ("in", True) if self.store.has("in") else ("out", False)

    def user_ids(self, store_ids: Any) -> list[Any]:
        """User IDs, as int or str, of a few store IDs."""
        natural = self.store.natural_of(np.asarray(store_ids, self.id_dtype))
        found = [self.store.user_ids(int(n), int(n) + 1)[0] for n in natural]
        return [value.as_py() if hasattr(value, "as_py") else int(value) for value in found]

    @property
    def use_heads(self) -> bool:
        return bool(self.engine.options.use_heads)

    def head_rows(self, name: str) -> int:
        """Vertices whose heads of topology `name` may be looked at; 0 where there are none or they are switched off."""
        return self.store.topology(name).head_rows if self.use_heads and self.store.has(name) else 0

    def heads(self, name: str) -> Iterator[tuple[int, np.ndarray]]:
        """(first vertex, id[n, 4]) of topology `name`: one array where memory holds it, else parts, n * 64 vertices."""
        rows, topology = self.head_rows(name), self.store.topology(name)
        if rows == 0:
            return
        row_bytes, cap = HEAD_NEIGHBOURS * self.id_dtype.itemsize, self.engine.options.host_memory
        kept, engine = f"heads/{topology.name}", self.engine
        spare = 0 if cap is None or kept in engine.arrays else cap - engine.beside_bytes - engine.arrays.nbytes
        spare -= self.least_pages(self.meta.weighted) if self.on_gpus else 0  # heads that GPUs may copy stay
        if (
            cap is None
            or rows * row_bytes <= cap // HEADS_SHARE
            and (kept in engine.arrays or rows * row_bytes <= spare)
        ):
            yield 0, self._array(kept, topology.heads)
            return
        step = max(64, cap // (10 * HEADS_SHARE) // row_bytes // 64 * 64)
        for first in range(0, rows, step):
            yield first, topology.heads(first, min(first + step, rows))

    def degree(self, name: str) -> np.ndarray:
        """Lengths of the lists of topology `name` ("out": out-degrees, "in": in-degrees): u4 or u8[V]."""
        if name == "in" and self.meta.directed:
            return self._array("in_degree", self.store.in_degree)
        return self._array("degree", self.store.out_degree)

    def natural_ids(self) -> np.ndarray:
        """id[V]: natural index of each store ID."""
        return self._array("natural_ids", self.store.natural_ids)

    def there(self, name: str, array: np.ndarray) -> Any:
        """One of the store's arrays, by name, for kernels of a GPU: its copy, which is kept, where there is one GPU."""
        return self.engine.devices[0].there(name, array) if self.on_one_gpu and array.size else array

    def store_ids(self) -> np.ndarray:
        """id[V]: store ID of each natural index."""
        return self._array("store_ids", lambda: self.store.store_ids(0, self.meta.vertices))

    def pages_of(self, name: str, bits: np.ndarray) -> np.ndarray:
        """bool[pages]: the pages of topology `name` whose range of vertices has a bit set (uint64[ceil(V / 64)])."""
        table = self.engine.graph.tables[name]
        lists = np.zeros(table.pages, np.int64)
        count_pages(bits, table.first_vertex, table.last_vertex, lists)
        return lists > 0

    def prove(self, certificate: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
        """certificate(self, *arguments) with its seconds; what it moves is not counted as the run's."""
        began = time.perf_counter()
        self.proof_bytes = self.later = 0
        self.begin_again()
        self.engine.way = "auto"  # a certificate's program may have to pull where the run pushed
        proof = certificate(self, *arguments)
        return {**proof, "seconds": time.perf_counter() - began}

    def finish(self, supersteps: int, converged: bool, note: str = "") -> dict[str, Any]:
        """The summary of the call: supersteps, converged, figures with those of all sweeps, and what is to be noted."""
        self.engine.add_counts(self.stats)
        self.stats.bytes_read_disk = self.engine.sources.bytes_read - self._read_before
        self.stats.seconds = time.perf_counter() - self._began
        if self.engine.keeper is not None:
            self.stats.kept = self.engine.keeper.kept
        found = {"supersteps": supersteps, "converged": converged, "stats": self.stats.as_dict()}
        if said := "; ".join(filter(None, (self.engine.note, self.shortage() or self._lacking, note))):
            found["note"] = said
        return found
