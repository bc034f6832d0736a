"""README and docs are true: commands run and print what is shown, programs work, options, files and targets exist."""

from __future__ import annotations

import ast
import re
import tomllib
from inspect import signature
from pathlib import Path

import choice
import pytest

import gstream as package
from gstream.algorithms.registry import ALGORITHMS
from tests.cli.command import ROOT, Command
from tests.cli.pages import PAGES, RUN, Reader, hooks, pictures, reference, transcripts, without_gpus

COMMANDS = (
    "convert",
    "generate",
    "update",
    "run",
    "plan",
    "info",
    "verify",
    "export",
    "doctor",
    "show",
    "warm",
    "cache",
    "report",
)

PATHS = re.compile(r"`((?:gstream|pagestore|cuda|tests|bench|docs)/[\w./-]+)`")


@pytest.mark.parametrize("name", choice.seeds(6, RUN))
def test_a_page_from_top_to_bottom(name: str, gstream: Command, stores: dict[str, Path], tmp_path: Path) -> None:
    text = PAGES[name].read_text()
    transcripts.furnish(tmp_path, text, stores)
    reader = Reader(tmp_path, gstream)
    for block in transcripts.blocks(text):
        reader.read(block)


def test_output_that_differs_is_noticed(tmp_path: Path, gstream: Command) -> None:
    shown = ["vertex  rank", "a 0.1", "...", "written  x"]
    assert transcripts.differs(shown, "vertex  rank\na 0.10001\nb 0.1\nwritten y\n") == ""
    assert transcripts.differs(shown, "vertex  rank\na 0.25\nb 0.1\nwritten y\n") == "a 0.1"
    assert transcripts.differs(shown, "vertex  rank\nb 0.25\nwritten y\n") == "a 0.1"
    assert transcripts.differs(shown, "a 0.1\nvertex  rank\nwritten y\n") == "a 0.1"
    (block,) = transcripts.blocks("<!-- run: error -->\n```console\n$ gstream info none.gs\nanother line\n```\n")
    with pytest.raises(AssertionError):
        Reader(tmp_path, gstream).read(block)


def test_pages_are_read_as_they_are_written() -> None:
    text = "x\n```python\n# a.py\npass\n```\n<!-- run: gpu error -->\n```console\n$ gstream a \\\nb\nc\n$ d\n```\n"
    first, second = transcripts.blocks(text)
    assert (first.kind, transcripts.file_name(first), first.marks) == ("python", "a.py", frozenset())
    assert second.marks == {"gpu", "error"}
    assert [tuple(one) for one in transcripts.commands(second)] == [("gstream a b", ["c"]), ("d", [])]
    assert (
        without_gpus("gstream run x --gpus 2 --devices cuda:0,3") == "gstream run x --devices host:2 --devices host:2"
    )


def test_every_option_that_is_named_exists(gstream: Command) -> None:
    helps = "".join(gstream(command, "--help").stdout for command in COMMANDS)
    for name, path in PAGES.items():
        for option in set(re.findall(r"`(--[a-z-]+)", path.read_text())):
            assert option in helps, (name, option)


@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_names_exists(name: str) -> None:
    """Files of the repository, pages that it links to, targets of the Makefile, extras."""
    text = PAGES[name].read_text()
    for path in PATHS.findall(text):
        assert list(ROOT.glob(path)), path
    for link in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", text):
        assert (
            (PAGES[name].parent / link).exists() or link.endswith(".svg") and (ROOT / "bench/results" / link).exists()
        ), link
    for line in (line for block in transcripts.blocks(text) if block.kind == "bash" for line in block.lines):
        for path in re.findall(r"(?:^|[ =\"'])((?:docs|bench|tests)/[\w./-]+)", line):
            assert (ROOT / path).exists(), line
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert targets is not None
    for target in re.findall(
        r"`?make ([a-z-]+)[` \n]", "\n".join(re.findall(r"`make [^`]*`|^make .*$", text, re.MULTILINE)) + "\n"
    ):
        assert target in targets[1].split(), target
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra in re.findall(r"'\.\[(\w+)\]'", text):
        assert extra in extras, extra


