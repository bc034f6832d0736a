"""Commands in several processes, by PyPI's mpich."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
MPIEXEC = Path(sys.executable).with_name("mpiexec")


def environment(fault: str = "") -> dict[str, str]:
    """That of processes that load this checkout. fault: of tests/ranks/faulty.py."""
    path = os.pathsep.join(filter(None, [str(HERE.parent.parent), str(HERE), os.environ.get("PYTHONPATH", "")]))
    own = {"FAULT": fault, "PYTHONPATH": os.pathsep.join([path, str(HERE.parent / "engine")])}
    # MPICH's ranks that wait give their core away: there are more of them than cores.
    return {**os.environ, "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1", **own}


def mpiexec(
    ranks: int, *words: object, cwd: Path, seconds: float = 300.0, fault: str = ""
) -> subprocess.CompletedProcess[str]:
    """`python WORDS` in so many ranks."""
    return launched([MPIEXEC, "-n", ranks, sys.executable], *words, cwd=cwd, seconds=seconds, fault=fault)


def launched(
    launcher: list[object], *words: object, cwd: Path, seconds: float = 300.0, fault: str = ""
) -> subprocess.CompletedProcess[str]:
    """A command."""
    command = [str(word) for word in (*launcher, *words)]
    return subprocess.run(command, cwd=cwd, env=environment(fault), capture_output=True, text=True, timeout=seconds)
