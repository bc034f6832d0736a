"""Where inputs come from: compressed files, pipes, stdin, several files; and what may be wrong with them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import tarfile
import threading
import zipfile
from pathlib import Path
from types import SimpleNamespace

import choice
import numpy as np
import pytest
import zstandard
from input_files import edges_of, opened, write

from pagestore.errors import GstreamError, InputError, UsageError
from pagestore.inputs import streams
from pagestore.inputs.streams import ByteStream
from tests.shared_data import DATA, needs_data

TEXT = "".join(f"{n * 7919 % 100_003}\t{n * 104_729 % 100_003}\n" for n in range(60_000)).encode()
EDGES = [tuple(map(int, line.split())) for line in TEXT.decode().splitlines()]


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


PACKERS = {".gz": gzip.compress, ".zst": zstd, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", PACKERS)
def test_compressed(tmp_path, suffix):
    packed = PACKERS[suffix](TEXT)
    for name in (f"web.txt{suffix}", "web"):  # by content, whatever the name
        source = opened(write(tmp_path, name, packed), tmp_path)
        assert edges_of(source) == EDGES == edges_of(source)
        assert source.position() == source.total_bytes == len(packed)


@pytest.mark.parametrize("suffix", PACKERS)
def test_members_in_a_row(tmp_path, suffix):
    packed = PACKERS[suffix](TEXT[:1000]) + PACKERS[suffix](TEXT[1000:])
    assert edges_of(opened(write(tmp_path, f"a{suffix}", packed), tmp_path)) == EDGES


@pytest.mark.parametrize("suffix", PACKERS)
def test_members_without_content(tmp_path, suffix):
    none = PACKERS[suffix](b"")
    assert edges_of(opened(write(tmp_path, f"a{suffix}", none + PACKERS[suffix](TEXT) + none), tmp_path)) == EDGES


def test_zeros_behind_gzip(tmp_path):
    assert edges_of(opened(write(tmp_path, "a.gz", gzip.compress(TEXT) + bytes(512)), tmp_path)) == EDGES


@pytest.mark.parametrize("read_bytes", [1, 16, 1 << 18])
@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_members_behind_zeros(tmp_path, monkeypatch, suffix, read_bytes):
    """More zeros than are read at a time: what follows them belongs to the file all the same."""
    monkeypatch.setattr(streams, "READ_BYTES", read_bytes)
    packed = PACKERS[suffix](b"1 2\n") + bytes(400) + PACKERS[suffix](b"3 4\n") + bytes(400)
    assert edges_of(opened(write(tmp_path, f"a{suffix}", packed), tmp_path)) == [(1, 2), (3, 4)]


def test_formats_in_compression(tmp_path):
    mtx = b"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n"
    assert edges_of(opened(write(tmp_path, "a.mtx.gz", gzip.compress(mtx)), tmp_path)) == [(1, 2)]
    assert edges_of(opened(write(tmp_path, "a.gr.zst", zstd(b"p sp 2 1\na 1 2 3\n")), tmp_path)) == [(1, 2, 3.0)]
    assert edges_of(opened(write(tmp_path, "a.graph.xz", lzma.compress(b"2 1\n2\n1\n")), tmp_path)) == [(1, 2)]
    write(tmp_path, "g.v.gz", gzip.compress(b"1\n2\n", mtime=0))
    write(tmp_path, "g.e.gz", gzip.compress(b"1 2\n", mtime=0))
    assert edges_of(opened(tmp_path / "g", tmp_path)) == [(1, 2)]


@pytest.mark.covering(1)
@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("damage", ["cut", "cut early", "cut at the end", "flipped", "junk behind"])
def test_damaged_compression(tmp_path, suffix, damage):
    packed = PACKERS[suffix](TEXT)
    half = len(packed) // 2
    damaged = {
        "cut": packed[:half],
        "cut early": packed[:20],
        "cut at the end": packed[:-2],
        "flipped": packed[:half] + bytes([packed[half] ^ 4]) + packed[half + 1 :],
        "junk behind": packed + b"more than that",
    }[damage]
    with pytest.raises(InputError) as error:
        edges_of(opened(write(tmp_path, f"a{suffix}", damaged), tmp_path))
    kind = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2", ".xz": "xz"}[suffix]
    assert f"a{suffix}:" in str(error.value) and str(error.value).endswith(".")
    if damage != "flipped":  # a flipped bit may come to light as a bad line before the checksum is due
        assert kind in str(error.value)
    if damage in ("cut", "cut at the end"):
        assert f"ends in the middle of its {kind} data" in str(error.value)


def test_memory_that_runs_out_is_no_damage(tmp_path, monkeypatch):
    class Short:
        eof, unused_data = False, b""

        def decompress(self, data, max_length):
            raise MemoryError

    (tmp_path / "g.txt.gz").write_bytes(gzip.compress(TEXT))
    monkeypatch.setattr("pagestore.inputs.streams._decoder", lambda kind: Short())
    with pytest.raises(MemoryError):
        edges_of(opened(tmp_path / "g.txt.gz", tmp_path))


def test_edges_before_the_cut_are_not_taken_for_all(tmp_path):
    """A cut file gives its first edges and then the error, never a quiet end."""
    source = opened(write(tmp_path, "a.zst", zstd(TEXT)[:-3]), tmp_path)
    with pytest.raises(InputError):
        for _ in source.chunks():
            pass


def test_name_without_the_content(tmp_path):
    with pytest.raises(InputError, match=r"a.gz: is not gzip data although its name ends in .gz; it starts with b'1 2"):
        opened(write(tmp_path, "a.gz", "1 2\n"), tmp_path)


def message(paths, folder, **options) -> str:
    with pytest.raises(GstreamError) as error:
        edges_of(opened(paths, folder, **options))
    return str(error.value)


def test_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good = write(tmp_path, "a.txt", "1 2\n")
    assert message("none.txt", tmp_path) == "none.txt: no such file. Check the path."
    (tmp_path / "folder").mkdir()
    assert message("folder", tmp_path) == (
        "folder: is a folder without files to read; names that begin with . or _ are left out."
    )
    assert message("a.txt/b", tmp_path) == "a.txt/b: can't be opened (not a directory). Check the path and its rights."
    assert message(good, tmp_path, format="dot").startswith("--format dot: unknown; it is one of text, csv, ")
    assert message([], tmp_path) == "no input: name at least one file, or - for stdin."
    assert message(["-", "-"], tmp_path) == "stdin (-) is named twice; it can be read once."
    assert message("g.e", tmp_path) == "g.e: no such file. Check the path."
    if os.getuid():
        good.chmod(0)
        assert message("a.txt", tmp_path) == "a.txt: permission denied. Make the file readable."


def test_archives_are_to_be_unpacked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "e.txt", "1 2\n3 4\n")
    with zipfile.ZipFile("z.zip", "w") as archive:
        archive.write("e.txt")
    zipfile.ZipFile("empty.zip", "w").close()
    for name, mode in (("t.tar", "w"), ("t.tgz", "w:gz"), ("t.tar.xz", "w:xz")):
        with tarfile.open(name, mode) as archive:
            archive.add("e.txt")
    write(tmp_path, "a.7z", b"7z\xbc\xaf\x27\x1c\0\4" + bytes(50))
    for name, kind in (
        ("z.zip", "zip"), ("empty.zip", "zip"), ("t.tar", "tar"), ("t.tgz", "tar"), ("t.tar.xz", "tar"), ("a.7z", "7z"),
    ):  # fmt: skip
        assert message(name, tmp_path) == (
            f"{name}: is a {kind} archive; an input is a file of edges. Unpack it first, and name the files."
        )
    write(tmp_path, "d.txt.gz", gzip.compress(gzip.compress(b"1 2\n")))
    assert message("d.txt.gz", tmp_path) == (
        "d.txt.gz: is gzip data compressed once more, by gzip. Decompress it once first."
    )
    write(tmp_path, "e.txt.bz2", gzip.compress(bz2.compress(b"1 2\n" * 50)))
    os.rename("e.txt.bz2", "e.gz")
    assert message("e.gz", tmp_path) == "e.gz: is bzip2 data compressed once more, by gzip. Decompress it once first."
    write(tmp_path, "b.txt.gz", gzip.compress(b"BZh \xc3\xa9\ny BZh\n"))
    assert len(edges_of(opened("b.txt.gz", tmp_path))) == 2, "a name"
    write(tmp_path, "u.txt", "ab cd\n" * 42 + "abcd ustar\n")
    assert len(edges_of(opened("u.txt", tmp_path))) == 43, "a name, too"


def test_options_that_do_not_fit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "a.txt", "1 2 3\n")
    write(tmp_path, "n.txt", "a b\n")
    write(tmp_path, "a.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n")
    assert message("a.txt", tmp_path, weight_column=4) == (
        "a.txt: --weight-column 4 is not a column of weights; the lines have 3 columns, of which 1 and 2 are the "
        "source and the target. Name another column."
    )
    write(tmp_path, "h.csv", "source,weight\n0,5\n")  # the second column is the target, whatever it is called
    for asked in ("weight", 2, 1):
        assert message("h.csv", tmp_path, weight_column=asked) == (
            f"h.csv: --weight-column {asked} is not a column of weights; the lines have 2 columns, of which 1 and 2 "
            "are the source and the target. Name another column."
        )
    assert message("a.txt", tmp_path, weight_column="km") == (
        "a.txt: --weight-column km: no such column (no header line was found; the first line has 1: 1, 2: 2, "
        "3: 3). Give its name or number."
    )
    assert message("n.txt", tmp_path, num_vertices=3) == (
        "n.txt: --num-vertices is about numbers, but the IDs here are text. Drop the option."
    )
    assert message("a.txt", tmp_path, num_vertices=2) == (
        "a.txt:1:3: vertex ID 2 is past the limit; --num-vertices 2 lets IDs run from 0 to 1. Fix the line, or pass "
        "--bad-lines skip."
    )
    assert message("a.mtx", tmp_path, num_vertices=3) == (
        "a.mtx: its header says 2 vertices, --num-vertices 3. Drop the option."
    )
    assert message("a.mtx", tmp_path, string_ids=True) == (
        "a.mtx: --string-ids and --number-ids are for text, Parquet and Arrow, not for mtx. Drop the option."
    )
    assert message("a.mtx", tmp_path, weight_column=3) == (
        "a.mtx: --weight-column is for text, TNTP, Parquet and Arrow, not for mtx. Drop the option."
    )
    write(tmp_path, "a.npy.gz", gzip.compress(b"\x93NUMPY"))
    for options in ({}, {"format": "npy"}):
        assert message("a.npy.gz", tmp_path, **options) == (
            "a.npy.gz: gzip data of npy can't be mapped. Decompress it first."
        )
    write(tmp_path, "b.txt", "1 2\n")
    assert message(["a.txt", "b.txt"], tmp_path) == (
        "b.txt: carries no weights, but a.txt carries weights; inputs of one graph agree. Pass --no-weights."
    )
    head = "%%MatrixMarket matrix coordinate pattern"
    write(tmp_path, "b.mtx", f"{head} symmetric\n2 2 1\n2 1\n")
    write(tmp_path, "c.mtx", f"{head} general\n3 3 1\n2 1\n")
    one = "inputs of one graph agree."
    assert message(["a.mtx", "b.mtx"], tmp_path) == (
        f"b.mtx: is undirected, but a.mtx does not say whether it is directed; {one} Pass --directed or --undirected."
    )
    assert message(["a.mtx", "c.mtx"], tmp_path) == (
        f"c.mtx: has 3 vertices, but a.mtx has 2 vertices; {one} They are not one graph."
    )


def fifo(folder: Path, content: bytes, name: str = "pipe") -> Path:
    path = folder / name
    os.mkfifo(path)

    def feed():
        try:
            with open(path, "wb") as pipe:
                pipe.write(content)
        except BrokenPipeError:
            pass

    threading.Thread(target=feed, daemon=True).start()
    return path


def test_pipe(tmp_path):
    source = opened(fifo(tmp_path, TEXT), tmp_path)
    assert not source.replayable and source.total_bytes is None
    assert edges_of(source) == EDGES
    with pytest.raises(UsageError, match="a pipe can be read only once"):
        next(source.chunks())


@pytest.mark.parametrize("suffix", PACKERS)
def test_pipe_of_single_bytes(tmp_path, monkeypatch, suffix):
    """A reader of a pipe gets what is there: that may be less than a compression is known by."""
    usual = os.read
    monkeypatch.setattr(os, "read", lambda number, size: usual(number, min(size, 1)))
    packed = PACKERS[suffix](b"1 2\n") + PACKERS[suffix](b"3 4\n")
    assert edges_of(opened(fifo(tmp_path, packed), tmp_path)) == [(1, 2), (3, 4)]


def test_pipe_of_gzip_and_of_mtx(tmp_path):
    assert edges_of(opened(fifo(tmp_path, gzip.compress(TEXT), "a"), tmp_path)) == EDGES
    mtx = b"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n"
    assert edges_of(opened(fifo(tmp_path, mtx, "b"), tmp_path, format="mtx")) == [(1, 2)]
    with pytest.raises(InputError, match="ends in the middle of its gzip data"):
        edges_of(opened(fifo(tmp_path, gzip.compress(TEXT)[:-9], "c"), tmp_path))


def test_pipe_of_numbers_beside_names(tmp_path, monkeypatch):
    """Numbers that were taken for numbers can't be read again as names."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "a.txt", "a b\n")
    paths = ["a.txt", fifo(tmp_path, b"1 2\n")]
    assert message(paths, tmp_path) == (
        f"{paths[1]}: has numbers for IDs where other inputs have names. Pass --string-ids."
    )
    paths = ["a.txt", fifo(tmp_path, b"1 2\n", "again")]
    assert sorted(edges_of(opened(paths, tmp_path, string_ids=True))) == [("1", "2"), ("a", "b")]


