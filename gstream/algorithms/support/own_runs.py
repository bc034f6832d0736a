"""Runs a record kernel or an algorithm of the user's: its parameters, arrays, supersteps, columns (GStream thesis 3.5).

A kernel alone is the thesis's K_Q. It is called for all lists once; one with a `frontier` as often as it sets bits of
`next_frontier`, each time for the pages of the vertices whose bits were set (nextPIDSet).
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import numpy as np

from gstream.algorithms.support.arguments import source_ids
from gstream.algorithms.support.own_sweeps import Sweeps, lacks
from gstream.algorithms.support.session import Session
from gstream.engine.sweep_state import Arrays
from gstream.hostcode.bitmaps import bits_where, count_bits, set_bits
from gstream.records.declare import SIZE
from gstream.records.users import BITS, GIVEN, NEXT, UserAlgorithm, UserKernel
from gstream.results.column import Column
from gstream.results.result import Result
from pagestore.errors import UsageError
from pagestore.nearnames import spelled

Runnable = UserKernel | UserAlgorithm


def run_own(engine: Any, own: Runnable, given: dict[str, Any]) -> Result:
    """Run a kernel or an algorithm on an engine. given: its parameters, and arrays.

    Raises UsageError for parameters that it does not have, or lacks, and for options that it can't honour.
    """
    if engine.options.checkpoint is not None and isinstance(own, UserKernel) and "frontier" not in own.parameters:
        raise UsageError(f"--checkpoint: {own.name} sweeps once, so there is nothing to go on from. Leave it out.")
    if engine.options.max_supersteps is not None and (
        isinstance(own, UserAlgorithm) or "frontier" not in own.parameters
    ):
        raise UsageError(
            f"--max-supersteps: {own.name} has no frontier whose supersteps could be counted. Leave it out."
        )
    numbers = read_parameters(own, given)
    said = {name: given.get(name, one.default) for name, one in own.parameters_given.items()}
    with Session(engine, own.name, said) as session, session.keeping():
        sweeps = Sweeps(session, ast.unparse(own.text.tree))
        if isinstance(own, UserKernel):
            found, converged = _run_kernel(sweeps, own, numbers, given, engine.options.max_supersteps)
            columns, facts = _columns_of(own, sweeps, found)
            first = next(iter(found), "")
            best = "least" if own.merges.get(first) == "min" else "largest"
        else:
            columns, facts = _answer_of(own, sweeps, own.function(sweeps, **numbers))
            converged, best = True, "largest"
        shown = {name: value for name, value in given.items() if isinstance(value, (int, float, str, bool))}
        summary = {"algorithm": own.name, "store": session.store.path, "options": shown} | facts
        return Result(session.store, columns, summary | session.finish(sweeps.count, converged), best)


def stand_in_for(session: Session, kernel: UserKernel, given: dict[str, Any]) -> Any:
    """A program that moves what the kernel's first superstep does; the kernel's arrays count as held beside it."""
    from gstream.programs.pagerank import PageRank
    from gstream.programs.wcc import WCC, WCC64

    read_parameters(kernel, given)
    sweeps = Sweeps(session)
    for name in kernel.merges:
        _array_of(sweeps, kernel, name, None)
    engine = session.engine
    engine.options = replace(engine.options, direction="push" if kernel.lists == "out" else "pull")
    if "frontier" in kernel.parameters:
        return WCC() if session.meta.id_bytes == 4 else WCC64()
    return PageRank()


def read_parameters(own: Runnable, given: dict[str, Any]) -> dict[str, Any]:
    """Values of the parameters that are numbers or vertices. Raises UsageError."""
    arrays = set(own.parameters) - {*GIVEN, NEXT} if isinstance(own, UserKernel) else set[str]()
    for name in given:
        if name not in own.parameters_given and name not in arrays:
            known = ", ".join(own.parameters_given) or "none"
            raise UsageError(f"{own.name} has no parameter {name!r}; it has {known}. "
                             f"{spelled(name, [*own.parameters_given, *arrays])}")  # fmt: skip
    values = {}
    for name, parameter in own.parameters_given.items():
        value = given.get(name, parameter.default)
        if value is None:
            raise UsageError(f"{own.name}: parameter {name} is not given and has no default. Pass {name}=...")
        values[name] = parameter.convert(value, own.name)
    return values


def _run_kernel(
    sweeps: Sweeps, kernel: UserKernel, numbers: dict[str, Any], given: dict[str, Any], limit: int | None
) -> tuple[dict[str, np.ndarray], bool]:
    """({written array: its values}, whether no vertex is left in the frontier)."""
    sources = numbers.pop("source", None)
    arrays = {}
    for name in kernel.parameters:
        if name in numbers or (name in GIVEN and name not in kernel.merges) or name == NEXT:
            continue
        arrays[name] = _array_of(sweeps, kernel, name, given.get(name))
    written = {name: array for name, array in arrays.items() if name in kernel.merges}
    if "frontier" not in kernel.parameters:
        sweeps.sweep(kernel, **arrays, **numbers, **_next(sweeps, kernel))
        return written, True
    frontier, following = sweeps.bits(), sweeps.bits()
    if sources:
        set_bits(frontier, sweeps.store_ids(source_ids(sources, kernel.name)))
    else:
        frontier[:] = bits_where(np.ones(sweeps.vertices, np.bool_))
    ahead = {NEXT: following} if NEXT in kernel.parameters else {}
    read = {name: array for name, array in arrays.items() if name not in written}
    kept = sweeps.keep_of((*read.values(),), frontier=frontier, arrays_written=Arrays(written.values()))
    for (name, _), array in zip(written.items(), kept.arrays_written, strict=True):
        arrays[name] = written[name] = array
    if limit is not None:
        kept.check_limit(sweeps.count, limit)
    while count_bits(frontier) and (limit is None or sweeps.count < limit):
        following[:] = 0
        sweeps.sweep(kernel, frontier, frontier=frontier, **arrays, **numbers, **ahead)
        frontier[:] = following
        kept.boundary()
    kept.end()
    return written, not count_bits(frontier)


def _next(sweeps: Sweeps, kernel: UserKernel) -> dict[str, np.ndarray]:
    return {NEXT: sweeps.bits()} if NEXT in kernel.parameters else {}


def _array_of(sweeps: Sweeps, kernel: UserKernel, name: str, given: Any) -> np.ndarray:
    """The array that a run makes for a parameter: what changes nothing, or a copy of what the caller gave."""
    kind = kernel.types.get(name, "uint64[]" if name in kernel.merges else "")
    if given is not None and not isinstance(given, (bool, str)):
        return sweeps.copied(given, dtype_of(sweeps, kind) if kind else None)
    if not kind:
        raise lacks(kernel, f"is not given {name}; it is an array, which Python alone can pass, or the decorator says "
                     f"its type, as {name}=\"uint64[]\"")  # fmt: skip
    if kind == BITS:
        return sweeps.bits()
    dtype, size = dtype_of(sweeps, kind), (SIZE.search(kind) or ["", ""])[1]
    return sweeps.array(dtype, identity_of(kernel.merges.get(name, ""), dtype), int(size) if size else None)


def dtype_of(sweeps: Sweeps, kind: str) -> np.dtype:
    """The type of an array's elements by the decorator's word."""
    element = SIZE.sub("", kind)
    own = {"id": sweeps.id_dtype, BITS: np.uint64, "weight": sweeps.weight_dtype}
    return np.dtype(own.get(element, element))


def identity_of(how: str, dtype: np.dtype) -> Any:
    """What an array begins with: what the first value of a kernel's replaces."""
    if how not in ("min", "max") or dtype.kind == "b":
        return 0
    if dtype.kind == "f":
        return np.inf if how == "min" else -np.inf
    return np.iinfo(dtype).max if how == "min" else np.iinfo(dtype).min


