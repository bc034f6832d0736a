"""What a table's columns hold is told by names and values; what they leave open is refused with what to type."""

from __future__ import annotations

import pyarrow.parquet
import pytest
from input_files import edges_of, opened, read, write

from pagestore.errors import InputError

ROW_NAMES = {  # text, as R's write.table has it with names of rows: what columns 2 and 3 hold
    '"payer" "payee"\n"12" 1 2\n"15" 2 3\n': [(1, 2), (2, 3)],
    '"payer" "payee"\n"x" "a" "b"\n': [("a", "b")],
    'kunde\thaus\n"7"\t5\t6\n"3"\t5\t7\n': [(5, 6), (5, 7)],
    '"payer","payee","amount"\n"x","a","b",5\n': [("a", "b")],
}


@pytest.mark.parametrize("text", ROW_NAMES)
def test_a_header_that_does_not_name_the_names_of_rows_is_refused(tmp_path, text):
    path = write(tmp_path, "a.txt", text)
    (source, target), *_ = ROW_NAMES[text]
    command = f"gstream convert {path} STORE --header --source-column 2 --target-column 3, if they are "
    with pytest.raises(InputError, match=r"line 1 names . columns .*, and most lines have .\. Name both") as error:
        opened(path, tmp_path)
    assert f"{command}{source} -> {target}" in str(error.value)
    chosen = {"header": True, "source_column": 2, "target_column": 3}
    assert edges_of(opened(path, tmp_path, **chosen)) == ROW_NAMES[text]


@pytest.mark.parametrize("name", ["tx_id", "txid", "TransactionID", "invoice no", "amount_id", "user", "id_tx", "zip"])
def test_numbers_that_name_something_are_no_weights(tmp_path, name):
    source = opened(write(tmp_path, "a.csv", f"payer,payee,{name}\nann,bob,1001\n"), tmp_path)
    assert edges_of(source) == [("ann", "bob")] and f"({name}) is none unless --weight" in source.assumptions[0]


WEIGHTS = {  # header and rows: weights, None for none
    "payer,payee,currency,amount\nann,bob,EUR,5\n": [5.0],
    "amount,payer,payee\n5,ann,bob\n": [5.0],
    "payer,payee,count,weight\nann,bob,1,5\n": [5.0],
    "payer,payee,number_of_trips\nann,bob,5\n": [5.0],
    "payer,payee,tx_id,fee\nann,bob,7,5\n": [5.0],
    "payer,payee,price,sum\nann,bob,high,5\n": [5.0],
    "payer,payee,amount\nann,bob,high\n": None,
}


@pytest.mark.parametrize("text", WEIGHTS)
def test_a_weight_by_its_name_stands_anywhere(tmp_path, text):
    weights = WEIGHTS[text]
    assert read(tmp_path, "a.csv", text) == [("ann", "bob", *(weights or []))]


def test_several_names_of_weights_are_refused(tmp_path):
    for names in ("fee,amount", "fee,value"):
        path = write(tmp_path, "a.csv", f"payer,payee,{names}\nann,bob,1,5\n")
        with pytest.raises(InputError, match=r"columns 3 \(fee: 1\), 4 \(.*: 5\) .* STORE --weight-column N, or"):
            opened(path, tmp_path)
        assert edges_of(opened(path, tmp_path, weight_column=4)) == [("ann", "bob", 5.0)]
        assert edges_of(opened(path, tmp_path, weights=False)) == [("ann", "bob")]
    with pytest.raises(InputError, match="columns 3 and 4 are called amount"):
        read(tmp_path, "a.csv", "payer,payee,amount,amount\nann,bob,1,5\n")


@pytest.mark.parametrize("value", ["NULL", "-", "", "5 EUR"])
@pytest.mark.parametrize("rows", [2, 60])
def test_weights_that_are_no_numbers_are_bad_lines(tmp_path, value, rows):
    path = write(tmp_path, "a.csv", "payer,payee,amount\n" + f"ann,bob,{value}\n" * rows + "bob,carl,6\n")
    with pytest.raises(InputError, match=r"a\.csv:2:9: .*the weight is missing|a\.csv:2:9: weight .* is not a number"):
        edges_of(opened(path, tmp_path))
    source = opened(path, tmp_path, bad_lines="skip")
    assert edges_of(source) == [("bob", "carl", 6.0)] and source.skipped.count == rows


