"""The methods of `Graph` that run an algorithm, made from the declarations. methods.pyi tells type checkers of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from inspect import Parameter, Signature
from typing import Any

from gstream.algorithms.declaration import VERTEX_SET, Algorithm, singular
from gstream.algorithms.registry import ALGORITHMS, add_installed
from gstream.options.wording import in_python, say_in_python
from pagestore.errors import UsageError


class Methods(ABC):
    """Every method takes RunOptions by name beside its own options, and `certify` to prove the answer."""

    @abstractmethod
    def execute(self, algorithm: str, own: dict[str, Any], certify: bool = False, **options: Any) -> Any:
        """Run an algorithm by name with its own options and RunOptions."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """The method of an algorithm that another package declares."""
        if not name.startswith("_"):
            add_installed()
        if name.startswith("_") or name not in ALGORITHMS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return method_of(ALGORITHMS[name]).__get__(self)


def signature_of(algorithm: Algorithm) -> Signature:
    """Of the method that runs it."""

    def taken(name: str, typed: str, **more: Any) -> Parameter:
        return Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=typed, **more)

    own = [taken(option.name, option.type, default=option.default) for option in algorithm.options]
    own += [taken("certify", "bool", default=False), Parameter("options", Parameter.VAR_KEYWORD, annotation="Any")]
    return Signature([Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *own], return_annotation="Result")


def method_of(algorithm: Algorithm) -> Callable[..., Any]:
    """The method that runs it."""
    signature = signature_of(algorithm)

    def method(*arguments: Any, **named: Any) -> Any:
        bound = signature.bind(*arguments, **named)
        bound.apply_defaults()
        given = bound.arguments
        with in_python():
            one_by_one(algorithm, given)
        own = {option.name: kept(given[option.name]) for option in algorithm.options}
        result = given["self"].execute(algorithm.name, own, given["certify"], **given["options"])
        if "note" in result.summary:  # written for the command line, which does not come by here
            result.summary["note"] = say_in_python(result.summary["note"])
        return result

    method.__name__, method.__qualname__ = algorithm.name, f"Graph.{algorithm.name}"
    method.__doc__, method.__module__ = algorithm.docstring, "gstream.graph"
    method.__signature__ = signature  # type: ignore[attr-defined]
    return method


def one_by_one(algorithm: Algorithm, given: dict[str, Any]) -> None:
    """target=ID, or several, as targets=[...]. Raises UsageError where both are given."""
    for option in algorithm.options:
        single = singular(option.name)
        if option.kind != VERTEX_SET or (named := given["options"].pop(single, None)) is None:
            continue
        if given[option.name] is not None:
            raise UsageError(f"{single}, {option.name}: both name vertices. Pass one of them.")
        given[option.name] = [named] if isinstance(named, str) or not isinstance(named, Iterable) else named


def kept(value: Any) -> Any:
    """`value` as it is, an iterator's as a list: the certificate asks for it again."""
    return list(value) if isinstance(value, Iterator) else value


for declared in ALGORITHMS.values():
    setattr(Methods, declared.name, method_of(declared))
