"""Whether a vertex whose value is 0 sends 0, as far as the text of `send` shows.

Then the first superstep of a SUM program need sum only the lists of vertices that others' first values reach: the rest
got 0 (gstream.engine.notify_pull). Weights are finite, and a sender has an out-edge, so its degree is at least 1.
"""

from __future__ import annotations

import math
from typing import Any

from gstream.language.python_printer import Emitter
from gstream.language.typed_tree import Expr, Return


def sends_zero(program: Any, emitter: Emitter) -> bool:
    """Of a program (an instance: parameters count by their values)."""
    body = emitter.lowered["send"].body
    return len(body) == 1 and isinstance(body[0], Return) and _is_zero(body[0].value, program)


def _is_zero(value: Expr, program: Any) -> bool:
    if value.op == "const":
        return bool(value.data == 0)
    if value.op == "field":
        return bool(value.data == ("u", "value"))
    if value.op == "negate":
        return _is_zero(value.args[0], program)
    if value.op != "arithmetic":
        return False
    left, right = value.args
    if value.data in ("+", "-"):
        return _is_zero(left, program) and _is_zero(right, program)
    if value.data == "*":
        return any(
            _is_zero(one, program) and _is_finite(other, program) for one, other in ((left, right), (right, left))
        )
    return value.data == "/" and _is_zero(left, program) and _is_positive(right)


def _is_finite(value: Expr, program: Any) -> bool:
    if value.op == "const":
        return math.isfinite(value.data)
    if value.op == "parameter":
        return math.isfinite(getattr(program, value.data))
    return value.op == "field"


def _is_positive(value: Expr) -> bool:
    """Whether it is above 0, and finite."""
    if value.op == "const":
        return math.isfinite(value.data) and value.data > 0
    if value.op == "arithmetic" and value.data == "+":
        return all(map(_is_positive, value.args))
    return value.op == "field" and value.data == ("u", "degree")
