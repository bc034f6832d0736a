"""Typed trees of methods: what gstream.language.lowering makes of a program's text and what every back end prints."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from gstream.language.method_text import Method
from gstream.language.scalar_types import VALUE_TYPES, ScalarType

# math.* that CUDA has too: name -> number of arguments.
MATH = dict.fromkeys(
    ("sqrt", "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh")
    + ("cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "gamma", "lgamma", "fabs"),
    1,
) | {"atan2": 2, "hypot": 2, "pow": 2, "copysign": 2, "fmod": 2}
MATH_TO_INTEGER = ("floor", "ceil", "trunc")
MATH_TO_BOOL = ("isnan", "isinf", "isfinite")
MATH_CONSTANTS = {"pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf, "nan": math.nan}
LARGEST_POWER = 64  # integer ** constant up to here is done in integers
# What each kind of parameter is inside a method; Vertices and PerVertex are no scalars.
SCALAR_OF = {"int": "i64", "float": "weak", "bool": "bool", "Vertex": "n64"} | {k.name: k.name for k in VALUE_TYPES}
GLOBALS = ("vertices", "edges", "superstep")


@dataclass(frozen=True)
class Expr:
    """An operation of type `type` (gstream.language.scalar_types) on `args`. data: its constant, name or operator."""

    op: str
    type: str
    args: tuple[Expr, ...] = ()
    data: Any = None


@dataclass(frozen=True)
class Assign:
    name: str
    type: str
    value: Expr


@dataclass(frozen=True)
class If:
    test: Expr
    body: list[Statement]
    orelse: list[Statement]


@dataclass(frozen=True)
class Return:
    value: Expr


Statement = Assign | If | Return


@dataclass(frozen=True)
class Types:
    """What a method's names stand for: value, got and weight types, kinds of parameters, names of totals."""

    value: ScalarType
    got: str
    weight: str | None
    parameters: dict[str, str]
    totals: tuple[str, ...]


@dataclass
class Lowered:
    """A method in typed form, with what it reads: ("v", "degree"), ("e", "weight"), ("g", "superstep"), ..."""

    method: Method
    body: list[Statement]
    reads: set[tuple[str, str]] = field(default_factory=set)


def types_of(program: Any, weight: str | None) -> Types:
    """The types of a Program class on a graph whose weights have scalar type `weight` (None: no weights)."""
    value = program.value
    got = value.name  # of one element
    if not program.combine.idempotent:
        got = "f64" if value.is_float else ("i64" if value.name.startswith("i") else "u64")
    kinds = {name: parameter.kind for name, parameter in program.parameters.items()}
    return Types(value, got, weight, kinds, program.totals)
