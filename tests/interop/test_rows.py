"""Results as Python holds them: columns, rows, dictionaries, and the tables of other libraries."""

from __future__ import annotations

import builtins
import importlib
import sys
import types

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gstream
from gstream.results import result as results
from pagestore.errors import LibraryMissingError, UsageError

INF = float("inf")


@pytest.fixture(params=["numbers", "strings", "reordered"])
def graph(request, monkeypatch):
    """10 -> 3 -> 24, and 17 out of reach: rows in the order 3, 10, 17, 24 (strings alike)."""
    monkeypatch.setattr(results, "CHUNK_ROWS", 3)
    source, target = [10, 3, 17], [3, 24, 17]
    if request.param == "strings":
        source, target = ([f"v{v:02}" for v in ends] for ends in (source, target))
    with gstream.from_edges(
        source, target, [1, 2, 4], order="degree" if request.param == "reordered" else "natural"
    ) as g:
        yield g


def test_rows_and_columns(graph) -> None:
    three, ten, lone, last = list(graph)
    found = graph.sssp(source=ten)
    rows = [(three, 1.0, ten), (ten, 0.0, None), (lone, None, None), (last, 3.0, three)]
    assert list(found) == rows and len(found) == 4
    assert [type(value) for value in rows[0]] == [type(value) for value in next(iter(found))]
    assert found["distance"].tolist() == [1.0, 0.0, INF, 3.0]
    none = "" if isinstance(three, str) else -1
    assert found["predecessor"].tolist() == [ten, none, none, three] and found["vertex"].tolist() == list(graph)
    assert found.at(three) == {"vertex": three, "distance": 1.0, "predecessor": ten}
    assert found.at(lone) == {"vertex": lone, "distance": None, "predecessor": None}
    assert found.to_dict("predecessor") == {three: ten, ten: None, lone: None, last: three}


def test_what_is_not_there_is_said(graph) -> None:
    found = graph.bfs(source=list(graph)[1])
    with pytest.raises(KeyError, match="'rank': no such column; there are vertex, distance, predecessor"):
        found["rank"]
    with pytest.raises(KeyError, match=r"For a vertex's row call result.at\(vertex\)"):
        found[3]
    with pytest.raises(UsageError, match="is not a vertex of"):
        found.at(-5 if not isinstance(list(graph)[0], str) else "nobody")
    assert not hasattr(found, "rank")


def test_one_column_of_values_is_a_dictionary(graph) -> None:
    ranks = graph.wcc()
    three, ten, lone, last = list(graph)
    assert dict(ranks) == ranks.to_dict() == {three: three, ten: three, lone: lone, last: three}
    found = graph.bfs(source=ten)
    for call in (lambda: dict(found), found.to_dict):
        with pytest.raises(TypeError, match=r"columns vertex, distance, predecessor.*result.to_dict\('distance'\)"):
            call()


def test_arrow_takes_it_as_it_is(graph) -> None:
    found = graph.bfs(source=list(graph)[1])
    assert pa.table(found).equals(found.to_arrow())
    assert pa.RecordBatchReader.from_stream(found).read_all().num_rows == 4
    assert pa.schema(found) == found.arrow_schema()
    if hasattr(pd.DataFrame, "from_arrow"):
        assert pd.DataFrame.from_arrow(found).shape == (4, 3)


def test_polars_and_duckdb_take_it(graph) -> None:
    polars = pytest.importorskip("polars")
    found = graph.bfs(source=list(graph)[1])
    assert found.to_polars().rows() == polars.DataFrame(found).rows() == list(found)
    duckdb = pytest.importorskip("duckdb")
    assert duckdb.sql("select count(*), max(distance) from found").fetchall() == [(4, 2)]


