"""The cost model: equations (1) and (2) of the GStream thesis (3.6), with constants measured on this machine.

Equation (1), programs that sweep all pages, N devices, W chunks of WA:

    2|WA|/c1 + W x { (|RA|+|SP|+|LP|)/(c2 N) + t_call((S+L)/N) + t_kernel + t_sync(N) }

Equation (2), programs with a frontier, summed over levels l:

    2|WA|/c1 + sum { (|RA_l|+|SP_l|+|LP_l|)/(c2 N d_skew) x (1-r_hit) + t_call((S_l+L_l)/(N d_skew)) }

c1 is the rate of chunk copies, c2 that of streamed pages: over the link for devices that copy, from disk where the
pages don't fit host memory. The thesis's kernels hid behind the copies but for the last one; where kernels are slower
than the stream (host cores), they hide the copies instead, so the larger of the two counts.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """Rates in bytes/s and edges/s, times in seconds. The defaults are two cores of 2020; see gstream.measure."""

    c1: float = 8e9
    c2: float = 8e9
    disk: float = 1.5e9
    call_s: float = 40e-6
    push_edges: float = 3e8
    pull_edges: float = 8e8
    merge: float = 4e9

    def edges(self, direction: str) -> float:
        return self.push_edges if direction == "push" else self.pull_edges


def superstep_seconds(
    constants: Constants, *, devices: int, attribute_bytes: int, page_bytes: int, disk_bytes: int, batches: int,
    edges: int, direction: str, merged_bytes: int,
) -> float:  # fmt: skip
    """Equation (1) for one superstep over all chunks; arguments are sums over the chunks."""
    stream = max(page_bytes / (constants.c2 * devices), disk_bytes / constants.disk)
    kernels = edges / constants.edges(direction)
    calls = constants.call_s * batches / devices
    sync = merged_bytes * devices / constants.merge
    return 2 * attribute_bytes / constants.c1 + max(stream, kernels) + calls + sync


def level_seconds(
    constants: Constants, *, devices: int, page_bytes: float, disk_bytes: float, batches: float, edges: float,
    direction: str, d_skew: float = 1.0, r_hit: float = 0.0,
) -> float:  # fmt: skip
    """Equation (2): one level of a program with a frontier."""
    busy = max(1.0, devices * d_skew)
    stream = max(page_bytes * (1 - r_hit) / (constants.c2 * busy), disk_bytes * (1 - r_hit) / constants.disk)
    return max(stream, edges / constants.edges(direction)) + constants.call_s * batches / busy
