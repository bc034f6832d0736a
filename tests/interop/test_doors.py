"""Graphs from Python: edges, tables, streams, matrices, graphs of other libraries; where their stores lie, and go."""

from __future__ import annotations

import gc
import pickle
import tempfile
import warnings
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import gstream
from gstream.interop.options import ReadOptions, split_options, spoken
from gstream.options import memory
from pagestore.errors import InputError, ResourceError, UsageError
from pagestore.inmemory import MOST_EDGES

ROWS = {"source": [5, 5, 7, 9], "target": [7, 9, 5, 9], "amount": [1.5, 2.0, 0.25, 4.0]}
NAMED = {"source": ["b", "b", "é", "a"], "target": ["é", "a", "b", "a"], "amount": [1.5, 2.0, 0.25, 4.0]}


def edges(graph: gstream.Graph) -> list[tuple]:
    """All edges by the user's IDs, sorted."""
    return sorted(row for batch in graph.edges() for row in zip(*(c.to_pylist() for c in batch.columns), strict=True))


def rows(table: dict[str, list]) -> list[tuple]:
    return sorted(zip(*table.values(), strict=True))


@pytest.mark.parametrize("table", [ROWS, NAMED])
@pytest.mark.parametrize("stored", [True, False])
def test_edges_come_as_they_are(tmp_path: Path, table: dict, stored: bool) -> None:
    store = tmp_path / "graph.gs" if stored else None
    columns = list(table.values())
    given = [
        gstream.from_edges(*columns, store=store, force=True),
        gstream.from_arrow(pa.table(table), weight="amount", store=store, force=True),
        gstream.from_arrow(pa.table(table).to_batches()[0], 1, 2, 3, store=store, force=True),
        gstream.from_pandas(pd.DataFrame(table, index=[4, 3, 2, 1]), store=store, force=True),
        gstream.from_pandas(pd.DataFrame(table).astype({"source": "category"}), store=store, force=True),
        gstream.from_arrow(pa.table(table).to_reader(max_chunksize=1), store=store, force=True),
    ]
    for graph in given[-1:] if stored else given:
        assert edges(graph) == rows(table)
        assert list(graph) == sorted({*columns[0], *columns[1]}, key=lambda v: v.encode() if isinstance(v, str) else v)
    assert [entry.name for entry in tmp_path.iterdir()] == (["graph.gs"] if stored else [])


def test_columns_by_name_and_number() -> None:
    frame = pd.DataFrame({"when": [1, 2], "payer": [3, 4], "payee": [4, 5], "note": ["x", "y"], "sum": [7, 8]})
    assert edges(gstream.from_pandas(frame)) == [(3, 4, 7), (4, 5, 8)]
    assert edges(gstream.from_pandas(frame, "when", "sum", "payer")) == [(1, 7, 3), (2, 8, 4)]
    assert edges(gstream.from_pandas(frame, 1, 3, weight=5)) == [(1, 4, 7), (2, 5, 8)]
    weighed = pd.DataFrame({"src": [1], "dst": [2], "weight": [9]})
    assert edges(gstream.from_pandas(weighed)) == [(1, 2, 9)]
    assert edges(gstream.from_pandas(weighed, weight=False)) == [(1, 2)]


