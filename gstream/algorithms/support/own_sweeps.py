"""What algorithms of users sweep with (gstream.records.users): arrays, and record kernels of theirs over pages."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numba.core.errors import NumbaError

from gstream.algorithms.support.session import Session
from gstream.engine.sweep_state import SweepState
from gstream.hostcode.bitmaps import bitmap
from gstream.hostcode.record_errors import refusal_of
from gstream.hostcode.records import load_kernel
from gstream.language.scalar_types import ScalarType
from gstream.records.users import UserKernel
from pagestore.errors import GstreamError, UsageError

TYPES = tuple(np.dtype(name) for name in ("u1", "u4", "u8", "i4", "i8", "f4", "f8", "?"))  # of arrays
LEAST_ATOMIC = 4  # bytes of an element that GPUs add to by an atomic


class Sweeps:
    """What an algorithm of the user's is handed: the graph's figures, arrays of its vertices, and `sweep`.

    vertices, edges (stored ones), directed, weighted: of the graph. Arrays are in store order, as `record.vertex` and
    neighbours are.
    """

    def __init__(self, session: Session, text: str = "") -> None:
        """text: the user's program; a checkpoint of another text is refused."""
        meta = session.meta
        self.vertices, self.edges, self.directed, self.weighted = (
            meta.vertices,
            meta.edges,
            meta.directed,
            meta.weighted,
        )
        self.count = 0  # of sweeps
        self.id_dtype = session.id_dtype
        self.weight_dtype = next(iter(session.engine.graph.tables.values())).weight_dtype
        self._session, self._text = session, text
        self._kept: SweepState | None = None

    def keep(self, **given: Any) -> SweepState:
        """What a checkpoint keeps: arrays, numbers and lists of numbers by name, as attributes of what is returned.
        They are filled if the run goes on from a checkpoint.

        `boundary()` of it after a sweep writes a checkpoint where one is due, `end()` follows the last sweep. Raises
        UsageError for a name that it has itself.
        """
        return self.keep_of((), **given)

    def keep_of(self, of: tuple[Any, ...], **given: Any) -> SweepState:
        """`keep`; of: what else the work rests on."""
        for name in given:
            if hasattr(SweepState, name) or name in ("made", "of", "final") or name.startswith("_"):
                raise UsageError(
                    f"keep: {name} is a name of its own. Pass it by another name, as my_{name.strip('_')}."
                )
        self._kept = self._session.keep(of=(self._text, *of), **given, made=self.count)
        self.count = int(self._kept.made)
        return self._kept

    def array(self, dtype: Any, fill: Any = 0, size: int | None = None) -> np.ndarray:
        """dtype[size], of all vertices if no size is said, filled with `fill`. Raises ResourceError past the cap."""
        made = np.full(self.vertices if size is None else size, fill, _dtype_of(dtype))
        self._session.reserve(made)
        return made

    def bits(self) -> np.ndarray:
        """uint64[ceil(vertices / 64)], no bit set."""
        made = bitmap(self.vertices)
        self._session.reserve(made)
        return made

    def degree(self, lists: str = "out") -> np.ndarray:
        """uint32 or uint64[vertices]: lengths of out-lists or in-lists."""
        return self._session.degree(lists)

    def copied(self, given: Any, dtype: Any = None) -> np.ndarray:
        """A copy; of an array of all vertices, in ascending order of IDs as results have them, in store order."""
        made = np.array(given, dtype)
        if made.shape == (self.vertices,) and self._session.store.meta.order != "natural":
            made = made[self._session.natural_ids()]
        self._session.reserve(made)
        return made

    def store_ids(self, ids: Any) -> np.ndarray:
        """uint64[n]: store IDs of vertices that the user names. Raises UsageError for one that is none."""
        several = isinstance(ids, Iterable) and not isinstance(ids, (str, bytes))
        return self._session.store.lookup(ids if isinstance(ids, np.ndarray) else list(ids) if several else [ids])

    def sweep(self, kernel: UserKernel, among: np.ndarray | None = None, **given: Any) -> None:
        """Call a kernel for all lists, or those of pages that hold a vertex whose bit is set in `among`.

        given: its arrays and numbers by name; `degree`, `in_degree` and `superstep`, the number of sweeps so far, are
        known. Raises UsageError where one is missing or of no use, ProgramError where its text does not suit the types.
        """
        if not isinstance(kernel, UserKernel):
            raise UsageError(f"sweep: {kernel!r} is no record kernel. Decorate it with gstream.record_kernel.")
        known: dict[str, Callable[[], Any]] = {
            "degree": self.degree,
            "in_degree": lambda: self.degree("in"),
            "superstep": lambda: self.count,
        }
        for name in given:
            if name not in kernel.parameters:
                raise lacks(kernel, f"has no parameter {name}; it has {', '.join(kernel.parameters)}")
        arguments = []
        for name in kernel.parameters:
            if name in given:
                arguments.append(given[name])
            elif name in known and name not in kernel.merges:
                arguments.append(known[name]())
            elif name in kernel.parameters_given and kernel.parameters_given[name].default is not None:
                arguments.append(kernel.parameters_given[name].default)
            else:
                raise lacks(kernel, f"is not given {name}")
        self._check(kernel, arguments)
        self._run(kernel, tuple(arguments), among)
        self.count += 1
        if self._kept is not None:
            self._kept.made = self.count

    def _run(self, kernel: UserKernel, arguments: tuple[Any, ...], among: np.ndarray | None) -> None:
        try:
            self._session.sweep_among(kernel.lists, kernel, arguments, among)
        except NumbaError as error:
            raise refusal_of(kernel, error) from None
        except GstreamError as error:
            if "nvcc does not compile" not in str(error):
                raise
            raise self._refused_by_nvcc(kernel, arguments, error) from None

    def _refused_by_nvcc(self, kernel: UserKernel, arguments: tuple[Any, ...], error: GstreamError) -> GstreamError:
        """The error with its line, which Numba knows if types are why."""
        empty = [np.empty(0, value.dtype) if isinstance(value, np.ndarray) else value for value in arguments]
        words = np.empty((0, 2), self.id_dtype)
        weights = [np.empty((0, 2), self.weight_dtype)] if kernel.uses_weights else []
        try:
            load_kernel(kernel)(words, *weights, np.empty((0, 3), np.int64), np.zeros(1, np.int64), *empty)
        except NumbaError as numbas:
            return refusal_of(kernel, numbas)
        return UsageError(f"{kernel.text.where(kernel.text.tree)}: {kernel.name}: {error}")

    def _check(self, kernel: UserKernel, arguments: list[Any]) -> None:
        """Raise UsageError for an argument that the kernel can't have."""
        if kernel.uses_weights and not self.weighted:
            raise lacks(kernel, "reads record.weight(), and the store has no weights")
        added, joined = changed_by(kernel, "atomic_add"), changed_by(kernel, "atomic_or")
        for name, value in zip(kernel.parameters, arguments, strict=True):
            if not isinstance(value, np.ndarray):
                if not isinstance(value, (bool, int, float, np.generic)):
                    raise lacks(kernel, f"is given {name}={value!r}, which is neither an array nor a number")
                continue
            if value.ndim != 1 or not value.flags.c_contiguous or value.dtype not in TYPES:
                known = ", ".join(str(dtype) for dtype in TYPES)
                said = f"is given {name} of {value.ndim} dimensions and {value.dtype}"
                raise lacks(kernel, f"{said}; arrays have one dimension and {known}")
            how = kernel.merges.get(name)
            if how == "or" and value.dtype.kind == "f":
                raise lacks(kernel, f"joins copies of {name} by or, and it holds floats")
            if name in added and value.dtype.itemsize < LEAST_ATOMIC:
                raise lacks(kernel, f"adds to {name} by an atomic; its {value.dtype} must be of 4 or 8 bytes")
            if name in joined and value.dtype != np.uint64:
                raise lacks(kernel, f"changes {name} by atomic_or; its {value.dtype} must be uint64")


def lacks(kernel: UserKernel, what: str) -> UsageError:
    """The error of a call that does not suit a kernel."""
    return UsageError(f"{kernel.text.where(kernel.text.tree)}: {kernel.name} {what}. Mend the call or the kernel.")


def changed_by(kernel: UserKernel, atomic: str) -> set[str]:
    """Arrays that a kernel's own text changes by an atomic."""
    calls = (node for node in ast.walk(kernel.tree) if isinstance(node, ast.Call) and node.args)
    return {
        node.args[0].id
        for node in calls
        if isinstance(node.func, ast.Name) and node.func.id == atomic and isinstance(node.args[0], ast.Name)
    }


def _dtype_of(kind: Any) -> np.dtype:
    return kind.dtype if isinstance(kind, ScalarType) else np.dtype(kind)
