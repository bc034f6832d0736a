"""A limited address space (ulimit -v), and threads that memory ends: one line and exit 5, never a hang or an abort."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gstream.cli import quick, scarce
from gstream.cli.failures import SIGNALS, describe, install_signals
from tests.cli.command import ROOT

LOADED = """
import sys
from gstream.cli import quick
from gstream.cli.commands import run_command_line
quick.begin()
assert run_command_line(["run", "pagerank", "graph.gs", "--iterations", "2", "-o", "ranks.csv"]) == 0
import numba.np.arraymath  # which compiling loads, and asks for BLAS
assert not {"scipy", "yaml", "coverage", "pandas"} & {name.partition(".")[0] for name in sys.modules}
import scipy.linalg  # lines outside the packages of NOT_FOR find it
"""

CALLED = """
import sys
import gstream
with gstream.open("graph.gs", devices="host") as graph:
    assert len(graph.bfs(1).to_numpy()) == len(graph.pagerank(iterations=2).to_numpy())
sys.exit(3 if "scipy.linalg" in sys.modules else 0)
"""


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def limited(size: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`python ARGUMENTS` whose address space has so many bytes."""
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=600,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)),
    )  # fmt: skip


def test_a_run_loads_nothing_needless(store: Path) -> None:
    """SciPy's OpenBLAS asks for memory for ever where it gets none."""
    done = subprocess.run([sys.executable, "-c", LOADED], env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0


def test_a_users_program_has_all_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    quick.begin()
    quick.leave_out_nothing_for("bfs")
    assert quick.LEAN in sys.meta_path
    quick.leave_out_nothing_for("own.py")
    assert quick.LEAN not in sys.meta_path


def test_a_call_loads_no_blas(store: Path) -> None:
    """Nor do kernels that are on disk already; to compile one, Numba looks for BLAS."""
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", CALLED], env={**os.environ, "PYTHONPATH": str(ROOT)})
        assert done.returncode in (0, 3)
    assert done.returncode == 0


def test_too_little_for_the_libraries_is_refused(store: Path) -> None:
    done = limited(450_000 << 10, "-m", "gstream", "run", "pagerank", "graph.gs", "-o", "ranks.npy")
    assert (done.returncode, done.stdout) == (5, "")
    assert done.stderr.startswith("the address space is limited to 450000 KiB (ulimit -v), too little")
    assert not Path("ranks.npy").exists()


def test_enough_is_enough(store: Path) -> None:
    done = limited(scarce.LEAST_BYTES, "-m", "gstream", "run", "pagerank", "graph.gs", "-o", "ranks.npy")
    assert done.returncode == 0, done.stderr


def test_libraries_in_cpp_end_in_words() -> None:
    """The first allocation that fails has the piece that was kept; the next ends the process."""
    text = """
import ctypes
from gstream.cli import quick, scarce
scarce.prepare()
new = ctypes.CDLL("libstdc++.so.6")._Znwm
new.restype, new.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
size = 1 << 30
while size > 1 << 20:  # fill what is left, past the piece
    if scarce.has_room(size): kept = globals().setdefault("all", []); kept.append(scarce._space(size))
    else: size >>= 1
assert new(32 << 20)
print("had", flush=True)
new(64 << 20)
"""
    done = limited(scarce.LEAST_BYTES, "-c", text)
    assert (done.returncode, done.stdout) == (5, "had\n"), done.stderr
    assert done.stderr == "out of memory. Raise the limit of the address space (ulimit -v).\n"


def test_a_thread_that_memory_ends_is_told() -> None:
    hooks = threading.excepthook, sys.unraisablehook
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)}
    install_signals()
    try:

        def die() -> None:
            raise MemoryError

        with pytest.raises(MemoryError):
            threading.Thread(target=die).start()
            time.sleep(5)
    finally:
        threading.excepthook, sys.unraisablehook = hooks
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert SIGNALS.short is None


@pytest.mark.parametrize(
    "error",
    [
        OSError("Could not find/load shared object file 'libllvmlite.so' from resource location: 'llvmlite.binding'."),
        ImportError("/lib/a.so: failed to map segment from shared object"),
        ImportError("b.so: cannot create shared object descriptor: Cannot allocate memory"),
    ],
)
def test_libraries_that_are_not_loaded(error: Exception) -> None:
    said = "out of memory: a library can't be loaded. Raise the limit of the address space (ulimit -v)."
    assert describe(error) == (5, said)
    assert describe(ImportError("No module named 'a'"))[0] == 3


def test_codecs_without_memory() -> None:
    """Arrow gives no number of what a codec found."""
    code, said = describe(OSError("ZSTD compression failed: Allocation error : not enough memory"))
    assert code == 5 and said.startswith("out of memory")


def test_threads_without_space_for_stacks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "ulimit -v" not in describe(RuntimeError("can't start new thread"))[1]
    monkeypatch.setattr("gstream.cli.failures.address_space_limited", lambda: True)
    assert "ulimit -v" in describe(RuntimeError("can't start new thread"))[1]
    assert describe(SystemError("error return without exception set"))[0] == 5
