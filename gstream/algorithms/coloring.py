"""Greedy colouring: a vertex gets the least colour, from 0, that no neighbour before it has.

The order is that of networkx.greedy_color's strategy `largest_first`, ties by a hash of the store ID, so that equal
degrees make no long chains. A vertex waits until all neighbours before it have a colour (Jones and Plassmann 1993);
then it has its own, and tells those behind it. So there are as many rounds as vertices on the longest way along which
the order ascends, and an edge is looked at three times. Neighbours are those in either direction; self-loops don't
count.

Any store will do. Holds 16 bytes and 5 bits a vertex, and a degree at the beginning (past 2^32 edges 4 bytes more). A
round visits the lists of the vertices that it colours; of a directed store with one topology, the pages of all that
have no colour. Certificate: one sweep over all edges, by the definition.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms import palette
from gstream.algorithms.blocks import degrees_bytes, neighbours, neighbours_dtype
from gstream.algorithms.levels import join_falls
from gstream.algorithms.refusal import refuse, refuse_edge
from gstream.algorithms.session import Session, SharedKernel
from gstream.hostcode.bitmaps import bitmap, bitmap_bytes, bits_where, count_bits
from gstream.results import Column
from pagestore.sizes import show_things


class _Waiting:
    """What vertices wait for, and what they have been told."""

    def __init__(self, session: Session) -> None:
        self.session, vertices, directed = session, session.meta.vertices, session.meta.directed
        self.names = [name for name in ("out", "in")[: 1 + directed] if session.store.has(name)]
        self.single = directed and len(self.names) == 1
        a_vertex = 2 * neighbours_dtype(session).itemsize + palette.NO_COLOR.itemsize + 8  # bytes, window of 64 bits
        session.foresee(vertices * a_vertex + 3 * bitmap_bytes(vertices), degrees_bytes(session))
        size = neighbours(session)
        self.color, self.window = np.full(vertices, palette.NO_COLOR), np.zeros(vertices, np.uint64)
        self.left = np.zeros_like(size)
        self.crowded, self.still, self.open = bitmap(vertices), bitmap(vertices), bitmap(vertices)
        session.hold(size, self.color, self.window, self.left, self.crowded, self.still, self.open)
        session.sweep(self.names[0], SharedKernel(palette.count_ahead, (directed, size, self.left)))
        session.let_go(size)
        self.open[:] = bits_where(np.ones(vertices, np.bool_))

    def give(self, ready: np.ndarray) -> None:
        """Colour the vertices of `ready`."""
        session, base, items = self.session, np.uint32(0), len(ready) + count_bits(ready)
        full = session.each(palette.give_colors, ready, self.window, self.color, base, self.crowded, items=items)
        while full:
            base += np.uint32(palette.WINDOW)
            arrays = (self.single, self.crowded, self.color, base, self.window)
            for name in self.names:
                self._sweep(name, SharedKernel(palette.look_further, arrays), self.crowded, None)
            arrays = (self.crowded, self.window, self.color, base, self.still)
            full = session.each(palette.give_colors, *arrays, items=len(ready) + full)
            self.crowded, self.still = self.still, self.crowded

    def tell(self, ready: np.ndarray, following: np.ndarray) -> None:
        """Tell the neighbours of `ready`; following: who has heard of all that are ahead."""
        following[:] = 0
        arrays = (self.single, ready, self.color, self.window, self.left, following)
        for name in self.names:
            self._sweep(name, SharedKernel(palette.tell_behind, arrays, join=join_falls), ready, self.open)
        self.open &= ~ready

    def _sweep(self, name: str, kernel: SharedKernel, chosen: np.ndarray, all_lists: np.ndarray | None) -> None:
        """Sweep the lists of the vertices `chosen`; if an edge is in one list only, those of `all_lists` (all)."""
        self.session.sweep_among(name, kernel, all_lists if self.single else chosen)


def run_coloring(session: Session) -> tuple[list[Column], dict[str, Any]]:
    """Column color, from 0."""
    state, rounds = _Waiting(session), 0
    ready = bits_where(state.left == 0)
    following = np.empty_like(ready)
    session.hold(ready, following)
    while ready.any():
        rounds += 1
        state.give(ready)
        state.tell(ready, following)
        ready, following = following, ready
    found = {"colors": int(state.color.max(initial=0)) + 1 if len(state.color) else 0}
    return [Column("color", state.color)], found | session.finish(rounds, True)


def certify_coloring(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove that neighbours have different colours. Raises CertificateError."""
    color, failure = columns[0].values, np.zeros(3, np.int64)
    if np.any(color >= found["colors"]):
        raise refuse("there are more colours than were said")
    session.hold(color)
    session.sweep(session.meta.topologies[0], SharedKernel(palette.check_colors, (color, failure)))
    refuse_edge(session, failure, "are neighbours and have one colour")
    return {"holds": True, "proves": f"{show_things(found['colors'], 'colour')}, and no edge joins two vertices of one"}
