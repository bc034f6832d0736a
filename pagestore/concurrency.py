"""What threads of one process share, and what becomes of it in a forked child.

A fork copies locks as they are, but not the threads that would open them. So a fork waits until no thread compiles or
loads code: until `LOADING`, Numba's own lock and those given to `fork_waits_for` are open. The child then finds nothing
half made. The owners of other locks of this project make them anew in the child.
"""

from __future__ import annotations

# Both take locks before a fork, too; as they are registered first, they take them after ours
import concurrent.futures.thread  # noqa: F401
import logging  # noqa: F401
import os
import sys
from collections.abc import Callable
from threading import RLock, get_ident
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")

FORK_SECONDS = 60.0  # how long a fork waits for a lock: its owner may itself wait for a lock that forks take
LOADING: Any = RLock()  # taken while a module of gstream is imported at its first use, or compiled and loaded
_inner: list[Any] = []  # locks that are taken inside Numba's
_forking: dict[int, tuple[list[Any], list[Any]]] = {}  # threads that fork: locks they want, and those they have
_half_made: list[bool] = []  # True: another thread was compiling when this process was forked


def fork_waits_for(lock: Any) -> Any:
    """The same lock; forks wait until it is open. A thread that has it must take no other lock."""
    _inner.append(lock)
    return lock


def is_half_made() -> bool:
    """Whether this process is a forked child whose code can't be trusted: the fork could not wait for the compiler."""
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
    """In a forked child: forget the modules that other threads were importing: their locks would never open.

    Functions import rarely needed libraries, such as pandas, at their first use; Python has a lock for each module.
    """
    locks = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
    for name, reference in list(locks.items()):
        if getattr(reference(), "owner", None) not in (None, get_ident()):
            locks.pop(name)
            if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
                sys.modules.pop(name)


def wait_ahead_of_others() -> None:
    """Make forks wait before the handlers run that other code has registered so far.

    The handler registered last runs first. Else another one could take a lock that a thread which loads code waits for.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)


wait_ahead_of_others()


class cached_property(Generic[T]):
    """functools.cached_property as from Python 3.12 on: without a lock, which a forked child might find taken.

    Two threads may both make the value; the last one stays.
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
