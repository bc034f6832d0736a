"""Widest paths: the width of a path is its least weight; a vertex's width is that of its widest path from a source.

In undirected graphs the widest paths are those of a maximum spanning tree. Float weights are compared as float32, whole
numbers as 64 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.declaration import SOURCE, Algorithm
from gstream.algorithms.support.arguments import check_weights, source_ids
from gstream.algorithms.support.lists import OneThread
from gstream.algorithms.support.refusal import check_edges, check_said, refuse, refuse_vertices
from gstream.algorithms.support.session import Session
from gstream.algorithms.traversal import width_proof
from gstream.hostcode.bitmaps import bitmap, set_bits
from gstream.programs.widest import Widest, WidestInteger
from gstream.results.column import Column

ALGORITHM = Algorithm(
    "widest", "widest paths: greatest least weight from a source",
    definition="the greatest least weight of a path from a source, infinite at a source",
    columns=("vertex", "width"), best="largest", options=(SOURCE,),
    plan="program_of_widest", proof="certify_widest", proof_bytes=9, certificate="exact", kept=True,
    needs="weights of 0 or more", holds="8, integer weights 20", weights=True,
    program="gstream.programs.widest:Widest",
    proof_units=(".width_proof:check_widths bear_widths",),
)  # fmt: skip


def run_widest(session: Session, source: Any) -> tuple[list[Column], dict[str, Any]]:
    """Column width (inf at a source, null and in `.npy` -inf where there is no path), and the summary.

    Raises UsageError (no source, or one that is not in the graph; a store without weights), InputError (a negative or
    NaN weight, named by its edge).
    """
    outcome = session.run(program_of_widest(session, source))
    width = outcome.value
    if width.dtype.kind != "f":
        limits = np.iinfo(width.dtype)
        width = np.where(width == limits.max, np.inf, np.where(width == limits.min, -np.inf, width))
    found = session.finish(outcome.supersteps, outcome.converged)
    return [Column("width", width, -np.inf, npy_missing=-np.inf)], found | {
        "reached": int(np.count_nonzero(width != -np.inf))
    }


def program_of_widest(session: Session, source: Any) -> Widest:
    """The program whose numbers fit the store's weights. Raises as run_widest does."""
    ids = source_ids(source, "widest")
    check_weights(session, "widest")
    session.store.lookup(ids)
    return (Widest if session.meta.weight_dtype == "f4" else WidestInteger)(source=ids)


def certify_widest(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove widths: one sweep that no edge leads to a wider path, then a search along edges that bear a width, which
    must reach every vertex with one from a source. Raises CertificateError."""
    width = columns[0].values
    sources = np.unique(session.store.lookup(source_ids(options.get("source"), "certificate")))
    if not np.all(width[sources] == np.inf):
        raise refuse("a source has not infinite width")
    if np.isnan(width).any():
        raise refuse("a width is no number")
    name, pull = session.gathers()
    session.reserve(width)
    said = "the edge from {u} makes vertex {v} wider than {at_v}"
    check_edges(session, name, width_proof.check_widths, (width, pull), said, width)
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
                alone.go_on(width_proof.bear_alone, due, alone.of_first, (width, reached), following)
                continue
            here[:], following[:] = following, 0
            arrays = (width, here, reached, following, pull)
            session.sweep_among(name, width_proof.bear_widths, arrays, None if pull else here)
    return reached
