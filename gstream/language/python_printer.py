"""Typed trees printed as Python functions of scalars: compiled by Numba for the host, run as they are by the oracle.

Every operand is cast to the type of its operation, so that Numba's, NumPy's and C++'s own promotion never decides.
gstream.cudacode.cuda_printer prints the same trees as C++: it overrides what differs.
The names that the text uses (i64, f32, math, min2, saturate_u32, ...) come from gstream.hostcode.casts on the host and
from gstream.language.scalar_interpreter in the oracle.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from gstream.language.lowering import lower
from gstream.language.scalar_types import INTEGERS, NUMPY, carrier, meet
from gstream.language.typed_tree import (
    MATH_TO_BOOL,
    MATH_TO_INTEGER,
    Assign,
    Expr,
    If,
    Lowered,
    Return,
    Statement,
    Types,
    types_of,
)

ARGUMENTS = {
    "start": "v_id, v_degree, v_in_degree, own, at, members, ctx",
    "send": "u_id, u_value, u_degree, e_weight, ctx",
    "apply": "v_id, v_value, v_degree, v_in_degree, got, own, at, ctx",
    "done": "v_id, v_value, ctx",
    "halt": "ctx",
    "activate": "v_id, v_value, v_before, v_degree, v_in_degree, own, at, ctx",
}
TOTAL_ARGUMENTS = ARGUMENTS["activate"]
TRUTHS = ("done", "halt", "activate")  # methods that return a bool
# Operators of 64-bit signed integers that wrap: C++ gives overflow no meaning, and Numba takes it for impossible.
WRAPPING = {"+": "wrap_add", "-": "wrap_sub", "*": "wrap_mul"}
FIXED_INTS = ("vertices", "edges", "superstep")


@lru_cache(maxsize=64)
def emitter_of(program: Any, weight: str | None) -> Emitter:
    """The Emitter of a Program class, made once for each kind of weight."""
    return Emitter(program, weight)


class Emitter:
    """Prints the methods of one Program class for one kind of graph."""

    def __init__(self, program: Any, weight: str | None) -> None:
        self.program = program
        self.types: Types = types_of(program, weight)
        self.lowered: dict[str, Lowered] = {m.name: lower(m, self.types) for m in program.methods.values()}
        kinds = self.types.parameters
        self.int_names = list(FIXED_INTS)
        for name, kind in kinds.items():
            if kind == "Vertices":
                self.int_names += [f"{name}.first", f"{name}.end"]  # stretch of `members`, ascending store IDs
            elif kind not in ("float", "f32", "f64", "PerVertex"):
                self.int_names.append(name)
        self.float_names = [*self.types.totals, *(n for n, k in kinds.items() if k in ("float", "f32", "f64"))]
        self.own_names = [name for name, kind in kinds.items() if kind == "PerVertex"]

    def reads(self, *methods: str) -> set[tuple[str, str]]:
        """Fields that the methods (default: all) read, such as ("u", "degree")."""
        chosen = methods or tuple(self.lowered)
        return set().union(*(self.lowered[name].reads for name in chosen if name in self.lowered))

    def context(self) -> str:
        """The function that loads the context arrays into a tuple of scalars, once a launch."""
        items = [f"ints[{i}]" for i in range(len(self.int_names))]
        items += [f"floats[{i}]" for i in range(len(self.float_names))]
        return f"def context(ints, floats):\n    return ({', '.join(items)})\n"

    def method(self, name: str, called: str | None = None) -> str:
        """The function of one method, `called` so; it returns the value type (totals: f64, TRUTHS: bool)."""
        total = name in self.types.totals
        arguments = TOTAL_ARGUMENTS if total else ARGUMENTS[name]
        target = "f64" if total else "bool" if name in TRUTHS else self.types.value.name
        lines = [f"def {called or ('total_' if total else '') + name}({self.listed(arguments)}):"]
        self._block(self.lowered[name].body, target, 1, lines)
        return "\n".join(lines) + "\n"

    def listed(self, arguments: str) -> str:
        """Arguments of a method, as ARGUMENTS has them. Of a program of vectors, values and what a vertex got are rows,
        and i is the element."""
        vector = self.types.value.length > 0 and arguments != ARGUMENTS["halt"]
        return arguments.replace("ctx", "i, ctx") if vector else arguments

    def _block(self, body: list[Statement], target: str, depth: int, lines: list[str]) -> None:
        margin = "    " * depth
        for statement in body:
            if isinstance(statement, Return):
                lines.append(f"{margin}return {self._result(statement.value, target)}")
            elif isinstance(statement, Assign):
                lines.append(f"{margin}x_{statement.name} = {self._cast(statement.value, statement.type)}")
            elif isinstance(statement, If):
                lines.append(f"{margin}if {self._text(statement.test)}:")
                self._block(statement.body, target, depth + 1, lines)
                if statement.orelse:
                    lines.append(f"{margin}else:")
                    self._block(statement.orelse, target, depth + 1, lines)
        if not body:
            lines.append(f"{margin}pass")

    def _result(self, value: Expr, target: str) -> str:
        """`value` as what the method returns: integers wrap, floats that become integers are cut off and saturate."""
        kind = representation(value.type)
        if target == "bool":
            return self._text(value) if kind == "bool" else f"({self._text(value)} != 0)"
        if kind == target:
            return self._text(value)
        if value.op == "const" and value.type == "lit" and target not in ("f32", "f64"):
            bits = NUMPY[target].itemsize * 8
            wrapped = value.data & ((1 << bits) - 1)
            signed = target.startswith("i") and wrapped >> (bits - 1)
            return self._constant(wrapped - (1 << bits) if signed else wrapped, target)
        if target in ("f32", "f64"):
            return self._cast(value, target)
        if kind in ("f32", "f64"):
            return f"saturate_{target}({self._text(value)})"
        return f"wrap_{target}({self._cast(value, carrier(kind))})"

    def _cast(self, value: Expr, kind: str) -> str:
        """The text of `value` in the representation of `kind`."""
        wanted = representation(kind)
        if value.op == "const":
            wraps = wanted == "u64" and value.type == "lit" and value.data < 0
            return self._constant(value.data + (1 << 64) if wraps else value.data, wanted)
        text = self._text(value)
        return text if representation(value.type) == wanted else f"{wanted}({text})"

    def _text(self, value: Expr) -> str:
        if value.op == "const":
            return self._constant(value.data, representation(value.type))
        if value.op == "got":
            return "got"
        if value.op == "local":
            return f"x_{value.data}"
        if value.op == "parameter":
            return self._parameter(value)
        if value.op == "field":
            return self._field(*value.data)
        if value.op == "lane":
            return "i"
        if value.op == "element":
            owner, name = value.data
            row = "got" if owner == "got" else self._field(owner, name)
            return f"{row}[{self._cast(value.args[0], 'u64')}]"
        if value.op == "member":
            return f"is_member(members, {self._int(value.data + '.first')}, {self._int(value.data + '.end')}, v_id)"
        if value.op == "compare":
            return self._compare(value)
        if value.op in ("and", "or"):
            return "(" + f" {value.op} ".join(self._text(side) for side in value.args) + ")"
        if value.op == "not":
            return f"(not {self._text(value.args[0])})"
        return self._operation(value)

    def _operation(self, value: Expr) -> str:
        if value.op == "if":
            test, yes, no = value.args
            return f"({self._cast(yes, value.type)} if {self._text(test)} else {self._cast(no, value.type)})"
        if value.op in ("min", "max"):
            left, right = (self._cast(side, value.type) for side in value.args)
            return f"{value.op}2({left}, {right})"
        kind = carrier(value.type)
        if value.op == "arithmetic" and value.data == "**" and kind in ("i64", "u64"):
            return f"int_power({self._cast(value.args[0], kind)}, {value.args[1].data})"
        if value.op == "arithmetic":
            left, right = (self._cast(side, kind) for side in value.args)
            if kind == "i64" and value.data in WRAPPING:
                return f"{WRAPPING[value.data]}({left}, {right})"
            return f"({left} {value.data} {right})"
        if value.op == "negate" and kind == "i64":
            return f"wrap_sub(i64(0), {self._cast(value.args[0], kind)})"
        if value.op == "negate":
            return f"({'u64(0) ' if kind == 'u64' else ''}-{self._cast(value.args[0], kind)})"
        if value.op == "abs":
            text = self._cast(value.args[0], kind)
            return text if kind == "u64" or value.type == "n64" else f"abs({text})"
        return self._math(value)

    def _math(self, value: Expr) -> str:
        name, kind = value.data
        arguments = ", ".join(self._cast(argument, carrier(kind)) for argument in value.args)
        if name in MATH_TO_INTEGER:
            return f"saturate_i64({arguments})" if name == "trunc" else f"saturate_i64(np.{name}({arguments}))"
        module = "np" if name == "fmod" else "math"  # Numba's math has no fmod
        return f"math.{name}({arguments})" if name in MATH_TO_BOOL else f"{carrier(kind)}({module}.{name}({arguments}))"

    def _compare(self, value: Expr) -> str:
        left, right = value.args
        if left.type in INTEGERS and right.type in INTEGERS:
            return f"({self._text(left)} {value.data} {self._text(right)})"  # exact for mixed signs too
        kind = representation(meet(left.type, right.type))
        return f"({self._cast(left, kind)} {value.data} {self._cast(right, kind)})"

    def _int(self, name: str) -> str:
        return f"ctx[{self.int_names.index(name)}]"

    def _float(self, name: str) -> str:
        return f"ctx[{len(self.int_names) + self.float_names.index(name)}]"

    def _parameter(self, value: Expr) -> str:
        if value.data in self.float_names:
            return self._float(value.data) if value.type != "f32" else f"f32({self._float(value.data)})"
        text = self._int(value.data)
        if value.type == "bool":
            return f"({text} != 0)"
        return text if value.type in ("i64", "n64") else f"wrap_{value.type}({text})"

    def _field(self, owner: str, name: str) -> str:
        if owner == "g":
            return self._float(name) if name in self.float_names else self._int(name)
        if owner == "v" and name in self.own_names:
            return f"own[at, {self.own_names.index(name)}]"
        if owner == "e" and self.types.weight == "f32" and self.types.value.name != "f32":
            return "f64(e_weight)"
        return f"{owner}_{name}"

    @staticmethod
    def _constant(value: Any, kind: str) -> str:
        """A number as the text of a scalar of `kind`."""
        if isinstance(value, bool):
            return repr(value) if kind == "bool" else f"{kind}({int(value)})"
        if isinstance(value, float):
            text = repr(value) if math.isfinite(value) else f"math.{'nan' if value != value else 'inf'}"
            return f"{kind}({'-' if value == -math.inf else ''}{text})"
        return f"{kind}({value})"


def representation(kind: str) -> str:
    """How a value of `kind` is held: n64 as i64, float constants and parameters as f64."""
    return {"n64": "i64", "weak": "f64"}.get(kind, carrier(kind) if kind == "lit" else kind)
