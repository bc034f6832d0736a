"""What the driver tells devices (a plan for the memory of each, the job, the step that pages are for), and what they
say of their work.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from gstream.paging.own_ids import OwnIds
from gstream.paging.page_lanes import USUAL, PageLanes
from gstream.paging.page_table import PageTable
from pagestore.errors import ResourceError

Range = tuple[int, int]  # of vertices: first, and the one behind the last
DIRECTIONS = ("push", "pull")


class DeviceMemoryError(ResourceError):
    """A device has less memory than the plan thought: plan again with less."""


@dataclass
class HostVertices:
    """Attributes in host memory. Arrays are of all V vertices, or of none where the program does not read them.

    degree, in_degree: u4 or u8; own: as HostCode lays out PerVertex parameters; value: the values where no device
    holds them all (None otherwise); next_value: where new values go while old ones are still read (else `value`).
    heads: topology name -> (id[rows, 4], head_skip).
    """

    degree: np.ndarray
    in_degree: np.ndarray
    value: np.ndarray | None = None
    next_value: np.ndarray | None = None
    heads: dict[str, tuple[np.ndarray, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class DevicePlan:
    """What one device holds; numbers in vertices and pages. Devices of a run differ in sizes from `streams` on.

    resident: the values of all vertices stay on the device (one chunk); otherwise WA is loaded by chunks.
    message: RA of a pull is an array of messages; source_copy: RA of a pull is a copy of all values (chunked WA).
    held_bits: vertices may be held back. chunk: vertices of WA at once.
    reach: vertices of RA that one batch of a streamed RA may span.
    by_degree: the first vertices have the most edges. fewer: why it has fewer streams than the default.
    coded_bytes: of a batch of coded pages at most. cache_pages: topology name -> slots of the page cache. kept_coded:
    topology name -> bytes of pages that it keeps as they are stored: the first that come.
    micro: lanes that share a record (RunOptions.micro); lanes: those of a GPU, by classes of pages, for "hybrid". held:
    bytes by name of all that is planned for its memory; spare_bytes: what is left of it. senders, receivers: vertices
    from these on have no out-edges, and no in-edges, as far as is known.
    """

    resident: bool = True
    message: bool = False
    source_copy: bool = False
    chunk: int = 0
    reach: int = 0
    heads: bool = False
    open_bits: bool = False
    senders: int = 0
    receivers: int = 0
    held_bits: bool = False
    by_degree: bool = False
    streams: int = 1
    fewer: str = ""
    batch_pages: int = 1
    coded_bytes: int = 0
    cache_pages: dict[str, int] = field(default_factory=dict)
    kept_coded: dict[str, int] = field(default_factory=dict)
    policy: str | None = None
    micro: str = "hybrid"
    lanes: PageLanes = USUAL
    held: dict[str, int] = field(default_factory=dict)
    spare_bytes: int = 0

    @property
    def rows(self) -> int:
        """Pages that a device which copies has room for: batch buffers and caches."""
        return self.streams * self.batch_pages + sum(self.cache_pages.values())


@dataclass
class Job:
    """One program on one store: its compiled code (gstream.hostcode.HostCode), plan and host arrays.

    vertices: whose state arrays have. ids: which these are, of a rank that has its own slice and mirrors alone.
    """

    code: Any
    plan: DevicePlan
    vertices: int
    tables: dict[str, PageTable]
    host: HostVertices
    ids: OwnIds | None = None


@dataclass
class Step:
    """What the kernels of one nested-loop join have in common.

    direction: "push", "pull" or "notify"; table: the topology whose pages come. listed: uint64[k], ascending: only
    these vertices (push: sources that are all active; pull: vertices that are all open), the first `skip` neighbours
    of each left out; None: all, by their bits. remain: a pull goes by the remain bits that `heads` wrote, not by the
    open bits.

    A notify sets the next bits of the neighbours of active vertices, a pull that is `told` sums the lists of those
    vertices alone. keep: what vertices got stays for the next superstep; everybody: `apply` sees all vertices, not only
    those that may come to something else. rounds: pushes of what changed in a batch, while it is in memory, at most.
    """

    direction: str
    table: PageTable
    listed: np.ndarray | None = None
    skip: int = 0
    remain: bool = False
    told: bool = False
    keep: bool = False
    everybody: bool = True
    rounds: int = 0


@dataclass
class DeviceStats:
    """Counted by a device, read by the driver when all devices are in order.

    merge_seconds: spent on `reduce` and `gather`; messages that `apply` writes to peers take none of it.
    """

    pages: int = 0
    pages_moved: int = 0
    pages_in_place: int = 0
    bytes_moved: int = 0
    attribute_bytes: int = 0
    edges: int = 0
    cache_hits: int = 0
    cache_misses: int = 0
    merge_seconds: float = 0.0


class Repeat(Protocol):
    """A pull of SUM over pages that all stay on a device, queued when it is not known yet that it has to be
    (gstream.engine.early_pull)."""

    def ask(self, frontier: bool) -> None:
        """Queue what the next `frontier(False, None)` or `finish_counts` says; it waits for nothing queued later."""

    def retract(self) -> None:
        """What was queued since is not wanted: it ends, and is not counted."""


@dataclass
class Rules:
    """What the choice of directions goes by where no page has to move (gstream.engine.direction.Chooser), as it stands.

    tables: of a push and a pull, None where the program does not go that way; heads: vertices from 0 on that have
    some; all_edges, few, alpha: of the graph and the rule. The others change from superstep to superstep: vertices and
    edges of the frontier, unexplored to last_vertices as the chooser has them, and stale, as the driver.
    """

    tables: tuple[PageTable | None, PageTable | None]
    heads: int
    all_edges: int
    few: int
    alpha: int
    vertices: int
    edges: int
    unexplored: int
    pulled: int
    last_vertices: int
    stale: int

    @property
    def ways(self) -> int:
        """Bit 0: it may push; bit 1: it may pull."""
        return sum(1 << number for number, table in enumerate(self.tables) if table is not None)

    def take(self, told: dict[str, int]) -> None:
        """Go on from a superstep that was not made."""
        for name in ("vertices", "edges", "unexplored", "pulled", "last_vertices", "stale"):
            setattr(self, name, told[name])


@dataclass
class Made:
    """Supersteps that were made. told: of each of them and of the one after, by what it is; looked and pages are
    of the one before it. blocked: the direction of the one after, which needs a page that is not on the device."""

    told: list[dict[str, int]] = field(default_factory=list)
    blocked: str | None = None

    @property
    def count(self) -> int:
        return max(0, len(self.told) - 1)
