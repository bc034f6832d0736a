# ruff: noqa: E501  messages stand whole, as users see them
"""Arrays and tables that are no edges, and their exact messages."""

from __future__ import annotations

import os
import zipfile
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from input_files import edges_of, opened

from pagestore.errors import InputError, UsageError
from pagestore.inputs.tablerows import shown_values

IDS = "IDs run from 0 to 2^63-1"
ROW = "Correct the row."

ARRAYS = [
    (np.array([[1, 2], [3, -4]]), f"a.npy: row 2 (from 1): target -4 is negative; {IDS}. {ROW}"),
    (np.array([[1, 2], [1 << 63, 4]], dtype="u8"), f"a.npy: row 2 (from 1): source 9223372036854775808 is past the limit; {IDS}. {ROW}"),
    (np.array([[1, 2.5]]), f"a.npy: row 1 (from 1): target 2.5 is not an integer; {IDS}. {ROW}"),
    (np.array([[1, 2.0**60]]), "a.npy: row 1 (from 1): target 1.152921504606847e+18 is past 2^53, where floating point rounds integers: it may be another ID. Write the column as 64-bit integers."),
    (np.array([[1, np.nan]]), f"a.npy: row 1 (from 1): target nan is not an integer; {IDS}. {ROW}"),
    (np.array([[1, 2, 3], [1, 2, np.inf]]), "a.npy: row 2 (from 1): weight inf is not finite; weights are finite numbers. Correct the row, or pass --no-weights."),
    (np.arange(4), "a.npy: has the shape (4,); edges are [n, 2], [n, 3] or an array with the fields source and target. Reshape it."),
    (np.zeros((2, 4)), "a.npy: has the shape (2, 4); edges are [n, 2], [n, 3] or an array with the fields source and target. Reshape it."),
    (np.zeros(3, dtype=[("a", int), ("b", int)]), "a.npy: has the fields a, b; edges need 'source' and 'target'. Rename the fields."),
    (np.array([["a", "b"]]), "a.npy: source is of type <U1; vertex IDs are integers. Convert the column."),
    (np.zeros((2, 2), dtype=[("source", int), ("target", int)]), "a.npy: has the shape (2, 2); an array with fields has one dimension."),
    (np.zeros(2, dtype=[("source", int), ("target", int), ("weight", "S3")]), "a.npy: the weight is of type |S3; weights are real numbers. Convert the column, or pass --no-weights."),
    (np.array([[None, 1]]), "a.npy: holds Python objects; edges are numbers. Convert the array, e.g. astype(int64)."),
]  # fmt: skip


@pytest.mark.parametrize(("array", "message"), ARRAYS)
def test_npy(tmp_path, monkeypatch, array, message):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", array, allow_pickle=True)
    with pytest.raises(InputError) as error:
        edges_of(opened("a.npy", tmp_path))
    assert str(error.value) == message


def test_cut_arrays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.arange(20).reshape(10, 2))
    path = tmp_path / "a.npy"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError) as error:
        edges_of(opened("a.npy", tmp_path, chunk_edges=4))
    assert str(error.value) == (
        "a.npy: ends before row 10 of the 10 that its header promises. The file was cut: write it again."
    )
    np.savez("a.npz", source=np.arange(5000), target=np.arange(5000))
    path = tmp_path / "a.npz"
    content = bytearray(path.read_bytes())
    content[9000] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"a.npz:source: is damaged \(Bad CRC-32 for file 'source.npy'\)"):
        edges_of(opened("a.npz", tmp_path))
    np.savez("a.npz", source=np.arange(3), target=np.arange(4))
    with pytest.raises(InputError, match=r"a.npz:target: has the shape \(4,\); source, target and weight have one"):
        edges_of(opened("a.npz", tmp_path))
    np.savez("a.npz", format=np.array("bsr"), shape=np.array([2, 2]), data=np.ones(1))
    with pytest.raises(InputError) as error:
        opened("a.npz", tmp_path)
    assert str(error.value) == (
        "a.npz: is a scipy.sparse matrix of format bsr; csr, csc and coo are read. "
        "Save it with scipy.sparse.save_npz(matrix.tocsr())."
    )
    np.savez("a.npz", format=np.array("csr"), shape=np.array([2, 2]), data=np.ones(1))
    with pytest.raises(InputError) as error:
        opened("a.npz", tmp_path)
    assert str(error.value) == (
        "a.npz: is a scipy.sparse matrix of format csr without indptr and indices. "
        "Save it again with scipy.sparse.save_npz(matrix.tocsr())."
    )
    np.savez("a.npz", x=np.arange(3))
    with pytest.raises(InputError, match="a.npz: has the fields x; edges need 'source' and 'target'"):
        opened("a.npz", tmp_path)


