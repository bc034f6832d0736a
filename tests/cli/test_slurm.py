"""The batch script of the docs in a real shell: Slurm's signal keeps the run, the next start goes on from there."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.command import ENDLESS, ROOT, Command

SCRIPT = ROOT / "docs" / "examples" / "pagerank.sbatch"
WAIT_SECONDS = 60.0


@pytest.fixture
def job(tmp_path: Path):
    """Starts the script as Slurm would; `scontrol` writes what it is asked into a file."""
    programs = tmp_path / "bin"
    programs.mkdir()
    stubs = {"gstream": f'exec {sys.executable} -m gstream "$@"', "scontrol": 'echo "$@" >>requeued'}
    for name, line in stubs.items():
        (programs / name).write_text(f"#!/bin/bash\n{line}\n")
        (programs / name).chmod(0o755)
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    given = {**os.environ, "PATH": path, "SLURM_JOB_ID": "77", "SLURM_CPUS_PER_TASK": "1"}

    def start(*arguments: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["bash", str(SCRIPT), *map(str, arguments)], cwd=tmp_path, env=given, text=True, stderr=subprocess.PIPE
        )

    return start


@pytest.mark.long
def test_a_job_is_kept_put_back_and_goes_on(tmp_path: Path, store: Path, gstream: Command, job) -> None:
    (tmp_path / "count.py").write_text(ENDLESS)
    command = ["count.py", store, "out.csv"]
    first = job(*command, "--checkpoint-every", "1")
    until = time.monotonic() + WAIT_SECONDS
    while not (tmp_path / "out.csv.kept/slot-0").exists() and time.monotonic() < until and first.poll() is None:
        time.sleep(0.01)
    first.send_signal(signal.SIGTERM)
    _, err = first.communicate(timeout=WAIT_SECONDS)
    assert first.returncode == 143, err
    kept = re.search(r"stopped by SIGTERM; .*after superstep (\d+)", err)
    assert kept and (tmp_path / "requeued").read_text() == "requeue 77\n"
    assert not (tmp_path / "out.csv").exists()

    last = int(kept.group(1)) + 2
    second = job(*command, "--max-supersteps", last)
    _, err = second.communicate(timeout=WAIT_SECONDS)
    assert second.returncode == 0, err
    assert (tmp_path / "out.csv").read_text().splitlines()[1:] == [f"{v},{last}" for v in range(1, 8)]
    assert (tmp_path / "requeued").read_text().count("\n") == 1
    log = (tmp_path / "out.csv.log").read_text()
    assert log.count("gstream run count.py") == 2
    assert re.findall(r"ended with exit code (\d+)", log) == ["143", "0"]


def test_errors_do_not_put_a_job_back(tmp_path: Path, store: Path, job) -> None:
    failed = job("bfs", store, "out.csv", "--source", "99")
    _, err = failed.communicate(timeout=WAIT_SECONDS)
    assert failed.returncode == 2 and "source 99 is not a vertex" in err
    assert not (tmp_path / "requeued").exists()


def test_the_page_shows_the_script_that_is_tried() -> None:
    page = (ROOT / "docs" / "pages" / "how-to" / "slurm.md").read_text()
    assert f"```bash\n{SCRIPT.read_text()}```" in page
