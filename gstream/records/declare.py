"""The declaration of a record kernel: its text as a tree, and the functions and constants that the text names."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gstream.language.method_text import ProgramError
from gstream.language.scalar_types import ScalarType
from gstream.records.held import Scratch, is_array
from pagestore.concurrency import LOADING, cached_property

MERGES = ("or", "min", "max", "sum", "one", "note", "own")
TYPES = ("uint64", "uint32", "uint8", "int64", "float32", "float64", "bool", "id", "weight", "length", "width", "bits")
SIZE = re.compile(r"\[(\d*)\]$")  # of an array: [] has an element a vertex, [3] has three
INTRINSICS = "gstream.hostcode.intrinsics"


class RecordKernel:
    """A record kernel; gstream.hostcode.records and gstream.cudacode.records compile it."""

    def __init__(self, function: Callable[..., None], said: dict[str, str]) -> None:
        self.name, self.module, self.__doc__ = function.__name__, function.__module__, function.__doc__
        self.function = function
        self._weight: int | None = None  # of every edge; None: the store's
        words = [(name, word) for name, text in said.items() for word in text.split()]
        self.merges = {name: word for name, word in words if word in MERGES}
        self.types = {name: word for name, word in words if word not in MERGES}
        unknown = {word for word in self.types.values() if SIZE.sub("", word) not in TYPES}
        assert not unknown, f"{self.name}: there is no merge and no type {unknown}"

    def of_unit_weights(self, name: str, **types: str) -> RecordKernel:
        """The same kernel under another name, for graphs without weights: each edge weighs 1. types: that differ."""
        twin = RecordKernel(self.function, self.merges)
        twin.name, twin.types, twin._weight = name, self.types | types, 1
        return twin

    @cached_property
    def tree(self) -> ast.FunctionDef:
        """The text, without decorator and docstring."""
        tree = tree_of(self.function)
        return tree if self._weight is None else _Weighed(self._weight).visit(tree)

    @cached_property
    def parameters(self) -> list[str]:
        """Names of arrays and numbers, without the record."""
        return [argument.arg for argument in self.tree.args.args[1:]]

    @cached_property
    def names(self) -> Names:
        """What the text calls and reads beside its parameters."""
        names = Names()
        names.add(self.tree, self.function)
        return names

    @cached_property
    def uses_weights(self) -> bool:
        return any(isinstance(node, ast.Attribute) and node.attr == "weight" for node in ast.walk(self.tree))


class ItemKernel(RecordKernel):
    """An item kernel: on the host it is function(count, *arguments, counter)."""


class _Weighed(ast.NodeTransformer):
    """Puts a number where a text says `record.weight()`."""

    def __init__(self, weight: int) -> None:
        self.weight = weight

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        return ast.Constant(self.weight) if is_of_record(node, "weight") else node


class Names:
    """Functions (in the order that they need each other), constants and scalar types that texts name."""

    def __init__(self) -> None:
        self.functions: dict[str, ast.FunctionDef] = {}
        self.files: dict[str, str] = {}  # of functions
        self.constants: dict[str, Any] = {}
        self.types: dict[str, np.dtype] = {}
        self.intrinsics: set[str] = set()
        self._known: dict[str, Any] = {}

    def add(self, tree: ast.FunctionDef, function: Any) -> None:
        """Take in what the text of `function` names."""
        space, nodes = function.__globals__, list(ast.walk(tree))
        own = {node.arg for node in nodes if isinstance(node, ast.arg)}
        own |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        for node in nodes:
            if isinstance(node, ast.Name) and node.id in space.keys() - own and not hasattr(builtins, node.id):
                self._name(node.id, space[node.id])

    def _name(self, name: str, value: Any) -> None:
        value = value.dtype.type if isinstance(value, ScalarType) else value
        if name in self._known:
            if self._known[name] is not value and self._known[name] != value:
                raise ProgramError(
                    f"{name}: stands for two things, in the kernel and in a helper that it calls. Rename yours."
                )
            return
        self._known[name] = value
        if isinstance(value, type):
            self.types[name] = np.dtype(value)
        elif hasattr(value, "py_func"):
            tree = tree_of(value.py_func)
            self.add(tree, value.py_func)
            self.functions[name], self.files[name] = tree, value.py_func.__code__.co_filename
        elif isinstance(value, (int, float, np.generic)):
            self.constants[name] = value
        else:
            assert getattr(value, "__module__", "") == INTRINSICS or callable(value), f"{name}: {value!r}"
            self.intrinsics.add(name)


def tree_of(function: Callable[..., Any]) -> ast.FunctionDef:
    """A function's text, without decorators, docstring and annotations; its lines are numbered as in the file."""
    with LOADING:  # linecache, which reads it, is made for one thread
        lines, first = inspect.getsourcelines(function)
    tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    ast.increment_lineno(tree, first - 1)
    tree.decorator_list, tree.returns = [], None
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
    if ast.get_docstring(tree) is not None:
        tree.body = tree.body[1:] or [ast.Pass()]
    return tree


def is_of_record(node: ast.AST, name: str = "") -> bool:
    """Whether a node is `record.NAME` or `item.NAME` (of any name), or a call of it."""
    if isinstance(node, ast.Call):
        node = node.func
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in ("record", "item")
        and name in ("", node.attr)
    )


def stops_early(loop: ast.For) -> bool:
    """Whether a loop over neighbours may end before the last one, by a `break` of its own."""

    def breaks(body: list[ast.stmt]) -> bool:
        for node in body:
            if isinstance(node, ast.Break):
                return True
            if isinstance(node, ast.If) and (breaks(node.body) or breaks(node.orelse)):
                return True
        return False

    return breaks(loop.body)


def record_kernel(**said: str) -> Callable[[Callable[..., None]], RecordKernel]:
    """Declare a record kernel. said: array -> how copies of it become one (see the package), before it the type that
    the array usually has, where its name does not say it (gstream.records.usual): "min", "int64[]", "float64[] sum".
    """
    return lambda function: RecordKernel(function, said)


def item_kernel(**said: str) -> Callable[[Callable[..., None]], ItemKernel]:
    """Declare an item kernel; said as of record_kernel."""
    return lambda function: ItemKernel(function, said)


def bytes_of(arguments: Iterable[Any]) -> int:
    """What arrays and numbers that a kernel is given take; an array that is given twice is there once. Those that a
    device holds take nothing more, but for room that it is to have."""
    given = list(arguments)
    distinct = {id(argument): argument for argument in given if isinstance(argument, np.ndarray | Scratch)}
    numbers = (argument for argument in given if not is_array(argument))
    return sum(array.nbytes for array in distinct.values()) + sum(np.asarray(number).nbytes for number in numbers)
