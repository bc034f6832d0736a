"""Messages speak of options on the command line, and of keywords where Python called."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import typer

from gstream import open as open_graph
from gstream.cli.commands import app_of
from gstream.cli.failures import describe
from gstream.options.wording import OPTION, say_in_python
from pagestore.errors import GstreamError
from tests.cli.command import ROOT, Command


@pytest.mark.parametrize(
    ("line", "spoken"),
    [
        (
            "--host-memory 10 bytes: too little. Raise --host-memory.",
            "host_memory 10 bytes: too little. Raise host_memory.",
        ),
        ("--batch: 0 is too small.", "batch_bytes: 0 is too small."),
        (
            "Pass --resume to go on, --force to start afresh.",
            "Pass resume=True to go on, replace_checkpoint=True to start afresh.",
        ),
        ("Pass --devices host.", 'Pass devices="host".'),
        ("--devices host:99: 99 devices", "devices host:99: 99 devices"),
        ("Leave out --devices or --gpus to run on its cores.", "Leave out devices to run on its cores."),
        ("Pass --nodes FILE or --node ID.", "Pass nodes=FILE or nodes=[ID]."),
        (
            "levels --weighted needs weights (--weight-column N).",
            "levels weighted=True needs weights (--weight-column N).",
        ),
        ("Convert again with --topology both.", "Convert again with --topology both."),
        (
            "weights (--weight-column N, and not --no-weights), or run bfs.",
            "weights (weight_column=N of files, weight= of edges and tables, and not weights=False), or run bfs.",
        ),
    ],
)
def test_lines(line: str, spoken: str) -> None:
    assert say_in_python(line) == spoken


def test_all_messages_of_runs_have_python_words() -> None:
    """What is left of the command line's words in texts outside gstream.cli are options of these commands."""
    command = typer.main.get_command(app_of())
    options = [option for name in ("convert", "update", "doctor") for option in command.commands[name].params]
    convert = {name for option in options for name in [*option.opts, *option.secondary_opts]}
    seen = set()
    for path in (ROOT / "gstream").rglob("*.py"):
        if "cli" in path.relative_to(ROOT).parts or path.name == "plots.py":  # of the command line alone
            continue
        tree = ast.parse(path.read_text())
        documented = {
            node.body[0].value for node in ast.walk(tree) if getattr(node, "body", None) and is_text(node.body)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in documented:
                seen |= {found.group(1) for found in OPTION.finditer(node.value)}
                for found in OPTION.finditer(say_in_python(node.value)):
                    assert f"--{found.group(1)}" in convert, (path, node.lineno, node.value)
    assert {"host-memory", "force", "resume", "alpha", "certify"} <= seen


def is_text(body: object) -> bool:
    """Whether a block begins with a docstring."""
    return isinstance(body, list) and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)


def test_the_same_error_in_both_words(store: Path, gstream: Command) -> None:
    done = gstream("run", "pagerank", store, "--checkpoint", "kept", "--checkpoint-every", "1")
    assert done.returncode == 0
    done = gstream("run", "pagerank", store, "--checkpoint", "kept")
    assert done.stderr.endswith("Pass --resume to go on from it, --force to start afresh, or name another folder.\n")
    with open_graph(store) as graph, pytest.raises(GstreamError) as caught:
        graph.pagerank(checkpoint="kept")
    assert "Pass resume=True to go on from it, replace_checkpoint=True to start afresh" in str(caught.value)
    assert describe(caught.value) == (2, done.stderr.rstrip("\n")), "the command line's words are kept"


def test_an_algorithm_in_place_of_a_command(gstream: Command) -> None:
    done = gstream("pagerank", "my web.gs", "--tol", "1")
    said = "gstream: No such command 'pagerank'. Write gstream run pagerank 'my web.gs' --tol 1. See gstream --help.\n"
    assert (done.returncode, done.stderr) == (2, said)
    slip = gstream("pagernk", "web.gs").stderr
    assert "Did you mean gstream run pagerank web.gs?" in slip
