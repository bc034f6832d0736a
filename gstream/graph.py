"""`gstream.open`: a store as a Python object with the algorithms as methods."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from gstream.algorithms.execute import execute
from gstream.algorithms.registry import find_algorithm
from gstream.engine.rank_parts import open_for
from gstream.engine.turns import GRAPHS, Turn, in_turn
from gstream.language.loading import is_program_path, load_program
from gstream.language.program import Program
from gstream.methods import Methods
from gstream.options.run_options import RunOptions
from gstream.options.stopping import StopRequest, interrupts_keep
from gstream.options.wording import in_python
from gstream.paging.kept_memory import MEMORY
from gstream.reading.views import Views
from gstream.results.column import Column
from gstream.results.pieces import rest
from gstream.results.result import Result, count_not_finite
from pagestore import Store
from pagestore.concurrency import LOADING
from pagestore.errors import UsageError
from pagestore.hdf5 import StoreFile
from pagestore.nearnames import meant_by

T = TypeVar("T")
RUN_OPTIONS = {entry.name for entry in fields(RunOptions)}
OWN_OF_PROCESS = {"progress", "stop", "trace", "ranks"}  # options that another process has no use for


@in_python()
def open_graph(
    path: str | os.PathLike, *, stripe: str | os.PathLike | Sequence[str | os.PathLike] = (), **options: Any
) -> Graph:
    """Open the store at `path`. options: RunOptions by name, defaults of every run (host_memory="1GiB", threads=4).

    stripe: folders with the other files of a striped store; those below the store's own folder are found without it.
    Raises StoreError when it is no store, cut or damaged, or lacks a stripe, UsageError on unknown options and on what
    is no path.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise UsageError(f'{path!r}: is no path of a store. Pass one, as gstream.open("web.gs").')
    return Graph(path, stripe, **options)


