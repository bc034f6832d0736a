"""PyCUDA's driver as far as gstream.devices.gpu.driver uses it, in host memory: g++ runs kernels (emulate.h), late.

It tries the GPU device's own logic where there is no GPU: addresses, sizes, maps of rows, what goes where, and what
waits for what. Whatever is queued on a stream is done later, one operation at a time, in any order that streams and
events allow, from a seed; copies read pinned memory when they are done, and other memory when they are queued, as the
driver does. Memory is filled with POISON when it is taken and has guards on both sides, which are looked at when it is
freed; what is freed becomes POISON again, and is looked at when everything is over. Every thread has its stack of
contexts: a call whose context is not on top of it fails.
"""

from __future__ import annotations

import ctypes
import os
import random
import struct
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

import numpy as np

from gstream.devices.gpu.driver import NON_BLOCKING

POISON, GUARD_BYTES = 0xA5, 64
MEMORY_BYTES = 1 << 30
LOCK = threading.RLock()  # the emulator runs one kernel at a time
LIVE: dict[int, Allocation] = {}  # by address
FREED: list[np.ndarray] = []  # what was allocated, since the streams were last drained
LOST: list[str] = []  # streams and events that were let go of outside of their context
GONE: set[int] = set()  # GPUs that fail: what is let go of there has pycuda print a warning
PINNED: dict[int, int] = {}  # address -> bytes of pinned host memory
THREAD = threading.local()
STREAMS: weakref.WeakValueDictionary[int, Stream] = weakref.WeakValueDictionary()  # by handle


class Error(Exception):
    pass


class MemoryError(Error):
    pass


class LogicError(Error):
    pass


def contexts() -> list[Context]:
    """This thread's stack; the last one is current."""
    return vars(THREAD).setdefault("contexts", [])


def current() -> Context:
    assert contexts(), "no context is current: a call outside of `with gpu`"
    return contexts()[-1]


def must_be_current(*owners: Context) -> None:
    """Fail unless a context is current, and what a call works on belongs to it."""
    context = current()
    assert all(owner is context for owner in owners), f"{owners} in the {context}"


class Queue:
    """What a stream still has to do, each with what it waits for; it outlives its stream, as with the driver."""

    def __init__(self, context: Context) -> None:
        self.context, self.operations = context, deque()

    @property
    def ready(self) -> bool:
        return bool(self.operations) and (self.operations[0][1] is None or self.operations[0][1].done)


class Scheduler:
    """The queues of all streams, and the order in which what they hold is done."""

    def __init__(self) -> None:
        self.seed(0)
        self.queues: list[Queue] = []

    def seed(self, seed: object) -> None:
        """Fix the order; it is lazy or eager, too: how much is done when something is queued."""
        self.random = random.Random(seed)
        self.eager = self.random.choice(((0,), (0, 0, 0, 1), (0, 0, 0, 1, 2, 5)))

    def add(self, stream: Stream | None, operation: Callable[[], None], after: Marker | None = None) -> None:
        """Queue an operation, which may begin once `after` is done; without a stream it is done at once."""
        must_be_current(*([] if stream is None else [stream.context]))
        if stream is None:
            operation()
            return
        with LOCK:
            stream.queue.operations.append((operation, after))
            if stream.queue not in self.queues:
                self.queues.append(stream.queue)
            self.do_some()

    def do_some(self) -> None:
        for _ in range(self.random.choice(self.eager)):
            self.do_one()

    def do_one(self) -> bool:
        ready = [queue for queue in self.queues if queue.ready]
        if not ready:
            assert not any(queue.operations for queue in self.queues), "every stream waits for another"
            return False
        operation, _ = self.random.choice(ready).operations.popleft()
        operation()
        return True

    def until(self, over: Callable[[], bool]) -> None:
        with LOCK:
            while not over():
                assert self.do_one(), "nothing is left to do, and what was waited for has not come"

    def idle(self, context: Context) -> bool:
        return not any(queue.operations for queue in self.queues if queue.context is context)

    def drain(self) -> None:
        """Do everything that is queued anywhere."""
        with LOCK:
            while self.do_one():
                pass
            self.queues.clear()
        late = any((buffer != POISON).any() for buffer in FREED)
        FREED.clear()
        assert not late, "memory was written after it was freed"


WORK = Scheduler()


