"""Certificate of heat, circuit and neural network simulations: all steps again, by a page kernel instead of a program.

A step sums weight * x(u) over in-edges; beside each value goes the most that rounding may have moved it by, on either
side: what a value is off moves the next ones by no more than its weights times that. The answer must be within it.
Holds 48 bytes a vertex.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gstream.algorithms.centrality.residual_proofs import EPSILON, relative_rounding
from gstream.algorithms.centrality.simulations import initial_values
from gstream.algorithms.support.refusal import refuse_vertices
from gstream.algorithms.support.session import Session
from gstream.hostcode.casts import f64
from gstream.hostcode.intrinsics import atomic_add
from gstream.records import record_kernel
from gstream.results.column import Column

Step = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


@record_kernel(received="sum", slack="sum")
def spread_weights(record, share, error, received, slack, pull):
    """received[v] += weight * share[u], slack[v] += |weight| * error[u] over u -> v; all float64[V]."""
    owner = record.vertex
    if pull:
        total, off = 0.0, 0.0
        for u in record.neighbours():
            weight = f64(record.weight())
            total += weight * share[u]
            off += abs(weight) * error[u]
        atomic_add(received, owner, total)
        atomic_add(slack, owner, off)
    else:
        for v in record.neighbours():
            weight = f64(record.weight())
            atomic_add(received, v, weight * share[owner])
            atomic_add(slack, v, abs(weight) * error[owner])


def certify_heat(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove temperatures. Raises CertificateError."""
    values, _ = initial_values(session, options.get("initial"), "heat")
    inflow, _ = _spread(session, np.ones(len(values)), np.zeros(len(values)))
    given, relative = options.get("rate"), relative_rounding(session)
    rate = 1 / (float(inflow.max(initial=0.0)) or 1.0) if given is None else given

    def step(x: np.ndarray, error: np.ndarray, got: np.ndarray, slack: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        own = np.abs(1 - rate * inflow) * error + relative * (1 + 2 * rate * inflow) * np.abs(x)
        return x + rate * (got - inflow * x), own + rate * slack

    return _prove(session, columns[0].values, values, options, step)


def certify_circuit(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove voltages. Raises CertificateError."""
    values, held = initial_values(session, options.get("initial"), "circuit")
    inflow, _ = _spread(session, np.ones(len(values)), np.zeros(len(values)))
    inflow[held] = 0.0
    moves, relative = inflow != 0, relative_rounding(session)

    def step(x: np.ndarray, error: np.ndarray, got: np.ndarray, slack: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        following, off = x.copy(), error.copy()
        np.divide(got, inflow, out=following, where=moves)
        np.divide(slack, inflow, out=off, where=moves)
        return following, off + relative * np.abs(following)

    return _prove(session, columns[0].values, values, options, step)


def certify_neural(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove activations. Raises CertificateError."""
    values, _ = initial_values(session, options.get("initial"), "neural")

    def step(x: np.ndarray, error: np.ndarray, got: np.ndarray, slack: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        size = np.abs(got)  # tanh is steepest on the side of 0
        return np.tanh(got), np.tanh(size) - np.tanh(size - slack) + 8 * EPSILON

    return _prove(session, columns[0].values, values, options, step)


def _prove(session: Session, answer: np.ndarray, x: np.ndarray, options: dict[str, Any], step: Step) -> dict:
    """Hold the answer against all steps from x."""
    iterations, relative, error = options.get("iterations", 10), relative_rounding(session), np.zeros(len(x))
    session.reserve(answer, x, error)
    with np.errstate(all="ignore"):  # rates that are not stable may lead past all numbers
        for _ in range(iterations):
            x, error = step(x, error, *_spread(session, x, error + relative * np.abs(x)))
        off = np.where(answer == x, 0.0, np.abs(answer - x))  # inf less inf is no number
        known = np.isfinite(error)
        wrong = known & ~(off <= error)
    refuse_vertices(session, wrong, "vertex {} has {:.17g}, and by the same steps again {:.17g}", answer, x)
    most, lost = float(off[known].max(initial=0.0)), len(x) - int(np.count_nonzero(known))
    apart = f", {lost:,} apart that rounding may have moved anywhere" if lost else ""
    return {"holds": True, "proves": f"{iterations} steps again lead to the same but for {most:.3g}{apart}"}


def _spread(session: Session, share: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(sums over in-edges, the most they are off), float64[V] each."""
    received, slack = np.zeros_like(share), np.zeros_like(share)
    name, pull = session.gathers()
    session.reserve(share, error, received, slack)
    session.sweep(name, spread_weights, (share, error, received, slack, pull))
    session.release(share, error, received, slack)
    return received, slack
