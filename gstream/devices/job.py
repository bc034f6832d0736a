"""What the driver tells devices: a plan for the memory of each, the job, and the step that pages are for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gstream.paging.page_table import PageTable
from pagestore.errors import ResourceError

Range = tuple[int, int]  # of vertices: first, and the one behind the last


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
    by_degree: the first vertices have the most edges. cache_pages: topology name -> slots of the page cache.
    micro: lanes that share a record (RunOptions.micro). held: bytes by name of all that is planned for its memory;
    spare_bytes: what is left of it. senders, receivers: vertices from these on have no out-edges, and no in-edges, as
    far as is known.
    """

    resident: bool
    message: bool
    source_copy: bool
    chunk: int
    reach: int
    heads: bool
    open_bits: bool
    senders: int
    receivers: int
    held_bits: bool = False
    by_degree: bool = False
    streams: int = 1
    batch_pages: int = 1
    cache_pages: dict[str, int] = field(default_factory=dict)
    policy: str | None = None
    micro: str = "hybrid"
    held: dict[str, int] = field(default_factory=dict)
    spare_bytes: int = 0

    @property
    def rows(self) -> int:
        """Pages that a device which copies has room for: batch buffers and caches."""
        return self.streams * self.batch_pages + sum(self.cache_pages.values())


@dataclass
class Job:
    """One program on one store: its compiled code (gstream.hostcode.HostCode), plan and host arrays."""

    code: Any
    plan: DevicePlan
    vertices: int
    tables: dict[str, PageTable]
    host: HostVertices


@dataclass
class Step:
    """What the kernels of one nested-loop join have in common.

    direction: "push" or "pull"; table: the topology whose pages come. listed: uint64[k], ascending: only these
    vertices (push: sources that are all active; pull: vertices that are all open), the first `skip` neighbours of
    each left out; None: all, by their bits. remain: a pull goes by the remain bits that `heads` wrote, not by the
    open bits.
    """

    direction: str
    table: PageTable
    listed: np.ndarray | None = None
    skip: int = 0
    remain: bool = False
