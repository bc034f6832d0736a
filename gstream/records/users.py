"""Record kernels of users: what `gstream.record_kernel` and `gstream.algorithm` make of a function in a user's file.

Both check the text when they are called (gstream.records.accepted), as programs are checked when they are defined.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

from gstream.language.method_text import Method, read_method
from gstream.language.program import KINDS, Parameter, Vertices
from gstream.records.accepted import check_kernel, refuse_word
from gstream.records.declare import MERGES, SIZE, TYPES, RecordKernel

GIVEN = ("degree", "in_degree", "superstep", "frontier")  # what a run gives to a kernel that has such a parameter
NEXT = "next_frontier"  # bits of the vertices whose lists are looked at in the next superstep
BITS = "bits"
LISTS = ("out", "in")
# Types that `gstream show --cuda` takes for what a run gives, and for numbers.
SHOWN = {"superstep": "int64", "frontier": BITS, "degree": "uint32[]", "in_degree": "uint32[]"}
KIND_SHOWN = {"int": "int64", "float": "float64", "bool": "bool", "f32": "float32", "f64": "float64", "u32": "uint32"}
KIND_SHOWN |= {"u64": "uint64", "i32": "int64", "i64": "int64"}


class UserKernel(RecordKernel):
    """A record kernel that runs by itself: `graph.run(kernel)`, `gstream run FILE.py:KERNEL STORE`.

    lists: the topology whose lists it is called for. parameters_given: numbers that --param sets.
    """

    def __init__(self, function: Callable[..., None], said: dict[str, str], lists: str) -> None:
        self.text = read_kernel(function)
        words = [word for text in said.values() for word in text.split()]
        for word in words:
            if word not in MERGES and SIZE.sub("", word) not in TYPES:
                refuse_word(self.text, word, f"how copies become one: {', '.join(MERGES)}; or a type: {_shown()}")
        super().__init__(function, said)
        for name, word in self.types.items():
            if name in self.merges and word != BITS and not SIZE.search(word):
                refuse_word(
                    self.text, said[name], f'of an array, as arrays are what a kernel writes: {name}="{word}[] ..."'
                )
        if lists not in LISTS:
            refuse_word(self.text, lists, "whose lists: " + ", ".join(LISTS))
        self.lists = lists
        if NEXT in self.parameters:
            self.merges.setdefault(NEXT, "or")
            self.types.setdefault(NEXT, BITS)
        check_kernel(self, said)
        self.parameters_given = _numbers(self.text, {*self.merges, *self._arrays(), *GIVEN}, True)
        self.types = SHOWN | {one.name: KIND_SHOWN[one.kind] for one in self.parameters_given.values()} | self.types
        if "frontier" in self.parameters:
            if not any(isinstance(node, ast.Name) and node.id == "frontier" for node in ast.walk(self.tree)):
                remedy = "Begin with `if not is_set(frontier, record.vertex): return`."
                self.text.refuse(self.text.tree, "does not look at its frontier", remedy)
            self.parameters_given["source"] = Parameter("source", KINDS[Vertices], ())

    def _arrays(self) -> set[str]:
        """Parameters that the decorator says are arrays."""
        return {name for name, kind in self.types.items() if SIZE.search(kind) or kind == BITS}


class UserAlgorithm:
    """A function of a user's that sweeps with kernels: `graph.run(algorithm)`, `gstream run FILE.py:NAME STORE`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name, self.module, self.__doc__ = function.__name__, function.__module__, function.__doc__
        self.function, self.text = function, read_kernel(function)
        if not self.text.arguments:
            self.text.refuse(self.text.tree, "takes no sweeps", f"Write def {self.name}(sweeps): ...")
        self.parameters_given = _numbers(self.text, set(), False)


def record_kernel(lists: Any = "out", /, **said: str) -> Any:
    """Declare a record kernel: `@gstream.record_kernel(found="uint64[] sum")`, or without brackets.

    lists: "out" or "in", the lists that a run calls it for. said: parameter -> the type of the array that a run makes
    for it ("uint32[]" has an element a vertex, "uint64[1]" one in all, "bits" a bit a vertex), and how copies of it
    become one ("or", "min", "max", "sum", "one"). Raises ProgramError, which names the line, where the text is not one
    that both cores and GPUs run.
    """
    if callable(lists):
        return UserKernel(lists, {}, "out")
    return lambda function: UserKernel(function, said, lists)


def algorithm(function: Callable[..., Any]) -> UserAlgorithm:
    """Declare an algorithm of several sweeps: `@gstream.algorithm def NAME(sweeps, limit: int = 3)`.

    It returns {name: array of all vertices, in store order, or a number}. Numbers after `sweeps` are its parameters.
    """
    return UserAlgorithm(function)


def read_kernel(function: Callable[..., Any]) -> Method:
    """The text of a user's function. Raises ProgramError where it can't be read."""
    name = getattr(function, "__name__", repr(function))
    return read_method(name, name, inspect.unwrap(function))


def _numbers(text: Method, arrays: set[str], of_kernel: bool) -> dict[str, Parameter]:
    """The parameters that are numbers, by their annotations or defaults; of an algorithm vertices, too. Raises
    ProgramError for another type."""
    given, found = text.tree.args, dict[str, Parameter]()
    kinds = {kind.__name__ if isinstance(kind, type) else str(kind): name for kind, name in KINDS.items()}
    kinds = {said: name for said, name in kinds.items() if not (of_kernel and name not in KIND_SHOWN)}
    defaults = [None] * (len(given.args) - len(given.defaults)) + list(given.defaults)
    for argument, default in list(zip(given.args, defaults, strict=True))[1:]:
        if argument.arg in arrays or (of_kernel and argument.annotation is None and default is None):
            continue
        try:
            value = None if default is None else ast.literal_eval(default)
        except ValueError:
            text.refuse(argument, "has a default that is no number", "Write the number itself, as limit=3.")
        said = ast.unparse(argument.annotation) if argument.annotation else type(value).__name__
        if said.rpartition(".")[2] not in kinds:
            text.refuse(argument, f"is of type {said}", f"Parameters are {', '.join(kinds)}.")
        found[argument.arg] = one = Parameter(argument.arg, kinds[said.rpartition(".")[2]], value)
        if value is not None:
            one.convert(value, text.program)
    return found


def _shown() -> str:
    return ", ".join(("uint64[]", "uint64[1]", *TYPES[1:6], BITS))
