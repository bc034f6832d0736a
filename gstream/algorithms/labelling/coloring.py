"""Greedy colouring: a vertex gets the least colour, from 0, that no neighbour before it has.

The order is that of networkx.greedy_color's strategy `largest_first`. Ties go by a hash of the natural index: equal
degrees then make no long chains, and colours do not depend on the store's order. A vertex gets its colour when all
neighbours ahead of it have theirs, and tells those behind it (Jones and Plassmann 1993). So there are as many rounds as
vertices on the longest ascending path, and an edge is looked at three times. A round reads the lists of the vertices
that it colours; of a directed store with one topology, the pages of all vertices without a colour, until the thread
below goes on.

A vertex that can have none of the first 64 colours looks for the next 64 in another round, and so on. If few vertices
can be coloured at a time, as in cliques, one host thread goes on from each to the next
(gstream.algorithms.support.lists); after many rounds it does so instead of a GPU. It looks at a list twice.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gstream.algorithms.declaration import Algorithm, Work
from gstream.algorithms.labelling import palette
from gstream.algorithms.support.array_sweep import join_falls
from gstream.algorithms.support.blocks import degrees_bytes, most_neighbours, neighbours, neighbours_dtype
from gstream.algorithms.support.edgerows import natural_bytes, natural_names
from gstream.algorithms.support.lists import OneThread, lists_bytes
from gstream.algorithms.support.refusal import check_edges, check_said, refuse, refuse_vertices
from gstream.algorithms.support.resident import Resident
from gstream.algorithms.support.session import Session
from gstream.engine.sweep_state import SweepState
from gstream.hostcode.bitmaps import bitmap, bitmap_bytes, bits_where, list_bits, set_bits
from gstream.results.column import Answer, Column
from pagestore.sizes import show_things

ALGORITHM = Algorithm(
    "coloring", "greedy colouring, vertices of large degree first",
    "As networkx.greedy_color, the largest first; colours count from 0.",
    definition="greedy, large degrees as stored first, ties by a hash; neighbours either way, self-loops don't "
    "count",
    columns=("vertex", "color"), best="first",
    proof="certify_coloring", proof_bytes=30, certificate="by its definition",
    kept="17: colours, colours of neighbours, neighbours ahead that have none",
    check="check_coloring", holds="17, degrees at first, reordered 4 more then",
    units=(".palette:count_ahead give_colors tell_behind",), proof_units=(".palette:check_colors",),
    work=Work(edges=9.1, gpu_edges=300.0, moved=(10.0, 100.0), spread=2.0, answer=4),
)  # fmt: skip


def check_coloring(session: Session) -> None:
    """Too little memory is said before any work."""
    vertices, ways = session.meta.vertices, ("out", "in")[: 1 + session.meta.directed]
    a_vertex = 2 * neighbours_dtype(session).itemsize + palette.NO_COLOR.itemsize + 8  # bytes, window of 64 bits
    swept = vertices * a_vertex + 3 * bitmap_bytes(vertices) + natural_bytes(session)
    queue = (vertices + most_neighbours(session)) * session.id_dtype.itemsize
    lists = sum(lists_bytes(session, name) for name in ways) - vertices * neighbours_dtype(session).itemsize
    read = degrees_bytes(session)
    session.check_memory(swept, max(read, swept), most=swept + read + max(0, lists + queue))


def run_coloring(session: Session) -> Answer:
    """Column color, from 0."""
    vertices, directed = session.meta.vertices, session.meta.directed
    names = [name for name in ("out", "in")[: 1 + directed] if session.store.has(name)]
    single = directed and len(names) == 1
    check_coloring(session)
    goes_on = session.resumes("color")
    size = np.zeros(0, neighbours_dtype(session)) if goes_on else neighbours(session)
    color, window = np.full(vertices, palette.NO_COLOR), np.zeros(vertices, np.uint64)
    left = np.zeros(vertices, size.dtype)
    ready, following = bitmap(vertices), bitmap(vertices)
    open, last = bits_where(np.ones(vertices, np.bool_)), np.zeros(2, np.uint64)
    session.reserve(size, color, window, left, ready, following, open)
    if not goes_on:
        session.sweep(names[0], palette.count_ahead, (directed, size, natural_names(session), left))
        session.names_done()
        following[:] = bits_where(left == 0)
    session.release(size)
    arrays = (color, window, left, ready, following, open, last)
    kept = session.keep(color=color, window=window, left=left, ready=ready, following=following, open=open, last=last)
    ways = ["out", "in"][: 1 + directed]
    with OneThread(session, ways, (vertices + most_neighbours(session)) * session.id_dtype.itemsize) as alone:
        turn = partial(_rounds, session, alone, names, single, arrays, kept)
        rounds = alone.first_on_gpu(turn, arrays, last)
    kept.end()
    found = {"colors": int(color.max(initial=0)) + 1 if len(color) else 0}
    return [Column("color", color)], found | session.finish(rounds, True)


def _rounds(
    session: Session, alone: OneThread, names: list[str], single: bool, arrays: tuple[np.ndarray, ...],
    kept: SweepState, resident: Resident, most: int | None,
) -> int:  # fmt: skip
    """Rounds until all have colours, or `most`. arrays: color, window, left, ready, following, open, last."""
    color, window, left, ready, following, open, last = arrays
    items = -(-len(ready) // palette.ROW)
    told = (single, ready, color, window, left, following)
    for number in resident.rounds(last, most, kept):
        given = (ready, following, open, window, color, last)
        resident.each(palette.give_colors, items, number, *given, items=len(ready))
        chosen: np.ndarray | None = ready
        if single:  # an edge is in one list only, which may be that of a vertex without a colour, or with one
            chosen = None if int(resident.read(last)[1]) == number else open
        for name in names:
            resident.sweep(name, palette.tell_behind, told, chosen, join=join_falls)
        if not resident.on_gpu:
            _go_on_alone(session, alone, color, window, left, ready, following, open)
    if int(last[0]) != most:
        resident.forget(window, left, ready, following, open)
    return int(last[0])


def _go_on_alone(
    session: Session, alone: OneThread, color: np.ndarray, window: np.ndarray, left: np.ndarray, ready: np.ndarray,
    following: np.ndarray, open: np.ndarray,
) -> None:  # fmt: skip
    """Colour by one thread as long as few vertices may have a colour: those told by all neighbours ahead (`following`),
    and those of `ready` without a free colour in their window."""
    waiting = list_bits(ready, 0, len(color))
    due = following.copy()
    set_bits(due, waiting[color[waiting] >= palette.FIRST_PENDING])
    listed = alone.take(due)
    if listed is None:
        return
    marks = np.full(most_neighbours(session) + 1, session.none, session.id_dtype)
    ready[:] = 0
    alone.go_on(palette.color_alone, listed, alone.of_both, (color, window, left, marks), following)
    open[:] = bits_where(color >= palette.FIRST_PENDING)


def certify_coloring(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove that neighbours have different colours, and that each vertex has neighbours of all lesser colours, as in
    any greedy colouring; one sweep for every 64 colours. Raises CertificateError."""
    color = columns[0].values
    most = int(color.max(initial=0))
    if most > len(color):
        raise refuse(f"there are {len(color)} vertices, and a colour is {most}")
    check_said(found, colors=most + 1 if len(color) else 0)
    met = np.zeros(len(color), np.uint64)
    session.reserve(color, met)
    for first in range(0, max(most, 1), palette.WINDOW):
        met[:] = 0
        said = "vertices {u} and {v} are neighbours and have one colour"
        check_edges(session, session.meta.topologies[0], palette.check_colors, (color, np.uint64(first), met), said)
        lacking = np.bitwise_count(met) != np.clip(color.astype(np.int64) - first, 0, palette.WINDOW)
        refuse_vertices(session, lacking, "vertex {} has colour {} and no neighbour of a lesser one", color)
    said = f"{show_things(found['colors'], 'colour')}, no edge joins two vertices of one"
    return {"holds": True, "proves": f"{said}, and each vertex has neighbours of all lesser colours"}
