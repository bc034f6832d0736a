"""What a conversion asks of a device that sorts packed edges in its own memory (elsewhere.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pagestore.errors import GstreamError


class SorterError(GstreamError):
    """The device could not do it, as the message says in a clause; the cores can."""


@dataclass(frozen=True)
class Lists:
    """What sorted keys came to: `kept` edges, and the sums of emit.Tail."""

    kept: int
    duplicates: int
    loops: int
    hash: int


class EdgeSorter(Protocol):
    """Keys in the memory of a device. Every method raises SorterError where the device fails, or has no room."""

    name: str

    def begin(self, keys: int, vertices: int, target_bits: int, weighted: bool) -> None:
        """Take memory for so many keys of 2 * target_bits bits, at most, with codes of weights or without."""

    def append(self, keys: np.ndarray, codes: np.ndarray | None) -> None:
        """Add keys u8[n] and codes u1 or u4[n]; thread-safe."""

    def rename(self, place: np.ndarray) -> None:
        """Both ends v of all keys become place[v], u4[vertices]."""

    def turn(self) -> None:
        """Near ends become far ends, and far ends near ones."""

    def lists(self, dedupe: bool, mirrored: bool) -> Lists:
        """Sort, leave equal keys out if `dedupe`, and find the lists; arguments as of emit.Emitter."""

    def read_targets(self, first: int, out: np.ndarray) -> None:
        """Far ends u4 of the edges from number `first` on; thread-safe, as the next two."""

    def read_codes(self, first: int, out: np.ndarray) -> None:
        """Codes u4 of the edges from number `first` on."""

    def read_degrees(self, first: int, out: np.ndarray) -> None:
        """Lengths u4 of the lists from vertex `first` on."""

    def close(self) -> None:
        """Give all memory back; safe to call twice."""