def test_columns_that_nobody_can_know_are_refused() -> None:
    frame = pd.DataFrame({"p": [1], "q": [2], "r": [3], "s": [4]})
    with pytest.raises(
        InputError, match=r"has 4 columns \(p, q, r, s\), .* would be 1 -> 2\. Name both with source and"
    ):
        gstream.from_pandas(frame)
    with pytest.raises(InputError, match=r"edges need .*\. If the index holds an end, pass frame\.reset_index\(\)\."):
        gstream.from_pandas(frame[["p", "q"]].set_index("p"))
    with pytest.raises(UsageError, match="source and target: one is given alone. Pass both"):
        gstream.from_pandas(frame, source="p")
    with pytest.raises(UsageError, match=r"target nope: no such column \(4 columns; p, q, r, s\)"):
        gstream.from_pandas(frame, "p", "nope")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gstream.from_edges([1, 2], [3]), "different lengths: 2, 1"),
        (lambda: gstream.from_edges([1], ["a"]), "one end has numbers, the other strings"),
        (lambda: gstream.from_edges([0.5], [1.0]), "row 1 .*source 0.5 is not an integer"),
        (lambda: gstream.from_edges(["a"], ["b"], num_vertices=3), "num_vertices: is about numbers"),
        (lambda: gstream.from_edges([1], [2], sourcee=3), r"sourcee: no such option. Did you mean source\?"),
        (lambda: gstream.from_edges([1], [2], undirected=True), r"undirected: no .* Did you mean directed=False\?"),
        (lambda: gstream.convert("e.csv", no_weights=True), r"no_weights: no .* Did you mean weights=False\?"),
        (lambda: gstream.update("a.gs", "b.gs", add=[("a", "b")]), "add: takes the path of a file, not tuple"),
        (lambda: gstream.from_edges([1], [2], memory="2 apples"), "memory 2 apples: not a size"),
        (lambda: gstream.from_edges([1], [2], dedupe="yes"), "dedupe 'yes': must be True or False"),
        (lambda: gstream.from_edges([1], [2], topology="up"), "topology up: unknown; it is one of both, out, in"),
        (lambda: gstream.from_edges([1], [2], store=5), r"5: is no path of a store"),
        (lambda: gstream.from_arrow([1, 2]), "a list gives no Arrow stream"),
        (lambda: gstream.from_pandas([1, 2]), "a list is no pandas.DataFrame"),
        (lambda: gstream.from_scipy(sp.csr_array((2, 3))), "the matrix of a graph is square"),
        (lambda: gstream.from_scipy(sp.csr_array([[0, 1], [2, 0]]), directed=False), "is not symmetric"),
        (lambda: gstream.from_networkx(nx.Graph([((1, 2), (3, 4))])), "is a tuple; a vertex is a whole number"),
        (lambda: gstream.from_networkx(nx.Graph([(1, "a")])), "vertex 'a' is a str"),
        (lambda: gstream.from_networkx(nx.Graph([(-1, 2)])), "vertex -1 is negative"),
        (lambda: gstream.generate("star"), "star: no such graph; it is one of rmat, uniform, grid"),
        (lambda: gstream.convert("nowhere.txt"), "nowhere.txt: no such file"),
        (
            lambda: gstream.from_edges([0], [9], num_vertices=5),
            r"target 9 is past .* num_vertices 5 lets IDs run from 0 to 4",
        ),
        (lambda: gstream.from_edges([0], [1], progress=7), "progress 7: must be True, or a function"),
    ],
)
def test_what_can_not_be_is_said(call, message: str) -> None:
    with pytest.raises(gstream.GstreamError, match=message):
        call()


