"""The commands and programs of README and docs: found, run, and their shown output held against what they print.

Fenced blocks of three kinds are run, in the order of a page, in one folder:

    console     lines that begin with "$ " are commands; the lines below are what they print ("..." leaves lines out)
    python      programs; one whose first line is "# NAME.py" is a file that commands use
    toml        a pyproject.toml: from there on the folder counts as an installed package, with its entry points
    bash        installation and long jobs: nothing is run, but targets, extras and files that it names exist

A comment above a block, or anywhere in a page, says more: `<!-- run: WORDS -->`.

    error       the command fails with one line, which is shown
    gpu         takes GPUs: where there are none, host devices stand for them
    output      a text block: what the program above it printed
    with NAMES  the page begins with these stores

`python docs/transcripts.py PAGE...` runs pages and writes what their commands print into them.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "pages"
EXAMPLES = ROOT / "docs" / "examples"
SHIPPED = ROOT / "gstream" / "data" / "debian.txt.gz"
FENCE = re.compile(
    r"^(?:<!-- run: (?P<marks>[^>]*) -->\n)?```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
CUT = "== block =="
# The command line on a machine that no run has taught how long calls take: plans are the same everywhere.
UNTAUGHT = """
from gstream.cli import surroundings
surroundings.prepare()
from gstream.algorithms import call_times
from gstream.cli.main import main
call_times.lesson_of = lambda *_: None
main()
"""
ANSWERS = ("vertex", "component", "community")  # with which the head of a table of answers begins
NUMBER = re.compile(r"\d+(\.\d+)?(e-?\d+)?")
STORES = {"debian.gs": "convert debian.txt.gz debian.gs", "big.gs": "generate rmat big.gs --scale 18"}


class Block(NamedTuple):
    """A fenced block: its kind, the words of the comment above it, its lines, and where its text lies in the page."""

    kind: str
    marks: frozenset[str]
    lines: list[str]
    span: tuple[int, int]


class Shown(NamedTuple):
    """A command of a console block and the lines that are shown below it."""

    command: str
    output: list[str]


def all_pages() -> list[Path]:
    """README and every page of the docs."""
    return [ROOT / "README.md", *sorted(PAGES.rglob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return [
        Block(found["kind"], frozenset((found["marks"] or "").split()), found["text"].splitlines(), found.span("text"))
        for found in FENCE.finditer(text)
    ]


def stores_of(text: str) -> list[str]:
    """The stores that a page begins with."""
    return [name for names in re.findall(r"<!-- run: with ([^>]*) -->", text) for name in names.split()]


def commands(block: Block) -> list[Shown]:
    """The commands of a console block; one that ends in a backslash goes on in the next line."""
    found: list[Shown] = []
    lines = "\n".join(block.lines).replace("\\\n", "").split("\n")
    for line in lines:
        if line.startswith("$ "):
            found.append(Shown(line[2:], []))
        elif found:
            found[-1].output.append(line)
    return found


def file_name(block: Block) -> str:
    """The file that a Python block is, "" where it is to be run."""
    named = re.match(r"# (\w+\.py)$", block.lines[0])
    return named[1] if named else ""


def install(folder: Path, block: Block) -> None:
    """Make what pip would make of a pyproject.toml, for commands that run in the folder: its entry points are found."""
    project = tomllib.loads("\n".join(block.lines))["project"]
    made = folder / f"{project['name']}-{project['version']}.dist-info"
    made.mkdir()
    (made / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = project["entry-points"].items()
    lines = [f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in found.items()) for group, found in groups]
    (made / "entry_points.txt").write_text("\n".join(lines))


def first_words(lines: list[str]) -> list[str]:
    """The first word of each line, numbers as N: what output of another machine and time has in common."""
    return [re.sub(r"[-+\d.,]*\d", "N", line.split()[0]) for line in lines if line.split()]


def differs(shown: list[str], printed: str) -> str:
    """The shown line that was not printed, in that order; "" where all were. Rows of answers, and UUIDs, are compared
    whole, other lines by their first words."""
    rest, in_answer = [line for line in printed.splitlines() if line.split()], False
    for line in shown:
        words = line.split()
        in_answer = bool(words) and words[0] != "..." and (in_answer or words[0] in ANSWERS)
        if not words or words[0] == "...":
            continue
        alike = same_row if in_answer or words[0] == "uuid" else same_start
        at = next((at for at, other in enumerate(rest) if alike(line, other)), None)
        if at is None:
            return line
        rest = rest[at + 1 :]
    return ""


def same_start(line: str, other: str) -> bool:
    return first_words([line]) == first_words([other])


def same_row(line: str, other: str) -> bool:
    """Whether two rows of a table hold the same, numbers up to what sums in another order differ by."""
    one, two = line.split(), other.split()
    return len(one) == len(two) and all(
        a == b or (NUMBER.fullmatch(a) and NUMBER.fullmatch(b) and math.isclose(float(a), float(b), rel_tol=1e-3))
        for a, b in zip(one, two, strict=True)
    )


def furnish(folder: Path, text: str, bring: dict[str, Path]) -> None:
    """Put into a folder what a page begins with: the shipped graph, the examples, and its stores from `bring`."""
    shutil.copy(SHIPPED, folder)
    for example in EXAMPLES.iterdir():
        if example.is_file():
            shutil.copy(example, folder)
    for name in stores_of(text):
        shutil.copy(bring[name], folder)


def rewritten(text: str, folder: Path, environment: dict[str, str]) -> str:
    """The page with what its commands print, run one after the other in `folder`."""
    parts, at, printed, program = [], 0, "", ""
    for block in blocks(text):
        lines = block.lines
        if block.kind == "python" and file_name(block):
            (folder / file_name(block)).write_text("\n".join(lines) + "\n")
        elif block.kind == "python" and "gpu" not in block.marks:
            (folder / "block.py").write_text(f"{program}print({CUT!r})\n" + "\n".join(lines) + "\n")
            program = (folder / "block.py").read_text()
            printed = _run("python block.py", folder, environment).rpartition(CUT)[2].lstrip("\n")
        elif block.kind == "toml":
            install(folder, block)
        elif block.kind == "text" and "output" in block.marks:
            lines = kept(printed.splitlines(), lines)
        elif block.kind == "console" and "gpu" not in block.marks:
            lines = []
            for shown in commands(block):
                lines.append(f"$ {shown.command}")
                lines += kept(_run(shown.command, folder, environment).splitlines(), shown.output)
        parts += [text[at : block.span[0]], "\n".join(lines) + "\n"]
        at = block.span[1]
    return "".join((*parts, text[at:]))


def kept(printed: list[str], shown: list[str]) -> list[str]:
    """Of what was printed, as many lines before and after "..." as the page has now."""
    if "..." not in shown:
        return printed
    before, after = shown.index("..."), len(shown) - shown.index("...") - 1
    return [*printed[:before], "...", *(printed[-after:] if after else [])]


def _run(command: str, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return "\n".join(line.rstrip() for line in done.stdout.strip("\n").split("\n")) if done.stdout.strip() else ""


def main() -> None:
    """Rewrite the pages that the command line names."""
    with tempfile.TemporaryDirectory() as made:
        tools, stores = Path(made, "bin"), Path(made, "stores")
        tools.mkdir()
        stores.mkdir()
        for name, start in (("gstream", f"-c '{UNTAUGHT}'"), ("python", "")):
            (tools / name).write_text(f'#!/bin/sh\nexec {sys.executable} {start} "$@"\n')
            (tools / name).chmod(0o755)
        environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
        shutil.copy(SHIPPED, stores)
        for line in STORES.values():
            _run(f"gstream {line}", stores, environment)
        for page in map(Path, sys.argv[1:]):
            folder = Path(made, page.stem)
            folder.mkdir()
            text = page.read_text()
            furnish(folder, text, {name: stores / name for name in STORES})
            page.write_text(rewritten(text, folder, environment))


if __name__ == "__main__":
    main()
