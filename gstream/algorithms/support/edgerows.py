"""Edges as rows: the lesser end first, rows ascending, both by natural index."""

from __future__ import annotations

import numpy as np

from gstream.algorithms.support.refusal import refuse
from gstream.algorithms.support.session import Session
from gstream.results.column import Column


def edge_columns(session: Session, source: np.ndarray, target: np.ndarray) -> tuple[list[Column], np.ndarray]:
    """(columns source and target, int64[m]: which edge each row is) of undirected edges by store IDs [m]. The given
    arrays become the columns'. Holds one more ID and 16 bytes an edge meanwhile. Raises ResourceError."""
    beside = np.broadcast_to(np.uint64(0), len(source))  # the order, or what it is of
    session.reserve(beside, beside, source)
    for ends in (source, target):
        ends[:] = session.store.natural_of(ends)
    turned = source > target
    source[turned], target[turned] = target[turned], source[turned]
    if source.itemsize == 4:  # numbers take a fifth of the time that pairs do
        pairs = source.astype(np.uint64)
        pairs <<= np.uint64(32)
        pairs |= target
        order = np.argsort(pairs)
        del pairs
    else:
        order = np.lexsort((target, source))
    for ends in (source, target):
        ends[:] = ends[order]
    session.release(beside, beside, source)
    return [Column("source", source, holds="natural"), Column("target", target, holds="natural")], order


def check_ascending(source: np.ndarray, target: np.ndarray) -> None:
    """Raise CertificateError where rows are not what `edge_columns` makes them. source, target: natural indices [m]."""
    if np.any(source > target):
        raise refuse("a row has the greater end of its edge first")
    later = (source[1:] > source[:-1]) | ((source[1:] == source[:-1]) & (target[1:] > target[:-1]))
    if not later.all():
        raise refuse("rows are not in ascending order")


def natural_names(session: Session) -> np.ndarray:
    """id[V]: natural index of each store ID; of none where they are equal."""
    return session.natural_ids() if session.meta.order != "natural" else np.empty(0, session.id_dtype)


def natural_bytes(session: Session) -> int:
    """What `natural_names` take."""
    return 0 if session.meta.order == "natural" else session.id_dtype.itemsize * session.meta.vertices
