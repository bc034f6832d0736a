"""The accepted subset of Python: a method's syntax tree becomes a typed tree, or is refused with line and remedy.

Back ends print the typed tree: gstream.language.python_printer as Python for Numba, gstream.cudacode as CUDA C++. Types
and their promotion are in gstream.language.scalar_types.
"""

from __future__ import annotations

import ast
from typing import Any

from gstream.language.elements import element
from gstream.language.method_text import Method, ProgramError, called_name, example_of, signature_of
from gstream.language.scalar_types import INTEGERS, arithmetic, join, meet
from gstream.language.typed_tree import (
    GLOBALS,
    LARGEST_POWER,
    MATH,
    MATH_CONSTANTS,
    MATH_TO_BOOL,
    MATH_TO_INTEGER,
    SCALAR_OF,
    Assign,
    Expr,
    If,
    Lowered,
    Return,
    Statement,
    Types,
    types_of,
)

ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**"}
COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
SUBSET = (
    "A method is arithmetic, comparisons, and/or/not, `x if c else y`, local names, `if`, min, max, abs, math.*, "
    "parameters and the fields of its arguments"
)


def check_program(program: Any) -> None:
    """Refuse a Program class whose methods are outside the subset (ProgramError)."""
    for taken in set(program.totals) & {*GLOBALS, *program.parameters}:
        method = program.methods[taken]
        raise ProgramError(f"{method.where(method.tree)}: total {taken} has a name that is taken. Rename it.")
    types = types_of(program, "f32")
    for method in program.methods.values():
        lower(method, types)


def lower(method: Method, types: Types) -> Lowered:
    """Check `method` and give it types. ProgramError names the line, the offending text, the limit and a remedy."""
    local_types: dict[str, str] = {}
    for _ in range(8):  # types only grow; the lattice is 5 deep
        lowering = _Lowering(method, types, dict(local_types))
        lowered = lowering.run()
        if lowering.local_types == local_types:
            return lowered
        local_types = lowering.local_types
    raise AssertionError(f"types of {method.name} do not settle")


