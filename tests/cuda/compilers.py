"""g++ and nvcc as tests need them: one compilation, cached by nothing, skipped with a reason where it is missing."""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CUDA = HERE.parent.parent / "cuda"
# Fibers jump between stacks (emulate.h), which glibc takes for an attack in what is fortified, as by default on Ubuntu.
UNFORTIFIED = ("-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=0")
needs_gxx = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++: apt install g++")
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc: install the CUDA toolkit")


def shared_library(folder: Path, text: str, *options: str) -> ctypes.CDLL:
    """Compile C++ text (with cuda/ and tests/cuda/ to include from) into a library and load it."""
    source, library = folder / "unit.cc", folder / "unit.so"
    source.write_text(text)
    command = ["g++", "-std=c++17", "-O0", "-shared", "-fPIC", "-ffp-contract=off", "-w", f"-I{CUDA}", f"-I{HERE}"]
    done = subprocess.run([*command, *UNFORTIFIED, *options, "-o", library, source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]
    return ctypes.CDLL(str(library))


def small_blocks(text: str) -> str:
    """A unit whose blocks have 256 threads at most: every one is a fiber, and most have nothing to do.

    Pages are selected by 64, so that small graphs have more of them than a block has threads, and that in two warps.
    """
    for name, threads in (("PULL", 256), ("SELECT", 64)):
        text = text.replace(f"{name}_THREADS = 1024;", f"{name}_THREADS = {threads};")
    return text


def threads_of(kernel) -> int:
    return 64 if kernel.name == "select_pages_kernel" else min(kernel.threads, 256 if "pull" in kernel.name else 1024)


def compile_unit(unit, folder: Path) -> Path:
    """What stands for Unit.compile: a library with a function run_NAME for each kernel."""
    path = folder / hashlib.sha256(unit.text.encode()).hexdigest()[:16]
    if not path.exists():
        path.mkdir()
        texts = ['#include "emulate.h"', small_blocks(unit.text)]
        for kernel in unit.kernels.values():
            texts.append(
                f'extern "C" void run_{kernel.name}(unsigned grid, const unsigned long long* given) {{\n'
                f"    emulated::call({kernel.name}, grid, {threads_of(kernel)}, given);\n}}"
            )
        shared_library(path, "\n".join(texts), "-O1")
    return path / "unit.so"
