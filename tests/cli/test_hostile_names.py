"""Names of vertices and files that speak to terminals, browsers and spreadsheets are text everywhere."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import zlib

import pytest

import gstream as library
from pagestore.errors import InputError, visible

NAMES = ["\x1b[31mred", "<script>alert(1)</script>", "\u202egnp.exe", "=cmd()", 'a"b', "bell\x07", "\x9b2J"]
FILE = "in\x1b]0;title\x07\u202e<b>.csv"


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    quoted = ['"' + name.replace('"', '""') + '"' for name in NAMES]
    lines = ["source,target", *(f"{quoted[0]},{name}" for name in quoted[1:])]
    (tmp_path / FILE).write_text("\n".join(lines) + "\n")
    return tmp_path


def harmless(text):
    """Whether no character but line feeds is one that a terminal obeys."""
    return all(line.isprintable() for line in text.split("\n"))


def test_on_a_terminal(hostile, gstream):
    for words in (
        ("convert", FILE, "a.gs"),
        ("info", "a.gs"),
        ("run", "pagerank", "a.gs"),
        ("info", FILE),
        ("convert", FILE + ".missing", "b.gs"),
    ):
        done = gstream(*words)
        assert harmless(done.stderr) and harmless(done.stdout), words
        assert "script" in done.stdout or "title" in done.stderr or "x1b" in done.stdout, words


def test_in_notebooks_and_spreadsheets(hostile):
    graph = library.convert(FILE)
    for page in (graph._repr_html_(), graph.pagerank()._repr_html_()):
        assert "<script>" not in page and "<b>" not in page
    graph.pagerank().write(hostile / "d.csv")
    assert "=cmd()" in (hostile / "d.csv").read_text()  # said in the docs, not changed


def test_visible():
    assert visible("plain \u00e9\u4e2d") == "plain \u00e9\u4e2d"
    assert visible("a\x1b[0m\u202e\n") == "a\\x1b[0m\\u202e\\n"
    assert visible("a\nb\x07", "\n") == "a\nb\\x07"
    assert visible("\udcff") == "\\udcff"  # a file's name that is no UTF-8


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_file_that_unpacks_to_much(tmp_path, pack):
    """16 MiB in one line: refused once a line is too long, long before all of it is unpacked."""
    (tmp_path / "bomb").write_bytes(pack(b"1" * (16 << 20)))
    with pytest.raises(InputError, match="no line of data|longer than|is no edge|one field|a source"):
        library.convert(tmp_path / "bomb")


def test_an_xz_file_that_asks_for_much_memory(tmp_path):
    """Making one takes as much, so a small file's header is changed: its dictionary is 4 GiB."""
    raw = lzma.compress(b"1 2\n")
    header = bytearray(raw[12:24])
    header[4] = 40
    header[8:12] = zlib.crc32(bytes(header[:8])).to_bytes(4, "little")
    (tmp_path / "a.xz").write_bytes(raw[:12] + bytes(header) + raw[24:])
    with pytest.raises(InputError, match="is damaged in its xz data .*[Mm]emory usage limit"):
        library.convert(tmp_path / "a.xz")


def test_devices(tmp_path):
    for format in ("npy", "parquet", "arrow"):
        with pytest.raises(InputError, match="/dev/zero: is a device, which may have no end"):
            library.convert("/dev/zero", format=format)
    with pytest.raises(InputError, match="NUL byte|no line of data"):
        library.convert("/dev/zero")
    with pytest.raises(InputError, match="is empty"):
        library.convert(os.devnull)
