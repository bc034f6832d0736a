# ruff: noqa: E501  messages stand whole, as users see them
"""Headers and lists that contradict themselves, and their exact messages; columns and bytes that nobody reads."""

from __future__ import annotations

import pytest
from input_files import edges_of, opened

from pagestore.errors import InputError, UsageError

BANNER = b"%%MatrixMarket matrix coordinate "
HEADER = "Fix the header, or convert the file."
FIX = "Fix the line."
TYPES = "bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, float, double"


def int64(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8, "little", signed=True) for number in numbers)


CASES = [
    (
        "a.mtx",
        b"%%MatrixMarket vector coordinate real general\n3 3 1\n1 2 5\n",
        f"a.mtx:1:1: 'vector' in the banner is unknown; it is 'matrix'. {HEADER}",
    ),
    (
        "a.mtx",
        b"%%MatrixMarket matrix elemental real general\n3 3 1\n1 2 5\n",
        f"a.mtx:1:1: 'elemental' in the banner is unknown; it is 'coordinate'. {HEADER}",
    ),
    (
        "a.mtx",
        BANNER + b"quaternion general\n3 3 1\n1 2 5\n",
        f"a.mtx:1:1: field 'quaternion' is unknown; it is pattern, integer or real. {HEADER}",
    ),
    (
        "a.mtx",
        BANNER + b"real triangular\n3 3 1\n1 2 5\n",
        f"a.mtx:1:1: symmetry 'triangular' is unknown; it is general, symmetric, skew-symmetric. {HEADER}",
    ),
    (
        "a.mtx",
        BANNER + b"real general\n%%GraphBLAS type string\n3 3 1\n1 2 5\n",
        f"a.mtx:2:1: GraphBLAS type 'string' is no type of weights; it is one of {TYPES}. {HEADER}",
    ),
    (
        "a.mtx",
        BANNER + b"integer skew-symmetric\n%%GraphBLAS type uint8_t\n3 3 1\n2 1 5\n",
        f"a.mtx:2:1: uint8_t has no negative values, which a skew-symmetric matrix needs. {HEADER}",
    ),
    (
        "a.mtx",
        BANNER + b"integer general\n%%GraphBLAS type int8_t\n3 3 2\n1 2 127\n2 3 128\n",
        "a.mtx:5:5: weight 128 does not fit int8_t; the header allows -128 to 127. Fix the line, or pass --bad-lines skip.",
    ),
    ("a.graph", b"2 1 010\nx 2\n1 1\n", f"a.graph:2:1: vertex weight 'x' is no integer from 0. {FIX}"),
    ("a.graph", b"2 1 010\n-1 2\n1 1\n", f"a.graph:2:1: vertex weight '-1' is no integer from 0. {FIX}"),
    (
        "a.graph",
        b"2 1 011\n7 2 5\n1 1 y\n",
        f"a.graph:3:5: weight 'y' is not a number; weights are finite numbers. {FIX}",
    ),
    (
        "a.graph",
        b"2 1 010\n" + b"9" * 30 + b" 2\n1 1\n",
        f"a.graph:2:1: '{'9' * 30} 2' holds a number of more digits than can be read exactly. {FIX}",
    ),
    ("a.adj", b"1 2\n" * 2000 + b"3 \0004\n", f"a.adj:2001:3: a NUL byte; text holds none. {FIX}"),
    (
        "a.sg",
        b"\0" + int64(1, 2, 1, 1, 1) + b"\1\0\0\0",
        "a.sg: the first row begins at edge 1, not at 0. The file is damaged: write it again.",
    ),
    (
        "a.sg",
        b"\0" + int64(1, 2, 0, 0, 0) + b"\1\0\0\0",
        "a.sg: the rows end at edge 0, the file holds 1. The file is damaged: write it again.",
    ),
]


@pytest.mark.parametrize(("name", "content", "message"), CASES)
def test_message(tmp_path, monkeypatch, name, content, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as error:
        edges_of(opened(name, tmp_path))
    assert str(error.value) == message


COLUMNS = {"source_column": 1, "target_column": 2, "weight_column": 3}


def test_columns_that_nobody_reads_may_hold_any_bytes(tmp_path):
    """Whether or not something else has the block judged line by line."""
    for weight, read in (("3", 3.0), ("1e-400", 5e-324)):
        (tmp_path / "a.txt").write_bytes(b"1 2 3 caf\xe9\n4 5 " + weight.encode() + b" x\n6 7 1e999 x\n")
        edges = edges_of(opened(tmp_path / "a.txt", tmp_path, **COLUMNS, bad_lines="skip"))
        assert edges == [(1, 2, 3.0), (4, 5, read)]
    (tmp_path / "a.txt").write_bytes(b"1 2\n3 4\xe9\n")
    with pytest.raises(InputError, match=r"a\.txt:2:4: byte 0xe9 is not UTF-8; text is UTF-8"):
        edges_of(opened(tmp_path / "a.txt", tmp_path))


def test_names_of_columns_in_messages_are_on_one_line(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,b\x1b[2J\n1,2\n")
    with pytest.raises(UsageError, match=r"no such column \(a, b\\x1b\[2J\)"):
        opened(tmp_path / "a.csv", tmp_path, weight_column="w")


def test_names_end_before_carriage_returns(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"a b\r\r\nc d\r\ne f\r\r\r\ng\r h\n")
    source = opened(tmp_path / "a.txt", tmp_path, string_ids=True)
    assert [source.names[n] for n in range(source.vertices)] == ["a", "b", "c", "d", "e", "f", "g\r", "h"]


@pytest.mark.parametrize("names", [False, True])
def test_carriage_returns_at_a_lines_end_are_no_field(names, tmp_path):
    """Nobody reads the third: `judge` says all the same that it is missing."""
    (tmp_path / "a.txt").write_bytes(b"1 2 x\r\r\n1 3 \r\n1 4 \r\r\n1 5 \r\r\r\n1 6 \rx\r\r\n1 7 y")
    source = opened(tmp_path / "a.txt", tmp_path, string_ids=names, weights=False, bad_lines="skip")
    found = sorted(target for _, target, *_ in edges_of(source))
    assert found == (["2", "6", "7"] if names else [2, 6, 7])
    assert source.skipped.count == 3


def test_a_decimal_comma_in_a_column_that_is_named(tmp_path, monkeypatch):
    """By an option, by number or name, and by the header: said of the column, before anything is read."""
    monkeypatch.chdir(tmp_path)
    for text, options, where in (
        ('source,target,cost,km\n1,2,5,"0,5"\n', {"weight_column": "km"}, "2:7"),
        ('source,target,cost,km\n1,2,5,"0,5"\n', {"weight_column": 4}, "2:7"),
        ("source;target;cost;weight\n1;2;5;0,5\n", {}, "2:7"),
        ("1;2;x;0,5\n", {"source_column": 1, "target_column": 2, "weight_column": 4}, "1:7"),
    ):
        (tmp_path / "a.csv").write_text(text)
        with pytest.raises(InputError) as error:
            opened("a.csv", tmp_path, **options)
        said = "weight 0,5 is written with a comma; decimals take a point. Pass --decimal , if commas begin decimals"
        assert str(error.value) == f"a.csv:{where}: {said}, --decimal . if they part thousands; or pass --no-weights."
