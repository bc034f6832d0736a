"""`gstream warm`: what first commands would wait for is compiled ahead, and can be removed again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gstream.cli import warm
from pagestore import caches
from tests.cli import command
from tests.cli.command import ROOT, Command

SHIPPED = ROOT / "gstream" / "data" / "debian.txt.gz"
DEMO = (
    ("convert", SHIPPED, "debian.gs", "--string-ids"),
    ("run", "pagerank", "debian.gs"),
    ("run", "bfs", "debian.gs", "--source", "gnome"),
    ("run", "wcc", "debian.gs"),
    ("generate", "rmat", "rmat.gs", "--scale", "14", "--undirected", "--weights"),
    ("run", "sssp", "rmat.gs", "--source", "0"),
)


@pytest.fixture
def places(tmp_path: Path, own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with one file of each kind."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    monkeypatch.setattr("pagestore.caches.kernel_folder", caches.kernel_folder.__wrapped__)
    programs = tmp_path / "cache" / "gstream" / "programs"
    kernels = caches.kernel_folders(warm.__file__)[0]
    for folder in (programs / "__pycache__", kernels):
        folder.mkdir(parents=True, mode=0o700)
    for path in (
        programs / "gstream_program_1.py",
        programs / "gstream_program_1.sm_90.cubin",
        programs / "__pycache__" / "gstream_program_1.cpython-311.pyc",
        programs / "__pycache__" / "gstream_program_1.pull-3.py311.nbi",
        kernels / "jit.add-3.py311.7.nbc",
    ):
        path.write_bytes(b"1234567890")
    (programs / "constants-here.json").write_text("{}")
    (kernels / "mine.txt").write_text("not ours")
    return tmp_path


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_clear_removes_what_was_compiled_alone(places: Path, gstream: Command) -> None:
    done = gstream("warm", "--clear")
    assert (done.returncode, done.stdout, done.stderr) == (0, "removed 5 files, 50 B\n", "")
    assert left(places) == ["constants-here.json", "mine.txt"]
    assert gstream("warm", "--clear").stdout == "removed 0 files, 0 B\n"


def test_doctor_shows_the_cache(places: Path, gstream: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "gstream.cli.doctor.gpus", lambda pycuda: {"gpus": [], "driver": None, "cuda": None, "gpu_error": None}
    )
    monkeypatch.setattr("gstream.cli.doctor.compiler", lambda: {"works": True, "processor": "here"})
    monkeypatch.setattr("gstream.cli.doctor.PROBE_BYTES", 1 << 60)  # nothing is measured
    programs = places / "cache" / "gstream" / "programs"
    (said,) = (line for line in gstream("doctor").stdout.splitlines() if line.startswith("compiler"))
    kernels = next((places / "numba").iterdir()).parent
    where = f"programs in {programs}, gstream's own in {kernels}"
    assert said.startswith(f"compiler   numba for here; kernel cache of 50 B in 5 files: {where}")
    programs.chmod(0o777)
    (places / "numba").chmod(0o777)
    found = json.loads(gstream("doctor", "--json").stdout)["kernel_cache"]
    assert found["kernels"] is None and found["bytes"] == 50
    assert found["refused"] == [f"others can write to {programs}", f"others can write to {places / 'numba'}"]


COUNTED = """
import sys
from numba.core import event
from gstream.cli.commands import run_command_line


class Compiled(event.Listener):
    names = []

    def on_start(self, found):
        self.names.append(found.data["dispatcher"].py_func.__qualname__)

    def on_end(self, found):
        pass


event.register("numba:compile", Compiled())
code = run_command_line(sys.argv[1:])
print(*Compiled.names, file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.long
def test_nothing_is_compiled_after_warm(tmp_path: Path) -> None:
    """By processes of their own, as users' are."""
    assert command.run("warm", cwd=tmp_path, timeout=900).returncode == 0
    for line in DEMO:
        words = [sys.executable, "-c", COUNTED, *map(str, line)]
        done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=300)
        assert done.returncode == 0, done.stderr
        assert done.stderr.splitlines()[-1] == "", f"{line}: compiled {done.stderr.splitlines()[-1]}"
