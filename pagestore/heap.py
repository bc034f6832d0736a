"""What glibc keeps of the memory that arrays are freed from, for the next ones. Other C libraries are left alone."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

MAPPED_BYTES = 1 << 18  # in a conversion, arrays from this size on get a mapping of their own at the earliest
TRIMMED_BYTES = 128 << 10  # of free memory at the heap's end are kept at least: glibc's DEFAULT_TRIM_THRESHOLD
KEPT_SHARE = 256  # of a conversion's budget: from one such part of it on an array is a large one
KEPT_BYTES = 32 << 20  # elsewhere arrays from this size on: glibc's DEFAULT_MMAP_THRESHOLD_MAX
_TURN, _OPEN = threading.Lock(), list[int]()
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h


@cache
def keep_freed_memory() -> None:
    """Let the heap keep up to 64 MiB that are free, once a process and for good.

    Every run makes and frees arrays of some MiB. glibc raises its thresholds as they are freed, but where that leaves
    the heap's end is luck: a search of a graph of scale 20 had 300 page faults or 750, which cost 1 to 2 of its 12 ms.
    """
    with _TURN:
        _heed_open()


@contextmanager
def returning_freed_memory(budget_bytes: int = 0) -> Iterator[None]:
    """A block in which glibc hands large freed arrays back to the system at once. budget_bytes: of the conversion.

    Memory that is handed back costs a page fault every 4 KiB when it is had again: an update of RMAT 20 had 74,000 that
    took a quarter of its time, and has 15,000 with a budget of some GiB. With a small one glibc would raise its
    threshold to 32 MiB as such arrays are freed, and keep them: measured at a budget of 64 MiB, 91 MiB are held instead
    of 52, and at 512 MiB 527 instead of 384. After it the thresholds are those of `keep_freed_memory`. Several blocks
    may be open, in threads: the least budget counts, and the last one ends it.
    """
    kept = min(KEPT_BYTES, budget_bytes // KEPT_SHARE)
    with _TURN:
        _OPEN.append(kept)
        _heed_open()
        _trim()
    try:
        yield
    finally:
        with _TURN:
            _OPEN.remove(kept)
            _heed_open()
            if not _OPEN:
                _trim()


def _heed_open() -> None:
    """Set the thresholds that the open blocks ask for."""
    if _OPEN:
        _set_thresholds(max(MAPPED_BYTES, min(_OPEN)), max(TRIMMED_BYTES, min(_OPEN)))
    else:
        _set_thresholds(KEPT_BYTES, 2 * KEPT_BYTES)


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