class _Lowering:
    def __init__(self, method: Method, types: Types, local_types: dict[str, str]) -> None:
        self.method, self.types, self.local_types = method, types, local_types
        self.reads: set[tuple[str, str]] = set()
        self.total = method.name in types.totals
        self.roles = self._roles()

    def run(self) -> Lowered:
        body, ends, _ = self.block(self.method.tree.body, set(), True)
        if not ends:
            self.method.refuse(self.method.tree, "can end without a value", "Return a number on every path.")
        return Lowered(self.method, body, self.reads)

    def _roles(self) -> dict[str, str]:
        wanted = signature_of(self.method.name, self.types.value.length > 0)
        signature = self.method.tree.args
        given = self.method.arguments
        extra = [signature.vararg, signature.kwarg, *signature.kwonlyargs, *signature.posonlyargs, *signature.defaults]
        if len(given) != len(wanted) or any(extra):
            limit = f"has arguments ({ast.unparse(signature)})"
            self.method.refuse(self.method.tree, limit, f"Write `def {self.method.name}({', '.join(wanted)})`.")
        return dict(zip(given, wanted, strict=True))

    # -- statements ---------------------------------------------------------------------------------------------------

    def block(
        self, nodes: list[ast.stmt], known: set[str], top: bool = False
    ) -> tuple[list[Statement], bool, set[str]]:
        """Statements, whether they always return, and the names that are known after them."""
        out: list[Statement] = []
        for index, node in enumerate(nodes):
            if top and index == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue  # the docstring
            if isinstance(node, ast.Return) and node.value is not None:
                out.append(Return(self.expression(node.value, known)))
                ends = True
            elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                out.append(self.assignment(node, known))
                ends = False
            elif isinstance(node, ast.If):
                statement, ends, known = self.branch(node, known)
                out.append(statement)
            elif isinstance(node, ast.Pass):
                ends = False
            else:
                self.refuse_statement(node)
            if ends and index + 1 < len(nodes):
                self.method.refuse(nodes[index + 1], "is never reached", "Delete it.")
            if ends:
                return out, True, known
        return out, False, known

    def branch(self, node: ast.If, known: set[str]) -> tuple[If, bool, set[str]]:
        test = self.truth(node.test, known)
        body, body_ends, body_known = self.block(node.body, set(known))
        orelse, else_ends, else_known = self.block(node.orelse, set(known))
        if body_ends:
            after = else_known
        else:
            after = body_known if else_ends else body_known & else_known
        return If(test, body, orelse), body_ends and else_ends, after

    def assignment(self, node: ast.Assign | ast.AugAssign | ast.AnnAssign, known: set[str]) -> Assign:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if (
            (isinstance(node, ast.Assign) and len(node.targets) > 1)
            or not isinstance(target, ast.Name)
            or node.value is None
        ):
            self.method.refuse(node, "assigns to something else than one local name", "Return the new value instead.")
        if target.id in self.roles or target.id in ("INF", "math", "min", "max", "abs"):
            self.method.refuse(node, f"assigns to {target.id}, which has a meaning already", "Use another name.")
        if isinstance(node, ast.AugAssign):
            current = ast.copy_location(ast.Name(target.id, ast.Load()), target)
            value = self.binary(node, node.op, self.expression(current, known), self.expression(node.value, known))
        else:
            value = self.expression(node.value, known)
        kind = ("i64" if value.data < 0 else "n64") if value.op == "const" and value.type == "lit" else value.type
        before = self.local_types.get(target.id)
        self.local_types[target.id] = kind if before is None else join(before, kind)
        known.add(target.id)
        return Assign(target.id, self.local_types[target.id], value)

    def refuse_statement(self, node: ast.stmt) -> None:
        remedy = SUBSET + "."
        if isinstance(node, (ast.For, ast.While)):
            remedy = "The driver loops over vertices and edges: write what happens at one of them."
        elif isinstance(node, ast.Return):
            remedy = "Return a number."
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            remedy = "Import math at the top of the file; nothing else can be called."
        self.method.refuse(node, "is not in the accepted subset", remedy)

    # -- expressions --------------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr, known: set[str]) -> Expr:
        if isinstance(node, ast.Constant):
            return self.constant(node)
        if isinstance(node, ast.Name):
            return self.name(node, known)
        if isinstance(node, ast.Attribute):
            return self.attribute(node)
        if isinstance(node, ast.Subscript):
            return element(self, node, known)
        if isinstance(node, ast.BinOp):
            return self.binary(node, node.op, self.expression(node.left, known), self.expression(node.right, known))
        if isinstance(node, ast.UnaryOp):
            return self.unary(node, known)
        if isinstance(node, ast.BoolOp):
            operands = tuple(self.truth(value, known, strict=True) for value in node.values)
            return Expr("and" if isinstance(node.op, ast.And) else "or", "bool", operands)
        if isinstance(node, ast.Compare):
            return self.comparison(node, known)
        if isinstance(node, ast.IfExp):
            test = self.truth(node.test, known)
            return self.joined("if", self.expression(node.body, known), self.expression(node.orelse, known), test)
        if isinstance(node, ast.Call):
            return self.call(node, known)
        self.method.refuse(node, "is not in the accepted subset", SUBSET + ".")

    def constant(self, node: ast.Constant) -> Expr:
        if isinstance(node.value, bool):
            return Expr("const", "bool", data=node.value)
        if isinstance(node.value, int):
            return self.literal(node, node.value)
        if isinstance(node.value, float):
            return Expr("const", "weak", data=node.value)
        self.method.refuse(node, "is no number", "Constants are integers, floats, True, False and INF.")

    def literal(self, node: ast.AST, value: int) -> Expr:
        if not -(1 << 63) <= value < 1 << 64:
            self.method.refuse(node, "is past 64 bits", "Use a float, or INF.")
        return Expr("const", "lit" if value < 1 << 63 else "u64", data=value)

    def name(self, node: ast.Name, known: set[str]) -> Expr:
        role = self.roles.get(node.id)
        if role == "i":
            return Expr("lane", "n64")
        if role == "got" and not self.types.value.length:
            return Expr("got", self.types.got)
        if role is not None:
            self.method.refuse(node, "is used whole", f"Use one of its fields, such as {example_of(role)}.")
        if node.id in known:
            return Expr("local", self.local_types[node.id], data=node.id)
        if node.id == "INF":
            return Expr("const", self.types.value.name, data=self.types.value.largest)
        if node.id in self.local_types:
            self.method.refuse(node, "may have no value here", "Assign it on every path before.")
        remedy = f"Make it a parameter (`{node.id}: float = ...` in the class, then self.{node.id}) or a local name."
        self.method.refuse(node, "is not known inside a method", remedy)

    def attribute(self, node: ast.Attribute) -> Expr:
        if not isinstance(node.value, ast.Name):
            self.method.refuse(node, "is not in the accepted subset", SUBSET + ".")
        owner = self.roles.get(node.value.id, node.value.id)
        if owner == "math" and node.attr in MATH_CONSTANTS:
            return Expr("const", "weak", data=MATH_CONSTANTS[node.attr])
        if owner == "self":
            return self.parameter(node)
        fields = self.fields(owner)
        if node.attr not in fields:
            limit = f"is not a field of {owner} in {self.method.name}"
            if owner not in ("v", "u", "e", "g"):
                limit = "is not in the accepted subset"
            names = f"It has {', '.join(fields)}." if fields else SUBSET + "."
            self.method.refuse(node, limit, names)
        if self.types.value.length and node.attr in ("value", "before"):
            self.method.refuse(node, f"has {self.types.value.length} elements", f"Read one: {ast.unparse(node)}[i].")
        self.reads.add((owner, node.attr))
        return Expr("field", fields[node.attr], data=(owner, node.attr))

    def fields(self, owner: str) -> dict[str, str]:
        """Fields of an argument in this method, with their types."""
        value = {"id": "n64", "value": self.types.value.name}
        if owner == "v" and owner in self.roles.values():
            if self.method.name == "done":
                return value
            own = {name: "f64" for name, kind in self.types.parameters.items() if kind == "PerVertex"}
            before = {"before": self.types.value.name} if self.total or self.method.name == "activate" else {}
            stored = {} if self.method.name == "start" else value | before
            return {"id": "n64", **stored, "degree": "n64", "in_degree": "n64", **own}
        if owner == "u" and owner in self.roles.values():
            return value | {"degree": "n64"}
        if owner == "e" and owner in self.roles.values():
            # f32 weights are f64 in programs of other values, or a constant would round to f32 beside them
            wide = self.types.weight == "f32" and self.types.value.name != "f32"
            return {"weight": "f64" if wide else self.types.weight or "f32"}
        if owner == "g" and owner in self.roles.values():
            totals = {} if self.method.name == "start" else dict.fromkeys(self.types.totals, "f64")
            return dict.fromkeys(GLOBALS, "n64") | totals
        return {}

    def parameter(self, node: ast.Attribute) -> Expr:
        kind = self.types.parameters.get(node.attr)
        if kind in SCALAR_OF:
            return Expr("parameter", SCALAR_OF[kind], data=node.attr)
        if kind == "PerVertex":
            self.method.refuse(node, "is one number a vertex", f"Read it as v.{node.attr}.")
        if kind == "Vertices":
            self.method.refuse(node, "is a set of vertices", f"Ask `v.id in self.{node.attr}` in start.")
        names = ", ".join(self.types.parameters) or "none"
        remedy = f"The parameters are {names}; declare one as `{node.attr}: float = ...` in the class."
        self.method.refuse(node, "is no parameter of the program", remedy)

    def binary(self, node: ast.AST, operator: ast.operator, left: Expr, right: Expr) -> Expr:
        op = ARITHMETIC.get(type(operator))
        if op is None:
            self.method.refuse(node, "uses an operator that is not in the accepted subset", SUBSET + ".")
        if left.op == right.op == "const" and {left.type, right.type} <= {"lit", "weak"}:
            return self.folded(node, op, left.data, right.data)
        negative = any(side.op == "const" and side.type == "lit" and side.data < 0 for side in (left, right))
        kind = arithmetic(op, left.type, right.type, negative)
        if op == "**" and kind in INTEGERS and right.op == "const" and right.data == 0:
            return Expr("const", "lit", data=1)
        if op == "/" and kind in INTEGERS:
            kind = "f64"
        if op == "**" and kind in INTEGERS:
            small = right.op == "const" and right.type == "lit" and 0 <= right.data <= LARGEST_POWER
            kind = kind if small else "f64"
        return Expr("arithmetic", kind, (left, right), op)

    def folded(self, node: ast.AST, op: str, left: int | float, right: int | float) -> Expr:
        if op == "**" and isinstance(left, int) and isinstance(right, int) and abs(right) > LARGEST_POWER:
            self.method.refuse(node, "is past 64 bits", "Use a float, or INF.")
        operations = {
            "+": lambda: left + right,
            "-": lambda: left - right,
            "*": lambda: left * right,
            "/": lambda: left / right,
            "//": lambda: left // right,
            "%": lambda: left % right,
            "**": lambda: left**right,
        }
        try:
            value = operations[op]()
        except (ArithmeticError, ValueError) as reason:
            self.method.refuse(node, f"has no value ({reason})", "Write a constant that has one.")
        if isinstance(value, complex):
            self.method.refuse(node, "is no real number", "Write a constant that is.")
        return self.literal(node, value) if isinstance(value, int) else Expr("const", "weak", data=value)

    def unary(self, node: ast.UnaryOp, known: set[str]) -> Expr:
        if isinstance(node.op, ast.Not):
            return Expr("not", "bool", (self.truth(node.operand, known),))
        operand = self.expression(node.operand, known)
        if isinstance(node.op, ast.Invert):
            self.method.refuse(node, "uses an operator that is not in the accepted subset", SUBSET + ".")
        sign = -1 if isinstance(node.op, ast.USub) else 1
        if operand.op == "const" and (operand.type in ("lit", "weak") or operand.data == 1 << 63):
            value = sign * operand.data
            return self.literal(node, value) if isinstance(value, int) else Expr("const", "weak", data=value)
        if sign > 0:
            return operand
        kind = {"n64": "i64", "i32": "i64", "bool": "i64", "u8": "i64", "u32": "i64"}.get(operand.type, operand.type)
        return Expr("negate", kind, (operand,))

    def truth(self, node: ast.expr, known: set[str], strict: bool = False) -> Expr:
        """`node` as a condition; numbers are true when not 0, but `and` and `or` want real conditions."""
        value = self.expression(node, known)
        if value.type == "bool":
            return value
        if strict:
            self.method.refuse(node, "is a number, and and/or want conditions", "Compare it: `x != 0`.")
        return Expr("compare", "bool", (value, Expr("const", "lit", data=0)), "!=")

    def comparison(self, node: ast.Compare, known: set[str]) -> Expr:
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.In):
            return self.membership(node, known)
        for operator in node.ops:
            if type(operator) not in COMPARE:
                limit = "uses a comparison that is not in the accepted subset"
                self.method.refuse(node, limit, "Use < <= > >= == or !=.")
        sides = [self.expression(side, known) for side in (node.left, *node.comparators)]
        links = [
            Expr("compare", "bool", (sides[index], sides[index + 1]), COMPARE[type(operator)])
            for index, operator in enumerate(node.ops)
        ]
        return links[0] if len(links) == 1 else Expr("and", "bool", tuple(links))

    def membership(self, node: ast.Compare, known: set[str]) -> Expr:
        among = node.comparators[0]
        owner = among.value if isinstance(among, ast.Attribute) else None
        named = isinstance(owner, ast.Name) and self.roles.get(owner.id) == "self"
        if not named or not isinstance(among, ast.Attribute) or self.types.parameters.get(among.attr) != "Vertices":
            self.method.refuse(node, "asks for membership", "`in` works with a parameter of type Vertices.")
        if self.method.name != "start":
            self.method.refuse(node, f"asks for membership in {self.method.name}", "Only start knows sets of vertices.")
        item = self.expression(node.left, known)
        if item.op != "field" or item.data != ("v", "id"):
            self.method.refuse(node, "asks for something else than a vertex", f"Write `v.id in self.{among.attr}`.")
        return Expr("member", "bool", (item,), among.attr)

    def joined(self, op: str, left: Expr, right: Expr, *before: Expr) -> Expr:
        negative = any(side.op == "const" and side.type == "lit" and side.data < 0 for side in (left, right))
        kind = join(left.type, right.type, negative)
        if kind == "lit":
            kind = "i64" if negative else "n64"
        return Expr(op, kind, (*before, left, right))

    def call(self, node: ast.Call, known: set[str]) -> Expr:
        name = called_name(node.func)
        known_names = ("min", "max", "abs", *MATH, *MATH_TO_INTEGER, *MATH_TO_BOOL)
        if name is None or node.keywords or any(isinstance(item, ast.Starred) for item in node.args):
            self.method.refuse(node, "is not in the accepted subset", SUBSET + ".")
        if name not in known_names:
            self.method.refuse(
                node, "calls a function that programs don't have", f"They have {', '.join(known_names)}."
            )
        arguments = [self.expression(argument, known) for argument in node.args]
        wanted = MATH.get(name, 1)
        few = len(arguments) < 2 if name in ("min", "max") else len(arguments) != wanted
        if few:
            several = "two or more" if name in ("min", "max") else str(wanted)
            self.method.refuse(node, f"has {len(arguments)} arguments", f"{name} takes {several}.")
        if name in ("min", "max"):
            result = arguments[0]
            for argument in arguments[1:]:
                result = self.joined(name, result, argument)
            return result
        return self.function(name, arguments)

    def function(self, name: str, arguments: list[Expr]) -> Expr:
        kind = arguments[0].type
        for argument in arguments[1:]:
            kind = meet(kind, argument.type)
        if name == "abs":
            kind = "i64" if kind in ("bool", "i32", "lit", "u8", "u32") else kind
            return Expr("abs", kind, tuple(arguments))
        if kind in INTEGERS:
            kind = "f64"
        out = "i64" if name in MATH_TO_INTEGER else "bool" if name in MATH_TO_BOOL else kind
        return Expr("math", out, tuple(arguments), (name, kind))
