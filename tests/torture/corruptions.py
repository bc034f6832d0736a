"""Wrong answers made of right ones, for each algorithm that has a certificate.

A corruption is given an answer and gives another that is wrong for sure, or None where it found none this time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from gstream.algorithms.subgraphs.edge_table import Chosen, EdgeTable
from gstream.algorithms.support.session import Session
from gstream.results.column import Column

ROUNDED = 1e-6  # L1 of what float32 rounds away in an iteration of ranks, at most
AGAIN = 8  # times that a change is drawn which leaves an answer as it was: of one component most do
FAR_OFF = 0.01  # in L1, of values that add up to 1 or have length 1: tolerances are far smaller
APART = 0.95  # of the greatest eigenvalue: another one
SPACE = 8  # times what a tolerance allows, so that a wrong value is wrong beyond dispute


@dataclass(frozen=True)
class Answer:
    """What an algorithm gave. columns: a list of Column, or Chosen of subgraphs.

    source, target, weight: all edges of the graph by store IDs, of undirected graphs both ways.
    """

    session: Session
    options: dict[str, Any]
    columns: Any
    found: dict[str, Any]
    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray

    def values(self, column: int = 0) -> np.ndarray:
        return self.columns[column].values

    def with_values(self, values: np.ndarray, column: int = 0) -> Answer:
        columns: list[Column] = list(self.columns)
        columns[column] = replace(columns[column], values=values)
        return replace(self, columns=columns)

    def with_rows(self, rows: np.ndarray) -> Answer:
        """Those rows of a table, by their numbers."""
        return replace(self, columns=[replace(column, values=column.values[rows]) for column in self.columns])


Corruption = Callable[[Answer, np.random.Generator], "Answer | None"]


def any_change(answer: Answer, numbers: np.random.Generator) -> Answer | None:
    """Of an answer that is the only one."""
    column = int(numbers.integers(len(answer.columns)))
    for _ in range(AGAIN):
        values = altered(answer.values(column), numbers)
        if not np.array_equal(values, answer.values(column)):
            return answer.with_values(values, column)
    return None


def first_column(answer: Answer, numbers: np.random.Generator) -> Answer | None:
    """Of distances, which are the only ones, with their predecessors or without."""
    values = altered(answer.values(), numbers)
    if np.array_equal(values, answer.values()):
        return None
    wrong = answer.with_values(values)
    return wrong if numbers.random() < 0.5 else replace(wrong, columns=wrong.columns[:1])


def distances(answer: Answer, numbers: np.random.Generator) -> Answer | None:
    """A distance, or a predecessor that is on no shortest path."""
    if len(answer.columns) == 1 or numbers.random() < 0.6:
        return first_column(answer, numbers)
    distance, above = answer.values(), answer.values(1).copy()
    v, u = (int(number) for number in numbers.integers(len(distance), size=2))
    if numbers.random() < 0.1:
        u = len(distance) + int(numbers.integers(3))  # no vertex
    elif above[v] == answer.session.none or numbers.random() < 0.3:
        u = answer.session.none
    else:
        on = (answer.source == u) & (answer.target == v)
        step = answer.weight[on] if answer.found["weighted"] else np.ones(int(on.sum()), distance.dtype)
        if np.any(distance[u] + step.astype(distance.dtype) == distance[v]):
            return None
    if above[v] == u:
        return None
    above[v] = u
    return answer.with_values(above, 1)


def ranks(answer: Answer, numbers: np.random.Generator) -> Answer | None:
    """Ranks farther off than their tolerance lets them be."""
    right, alpha = answer.values(), answer.options.get("alpha", 0.85)
    least = SPACE * (alpha * answer.options.get("tol", 1e-6) + ROUNDED) / (1 - alpha)
    size, kind = least * 10 ** numbers.uniform(0, 5), int(numbers.integers(5))
    wrong = right.astype(np.float64)
    v, u = numbers.integers(len(right), size=2)
    if kind == 0:
        wrong[v] += size * numbers.choice([-1, 1])
    elif kind == 1:
        wrong[v], wrong[u] = wrong[v] + size, wrong[u] - size
    elif kind == 2:
        wrong *= 1 + size * numbers.choice([-1, 1])
    elif kind == 3:
        wrong = numbers.permutation(wrong)
    else:
        wrong[v] = numbers.choice([np.nan, np.inf, -np.inf])
    wrong = wrong.astype(right.dtype)
    off = np.abs(wrong.astype(np.float64) - right.astype(np.float64)).sum()
    return None if off < least else answer.with_values(wrong)  # NaN is no less


def one_value(answer: Answer, numbers: np.random.Generator) -> Answer | None:
    """Values greater, less, negated, scaled, shuffled or no numbers, or columns exchanged, by far more than the
    tolerance; none where the run promised nothing."""
    if not answer.found["converged"]:
        return None
    column, kind = int(numbers.integers(len(answer.columns))), int(numbers.integers(8))
    right = answer.values(column)
    wrong, v, size = right.copy(), int(numbers.integers(len(right))), 10 ** numbers.uniform(-2, 2)
    if kind == 0:
        wrong[v] += size
    elif kind == 1:
        wrong[v] -= size
    elif kind == 2:
        wrong = -wrong
    elif kind == 3:
        wrong[v] = -wrong[v]
    elif kind == 4:
        wrong *= 1 + size if numbers.random() < 0.5 else 1 / (1 + size)
    elif kind == 5:
        wrong = numbers.permutation(wrong)
    elif kind == 6:
        wrong[v] = numbers.choice([np.nan, np.inf, -np.inf])
    elif len(answer.columns) == 2:
        wrong = answer.values(1 - column).copy()
        answer = answer.with_values(right, 1 - column)
    off = np.abs(wrong - right).sum()
    return None if off < FAR_OFF else answer.with_values(wrong, column)  # NaN is no less


def eigenvector(answer: Answer, numbers: np.random.Generator) -> Answer | None:
    """As `one_value`, or an eigenvector of another eigenvalue, of either sign."""
    if numbers.random() < 0.8 or not answer.found["converged"]:
        return one_value(answer, numbers)
    count = answer.session.meta.vertices
    matrix = np.zeros((count, count))
    np.add.at(matrix, (answer.target, answer.source), 1.0)
    values, vectors = np.linalg.eigh(matrix)
    lesser = np.flatnonzero(values + 1 < APART * (values[-1] + 1))
    if not len(lesser):
        return None
    x = vectors[:, int(numbers.choice([lesser[0], lesser[-1], numbers.choice(lesser)]))]
    if (x <= 0).all() or numbers.random() < 0.5:
        x = -x
    return answer.with_values(x)


def counts(answer: Answer, numbers: np.random.Generator) -> Answer | None:
    """Rows too few or too many, or other numbers in one or two columns: two degrees exchanged in one, say."""
    return _rows_changed(answer, numbers) or any_change(answer, numbers)


def rows_of_edges(answer: Answer, numbers: np.random.Generator) -> Answer | None:
    """A row lost, doubled or altered, of edges that were chosen."""
    chosen = answer.columns
    rows = int(chosen.counts.sum())
    if not rows:
        return None
    given = {entry.name: getattr(chosen, entry.name) for entry in fields(Chosen)}
    kind, column = str(numbers.choice(["lost", "doubled", "altered"])), int(numbers.integers(3))
    return replace(answer, columns=Forged(**given, row=int(numbers.integers(rows)), kind=kind, column=column))


@dataclass(frozen=True)
class Forged(Chosen):
    """Edges whose rows ForgedTable changes: the row is lost, doubled, or altered in that column."""

    row: int = 0
    kind: str = ""
    column: int = 0


class ForgedTable(EdgeTable):
    """An EdgeTable, of `Forged` with a row that is another."""

    def _parts(self) -> Iterator[list[np.ndarray]]:
        chosen = self._chosen
        if not isinstance(chosen, Forged):
            yield from super()._parts()
            return
        parts = [np.concatenate(column) for column in zip(*super()._parts(), strict=True)]
        column = min(chosen.column, len(self._columns) - 1)
        if chosen.kind == "lost":
            parts = [np.delete(part, chosen.row) for part in parts]
        elif chosen.kind == "doubled":
            parts = [np.insert(part, chosen.row, part[chosen.row]) for part in parts]
        elif column == 2:
            parts[column][chosen.row] += 1  # weights are below 9
        else:
            parts[column][chosen.row] = (int(parts[column][chosen.row]) + 1) % self._store.meta.vertices
        yield parts


def independent_set(answer: Answer, numbers: np.random.Generator) -> Answer | None:
    """A set with neighbours in it, or which another vertex can join."""
    inside = altered(answer.values(), numbers) if numbers.random() < 0.3 else answer.values().copy()
    some = numbers.integers(len(inside), size=int(numbers.choice([1, 1, 2, 3])))
    inside[some] = 1 - np.minimum(inside[some], 1)
    apart = answer.source != answer.target
    source, target = answer.source[apart], answer.target[apart]
    covered = inside == 1
    covered[target[inside[source] == 1]] = covered[source[inside[target] == 1]] = True
    right = not np.any(inside > 1) and covered.all() and not np.any(inside[source] & inside[target])
    return None if right else answer.with_values(inside)


def colors(answer: Answer, numbers: np.random.Generator) -> Answer | None:
    """Neighbours of one colour, or a colour too many."""
    color = answer.values().copy()
    some = numbers.integers(len(color), size=int(numbers.choice([1, 1, 2, 3])))
    color[some] = color[numbers.integers(len(color), size=len(some))] + int(numbers.choice([0, 0, 0, 1]))
    apart = answer.source != answer.target
    same = color[answer.source[apart]] == color[answer.target[apart]]
    return answer.with_values(color) if same.any() or np.any(color >= answer.found["colors"]) else None


def forest(answer: Answer, numbers: np.random.Generator) -> Answer | None:
    """A row too few or too many, or one of another weight; what the weights add up to is said rightly."""
    wrong = _rows_changed(answer, numbers)
    if wrong is None:
        weight = answer.values(2).copy()
        if not len(weight):
            return None
        row, edge = int(numbers.integers(len(weight))), int(numbers.integers(len(answer.source)))
        if numbers.random() < 0.5:
            weight[row] = answer.weight[edge]
            wrong = answer.with_values(weight, 2)
        else:  # another edge of the graph
            natural = answer.session.natural_ids()
            ends = sorted((natural[answer.source[edge]], natural[answer.target[edge]]))
            for column, end in zip((0, 1), ends, strict=True):
                values = answer.values(column).copy()
                values[row] = end
                wrong = (wrong or answer).with_values(values, column)
            weight[row] = answer.weight[edge]
            wrong = wrong.with_values(weight, 2) if wrong is not None else None
        if wrong is None or weight[row] == answer.values(2)[row]:
            return None  # it may be another least forest
    total = wrong.values(2).sum(dtype=np.float64)
    whole = wrong.values(2).dtype.kind != "f"
    return replace(wrong, found={**answer.found, "total_weight": int(total) if whole else float(total)})


def trusses(answer: Answer, numbers: np.random.Generator) -> Answer | None:
    """A row too few or too many, another edge, or another number."""
    wrong = _rows_changed(answer, numbers)
    if wrong is not None or not len(answer.values()):
        return wrong
    if len(answer.columns) == 3 and numbers.random() < 0.7:
        values = altered(answer.values(2), numbers)
        return None if np.array_equal(values, answer.values(2)) else answer.with_values(values, 2)
    row = int(numbers.integers(len(answer.values())))
    pair = np.sort(numbers.choice(answer.session.meta.vertices, 2, replace=False))
    if answer.values(0)[row] == pair[0] and answer.values(1)[row] == pair[1]:
        return None
    for column in (0, 1):
        values = answer.values(column).copy()
        values[row] = pair[column]
        answer = answer.with_values(values, column)
    return answer


def _rows_changed(answer: Answer, numbers: np.random.Generator) -> Answer | None:
    """A row left out or said twice, in half of the cases and where there is any."""
    rows = np.arange(len(answer.values()))
    if not len(rows) or numbers.random() < 0.5:
        return None
    row = int(numbers.integers(len(rows)))
    return answer.with_rows(np.delete(rows, row) if numbers.random() < 0.5 else np.insert(rows, row, row))


def altered(right: np.ndarray, numbers: np.random.Generator) -> np.ndarray:
    """Values changed, one or several, exchanged, moved, renamed or shuffled; they may be the same by chance."""
    values, kind = right.copy(), int(numbers.integers(7))
    if kind <= 2:
        for v in numbers.integers(len(values), size=int(numbers.choice([1, 1, 2, 5]))):
            values[v] = _like(right, int(v), numbers)
    elif kind == 3:
        v, u = numbers.integers(len(values), size=2)
        values[v], values[u] = right[u], right[v]
    elif kind == 4:
        far = values >= values[numbers.integers(len(values))]
        with np.errstate(all="ignore"):
            values[far] += values.dtype.type(1) if numbers.random() < 0.5 else -values.dtype.type(1)
    elif kind == 5:
        values[values == numbers.choice(values)] = numbers.choice(values)
    else:
        values = numbers.permutation(values)
    return values


def _like(values: np.ndarray, v: int, numbers: np.random.Generator) -> Any:
    """A value as others are: another vertex's, one next to v's, or an extreme one."""
    kind = int(numbers.integers(4))
    if kind <= 1:
        return numbers.choice(values)
    if values.dtype.kind == "f":
        near = np.nextafter(values[v], values.dtype.type(numbers.choice([-np.inf, np.inf])))
        return near if kind == 2 else numbers.choice([0.0, np.inf, -np.inf, np.nan])
    with np.errstate(over="ignore"):
        near = values[v] + values.dtype.type(1) if numbers.random() < 0.5 else values[v] - values.dtype.type(1)
    info = np.iinfo(values.dtype)
    return (
        near if kind == 2 else values.dtype.type(numbers.choice([0, 1, min(len(values), int(info.max)), int(info.max)]))
    )
