"""The ranks of a run: processes that a launcher started on one machine or many, and what they tell each other by MPI.

All ranks make the same calls in the same order, which is checked (gstream.devices.rank_calls). Arrays go as they lie
in host memory; parts of an array are ranges of its first axis, one a rank, in order. Only this file imports mpi4py,
lazily.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gstream.devices.job import Range
from gstream.devices.rank_calls import RankCalls, check_same, differ
from pagestore.errors import GstreamError, LibraryMissingError

Ways = tuple[tuple[str, str], ...]  # direction, and the name of the page table that it reads
ReadsWrites = Callable[[Ways], tuple[np.ndarray, np.ndarray]]  # uint64[ceil(V / 64)] of what a rank so reads and writes
STREAMED = 1  # the tag of arrays that go while other calls are made
FAILED = 1 << 14  # the tag of a rank's word that it has failed; any tag will do on a communicator of its own
# Tags of other words: the first rank hears that a rank waits (HERE), was asked to stop (STOP), or made which calls
# (CALLS), and says when all wait (GO). The rank that says why all fail tells the exit code (CODE).
HERE, GO, STOP, CODE, CALLS = (FAILED + number for number in range(1, 6))
SETTLE_SECONDS = 1.0  # in which a rank that fails hears of others that fail for the same reason
END_SECONDS = 5.0  # after which a rank that has told its failure ends all
POLL_SECONDS = 0.01
FIRST_POLL_SECONDS = 1e-4  # of a wait, which is often short


class OthersFailedError(GstreamError):
    """Another rank has failed, and says why: this one, which waited for it, ends without a word."""


class Ranks:
    """This process's place among `size` ranks. bytes_sent: of arrays that this rank has handed to others.

    machine: the first rank of those that share this one's memory, by MPI's word: names of hosts are not unique.
    """

    def __init__(self, world: Any = None) -> None:
        """world: a communicator of mpi4py's; None: that of all processes of the launcher.

        Raises LibraryMissingError without mpi4py or MPI's library.
        """
        self._mpi = _load()
        self._world = self._mpi.COMM_WORLD if world is None else world
        self._words = self._world.Dup()  # of failures: nothing else may wait on it
        threads = self._mpi.Query_thread() == self._mpi.THREAD_MULTIPLE
        self._calls = RankCalls(self._words, CALLS, self._fail if threads else None)
        here = self._world.Split_type(self._mpi.COMM_TYPE_SHARED)
        self.rank, self.size = self._world.rank, self._world.size
        self.local_rank, self.local_size = here.rank, here.size
        self.machine = here.bcast(self.rank, 0)
        here.Free()
        self.bytes_sent = 0
        self.links: dict[Any, Any] = {}  # of its GPUs (gstream.devices.gpu.rank_links), for graphs to come

    @property
    def first(self) -> bool:
        """Whether this rank speaks for all: it prints, and shows progress."""
        return bool(self.rank == 0)

    @property
    def written_parts(self) -> range:
        """Which parts of an answer this rank writes."""
        return range(self.rank, self.rank + 1)

    def finish(self, code: int | None = None) -> None:
        """Leave the launcher in order; no call comes after it. Ranks wait for each other, so that one in another call
        hears of it. code: of ranks that have all failed, which wait for none and may have left messages that nobody
        took: MPI then has no order to leave in, and the process ends here."""
        if code is None and not self._mpi.Is_finalized():
            self.wait()
        self._calls.close()
        if self._mpi.Is_finalized():
            return
        try:
            self._mpi.Finalize()
        except self._mpi.Exception:
            if code is None:
                raise
            os._exit(code)

    # Plain values

    def everybody(self, value: Any) -> list[Any]:
        """What each rank gave, in order of ranks."""
        told = self._world.allgather((self._calls.make(), value))
        check_same([call for call, _ in told])
        return [value for _, value in told]

    def to_first(self, value: Any) -> list[Any]:
        """What each rank gave, in order of ranks, on the first; the others get nothing."""
        told = self._world.gather((self._calls.make(), value), 0) or []
        check_same([call for call, _ in told])
        return [value for _, value in told]

    def of_first(self, value: Any) -> Any:
        """What the first rank gave."""
        call = self._calls.make()
        its, value = self._world.bcast((call, value) if self.first else None, 0)
        if call != its:
            raise differ(its, self.rank, call)
        return value

    def of_any_version(self, value: Any) -> list[Any]:
        """As `everybody`, of ranks whose programs may differ, so that nothing is said of their calls."""
        return list(self._world.allgather(value))

    def by_first(self, call: Callable[[], Any]) -> Any:
        """What the first rank's call gives, on all ranks; they all raise the GstreamError that it raises."""
        found, failed = self.of_first(_tried(call) if self.first else None)
        if failed is not None:
            raise failed
        return found

    def together(self, call: Callable[[], Any]) -> list[Any]:
        """What each rank's call gives, in order of ranks. Where some raise a GstreamError, all raise the first rank's
        of these, with its number."""
        told = self.everybody(_tried(call))
        for rank, (_, failed) in enumerate(told):
            if failed is not None:
                raise type(failed)(f"rank {rank}: {failed.line}")
        return [found for found, _ in told]

    def least(self, number: int) -> int:
        """The least number that a rank gave."""
        return int(min(self.everybody(number)))

    def any(self, flag: bool) -> bool:
        """Whether a rank gave True."""
        return any(self.everybody(bool(flag)))

    def wait(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Return when all ranks have called it. A rank that waits leaves its core to those that work, and calls
        `meanwhile` now and then. Raises OthersFailedError where one of them fails."""
        self._calls.make("the end of its work")
        if not self.first:
            self._words.send(None, 0, HERE)
        for _ in range(self.size - 1 if self.first else 1):
            self._take_word(HERE if self.first else GO, meanwhile)
        for other in range(1, self.size if self.first else 0):
            self._words.send(None, other, GO)

    def _take_word(self, tag: int, meanwhile: Callable[[], None]) -> None:
        """Wait for a rank's word."""
        pause = FIRST_POLL_SECONDS
        while not self._words.iprobe(tag=tag):
            if self._words.iprobe(tag=FAILED):
                raise OthersFailedError("another rank has failed")
            meanwhile()
            time.sleep(pause)
            pause = min(POLL_SECONDS, 2 * pause)
        self._words.recv(tag=tag)

    def check_same(self, what: str, number: int) -> None:
        """Raise RuntimeError unless all ranks gave the same number: they would wait for each other for ever."""
        self._calls.make()
        most, least = np.array([number, -number], np.int64), np.empty(2, np.int64)
        self._world.Allreduce(most, least, self._mpi.MAX)
        if least[0] != -least[1]:
            raise RuntimeError(f"ranks have come to different {what}: {-least[1]} and {least[0]}")

    # Arrays

    def combine(self, array: np.ndarray, how: str) -> None:
        """An array becomes what all ranks' come to, on all of them. how: "sum", "min", "max" or "or"."""
        self._calls.make()
        kinds = {"sum": self._mpi.SUM, "min": self._mpi.MIN, "max": self._mpi.MAX, "or": self._mpi.BOR}
        flat = array.reshape(-1)
        flat = flat.view(np.uint8) if flat.dtype.kind == "b" else flat
        self._world.Allreduce(self._mpi.IN_PLACE, flat, kinds[how])
        self.bytes_sent += 2 * array.nbytes * (self.size - 1) // self.size

    def gather(self, array: np.ndarray, parts: Sequence[Range]) -> None:
        """Each rank's part of an array comes to all."""
        self._calls.make()
        words, width = _words_of(array)
        counts = [max(0, last - first) * width for first, last in parts]
        places = [first * width if count else 0 for (first, _), count in zip(parts, counts, strict=True)]
        self._world.Allgatherv(self._mpi.IN_PLACE, [words, counts, places, self._kind(words)])
        self.bytes_sent += counts[self.rank] * words.itemsize * (self.size - 1)

    def joined(self, array: np.ndarray) -> np.ndarray:
        """The arrays of all ranks, of any length each, one after the other."""
        counts = self.everybody(len(array))
        ends = np.cumsum(counts).tolist()
        found = np.empty((ends[-1], *array.shape[1:]), array.dtype)
        parts = [(end - count, end) for end, count in zip(ends, counts, strict=True)]
        found[slice(*parts[self.rank])] = array
        if len(found):
            self.gather(found, parts)
        return found

    def reduce(self, array: np.ndarray, parts: Sequence[Range], combine: Callable[..., Any]) -> None:
        """Each rank's part of an array becomes what that part of all ranks' arrays comes to: combine(mine, theirs,
        out=mine). Others' parts stay. A neighbour at a time, so room is needed for one part."""
        self._calls.make()
        mine = array[slice(*parts[self.rank])] if parts[self.rank][0] < parts[self.rank][1] else array[:0]
        room = np.empty_like(mine)
        for step in range(1, self.size):
            to, source = (self.rank + step) % self.size, (self.rank - step) % self.size
            first, last = parts[to]
            theirs = array[first : max(first, last)]
            self.swap(theirs, to, room, source)
            combine(mine, room, out=mine)

    def others(self, array: np.ndarray) -> Any:
        """The same array of each other rank, one after the other; good until the next. `array` may change meanwhile."""
        self._calls.make()
        given, room = array.copy(), np.empty_like(array)
        for step in range(1, self.size):
            self.swap(given, (self.rank + step) % self.size, room, (self.rank - step) % self.size)
            yield room

    def swap(self, given: np.ndarray, to: int, room: np.ndarray, source: int) -> None:
        """Give an array to one rank, and take one into `room` from another."""
        words, into = _words_of(given)[0], _words_of(room)[0]
        kind = self._kind(words)
        if to == source == self.rank:
            into[:] = words
            return
        self._world.Sendrecv([words, kind], to, recvbuf=[into, kind], source=source)
        self.bytes_sent += given.nbytes

    def begin_giving(self, array: np.ndarray, to: int) -> Any:
        """Begin to give an array to one rank, which may not change until that `is_over`."""
        words = _words_of(array)[0]
        self.bytes_sent += array.nbytes
        return self._world.Isend([words, self._kind(words)], to, STREAMED)

    def begin_taking(self, room: np.ndarray, source: int) -> Any:
        """Begin to take an array from one rank, of those that it begins to give to this one the next."""
        words = _words_of(room)[0]
        return self._world.Irecv([words, self._kind(words)], source, STREAMED)

    def is_over(self, request: Any) -> bool:
        """Whether an array that was begun is there. MPI goes on with all of them meanwhile."""
        return bool(request.Test())

    def wait_for_any(self, requests: Sequence[Any]) -> None:
        """Return when one of them is over."""
        self._mpi.Request.Waitany(list(requests))

    def swap_parts(self, gives: Sequence[tuple[int, np.ndarray]], takes: Sequence[tuple[int, np.ndarray]]) -> None:
        """Give arrays (rank, uint8[n]) to others, and take some from others into rooms of as many bytes. What two ranks
        give each other comes in the order in which they give it."""
        under_way = [self._world.Irecv([room, self._mpi.UINT8_T], rank) for rank, room in takes]
        under_way += [self._world.Isend([array, self._mpi.UINT8_T], rank) for rank, array in gives]
        self._mpi.Request.Waitall(under_way)
        self.bytes_sent += sum(array.nbytes for _, array in gives)

    def most(self, number: float) -> float:
        """The greatest number that a rank gave."""
        return float(max(self.everybody(number)))

    def _kind(self, words: np.ndarray) -> Any:
        return {1: self._mpi.UINT8_T, 2: self._mpi.UINT16_T, 4: self._mpi.UINT32_T, 8: self._mpi.UINT64_T}[
            words.itemsize
        ]

    # Stops and failures

    def ask_first_to_stop(self) -> None:
        """Tell the first rank that this one, which waits for it, was asked to stop."""
        self._asked = self._words.isend(None, 0, STOP)

    def is_asked_to_stop(self) -> bool:
        """Whether a rank that waits for this one was."""
        return bool(self._words.iprobe(tag=STOP))

    def fails_first(self, waited: bool = False) -> bool:
        """This rank fails: whether it is the one that says why. Others that fail at the same time hear of it. waited:
        it only waited for one that failed, and so has nothing to say."""
        number = self.rank + self.size * waited
        self._told = [self._words.isend(number, other, FAILED) for other in range(self.size) if other != self.rank]
        self._failed = {number}
        self._hear(SETTLE_SECONDS, lambda: min(self._failed) < self.rank or self.all_failed)
        return min(self._failed) == self.rank

    @property
    def all_failed(self) -> bool:
        """Whether no rank is left that could wait for this one."""
        return len(self._failed) == self.size

    def end_all(self, code: int) -> int:
        """After `fails_first`: the exit code of all ranks, if all have failed; else end them all, as others may wait
        for this one."""
        alone = min(self._failed) == self.rank
        if alone:
            self._told += [self._words.isend(code, other, CODE) for other in range(self.size) if other != self.rank]
        self._hear(SETTLE_SECONDS if alone else END_SECONDS, lambda: self.all_failed)
        if not self.all_failed:
            self._world.Abort(code)
            os._exit(code)  # the launcher has been told, and ends this process, too; MPI can't be left in order
        if self.rank in self._failed:
            return code
        return int(self._words.recv(source=min(self._failed), tag=CODE))

    def _fail(self, error: GstreamError) -> None:
        """End all ranks, which wait for each other."""
        print(error.line, file=sys.stderr, flush=True)
        time.sleep(SETTLE_SECONDS)  # launchers may drop what was said just ahead of the end
        self._world.Abort(error.exit_code)

    def _hear(self, seconds: float, enough: Callable[[], bool]) -> None:
        """Listen for other ranks that have failed."""
        until = time.monotonic() + seconds
        while not enough() and time.monotonic() < until:
            if self._words.iprobe(tag=FAILED):
                self._failed.add(self._words.recv(tag=FAILED))
            else:
                time.sleep(POLL_SECONDS)


class Alone:
    """As Ranks, of the first of `size` ranks, which has an answer that the others know nothing of."""

    rank, first = 0, True

    def __init__(self, size: int) -> None:
        self.size, self.written_parts = size, range(size)

    def of_first(self, value: Any) -> Any:
        """The value."""
        return value

    def by_first(self, call: Callable[[], Any]) -> Any:
        """What the call gives."""
        return call()

    def together(self, call: Callable[[], Any]) -> list[Any]:
        """What the call gives, of one rank."""
        return [call()]


def _tried(call: Callable[[], Any]) -> tuple[Any, GstreamError | None]:
    """(what a call gives, the GstreamError that it raises), for other processes."""
    try:
        return call(), None
    except GstreamError as error:
        error.__cause__ = error.__context__ = None  # which others may not know
        return None, error


def of_first(ranks: Ranks | None, value: Any) -> Any:
    """What the first rank gave, where there are several: of what each draws anew."""
    return value if ranks is None else ranks.of_first(value)


def _words_of(array: np.ndarray) -> tuple[np.ndarray, int]:
    """(a flat view as unsigned numbers, how many of them an element of the first axis has)."""
    width = int(np.prod(array.shape[1:], dtype=np.int64)) if array.ndim > 1 else 1
    return array.reshape(-1).view(f"u{array.itemsize}"), width


def _load() -> Any:
    """mpi4py's MPI, begun. Raises LibraryMissingError."""
    try:
        import mpi4py

        mpi4py.rc.finalize = False  # a process that fails must not wait for others at its end
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # the latter: there is no library of MPI's
        raise LibraryMissingError(
            f"mpi4py: ranks of a launcher need it and MPI's library ({' '.join(str(error).split()) or 'not found'}). "
            "pip install 'gstream[mpi]', or let one process do the run."
        ) from None
    return MPI
