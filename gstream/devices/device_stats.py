"""What a device counts of its work."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class DeviceStats:
    """Counted by the device, read by the driver after `finish`.

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
