"""Columns, matrices and graphs that hold other things than edges: each is refused by its row, or left out on demand."""

from __future__ import annotations

import decimal
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import gstream
from pagestore.errors import GstreamError, InputError, UsageError


def edges(graph: gstream.Graph) -> list[tuple]:
    """All edges by the user's IDs, sorted."""
    return sorted(row for batch in graph.edges() for row in zip(*(c.to_pylist() for c in batch.columns), strict=True))


NAN = float("nan")
DIGRAPH = nx.DiGraph([(1, 2, {"weight": NAN}), (2, 3, {"weight": 4}), (3, 1, {"weight": "x"}), (5, 6)])
MATRIX = sp.csr_array([[0, NAN, 0], [np.inf, 0, 0], [0, 2, 0]])


@pytest.mark.parametrize(
    ("call", "left", "first"),
    [
        (lambda **o: gstream.from_edges([1, None, 3, 4], [2, 3, None, 5], **o), [(1, 2), (4, 5)], "source is null"),
        (lambda **o: gstream.from_edges(["a", None], ["b", "c"], **o), [("a", "b")], "row 2 .*source is null"),
        (lambda **o: gstream.from_edges(["a", ""], ["b", "c"], **o), [("a", "b")], "row 2 .*source is empty"),
        (lambda **o: gstream.from_edges([1, -2, 3], [2, 3, 1 << 62], **o), [(1, 2), (3, 1 << 62)], "source -2 is"),
        (lambda **o: gstream.from_edges([1.0, 2.5], [2, 3], **o), [(1, 2)], "row 2 .*source 2.5 is not an integer"),
        (lambda **o: gstream.from_edges([1, 7], [2, 3], num_vertices=4, **o), [(1, 2)], "row 2 .*source 7 is past"),
        (lambda **o: gstream.from_edges([1, 2], [2, 3], [5, NAN], **o), [(1, 2, 5)], "row 2 .*weight nan"),
        (lambda **o: gstream.from_edges([1, 2], [2, 3], [5, None], **o), [(1, 2, 5)], "row 2 .*weight is null"),
        (lambda **o: gstream.from_edges([1, 2], [2, 3], [5, "x"], **o), [(1, 2, 5)], "row 2 .*weight 'x' is not"),
        (
            lambda **o: gstream.from_edges(pd.Series([1, None], dtype="Int64"), pa.array([2, 3]), **o),
            [(1, 2)], "row 2 .*source is null",
        ),
        (
            lambda **o: gstream.from_edges(np.ma.array([1, 2], mask=[0, 1]), [2, 3], **o),
            [(1, 2)], "row 2 .*source is null",
        ),
        (lambda **o: gstream.from_networkx(DIGRAPH, **o), [(2, 3, 4), (5, 6, 1)], "edge 1 to 2: weight nan is not"),
        (lambda **o: gstream.from_scipy(MATRIX, **o), [(2, 1, 2)], r"entry \(0, 1\): weight nan is not finite"),
    ],
)  # fmt: skip
def test_rows_that_are_no_edges(call, left: list, first: str) -> None:
    with pytest.raises(InputError, match=f'{first}.*Correct it, or pass bad_lines="skip"'):
        call()
    with pytest.warns(UserWarning, match=rf"lines? skipped; the first: .*{first}"):
        graph = call(bad_lines="skip")
    assert edges(graph) == left


def test_igraph_s_edges_without_a_weight_are_left_out() -> None:
    given = pytest.importorskip("igraph").Graph([(0, 1), (1, 2)])
    given.es["weight"], given.vs["name"] = [NAN, None], ["x", "y", "y"]
    with pytest.raises(InputError, match="edge 0 to 1: weight nan"):
        gstream.from_igraph(given)
    with pytest.warns(UserWarning, match="1 line skipped"):
        graph = gstream.from_igraph(given, bad_lines="skip")
    assert edges(graph) == [(1, 2, 1)] and len(graph) == 3
    assert "IDs are igraph's numbers, as its names are not all different" in graph.conversion["notes"][0]


