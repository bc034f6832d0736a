"""Widest paths: the width of a path is its least weight; a vertex's width is that of its widest path from a source.

In undirected graphs the widest paths are those of a maximum spanning tree. Float weights are compared as float32, whole
numbers as 64 bits.

Kernels of the certificate: `pull` says that pages have in-lists. width: f4[V] or f8[V], -inf where there is no path.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.declaration import EXECUTION, NOT_NEGATIVE, SOURCE, Algorithm, Work
from gstream.algorithms.support.arguments import rounds_of, source_ids
from gstream.algorithms.support.counting import count_others
from gstream.algorithms.support.lists import OneThread
from gstream.algorithms.support.refusal import check_edges, check_said, refuse, refuse_vertices
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.shared import note
from gstream.devices.host.rank_values import RankValues
from gstream.hostcode.adjacency import stretch
from gstream.hostcode.bitmaps import bitmap, is_set, set_bit, set_bits
from gstream.hostcode.casts import u64
from gstream.hostcode.claims import is_stopped
from gstream.hostcode.jit import kernel
from gstream.programs.widest import Widest, WidestInteger
from gstream.records import record_kernel
from gstream.results.column import Answer, Column

ALGORITHM = Algorithm(
    "widest", "paths whose lightest edge weighs most",
    definition="the greatest least weight of a path from a source, infinite at a source",
    columns=("vertex", "width"), best="largest", options=(SOURCE, EXECUTION),
    plan="program_of_widest", proof="certify_widest", proof_bytes=12, certificate="exact",
    kept="4 or 8: widths",
    weights=NOT_NEGATIVE, holds="8, integer weights 20",
    program="gstream.programs.widest:Widest",
    proof_units=("check_widths bear_widths",),
    work=Work(gpu_edges=4.0, times=(2, 6, 20), moved=(0.4, 1.0), spread=1.6, answer=4),
)  # fmt: skip


@record_kernel(failure="note")
def check_widths(record, width, pull, failure):
    """No edge u -> v leads to a wider path: min(width[u], weight) <= width[v]. failure: as in proofs."""
    for other in record.neighbours():
        u, v = (other, record.vertex) if pull else (record.vertex, other)
        if min(width[u], width.dtype.type(record.weight())) > width[v]:
            note(failure, u, v)


@record_kernel(reached="uint64[]", following="or")
def bear_widths(record, width, here, reached, following, pull):
    """Set v's bit in `following` if u's is set in `here`, v's is not in `reached`, and u -> v bears v's width:
    min(width[u], weight) == width[v]. By in-lists one sweep may lead on from v."""
    if not pull and not is_set(here, record.vertex):
        return
    for other in record.neighbours():
        u, v = (other, record.vertex) if pull else (record.vertex, other)
        there = is_set(here, u) or (pull and is_set(following, u))
        fresh = not is_set(reached, v)
        if there and fresh and min(width[u], width.dtype.type(record.weight())) == width[v]:
            set_bit(following, v)


@kernel
def bear_alone(words, weights, places, width, reached, queue, ends, most, counter):
    """bear_widths by one thread (OneThread.go_on) for the queued vertices and those that they reach; `reached` gets
    their bits. Returns the edges looked at."""
    begin, end, edges = u64(ends[0]), u64(ends[1]), u64(0)
    while begin != end and end - begin <= u64(most) and not is_stopped(counter):
        u, k = u64(queue[begin]), u64(0)
        begin += u64(1)
        while True:
            row, word, more, stride = stretch(words, places, u, k)
            if more == u64(0):
                break
            for step in range(more):
                place = word + step * stride
                v = u64(words[row, place])
                if is_set(reached, v) or min(width[u], width.dtype.type(weights[row, place])) != width[v]:
                    continue
                reached[v >> u64(6)] |= u64(1) << (v & u64(63))
                queue[end] = v
                end += u64(1)
            k += more
        edges += k
    ends[0], ends[1] = begin, end
    return edges


def run_widest(session: Session, source: Any, execution: str = "sync") -> Answer:
    """Column width (inf at a source, null and in `.npy` -inf where there is no path), and the summary.

    execution: "async" goes over a batch of pages several times while it is in memory (gstream.engine.rounds).
    Raises UsageError (no source, or one that is not in the graph; a store without weights), InputError (a negative or
    NaN weight, named by its edge).
    """
    program = program_of_widest(session, source)
    stay = session.ranks is not None and session.stays
    outcome = session.run(program, rounds=rounds_of(execution), stay=stay)
    width = outcome.value
    width = width.alike(_as_floats(width.own)) if isinstance(width, RankValues) else _as_floats(width)
    found = session.finish(outcome.supersteps, outcome.converged)
    reached = count_others(session, width, -np.inf)
    return [Column("width", width, -np.inf, npy_missing=-np.inf)], found | {"reached": reached}


def _as_floats(width: np.ndarray) -> np.ndarray:
    """Widths with their infinities."""
    if width.dtype.kind == "f":
        return width
    limits = np.iinfo(width.dtype)
    return np.where(width == limits.max, np.inf, np.where(width == limits.min, -np.inf, width))


def program_of_widest(session: Session, source: Any, execution: str = "sync") -> Widest:
    """The program whose numbers fit the store's weights. Raises as run_widest does."""
    ids = source_ids(source, "widest")
    session.store.lookup(ids)
    session.let_stay()
    return (Widest if session.meta.weight_dtype == "f4" else WidestInteger)(source=ids)


def certify_widest(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove widths. One sweep: no edge leads to a wider path. Then a search along edges that bear a width must reach
    every vertex with a width from a source. Raises CertificateError."""
    width = columns[0].values
    sources = np.unique(session.store.lookup(source_ids(options.get("source"), "certificate")))
    if not np.all(width[sources] == np.inf):
        raise refuse("a source has not infinite width")
    if np.isnan(width).any():
        raise refuse("a width is no number")
    name, pull = session.gathers()
    session.reserve(width)
    said = "the edge from {u} makes vertex {v} wider than {at_v}"
    check_edges(session, name, check_widths, (width, pull), said, width)
    reached = _bear(session, width, sources)
    bits = np.unpackbits(reached.view(np.uint8), bitorder="little")[: len(width)].view(np.bool_)
    refuse_vertices(session, bits != (width != -np.inf), "vertex {} has width {} without a path so wide", width)
    check_said(found, reached=int(np.count_nonzero(width != -np.inf)))
    return {"holds": True, "proves": "every width is that of a path, and none is wider"}


def _bear(session: Session, width: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """Bits of the vertices that edges which bear a width lead to from the sources, by one thread where few are due."""
    name, pull = ("out", False) if session.store.has("out") else ("in", True)
    here, reached, following = (bitmap(len(width)) for _ in range(3))
    session.reserve(here, reached, following)
    set_bits(following, sources.astype(np.uint64))
    with OneThread(session, [name], len(width) * session.id_dtype.itemsize, True) as alone:
        while following.any():
            reached |= following
            if not pull and (due := alone.take(following)) is not None:
                alone.go_on(bear_alone, due, alone.of_first, (width, reached), following)
                continue
            here[:], following[:] = following, 0
            arrays = (width, here, reached, following, pull)
            session.sweep_among(name, bear_widths, arrays, None if pull else here)
    return reached
