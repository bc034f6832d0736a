"""CUDA started by a thread, while Python imports what a run needs: starting the driver and a context takes near 1 s.

Through the driver's own library: PyCUDA holds the interpreter during these calls. What fails here fails again, with a
message, when the device is made.
"""

from __future__ import annotations

import ctypes
import os
from threading import Thread

# Hardware queues that streams are spread over. With the usual 8, streams wait for others that they don't know of (1 %
# of the link's rate); 32 cost each start 0.3 s more, and are no faster.
CONNECTIONS = ("CUDA_DEVICE_MAX_CONNECTIONS", "16")
VISIBLE = "CUDA_VISIBLE_DEVICES"  # the driver takes up all GPUs that it sees, which takes 0.2 s each


def start_cuda(numbers: list[int]) -> Thread:
    """Begin to start the driver and the primary contexts of these GPUs; it will see none of higher numbers."""
    os.environ.setdefault(*CONNECTIONS)
    os.environ.setdefault(VISIBLE, ",".join(str(number) for number in range(max(numbers) + 1)))
    thread = Thread(target=_start, args=(numbers,), name="start CUDA", daemon=True)
    thread.start()
    return thread


def _start(numbers: list[int]) -> None:
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return
    if library.cuInit(0) != 0:
        return
    for number in numbers:
        device, context = ctypes.c_int(), ctypes.c_void_p()
        if library.cuDeviceGet(ctypes.byref(device), number) == 0:
            library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)


def uuid_of(number: int) -> str | None:
    """A GPU's own name, which no other GPU on any machine has, in 32 hexadecimal digits; None where the driver does not
    say it. CUDA has started."""
    device, name = ctypes.c_int(), ctypes.create_string_buffer(16)
    try:
        library = ctypes.CDLL("libcuda.so.1")
        if library.cuDeviceGet(ctypes.byref(device), number) or library.cuDeviceGetUuid_v2(name, device):
            return None
    except (OSError, AttributeError):
        return None
    return name.raw.hex()


def cuda_version() -> str | None:
    """The newest CUDA that the driver runs, as "13.0"; None without a driver. Works without pycuda."""
    number = ctypes.c_int()
    try:
        if ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(number)) != 0:
            return None
    except (OSError, AttributeError):
        return None
    return f"{number.value // 1000}.{number.value % 1000 // 10}"
