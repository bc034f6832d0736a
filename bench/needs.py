"""What bench/gpu.py and bench/thesis.py need of the interpreter, asked before they import it: one line where it lacks.

They run with the interpreter at hand and install nothing. Devices are asked for later (bench.link.Devices.check).
"""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from pathlib import Path

LEAST_PYTHON = (3, 11)
EXIT_MISSING = 3  # as the gstream command has it
PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def absent() -> list[str]:
    """gstream's libraries that can't be imported here; their names are those of their packages."""
    import tomllib

    wanted = tomllib.loads(PROJECT.read_text())["project"]["dependencies"]
    return [name for text in wanted for name in re.findall(r"^\w+", text) if find_spec(name) is None]


def check() -> None:
    """Say what is missing, and how to get it, and end the process; or return."""
    here = f"{sys.executable} is Python {sys.version_info.major}.{sys.version_info.minor}"
    other = "or name an interpreter that has them: make bench-gpu PYTHON=.venv/bin/python"
    if sys.version_info < LEAST_PYTHON:
        text = f"{here}; Python {'.'.join(map(str, LEAST_PYTHON))} or newer is needed. Install it, {other}"
    elif missing := absent():
        install = f"{sys.executable} -m pip install '.[cuda,bench]'"
        text = f"{here} and has no {', '.join(missing)}. Install: {install}; {other}"
    else:
        return
    print(text, file=sys.stderr)
    sys.exit(EXIT_MISSING)
