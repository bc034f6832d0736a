"""Single vertices, edges in batches, checks and exports of an open graph, against NetworkX."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import choice
import networkx as nx
import numpy as np
import pyarrow.parquet as parquet
import pytest

import gstream
import pagestore
from pagestore import convert_arrays
from pagestore.errors import CapError, UsageError
from pagestore.reader import PageReader

HUB, COUNT = 3, 3000  # a hub's list fills large pages of 4 KiB


def drawn(directed: bool) -> nx.Graph:
    """A hub, a few hundred vertices in between, self-loops, and one without edges."""
    rng = np.random.default_rng(5)
    graph = (nx.MultiDiGraph if directed else nx.MultiGraph)()
    graph.add_nodes_from(range(0, 2 * COUNT, 2))
    pairs = [(HUB * 2, int(v)) for v in rng.permutation(COUNT)[: COUNT - 9] * 2]
    pairs += [(int(u) * 2, int(v) * 2) for u, v in rng.integers(0, COUNT, (4000, 2))]
    graph.add_edges_from([*pairs, (8, 8), (8, 8), (10, 12), (10, 12)])
    return graph


@pytest.fixture(scope="module", params=["natural", "degree", "columns", "out", "in", "undirected", "strings"])
def both(request, tmp_path_factory):
    """(Graph, what it holds in NetworkX, user ID of a node)."""
    kind = request.param
    wanted = drawn(kind != "undirected")
    path = tmp_path_factory.mktemp("views") / "graph.gs"
    if kind == "strings":
        named = nx.relabel_nodes(wanted, {node: f"v{node}" for node in wanted})
        graph = gstream.from_networkx(named, store=path, page_size=4096, order="degree")
        yield graph, wanted, lambda node: f"v{node}"
        return
    options = (
        {"order": "degree"} if kind == "degree" else {"order": "degree", "columns": 8} if kind == "columns" else {}
    )
    options |= {"topology": kind} if kind in ("out", "in") else {}
    ends = np.array([(u, v) for u, v in wanted.edges()])
    convert_arrays(
        path, np.searchsorted(sorted(wanted), ends[:, 0]), np.searchsorted(sorted(wanted), ends[:, 1]),
        ids=np.array(sorted(wanted)), directed=kind != "undirected", page_bytes=4096, **options,
    )  # fmt: skip
    graph = gstream.open(path)
    yield graph, wanted, int
    graph.close()


SOME = [HUB * 2, 8, 10, 12, 0, 2, 400, 2 * COUNT - 2]


def test_vertices(both) -> None:
    graph, wanted, name = both
    assert len(graph) == COUNT and list(graph) == sorted(map(name, wanted))
    assert name(8) in graph and graph
    for absent in (-1, 1, 2 * COUNT, 1.5, None, True, "x", "8", b"8", (1, 2)):
        assert absent not in graph


def test_degrees(both) -> None:
    graph, wanted, name = both
    for node in SOME:
        assert graph.degree(name(node)) == wanted.degree(node)
        if graph.is_directed():
            assert graph.degree(name(node), "out") == wanted.out_degree(node)
            assert graph.degree(name(node), "in") == wanted.in_degree(node)


def test_neighbors(both) -> None:
    graph, wanted, name = both
    there = graph.info["topologies"]
    for node in SOME:
        ahead, back = (
            sorted(map(name, found)) for found in (wanted.adj[node], getattr(wanted, "pred", wanted.adj)[node])
        )
        if "out" in there:
            assert list(graph.neighbors(name(node))) == ahead
        if "in" in there or not graph.is_directed():
            assert list(graph.neighbors(name(node), "in")) == back
        if len(there) == 2 or not graph.is_directed():
            assert list(graph.neighbors(name(node), "both")) == sorted({*ahead, *back})
    if "out" not in there:
        with pytest.raises(UsageError, match="has no out-topology"):
            graph.neighbors(name(8))


def test_edges_between_two(both) -> None:
    graph, wanted, name = both
    for u in SOME:
        for v in [*SOME, *range(100, 140, 2)]:
            assert graph.has_edge(name(u), name(v)) == wanted.has_edge(u, v)
    assert not graph.has_edge(name(8), "nobody") and not graph.has_edge(-5, name(8))


def test_one_vertex_takes_one_page(both, monkeypatch) -> None:
    graph, wanted, name = both
    read, pages = PageReader.read, []

    def counted(reader, first, count, *rest):
        pages.append((first, count))
        return read(reader, first, count, *rest)

    monkeypatch.setattr(PageReader, "read", counted)
    direction = graph.info["topologies"][0]
    for node in (8, 10, 400):
        for asked in (
            lambda node=node: graph.neighbors(name(node), direction),
            lambda node=node: graph.has_edge(name(node), name(10)),
            lambda node=node: graph.degree(name(node)),
        ):
            asked()
            assert len(pages) <= 1 and all(count == 1 for _, count in pages)
            pages.clear()
    for asked in (lambda: graph.has_edge(name(HUB * 2), name(8)), lambda: graph.degree(name(HUB * 2))):
        asked()
        assert len(pages) <= 3  # a hub of three pages, halved twice, and the page that is left
        pages.clear()


def test_edges_in_batches(both) -> None:
    graph, wanted, name = both
    with pytest.raises(UsageError, match="rows 0: must be 1 or more"):
        next(graph.edges(rows=0))
    batches = list(graph.edges(rows=500))
    assert max(map(len, batches)) <= 500 and len(batches) > 10
    found = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    pairs = [(name(u), name(v)) for u, v in wanted.edges()]
    if graph.is_directed():
        assert sorted(found) == sorted(pairs)
    else:
        assert sorted(map(sorted, found)) == sorted(map(sorted, pairs))
    assert graph.number_of_edges() == len(pairs) and graph.is_multigraph()


def test_networkx_under_a_limit(both) -> None:
    graph, wanted, name = both
    back = graph.to_networkx()
    assert type(back) is type(wanted) and back.number_of_edges() == wanted.number_of_edges()
    with pytest.raises(UsageError, match=r"more than limit=10; NetworkX would take about .* MiB"):
        graph.to_networkx(limit=10)
    with pytest.raises(UsageError, match="limit 'all': must be a whole number"):
        graph.to_networkx(limit="all")


def test_a_matrix_under_a_limit(both) -> None:
    graph, wanted, _ = both
    matrix = graph.to_scipy()
    theirs = nx.to_scipy_sparse_array(wanted, nodelist=sorted(wanted), weight=None)
    order = np.argsort([str(2 * v) for v in range(COUNT)]) if isinstance(next(iter(graph)), str) else np.arange(COUNT)
    assert (matrix != theirs[order][:, order]).nnz == 0
    with pytest.raises(UsageError, match="more than limit=10; SciPy would take about"):
        graph.to_scipy(limit=10)


def test_what_is_no_vertex_is_said(both) -> None:
    graph, _, name = both
    for call in (graph.degree, graph.neighbors):
        with pytest.raises(UsageError, match="vertex .*7777777.* is not a vertex of"):
            call(name(7777777))
        with pytest.raises(UsageError, match="direction 'up': unknown; it is one of out, in, both"):
            call(name(8), "up")


def test_verify_and_export(tmp_path, capfd) -> None:
    graph = gstream.from_edges([1, 2, 1], [2, 3, 2], [5, 6, 7])
    assert graph.verify().ok and graph.verify(progress=True).stored_edges == 6
    assert "verify: " in capfd.readouterr().err
    told = []
    report = graph.export(tmp_path / "edges.parquet", progress=lambda *counts: told.append(counts))
    assert report.edges == 3 and told == [(1, 1)]
    assert parquet.read_table(tmp_path / "edges.parquet").to_pylist()[0] == {"source": 1, "target": 2, "weight": 5}
    with pytest.raises(UsageError, match="exists. Pass force=True to replace it"):
        graph.export(tmp_path / "edges.parquet")
    graph.export(tmp_path / "edges.txt", weights=False)
    assert (tmp_path / "edges.txt").read_text() == "1\t2\n1\t2\n2\t3\n"


def test_plan() -> None:
    graph = gstream.from_edges([0, 1, 2], [1, 2, 0])
    planned = graph.plan("pagerank", iterations=7, threads=1)
    assert planned["supersteps"] == 7 and planned["supersteps_are"] == "exact" and planned["case"] == 1
    assert graph.plan("bfs", source=1)["frontier"]
    with pytest.raises(CapError, match="host_memory"):
        graph.plan("pagerank", host_memory=1)
    with pytest.raises(UsageError, match="has no option 'speed'"):
        graph.plan("pagerank", speed=9)


class Tags(HTMLParser):
    """What a page holds: tags, attributes, text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.text = set(), ""
        self.feed(text)

    def handle_starttag(self, tag, attrs) -> None:
        assert not attrs
        self.tags.add(tag)

    def handle_data(self, data) -> None:
        self.text += data + " "