def test_arrays_cut_behind_their_headers(tmp_path, monkeypatch):
    """While the file is open, or inside an archive whose checksums are right."""
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.arange(20).reshape(10, 2))
    source = opened("a.npy", tmp_path)
    os.truncate("a.npy", os.path.getsize("a.npy") - 9)
    with pytest.raises(InputError) as error:
        edges_of(source)
    assert str(error.value) == (
        "a.npy: ends before row 10 of the 10 that its header promises. The file was cut: write it again."
    )
    with zipfile.ZipFile("a.npz", "w") as archive:
        for member in ("source", "target"):
            archive.writestr(f"{member}.npy", npy("{'descr': '<i8', 'fortran_order': False, 'shape': (9,)}"))
    with pytest.raises(InputError) as error:
        edges_of(opened("a.npz", tmp_path))
    assert str(error.value) == (
        "a.npz:source: ends before row 9 of the 9 that its header promises. The file was cut: write it again."
    )


def test_sparse_matrices(tmp_path, monkeypatch):
    sparse = pytest.importorskip("scipy.sparse")
    monkeypatch.chdir(tmp_path)
    sparse.save_npz("a.npz", sparse.csr_array(np.ones((2, 3))))
    with pytest.raises(InputError) as error:
        opened("a.npz", tmp_path)
    assert str(error.value) == (
        "a.npz: the matrix has 2 rows and 3 columns; the matrix of a graph is square. Pad it with empty rows or columns."
    )
    sparse.save_npz("a.npz", sparse.dia_array(np.eye(3)))
    with pytest.raises(InputError, match="is a scipy.sparse matrix of format dia;"):
        opened("a.npz", tmp_path)


TABLES = [
    ({"source": [1, None], "target": [2, 3]}, "a.parquet: row 2 (from 1): source is null; an edge has a value there. Drop the row, or pass --bad-lines skip."),
    ({"source": [1, 2], "target": [2, -3]}, f"a.parquet: row 2 (from 1): target -3 is negative; {IDS}. {ROW}"),
    ({"source": [1.0, 2.5], "target": [2, 3]}, f"a.parquet: row 2 (from 1): source 2.5 is not an integer; {IDS}. {ROW}"),
    ({"source": [1], "target": [2], "weight": [float("nan")]}, "a.parquet: row 1 (from 1): weight nan is not finite; weights are finite numbers. Correct the row, or pass --no-weights."),
    ({"source": [1], "target": [2], "weight": ["x"]}, "a.parquet: column weight is of type string; weights are numbers. Convert the column, or pass --no-weights."),
    ({"source": [1]}, "a.parquet: has the columns source; edges need a source and a target."),
    ({"source": ["a", None], "target": ["b", "c"]}, "a.parquet: row 2 (from 1): source is null; an edge has a value there. Drop the row, or pass --bad-lines skip."),
]  # fmt: skip


NO_END = "and is no end: IDs are integers or text; by columns {} and {} the first rows would be {}. Name both ends, and the weight: gstream convert a.parquet STORE --source-column NAME --target-column NAME --weight-column NAME."
OPEN = "a.parquet: has 3 columns (1: {}, 2: {}, 3: {}), and no known name says which hold source and target; by columns 1 and 2 the first rows would be {}. "
TABLES += [
    ({"payer": [0.1 + 0.2, 9.0], "payee": ["a", "b"]}, "a.parquet: column payer holds 0.30000000000000004, " + NO_END.format("payer", "payee", "0.30000000000000004 -> a, 9.0 -> b")),
    ({"p": pyarrow.array([Decimal("9.00"), Decimal("5.50")]), "q": ["a", "b"]}, "a.parquet: column p holds 5.50, " + NO_END.format("p", "q", "9.00 -> a, 5.50 -> b")),
    ({"p": pyarrow.array([5.5]).dictionary_encode(), "q": ["a"]}, "a.parquet: column p holds 5.5, " + NO_END.format("p", "q", "5.5 -> a")),
    ({"p": [5.5], "q": [1]}, "a.parquet: column p holds 5.5, " + NO_END.format("p", "q", "5.5 -> 1")),
    ({"source": [1e300], "target": ["a"]}, "a.parquet: column source holds numbers past 2^63-1; IDs are integers up to that. Convert the column."),
    ({"betrag": [5.0], "wer": [1], "wem": [2]}, OPEN.format("betrag", "wer", "wem", "5.0 -> 1")),
    ({"wer": ["a"], "betrag": [5.0], "wem": ["b"]}, OPEN.format("wer", "betrag", "wem", "a -> 5.0")),
    ({"betrag": ["5,5"], "wer": ["a"], "wem": ["b"]}, OPEN.format("betrag", "wer", "wem", "5,5 -> a")),
    ({"src": [1], "dst": [2], "amount": ["1,5"]}, "a.parquet: column amount is of type string; weights are numbers. Convert the column, or pass --no-weights."),
    ({"src": [1], "dst": [2], "amount": ["15"]}, "a.parquet: column amount is of type string; weights are numbers. Convert the column, or pass --no-weights."),
    ({"src": [1], "dst": [2], "kind": ["x"], "amount": [3], "fee": [4]}, "a.parquet: columns amount, fee are called as weights are; one weighs the edges. Name it with --weight-column, or pass --no-weights."),
    ({"src": [1], "dst": [2], "betrag": ["1.5"]}, "a.parquet: column betrag is of type string; weights are numbers. Convert the column, or pass --no-weights."),
]  # fmt: skip