@pytest.mark.parametrize("header", ["", "payer,payee,eur\n"])
@pytest.mark.parametrize("value", ["NULL", "-", ""])
def test_a_weight_that_the_first_lines_miss_is_not_lost(tmp_path, header, value):
    path = write(tmp_path, "a.csv", header + f"ann,bob,{value}\n" * 60 + "bob,carl,6\n")
    source = opened(path, tmp_path, bad_lines="skip")
    assert edges_of(source) == [("bob", "carl", 6.0)] and source.skipped.count == 60
    with pytest.raises(InputError, match="the weight is missing|weight .* is not a number"):
        edges_of(opened(path, tmp_path))


MIXED = {  # three columns: the numbers of those that are alike, and what the odd one and these hold
    "ann,8,bob\nbob,9,carl\n": (1, 3, "whole numbers, the others names"),
    "8,ann,bob\n9,bob,carl\n": (2, 3, "whole numbers, the others names"),
    "2024-01-01,ann,bob\n2024-01-02,bob,carl\n": (2, 3, "dates, the others names"),
    "10:30 ann bob\n10:31 bob carl\n": (2, 3, "dates, the others names"),
    "2024-01-01,4,6\n2024-01-02,6,9\n": (2, 3, "dates, the others whole numbers"),
    "4 2024-01-01 6\n6 2024-01-02 9\n": (1, 3, "dates, the others whole numbers"),
    "ann,4,6\nbob,6,9\n": (2, 3, "names, the others whole numbers"),
    "4 pp 6\n6 pd 9\n": (1, 3, "names, the others whole numbers"),
    "1.1.2024,ann,6\n2.1.2024,bob,9\n": (2, 3, "dates, the others names and whole numbers"),
}


@pytest.mark.parametrize("header", ["", "when,who,whom\n", '"",wer,wen\n'])
@pytest.mark.parametrize("text", MIXED)
def test_an_odd_one_of_the_first_two_of_three_columns_is_refused(tmp_path, text, header):
    between = "," if "," in text else " "
    path = write(tmp_path, "a.csv", header.replace(",", between) + text)
    source, target, kinds = MIXED[text]
    rows = [line.split(between) for line in text.splitlines()]
    read = [(row[source - 1], row[target - 1]) for row in rows]
    columns = f"--source-column {source} --target-column {target}, if they are " + ", ".join(map(" -> ".join, read))
    with pytest.raises(InputError, match="no known name says which hold source and target") as error:
        opened(path, tmp_path)
    if "has 3 columns" not in str(error.value):  # as of headers without a name of column 1
        assert f"holds {kinds}, and" in str(error.value)
        assert f"STORE{' --header' * bool(header)} {columns}" in str(error.value)
    chosen = {"source_column": source, "target_column": target, "weights": False, "header": bool(header)}
    ids = {True: int, False: str}
    numbers = all(map(str.isdigit, [*read[0], *read[1]]))
    expected = [tuple(map(ids[numbers], edge)) for edge in read]
    assert edges_of(opened(path, tmp_path, **chosen)) == expected


@pytest.mark.parametrize("text", ["ann,4,0.5\nbob,6,2\n", "x,y,weight\nann,4,1\nbob,6,2\n", "x,y,since\nann,4,1\n"])
def test_an_odd_pair_of_ends_beside_what_is_none_is_read(tmp_path, text):
    assert edges_of(opened(write(tmp_path, "a.csv", text), tmp_path, weights=False))[0] == ("ann", "4")


@pytest.mark.parametrize(
    "columns",
    [
        (["2024-01-01"], [1], [2]),
        (["ann"], [1], [2]),
        ([1], ["pp"], [2]),
        ([1], ["ann"], ["bob"]),
        (["ann"], [1], ["b"]),
    ],
)
def test_an_odd_one_of_the_first_two_columns_of_a_table_is_refused(tmp_path, columns):
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table(dict(zip("xyz", columns, strict=True))), path)
    with pytest.raises(InputError, match=r"has 3 columns \(1: x, 2: y, 3: z\), and no known name says"):
        opened(path, tmp_path)
    chosen = opened(path, tmp_path, source_column="x", target_column="z", weights=False)
    assert [tuple(map(str, edge)) for edge in edges_of(chosen)] == [(str(columns[0][0]), str(columns[2][0]))]
    floats = pyarrow.table({"x": ["ann"], "y": [1], "z": [2.0]})
    pyarrow.parquet.write_table(floats, path)
    assert edges_of(opened(path, tmp_path)) == [("ann", "1", 2.0)]
    told = "columns x and y are source and target by name (numbers of y in digits), column z is the weight"
    assert told in opened(path, tmp_path).assumptions[0]


