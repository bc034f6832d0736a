"""What glibc keeps of the memory that arrays are freed from, for the next ones. Other C libraries are left alone."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

MAPPED_BYTES = 1 << 18  # in a conversion, arrays from this size on get a mapping of their own
TRIMMED_BYTES = 128 << 10  # of free memory at the heap's end are kept: glibc's DEFAULT_TRIM_THRESHOLD
KEPT_BYTES = 32 << 20  # elsewhere arrays from this size on: glibc's DEFAULT_MMAP_THRESHOLD_MAX
_TURN, _OPEN = threading.Lock(), [0]
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h


@cache
def keep_freed_memory() -> None:
    """Let the heap keep up to 64 MiB that are free, once a process and for good.

    Every run makes and frees arrays of some MiB. glibc raises its thresholds as they are freed, but where that leaves
    the heap's end is luck: a search of a graph of scale 20 had 300 page faults or 750, which cost 1 to 2 of its 12 ms.
    """
    with _TURN:
        if not _OPEN[0]:
            _set_thresholds(KEPT_BYTES, 2 * KEPT_BYTES)


@contextmanager
def returning_freed_memory() -> Iterator[None]:
    """A block in which glibc hands large freed arrays back to the system at once.

    It would otherwise raise its threshold to 32 MiB as such arrays are freed and keep them: measured at a budget of
    64 MiB, 91 MiB are held instead of 52, and at 512 MiB 527 instead of 384. After it the thresholds are those of
    `keep_freed_memory`. Several blocks may be open, in threads: the last one ends it.
    """
    with _TURN:
        _set_thresholds(MAPPED_BYTES, TRIMMED_BYTES)
        _trim()
        _OPEN[0] += 1
    try:
        yield
    finally:
        with _TURN:
            _OPEN[0] -= 1
            if not _OPEN[0]:
                _set_thresholds(KEPT_BYTES, 2 * KEPT_BYTES)
                _trim()


def _set_thresholds(mapped: int, trimmed: int) -> None:
    """From which size on arrays get mappings of their own, and how many free bytes the heap may end with."""
    with suppress(AttributeError, OSError):
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_THRESHOLD, mapped)
        libc.mallopt(_M_TRIM_THRESHOLD, trimmed)


def _trim() -> None:
    """Hand back what is free."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