def test_commands_in_messages_become_calls_but_for_a_shell_s() -> None:
    say = spoken()
    assert say("Pass gstream convert a.txt STORE --header") == "Pass gstream.convert(a.txt, STORE) with header=True"
    assert say("Pass gstream convert a.txt STORE.") == "Pass gstream.convert(a.txt, STORE)."
    assert say("Pipe it: tr , ' ' < a.txt | gstream convert - STORE.").endswith("| gstream convert - STORE.")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gstream.from_edges([1, -2], [3, 4]), "row 2 .*source -2 is negative"),
        (lambda: gstream.from_edges([1], [1 << 63]), "row 1 .*target 9223372036854775808 is past the limit"),
        (lambda: gstream.from_edges([1], [2], [float("nan")]), "row 1 .*weight nan is not finite"),
        (lambda: gstream.from_edges(["a", None], ["b", "c"]), "row 2 .*source is null"),
        (lambda: gstream.from_pandas(pd.DataFrame({"src": [1, None], "dst": [2, 3]})), "row 2 .*src is null"),
        (lambda: gstream.from_scipy(sp.csr_array([[0, np.inf], [0, 0]])), "weight inf is not finite"),
    ],
)
def test_rows_that_are_no_edges_are_refused(call, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("strings", [True, False])
def test_networkx_there_and_back(kind, strings: bool) -> None:
    given = kind([(3, 1), (1, 2), (2, 2), (1, 3), (3, 1)])
    given.add_node(7)
    given = nx.relabel_nodes(given, {node: f"n{node}" for node in given}) if strings else given
    graph = gstream.from_networkx(given)
    back = graph.to_networkx()
    assert graph.is_directed() == given.is_directed() == back.is_directed()
    assert sorted(back) == sorted(given) and len(graph) == 4
    assert sorted(map(sorted, back.edges())) == sorted(map(sorted, given.edges()))
    for node in given:
        assert graph.degree(node) == given.degree(node)


NOT_ALL_EDGES = {"src": [1, None, 3, -4], "dst": [2, 3, 4, 5], "weight": [0.5, 1.0, float("nan"), 2.0]}
LACKING = {"src": ["a", None, "c"], "dst": ["b", "x", "d"], "weight": [1.5, 2.5, float("inf")]}


@pytest.mark.parametrize("strings", [False, True])
def test_rows_that_are_no_edges_are_left_out_where_that_is_asked_for(tmp_path: Path, strings: bool) -> None:
    table = pa.table(LACKING if strings else NOT_ALL_EDGES)
    bad = table.num_rows - 1
    with pytest.warns(
        UserWarning, match=rf"table: {bad} lines skipped; the first: table: row 2 \(from 1\): src is null"
    ):
        graph = gstream.from_arrow(table, bad_lines="skip", memory="256MiB")
    with pytest.warns(UserWarning, match=rf"{bad} lines skipped, listed in .*web.gs.skipped.txt"):
        stored = gstream.from_arrow(table, bad_lines="skip", memory="256MiB", store=tmp_path / "web.gs")
    for one in (graph, stored):
        assert (one.info["stored_edges"], one.conversion["skipped_lines"]) == (1, bad)
    listed = (tmp_path / "web.gs.skipped.txt").read_text().splitlines()
    assert len(listed) == bad and listed[0].startswith("table: row 2 (from 1)\tsrc is null\t")
    (tmp_path / "a.txt").write_text("1 2\n3 x\n")
    with pytest.warns(UserWarning, match="1 line skipped; the first: .*a.txt:2:3"):  # no list that is gone
        gstream.convert(tmp_path / "a.txt", bad_lines="skip", memory="256MiB")
    (tmp_path / "a.txt").unlink()
    with pytest.raises(gstream.GstreamError, match=r'row 2 \(from 1\): src is null.*or pass bad_lines="skip"'):
        gstream.from_arrow(table)
    with pytest.raises(gstream.GstreamError, match="web.gs.skipped.txt"):
        gstream.from_arrow(table, bad_lines="skip", store=tmp_path / "web.gs")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["web.gs", "web.gs.skipped.txt"]


def test_weights_of_networkx_are_1_where_none_is_given() -> None:
    given = nx.DiGraph([(0, 1), (1, 2)])
    assert not gstream.from_networkx(given).info["weighted"]
    given.add_edge(2, 0, weight=5)
    assert edges(gstream.from_networkx(given)) == [(0, 1, 1), (1, 2, 1), (2, 0, 5)]
    assert edges(gstream.from_networkx(given, weight=None)) == [(0, 1), (1, 2), (2, 0)]


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil"])
def test_a_sparse_matrix(form: str, monkeypatch) -> None:
    monkeypatch.setattr("gstream.interop.matrices.CHUNK_EDGES", 7)
    dense = np.random.default_rng(1).integers(0, 3, (9, 9)) * np.arange(1, 10)
    wanted = [(int(i), int(j), int(dense[i, j])) for i, j in np.argwhere(dense)]
    graph = gstream.from_scipy(sp.coo_array(dense).asformat(form))
    assert edges(graph) == wanted and len(graph) == 9
    assert edges(gstream.from_scipy(sp.coo_array(dense).asformat(form), weight=False)) == [e[:2] for e in wanted]
    assert not gstream.from_scipy(sp.csr_array(dense > 0)).info["weighted"]


def test_a_symmetric_matrix_has_each_undirected_edge_once() -> None:
    matrix = sp.csr_array([[1, 2, 0], [2, 0, 5], [0, 5, 0]])
    wanted = [(0, 0, 1), (0, 1, 2), (1, 2, 5)]
    for given in (matrix, sp.triu(matrix), sp.tril(matrix).tocsc()):
        graph = gstream.from_scipy(given, directed=False)
        assert edges(graph) == wanted and graph.number_of_edges() == 3


def test_igraph() -> None:
    igraph = pytest.importorskip("igraph")
    given = igraph.Graph([(0, 1), (1, 2)], directed=True)
    given.es["weight"] = [2, 3]
    assert edges(gstream.from_igraph(given)) == [(0, 1, 2), (1, 2, 3)]
    given.vs["name"] = ["x", "y", "z"]
    assert edges(gstream.from_igraph(given, weight=None)) == [("x", "y"), ("y", "z")]
    assert not gstream.from_igraph(igraph.Graph.Ring(5)).is_directed()


def test_polars_and_duckdb() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(NAMED)
    for graph in (gstream.from_polars(frame), gstream.from_polars(frame.lazy()), gstream.from_arrow(frame)):
        assert edges(graph) == rows(NAMED)
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("select i as src, i + 1 as dst from range(3) t(i)")
    assert edges(gstream.from_arrow(relation)) == [(0, 1), (1, 2), (2, 3)]


def test_a_stream_is_read_once_and_by_batches(monkeypatch) -> None:
    """What was handed over is let go: as many batches are alive at any time as one is read of."""
    alive, most = 0, 0

    def batches():
        nonlocal alive, most
        for first in range(0, 40_000, 1000):
            source = np.arange(first, first + 1000)
            yield pa.record_batch({"src": source, "dst": source + 1})
            most = max(most, pa.total_allocated_bytes())

    reader = pa.RecordBatchReader.from_batches(pa.schema({"src": pa.int64(), "dst": pa.int64()}), batches())
    before = pa.total_allocated_bytes()
    graph = gstream.from_arrow(reader)
    assert len(graph) == 40_001 and graph.number_of_edges() == 40_000
    assert most - before < 4 * 16_000
    with pytest.raises(StopIteration):
        reader.read_next_batch()


def test_strings_of_a_stream(tmp_path: Path) -> None:
    names = [f"v{i % 700}" for i in range(3000)]
    table = pa.table({"src": names, "dst": names[1:] + names[:1]})
    graph = gstream.from_arrow(table.to_reader(max_chunksize=100), workdir=tmp_path)
    assert sorted(edges(graph)) == sorted(zip(*(table[c].to_pylist() for c in ("src", "dst")), strict=True))
    assert [entry.name for entry in next(tmp_path.glob("gstream-*")).iterdir()] == ["graph.gs"]


def test_a_temporary_store_goes_with_the_graph_and_its_results(tmp_path: Path) -> None:
    count = MOST_EDGES + 1
    graph = gstream.from_edges(np.arange(count) % 999, np.arange(count) % 1000, workdir=tmp_path)
    ranks = graph.pagerank(max_iter=2)
    graph.close()
    del graph
    gc.collect()
    assert len(list(tmp_path.iterdir())) == 1 and len(ranks.to_numpy()) == 1000
    del ranks
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_small_graph_has_no_file(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "mkdtemp", lambda **rest: pytest.fail("a folder was made"))
    graph = gstream.from_edges([1, 2], [2, 10**12])
    assert graph.info["path"] == "graph in memory" and list(graph) == [1, 2, 10**12]
    distance = graph.bfs(source=1)
    copied = pickle.loads(pickle.dumps(graph))
    copied_distance = pickle.loads(pickle.dumps(distance))
    graph.close()
    assert copied.bfs(source=1).top(3) == copied_distance.top(3) == distance.top(3)
    with pytest.raises(UsageError, match="the graph was closed"):
        graph.neighbors(1)


def test_a_failure_leaves_no_folder(tmp_path: Path) -> None:
    reader = pa.table({"src": [1], "dst": [None]}).to_reader()
    with pytest.raises(InputError):
        gstream.from_arrow(reader, workdir=tmp_path)
    (tmp_path / "bad.txt").write_text("1 2\n3 x\n")
    with pytest.raises(InputError):
        gstream.convert(tmp_path / "bad.txt", workdir=tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["bad.txt"]


def test_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("from_account,to_account,amount\nx,y,3\ny,z,4\n")
    graph = gstream.convert(tmp_path / "a.csv", tmp_path / "a.gs", weights=False, directed=False, verify=True)
    assert edges(graph) == [("x", "y"), ("y", "z")] and graph.number_of_edges() == 2
    assert graph.conversion["notes"][0].endswith(
        "(to_account), between commas, are source and target by name, no weights, line 1 is a header."
    )
    with pytest.raises(UsageError, match=r"a.gs: exists. Pass force=True to replace it"):
        gstream.convert([str(tmp_path / "a.csv")], tmp_path / "a.gs")
    with pytest.raises(UsageError, match="writing would destroy what is read"):
        gstream.convert(tmp_path / "a.csv", tmp_path / "a.csv", force=True)
    (tmp_path / "b.txt").write_text("1 2\n3 x\n")
    with pytest.warns(UserWarning, match=r"1 line skipped, listed in .*b.gs.skipped.txt") as caught:
        kept = gstream.convert(tmp_path / "b.txt", tmp_path / "b.gs", bad_lines="skip")
    assert caught[0].filename == __file__ and edges(kept) == [(1, 2)]
    with pytest.raises(InputError, match=r'pass bad_lines="skip"|Fix the line') as error:
        gstream.convert(tmp_path / "b.txt")
    assert "--" not in str(error.value)


def test_generated() -> None:
    graph = gstream.generate("grid", scale=4, directed=False, weights=True)
    assert graph.number_of_edges() == 24 and graph.info["weighted"]
    again = gstream.generate("rmat", scale=6, edge_factor=2, seed=7, drop_self_loops=True, dedupe=True)
    assert edges(again) == edges(
        gstream.generate("rmat", scale=6, edge_factor=2, seed=7, drop_self_loops=True, dedupe=True)
    )


def test_progress(capfd) -> None:
    told = []
    gstream.from_edges([1, 2], [2, 3], progress=told.append)
    assert {step.phase for step in told} >= {"read", "sort out", "pack"}
    gstream.from_edges([1, 2], [2, 3], progress=True)
    assert "pack: 4 of 4 edges" in capfd.readouterr().err


def test_no_warning_where_all_is_clear() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gstream.from_pandas(pd.DataFrame(ROWS))
        gstream.from_edges([1], [2])


def test_every_option_of_the_command_line_has_a_keyword() -> None:
    import typer

    from gstream.cli.commands import app_of

    command = typer.main.get_command(app_of()).commands["convert"]
    named = {parameter.name for parameter in command.params} - {
        "inputs",
        "store",
        "dry_run",
        "json",
        "log_file",
        "parts",  # gstream.split, of a store
        "progress",
    }
    assert {"weights" if name == "no_weights" else name for name in named} == {*ReadOptions.__annotations__} - {
        "progress"
    }


def test_disks_that_lack_room_are_said(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("pagestore.convert.estimate.free_bytes", lambda folder: 10)
    with pytest.raises(ResourceError, match="put temporary files on another disk with workdir, or raise memory"):
        gstream.from_edges([1], [2], store=tmp_path / "a.gs")


@pytest.mark.parametrize(("free", "taken"), [(10 << 30, int(0.85 * (10 << 30))), (1 << 20, 16 << 20)])
def test_a_conversion_takes_what_is_free(free, taken, monkeypatch):
    """Never less than a conversion keeps to."""
    monkeypatch.setattr(memory, "memory", lambda: (free, free))
    assert split_options({})[0].memory_bytes == taken
    assert split_options({"memory": "64MiB"})[0].memory_bytes == 64 << 20


def test_comments_that_were_left_out_are_noted(tmp_path):
    (tmp_path / "a.csv").write_text("payer,payee,amount\nann,bob,5\n# 7,bob,5\n")
    graph = gstream.convert(tmp_path / "a.csv", tmp_path / "a.gs")
    assert graph.conversion["notes"][-1] == f"{tmp_path / 'a.csv'}: 1 comment line left out."


def test_tables_never_make_vertices_of_amounts():
    names = {"wer": ["a", "b"], "wem": ["b", "c"]}
    with pytest.raises(InputError, match=r"has 3 columns \(betrag, wer, wem\), and no known name says which hold"):
        gstream.from_pandas(pd.DataFrame({"betrag": [5.5, 9]} | names))
    with pytest.raises(InputError, match=r"column betrag holds 5.5, and is no end.* 5.5 -> a.*both ends with source"):
        gstream.from_pandas(pd.DataFrame({"betrag": [5.5, 9], "wer": ["a", "b"]}))
    with pytest.raises(InputError, match=r"column amount is of type .*weights are numbers.*pass weight=False"):
        gstream.from_pandas(pd.DataFrame({"payer": ["a"], "payee": ["b"], "amount": ["1,5"]}))
    with pytest.raises(InputError, match=r"has no columns"):
        gstream.from_pandas(pd.DataFrame())
    batches = pa.table(names | {"kind": ["x", "y"]}).to_batches()  # what was looked at is read as well
    once = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    assert gstream.from_arrow(once).info["stored_edges"] == 2


def test_values_of_options_are_pythons(tmp_path):
    (tmp_path / "a.csv").write_text('src,dst,amount\n1,2,"1,5"\n')
    (tmp_path / "b.csv").write_text("wem,wer\na,b\n")
    with pytest.raises(InputError, match=r'Pass decimal="," if commas begin decimals, decimal="\." if'):
        gstream.convert(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text("wer,wem\na,b\n")
    with pytest.raises(InputError, match=r"Pass source_column='wer' target_column='wem'\."):
        gstream.convert([tmp_path / "a.csv", tmp_path / "b.csv"], header=True)
