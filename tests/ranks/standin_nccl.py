"""nccl4py's bindings as far as gstream.devices.gpu.rank_links uses them: MPI between the stand-in GPUs' memory.

A group is done where it ends, in the order of its stream: the stand-in's streams go on only while somebody waits.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy as np
import standin
from mpi4py import MPI

WORLD = MPI.COMM_WORLD.Dup()  # ranks talk in the other one while NCCL starts
group: list[tuple[bool, np.ndarray, int, Any, standin.Stream]] = []  # whether it is sent


def get_version() -> int:
    return 22800


def get_unique_id() -> bytes:
    return os.urandom(128)


def comm_init_rank_scalable(size: int, rank: int, count: int, told: bytearray, config: int) -> Any:
    standin.must_be_current()
    world = WORLD.Dup()
    assert (size, rank, count, len(told), config) == (world.size, world.rank, 1, 128, 0)
    assert len(set(world.allgather(bytes(told)))) == 1, "ranks with other communicators"
    return world


def group_start() -> None:
    assert not group, "a group within a group"


def send(address: int, count: int, kind: int, rank: int, world: Any, stream: int, sends: bool = True) -> None:
    assert kind == 1 and count > 0
    memory = np.frombuffer((ctypes.c_uint8 * count).from_address(address), np.uint8)
    group.append((sends, memory, rank, world, standin.STREAMS[stream]))


def recv(address: int, count: int, kind: int, rank: int, world: Any, stream: int) -> None:
    send(address, count, kind, rank, world, stream, sends=False)


def group_end() -> None:
    queue = group[0][4].queue
    standin.must_be_current(queue.context)
    assert all(stream.queue is queue for *_, stream in group), "a group on several streams"
    standin.WORK.until(lambda: not queue.operations)
    calls = [
        (world.Isend if sends else world.Irecv)([memory, MPI.UINT8_T], rank) for sends, memory, rank, world, _ in group
    ]
    MPI.Request.Waitall(calls)
    group.clear()
