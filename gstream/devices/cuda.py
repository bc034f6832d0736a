"""One GPU through PyCUDA: context, memory, streams, kernels. The only file that imports pycuda (2026.1).

Every call is made between `with gpu:` and its end, which makes the GPU's primary context current in the calling thread
(the context stack is per thread). Errors of CUDA become ResourceError (memory) or DeviceError, with what was done.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pagestore.errors import DeviceMissingError, GstreamError, ResourceError

REMEDY = "Install pycuda beside the CUDA toolkit (gstream doctor says what is missing), or pass --devices host."
PORTABLE = 1  # CU_MEMHOSTREGISTER_PORTABLE: pinned for all GPUs


class DeviceError(GstreamError):
    """CUDA reports an error: nothing computed since can be trusted."""


def driver() -> Any:
    """pycuda.driver, initialized. Raises DeviceMissingError where pycuda or a GPU is missing."""
    try:
        import pycuda.driver as cuda
    except ImportError as error:
        raise DeviceMissingError(f"--devices cuda: pycuda can't be imported ({error}). {REMEDY}") from error
    try:
        cuda.init()
    except cuda.Error as error:
        raise DeviceMissingError(f"--devices cuda: CUDA does not start here ({error}). {REMEDY}") from error
    return cuda


def found() -> list[dict[str, Any]]:
    """What each GPU is, without taking one up: name, memory in bytes, capability ("9.0"), numbers of GPUs it reaches.

    Raises DeviceMissingError as `driver` does, and DeviceError where a GPU does not answer.
    """
    cuda = driver()
    try:
        devices = [cuda.Device(number) for number in range(cuda.Device.count())]
        return [
            {
                "name": device.name(),
                "memory": int(device.total_memory()),
                "capability": ".".join(map(str, device.compute_capability())),
                "reaches": [n for n, other in enumerate(devices) if n != number and device.can_access_peer(other)],
            }
            for number, device in enumerate(devices)
        ]
    except cuda.Error as error:
        raise DeviceError(f"the GPUs don't say what they are: {error}.") from error


def cuda_version() -> str | None:
    """The newest CUDA that the driver runs, as "13.0"; None without a driver. Works without pycuda."""
    number = ctypes.c_int()
    try:
        if ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(number)) != 0:
            return None
    except (OSError, AttributeError):
        return None
    return f"{number.value // 1000}.{number.value % 1000 // 10}"


class Array:
    """`count` elements of `dtype` in a GPU's memory."""

    def __init__(self, memory: Any, count: int, dtype: np.dtype) -> None:
        self._memory, self.count, self.dtype = memory, count, np.dtype(dtype)
        self.nbytes = count * self.dtype.itemsize
        self.address = int(memory) if memory is not None else 0

    def at(self, index: int) -> int:
        """Address of an element."""
        return self.address + index * self.dtype.itemsize

    def free(self) -> None:
        if self._memory is not None:
            self._memory.free()
        self._memory, self.address, self.nbytes = None, 0, 0


