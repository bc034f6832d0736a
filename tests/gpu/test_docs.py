"""The commands of the docs that ask for GPUs, as they stand there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from visible import NEEDS_GPU, gpus

from tests.cli.command import run
from tests.cli.pages import PAGES, transcripts

pytestmark = NEEDS_GPU
COMMANDS = [
    shown.command
    for path in PAGES.values()
    for block in transcripts.blocks(path.read_text())
    if block.kind == "console" and "gpu" in block.marks
    for shown in transcripts.commands(block)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the graph that these commands name."""
    made = tmp_path_factory.mktemp("docs")
    assert run(*transcripts.STORES["big.gs"].split(), cwd=made).returncode == 0
    return made


def wanted(command: str) -> int:
    """How many GPUs a command asks for."""
    named = re.search(r"cuda:([\d,]+)", command)
    count = re.search(r"--gpus (\d+)", command)
    return 1 + int(max(named[1].split(","), key=int)) if named else int(count[1]) if count else 1


ASKED = [  # the docs show machines of several GPUs, which this one may not be
    pytest.param(one, marks=pytest.mark.skipif(wanted(one) > gpus(), reason=f"the command names {wanted(one)} GPUs"))
    for one in COMMANDS
]


@pytest.mark.parametrize("command", ASKED)
def test_a_command_for_gpus(command: str, folder: Path) -> None:
    done = run(*shlex.split(command)[1:], cwd=folder)
    assert done.returncode == 0, done.stderr
