"""One GPU through PyCUDA: context, memory, streams, kernels. The only file that imports pycuda (2026.1).

Every call is made between `with gpu:` and its end, which makes the GPU's primary context current in the calling thread
(the context stack is per thread); streams, events and modules are let go of there, too, for pycuda frees them in their
context only. Errors of CUDA become ResourceError (memory) or DeviceError, with what was done.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from threading import RLock
from typing import Any

import numpy as np

from gstream.devices.gpu.arrays import Array, Shelves
from gstream.devices.gpu.peer_wait import PeerWait, suspects
from gstream.devices.gpu.prestart import CONNECTIONS, cuda_version
from gstream.devices.job import DeviceMemoryError
from gstream.paging.kept_memory import KeptMemory, elements_of
from gstream.telemetry.trace import NO_SPAN
from pagestore.errors import DeviceMissingError, GstreamError, ResourceError
from pagestore.io import aligned_empty, touch

REMEDY = "Install pycuda beside the CUDA toolkit (gstream doctor says what is missing), or pass --devices host."
UNTRUSTED = (
    "There is no answer. Run it again in a new process; if that fails, too, pass --devices host, and report it with "
    "the output of gstream doctor."
)
FORKED = (
    "--devices cuda: this process was forked from one that has used GPUs, and CUDA works in no such child. Start it in "
    'another way (multiprocessing.get_context("spawn")), or pass --devices host.'
)
NO_DRIVER = "--devices cuda: this machine has no NVIDIA driver. Leave out --devices or --gpus to run on its cores."
_STARTED: dict[str, int] = {}  # the process that first used CUDA: this one, or one that it was forked from
PINNED = 1 | 2  # CU_MEMHOSTREGISTER_PORTABLE: pinned for all GPUs; _DEVICEMAP: their kernels may read it
USES_HOST_ADDRESSES = 91  # CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM; pycuda has no name for it
NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING: does not wait for the default stream
STAGED = 4  # small pinned arrays of one size that are kept
PINNED_TO_FETCH = 8 << 20
SHARED_UNASKED = 48 << 10  # bytes of shared memory, its own among them, that a block may have unasked


class DeviceError(GstreamError):
    """CUDA reports an error: nothing computed since can be trusted. what: it, without the remedy; gpu: its number."""

    def __init__(self, what: str, remedy: str = "", gpu: int | None = None) -> None:
        super().__init__(f"{what}.{remedy and ' '}{remedy}")
        self.what, self.gpu = what, gpu


class NoSuchGpuError(DeviceMissingError):
    """The machine has no GPU of that number."""

    def __init__(self, gpu: int, count: int) -> None:
        super().__init__(f"--devices cuda:{gpu}: there is no such GPU; this machine has {count}. Name one from 0 on.")
        self.gpu = gpu


def driver() -> Any:
    """pycuda.driver, initialized. Raises DeviceMissingError where pycuda or a GPU is missing."""
    try:
        import pycuda.driver as cuda
    except ImportError as error:
        if cuda_version() is None:
            raise DeviceMissingError(NO_DRIVER) from error
        raise DeviceMissingError(f"--devices cuda: pycuda can't be imported ({error}). {REMEDY}") from error
    os.environ.setdefault(*CONNECTIONS)
    if _STARTED.setdefault("process", os.getpid()) != os.getpid():
        raise DeviceMissingError(FORKED)
    try:
        cuda.init()
    except cuda.Error as error:
        raise DeviceMissingError(f"--devices cuda: CUDA does not start here ({error}). {REMEDY}") from error
    return cuda


def has_started() -> bool:
    """Whether this process has used CUDA."""
    return _STARTED.get("process") == os.getpid()


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
        raise DeviceError(f"the GPUs don't say what they are: {error}") from error


@cache
def _primary_context(cuda: Any, index: int) -> Any:
    """A GPU's primary context, for as long as the process lives.

    When pycuda forgets a primary context it leaves it on top of the driver's stack, in the middle of other work where
    the garbage collector does it.
    """
    return cuda.Device(index).retain_primary_context()


class Gpu:
    """GPU number `index`. Use as a context manager around every call; `close` once, at the end."""

    def __init__(self, index: int) -> None:
        self.cuda = driver()
        self.index, self.name = index, "GPU"
        try:
            found = self.cuda.Device.count()
            if not 0 <= index < found:
                raise NoSuchGpuError(index, found)
            self.device = self.cuda.Device(index)
            self.name = self.device.name()
            self.context = _primary_context(self.cuda, index)
            major, minor = self.device.compute_capability()
            attribute = self.cuda.device_attribute
            self.processors = self.device.get_attribute(attribute.MULTIPROCESSOR_COUNT)
            self.shared_bytes = self.device.get_attribute(attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
            self.l2_bytes = self.device.get_attribute(attribute.L2_CACHE_SIZE)
        except self.cuda.MemoryError as error:
            raise ResourceError(
                f"cuda:{index} ({self.name}): its memory has no room for a program. End others on it (nvidia-smi names "
                "them), or name another GPU with --devices."
            ) from error
        except self.cuda.Error as error:
            raise self.failure("", error) from error
        self.architecture = f"sm_{major}{minor}"
        self.reads_host = self._uses_host_addresses()
        self._peers: dict[int, bool] = {index: True}  # GPU -> whether it can be reached
        self.peer_wait = PeerWait()
        self.answers: KeptMemory | None = None  # pinned host memory of arrays that come back
        self.make_room: Callable[[], bool] | None = None  # gives memory up that can be spared; whether there was any
        self.staged: dict[tuple[Any, np.dtype], list[np.ndarray]] = {}  # small arrays that are pinned, and used again
        self.shelves: Shelves | None = None  # of memory that is used again; None: none is

    def __enter__(self) -> Gpu:
        try:
            self.context.push()
        except self.cuda.Error as error:  # of kernels before: it shows in every call from then on
            raise self.failure("", error) from error
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        try:
            self.cuda.Context.pop()
        except self.cuda.Error as late:
            error = error or late
        if isinstance(error, self.cuda.Error):
            raise self.failure("", error) from error

    def failure(self, what: str, error: Exception | str) -> GstreamError:
        """The error to raise for one of CUDA's; what: kernel and pages, as far as they are known."""
        if isinstance(error, self.cuda.MemoryError):
            return DeviceMemoryError(
                f"cuda:{self.index} ({self.name}): GPU memory ran out. Pass a lower --device-memory, so that pages and "
                "vertices are streamed, or end other programs on it."
            )
        return self.fault(what, error)

    def fault(self, what: str, error: Exception | str) -> DeviceError:
        """The error to raise for one of CUDA's after which nothing can be trusted."""
        where = f", {what}" if what else ""
        return DeviceError(f"cuda:{self.index} ({self.name}){where}: {error}", UNTRUSTED, self.index)

    @contextmanager
    def suspecting(self, queued: Sequence[str]) -> Iterator[None]:
        """Report a CUDA error in this block as one of the `queued` kernels, by name."""
        try:
            yield
        except self.cuda.Error as error:
            raise self.failure(suspects(queued), error) from error

    def free_bytes(self) -> int:
        """Bytes of memory that are free."""
        return int(self.cuda.mem_get_info()[0])

    def empty(self, count: int, dtype: Any, again: bool = False) -> Array:
        """`count` elements, holding anything. again: as many will be taken soon, by the next call."""
        dtype = np.dtype(dtype)
        if again and count and self.shelves is not None:
            return self.shelves.take(count, dtype, self._allocate)
        size = count * dtype.itemsize
        return Array(self._allocate(size) if size else None, count, dtype)

    def _allocate(self, size: int) -> Any:
        try:
            return self.cuda.mem_alloc(size)
        except self.cuda.MemoryError:
            if self.make_room is None or not self.make_room():
                raise
            return self.cuda.mem_alloc(size)

    def upload(self, values: np.ndarray, span: AbstractContextManager[None] = NO_SPAN) -> Array:
        """A copy of `values`, there on return, moved within `span`."""
        values = np.ascontiguousarray(values)
        array = self.empty(values.size, values.dtype)
        self.write(array.address, values, span=span)
        return array

    # With a stream these are queued, and host arrays must stay as they are until that is done; without one they are
    # over on return. No stream waits for the default stream, so nothing else is ever queued there.

    def write(
        self, address: int, values: np.ndarray, stream: Any = None, span: AbstractContextManager[None] = NO_SPAN
    ) -> None:
        """Copy host memory to `address`, within `span`: without waiting for what streams have to do."""
        if values.nbytes == 0:
            return
        if stream is None:
            with span:
                self.cuda.memcpy_htod(address, values)
            self.cuda.Context.synchronize()  # a short copy may be under way still
        else:
            with span:
                self.cuda.memcpy_htod_async(address, values, stream)

    def read(self, address: int, out: np.ndarray, stream: Any) -> np.ndarray:
        """Copy from `address` into host memory, after what is queued on `stream`; there on return."""
        if out.nbytes:
            self.queue_read(address, out, stream)
            self.peer_wait.wait_for(stream)
        return out

    def queue_read(self, address: int, out: np.ndarray, stream: Any) -> None:
        """The same, queued: `out` is pinned, and not empty."""
        self.cuda.memcpy_dtoh_async(out, address, stream)

    def fetch(self, address: int, count: int, dtype: Any, stream: Any) -> np.ndarray:
        """A host array of `count` elements from `address`, after what is queued on `stream`.

        A large one is pinned for the copy, where that is allowed: a driver's way through its own buffers, into memory
        that is given page by page, takes several times as long. `answers` keeps pinned memory: pinning takes longer
        than the copy.
        """
        if self.answers is not None:
            return self.read(address, self.answers.take(count, dtype), stream)
        out = elements_of(aligned_empty(count * np.dtype(dtype).itemsize), np.dtype(dtype))
        unpin: Callable[[], None] | None = None
        if out.nbytes >= PINNED_TO_FETCH:
            with suppress(ResourceError):
                unpin = self.pin(out)
        try:
            return self.read(address, out, stream)
        finally:
            if unpin is not None:
                unpin()

    def copy(self, to: int, source: int, nbytes: int, stream: Any) -> None:
        """Queue a copy between addresses of this GPU, or of two (unified addresses; pycuda's memcpy_peer is broken)."""
        if nbytes:
            self.cuda.memcpy_dtod_async(to, source, nbytes, stream)

    def fill(self, array: Array, byte: int, stream: Any) -> None:
        """Queue that every byte of an array becomes `byte`."""
        if array.nbytes:
            self.cuda.memset_d8_async(array.address, byte, array.nbytes, stream)

    def pinned(self, shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
        """Host memory that copies run from at the link's rate. Raises ResourceError where there is none to pin."""
        if kept := self.staged.get((shape, np.dtype(dtype))):
            return kept.pop()
        try:
            return self.cuda.pagelocked_empty(shape, dtype)
        except self.cuda.Error as error:
            raise self._unpinnable(int(np.prod(shape)) * np.dtype(dtype).itemsize, error) from error

    def keep_pinned(self, array: np.ndarray) -> None:
        """A small array that `pinned` gave is not used any more: who asks for as much has it. Pinning takes 0.1 ms."""
        if len(kept := self.staged.setdefault((len(array), array.dtype), [])) < STAGED:
            kept.append(array)

    def _unpinnable(self, nbytes: int, why: object) -> ResourceError:
        return ResourceError(
            f"cuda:{self.index}: {nbytes} bytes of host memory can't be pinned ({why}). Pass a lower --host-memory, or "
            "raise the limit (ulimit -l)."
        )

    def _uses_host_addresses(self) -> bool:
        """Whether kernels read pinned host memory at the addresses that it has in this process."""
        found = ctypes.c_int()
        status = ctypes.CDLL("libcuda.so.1").cuDeviceGetAttribute(
            ctypes.byref(found), ctypes.c_int(USES_HOST_ADDRESSES), ctypes.c_int(self.index)
        )
        return bool(status == 0 and found.value)

    def pin(self, array: np.ndarray, touched: bool = False) -> Callable[[], None]:
        """Pin host memory that is there already; returns what undoes it. touched: whether it has been written to.

        Straight through the driver's library: pycuda's register_host_memory fails for views of a mapping. Memory that
        was never touched is touched first, by several threads: the driver's own way takes ten times as long.
        """
        if not touched:
            touch(array)
        library, address = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(array.ctypes.data)
        status = library.cuMemHostRegister_v2(address, ctypes.c_size_t(array.nbytes), ctypes.c_uint(PINNED))
        if status != 0:
            raise self._unpinnable(array.nbytes, f"CUDA error {status}")

        def unpin(kept: np.ndarray = array) -> None:  # the memory lives as long as it is pinned
            library.cuMemHostUnregister(address)

        return unpin

    def stream(self) -> Any:
        """A stream that waits for no other."""
        return self.cuda.Stream(NON_BLOCKING)

    def event(self, timed: bool = False) -> Any:
        """An event; `timed`: event.time_since(earlier) gives milliseconds."""
        return self.cuda.Event(0 if timed else self.cuda.event_flags.DISABLE_TIMING)

    def synchronize(self) -> None:
        """Return when everything queued on this GPU is over."""
        self.peer_wait.look()
        self.cuda.Context.synchronize()

    def reaches(self, other: Gpu) -> bool:
        """Whether kernels of this GPU can read the other's memory; enables it at the first call."""
        if other.index not in self._peers:
            self._peers[other.index] = bool(self.device.can_access_peer(other.device))
            if self._peers[other.index]:
                try:
                    self.context.enable_peer_access(other.context)
                except self.cuda.LogicError as error:
                    if "already enabled" not in str(error):
                        raise
        return self._peers[other.index]

    def load(self, unit: Any) -> dict[str, Launcher]:
        """The kernels by name of a gstream.cudacode.generate.Unit, compiled where need be; loaded once a process."""
        key = (self.context, unit)
        with _LOADING:
            if key not in _LOADED:
                cubin = unit.compile(self.architecture)
                try:
                    module = self.cuda.module_from_file(str(cubin))
                except self.cuda.Error:  # a file that a crash of the system left cut short, say
                    cubin.unlink(missing_ok=True)
                    module = self.cuda.module_from_file(str(unit.compile(self.architecture)))
                made = {n: Launcher(self, module, kernel, unit.context_bytes) for n, kernel in unit.kernels.items()}
                _LOADED[key] = made
            return _LOADED[key]


def never_free(what: object) -> None:
    """Keep something for as long as the process lives, whatever becomes of those who know it.

    What is on a GPU that failed can't be freed, and pycuda prints a warning for every piece that it tries to.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(what))


_LOADED: dict[tuple[Any, Any], dict[str, Launcher]] = {}  # (context, unit): kernels by name
_LOADING = RLock()  # of threads that work with several graphs


class Launcher:
    """One kernel, ready to be launched: launch(stream, blocks, *arguments), integers from 0 on, a context as bytes.

    spare_shared: bytes of shared memory that a block may have beside its own; shared=bytes in a call asks for some.
    """

    def __init__(self, gpu: Gpu, module: Any, kernel: Any, context_bytes: int) -> None:
        self._module = module  # lives as long as its functions
        self._function = module.get_function(kernel.name)
        self._function.prepare(kernel.packing(context_bytes))
        self._block, self._warps = (kernel.threads, 1, 1), kernel.threads // 32
        self._most_blocks = kernel.blocks * gpu.processors
        self.spare_shared = max(0, gpu.shared_bytes - self._function.shared_size_bytes)
        self._attribute = gpu.cuda.function_attribute
        self._allowed = max(0, SHARED_UNASKED - self._function.shared_size_bytes)

    def blocks(self, warps: int) -> int:
        """Blocks for so many warps' work: all resident at once, for a kernel that says how many are."""
        assert self._most_blocks, "a kernel that does not say how many blocks a processor takes"
        return min(-(-warps // self._warps), self._most_blocks)

    def __call__(self, stream: Any, blocks: int, *arguments: Any, shared: int = 0) -> None:
        if shared > self._allowed:
            with _LOADING:
                self._allowed = max(shared, self._allowed)
                self._function.set_attribute(self._attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, self._allowed)
        if blocks > 0:
            self._function.prepared_async_call((blocks, 1), self._block, stream, *arguments, shared_size=shared)
