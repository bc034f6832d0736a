"""`gstream.open` and programs of the user's own, by class and by path."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import gstream
from gstream import version
from gstream.language.loading import load_program
from pagestore.errors import InputError, StoreError, UsageError
from tests.answers.graphs import Example, column

CHAIN = Example(4, np.array([0, 1, 2]), np.array([1, 2, 3]), kind="listed")
HOPS = """
from gstream import INF, MIN, Program, Vertex, u32

class Hops(Program):
    combine, value = MIN, u32
    source: Vertex

    def start(self, v, g):
        return 0 if v.id == self.source else INF

    def send(self, u, e, g):
        return u.value + 1
"""


@pytest.fixture
def graph(tmp_path):
    with gstream.open(CHAIN.stored(tmp_path)) as opened:
        yield opened


def test_import_is_quick():
    """Neither numba nor pandas nor pyarrow is loaded before something is run."""
    code = (
        "import sys, gstream; print([m for m in ('numba', 'pandas', 'pyarrow', 'h5py', 'polars') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_every_public_name_is_there():
    assert gstream.__version__ == version.__version__
    for name in gstream.__all__:
        assert getattr(gstream, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        gstream.nothing  # noqa: B018


def test_a_program_by_path(graph, tmp_path):
    (tmp_path / "hops.py").write_text(HOPS)
    for name in ("hops.py:Hops", "hops.py"):
        result = graph.run(str(tmp_path / name), source="10", max_supersteps=1)
        assert column(result, "value") == {3: None, 10: 0, 17: 1, 24: None}
        assert result.summary["algorithm"] == "Hops" and not result.summary["converged"]
    hops = load_program(f"{tmp_path}/hops.py:Hops")
    assert column(graph.run(hops(source=24)), "value")[24] == 0
    assert column(graph.run(hops, source=3), "value")[24] == 3


WEIGHS = """
from gstream import MIN, PerVertex, Program, f64

class Weighs(Program):
    combine, value = MIN, f64
    weight: PerVertex

    def start(self, v, g):
        return v.weight

    def send(self, u, e, g):
        return u.value
