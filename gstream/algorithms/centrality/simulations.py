"""Heat, circuit and neural network simulation: a fixed number of steps, 10 as Garaph runs them.

The equations are those of the programs, after CuSha (Khorasani et al. 2014). `initial` gives vertices their first
values; others have 0.
* Circuit: these are the voltages that sources keep. Weights are conductances, and a vertex without in-edges keeps its
  voltage.
* Heat: a share `rate` of the difference flows per unit of weight. The default is 1 / (greatest sum of weights into a
  vertex), with which temperatures stay between the first ones.

Certificate: all steps again, by a page kernel instead of a program. A step sums weight * x(u) over in-edges. Beside
each value goes a bound of what rounding may have moved it by: the bounds of in-neighbours count by their weights. The
answer must be within it. The certificate does not hold where values or bounds are inf or NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gstream.algorithms.centrality.residual_proofs import EPSILON, relative_rounding
from gstream.algorithms.declaration import ANY, INITIAL, NOT_NEGATIVE, NUMBER, Algorithm, Option, Work, exactly
from gstream.algorithms.support.caps import check_run_memory
from gstream.algorithms.support.refusal import refuse_vertices
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.vertex_files import find_numbers
from gstream.hostcode.casts import f64
from gstream.hostcode.intrinsics import atomic_add
from gstream.language.program import Program
from gstream.programs.circuit import Circuit
from gstream.programs.heat import Heat
from gstream.programs.inflow import Inflow
from gstream.programs.neural import Neural
from gstream.records import record_kernel
from gstream.results.column import Answer, Column
from gstream.results.result import count_not_finite
from pagestore.errors import UsageError

ALGORITHMS = (
    Algorithm(
        "heat", "heat simulation (CuSha, Garaph)",
        definition="rate * weight * difference flows along in-edges, all at once, `iterations` times; repeated "
        "edges count",
        columns=("vertex", "temperature"), best="largest",
        options=(
            INITIAL, exactly(10),
            Option("rate", NUMBER, help="share of a difference that flows by unit of weight and step; default: stable"),
        ),
        plan="program_of_heat", proof="certify_heat", proof_bytes=66, certificate="all steps again",
        kept="16: sums of weights, temperatures",
        weights=NOT_NEGATIVE, holds="40",
        program="gstream.programs.heat:Heat", units=("gstream.programs.inflow:Inflow",),
        proof_units=("spread_weights",),
        work=Work(edges=1.6, gpu_edges=3.0, per="iterations", spread=1.4),
    ),
    Algorithm(
        "circuit", "circuit simulation (CuSha, Garaph)",
        "Voltages that `initial` gives are held.",
        definition="mean of in-neighbours by weight, all at once, `iterations` times; given ones hold; repeated "
        "edges count",
        columns=("vertex", "voltage"), best="largest", options=(INITIAL, exactly(10)),
        plan="program_of_circuit", proof="certify_circuit", proof_bytes=66, certificate="all steps again",
        kept="16: sums of weights, voltages",
        weights=NOT_NEGATIVE, holds="40",
        program="gstream.programs.circuit:Circuit",
        units=("gstream.programs.inflow:Inflow",),
        proof_units=("spread_weights",),
        work=Work(edges=1.9, gpu_edges=3.0, per="iterations", spread=1.4),
    ),
    Algorithm(
        "neural", "neural network simulation (CuSha, Garaph)",
        definition="tanh of the weighted sum of in-neighbours, all at once, `iterations` times; repeated edges "
        "count",
        columns=("vertex", "activation"), best="largest", options=(INITIAL, exactly(10)),
        plan="program_of_neural", proof="certify_neural", proof_bytes=66, certificate="all steps again",
        kept="8: activations",
        weights=ANY, holds="32",
        program="gstream.programs.neural:Neural",
        proof_units=("spread_weights",),
        work=Work(edges=0.8, gpu_edges=2.0, per="iterations", spread=1.6),
    ),
)  # fmt: skip

ROUNDING = 1e-9  # of temperatures, by thousands of steps in double precision
TINY = float(np.finfo(np.float64).tiny)  # values below it round as much as it does

PART = 1 << 14  # vertices that a certificate's step takes at a time: it makes some ten arrays of as many

# (which vertices; their values, errors, sums and what these are off by) -> (values, errors)
Step = Callable[[slice, np.ndarray, np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


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

    def step(
        part: slice, x: np.ndarray, error: np.ndarray, got: np.ndarray, slack: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        flow = inflow[part]
        own = np.abs(1 - rate * flow) * error + relative * (1 + 2 * rate * flow) * _size(x)
        return x + rate * (got - flow * x), own + rate * slack

    return _prove(session, columns[0].values, values, options, step)


def certify_circuit(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove voltages. Raises CertificateError."""
    values, held = initial_values(session, options.get("initial"), "circuit")
    inflow, _ = _spread(session, np.ones(len(values)), np.zeros(len(values)))
    inflow[held] = 0.0
    moves, relative = inflow != 0, relative_rounding(session)

    def step(
        part: slice, x: np.ndarray, error: np.ndarray, got: np.ndarray, slack: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        following, off = x.copy(), error.copy()
        np.divide(got, inflow[part], out=following, where=moves[part])
        np.divide(slack, inflow[part], out=off, where=moves[part])
        return following, off + relative * _size(following)

    return _prove(session, columns[0].values, values, options, step)


def certify_neural(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove activations. Raises CertificateError."""
    values, _ = initial_values(session, options.get("initial"), "neural")

    def step(
        part: slice, x: np.ndarray, error: np.ndarray, got: np.ndarray, slack: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        size = np.abs(got)  # tanh is steepest on the side of 0
        return np.tanh(got), np.tanh(size) - np.tanh(size - slack) + 8 * EPSILON

    return _prove(session, columns[0].values, values, options, step)


def _prove(session: Session, answer: np.ndarray, x: np.ndarray, options: dict[str, Any], step: Step) -> dict:
    """Hold the answer against all steps from x."""
    iterations, relative, error = options.get("iterations", 10), relative_rounding(session), np.zeros(len(x))
    session.reserve(answer, x, error)
    with np.errstate(all="ignore"):  # rates that are not stable may lead past all numbers
        for _ in range(iterations):
            _advance(session, x, error, relative, step)
        off = np.where(answer == x, 0.0, np.abs(answer - x))  # inf less inf is no number
        known = np.isfinite(error) & np.isfinite(x)
        wrong = known & ~(off <= error)
    refuse_vertices(session, wrong, "vertex {} has {:.17g}, and by the same steps again {:.17g}", answer, x)
    same = f"{iterations} steps again lead to the same but for {float(off[known].max(initial=0.0)):.3g}"
    if known.all():
        return {"holds": True, "proves": same}
    lost = len(x) - int(np.count_nonzero(known))
    wild = f"nothing of {lost:,} of {len(x):,} values, which are past all numbers or may be by rounding"
    return {"holds": False, "proves": f"{wild}; of the others, {same}"}


def _advance(session: Session, x: np.ndarray, error: np.ndarray, relative: float, step: Step) -> None:
    """One step of x and its errors, in place."""
    got, slack = _spread(session, x, error + relative * _size(x))
    for first in range(0, len(x), PART):
        part = slice(first, first + PART)
        moved = step(part, x[part], error[part], got[part], slack[part] + relative * TINY)
        x[part], error[part] = moved


def _size(x: np.ndarray) -> np.ndarray:
    """float64[V] that rounding is relative to."""
    return np.maximum(np.abs(x), TINY)


def _spread(session: Session, share: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(sums over in-edges, the most they are off), float64[V] each."""
    received, slack = np.zeros_like(share), np.zeros_like(share)
    name, pull = session.gathers()
    session.reserve(share, error, received, slack)
    session.sweep(name, spread_weights, (share, error, received, slack, pull))
    session.release(share, error, received, slack)
    return received, slack


def run_heat(session: Session, initial: Any, iterations: int = 10, rate: float | None = None) -> Answer:
    """Column temperature, and the summary. Raises UsageError (no weights, wrong numbers), InputError (bad values)."""
    check_iterations(iterations)
    values, _ = initial_values(session, initial, "heat")
    program_of_heat(session, initial, iterations, rate)
    inflow = _inflow(session)
    session.keep(inflow=inflow, final=True)
    if rate is None:
        rate = 1 / (float(inflow.max(initial=0.0)) or 1.0)
    if not (rate >= 0 and math.isfinite(rate)):
        raise UsageError(f"--rate {rate}: must be a number of at least 0. Leave it out for one that is stable.")
    program = Heat(initial=values, inflow=inflow, rate=rate)
    return _simulate(session, program, iterations, "temperature", lambda after: _outside(values, after, rate, inflow))


def _outside(before: np.ndarray, after: np.ndarray, rate: float, inflow: np.ndarray) -> str:
    """A note if temperatures left the range of the initial ones, which no stable rate lets them; else ""."""
    if len(before) == 0:
        return ""
    low, high = float(before.min()), float(before.max())
    slack = ROUNDING * max(abs(low), abs(high))
    inside = (after >= low - slack) & (after <= high + slack)  # False of NaN
    if inside.all():
        return ""
    count, stable = int(np.count_nonzero(~inside)), 1 / float(inflow.max())
    return (
        f"unstable: {count} of {len(after)} temperatures are outside the initial ones, {low:g} to {high:g}. --rate "
        f"{rate:g} is more than {stable:g}, to which heat is stable; pass less, or leave it out"
    )


def run_circuit(session: Session, initial: Any, iterations: int = 10) -> Answer:
    """Column voltage, and the summary. Raises UsageError (no weights, wrong numbers), InputError (bad values)."""
    check_iterations(iterations)
    values, given = initial_values(session, initial, "circuit")
    program_of_circuit(session, initial, iterations)
    inflow = _inflow(session).copy()
    inflow[given] = 0.0
    session.keep(inflow=inflow, final=True)
    return _simulate(session, Circuit(initial=values, inflow=inflow), iterations, "voltage")


def run_neural(session: Session, initial: Any, iterations: int = 10) -> Answer:
    """Column activation, and the summary. Raises UsageError (no weights, wrong numbers), InputError (bad values)."""
    check_iterations(iterations)
    values, _ = initial_values(session, initial, "neural")
    return _simulate(session, Neural(initial=values), iterations, "activation")


def _inflow(session: Session) -> np.ndarray:
    """float64[V]: sums of the weights into each vertex; anything where a checkpoint has them."""
    if session.resumes("inflow"):
        return np.zeros(session.meta.vertices)
    return session.run(Inflow(), max_supersteps=1, kept=False).value


def _simulate(
    session: Session, program: Program, iterations: int, name: str, noted: Callable[[np.ndarray], str] = lambda _: ""
) -> Answer:
    outcome = session.run(program, max_supersteps=iterations, exactly=True)
    wild = count_not_finite(outcome.value, 0)
    found = session.finish(outcome.supersteps, True, noted(outcome.value)) | ({"not_finite": wild} if wild else {})
    return [Column(name, outcome.value)], found


def check_iterations(iterations: int) -> None:
    """Raise UsageError for a number of steps that means nothing."""
    if iterations < 0:
        raise UsageError(f"--iterations {iterations}: must be at least 0. It counts steps.")


def initial_values(session: Session, initial: Any, algorithm: str) -> tuple[np.ndarray, np.ndarray]:
    """(float64[V] in store order, the store IDs that were given). Raises UsageError, InputError."""
    if initial is None:
        raise UsageError(
            f"{algorithm}: no first values were given. Pass --initial FILE with lines `vertex value` (in Python a "
            "mapping)."
        )
    stored, numbers = find_numbers(session.store, initial, "initial", "value")
    values = np.zeros(session.meta.vertices)
    values[stored] = numbers
    return values, stored


def program_of_heat(session: Session, initial: Any, iterations: int, rate: float | None) -> Program:
    """The program of the steps, for a plan; its values do not matter. Raises CapError if a cap is too little for it or
    for Inflow."""
    return _after_inflow(session, Heat)


def program_of_circuit(session: Session, initial: Any, iterations: int) -> Program:
    """As program_of_heat."""
    return _after_inflow(session, Circuit)


def _after_inflow(session: Session, kind: type[Program]) -> Program:
    zeros = session.zeros()
    program = kind(initial=zeros, inflow=zeros)
    check_run_memory(session, Inflow(), program)
    return program


def program_of_neural(session: Session, initial: Any, iterations: int) -> Program:
    """As program_of_heat; no program comes before it."""
    return Neural(initial=session.zeros())
