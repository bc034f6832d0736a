"""Supersteps that one thread makes in a row, in a call of a kernel: on which device, how many, and their figures.

Several host devices have all values each: the thread works on those of the first, and the others take them over before
the driver goes on.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from gstream.devices.host.device import HostDevice
from gstream.engine.direction import Frontier
from gstream.engine.run_state import RunState
from gstream.telemetry.compiling import Stopwatch
from gstream.telemetry.stats import StepStats

WORK = 1 << 20  # vertices and edges of a call, about: 20 to 60 ms, in which no signal is heeded and no progress told
TOLD = 512  # supersteps whose figures a run keeps one by one, 4 us each; of later ones those of a call are summed up
NO_LIMIT = 1 << 62


class Arrays(Protocol):
    """What the thread works on: values and active bits of all vertices in host memory.

    lent: a copy of what devices with memory of their own have.
    """

    lent: bool

    @property
    def value(self) -> np.ndarray: ...

    @property
    def active(self) -> np.ndarray: ...

    def count(self, edges: int, pages: int, nbytes: int) -> None:
        """Add what was looked at to the figures of a device."""

    def hand_over(self) -> None:
        """Have all devices take them over, before the driver goes on."""

    def look(self) -> Frontier:
        """Measure a frontier that is too large to be listed."""


class OfHosts:
    """Those of the first of some host devices."""

    lent = False

    def __init__(self, run: RunState, hosts: list[HostDevice]) -> None:
        self._hosts, self.look = hosts, run.look

    @property
    def value(self) -> np.ndarray:
        return self._hosts[0].state.value

    @property
    def active(self) -> np.ndarray:
        return self._hosts[0].state.active  # two bitmaps take turns

    def count(self, edges: int, pages: int, nbytes: int) -> None:
        self._hosts[0].count(edges, pages, nbytes)

    def hand_over(self) -> None:
        hand_over(self._hosts)


def hosts_of(run: RunState) -> list[HostDevice]:
    """The devices if all are the host's cores, each has all values, and all pages are in host memory; else none.

    The thread works on the first."""
    hosts = [device for device in run.devices if isinstance(device, HostDevice)]
    whole = run.plan.device.resident and not run.chooser.streamed
    return hosts if whole and len(hosts) == len(run.devices) else []


def hand_over(hosts: list[HostDevice]) -> None:
    """Have the other devices take over values and active bits of the first."""
    first = hosts[0].state
    for other in hosts[1:]:
        other.state.restore(first.value, first.active)


def room_to_tell(run: RunState, at_once: int) -> tuple[np.ndarray, int]:
    """(told, how many supersteps a call may make): `at_once` at most, until a checkpoint may be due.

    told: int64[n, 4], zeros, for (vertices active at its beginning, pages, edges looked at, vertices held back) of each
    superstep; the last row sums up those past n - 1.
    """
    kept = None if run.keeper is None else run.keeper.supersteps_left(run.supersteps)
    limit = NO_LIMIT if run.limit is None else run.limit - run.supersteps
    most, made = min(at_once, NO_LIMIT if kept is None else kept, limit), run.supersteps - run.began_at
    told = np.zeros((max(1, min(TOLD - made, most)), 4), np.int64)
    return told, most if made >= TOLD else len(told)


def note_told(
    run: RunState, direction: str, told: np.ndarray, made: int, page_bytes: int, read: int, watch: Stopwatch
) -> None:
    """Note `made` supersteps, each with a share of the time by its work; of many, in one. told: rows of `room_to_tell`;
    read: bytes from the store's file; watch: since the call began. What it compiled, it did before them."""
    work, compiled = told[:, 0] + told[:, 2], watch.compiled()
    began = watch.began + compiled
    ends = began + np.cumsum(work) / max(1, int(work.sum())) * watch.worked()
    for (vertices, pages, looked, held), end in zip(told.tolist(), ends.tolist(), strict=True):
        if run.trace is not None:
            run.trace.span("driver", "supersteps", f"{direction} by one thread, {vertices} active", began, end)
        run.note(
            StepStats(
                direction=direction, frontier=vertices, pages=pages, bytes_moved=pages * page_bytes,
                edges_visited=looked, held=held, seconds=end - began, supersteps=made - len(told) + 1, bytes_read=read,
                compile_seconds=compiled, timed=len(told) == 1,
            )
        )  # fmt: skip
        began, read, compiled = end, 0, 0.0
