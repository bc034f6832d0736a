"""The pages of README and docs for tests: their blocks run in this process, on host devices where they ask for GPUs."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.cli.command import ROOT, Command

sys.path.insert(0, str(ROOT / "docs"))
try:
    import hooks
    import pictures
    import reference
    import transcripts
finally:
    sys.path.remove(str(ROOT / "docs"))

__all__ = ["PAGES", "RUN", "Reader", "hooks", "pictures", "reference", "transcripts", "without_gpus"]

PAGES = {str(path.relative_to(ROOT)): path for path in transcripts.all_pages()}
RUN = [
    name
    for name, path in PAGES.items()
    if any(b.kind in ("console", "python") for b in transcripts.blocks(path.read_text()))
]
SHELL = ("head ", "printf ", "cat ", "mkdir ")  # what else than gstream and python pages may call


class Reader:
    """Runs the blocks of a page, in its folder, and holds what they print against what the page shows."""

    def __init__(self, folder: Path, gstream: Command) -> None:
        self.folder, self.gstream = folder, gstream
        self.space: dict[str, Any] = {"__name__": "page"}
        self.printed = ""
        self.installed = False  # the page made a package of its folder: what comes runs in processes, which find it

    def read(self, block: Any) -> None:
        """Run one block."""
        if block.kind == "python":
            self._python(block)
        elif block.kind == "console":
            for shown in transcripts.commands(block):
                self._console(shown, block.marks)
        elif block.kind == "toml":
            transcripts.install(self.folder, block)
            self.installed = True
        elif "output" in block.marks:
            assert self.printed.split() == "\n".join(block.lines).split(), self.printed

    def _python(self, block: Any) -> None:
        text = "\n".join(block.lines) + "\n"
        if name := transcripts.file_name(block):
            (self.folder / name).write_text(text)
            return
        (self.folder / "block.py").write_text(text)  # where gstream reads the text of programs
        if self.installed:
            self.printed = self._process("block.py").stdout
            return
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(text, str(self.folder / "block.py"), "exec"), self.space)
        self.printed = out.getvalue()

    def _console(self, shown: Any, marks: frozenset[str]) -> None:
        if not shown.command.startswith("gstream "):
            assert shown.command.startswith((*SHELL, "python ")), shown.command
            command = re.sub("^python ", f"{shlex.quote(sys.executable)} ", shown.command)
            printed = subprocess.check_output(["bash", "-c", command], text=True)
            assert transcripts.differs(shown.output, printed) == "", shown.command
            return
        line, _, file = shown.command.partition(" > ")
        if "gpu" in marks:
            line = without_gpus(line)
        words = shlex.split(line)[1:]
        done = self._process("-m", "gstream", *words) if self.installed else self.gstream(*words)
        if file:
            Path(file).write_text(done.stdout)
        if "error" in marks:
            assert done.returncode not in (0, 1), line
            assert numbered(done.stderr) == numbered("\n".join(shown.output)) + "\n"
        else:
            assert done.returncode == 0, (line, done.stderr)
            printed = done.stderr + done.stdout if line.startswith("gstream convert") else done.stdout + done.stderr
            assert transcripts.differs(shown.output, printed) == "", line

    def _process(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=self.folder, env=environment, text=True, capture_output=True)


def numbered(text: str) -> str:
    return re.sub(r"\d+(\.\d+)?", "N", text)


def without_gpus(line: str) -> str:
    """The command on host devices, as many as it asks GPUs for."""
    line = re.sub(r"--gpus (\d+)", r"--devices host:\1", line)
    return re.sub(r"cuda:([\d,]+)", lambda found: f"host:{found[1].count(',') + 1}", line)
