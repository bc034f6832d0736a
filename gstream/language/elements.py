"""Elements of values that are vectors: `u.value[i]`, `got[0]`, `v.before[(i + 1) % 3]`.

What is read lies in a row of the array of values, and nothing checks it at run time. So an index shows in the text that
it stays within: the method's own `i`, a whole number, or `... % N`, which is never negative.
"""

from __future__ import annotations

import ast
from typing import Any, cast

from gstream.language.method_text import Method
from gstream.language.scalar_types import INTEGERS
from gstream.language.typed_tree import Expr


def element(lowering: Any, node: ast.Subscript, known: set[str]) -> Expr:
    """One element of a vector, whose index is the expression's argument. lowering: of the method, in which the names
    `known` have values. Raises ProgramError."""
    owner, name, kind = _vector(lowering, node)
    length = lowering.types.value.length
    index = lowering.expression(node.slice, known)
    if not _stays_within(index, length):
        lowering.method.refuse(
            node, f"may be none of the {length} elements", f"An index is i, a whole number below {length}, or "
            f"`... % {length}`."
        )  # fmt: skip
    lowering.reads.add((owner, name))
    return Expr("element", kind, (index,), (owner, name))


def _vector(lowering: Any, node: ast.Subscript) -> tuple[str, str, str]:
    """(owner, field, type of an element) of what is indexed."""
    types, vector, method = lowering.types, node.value, cast(Method, lowering.method)
    if types.value.length and isinstance(vector, ast.Name) and lowering.roles.get(vector.id) == "got":
        return "got", "value", types.got
    if types.value.length and isinstance(vector, ast.Attribute) and isinstance(vector.value, ast.Name):
        owner = lowering.roles.get(vector.value.id, "")
        if vector.attr in ("value", "before") and vector.attr in lowering.fields(owner):
            return owner, vector.attr, types.value.name
    method.refuse(node, "is no element of a value", "Vectors have elements: value = f32[3], and u.value[i].")


def _stays_within(index: Expr, length: int) -> bool:
    if index.op == "lane":
        return True
    if index.op == "const":
        return isinstance(index.data, int) and 0 <= index.data < length
    if index.op != "arithmetic" or index.data != "%" or index.type not in INTEGERS:
        return False
    divisor = index.args[1]
    return divisor.op == "const" and divisor.type == "lit" and 1 <= divisor.data <= length
