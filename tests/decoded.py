"""The edges of a topology, decoded page by page."""

from __future__ import annotations

import numpy as np

from pagestore.decode import decode_topology
from pagestore.store import Topology


def decode_edges(topology: Topology) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """All edges of a topology in page order: source, target u8[m] as its pages say, weight [m] or None."""
    parts = [page for _, page in decode_topology(topology)]
    none = np.empty(0, np.uint64)
    source = np.concatenate([none, *(page.source for page in parts)])
    target = np.concatenate([none, *(page.target for page in parts)])
    if topology.weight_dtype is None:
        return source, target, None
    return source, target, np.concatenate([np.empty(0, topology.weight_dtype), *(p.weight for p in parts)])
