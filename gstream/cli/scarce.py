"""Where the address space is limited (ulimit -v): libraries in C++ that get no memory end the process, past Python.

LLVM, which every kernel is loaded by, throws std::bad_alloc through C, which ends in SIGABRT and a core. So a piece of
the address space is kept for them. It is given up when the first of their allocations fails, which then succeeds; when
another one fails, the process ends with one line and the exit code of all that runs out. Python and NumPy are told of a
shortage as ever, ahead of that: they can't have the piece before. What LLVM asks malloc for, and what NumPy's OpenBLAS
asks for at its start, ends the process all the same; so a limit that leaves too little for both is refused at once.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import resource

from pagestore.errors import ResourceError

LEAST_BYTES = 1 << 30  # with 0.9 GiB every command ended well on two cores; with less LLVM or OpenBLAS may abort
KEPT_BYTES = 64 << 20  # LLVM took 10 to 30 MiB to load the kernels of a run; no memory, as nothing is written there
MAP_NORESERVE = 0x4000  # Linux: address space alone is asked for
BLAS_BYTES = 512 << 20  # SciPy's libraries and one thread of OpenBLAS take two thirds of that
LINE = b"out of memory. Raise the limit of the address space (ulimit -v).\n"
_kept: list[object] = []  # what must live as long as the process


def prepare() -> None:
    """Raise ResourceError where the address space is too little for the libraries; keep a piece of it for them."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit < LEAST_BYTES:
        raise ResourceError(
            f"the address space is limited to {limit >> 10} KiB (ulimit -v), too little for gstream's libraries and "
            f"threads. Raise the limit to {LEAST_BYTES >> 10} at least (1 GiB), or lift it: ulimit -v unlimited."
        )
    _keep_room_for_libraries()


def has_room(size: int) -> bool:
    """Whether the address space has a free piece of `size` bytes."""
    try:
        _space(size).close()
    except (OSError, MemoryError):
        return False
    return True


def _keep_room_for_libraries() -> None:
    """Let C++ give up a piece of the address space first, and then end the process in words."""
    try:
        space = _space(KEPT_BYTES)
        set_handler = ctypes.CDLL("libstdc++.so.6")._ZSt15set_new_handlerPFvvE
    except (OSError, AttributeError):  # there is too little as it is; or another library of C++
        return
    give_up, write, leave, code = space.close, os.write, os._exit, ResourceError.exit_code

    def short() -> None:
        if space.closed:
            try:
                write(2, LINE)
            finally:
                leave(code)
        give_up()

    handler = ctypes.CFUNCTYPE(None)(short)
    _kept.append(handler)
    set_handler.argtypes, set_handler.restype = [ctypes.c_void_p], ctypes.c_void_p
    set_handler(ctypes.cast(handler, ctypes.c_void_p))


def _space(size: int) -> mmap.mmap:
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE, prot=mmap.PROT_READ)
