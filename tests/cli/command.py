"""The command line for tests: in this process, which is quick, or as a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ENDLESS = '''
from gstream import SUM, Program, f64

class Count(Program):
    """How many supersteps were made."""
    combine, value = SUM, f64

    def start(self, v, g):
        return 0.0

    def send(self, u, e, g):
        return u.value

    def apply(self, v, got, g):
        return v.value + 1.0
'''
PROGRAM = '''
from gstream import MIN, Program, u32

class Least(Program):
    """The least vertex that reaches v."""
    combine, value = MIN, u32
    bias: int = 0

    def start(self, v, g):
        return v.id + self.bias

    def send(self, u, e, g):
        return u.value
'''

ROOT = Path(__file__).resolve().parents[2]
EDGES = "# a small graph\n1 2\n2 3\n3 1\n3 4\n4 5\n6 7\n"


class Done(NamedTuple):
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


Command = Callable[..., Done]


def start(*arguments: object, cwd: Path) -> subprocess.Popen[str]:
    """`python -m gstream ARGUMENTS` as a process with text pipes."""
    return subprocess.Popen(
        [sys.executable, "-m", "gstream", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
    )


def run(*arguments: object, cwd: Path, stdin: str | None = None, timeout: float = 600) -> Done:
    """Run a process to its end."""
    process = start(*arguments, cwd=cwd)
    out, err = process.communicate(stdin, timeout=timeout)
    return Done(process.returncode, out, err)