def test_whole_decimals_beside_text_are_names_in_digits(tmp_path):
    for kind in (pyarrow.float64(), pyarrow.float32(), pyarrow.decimal128(25, 2)):
        whole = pyarrow.array([5, 70]).cast(kind)
        pyarrow.parquet.write_table(
            pyarrow.table({"src": whole, "dst": ["a", "b"], "zip": ["01", "2"]}), tmp_path / "a.parquet"
        )
        names = opened(tmp_path / "a.parquet", tmp_path).names
        assert [names[at] for at in range(len(names))] == ["5", "70", "a", "b"]


def test_a_weight_by_its_name_may_stand_anywhere(tmp_path):
    table = pyarrow.table({"amount": [5], "src": [1], "fee": ["none"], "dst": [2]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    assert edges_of(opened(tmp_path / "a.parquet", tmp_path)) == [(1, 2, 5.0)]


@pytest.mark.parametrize(("columns", "message"), TABLES)
def test_parquet(tmp_path, monkeypatch, columns, message):
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(pyarrow.table(columns), "a.parquet", row_group_size=1)
    with pytest.raises(InputError) as error:
        edges_of(opened("a.parquet", tmp_path))
    assert str(error.value).startswith(message) if message.endswith(". ") else str(error.value) == message


def test_options_of_tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(pyarrow.table({"source": [1], "target": [2], "km": [3]}), "a.parquet")
    with pytest.raises(UsageError, match="--weight-column miles: no such column of weights"):
        opened("a.parquet", tmp_path, weight_column="miles")
    with pytest.raises(UsageError, match="--weight-column 4: there are 3 columns"):
        opened("a.parquet", tmp_path, weight_column=4)
    with pytest.raises(UsageError, match="--num-vertices is about numbers"):
        opened("a.parquet", tmp_path, string_ids=True, num_vertices=5)


def npy(header: str, data: bytes = bytes(48)) -> bytes:
    return b"\x93NUMPY\x01\0" + len(header).to_bytes(2, "little") + header.encode() + data


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("{'descr': '<i8', 'fortran_order': False, 'shape': (-1, 2)}", "is of int64 and shape (-1, 2), which no array has. Write it again."),
        ("{'descr': 'V0', 'fortran_order': False, 'shape': (3, 2)}", "is of |V0 and shape (3, 2), which no array has. Write it again."),
        (f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({1 << 62}, 2)}}", "is of int64 and shape (4611686018427387904, 2), which no array has. Write it again."),
        ("{'descr': '<i8', 'fortran_order': False, 'shape': (4, 2)}", "ends before row 4 of the 4 that its header promises. The file was cut: write it again."),
        ("{'descr': [('source', '<u4'), ('target', '<u4'), ('x', 'V2147483000')], 'fortran_order': False, 'shape': (9,)}", "ends before row 9 of the 9 that its header promises. The file was cut: write it again."),
        ("{'descr': '(2,)<i8', 'fortran_order': False, 'shape': (1, 2)}", "is of ('<i8', (2,)) and shape (1, 2), which no array has. Write it again."),
        ("{'descr': [('source', '<i8', (1,)), ('target', '<i8')], 'fortran_order': False, 'shape': (3,)}", "is of [('source', '<i8', (1,)), ('target', '<i8')] and shape (3,), which no array has. Write it again."),
        ("{'descr': [(('source'", None),
        ("{'descr': '<i8,(', 'fortran_order': False, 'shape': (3, 2)}", None),
        ("{'descr': '<i8', 3: False, 'shape': (3, 2)}", None),
    ],
)  # fmt: skip
def test_headers_of_arrays_that_lie(tmp_path, monkeypatch, header, message):
    """Where NumPy says what is wrong its words vary: one line it is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.npy").write_bytes(npy(header))
    with pytest.raises(InputError) as error:
        edges_of(opened("a.npy", tmp_path))
    said = str(error.value)
    assert said.isprintable()
    assert said == f"a.npy: {message}" if message else said.startswith("a.npy: is not a NumPy array (")


def matrix(**changed) -> dict[str, np.ndarray]:
    parts = {"indices": np.array([1, 0]), "indptr": np.array([0, 1, 2]), "format": np.array(b"csr"),
             "shape": np.array([2, 2]), "data": np.ones(2)}  # fmt: skip
    return parts | changed


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"format": np.array([b"csr", b"csc"])}, "a.npz:format: has 2 elements of |S3; 1 word is due. Save the matrix again."),
        ({"format": np.array(b"\xff")}, "a.npz: is a scipy.sparse matrix of format \ufffd; csr, csc and coo are read. Save it with scipy.sparse.save_npz(matrix.tocsr())."),
        ({"format": np.frombuffer(b"\xff\xff\xff\xff", "<U1")}, "a.npz: is a scipy.sparse matrix of format \ufffd; csr, csc and coo are read. Save it with scipy.sparse.save_npz(matrix.tocsr())."),
        ({"shape": np.array([2, 2, 2])}, "a.npz:shape: has 3 elements of int64; 2 counts are due. Save the matrix again."),
        ({"shape": np.array([2, np.nan])}, "a.npz:shape: has 2 elements of float64; 2 counts are due. Save the matrix again."),
        ({"shape": np.array([-1, -1])}, "a.npz:shape: is [-1 -1]; it is two counts. Save the matrix again."),
        ({"indptr": np.array([0, 1, 2.5])}, "a.npz: indptr, indices and data are no rows of integers. Save the matrix again."),
        ({"indptr": np.array([], int)}, "a.npz: indptr, indices and data are no rows of integers. Save the matrix again."),
        ({"indices": np.ones((2, 2), int)}, "a.npz: indptr, indices and data are no rows of integers. Save the matrix again."),
    ],
)  # fmt: skip
def test_matrices_that_lie(tmp_path, monkeypatch, changed, message):
    monkeypatch.chdir(tmp_path)
    np.savez("a.npz", **matrix(**changed))
    with pytest.raises(InputError) as error:
        edges_of(opened("a.npz", tmp_path))
    assert str(error.value) == message


def test_rows_of_a_matrix_whose_differences_wrap(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    far = 6 * 10**18  # the next one is less by more than 2^63: their difference is positive
    np.savez("a.npz", **matrix(indptr=np.array([0, far, -far, 2]), shape=np.array([3, 3])))
    with pytest.raises(InputError) as error:
        edges_of(opened("a.npz", tmp_path))
    assert str(error.value) == (
        f"a.npz: row 1 (from 1) runs from edge 0 to {far} of 2. The file is damaged: write it again."
    )


@pytest.mark.parametrize("writer", [pyarrow.ipc.new_stream, pyarrow.ipc.new_file])
def test_names_that_a_table_says_lie_elsewhere(tmp_path, monkeypatch, writer):
    """Offsets past the last character, or descending: what lies there is not looked at."""
    monkeypatch.chdir(tmp_path)
    batch = pyarrow.record_batch({"source": ["abcdefg", "hijkl"], "target": ["c", "d"]})
    for offsets in ([0, 7, 1 << 20], [0, 1 << 30, 12], [-(1 << 30), 7, 12]):
        with writer("a.arrow", batch.schema) as table:
            table.write_batch(batch)
        content = (tmp_path / "a.arrow").read_bytes()
        right, wrong = (np.array(numbers, np.int32).tobytes() for numbers in ([0, 7, 12], offsets))
        assert content.count(right) == 1
        (tmp_path / "a.arrow").write_bytes(content.replace(right, wrong))
        with pytest.raises(InputError, match=r"^a\.arrow: can't be read as a table \(.*\)\. Write it again\.$"):
            list(opened("a.arrow", tmp_path).names_of_edges())


def test_a_column_that_a_parquet_reader_leaves_out(tmp_path, monkeypatch):
    """A record without fields is in the schema, not in what is read: no other column stands for it."""
    monkeypatch.chdir(tmp_path)
    table = pyarrow.table({"source": [1, 2], "target": [3, 4]})
    pyarrow.parquet.write_table(table, "a.parquet", store_schema=False)
    content = (tmp_path / "a.parquet").read_bytes()
    number, record = (bytes.fromhex(head) + b"\x18\x06source" for head in ("15042502", "25041502"))
    orders, unknown = (bytes.fromhex(head) + b"\x2c\x1c\0\0\x1c\0\0" for head in ("19", "f9"))  # one a column
    assert content.count(number) == content.count(orders) == 1  # the type INT64, and that it is optional
    (tmp_path / "a.parquet").write_bytes(content.replace(number, record).replace(orders, unknown))
    assert str(pyarrow.parquet.read_schema("a.parquet").field("source").type) == "struct<>"
    with pytest.raises(InputError, match=r"^a\.parquet: column source is of type struct<>; IDs are integers or text\."):
        edges_of(opened("a.parquet", tmp_path))


def test_a_header_that_python_can_not_cut_into_words(tmp_path, monkeypatch):
    """Some versions of Python say SystemError of it; Ctrl-C, which may look the same, stays what it is."""
    monkeypatch.chdir(tmp_path)
    header = b" " * 16 + b"ow" + b" " * 36 + b"\n" + bytes.fromhex("0000000100050001000200060020202082")
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00" + bytes([0x3D, 0]) + header)
    with pytest.raises(InputError, match=r"^a\.npy: is not a NumPy array \("):
        opened("a.npy", tmp_path)

    def interrupted(file):
        raise SystemError("a call returned a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr(np.lib.format, "read_array_header_1_0", interrupted)
    with pytest.raises(SystemError):
        opened("a.npy", tmp_path)


def test_every_changed_byte_of_an_archive(tmp_path, monkeypatch):
    """Methods that zipfile lacks, encryption, broken streams, names that are no text: refused, or nothing changed."""
    monkeypatch.chdir(tmp_path)
    np.savez_compressed("a.npz", **matrix())
    content = (tmp_path / "a.npz").read_bytes()
    refused = 0
    for at in range(len(content)):
        for value in (0xFF, content[at] ^ 1):
            (tmp_path / "a.npz").write_bytes(content[:at] + bytes([value]) + content[at + 1 :])
            try:
                assert len(edges_of(opened("a.npz", tmp_path))) == 2
            except InputError as error:
                assert str(error).isprintable()
                refused += 1
    assert refused > len(content)


def test_columns_of_tables_with_one_name_or_none_that_is_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    twice = pyarrow.Table.from_arrays([pyarrow.array([1]), pyarrow.array([2])], ["source", "source"])
    same = r"^a\.arrow: columns 1 and 2 are called source\. Rename one of them\.$"
    damaged = r"^a\.arrow: can't be read as a table \(.*\)\. Write it again\.$"
    ends = pyarrow.table({"source": [1], "target": [2]})
    for table, changed, said in ((twice, b"source", same), (ends, b"sour\xffe", damaged)):
        sink = pyarrow.BufferOutputStream()
        with pyarrow.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        (tmp_path / "a.arrow").write_bytes(sink.getvalue().to_pybytes().replace(b"source", changed))
        with pytest.raises(InputError, match=said):
            edges_of(opened("a.arrow", tmp_path))


def test_names_of_columns_in_messages_are_on_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(pyarrow.table({"a\x1b": [1, None], "b": [2, 3]}), "a.parquet")
    with pytest.raises(InputError, match=r"row 2 \(from 1\): a\\x1b is null"):
        edges_of(opened("a.parquet", tmp_path))
    with pytest.raises(UsageError, match=r"--weight-column a\\x1b: no such column of weights \(a\\x1b, b\)"):
        opened("a.parquet", tmp_path, weight_column=1)


def test_times_to_the_nanosecond_are_shown_without_pandas() -> None:
    """Arrow makes values of pandas of them, or fails where there is none."""
    stamp = 1_577_836_800_000_000_123
    for kind, value, shown in (
        (pyarrow.timestamp("ns"), stamp, datetime(2020, 1, 1)),
        (pyarrow.timestamp("ns", "UTC"), stamp, datetime(2020, 1, 1, tzinfo=UTC)),
        (pyarrow.duration("ns"), 1_001, timedelta(microseconds=1)),
        (pyarrow.time64("ns"), 1_001, time(0, 0, 0, 1)),
    ):
        found = shown_values(pyarrow.array([value, None], kind))
        assert found == [shown, None] and type(found[0]) is type(shown)
