"""Every other format from a small hand-made file to its exact edges."""

from __future__ import annotations

import os
import struct
from decimal import Decimal

import numpy as np
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest
from input_files import edges_of, opened, read, write

from pagestore.cores import in_order
from pagestore.errors import InputError, UsageError
from pagestore.inputs import open_source, parquet
from pagestore.inputs.base import EdgeChunk, InputOptions
from tests.shared_data import DATA, needs_data

MTX = "%%MatrixMarket matrix coordinate "


def facts(source):
    return source.vertices, source.id_base, source.directed, source.weighted


def check(folder, name, content, edges, expected, **options):
    """Edges and (vertices, id_base, directed, weighted) of a file, twice (it is replayable)."""
    source = opened(write(folder, name, content), folder, **options)
    assert facts(source) == expected
    assert source.replayable and edges_of(source) == edges and edges_of(source) == edges


def test_matrix_market(tmp_path):
    text = MTX + "real general\n% c\n\n3 3 2\n1 2 .5\n\n3 1 -2e3\n"
    check(tmp_path, "a.mtx", text, [(1, 2, 0.5), (3, 1, -2000.0)], (3, 1, None, True))
    check(tmp_path, "a.mtx", text, [(1, 2), (3, 1)], (3, 1, None, False), weights=False)
    text = MTX + "pattern symmetric\n3 3 3\n2 1\n3 3\n3 1\n"
    check(tmp_path, "b.mtx", text, [(2, 1), (3, 3), (3, 1)], (3, 1, False, False))
    text = MTX + "integer skew-symmetric\n3 3 1\n2 1 5\n"
    check(tmp_path, "c.mtx", text, [(1, 2, -5.0), (2, 1, 5.0)], (3, 1, True, True))
    text = "%%matrixmarket MATRIX Coordinate Integer General\r\n%%GraphBLAS type uint8_t\r\n2 2 1\r\n1 2 255\r\n"
    check(tmp_path, "d", text, [(1, 2, 255.0)], (2, 1, None, True))
    check(tmp_path, "e.mtx", MTX + "pattern general\n4 4 0\n", [], (4, 1, None, False))


def test_matrix_market_with_a_comment_of_many_kilobytes(tmp_path):
    text = MTX + "pattern general\n%" + "c" * 9000 + "\n3 3 1\n1 2\n"
    check(tmp_path, "a.mtx", text, [(1, 2)], (3, 1, None, False))


def test_matrix_market_with_duplicates(tmp_path):
    text = MTX + "pattern general\n3 3 2\n1 2\n1 2\n"
    check(tmp_path, "a.mtx", text, [(1, 2), (1, 2)], (3, 1, None, False))
    symmetric = MTX + "pattern symmetric\n3 3 2\n1 2\n2 1\n"
    check(tmp_path, "a.mtx", symmetric, [(1, 2), (2, 1)], (3, 1, False, False))


def test_dimacs(tmp_path):
    text = "c hi\np sp 3 2\nc x\na 1 2 5\na 2 3 7\n"
    check(tmp_path, "a.gr", text, [(1, 2, 5.0), (2, 3, 7.0)], (3, 1, None, True))
    check(tmp_path, "anything.txt", text, [(1, 2, 5.0), (2, 3, 7.0)], (3, 1, None, True))
    check(tmp_path, "b.col", "p edge 3 1\ne 1 3\n", [(1, 3)], (3, 1, False, False))


def test_metis(tmp_path):
    # the example of METIS's manual: 7 vertices, 11 edges
    text = "% graph\n7 11\n5 3 2\n1 3 4\n5 4 2 1\n2 3 6 7\n1 3 6\n5 4 7\n6 4\n"
    edges = [(1, 5), (1, 3), (1, 2), (2, 3), (2, 4), (3, 5), (3, 4), (4, 6), (4, 7), (5, 6), (6, 7)]
    check(tmp_path, "a.graph", text, edges, (7, 1, False, False))
    text = "3 2 001\n2 5 3 7\n1 5\n1 7\n"
    check(tmp_path, "b.metis", text, [(1, 2, 5.0), (1, 3, 7.0)], (3, 1, False, True))
    check(tmp_path, "b.metis", text, [(1, 2), (1, 3)], (3, 1, False, False), weights=False)
    text = "4 2 111 2\n9 1 1 2 5 3 7\n9 1 1 1 5\n9 1 1 1 7\n9 1 1\n"
    check(tmp_path, "c.graph", text, [(1, 2, 5.0), (1, 3, 7.0)], (4, 1, False, True))
    check(tmp_path, "d.graph", "4 1\n\n4\n\n2\n", [(2, 4)], (4, 1, False, False))  # blank lines are vertices


