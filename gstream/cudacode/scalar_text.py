"""Scalar Python as CUDA C++: the texts of record kernels and of the helpers that they call, statement by statement.

What a text may be made of: names, numbers, `x.dtype.type(...)`, len, min, max, array elements, calls of helpers and of
gstream.hostcode.intrinsics; arithmetic, comparisons (of pairs, too), and, or, not, conditional expressions; assignments
(of pairs, too), if, while, for over range and over a record, return, continue, break, pass. Anything else is refused.
* Types are C++'s own to deduce: functions are templates, a name has the type of its first assignment and lives in the
  block of it. Operands are widened first (`wide` of cuda/records.cuh), for Numba's integers are 64 bits wide.
* Arrays are cuda/records.cuh's Array: reads are operator[], writes put().
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from gstream.language.scalar_types import type_of_dtype
from gstream.records.declare import Names, is_of_record

BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
COMPARED = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
RECORDS = {"record": "const Stretch& record", "item": "const Item& item"}


class Printer:
    """Prints functions; `names` says what their names stand for."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def constants(self) -> list[str]:
        """The constants that texts name."""
        return [f"constexpr {_kind(value)} {name} = {_number(value)};" for name, value in self.names.constants.items()]

    def helper(self, tree: ast.FunctionDef) -> list[str]:
        """A helper as a template."""
        names = [argument.arg for argument in tree.args.args]
        classes = ", ".join(f"class T{k}" for k in range(len(names)))
        given = ", ".join(f"T{k} {name}" for k, name in enumerate(names))
        head = [f"template <{classes}>", f"__device__ __forceinline__ auto {tree.name}({given}) {{"]
        return [*head, *Body(self, names).block(tree.body, 1), "}", ""]

    def kernel(self, tree: ast.FunctionDef, name: str, body: list[ast.stmt], result: str) -> list[str]:
        """A record kernel's text, or its first test, as a template over its arrays that returns `result`."""
        names = [argument.arg for argument in tree.args.args[1:]]
        classes = ", ".join(f"class T{k}" for k in range(len(names)))
        given = ", ".join([RECORDS[tree.args.args[0].arg], *(f"T{k} {each}" for k, each in enumerate(names))])
        head = [f"template <{classes}>", f"__device__ __forceinline__ {result} {name}({given}) {{"]
        if result == "bool":
            return [*head, *Body(self, names, "false").block(body, 1), "    return true;", "}", ""]
        lines = Body(self, names, "record_edges").block(body, 1)
        return [*head, "    u32 record_edges = 0;", *lines, "    return record_edges;", "}", ""]


def first_test(tree: ast.FunctionDef) -> list[ast.stmt]:
    """The statements up to the first `if ...: return`, if they read nothing of the record but its vertex; else none."""
    for index, statement in enumerate(tree.body):
        known = ("vertex", "shared")
        if any(is_of_record(node) and getattr(node, "attr", "vertex") not in known for node in ast.walk(statement)):
            return []
        if isinstance(statement, ast.If):
            leaves = len(statement.body) == 1 and isinstance(statement.body[0], ast.Return) and not statement.orelse
            return tree.body[: index + 1] if leaves else []
        if not isinstance(statement, ast.Assign):
            return []
    return []


