"""--bad-lines skip, and lines that fall on the borders of blocks."""

from __future__ import annotations

import os
import random
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from input_files import edges_of, opened, write

from pagestore.errors import InputError
from pagestore.inputs.badlines import BadLines
from pagestore.inputs.base import InputOptions, SkippedLines
from pagestore.inputs.blocks import PAD, line_blocks
from pagestore.inputs.judge import LineRules
from pagestore.inputs.linesource import parse_block, parsed_blocks
from pagestore.inputs.streams import ByteStream
from pagestore.inputs.text import TextSource

BAD = b"1 2\n-1 3\nx y\n4 5\n6\n7 8 9\n\xff 1\n\0 2\n8 9\n"


def test_skip(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "web.txt", b"\n" * 70_000 + BAD)  # behind the first 4 KiB, where a NUL means a binary file
    listed = tmp_path / "skipped.txt"
    source = opened("web.txt", tmp_path, bad_lines="skip", skipped_path=listed)
    for _ in range(2):  # counted anew in every pass
        assert edges_of(source) == [(1, 2), (4, 5), (8, 9)]
        assert source.skipped.count == 6 and source.skipped.path == listed
        assert source.skipped.first[0] == ("web.txt:70002:1: vertex ID -1 is negative; IDs run from 0 to 2^63-1")
        assert listed.read_text().splitlines() == [
            "web.txt:70002:1\tvertex ID -1 is negative; IDs run from 0 to 2^63-1\t-1 3",
            "web.txt:70003:1\tvertex ID 'x' is not a number; IDs run from 0 to 2^63-1\tx y",
            "web.txt:70005:2\t1 field in '6'; 2 are due: source and target\t6",
            "web.txt:70006:5\t3 fields in '7 8 9'; 2 are due: source and target\t7 8 9",
            "web.txt:70007:1\tbyte 0xff is not UTF-8; text is UTF-8\t\\xff 1",
            "web.txt:70008:1\ta NUL byte; text holds none. Is this a binary file or UTF-16\t\\x00 2",
        ]  # fmt: skip


def test_skip_in_several_files_and_with_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "a.txt", "1 2\n3\n")
    write(tmp_path, "b.txt", "4 5\n6 7 8\n")
    source = opened(["a.txt", "b.txt"], tmp_path, bad_lines="skip", skipped_path=Path("listed.txt"))
    assert edges_of(source) == edges_of(source) == [(1, 2), (4, 5)]
    assert source.skipped.count == 2 and source.skipped.path.read_text().count("\n") == 2
    write(tmp_path, "c.txt", "a b\nc\n")
    source = opened(["a.txt", "c.txt"], tmp_path, bad_lines="skip")
    assert sorted(edges_of(source)) == [("1", "2"), ("a", "b")] and source.skipped.count == 2


def test_skipped_entries_count_as_promised(tmp_path):
    text = "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n4 1\n"
    source = opened(write(tmp_path, "a.mtx", text), tmp_path, bad_lines="skip")
    assert edges_of(source) == [(1, 2)] and source.skipped.count == 1


def test_nothing_but_bad_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "a.txt", "-1 2\n-3 4\n")
    with pytest.raises(InputError) as error:
        edges_of(opened("a.txt", tmp_path, bad_lines="skip"))
    assert str(error.value) == (
        "a.txt: not one of its lines is an edge; the first one: a.txt:1:1: vertex ID -1 is negative; IDs run from 0 to "
        "2^63-1. Name the right format with --format."
    )


def collect(path, size, bad_lines="fail", threads=3):
    """Edges of a file of `weight`-less lines read in blocks of `size` bytes."""
    skipped = SkippedLines()
    stream = ByteStream(path)
    bad = BadLines(bad_lines, path.with_suffix(".skipped"), skipped)
    found = []
    rules = LineRules(fields=2)
    parse = partial(parse_block, rules=rules, first_problem_only=not bad.skips)
    for _, parsed in parsed_blocks(stream, parse, rules, 1, bad, threads, size):
        found += zip(parsed.chunk.source.tolist(), parsed.chunk.target.tolist(), strict=True)
    stream.close()
    bad.close()
    return found, skipped