def test_what_was_left_out_is_listed_beside_the_store(tmp_path: Path) -> None:
    store, listed = tmp_path / "a.gs", tmp_path / "a.gs.skipped.txt"
    with pytest.warns(UserWarning, match=r"1 line skipped, listed in .*a.gs.skipped.txt"):
        gstream.from_edges([1, -1], [2, 2], store=store, bad_lines="skip").close()
    assert listed.read_text() == "edges: row 2 (from 1)\tsource -1 is negative; IDs run from 0 to 2^63-1\t-1, 2\n"
    with pytest.raises(UsageError, match="a.gs.skipped.txt: exists"):
        gstream.from_edges([1], [2], store=store, bad_lines="skip")
    gstream.from_arrow(pa.table({"src": [1], "dst": [2]}), store=store, force=True).close()
    assert [path.name for path in tmp_path.iterdir()] == ["a.gs"]  # a list of other rows would mislead
    with pytest.raises(
        InputError, match=r"not one of its rows is an edge; the first one: row 1 \(from 1\): source is null"
    ):
        gstream.from_edges([None], [2], store=store, force=True, bad_lines="skip")
    assert [path.name for path in tmp_path.iterdir()] == ["a.gs"]


def test_columns_of_any_kind() -> None:
    for ends in ((1, 2), range(1, 3), iter([1, 2]), np.array([1.0, 2.0]), pa.chunked_array([[1], [2]])):
        assert edges(gstream.from_edges(ends, [7, 8])) == [(1, 7), (2, 8)]
    text = pd.Series(["b", "a"], dtype="category")
    for names in (np.array(["b", "a"]), np.array(["b", "a"], object), text, pa.array(text)):
        assert edges(gstream.from_edges(names, ["a", "b"])) == [("a", "b"), ("b", "a")]
    for weights in ([decimal.Decimal("1.5"), 2], pa.array([1.5, 2]), pd.Series([1.5, 2]), (1.5, 2)):
        assert edges(gstream.from_edges([1, 2], [7, 8], weights)) == [(1, 7, 1.5), (2, 8, 2)]


@pytest.mark.parametrize("kind", ["Categorical", "Enum"])
def test_categories_of_polars(kind: str) -> None:
    polars = pytest.importorskip("polars")
    typed = polars.Categorical if kind == "Categorical" else polars.Enum(["a", "b"])
    frame = polars.DataFrame({"src": ["a", "b"], "dst": ["b", "a"]}).with_columns(polars.all().cast(typed))
    for graph in (gstream.from_polars(frame), gstream.from_edges(frame["src"], frame["dst"])):
        assert edges(graph) == [("a", "b"), ("b", "a")]


def test_labels_and_other_columns_of_pandas() -> None:
    frame = pd.DataFrame([[1, 2, 3], [4, 5, 6]])
    assert edges(gstream.from_pandas(frame, 0, 2)) == [(1, 3), (4, 6)]
    assert gstream.from_pandas(frame, 0, 2).conversion["notes"][0].startswith("table: columns 0 and 2 are source")
    mixed = pd.DataFrame({"src": [1, 2], "dst": [2, 3], "note": [1, "x"]})
    assert edges(gstream.from_pandas(mixed)) == [(1, 2), (2, 3)]
    with pytest.raises(InputError, match=r"column note holds values of several kinds .*frame\['note'\].astype"):
        gstream.from_pandas(mixed, "src", "note")
    pieces = pd.concat([pa.table({"src": [one], "dst": ["b"]}).to_pandas() for one in "ac"])
    assert edges(gstream.from_pandas(pieces)) == [("a", "b"), ("c", "b")]
    with pytest.raises(InputError, match="two columns are called src. Rename one"):
        gstream.from_pandas(pd.DataFrame([[1, 2, 3]], columns=["src", "src", "dst"]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gstream.from_edges([1, "a"], ["b", 2]), "source holds other values than IDs, or several kinds"),
        (lambda: gstream.from_edges([1 << 70], [2]), "source holds other values than IDs"),
        (lambda: gstream.from_edges(["\ud800"], ["a"]), "source has lone surrogates"),
        (lambda: gstream.from_edges({1, 2}, [2, 3]), "source is no column, but a set. Pass an array"),
        (lambda: gstream.from_edges(1, 2), "source is no column, but a int"),
        (lambda: gstream.from_edges(np.ones((2, 2), int), [1, 2]), r"but a ndarray of the shape \(2, 2\)"),
        (lambda: gstream.from_edges([1], [2], 3), "weight is no column, but a int"),
        (lambda: gstream.from_edges([1], [2], ["x"]), "the weight is of type str; .*or pass weight=False"),
        (lambda: gstream.from_edges([1], [2], [[1, 2]]), "the weight is of type list"),
        (lambda: gstream.from_edges([1], [2], [1j]), "the weight is of type complex128"),
        (lambda: gstream.from_edges([1], [2], bad_lines="ignore"), "bad_lines ignore: unknown; it is fail or skip"),
        (lambda: gstream.from_networkx([(1, 2)]), "a builtins.list is no graph of NetworkX"),
        (lambda: gstream.from_networkx(DIGRAPH, "cost"), "weight 'cost': no edge has that attribute; .* has weight"),
        (lambda: gstream.from_networkx(DIGRAPH, True), "weight True: is the name of an edge attribute"),
        (lambda: gstream.from_igraph(DIGRAPH), "is no igraph.Graph"),
        (lambda: gstream.from_scipy(np.eye(3)), "a ndarray is no matrix of scipy.sparse"),
        (lambda: gstream.from_scipy(MATRIX, weight="no"), "weight 'no': must be True or False"),
        (lambda: gstream.from_scipy(changed("indices", 99)), "index 99 is past the limit; the matrix has 3 rows"),
        (lambda: gstream.from_scipy(changed("indptr", 99)), "its indptr does not rise from 0"),
        (lambda: gstream.convert("a.txt", workdir="/nowhere"), "/nowhere: writing failed"),
    ],
)
def test_what_is_no_column_is_said(call, message: str) -> None:
    with pytest.raises(GstreamError, match=message):
        call()