class Graph(Methods, Views):
    """An open store. Pages that were read stay in memory, as far as the options allow, until `close`.

    Every method that runs something takes RunOptions by name beside its own (devices, host_memory, threads, ...).

    Threads may share a graph: one call works at a time, the others wait for it. A call from within a callback of
    another one (progress) is refused: UsageError. Several graphs work at the same time, also of one store.

    A forked child may use the graph, and begins with no page in memory; not on GPUs that its parent has used.
    Pickled or copied, a graph opens its store again, with the same options but progress, stop and trace: StoreError
    where another store is there since.
    """

    def __init__(
        self, path: str | os.PathLike | Store, stripe: str | os.PathLike | Sequence[str | os.PathLike] = (),
        **options: Any,
    ) -> None:  # fmt: skip
        self._defaults = options
        self._options(options)
        folders = [stripe] if isinstance(stripe, str | os.PathLike) else stripe
        self._store = path if isinstance(path, Store) else open_for(path, folders, options.get("ranks"))
        self.conversion: dict[str, Any] = {}
        self._turn = Turn(self._store.path)
        self._taken = _Taken(self._store)
        self._finalizer = weakref.finalize(self, self._taken.give_back)
        self._stop = StopRequest()
        self._closed = False
        GRAPHS.add(self)

    def __enter__(self) -> Graph:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        meta = self._store.meta
        stored = "" if meta.directed else f" ({meta.edges} stored)"
        kind = "directed" if meta.directed else "undirected"
        return f"<Graph {self._store.path}: {meta.vertices} vertices, {meta.graph_edges} {kind} edges{stored}>"

    @in_turn
    def close(self) -> None:
        """Give pages, threads, devices and the file back, after the call that another thread makes.

        Results stay readable: where IDs of many vertices, or edges, lie in the store, they open it for as long as they
        read from it.
        """
        self._taken.give_back()
        self.forget_samples()
        self._closed = True

    @in_turn
    def release(self) -> None:
        """Give pages, threads, devices and memory that is kept for the next call back. The graph stays open, and the
        next call takes what it needs anew. What results hold stays with them."""
        self._taken.close_engine()
        self.forget_samples()
        self._store.forget_names()

    def begin_again(self) -> None:
        """What a forked child does first: it leaves threads and devices to the parent, and waits for no lock."""
        self._turn, self._stop = Turn(self._store.path), StopRequest()
        self._taken.leave_engine()
        self._sampling = None

    def __reduce__(self) -> tuple[Any, ...]:
        if self._closed:
            raise UsageError(
                f"{self._store.path}: the graph was closed, and is copied or pickled only while it is open."
            )
        options = {name: value for name, value in self._defaults.items() if name not in OWN_OF_PROCESS}
        kept = self._store if not self._store.file.has_name else self._store.file
        return _open_again, (kept, self._store.folders, options)

    @property
    def store(self) -> Store:
        """The open store. Raises UsageError once the graph is closed."""
        if self._closed:
            raise UsageError(f"{self._store.path}: the graph was closed. Open it again with gstream.open.")
        return self._store

    @property
    def info(self) -> dict[str, Any]:
        """Facts of the graph and of its store, as plain values. edges: undirected ones each once; stored_edges: the
        records of one topology, where an undirected edge has two."""
        from dataclasses import asdict

        meta = self._store.meta
        counts = {"edges": meta.graph_edges, "stored_edges": meta.edges}
        return asdict(meta) | counts | {"path": self._store.path, "file_bytes": self._store.file_bytes}

    @in_python()
    def execute(self, algorithm: str, own: dict[str, Any], certify: bool = False, **options: Any) -> Result:
        """Run an algorithm by name with its own options and RunOptions; what the methods of algorithms call.

        report: a file for a page about the run (gstream[report]), beside RunOptions; force: over one that exists.
        """
        found, page, force = find_algorithm(algorithm), options.pop("report", None), options.pop("force", None)
        also = (*found.defaults, *(["certify"] if found.proof else []), "report", "force")
        _check_names(options, also, f"{algorithm} has {', '.join(also)}")

        def call(options: dict[str, Any]) -> Result:
            return self._work(options, lambda engine: _executed(found, engine, own, certify))

        if page is None:
            if force is not None:
                raise UsageError("force: replaces the file of report=, which is not given. Leave it out.")
            return call(options)
        shown = {name: value for name, value in own.items() if value != found.defaults.get(name)}
        return self._reported(page, options, call, algorithm, shown, found, bool(force))

    @in_python()
    def plan(self, algorithm: Any, **given: Any) -> dict[str, Any]:
        """What a run will hold, move and take, as `gstream plan --json`; nothing is run.

        algorithm: a name, with its own options among those given, or what `run` takes, with its parameters.
        call_seconds: of the call, the first reading of its pages included: least, usual, most; rests_on says by what.
        Raises CapError where a memory cap is too small.
        """
        from gstream.algorithms.plans import facts_of, facts_of_own

        own = {name: given.pop(name) for name in list(given) if name not in RUN_OPTIONS}
        limit = given.get("max_supersteps")
        if isinstance(algorithm, str) and not is_program_path(algorithm):
            own = find_algorithm(algorithm).checked(own)
            return self._work(given, lambda engine: facts_of(algorithm, engine, own, limit))
        program = load_program(algorithm) if isinstance(algorithm, str) else algorithm
        if isinstance(program, Program):
            program = in_store_order(program, self.store)
        return self._work(given, lambda engine: facts_of_own(program, engine, own, limit))

    @in_python()
    def run(self, program: Any, **given: Any) -> Result:
        """Run a program of your own: a class, an instance, or "file.py:CLASS". Columns vertex, value.

        Or a function under gstream.record_kernel or gstream.algorithm; its arrays are the columns.

        given: the program's parameters, and RunOptions that are not parameters of it. Arrays of PerVertex parameters,
        an instance's too, have their numbers in the order of every result's rows: ascending vertex IDs. Values of MIN
        programs that are INF are null. report, force: a file for a page about the run, as of algorithms.
        """
        parameters_of = program if isinstance(program, type) else type(program)
        if given.get("report") is not None and "report" not in getattr(parameters_of, "parameters", ()):
            page = given.pop("report")
            force = "force" not in getattr(parameters_of, "parameters", ()) and bool(given.pop("force", False))
            name = program if isinstance(program, str) else getattr(program, "__name__", type(program).__name__)
            named = {key: value for key, value in given.items() if key not in RUN_OPTIONS}
            options = {key: value for key, value in given.items() if key in RUN_OPTIONS}
            return self._reported(
                page, options, lambda options: self.run(program, **named, **options), name, named, force=force
            )
        if isinstance(program, str):
            if not is_program_path(program):
                name = find_algorithm(program).name
                raise UsageError(f"{name}: comes with gstream. Call graph.{name}(), or pass your own as FILE.py:CLASS.")
            program = load_program(program)
        if hasattr(program, "parameters_given"):
            own = [name for name in given if name in program.parameters_given or name not in RUN_OPTIONS]
            arguments = {name: given.pop(name) for name in own}
            return self._work(given, lambda engine: _run_own(engine, program, arguments))
        if not isinstance(program, (type, Program)):
            raise UsageError(f"{program!r}: is no program. Pass a class that inherits from gstream.Program.")
        parameters: dict[str, Any] = {}
        if isinstance(program, type):
            if not issubclass(program, Program):
                raise UsageError(f"{program.__name__}: is no program; inherit from gstream.Program.")
            own = [name for name in given if name in program.parameters or name not in RUN_OPTIONS]
            parameters = {name: given.pop(name) for name in own}
            program = program(**parameters)
        return self._work(
            given, lambda engine: run_program_on(engine, in_store_order(program, self._store), parameters)
        )

    def _reported(
        self, page: Any, options: dict[str, Any], call: Callable[[dict[str, Any]], Result], name: str,
        own: dict[str, Any], algorithm: Any = None, force: bool = False,
    ) -> Result:  # fmt: skip
        """call(options with a recorder of their own), and the page about it. own: what the call is shown with."""
        from gstream.algorithms.plans import plan_before
        from gstream.reporting.python_calls import recorded

        wanted = self._options({**self._defaults, **options})
        planned = plan_before(self, algorithm, own | options) if algorithm is not None else None
        title = "" if algorithm is None else algorithm.title
        return recorded(page, wanted, options, call, self.info, planned, name, own, title, force)

    @in_turn
    def _work(self, options: dict[str, Any], call: Callable[[Any], T]) -> T:
        """call(engine) with the engine for these RunOptions."""
        engine = self._engine_for(options)
        with self._interrupts(engine):
            return call(engine)

    @in_python()
    @in_turn
    def engine(self, **options: Any) -> Any:
        """The engine for these RunOptions; the last one is kept, with its pages, while the options stay the same.

        One thread may use it, while no other uses the graph.
        """
        return self._engine_for(options)

    def _engine_for(self, options: dict[str, Any]) -> Any:
        store = self.store
        wanted = self._options({**self._defaults, **options})
        if wanted.checkpoint is not None and wanted.stop is None:
            wanted.stop = self._stop
        engine = self._taken.engine
        if engine is None or engine.options != wanted:
            with LOADING:
                from gstream.engine.engine import Engine
                from gstream.hostcode.jit import check_compiler

                check_compiler()
            self._taken.close_engine()
            engine = self._taken.engine = Engine(store, wanted, self._turn)
        return engine

    def _interrupts(self, engine: Any) -> AbstractContextManager[None]:
        """What a call that keeps checkpoints does about Ctrl-C, unless the caller's own request to stop does."""
        return interrupts_keep(self._stop) if engine.options.stop is self._stop else nullcontext()

    @staticmethod
    def _options(options: dict[str, Any]) -> RunOptions:
        _check_names(options, (), "algorithms have their own")
        return RunOptions(**options)


