"""Arguments that several algorithms take: checked, and as store IDs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np

from gstream.algorithms.support.session import Session
from gstream.engine.rounds import ROUNDS
from pagestore.errors import InputError, UsageError, plain
from pagestore.sizes import show_things


def need_weights(session: Session, algorithm: str) -> None:
    """Raise UsageError when the store has no weights."""
    if not session.meta.weighted:
        other = ", or run bfs" if algorithm == "sssp" else ""
        raise UsageError(
            f"{session.store.path}: has no edge weights, which {algorithm} needs. Convert again from an input with "
            f"weights (--weight-column N, and not --no-weights){other}."
        )


def rounds_of(execution: str) -> int:
    """Further rounds over a batch that is in memory, which --execution asks for."""
    return ROUNDS if execution == "async" else 0


def need_both(session: Session, algorithm: str) -> None:
    """Raise UsageError, with the converter's option, where a directed store has one topology only."""
    for name, other in (("out", "in"), ("in", "out")):
        if not session.store.has(name):
            raise UsageError(
                f"{session.store.path}: has {other}-pages only, and {algorithm} looks at out- and in-neighbours of "
                "each vertex. Convert again with --topology both."
            )


def check_weights(session: Session, algorithm: str) -> None:
    """Raise when the store has no weights, or one that no shortest path can have; the edge is named by user IDs."""
    meta, store = session.meta, session.store
    need_weights(session, algorithm)
    if meta.edges == 0 or (meta.min_weight is not None and meta.min_weight >= 0):
        return
    source, target, weight = find_bad_edge(session)
    what = "is NaN" if weight != weight else "is negative"
    raise InputError(
        f"{store.path}: the edge from {source} to {target} has weight {weight:g}, which {what}; "
        f"{algorithm} needs weights of 0 and more. Convert again with other weights."
    )


def unread_weights(session: Session, weighted: bool) -> str:
    """A note where weights are stored that NetworkX's default reads, and the call does not; else ""."""
    if weighted or not session.meta.weighted:
        return ""
    count = show_things(session.meta.graph_edges, "edge")
    return f"weights of {count} are not read, which NetworkX's default reads; --weighted reads them"


def find_bad_edge(session: Session) -> tuple[Any, Any, float]:
    """(source, target, weight) by user IDs of one edge whose weight is negative or NaN: the first in page order."""
    name = "out" if session.store.has("out") else "in"
    topology = session.store.topology(name)
    layout = topology.layout
    with topology.reader() as reader:
        for page, _ in topology.spread.ranges(topology.pages, 1):
            words = reader.read(page, 1).view(layout.id_dtype)[0]
            weights = reader.read_weights(page, 1).view(topology.weight_dtype)[0]
            if np.all(weights >= 0):
                continue
            for slot in range(int(topology.directory["records"][page])):
                owner, start = (int(word) for word in words[layout.words - 2 * slot - 2 :][:2])
                stride = int(topology.directory["layout"][page]) or 1
                inside = slice(start + stride, start + stride * (1 + int(words[start])), stride)
                bad = np.flatnonzero(~(weights[inside] >= 0))
                if len(bad):
                    edge = (owner, int(words[inside][bad[0]]))
                    ends = session.user_ids(edge if name == "out" else edge[::-1])
                    return ends[0], ends[1], float(weights[inside][bad[0]])
    if session.meta.parts:
        raise InputError(f"{session.store.path}: another part has an edge whose weight is negative or NaN.")
    raise InputError(f"{session.store.path}: claims a negative weight that it does not have. Convert the graph again.")


def source_ids(source: Any, algorithm: str) -> tuple[Any, ...]:
    """The user's sources as a tuple, each once. Raises UsageError when there is none."""
    if source is None:
        given: tuple[Any, ...] = ()
    else:
        source = source.item() if getattr(source, "shape", None) == () else source  # NumPy's scalars are iterable
        given = (source,) if isinstance(source, (str, bytes)) or not isinstance(source, Iterable) else tuple(source)
    for vertex in given:
        if not isinstance(vertex, (str, Integral)) or isinstance(vertex, bool):
            raise UsageError(
                f"source {plain(repr(vertex))} is no vertex ID: those are whole numbers or names. Pass --source ID."
            )
    ids = tuple(dict.fromkeys(given))
    if not ids:
        raise UsageError(f"{algorithm}: no source was given. Pass --source ID, or several.")
    return ids


def check_tolerance(tol: float, max_iter: int, iterations: int | None = None) -> None:
    """Raise UsageError for an end of an iteration that means nothing."""
    if not (tol >= 0 and math.isfinite(tol)):
        raise UsageError(f"--tol {tol}: must be a number of at least 0. The default is 1e-6.")
    for flag, count in (("--max-iter", max_iter), ("--iterations", iterations)):
        if count is not None and count < 0:
            raise UsageError(f"{flag} {count}: must be at least 0. It counts iterations.")


def check_resolution(resolution: float) -> None:
    """Raise UsageError for one that means nothing."""
    if not (math.isfinite(resolution) and resolution >= 0):
        raise UsageError(f"--resolution {resolution}: must be a number of at least 0. The default is 1.")


def unreached(dtype: np.dtype) -> Any:
    """The distance, as a scalar of `dtype`, of a vertex without a path: INF of that type."""
    dtype = np.dtype(dtype)
    return dtype.type(np.inf if dtype.kind == "f" else np.iinfo(dtype).max)


def limit_of(dtype: np.dtype, most: float | None) -> Any:
    """The greatest distance of `dtype` up to `most`, 0 or more, that a path may have; None where there is no limit.

    Of floats `most` is rounded as weights are in pages, so that a path of one edge of weight 0.1 is within 0.1.
    """
    if most is None:
        return None
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            rounded = np.float32(most)
            return dtype.type(rounded if np.isfinite(rounded) else most)
    top = int(np.iinfo(dtype).max) - 1
    return dtype.type(top if most >= top else math.floor(most))
