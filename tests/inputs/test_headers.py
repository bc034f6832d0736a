"""Which columns hold the ends of edges, by headers: known names, pairs of names, and what is refused as a guess."""

from __future__ import annotations

import re

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from input_files import edges_of, opened, read, write

from pagestore.errors import InputError
from pagestore.inputs.columnnames import likely_ends, named_ends

ENDS = {  # header: places of source and target, None where it names none, or several
    "from_account,to_account": (0, 1),
    "To Account,From Account": (1, 0),
    "step,type,amount,nameOrig,oldbalanceOrg,newbalanceOrig,nameDest,oldbalanceDest": (3, 6),
    "Sender,Receiver,Amount": (0, 1),
    "PAYEE,PAYER": (1, 0),
    "payer_iban,payee_iban,amount": (0, 1),
    "sender_id,recipient_id": (0, 1),
    "ts,srcip,sport,dstip,dsport": (1, 3),
    "srcIp,srcPort,dstIp,dstPort": (0, 2),
    "Src-Addr;Dst-Addr;Bytes".replace(";", ","): (0, 1),
    "id,source_node_name,target_node_name": (1, 2),
    "src_host,dest_host": (0, 1),
    "fromNodeId:int,toNodeId:int": (0, 1),
    "FromNodeId,ToNodeId": (0, 1),
    "source_country,destination_country,value": (0, 1),
    "from_id,from_name,to_id,to_name": (0, 2),
    "from_account,to_account,from_bank,to_bank": None,
    "From Bank,Account,To Bank,Account": None,  # as in IBM's transactions: accounts are the ends, not banks
    "nameOrig,oldbalanceOrg,newbalanceOrig,nameDest,oldbalanceDest,newbalanceDest": (0, 3),  # as in PaySim
    "emp_no,dept_no,from_date,to_date": None,
    "source_type,target_type": None,
    "src_lat,src_lon,dst_lat,dst_lon": None,
    "from_account,to_bank": None,
    "person,friend": None,
    "from_account": None,
    "from,to,source": (0, 1),
    "source,payer,payee": (1, 2),
    "source,source,target": None,
    "origin,destination,source": None,
    "origin,target,source": (2, 1),
    "src,dst,source,target": None,
}


@pytest.mark.parametrize("header", ENDS)
def test_names_of_ends(header):
    assert named_ends(header.split(",")) == ENDS[header]
    assert named_ends(header.upper().split(",")) in (ENDS[header], None)  # without humps some are no words


@pytest.mark.parametrize("marks", ["''", "``", "[]"])
def test_quotes_of_databases_are_no_part_of_a_name(tmp_path, marks):
    header = ",".join(f"{marks[0]}{word}{marks[1]}" for word in ("amount", "From Account", "to_account"))
    assert named_ends(header.split(",")) == (1, 2)
    source = opened(write(tmp_path, "a.csv", f"{header}\n7,ann,bob\n"), tmp_path)
    assert edges_of(source) == [("ann", "bob", 7)] and "line 1 is a header" in source.assumptions[0]


def test_one_name_says_where_the_other_end_is():
    assert likely_ends(["target", "person"]) == (1, 0)
    assert likely_ends(["person", "target", "weight"]) == (0, 1)
    assert likely_ends(["source", "friend", "since"]) is None
    assert likely_ends(["person", "friend"]) is None


ACCOUNTS = [("alice", "bob")]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "text",
    [
        "from_account,to_account\nalice,bob\n",
        '"From Account";"To Account"\n"alice";"bob"\n',
        "SRC_ACCT\tDST_ACCT\nalice\tbob\n",
        "id,Payee,Payer\n7,bob,alice\n",
        "from_account to_account\nalice bob\n",
        "sender|receiver\nalice|bob\n",
    ],
)
def test_a_header_is_no_edge(tmp_path, text, end, mark):
    source = opened(write(tmp_path, "a.txt", mark + text.replace("\n", end).encode()), tmp_path)
    assert edges_of(source) == ACCOUNTS and "line 1 is a header" in source.assumptions[0]


