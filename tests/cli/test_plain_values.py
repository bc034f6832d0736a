"""Texts, names of files, and numbers in digits reach a command as they are.

Other values go to typer's own converters: values, errors and messages are the same as without our short cut.
"""

# ruff: noqa: B008  (typer declares options in default values)

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import typer

from gstream.cli.plain_values import take_plainly


def command_of(seen):
    def command(
        word: str = typer.Argument(...),
        several: list[str] = typer.Option(None, "--several"),
        path: Path = typer.Option(None, "--path"),
        paths: list[Path] = typer.Option(None, "--paths"),
        there: Path = typer.Option(None, "--there", exists=True),
        count: int = typer.Option(3, "--count", min=1),
        number: int = typer.Option(4, "--number"),
        rate: float = typer.Option(None, "--rate"),
        rows: int = typer.Option(None, "--rows", min=0),
        on: bool = typer.Option(False, "--on/--off"),
    ) -> None:
        seen.append(dict(locals()))

    app = typer.Typer(add_completion=False)
    app.command()(command)
    return typer.main.get_command(app)


CASES = [
    ["a", "--rows", "0"],
    ["a", "--rows", "-1"],
    ["a"],
    ["", "--several", "x", "--several", "--y"],
    ["a", "--path", "p/q", "--paths", "r", "--paths", "s"],
    ["a", "--path", "/", "--there", "/"],
    ["a", "--there", "/no/such/place"],
    ["a", "--count", "5", "--rate", "0.5", "--on"],
    ["a", "--count", "0"],
    ["a", "--count", "x"],
    ["a", "--rate", "x"],
    *(
        ["a", option, word]
        for option in ("--number", "--rate")
        for word in ("-7", "007", "0.1", "1_000", " 3", "+2", "3.0", "1e3", "\u0663", "9" * 30, "inf", "-0")
    ),
    [],
]


@pytest.mark.parametrize("arguments", CASES, ids=" ".join)
def test_values_are_those_of_typer(arguments):
    found = []
    for plainly in (False, True):
        seen = []
        command = command_of(seen)
        if plainly:
            take_plainly(command)
        try:
            command(args=list(arguments), standalone_mode=False)
            found.append([{key: value for key, value in seen[0].items() if key != "seen"}])
        except Exception as error:
            found.append((type(error).__name__, error.format_message()))
    assert found[0] == found[1]


def test_short_commands_do_without_converters():
    import os
    import subprocess

    code = "import sys; from gstream.cli.commands import run_command_line as run; run(sys.argv[1:]);"
    code += "print('pydantic' in sys.modules)"
    command = [
        sys.executable,
        "-c",
        code,
        "run",
        "pagerank",
        "no.gs",
        "--iterations",
        "3",
        "--alpha",
        "0.9",
        "-o",
        "y.csv",
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert done.stdout.split()[-1] == "False" and "no.gs" in done.stderr
