"""What ranks exchange in a superstep on a graph in parts, on paper: of graphs that are like RMAT's.

RMAT's vertex with j of its s bits set begins (and ends) an edge with chance p^(s-j) q^j, p = a + b = 0.76. A part of
E / N edges names it with chance 1 - exp(-E / N * that). So the vertices that a part names, its mirrors and its own, are
a sum over j of C(s, j) such chances.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, expm1

P = 0.76  # a + b of Graph500's RMAT
MOST_SCALE = 64
WHOLE = 0.75  # of a slice's values, from which on GPUs give all (gstream.devices.gpu.mirrors)


@dataclass(frozen=True)
class Volumes:
    """A rank's, in a superstep. mirrors: vertices of other ranks' slices that its pages name; listed: those that its
    pages list; bytes: that it sends, at most; least: that it sends where no value changes."""

    mirrors: int
    listed: int
    bytes: int
    least: int

    def where(self, share: float) -> int:
        """What it sends where such a share of the vertices changes, spread over all slices, at most."""
        return self.least + int(share * (self.bytes - self.least))


def named_vertices(scale: int, edges: float) -> float:
    """Vertices of RMAT of this scale that so many edges name at one end."""
    return sum(-comb(scale, j) * expm1(-edges * P ** (scale - j) * (1 - P) ** j) for j in range(scale + 1))


def scale_of(vertices: int, edges: int) -> int:
    """The scale at which RMAT with so many edges has about so many vertices with edges."""
    return min(range(1, MOST_SCALE), key=lambda scale: abs(named_vertices(scale, 2 * edges) - vertices))


def volumes(
    vertices: int, edges: int, ranks: int, value_bytes: int, sums: bool, mirrors: int | None = None,
    in_place: bool = True,
) -> Volumes:  # fmt: skip
    """Of a program whose values have `value_bytes`. sums: it sweeps all edges, and sums in 8 bytes; else values that
    change go, with a bit for each that may: as much as all of a push at most. mirrors: of a graph that was split.
    in_place: messages are combined in the values; else ranks tell owners all that was combined, without bits."""
    outside = (ranks - 1) / ranks
    if mirrors is None:
        mirrors = int(outside * min(vertices, named_vertices(scale_of(vertices, edges), edges / ranks)))
    listed = int(outside * vertices / ranks)
    if sums:
        whole = value_bytes * mirrors + 8 * listed
        return Volumes(mirrors, listed, whole, whole)
    told = 2 * mirrors + listed
    bits = (told if in_place else mirrors + listed) // 8
    least = bits if in_place else bits + value_bytes * mirrors
    return Volumes(mirrors, listed, value_bytes * told + bits, least)


def volumes_of_gpus(
    vertices: int, edges: int, ranks: int, value_bytes: int, sums: bool, mirrors: int | None, resident: bool
) -> Volumes:  # fmt: skip
    """The same of ranks with GPUs. resident: they hold all values. Then sums go as `volumes` has it, but for slices of
    which most would; else what a rank got for the slices of others goes, and its own values to all."""
    told = volumes(vertices, edges, ranks, value_bytes, sums, mirrors)
    outside = int((ranks - 1) / ranks * vertices)
    if sums:
        values, got = (n if resident and n < WHOLE * outside else outside for n in (told.mirrors, told.listed))
        whole = value_bytes * values + 8 * got
    else:
        whole = 2 * value_bytes * outside + outside // 4
    return Volumes(told.mirrors, told.listed, whole, whole)