class Body:
    """One function's statements; keeps which names its blocks have declared."""

    def __init__(self, printer: Printer, declared: list[str], result: str = "") -> None:
        """result: what `return` gives in a record kernel."""
        self.printer, self.result, self._blocks, self._temporaries = printer, result, [set(declared)], 0

    def block(self, body: list[ast.stmt], depth: int) -> list[str]:
        """Lines of statements."""
        lines: list[str] = []
        for statement in body:
            lines += [f"{'    ' * depth}{line}" for line in self._statement(statement)]
        return lines

    def _inside(self, head: str, body: list[ast.stmt], *names: str) -> list[str]:
        self._blocks.append(set(names))
        lines = [head, *self.block(body, 1), "}"]
        self._blocks.pop()
        return lines

    def _statement(self, node: ast.stmt) -> list[str]:
        if isinstance(node, ast.Assign):
            return self._assign(node.targets[0], node.value)
        if isinstance(node, ast.AugAssign):
            return self._assign(node.target, ast.BinOp(_load(node.target), node.op, node.value))
        if isinstance(node, ast.If):
            lines = self._inside(f"if ({self._text(node.test)}) {{", node.body)
            return [*lines[:-1], *self._inside("} else {", node.orelse)] if node.orelse else lines
        if isinstance(node, ast.While):
            return self._inside(f"while ({self._text(node.test)}) {{", node.body)
        if isinstance(node, ast.For):
            return self._for(node)
        if isinstance(node, ast.Return):
            value = self.result if node.value is None else self._text(node.value)
            return [f"return {value};"]
        if isinstance(node, ast.Expr) and is_of_record(node.value, "step"):
            return ["record_edges++;"]
        if isinstance(node, ast.Expr):
            return [f"{self._text(node.value)};"]
        if isinstance(node, (ast.Continue, ast.Break)):
            return ["continue;" if isinstance(node, ast.Continue) else "break;"]
        if isinstance(node, ast.Pass):
            return []
        raise refused(node)

    def _for(self, node: ast.For) -> list[str]:
        assert isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call)
        u, arguments = node.target.id, [self._text(argument) for argument in node.iter.args]
        if is_of_record(node.iter):
            head = "for (u32 record_k = 0; record_k < record.count; record_k++) {"
            lines = self._inside(head, node.body, u)
            first = [f"    const u64 {u} = record.neighbour(record_k);", "    record_edges++;"]
            if isinstance(node.iter.func, ast.Attribute) and node.iter.func.attr == "distinct":
                first.append(f"    if (record.repeated(record_k, {u}, {', '.join(arguments)})) continue;")
            return [lines[0], *first, *lines[1:]]
        low, high = ("0", arguments[0]) if len(arguments) == 1 else arguments
        return self._inside(f"for (u64 {u} = {low}; {u} < u64({high}); {u}++) {{", node.body, u)

    def _assign(self, target: ast.expr, value: ast.expr) -> list[str]:
        if not isinstance(target, ast.Tuple):
            if isinstance(value, ast.Attribute) and value.attr == "type":
                assert isinstance(target, ast.Name)
                return [f"typedef {self._type(value)} {target.id};"]
            return [self._put(target, self._text(value))]
        if isinstance(value, ast.IfExp):
            assert isinstance(value.body, ast.Tuple) and isinstance(value.orelse, ast.Tuple)
            pairs = zip(value.body.elts, value.orelse.elts, strict=True)
            sides = [self._text(ast.IfExp(value.test, yes, no)) for yes, no in pairs]
        elif isinstance(value, ast.Tuple):
            sides = [self._text(side) for side in value.elts]
        else:
            self._temporaries += 1
            whole = f"both_{self._temporaries}"
            lines = [f"const auto {whole} = {self._text(value)};"]
            first, second = target.elts
            return [*lines, self._put(first, f"{whole}.first"), self._put(second, f"{whole}.second")]
        self._temporaries += 1
        kept = [f"side_{self._temporaries}_{k}" for k in range(len(sides))]
        lines = [f"auto {name} = {side};" for name, side in zip(kept, sides, strict=True)]
        return lines + [self._put(each, name) for each, name in zip(target.elts, kept, strict=True)]

    def _put(self, target: ast.expr, text: str) -> str:
        if isinstance(target, ast.Subscript):
            return f"{self._text(target.value)}.put({self._text(target.slice)}, {text});"
        assert isinstance(target, ast.Name)
        if any(target.id in block for block in self._blocks):
            return f"{target.id} = {text};"
        self._blocks[-1].add(target.id)
        return f"auto {target.id} = {text};"

    def _text(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant):
            return _number(node.value)
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
            left, right = (f"wide({self._text(side)})" for side in (node.left, node.right))
            if isinstance(node.op, ast.Div):
                return f"divided({left}, {right})"
            return f"({left} {BINARY[type(node.op)]} {right})"
        if isinstance(node, ast.UnaryOp):
            inner = self._text(node.operand)
            if isinstance(node.op, ast.Invert):
                return f"decltype({inner})(~{inner})"
            return f"!({inner})" if isinstance(node.op, ast.Not) else f"(-wide({inner}))"
        if isinstance(node, ast.BoolOp):
            joint = " && " if isinstance(node.op, ast.And) else " || "
            return "(" + joint.join(self._text(value) for value in node.values) + ")"
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._compare(node.left, COMPARED[type(node.ops[0])], node.comparators[0])
        if isinstance(node, ast.IfExp):
            yes, no = (f"wide({self._text(side)})" for side in (node.body, node.orelse))
            return f"({self._text(node.test)} ? {yes} : {no})"
        if isinstance(node, ast.Subscript):
            inner = self._text(node.value)
            if isinstance(node.value, ast.Call):  # of a pair
                return f"{inner}.{'first' if self._text(node.slice) == '0' else 'second'}"
            return f"{inner}[{self._text(node.slice)}]"
        if isinstance(node, ast.Attribute) and is_of_record(node):
            return ast.unparse(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        raise refused(node)

    def _compare(self, left: ast.expr, operator: str, right: ast.expr) -> str:
        if isinstance(left, ast.Tuple) and isinstance(right, ast.Tuple):
            (a, b), (c, d) = ([self._text(side) for side in pair.elts] for pair in (left, right))
            assert operator == "<", "pairs are compared by < only"
            return f"({a} < {c} || ({a} == {c} && {b} < {d}))"
        return f"(wide({self._text(left)}) {operator} wide({self._text(right)}))"

    def _call(self, node: ast.Call) -> str:
        arguments = [self._text(argument) for argument in node.args]
        if is_of_record(node):
            assert isinstance(node.func, ast.Attribute)
            return f"{ast.unparse(node.func)}({', '.join(arguments) if node.func.attr != 'weight' else 'record_k'})"
        if isinstance(node.func, ast.Attribute):
            return f"{self._type(node.func)}({arguments[0]})"
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        if name == "len":
            return f"{arguments[0]}.count"
        if name in ("min", "max"):
            return f"{name}2({', '.join(f'wide({argument})' for argument in arguments)})"
        if name in self.printer.names.types:
            return f"{type_of_dtype(self.printer.names.types[name])}({arguments[0]})"
        return f"{name}({', '.join(arguments)})"

    def _type(self, node: ast.Attribute) -> str:
        """`x.dtype.type`: the type of an array's elements."""
        if not (node.attr == "type" and isinstance(node.value, ast.Attribute) and node.value.attr == "dtype"):
            raise refused(node)
        return f"typename decltype({self._text(node.value.value)})::type"


def refused(node: ast.AST) -> TypeError:
    """The error of a text that has no C++ twin."""
    return TypeError(f"no C++ is made of {ast.unparse(node)!r} in a record kernel")


def _load(target: ast.expr) -> Any:
    return ast.parse(ast.unparse(target), mode="eval").body


def _kind(value: Any) -> str:
    if isinstance(value, np.generic):
        return type_of_dtype(value.dtype)
    return "bool" if isinstance(value, bool) else "f64" if isinstance(value, float) else "i64"


def _number(value: Any) -> str:
    if isinstance(value, np.generic):
        return f"{type_of_dtype(value.dtype)}({_number(value.item())})"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    return f"{value}{'ull' if value >= 1 << 31 else ''}"
