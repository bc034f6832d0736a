"""PageRank as a user calls it: NetworkX's meaning of alpha, personalization and dangling vertices.

The rank of vertices without out-edges is spread uniformly, or, with a personalization, by that. `tol` is the absolute
L1 change at which the iteration ends (NetworkX multiplies it by the number of vertices).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gstream.algorithms.session import Session
from gstream.programs.pagerank import PageRank, PageRank64, PersonalizedPageRank, PersonalizedPageRank64
from gstream.results import Column
from pagestore.errors import InputError, UsageError


def run_pagerank(
    session: Session,
    alpha: float = 0.85,
    tol: float = 1e-6,
    max_iter: int = 100,
    iterations: int | None = None,
    personalization: Any = None,
    float64: bool = False,
) -> tuple[list[Column], dict[str, Any]]:
    """Column pagerank (sums to 1), and the summary.

    iterations: exactly so many; otherwise until the L1 change is below `tol`, max_iter at most. personalization: a
    mapping from user IDs to weights >= 0, or the path of a file with lines `vertex weight`; others have weight 0.
    Raises UsageError on numbers outside their limits, InputError on a bad personalization.
    """
    program = program_of_pagerank(session, alpha, tol, max_iter, iterations, personalization, float64)
    outcome = session.run(program, max_supersteps=max_iter if iterations is None else iterations)
    fixed = iterations is not None
    found = session.finish(outcome.supersteps, outcome.converged or fixed)
    found["l1_change"] = outcome.totals.get("moved", 0.0)
    return [Column("pagerank", outcome.value, dtype=outcome.value.dtype)], found


def program_of_pagerank(
    session: Session, alpha: float, tol: float, max_iter: int, iterations: int | None, personalization: Any,
    float64: bool,
) -> PageRank:  # fmt: skip
    """The program that these options of `run_pagerank` ask for. Raises as that does."""
    check_numbers(alpha, tol, max_iter, iterations)
    given: dict[str, Any] = {"damping": alpha, "tolerance": 0.0 if iterations is not None else tol}
    preference = preference_of(session, personalization)
    if preference is None:
        return (PageRank64 if float64 else PageRank)(**given)
    return (PersonalizedPageRank64 if float64 else PersonalizedPageRank)(preference=preference, **given)


def check_numbers(alpha: float, tol: float, max_iter: int, iterations: int | None) -> None:
    """Raise UsageError for numbers that mean nothing."""
    if not 0 <= alpha < 1:
        raise UsageError(f"--alpha {alpha}: must be at least 0 and less than 1. Usual is 0.85.")
    check_tolerance(tol, max_iter, iterations)


def check_tolerance(tol: float, max_iter: int, iterations: int | None = None) -> None:
    """Raise UsageError for an end of an iteration that means nothing."""
    if not (tol >= 0 and math.isfinite(tol)):
        raise UsageError(f"--tol {tol}: must be a number of at least 0. The default is 1e-6.")
    for flag, count in (("--max-iter", max_iter), ("--iterations", iterations)):
        if count is not None and (count < 0 or int(count) != count):
            raise UsageError(f"{flag} {count}: must be a whole number of at least 0.")


def preference_of(session: Session, personalization: Any) -> np.ndarray | None:
    """float64[V] in store order, sum 1; None without a personalization."""
    if personalization is None:
        return None
    weights, where = personalization, "personalization"
    if isinstance(personalization, (str, os.PathLike)):
        weights, where = read_values(Path(personalization), "weight", _weight), str(personalization)
    if not isinstance(weights, Mapping):
        raise UsageError("personalization: must be a mapping from vertices to weights, or a file with such lines.")
    values = np.array([_weight(where, vertex, weight) for vertex, weight in weights.items()], np.float64)
    stored = session.store.lookup(list(weights), "personalization vertex", InputError) if len(weights) else []
    if values.sum() <= 0 or not np.isfinite(values.sum()):
        raise InputError(f"{where}: its weights sum to {values.sum():g}; the sum must be positive. Give some weight.")
    preference = np.zeros(session.meta.vertices, np.float64)
    np.add.at(preference, stored, values / values.sum())
    return preference


def _weight(where: str, vertex: Any, weight: Any) -> float:
    try:
        number = float(weight)
    except (TypeError, ValueError):
        raise InputError(f"{where}: the weight of {vertex} is {weight!r}; it must be a number of at least 0.") from None
    if not (number >= 0 and math.isfinite(number)):
        raise InputError(f"{where}: the weight of {vertex} is {weight}; it must be a finite number of at least 0.")
    return number


def read_values(path: Path, word: str, number_of: Callable[[str, Any, Any], float]) -> dict[str, float]:
    """{user ID as text: number} of a file with lines `vertex number` (blanks, tabs or a comma between; # comments).

    word: what the number is called. number_of(where, vertex, text) reads it. Raises InputError naming the line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InputError(f"{path}: can't be read ({reason}). It holds lines `vertex {word}`.") from None
    found: dict[str, float] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith(("#", "%")):
            continue
        parts = line.rsplit(",", 1) if "," in line else line.rsplit(None, 1)
        if len(parts) < 2:
            raise InputError(f"{path}:{number}: `{line[:60]}` has one field; a line is `vertex {word}`. Fix the line.")
        vertex = parts[0].strip().strip('"')
        if vertex in found:
            raise InputError(f"{path}:{number}: {vertex} stands there for the second time. Keep one line a vertex.")
        found[vertex] = number_of(f"{path}:{number}", vertex, parts[1].strip())
    return found