class _Taken:
    """What a graph has taken, to be given back when it is closed or dropped: its store's file and an engine."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.engine: Any = None

    def give_back(self) -> None:
        self.close_engine()
        self._store.let_go()

    def close_engine(self) -> None:
        """End the engine's threads, free its pages and devices."""
        engine, self.engine = self.engine, None
        if engine is not None:
            engine.close()
        MEMORY.release()
        rest()

    def leave_engine(self) -> None:
        """Forget the parent's engine. What it has on GPUs can't be freed in a forked child."""
        engine, self.engine = self.engine, None
        if engine is not None and any(spec.kind == "cuda" for spec in engine.specs):
            from gstream.devices.gpu.driver import never_free

            never_free(engine)


def _open_again(kept: Store | StoreFile, folders: tuple[str, ...], options: dict[str, Any]) -> Graph:
    """A graph that was pickled or copied. Raises StoreError where its store is not there any more."""
    if isinstance(kept, Store):  # in memory
        return Graph(kept, **options)
    kept.opened()
    return Graph(kept.place, folders, **options)


def _check_names(given: Iterable[str], own: Iterable[str], which: str) -> None:
    """Raise UsageError for one that is no RunOption: name the one of these, or of `own`, that is like it, else all."""
    for name in given:
        if name not in RUN_OPTIONS:
            like = meant_by(name, [*own, "certify", *RUN_OPTIONS])
            known = f"{which}, and every run takes {', '.join(sorted(RUN_OPTIONS))}"
            raise UsageError(f"{name}: no such option{f'. Did you mean {like}?' if like else f'; {known}.'}")


