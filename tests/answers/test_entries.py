"""What every algorithm says of itself: its definition, what its files hold, and how long its program is."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from importlib import import_module
from inspect import signature
from pathlib import Path

import numpy as np
import pytest

import gstream
from gstream.algorithms.registry import ALGORITHMS
from gstream.language.program import Program
from pagestore.errors import UsageError
from tests import choice
from tests.answers.graphs import Example

AGREED = {"bfs", "khop", "sssp", "wcc", "hcc", "scc"}  # of which packages have one definition
MOST_LINES = 25  # of a program: those of its class that are neither blank nor its docstring
PROGRAMS = sorted(path for path in Path(gstream.__file__).parent.glob("programs/[a-z]*.py"))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_definitions(name: str) -> None:
    said = ALGORITHMS[name].definition
    assert (said == "") == (name in AGREED)
    assert "--" not in said and "\n" not in said and len(said) <= 104  # in Python, too; lines of 120


def test_the_summary_has_the_definition(tmp_path: Path) -> None:
    with gstream.open(Example(3, np.array([0, 1]), np.array([1, 2])).stored(tmp_path)) as graph:
        assert graph.pagerank().summary["definition"] == ALGORITHMS["pagerank"].definition
        assert "definition" not in graph.bfs(0).summary


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("closeness", {"k": 2}, "an estimate: shares and mean distances of k drawn sources alone"),
        (
            "harmonic",
            {"k": 2},
            "an estimate: the sum over k drawn sources, times (n-1) / k, for a source (n-1) / (k-1)",
        ),
        (
            "betweenness",
            {"k": 2},
            "an estimate: sums over k drawn sources, times (n-1) / k, a source's own (n-1) / (k-1)",
        ),
        ("betweenness", {"k": 2, "endpoints": True}, "an estimate: sums over k drawn sources, times n / k"),
        ("betweenness", {"source": 0}, "of paths from the named sources alone, not scaled up"),
    ],
)
def test_definitions_of_some_sources(name: str, options: dict, said: str, tmp_path: Path) -> None:
    with gstream.open(Example(4, np.array([0, 1, 2]), np.array([1, 2, 3])).stored(tmp_path)) as graph:
        assert graph.execute(name, options).summary["definition"] == f"{ALGORITHMS[name].definition}; {said}"
        every = {"k": 4} if "k" in options else {}
        assert graph.execute(name, every).summary["definition"] == ALGORITHMS[name].definition


@pytest.mark.parametrize("name", ALGORITHMS)
def test_declarations_are_whole_and_true(name: str) -> None:
    """The file that is read as text says the same when it is run, and what it names is there."""
    algorithm = ALGORITHMS[name]
    module = import_module(algorithm.module)
    said = getattr(module, "ALGORITHMS", None) or (module.ALGORITHM,)
    assert algorithm in [replace(one, module=algorithm.module) for one in said]
    assert algorithm.title and algorithm.columns and algorithm.needs and algorithm.holds and algorithm.certificate
    assert algorithm.about == "" or algorithm.about.endswith(".")
    assert bool(algorithm.proof) == bool(algorithm.proof_bytes) == (not algorithm.certificate.startswith("none: "))
    taken = set(signature(algorithm.load(f"run_{name}")).parameters) - {"session"}
    assert taken == set(algorithm.defaults)
    assert all(option.help and not option.help.endswith(".") for option in algorithm.options)
    assert all(callable(algorithm.load(path)) for path in (algorithm.proof, algorithm.plan, algorithm.program) if path)


@pytest.mark.parametrize(
    "name", choice.seeds(3, [name for name, entry in ALGORITHMS.items() if entry.needs != "any store"])
)
def test_a_store_that_lacks_what_is_needed(name: str, tmp_path: Path) -> None:
    """What is declared, and with it shown in the docs, is what is refused."""
    algorithm, weight = ALGORITHMS[name], np.array([1.0, 2.0])
    weighted = algorithm.reads_weights(algorithm.defaults)
    ends, needs = (np.array([0, 1]), np.array([1, 2])), []
    right = {"directed": algorithm.directed is not False, "weight": weight if weighted else None}
    if algorithm.directed is not None:
        kind = "undirected" if algorithm.directed else "directed"
        said = f"is {kind}, and {algorithm.otherwise}".replace("--undirected", "directed=False")  # as Python says it
        needs.append(({"directed": not algorithm.directed}, said))
    if weighted:
        needs.append(({"weight": None}, f"has no edge weights, which {name} needs"))
    if algorithm.topology:
        needs.append(({"topology": "in"}, "--topology both"))
    for number, (lacking, said) in enumerate(needs):
        folder = tmp_path / str(number)
        folder.mkdir()
        with gstream.open(Example(3, *ends, **(right | lacking)).stored(folder)) as graph:
            with pytest.raises(UsageError, match=re.escape(said)):
                getattr(graph, name)(**{"source": 0} if "source" in algorithm.defaults else {})


@pytest.mark.parametrize("name", ALGORITHMS)
def test_defaults_are_those_of_the_functions(name: str) -> None:
    given = signature(ALGORITHMS[name].load(f"run_{name}")).parameters.values()
    found = {one.name: one.default for one in given if one.default is not one.empty}
    assert found.items() <= ALGORITHMS[name].defaults.items()


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_programs_are_short(path: Path) -> None:
    text, found = path.read_text(), 0
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            documented = node.body[0]
            counted = [line for line in lines[node.lineno - 1 : node.end_lineno] if line.strip()]
            shown = lines[documented.lineno - 1 : documented.end_lineno]
            assert ast.get_docstring(node) and len(counted) - len(shown) <= MOST_LINES, node.name
            found += 1
            assert issubclass(getattr(import_module(f"gstream.programs.{path.stem}"), node.name), Program)
    assert found


def test_a_loop_of_an_undirected_graph_counts_once(tmp_path: Path) -> None:
    """As the definition of degrees says."""
    example = Example(2, np.array([0, 0]), np.array([0, 1]), directed=False)
    with gstream.open(example.stored(tmp_path)) as graph:
        table = graph.degrees().to_numpy()
    assert dict(zip(table["degree"].tolist(), table["vertices"].tolist(), strict=True)) == {1: 1, 2: 1}