class Allocation:
    def __init__(self, size: int) -> None:
        self.context, self.size = current(), size
        self.buffer = np.full(size + 2 * GUARD_BYTES, POISON, np.uint8)
        self.address = self.buffer.ctypes.data + GUARD_BYTES
        LIVE[self.address] = self

    def __int__(self) -> int:
        return self.address

    def free(self) -> None:
        must_be_current(self.context)
        Context.synchronize()  # as cuMemFree does; other GPUs' streams go on
        del LIVE[self.address]
        guards = np.concatenate([self.buffer[:GUARD_BYTES], self.buffer[-GUARD_BYTES:]])
        assert (guards == POISON).all(), "a kernel or a copy wrote outside of its array"
        self.buffer[:] = POISON
        FREED.append(self.buffer)


class Marker:
    """One recording of an event."""

    def __init__(self) -> None:
        self.done, self.time = False, 0.0

    def reach(self) -> None:
        self.done, self.time = True, time.perf_counter()


class InContext:
    """What is made and let go of in one context: pycuda loses what is let go of elsewhere."""

    def __init__(self) -> None:
        self.context = current()

    def __del__(self) -> None:
        if self.context.index in GONE:
            os.write(2, b"PyCUDA WARNING: a clean-up operation failed (dead context maybe?)\n")
        if contexts()[-1:] != [self.context]:
            LOST.append(f"{type(self).__name__} of GPU {self.context.index}")


class Event(InContext):
    def __init__(self, flags: int = 0) -> None:
        super().__init__()
        self.marker = None

    def record(self, stream) -> None:
        must_be_current(self.context)
        self.marker = Marker()
        WORK.add(stream, self.marker.reach)

    def synchronize(self) -> None:
        must_be_current(self.context)
        assert self.marker is not None, "an event that was never recorded"
        marker = self.marker
        WORK.until(lambda: marker.done)

    def query(self) -> bool:
        must_be_current(self.context)
        with LOCK:
            WORK.do_some()
            if WORK.random.random() < 0.5:  # time goes by for those who ask again and again
                WORK.do_one()
        return self.marker.done

    def time_since(self, earlier) -> float:
        must_be_current(self.context, earlier.context)
        assert self.marker.done and earlier.marker.done
        return (self.marker.time - earlier.marker.time) * 1e3


class Stream(InContext):
    def __init__(self, flags: int = 0) -> None:
        super().__init__()
        assert flags == NON_BLOCKING
        self.handle = id(self)
        STREAMS[self.handle] = self
        self.queue = Queue(self.context)

    def synchronize(self) -> None:
        must_be_current(self.context)
        WORK.until(lambda: not self.queue.operations)

    def wait_for_event(self, event) -> None:
        assert event.marker is not None, "a wait for an event that was never recorded"
        WORK.add(self, lambda: None, event.marker)


class Context:
    """A GPU's primary context; as pycuda, the stack is left as it was by a push or pop that fails."""

    def __init__(self, index: int) -> None:
        self.index, self.peers = index, set()

    def __repr__(self) -> str:
        return f"context of GPU {self.index}"

    def push(self) -> None:
        contexts().append(self)

    @staticmethod
    def pop() -> None:
        contexts().pop()

    @staticmethod
    def synchronize() -> None:
        context = current()
        WORK.until(lambda: WORK.idle(context))

    def enable_peer_access(self, other) -> None:
        must_be_current(self)
        assert other is not self
        if other in self.peers:
            raise LogicError("cuCtxEnablePeerAccess failed: peer access is already enabled")
        self.peers.add(other)


PRIMARY = [Context(index) for index in range(4)]


class Device:
    def __init__(self, index: int) -> None:
        self.index = index

    @staticmethod
    def count() -> int:
        return len(PRIMARY)

    def name(self) -> str:
        return "stand-in"

    def pci_bus_id(self) -> str:
        return f"0000:{self.index:02}:00.0"

    def retain_primary_context(self) -> Context:
        return PRIMARY[self.index]

    def compute_capability(self) -> tuple[int, int]:
        return 9, 0

    def get_attribute(self, which) -> int:
        return which

    def can_access_peer(self, other) -> bool:
        return self.index % 2 == other.index % 2


