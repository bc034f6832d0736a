"""The cost model: equations (1) and (2) of the GStream thesis (3.6), with constants measured on this machine.

Equation (1), programs that sweep all pages, N devices, W chunks of WA:

    2|WA|/c1 + W x { (|RA|+|SP|+|LP|)/(c2 N) + t_call((S+L)/N) + t_kernel + t_sync(N) }

Equation (2), programs with a frontier, summed over levels l:

    2|WA|/c1 + sum { (|RA_l|+|SP_l|+|LP_l|)/(c2 N d_skew) x (1-r_hit) + t_call((S_l+L_l)/(N d_skew)) }

c1 is the rate of chunk copies, c2 that of streamed pages: over the link for devices that copy, from disk where the
pages don't fit host memory. The thesis's kernels hid behind the copies but for the last one; where kernels are slower
than the stream (host cores), they hide the copies instead, so the larger of the two counts. With several devices t_sync
is added to equation (2), too: a level of 1 ms is no longer than its merge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gstream.paging.page_lanes import USUAL, PageLanes

# From LEVEL vertices on, rates fall with this power of their number (measured: PageRank).
LEVEL, SLOPE = 1 << 18, 0.22
ROW_BYTES = 16  # of values that take a kernel the time of one number; longer vectors take as much more (measured)
DECODED_A_CORE = 1.4e9  # edges/s of one core, with all checks, beyond those that raw pages take, too (measured)
IN_ORDER = 1.4  # times the rate of pulls has where the first vertices have the most edges: caches hold their values


@dataclass(frozen=True)
class Constants:
    """Rates in bytes/s and edges/s, times in seconds. The defaults are two cores of 2020; see
    gstream.planning.calibration.

    Host devices share the cores, so that N of them have the kernels' rate of one, and merge N copies of WA in turns.
    list_s: of a short list that kernels read in place in host memory, over the link (those of devices that can).
    disk: of pages that stream; disk_apart: of single pages here and there; load: of pages that come to stay in host
    memory, perhaps from the system's page cache. decode: edges/s of coded pages that the cores decode as they are read.
    """

    c1: float = 8e9
    c2: float = 8e9
    disk: float = 1.5e9
    disk_apart: float = 1.2e9
    load: float = 1.5e9
    call_s: float = 40e-6
    list_s: float = 23e-9
    push_edges: float = 3e8
    pull_edges: float = 8e8
    merge: float = 4e9
    decode: float = 2 * DECODED_A_CORE

    def edges(self, direction: str) -> float:
        return self.push_edges if direction == "push" else self.pull_edges

    def at(self, vertices: int, by_degree: bool, value_bytes: int = 4) -> Constants:
        """The constants for a graph: kernels' rates are those of LEVEL vertices in no order, and fall as values outgrow
        caches (RMAT 18 to 22 on two cores, 24 to 28 on an H200: within a fifth). value_bytes: of a vertex's value,
        which may be a vector (12 to 512 bytes on two cores: within 2 times)."""
        far = (max(vertices, LEVEL) / LEVEL) ** -SLOPE * min(1.0, ROW_BYTES / value_bytes)
        pull = self.pull_edges * far * (IN_ORDER if by_degree else 1.0)
        return replace(self, pull_edges=pull, push_edges=self.push_edges * far)

    @property
    def scan(self) -> float:
        """Bytes/s at which a device reads an array that it holds."""
        return self.c1

    def kernel_seconds(self, edges: float, direction: str, busy: float) -> float:
        """Time of the kernels over `edges`; busy: devices, less where they are out of balance."""
        return edges / self.edges(direction)

    def with_decoding(self, kernels: float, decoding: float) -> float:
        """Time of kernels and of cores that decode pages meanwhile, from that of each: here the same cores."""
        return kernels + decoding

    def sync_seconds(self, merged_bytes: float, devices: int) -> float:
        """t_sync(N): merging every device's `merged_bytes` of WA."""
        return merged_bytes * devices / self.merge if devices > 1 else 0.0


@dataclass(frozen=True)
class GpuConstants(Constants):
    """Constants of GPUs that are alike: c1, c2 of each one's link, edges/s of each, merge between two of them.

    The defaults are an H200 on PCIe 5 and NVLink. memory: bytes/s of reads of its own memory, half of what it does.
    lanes: a record, by classes of pages.
    """

    c1: float = 55e9
    c2: float = 55e9
    call_s: float = 12e-6
    list_s: float = 46e-9
    push_edges: float = 20e9
    pull_edges: float = 60e9
    merge: float = 374e9
    memory: float = 2e12
    lanes: PageLanes = USUAL

    @property
    def scan(self) -> float:
        return self.memory

    def kernel_seconds(self, edges: float, direction: str, busy: float) -> float:
        return edges / (self.edges(direction) * busy)

    def with_decoding(self, kernels: float, decoding: float) -> float:
        return max(kernels, decoding)

    def sync_seconds(self, merged_bytes: float, devices: int) -> float:
        """All at once: each reads its slice of all the others' WA, then all the others' slices: 2 (N-1)/N |WA|."""
        return 2 * (devices - 1) / devices * merged_bytes / self.merge


def superstep_seconds(
    constants: Constants, *, devices: int, page_bytes: float, disk_bytes: float, batches: float, edges: float,
    direction: str, attribute_bytes: float = 0, merged_bytes: float = 0, load_bytes: float = 0, decoded: float = 0,
    d_skew: float = 1.0,
) -> float:  # fmt: skip
    """One superstep: equation (1) with sums over all chunks, or a level of equation (2).

    A level has no attribute_bytes: 2|WA|/c1 comes once a run. Its page_bytes and disk_bytes are those that move: the
    (1 - r_hit) of the equation is in them. decoded: edges that cores decode.
    """
    busy = max(1.0, devices * d_skew)
    stream = stream_seconds(constants, busy, page_bytes, disk_bytes, load_bytes)
    kernels, calls = constants.kernel_seconds(edges, direction, busy), constants.call_s * batches / busy
    kernels = constants.with_decoding(kernels, decoded / constants.decode)
    sync = constants.sync_seconds(merged_bytes, devices)
    return 2 * attribute_bytes / constants.c1 + max(stream, kernels) + calls + sync


def stream_seconds(
    constants: Constants, busy: float, page_bytes: float, disk_bytes: float, load_bytes: float = 0
) -> float:
    """Time of the pages that come: over the links of `busy` devices, from disk, and from there to stay in memory."""
    return max(page_bytes / (constants.c2 * busy), disk_bytes / constants.disk, load_bytes / constants.load)
