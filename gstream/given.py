"""Values of options as a call from Python may give them, of any type: taken where they mean a number, else refused."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from pagestore.errors import UsageError


def whole(option: str, value: Any) -> int:
    """A whole number: 3, NumPy's, or 3.0. Raises UsageError naming the option, as do the others here."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, Real) and not isinstance(value, bool) and value % 1 == 0:
        return int(math.floor(value))
    raise UsageError(f"{option} {value!r}: must be a whole number. Pass one, as 3.")


def number(option: str, value: Any) -> float:
    """A number of any kind; whether inf and NaN are right is the option's business."""
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise UsageError(f"{option}: is past 1.8e308, the largest number. Pass a smaller one.") from None
    raise UsageError(f"{option} {value!r}: must be a number. Pass one, as 0.5.")


def switch(option: str, value: Any) -> bool:
    """True or False, NumPy's, too."""
    if str(value) in ("True", "False") and not isinstance(value, str):
        return bool(value)
    raise UsageError(f"{option} {value!r}: must be True or False. Pass one of them.")
