"""Kernels of the certificate of widest paths. `pull`: pages hold in-lists. width: f4[V] or f8[V], -inf: no path."""

from __future__ import annotations

from gstream.algorithms.proofs import note
from gstream.algorithms.shared import is_set, set_bit
from gstream.records import record_kernel


@record_kernel(failure="note")
def check_widths(record, width, pull, failure):
    """No edge u -> v leads to a wider path: min(width[u], weight) <= width[v]. failure: as in proofs."""
    for other in record.neighbours():
        u, v = (other, record.vertex) if pull else (record.vertex, other)
        if min(width[u], width.dtype.type(record.weight())) > width[v]:
            note(failure, u, v)


@record_kernel(reached="or", changed="max")
def bear_widths(record, width, reached, changed, pull):
    """Set v's bit in `reached` where u's is set and u -> v bears its width: min(width[u], weight) == width[v]."""
    for other in record.neighbours():
        u, v = (other, record.vertex) if pull else (record.vertex, other)
        there = is_set(reached, u)
        fresh = not is_set(reached, v)
        if there and fresh and min(width[u], width.dtype.type(record.weight())) == width[v]:
            set_bit(reached, v)
            changed[0] = 1
