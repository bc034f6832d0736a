"""tests/torture/examples.py: what ends is counted test by test, what fails or has no time to end is not forgotten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import machine
from tests.torture import examples

TESTS = """
from hypothesis import given, settings, strategies
NUMBERS = strategies.integers()
@given(NUMBERS)
def test_holds(x): assert x == x
@settings(max_examples=7)
@given(NUMBERS)
def test_says_how_many(x): assert x == x
@given(strategies.booleans())
def test_has_few(x): assert x in (True, False)
@given(NUMBERS)
def test_breaks(x): assert x < 1000
def test_is_no_property(): pass
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with those tests, and this one's way to have many examples."""
    folder = tmp_path / "tests" / "area"
    folder.mkdir(parents=True)
    (folder / "test_properties.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = tests\n")
    for name in ("conftest.py", "choice.py", "quick.py"):
        (tmp_path / "tests" / name).write_text((machine.ROOT / "tests" / name).read_text())
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    monkeypatch.setattr(examples, "SAID", tmp_path / "said")
    return tmp_path


def row_of(project: Path, *arguments: str) -> tuple[int, dict]:
    out = project / "result.json"
    code = examples.main([*arguments, "--examples", "300", "--processes", "2", "--out", str(out)])
    return code, json.loads(out.read_text())["properties"]["examples"]


@pytest.mark.long
def test_properties_are_counted(project: Path) -> None:
    quick = [f"tests/area/test_properties.py::test_{name}" for name in ("holds", "says_how_many", "has_few")]
    code, row = row_of(project, "--tests", *quick)
    assert (code, row["cases"], row["wanted"], row["failed"]) == (0, 3, 4, 0)
    assert [row["tests"][name]["examples"] for name in quick] == [300, 300, 2]
    assert row["outcomes"] == {"area": 3} and not row["complete"]

    code, row = row_of(project, "--missing")
    assert (code, row["cases"], row["failed"], row["outcomes"]) == (1, 4, 1, {"area": 3})
    ((name, failure),) = [item for item in row["tests"].items() if "said" in item[1]]
    assert name.endswith("test_breaks") and failure["examples"] < 300
    (said,) = (project / "said").iterdir()
    assert "x=1000" in said.read_text() and "test_breaks" in said.name

    text = project / "tests" / "area" / "test_properties.py"
    text.write_text(TESTS.replace("x < 1000", "x == x"))
    code, row = row_of(project, "--missing")
    assert (code, row["cases"], row["failed"], row["complete"], row["outcomes"]) == (0, 4, 0, True, {"area": 4})
    assert row["tests"][quick[0]]["examples"] == 300  # of the first time


@pytest.mark.long
def test_what_has_no_time_to_end_is_missing(project: Path) -> None:
    """What failed before stands until it is tried again, and so does what others came to."""
    both = ["--tests", *(f"tests/area/test_properties.py::test_{name}" for name in ("holds", "breaks"))]
    code, row = row_of(project, *both)
    assert (code, row["cases"], row["failed"]) == (1, 2, 1)
    for more in (["--missing"], []):
        code, again = row_of(project, *both, *more, "--seconds", "0.01")
        assert (code, again) == (1, row)
    code, again = row_of(project, "--tests", "tests/area/test_properties.py::test_has_few")
    assert (code, again["cases"], again["failed"]) == (0, 3, 1) and again["tests"].items() >= row["tests"].items()


def test_a_test_has_the_seeds_that_it_was_not_tried_with() -> None:
    options = examples.parse(["--examples", "50", "--share", "20"])
    bases = {name: {**examples.NONE, "seeds": seeds, "examples": have}
             for name, seeds, have in (("a", [0], 20), ("b", [3, 1], 0), ("c", [], 50))}  # fmt: skip
    assert list(examples.shares(bases, options)) == [
        ("a", 20, 1), ("b", 20, 0), ("a", 10, 2), ("b", 20, 2), ("b", 10, 4),
    ]  # fmt: skip


def test_no_properties_are_no_success(project: Path) -> None:
    with pytest.raises(SystemExit, match="finds no properties there"):
        row_of(project, "--tests", "tests/area/test_properties.py::test_is_no_property")


@pytest.mark.long
def test_shares_of_several_machines_add_up(project: Path) -> None:
    holds, one, other = "tests/area/test_properties.py::test_holds", project / "one.json", project / "other.json"

    def tried(out: Path, *arguments: object) -> dict:
        shares = ["--tests", holds, "--share", "30", "--processes", "2", "--out", out]
        assert examples.main([str(argument) for argument in (*shares, *arguments)]) == 0
        return json.loads(out.read_text())["properties"]["examples"]

    found = tried(one, "--examples", 50)["tests"][holds]
    assert (found["examples"], found["seeds"]) == (50, [0, 1])
    found = tried(one, "--examples", 70, "--missing")["tests"][holds]
    assert (found["examples"], found["seeds"]) == (70, [0, 1, 2])
    tried(other, "--examples", 20, "--seed", 9)
    there = json.loads(other.read_text())
    there["properties"]["examples"]["tests"][holds].update(commits=["abc"], machines=["another"])
    other.write_text(json.dumps(there))
    row = tried(one, "--examples", 100, "--merge", other)
    assert (row["tests"][holds]["examples"], row["tests"][holds]["seeds"]) == (90, [0, 1, 2, 9])
    assert len(row["commits"]) == len(row["machines"]) == 2 and "abc" in row["commits"]
    assert (row["cases"], row["complete"]) == (0, False), "100 were asked for"
    there["properties"]["examples"]["tests"][holds]["seeds"] = [10]
    (project / "third.json").write_text(json.dumps(there))
    with pytest.raises(SystemExit, match="seed 9 was tried before"):
        tried(one, "--merge", project / "third.json", other)
    assert json.loads(one.read_text())["properties"]["examples"] == row, "all or nothing"