def test_adjacency(tmp_path):
    text = "# lists\n1 3 5\n4\n\n5 1\n7"
    source = opened(write(tmp_path, "a.adj", text), tmp_path)
    assert edges_of(source) == [(1, 3), (1, 5), (5, 1)]
    assert np.concatenate(list(source.vertex_ids())).tolist() == [4, 7]


def test_adjacency_of_promised_vertices_up_to_the_greatest_id(tmp_path):
    """Vertex 0 is a bad line where the promised ones begin at 1, however many they are."""
    path = write(tmp_path, "a.adj", "0 1\n1 9223372036854775807\n1 5\n")
    for vertices in (9223372036854775807, 100):
        source = opened(path, tmp_path, num_vertices=vertices, id_base=1, bad_lines="skip")
        expected = [(1, 9223372036854775807), (1, 5)] if vertices > 100 else [(1, 5)]
        assert edges_of(source) == expected and source.skipped.count == 3 - len(expected)


def test_adjacency_behind_a_byte_order_mark(tmp_path):
    assert read(tmp_path, "a.adj", b"\xef\xbb\xbf1 3 5\n5 1\n") == [(1, 3), (1, 5), (5, 1)]


def test_adjacency_of_several_files(tmp_path):
    """They share the list of skipped lines, of which one block may hold several."""
    paths = [write(tmp_path, "a.adj", "1 3\nx 1\n2 -4\n9\n"), write(tmp_path, "b.adj", "3 1\n4 y\n")]
    source = opened(paths, tmp_path, bad_lines="skip")
    for _ in range(2):
        assert edges_of(source) == [(1, 3), (3, 1)] and source.skipped.count == 3
    assert np.concatenate(list(source.vertex_ids())).tolist() == [9]


def test_adjacency_of_a_pipe(tmp_path, monkeypatch):
    """Vertices alone on their lines are kept on the way: a pipe is read once."""
    near, far = os.pipe()
    os.write(far, b"1 3 5\n4\n5 1\n7\n")
    os.close(far)
    with open(near) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        source = opened("-", tmp_path, format="adjacency")
        assert not source.replayable and edges_of(source) == [(1, 3), (1, 5), (5, 1)]
    assert np.concatenate(list(source.vertex_ids())).tolist() == [4, 7]


def gap_file(directed, lists, weights=None):
    offsets = np.cumsum([0] + [len(row) for row in lists]).astype("<i8")
    flat = np.array([v for row in lists for v in row], dtype="<i4")
    if weights is not None:
        flat = np.stack([flat, np.array(weights, dtype="<i4")], axis=1)
    body = offsets.tobytes() + flat.tobytes()
    return struct.pack("<?qq", directed, int(offsets[-1]), len(lists)) + body * (2 if directed else 1)


def test_gap(tmp_path):
    lists = [[1, 2], [], [0]]
    check(tmp_path, "a.sg", gap_file(True, lists), [(0, 1), (0, 2), (2, 0)], (3, 0, True, False))
    check(
        tmp_path, "a.wsg", gap_file(True, lists, [4, -5, 6]), [(0, 1, 4.0), (0, 2, -5.0), (2, 0, 6.0)],
        (3, 0, True, True),
    )  # fmt: skip
    undirected = gap_file(False, [[1, 2], [0], [0, 2]], [4, 5, 4, 5, 6])
    check(tmp_path, "b.wsg", undirected, [(0, 1, 4.0), (0, 2, 5.0), (2, 2, 6.0)], (3, 0, False, True))
    assert read(tmp_path, "a.el", "0 1\n2 0\n") == [(0, 1), (2, 0)]
    assert read(tmp_path, "a.wel", "0 1 9\n2 0 8\n") == [(0, 1, 9.0), (2, 0, 8.0)]