def test_a_subgraph_is_a_matrix(graph) -> None:
    three, ten, lone, last = list(graph)
    matrix = graph.subgraph(nodes=[three, ten, lone]).to_scipy()
    assert matrix.shape == (4, 4) and matrix.toarray().tolist() == [
        [0, 0, 0, 0],
        [1, 0, 0, 0],
        [0, 0, 4, 0],
        [0, 0, 0, 0],
    ]
    assert graph.subgraph(nodes=[ten]).to_scipy().nnz == 0
    with pytest.raises(UsageError, match="the rows are no edges"):
        graph.wcc().to_scipy()
    edges = graph.subgraph(nodes=[three, ten])
    assert list(edges) == [(ten, three, 1)] and edges["weight"].tolist() == [1]
    with pytest.raises(UsageError, match="are not of vertices"):
        edges.at(ten)


def test_libraries_that_are_not_there_are_named(graph, monkeypatch) -> None:
    for module in (builtins, importlib):
        function = "__import__" if module is builtins else "import_module"
        load = getattr(module, function)

        def missing(name, *rest, load=load, **named):
            if name.partition(".")[0] in ("polars", "cupy", "matplotlib"):
                raise ImportError(name)
            return load(name, *rest, **named)

        monkeypatch.setattr(module, function, missing)
    found = graph.wcc()
    for call, name in ((found.to_polars, "polars"), (found.to_cupy, "cupy")):
        with pytest.raises(LibraryMissingError, match=f"{name}: is not installed, .* Install it: pip install {name}"):
            call()
    with pytest.raises(UsageError, match="matplotlib: is not installed, and plot needs it"):
        graph.pagerank().plot()


def test_cupy_gets_columns_of_numbers(graph, monkeypatch) -> None:
    class Cupy:
        asarray = staticmethod(lambda array: ("on the GPU", array.tolist()))

    monkeypatch.setattr("importlib.import_module", lambda name: Cupy)
    found = graph.bfs(source=list(graph)[1]).to_cupy()
    assert found["distance"] == ("on the GPU", [1, 0, -1, 2])
    assert ("vertex" in found) == (not isinstance(list(graph)[0], str))


def test_plots(graph, tmp_path) -> None:
    pytest.importorskip("matplotlib")
    axes = graph.bfs(source=list(graph)[1]).plot(path=tmp_path / "far.png")
    assert axes.get_xlabel() == "distance" and (tmp_path / "far.png").stat().st_size > 1000
    x, y = axes.lines[0].get_data()
    assert x.tolist() == [0, 1, 2] and y.tolist() == [1, 1, 1]
    (line,) = graph.pagerank().plot("pagerank").lines
    assert np.sum(line.get_ydata()) == 4
    with pytest.raises(UsageError, match="plot: rank holds numbers; those are pagerank"):
        graph.pagerank().plot("rank")
    sizes = graph.wcc()
    (line,) = (axes := sizes.plot()).lines
    per_group = np.unique(sizes["component"], return_counts=True)[1]
    assert np.repeat(*(part.astype(int) for part in line.get_data())).tolist() == sorted(per_group)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("vertices of a component", "components")


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([12.0], ["12"]), ([1.0, 2.0], ["1", "2"]), ([0.0, 7.0], ["0", "1", "2", "5"]), ([0.05, 0.12], ["0.06"]),
        ([5.0, 70.0], ["5", "10", "20", "50"]), ([0.002, 0.03], ["0.002", "0.005", "0.01", "0.02"]),
    ],
)  # fmt: skip
def test_ticks_where_powers_of_ten_are_few(values, wanted) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    from gstream.reporting.svg import enough_ticks

    whole = all(value == int(value) for value in values)
    axes = Figure().add_subplot(xscale="symlog" if whole else "log", yscale="log")
    axes.plot(values, [1] * len(values), ".")
    enough_ticks((axes.xaxis, whole), (axes.yaxis, True))
    shown = [text.get_text() for text in axes.get_xticklabels()]
    assert set(wanted) <= set(shown)
    assert all(axes.get_xlim()[0] <= tick <= axes.get_xlim()[1] for tick in axes.get_xticks())


