"""The approximate sort of the Edge-Vertex paper on a GPU (cuda/order.cu), and CUB's exact sorts of the same degrees.

    with DegreeSort(gpu, in_degree, out_degree) as sort:
        ms = sort.approximate(buckets=1000)      # milliseconds on the GPU, from degrees to places
        place = sort.places()                    # id[vertices]: by descending degree, unordered in a bucket
        ms = sort.exact("radix")                 # the same of CUB, to vertices by descending degree

Only benchmarks sort there. Which of a bucket's vertices comes first is left to atomics, so a store that was numbered so
would have other bytes at each conversion, and resumed ones could not go on; and the host's own sort, a stable one, is
less than 1 % of what a conversion takes.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from gstream.cudacode.generate import COMPILE_SECONDS, UnitShape, find_nvcc, unit_of_page_kernels
from gstream.devices.gpu.arrays import Array
from gstream.devices.gpu.driver import Gpu
from gstream.devices.gpu.tiles import PREFIX_STRETCH
from gstream.hostcode.generate import cache_folder
from pagestore.convert.order import MAX_ORDER_BUCKETS

SOURCE = Path(__file__).with_name("exact_sorts.cu")
EXACT = ("radix", "radix, 32 bits", "merge")
BLOCKS_A_PROCESSOR = 4  # of 512 threads and 16 KiB of counters: all that an SM holds
LEAST_STRETCH = 8192  # vertices of a block: twice the counters that it clears and adds up


@dataclass(frozen=True)
class Buckets:
    """cuda/order.cu's buckets; `counters` counts the last one, of vertices without edges, too."""

    least: int
    most: int
    steps: int
    counters: int

    @classmethod
    def of(cls, span: tuple[int, int], wanted: int | None) -> Buckets:
        """Those of pagestore.convert.order for degrees from span[0] to span[1]; wanted: None for one a degree."""
        least, most = span
        count = MAX_ORDER_BUCKETS if wanted is None else min(wanted, MAX_ORDER_BUCKETS - 1)
        if most - least >= count > 1 and wanted is not None:
            return cls(least, most, count - 1, count + 1)
        if most - least >= count:
            most = least if wanted is not None else max(least, MAX_ORDER_BUCKETS)
        return cls(least, most, 0, most - least + 2)


class ExactSorts:
    """exact_sorts.cu, compiled for one architecture and kept in the cache folder."""

    def __init__(self, architecture: str) -> None:
        library = ctypes.CDLL(str(self._compiled(architecture)))
        self._calls = {"radix": library.radix_sort, "merge": library.merge_sort}
        for call in self._calls.values():
            call.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t), *[ctypes.c_void_p] * 4]
            call.argtypes += [ctypes.c_longlong, ctypes.c_int, ctypes.c_void_p]

    @staticmethod
    def _compiled(architecture: str) -> Path:
        nvcc = find_nvcc()
        digest = hashlib.sha256(SOURCE.read_bytes() + nvcc.encode()).hexdigest()[:16]
        path = cache_folder() / f"gstream_exact_sorts_{digest}.{architecture}.so"
        if not path.exists():
            partial = path.with_suffix(f".{os.getpid()}.partial.so")
            options = ["-std=c++17", "-O3", f"-arch={architecture}", "-shared", "-Xcompiler", "-fPIC"]
            command = [nvcc, *options, "-o", str(partial), str(SOURCE)]
            subprocess.run(command, check=True, timeout=COMPILE_SECONDS)
            partial.rename(path)
        return path

    def __call__(
        self, name: str, temp: int, temp_bytes: int, arrays: list[int], count: int, bits: int, stream: int
    ) -> int:
        """Queue a sort of keys, keys out, vertices, vertices out; bytes of `temp` that it takes. Raises OSError."""
        size = ctypes.c_size_t(temp_bytes)
        keys, keys_out, vertices, vertices_out = arrays
        given = (temp or None, ctypes.byref(size), keys, keys_out, vertices, vertices_out, count, bits, stream)
        status = self._calls[name](*given)
        if status != 0:
            raise OSError(f"CUB's {name} sort: CUDA error {status}")
        return size.value


