"""--where: which rows stay, on text, Parquet and Arrow alike; what it refuses, and at which character."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from input_files import edges_of, opened, read, write

import gstream
from pagestore.errors import InputError, UsageError
from pagestore.inputs.conditions import Condition

DAYS = [datetime.date(2024, 1, day) for day in (1, 2, 3, 4)]
TABLE = pa.table(
    {
        "row": [1, 2, 3, 4],
        "small": pa.array([1, 2, 3, None], pa.int8()),
        "part": [1.5, 2.5, None, 4.0],
        "word": ["x", "y", None, "z"],
        "from account": [1, 2, 3, 4],
        "day": pa.array(DAYS),
        "moment": pa.array([datetime.datetime(2024, 1, d) for d in (1, 2, 3, 4)], pa.timestamp("ns", "Europe/Paris")),
        "money": pa.array([decimal.Decimal(x) for x in ("1.1", "2.2", "3.3", "4.4")]),
        "kind": pa.array(["p", "q", "p", "q"]).dictionary_encode(),
        "flag": [True, False, True, None],
        "said": ["2024-01-01", "2024-01-02", "2024-01-03T10:00:00Z", "2024-01-04"],
        "empty": pa.nulls(4),
    }
)
KINDS = {field.name: field.type for field in TABLE.schema}

HOLDS = {
    "small > 1": [2, 3],
    "not small > 1": [1],  # null is neither
    "small in (1, 3)": [1, 3],
    "small not in (1, 3)": [2],
    "word in ('x')": [1],
    "word is null": [3],
    "word is not NULL": [1, 2, 4],
    "`from account` >= 3": [3, 4],
    "small * 100 > 150": [2, 3],  # past int8
    "small / 2 == 0.5": [1],
    "1 < small <= 3": [2, 3],
    "-small < -1": [2, 3],
    "small + small - 1 == 3": [2],
    "part == 2.5 or word == 'z'": [2, 4],
    "part == 2.5 and word == 'z'": [],
    "day >= '2024-01-03'": [3, 4],
    "moment < '2024-01-02'": [1],  # in UTC
    "moment >= '2024-01-02T01:00+01:00'": [2, 3, 4],
    "money > 2": [2, 3, 4],
    "kind == 'p'": [1, 3],
    "flag": [1, 3],
    "not flag": [2],
    "flag == false": [2],
    "said > date('2024-01-02')": [3, 4],
    "said > '2024-01-02'": [3, 4],
    "empty is null and row < 3": [1, 2],
    "empty == 3": [],
    "row != 2": [1, 3, 4],
    "(row == 1\n or row == 4)": [1, 4],
}


@pytest.mark.parametrize("text", HOLDS)
def test_rows_that_a_condition_leaves(text):
    found = TABLE.filter(Condition(text).expression(KINDS))
    assert found["row"].to_pylist() == HOLDS[text]


REFUSED = {
    "row = 1": (5, "write == to compare"),
    "row > 'x'": (7, "is text, and a number stands before it"),
    "word + 1 > 2": (1, "is text; arithmetic takes numbers"),
    "row > 1 and amuont > 1": (13, "no column is called amuont"),
    "'é' == word and zz > 1": (17, "no column is called zz"),
    "`é` == word": (1, "no column is called é"),
    "smal > 1": (1, "did you mean small"),
    "__import__('os').system('true')": (1, "functions are not known"),
    "row.real > 1": (1, "is not known here"),
    "row[0]": (1, "is not known here"),
    "flag AND flag": (6, "write it in small letters"),
    "row == null": (8, "write is null"),
    "(lambda: 1)()": (1, "functions are not known"),
    "row": (1, "is a number, no condition"),
    "not row": (5, "is a number, no condition"),
    "f'{row}' == 'x'": (1, "is not known here"),
    "row ** 2 > 1": (8, "the operator before it is not known"),
    "day > 'soon'": (7, "is no date or time"),
    "(row := 3) > 2": (2, "is not known here"),
    "flag if flag else flag": (1, "is not known here"),
    "row > 99999999999999999999": (7, "is past 64 bits"),
    "row > 1; row": (8, "can't be read"),
    "row >\n)": (7, "can't be read"),
    "word == b'x'": (9, "is not known here"),
    "row in {1, 2}": (8, "in is followed by values in parentheses"),
    "row in ()": (8, "in is followed by values in parentheses"),
    "row is 3": (8, "is and is not are followed by null"),
    "-" * 3000 + "row > 1": (1, "is nested too deep"),
    "row == 1\0": (1, "can't be read"),
    "": (1, "can't be read"),
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_conditions_that_are_refused_at_their_character(text):
    place, reason = REFUSED[text]
    with pytest.raises(UsageError) as refusal:
        Condition(text).expression(KINDS)
    assert f"at character {place}" in str(refusal.value) and reason in str(refusal.value)


def test_a_condition_is_short():
    with pytest.raises(UsageError, match="has 4097 characters; at most 4096"):
        Condition("row > " + "1" * 4091)


TEXT = (
    "src,dst,amount,kind,day\n1,2,50,A,2024-01-01\n2,3,150,B,2024-01-02\n# 9,9,999,A,2024-01-01\n"
    '"3",4,"200",A,2024-01-03\n4,5,,C,2024-01-04\n5,6,+3e2,"D ""x"", y",2024-01-05\n'
)
ROWS = {
    "amount > 100": [(2, 3), (3, 4), (5, 6)],
    "not amount > 100": [(1, 2)],
    "amount is null": [(4, 5)],
    "kind == 'A'": [(1, 2), (3, 4)],
    "kind == 'D \"x\", y'": [(5, 6)],
    "day >= date('2024-01-03') and kind != 'C'": [(3, 4), (5, 6)],
    "src + 1 == dst and src > 3": [(4, 5), (5, 6)],
}


def as_tables(folder):
    """The same rows as text with tabs, as Parquet and as Arrow."""
    rows = {
        "src": [1, 2, 3, 4, 5], "dst": [2, 3, 4, 5, 6], "amount": [50, 150, 200, None, 300],
        "kind": ["A", "B", "A", "C", 'D "x", y'], "day": [datetime.date(2024, 1, day) for day in range(1, 6)],
    }  # fmt: skip
    table = pa.table(rows)
    pq.write_table(table, folder / "a.parquet")
    with pa.ipc.new_file(folder / "a.arrow", table.schema) as file:
        file.write_table(table, max_chunksize=2)
    return table


@pytest.mark.parametrize("where", ROWS)
def test_the_same_rows_of_every_format(tmp_path, where):
    table = as_tables(tmp_path)
    write(tmp_path, "a.csv", TEXT)
    for name in ("a.csv", "a.parquet", "a.arrow"):
        source = opened(tmp_path / name, tmp_path, where=where, weights=False)
        assert edges_of(source) == ROWS[where] == edges_of(source), name
        assert source.skipped.filtered == 5 - len(ROWS[where])
        assert f"where {where}" in source.assumptions[0]
    graph = gstream.from_arrow(table, where=where, weight=False)
    assert graph.conversion["filtered_rows"] == 5 - len(ROWS[where])
    assert sorted(zip(*(end.tolist() for end in graph_ends(graph)), strict=True)) == ROWS[where]


def groups_read(source, monkeypatch):
    """Numbers of the row groups that a reading of a Parquet file takes."""
    taken, read_on = [], pq.ParquetFile.iter_batches

    def counted(file, size, groups, **more):
        taken.extend(groups)
        return read_on(file, size, groups, **more)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", counted)
    edges = edges_of(source)
    monkeypatch.undo()
    return taken, edges


PRUNED = {  # of row groups of 10 rows each: those that are read
    "src >= 25 and src < 31": [2, 3],
    "small in (5, 36)": [0, 3],
    "price > 29.5": [3],
    "not price <= 29.5": [0, 1, 2, 3],  # NaN is no part of the statistics, and holds
    "price != 7": [0, 1, 2, 3],
    "word == 'w35'": [3],
    "day >= '2024-01-31'": [0, 1, 2, 3],  # other types of times than microseconds are converted row by row
    "moment < '2024-01-11'": [0],
    "small * 2 > 70": [0, 1, 2, 3],
    "src is null": [],
    "src > 99": [],
    "note is null": [1],
}


@pytest.mark.parametrize("where", PRUNED)
def test_row_groups_without_rows_that_are_asked_for_are_not_read(tmp_path, monkeypatch, where):
    count = 40
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=k) for k in range(count)]
    table = pa.table(
        {
            "src": range(count), "dst": range(1, count + 1), "small": pa.array(range(count), pa.int8()),
            "price": [float("nan") if k % 10 == 3 else float(k) for k in range(count)],
            "word": [f"w{k:02}" for k in range(count)], "day": days, "moment": pa.array(days).cast(pa.timestamp("us")),
            "note": [None if k == 15 else "x" for k in range(count)],
        }
    )  # fmt: skip
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=10)
    source = opened(tmp_path / "a.parquet", tmp_path, where=where, weights=False)
    taken, edges = groups_read(source, monkeypatch)
    condition = Condition(where).expression({one.name: one.type for one in table.schema})
    left = table.filter(condition)
    assert taken == PRUNED[where]
    assert edges == list(zip(left["src"].to_pylist(), left["dst"].to_pylist(), strict=True))
    assert source.skipped.filtered == count - len(edges) and source.position() == source.total_bytes


def test_rows_keep_their_numbers_behind_row_groups_that_are_not_read(tmp_path):
    table = pa.table({"src": [1, 2, 3, 4, None, 6], "dst": [2, 3, 4, 5, 6, 7], "n": [1, 1, 2, 2, 3, 3]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    with pytest.raises(InputError, match=r"row 5 \(from 1\): src is null"):
        edges_of(opened(tmp_path / "a.parquet", tmp_path, where="n == 3", weights=False))


def test_a_partition_that_is_not_asked_for_is_not_read(tmp_path, monkeypatch):
    for year in (2023, 2024):
        (tmp_path / "t" / f"year={year}").mkdir(parents=True)
        pq.write_table(pa.table({"src": [year], "dst": [1]}), tmp_path / "t" / f"year={year}" / "a.parquet")
    source = opened(tmp_path / "t", tmp_path, where="year == 2024 and src > 0")
    assert groups_read(source, monkeypatch) == ([0], [(2024, 1)])
    assert source.skipped.filtered == 1


def graph_ends(graph):
    found = list(graph.edges())
    return [np.concatenate([np.asarray(batch[end]) for batch in found]) for end in (0, 1)]


def test_lines_keep_their_numbers_and_quoted_breaks(tmp_path):
    text = 'src,dst,note,n\n1,2,"two\nlines",1\n2,3,"three\nmore\nlines",2\n3,4,x,3\nx,5,y,4\n'
    assert read(tmp_path, "a.csv", text, where="n == 2 or n == 3") == [(2, 3), (3, 4)]
    with pytest.raises(InputError, match=r"a.csv:8:1: vertex ID 'x' is not a number"):
        read(tmp_path, "a.csv", text, where="n > 2")


def test_a_word_among_the_numbers_of_a_condition(tmp_path):
    text = "src\tdst\tn\n" + "".join(f"{k}\t{k + 1}\t{k}\n" for k in range(60)) + "7\t8\tmany\n"
    with pytest.raises(InputError, match=r"a.tsv:62:5: many is no number, as --where compares it with"):
        read(tmp_path, "a.tsv", text, where="n > 57", weights=False)
    source = opened(tmp_path / "a.tsv", tmp_path, where="n > 57", weights=False, bad_lines="skip")
    assert edges_of(source) == [(58, 59), (59, 60)]
    assert (source.skipped.count, source.skipped.filtered) == (1, 58)


NO_DATES = {
    "12.03.2024": ["2024-03-14", "2024-03-16", "12.03.2024", "2024-04-01"],
    "n/a": ["2024-03-14", "2024-03-16T10:00:00Z", "n/a", "2024-04-01"],
    "2024-02-30": ["2024-03-14", "2024-03-16", "2024-02-30", "2024-04-01 10:00"],
}


@pytest.mark.parametrize("name", ["a.csv", "odd.csv", "a.parquet", "a.arrow", "coded.parquet"])
@pytest.mark.parametrize("wrong", NO_DATES)
def test_a_value_that_is_no_date(tmp_path, wrong, name):
    days, where = NO_DATES[wrong], "day >= date('2024-03-15') or day == 'x'"
    path = tmp_path / name
    if name.endswith(".csv"):
        end = ',"a ""b"""' if name == "odd.csv" else ",z"
        path.write_text("src,dst,day,note\n" + "".join(f"{k},{k + 1},{day}{end}\n" for k, day in enumerate(days)))
        place = f"{name}:4:" + ("1" if name == "odd.csv" else "5") + ": "
    else:
        column = pa.array(days)
        column = column.dictionary_encode() if name == "coded.parquet" else column
        table = pa.table({"src": range(4), "dst": range(1, 5), "day": column})
        if name == "a.arrow":
            with pa.ipc.new_file(path, table.schema) as file:
                file.write_table(table)
        else:
            pq.write_table(table, path, row_group_size=2)
        place = f"{name}: row 3 (from 1): day: "
    with pytest.raises(InputError) as error:
        edges_of(opened(path, tmp_path, where=where, weights=False))
    said = f"{wrong!r} is no date, as --where compares it with; one is written 2024-01-31 or 2024-01-31 23:59:59."
    assert place + said in str(error.value) and "--bad-lines skip" in str(error.value)
    source = opened(path, tmp_path, where=where, weights=False, bad_lines="skip")
    assert edges_of(source) == [(1, 2), (3, 4)] or name == "odd.csv" and sorted(edges_of(source)) == [(1, 2), (3, 4)]
    assert (source.skipped.count, source.skipped.filtered) == (1, 1)


