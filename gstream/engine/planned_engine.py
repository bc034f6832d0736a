"""An engine that plans for a machine that is not at hand, and runs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gstream.devices.job import DevicePlan
from gstream.engine.engine import Engine
from gstream.engine.known_plans import KnownPlans
from gstream.engine.own_slices import OwnSlices
from gstream.options.auto_devices import is_auto
from gstream.options.memory import SPARE
from gstream.options.run_options import READ_THREADS, RunOptions, parse_devices, split_cores
from gstream.paging.kept_memory import FRESH
from gstream.paging.ownership import Partition
from gstream.paging.page_source import SourcePlan
from gstream.paging.page_table import PageTable
from gstream.planning.cost_equations import Constants
from gstream.planning.machines import Machine
from gstream.planning.memory_fit import graph_of
from gstream.planning.plan import Plan
from pagestore.errors import CapError, DeviceMissingError, UsageError

USABLE = 0.94  # of a GPU's memory: the rest is CUDA's own


@dataclass(frozen=True)
class PlannedDevice:
    """A device as plans see one. room: bytes of memory of its own, None: host memory."""

    room: int | None

    @property
    def in_place(self) -> bool:
        return self.room is None

    @property
    def decodes(self) -> bool:
        return self.room is not None

    def capacity(self) -> int | None:
        """Bytes that a job may hold."""
        return self.room

    def cached(self, *_: Any) -> dict[str, np.ndarray]:
        """No run was before."""
        return {}

    def take(self, count: int, dtype: Any, fill: Any = None) -> np.ndarray:
        """As of gstream.devices.base.Device."""
        return FRESH.take(count, dtype, fill)


@dataclass(frozen=True)
class PlannedExchange:
    """How they agree, as plans see it."""

    devices: list[PlannedDevice]
    partition: Partition
    notifies: bool
    first: int = 0
    ranks: None = None


class NothingRead:
    """Sources of an engine that has read nothing."""

    bytes_read, work = 0, None

    def unread(self, table: PageTable, plan: SourcePlan) -> int:
        """All pages that are to stay in host memory."""
        return table.taken if plan.resident else 0

    def cached(self, table: PageTable, plan: SourcePlan) -> int:
        """None."""
        return 0


@dataclass(frozen=True)
class PlannedDisks:
    """Threads that read ahead from the machine's disks."""

    at_once: int

    def streamed(self) -> int:
        """Reads under way at a time."""
        return self.at_once

    def planned(self, plan: Plan, constants: Constants, measures: bool = True) -> Plan:
        """The plan with the machine's constants."""
        return replace(plan, constants=constants, read_threads=self.at_once)


@dataclass(frozen=True)
class PlannedCosts:
    """The machine's constants. calls: none were made."""

    constants: Constants
    core_constants: Constants
    factors: dict[str, float]
    calls: dict[str, int] = field(default_factory=dict)

    def with_lanes(self, plan: DevicePlan) -> DevicePlan:
        """The same: nothing runs by it."""
        return plan

    def looked_again(self, known: Constants) -> Constants:
        """The same: there is nothing to measure."""
        return known

    def lessons(self) -> dict[str, float]:
        """What calls taught there, as of gstream.planning.cost_model."""
        return self.factors

    def close(self) -> None:
        """Nothing was learnt."""


class PlannedEngine(Engine):
    """Plans runs over `store`, a real one or a CountedStore, on `machine`. host_memory: a cap, in bytes, as the options
    can't have one that this machine lacks. ranks: that share a run, of which this plans one.

    Raises UsageError, and DeviceMissingError for a GPU that the machine lacks.
    """

    plans_only = True

    def __init__(
        self, store: Any, options: RunOptions, machine: Machine, host_memory: int | None = None, ranks: int = 1
    ) -> None:
        self.store, self.options, self.machine, self.note = store, options, machine, ""
        every = ",".join(f"cuda:{number}" for number in range(machine.gpus)) or "host"
        self.specs, beside = split_cores(parse_devices([every] if is_auto(options.devices) else options.devices))
        for spec in self.specs:
            if spec.kind != "host" and spec.seed >= machine.gpus:
                raise DeviceMissingError(
                    f"--devices {spec.kind}:{spec.seed}: the machine {machine.name} has {machine.gpus} GPU(s). Name "
                    "others, or another machine."
                )
        gpus = self.on_gpus
        self.sheet = not machine.is_measured(gpus)
        self.device_counts = len(self.specs), sum(spec.kind == "host" for spec in self.specs)
        self.graph = graph_of(store, len(self.specs), ranks)
        planned = [PlannedDevice(int(machine.gpu_memory * USABLE) if gpus else None) for _ in self.specs]
        self.devices: Any = planned
        alone = planned[:1]
        self.exchange: Any = PlannedExchange(planned, Partition.equal(len(planned)), not gpus or len(planned) == 1)
        self._alone: Any = PlannedExchange(alone, Partition.equal(1), True)
        self.cores: Any = PlannedDevice(None) if beside else None
        self.sources: Any = NothingRead()
        self._readers: Any = PlannedDisks(int(options.read_threads or READ_THREADS))
        share = min(1.0, (options.threads or machine.cores) / machine.cores)
        cores = machine.constants(False)
        rates = {name: getattr(cores, name) * share for name in ("pull_edges", "push_edges", "decode")}
        cores = replace(cores, **rates)
        self.costs: Any = PlannedCosts(
            machine.constants(True) if gpus else cores, cores, machine.gpu_factors if gpus else machine.core_factors
        )
        self.memory, self.keeper, self.way, self.most_device_bytes = FRESH, None, "", None
        self.ranks, self.in_ranks, self.own = None, ranks > 1, OwnSlices(store, None, [])
        self._plans, self.swept, self._known = KnownPlans(), {}, {False: {}, True: {}}
        self.peak = self.beside_bytes = self.beside_device_bytes = self.later_bytes = 0
        self._cap, self.lacks, self.capped = host_memory, 0, host_memory is not None
        if host_memory is not None and host_memory > machine.memory:
            raise UsageError(
                f"--host-memory {host_memory}: more than the {machine.memory} bytes that the machine {machine.name} "
                "has. Pass less."
            )

    def close(self) -> None:
        """Nothing is held."""

    @contextmanager
    def caps_kept(self) -> Iterator[None]:
        """As of Engine; `lacks` keeps what was needed."""
        before, self.lacks = self._cap, 0
        with super().caps_kept():
            try:
                yield
            finally:
                self._cap = before

    def lacks_for(self, error: CapError) -> bool:
        """As of Engine."""
        return error.option == "--host-memory" and not self.capped

    def lift_cap(self, error: CapError, room: float = 1.0) -> None:
        """As of Engine; of a machine's own memory, too."""
        if error.option != "--host-memory":
            super().lift_cap(error, room)
            return
        self.lacks, self._cap = error.need, int(error.need * room)

    @property
    def host_memory(self) -> int:
        """Bytes that attributes and pages may take in the machine's memory."""
        return int(self.machine.memory * SPARE) if self._cap is None else self._cap

    def add_counts(self, stats: Any) -> None:
        """Nothing is counted: nothing runs."""
