"""`Program`: what a user subclasses to declare an algorithm (docs/pages/how-to/programs.md).

The class is checked when it is defined: attributes, signatures, and each method's text against the accepted subset of
Python (gstream.language.lowering). A program then runs unchanged on the interpreter, the host's cores and GPUs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np

from gstream.language.lowering import check_program
from gstream.language.method_text import SIGNATURES, Method, ProgramError, read_method, signature_of
from gstream.language.scalar_types import VALUE_TYPES, ScalarType, f32, f64, i32, i64, u8, u32, u64
from pagestore.errors import UsageError
from pagestore.nearnames import spelled

__all__ = [
    "INF", "MAX", "MIN", "OR", "SUM", "Monoid", "Parameter", "PerVertex", "Program", "ProgramError", "Vertex",
    "Vertices", "f32", "f64", "i32", "i64", "total", "u8", "u32", "u64",
]  # fmt: skip


@dataclass(frozen=True)
class Monoid:
    """How messages combine. Idempotent: combining a message twice changes nothing, so only active vertices send."""

    name: str
    idempotent: bool

    def identity(self, value: ScalarType) -> int | float:
        """The value that changes nothing when combined."""
        if self.name == "MIN":
            return value.largest
        return value.least if self.name == "MAX" else 0

    def __repr__(self) -> str:
        return self.name


SUM, MIN, MAX, OR = Monoid("SUM", False), Monoid("MIN", True), Monoid("MAX", True), Monoid("OR", True)


class _Infinity:
    """`INF` inside a program: infinity for f32 and f64, the largest integer for the others."""

    def __repr__(self) -> str:
        return "INF"


INF = _Infinity()


class Vertex(int):
    """Parameter type: a vertex, given by the user's ID and translated to the store's."""


class Vertices(tuple):
    """Parameter type: several vertices by their users' IDs; a method asks `v.id in self.<name>` (in start only)."""


class PerVertex:
    """Parameter type: one number a vertex, float64[vertices]; a method reads `v.<name>`. `Graph.run` takes them in the
    order of every result's rows, ascending vertex IDs; an engine in the store's order."""