@pytest.mark.parametrize("between", [",", ";", "\t"])
@pytest.mark.parametrize("words", [("kunde", "haendler"), ("person1", "person2"), ("u", "v"), ("a", "b", "since")])
def test_a_header_of_unknown_words_is_refused(tmp_path, words, between):
    names = [("alice", "bob", "May"), ("carl", "dave", "June")]
    text = "".join(between.join(row[: len(words)]) + "\n" for row in (words, *names))
    path = write(tmp_path, "a.csv", text)
    with pytest.raises(
        InputError, match=r"a\.csv:1:1: .* may name columns.*Pass --header .*, --no-header if it is an e"
    ):
        opened(path, tmp_path)
    with pytest.raises(InputError) as error:  # numbers do not tell either
        opened(path, tmp_path, source_column=2, target_column=1)
    assert str(error.value).endswith(f"gstream convert {path} STORE --header --source-column 2 --target-column 1.")
    by_words = {"source_column": words[1], "target_column": words[0]}
    by_numbers = {"source_column": 2, "target_column": 1, "header": True}
    assert edges_of(opened(path, tmp_path, **by_words)) == edges_of(opened(path, tmp_path, **by_numbers))
    assert len(edges_of(opened(path, tmp_path, header=True))) == 2
    assert len(edges_of(opened(path, tmp_path, header=False))) == 3
    if between == "\t" and len(words) == 2:
        source = opened(write(tmp_path, "a.txt", text.replace("\t", " ")), tmp_path)
        assert len(edges_of(source)) == 3 and "no header line: line 1 is an edge" in source.assumptions[0]


def test_a_tab_is_escaped_once(tmp_path):
    with pytest.raises(InputError) as error:
        opened(write(tmp_path, "a.tsv", "kunde\thaendler\nann\tbob\ncarl\tdave\n"), tmp_path)
    assert r"1:1: 'kunde\thaendler' may name columns" in str(error.value)


EDGES = {  # whose first line is an edge, as it can be told
    "a vertex again": "alice,bob\ncarl,dave\ndave,alice\n",
    "a vertex again, late": "alice,bob\n" + "carl,dave\n" * 300 + "bob,carl\n",
    "a relation again": "alice,bob,knows\ncarl,dave,knows\n",
    "numbered names": "user1,user2\nuser7,user9\n",
    "codes": "Q42,Q1337\nP5,P8\n",
    "addresses": "ann@x.org,bob@x.org\ncarl@x.org,dave@x.org\n",
    "hexadecimal": "0x52bc44d5,0x2ab7b3a9\n0x1dc1ff00,0x0910a7cc\n",
    "one line": "alice,bob\n",
    "tags": "#a,b\nc,d\n",
}


@pytest.mark.parametrize("case", EDGES)
def test_an_edge_that_can_be_told(tmp_path, case):
    text = EDGES[case]
    assert len(read(tmp_path, "a.csv", text, comments="none")) == text.count("\n")


WIDE = {  # name, text: more than three columns of which nobody says what they are
    "numbers": ("a.txt", "1 2 0.5 99\n3 4 0.5 98\n5 6 7 8\n7 8 9 10\n"),
    "names": ("a.csv", "ann,bob,x,y\nbob,carl,x,z\ncarl,dave,x,y\n"),
    "a header": ("a.csv", "step,kind,a,b\n1,2,3,4\n2,3,4,5\n"),
    "two pairs": ("a.tsv", "from_x\tto_x\tfrom_y\tto_y\n1\t2\t3\t4\n"),
    "dates": ("a.csv", "emp_no,dept_no,from_date,to_date\n1,2,3,4\n"),
    "one end": ("a.csv", "id,source,friend\n1,2,3\n"),
    "numbers of rows": ("a.csv", ",a,b\n5,10,20\n9,20,30\n"),
    "a third end": ("a.csv", "id,user,friend\n1,10,20\n2,20,30\n"),
    "letters": ("a.csv", "id,x,y\n4,10,20\n9,20,30\n"),
    "several ends": ("a.csv", "source,target,source\n1,2,3\n2,3,4\n"),
    "two families": ("a.csv", "origin,destination,source\nNYC,BOS,BTS\nLAX,NYC,BTS\n"),
}


