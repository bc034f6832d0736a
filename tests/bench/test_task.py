"""The whole task: what each program's table is compared with, and what a wrong one comes to."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from bench import graphs, task, task_programs
from bench.figures import WrongAnswerError
from bench.graphs import Graph

PROGRAMS = [name for name in ("gstream", "gstream-again", *task.PEERS) if name.startswith("gstream") or find_spec(name)]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    before, graphs.WORK = graphs.WORK, tmp_path_factory.mktemp("scratch")
    try:
        return Graph("rmat-8")
    finally:
        graphs.WORK = before


def test_text_holds_each_edge_once(graph: Graph) -> None:
    rows = np.loadtxt(task.text_of(graph), dtype=np.int64)
    source, target, _ = graph.kron.halves()
    assert rows.tolist() == np.stack((source, target), axis=1).tolist()
    task.put_out_of_cache(task.text_of(graph))
    assert len(np.loadtxt(task.text_of(graph))) == len(rows)


@pytest.mark.parametrize("algorithm", task.ALGORITHMS)
def test_programs_give_the_references_table(
    graph: Graph, algorithm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = graph.sources(1)[0]
    expected = task.reference(graph.kron, algorithm, source)
    for program in PROGRAMS:
        answer = tmp_path / f"{program}.npy"
        task_programs.main([program, algorithm, str(task.text_of(graph)), str(source), str(answer)])
        stages = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert tuple(stages) == task.STAGES and min(stages.values()) >= 0
        task.check_answer(program, algorithm, answer, expected, graph.kron.degree)


@pytest.mark.parametrize("algorithm", task.ALGORITHMS)
def test_a_wrong_table_is_refused(graph: Graph, algorithm: str, tmp_path: Path) -> None:
    expected = task.reference(graph.kron, algorithm, 0)
    vertex, answer = np.arange(len(expected), dtype=float), tmp_path / "answer.npy"
    linked = np.flatnonzero(graph.kron.degree)

    def refused(vertex: np.ndarray, value: np.ndarray) -> None:
        np.save(answer, np.stack((vertex, value)))
        with pytest.raises(WrongAnswerError):
            task.check_answer("wrong", algorithm, answer, expected, graph.kron.degree)

    wrong = expected.copy()
    wrong[linked[3]] += 1
    refused(vertex, wrong)
    kept = np.delete(np.arange(len(expected)), linked[5])
    refused(vertex[kept], expected[kept])
