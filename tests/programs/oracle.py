"""The oracle: a program run by plain Python over a list of edges, slow and exact.

It shares the scalar functions of a program with the engine (gstream.language.scalar_interpreter) and nothing else: no
pages, frontiers or threads. Supersteps are synchronous, and every vertex applies its combined value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gstream.language.python_printer import Emitter
from gstream.language.scalar_interpreter import interpreted
from gstream.language.scalar_types import NUMPY, type_of_dtype


@dataclass(frozen=True)
class Interpreted:
    """What a run gave: values in vertex order, supersteps made, whether it ended by itself, the last totals."""

    values: np.ndarray
    supersteps: int
    converged: bool
    totals: dict[str, float]


def interpret(
    program: Any,
    vertices: int,
    source: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    max_supersteps: int = 1000,
) -> Interpreted:
    """Run a Program over edges source[i] -> target[i] of vertices 0..vertices-1 (Vertex parameters are such IDs)."""
    with np.errstate(all="ignore"):  # integers wrap and x / 0 is inf, silently
        return _Interpreter(program, vertices, source, target, weight).run(max_supersteps)


class _Interpreter:
    def __init__(self, program: Any, vertices: int, source: np.ndarray, target: np.ndarray, weight: Any) -> None:
        cls = type(program)
        kind = None if weight is None else type_of_dtype(weight.dtype)
        self.program, self.cls, self.vertices = program, cls, vertices
        if cls.backward:
            source, target = target, source
        self.edges = list(zip(source.tolist(), target.tolist(), strict=True))
        self.weight = weight if weight is not None else np.zeros(len(self.edges), np.uint8)
        self.degree = np.bincount(source, minlength=vertices).astype(np.int64)
        self.in_degree = np.bincount(target, minlength=vertices).astype(np.int64)
        self.emitter = Emitter(cls, kind)
        self.run_method = interpreted(self.emitter, list(cls.methods))
        own = [getattr(program, name) for name in self.emitter.own_names]
        self.own = np.stack(own, axis=1) if own else np.zeros((0, 0))
        self.got_type = NUMPY[self.emitter.types.got].type
        self.identity = cls.value.dtype.type(cls.identity())
        self.members: np.ndarray = np.zeros(0, np.uint64)
        self.superstep = 0
        self.totals = dict.fromkeys(cls.totals, 0.0)

    def context(self) -> tuple[Any, ...]:
        """What gstream.language.python_printer's `ctx` holds, from the program itself."""
        values: dict[str, Any] = {"vertices": self.vertices, "edges": len(self.edges), "superstep": self.superstep}
        members: list[int] = []
        for name, parameter in self.cls.parameters.items():
            given = getattr(self.program, name)
            if parameter.kind == "Vertices":
                values |= {f"{name}.first": len(members), f"{name}.end": len(members) + len(given)}
                members += [int(item) for item in given]
            values[name] = given
        self.members = np.array(members, np.uint64)
        ints = [np.uint64(int(values[name]) & (2**64 - 1)).astype(np.int64) for name in self.emitter.int_names]
        floats = [np.float64({**values, **self.totals}[name]) for name in self.emitter.float_names]
        return (*ints, *floats)

    def run(self, max_supersteps: int) -> Interpreted:
        ctx = self.context()
        values = [
            self.run_method.start(v, self.degree[v], self.in_degree[v], self.own, v, self.members, ctx)
            for v in map(np.int64, range(self.vertices))
        ]
        self.sum_totals(values, values)
        active = [value != self.identity for value in values]
        ended = self.vertices == 0 or (self.cls.combine.idempotent and not any(active))  # SUM: all are, at the start
        while self.superstep < max_supersteps and not ended:
            self.superstep += 1
            before, values = values, self.step(values, active)
            self.sum_totals(values, before)
            active = [not (new == old or (new != new and old != old)) for new, old in zip(values, before, strict=True)]
            ended = self.halts() or not any(active)  # halt is asked after a superstep, never before the first
        return self.result(values, ended)

    def halts(self) -> bool:
        return "halt" in self.cls.methods and bool(self.run_method.halt(self.context()))

    def result(self, values: list[Any], converged: bool) -> Interpreted:
        return Interpreted(np.array(values, self.cls.value.dtype), self.superstep, converged, dict(self.totals))

    def step(self, values: list[Any], active: list[bool]) -> list[Any]:
        ctx, name = self.context(), self.cls.combine.name
        got = [self.got_type(self.cls.identity())] * self.vertices
        for index, (u, v) in enumerate(self.edges):
            if self.cls.combine.idempotent and (not active[u] or values[u] == self.identity):
                continue
            sent = self.got_type(self.run_method.send(np.int64(u), values[u], self.degree[u], self.weight[index], ctx))
            got[v] = self.combined(name, got[v], sent)
        if "apply" not in self.cls.methods:
            if name == "SUM":
                return [self.cls.value.dtype.type(item.astype(self.cls.value.dtype)) for item in got]
            return [self.combined(name, old, new) for old, new in zip(values, got, strict=True)]
        return [
            self.run_method.apply(np.int64(v), values[v], self.degree[v], self.in_degree[v], got[v], self.own, v, ctx)
            for v in range(self.vertices)
        ]

    @staticmethod
    def combined(name: str, old: Any, new: Any) -> Any:
        if name == "SUM":
            return old + new
        if name == "OR":
            return old | new
        return new if (new < old if name == "MIN" else new > old) else old

    def sum_totals(self, values: list[Any], before: list[Any]) -> None:
        ctx = self.context()
        for name in self.totals:
            method = getattr(self.run_method, name)
            self.totals[name] = float(
                sum(
                    method(np.int64(v), values[v], before[v], self.degree[v], self.in_degree[v], self.own, v, ctx)
                    for v in range(self.vertices)
                )
            )
