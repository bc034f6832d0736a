"""Fuzzing: every kept input goes through its target, and the harness tells what does not hold. Needs no fuzzer."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import pagestore
from bench import machine
from gstream.engine import checkpoint_checks
from pagestore.errors import GstreamError, InputError, StoreError
from pagestore.inputs import adjacency, judge, linesource, npy
from pagestore.inputs.conditions import Condition
from pagestore.reader import PageReader
from tests.fuzz import corpus as fuzz_corpus
from tests.fuzz import repair as fuzz_repair
from tests.fuzz import run as fuzz
from tests.fuzz import targets as fuzz_targets
from tests.fuzz.every import TARGETS
from tests.fuzz.targets import Drawn, MemoryStream, Target, TextStream, Wrong, kept, refusal

MOST_KEPT_BYTES = 200 << 10


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_kept_inputs(target: Target) -> None:
    inputs = [*kept(target.name), *target.seeds()]
    words = Counter(target.run(data) for data in inputs)
    assert len(kept(target.name)) >= 4
    assert {"read", "refused"} <= set(words), "both are among them"
    assert set(words) <= {"read", "refused", "harmless", "refused by the directory"}
    assert all(len(data) <= target.longest for data in inputs)


def test_what_is_kept_is_small_and_known() -> None:
    files = {path.name: path.stat().st_size for path in fuzz_targets.CORPUS.iterdir()}
    assert sum(files.values()) <= MOST_KEPT_BYTES
    assert set(files) == {"bases.zip"} | {fuzz_targets.archive_of(name).name for name in TARGETS}


def one_more(text: str, column: int, rules: object, high: int) -> int:
    return PARSE(text, column, rules, high) + 1


def broken(*given: object) -> None:
    raise IndexError("index 9 is out of bounds")


def nothing(*given: object) -> None:
    return None


def unchecked(self: PageReader, first: int, count: int, *given: object, **named: object) -> np.ndarray:
    return READ(self, first, count, check=False)


PARSE, READ = judge.parse_vertex, PageReader.read
FAULTS = [
    ("text", judge, "parse_vertex", one_more, Wrong),
    ("text", linesource, "_weights_fit", lambda weights, rules: True, Wrong),
    ("text", linesource, "_judge_lines", nothing, Wrong),
    ("metis", adjacency, "parse_lists", broken, IndexError),
    ("npz", npy, "DAMAGE", (), Exception),
    ("contents of stores", PageReader, "read", unchecked, Wrong),
    ("conditions", Condition, "may_prune", lambda *given: True, Wrong),
    ("checkpoints", checkpoint_checks, "_check_described", nothing, (KeyError, TypeError)),
]


@pytest.mark.parametrize(("name", "where", "what", "instead", "error"), FAULTS)
def test_planted_faults_are_noticed(
    monkeypatch: pytest.MonkeyPatch, name: str, where: object, what: str, instead: object, error: type[Exception]
) -> None:
    target = TARGETS[name]
    target.run(b"")  # what is made once is made whole
    monkeypatch.setattr(where, what, instead)
    with pytest.raises(error):
        for data in [*kept(name), *target.seeds()]:
            target.run(data)


LATE = [
    ("mtx", judge, "parse_vertex", one_more, b"%%MatrixMarket matrix coordinate real general\n3 3 9\n1 2 5\n"),
    ("metis", adjacency, "handed_on", lambda *given: (), b"3 9\n2\n1 3\n2\n"),
]


@pytest.mark.parametrize(("name", "where", "what", "instead", "text"), LATE)
def test_edges_of_files_that_are_refused_at_their_end_are_looked_at(
    monkeypatch: pytest.MonkeyPatch, name: str, where: object, what: str, instead: object, text: bytes
) -> None:
    """Their headers promise 9 edges: few inputs get a right header, so most would never be compared."""
    run, data = TARGETS[name].run, b"\0\0\0" + text
    assert run(data) == "refused"
    monkeypatch.setattr(where, what, instead)
    with pytest.raises(Wrong):
        run(data)


def test_refusals_are_one_plain_line() -> None:
    with refusal() as refused:
        raise InputError("a.txt:1:1: is wrong. Fix it.")
    assert refused.word == "refused" and refused.error is not None
    with refusal() as refused:
        pass
    assert refused.word == "read"
    for text in ("two\nlines.", "no end", "\x1b[2J."):
        with pytest.raises(Wrong), refusal():
            raise InputError(text)
    with pytest.raises(Wrong), refusal():
        raise GstreamError("an internal error.")
    with pytest.raises(IndexError), refusal():
        raise IndexError


def test_options_are_drawn() -> None:
    drawn = Drawn(b"\1\2\0\3\4")
    assert (drawn.byte(), drawn.number(2), drawn.left, drawn.rest()) == (1, 2, True, b"\3\4")
    assert (drawn.take(9), drawn.byte(), drawn.left) == (b"\3\4" + bytes(7), 0, False)
    stream = MemoryStream(b"1 2\n3 4\n", "a.txt", 3)
    assert stream.peek(5) == b"1 2\n3" and b"".join(iter(lambda: stream.read(4), b"")) == b"1 2\n3 4\n"
    assert TextStream(b"\x1f\x8b 1\n", "a.txt", 1).peek(9) == b"\x1f\x8b 1\n", "a text, whatever it begins with"
    with pytest.raises(InputError, match="gzip"):
        MemoryStream(b"\x1f\x8b 1\n", "a.txt")


def test_checksums_are_made_good(tmp_path: Path) -> None:
    assert (
        fuzz_repair.lookup3(b"") == 0xDEADBEEF and fuzz_repair.lookup3(b"Four score and seven years ago") == 0x17770551
    )
    for base in fuzz_repair.bases(tmp_path):
        assert bytes(fuzz_repair.repaired(base, bytearray(base.data))) == base.data
        assert len(base.headers) > 20 and base.same_hdf5(bytearray(base.data))
        changed = bytearray(base.data)
        for kind, places in base.places.items():
            if kind != "meta":
                changed[int(places[len(places) // 2])] ^= 1
        repaired = fuzz_repair.repaired(base, bytearray(changed))
        assert sum(a != b for a, b in zip(repaired, changed, strict=True)) >= 12  # three chains of checksums


def test_attributes_that_lie_crash_nothing(tmp_path: Path) -> None:
    """Those of the root, in a B-tree and a heap, whose checksums are right: HDF5 2.0 crashes when it reads them."""
    base, path, read = fuzz_repair.bases(tmp_path)[0], tmp_path / "lies.gs", 0
    kinds = (b"BTHD", b"BTLF", b"FRHP")
    blocks = [(first, end) for first, end in base.headers if base.data[first : first + 4] in kinds]
    assert len(blocks) == 3
    places = [at for first, end in blocks for at in range(first + 4, end, 3)]
    for at in places:
        data = bytearray(base.data)
        data[at : at + 3] = b"\xff\xfe\xfd"
        path.write_bytes(fuzz_repair.repaired(base, data))
        try:
            with pagestore.open_store(path) as store:
                assert store.meta.vertices == 20
                read += 1
        except StoreError as error:
            assert "HDF5 can't read it" in str(error)
    assert read > len(places) // 2


def test_a_heap_of_attributes_that_lies_crashes_nothing() -> None:
    """H5Ovisit asks each object for the size of its attributes' heap, and HDF5 2.0 crashes on the way."""
    lies = "820000fcffffffff0804a70000"
    assert TARGETS["stores"].run(bytes.fromhex(lies)) == "harmless"


