"""What Numba refuses in a user's record kernel, as a message that names the line of the user's file.

The generated module's text is made once more with a mark before each statement of the user's: the marks say which line
of which file a line of the module came from. So nothing is kept where all is well.
"""

from __future__ import annotations

import ast
import linecache
import re
from copy import copy, deepcopy
from typing import Any

from gstream.hostcode.records import module_text
from gstream.language.method_text import ProgramError, shown_file
from gstream.records.declare import RecordKernel

MARK = "gstream line "
PLACE = re.compile(r'([^\s"]+\.py)(?:", line | \()(\d+)')
COLOUR = re.compile(r"\x1b\[\d*m")
OUTER = ("Failed in", "During:", "There are", "- Of which", "- Resolution", "File ")  # what Numba frames its reasons by
REMEDY = "Check the types: those of arrays are in the decorator, that of a name is its first value's."


def refusal_of(kernel: RecordKernel, error: Exception) -> ProgramError:
    """The error of a kernel that Numba does not compile: `file:line: text limit. remedy`."""
    text: Any = kernel.text  # type: ignore[attr-defined]
    places = user_lines(kernel)
    found = [
        places[int(line)]  # the innermost is named first
        for path, line in PLACE.findall(str(error))
        if f"gstream_{kernel.name}_" in path and int(line) in places
    ]
    file, line = found[0] if found else (text.filename, text.first_line)
    shown = linecache.getline(file, line).strip()
    return ProgramError(f"{shown_file(file)}:{line}: `{shown}` has no machine code: {reason_of(error)}. {REMEDY}")


def user_lines(kernel: RecordKernel) -> dict[int, tuple[str, int]]:
    """Line of the generated module -> file and line of the user's text; a helper's, too."""
    twin, names = copy(kernel), copy(kernel.names)
    twin.__dict__["tree"] = _marked(kernel.tree, kernel.function.__code__.co_filename)
    names.functions = {name: _marked(tree, names.files[name]) for name, tree in names.functions.items()}
    twin.__dict__["names"] = names
    found, number = dict[int, tuple[str, int]](), 0
    at: tuple[str, int] | None = None
    for line in module_text(twin).splitlines():
        if MARK in line:
            file, _, place = line.partition(MARK)[2].strip("\"'").rpartition(":")
            at = file, int(place)
            continue
        number += 1
        if not line.startswith(" "):
            at = None
        if at is not None:
            found[number] = at
    return found


def reason_of(error: Exception) -> str:
    """What Numba says, in a line."""
    said = [line.strip() for line in COLOUR.sub("", str(error)).splitlines() if line.strip()]
    said = [line for line in said if not line.startswith(OUTER)]
    first = said[0] if said else type(error).__name__
    if first.endswith(":") and len(said) > 1:
        first = f"{first} {said[1].removeprefix('>>> ')}"
    return first.rstrip(".")


def _marked(tree: ast.FunctionDef, file: str) -> ast.FunctionDef:
    marked = deepcopy(tree)
    _Marks(file).visit(marked)
    return ast.fix_missing_locations(marked)


class _Marks(ast.NodeTransformer):
    """Puts a mark before each statement."""

    def __init__(self, file: str) -> None:
        self.file = file

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, [each for statement in block for each in (self._mark(statement), statement)])
        return node

    def _mark(self, statement: ast.stmt) -> ast.stmt:
        return ast.Expr(ast.Constant(f"{MARK}{self.file}:{statement.lineno}"))
