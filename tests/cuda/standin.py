"""PyCUDA's driver as far as gstream.devices.cuda uses it, in host memory: kernels are run by g++ (emulate.h), at once.

It tries the GPU device's own logic where there is no GPU: addresses, sizes, maps of rows, what goes where. Memory is
filled with POISON when it is taken and has guards on both sides, which are looked at when it is freed. Everything is
over when it is queued, so orders of streams are not tried.
"""

from __future__ import annotations

import ctypes
import hashlib
import threading
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from compilers import shared_library

from gstream.devices import cuda as gpu_module

POISON, GUARD_BYTES = 0xA5, 64
MEMORY_BYTES = 1 << 30
LOCK = threading.RLock()  # the emulator runs one kernel at a time
LIVE: dict[int, int] = {}  # address -> bytes of what is allocated


class Error(Exception):
    pass


class MemoryError(Error):
    pass


class LogicError(Error):
    pass


class Allocation:
    def __init__(self, size: int) -> None:
        self.buffer = np.full(size + 2 * GUARD_BYTES, POISON, np.uint8)
        self.address = self.buffer.ctypes.data + GUARD_BYTES
        LIVE[self.address] = size

    def __int__(self) -> int:
        return self.address

    def free(self) -> None:
        del LIVE[self.address]
        guards = np.concatenate([self.buffer[:GUARD_BYTES], self.buffer[-GUARD_BYTES:]])
        assert (guards == POISON).all(), "a kernel or a copy wrote outside of its array"
        self.buffer = None


class Event:
    def __init__(self, flags: int = 0) -> None:
        self.time = None

    def record(self, stream=None) -> None:
        self.time = time.perf_counter()

    def synchronize(self) -> None:
        assert self.time is not None, "an event that was never recorded"

    def query(self) -> bool:
        return True

    def time_since(self, earlier) -> float:
        return (self.time - earlier.time) * 1e3


class Stream:
    def __init__(self, flags: int = 0) -> None:
        assert flags == gpu_module.NON_BLOCKING

    def synchronize(self) -> None:
        pass

    def wait_for_event(self, event) -> None:
        assert event.time is not None, "a wait for an event that was never recorded"


class Context:
    current: list[int] = []

    def __init__(self, device) -> None:
        self.device = device

    def push(self) -> None:
        pass

    @staticmethod
    def pop() -> None:
        pass

    @staticmethod
    def synchronize() -> None:
        pass

    def enable_peer_access(self, other) -> None:
        assert other is not self


class Device:
    def __init__(self, index: int) -> None:
        self.index = index

    @staticmethod
    def count() -> int:
        return 4

    def name(self) -> str:
        return "stand-in"

    def retain_primary_context(self) -> Context:
        return Context(self)

    def compute_capability(self) -> tuple[int, int]:
        return 9, 0

    def get_attribute(self, which) -> int:
        return 1

    def can_access_peer(self, other) -> bool:
        return self.index % 2 == other.index % 2


class Function:
    def __init__(self, library: ctypes.CDLL, name: str) -> None:
        self.function, self.name, self.format = getattr(library, f"run_{name}"), name, ""

    def prepare(self, format: str) -> None:
        self.format = format

    def prepared_async_call(self, grid, block, stream, *arguments) -> None:
        assert stream is None or isinstance(stream, Stream)
        given = list(arguments)
        if arguments and isinstance(arguments[-1], bytes):  # the context, by value
            context = ctypes.create_string_buffer(arguments[-1], len(arguments[-1]))
            given[-1] = ctypes.addressof(context)
        with LOCK:
            self.function(grid[0], np.array(given, np.uint64).ctypes.data_as(ctypes.c_void_p))


def memmove(to: int, source: int, size: int) -> None:
    for address in (to, source):
        assert address > 4096, "a copy from or to no address"
    ctypes.memmove(to, source, size)


def memset(address: int, byte: int, size: int, stream=None) -> None:
    ctypes.memset(address, byte, size)


def to_device(address: int, values: np.ndarray, stream=None) -> None:
    assert values.flags.c_contiguous
    memmove(address, values.ctypes.data, values.nbytes)


def to_host(out: np.ndarray, address: int, stream=None) -> None:
    assert out.flags.c_contiguous
    memmove(out.ctypes.data, address, out.nbytes)


def allocate(size: int) -> Allocation:
    if sum(LIVE.values()) + size > MEMORY_BYTES:
        raise MemoryError("out of the stand-in's memory")
    return Allocation(size)


class Driver(SimpleNamespace):
    __hash__ = object.__hash__


DRIVER = Driver(
    Device=Device, Context=Context, Stream=Stream, Event=Event, Error=Error, MemoryError=MemoryError,
    LogicError=LogicError, device_attribute=SimpleNamespace(MULTIPROCESSOR_COUNT=1),
    event_flags=SimpleNamespace(DISABLE_TIMING=2), mem_get_info=lambda: (MEMORY_BYTES, MEMORY_BYTES),
    mem_alloc=allocate, memcpy_htod=to_device, memcpy_htod_async=to_device, memcpy_dtoh_async=to_host,
    memcpy_dtod_async=lambda to, source, size, stream: memmove(to, source, size), memset_d8_async=memset,
    pagelocked_empty=lambda shape, dtype: np.empty(shape, dtype),
    module_from_file=lambda path: SimpleNamespace(get_function=partial(Function, ctypes.CDLL(path))),
)  # fmt: skip


def compile_unit(unit, folder: Path) -> Path:
    """What stands for Unit.compile: a library with a function run_NAME for each kernel."""
    path = folder / hashlib.sha256(unit.text.encode()).hexdigest()[:16]
    if not path.exists():
        path.mkdir()
        texts = ['#include "emulate.h"', unit.text]
        for kernel in unit.kernels.values():
            texts.append(
                f'extern "C" void run_{kernel.name}(unsigned grid, const unsigned long long* given) {{\n'
                f"    emulated::call({kernel.name}, grid, {kernel.threads}, given);\n}}"
            )
        shared_library(path, "\n".join(texts), "-O1")
    return path / "unit.so"
