"""The forest of union-find in host memory, shared by all threads and devices; GPUs' is gstream.devices.gpuforest."""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms import unionfind
from gstream.algorithms.session import Session, SharedKernel


class HostForest:
    """parent: id[V], store IDs; a root is its own parent."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.parent = np.arange(session.meta.vertices, dtype=session.id_dtype)
        session.hold(self.parent)

    def link_heads(self, name: str, first_column: int, end_column: int, giant: int | None = None) -> None:
        """Link all vertices, or those outside tree `giant`, with columns of their heads of topology `name`."""
        columns = (first_column, end_column, self._root(giant), giant is not None)
        for first, heads in self.session.heads(name):
            self.session.look(unionfind.link_heads, self.parent, heads, first, *columns)

    def compress(self) -> None:
        """Let every vertex point to its root."""
        self.session.each(unionfind.compress, self.parent)

    def giant(self, rows: int, samples: int) -> int:
        """The most frequent root among evenly spaced vertices below `rows`; trees must be compressed."""
        return unionfind.most_frequent(self.parent, rows, samples)

    def pages_outside(self, name: str, giant: int, least: int) -> np.ndarray | None:
        """bool[pages] of topology `name`: which hold vertices outside tree `giant` with `least` edges or more.

        None where there is no such vertex. Trees must be compressed.
        """
        bits = np.empty((len(self.parent) + 63) >> 6, np.uint64)
        arguments = (self.parent, giant, self.session.degree(name), least, bits)
        return self.session.pages_of(name, bits) if self.session.each(unionfind.mark_outside, *arguments) else None

    def link_pages(self, name: str, giant: int | None, lower_only: bool, pages: np.ndarray | None = None) -> None:
        """Link what pages hold (bool[pages]; None: all); lists of vertices in tree `giant` are passed over."""
        arrays = (self.parent, self._root(giant), giant is not None, lower_only)
        self.session.sweep(name, SharedKernel(unionfind.link_pages, arrays), pages)

    def _root(self, giant: int | None) -> Any:
        return self.parent.dtype.type(giant or 0)

    def parents(self) -> np.ndarray:
        """id[V]."""
        return self.parent

    def free(self) -> None:
        """The parents stay: the caller has them."""


def make_forest(session: Session) -> Any:
    """A forest on the GPUs of the session's engine where it has them and the vertices fit, else in host memory."""
    if all(spec.kind == "cuda" for spec in session.engine.specs):
        from gstream.devices.gpuforest import GpuForest

        if GpuForest.fits(session):
            return GpuForest(session)
    return HostForest(session)
