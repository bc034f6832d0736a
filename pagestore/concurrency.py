"""What threads of one process share, and what becomes of it in a forked child.

A fork copies locks as they are, and none of the threads that would open them. So a fork waits until no thread makes or
loads code (`LOADING`, Numba's own lock, and those given to `fork_waits_for`): the child finds these locks open, and
nothing half made. Other locks of this project are made anew in the child by whoever owns them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from threading import RLock
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")

LOADING = RLock()  # held while a module of gstream is imported at its first use, or made and loaded
_INNER: list[Any] = []  # locks that are taken inside Numba's
_held: list[Any] = []  # by the thread that forks


def fork_waits_for(lock: Any) -> Any:
    """The lock, which whoever holds it lets go of before the process forks. Its holder takes no other lock."""
    _INNER.append(lock)
    return lock


def _before_fork() -> None:
    numba = sys.modules.get("numba.core.compiler_lock")
    inside = [] if numba is None else [numba.global_compiler_lock]
    for lock in (LOADING, *inside, *_INNER):  # in the order in which threads take them
        lock.acquire()
        _held.append(lock)


def _after_fork() -> None:
    while _held:
        _held.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


class cached_property(Generic[T]):  # noqa: N801: stands for the one of functools
    """functools.cached_property as it is from Python 3.12 on: without a lock, which a forked child may find held.

    Two threads may both make the value; the last one's stays.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make, self.__doc__ = make, make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> cached_property[T]: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> cached_property[T] | T:
        if instance is None:
            return self
        made = instance.__dict__[self._name] = self._make(instance)
        return made