def _columns_of(
    kernel: UserKernel, sweeps: Sweeps, arrays: dict[str, np.ndarray]
) -> tuple[list[Column], dict[str, Any]]:
    """Written arrays of all vertices as columns, arrays of one element as numbers of the summary."""
    columns, facts = [], dict[str, Any]()
    for name, array in arrays.items():
        if kernel.types.get(name) == BITS:
            columns.append(_column(name, _flags(array, sweeps.vertices)))
        elif kernel.types.get(name, "[]").endswith("[]"):
            how = kernel.merges[name]
            columns.append(_column(name, array, identity_of(how, array.dtype) if how == "min" else None))
        else:
            facts[name] = array[0].item() if len(array) == 1 else array.tolist()
    return columns, facts


def _answer_of(own: UserAlgorithm, sweeps: Sweeps, answer: Any) -> tuple[list[Column], dict[str, Any]]:
    """What a function returned, as columns and facts. Raises UsageError where it is neither."""
    if not isinstance(answer, dict):
        raise UsageError(
            f"{own.text.where(own.text.tree)}: {own.name} returned {type(answer).__name__}. Return {{name: array of "
            "all vertices, or number}}."
        )
    columns, facts = [], dict[str, Any]()
    for name, value in answer.items():
        if isinstance(value, np.ndarray) and value.shape == (sweeps.vertices,) and value.dtype.kind in "uifb":
            columns.append(_column(name, value))
        elif isinstance(value, (bool, int, float, str, np.generic)):
            facts[name] = value.item() if isinstance(value, np.generic) else value
        else:
            raise UsageError(
                f"{own.text.where(own.text.tree)}: {own.name} returned {name} as {type(value).__name__}"
                f"{getattr(value, 'shape', '')}. Return arrays of all {sweeps.vertices} vertices, and numbers."
            )
    return columns, facts


def _column(name: str, values: np.ndarray, missing: Any = None) -> Column:
    values = values.astype(np.uint8) if values.dtype.kind == "b" else values
    dtype = values.dtype if values.dtype.kind == "f" or values.dtype.itemsize == 8 else np.dtype(np.int64)
    return Column(name, values, missing, dtype=dtype)


def _flags(bits: np.ndarray, vertices: int) -> np.ndarray:
    return np.unpackbits(bits.view(np.uint8), count=vertices, bitorder="little")
