"""Whether a program's messages may be combined straight into the values that others still read.

Such a run relaxes in place: a vertex that is active and improves sends its newest value at once. It converges sooner,
but how far a value comes in one superstep then depends on devices, chunks and threads. A run is synchronous instead
(after k supersteps a value rests on what lies within k edges) wherever the difference could show: by a limit
of supersteps, by `halt`, by totals, by `g.superstep`, or by values that depend on the order of messages.

A program whose active vertices are all `done` (breadth-first search) relaxes in place whatever is asked: no message
changes a vertex that sends, so every superstep is a synchronous one.
"""

from __future__ import annotations

from typing import Any

from gstream.language.python_printer import Emitter
from gstream.language.scalar_types import UNSIGNED
from gstream.language.typed_tree import Assign, Expr, Return, Statement

CONSTANT, RISING, UNKNOWN = range(3)  # what an expression does as the sender's value grows; RISING: never falls
MONOTONE_MATH = ("floor", "ceil", "trunc", "sqrt", "exp")


def is_in_place(program: Any, emitter: Emitter, limited: bool = False, below_zero: bool = False) -> bool:
    """Whether a run relaxes in place. limited: the caller limits supersteps, or looks at values between them.
    below_zero: weights may be negative."""
    if not program.combine.idempotent or "apply" in program.methods or program.totals or program.value.length:
        return False
    return keeps_pace(program, emitter) or not limited and _nobody_can_tell(program, emitter, below_zero)


def keeps_pace(program: Any, emitter: Emitter) -> bool:
    """Whether supersteps in place are synchronous ones: `done` says of every value but the identity that no message
    changes it."""
    if not program.combine.idempotent or "done" not in program.methods:
        return False
    body = emitter.lowered["done"].body
    test = body[0].value if len(body) == 1 and isinstance(body[0], Return) else None
    if test is None or test.op != "compare":
        return False
    left, right = test.args
    apart = {"MIN": ("!=", "<"), "MAX": ("!=", ">"), "OR": ("!=",)}[program.combine.name]
    return _is_value(left, "v") and test.data in apart and right.op == "const" and right.data == program.identity()


def _nobody_can_tell(program: Any, emitter: Emitter, below_zero: bool) -> bool:
    """Whether the values at the end are the same in any order, and no method knows of supersteps."""
    later = [name for name in program.methods if name != "start"]
    if "halt" in program.methods or ("g", "superstep") in emitter.reads(*later):
        return False
    return _Sending(program, below_zero).is_monotone(emitter.lowered["send"].body)


class _Sending:
    """Looks through the text of `send` of a program whose weights are none `below_zero`, or may be."""

    def __init__(self, program: Any, below_zero: bool) -> None:
        self._below_zero, self._known = below_zero, dict[str, Expr]()  # values of local names
        self._sets, self._counts = program.combine.name == "OR", program.combine.name == "MAX"
        self._unsigned = program.value.name in UNSIGNED

    def is_monotone(self, body: list[Statement]) -> bool:
        """Whether a better value never sends a worse message, as far as the text shows. Only then does every order of
        messages end at the same values: a value passed over for a better one would have sent nothing better. Bits of OR
        are sets."""
        for statement in body:
            if isinstance(statement, Assign):
                self._known[statement.name] = statement.value
            elif isinstance(statement, Return):
                wraps = self._unsigned and self._may_be_negative(statement.value)
                return self._trend(statement.value) != UNKNOWN and not wraps
            else:
                return False
        return False

    def _trend(self, value: Expr) -> int:
        """CONSTANT, RISING or UNKNOWN."""
        if _is_value(value, "u"):
            return RISING
        if value.op == "local":
            return self._trend(self._known[value.data])
        trends = [self._trend(side) for side in value.args]
        if all(trend == CONSTANT for trend in trends):
            return CONSTANT
        if UNKNOWN in trends:
            return UNKNOWN
        if value.op == "if":
            return RISING if trends[0] == CONSTANT else UNKNOWN
        if self._sets:
            return UNKNOWN
        if value.op in ("min", "max"):
            return RISING
        if value.op == "math":
            return RISING if value.data[0] in MONOTONE_MATH else UNKNOWN
        return self._trend_of_arithmetic(value, trends) if value.op == "arithmetic" else UNKNOWN

    def _trend_of_arithmetic(self, value: Expr, trends: list[int]) -> int:
        left, right = value.args
        if value.data == "+" or value.data == "-" and trends[1] == CONSTANT:
            return RISING
        if value.data == "*" and CONSTANT in trends:
            return RISING if not self._may_be_negative(left if trends[0] == CONSTANT else right) else UNKNOWN
        divisor = value.data in ("/", "//") and right.op == "const" and right.data > 0
        return RISING if divisor else UNKNOWN

    def _may_be_negative(self, value: Expr) -> bool:
        """Whether a number may be below 0, and so become a large unsigned message. Not a MAX that counts down by 1: it
        ends at 0, its identity, which sends nothing."""
        if value.op == "const":
            return bool(value.data < 0)
        if value.op == "local":
            return self._may_be_negative(self._known[value.data])
        if value.op == "field" and value.data == ("e", "weight"):
            return self._below_zero
        if value.op in ("field", "parameter"):
            return value.type not in (*UNSIGNED, "n64", "bool")
        if value.op == "arithmetic" and value.data == "-":
            left, right = value.args
            return not (self._counts and right.op == "const" and right.data == 1 and _is_value(left, "u"))
        if value.op == "max":
            return all(map(self._may_be_negative, value.args))
        if value.op in ("arithmetic", "min", "if"):
            return any(map(self._may_be_negative, value.args[value.op == "if" :]))
        return value.op not in ("compare", "and", "or", "not", "member", "abs")


def _is_value(value: Expr, owner: str) -> bool:
    return value.op == "field" and value.data == (owner, "value")
