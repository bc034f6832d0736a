"""A row an algorithm: none is left out, each runs at a tiny scale with an answer that its peers agree with."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bench import algorithm_peers, algorithms, bfs, components, graphs, run, sssp
from bench.algorithm_peers import Case, column
from bench.algorithms import OWN, ROWS, Row, measure_row
from bench.context import Context
from bench.figures import Samples, WrongAnswerError
from bench.ours import Account, opened, work_of
from gstream.algorithms.registry import ALGORITHMS

PROVED = ("coloring", "levels")  # by certificates alone: their peers' answers are others
pytest.importorskip("networkit")
pytest.importorskip("igraph")


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    monkeypatch.setattr(graphs, "WORK", tmp_path)
    return Context("rmat-7", quick=True)


def test_every_algorithm_is_measured_once() -> None:
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)
    assert set(names) | OWN == set(ALGORITHMS) and not set(names) & OWN
    assert "algorithms" in run.MEASUREMENTS


def test_rows_of_one_graph_stand_together() -> None:
    kinds = [(row.kind, row.below) for row in ROWS]
    changes = sum(before != after for before, after in pairwise(kinds))
    assert changes == len(set(kinds)) - 1


@pytest.mark.long
def test_answers_and_those_of_peers_agree(context: Context) -> None:
    figures = list(algorithms.measure(context))
    assert {figure.what for figure in figures} == {row.name for row in ROWS}
    for figure in figures:
        assert figure.value > 0 and figure.unit == "ms" and figure.checked
        assert "edges/s of " in figure.note
        assert ("pages moved, 1 times the " in figure.note) == (figure.what != "degrees"), figure.note
    against = {figure.what for figure in figures if figure.against_value}
    peered = {"katz", "eigenvector", "hits", "kcore", "triangles", "lcc", "betweenness", "closeness", "harmonic"}
    assert peered | {"scc", "msf"} <= against


def test_heavy_work_is_done_on_a_smaller_graph(context: Context) -> None:
    assert Case(context, "undirected", 1).words == "rmat-6 undirected, degree order"
    assert Case(context, "undirected", 9).words == "rmat-6 undirected, degree order"  # LEAST_SCALE
    assert Case(context, "weighted", 0).words.startswith("rmat-7 undirected, weights")


class Wrong:
    """An answer with one value changed."""

    def __init__(self, answer: Any) -> None:
        self.answer, self.columns, self.summary = answer, answer.columns, dict(answer.summary)
        for name in {"effective_diameter", "modularity"} & self.summary.keys():
            self.summary[name] += 2
        if "neighbourhood_function" in self.summary:
            self.summary["neighbourhood_function"] = [2 * pairs for pairs in self.summary["neighbourhood_function"]]

    def __len__(self) -> int:
        return len(self.answer)

    def to_numpy(self) -> Any:
        rows = self.answer.to_numpy().copy()
        for name in rows.dtype.names[1:]:
            rows[name] += 1
        return rows


@pytest.mark.parametrize("row", [row for row in ROWS if row.peer and row.name not in PROVED], ids=lambda row: row.name)
def test_a_wrong_answer_is_refused(row: Row, context: Context) -> None:
    case = Case(context, row.kind, row.below)
    own = row.options(case)
    with opened(case.path) as session:
        answer = session.execute(row.name, own)
    assert row.peer
    with pytest.raises(WrongAnswerError, match=row.name):
        row.peer(case, ALGORITHMS[row.name].defaults | own, Wrong(answer))


def test_long_runs_are_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    samples, _ = algorithm_peers.repeated(3, lambda: calls.append(1))
    assert isinstance(samples, Samples) and len(samples.seconds) == len(calls) == 3
    monkeypatch.setattr(algorithm_peers, "ENOUGH_SECONDS", -1.0)
    assert len(algorithm_peers.repeated(3, lambda: calls.append(1))[0].seconds) == 1 and len(calls) == 4


def test_a_row_says_which_graph_and_options(context: Context) -> None:
    row = next(row for row in ROWS if row.name == "katz")
    case = Case(context, row.kind, row.below)
    with opened(case.path) as session:
        figure = measure_row(row, case, session)[0]
        values = column(session.execute("katz", row.options(case)), "katz")
    assert figure.graph == "rmat-7 undirected, degree order" and figure.note.startswith("alpha 0.0")
    assert len(values) == case.graph.vertices


def test_pages_count_once_in_each_superstep_that_needs_them(context: Context) -> None:
    """Ten iterations over one topology of a directed store that has two; and a search that looks at some pages."""
    case = Case(context, "directed", 0)
    with opened(case.path) as session:
        pages = session.graph.engine().graph.tables["out"].pages
        ranks, levels = session.pagerank(0.85, iterations=10), session.bfs(case.graph.sources(1)[0], False)
        steps = levels.summary["stats"]["per_superstep"]
    assert Account.of(ranks).pages_asked == Account.of(ranks).pages_moved == 10 * pages
    assert Account.of(levels).pages_asked == sum(step["pages"] for step in steps)
    text = work_of([Account.of(ranks)], 0.5)
    assert text == (
        f"{10 * case.csr.edges / 0.5e6:.3g} M edges/s of {10 * case.csr.edges} looked at; "
        f"{10 * pages} pages moved, 1 times the {10 * pages} that supersteps needed"
    )


@pytest.mark.parametrize("measurement", [bfs, sssp, components])
def test_those_with_a_measurement_of_their_own_say_the_same(measurement: ModuleType, context: Context) -> None:
    for figure in measurement.measure(context):
        assert "edges/s of " in figure.note
        assert ("no page is needed" if measurement is components else "pages moved, 1 times the ") in figure.note