def test_a_drawing_of_few_edges(graph, tmp_path, monkeypatch) -> None:
    pytest.importorskip("matplotlib"), pytest.importorskip("networkx")
    found = graph.egonet(source=list(graph)[1], radius=2)
    axes = found.plot(path=tmp_path / "near.svg")
    arrows, dots = axes.collections
    named = {name for row in found for name in row[:2]}
    assert arrows.N == len(found) and len(dots.get_offsets()) == len(named)
    assert {text.get_text() for text in axes.texts} == {str(name) for name in named}
    monkeypatch.setattr("gstream.reporting.plots.MOST_EDGES", 1)
    assert found.plot().get_xlabel() == "weight"  # of more edges than a drawing shows


def test_distributions_count_every_row_once() -> None:
    from gstream.reporting.distributions import distribution

    parts = [np.array([0, 3, 3], np.int32), np.array([70_000, 5], np.int32)]
    classes = distribution("x", "rows", 6, lambda: iter(parts))  # one row of the six has no value
    assert not classes.whole and classes.counts.sum() == 4 and classes.left_out == 2
    assert classes.values.min() >= 1 and classes.values.max() <= 70_000
    few = distribution("x", "rows", 3, lambda: iter(parts[:1]))
    assert (few.values.tolist(), few.counts.tolist(), few.left_out) == ([0, 3], [1, 2], 0)
    reals = [np.array([np.inf, np.nan, -1.0, 0.0]), np.array([1e-30, 2.5, 2.5, 1e30])]
    spread = distribution("x", "rows", 8, lambda: iter(reals))
    assert sorted(spread.counts.tolist()) == [1, 1, 2] and spread.left_out == 4
    empty = distribution("x", "rows", 2, lambda: iter([reals[0][:2]]))
    assert len(empty.values) == 0 and empty.left_out == 2


def test_the_line_of_a_run(graph) -> None:
    line = graph.pagerank(max_iter=2, tol=0).run_line()
    assert line.startswith("pagerank, 4 rows, 2 supersteps, not converged, ") and line.endswith("; graph in memory")


def test_what_the_command_line_notes_is_shown(graph) -> None:
    found = graph.pagerank(max_iter=1, tol=0)
    assert "pagerank; not converged after 1 superstep; weights of 3 edges" in repr(found) and str(found) == repr(found)
    assert "<p>not converged after 1 superstep</p>" in found._repr_html_()
    assert "converged" not in repr(graph.pagerank(iterations=1))
    noted = graph.pagerank(iterations=1)
    said = "weights of 3 edges are not read, which NetworkX's default reads; weighted=True reads them"
    assert repr(noted) == f"<Result of pagerank: 4 rows, vertex, pagerank; {said}>"
    assert "weighted=True reads them</p>" in noted._repr_html_()


def test_a_plot_does_not_replace_a_file(graph, tmp_path) -> None:
    pytest.importorskip("matplotlib")
    path, found = tmp_path / "degrees.svg", graph.degrees()
    path.write_text("mine")
    with pytest.raises(UsageError, match="exists. Pass force=True to replace it"):
        found.plot(path=path)
    assert path.read_text() == "mine"
    found.plot(path=path, force=True)
    assert path.read_text().startswith("<?xml")


def test_a_notebook_has_a_bar(graph, monkeypatch, capsys) -> None:
    """Where ipykernel is loaded and tqdm installed; lines on standard error elsewhere."""
    shown: list[str] = []

    class Bar:
        total = n = 0

        def __init__(self, **named) -> None:
            assert named == {"bar_format": "{desc} {bar} {elapsed}"}

        def set_description_str(self, text: str) -> None:
            shown.append(text)

        def refresh(self) -> None:
            pass

    graph.pagerank(progress=True)
    assert "superstep 1: " in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    for name in ("tqdm", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["tqdm.auto"].tqdm = Bar  # type: ignore[attr-defined]
    graph.pagerank(progress=True, threads=1)
    gstream.from_edges([1], [2], progress=True)
    assert shown[0].startswith("superstep 1: ") and shown[-1] == "pack" and capsys.readouterr().err == ""
