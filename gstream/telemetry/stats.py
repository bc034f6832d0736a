"""What a run did: counted, not estimated; the planner's predictions stand beside it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

SUMMED = (
    "pages_moved", "pages_in_place", "cores_pages", "bytes_moved", "attribute_bytes_moved", "bytes_read_disk",
    "edges_visited", "cache_hits", "cache_misses", "loop_seconds", "merge_seconds", "predicted_bytes",
    "predicted_seconds", "per_superstep",
)  # fmt: skip
SHARES = ("link_share", "r_hit", "d_skew")


@dataclass
class StepStats:
    """One superstep, or several: those past a run's first 512 that one thread makes in a row are summed up
    (gstream.engine.one_thread), and `supersteps` says how many they are.

    `frontier`: vertices active at its beginning, `held`: others that were held back (gstream.engine.delta_stepping);
    `pages`: pages given to kernels, cached or not.

    bytes_moved: to devices, none from their own caches; bytes_read: from the store's file meanwhile, ahead of use too.
    seconds: without compile_seconds, in which Numba compiled kernels or loaded them. timed: whether a clock ran in it
    alone; else `seconds` is its share, by its work, of the time that several supersteps took.
    """

    direction: str
    frontier: int
    pages: int = 0
    bytes_moved: int = 0
    bytes_read: int = 0
    edges_visited: int = 0
    held: int = 0
    seconds: float = 0.0
    supersteps: int = 1
    compile_seconds: float = 0.0
    timed: bool = True


@dataclass
class Kept:
    """Checkpoints of a run. resumed: the superstep gone on from (None: it began afresh), which was in the file `slot`;
    holds: names of what that held; damaged: what was wrong with a newer one; written, bytes, seconds: what this run
    wrote into `folder`."""

    folder: str
    resumed: int | None = None
    slot: str = ""
    holds: list[str] = field(default_factory=list)
    damaged: str = ""
    written: int = 0
    bytes: int = 0
    seconds: float = 0.0


@dataclass
class RunStats:
    """Figures of one run.

    pages_moved, bytes_moved: pages handed to devices other than from the device's own cache, and their bytes with
    weights; a host device reads them where they lie. pages_in_place: pages of which a device that copies read the
    wanted lists alone, in host memory; their part of bytes_moved is reckoned from mean lengths of lists.
    attribute_bytes_moved: WA and RA copied to and from devices, and what is the store's beside pages and not there from
    runs before: heads, degrees, names.
    cores_pages: pages that the host's cores took beside GPUs.
    bytes_read_disk: pages read from the store's file during the run. cache_*: hits and misses of the caches (device
    memory over the link, host memory over the disk). peak_memory_bytes: tracked bytes of host memory; on_device_bytes:
    of the fullest device. predicted_*: by the planner, before the run; for programs with a frontier, whose pages no
    plan knows, predicted_bytes is 0 and predicted_seconds is equation (2) over the pages that the run visited.
    link_rate: bytes/s that all GPUs' links carry together, as measured before; 0 without GPUs.
    seconds: the whole call; loop_seconds: of its supersteps, or from a forest's first link to its labels, without
    taking memory before and handing out the answer afterwards, and without compiling.
    kept: of a run with checkpoints. rounds: over a batch in memory, at most, of an asynchronous run.
    r_hit and d_skew are those of equation (2); merge_seconds / supersteps is t_sync of equation (1): of the device that
    spent most on combining slices of WA and handing them round.
    """

    pages_moved: int = 0
    pages_in_place: int = 0
    cores_pages: int = 0
    bytes_moved: int = 0
    attribute_bytes_moved: int = 0
    bytes_read_disk: int = 0
    edges_visited: int = 0
    cache_hits: int = 0
    cache_misses: int = 0
    seconds: float = 0.0
    loop_seconds: float = 0.0
    merge_seconds: float = 0.0
    peak_memory_bytes: int = 0
    on_device_bytes: int = 0
    devices: int = 1
    case: int = 1
    chunks: int = 1
    predicted_bytes: int = 0
    predicted_seconds: float = 0.0
    link_rate: float = 0.0
    device_bytes_moved: list[int] = field(default_factory=list)
    per_superstep: list[StepStats] = field(default_factory=list)
    kept: Kept | None = None
    rounds: int = 0

    def after(self, before: RunStats) -> RunStats:
        """These figures, with those of a run before added: what is counted is summed, what is held the greater."""
        for name in SUMMED:
            setattr(self, name, getattr(before, name) + getattr(self, name))
        for name in ("peak_memory_bytes", "on_device_bytes", "case", "chunks", "link_rate", "rounds"):
            setattr(self, name, max(getattr(before, name), getattr(self, name)))
        self.kept = self.kept or before.kept
        moved, own = before.device_bytes_moved, self.device_bytes_moved
        self.device_bytes_moved = [a + b for a, b in zip(moved, own, strict=True)] if moved and own else own or moved
        return self

    @property
    def supersteps(self) -> int:
        """Those that per_superstep tells of."""
        return sum(step.supersteps for step in self.per_superstep)

    @property
    def edges_per_second(self) -> float:
        return self.edges_visited / self.seconds if self.seconds else 0.0

    @property
    def bytes_per_second(self) -> float:
        return self.bytes_moved / self.seconds if self.seconds else 0.0

    @property
    def link_share(self) -> float:
        """Of what the links could have carried while supersteps went on: what they did."""
        could = self.loop_seconds * self.link_rate
        return (self.bytes_moved + self.attribute_bytes_moved) / could if could else 0.0

    @property
    def r_hit(self) -> float:
        """Share of the pages asked for that a cache held."""
        asked = self.cache_hits + self.cache_misses
        return self.cache_hits / asked if asked else 0.0

    @property
    def d_skew(self) -> float:
        """Balance of the devices: 1 where all moved the same, 1/N where one moved everything."""
        busiest = max(self.device_bytes_moved, default=0)
        return sum(self.device_bytes_moved) / (busiest * len(self.device_bytes_moved)) if busiest else 1.0

    def as_dict(self) -> dict[str, Any]:
        """Plain dictionary for --json."""
        plain = {**vars(self), "per_superstep": [dict(vars(step)) for step in self.per_superstep]}
        rates = ("edges_per_second", "bytes_per_second", *SHARES)
        plain["kept"] = None if self.kept is None else dict(vars(self.kept))
        return plain | {name: getattr(self, name) for name in rates}


def shares_of_figures(figures: dict[str, Any]) -> dict[str, float]:
    """SHARES of what RunStats.as_dict gave and others changed."""
    stats = RunStats(**{field.name: figures[field.name] for field in fields(RunStats)})
    return {name: getattr(stats, name) for name in SHARES}


@dataclass
class RunOutcome:
    """What a run gave: value[V] in store-ID order, supersteps made, whether it ended by itself, last totals.

    Values that stay on a device are a gstream.records.held.Held, which stands for an array.
    """

    value: Any
    supersteps: int
    converged: bool
    totals: dict[str, float]
    stats: RunStats
