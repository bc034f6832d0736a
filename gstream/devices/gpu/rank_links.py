"""How arrays go from a GPU of one rank to one of another: by NCCL from memory to memory, or by MPI through the host.

    link.swap(where, number, gives, takes)      where: what is on the GPU (its arrays' stream); number: of the GPU

All ranks make the same calls in the same order. A part of one rank that another takes has the same bytes for both. The
arrays are in place once the stream gets there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from threading import Thread
from typing import Any, NamedTuple, Protocol

import numpy as np

from gstream.devices.gpu.driver import Gpu
from gstream.devices.ranks import Ranks
from pagestore.errors import GstreamError

PIECE_BYTES = 8 << 20  # of each part, that is in pinned memory at once
UINT8 = 1  # ncclUint8
START_SECONDS = 60.0  # that NCCL may take: near a second for the GPUs of one machine
JOIN_SECONDS = 0.01


class OnStream(Protocol):
    """Arrays of one GPU, on whose stream all is queued that works on them."""

    gpu: Gpu
    stream: Any

    def wait(self) -> None:
        """Return when what is queued on the stream is over."""


class Part(NamedTuple):
    """Memory of a GPU that another rank takes, or gives."""

    rank: int
    address: int
    nbytes: int


class Link(Protocol):
    """See the module. note: why it is not the fastest one; "" if it is."""

    note: str

    def swap(self, where: OnStream, number: int, gives: Sequence[Part], takes: Sequence[Part]) -> None:
        """Queue that the parts `gives` go to their ranks, and `takes` come. Call within the GPU's context."""

    def close(self) -> None:
        """Free its buffers."""


class StagedLink:
    """By MPI, through pinned memory, a piece of every part at a time."""

    def __init__(self, ranks: Ranks, note: str = "") -> None:
        self._ranks, self.note = ranks, note
        self._rooms: dict[tuple[int, str], np.ndarray] = {}  # pinned buffers: (GPU, purpose)

    def swap(self, where: OnStream, number: int, gives: Sequence[Part], takes: Sequence[Part]) -> None:
        gpu, longest = where.gpu, max((part.nbytes for part in (*gives, *takes)), default=0)
        for at in range(0, longest, PIECE_BYTES):
            out, into = _piece(gives, at), _piece(takes, at)
            given, taken = self._room(where, "gives", out), self._room(where, "takes", into)
            for part, room in zip(out, given, strict=True):
                gpu.queue_read(part.address, room, where.stream)
            where.wait()  # and what came last has left its room
            self._ranks.swap_parts(
                [(part.rank, room) for part, room in zip(out, given, strict=True)],
                [(part.rank, room) for part, room in zip(into, taken, strict=True)],
            )
            for part, room in zip(into, taken, strict=True):
                gpu.write(part.address, room, where.stream)

    def _room(self, where: OnStream, way: str, parts: Sequence[Part]) -> list[np.ndarray]:
        """Pinned memory for each part: uint8[its bytes]."""
        key, ends = (where.gpu.index, way), np.cumsum([part.nbytes for part in parts]).tolist()
        have, needed = self._rooms.get(key), ends[-1] if ends else 0
        if have is None or len(have) < needed:
            where.wait()  # copies that read the one so far
            have = self._rooms[key] = where.gpu.pinned(max(1, needed), np.uint8)
        return [have[end - part.nbytes : end] for part, end in zip(parts, ends, strict=True)]

    def close(self) -> None:
        self._rooms.clear()


class NcclLink:
    """By NCCL, in a communicator for the GPUs of one number on all ranks. Raises DeviceError where NCCL fails.

    nccl: nccl4py's bindings. communicators: of `begin_nccl`, one a GPU. A collective's ring would move no fewer bytes
    to a rank than parts that go straight to who takes them, and knows no OR.
    """

    note = ""

    def __init__(self, ranks: Ranks, nccl: Any, communicators: Sequence[Any]) -> None:
        self._ranks, self._nccl, self._communicators = ranks, nccl, communicators

    def swap(self, where: OnStream, number: int, gives: Sequence[Part], takes: Sequence[Part]) -> None:
        nccl, communicator, stream = self._nccl, self._communicators[number], int(where.stream.handle)
        with _said_of(where.gpu):
            nccl.group_start()
            for part in gives:
                nccl.send(part.address, part.nbytes, UINT8, part.rank, communicator, stream)
            for part in takes:
                nccl.recv(part.address, part.nbytes, UINT8, part.rank, communicator, stream)
            nccl.group_end()
        self._ranks.bytes_sent += sum(part.nbytes for part in gives)

    def close(self) -> None:
        """Communicators stay for the process's next graph, as making them takes a second; they end with it."""


