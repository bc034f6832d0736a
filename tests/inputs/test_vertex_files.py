"""Files of vertices (--nodes) and of vertices with numbers (--personalization): what is wrong in them, on one line."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from gstream.algorithms.support.vertex_files import find_numbers, find_vertices
from pagestore import open_store
from pagestore.convert import convert
from pagestore.errors import InputError, UsageError
from pagestore.inputs import InputOptions, open_source
from pagestore.memory import convert_arrays


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Vertices 0 to 9."""
    path = tmp_path_factory.mktemp("stores") / "g.gs"
    convert_arrays(path, np.arange(9), np.arange(1, 10), vertices=10)
    with open_store(path) as made:
        yield made


def test_vertices(store, tmp_path):
    (tmp_path / "v.txt").write_bytes(b'\xef\xbb\xbf# some\r\n3\r\n"7"\n\n+1\n')
    assert find_vertices(store, tmp_path / "v.txt", "vertex").tolist() == [3, 7, 1]


NAMES = ["Bob", "New York", "M\u00fcller, Hans", 'say "hi"', '"odd', "a\tb"]


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """A ring of NAMES."""
    folder = tmp_path_factory.mktemp("named")
    quoted = ['"' + name.replace('"', '""') + '"' for name in NAMES]
    (folder / "g.csv").write_text("".join(f"{a},{b}\n" for a, b in zip(quoted, quoted[1:] + quoted[:1], strict=True)))
    convert(open_source(folder / "g.csv", InputOptions(header=False), folder, 1 << 26), folder / "g.gs")
    with open_store(folder / "g.gs") as made:
        yield made


@pytest.mark.parametrize(
    "text",
    [
        'Bob 1\nNew York 2\n"Müller, Hans" 3\n"say ""hi""" 4\n"odd 5\n"a\tb" 6\n',
        'Bob,1\nNew York,2\n"Müller, Hans",3\n"say ""hi""" , 4\n"odd, 5\n"a\tb",6\n',
        'Bob\t1\nNew York\t2\nMüller, Hans\t3\nsay "hi"\t4\n"odd\t5\na\tb\t6\n',
        '"Bob"\t1\n"New York"\t 2\n"Müller, Hans"\t3\n"say ""hi"""\t4\n"""odd"\t5\n"a\tb"\t6\n',
    ],
)
def test_names_with_separators_and_numbers(named, tmp_path, text):
    (tmp_path / "v.txt").write_text(text)
    vertices, numbers = find_numbers(named, tmp_path / "v.txt", "--personalization", "weight")
    assert [str(name) for name in named.user_ids()] == sorted(NAMES, key=str.encode)
    found = dict(zip(vertices.tolist(), numbers.tolist(), strict=True))
    assert {name: found[number] for number, name in enumerate(sorted(NAMES, key=str.encode))} == {
        name: float(number) for number, name in enumerate(NAMES, 1)
    }


BLANKS = [" n", "n", "#n", "two\nlines", "x "]


def test_names_are_read_as_in_edge_lists(tmp_path):
    """Blanks and line feeds in quotes are the name's; those around are nobody's; comments stand behind it."""
    (tmp_path / "g.csv").write_text("".join(f'"{a}","{b}"\n' for a, b in zip(BLANKS, BLANKS[1:], strict=False)))
    convert(open_source(tmp_path / "g.csv", InputOptions(header=False), tmp_path, 1 << 26), tmp_path / "g.gs")
    order = sorted(BLANKS, key=str.encode)
    with open_store(tmp_path / "g.gs") as named:
        assert [str(name) for name in named.user_ids()] == order
        (tmp_path / "v.txt").write_text('\ufeff" n" # first\n\t n \n"#n"\n# no vertex\n"two\nlines"\r\n"x " // x\n')
        found = find_vertices(named, tmp_path / "v.txt", "vertex")
        assert found.tolist() == [order.index(name) for name in (" n", "n", "#n", "two\nlines", "x ")]
        for separator in (",", "\t", " ", " , "):
            pairs = "".join(f'"{name}"{separator}{n} # {n}\n' for n, name in enumerate(BLANKS, 1))
            (tmp_path / "p.txt").write_text(pairs)
            vertices, numbers = find_numbers(named, tmp_path / "p.txt", "--initial", "value")
            assert dict(zip(vertices.tolist(), numbers.tolist(), strict=True)) == {
                order.index(name): n for n, name in enumerate(BLANKS, 1)
            }


