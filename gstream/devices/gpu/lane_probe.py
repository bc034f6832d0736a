"""Which number of lanes a record is fastest on one GPU, by classes of pages (gstream.paging.page_lanes).

Pages are drawn whose lists have some mean length and some spread, from all alike to a few very long ones; their
neighbours are random. Each number of lanes is timed on all of them, by the kernels that runs have: a pull and a push of
PageRank, and a push of BFS in which no message improves anything, as most do in a large level. It takes about a second,
and three more where the kernels are not compiled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

from gstream.cudacode.generate import UnitShape, unit_of
from gstream.devices.gpu.driver import Gpu
from gstream.devices.gpu.probe import least_seconds
from gstream.paging.gpu_parts import DENSE, SPLIT, make_parts
from gstream.paging.page_lanes import LENGTHS, WARP_LANES, name_of
from pagestore.layout import GROUP_SIZES, HEADER_BYTES

PAGE_BYTES = 1 << 20
DRAWN, COPIES = 16, 4  # pages that differ, and copies of each: more work than an H200 has warps, larger than its L2
VERTICES = 1 << 22  # values of 16 MiB: L2 holds them
SPREADS = (0.0, 0.4, 0.8, 1.4, 2.2)  # standard deviation of a length's logarithm: lists alike to those of RMAT graphs
MIDDLE = 1.45  # of a class of lengths, in its least
ROUNDS = 3
HEADER = HEADER_BYTES // 4


def lane_constants(gpu: Gpu) -> dict[str, float]:
    """The fastest number of lanes of each class that was drawn, by its name. Raises as `probe.list_seconds`."""
    seconds: dict[tuple[str, int, int], np.ndarray] = defaultdict(lambda: np.zeros(len(GROUP_SIZES)))
    with gpu, ExitStack() as held:
        pages = Pages(gpu, held)
        kernels = list(_kernels(gpu, pages, held))
        held.callback(gpu.synchronize)
        for lengths in drawn_lengths(PAGE_BYTES // 4):
            pages.fill(lengths)
            length = 1 << int(np.log2(lengths.mean()))
            for direction, launch in kernels:
                taken = np.array([pages.seconds(launch, size) for size in GROUP_SIZES])
                seconds[direction, group_of(lengths), length] += taken / taken.min()
    found = {key: GROUP_SIZES[int(sums.argmin())] for key, sums in seconds.items()}
    return {name_of(*key): float(size) for key, size in found.items()}


def drawn_lengths(words: int) -> Iterator[np.ndarray]:
    """int64[n] each: lengths of the lists that fill a page of so many words, for every mean and spread."""
    random = np.random.default_rng(5)
    for mean in (MIDDLE * length for length in LENGTHS):
        for spread in SPREADS:
            logs = np.log(mean) - spread**2 / 2 + spread * random.standard_normal(words)
            lengths = np.clip(np.rint(np.exp(logs)), 1, words // 8).astype(np.int64)
            ends = np.cumsum(lengths + 3)  # a size, and a slot of two words
            yield lengths[: max(1, int(np.searchsorted(ends, words - HEADER, "right")))]


def group_of(lengths: np.ndarray) -> int:
    """The group size that the directory says of a page with these lists (pagestore.simd, which compiles for that)."""
    lanes = []
    for size in GROUP_SIZES:
        warps = np.zeros((-(-len(lengths) * size // WARP_LANES), WARP_LANES // size), np.int64)
        warps.reshape(-1)[: len(lengths)] = lengths
        lanes.append(int((-(-warps.max(axis=1) // size)).sum()))
    return max(size for size, count in zip(GROUP_SIZES, lanes, strict=True) if count == min(lanes))


class Pages:
    """Drawn pages on a GPU, and the work list over them.

    random: uint32[DRAWN, words], the pages' words but those of sizes and slots.
    """

    def __init__(self, gpu: Gpu, held: ExitStack) -> None:
        self.gpu, self.words, self.pages = gpu, PAGE_BYTES // 4, DRAWN * COPIES
        self.random = np.random.default_rng(6).integers(0, VERTICES, (DRAWN, self.words), dtype=np.uint32)
        self.array = _kept(held, gpu.empty(self.pages * self.words, np.uint32))
        self.first_vertex = _kept(held, gpu.upload(np.zeros(self.pages, np.uint64)))
        self.claims = _kept(held, gpu.upload(np.zeros(2, np.uint64)))
        self.stream = gpu.stream()
        self._held = held

    def fill(self, lengths: np.ndarray) -> None:
        """Have every page hold lists of these lengths (int64[n])."""
        self._lengths, count = lengths, len(lengths)
        words = self.random.copy()
        sizes = HEADER + np.cumsum(lengths + 1) - lengths - 1
        slots = self.words - 2 * np.arange(1, count + 1)
        words[:, sizes], words[:, slots], words[:, slots + 1] = lengths, np.arange(count), sizes
        for copy in range(COPIES):
            self.gpu.write(self.array.address + copy * words.nbytes, words)

    def seconds(self, launch: Callable[..., None], lanes: int) -> float:
        """Of a kernel over all pages, with so many lanes a record."""
        every, none = np.ones(self.pages, np.uint32), np.zeros(self.pages, bool)
        records, edges = every * len(self._lengths), every * int(self._lengths.sum())
        parts = make_parts(np.arange(self.pages), none, records, edges, every * (lanes + DENSE + SPLIT), HEADER)
        listed = self.gpu.upload(parts)
        try:
            where = (self.array.address, 0, self.words, 0, 0, 0, self.first_vertex.address)
            given = (*where, listed.address, 0, len(parts), self.claims.address)
            return least_seconds(self.gpu, lambda: launch(self.stream, len(parts), given), ROUNDS)
        finally:
            self.gpu.synchronize()
            listed.free()


def _kernels(gpu: Gpu, pages: Pages, held: ExitStack) -> Iterator[tuple[str, Callable[..., None]]]:
    """(direction, launch) of each kernel; launch(stream, parts, the arguments that all have) queues it."""
    from gstream.programs.bfs import BFS
    from gstream.programs.pagerank import PageRank

    shape = UnitShape(np.dtype(np.uint32))
    sums, search = unit_of(PageRank, shape, None, ("push.cu", "pull_sum.cu")), unit_of(BFS, shape, None, ("push.cu",))
    values = _kept(held, gpu.upload(np.ones(VERTICES, np.float32)))
    got = _kept(held, gpu.upload(np.zeros(VERTICES, np.float64)))
    levels = _kept(held, gpu.upload(np.ones(VERTICES, np.uint32)))
    bits = _kept(held, gpu.upload(np.full(-(-VERTICES // 64), ~np.uint64(0))))
    counter = _kept(held, gpu.upload(np.zeros(1, np.uint64)))

    def kernel_of(unit: Any, name: str, *arguments: int) -> Callable[..., None]:
        kernel, context = gpu.load(unit)[name], bytes(unit.context_bytes)
        return lambda stream, parts, given: kernel(
            stream, kernel.blocks(parts), *given, *arguments, counter.address, context
        )

    source = values.address, 0, 0, bits.address, got.address, 0, VERTICES, bits.address
    yield "pull", kernel_of(sums, "pull_kernel", *source, 0, 0, 0, 0, 0, 0)
    yield "push", kernel_of(sums, "push_kernel", *source)
    levelled = levels.address, 0, 0, bits.address, levels.address, 0, VERTICES, bits.address
    yield "push", kernel_of(search, "push_kernel", *levelled)


def _kept(held: ExitStack, array: Any) -> Any:
    held.callback(array.free)
    return array
