"""What a certificate of a page kernel raises when an answer is not right."""

from __future__ import annotations

from gstream.algorithms.certify import CertificateError


def refuse(what: str) -> CertificateError:
    """The error for an answer that `what` shows to be wrong."""
    return CertificateError(
        f"certificate: {what}. The answer is not right and was not kept; please report this with `gstream doctor`."
    )