def test_notebooks_show_figures_and_nothing_else(tmp_path) -> None:
    hostile = "<script>alert(1)</script>"
    path = tmp_path / "<b>.gs"
    graph = gstream.from_edges([hostile, "b"], ["b", "c"], store=path, directed=False)
    shown = Tags(graph._repr_html_())
    assert shown.tags <= {"table", "tbody", "tr", "th", "td"}
    assert "2 undirected (4 stored)" in shown.text and "<b>.gs" in shown.text and hostile in shown.text
    result = Tags(graph.bfs(source="b")._repr_html_())
    assert result.tags <= {"table", "thead", "tbody", "tr", "th", "td", "p"}
    assert hostile in result.text and "bfs, 3 rows" in result.text and "<b>.gs" in result.text
    Tags(gstream.from_edges([], [])._repr_html_())


def test_pickled_graphs_and_results_answer(tmp_path) -> None:
    for store in (None, tmp_path / "graph.gs"):
        graph = gstream.from_edges(["a", "b"], ["b", "c"], store=store)
        result = graph.bfs(source="a")
        copied, answer = pickle.loads(pickle.dumps(graph)), pickle.loads(pickle.dumps(result))
        assert list(copied.neighbors("b")) == ["c"] and answer.to_dict("distance") == {"a": 0, "b": 1, "c": 2}


