"""Commands in several processes, by PyPI's mpich."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
MPIEXEC = Path(sys.executable).with_name("mpiexec")


def environment() -> dict[str, str]:
    """That of processes that load this checkout."""
    path = os.pathsep.join(filter(None, [str(HERE.parent.parent), str(HERE), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": os.pathsep.join([path, str(HERE.parent / "engine")])}


def mpiexec(ranks: int, *words: object, cwd: Path, seconds: float = 300.0) -> subprocess.CompletedProcess[str]:
    """`python WORDS` in so many ranks."""
    command = [str(MPIEXEC), "-n", str(ranks), sys.executable, *map(str, words)]
    return subprocess.run(command, cwd=cwd, env=environment(), capture_output=True, text=True, timeout=seconds)
