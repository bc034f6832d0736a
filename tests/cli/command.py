"""The command line for tests: in this process, which is quick, or as a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
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
OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)")
COMMAND = re.compile(r"gstream (\w+)|([Cc]onvert)")
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


@cache
def options_of(command: str) -> set[str]:
    """Names of a command's options, without their dashes."""
    import typer

    from gstream.cli.commands import app_of

    known = typer.main.get_command(app_of()).commands.get(command)
    return {"help"} | {name[2:] for option in known.params for name in (*option.opts, *option.secondary_opts)
                       if name.startswith("--")} if known else {"help", "version"}  # fmt: skip


def options_it_lacks(arguments: Sequence[object], said: str) -> list[str]:
    """Options in lines of `gstream ARGUMENTS` that were not typed, and which neither it has nor a command that the line
    names; a conversion is named by `convert`."""
    words = [str(word) for word in arguments]
    own = options_of(words[0] if words else "") | {word[2:].partition("=")[0] for word in words}
    lacking = []
    for line in said.splitlines():
        for option in OPTION.finditer(line):
            named = COMMAND.findall(line)
            if option[1] not in own.union(*(options_of(name or "convert") for name, _ in named)):
                lacking.append(option[0])
    return lacking