@pytest.mark.parametrize("case", WIDE)
def test_columns_that_nobody_names_are_refused(tmp_path, case):
    name, text = WIDE[case]
    path = write(tmp_path, name, text)
    with pytest.raises(InputError) as error:
        opened(path, tmp_path)
    rows = [re.split(r"[,\s]", line) for line in text.splitlines()]
    said = str(error.value)
    assert said.startswith(
        f"{path}: has {len(rows[0])} columns ({', '.join(f'{n}: {w}' for n, w in enumerate(rows[0], 1))}), "
    )
    shown = rows[1:4] if case not in ("numbers", "names") else rows[:3]
    assert f"the first rows would be {', '.join(f'{row[0]} -> {row[1]}' for row in shown)}. Name both" in said
    more = " --header" if case == "names" else ""
    assert f"gstream convert {path} STORE{more} --source-column N --target-column N, with --weight-column N" in said
    chosen = {"source_column": 1, "target_column": 2, "header": False if case == "names" else None, "weights": False}
    assert len(edges_of(opened(path, tmp_path, **chosen))) == len(rows) - (case not in ("numbers", "names"))


def test_columns_of_tables_that_nobody_names_are_refused(tmp_path):
    table = pyarrow.table({"day": [1, 2], "who": ["a", "b"], "whom": ["b", "c"], "much": [1.5, 2.5]})
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(table, path)
    with pytest.raises(
        InputError, match=r"has 4 columns \(1: day, 2: who, .* first rows would be 1 -> a, 2 -> b\. Name"
    ):
        opened(path, tmp_path)
    source = opened(path, tmp_path, source_column="who", target_column="whom", weight_column="much")
    assert sorted(edges_of(source)) == [("a", "b", 1.5), ("b", "c", 2.5)]
    assert source.assumptions[0].endswith(
        "columns who and whom are source and target by name, column much is the weight"
    )
    pyarrow.parquet.write_table(table.rename_columns(["Day", "FromAccount", "ToAccount", "weight"]), path)
    assert sorted(edges_of(opened(path, tmp_path))) == [("a", "b", 1.5), ("b", "c", 2.5)]
    pyarrow.parquet.write_table(table.slice(0, 0), path)
    with pytest.raises(InputError, match="has 4 columns"):
        opened(path, tmp_path)


def test_konect_says_what_its_columns_are(tmp_path):
    assert read(tmp_path, "out.a", "% sym weighted\n1 2 5 99\n2 3 6 98\n") == [(1, 2, 5.0), (2, 3, 6.0)]


def test_columns_of_arrays_are_said(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1, 2, 3]]))
    source = opened(tmp_path / "a.npy", tmp_path)
    assert source.assumptions[0].endswith("columns 1 and 2 are source and target, column 3 is the weight")
    np.save(tmp_path / "b.npy", np.array([(1, 5, 2)], [("payer_id", "i8"), ("n", "i8"), ("payee_id", "i8")]))
    source = opened(tmp_path / "b.npy", tmp_path)
    assert source.assumptions[0].endswith("columns payer_id and payee_id are source and target, no weights")
    assert edges_of(source) == [(1, 2)]


def test_columns_of_one_name_are_told_apart_by_number(tmp_path):
    path = write(tmp_path, "a.csv", "source,source,target,weight,weight\n1,2,3,4,5\n")
    ends = {"source_column": 2, "target_column": 3}
    for options in ({"source_column": "source", "target_column": "target"}, ends, {**ends, "weight_column": "weight"}):
        with pytest.raises(InputError, match="columns . and . are called (source|weight). Pass --.*-column with a num"):
            opened(path, tmp_path, **options)
    assert edges_of(opened(path, tmp_path, **ends, weight_column=5)) == [(2, 3, 5.0)]


def test_times_and_ends_are_no_weights(tmp_path):
    for name in ("year", "created_at", "ID", "source"):
        source = opened(write(tmp_path, "a.csv", f"from,to,{name}\n1,2,9\n2,3,9\n"), tmp_path)
        assert edges_of(source) == [(1, 2), (2, 3)]
        assert f"no weights (column 3 ({name}) is none unless --weight-column says so)" in source.assumptions[0]
        source = opened(tmp_path / "a.csv", tmp_path, weight_column=3)
        assert edges_of(source) == [(1, 2, 9.0), (2, 3, 9.0)]


