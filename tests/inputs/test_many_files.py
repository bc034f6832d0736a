"""Folders, patterns, partitioned tables, tables from pipes; files of one graph have the same columns."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import choice
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from input_files import edges_of, opened, read, write

from pagestore.errors import InputError, UsageError


def parquet(path, **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


@pytest.fixture
def hive(tmp_path):
    for year in (2023, 2024):
        for land in ("de", "a%20b"):
            parquet(tmp_path / f"t/year={year}/land={land}/p.parquet", src=[year], dst=[len(land)])
    parquet(tmp_path / "t/year=2025/land=__HIVE_DEFAULT_PARTITION__/p.parquet", src=[1], dst=[2])
    write(tmp_path, "t/_SUCCESS", "")
    write(tmp_path, "t/.p.crc", b"\0\1")
    return tmp_path / "t"


def test_a_folder_is_its_files_in_the_order_of_their_names(tmp_path):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "_temporary").mkdir()
    write(tmp_path, "in/_temporary/x.txt", "7 7\n")
    write(tmp_path, "in/b.txt", "3 4\n")
    write(tmp_path, "in/a.txt", "1 2\n")
    write(tmp_path, "in/deep/c.txt", "5 6\n")
    assert edges_of(opened(tmp_path / "in", tmp_path)) == [(1, 2), (3, 4), (5, 6)]
    assert edges_of(opened(str(tmp_path / "in" / "*.txt"), tmp_path)) == [(1, 2), (3, 4)]
    assert edges_of(opened(str(tmp_path / "in" / "**" / "*.txt"), tmp_path))[:2] == [(7, 7), (1, 2)]
    write(tmp_path, "in/[1].txt", "8 9\n")  # a file of that name is no pattern
    assert edges_of(opened(str(tmp_path / "in" / "[1].txt"), tmp_path)) == [(8, 9)]


def test_what_a_folder_may_not_hold(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="is a folder without files to read"):
        opened(tmp_path / "empty", tmp_path)
    with pytest.raises(InputError, match="no file fits the pattern"):
        opened(str(tmp_path / "*.nothing"), tmp_path)
    (tmp_path / "pipes").mkdir()
    os.mkfifo(tmp_path / "pipes" / "p.txt")
    with pytest.raises(InputError, match="p.txt: is no file, but a pipe, a device or a dead link"):
        opened(tmp_path / "pipes", tmp_path)
    (tmp_path / "mixed").mkdir()
    write(tmp_path, "mixed/a.txt", "1 2\n")
    write(tmp_path, "mixed/b.pdf", "%PDF-1.4\n")
    with pytest.raises(InputError, match="b.pdf: is a PDF"):
        opened(tmp_path / "mixed", tmp_path)


def test_partitions_are_columns(hive, tmp_path):
    def edges(paths=hive, **options):
        return sorted(edges_of(opened(paths, tmp_path, **options)))

    assert edges() == [(1, 2), (2023, 2), (2023, 5), (2024, 2), (2024, 5)]
    assert edges(where="year == 2024") == [(2024, 2), (2024, 5)]
    assert edges(where="land == 'a b' and year > 2023") == [(2024, 5)]
    assert edges(where="land is null") == [(1, 2)]
    assert edges(str(hive / "year=202[34]" / "land=de"), weight_column="year") == [(2023, 2, 2023.0), (2024, 2, 2024.0)]
    assert edges(hive / "year=2023", where="land == 'de'") == [(2023, 2)]  # the folder named is above its columns
    with pytest.raises(UsageError, match="no column is called year"):
        edges(hive / "year=2023", where="year == 2023")


def test_a_files_own_column_wins_over_its_folders(tmp_path):
    parquet(tmp_path / "t/n=7/p.parquet", src=[1, 2], dst=[2, 3], n=[5, 6])
    assert edges_of(opened(tmp_path / "t", tmp_path, where="n == 5")) == [(1, 2)]


ALIKE = {
    "same": ("src,dst\n1,2\n", "src,dst\n3,4\n", [(1, 2), (3, 4)]),
    "first two without header": ("src,dst\n1,2\n", "3,4\n", [(1, 2), (3, 4)]),
}
UNLIKE = {
    "more columns": ("src,dst\n1,2\n", "src,dst,x,y\n1,2,3,4\n",
                     "b.csv: has the columns src, dst, x, y, and .*a.csv has src, dst; files of one"),
    "other names": ("src,dst\n1,2\n", "from,to\n1,2\n", "b.csv: has the columns from, to"),
    "no header, other places": ("x,src,dst\n9,1,2\n", "8,3,4\n",
                                "b.csv: no line names its columns, and .*a.csv has src, dst in columns 2, 3"),
}  # fmt: skip


@pytest.mark.parametrize("case", ALIKE)
def test_files_of_one_table(tmp_path, case):
    first, second, edges = ALIKE[case]
    write(tmp_path, "a.csv", first)
    write(tmp_path, "b.csv", second)
    assert edges_of(opened([tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path)) == edges


def test_columns_are_found_by_name_in_each_file(tmp_path):
    write(tmp_path, "a.csv", "src,dst,t\n1,2,9\n")
    write(tmp_path, "b.csv", "t,dst,src\n9,3,4\n")
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    assert edges_of(opened(paths, tmp_path, weights=False)) == [(1, 2), (4, 3)]


@pytest.mark.parametrize("case", UNLIKE)
def test_a_file_of_other_columns_is_refused_by_name(tmp_path, case):
    first, second, message = UNLIKE[case]
    write(tmp_path, "a.csv", first)
    write(tmp_path, "b.csv", second)
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    with pytest.raises(InputError, match=message):
        opened(paths, tmp_path, weights=False)


def test_tables_of_other_columns(tmp_path):
    parquet(tmp_path / "a.parquet", src=[1], dst=[2])
    parquet(tmp_path / "b.parquet", src=[3], dst=[4], more=[5])
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    with pytest.raises(InputError, match="b.parquet: has the columns src, dst, more"):
        opened(paths, tmp_path)
    assert edges_of(opened(paths, tmp_path, source_column="src", target_column="dst")) == [(1, 2), (3, 4)]


JAN = "payer,payee,betrag,tip\na,b,100.5,1.5\nb,c,200,2\n"
NAMES = ("src", "dst", "betrag")
MIXED = {  # columns of the second file in another order: what is refused, and what is right by names
    "weights": (JAN, "payer,payee,tip,betrag\nc,d,3.5,300\n", ("payer", "payee", "betrag"), (1, 2, 3)),
    "direction": ("wer,wem,betrag\na,b,1.5\n", "wem,wer,betrag\nd,c,2.5\n", ("wer", "wem", "betrag"), (1, 2, 3)),
    "weight before the ends": ("src,dst,betrag\n1,2,5.5\n", "betrag,dst,src\n6.5,4,3\n", NAMES, (1, 2, 3)),
    "one column more": ("src,dst,betrag\n1,2,5.5\n", "src,dst,tip,betrag\n3,4,9.5,6\n", NAMES, (1, 2, 3)),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("case", MIXED)
def test_columns_in_another_order_never_swap_what_is_read(tmp_path, case, kind):
    first, second, names, numbers = MIXED[case]
    paths = [write(tmp_path, "a.csv", first), write(tmp_path, "b.csv", second)]
    if kind == "parquet":
        tables = [pa.csv.read_csv(path) for path in paths]
        paths = [path.with_suffix(".parquet") for path in paths]
        for path, table in zip(paths, tables, strict=True):
            pq.write_table(table, path)
    by_name, by_number = (
        dict(zip(("source_column", "target_column", "weight_column"), columns, strict=True))
        for columns in (names, numbers)
    )
    said = f"Pass --source-column '{names[0]}' --target-column '{names[1]}' --weight-column '{names[2]}'."
    for options in ({}, by_number, by_number | {"weight_column": None}):
        with pytest.raises(InputError) as error:
            opened(paths, tmp_path, **options)
        assert str(error.value).endswith(f"; files of one graph have the same. {said}")
    rows = [dict(zip(text.split("\n")[0].split(","), line.split(","), strict=True))
            for text in (first, second) for line in text.split("\n")[1:-1]]  # fmt: skip
    found = [(str(u), str(v), weight) for u, v, weight in edges_of(opened(paths, tmp_path, **by_name))]
    assert found == [(row[names[0]], row[names[1]], float(row[names[2]])) for row in rows]


def ipc(table, new):
    sink = io.BytesIO()
    with new(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def in_numpy(table):
    sink = io.BytesIO()
    np.save(sink, np.stack([table["src"].to_numpy(), table["dst"].to_numpy()], 1))
    return sink.getvalue()


def in_parquet(table):
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


PIPED = {
    "parquet": in_parquet,
    "arrow file": lambda table: ipc(table, pa.ipc.new_file),
    "arrow stream": lambda table: ipc(table, pa.ipc.new_stream),
    "npy": in_numpy,
}


@pytest.mark.parametrize("kind", choice.seeds(2, PIPED))
def test_tables_from_pipes(tmp_path, kind):
    data = PIPED[kind](pa.table({"src": [1, 2, 3], "dst": [2, 3, 4]}))
    code = (
        "import sys; from pathlib import Path; from pagestore.inputs import open_source, InputOptions\n"
        "s = open_source('-', InputOptions(), sys.argv[1], 1 << 28)\n"
        "print(s.name, [tuple(map(int, e)) for c in s.chunks() for e in zip(c.source, c.target)], s.replayable)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], input=data, capture_output=True)
    assert done.stdout.decode() == "stdin [(1, 2), (2, 3), (3, 4)] True\n", done.stderr.decode()


def test_a_damaged_table_from_a_pipe_is_called_stdin(tmp_path):
    code = (
        "import sys; from pagestore.inputs import open_source, InputOptions\n"
        "try: open_source('-', InputOptions(), sys.argv[1], 1 << 28)\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], input=b"PAR1 no table", capture_output=True)
    assert done.stdout.decode().startswith("InputError stdin: can't be read as a table")


DECIMALS = {
    ("src;dst;amount\n1;2;1.234,56\n2;3;\"1.000\"\n3;4;-0,5\n4;5;\"2,5\"\n5;6;7\n", ","): [1234.56, 1000, -0.5, 2.5, 7],
    ("src,dst,amount\n1,2,\"1,234.56\"\n2,3,7\n3,4,\"12,000\"\n4,5,\"1,000,000\"\n", "."): [1234.56, 7, 12000, 1000000],
    ("src\tdst\tamount\n1\t2\t1 234,5\n2\t3\t1'000\n3\t4\t,5e1\n", ","): [1234.5, 1000, 5],
    ("1 2 0,5\n2 3 1.500,25\n", ","): [0.5, 1500.25],
}  # fmt: skip


@pytest.mark.parametrize(("text", "mark"), DECIMALS)
def test_marks_of_decimals_and_thousands(tmp_path, text, mark):
    found = read(tmp_path, "a.csv" if "," in text[:4] else "a.txt", text, decimal=mark, weight_column=3)
    assert [edge[2] for edge in found] == DECIMALS[text, mark]


@pytest.mark.parametrize("weight", ["1.5", "1.23,4", "1.2345", "1,2,3", "1.000'000", "x", "1,", ",", "1.000.00"])
def test_numbers_with_other_marks_are_refused(tmp_path, weight):
    text = f"src;dst;amount\n1;2;0,5\n2;3;{weight}\n"
    if weight == "1,":
        assert read(tmp_path, "a.csv", text, decimal=",") == [(1, 2, 0.5), (2, 3, 1.0)]
        return
    with pytest.raises(InputError, match=r"a.csv:3:5: weight .* is not a number whose decimals begin with ','\."):
        read(tmp_path, "a.csv", text, decimal=",")
    assert read(tmp_path, "a.csv", text, decimal=",", bad_lines="skip") == [(1, 2, 0.5)]


def test_a_quoted_number_with_a_doubled_quote_in_its_line(tmp_path):
    text = 'src,dst,amount,note\n1,2,"1.234,5","a ""b"""\n2,3,"0,5",x\n'
    assert sorted(read(tmp_path, "a.csv", text, decimal=",", weight_column="amount")) == [(1, 2, 1234.5), (2, 3, 0.5)]


