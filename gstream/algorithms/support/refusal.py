"""What a certificate raises when an answer is not right."""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.support.array_sweep import Across
from gstream.algorithms.support.session import Session
from gstream.devices.ranks import Ranks
from gstream.engine.rank_sweeps import merge
from gstream.records import RecordKernel
from pagestore.errors import GstreamError


class CertificateError(GstreamError):
    """An answer that is not right: a fault of gstream or of the machine, never of the input (exit 1)."""


def refuse(what: str) -> CertificateError:
    """The error for an answer that `what` shows to be wrong."""
    return CertificateError(
        f"certificate: {what}. The answer is not right and was not kept; please report this with `gstream doctor`."
    )


def refuse_vertices(session: Session, wrong: np.ndarray, said: str, *values: np.ndarray) -> None:
    """Raise the error for the first vertex of `wrong` (bool[V]); `said` is formatted with its ID and its values."""
    odd = np.flatnonzero(wrong)[:1]
    if len(odd):
        raise refuse(said.format(session.user_ids(odd)[0], *(array[odd[0]] for array in values)))


def refuse_edge(session: Session, failure: np.ndarray, said: str, values: np.ndarray | None = None) -> None:
    """Raise the error for an edge u -> v that was noted in `failure` (gstream.algorithms.support.shared.note).

    `said` is formatted with {u} and {v}, the IDs of its ends, and with {at_u} and {at_v}, their values.
    """
    if failure[0]:
        u, v = session.user_ids(failure[1:])
        at_u, at_v = (None, None) if values is None else values[failure[1:]]
        raise refuse(said.format(u=u, v=v, at_u=at_u, at_v=at_v))


def check_edges(
    session: Session, name: str, kernel: Any, arrays: tuple[Any, ...], said: str, values: np.ndarray | None = None,
    across: Across | None = None,
) -> None:  # fmt: skip
    """Sweep topology `name` by a kernel whose last array, `failure`, takes wrong edges; `refuse_edge` for one.

    across: of a compiled function, has ranks agree on its other arrays.
    """
    failure = np.zeros(3, np.int64)

    def agree(ranks: Ranks) -> None:
        merge(ranks, "note", failure, np.zeros_like(failure))
        if across is not None:
            across(ranks)

    session.sweep(name, kernel, (*arrays, failure), across=None if isinstance(kernel, RecordKernel) else agree)
    refuse_edge(session, failure, said, values)


def check_said(found: dict[str, Any], rounding: float = 0.0, **counted: float) -> None:
    """Raise the error for a figure of the summary that differs from the one counted again. rounding: relative."""
    for name, number in counted.items():
        said = found.get(name, number)
        if said != number and not abs(said - number) <= rounding * abs(number):
            raise refuse(f"the summary says {said} for {name}, and counted again there are {number}")
