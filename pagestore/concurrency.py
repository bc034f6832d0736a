"""What threads of one process share, and what becomes of it in a forked child.

A fork copies locks as they are, and none of the threads that would open them. So a fork waits until no thread makes or
loads code (`LOADING`, Numba's own lock, and those given to `fork_waits_for`): the child finds these locks open, and
nothing half made. Other locks of this project are made anew in the child by their owners.
"""

from __future__ import annotations

# Both take locks ahead of a fork, too; registered first, they take them after ours.
import concurrent.futures.thread  # noqa: F401
import logging  # noqa: F401
import os
import sys
from collections.abc import Callable
from threading import RLock, get_ident
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")

FORK_SECONDS = 60.0  # that a fork waits for a lock: its holder may wait for a lock of other code that forks take
LOADING: Any = RLock()  # held while a module of gstream is imported at its first use, or made and loaded
_inner: list[Any] = []  # locks that are taken inside Numba's
_forking: dict[int, tuple[list[Any], list[Any]]] = {}  # threads that fork: locks they want, and those they hold
_half_made: list[bool] = []  # True: code was being made in another thread as this process was forked


def fork_waits_for(lock: Any) -> Any:
    """Register a lock, and return it: a fork waits until it is free. Its holder must take no other lock."""
    _inner.append(lock)
    return lock


def is_half_made() -> bool:
    """Whether code of this process, a forked child, can't be trusted: its fork could not wait until it was whole."""
    return bool(_half_made)


def _locks() -> list[Any]:
    """In the order in which threads take them."""
    numba = sys.modules.get("numba.core.compiler_lock")
    inside = getattr(getattr(numba, "global_compiler_lock", None), "_lock", None)
    return [LOADING, *([] if inside is None else [inside]), *_inner]


def _before_fork() -> None:
    me = get_ident()
    if me not in _forking:  # else the handler that was registered later has been called
        wanted, held = _forking[me] = _locks(), []
        for lock in wanted:
            if lock.acquire(timeout=FORK_SECONDS):
                held.append(lock)


def _after_fork() -> None:
    _, held = _forking.pop(get_ident(), ([], []))
    for lock in reversed(held):
        lock.release()


def _in_child() -> None:
    wanted, held = _forking.get(get_ident(), ([], []))
    for lock in wanted:
        if lock not in held:
            lock._at_fork_reinit()
            _half_made.append(True)
    _after_fork()
    _forking.clear()
    _import_anew()


def _import_anew() -> None:
    """In a forked child: forget the modules that other threads were importing, which would be waited for for ever.

    Functions import what few need at their first use, pandas for example, and Python has a lock a module for that.
    """
    locks = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
    for name, reference in list(locks.items()):
        if getattr(reference(), "owner", None) not in (None, get_ident()):
            locks.pop(name)
            if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
                sys.modules.pop(name)


def wait_ahead_of_others() -> None:
    """Have forks wait before the handlers run that other code has registered by now: what was registered last runs
    first, and a handler that holds a lock meanwhile may be what a thread that loads code waits for."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)


wait_ahead_of_others()


class cached_property(Generic[T]):
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