def _executed(found: Any, engine: Any, own: dict[str, Any], certify: bool) -> Result:
    """The result of an algorithm; how long it took teaches later plans."""
    from gstream.algorithms.call_times import key_of, teach
    from gstream.algorithms.plans import plan_of
    from gstream.telemetry.compiling import compile_time

    with compile_time() as compiled:
        result = execute(found, engine, own, certify)
    own = found.defaults | found.checked(own)
    if certify and compiled():  # partly for the certificate, whose time is not the call's
        engine.costs.note_call(key_of(found, own))
        return result
    teach(found, engine, own, result.summary, compiled(), lambda: plan_of(found.name, engine, own))
    return result


def _run_own(engine: Any, own: Any, given: dict[str, Any]) -> Result:
    from gstream.algorithms.support.own_runs import run_own

    return run_own(engine, own, given)


def run_program_on(engine: Any, program: Program, parameters: dict[str, Any]) -> Result:
    """Run a program on an engine: one column `value`, null where MIN left INF, or MAX the least number. Values that are
    vectors keep their type, and rows their order.

    The summary's `not_finite` counts values that are inf or NaN, as of a program that diverges; its identity, which
    for MIN and MAX is infinite, is not among them.
    """
    from gstream.algorithms.support.session import Session

    cls = type(program)
    with Session(engine) as session:
        outcome = session.run(program, stay=session.ranks is not None)
        found = session.finish(outcome.supersteps, outcome.converged)
    least, signed = cls.combine.name == "MIN", cls.value.least != 0
    nothing = least or cls.combine.name == "MAX" and signed  # 0 of unsigned numbers is a value like others
    dtype = outcome.value.dtype
    if cls.value.length:
        dtype = cls.value.dtype
    elif dtype.kind != "f" and dtype.itemsize < 8:
        dtype = np.dtype(np.int64)
    missing = cls.identity() if nothing else None
    column = Column("value", outcome.value, missing, dtype=dtype, npy_missing=missing if signed else None)
    shown = {name: value for name, value in parameters.items() if isinstance(value, (int, float, str, bool))}
    summary = {
        "algorithm": cls.__name__, "store": engine.store.path, "options": shown, "totals": outcome.totals,
        "not_finite": count_not_finite(outcome.value, cls.identity()),
    }  # fmt: skip
    best = "first" if cls.value.length else "least" if least else "largest"
    return Result(engine.store, [column], summary | found, best)


def in_store_order(program: Program, store: Any) -> Program:
    """The program with its PerVertex arrays, which are in the order of users' IDs, in that of the store's."""
    arrays = {name: getattr(program, name) for name, one in program.parameters.items() if one.kind == "PerVertex"}
    if not arrays or store.meta.order == "natural":
        return program
    turned, natural = copy(program), store.natural_ids()
    for name, given in arrays.items():
        if given.shape == natural.shape:  # another length is refused where the program is compiled
            setattr(turned, name, given[natural])
    return turned
