"""An algorithm is one file: that of docs/pages/how-to/adding-an-algorithm.md is added, by either way, and run.

test_readme.py runs the page itself, whose file is that of an installed package.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import choice
import numpy as np
import pytest

import gstream
from gstream.algorithms import registry
from gstream.algorithms.declaration import NUMBER, Algorithm, Option
from gstream.algorithms.execute import execute
from gstream.algorithms.support.refusal import CertificateError
from gstream.algorithms.support.session import Session
from pagestore.errors import UsageError
from tests.answers.graphs import hub_example
from tests.cli.command import ROOT
from tests.cli.pages import PAGES, transcripts

BLOCKS = transcripts.blocks(PAGES["docs/pages/how-to/adding-an-algorithm.md"].read_text())
TEXT = "\n".join(next(block.lines for block in BLOCKS if transcripts.file_name(block))) + "\n"
PACKAGE = next(block for block in BLOCKS if block.kind == "toml")


def python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Python in a folder whose gstream, or else the checkout's, it finds."""
    environment = {**os.environ, "PYTHONPATH": f"{folder}:{ROOT}", "COLUMNS": "300"}
    return subprocess.run([sys.executable, *words], cwd=folder, env=environment, text=True, capture_output=True)


@pytest.fixture
def hardest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Algorithm:
    """The declaration of the page's file."""
    (tmp_path / "hardest.py").write_text(TEXT)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "hardest", raising=False)
    (found,) = registry.declared_in(tmp_path / "hardest.py", "hardest")
    assert "hardest" not in sys.modules
    return found


@pytest.mark.covering(1)
@pytest.mark.parametrize("devices", ["host", "host:2"])
@pytest.mark.parametrize("most", [None, 3])
def test_its_answer_and_its_certificate(tmp_path: Path, hardest: Algorithm, devices: str, most: int | None) -> None:
    example = hub_example()
    degree = np.bincount(example.source, minlength=example.vertices)
    expected = np.zeros(example.vertices, np.int64)
    for u, v in zip(example.source, example.target, strict=True):
        if most is None or degree[v] <= most:
            expected[u] = max(expected[u], degree[v])
    with gstream.open(example.stored(tmp_path)) as graph:
        engine = graph.engine(devices=devices)
        found = execute(hardest, engine, {"most": most}, certify=True)
        assert found.to_numpy()["largest"].tolist() == expected.tolist() and expected.any()
        assert found.summary["certificate"]["holds"] and found.summary["hardest"] == expected.max()
        with pytest.raises(UsageError, match="is negative"):
            execute(hardest, engine, {"most": -1})
        with Session(engine, "hardest") as session:
            columns, summary = hardest.load("run_hardest")(session, most)
            for wrong in (columns[0].values + 1, np.maximum(columns[0].values, 1) - 1):
                forged = [replace(columns[0], values=wrong.astype(columns[0].values.dtype))]
                with pytest.raises(CertificateError, match="vertex"):
                    hardest.load("certify_hardest")(session, forged, {"most": most}, summary)


def test_a_file_in_a_family_is_all(tmp_path: Path) -> None:
    """In a copy of gstream: help, Graph's methods, the stubs and the docs have it."""
    shutil.copytree(ROOT / "gstream", tmp_path / "gstream", ignore=shutil.ignore_patterns("__pycache__", "data"))
    (tmp_path / "gstream/algorithms/labelling/hardest.py").write_text(TEXT)
    done = python(tmp_path, "-m", "gstream", "run", "hardest", "--help")
    assert done.returncode == 0, done.stderr
    assert "--most N  neighbours of a larger degree don't count; default: all do." in done.stdout
    help_of_run = python(tmp_path, "-m", "gstream", "run", "--help").stdout
    listed = re.findall(r"^  (\w+)  +\S", help_of_run.partition("Algorithms:")[2].partition("\n\n")[0], re.MULTILINE)
    assert listed[listed.index("hardest") - 1 :][:3] == ["coloring", "hardest", "mis"]
    said = python(
        tmp_path, "-c",
        f"import sys; sys.path.append({str(ROOT / 'docs')!r}); import gstream, inspect, reference\n"
        "print(inspect.signature(gstream.Graph.hardest)); print('hardest' in reference.algorithm_table())\n"
        "print('def hardest(self, most: int | None = None' in reference.method_stubs())",
    )  # fmt: skip
    assert said.stdout.splitlines() == [
        "(self, most: 'int | None' = None, certify: 'bool' = False, **options: 'Any') -> 'Result'", "True", "True"
    ], said.stderr  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *choice.also(
            (None, "there is no module hardest"),
            (TEXT.replace('"hardest", "greatest', '"hardest", greater("greatest'), "'(' was never closed"),
        ),
        (
            TEXT.replace('("most", WHOLE', '("k", NUMBER'),
            "its option k takes other values than that of other algorithms",
        ),
        ("import numpy\n", "it declares no algorithm"),
    ],
)
def test_a_package_that_is_broken(tmp_path: Path, text: str | None, said: str) -> None:
    transcripts.install(tmp_path, PACKAGE)
    if text is not None:
        (tmp_path / "hardest.py").write_text(text)
    done = python(tmp_path, "-m", "gstream", "run", "hardest", "none.gs")
    assert (done.returncode, done.stdout) == (2, "") and said in done.stderr and done.stderr.count("\n") == 1
    assert python(tmp_path, "-m", "gstream", "run", "bfs", "none.gs").returncode == 4


def test_an_option_of_a_name_that_others_have_is_of_their_kind() -> None:
    with pytest.raises(UsageError, match=r"mine: its option k takes other values .* Give it another name\."):
        registry.add((Algorithm("mine", "mine", options=(Option("k", NUMBER),), module="mine"),))
    assert "mine" not in registry.ALGORITHMS


@pytest.mark.parametrize("wrong", ["certify_hardst", "run_hardest"])
def test_a_name_that_the_file_lacks_is_said(tmp_path: Path, hardest: Algorithm, wrong: str) -> None:
    """The declaration is misspelt, or the function is."""
    if wrong == "run_hardest":
        (tmp_path / "hardest.py").write_text(TEXT.replace("def run_hardest", "def run_hardets"))
    with gstream.open(hub_example().stored(tmp_path)) as graph:
        with pytest.raises(UsageError, match=rf"hardest.py: hardest needs {wrong}, and there is no such name. Is it "):
            execute(replace(hardest, proof="certify_hardst"), graph.engine(), {"most": None}, certify=True)
