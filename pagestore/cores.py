"""How many cores this process may use (taskset and containers give fewer), and work handed to threads in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from pagestore.errors import UsageError
from pagestore.groups import control_groups, numbers

if TYPE_CHECKING:
    from concurrent.futures import Future

Item = TypeVar("Item")
Result = TypeVar("Result")

MAX_THREADS = 256  # or as many as there are cores: more only wait for each other


def usable_cores() -> int:
    """Cores that this process may run on, at least 1, and no more than its control groups give it the time of."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, cores_of_quotas() or cores)


@cache
def cores_of_quotas() -> int | None:
    """Cores' worth of time that control groups give (`docker run --cpus`), rounded up; None where none limits it.

    More threads than that use the quota up early in each period, and all of them stand still for the rest of it.
    """
    found = [numbers(folder / "cpu.max") for folder in control_groups()]  # us: quota, or max, and period
    return min((max(1, -(-limit[0] // limit[1])) for limit in found if len(limit) == 2), default=None)


def checked_threads(threads: int | None, option: str = "--threads") -> int:
    """Threads that were asked for, or one a core. Raises UsageError, naming `option`, outside the limits."""
    cores = usable_cores()
    most = max(MAX_THREADS, cores)
    if threads is not None and not 1 <= threads <= most:
        raise UsageError(f"{option} {threads}: it must be 1 to {most}. Leave it out for one a core ({cores} here).")
    return threads or cores


def in_order(items: Iterable[Item], work: Callable[[Item], Result], threads: int) -> Iterator[tuple[Item, Result]]:
    """(item, work(item)) in the order of the items, of which threads + 1 at most are under way."""
    from concurrent.futures import ThreadPoolExecutor  # slow to import, and `gstream --help` imports this file

    waiting: deque[tuple[Item, Future[Result]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                waiting.append((item, pool.submit(work, item)))
                if len(waiting) > threads:
                    first, made = waiting.popleft()
                    yield first, made.result()
            while waiting:
                first, made = waiting.popleft()
                yield first, made.result()
        finally:
            for _, made in waiting:
                made.cancel()
