"""One thread at a time works with a graph: `Turn`, which others wait for, and what a forked child begins with."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakSet

from pagestore.concurrency import is_half_made
from pagestore.errors import GstreamError, UsageError

M = TypeVar("M", bound=Callable[..., Any])

AWAKE_SECONDS = 0.2  # a signal that another thread got does not end a wait, so a waiting thread looks this often
CALLBACK_SECONDS = 5.0  # of one call of a user's function, after which other threads no longer wait for its end
AGAIN = "open the store once more with gstream.open"


class Turn:
    """Whose turn it is to work with one graph. path: the store's, for messages.

    owner: the thread that has it. called: when a user's function (progress) began that is under way; None: none is.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._process = os.getpid()
        self.owner: threading.Thread | None = None
        self.called: float | None = None

    def take(self) -> Any:
        """Wait until no other thread has it; the lock, which the caller releases after `owner` is None again.

        Raises UsageError where this thread has it already: what the call of a callback did would change what its caller
        works on. And where the thread that has it stays in a callback, which may wait for this very call.
        """
        if is_half_made():
            raise GstreamError(
                f"{self._path}: this process was forked while another thread loaded gstream's code, which is cut short "
                'here. Start it in another way (multiprocessing.get_context("spawn")), or fork before.'
            )
        lock, me = self._lock, threading.current_thread()
        if self.owner is me:
            raise UsageError(
                f"{self._path}: this thread is within another call of the same graph, as in a callback. Make this call "
                f"after that one, or {AGAIN}."
            )
        try:
            while not lock.acquire(timeout=AWAKE_SECONDS):
                self._check_callback()
            self.owner = me
        except BaseException:  # Ctrl-C, maybe just when the lock was taken
            self.owner = None if self.owner is me else self.owner
            try:
                lock.release()
            except RuntimeError:
                pass  # it was not
            raise
        return lock

    def _check_callback(self) -> None:
        called, owner = self.called, self.owner
        if called is not None and owner is not None and time.monotonic() - called > CALLBACK_SECONDS:
            raise UsageError(
                f"{self._path}: thread {owner.name} works with this graph and has been in a callback for more than "
                f"{CALLBACK_SECONDS:g} s; if that waits for this call, both wait for ever. Make the call later, or "
                f"{AGAIN}."
            )

    def tell(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a user's function within a call of the graph.

        Raises GstreamError where it returns in a forked child: the threads that the call works with stayed behind.
        """
        self.called = time.monotonic()
        try:
            function(*arguments)
        finally:
            self.called = None
        if os.getpid() != self._process:
            raise GstreamError(
                f"{self._path}: a callback forked this process in the middle of a run, which goes on in the parent "
                "alone. End the child within the callback, by os._exit."
            )


def in_turn(method: M) -> M:
    """For methods of an object whose `_turn` is a Turn: one thread at a time."""

    @wraps(method)
    def called(self: Any, *arguments: Any, **named: Any) -> Any:
        turn = self._turn
        lock = turn.take()
        try:
            return method(self, *arguments, **named)
        finally:  # at once, by no function of Python's, in which a signal's handler might raise first
            turn.owner = None
            lock.release()

    return called  # type: ignore[return-value]


GRAPHS: WeakSet[Any] = WeakSet()  # whose `begin_again` a forked child calls


def _in_child() -> None:
    for graph in list(GRAPHS):
        graph.begin_again()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
