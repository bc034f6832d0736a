"""What a machine has of the CUDA toolkit and its helpers: nvcc, the C++ compiler that it calls, headers."""

from __future__ import annotations

import os
import shutil
import sysconfig
from pathlib import Path

HOMES = ("CUDA_HOME", "CUDA_ROOT", "CUDA_PATH")  # environment variables that say where the toolkit is
USUAL_HOMES = ("/usr/local/cuda",)
SYSTEM_INCLUDE = "/usr/include"
INCLUDES = ("CPATH", "CPLUS_INCLUDE_PATH", "CUDA_INC_DIR")


def nvcc_path() -> str | None:
    """nvcc on PATH, else in the toolkit's home."""
    homes = [os.environ[name] for name in HOMES if os.environ.get(name)]
    places = [os.path.join(home, "bin") for home in (*homes, *USUAL_HOMES)]
    return shutil.which("nvcc") or shutil.which("nvcc", path=os.pathsep.join(places))


def cpp_path() -> str | None:
    """The C++ compiler that nvcc calls, and that pycuda is built with."""
    return shutil.which(os.environ.get("NVCC_CCBIN") or "g++")


def lacking_headers() -> list[str]:
    """Headers that pycuda is built with and that are not where its build looks for them."""
    nvcc = nvcc_path()
    homes = [Path(os.environ[name]) for name in HOMES if os.environ.get(name)] + [Path(home) for home in USUAL_HOMES]
    homes += [Path(nvcc).resolve().parents[1]] if nvcc else []
    places = [Path(SYSTEM_INCLUDE), *(home / "include" for home in homes)]
    places += [place for home in homes for place in home.glob("targets/*/include")]
    places += [Path(place) for name in INCLUDES for place in os.environ.get(name, "").split(os.pathsep) if place]
    lacking = [name for name in ("cuda.h", "curand.h") if not any((place / name).is_file() for place in places)]
    return lacking + ([] if Path(sysconfig.get_path("include"), "Python.h").is_file() else ["Python.h"])