def test_pipe_of_names(tmp_path):
    source = opened(fifo(tmp_path, b"a b\nb c\n"), tmp_path)
    assert edges_of(source) == edges_of(source) == [("a", "b"), ("b", "c")]


def test_empty_pipe_and_pipe_of_tables(tmp_path):
    with pytest.raises(InputError, match="is empty"):
        opened(fifo(tmp_path, b"", "a"), tmp_path)
    with pytest.raises(InputError, match="b: is not a NumPy array"):
        opened(fifo(tmp_path, b"xxxx", "b"), tmp_path, format="npy")


READ_STDIN = """
import sys
sys.path[:0] = sys.argv[1:3]
from input_files import edges_of, opened
from pathlib import Path
from pagestore.errors import GstreamError
try:
    print(edges_of(opened("-", Path(sys.argv[3]))))
except GstreamError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("content", "printed"),
    [
        (b"1 2\n3 4\n", "[(1, 2), (3, 4)]"),
        (gzip.compress(b"1 2\n", mtime=0), "[(1, 2)]"),
        (b"1 2\n3 x\n", "stdin:2:3: vertex ID 'x' is not a number; IDs run from 0 to 2^63-1. Fix the line, "
         "pass --string-ids to take all IDs as text, or pass --bad-lines skip."),
        *choice.also(
            (b"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n", "[(1, 2)]"),
            (b"p sp 2 1\na 1 2 5\n", "[(1, 2, 5.0)]"),
            (b"a b\n", "[('a', 'b')]"),
            (b"", "stdin: is empty (0 bytes); an input has at least one edge. Check how it was made."),
        ),
    ],
)  # fmt: skip
def test_stdin(tmp_path, content, printed):
    here = Path(__file__).resolve()
    command = [sys.executable, "-c", READ_STDIN, str(here.parents[2]), str(here.parent), str(tmp_path)]
    done = subprocess.run(command, input=content, capture_output=True, timeout=600)
    assert done.stdout.decode().strip() == printed, done.stderr.decode()


def test_stdin_that_can_not_be_read(tmp_path, monkeypatch):
    for path, how, words in (
        (tmp_path, os.O_RDONLY, "is a folder; an input is a file."),
        ("/dev/null", os.O_WRONLY, "reading stopped at byte 0 (bad file descriptor). Check the disk or the pipe."),
    ):
        stdin = os.open(path, how)
        monkeypatch.setattr("sys.stdin", SimpleNamespace(fileno=lambda stdin=stdin: stdin))
        assert message("-", tmp_path) == f"stdin: {words}"
        os.close(stdin)


def test_peek_and_read_agree(tmp_path):
    for suffix, pack in PACKERS.items():
        stream = ByteStream(write(tmp_path, f"b{suffix}", pack(TEXT)))
        assert stream.peek(100) == TEXT[:100] == stream.read(100)
        assert stream.peek(400_000) == TEXT[100:400_100]
        rest = io.BytesIO()
        while part := stream.read(1000):
            assert len(part) <= 1000
            rest.write(part)
        assert rest.getvalue() == TEXT[100:]
        stream.close()
        stream.close()


@needs_data
def test_malformed_matrix_market_suite(tmp_path):
    files = sorted((DATA / "suites" / "malformed_mtx").glob("*.mtx"))
    assert len(files) == 25
    for path in files:
        found = message(path, tmp_path)
        assert found.startswith(f"{path}:") and found.endswith("."), found


@needs_data
def test_real_graphs(tmp_path):
    for name, edges, weighted in (("wiki_vote.el.xz", 103_689, False), ("osm_monaco.wel.xz", None, True)):
        source = opened(DATA / "graphs" / name, tmp_path)
        chunks = list(source.chunks())
        found = sum(len(chunk) for chunk in chunks)
        assert source.weighted is weighted and found == (edges or found) and found > 0
        assert all(np.isfinite(chunk.weight).all() for chunk in chunks if chunk.weight is not None)
