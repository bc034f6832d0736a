"""Edges of a conversion sorted on a GPU (cuda/edges.cu): an EdgeSorter of pagestore.convert.sorter.

Two buffers of keys, and of codes where there are weights, change places with every pass of the radix sort. The one that
is free when keys are sorted takes the far ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np

from gstream.cudacode.generate import Unit, flattened, kernels_in
from gstream.devices.gpu.arrays import Array
from gstream.devices.gpu.driver import Gpu, Launcher
from gstream.devices.gpu.memory import Memory
from gstream.devices.gpu.tiles import PREFIX_STRETCH
from pagestore.convert.sorter import Lists, SorterError
from pagestore.errors import GstreamError
from pagestore.sizes import show_bytes

DIGIT_BITS = 8  # of a pass, as cuda/edges.cu has them
TILE = 4096  # keys of a block there
LANE_BYTES = 8 << 20  # of pinned memory that a thread copies through
BLOCKS_A_PROCESSOR = 16
SPARE_BYTES = 256 << 20  # of GPU memory that is left to others
FACTS = 4  # of cuda/edges.cu: repeated, loops, hash, kept


@lru_cache(maxsize=1)
def unit_of_edges() -> Unit:
    """The unit of cuda/edges.cu, one for all graphs."""
    text = flattened("edges", ("edges.cu",), "")
    return Unit("edges", text, kernels_in(text), 0)


class _Lane:
    """What one thread copies through: a stream, and pinned memory."""

    def __init__(self, gpu: Gpu) -> None:
        self.stream: Any = gpu.stream()
        self.bytes = gpu.pinned(LANE_BYTES, np.uint8)


class GpuEdgeSorter:
    """Sorts on GPU number `index`. CUDA starts, and kernels are compiled, while other things are done."""

    def __init__(self, index: int) -> None:
        self.name = f"cuda:{index}"
        self._lanes, self._lock = deque[_Lane](), Lock()
        self._memory: Memory | None = None
        with ThreadPoolExecutor(1) as pool:
            self._starting: Future[tuple[Gpu, dict[str, Launcher]]] = pool.submit(self._start, index)
            pool.shutdown(wait=False)
        self._count = self._room = self._vertices = self._bits = self._code_bits = 0

    @staticmethod
    def _start(index: int) -> tuple[Gpu, dict[str, Launcher]]:
        gpu = Gpu(index)
        with gpu:
            return gpu, gpu.load(unit_of_edges())

    @contextmanager
    def _working(self) -> Iterator[Gpu]:
        """The GPU, current; what fails there is a SorterError."""
        try:
            gpu, _ = self._starting.result()
            with gpu:
                yield gpu
        except SorterError:
            raise
        except GstreamError as error:
            raise SorterError(getattr(error, "what", str(error)).partition(". ")[0].rstrip(".")) from error

    def begin(self, keys: int, vertices: int, target_bits: int, weighted: bool) -> None:
        """See EdgeSorter."""
        with self._working() as gpu:
            tiles = max(1, -(-keys // TILE))
            counters = tiles << DIGIT_BITS
            words = {
                "keys": (keys, np.uint64), "other keys": (keys, np.uint64),
                "counts": (counters, np.uint64), "stretches": (-(-counters // PREFIX_STRETCH), np.uint64),
                "begins": (vertices, np.uint32), "ends": (vertices, np.uint32), "place": (vertices, np.uint32),
                "facts": (FACTS, np.uint64),
            }  # fmt: skip
            if weighted:
                words |= {"codes": (keys, np.uint32), "other codes": (keys, np.uint32)}
            needed = sum(count * np.dtype(dtype).itemsize for count, dtype in words.values())
            if needed + SPARE_BYTES > gpu.free_bytes():
                raise SorterError(
                    f"{self.name} has {show_bytes(gpu.free_bytes())} free, and sorting takes {show_bytes(needed)}"
                )
            self._memory, self._stream = Memory(gpu), gpu.stream()
            self._arrays = {name: self._memory.take(max(count, 1), dtype) for name, (count, dtype) in words.items()}
            self._count, self._room, self._vertices, self._bits = 0, keys, vertices, target_bits
            self._code_bits = 0

    @contextmanager
    def _lane(self, gpu: Gpu) -> Iterator[_Lane]:
        """A lane that no other thread has."""
        with self._lock:
            lane = self._lanes.pop() if self._lanes else None
        lane = lane or _Lane(gpu)
        try:
            yield lane
        finally:
            with self._lock:
                self._lanes.append(lane)

    def append(self, keys: np.ndarray, codes: np.ndarray | None) -> None:
        """See EdgeSorter."""
        with self._lock:
            at, self._count = self._count, self._count + len(keys)
            if codes is not None:
                self._code_bits = 8 * codes.itemsize
        if self._count > self._room:
            raise SorterError("there are more edges than were counted")
        with self._working() as gpu, self._lane(gpu) as lane:
            self._write(gpu, lane, self._arrays["keys"].at(at), keys)
            if codes is not None:
                self._write(gpu, lane, self._arrays["codes"].at(at), codes.astype(np.uint32, copy=False))

    @staticmethod
    def _write(gpu: Gpu, lane: _Lane, address: int, values: np.ndarray) -> None:
        staged, done = lane.bytes.view(values.dtype), 0
        while done < len(values):
            piece = staged[: min(len(staged), len(values) - done)]
            piece[:] = values[done : done + len(piece)]
            gpu.write(address + done * values.itemsize, piece, lane.stream)
            lane.stream.synchronize()
            done += len(piece)

    def _read(self, array: Array, first: int, out: np.ndarray) -> None:
        with self._working() as gpu, self._lane(gpu) as lane:
            staged, done = lane.bytes.view(out.dtype), 0
            while done < len(out):
                piece = staged[: min(len(staged), len(out) - done)]
                out[done : done + len(piece)] = gpu.read(array.at(first + done), piece, lane.stream)
                done += len(piece)

    def read_targets(self, first: int, out: np.ndarray) -> None:
        """See EdgeSorter."""
        self._read(self._arrays["other keys"].of(np.uint32), first, out)

    def read_codes(self, first: int, out: np.ndarray) -> None:
        """See EdgeSorter."""
        self._read(self._arrays["codes"], first, out)

    def read_degrees(self, first: int, out: np.ndarray) -> None:
        """See EdgeSorter."""
        self._read(self._arrays["ends"], first, out)
        begins = np.empty_like(out)
        self._read(self._arrays["begins"], first, begins)
        out -= begins

    def rename(self, place: np.ndarray) -> None:
        """See EdgeSorter."""
        with self._working() as gpu:
            gpu.write(self._arrays["place"].address, np.ascontiguousarray(place, np.uint32))
            self._launch("rename_kernel", self._at("keys"), self._count, self._bits, self._at("place"))

    def turn(self) -> None:
        """See EdgeSorter."""
        with self._working():
            self._launch("turn_kernel", self._at("keys"), self._count, self._bits)

    def _at(self, name: str) -> int:
        return self._arrays[name].address if name in self._arrays else 0

    def _launch(self, name: str, *arguments: int, blocks: int | None = None) -> None:
        gpu, kernels = self._starting.result()
        kernels[name](self._stream, BLOCKS_A_PROCESSOR * gpu.processors if blocks is None else blocks, *arguments)

    def _add_up(self, counters: int) -> None:
        """Counters become the sums of those before them."""
        counts, stretches = self._at("counts"), self._at("stretches")
        blocks = -(-counters // PREFIX_STRETCH)
        self._launch("sum_stretches_kernel", counts, counters, stretches, blocks=blocks)
        self._launch("prefix_kernel", counts, counters, stretches, blocks=blocks)

    def _change_over(self) -> None:
        for name in ("keys", "codes"):
            if name in self._arrays:
                pair = self._arrays[f"other {name}"], self._arrays[name]
                self._arrays[name], self._arrays[f"other {name}"] = pair

    def _sort(self) -> None:
        """Keys ascend, and codes among equal ones."""
        tiles = -(-self._count // TILE)
        passes = [(shift, True) for shift in range(0, self._code_bits, DIGIT_BITS)]
        passes += [(shift, False) for shift in range(0, 2 * self._bits, DIGIT_BITS)]
        for shift, by_code in passes:
            given = self._at("keys"), self._at("codes"), self._count, shift, int(by_code), self._at("counts")
            self._launch("count_digits_kernel", *given, blocks=tiles)
            self._add_up(tiles << DIGIT_BITS)
            self._launch("deal_kernel", *given, self._at("other keys"), self._at("other codes"), blocks=tiles)
            self._change_over()

    def lists(self, dedupe: bool, mirrored: bool) -> Lists:
        """See EdgeSorter."""
        with self._working() as gpu:
            tiles = -(-self._count // TILE)
            for name in ("begins", "ends", "facts"):
                gpu.fill(self._arrays[name], 0, self._stream)
            self._sort()
            counted = self._at("keys"), self._count, self._bits, int(mirrored), self._at("counts"), self._at("facts")
            self._launch("count_distinct_kernel", *counted, blocks=tiles)
            if dedupe:
                self._add_up(tiles)
                pair = self._at("other keys"), self._at("other codes")
                given = self._at("keys"), self._at("codes"), self._count, self._at("counts"), *pair
                self._launch("keep_kernel", *given, blocks=tiles)
                self._change_over()
                self._count = int(self._facts(gpu)[3])
            self._launch(
                "find_lists_kernel", self._at("keys"), self._at("codes"), self._count, self._bits,
                self._at("other keys"), self._at("begins"), self._at("ends"), self._at("facts"),
            )  # fmt: skip
            repeated, loops, total, _ = self._facts(gpu).tolist()
            return Lists(self._count, repeated, loops, total)

    def _facts(self, gpu: Gpu) -> np.ndarray:
        """Once what is queued is over."""
        return gpu.read(self._at("facts"), np.zeros(FACTS, np.uint64), self._stream)

    def close(self) -> None:
        """See EdgeSorter."""
        memory, self._memory = self._memory, None
        if memory is not None:
            with suppress(GstreamError), memory.gpu:  # after some errors of CUDA, every call fails
                memory.let_go()
                self._arrays, self._stream = {}, None
                self._lanes.clear()