@contextmanager
def _said_of(gpu: Gpu) -> Iterator[None]:
    """An error of NCCL's, whatever its class, becomes one of the GPU."""
    try:
        yield
    except GstreamError:
        raise
    except Exception as error:
        raise gpu.fault("NCCL", error) from error


def make_link(ranks: Ranks, gpus: Sequence[Gpu]) -> Link:
    """NCCL where it starts on all ranks, else MPI. All ranks make this call."""
    numbers = tuple(gpu.index for gpu in gpus)
    if numbers not in ranks.links:
        ranks.links[numbers] = _made_link(ranks, gpus)
    found: Link = ranks.links[numbers]
    return found


def _made_link(ranks: Ranks, gpus: Sequence[Gpu]) -> Link:
    nccl, by_mpi = _load_nccl(), "GPUs of ranks talk by MPI through host memory: "
    if ranks.any(nccl is None):
        return StagedLink(ranks, by_mpi + "pip install 'gstream[mpi]' brings NCCL")
    made, failure = begin_nccl(ranks, nccl, gpus)
    return StagedLink(ranks, by_mpi + failure) if failure else NcclLink(ranks, nccl, made)


def begin_nccl(ranks: Ranks, nccl: Any, gpus: Sequence[Gpu]) -> tuple[list[Any], str]:
    """(a communicator for each GPU, ""), or ([], why NCCL did not start on a rank), the same on all ranks.

    A rank waits within NCCL for those that fail. So a thread waits there, and ranks tell each other by MPI meanwhile.
    """
    made, failed = list[Any](), list[str]()

    def begin(names: list[bytes]) -> None:
        try:
            for gpu, name in zip(gpus, names, strict=True):
                with _said_of(gpu), gpu:
                    made.append(nccl.comm_init_rank_scalable(ranks.size, ranks.rank, 1, bytearray(name), 0))
        except GstreamError as error:
            failed.append(getattr(error, "what", str(error)))

    def name_all() -> list[bytes]:
        with _said_of(gpus[0]):
            return [bytes(nccl.get_unique_id()) for _ in gpus]

    try:
        thread = Thread(target=begin, args=(ranks.by_first(name_all),), name="start NCCL", daemon=True)
    except GstreamError as error:
        return [], getattr(error, "what", str(error))
    thread.start()
    until = time.monotonic() + START_SECONDS
    while True:
        thread.join(JOIN_SECONDS)
        if thread.is_alive() and time.monotonic() > until:
            failed.append(f"NCCL did not start in {START_SECONDS:.0f} s")
        if why := next((f"rank {rank}: {one[0]}" for rank, one in enumerate(ranks.everybody(failed)) if one), ""):
            break
        if not ranks.any(thread.is_alive()):
            return made, ""
    for gpu, communicator in zip(gpus, made, strict=False):
        with suppress(Exception), gpu:
            nccl.comm_abort(communicator)
    return [], why


def _load_nccl() -> Any:
    """nccl4py's bindings of NCCL's library; None where either is missing."""
    try:
        nccl = import_module("nccl.bindings.nccl")
        nccl.get_version()
    except Exception:  # whatever its loader raises where the library is missing
        return None
    return nccl


def _piece(parts: Sequence[Part], at: int) -> list[Part]:
    """What is left of each part from a byte on, as much as goes at once; parts without any are left out."""
    return [
        Part(part.rank, part.address + at, min(PIECE_BYTES, part.nbytes - at)) for part in parts if part.nbytes > at
    ]