def test_a_dataset_without_a_length_is_refused() -> None:
    """Where HDF5 takes the shape of a directory for a single value's."""
    assert TARGETS["stores"].run(bytes.fromhex("8200dd11ff")) == "refused"


def test_findings_are_kept_once_each(tmp_path: Path) -> None:
    def run(data: bytes) -> str:
        if data == b"bad":
            raise ValueError("no")
        return "read"

    board = fuzz.Board(tmp_path / "board")
    one = fuzz.watched(run, board, tmp_path / "found")
    for data in (b"good", b"bad", b"bad"):
        one(data)
    counts, found = fuzz.Board(tmp_path / "board").read()
    assert counts["read"] == 1 and len(found) == 1
    assert [path.read_bytes() for path in (tmp_path / "found").iterdir()] == [b"bad"]
    assert next(iter(found)).startswith("ValueError at test_fuzz.py:") and "no" in next(iter(found.values()))


def test_runs_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "torture.json"
    answers = iter([(Counter(read=3, refused=4), {}, 1.0)] * 3 + [(Counter({"read": 1, "IndexError at x:1": 2}),
                                                                   {"IndexError at x:1": "000: no"}, 1.0)])  # fmt: skip
    monkeypatch.setattr(fuzz, "run_child", lambda *given: next(answers))
    assert fuzz.main(["--target", "sizes", "--runs", "100", "--out", str(out)]) == 0
    assert fuzz.main(["--target", "sizes", "--seconds", "9", "--plain", "--out", str(out)]) == 0
    known = json.loads(out.read_text())["properties"]["fuzz sizes"]
    assert (known["cases"], known["wanted"], known["outcomes"]) == (21, 10**7, {"read": 9, "refused": 12})
    assert fuzz.main(["--target", "sizes", "--runs", "9", "--compiled", "--afresh", "--out", str(out)]) == 1
    known = json.loads(out.read_text())["properties"]["fuzz sizes"]
    assert (known["cases"], known["failed"], known["failures"]) == (3, 2, ["IndexError at x:1: 000: no"])
    assert "2 FAILED" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="no such target"):
        fuzz.main(["--target", "nothing"])