def total(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the sum of `method(self, v)` over all vertices, in float64, is `g.<name>` in the next superstep.

    It is taken after start and every apply, by blocks of 8,192 vertices in order: the same bits on any threads or
    devices.
    """
    method.__gstream_total__ = True  # type: ignore[attr-defined]
    return method


KINDS: dict[Any, str] = {int: "int", float: "float", bool: "bool", Vertex: "Vertex", Vertices: "Vertices"}
KINDS |= {PerVertex: "PerVertex"} | {kind: kind.name for kind in VALUE_TYPES}


@dataclass(frozen=True)
class Parameter:
    """One annotated attribute of a program: its name, kind (a value of KINDS) and default (None: must be given)."""

    name: str
    kind: str
    default: Any

    def convert(self, given: Any, program: str) -> Any:
        """`given` as this parameter's kind; text is parsed, so that a command line can hand it over. UsageError."""
        if isinstance(given, list) and len(given) > 1 and self.kind not in ("Vertices", "PerVertex"):
            raise ProgramError(f"{program}: parameter {self.name} is {given!r}; it has one value. Pass it once.")
        try:
            return self._convert(given)
        except (TypeError, ValueError, OverflowError):
            raise UsageError(
                f"{program}: parameter {self.name} is {given!r}; it must be {ARTICLE[self.kind]}. "
                f"Pass {self.name}={EXAMPLE[self.kind]}, for example."
            ) from None

    def _convert(self, given: Any) -> Any:
        if self.kind == "PerVertex":
            if isinstance(given, str):  # of a command line
                raise TypeError
            one = getattr(given, "strides", None) == (0,)  # a number in all places, of a plan
            return given if one else np.ascontiguousarray(given, dtype=np.float64)
        if self.kind == "Vertices":
            several = isinstance(given, (list, tuple, set, range, np.ndarray))
            return tuple(_vertex(item) for item in (given if several else (given,)))
        if self.kind == "Vertex":
            return _vertex(given)
        if self.kind == "bool":
            return _truth(given)
        if self.kind in ("float", "f32", "f64"):
            if isinstance(given, bool):
                raise TypeError
            number = float(given)
            if number != number:
                raise ValueError
            return number
        if isinstance(given, (bool, np.bool_)) or int(given) != (int(given) if isinstance(given, str) else given):
            raise ValueError
        kind = i64 if self.kind == "int" else next(k for k in VALUE_TYPES if k.name == self.kind)
        if not int(kind.least) <= int(given) <= int(kind.largest):
            raise OverflowError
        return int(given)


ARTICLE = {
    "int": "an integer of 64 bits", "float": "a number", "bool": "true or false", "Vertex": "a vertex ID",
    "Vertices": "one or several vertex IDs",
    "PerVertex": "an array of one number a vertex, which Python alone can pass",
    "f32": "a number", "f64": "a number", "u32": "an integer from 0 to 2^32-1", "u64": "an integer from 0 to 2^64-1",
    "i32": "an integer of 32 bits", "i64": "an integer of 64 bits",
}  # fmt: skip
EXAMPLE = dict.fromkeys(ARTICLE, "1") | {"float": "0.5", "bool": "true", "PerVertex": "numpy.ones(vertices)"}


def _vertex(given: Any) -> int | str:
    if isinstance(given, (bool, float, bytes)) or given is None:
        raise TypeError
    return given if isinstance(given, str) else int(given)


def _truth(given: Any) -> bool:
    if isinstance(given, (bool, np.bool_)):
        return bool(given)
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if str(given).lower() not in words:
        raise ValueError
    return words[str(given).lower()]


class Program:
    """Base of every algorithm: set `combine` and `value`, write `start` and `send`; the rest is optional.

    combine  SUM, MIN, MAX or OR: how the messages that reach a vertex become one.
    value    f32, f64, u32, u64, i32 or i64: the type of a vertex's value. Integers take results as C does: fractions
             are cut off, and what is past the type's range becomes another number, unsaid. Or a vector of these, or of
             u8, as f32[3]: methods but halt then have a last argument more, i, and give element i. They read elements
             as u.value[i], v.value[0], v.before[i] and got[i]. Elements combine each for itself; a vertex has changed
             if one of them has. A total is the sum over vertices and elements. There is no done.
    backward True: messages go against the edges, from targets to sources (default: False). `u` is then an edge's
             target, and `degree` and `in_degree` are those of the graph with its edges turned.
    start(v, g)        the first value of v
    send(u, e, g)      the message along the edge e from u
    apply(v, got, g)   the new value of v from what it got (default: combine(v.value, got); for SUM: got)
    done(v)            no later message can change v (lets a pull stop early)
    activate(v)        whether the change from v.before to v.value matters (SUM; default: any does). One that does not
                       is not taken: v keeps v.before, and its out-neighbours need not look again
    halt(g)            stop now (default: when no vertex changed)
    @total             sums over all vertices
    Annotated attributes are parameters: `damping: float = 0.85` is set by `PageRank(damping=0.9)`.
    """

    combine: ClassVar[Monoid]
    value: ClassVar[ScalarType]
    backward: ClassVar[bool] = False
    parameters: ClassVar[dict[str, Parameter]] = {}
    methods: ClassVar[dict[str, Method]] = {}
    totals: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **given: Any) -> None:
        cls = type(self)
        if cls is Program:
            raise ProgramError("Program is the base of programs; it runs nothing. Subclass it.")
        for name in given:
            if name not in cls.parameters:
                known = ", ".join(cls.parameters) or "none"
                remedy = spelled(name, cls.parameters)
                raise ProgramError(f"{cls.__name__} has no parameter {name!r}; it has {known}. {remedy}")
        for name, parameter in cls.parameters.items():
            if given.get(name) is None and parameter.default is None:
                how = f"Pass {name}=..."
                if parameter.kind == "PerVertex":
                    how = f"It is an array, which Python alone can pass: graph.run({cls.__name__}, {name}=...)."
                raise ProgramError(f"{cls.__name__}: parameter {name} is not given and has no default. {how}")
            value = given[name] if given.get(name) is not None else parameter.default
            setattr(self, name, parameter.convert(value, cls.__name__))

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls.parameters = {**cls.parameters, **_own_parameters(cls)}
        taken = {"combine", "value", "backward", *cls.parameters}
        own = {n: m for n, m in vars(cls).items() if callable(m) and n not in taken and not n.startswith("__")}
        cls.methods = {**cls.methods, **{name: read_method(cls.__name__, name, own[name]) for name in own}}
        fresh = tuple(name for name, member in own.items() if hasattr(member, "__gstream_total__"))
        cls.totals = cls.totals + tuple(name for name in fresh if name not in cls.totals)
        _check_attributes(cls)
        check_program(cls)

    @classmethod
    def identity(cls) -> int | float:
        """What a vertex without messages got."""
        return cls.combine.identity(cls.value)