"""


@pytest.mark.parametrize("order", ["natural", "degree"])
def test_numbers_of_vertices_are_in_the_order_of_rows(order, tmp_path):
    """Whatever order the store has: a class with its array, and an instance that has one."""
    (tmp_path / "weighs.py").write_text(WEIGHS)
    weighs = load_program(f"{tmp_path}/weighs.py:Weighs")
    example = Example(5, np.array([3, 3, 3, 1]), np.array([0, 1, 2, 2]), order=order)
    with gstream.open(example.stored(tmp_path)) as graph:
        given = np.array([50.0, 40.0, 30.0, 20.0, 10.0])
        # 3 -> 0, 1, 2 and 1 -> 2
        for result in (graph.run(weighs, weight=given), graph.run(weighs(weight=given))):
            assert list(result.to_numpy()["vertex"]) == list(range(5))
            assert list(result.to_numpy()["value"]) == [20.0, 20.0, 20.0, 20.0, 10.0]
        with pytest.raises(UsageError, match="weight"):
            graph.run(weighs, weight=given[:4])


@pytest.mark.parametrize(
    ("text", "name", "error", "message"),
    [
        (HOPS, "absent.py:Hops", InputError, "absent.py: no such file"),
        (HOPS, "my.py:Hop", UsageError, "has no Hop; its programs are: Hops"),
        (HOPS, "my.py:INF", UsageError, "INF is not a program of this file; its programs are: Hops"),
        (HOPS + HOPS.replace("Hops", "More"), "my.py", UsageError, r"defines 2 programs \(Hops, More\)"),
        ("x = 1\n", "my.py", UsageError, "my.py: defines no program. A program is a class"),
        ("def f(:\n", "my.py:F", UsageError, r"my.py:1: .*Fix the file"),
        ("\nx = y\n", "my.py:F", UsageError, r"my.py:2: NameError: name 'y' is not defined"),
        (HOPS.replace("u.value + 1", "print(u)"), "my.py:Hops", UsageError, r"my.py:12: `print\(u\)`"),
        (HOPS, "my.txt:Hops", UsageError, "my.txt: is no Python file"),
    ],
)
def test_programs_that_cannot_be_loaded(text, name, error, message, tmp_path):
    (tmp_path / "my.py").write_text(text)
    with pytest.raises(error, match=message):
        load_program(f"{tmp_path}/{name}")


@pytest.mark.parametrize(
    ("name", "message"), [("bfs", r"^bfs: comes with gstream. Call graph.bfs\("), ("no", "no: no such")]
)
def test_names_that_are_no_programs(graph, name, message):
    with pytest.raises(UsageError, match=message):
        graph.run(name)


def test_the_line_of_a_program_that_is_named_from_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.py").write_text("\nx = y\n")
    with pytest.raises(UsageError, match=r"^my.py:2: NameError: name 'y' is not defined. Fix the file.$"):
        load_program("my.py")


def test_results_outlive_their_graph(tmp_path):
    with gstream.open(CHAIN.stored(tmp_path)) as graph:
        result = graph.bfs(source=3)
    assert column(result, "distance") == {3: 0, 10: 1, 17: 2, 24: 3}
    with pytest.raises(UsageError, match="the graph was closed"):
        graph.wcc()


def test_options(graph, tmp_path):
    engine = graph.engine()
    assert graph.engine() is engine and graph.engine(threads=1) is not engine
    with pytest.raises(UsageError, match="memory: no such option"):
        graph.wcc(memory=1)
    with pytest.raises(UsageError, match="memory: no such option"):
        gstream.open(tmp_path / "any.gs", memory=1)
    with pytest.raises(UsageError, match=r"alhpa: no such option\. Did you mean alpha\?$"):
        graph.pagerank(alhpa=0.9)
    with pytest.raises(UsageError, match=r"host_memroy: no such option\. Did you mean host_memory\?$"):
        graph.wcc(host_memroy=1)
    with pytest.raises(UsageError, match=r"sorce: no such option\. Did you mean source\?$"):
        graph.bfs(sorce=1)
    for algorithm, message in (
        ("bfs", "no source was"), ("rwr", "no source was"), ("khop", "no source was"), ("egonet", "no source was"),
        ("subgraph", "no vertices were"), ("cross", "no vertices were"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=f"^{algorithm}: {message} given"):
            getattr(graph, algorithm)()
    with pytest.raises(UsageError, match="colour: no such option; katz has alpha, .*, and every run takes batch_bytes"):
        graph.katz(colour=1)
    with pytest.raises(UsageError, match="bfs: has no option 'alpha'"):
        graph.execute("bfs", {"source": 3, "alpha": 1})
    with pytest.raises(UsageError, match="dfs: no such algorithm; there are bfs, pagerank, sssp, wcc"):
        graph.execute("dfs", {})
    with pytest.raises(UsageError, match="max_supersteps: is for programs of your own; bfs would stop"):
        graph.bfs(source=3, max_supersteps=1)
    with pytest.raises(StoreError):
        gstream.open(tmp_path / "absent.gs")


def test_a_graph_without_vertices(tmp_path):
    """Every algorithm that takes no vertex gives an answer without rows."""
    nothing = np.zeros(0, np.int64)
    for directed in (True, False):
        stored = Example(0, nothing, nothing, nothing.astype(float), directed=directed, columns=1).stored(tmp_path)
        with gstream.open(stored) as graph:
            for name in (
                "pagerank",
                "wcc",
                "katz",
                "eigenvector",
                "hits",
                "degrees",
                "closeness",
                "harmonic",
                "radius",
                "hyperball",
                "stats",
            ):
                result = graph.execute(name, {})
                assert len(result) == 0 and result.top() == [], name
            for name in ("heat", "circuit", "neural"):
                assert len(graph.execute(name, {"initial": {}})) == 0
            assert len(graph.levels() if directed else graph.hcc()) == 0


def test_info_and_repr(graph):
    assert graph.info["vertices"] == 4 and graph.info["edges"] == 3 and graph.info["directed"]
    assert "4 vertices, 3 directed edges" in repr(graph)