def test_processes_of_other_seeds_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has a corpus and libFuzzer's seed of its own; the row says how many there were."""
    given: list[list[str]] = []

    def run(command: list[str], **named: object) -> subprocess.CompletedProcess:
        given.append(command)
        name, board, folder, plain = command[command.index("--child") + 1 :][:4]
        fuzz.Board(Path(board)).write(Counter(read=1, refused=int(Path(folder).name.rpartition("-")[2])), {})
        return subprocess.CompletedProcess(command, 0, b"", b"")

    monkeypatch.setattr(fuzz, "SCRATCH", tmp_path / "scratch")
    (tmp_path / "scratch" / "sizes" / "corpus").mkdir(parents=True)
    with monkeypatch.context() as patch:
        patch.setattr(fuzz.subprocess, "run", run)
        patch.setattr(machine, "facts", lambda: {"cpu": "a", "date": "2026", "commit": "c"})
        for seed in (7, 8):
            argv = ["--target", "sizes", "--compiled", "--runs", "8", "--seed", str(seed)]
            fuzz.main([*argv, "--out", str(tmp_path / f"{seed}.json")])
    assert [word for command in given for word in command if word.startswith("-seed=")] == ["-seed=7", "-seed=8"]
    assert all(command[-1] == str(tmp_path / "scratch" / "sizes" / "corpus") for command in given)
    assert (tmp_path / "scratch" / "sizes" / "seed-7" / "corpus" / "kept-0000").exists()
    files, out = [str(tmp_path / f"{seed}.json") for seed in (7, 8)], tmp_path / "all.json"
    assert fuzz.main(["--merge", *files, "--out", str(out)]) == 0
    row = json.loads(out.read_text())["properties"]["fuzz sizes"]
    assert (row["cases"], row["outcomes"], row["failed"]) == (17, {"read": 2, "refused": 15}, 0)
    assert (row["processes"], row["seeds"], row["commits"], row["machines"]) == (2, [7, 8], ["c"], ["a"])
    with pytest.raises(SystemExit, match="a seed of"):
        fuzz.main(["--merge", files[0], "--out", str(out)])


def test_a_file_is_written_over() -> None:
    for data in (b"long enough", b"short", b""):
        assert Path(fuzz_targets.written("over", data)).read_bytes() == data


def test_modules_that_numba_compiles_are_left_alone() -> None:
    found = fuzz.compiled_modules()
    assert {"pagestore.inputs.lines", "pagestore.check", "gstream.hostcode.bitmaps"} <= set(found)
    assert "pagestore.inputs.judge" not in found


def test_the_corpus_is_the_least_that_reaches_all(tmp_path: Path) -> None:
    """Of inputs of one kind the smallest stays."""
    target = TARGETS["sizes"]
    chosen = fuzz_corpus.smallest(target, [b"12GiB", b"1k", b"12k", b"123k", b"no"])
    assert b"123k" not in chosen and b"12k" not in chosen and b"no" in chosen
