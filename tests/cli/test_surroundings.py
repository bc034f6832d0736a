"""What a command is started with: encodings, closed and full streams, variables, stores that others hold open."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import choice
import h5py
import numpy as np
import pytest

import gstream
from pagestore.convert import ConvertOptions, convert
from pagestore.errors import MOST_LINE, GstreamError, UsageError
from pagestore.faults import library_error
from pagestore.hdf5 import open_located
from pagestore.inputs import InputOptions, open_source

LATIN = {"PYTHONIOENCODING": "latin-1"}
ODD = {
    "NUMBA_DISABLE_JIT": "1",
    "NUMBA_NUM_THREADS": "0",
    "NUMBA_DEBUG": "1",
    "HDF5_USE_FILE_LOCKING": "TRUE",
    "HDF5_DRIVER": "core",
    "PYTHONWARNINGS": "error",
}


def command(shell: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """One command of a shell; `gstream` is this checkout's."""
    here = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path, **variables}
    shell = shell.replace("gstream ", f"{sys.executable} -m gstream ")
    return subprocess.run(["bash", "-c", shell], cwd=folder, env=environment, capture_output=True, timeout=600)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of names that few encodings have, made where variables and warnings are against it."""
    folder = tmp_path_factory.mktemp("odd")
    (folder / "n.txt").write_text("ü 日本\n日本 z\nz ü\n", encoding="utf-8")
    made = command("gstream convert n.txt n.gs", folder, **ODD)
    assert (made.returncode, made.stderr.count(b"\n")) == (0, 1), made.stderr
    return folder


@pytest.mark.parametrize(
    ("shell", "variables", "code", "out", "err"),
    [
        ("gstream run wcc n.gs", LATIN, 0, b"component", b""),
        ("gstream info n.gs", {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, 0, rb"\u65e5\u672c", b""),
        ("gstream info n.gs >/dev/full", {}, 5, b"", b"no space left"),
        *choice.also(
            ("gstream info n.gs <&- >&- 2>&-", {}, 0, b"", b""),
            ("gstream info nosuch.gs 2>/dev/full", {}, 4, b"", b""),
            ("gstream export n.gs - >&-", {}, 2, b"", b"standard output is closed"),
            ("gstream run bfs n.gs --source z --no-predecessors -o -", ODD, 0, "\"日本\",2\n".encode(), b"reached"),
        ),
    ],
)  # fmt: skip
def test_streams_end_no_command(
    folder: Path, shell: str, variables: dict[str, str], code: int, out: bytes, err: bytes
) -> None:
    done = command(shell, folder, **variables)
    assert done.returncode == code, done.stderr
    assert out in done.stdout and err in done.stderr
    assert b"internal error" not in done.stderr and b"Traceback" not in done.stderr


def test_help_stands_without_docstrings(folder: Path) -> None:
    done = command("gstream show --help", folder, PYTHONOPTIMIZE="2")
    assert done.returncode == 0 and b"Usage" in done.stdout and done.stdout.count(b"\n\n") > 1


@pytest.mark.parametrize("how", [{"mode": "r"}, {"mode": "r+"}, {"mode": "r", "libver": "latest"}])
def test_a_store_that_h5py_has_open(folder: Path, how: dict[str, str]) -> None:
    with h5py.File(folder / "n.gs", **how), gstream.open(folder / "n.gs") as graph:
        assert len(graph.wcc()) == 3


def test_opening_leaves_no_descriptor(folder: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    file, extents = open_located(str(folder / "n.gs"))
    assert "meta" in extents
    file.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_answers_as_text_of_every_kind(folder: Path, tmp_path: Path) -> None:
    with gstream.open(folder / "n.gs") as graph:
        found = graph.bfs(source="z", predecessors=False)
        for name in ("x.csv.gz", "x.csv.zst", "x.tsv"):
            found.write(tmp_path / name)
        with pytest.raises(UsageError, match="is for edges"):
            found.write(tmp_path / "x.el")
        with pytest.raises(UsageError, match="not compressed from outside"):
            found.write(tmp_path / "x.parquet.gz")
        graph.cross(nodes=["z"]).write(tmp_path / "x.el")
    with gzip.open(tmp_path / "x.csv.gz", "rt", encoding="utf-8") as text:
        assert text.read() == 'vertex,distance\n"z",0\n"ü",1\n"日本",2\n'
    assert (tmp_path / "x.tsv").read_text(encoding="utf-8").splitlines()[0].split("\t")[1] == "0"
    assert (tmp_path / "x.el").read_text(encoding="utf-8").split()[1].strip('"') == "ü"


def test_numbers_of_any_type_from_python(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with gstream.open(folder / "n.gs", cache=0, threads="1", host_memory=np.int64(1 << 29)) as graph:
        ranks = graph.pagerank(iterations="2", alpha=np.float32(0.5), progress=True)
        assert "superstep 1" in capsys.readouterr().err
        assert ranks.summary["supersteps"] == 2
        assert len(graph.bfs(source=np.array("z"), micro=4)) == 3
        assert graph.pagerank(personalization=ranks.to_pandas().set_index("vertex")["pagerank"]).top(0) == []
        with pytest.raises(UsageError, match="0 or more"):
            ranks.top(-1)
        for wrong in ({"host_memory": True}, {"cache": True}, {"use_heads": 1}, {"progress": 3}, {"threads": "x"}):
            with pytest.raises(UsageError):
                graph.bfs(source="z", **wrong)
        with pytest.raises(GstreamError) as caught:
            graph.bfs(source="x" * 10**6)
    assert len(str(caught.value)) < MOST_LINE and "characters" in str(caught.value)


def test_a_library_that_is_missing_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = library_error(ModuleNotFoundError("No module named 'isal.x'", name="isal.x"))
    assert said is not None and said.exit_code == 3 and "pip install isal" in said.line
    assert library_error(ImportError("no name", name="gstream.graph")) is None
    with gstream.open(folder / "n.gs") as graph:
        found = graph.wcc()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(GstreamError, match="pip install pandas"):
        found.to_pandas()


def test_numba_switched_off_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.config.DISABLE_JIT", 1)
    with gstream.open(folder / "n.gs") as graph, pytest.raises(UsageError, match="NUMBA_DISABLE_JIT"):
        graph.wcc()


@pytest.mark.long
def test_overflows_and_warnings_are_errors_of_the_caller_alone(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "w.txt").write_text("1 2 3e38\n2 3 3e38\n3 1 1e-40\n3 4 0\n")
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        source = open_source(tmp_path / "w.txt", InputOptions(), tmp_path, 1 << 28)
        assert convert(source, tmp_path / "w.gs", ConvertOptions(page_bytes=4096)).vertices == 4
        with gstream.open(tmp_path / "w.gs") as graph:
            found = [graph.sssp(source=1, certify=True), graph.closeness()]
            found.append(graph.pagerank(personalization={1: 1e-310, 2: 1e300}, certify=True))
            for one in found:
                assert len(one.to_pandas()) == 4 and one.top(1)


def test_json_is_ascii(folder: Path) -> None:
    done = command("gstream run pagerank n.gs --json", folder, **LATIN)
    assert {row["vertex"] for row in json.loads(done.stdout.decode("ascii"))["top"]} == {"ü", "日本", "z"}
