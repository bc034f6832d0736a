"""GSTREAM_EXAMPLES overrides how many examples a property says that it is tried on; shares of these add up."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bench import examples

PROPERTIES = """
from collections import Counter
from hypothesis import given, settings, strategies

tried = Counter()

@settings(max_examples=5)
@given(strategies.integers())
def test_own(number):
    tried["own"] += 1

@given(strategies.integers())
def test_usual(number):
    tried["usual"] += 1

def test_counts():
    print("tried", tried["own"], tried["usual"])
"""


@pytest.mark.parametrize(("asked", "tried"), [("", "tried 5 100"), ("37", "tried 37 37")])
def test_as_many_examples_as_are_asked_for(tmp_path: Path, asked: str, tried: str) -> None:
    shutil.copy(Path(__file__).parent.parent / "conftest.py", tmp_path)
    (tmp_path / "test_properties.py").write_text(PROPERTIES)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "."], cwd=tmp_path, text=True,
        env={**os.environ, "GSTREAM_EXAMPLES": asked}, capture_output=True,
    )  # fmt: skip
    assert tried in done.stdout, done.stdout


THREE = """
import pytest
from hypothesis import given, strategies

@pytest.mark.hypothesis
@given(strategies.integers())
def test_holds(number):
    assert number == number

@pytest.mark.hypothesis
@given(strategies.booleans())
def test_has_two(either):
    assert either in (False, True)

@pytest.mark.hypothesis
@given(strategies.integers())
def test_fails(number):
    assert number < 9
"""


def ended_with(capsys: pytest.CaptureFixture[str], *arguments: object) -> int:
    code = examples.main([str(one) for one in arguments])
    capsys.readouterr()
    return code


def test_shares_of_several_machines_add_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(Path(__file__).parent.parent / "conftest.py", tmp_path)
    (tmp_path / "test_three.py").write_text(THREE)
    holds, has_two, fails = (f"{tmp_path}/test_three.py::test_{name}" for name in ("holds", "has_two", "fails"))
    monkeypatch.setattr(examples, "tests_of", lambda given: [holds, has_two] if "tests" in given else [fails])
    monkeypatch.setattr(examples, "SAID", tmp_path / "said")
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    assert ended_with(capsys, "--examples", 50, "--share", 20, "--out", one) == 0
    row = json.loads(one.read_text())["properties"]["examples"]
    assert (row["tests"][holds]["examples"], row["tests"][holds]["seeds"]) == (50, [0, 1, 2])
    assert (row["tests"][has_two]["examples"], row["tests"][has_two]["seeds"]) == (2, [0])
    assert (row["cases"], row["wanted"], row["complete"], row["failed"]) == (2, 2, True, 0)

    assert ended_with(capsys, "--examples", 70, "--share", 20, "--missing", "--out", one) == 0
    row = json.loads(one.read_text())["properties"]["examples"]
    assert (row["tests"][holds]["examples"], row["tests"][holds]["seeds"]) == (70, [0, 1, 2, 3])
    assert ended_with(capsys, "--examples", 20, "--seed", 9, "--out", other) == 0
    assert ended_with(capsys, "--examples", 100, "--merge", other, "--out", one) == 0
    row = json.loads(one.read_text())["properties"]["examples"]
    assert (row["tests"][holds]["examples"], row["tests"][holds]["seeds"]) == (90, [0, 1, 2, 3, 9])
    assert (row["cases"], row["complete"]) == (1, False), "100 were asked for"
    with pytest.raises(SystemExit, match="seed 9 was tried before"):
        examples.main(["--merge", str(other), "--out", str(one)])


def test_a_failing_property_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(Path(__file__).parent.parent / "conftest.py", tmp_path)
    (tmp_path / "test_three.py").write_text(THREE)
    fails = f"{tmp_path}/test_three.py::test_fails"
    monkeypatch.setattr(examples, "tests_of", lambda given: [fails])
    monkeypatch.setattr(examples, "SAID", tmp_path / "said")
    out = tmp_path / "out.json"
    assert ended_with(capsys, "--examples", 50, "--out", out) == 1
    row = json.loads(out.read_text())["properties"]["examples"]
    assert (row["cases"], row["failed"], row["complete"]) == (0, 1, False)
    assert "test_fails" in row["failures"][0]
    (said,) = (tmp_path / "said").iterdir()
    assert "number < 9" in said.read_text()