def test_every_algorithm_stands_in_both_tables() -> None:
    """README's is what docs/reference.py makes of the declarations."""
    assert reference.algorithm_table() in PAGES["README.md"].read_text()
    assert all(f"| `{name}` | " in reference.needs() for name in ALGORITHMS)
    text = PAGES["docs/pages/reference/algorithms.md"].read_text()
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", text, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} >= set(ALGORITHMS)


def test_type_checkers_see_the_methods_that_are_declared() -> None:
    """gstream/methods.pyi is what docs/reference.py makes (`make stubs`), and that is what Graph has."""
    stubs = reference.STUBS.read_text()
    assert stubs == reference.method_stubs()
    seen = {node.name: node for node in ast.walk(ast.parse(stubs)) if isinstance(node, ast.FunctionDef)}
    for name in ALGORITHMS:
        method = getattr(package.Graph, name)
        taken = [one for one in signature(method).parameters.values() if one.kind is not one.VAR_KEYWORD]
        typed = [ast.unparse(one.annotation) for one in seen[name].args.args[1:] if one.annotation]
        assert [one.arg for one in seen[name].args.args] == [one.name for one in taken]
        assert typed == [one.annotation for one in taken[1:]]
        assert [ast.literal_eval(one) for one in seen[name].args.defaults] == [one.default for one in taken[1:]]
        assert (ast.get_docstring(seen[name]) or "").split() == method.__doc__.split()


def test_the_readme_is_a_front_page() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.encode()) <= 8192
    assert len(re.findall(r"!\[", text)) == 1
    speeds = text.split("## Speeds\n")[1].split("\n## ")[0]
    assert len(re.findall(r"^\|", speeds, re.MULTILINE)) in range(5, 2 + 8 + 1)


def test_pictures_are_those_that_the_script_makes() -> None:
    for picture in pictures.PICTURES:
        assert (pictures.FOLDER / f"{picture.__name__}.svg").read_text() == picture().svg()
    assert len(list(pictures.FOLDER.glob("*.svg"))) == len(pictures.PICTURES)


def test_every_page_has_its_place_in_the_site() -> None:
    listed = set(re.findall(r": ([\w/-]+\.md)$", (ROOT / "docs" / "mkdocs.yml").read_text(), re.MULTILINE))
    assert listed == {str(path.relative_to(transcripts.PAGES)) for path in transcripts.PAGES.rglob("*.md")}


def test_generated_reference_text_has_every_command_and_algorithm() -> None:
    text = hooks.filled("<!-- generated command_line -->\n<!-- generated algorithms -->\n<!-- include LICENSE -->\n")
    for command in COMMANDS:
        assert f"## gstream {command}\n" in text
    assert "| `--host-memory SIZE` | Memory that the run may use" in text
    assert all(f"### {name}\n" in text for name in ALGORITHMS)
    assert "MIT License" in text and "<!--" not in text


def test_every_variable_of_gstream_is_documented() -> None:
    page = PAGES["docs/pages/reference/environment.md"].read_text()
    sources = [path.read_text() for folder in ("gstream", "pagestore") for path in (ROOT / folder).rglob("*.py")]
    named = {name for text in sources for name in re.findall(r"\bGSTREAM_[A-Z_]+\b", text)}
    assert named
    for name in named:
        assert f"`{name}" in page, name


def test_what_users_import_has_docstrings() -> None:
    for name in package.__all__:
        thing = getattr(package, name)
        if isinstance(thing, type):
            assert thing.__doc__, name
            for method, member in vars(thing).items():
                if callable(member) and not method.startswith("_"):
                    assert member.__doc__, f"{name}.{method}"


def test_the_shipped_graph_is_what_its_note_says(stores: dict[str, Path], gstream: Command) -> None:
    done = gstream("info", stores["debian.gs"])
    assert "64,046 vertices, 282,402 edges stored, directed" in done.stdout
    assert gstream("verify", stores["debian.gs"]).returncode == 0
    assert "64,046 packages, 282,402\nedges" in (ROOT / "gstream" / "data" / "README.md").read_text()