@pytest.mark.parametrize("size", [32, 37, 64, 1000])
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_any_block_size(tmp_path, size, end):
    edges = [(n * n, n) for n in range(500)]
    text = (end or "\n").join(f"{a} {b}" for a, b in edges) + end
    path = write(tmp_path, "a.txt", text)
    assert collect(path, size)[0] == edges


def test_line_numbers_across_blocks(tmp_path):
    lines = [f"{n} {n + 1}" for n in range(1000)]
    bad = random.Random(7).sample(range(1000), 30)
    for n in bad:
        lines[n] = f"{n} x"
    path = write(tmp_path, "a.txt", "\n".join(lines))
    found, skipped = collect(path, 64, "skip")
    assert skipped.count == 30 and len(found) == 970
    numbers = [int(line.split(":")[1]) for line in skipped.path.read_text().splitlines()]
    assert numbers == sorted(n + 1 for n in bad)
    with pytest.raises(InputError, match=f"a.txt:{min(bad) + 1}:"):
        collect(path, 64)


def test_blocks_hold_whole_lines(tmp_path):
    text = b"".join(b"%d %d\n" % (n, n) for n in range(3000)) + b"last line"
    for size in (32, 100, 4096):
        blocks = list(line_blocks(ByteStream(write(tmp_path, "a.txt", text)), size))
        assert b"".join(block.text() for block in blocks) == text + b"\n"
        assert all(block.text().endswith(b"\n") for block in blocks)
        assert not any(block.data[block.size : block.size + PAD].any() for block in blocks)
        assert [block.offset for block in blocks] == np.cumsum([0] + [b.size for b in blocks])[:-1].tolist()


def test_blocks_of_comments_give_no_names(tmp_path):
    path = write(tmp_path, "a.txt", "a b\n" + "# no edge\n" * 50 + "b c\n")
    source = TextSource(path, InputOptions(header=False), tmp_path, 1 << 20)
    source.block_bytes = 64
    chunks = list(source.names_of_edges())
    assert [(chunk.source.to_pylist(), chunk.target.to_pylist()) for chunk in chunks] == [
        (["a"], ["b"]),
        (["b"], ["c"]),
    ]


def test_many_odd_lines(tmp_path):
    text = "".join(f'"{n}","{n + 1}",+{n}.5\n' for n in range(20_000))
    source = opened(write(tmp_path, "a.csv", text), tmp_path)
    assert edges_of(source) == [(n, n + 1, n + 0.5) for n in range(20_000)]


def test_a_file_that_is_being_read_is_closed_by_its_reader(tmp_path, monkeypatch):
    """A number that comes free while a thread reads would be the next file's, whose bytes that thread would take."""
    stream = ByteStream(write(tmp_path, "a.txt", "1 2\n" * 1_000_000))
    begun, go_on, usual = threading.Event(), threading.Event(), os.read

    def read(number, size):
        begun.set()
        assert go_on.wait(60)
        return usual(number, size)

    stream.read(1 << 30)  # what was read to look at the format
    monkeypatch.setattr(os, "read", read)
    reader = threading.Thread(target=stream.read, args=(100,))
    reader.start()
    assert begun.wait(60)
    stream.close()
    monkeypatch.undo()
    with open(write(tmp_path, "b.txt", "3 4\n")) as other:
        assert other.fileno() != stream._file
        go_on.set()
        reader.join(60)
        assert other.read() == "3 4\n"
    with pytest.raises(OSError):
        os.fstat(stream._file)
    assert stream.read(100) == b"" and stream.close() is None


def test_a_reader_that_is_left_early_stops_its_thread(tmp_path):
    path = write(tmp_path, "a.txt", "1 2\n" * 3_000_000)
    source = TextSource(path, InputOptions(), tmp_path, 1 << 24)
    for _ in range(3):
        chunks = source.chunks()
        next(chunks)
        chunks.close()
    assert sum(len(chunk) for chunk in source.chunks()) == 3_000_000


def test_a_wide_line_of_words_among_whole_ids_is_a_bad_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "web.txt", b"1 2\n3 4\nno edge at all\n5 6\n")
    with pytest.raises(InputError, match=r"web.txt:3:9: 4 fields in 'no edge at all'; 2 are due"):
        edges_of(opened("web.txt", tmp_path))
    assert edges_of(opened("web.txt", tmp_path, bad_lines="skip")) == [(1, 2), (3, 4), (5, 6)]
