"""Wrong answers of algorithms whose certificates say what they looked at: some vertices, a sum, steps taken again.

Each is wrong where its certificate looks, beyond what rounding may do.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gstream.algorithms.centrality.search_proofs import MOST_SEARCHES, SEARCHES
from gstream.algorithms.density import triangle_proofs as spots
from gstream.algorithms.support.watched import watched
from tests.torture.corruptions import FAR_OFF, Answer

CLEARLY = 1e-6  # relative; certificates allow 1e-9


def changed(right: np.ndarray, at: np.ndarray, numbers: np.random.Generator) -> np.ndarray:
    """float64: values greater, less, negated, scaled, shuffled, exchanged or no numbers, one of them of the vertices
    `at`; they may be the same by chance."""
    wrong, kind = right.astype(np.float64), int(numbers.integers(8))
    v, size = int(numbers.choice(at)), 10 ** numbers.uniform(-4, 3)
    if kind <= 1:
        wrong[v] += size if kind else -size
    elif kind == 2:
        wrong[v] *= 1 + size
    elif kind == 3:
        wrong *= 1 + size if numbers.random() < 0.5 else 1 / (1 + size)
    elif kind == 4:
        wrong[v] = -wrong[v]
    elif kind == 5:
        wrong = numbers.permutation(wrong)
    elif kind == 6:
        u = int(numbers.integers(len(wrong)))
        wrong[v], wrong[u] = right[u], right[v]
    else:
        wrong[v] = numbers.choice([np.nan, np.inf, -np.inf])
    return wrong


def clearly_off(wrong: np.ndarray, right: np.ndarray) -> bool:
    """Whether any value is another one beyond rounding, or no number."""
    return not bool(np.all(np.abs(wrong - right) <= CLEARLY * np.abs(right)))


def centralities(answer: Answer, numbers: np.random.Generator) -> Answer | None:
    """Of vertices that are searched from, or none at all anywhere."""
    right, at = answer.values(), watched(answer.session, answer.values(), SEARCHES, MOST_SEARCHES, 1)
    if not len(at):
        return None
    wrong = changed(right, at, numbers)
    none = not bool(np.all(np.isfinite(wrong) & (wrong >= 0)))
    return answer.with_values(wrong) if none or clearly_off(wrong[at], right[at]) else None


def coefficients(answer: Answer, numbers: np.random.Generator) -> Answer | None:
    """Of vertices that are counted again, or past 0 and 1 anywhere."""
    right, at = answer.values(), watched(answer.session, answer.values(), spots.AT_ONCE, len(answer.values()), 1)
    if not len(at):
        return None
    wrong = changed(right, at, numbers)
    past = not bool(np.all((wrong >= 0) & (wrong <= 1)))
    return answer.with_values(wrong) if past or clearly_off(wrong[at], right[at]) else None


def triangles(answer: Answer, numbers: np.random.Generator) -> Answer | None:
    """Of vertices that are counted again, or of others so that the sum is another; or another number of all."""
    right, at = answer.values(), watched(answer.session, answer.values(), spots.AT_ONCE, len(answer.values()), 1)
    wrong, v, kind = right.copy(), int(numbers.integers(len(right))), int(numbers.integers(4))
    if kind == 0:
        wrong[v] += right.dtype.type(numbers.integers(1, 9))
    elif kind == 1:
        wrong[v] = right[int(numbers.integers(len(right)))]
    elif kind == 2:
        wrong = numbers.permutation(right)
    else:
        all_of_them = answer.found["triangles"] + int(numbers.integers(1, 9))
        return replace(answer, found={**answer.found, "triangles": all_of_them})
    told = int(wrong.sum()) != 3 * answer.found["triangles"] or not np.array_equal(wrong[at], right[at])
    return answer.with_values(wrong) if told else None


def between(answer: Answer, numbers: np.random.Generator) -> Answer | None:
    """Values that add up to another sum, are negative or no numbers, or a dead end that is between others."""
    right = answer.values()
    if not np.isfinite(right).all():  # the only source that was drawn has none
        return None
    most = float(right.max(initial=0.0))
    wrong, v, kind = right.copy(), int(numbers.integers(len(right))), int(numbers.integers(5))
    size = 10 ** numbers.uniform(-2, 3)
    if kind == 0:
        wrong[v] += size * (most or 1.0)
    elif kind == 1:
        wrong *= 1 + size if numbers.random() < 0.5 else 1 / (1 + size)
    elif kind == 2:
        wrong[v] = numbers.choice([np.nan, np.inf, -np.inf, -1.0])
    elif kind == 3:
        wrong[int(np.argmax(right))] = 0.0
    else:
        dead = np.flatnonzero((answer.session.degree("out") == 0) | (answer.session.degree("in") == 0))
        if not len(dead) or answer.options.get("endpoints"):
            return None
        wrong[int(numbers.choice(dead))] = size
    return answer.with_values(wrong) if clearly_off(wrong, right) else None


def stepped(answer: Answer, numbers: np.random.Generator) -> Answer | None:
    """Values of simulations, by far more than a few steps round."""
    right = answer.values()
    wrong = changed(right, np.arange(len(right)), numbers)
    least = FAR_OFF * max(1.0, float(np.abs(right).max(initial=0.0)))
    off = np.abs(wrong - right).max(initial=0.0)
    return None if off < least else answer.with_values(wrong)  # NaN is no less