def _refuse(cls: type, what: str) -> NoReturn:
    module = sys.modules.get(cls.__module__)
    raise ProgramError(f"{getattr(module, '__file__', None) or cls.__module__}: {cls.__qualname__}: {what}")


def _own_parameters(cls: type[Program]) -> dict[str, Parameter]:
    found: dict[str, Parameter] = {}
    scope = {**vars(sys.modules.get(cls.__module__, sys)), **{k.name: k for k in VALUE_TYPES}}
    scope |= {"int": int, "float": float, "bool": bool, "Vertex": Vertex, "Vertices": Vertices, "PerVertex": PerVertex}
    for name, annotation in vars(cls).get("__annotations__", {}).items():
        kind = scope.get(annotation, annotation) if isinstance(annotation, str) else annotation
        if not (isinstance(kind, (type, ScalarType)) and kind in KINDS):
            allowed = ", ".join(str(k.__name__ if isinstance(k, type) else k) for k in KINDS)
            _refuse(cls, f"parameter {name} is annotated {annotation!r}; parameters are {allowed}. Use one of them.")
        parameter = Parameter(name, KINDS[kind], vars(cls).get(name))
        if parameter.default is not None:
            default = parameter.convert(parameter.default, cls.__name__)
            parameter = Parameter(name, parameter.kind, default)
        found[name] = parameter
    return found


def _check_attributes(cls: type[Program]) -> None:
    kinds_of_value = "f32, f64, u32, u64, i32 or i64, or a vector as f32[3] or u8[64]"
    for name, kinds in (("combine", "SUM, MIN, MAX or OR"), ("value", kinds_of_value)):
        wanted = Monoid if name == "combine" else ScalarType
        if not isinstance(getattr(cls, name, None), wanted) or name == "value" and cls.value == u8:
            _refuse(cls, f"{name} is {getattr(cls, name, 'missing')}; it must be {kinds}. Add `{name} = ...`.")
    if not isinstance(cls.backward, bool):
        _refuse(cls, f"backward is {cls.backward!r}; it must be True or False. Correct it, or leave it out.")
    if cls.combine is OR and cls.value.is_float:
        _refuse(cls, f"combine is OR and value is {cls.value}; OR needs integers. Use value = u32 or u64.")
    for name in ("start", "send"):
        if name not in cls.methods:
            signature = ", ".join(signature_of(name, cls.value.length > 0))
            _refuse(cls, f"{name} is missing. Write `def {name}({signature}): return ...`.")
    if cls.value.length and "done" in cls.methods:
        _refuse(cls, f"done is for values of one number, and value is {cls.value}. Leave done out.")
    if "activate" in cls.methods and cls.combine.idempotent:
        _refuse(
            cls,
            f"activate is for SUM, and combine is {cls.combine}: every better value is sent on. Leave activate out, or "
            "let send return what changes nothing.",
        )
    for name in cls.methods:
        if name not in SIGNATURES and name not in cls.totals:
            _refuse(
                cls,
                f"method {name} is none of {', '.join(SIGNATURES)}. Write its arithmetic into the method that uses it, "
                "or decorate it with @total.",
            )