class Function:
    shared_size_bytes = 49_000  # so that some values fit beside: 352 bytes, and 152 of them unasked

    def __init__(self, library: ctypes.CDLL, name: str) -> None:
        self.context, self.function, self.name = current(), getattr(library, f"run_{name}"), name
        self.allowed = (48 << 10) - self.shared_size_bytes

    def prepare(self, format: str) -> None:
        self.arguments = len(struct.unpack(format, bytes(struct.calcsize(format))))

    def set_attribute(self, which, value: int) -> None:
        assert which == "dynamic shared" and value <= 49_352 - self.shared_size_bytes
        self.allowed = value

    def prepared_async_call(self, grid, block, stream, *arguments, shared_size) -> None:
        must_be_current(self.context)
        assert shared_size <= self.allowed and (shared_size == 0 or self.name in ("pull_kernel", "pull_tiles_kernel"))
        assert stream is not None and len(arguments) == self.arguments
        given, kept = list(arguments), None
        if arguments and isinstance(arguments[-1], bytes):  # the context, by value
            kept = ctypes.create_string_buffer(arguments[-1], len(arguments[-1]))
            given[-1] = ctypes.addressof(kept)
        words = np.array(given, np.uint64)

        def run(kept=kept) -> None:
            with LOCK:
                self.function(grid[0], words.ctypes.data_as(ctypes.c_void_p))

        WORK.add(stream, run)


def memmove(to: int, source: int, size: int) -> None:
    for address in (to, source):
        assert address > 4096, "a copy from or to no address"
    ctypes.memmove(to, source, size)


def memset(address: int, byte: int, size: int, stream=None) -> None:
    WORK.add(stream, lambda: ctypes.memset(address, byte, size))


def to_device(address: int, values: np.ndarray, stream=None) -> None:
    assert values.flags.c_contiguous
    at, pinned = values.ctypes.data, is_pinned(values)
    touched = any(first < at + values.nbytes and at < first + size for first, size in PINNED.items())
    assert pinned or not touched, "a copy from memory that was pinned in two pieces, or in part"
    source = values if pinned or stream is None else values.copy()
    WORK.add(stream, lambda: memmove(address, source.ctypes.data, source.nbytes))


def to_host(out: np.ndarray, address: int, stream=None) -> None:
    assert out.flags.c_contiguous
    WORK.add(stream, lambda: memmove(out.ctypes.data, address, out.nbytes))


def on_device(to: int, source: int, size: int, stream) -> None:
    WORK.add(stream, lambda: memmove(to, source, size))


def is_pinned(values: np.ndarray) -> bool:
    at = values.ctypes.data
    return any(first <= at and at + values.nbytes <= first + size for first, size in PINNED.items())


def pinned_array(shape, dtype) -> np.ndarray:
    must_be_current()
    array = np.empty(shape, dtype)
    PINNED[array.ctypes.data] = array.nbytes
    weakref.finalize(array, PINNED.pop, array.ctypes.data, None)
    return array


def pin(gpu, array: np.ndarray, touched: bool = False) -> Callable[[], None]:
    """What stands for Gpu.pin; what is pinned stays where it is, as a view may be what is copied."""
    must_be_current(gpu.context)
    first, last = array.ctypes.data >> 12, array.ctypes.data + array.nbytes - 1 >> 12
    for other, size in PINNED.items():
        assert last < other >> 12 or other + size - 1 >> 12 < first, "a page of the system's is pinned once only"
    PINNED[array.ctypes.data] = array.nbytes

    def undo(kept=array) -> None:
        must_be_current(gpu.context)
        assert not any(queue.operations for queue in WORK.queues), "memory is unpinned while copies are queued"
        PINNED.pop(array.ctypes.data, None)

    return undo


def memory_info() -> tuple[int, int]:
    must_be_current()
    return MEMORY_BYTES, MEMORY_BYTES


def allocate(size: int) -> Allocation:
    if sum(taken.size for taken in LIVE.values() if taken.context is current()) + size > MEMORY_BYTES:
        raise MemoryError("out of the stand-in's memory")
    return Allocation(size)


class Driver(SimpleNamespace):
    __hash__ = object.__hash__


DRIVER = Driver(
    Device=Device, Context=Context, Stream=Stream, Event=Event, Error=Error, MemoryError=MemoryError,
    LogicError=LogicError,
    device_attribute=SimpleNamespace(MULTIPROCESSOR_COUNT=1, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN=49_352, L2_CACHE_SIZE=1),
    function_attribute=SimpleNamespace(MAX_DYNAMIC_SHARED_SIZE_BYTES="dynamic shared"),
    event_flags=SimpleNamespace(DISABLE_TIMING=2), mem_get_info=memory_info, mem_alloc=allocate,
    memcpy_htod=to_device, memcpy_htod_async=to_device, memcpy_dtoh_async=to_host, memcpy_dtod_async=on_device,
    memset_d8_async=memset, pagelocked_empty=pinned_array,
    module_from_file=lambda path: SimpleNamespace(get_function=partial(Function, ctypes.CDLL(path))),
)  # fmt: skip
