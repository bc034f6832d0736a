"""Runs an algorithm as it is declared, and refuses options that would spoil its answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gstream.algorithms.declaration import ANY, STORED_EDGE, VERTEX, Algorithm, flag
from pagestore.errors import UsageError

if TYPE_CHECKING:
    from gstream.algorithms.support.session import Session
    from gstream.options.run_options import RunOptions
    from gstream.results.result import Result

STRENGTH_BYTES = 16  # a vertex: sums of weights, and ones that they are summed from, in a certificate of weighted runs
GIVEN = ("partition", "start")  # options that are answers
WORDS_BYTES = 8 * 8  # that the bitmaps of a certificate have in their last words
ENDS = ("depth_limit", "radius", "iterations", "max_iter")  # options that say after how many supersteps a run ends


def execute(algorithm: Algorithm, engine: Any, options: dict[str, Any], certify: bool = False) -> Result:
    """Run on an engine; certify: prove the answer in one more sweep (CertificateError if it is not right)."""
    from gstream.algorithms.subgraphs.edge_table import EdgeTable
    from gstream.results.result import Result
    from gstream.results.tables import Table

    options = algorithm.checked(options)
    own = algorithm.defaults | options
    with session_of(algorithm, engine, own, certify) as session:
        with session.keeping():
            columns, found = algorithm.load(f"run_{algorithm.name}")(session, **own)
        summary = {"algorithm": algorithm.name, "store": session.store.path, "options": _shown(options)} | found
        if algorithm.definition:
            summary["definition"] = "; ".join(filter(None, (algorithm.definition, found.get("definition"))))
        if certify:
            summary["certificate"] = session.prove(algorithm.load(algorithm.proof), columns, own, found)
    if algorithm.rows == VERTEX:
        threads = engine.options.host_threads
        return Result(session.store, columns, summary, algorithm.best, algorithm.groups, threads)
    if algorithm.rows == STORED_EDGE:
        return EdgeTable(session.store, columns, summary)
    return Table(session.store, columns, summary, algorithm.best)


@contextmanager
def session_of(algorithm: Algorithm, engine: Any, own: dict[str, Any], certify: bool) -> Iterator[Session]:
    """The Session of a call, to be run or planned, with all of its options. Raises UsageError, InputError where the
    store or the engine's options do not suit it."""
    from gstream.algorithms.support.session import Session

    if certify:
        check_certificate(algorithm)
    check_ends(algorithm, engine.options)
    if engine.options.checkpoint is not None:
        check_checkpoint(algorithm)
    asked = {option.name: own[option.name] for option in algorithm.options if not option.may_change}
    with Session(engine, algorithm.name, asked) as session:
        check_store(algorithm, session, own)
        if certify:
            session.proof_bytes = _proof_bytes(algorithm, session, own)
        yield session


def check_store(algorithm: Algorithm, session: Any, own: dict[str, Any]) -> None:
    """Raise UsageError where the store has not what the algorithm needs, InputError for a weight that it can't have."""
    from gstream.algorithms.support.arguments import check_weights, need_both, need_weights

    directed = session.meta.directed
    if algorithm.rows == STORED_EDGE and session.meta.parts:
        raise UsageError(
            f"{algorithm.name}: its rows are edges, which lie in all parts. Run it on the store that was split."
        )
    if algorithm.directed not in (None, directed):
        what = "directed" if directed else "undirected"
        raise UsageError(f"{session.store.path}: is {what}, and {algorithm.otherwise}")
    if algorithm.topology == "both":
        need_both(session, algorithm.name)
    elif algorithm.topology:
        session.store.topology(algorithm.topology)
    if algorithm.reads_weights(own):
        name = f"{algorithm.name} --weighted" if own.get("weighted") else algorithm.name
        (need_weights if algorithm.weights == ANY else check_weights)(session, name)


def check_certificate(algorithm: Algorithm) -> None:
    """Raise UsageError where the answer can't be proved."""
    if not algorithm.proof:
        raise UsageError(f"--certify: {algorithm.name} has no certificate. Leave it out.")


def check_checkpoint(algorithm: Algorithm) -> None:
    """Raise UsageError for an algorithm that keeps nothing, as one that sweeps no page."""
    if not algorithm.kept:
        raise UsageError(
            f"--checkpoint: {algorithm.name} has nothing between two sweeps from which it could go on. Leave it out."
        )


def check_ends(algorithm: Algorithm, options: RunOptions) -> None:
    """Raise UsageError where the driver's options would end a run before its answer is right."""
    if options.max_supersteps is not None:
        own = " and ".join(flag(option.name) for option in algorithm.options if option.name in ENDS)
        other = f" ({algorithm.name} has {own})" if own else ""
        raise UsageError(
            f"--max-supersteps: is for programs of your own; {algorithm.name} would stop before its answer is right. "
            f"Leave it out{other}."
        )


def _proof_bytes(algorithm: Algorithm, session: Any, own: dict[str, Any]) -> int:
    """What the certificate holds at most, its pages with it."""
    weights = algorithm.reads_weights(own)
    pages = session.least_pages(session.meta.weighted and (weights or algorithm.rows == STORED_EDGE))
    each = algorithm.proof_bytes + (STRENGTH_BYTES if own.get("weighted") else 0)
    return each * (session.id_dtype.itemsize // 4) * session.meta.vertices + WORDS_BYTES + pages


def _shown(options: dict[str, Any]) -> dict[str, Any]:
    """Options as plain values; sets of vertices, and numbers by vertex, by their size."""
    shown = {name: value for name, value in options.items() if value is not None}
    for name in ("personalization", "nodes", "targets", *GIVEN):
        if hasattr(shown.get(name), "__len__") and not isinstance(shown[name], str):
            shown[name] = f"{len(shown[name])} vertices"
    return shown
