"""A program of many supersteps, in processes that fail where the environment says: FAULT=kind:rank:number.

kill     SIGKILL ahead of that boundary between supersteps, fsync or rename in this folder, counted together: kernels
         that are compiled and kept elsewhere change no number
memory   no memory is left in that merge of values
disk     no room is left at that fsync, of a part of an answer or of a checkpoint
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable
from typing import Any

from gstream import INF, MIN, Program, Vertex, u32
from gstream.devices.host.mirrors import Mirrors
from gstream.devices.host.rank_exchange import RankExchange
from gstream.engine.checkpoint import Keeper

KIND, RANK, NUMBER = (os.environ.get("FAULT") or "none:0:0").split(":")
left = [int(NUMBER)]


def fail() -> None:
    """Fail at the call whose number was given."""
    left[0] -= 1
    if left[0] == 0 and KIND == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if left[0] == 0:
        raise MemoryError if KIND == "memory" else OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def ahead(call: Callable[..., Any]) -> Callable[..., Any]:
    """A call, ahead of which this process may fail."""

    def failing(*given: Any) -> Any:
        fail()
        return call(*given)

    return failing


def ahead_here(call: Callable[..., Any]) -> Callable[..., Any]:
    """The same for fsync and rename, where the file lies in this folder."""
    failing = ahead(call)

    def called(*given: Any) -> Any:
        path = os.readlink(f"/proc/self/fd/{given[0]}") if call is fsync else os.path.abspath(given[1])
        return (failing if path.startswith(HERE) else call)(*given)

    return called


fsync, HERE = os.fsync, os.getcwd()
if os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK")) == RANK:
    if KIND == "kill":
        Keeper._between = ahead(Keeper._between)
        os.fsync, os.replace = ahead_here(os.fsync), ahead_here(os.replace)
    elif KIND == "memory":
        RankExchange.reduce, Mirrors.reduce = ahead(RankExchange.reduce), ahead(Mirrors.reduce)
    elif KIND == "disk":
        os.fsync = ahead(os.fsync)


class Hops(Program):
    """Fewest edges to `source`."""

    combine, value = MIN, u32
    source: Vertex = 7

    def start(self, v, g):
        return 0 if v.id == self.source else INF

    def send(self, u, e, g):
        return u.value + 1