TIMES = {
    "seconds": [1082040961 + 86_413 * day for day in range(9)],
    "with fractions": [f"17{day}0000956.034" for day in range(9)],
    "milliseconds": [1082040961000 + day for day in range(9)],
    "nanoseconds": [1700000000123456789 + day for day in range(9)],
    "days": [20240130 - day for day in range(9)],
}


@pytest.mark.parametrize("kind", TIMES)
def test_times_in_a_third_column_are_no_weights(tmp_path, kind):
    times = TIMES[kind]
    lines = [f"{at} {at + 1} {time}\n" for at, time in enumerate(times)]
    path = write(tmp_path, "a.txt", "".join(lines))
    with pytest.raises(
        InputError, match=f"column 3 may hold times, as {times[0]} is one .* Pass --no-weights: gstream"
    ):
        opened(path, tmp_path)
    assert edges_of(opened(path, tmp_path, weights=False))[:2] == [(0, 1), (1, 2)]
    for known in ({"weight_column": 3}, {"third_weighs": True}):
        assert edges_of(opened(path, tmp_path, **known))[0] == (0, 1, float(times[0]))
    few, alike = "".join(lines[:7]), "".join(f"{at} {at + 1} {times[0]}\n" for at in range(9))
    for text in (few, alike, few + "8 9 7\n9 10 8\n"):
        assert edges_of(opened(write(tmp_path, "b.txt", text), tmp_path))[0][2] == float(times[0])
    path.rename(tmp_path / "a.wel")  # whose third column is the weight
    assert len(edges_of(opened(tmp_path / "a.wel", tmp_path))) == 9


@pytest.mark.parametrize("kind", TIMES)
def test_times_in_the_first_of_three_columns_are_no_ends(tmp_path, kind):
    path = write(tmp_path, "a.csv", "".join(f"{time},{at},{at + 2}\n" for at, time in enumerate(TIMES[kind])))
    with pytest.raises(
        InputError, match="column 1 holds dates, the others whole numbers, .* --source-column 2 --target"
    ):
        opened(path, tmp_path)


def test_a_number_behind_two_names_is_a_weight(tmp_path):
    assert read(tmp_path, "a.csv", "ann,bob,8\n") == [("ann", "bob", 8.0)]


@pytest.mark.parametrize("before", [1, 300])
def test_a_comment_that_has_a_field_for_each_column_is_refused(tmp_path, before):
    path = write(tmp_path, "a.csv", "payer,payee,amount\n" + "ann,bob,6\n" * before + "#1001,bob,5\n")
    with pytest.raises(InputError, match="'#1001,bob,5' begins with #, .* Pass --comments none if"):
        opened(path, tmp_path)
    assert edges_of(opened(path, tmp_path, comments="none"))[-1] == ("#1001", "bob", 5.0)
    assert len(edges_of(opened(path, tmp_path, comments="#%"))) == before
    path.write_text("payer,payee,amount\nann,bob,6\n# 1001,bob,5\n#x\n")
    assert len(edges_of(opened(path, tmp_path))) == 1


@pytest.mark.parametrize(
    ("text", "quoted", "fields"),
    [
        ("from,to\n#python,#java\n#java,#go\n", "#python,#java", 2),
        ("from,to,weight\n#a,#b,3\n", "#a,#b,3", 3),
        ("source;target\n#a;#b\n", "#a;#b", 2),
        ("#alice,bob,5\n#bob,carol,6\ncarol,#dan,7\n", "#alice,bob,5", 3),
        ("#alice\tbob\nbob\tcarol\n", r"#alice\\tbob", 2),
        ("#n1,n2\nn3,n4\n", "#n1,n2", 2),
        ("#1,#2\n3,4\n", "#1,#2", 2),
        ("bob,carol\n#c,d\n", "#c,d", 2),
    ],
)
def test_a_comment_written_as_edges_are_is_refused_whatever_stands_above_it(tmp_path, text, quoted, fields):
    path = write(tmp_path, "a.txt", text)
    with pytest.raises(InputError, match=f"'{quoted}' begins with #, .* has {fields} fields, .* --comments none if"):
        opened(path, tmp_path)


