"""What a checkpoint keeps of a program that runs, and by what it is known again.

What is kept does not depend on devices: vertices that are held back (gstream.engine.delta_stepping) are in the
frontier's bitmap, and are found again by their values, as are those that wait (gstream.engine.small_frontier); open
bits, messages and caches are made again. So a run goes on on other devices.
"""

from __future__ import annotations

import ast
import hashlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gstream.devices.host.rank_values import RankValues
from gstream.engine.slot_files import Saved, Share
from gstream.hostcode.generate import BLOCK
from gstream.language.program import Program
from pagestore.errors import InputError

MOST_SHOWN = 80  # characters of a parameter; of longer ones their hash is compared


@dataclass(frozen=True)
class KeptValues:
    """The values of all vertices in a slot, which are read when they are asked for, some or all. shape: of all."""

    found: Saved
    shape: tuple[int, ...]

    def __getitem__(self, part: slice) -> np.ndarray:
        """Those of vertices [part.start, part.stop)."""
        length = math.prod(self.shape[1:])
        values = self.found.part(ARRAYS[0], part.start * length, part.stop * length)
        return values.reshape(-1, *self.shape[1:])

    def whole(self) -> np.ndarray:
        """All."""
        return self[0 : self.shape[0]]


@dataclass
class State:
    """A run between two supersteps.

    value: value[V] in store order, or value[V, length]; of ranks with slices each has its own; active:
    uint64[ceil(V / 64)], those held back too; partials: float64[blocks, totals]; near_step: what the frontier was cut
    with, None where it was not; in_place: values may have come farther than an edge a superstep
    (gstream.language.relaxing); order_step, order_limit: of a frontier whose least values send first
    (gstream.engine.small_frontier), else None; the rest is gstream.engine.direction's.
    """

    value: np.ndarray | RankValues | KeptValues
    active: np.ndarray
    partials: np.ndarray
    superstep: int
    near_step: float | None
    unexplored: int
    pulled: bool
    last_vertices: int
    in_place: bool
    order_step: float | None
    order_limit: float | None

    def arrays(self) -> dict[str, np.ndarray | Share]:
        """The arrays by name, of which ranks with slices have shares."""
        arrays = {name: getattr(self, name) for name in ARRAYS}
        if isinstance(self.value, RankValues):
            own, first, length = self.value.own, self.value.part[0], math.prod(self.value.own.shape[1:])
            arrays[ARRAYS[0]] = Share(own.reshape(-1), first * length, self.value.size * length)
        return arrays

    def numbers(self) -> dict[str, Any]:
        """Everything but the arrays, for JSON."""
        return {name: value for name, value in vars(self).items() if name not in ARRAYS}


ARRAYS = ("value", "active", "partials")
NONE = type(None)
WRITTEN = {  # types of a state's numbers
    "superstep": (int,), "near_step": (float, int, NONE), "unexplored": (int,), "pulled": (bool,),
    "last_vertices": (int,), "in_place": (bool,), "order_step": (float, NONE), "order_limit": (float, NONE),
}  # fmt: skip


def state_of(found: Saved, program: Program, vertices: int) -> State:
    """The program's state that a slot holds. Raises InputError if it is of a graph of another size."""
    shapes, blocks = shapes_of(program, vertices), -(-vertices // BLOCK)
    if {name: found.shapes.get(name) for name in ARRAYS} != shapes:
        raise InputError(f"{found.path}: is no checkpoint of this graph and program. Start afresh: pass --force.")
    arrays = found.read({name: np.empty(count, dtype) for name, (dtype, count) in shapes.items() if name != ARRAYS[0]})
    if vertices % 64 and int(arrays["active"][-1]) >> vertices % 64:
        raise InputError(f"{found.path}: has vertices past the graph's last. Start afresh: pass --force.")
    partials = arrays["partials"].reshape(blocks, len(program.totals))
    values = KeptValues(found, (vertices, *type(program).value.dtype.shape))
    return State(values, arrays["active"], partials, **found.description["state"])


def shapes_of(program: Program, vertices: int) -> dict[str, tuple[np.dtype, int]]:
    """Type and length of each array of a state."""
    blocks, words, kind = -(-vertices // BLOCK), -(-vertices // 64), type(program).value
    return {
        "value": (kind.dtype.base, vertices * max(1, kind.length)), "active": (np.dtype(np.uint64), words),
        "partials": (np.dtype(np.float64), blocks * len(program.totals)),
    }  # fmt: skip


def hash_of(program: type[Program]) -> str:
    """What a program computes, as 32 hexadecimal digits: its algebra and its methods, comments and layout apart."""
    text = [program.combine.name, str(program.value), str(program.backward)]
    text += [f"{p.name}: {p.kind}" for p in program.parameters.values()]
    text += [ast.unparse(program.methods[name].tree) for name in sorted(program.methods)]
    return hashlib.blake2b("\n".join(text).encode(), digest_size=16).hexdigest()


def ends_of(program: type[Program]) -> set[str]:
    """Parameters that say only when a run ends, as a tolerance: those that `halt` reads and no other method."""
    read = {name: _parameters_read(method.tree) for name, method in program.methods.items()}
    return read.get("halt", set()) - set().union(*(names for name, names in read.items() if name != "halt"))


def _parameters_read(method: ast.AST) -> set[str]:
    """Names of the attributes of `self` in a method."""
    return {
        node.attr for node in ast.walk(method)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    }  # fmt: skip


def shown(value: Any) -> str:
    """A parameter as text that is equal for equal values only: long ones by their hash."""
    if isinstance(value, np.ndarray):
        return f"array {hashlib.blake2b(np.ascontiguousarray(value).tobytes(), digest_size=16).hexdigest()}"
    text = repr(tuple(map(str, value)) if isinstance(value, tuple) else value)  # vertices: 7 is "7"
    return text if len(text) <= MOST_SHOWN else hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def say(value: Any) -> str | None:
    """An option as a message says it, None for one that was left out: the same text for equal values only."""
    if value is None or isinstance(value, np.ndarray):
        return None if value is None else shown(value)
    text = ", ".join(map(str, value)) if isinstance(value, (list, tuple, set, range)) else str(value)
    if len(text) <= MOST_SHOWN:
        return text
    return f"{text[: MOST_SHOWN // 2]}... ({hashlib.blake2b(text.encode(), digest_size=4).hexdigest()})"
