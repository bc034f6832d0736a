"""Commands in several processes, by PyPI's mpich, and graphs in as many parts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import gstream

HERE = Path(__file__).parent
CUDA_TESTS = HERE.parent / "cuda"
RULE = "-" * 74 + "\n"
MPIEXEC = Path(sys.executable).with_name("mpiexec")


def environment(fault: str = "", path: Path | None = None) -> dict[str, str]:
    """That of processes that load this checkout. fault: of tests/ranks/faulty.py. path: a folder of modules, too."""
    found = [HERE.parent.parent, HERE, path, os.environ.get("PYTHONPATH"), HERE.parent / "engine"]
    own = {"FAULT": fault, "PYTHONPATH": os.pathsep.join(str(folder) for folder in found if folder)}
    # MPICH's ranks that wait give their core away: there are more of them than cores.
    return {**os.environ, "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1", **own}


def mpiexec(
    ranks: int, *words: object, cwd: Path, seconds: float = 300.0, fault: str = "", path: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """`python WORDS` in so many ranks."""
    return launched([MPIEXEC, "-n", ranks, sys.executable], *words, cwd=cwd, seconds=seconds, fault=fault, path=path)


def launched(
    launcher: list[object], *words: object, cwd: Path, seconds: float = 300.0, fault: str = "", path: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """A command."""
    command = [str(word) for word in (*launcher, *words)]
    return subprocess.run(
        command, cwd=cwd, env=environment(fault, path), capture_output=True, text=True, timeout=seconds
    )


def lines_of_ours(said: str) -> list[str]:
    """Standard error of a command without what mpiexec says: MPICH's lines, and Open MPI's between two rules."""
    own = "".join(said.split(RULE)[::2]).replace("\0", "")
    ours = [line for line in own.splitlines() if line and not line.startswith(("application called", "=", "["))]
    return [line for line in ours if "MPI_Abort" not in line or "Traceback" in line]


def split_all(stores: Path, count: int) -> None:
    """Have every store in so many parts, too."""
    for store in stores.glob("*.gs"):
        if not (parts := store.with_suffix(f".{count}.parts")).exists():
            gstream.split(store, parts, count, threads=1)
