"""What a certificate raises when an answer is not right."""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.support.session import Session
from pagestore.errors import GstreamError


class CertificateError(GstreamError):
    """An answer that is not right: a fault of gstream or of the machine, never of the input (exit 1)."""


def refuse(what: str) -> CertificateError:
    """The error for an answer that `what` shows to be wrong."""
    return CertificateError(
        f"certificate: {what}. The answer is not right and was not kept; please report this with `gstream doctor`."
    )


def refuse_edge(session: Session, failure: np.ndarray, what: str) -> None:
    """Raise the error for an edge that was noted (gstream.algorithms.traversal.distance_proof_kernels): its ends
    `what`.
    """
    if failure[0]:
        u, v = session.user_ids(failure[1:])
        raise refuse(f"vertices {u} and {v} {what}")


def check_said(found: dict[str, Any], rounding: float = 0.0, **counted: float) -> None:
    """Raise the error for a figure of the summary that differs from the one counted again. rounding: relative."""
    for name, number in counted.items():
        said = found.get(name, number)
        if said != number and not abs(said - number) <= rounding * abs(number):
            raise refuse(f"the summary says {said} for {name}, and counted again there are {number}")
