"""The README is true: its commands run, its programs and Python work, its error messages are the ones printed."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.command import ROOT, Command

SHIPPED = ROOT / "gstream" / "data" / "debian.txt.gz"


class Block(NamedTuple):
    """A fenced block of the README: its language line and its lines."""

    language: str
    lines: list[str]


def blocks() -> list[Block]:
    """The fenced blocks, in order."""
    found = re.findall(r"^```(.*?)\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    return [Block(language, text.splitlines()) for language, text in found]


def without_numbers(text: str) -> str:
    return re.sub(r"\d+(\.\d+)?", "N", text)


def test_the_readme_from_top_to_bottom(tmp_path: Path, gstream: Command, capfd: pytest.CaptureFixture[str]) -> None:
    shutil.copy(SHIPPED, tmp_path / "debian.txt.gz")
    (tmp_path / "bad.txt").write_text("1 2\n3 -4\n")
    commands = programs = 0
    for block in blocks():
        if block.language == "python":
            text = "\n".join(block.lines) + "\n"
            name = re.match(r"# (\w+\.py)", text)
            if name:
                (tmp_path / name.group(1)).write_text(text)
            else:
                exec(compile(text, "README.md", "exec"), {})
            programs += 1
        for position, line in enumerate(block.lines):
            if not line.startswith("$ gstream "):
                continue
            if "cut.gs" in line:
                (tmp_path / "cut.gs").write_bytes((tmp_path / "debian.gs").read_bytes()[:100_000])
            done = gstream(*shlex.split(line.split(">")[0])[2:])
            commands += 1
            if block.language == "console error":
                assert done.returncode not in (0, 1), line
                assert without_numbers(done.stderr) == without_numbers(block.lines[position + 1]) + "\n"
            else:
                assert done.returncode == 0, (line, done.stderr)
    assert commands >= 12
    assert programs == 2
    assert (tmp_path / "distances.csv").read_text().count("\n") == 64_047


def test_every_option_and_command_it_names_exists(gstream: Command) -> None:
    text = (ROOT / "README.md").read_text()
    helps = "".join(
        gstream(command, "--help").stdout
        for command in ("convert", "generate", "run", "plan", "info", "verify", "export", "doctor")
    )
    for option in set(re.findall(r"`(--[a-z-]+)", text)):
        assert option in helps, option


def test_the_shipped_graph_is_what_its_note_says(tmp_path: Path, gstream: Command) -> None:
    assert gstream("convert", SHIPPED, "debian.gs").returncode == 0
    done = gstream("info", "debian.gs")
    assert "64,046 vertices, 282,402 edges stored, directed" in done.stdout
    assert gstream("verify", "debian.gs").returncode == 0
    assert "64,046 packages, 282,402\nedges" in (ROOT / "gstream" / "data" / "README.md").read_text()
