"""The text of a program's methods, and refusals that point into it (file:line, offending text, limit, remedy)."""

from __future__ import annotations

import ast
import inspect
import os
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from pagestore.concurrency import LOADING
from pagestore.errors import UsageError, end_at_the_caller

# The methods of a program and their arguments, by position; a total has TOTAL_SIGNATURE.
SIGNATURES = {
    "start": ("self", "v", "g"),
    "send": ("self", "u", "e", "g"),
    "apply": ("self", "v", "got", "g"),
    "done": ("self", "v"),
    "activate": ("self", "v"),
    "halt": ("self", "g"),
}
TOTAL_SIGNATURE = ("self", "v")
ELEMENT = "i"  # the last argument of the methods of a program of vectors, but for halt: which element they compute


def signature_of(name: str, vector: bool) -> tuple[str, ...]:
    """The arguments of a method, or of a total of that name."""
    return SIGNATURES.get(name, TOTAL_SIGNATURE) + ((ELEMENT,) if vector and name != "halt" else ())


class ProgramError(UsageError):
    """A program that is not in the accepted subset (exit 2)."""

    def __init__(self, *said: object) -> None:
        super().__init__(*said)
        end_at_the_caller()  # the class is made in the user's file, which calls nothing of ours


@dataclass(frozen=True)
class Method:
    """One method of a program: its syntax tree and where its text stands."""

    program: str
    name: str
    filename: str
    first_line: int  # of `text` in the file
    text: str
    tree: ast.FunctionDef

    @property
    def arguments(self) -> list[str]:
        return [argument.arg for argument in self.tree.args.args]

    def where(self, node: ast.AST) -> str:
        return f"{shown_file(self.filename)}:{self.first_line + getattr(node, 'lineno', 1) - 1}"

    def refuse(self, node: ast.AST, limit: str, remedy: str) -> NoReturn:
        """Raise ProgramError: `file:line: `text` limit. remedy`."""
        quoted = (ast.get_source_segment(self.text, node) or ast.unparse(node)).splitlines()[0]
        raise ProgramError(f"{self.where(node)}: `{quoted.strip()}` {limit}. {remedy}")


def shown_file(path: str) -> str:
    """A file as the user calls it: below the working folder without that folder's name."""
    try:
        return os.path.relpath(path) if path.startswith(os.getcwd() + os.sep) else path
    except OSError:  # somebody removed the folder
        return path


def read_method(program: str, name: str, function: Callable[..., Any]) -> Method:
    """The source of `function`; ProgramError where there is none (a class typed at a prompt) or it is no plain def."""
    code = getattr(function, "__code__", None)
    if code is None:
        raise ProgramError(f"{program}.{name}: {function!r} is no plain method. Write it with def.")
    where = f"{shown_file(code.co_filename)}:{code.co_firstlineno}"
    try:
        with LOADING:  # linecache, which reads them, is made for one thread
            lines, first_line = inspect.getsourcelines(function)
    except OSError:
        raise ProgramError(
            f"{where}: the text of {program}.{name} can't be read, and programs are compiled from their text. "
            "Put the class into a file."
        ) from None
    text = textwrap.dedent("".join(lines))
    try:
        tree = ast.parse(text).body[0]
    except SyntaxError:
        tree = ast.Pass()
    if not isinstance(tree, ast.FunctionDef):
        raise ProgramError(f"{where}: {program}.{name} is no plain method. Write it with def.")
    return Method(program, name, code.co_filename, first_line, text, tree)


def called_name(function: ast.expr) -> str | None:
    """The name that is called: `min`, `math.sqrt` and, imported from math, `sqrt`."""
    if isinstance(function, ast.Name):
        return function.id
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "math":
        return "math." + function.attr if function.attr in ("min", "max", "abs") else function.attr
    return None


def example_of(role: str) -> str:
    """What a method may read of one of its arguments."""
    known = {"self": "a parameter, self.name", "e": "e.weight", "g": "g.vertices", "got": "got[i]"}
    return known.get(role, f"{role}.value")
