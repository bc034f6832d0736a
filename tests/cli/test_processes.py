"""What only a process of its own shows: signals, closed pipes, a full disk, quick start, `python -m gstream`."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gstream.interop.files import runs
from tests.cli.command import EDGES, ROOT, Command, run, start

STARTED_SECONDS = 600.0
# In front of a command of root's: it may then read what anybody else might.
AS_ANYBODY = ["setpriv", *(f"--{caps}=-dac_override,-dac_read_search" for caps in ("bounding-set", "inh-caps"))]
AS_ANYBODY *= os.geteuid() == 0


def reads_no_more_than_it_may() -> bool:
    """Whether a command behind AS_ANYBODY does."""
    if AS_ANYBODY and not shutil.which("setpriv"):
        return False
    return subprocess.run([*AS_ANYBODY, "true"], capture_output=True).returncode == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_removes_temporary_files(tmp_path: Path, number: signal.Signals, code: int) -> None:
    process = start("generate", "rmat", "big.gs", "--scale", "22", "--memory", "256MiB", cwd=tmp_path)
    until = time.monotonic() + STARTED_SECONDS
    while not list(tmp_path.iterdir()) and time.monotonic() < until and process.poll() is None:
        time.sleep(0.02)
    assert list(tmp_path.iterdir()), "the conversion began to write"
    time.sleep(0.3)
    process.send_signal(number)
    out, err = process.communicate(timeout=600)
    assert process.returncode == code, err
    assert out == ""
    assert err == f"stopped by {number.name}; temporary files are removed.\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_python_imports_is_no_traceback(tmp_path: Path, number: signal.Signals, code: int) -> None:
    """typer is the first thing of some size that is loaded, numpy the first that a run needs."""
    for module in ("typer", "numpy"):
        folder = tmp_path / module
        folder.mkdir()
        (folder / f"{module}.py").write_text(f"import os, time\nos.kill(os.getpid(), {int(number)})\ntime.sleep(9)\n")
        paths = os.pathsep.join((str(folder), str(ROOT)))
        done = subprocess.run(
            [sys.executable, "-m", "gstream", "run", "wcc", "graph.gs"], cwd=tmp_path, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": paths}, timeout=600,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        left = "nothing had begun" if module == "typer" else "temporary files are removed"
        assert (done.stdout, done.stderr) == ("", f"stopped by {number.name}; {left}.\n")


def test_the_end_of_a_process(tmp_path: Path) -> None:
    """What is registered for it is done; a signal then ends it, with the code that signals have."""
    script = (
        "import atexit, os, sys; from gstream.cli.main import main; sys.argv = ['gstream', '--version'];"
        "atexit.register(lambda: {}); main()"
    )
    for action, code, out in (("print('registered')", 0, "registered\n"), ("os.kill(os.getpid(), 15)", 143, "")):
        done = subprocess.run(
            [sys.executable, "-c", script.format(action)], cwd=tmp_path, capture_output=True, text=True, timeout=600,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (code, f"gstream 0.1.0\n{out}", "")


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    assert run("generate", "uniform", "g.gs", "--scale", "14", cwd=tmp_path).returncode == 0
    with start("export", "g.gs", "-", cwd=tmp_path) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline().count("\t") == 1
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(600) == 128 + signal.SIGPIPE


@pytest.mark.long
def test_a_full_disk_is_exit_5_and_leaves_nothing(tmp_path: Path) -> None:
    limited = (
        "import resource, signal, sys; from gstream.cli.main import main;"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({1 << 20}, {resource.RLIM_INFINITY}));"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); main()"
    )
    command = [sys.executable, "-c", limited, "generate", "uniform", "g.gs", "--scale", "16"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT), "PATH": ""}, timeout=600
    )
    assert done.returncode == 5, done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", ["--help", "run --help", "run bfs --help"])
def test_help_loads_nothing_heavy(words: str) -> None:
    script = (
        f"import sys; from gstream.cli.commands import run_command_line; code = run_command_line({words.split()});"
        "heavy = {'numpy', 'numba', 'h5py', 'pyarrow', 'polars', 'pandas', 'duckdb', 'rich'} & set(sys.modules);"
        "sys.exit(f'loaded {heavy}' if heavy else code)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    if words == "--help":
        for command in ("convert", "generate", "run", "plan", "info", "verify", "export", "doctor"):
            assert f"\n  {command} " in done.stdout


def test_cuda_is_started_before_anything_heavy_is_loaded(tmp_path: Path) -> None:
    script = (
        "import sys; from gstream.cli import run; from gstream.devices.gpu import prestart;"
        'prestart.start_cuda = lambda numbers: sys.exit(f\'{numbers} {bool({"numpy", "numba"} & set(sys.modules))}\');'
        "from gstream.cli.commands import run_command_line;"
        "run_command_line(['run', 'bfs', 'x.gs', '--gpus', '2'])"
    )
    (tmp_path / "x.gs").touch()
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=600, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.stderr == "[0, 1] False\n"


@pytest.mark.skipif(not reads_no_more_than_it_may(), reason="root reads everything")
def test_files_that_may_not_be_read(store: Path, small_store: bytes, tmp_path: Path) -> None:
    """By our own words, as other files that have to change, not by the parser's of the command line."""
    (tmp_path / "few.txt").write_text("1\n")
    for command, said in (
        (["info", store.name], "can't be opened (permission denied). Check its permissions."),
        (["run", "bfs", store.name, "--source", "1"], "can't be opened (permission denied). Check its permissions."),
        (["run", "pagerank", "open.gs", "--personalization", "few.txt"], "permission denied. Make the file readable."),
    ):
        (tmp_path / "open.gs").write_bytes(small_store)
        refused = store.name if store.name in command else "few.txt"
        (tmp_path / refused).chmod(0)
        ended = subprocess.run(
            [*AS_ANYBODY, sys.executable, "-m", "gstream", *command], cwd=tmp_path, capture_output=True, text=True,
            timeout=600, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert (ended.returncode, ended.stderr) == (4, f"{refused}: {said}\n")


def test_version_and_usage(tmp_path: Path) -> None:
    assert run("--version", cwd=tmp_path).stdout == "gstream 0.1.0\n"
    done = run("fly", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "gstream: No such command 'fly'. See gstream --help.\n"


def test_doctor_says_what_is_there(tmp_path: Path) -> None:
    done = run("doctor", "--json", "--disk", tmp_path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith('{"python": "3.')
    for name in ("cores", "memory", "read_rate", "libraries", "compiler", "gpus", "advice"):
        assert f'"{name}"' in done.stdout


def test_leftovers_of_a_killed_process_go_though_nobody_has_waited_for_it(store: Path, gstream: Command) -> None:
    zombie = os.fork()
    if zombie == 0:
        os._exit(0)
    for owner, stays in ((zombie, False), (os.getppid(), True)):
        folder = Path(f"other.gs.{owner}.reading.partial.d")
        while owner == zombie and runs(zombie):
            time.sleep(0.01)
        folder.mkdir()
        assert gstream("convert", "edges.txt", "other.gs", "--force").returncode == 0
        assert folder.exists() == stays
    os.waitpid(zombie, 0)


WITHOUT_BLAS = """
import sys
from gstream.cli.commands import run_command_line

assert run_command_line(["convert", "edges.txt", "graph.gs"]) == 0
assert "scipy.linalg" not in sys.modules
import scipy.linalg

assert scipy.linalg.det([[2.0]]) == 2.0
"""


def test_converting_loads_no_blas_and_leaves_scipy_usable(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    (tmp_path / "edges.txt").write_text(EDGES)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_BLAS],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
