"""What each rank tells all others of the call that it makes: they make the same calls in the same order.

A rank that makes one alone, which they all have to make, would wait for ever. So a call is named by the functions that
lead to it, and ranks compare the names: a message of a few words, ahead of plain values and beside arrays.
"""

from __future__ import annotations

import sys
from collections import deque
from types import FrameType
from typing import Any
from zlib import crc32

import numpy as np

from pagestore.errors import GstreamError

SAID = 64  # bytes of a call's name
MARK = np.dtype([("call", np.uint64), ("bytes", np.int64), ("said", f"S{SAID}")])
OURS = ("gstream.", "pagestore.")  # whose functions name a call: a script's own may differ from rank to rank
AROUND = ("gstream.cli.", "gstream.options.")  # which call what is named
HERE = ("gstream.devices.ranks", __name__)
UNCHECKED = 8  # calls about arrays whose marks may be under way: arrays wait for none


class RankCalls:
    """The calls of all ranks. world: a communicator of mpi4py's that has no other messages."""

    def __init__(self, world: Any) -> None:
        self._world = world
        self._under_way = deque[tuple[Any, np.ndarray, np.ndarray]]()

    def begin(self, size: int = 0, name: str = "") -> None:
        """This rank makes a call, with so many bytes of plain values. name: of one that ranks come to by other ways."""
        mine, marks = np.zeros(1, MARK), np.empty(self._world.size, MARK)
        call, said = (crc32(name.encode()), name.encode()) if name else self._named()
        mine[0] = call, size, said
        request = self._world.Iallgather(mine.view(np.uint8), marks.view(np.uint8))
        self._under_way.append((request, mine, marks))
        if len(self._under_way) > UNCHECKED:
            self._end(wait=True)

    def agree(self, size: int) -> list[int]:
        """Begin a call; the bytes that each rank brings to it. Raises GstreamError where ranks make different calls."""
        self.begin(size)
        marks = self._under_way[-1][2]
        while self._under_way:
            self._end(wait=True)
        sizes: list[int] = marks["bytes"].tolist()
        return sizes

    def are_over(self) -> bool:
        """Whether all ranks have made all calls that this one has begun. Raises as `agree`."""
        while self._under_way and self._end(wait=False):
            pass
        return not self._under_way

    def _end(self, wait: bool) -> bool:
        """Compare the earliest of those under way; False where it is not over."""
        request, _, marks = self._under_way[0]
        if wait:
            request.Wait()
        elif not request.Test():
            return False
        self._under_way.popleft()
        other = int(np.argmax(marks["call"] != marks["call"][0]))
        if other:
            first, second = (marks["said"][rank].decode(errors="replace") for rank in (0, other))
            raise GstreamError(
                f"ranks make different calls: rank 0 is at {first}, rank {other} is at {second}. All ranks have "
                "to make the same calls of gstream in the same order; of a command please report it."
            )
        return True

    def _named(self) -> tuple[int, bytes]:
        """(number of this call, by the lines of our functions that lead to it; the outermost and the innermost)."""
        frame: FrameType | None = sys._getframe(2)
        lines, names = 0, list[str]()
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            if module.startswith(OURS) and module not in HERE:
                name = f"{module.rpartition('.')[2]}.{frame.f_code.co_name}"
                lines = crc32(f"{name}:{frame.f_lineno}".encode(), lines)
                if not names or not module.startswith(AROUND):
                    names.append(name)
            frame = frame.f_back
        return lines, f"{names[-1]} ({names[0]})".encode()[:SAID] if names else b"a call"
