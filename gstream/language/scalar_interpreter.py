"""The scalar functions of a program run by plain Python on NumPy scalars, so that integers wrap and floats round as
declared. The host calls `halt` so; tests compare what is compiled with it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from gstream.language.python_printer import Emitter
from gstream.language.scalar_types import NUMPY


class _Math:
    """math.* on NumPy scalars: no exceptions, float32 stays float32."""

    inf, nan = math.inf, math.nan
    _NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "pow": "power"}
    _NUMPY |= {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}

    def __getattr__(self, name: str) -> Any:
        if hasattr(np, self._NUMPY.get(name, name)):
            return getattr(np, self._NUMPY.get(name, name))
        function = getattr(math, name)  # erf, erfc, gamma, lgamma

        def guarded(x: Any) -> Any:
            try:
                return function(x)
            except (ValueError, OverflowError):
                return math.inf if name != "gamma" or x > 0 else math.nan

        return guarded


def _saturate(kind: str) -> Any:
    limits = np.iinfo(NUMPY[kind])

    def saturate(x: Any) -> Any:
        if x != x:
            return NUMPY[kind].type(0)
        return NUMPY[kind].type(max(limits.min, min(limits.max, int(x) if math.isfinite(x) else x)))

    return saturate


def _wrap(kind: str) -> Any:
    def wrap(x: Any) -> Any:
        return NUMPY[kind].type(int(x) & limits if kind.startswith("u") else np.int64(x).astype(NUMPY[kind]))

    limits = int(np.iinfo(NUMPY[kind]).max)
    return wrap


def interpreted(emitter: Emitter, methods: Sequence[str]) -> SimpleNamespace:
    """The named methods of the emitter's Program class as Python functions of NumPy scalars."""
    names: dict[str, Any] = {name: dtype.type for name, dtype in NUMPY.items()}
    for kind in ("u8", "u32", "u64", "i32", "i64"):
        names |= {f"saturate_{kind}": _saturate(kind), f"wrap_{kind}": _wrap(kind)}
    names |= {"math": _Math(), "np": np, "min2": lambda a, b: b if b < a else a, "max2": lambda a, b: b if b > a else a}
    names |= {"wrap_add": operator.add, "wrap_sub": operator.sub, "wrap_mul": operator.mul}
    names["int_power"] = lambda x, n: x**n
    names["is_member"] = lambda members, first, end, v: v in members[first:end]
    for name in methods:
        exec(emitter.method(name), names)
    return SimpleNamespace(**{name: names.get(name, names.get(f"total_{name}")) for name in methods})
