"""Which separator cuts the lines: decimals and names with commas, tabs with empty fields, and what is refused."""

from __future__ import annotations

import pytest
from input_files import edges_of, opened, write

from pagestore.errors import InputError


@pytest.mark.parametrize("between", [";", "|", "\t", " "])
def test_a_comma_in_decimals_parts_no_fields(tmp_path, between):
    path = write(tmp_path, "a.csv", "a;b;3,5\nb;c;4,5\n".replace(";", between))
    with pytest.raises(InputError, match=r"weight 3,5 is written with a comma.*Pass --decimal ,"):
        opened(path, tmp_path)
    assert edges_of(opened(path, tmp_path, decimal=",")) == [("a", "b", 3.5), ("b", "c", 4.5)]


@pytest.mark.parametrize("text", ["a,b,1'234.5\n", "a,b,1.5\nb,c,1'234.5\n"])
def test_an_apostrophe_parts_thousands_when_decimals_are_named(tmp_path, text):
    path = write(tmp_path, "a.csv", text)
    with pytest.raises(InputError, match=r"weight 1'234\.5 is written with an apostrophe.*Pass --decimal \. if points"):
        edges_of(opened(path, tmp_path))
    assert edges_of(opened(path, tmp_path, decimal="."))[-1][-1] == 1234.5


@pytest.mark.parametrize("line", ["a;b,c;d", "Smith, John;Doe, Jane", "1;2,3", "a|b,c", "a;b|c"])
def test_two_separators_are_no_guess(tmp_path, line):
    path = write(tmp_path, "a.csv", f"{line}\n" * 3)
    with pytest.raises(InputError, match=r"both . and . cut its lines into as many fields each: .* -> .*, or .* -> "):
        opened(path, tmp_path)


def test_quotes_and_headers_tell_separators_apart(tmp_path):
    read = {
        '"a;b","c;d"\n"c;d","a;b"\n': ("a;b", "c;d"),
        "source;target\nDoe, Jane;Roe, Ann\n": ("Doe, Jane", "Roe, Ann"),
        "John Smith,Jane Doe\nJane Doe,Bob Roe\n": ("John Smith", "Jane Doe"),
        "Doe, Jane\tRoe, Ann\n": ("Doe, Jane", "Roe, Ann"),
    }
    for text, edge in read.items():
        assert edges_of(opened(write(tmp_path, "a.csv", text), tmp_path))[0] == edge


@pytest.mark.parametrize(
    ("line", "late", "reason"),
    [
        ("a\tb\t5", "New York\t\t7", "a vertex name is missing"),
        ("a\tb\t5", "New York\t7", "2 fields in"),
        ("a\tb", "New York", "1 field in"),
        ("1\t2\t5", "1 2\t\t7", "'1 2' is not a number"),
    ],
)
def test_blanks_part_no_fields_that_tabs_do(tmp_path, line, late, reason):
    """Also beyond the lines that are looked at first."""
    path = write(tmp_path, "a.txt", f"{line}\n" * 60 + f"{late}\n")
    with pytest.raises(InputError, match=rf"a\.txt:61:\d+: .*{reason}"):
        edges_of(opened(path, tmp_path))
    assert len(edges_of(opened(path, tmp_path, bad_lines="skip"))) == 60
    mixed = write(tmp_path, "b.txt", "1\t2\n2 3\n3\t 4\n")
    assert edges_of(opened(mixed, tmp_path)) == [(1, 2), (2, 3), (3, 4)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1,2\xa0\n1,3\n", r"2\\xa0 is not written in digits, as IDs are, and would be 2"),
        ("1\u200b 2\n1 3\n", r"1\\u200b is not written in digits"),
        ("1 2\x0c\n1 3\n", r"2\\x0c is not written in digits"),
        ('"1 ",2\n1,3\n', "is not written in digits"),
        ("1,N/A\n1,2\n", "'N/A' is not a number"),
        ("1 000,2 000\n7,3\n", "1 000 is written with a mark between thousands"),
        ("1 2,5\n2 3,7\n", "'1 2' holds two numbers: blanks part them, and ',' other ones"),
    ],
)
def test_the_first_line_makes_no_names_of_numbers(tmp_path, text, reason):
    with pytest.raises(InputError, match=rf"a\.txt:1:\d+: .*{reason}"):
        edges_of(opened(write(tmp_path, "a.txt", text), tmp_path))
    assert len(edges_of(opened(tmp_path / "a.txt", tmp_path, string_ids=True))) == 2


@pytest.mark.parametrize("word", ["0x10", "1.5e3", "1e5", "0b1"])
def test_a_number_in_any_spelling_is_no_header(tmp_path, word):
    path = write(tmp_path, "a.csv", f"{word},{word}\n" + "1,2\n" * 3)
    try:
        assert len(edges_of(opened(path, tmp_path))) == 4
    except InputError as error:
        assert f"a.csv:1:1: vertex ID {word}" in str(error)