@pytest.mark.parametrize(
    "head",
    ["# FromNodeId\tToNodeId\n", "#from\tto\n", "#gene A\tgene B\n", "% sym\tunweighted\n", "#x\n#y\tz\n",
     "#Made on a day in May,\tby us\n#source\ttarget\n", "#a b\n"],
)  # fmt: skip
def test_headers_and_prose_in_comments_above_names_are_comments(tmp_path, head):
    assert read(tmp_path, "a.txt", f"{head}ann\tbob\nbob\tcarl\n") == [("ann", "bob"), ("bob", "carl")]


def test_a_comment_among_numbers_is_one(tmp_path):
    assert read(tmp_path, "a.csv", "#1,2\n3,4\n#5,6\n7,8\n") == [(3, 4), (7, 8)]


def test_comments_alone_that_may_be_edges_name_the_option(tmp_path):
    with pytest.raises(InputError, match="no line of data .* --comments none if names begin with #, as in '#a,b'"):
        read(tmp_path, "a.csv", "#a,b\n#b,c\n")


@pytest.mark.parametrize("line", ["from,to", "from,to,weight", "head|tail", "tail\thead", "u;v", "from_acct,to_acct"])
def test_words_for_ends_with_nothing_below_are_no_edge(tmp_path, line):
    with pytest.raises(InputError, match="--no-header|holds no line of data"):
        read(tmp_path, "a.txt", line)
    assert len(edges_of(opened(tmp_path / "a.txt", tmp_path, header=False))) == 1


@pytest.mark.parametrize("line", ["sep=;", '"sep=;"', "SEP=;\r", "\ufeffsep=;"])
def test_the_line_that_tells_excel_the_separator_is_believed(tmp_path, line):
    text = f"{line}\nfrom;to;amount\nann,x;bob;3\nbob;carl,y;4\n"
    source = opened(write(tmp_path, "a.csv", text), tmp_path)
    assert edges_of(source) == [("ann,x", "bob", 3), ("bob", "carl,y", 4)]
    assert all(said in source.assumptions[0] for said in ("between semicolons as line 1 says", "line 2 is a header"))
    assert read(tmp_path, "b.csv", f"{line}\n1;2\n3;4\n") == [(1, 2), (3, 4)]
    with pytest.raises(InputError, match=r"c\.csv:3:3: vertex ID 'x'"):
        read(tmp_path, "c.csv", f"{line}\n1;2\n3;x\n")


@pytest.mark.parametrize(("text", "line"), [("sep=:\na:b\nb:c\n", 1), ("# of a bank\nsep=;\na;b\nb;c\n", 2)])
def test_where_excel_s_line_says_no_separator_of_ours_it_is_refused(tmp_path, text, line):
    said = rf"a\.csv:{line}:1: 'sep=.' tells Excel that . parts the fields, .* tail -n \+{line + 1} "
    with pytest.raises(InputError, match=said):
        read(tmp_path, "a.csv", text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("from,to\n7,8\n9,007\n", "007"), ("1 2 01\n3 00 4\n", "00"), ("1\t2\t01\n", ""), ("10,20,0.5\n0,1,2\n", ""),
        ("a,007\nb,a\n", ""), ("x;y;id;n\n1;2;01;3\n", ""),
    ],
)  # fmt: skip
def test_zeros_ahead_of_ids_that_are_numbers_are_said(tmp_path, text, said):
    options = {"source_column": 1, "target_column": 2, "weights": False} if "id" in text else {}
    source = opened(write(tmp_path, "a.csv", text), tmp_path, **options)
    (doubt,) = source.doubts or ("",)
    assert ("ID" in doubt) == bool(said) and (not said or f"ID {said} is read as {int(said)}; pass" in doubt)


def test_the_command_for_a_line_of_missing_fields_names_the_columns_of_its_header(tmp_path):
    path = write(tmp_path, "a.csv", "id,payer,payee,amount\n1,ann,bob\n2,ann,carl\n")
    with pytest.raises(InputError) as error:
        opened(path, tmp_path)
    assert "--source-column 2 --target-column 3, if they are ann -> bob, ann -> carl; or" in str(error.value)
