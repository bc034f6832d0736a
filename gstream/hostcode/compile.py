"""`compile_host`: a program and the shape of a graph become `HostCode`, what devices run (see the package's docstring).

Machine code is made at a kernel's first call, or read from Numba's cache on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from gstream.hostcode.generate import load_module, premakes_messages
from gstream.language.program import Program
from gstream.language.python_printer import FIXED_INTS, Emitter, emitter_of
from gstream.language.relaxing import is_in_place, keeps_pace
from gstream.language.scalar_interpreter import interpreted
from gstream.language.scalar_types import NUMPY, type_of_dtype, vectors_of
from gstream.language.sending import sends_zero
from pagestore.errors import UsageError

Lookup = Callable[[Sequence[int | str]], np.ndarray]


@dataclass(frozen=True)
class GraphShape:
    """What a program's code depends on: counts, the dtypes of IDs and weights (None: no weights), and whether a weight
    may be below 0."""

    vertices: int
    edges: int
    id_dtype: np.dtype
    weight_dtype: np.dtype | None = None
    directed: bool = True
    below_zero: bool = False


class HostCode:
    """A compiled program; attributes and kernels are described in gstream.hostcode. `bound` gives it parameters."""

    program: Any
    sends_zero: bool

    def __init__(self, cls: Any, shape: GraphShape, limited: bool) -> None:
        weight = None if shape.weight_dtype is None else type_of_dtype(shape.weight_dtype)
        self.shape = shape
        emitter = emitter_of(cls, weight)
        self.uses_edge = ("e", "weight") in emitter.reads()
        if self.uses_edge and weight is None:
            raise UsageError(
                f"{emitter.lowered['send'].method.where(emitter.lowered['send'].method.tree)}: {cls.__name__} reads "
                "e.weight, but the graph has no weights. Convert it with a weight column, or choose another program."
            )
        self.value_dtype = cls.value.dtype
        self.vector = cls.value.length > 0
        self.got_dtype = vectors_of(NUMPY[emitter.types.got], cls.value.length)
        self.identity = self.value_dtype.base.type(cls.identity())
        self.idempotent = cls.combine.idempotent
        self.in_place = is_in_place(cls, emitter, limited, shape.below_zero)
        self.synchronous = not self.in_place or keeps_pace(cls, emitter)
        self.premessage = premakes_messages(cls, emitter)
        self.has_done = "done" in cls.methods
        self.totals = cls.totals
        self.no_weights = np.zeros((0, 0), np.uint8)
        self._reads = {name for _, name in emitter.reads()} & {"degree", "in_degree", "weight"}
        self.uses_degree = "degree" in self._reads
        self.emitter = emitter
        self._halt = interpreted(emitter, ["halt"]).halt if "halt" in cls.methods else None
        self.module = load_module(cls, emitter, self.in_place)
        self.sends_anew = self.module.SENDS_ANEW
        self.applies_anew = self.module.APPLIES_ANEW
        self._kernels()

    def bound(self, program: Program, lookup: Lookup | None) -> HostCode:
        """The code of one program of the class: the same kernels, with its parameters."""
        code = copy(self)
        code.program = program
        code._bind(program, self.emitter, lookup)
        code.sends_zero = not self.idempotent and sends_zero(program, self.emitter)
        return code

    def _kernels(self) -> None:
        """Kernels by the names that the package's docstring uses; a program has only those that suit it."""
        module = self.module
        self.start, self.reopen = module.start_kernel, getattr(module, "reopen_kernel", None)
        self.message, self.apply = module.message_kernel, module.apply_kernel
        self.push, self.push_records, self.pull = module.push_kernel, module.push_records_kernel, module.pull_kernel
        self.push_onward = getattr(module, "push_onward_kernel", None)
        self.pull_told = getattr(module, "pull_told_kernel", None)
        self.forget = getattr(module, "forget_kernel", None)
        self.apply_again = getattr(module, "apply_again_kernel", None)
        self.sum_onward = getattr(module, "sum_onward_kernel", None)
        self.pull_records = getattr(module, "pull_records_kernel", None)
        self.pull_heads = None if self.uses_edge else getattr(module, "pull_heads_kernel", None)

    def _bind(self, program: Program, emitter: Emitter, lookup: Lookup | None) -> None:
        """Fill the context arrays from the program's parameters; Vertex and Vertices become store IDs."""
        translate = lookup or (lambda ids: np.asarray(ids, np.uint64))
        sets, own, members = {}, [], [np.zeros(0, np.uint64)]
        self.ints = np.zeros(len(emitter.int_names), np.int64)
        self.floats = np.zeros(max(1, len(emitter.float_names)), np.float64)
        values: dict[str, Any] = {"vertices": self.shape.vertices, "edges": self.shape.edges, "superstep": 0}
        for name, parameter in type(program).parameters.items():
            given = getattr(program, name)
            if parameter.kind == "Vertex":
                given = int(translate([given])[0])
            elif parameter.kind == "Vertices":
                sets[name] = np.unique(np.asarray(translate(list(given)), np.uint64)) if given else members[0]
                first = sum(map(len, members))
                members.append(sets[name])
                values |= {f"{name}.first": first, f"{name}.end": first + len(sets[name])}
            elif parameter.kind == "PerVertex":
                if np.shape(given) != (self.shape.vertices,):
                    raise UsageError(
                        f"{type(program).__name__}: parameter {name} has shape {np.shape(given)}; it needs one number "
                        f"for each of the {self.shape.vertices} vertices. Pass an array of that length."
                    )
                own.append(given)
            values[name] = given
        for index, name in enumerate(emitter.int_names):
            self.ints[index] = np.uint64(int(values[name]) & (2**64 - 1)).astype(np.int64)
        for index, name in enumerate(emitter.float_names):
            self.floats[index] = values.get(name, 0.0)
        self.members = np.concatenate(members)
        if own and all(given.strides == (0,) for given in map(np.asarray, own)):  # of a plan: no memory
            self.own = np.broadcast_to(0.0, (self.shape.vertices, len(own)))
            return
        columns = np.stack(own, axis=1) if len(own) > 1 else np.reshape(own[0], (-1, 1)) if own else np.zeros((0, 0))
        self.own = np.ascontiguousarray(columns)  # one parameter is not copied: hits begins twenty runs

    def reads(self) -> set[str]:
        """Which attributes the program reads: of "degree", "in_degree" and "weight"."""
        return set(self._reads)

    @property
    def superstep(self) -> int:
        """g.superstep, of what is launched now: 0 at the start."""
        return int(self.ints[FIXED_INTS.index("superstep")])

    def set_superstep(self, superstep: int) -> None:
        self.ints[FIXED_INTS.index("superstep")] = superstep

    def context(self, nbytes: int) -> bytes:
        """The context as it stands, of so many bytes, as a GPU's kernels take it by value."""
        return (self.ints.tobytes() + self.floats.tobytes())[:nbytes]  # floats has one entry at least

    def set_totals(self, partials: np.ndarray) -> dict[str, float]:
        """Sum partials (float64[blocks, totals]) in block order into g.<total>; returns them by name."""
        with np.errstate(all="ignore"):  # values of a program that diverges
            for index in range(len(self.totals)):
                # one addition after the other: numpy.sum's pairwise order depends on the number of blocks it is given
                self.floats[index] = np.add.accumulate(partials[:, index])[-1] if len(partials) else 0.0
        return dict(zip(self.totals, self.floats.tolist(), strict=False))

    def halt(self) -> bool:
        """Whether the program wants to stop, with the totals last set."""
        if self._halt is None:
            return False
        with np.errstate(all="ignore"):
            return bool(self._halt((*self.ints, *self.floats)))

    def compiled(self) -> int:
        """How many kernels this process compiled because the cache on disk had none."""
        kernels = [item for name, item in vars(self.module).items() if name.endswith("_kernel")]
        return sum(sum(kernel.stats.cache_misses.values()) for kernel in kernels)


def compile_host(program: Program, shape: GraphShape, lookup: Lookup | None = None, limited: bool = False) -> HostCode:
    """Compile `program` for graphs of `shape`; `lookup` turns users' IDs into store IDs (default: they are equal).

    limited: supersteps are counted, or looked at: they are synchronous (gstream.language.relaxing). Raises UsageError
    where the program reads weights that the graph has not, and what `lookup` raises.
    """
    cls: Any = type(program)
    return _code_of(cls, shape, limited).bound(program, lookup)


@lru_cache(maxsize=64)
def _code_of(cls: Any, shape: GraphShape, limited: bool) -> HostCode:
    """What all programs of a class have in common; making it takes a quarter of a short call."""
    return HostCode(cls, shape, limited)
