"""Sweeps of ranks that have their own slices and mirrors alone, on a graph in parts (gstream.engine.part_arrays)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.support.array_sweep import ArraySweep
from gstream.algorithms.support.refusal import refuse
from gstream.algorithms.support.session import Session
from gstream.devices.ranks import Ranks
from gstream.engine.part_arrays import PartArrays
from gstream.planning.memory_fit import mirror_bytes
from gstream.planning.page_sources import bytes_of_pages, plan_sources
from gstream.planning.plan import Plan
from pagestore.errors import CapError


def own_part(session: Session, *names: str) -> PartArrays | None:
    """What sweeps of these topologies take; None: ranks have values of all vertices, or there are none."""
    engine = session.engine
    found: PartArrays | None = engine.own.part([engine.graph.tables[name] for name in names], engine.options.trace)
    return found


def plan_of_slices(session: Session, program: Any) -> Plan | None:
    """The plan of a program of slices; None: ranks have none, or memory is capped below what they take."""
    try:
        planned: Plan = session.engine.plan(program, stay=True)
    except CapError:
        return None
    return planned if planned.graph.of else None


def pages_beside(session: Session, planned: Plan, held: int) -> dict[str, int]:
    """Bytes that pages take, by name, where page kernels that hold so much sweep what the program of a plan reads."""
    engine, tables = session.engine, planned.tables
    room, cap = engine.host_memory - engine.beside_bytes - held, engine.host_memory
    return bytes_of_pages(plan_sources(tables, planned.weights, engine.options, (1, 1), room, cap, {}), tables, 1, 1)


def bytes_beside(session: Session, planned: Plan) -> int:
    """What sweeps hold beside their arrays, of a plan of slices: the bitmaps of mirrors, pages, and degrees that a run
    has read. Where memory is capped, degrees go, and of the pages all but the fewest that sweeps work beside."""
    mirrors = mirror_bytes(planned.graph.whole, planned.graph.vertices)
    if session.engine.options.host_memory is not None:
        return mirrors + session.least_pages(planned.weights)
    pages = bytes_of_pages(planned.sources, planned.tables, 1, 1)
    return mirrors + sum(pages.values()) + planned.host_bytes.get("degrees", 0)


def prove_by_slices(session: Session, program: Any) -> None:
    """Count what a certificate takes that does with slices, in place of one that takes whole columns."""
    planned = plan_of_slices(session, program) if session.proof_bytes and session.stays else None
    if planned is not None:
        whole = session.proof_bytes - session.least_pages()
        session.proof_bytes = whole * planned.graph.vertices // planned.graph.whole + bytes_beside(session, planned)


def sweep_part(session: Session, part: PartArrays, name: str, kernel: Any, arrays: tuple[Any, ...]) -> None:
    """Sweep the rank's pages of topology `name` by a kernel over arrays by numbers, which stay what it makes of them
    here."""
    table = part.tables[session.engine.graph.tables[name].name]
    session.engine.sweep(name, ArraySweep(kernel, arrays, across=_nothing), table=table)


def _nothing(ranks: Ranks) -> None:
    """Ranks need not agree on the arrays."""


def check_part_edges(
    session: Session, part: PartArrays, name: str, kernel: Any, arrays: tuple[Any, ...], said: str,
    values: np.ndarray | None = None,
) -> None:  # fmt: skip
    """As gstream.algorithms.support.refusal.check_edges, of arrays by numbers. All ranks raise the same error."""
    failure, wrong = np.zeros(3, np.int64), None
    sweep_part(session, part, name, kernel, (*arrays, failure))
    if failure[0]:
        at = None if values is None else values[failure[1:]].tolist()
        wrong = part.store_ids(np.uint64)[failure[1:]], at
    for noted in part.ranks.everybody(wrong):
        if noted is not None:
            (u, v), at = session.user_ids(noted[0]), noted[1] or (None, None)
            raise refuse(said.format(u=u, v=v, at_u=at[0], at_v=at[1]))


def refuse_own(session: Session, part: PartArrays, wrong: np.ndarray, said: str, *values: np.ndarray) -> None:
    """Raise the error for the first vertex of `wrong` (bool[n], of the own slice) on any rank, on all of them; `said`
    is formatted with its ID and its values."""
    odd = np.flatnonzero(wrong)[:1]
    first = None if not len(odd) else (odd + part.ids.own[0], [array[odd[0]].item() for array in values])
    for noted in part.ranks.everybody(first):
        if noted is not None:
            raise refuse(said.format(session.user_ids(noted[0])[0], *noted[1]))