def test_a_condition_on_a_marked_number(tmp_path):
    text = "src;dst;amount\n1;2;1.234,56\n2;3;0,5\n3;4;1.000\n"
    assert read(tmp_path, "a.csv", text, decimal=",", where="amount >= 1000") == [(1, 2, 1234.56), (3, 4, 1000.0)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "no weights (--decimal , changes nothing; --weight-column names their column)"),
        ({"weights": False}, "no weights (--decimal , changes nothing)"),
        ({"where": "src != 'x'"}, "no weights, lines where"),
    ],
)
def test_marks_of_no_weights_are_said(tmp_path, options, said):
    path = write(tmp_path, "a.csv", "src;dst;cash\na;b;1,5 EUR\nb;c;2,5 EUR\n")
    assert said in opened(path, tmp_path, decimal=",", **options).assumptions[0]


ODD = {  # what sends a line, or the whole block, to the slow reader
    "a last field that is empty": "b;c;W;\n",
    "a last field that is blank": "b;c;W; \n",
    "a vertex with a sign": "+1;2;W;z\n",
    "a weight past float64": "b;c;W;z\nd;e;1e999;z\n",
    "a byte that is not UTF-8": "b;c;W;z\nd;\udce9;1;z\n",
    "a doubled quote": 'b;c;W;"a ""b"""\n',
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(("mark", "written", "weight"), [
    (",", "12,345", 12.345), (",", "10.885,04", 10885.04), (",", "12.345", 12345), (",", "10,5", 10.5),
    (".", "12.345", 12.345), (".", "10,885.04", 10885.04), (".", "12,345", 12345), (".", "10.5", 10.5),
])  # fmt: skip
def test_marks_are_read_once_in_odd_lines(tmp_path, odd, mark, written, weight):
    first = "3;4;2,125;z\n" if odd == "a vertex with a sign" else "a;b;2,125;z\n"
    text = "src;dst;amount;z\n" + first.replace(",", mark) + ODD[odd].replace("W", written)
    path = write(tmp_path, "a.csv", text.encode("utf-8", "surrogateescape"))
    skipped = tmp_path / "skipped.txt"
    source = opened(path, tmp_path, decimal=mark, weight_column="amount", source_column="src", target_column="dst",
                    bad_lines="skip", skipped_path=skipped)  # fmt: skip
    assert sorted(edge[2] for edge in edges_of(source)) == sorted([2.125, weight])
    assert source.skipped.count == ODD[odd].count("\n") - 1


def test_a_skipped_line_is_listed_as_the_file_has_it(tmp_path):
    path = write(tmp_path, "a.csv", "src;dst;amount\n1;2;2,125\nx;3;1.012,345\n3;4;1.5\n")
    skipped = tmp_path / "skipped.txt"
    source = opened(path, tmp_path, decimal=",", bad_lines="skip", skipped_path=skipped)
    assert edges_of(source) == [(1, 2, 2.125)]
    listed = [line.split("\t")[2] for line in skipped.read_text().splitlines()]
    assert listed == ["x;3;1.012,345", "3;4;1.5"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_empty_last_field_is_no_reason_to_read_slowly(tmp_path, monkeypatch, end):
    monkeypatch.setattr("pagestore.inputs.linesource.judge", lambda line, rules: pytest.fail(f"{line!r} was judged"))
    text = f"src;dst;amount;z{end}1;2;1,5;{end}2;3;2,5; {end}3;4;3,5;y{end}"
    assert read(tmp_path, "a.csv", text, decimal=",") == [(1, 2, 1.5), (2, 3, 2.5), (3, 4, 3.5)]
