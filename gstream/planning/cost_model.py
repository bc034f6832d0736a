"""What a run should take by the cost model, beside what it took; and what runs teach the model about a machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gstream.devices.base import Device
from gstream.devices.host.threads import Workers
from gstream.devices.job import DevicePlan
from gstream.paging.page_table import PageTable
from gstream.paging.source_pool import Sources
from gstream.planning import calibration
from gstream.planning.cost_equations import Constants, GpuConstants, superstep_seconds
from gstream.planning.plan import Plan
from gstream.telemetry.stats import RunStats, StepStats

SEARCHED = 1 / 30  # of all edges, that BFS looks at (measured on RMAT 24: fewer)
MEETINGS = 10  # supersteps that a program with a frontier is taken to make
MEET_S = 0.15e-3  # that several GPUs take to meet beside what they move (measured: PageRank in memory, two H200)
HOST_EDGES = 1 << 21  # supersteps of so many edges say how fast kernels are: 3 ms of two cores,
GPU_EDGES = 1 << 26  # 1 ms of a GPU, each: below that it is the calls that take the time
MERGE_BYTES = 64 << 20  # of WA, from which on merges say how fast GPUs reach each other
LOAD_BYTES = 64 << 20  # of pages, from which on a superstep that reads them says how fast they come


def what_is_there(plan: Plan, tables: dict[str, PageTable], sources: Sources, devices: Sequence[Device]) -> Plan:
    """The plan, knowing which pages runs before it left in host memory and on the devices. tables: by topology."""
    pairs = zip(devices, plan.device_plans, strict=True) if plan.copies else ()
    on_devices = [device.cached(known, tables, plan.weights) for device, known in pairs]
    none = np.zeros(0, np.int64)
    return replace(
        plan,
        unread={name: sources.unread(tables[name], source) for name, source in plan.sources.items()},
        in_host_cache={name: sources.cached(tables[name], source) for name, source in plan.sources.items()},
        on_devices={name: [held.get(name, none) for held in on_devices] for name in plan.sources},
    )


def is_faster_alone(alone: Plan, together: Plan) -> bool:
    """Whether one GPU that holds all pages takes less time for a program than several: they meet in every superstep.

    A search with `done` looks at few edges (SEARCHED), in supersteps that are too short to repay that.
    """
    if alone.case != 1 or not isinstance(together.constants, GpuConstants):
        return False
    constants, way = together.constants, together.directions[-1]
    searched = together.graph.edges * (SEARCHED if together.device.open_bits else 1.0)
    meetings = 1 if together.sweep else MEETINGS
    merged = constants.sync_seconds(together.merged_bytes, together.devices) + MEET_S
    both = constants.kernel_seconds(searched, way, together.devices) + meetings * merged
    return constants.kernel_seconds(searched, way, 1) < both


class CostModel:
    """The constants of an engine's devices: measured at their first use, learnt from its runs, kept when it closes.

    devices: the engine's; those with a `gpu` are measured as GPUs, if all have one. workers: makes the threads that
    measure the host; threads: how many they are. folder: where files are kept; None: the user's cache.
    """

    def __init__(
        self, devices: Sequence[Any], threads: int, workers: Callable[[], Workers], folder: Path | None = None
    ) -> None:
        self.gpus = [device.gpu for device in devices if hasattr(device, "gpu")]
        self._who: int | str = self.gpus[0].name if self.gpus else threads
        self._workers, self._folder = workers, folder
        self._constants: Constants | None = None
        self._cores: Constants | None = None
        self._taught: list[tuple[str, float]] = []
        self._looked = False
        self._agreed = False
        self._worked = 0.0  # seconds of supersteps
        self._kept: dict[str, float] | None = None  # of the file, once it was read
        self._lessons: dict[str, list[float]] = {}
        self.calls: dict[str, int] = {}  # of algorithms on this engine

    @property
    def constants(self) -> Constants:
        """All constants but the disk's."""
        if self._constants is None:
            if self.gpus:
                self._constants = calibration.gpu_constants(self.gpus, self._folder)
            else:
                self._constants = calibration.constants(self._workers(), self._folder)
        return self._constants

    def agree(self, constants: Constants) -> None:
        """Go by these from now on, and learn nothing: all ranks of a run plan alike."""
        self._constants, self._agreed = constants, True

    @property
    def core_constants(self) -> Constants:
        """Of the host's cores beside GPUs, as measured once: runs don't change them, so that fixed shares stay."""
        if self._cores is None:
            workers = self._workers()
            self._cores = calibration.constants(workers, self._folder, f"{workers.threads}-beside")
        return self._cores

    def looked_again(self, known: Constants) -> Constants:
        """What a plan knows, or better: the way between the GPUs is measured once more, at the first call.

        A rate from a time when others used the GPUs would leave all but one idle for good: such runs teach nothing.
        """
        if self._looked or not isinstance(known, GpuConstants):
            return known
        self._looked = True
        now = calibration.merge_rate(self.gpus, known)
        if now <= known.merge:
            return known
        self._constants = replace(self.constants, merge=now)
        self._taught.append(("merge", now))
        return replace(known, merge=now)

    def account(self, stats: RunStats, plan: Plan, supersteps: int) -> None:
        """Write predicted_seconds beside a run's counted figures, by its plan's constants, and learn from them.

        Later plans go by what was learnt. The file is written by `close`: it would take longer than a short run.
        """
        stats.predicted_seconds = predicted_seconds(stats, plan, supersteps)
        stats.link_rate = plan.constants.c2 * plan.devices if self.gpus else 0.0
        self._worked += stats.loop_seconds
        level = self.constants.at(plan.graph.vertices, plan.graph.by_degree, plan.value_bytes)
        for name, reached in () if self._agreed else lessons(stats, plan, bool(self.gpus)):
            rate = reached * getattr(self.constants, name) / getattr(level, name)
            known = getattr(self.constants, name)
            default = known == getattr(type(self.constants), name)
            self._constants = replace(self.constants, **{name: calibration.averaged(None if default else known, rate)})
            self._taught.append((name, rate))

    def lessons(self) -> dict[str, float]:
        """What calls taught, on this engine and before, by name (gstream.planning.lessons)."""
        if self._kept is None:
            self._kept = calibration.known(self._who, self._folder)
        here = {name: calibration.averaged(self._kept.get(name), min(found)) for name, found in self._lessons.items()}
        return self._kept | here

    def note_call(self, call: str) -> None:
        """Count a call: the pages that calls like it want are in memory then, where they stay there."""
        self.calls[call] = self.calls.get(call, 0) + 1

    def teach(self, name: str, factor: float) -> None:
        """Take a call's factor into those that were known: the least of an engine's, as whatever else a machine does
        only adds to a time."""
        self._lessons.setdefault(name, []).append(factor)

    def close(self) -> None:
        """Keep what was learnt, and measure lanes for later runs where runs take long."""
        self._taught += [(name, min(found)) for name, found in self._lessons.items()]
        if self._taught:
            calibration.learn(self._who, self._taught, self._folder)
        if self._worked >= calibration.LANES_AFTER_S:
            self.measure_lanes()
        self._taught, self._worked, self._lessons, self._kept = [], 0.0, {}, None

    def measure_lanes(self) -> None:
        """Measure what is not known yet of GPUs; plans of other engines go by it."""
        if self.gpus:
            calibration.measure_lanes(self.gpus[0], self._folder)

    def with_lanes(self, plan: DevicePlan) -> DevicePlan:
        """A device's plan with the lanes that are fastest on these GPUs."""
        return replace(plan, lanes=self.constants.lanes) if isinstance(self.constants, GpuConstants) else plan


