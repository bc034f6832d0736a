"""What devices and caches counted, into the figures of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gstream.devices.base import Device
from gstream.paging.source_pool import Sources
from gstream.telemetry.stats import RunStats

SUMMED = ("pages_moved", "pages_in_place", "bytes_moved", "cache_hits", "cache_misses")


def take_counts(stats: RunStats, devices: Sequence[Device], cores: Any, sources: Sources) -> None:
    """Add what was counted since the last call, in runs and sweeps. cores: those beside GPUs, or None."""
    stats.device_bytes_moved = stats.device_bytes_moved or [0] * len(devices)
    for number, device in enumerate(devices):
        counted = device.take_stats()
        for name in SUMMED:
            setattr(stats, name, getattr(stats, name) + getattr(counted, name))
        stats.edges_visited += counted.edges
        stats.attribute_bytes_moved += counted.attribute_bytes
        stats.device_bytes_moved[number] += counted.bytes_moved
        stats.merge_seconds = max(stats.merge_seconds, counted.merge_seconds)  # devices merge side by side
    if cores is not None:
        counted = cores.take_stats()
        stats.cores_pages += counted.pages
        stats.edges_visited += counted.edges
    hits, misses = sources.take_hits()
    stats.cache_hits += hits
    stats.cache_misses += misses
    stats.devices = len(devices)