class Gpu:
    """GPU number `index`. Use as a context manager around every call; `close` once, at the end."""

    def __init__(self, index: int) -> None:
        self.cuda = driver()
        found = self.cuda.Device.count()
        if not 0 <= index < found:
            raise DeviceMissingError(
                f"--devices cuda:{index}: there is no such GPU; this machine has {found}. Name one from 0 on."
            )
        self.device = self.cuda.Device(index)
        self.index, self.name = index, self.device.name()
        self.context = self.device.retain_primary_context()
        major, minor = self.device.compute_capability()
        self.architecture = f"sm_{major}{minor}"
        self.processors = self.device.get_attribute(self.cuda.device_attribute.MULTIPROCESSOR_COUNT)
        self._depth = 0

    def __enter__(self) -> Gpu:
        self.context.push()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self.cuda.Context.pop()
        if isinstance(error, self.cuda.MemoryError):
            raise ResourceError(
                f"cuda:{self.index} ({self.name}): GPU memory ran out. Pass a lower --device-memory, so that pages and "
                "vertices are streamed, or end other programs on it."
            ) from error
        if isinstance(error, self.cuda.Error):
            raise DeviceError(f"cuda:{self.index} ({self.name}): {error}. The run's answer is void.") from error

    def free_bytes(self) -> int:
        """Bytes of memory that are free now."""
        return int(self.cuda.mem_get_info()[0])

    def empty(self, count: int, dtype: Any) -> Array:
        size = count * np.dtype(dtype).itemsize
        return Array(self.cuda.mem_alloc(size) if size else None, count, np.dtype(dtype))

    def full(self, count: int, dtype: Any, byte: int) -> Array:
        """Every byte the same."""
        array = self.empty(count, dtype)
        if array.nbytes:
            self.cuda.memset_d8(array.address, byte, array.nbytes)
        return array

    def upload(self, values: np.ndarray) -> Array:
        """A copy of `values`."""
        values = np.ascontiguousarray(values)
        array = self.empty(values.size, values.dtype)
        if array.nbytes:
            self.cuda.memcpy_htod(array.address, values)
        return array

    def write(self, address: int, values: np.ndarray, stream: Any = None) -> None:
        """Copy host memory to `address`; on a stream, when the host array must stay as it is until then."""
        if values.nbytes == 0:
            return
        if stream is None:
            self.cuda.memcpy_htod(address, values)
        else:
            self.cuda.memcpy_htod_async(address, values, stream)

    def read(self, address: int, out: np.ndarray) -> np.ndarray:
        """Copy from `address` into host memory."""
        if out.nbytes:
            self.cuda.memcpy_dtoh(out, address)
        return out

    def copy(self, to: int, source: int, nbytes: int) -> None:
        """Between addresses of this GPU, or of peers (unified addresses; pycuda's memcpy_peer does not work)."""
        if nbytes:
            self.cuda.memcpy_dtod(to, source, nbytes)

    def clear(self, array: Array) -> None:
        if array.nbytes:
            self.cuda.memset_d8(array.address, 0, array.nbytes)

    def pinned(self, shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
        """Host memory that copies run from at the link's rate."""
        return self.cuda.pagelocked_empty(shape, dtype)

    def pin(self, array: np.ndarray) -> Callable[[], None]:
        """Pin host memory that is there already; returns what undoes it.

        Straight through the driver's library: pycuda's register_host_memory fails for views of a mapping.
        """
        library, address = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(array.ctypes.data)
        status = library.cuMemHostRegister_v2(address, ctypes.c_size_t(array.nbytes), ctypes.c_uint(PORTABLE))
        if status != 0:
            raise ResourceError(
                f"cuda:{self.index}: {array.nbytes} bytes of host memory can't be pinned (CUDA error {status}). Pass a "
                "lower --host-memory, or raise the limit (ulimit -l)."
            )

        def unpin(kept: np.ndarray = array) -> None:  # the memory lives as long as it is pinned
            library.cuMemHostUnregister(address)

        return unpin

    def stream(self) -> Any:
        return self.cuda.Stream()

    def event(self) -> Any:
        return self.cuda.Event(self.cuda.event_flags.DISABLE_TIMING)

    def synchronize(self) -> None:
        self.cuda.Context.synchronize()

    def enable_peers(self, others: Sequence[Gpu]) -> bool:
        """Let kernels and copies of this GPU reach the others' memory; False where that can't be."""
        for other in others:
            if other.index == self.index:
                continue
            if not self.device.can_access_peer(other.device):
                return False
            try:
                self.context.enable_peer_access(other.context)
            except self.cuda.LogicError as error:
                if "already enabled" not in str(error):
                    raise
        return True

    def load(self, cubin: Path, kernels: dict[str, Any], context_bytes: int) -> dict[str, Launcher]:
        """The kernels of a unit by name (gstream.cudacode.generate.Unit)."""
        module = self.cuda.module_from_file(str(cubin))
        return {name: Launcher(module, kernel, context_bytes) for name, kernel in kernels.items()}


class Launcher:
    """One kernel, ready to be launched: `launch(stream, blocks, *arguments)`; the context goes last, as bytes."""

    def __init__(self, module: Any, kernel: Any, context_bytes: int) -> None:
        self._module = module  # lives as long as its functions
        self._function = module.get_function(kernel.name)
        self._function.prepare(kernel.packing(context_bytes))
        self._block = (kernel.threads, 1, 1)

    def __call__(self, stream: Any, blocks: int, *arguments: Any) -> None:
        if blocks > 0:
            plain = [item if isinstance(item, bytes) else int(item) for item in arguments]
            self._function.prepared_async_call((blocks, 1), self._block, stream, *plain)
