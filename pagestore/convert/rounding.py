"""Weights that are rounded on request (`--round-weights`), so that coded pages take fewer bits for them.

A rounded weight is a float32 whose last binary digits are 0. So every reader and kernel takes it as it takes any other;
only the coder of weights (pagestore/coding/encode.py) leaves out the digits that no weight of a page has.
"""

from __future__ import annotations

import numpy as np

from pagestore.errors import InputError, UsageError

FLOAT_BITS = 24  # significant ones of a float32, with the leading one, which is not stored
MOST_BITS = FLOAT_BITS - 1


def check_bits(bits: int | None, weights: bool) -> None:
    """Raise UsageError for a number of significant bits that can't be kept; weights: whether the store has any."""
    if bits is None:
        return
    if not 1 <= bits <= MOST_BITS:
        raise UsageError(
            f"--round-weights {bits}: it must be 1 to {MOST_BITS} significant bits; 8 are those of bfloat16, 11 those "
            "of float16."
        )
    if not weights:
        raise UsageError("--round-weights and --no-weights contradict each other. Drop one.")


def rounded(weight: np.ndarray, bits: int) -> np.ndarray:
    """The nearest float32 of so many significant bits to each of f4[n], of two the one whose last bit is 0.

    Numbers below 1.2e-38 keep fewer. One that is too large becomes infinite.
    """
    dropped = np.uint32(FLOAT_BITS - bits)
    pattern, step = weight.view(np.uint32), np.uint32(1) << dropped
    up = (step >> np.uint32(1)) - np.uint32(1) + (pattern >> dropped & np.uint32(1))
    return (pattern + up & ~(step - np.uint32(1))).view(np.float32)


def errors_of(weight: np.ndarray, bits: int) -> tuple[float, float]:
    """The greatest relative and absolute error of weights f8[n] that are stored with so many bits; 0 without any."""
    apart = np.abs(rounded(weight.astype(np.float32), bits).astype(np.float64) - weight)
    size, there = np.abs(weight), weight != 0
    return float((apart[there] / size[there]).max(initial=0)), float(apart.max(initial=0))


def check_finite(name: str, bits: int, weights: tuple[float, ...]) -> None:
    """Raise InputError for a weight that would be infinite when it is rounded."""
    for weight in weights:
        if not np.isfinite(rounded(np.array([weight], np.float32), bits))[0]:
            raise InputError(
                f"{name}: weight {weight:g} is too large to be rounded to {bits} significant bits: it would be "
                "infinite. Scale the weights, or pass --round-weights with more bits."
            )


def rounding_facts(bits: int | None, *errors: tuple[float, float]) -> dict[str, float]:
    """What a store tells of its rounding: bits, and the greatest of the (relative, absolute) errors; {} without."""
    if bits is None:
        return {}
    return {"bits": bits, "relative": max(one for one, _ in errors), "absolute": max(one for _, one in errors)}


def rounding_text(facts: dict[str, float]) -> str:
    """The same for people."""
    count = f"{facts['bits']:.0f} significant bit{'' if facts['bits'] == 1 else 's'}"
    share = "; some are 0" if facts["relative"] >= 1 else ""
    return (
        f"to {count}, off by at most {100 * facts['relative']:.2g} % of a weight and by {facts['absolute']:.2g}{share}"
    )
