"""Values of options as a call from Python may give them, of any type: taken where they mean a number, else refused.

Text is taken as the command line takes it: `iterations="10"`. True and False are no numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

from pagestore.errors import UsageError, plain


def whole(option: str, value: Any) -> int:
    """A whole number: 3, NumPy's, 3.0, "3" or "3.0". Raises UsageError naming the option, as do the others here."""
    if isinstance(value, str):
        from pagestore.inputs.signatures import WHOLE  # that loads NumPy, which `gstream --help` has no use for

        if WHOLE.match(value):
            value = value.partition(".")[0]
    value = _scalar(value, int)
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, Real) and not isinstance(value, bool) and value % 1 == 0:
        return int(math.floor(value))
    raise UsageError(f"{option} {plain(repr(value))}: must be a whole number. Pass one, as 3.")


def number(option: str, value: Any) -> float:
    """A number of any kind, or its text; whether inf and NaN are right is the option's business."""
    value = _scalar(value, float)
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise UsageError(f"{option}: is past 1.8e308, the largest number. Pass a smaller one.") from None
    raise UsageError(f"{option} {plain(repr(value))}: must be a number. Pass one, as 0.5.")


def extent(option: str, value: Any) -> float:
    """A number of any kind, or its text; an int where it is whole."""
    found = number(option, value)
    return int(found) if found % 1 == 0 else found


def switch(option: str, value: Any) -> bool:
    """True or False, NumPy's, too. The error calls it as Python does: on the command line a switch has no value."""
    if str(value) in ("True", "False") and not isinstance(value, str):
        return bool(value)
    keyword = option.removeprefix("--").replace("-", "_")
    raise UsageError(f"{keyword} {plain(repr(value))}: must be True or False. Pass one of them.")


def execution(option: str, value: Any) -> str:
    """How values become visible: "sync" or "async"."""
    if value in ("sync", "async"):
        return str(value)
    raise UsageError(f"{option} {plain(repr(value))}: must be sync or async. Usual is sync.")


def _scalar(value: Any, read: Callable[[str], float]) -> Any:
    """Text as the number that it is, an array of no dimension as its element; anything else stays."""
    if isinstance(value, str):
        try:
            return read(value)
        except ValueError:
            return value
    if isinstance(value, Decimal):
        return float(value) if value % 1 else int(value)
    return value.item() if getattr(value, "shape", None) == () else value
