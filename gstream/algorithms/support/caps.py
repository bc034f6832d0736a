"""Checks memory caps once, before a call that runs several programs.

Each program's plan says what it takes. An error of the first plan alone would lead to another error by the next
program, so this error names what all of them take.
"""

from __future__ import annotations

from typing import Any

from gstream.algorithms.support.session import Session
from pagestore.errors import CapError


def check_run_memory(
    session: Session, *programs: Any, maybe: tuple[Any, ...] = (), later: int = 0, later_maybe: int = 0,
    proof: tuple[Any, ...] = (), beside_proof: int = 0,
) -> None:  # fmt: skip
    """Raise CapError if a memory cap is less than one of the programs will take.

    maybe: programs that may follow. The error names what they take, too, but they raise none. later, later_maybe: host
    memory in all after the programs, and after those of `maybe`. proof: programs of the certificate, if one follows; it
    holds `beside_proof` bytes beside them.
    """
    engine, session.programs = session.engine, [*session.programs, *programs]
    if engine.options.host_memory is None and engine.options.device_memory is None:
        return
    later, before = (
        max(later, session.later, session.proof_bytes),
        (engine.beside_bytes, engine.later_bytes, engine.way),
    )
    try:
        engine.later_bytes = later
        refused = _refusals(session, programs)
        if session.proof_bytes:
            engine.beside_bytes, engine.way = beside_proof, "auto"
            refused += _refusals(session, proof)
            engine.beside_bytes, _, engine.way = before
        if refused:
            engine.later_bytes = max(later, later_maybe)
            refused += _refusals(session, maybe)
    finally:
        engine.beside_bytes, engine.later_bytes, engine.way = before
    if refused:
        raise max((error for error in refused if error.option == refused[0].option), key=lambda error: error.need)


def count_one_topology(session: Session) -> None:
    """Let a plan count the pages of the first topology alone, which the call sweeps."""
    if session.stands_in:
        session.engine.way = "push" if session.meta.topologies[0] == "out" else "pull"


def _refusals(session: Session, programs: tuple[Any, ...]) -> list[CapError]:
    """What runs of the programs would raise for too little memory."""
    found = []
    for program in programs:
        try:
            session.engine.plan(program, stay=session.stays)
        except CapError as error:
            found.append(error)
    return found
