"""Files of vertices (--nodes) and of vertices with numbers (--personalization): what is wrong in them, on one line."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from gstream.vertexfiles import find_numbers, find_vertices
from pagestore import open_store
from pagestore.errors import InputError
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