def predicted_seconds(stats: RunStats, plan: Plan, supersteps: int) -> float:
    """Equation (1) for a sweeping program; for one with a frontier equation (2) over what its supersteps moved.

    Cache hits are taken off already: by the plan, and by what was counted.
    """
    if plan.sweep:
        return plan.seconds(supersteps)
    return plan.attribute_seconds() + sum(_level_seconds(stats, plan, step) for step in stats.per_superstep)


def _level_seconds(stats: RunStats, plan: Plan, step: StepStats) -> float:
    table = plan.table(step.direction if step.direction in plan.directions else plan.directions[0])
    if plan.copies:  # pages that a device holds take no copy, and one launch in all
        batches = step.bytes_moved / max(1, plan.moved_bytes(table, max(1, plan.device.batch_pages)))
    else:
        batches = step.pages / max(1, plan.device.batch_pages)
    streamed = not all(source.resident for source in plan.sources.values())
    read = step.bytes_read / max(1, table.stored_bytes(1, plan.weights))
    return superstep_seconds(
        plan.constants, devices=plan.devices, page_bytes=step.bytes_moved if plan.copies else 0,
        disk_bytes=step.bytes_read if streamed else 0, load_bytes=0 if streamed else step.bytes_read,
        batches=batches, edges=step.edges_visited, decoded=plan.decoded_edges(table, read),
        direction=step.direction, merged_bytes=plan.merged_bytes, d_skew=stats.d_skew,
    )  # fmt: skip


def lessons(stats: RunStats, plan: Plan, gpus: bool) -> list[tuple[str, float]]:
    """(name of a constant, rate) that a run shows; none for devices that only look like GPUs.

    Kernels: over large supersteps that waited for nothing else, neither disk nor link. A pull that ends at the first
    neighbour that will do says nothing: what it takes is a matter of vertices, not of the few edges it looks at.
    """
    if plan.copies and not gpus or plan.cores is not None:  # of two kinds of devices
        return []
    least = GPU_EDGES * plan.devices if gpus else HOST_EDGES
    merge = stats.merge_seconds / max(1, stats.supersteps) if plan.devices > 1 else 0.0
    found = []
    for direction in ("pull", "push"):
        if direction == "pull" and plan.device.open_bits:
            continue
        steps = [
            step for step in stats.per_superstep
            if step.direction == direction and step.edges_visited >= least
            and step.bytes_read == 0 and not (gpus and step.bytes_moved)
        ]  # fmt: skip
        seconds = sum(step.seconds - merge for step in steps)
        if seconds > 0:
            edges = sum(step.edges_visited for step in steps)
            found.append((f"{direction}_edges", edges / seconds / (plan.devices if gpus else 1)))
    first = [step for step in stats.per_superstep if step.bytes_read >= LOAD_BYTES]
    whole = all(source.resident for source in plan.sources.values())
    if first and whole and not any(plan.decoded_edges(plan.tables[name], 1) for name in plan.sources):
        found.append(("load", sum(step.bytes_read for step in first) / sum(step.seconds for step in first)))
    reduced = plan.directions != ("pull",)  # where all reach all, pulls of sums leave nothing to reduce
    if gpus and merge > 0 and reduced and plan.merged_bytes >= MERGE_BYTES:
        at_rate_1 = replace(plan.constants, merge=1.0).sync_seconds(plan.merged_bytes, plan.devices)
        found.append(("merge", at_rate_1 / merge))
    return found