def changed(what: str, value: int) -> sp.csr_array:
    """A matrix that somebody wrote into."""
    matrix = sp.csr_array(np.eye(3))
    getattr(matrix, what)[1] = value
    return matrix


def test_no_weights_are_taken_where_that_is_asked_for() -> None:
    assert edges(gstream.from_networkx(DIGRAPH, False)) == [(1, 2), (2, 3), (3, 1), (5, 6)]
    assert edges(gstream.from_scipy(MATRIX, weight=False)) == [(0, 1), (1, 0), (2, 1)]
    both = sp.csr_array([[0, NAN], [3, 0]])
    assert edges(gstream.from_scipy(both, weight=False, directed=False)) == [(0, 1)]


@pytest.mark.parametrize(
    ("given", "door"),
    [
        (pd.DataFrame({"a": [1]}), "from_pandas"),
        (pa.table({"a": [1]}), "from_arrow"),
        (nx.path_graph(2), "from_networkx"),
        (MATRIX, "from_scipy"),
        (np.zeros((2, 2)), "from_edges"),
        ([(1, 2)], "from_edges"),
        (["a.csv", pd.DataFrame()], "from_pandas"),
        (7, "from_edges"),
    ],
)
def test_convert_names_the_call_that_takes_what_is_no_path(given, door: str) -> None:
    with pytest.raises(UsageError, match=rf"inputs: takes paths of files, not \w+\. Pass it to gstream\.{door}\."):
        gstream.convert(given)


def test_a_sparse_column_of_pandas_is_refused_where_it_is_read() -> None:
    frame = pd.DataFrame({"source": [1, 2], "target": [2, 3], "weight": pd.arrays.SparseArray([0.0, 1.5])})
    with pytest.raises(InputError, match=r"column weight is sparse, .*frame\['weight'\]\.sparse\.to_dense"):
        gstream.from_pandas(frame)
    assert edges(gstream.from_pandas(frame, weight=False)) == [(1, 2), (2, 3)]
    dense = frame.assign(weight=frame["weight"].sparse.to_dense())
    assert edges(gstream.from_pandas(dense)) == [(1, 2, 0.0), (2, 3, 1.5)]


def test_repeated_entries_of_a_matrix_are_parallel_edges_until_they_are_summed() -> None:
    matrix = sp.coo_array(([1, 2, 4], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    assert edges(gstream.from_scipy(matrix)) == [(0, 1, 1), (0, 1, 2), (1, 0, 4)]
    matrix.sum_duplicates()
    assert edges(gstream.from_scipy(matrix)) == [(0, 1, 3), (1, 0, 4)]


@pytest.mark.parametrize("pairs", [[(1, 2), (3, 4)], np.array([[1, 2], [3, 4]])], ids=["list", "array"])
def test_pairs_are_told_how_to_be_given_apart(pairs):
    with pytest.raises(UsageError, match=r"takes sources and targets apart: from_edges\(\*zip\(\*pairs\)\)"):
        gstream.from_edges(pairs)
    with gstream.from_edges(*zip(*pairs, strict=True)) as graph:
        assert graph.conversion["edges"] == 2
