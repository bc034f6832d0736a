"""Typed trees printed as CUDA C++: the same trees as gstream.language.python_printer prints for Numba, with the same
meaning bit for bit.

Python's and Numba's rules that C++ has not (wrapping integers, n // 0 == 0, floors towards minus infinity, exact
comparisons of mixed signs, saturating conversions) are the functions of cuda/scalars.cuh; what C++ does alike is
printed as operators. Names of users get a prefix (x_ local, p_ parameter, t_ total, m_ stretch of members), so that
none is a C++ keyword.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from gstream.language.python_printer import FIXED_INTS, TRUTHS, Emitter, representation
from gstream.language.scalar_types import INTEGERS, carrier
from gstream.language.typed_tree import MATH_TO_BOOL, MATH_TO_INTEGER, Assign, Expr, If, Return, Statement

INLINED = "__host__ __device__ __forceinline__"
OWN = "const f64* own, u64 at"  # `own` is f64[n, own_names], row by row; `at` the vertex's row
PARAMETERS = {
    "start": f"i64 v_id, i64 v_degree, i64 v_in_degree, {OWN}, const u64* members, const Context& ctx",
    "send": "i64 u_id, Value u_value, i64 u_degree, Weight e_weight, const Context& ctx",
    "apply": f"i64 v_id, Value v_value, i64 v_degree, i64 v_in_degree, Got got, {OWN}, const Context& ctx",
    "done": "i64 v_id, Value v_value, const Context& ctx",
    "halt": "const Context& ctx",
}
TOTAL_PARAMETERS = f"i64 v_id, Value v_value, Value v_before, i64 v_degree, i64 v_in_degree, {OWN}, const Context& ctx"
PARAMETERS["activate"] = TOTAL_PARAMETERS
UNSIGNED = ("u8", "u32", "u64", "bool")
LINE_LENGTH = 120
ROUNDING = {"//": "floor_div", "%": "floor_mod", "**": "power"}
# Comparisons of u64 with a signed type: C++ would read -1 as 2^64 - 1.
MIXED = {
    "<": "less({0}, {1})",
    ">": "less({1}, {0})",
    "<=": "!less({1}, {0})",
    ">=": "!less({0}, {1})",
    "==": "equal({0}, {1})",
    "!=": "!equal({0}, {1})",
}
C_NAMES = {"gamma": "tgamma"}  # math.* whose C function has another name


@lru_cache(maxsize=64)
def cuda_emitter_of(program: Any, weight: str | None) -> CudaEmitter:
    """The CudaEmitter of a Program class, made once for each kind of weight."""
    return CudaEmitter(program, weight)


class CudaEmitter(Emitter):
    """Prints the methods of one Program class as C++ functions for the GPU, or for any C++17 compiler."""

    def context(self) -> str:
        """The struct of g's fields and the parameters: HostCode.ints, then as many of HostCode.floats as there are."""
        lines = [f"    i64 {self.field_name(name)};" for name in self.int_names]
        lines += [f"    f64 {self.field_name(name)};" for name in self.float_names]
        return "\n".join(["struct Context {", *lines, "};", ""])

    def field_name(self, name: str) -> str:
        """The context's member for an entry of int_names or float_names."""
        if name in FIXED_INTS:
            return name
        if "." in name:  # source.first and source.end of a parameter of type Vertices
            return identifier("m_", name.replace(".", "_"))
        return identifier("t_" if name in self.types.totals else "p_", name)

    @staticmethod
    def total_name(name: str) -> str:
        """The function of a total."""
        return identifier("total_", name)

    def listed(self, arguments: str) -> str:
        """Parameters of a method, as PARAMETERS has them; of a program of vectors, as of the class above."""
        if not self.types.value.length or arguments == PARAMETERS["halt"]:
            return arguments
        for kind, name in (("Value", "u_value"), ("Value", "v_value"), ("Value", "v_before"), ("Got", "got")):
            arguments = arguments.replace(f"{kind} {name}", f"const {kind}* {name}")
        return arguments.replace("const Context&", "i64 i, const Context&")

    def method(self, name: str, called: str | None = None) -> str:
        """The function of one method, `called` so; it returns the value type (totals: f64, TRUTHS: bool)."""
        total = name in self.types.totals
        target = "f64" if total else "bool" if name in TRUTHS else self.types.value.name
        full_name = called or (self.total_name(name) if total else name)
        lines = [opening(target, full_name, self.listed(TOTAL_PARAMETERS if total else PARAMETERS[name]))]
        body = self.lowered[name].body
        declared = {item.name: representation(item.type) for item in _assignments(body)}
        lines += [f"    {kind} {identifier('x_', local)};" for local, kind in declared.items()]
        self._block(body, target, 1, lines)
        return "\n".join([*lines, "}", ""])

    def _block(self, body: list[Statement], target: str, depth: int, lines: list[str]) -> None:
        margin = "    " * depth
        for statement in body:
            if isinstance(statement, Return):
                lines.append(f"{margin}return {self._result(statement.value, target)};")
            elif isinstance(statement, Assign):
                text = self._cast(statement.value, statement.type)
                lines.append(f"{margin}{identifier('x_', statement.name)} = {text};")
            elif isinstance(statement, If):
                lines.append(f"{margin}if ({self._text(statement.test)}) {{")
                self._block(statement.body, target, depth + 1, lines)
                if statement.orelse:
                    lines.append(f"{margin}}} else {{")
                    self._block(statement.orelse, target, depth + 1, lines)
                lines.append(f"{margin}}}")

    def _text(self, value: Expr) -> str:
        if value.op == "local":
            return identifier("x_", value.data)
        if value.op in ("and", "or"):
            joint = " && " if value.op == "and" else " || "
            return "(" + joint.join(self._text(side) for side in value.args) + ")"
        if value.op == "not":
            return f"(!{self._text(value.args[0])})"
        return super()._text(value)

    def _operation(self, value: Expr) -> str:
        if value.op == "if":
            test, yes, no = value.args
            return f"({self._text(test)} ? {self._cast(yes, value.type)} : {self._cast(no, value.type)})"
        kind = carrier(value.type)
        if value.op == "arithmetic":
            if value.data not in ROUNDING or (value.data == "**" and kind in ("i64", "u64")):
                return super()._operation(value)
            left, right = (self._cast(side, kind) for side in value.args)
            return f"{ROUNDING[value.data]}({left}, {right})"
        if value.op == "abs" and kind != "u64" and value.type != "n64":
            return f"absolute({self._cast(value.args[0], kind)})"
        return super()._operation(value)

    def _math(self, value: Expr) -> str:
        name, kind = value.data
        arguments = ", ".join(self._cast(argument, carrier(kind)) for argument in value.args)
        if name in MATH_TO_BOOL:
            return f"{name.replace('is', 'is_')}({arguments})"
        called = C_NAMES.get(name, name) + ("f" if carrier(kind) == "f32" else "")
        return f"saturate_i64({called}({arguments}))" if name in MATH_TO_INTEGER else f"{called}({arguments})"

    def _compare(self, value: Expr) -> str:
        left, right = value.args
        if not (left.type in INTEGERS and right.type in INTEGERS):
            return super()._compare(value)
        kinds = representation(left.type), representation(right.type)
        if kinds[0] == kinds[1]:
            return f"({self._text(left)} {value.data} {self._text(right)})"
        if "u64" not in kinds:
            return f"({self._cast(left, 'i64')} {value.data} {self._cast(right, 'i64')})"
        if all(_never_negative(side) for side in (left, right)):
            return f"({self._cast(left, 'u64')} {value.data} {self._cast(right, 'u64')})"
        texts = (self._cast(side, "u64" if side.type == "u64" else "i64") for side in (left, right))
        return "(" + MIXED[value.data].format(*texts) + ")"

    def _int(self, name: str) -> str:
        return f"ctx.{self.field_name(name)}"

    def _float(self, name: str) -> str:
        return f"ctx.{self.field_name(name)}"

    def _field(self, owner: str, name: str) -> str:
        if owner == "v" and name in self.own_names:
            return f"own[at * {len(self.own_names)} + {self.own_names.index(name)}]"
        return super()._field(owner, name)

    @staticmethod
    def _constant(value: Any, kind: str) -> str:
        if isinstance(value, bool):
            return ("true" if value else "false") if kind == "bool" else f"{kind}({int(value)})"
        if isinstance(value, float) and not math.isfinite(value):
            text = "NOT_A_NUMBER" if value != value else "INFINITE"
            return f"{kind}({'-' if value == -math.inf else ''}{text})"
        if isinstance(value, int) and value == -(1 << 63):
            return f"{kind}({value + 1} - 1)"  # C++ has no literal for it
        wide = isinstance(value, int) and value >= 1 << 63
        return f"{kind}({value!r}{'ull' if wide else ''})"


def opening(kind: str, name: str, parameters: str) -> str:
    """The first line of a function, or its first lines where one would be long."""
    lines = [f"{INLINED} {kind} {name}("]
    items = parameters.split(", ")
    for index, item in enumerate(items):
        text = item + (", " if index + 1 < len(items) else ") {")
        if len(lines[-1]) + len(text) > LINE_LENGTH:
            lines.append(" " * 8)
        lines[-1] += text
    return "\n".join(line.rstrip() for line in lines)


def identifier(prefix: str, name: str) -> str:
    """A C++ name for a user's: `prefix`, then the name, other characters than ASCII as their code points."""
    return prefix + "".join(c if c.isascii() else f"_u{ord(c):x}_" for c in name)


def _never_negative(side: Expr) -> bool:
    if side.op == "const" and side.type == "lit":
        return side.data >= 0
    return side.type in (*UNSIGNED, "n64")


def _assignments(body: list[Statement]) -> list[Assign]:
    found: list[Assign] = []
    for statement in body:
        if isinstance(statement, Assign):
            found.append(statement)
        elif isinstance(statement, If):
            found += _assignments(statement.body) + _assignments(statement.orelse)
    return found
