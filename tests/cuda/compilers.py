"""g++ and nvcc as tests need them: units are kept on disk, tests skipped with a reason where one is missing."""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

import pytest

from gstream.cudacode.generate import kernels_in

HERE = Path(__file__).parent
CUDA = HERE.parent.parent / "cuda"
# Fibers jump between stacks (emulate.h), which glibc takes for an attack in what is fortified, as by default on Ubuntu.
UNFORTIFIED = ("-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=0")
GXX = ("g++", "-std=c++17", "-fPIC", "-ffp-contract=off", "-w")
KEPT = HERE.parent.parent / ".pytest_cache" / "units"  # of all workers and runs
WEEK_S = 7 * 24 * 3600
needs_gxx = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++: apt install g++")
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc: install the CUDA toolkit")


def shared_library(text: str, *options: str) -> ctypes.CDLL:
    """Compile C++ text (with cuda/ and tests/cuda/ to include from) and load it."""
    return ctypes.CDLL(str(built_library(text, "-O0", *options)))


def built_library(text: str, *options: str) -> Path:
    """The library of C++ text, under a name that says what it was made from: the text, the headers, and how."""
    path = kept_folder() / f"{_digest(text, *options)}.so"
    with alone(path):
        if path.exists():
            os.utime(path)  # forget_old
            return path
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            source, made = Path(folder, "unit.cc"), Path(folder, "unit.so")
            source.write_text(text)
            _gxx("-shared", *options, f"-I{_headers(*options)}", f"-I{CUDA}", f"-I{HERE}", "-o", made, source)
            os.replace(made, path)  # whole, whenever this process ends
    return path


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Let no other thread or process of ranks, workers and children make the same file meanwhile: one compiles, the
    others find what it made."""
    with open(path.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)  # closing alone does not, where another thread has forked


def _headers(*options: str) -> Path:
    """A folder with emulate.h and what g++ has made of it: most of a unit's text is the standard library's."""
    path = kept_folder() / f"{_digest(*options)}.headers"
    with alone(path):
        if not path.exists():
            with tempfile.TemporaryDirectory(dir=path.parent) as folder:
                made = Path(folder, "headers")
                made.mkdir()
                shutil.copy(HERE / "emulate.h", made)
                _gxx("-x", "c++-header", *options, "-o", made / "emulate.h.gch", made / "emulate.h")
                made.rename(path)
    return path


def _gxx(*options: str | Path) -> None:
    done = subprocess.run([*GXX, *UNFORTIFIED, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]


@lru_cache
def _sources() -> str:
    """The compiler, and all that a unit may include."""
    version = subprocess.run(["g++", "--version"], capture_output=True, text=True).stdout
    return "".join([version, *(path.read_text() for path in sorted([*CUDA.glob("*.cu*"), *HERE.glob("*.h")]))])


def _digest(*made_from: str) -> str:
    return hashlib.sha256("\0".join([_sources(), *GXX, *made_from]).encode()).hexdigest()[:24]


@lru_cache
def kept_folder() -> Path:
    """KEPT, or a temporary folder where it can't be written."""
    try:
        KEPT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=KEPT):
            forget_old(KEPT)
            return KEPT
    except OSError:
        folder = tempfile.mkdtemp(prefix="gstream-units-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)


def forget_old(folder: Path) -> None:
    """Remove what nobody has used for a week."""
    for path in folder.iterdir():
        with suppress(OSError):
            if path.stat().st_mtime < time.time() - WEEK_S:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


THREADS = {"PULL_": 256, "SELECT_": 64, "VERTEX_": 128, "": 64}  # of a block, in place of the GPU's 256 to 1024
# Kernels whose callers count on the GPU's THREADS: as many as there may be samples, or values for a warp each.
GPUS_THREADS = {"giant_kernel", "best_of_warps_kernel"}


def small_blocks(unit) -> tuple[str, dict[str, int]]:
    """A unit's text, and the threads of a block by kernel: each that waits is a fiber, and most have nothing to do.

    Pages are selected by 64, so that small graphs have more of them than a block has threads, and that in two warps.
    """
    text = unit.text
    for name, threads in THREADS.items():
        if name or not GPUS_THREADS & unit.kernels.keys():
            text = re.sub(rf"^(constexpr u32 {name}THREADS =) \d+;", rf"\1 {threads};", text, flags=re.MULTILINE)
    return text, {name: kernel.threads for name, kernel in kernels_in(text).items()}


def compile_unit(unit) -> Path:
    """What stands for Unit.compile: a library with a function run_NAME for each kernel."""
    text, blocks = small_blocks(unit)
    texts = ['#include "emulate.h"', text]
    for name, threads in blocks.items():
        texts.append(
            f'extern "C" void run_{name}(unsigned grid, const unsigned long long* given) {{\n'
            f"    emulated::call({name}, grid, {threads}, given);\n}}"
        )
    return built_library("\n".join(texts), "-Og")  # half of -O1's time, which few runs repay