@pytest.mark.parametrize("value", ["1.5", "1.23,4", "1,2,3", "e5", "x"])
def test_a_condition_reads_marks_as_weights_do(tmp_path, value):
    text = f"src;dst;n;w\n1;2;1.234,5;1\n2;3;+0,5;1\n3;4;{value};1\n4;5;1 000;1\n5;6;1e400;1\n"
    with pytest.raises(InputError, match=r"a.csv:64:5: .* is no number, as --where compares it with"):
        read(tmp_path, "a.csv", "src;dst;n;w\n" + "8;9;1,5;1\n" * 60 + text[12:], decimal=",", where="n > 10")
    found = read(tmp_path, "b.csv", "src;dst;n;w\n" + "8;9;1,5;1\n" * 60 + text[12:], decimal=",", where="n > 10",
                 weights=False, bad_lines="skip")  # fmt: skip
    assert found == [(1, 2), (4, 5), (5, 6)]


def test_columns_of_a_text_without_header(tmp_path):
    assert read(tmp_path, "a.txt", "1 2 5\n2 3 6\n3 4 7\n", where="c3 > 5 and c1 != 3") == [(2, 3, 6.0)]
    with pytest.raises(UsageError, match="a.txt: --where 'n > 5': at character 1.*there are c1, c2, c3"):
        read(tmp_path, "a.txt", "1 2 5\n", where="n > 5")


def test_many_lines_in_many_blocks(tmp_path):
    lines = [(k, k * 7 % 1000, k % 13) for k in range(250_000)]
    text = "".join(f"{a},{b},{n}\n" for a, b, n in lines)
    source = opened(write(tmp_path, "a.csv", text), tmp_path, where="c3 == 5", weights=False)
    source.block_bytes = 1 << 20
    assert edges_of(source) == [(a, b) for a, b, n in lines if n == 5]


def test_formats_without_columns_have_no_conditions(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1, 2]]))
    with pytest.raises(UsageError, match="--where is for text, Parquet and Arrow, not for npy"):
        opened(tmp_path / "a.npy", tmp_path, where="c1 > 1")