SCRIPT = """
import gstream

def mine(graph):
    return graph.bfs(source=99)  # line 5

graph = gstream.from_edges([1], [2])
{call}
"""


@pytest.mark.parametrize(
    ("call", "last"),
    [
        ("mine(graph)", "return graph.bfs(source=99)  # line 5"),
        ("graph.degrees()['rank']", "graph.degrees()['rank']"),
        *choice.also(
            ("gstream.from_edges([1], [2, 3])", "gstream.from_edges([1], [2, 3])"),
            ("gstream.open('nowhere.gs')", "gstream.open('nowhere.gs')"),
            ("graph.neighbors(7)", "graph.neighbors(7)"),
            ("gstream.open('x.gs', thread=3)", "gstream.open('x.gs', thread=3)"),
        ),
    ],
)
def test_tracebacks_end_at_the_users_line(tmp_path, call: str, last: str) -> None:
    (tmp_path / "script.py").write_text(SCRIPT.format(call=call))
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, cwd=tmp_path)
    lines = [line for line in done.stderr.splitlines() if set(line) - set(" ^~")]
    assert done.returncode == 1 and lines[0] == "Traceback (most recent call last):"
    assert lines[-2].strip() == last and lines[-1].startswith(("pagestore.errors.", "gstream."))
    assert all("script.py" in line for line in lines if line.startswith("  File"))


def test_ipython_shows_the_same_lines() -> None:
    with pytest.raises(UsageError) as caught:
        gstream.from_edges([1], [2]).neighbors(7)
    lines = caught.value._render_traceback_()
    assert lines[-1].startswith("pagestore.errors.UsageError: vertex 7 is not") and "neighbors(7)" in "".join(lines)
    assert "reading/views.py" not in "".join(lines)


def test_help_begins_with_the_api() -> None:
    assert dir(gstream) == sorted(gstream.__all__)
    named = gstream.__doc__
    for name in ("open", "convert", "from_edges", "from_pandas", "generate", "Graph", "Result", "Program"):
        assert f"    {name}" in named, name


def test_types_ship() -> None:
    """Both packages say that they are typed, and every door is annotated in full."""
    for package in (gstream, pagestore):
        assert (Path(package.__file__).parent / "py.typed").exists()
    for name in ("open", "convert", "generate", *(name for name in gstream.__all__ if name.startswith("from_"))):
        parameters = inspect.signature(getattr(gstream, name)).parameters.values()
        assert all(one.annotation is not inspect.Parameter.empty for one in parameters), name
        assert getattr(gstream, name).__annotations__["return"] == "Graph"


def test_closed_graphs_say_so() -> None:
    graph = gstream.from_edges([1], [2])
    graph.close()
    for call in (lambda: len(graph), lambda: 1 in graph, lambda: graph.degree(1), lambda: list(graph.edges())):
        with pytest.raises(UsageError, match="the graph was closed"):
            call()


def test_weights_of_few_bytes_are_added_up_in_a_matrix() -> None:
    graph = gstream.from_edges([0, 0, 1], [1, 1, 2], [200, 200, 3])
    assert graph.to_scipy().toarray().tolist() == [[0, 400, 0], [0, 0, 3], [0, 0, 0]]
    assert nx.to_numpy_array(graph).tolist() == [[0, 400, 0], [0, 0, 3], [0, 0, 0]]