@pytest.mark.parametrize("rows", ["a,b", "1,2"])
@pytest.mark.parametrize("before", [1, 60])
def test_a_header_within_the_text_is_no_edge(tmp_path, rows, before):
    """As `cat *.csv` leaves it, also with byte order marks."""
    for again in ("source,target", "\ufeffsource,target", "\ufeff" + rows):
        text = "source,target\n" + f"{rows}\n" * before + f"{again}\n{rows}\n"
        path = write(tmp_path, "a.csv", text)
        with pytest.raises(InputError, match=rf"a\.csv:{before + 2}:1: .*: files were joined\. Name the files one"):
            edges_of(opened(path, tmp_path))
        assert len(edges_of(opened(path, tmp_path, bad_lines="skip"))) == before + 1


def test_a_folder_may_be_the_end_that_no_column_is_called(tmp_path):
    for number in (7, 8):
        folder = tmp_path / f"t/source={number}"
        folder.mkdir(parents=True)
        pyarrow.parquet.write_table(pyarrow.table({"dst": [1], "x": [3]}), folder / "a.parquet")
    with pytest.raises(InputError, match=r"has 3 columns \(1: dst, 2: x, 3: source\), and no known name says"):
        opened(tmp_path / "t", tmp_path)
    chosen = {"source_column": "source", "target_column": "dst"}
    assert edges_of(opened(tmp_path / "t", tmp_path, **chosen)) == [(7, 1), (8, 1)]


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "binary", "dictionary"])
def test_an_empty_name_of_a_table_is_no_vertex(tmp_path, kind):
    """As in text: what is not known would be one vertex, a hub."""
    names = pyarrow.array(["", "b", "c"])
    column = names.dictionary_encode() if kind == "dictionary" else names.cast(getattr(pyarrow, kind)())
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"source": ["x", "y", None], "target": column}), path)
    with pytest.raises(InputError, match=r"row 1 \(from 1\): target is empty; an edge has a value there"):
        edges_of(opened(path, tmp_path))
    source = opened(path, tmp_path, bad_lines="skip")
    assert edges_of(source) == [("y", "b")] and source.skipped.count == 2


def test_bytes_that_are_no_text_are_named_with_their_column(tmp_path):
    table = pyarrow.table({"source": [b"a", b"\xff"], "target": ["x", "y"]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"column source holds bytes that are no UTF-8, as names are"):
        edges_of(opened(tmp_path / "a.parquet", tmp_path))


@pytest.mark.parametrize("row", ["1,10,20,", "1,ann,bob,", "1,10,20,,", "1,10,20"])
@pytest.mark.parametrize("header", ["id,source,target", "id,source,target,", "id,target,source,,,"])
def test_separators_at_the_ends_of_lines_move_no_columns(tmp_path, header, row):
    source = opened(write(tmp_path, "a.csv", f"{header}\n{row}\n{row}\n"), tmp_path)
    _, *ends = row.rstrip(",").split(",")
    edge = tuple(int(end) if end.isdigit() else end for end in ends)
    assert edges_of(source) == [edge[::-1] if "target,source" in header else edge] * 2


def test_a_header_of_another_width_that_names_other_ends_is_refused(tmp_path):
    for text in ("id,source,target,note\n1,10,20\n", "payee,payer\n1,a,3\n", "id,source,target\n1,10,20,x\n"):
        path = write(tmp_path, "a.csv", text + text.split("\n")[1] + "\n")
        with pytest.raises(
            InputError, match=r"line 1 names . columns \(.*\), and most lines have .\. Name both by number"
        ):
            opened(path, tmp_path)
        assert len(edges_of(opened(path, tmp_path, header=True, source_column=1, target_column=2, weights=False))) == 2
    assert edges_of(opened(write(tmp_path, "a.csv", "payer,payee,amount,note\nx,y,6\n"), tmp_path)) == [("x", "y", 6.0)]
