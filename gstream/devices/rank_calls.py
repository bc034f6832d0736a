"""What ranks know of each other's calls, which they all make in the same order.

A rank that makes one alone would wait for ever, as the others do in their next. So a call is named by the functions
that lead to it. Plain values bring the name along. Calls about arrays bring none: a thread tells the first rank, now
and then, what was called last. That rank compares, and ends all where they differ.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from threading import Event, Thread
from types import CodeType, FrameType
from typing import Any
from zlib import crc32

from pagestore.errors import GstreamError

Call = tuple[int, str]  # the lines of our functions that led to it, as a number; the innermost and the outermost
OURS = ("gstream.", "pagestore.")  # whose functions name a call: a script's own may differ from rank to rank
AROUND = ("gstream.cli.", "gstream.options.")  # which call what is named
HERE = ("gstream.devices.ranks", __name__)
LOOK_SECONDS = 1.0  # a rank that has made no call for so long tells its last ones
TOLD, REMEMBERED = 16, 1024  # calls


class RankCalls:
    """The calls of this rank. words: a communicator of mpi4py's, and a tag of which nobody else takes messages. fails:
    what the first rank does where ranks wait for each other in different calls; None: nobody watches, as MPI's library
    has no room for threads."""

    def __init__(self, words: Any, tag: int, fails: Callable[[GstreamError], None] | None) -> None:
        self._words, self._tag, self._fails = words, tag, fails
        self._calls, self._count = deque[tuple[int, Call]](maxlen=REMEMBERED), 0
        self._names, self._over, self._sent = Names(), Event(), list[Any]()
        self._thread = Thread(target=self._watch, name="calls of ranks", daemon=True)
        if fails is not None:
            self._thread.start()

    def make(self, name: str = "") -> Call:
        """This rank makes a call. name: of one that ranks come to by different ways."""
        call = (crc32(name.encode()), name) if name else self._names.of(sys._getframe(1))
        self._calls.append((self._count, call))
        self._count += 1
        return call

    def close(self) -> None:
        """Stop the watch."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _watch(self) -> None:
        last, told, heard = 0, 0, list[tuple[int, list[tuple[int, Call]]]]()
        while not self._over.wait(LOOK_SECONDS):
            now = self._count
            if self._words.rank and last == now != told:
                told = now
                self._sent.append(self._words.isend((self._words.rank, list(self._calls)[-TOLD:]), 0, self._tag))
            last = now
            self._sent = [one for one in self._sent if not one.Test()]
            while not self._words.rank and self._words.iprobe(tag=self._tag):
                heard.append(self._words.recv(tag=self._tag))
            own = dict(list(self._calls))
            for rank, calls in heard:
                for number, call in calls:
                    if self._fails is not None and number in own and own[number] != call and not self._over.is_set():
                        self._over.set()
                        self._fails(differ(own[number], rank, call))
            heard = [(rank, calls) for rank, calls in heard if calls[-1][0] >= now]


def differ(call: Call, other: int, its: Call) -> GstreamError:
    """The error of ranks that make different calls. call: the first rank's; other: another rank."""
    return GstreamError(
        f"ranks make different calls: rank 0 is at {call[1]}, rank {other} is at {its[1]}. All ranks have to make the "
        "same calls of gstream in the same order; of a command please report it."
    )


def check_same(calls: list[Call]) -> None:
    """Raise GstreamError where a rank makes another call than the first. calls: of the ranks, in order."""
    for rank, call in enumerate(calls):
        if call != calls[0]:
            raise differ(calls[0], rank, call)


class Names:
    """Names of calls. Those that were named before take 5 us."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], tuple[Call, list[CodeType]]] = {}  # code stays, as its id is no other's then

    def of(self, frame: FrameType | None) -> Call:
        """The name of a call that a function makes."""
        way, above = list[int](), frame
        while above is not None:
            way += (id(above.f_code), above.f_lasti)
            above = above.f_back
        key = tuple(way)
        if key not in self._known:
            self._known[key] = _named(frame)
        return self._known[key][0]


def _named(frame: FrameType | None) -> tuple[Call, list[CodeType]]:
    """(the name of a call that a function makes, the code of all that lead to it)."""
    lines, names, codes, inner = 0, list[str](), list[CodeType](), ""
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith(OURS) and module not in HERE:
            name = f"{module.rpartition('.')[2]}.{frame.f_code.co_name}"
            lines = crc32(f"{name}:{frame.f_lineno}".encode(), lines)
            if not names or not module.startswith(AROUND):
                names.append(name)
        elif module in HERE and not names:
            inner = frame.f_code.co_name  # the outermost of these, which a script calls
        codes.append(frame.f_code)
        frame = frame.f_back
    said = " in ".join(dict.fromkeys((names[0], names[-1]))) if names else f"ranks.{inner}"
    return (lines, said), codes