def test_numbers_are_read_as_in_edge_lists(store, tmp_path):
    (tmp_path / "v.txt").write_text("+5\n007 # seven\n-0\n")
    assert find_vertices(store, tmp_path / "v.txt", "vertex").tolist() == [5, 7, 0]
    assert store.lookup(["+5", "007", "-0"]).tolist() == [5, 7, 0]
    for word in ("1_0", "\u0663", "5.0", "1e0", "0x1", " 5"):
        with pytest.raises(UsageError, match="whose IDs are whole numbers"):
            store.lookup([word])
        (tmp_path / "v.txt").write_text(f'"{word}"\n')
        with pytest.raises(InputError, match=r"v\.txt:1: vertex .* is not a vertex of .*, whose IDs are whole numbers"):
            find_vertices(store, tmp_path / "v.txt", "vertex")
    for text in ("7 1\n007 2\n", "7,1\n+7,2\n"):
        (tmp_path / "v.txt").write_text(text)
        with pytest.raises(InputError, match=r"v\.txt:2: .*7 stands there for the second time"):
            find_numbers(store, tmp_path / "v.txt", "--initial", "value")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "utf-32-be"])
def test_wide_text_is_named(store, tmp_path, encoding):
    (tmp_path / "v.txt").write_bytes("3\n5\n".encode(encoding))
    name = encoding.upper().replace("-LE", "LE").replace("-BE", "BE")
    with pytest.raises(InputError, match=rf"v\.txt: is {name} text; .*iconv -f {name} -t UTF-8 "):
        find_vertices(store, tmp_path / "v.txt", "vertex")


def test_names_in_quotes(named, tmp_path):
    (tmp_path / "v.txt").write_text('"Müller, Hans"\n"say ""hi"""\nsay "hi"\n"odd\n')
    order = sorted(NAMES, key=str.encode)
    expected = [order.index(name) for name in ("Müller, Hans", 'say "hi"', 'say "hi"', '"odd')]
    assert find_vertices(named, tmp_path / "v.txt", "vertex").tolist() == expected


@pytest.mark.parametrize("text", [b"3\n5\0\n", b"3\n" + b"9" * 5000, b"3\n5.0\n", b"3\nx\x1b[2J\n"])
def test_what_is_no_number(store, tmp_path, text):
    (tmp_path / "v.txt").write_bytes(text)
    with pytest.raises(
        InputError, match=r"v\.txt:2: vertex .* is not a vertex of .*, whose IDs are whole numbers"
    ) as e:
        find_vertices(store, tmp_path / "v.txt", "vertex")
    assert str(e.value).isprintable()


def test_one_long_line_takes_no_memory_for_all(store, tmp_path):
    (tmp_path / "v.txt").write_bytes(b"3\n" * 20_000 + b"9" * 20_000)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="v.txt:20001: "):
            find_vertices(store, tmp_path / "v.txt", "vertex")
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("text", ["1_000", "nan", "-inf", "1e999", "-1e-330", "0x10"])
def test_numbers_are_those_of_edge_lists(store, tmp_path, text):
    """Also in Python's mappings; what is too small for doubles is no 0."""
    (tmp_path / "v.txt").write_bytes(b"1 %s\n" % text.encode())
    for given in (tmp_path / "v.txt", {"1": text}):
        with pytest.raises(InputError, match=f"is '{text}'; it must be a finite number of at least 0"):
            find_numbers(store, given, "--initial", "value", 0)
    for huge in (10**400, float("inf")):
        assert find_numbers(store, {"1": "1e-330"}, "--initial", "value", 0)[1][0] == 5e-324
        with pytest.raises(InputError, match="must be a finite number"):
            find_numbers(store, {"1": huge}, "--initial", "value", 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"\x01\n", r"v.txt:1: `\x01` has one field; a line is `vertex value`. Fix the line."),
        (b"\x01,2\n\x01,3\n", r"v.txt:2: \x01 stands there for the second time. Keep one line a vertex."),
        (b"\x01 x\n", r"v.txt:1: the value of \x01 is 'x'; it must be a finite number of at least 0. Correct it."),
    ],
)
def test_control_characters_are_not_repeated(store, tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v.txt").write_bytes(text)
    with pytest.raises(InputError) as error:
        find_numbers(store, "v.txt", "--initial", "value", 0.0)
    assert str(error.value) == message