class DegreeSort:
    """Degrees on one GPU, and sorts of them; a context manager, whose end gives the memory back.

    degrees, others: u4 or u8[vertices], as pagestore.convert.order.degree_order has them; exact sorts take u4 alone.
    """

    def __init__(self, gpu: Gpu, degrees: np.ndarray, others: np.ndarray | None = None) -> None:
        self.gpu, self.vertices = gpu, len(degrees)
        self.blocks = max(1, min(BLOCKS_A_PROCESSOR * gpu.processors, self.vertices // LEAST_STRETCH))
        self.span = (0, 0)
        self._exact: ExactSorts | None = None
        self._arrays: dict[str, Array] = {}
        self.id_dtype = np.dtype("<u4" if self.vertices < 1 << 32 else "<u8")
        shape = UnitShape(self.id_dtype, None, degrees.dtype)
        sizes = {
            "span": (2, np.uint64),
            "place": (self.vertices, self.id_dtype),
            "counts": (MAX_ORDER_BUCKETS + 2, np.uint64),
            "stretches": (MAX_ORDER_BUCKETS // PREFIX_STRETCH + 1, np.uint64),
        }
        with gpu, ExitStack() as undo:
            undo.callback(self._free)
            self.kernels = gpu.load(unit_of_page_kernels("order", ("order.cu",), shape))
            self.stream = gpu.stream()
            self.ends = gpu.event(timed=True), gpu.event(timed=True)
            self._keep("degrees", gpu.upload(degrees))
            if others is not None:
                self._keep("others", gpu.upload(others))
            for name, (count, dtype) in sizes.items():
                self._keep(name, gpu.empty(count, dtype))
            undo.pop_all()

    def __enter__(self) -> DegreeSort:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self.gpu:
            self.gpu.synchronize()
            self._free()

    def _keep(self, name: str, array: Array) -> int:
        self._arrays[name] = array
        return array.address

    def _free(self) -> None:
        for array in self._arrays.values():
            array.free()
        self._arrays.clear()
        self.stream = self.ends = None

    def _at(self, name: str) -> int:
        return self._arrays[name].address if name in self._arrays else 0

    def _timed(self, queue: Callable[[], Any]) -> float:
        """Milliseconds from the first thing that `queue` queues to the end of the last."""
        with self.gpu:
            begin, end = self.ends
            begin.record(self.stream)
            queue()
            end.record(self.stream)
            end.synchronize()
            return end.time_since(begin)

    def approximate(self, buckets: int | None) -> float:
        """Milliseconds of a whole sort, the extremes and their way to the host among them; None: one a degree.

        Where all degrees are equal it ends there: places stay what they were."""
        return self._timed(lambda: self._sort(buckets))

    def _sort(self, wanted: int | None) -> None:
        gpu, stream = self.gpu, self.stream
        degrees, vertices = self._at("degrees"), self.vertices
        span, counts, stretches = self._arrays["span"], self._arrays["counts"], self._at("stretches")
        gpu.fill(span, 0xFF, stream)
        self.kernels["extremes_kernel"](stream, 2 * self.blocks, degrees, vertices, span.address)
        least, most = (int(end) for end in gpu.read(span.address, np.empty(2, np.uint64), stream))
        self.span = least, most ^ ((1 << 64) - 1)
        if self.span[0] >= self.span[1]:
            return
        shape = Buckets.of(self.span, wanted)
        given = (degrees, self._at("others"), vertices, shape.least, shape.most, shape.steps, shape.counters)
        blocks = -(-shape.counters // PREFIX_STRETCH)
        gpu.fill(counts, 0, stream)
        self.kernels["count_buckets_kernel"](stream, self.blocks, *given, counts.address)
        self.kernels["sum_stretches_kernel"](stream, blocks, counts.address, shape.counters, stretches)
        self.kernels["prefix_kernel"](stream, blocks, counts.address, shape.counters, stretches)
        self.kernels["scatter_kernel"](stream, self.blocks, *given, counts.address, self._at("place"))

    def places(self) -> np.ndarray:
        """Store ID of each vertex, id[vertices], by the last approximate sort; as they are where it was off."""
        if self.span[0] >= self.span[1]:
            return np.arange(self.vertices, dtype=self.id_dtype)
        with self.gpu:
            return self.gpu.fetch(self._at("place"), self.vertices, self.id_dtype, self.stream)

    def exact(self, name: str) -> float:
        """Milliseconds of one of EXACT: radix by as many bits as the greatest degree has, by all 32, or merge sort."""
        bits = 32 if "32 bits" in name else max(1, self.span[1].bit_length())
        method = name.partition(",")[0]
        with self.gpu:
            if self._exact is None:
                self._exact = ExactSorts(self.gpu.architecture)
                self._keep("vertices", self.gpu.upload(np.arange(self.vertices, dtype=np.uint32)))
                for output in ("sorted", "order"):
                    self._keep(output, self.gpu.empty(self.vertices, np.uint32))
            arrays = [self._at(each) for each in ("degrees", "sorted", "vertices", "order")]
            given = (arrays, self.vertices, bits, self.stream.handle)
            size = self._exact(method, 0, 0, *given)
            if "temp" not in self._arrays or self._arrays["temp"].nbytes < size:
                if "temp" in self._arrays:
                    self._arrays.pop("temp").free()
                self._keep("temp", self.gpu.empty(size, np.uint8))
        sorts = self._exact
        return self._timed(lambda: sorts(method, self._at("temp"), size, *given))

    def order(self) -> np.ndarray:
        """Vertices by descending degree, u4[vertices], by the last exact sort."""
        with self.gpu:
            return self.gpu.fetch(self._at("order"), self.vertices, np.uint32, self.stream)