def test_gap_in_small_chunks(tmp_path):
    source = opened(write(tmp_path, "a.sg", gap_file(True, [[1, 2], [], [0, 1, 2]])), tmp_path, chunk_edges=2)
    assert edges_of(source) == [(0, 1), (0, 2), (2, 0), (2, 1), (2, 2)]


def test_graph500(tmp_path):
    wide = (1 << 47) + 3
    packed = struct.pack("<IIHH", 3, 7, wide >> 32, 0) + struct.pack("<IIHH", 1, 2, 0, 0)
    check(tmp_path, "a.packed", packed, [(wide, 7), (1, 2)], (1 << 48, 0, False, False))
    pairs = np.array([[1, 4], [0, 2]], dtype="<i8").tobytes()
    check(tmp_path, "a.bin", pairs, [(1, 4), (0, 2)], (8, 0, False, False), format="graph500-int64")
    check(tmp_path, "a.bin", pairs, [(1, 4), (0, 2)], (16, 0, False, False), format="graph500-int64", num_vertices=16)


EDGES = [(3, 1, 0.5), (1, 2, 7.0)]
PAIRS = [(3, 1), (1, 2)]


@pytest.mark.parametrize("kind", ["int64", "int32", "uint8", "uint64", ">i4", "float64"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy(tmp_path, kind, order):
    path = tmp_path / "a.npy"
    np.save(path, np.array(PAIRS, dtype=kind, order=order))
    source = opened(path, tmp_path, chunk_edges=1)
    assert edges_of(source) == PAIRS and facts(source) == (None, 0, None, False)


def test_npy_with_weights(tmp_path):
    path = tmp_path / "a.npy"
    for order in "CF":
        np.save(path, np.array(EDGES, order=order))
        assert edges_of(opened(path, tmp_path)) == EDGES
        assert edges_of(opened(path, tmp_path, weights=False)) == PAIRS
    np.save(path, np.array([(0.5, 3, 1), (7, 1, 2)], dtype=[("weight", "f4"), ("src", "i4"), ("dst", "u2")]))
    assert edges_of(opened(path, tmp_path)) == EDGES


def test_several_arrays(tmp_path):
    paths = [tmp_path / "a.npy", tmp_path / "b.npy"]
    np.save(paths[0], np.array(PAIRS))
    np.save(paths[1], np.array([(4, 4)]))
    source = opened(paths, tmp_path)
    assert edges_of(source) == edges_of(source) == [*PAIRS, (4, 4)]
    assert source.position() > 0 and source.skipped.count == 0


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(tmp_path, save):
    path = tmp_path / "a.npz"
    save(path, source=np.array([3, 1]), target=np.array([1, 2]), weight=np.array([0.5, 7]))
    source = opened(path, tmp_path, chunk_edges=1)
    assert edges_of(source) == EDGES and edges_of(source) == EDGES


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_scipy_sparse(tmp_path, kind):
    scipy_sparse = pytest.importorskip("scipy.sparse")
    matrix = scipy_sparse.coo_array(([0.5, 7.0], ([3, 1], [1, 2])), shape=(5, 5)).asformat(kind)
    scipy_sparse.save_npz(tmp_path / "a.npz", matrix)
    source = opened(tmp_path / "a.npz", tmp_path)
    assert sorted(edges_of(source)) == sorted(EDGES) and facts(source) == (5, 0, None, True)


TABLE = pyarrow.table({"since": [1, 2], "target": [1, 2], "source": [3, 1], "weight": [0.5, 7.0]})
NAMED = pyarrow.table({"from": ["a", "é"], "to": ["b", "a"], "cost": [0.5, 7.0]})


@pytest.mark.parametrize("form", ["parquet", "feather", "stream"])
def test_tables(tmp_path, form):
    def saved(table):
        path = tmp_path / f"a.{form}"
        if form == "parquet":
            pyarrow.parquet.write_table(table, path, row_group_size=1)
        elif form == "feather":
            pyarrow.feather.write_feather(table, path)
        else:
            with pyarrow.ipc.new_stream(path, table.schema) as writer:
                writer.write_table(table)
        return path

    source = opened(saved(TABLE), tmp_path)
    assert edges_of(source) == EDGES and source.replayable and source.weighted
    assert edges_of(opened(saved(TABLE), tmp_path, weight_column="since")) == [(3, 1, 1.0), (1, 2, 2.0)]
    assert edges_of(opened(saved(TABLE), tmp_path, weights=False)) == PAIRS
    assert sorted(edges_of(opened(saved(NAMED), tmp_path))) == [("a", "b", 0.5), ("é", "a", 7.0)]
    assert sorted(edges_of(opened(saved(TABLE), tmp_path, string_ids=True, weights=False))) == [("1", "2"), ("3", "1")]


@pytest.mark.parametrize("row_group_size", [60_000, 140_000])
def test_row_groups_are_decoded_at_once_in_order(tmp_path, monkeypatch, row_group_size):
    rows = np.arange(400_000)
    table = pyarrow.table({"source": rows % 1000, "target": rows % 777, "weight": rows / 4})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=row_group_size)
    threads = []
    monkeypatch.setattr(
        parquet, "in_order", lambda runs, decode, at_once: threads.append(at_once) or in_order(runs, decode, at_once)
    )
    for options in ({"threads": 3}, {"threads": 1}):
        source = open_source(tmp_path / "a.parquet", InputOptions(**options), tmp_path, 1 << 30)
        found = EdgeChunk.joined(list(source.chunks()))
        for name in ("source", "target", "weight"):
            assert (getattr(found, name) == table[name].to_numpy()).all()
        assert source.position() == source.total_bytes
    assert threads == [3]


FOLLOWERS = pyarrow.table({"id": [7, 8], "follower": [1, 2], "followee": [2, 3]})


def test_columns_of_tables_are_said_and_chosen(tmp_path):
    """A third column of integers is a weight by its name alone; which columns are used is said."""

    def used(table, **options):
        pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
        source = opened(tmp_path / "a.parquet", tmp_path, **options)
        assert source.assumptions[0].startswith(f"{tmp_path}/a.parquet: columns ")
        return edges_of(source), source.assumptions[0].partition(": columns ")[2]

    assert used(FOLLOWERS) == ([(1, 2), (2, 3)], "follower and followee are source and target, no weights")
    assert used(FOLLOWERS.rename_columns(["id", "boss", "year"])) == (
        [(7, 1), (8, 2)],
        "id and boss are source and target, no weights (column year is none unless --weight-column says so)",
    )
    with pytest.raises(InputError, match=r"has 3 columns \(1: id, 2: boss, 3: room\), and no known name says"):
        used(FOLLOWERS.rename_columns(["id", "boss", "room"]))
    chosen = {"source_column": "follower", "target_column": "followee"}
    assert used(FOLLOWERS, **chosen) == ([(1, 2), (2, 3)], "follower and followee are source and target, no weights")
    assert used(FOLLOWERS, source_column=2, target_column="3", weight_column="id") == (
        [(1, 2, 7.0), (2, 3, 8.0)],
        "follower and followee are source and target, column id is the weight",
    )
    for name in ("count", "Weight", "cost"):
        said = f"id and boss are source and target, column {name} is the weight"
        assert used(FOLLOWERS.rename_columns(["id", "boss", name])) == ([(7, 1, 2.0), (8, 2, 3.0)], said)
    assert used(NAMED)[1] == "from and to are source and target by name, column cost is the weight"
    assert used(NAMED, weights=False)[1] == "from and to are source and target by name, no weights"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"source_column": "boss", "target_column": 2},
         "a.parquet: --source-column boss: no such column (3 columns; id, follower, followee). Give a name or number."),
        ({"source_column": 1, "target_column": 4},
         "a.parquet: --target-column 4: no such column (3 columns; id, follower, followee). Give a name or number."),
        ({"source_column": 1, "target_column": "id"},
         "a.parquet: --source-column 1 and --target-column id are the same column; an edge has two ends. "
         "Name two columns."),
        ({"source_column": 1}, "--source-column and --target-column: one is given alone. Pass both."),
    ],
)  # fmt: skip
def test_columns_that_can_not_be(tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(FOLLOWERS, "a.parquet")
    with pytest.raises(UsageError) as error:
        opened("a.parquet", tmp_path, **options)
    assert str(error.value) == said


def test_tables_of_decimals_and_of_dictionaries(tmp_path):
    """As databases write prices, and pandas categories."""
    prices = pyarrow.array([Decimal("0.50"), Decimal("7.00")])
    pyarrow.parquet.write_table(TABLE.drop(["weight"]).append_column("weight", prices), tmp_path / "a.parquet")
    assert edges_of(opened(tmp_path / "a.parquet", tmp_path)) == EDGES
    words = NAMED.set_column(0, "from", NAMED.column("from").dictionary_encode())
    words = words.set_column(1, "to", NAMED.column("to").dictionary_encode())
    pyarrow.feather.write_feather(words, str(tmp_path / "b.arrow"))
    assert sorted(edges_of(opened(tmp_path / "b.arrow", tmp_path))) == [("a", "b", 0.5), ("é", "a", 7.0)]


def test_ldbc(tmp_path):
    write(tmp_path, "g.v", "1\n9223372036854775807\n5\n8\n")
    write(tmp_path, "g.e", "1 5 0.5\n9223372036854775807 1 2\n")
    write(tmp_path, "g.properties", "# x\ngraph.g.directed = false\n")
    for paths in (tmp_path / "g", tmp_path / "g.e", tmp_path / "g.v", [tmp_path / "g.v", tmp_path / "g.e"]):
        source = opened(paths, tmp_path)
        assert edges_of(source) == [(1, 5, 0.5), (9223372036854775807, 1, 2.0)]
        assert np.concatenate(list(source.vertex_ids())).tolist() == [1, 9223372036854775807, 5, 8]
        assert source.closed and source.directed is False


def test_ldbc_without_its_other_files(tmp_path):
    """The vertices are then those of the edges; of the direction nothing is known."""
    write(tmp_path, "g.e", "1 5\n")
    source = opened(tmp_path / "g.e", tmp_path)
    assert edges_of(source) == [(1, 5)]
    assert source.vertex_ids() is None and not source.closed and source.directed is None
    write(tmp_path, "g.v", b"\xef\xbb\xbf5\n1\n")
    write(tmp_path, "g.properties", "graph.g.meta.vertices = 2\ngraph.g.directed = perhaps\n")
    source = opened(tmp_path / "g.e", tmp_path)
    assert np.concatenate(list(source.vertex_ids())).tolist() == [5, 1] and source.closed and source.directed is None
    (tmp_path / "g.e").unlink()
    with pytest.raises(InputError, match=r"/g\.e: no such file\. A Graphalytics dataset is a pair g\.v and \.e\."):
        opened(tmp_path / "g.v", tmp_path)


@needs_data
def test_graphalytics_suite(tmp_path):
    suite = DATA / "suites" / "graphalytics"
    for name, edges, vertices in (("example/example-directed", 17, 10), ("example/example-undirected", 12, 9)):
        source = opened(suite / name, tmp_path)
        found = edges_of(source)
        assert len(found) == edges and source.weighted
        listed = np.concatenate(list(source.vertex_ids())).tolist()
        assert len(listed) == vertices and {v for edge in found for v in edge[:2]} <= set(listed)
    for lists in sorted(suite.glob("*/dir-input")):
        expected = [tuple(map(int, pair)) for line in lists.read_text().splitlines() if (row := line.split())
                    for pair in ((row[0], other) for other in row[1:])]  # fmt: skip
        assert edges_of(opened(lists, tmp_path, format="adjacency")) == expected
