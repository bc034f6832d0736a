"""The torture harness: a share of its cases, and whether it tells what does not hold."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import choice
import pytest

from pagestore.reader import PageReader
from tests.torture import crafted, ordeals
from tests.torture import run as torture
from tests.torture import stores as torture_stores
from tests.torture.ordeals import (
    Bad,
    Ended,
    Property,
    in_child,
    places_of,
    plain_error,
    signalled,
    try_property,
)

ENOUGH_S = 60.0
SLOW_TO_BEGIN = {"failing GPU memory": 600.0}  # it counts the calls of its commands before its first case
SHARES = {
    "bit flips": 3000, "truncation": 300, "pages": 120, "hostile stores": 150, "malformed inputs": 250, "archives": 200,
    "wrong answers": 600, "right answers": 63, "kills of ranks": 8,
}  # fmt: skip
SHARE = 16  # cases of the others, each of which takes a process or two
# Many processes each; other properties break the same things in other ways.
LONG = {
    "kills of ranks", "failing GPU memory", "failing reads", "failing arrays", "failing arrays of other threads",
    "little address space", "crafted stores",
}  # fmt: skip
PROPERTIES = [
    pytest.param(tried, marks=pytest.mark.long) if tried.name in LONG else tried for tried in torture.all_properties()
]


@pytest.mark.longer
@pytest.mark.parametrize("tried", PROPERTIES, ids=lambda tried: tried.name)
def test_a_share_of_each_property(tmp_path: Path, tried: Property, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crafted, "CHECKED", False)
    share = SHARES.get(tried.name, SHARE) // choice.few(16, 1)
    enough = SLOW_TO_BEGIN.get(tried.name, ENOUGH_S)
    found = try_property(tried, tmp_path / "ordeal", 2, enough, share)
    assert found.failures == [] and found.failed == 0
    assert found.complete or found.cases == share or found.seconds >= enough
    assert found.cases == sum(found.outcomes.values()) > 0


def test_checks_that_are_left_out_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without checksums of pages their damage goes unnoticed, and the harness says so."""
    pages, flips = (next(p for p in torture_stores.properties() if p.name == name) for name in ("pages", "bit flips"))
    real = PageReader._read
    monkeypatch.setattr(PageReader, "_read", lambda self, *given: real(self, *given[:5], False, given[6]))
    for tried, most in ((pages, 20), (flips, 300)):
        found = try_property(tried, tmp_path / tried.name, 1, ENOUGH_S, most)
        assert found.failed > 5, tried.name


def test_a_signal_comes_at_each_call() -> None:
    def action() -> int:
        return sum(min(number, 0) for number in range(3))

    places = places_of(action)
    codes = [in_child(signalled(action, place, signal.SIGTERM)).code for place in range(1, places + 3)]
    assert places > 6 and codes == [143] * places + [0, 0]


def test_counts_and_ends(tmp_path: Path) -> None:
    def cases(folder: Path, numbers: object) -> Iterator[str | Bad]:
        yield "good"
        yield Bad("case 2 was wrong")
        yield "good"
        raise ValueError("case 4 was worse")

    tried = Property("some", "a promise", cases)
    found = try_property(tried, tmp_path, 1, ENOUGH_S)
    assert (found.cases, found.failed, found.outcomes["good"], found.complete) == (4, 2, 2, True)
    assert found.failures[0] == "case 2 was wrong" and found.failures[1].startswith("ValueError: case 4 was worse (")
    assert "2 FAILED (2 good)" in torture.line(found)
    found = try_property(tried, tmp_path, 1, ENOUGH_S, most=1)
    assert (found.cases, found.failed, found.complete) == (1, 0, False)
    assert try_property(tried, tmp_path, 1, 0.0).cases == 0


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    outcomes: dict[str, list[str | Bad]] = {"right": ["held"] * 3, "wrong": ["held", Bad("a case")]}
    chosen = [Property(name, "a promise", lambda *_, name=name: iter_of(outcomes[name])) for name in outcomes]
    monkeypatch.setattr(torture, "all_properties", lambda: chosen)
    out = tmp_path / "torture.json"
    assert torture.main(["--seconds", "20", "--out", str(out), "--folder", str(tmp_path)]) == 1
    found = json.loads(out.read_text())["properties"]
    assert found["right"]["outcomes"] == {"held": 3} and found["right"]["complete"] and found["right"]["failed"] == 0
    assert found["wrong"]["failures"] == ["a case"]
    outcomes["right"].append("held")
    assert torture.main(["--seconds", "20", "--out", str(out), "--only", "right"]) == 0
    found = json.loads(out.read_text())["properties"]
    assert (found["right"]["cases"], found["wrong"]["cases"]) == (4, 2), "the other keeps its counts"
    assert os.listdir(tmp_path) == ["torture.json"]
    assert "right: 4 cases, every one there is, held (4 held)" in capsys.readouterr().out
    assert torture.main(["--seconds", "0", "--out", str(out), "--only", "right"]) == 0
    assert json.loads(out.read_text())["properties"] == found, "what is not tried keeps its counts"
    said = capsys.readouterr().out
    assert "right: not tried, no time was left" in said and "1 of 1 properties had no time: raise --seconds" in said
    with pytest.raises(SystemExit):
        torture.main(["--only", "nothing"])


def iter_of(outcomes: list[str | Bad]) -> Iterator[str | Bad]:
    yield from outcomes


def test_children(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert in_child(lambda: print("said") or 3) == Ended(3, "said\n")
    assert in_child(lambda: os.kill(os.getpid(), signal.SIGUSR1)).code == -signal.SIGUSR1
    assert in_child(lambda: time.sleep(60), kill_after_s=0.1).code == -signal.SIGKILL
    assert in_child(lambda: time.sleep(60), 0.1, signal.SIGTERM).code == 143
    monkeypatch.setattr(ordeals, "LONGEST_S", 0.2)
    assert in_child(lambda: time.sleep(60)) == Ended(None, "")
    ended = in_child(lambda: 1 // 0)
    assert ended.code == 1 and ended.crashed and "ZeroDivisionError" in ended.said


@pytest.mark.parametrize(
    ("ended", "wrong"),
    [
        (Ended(5, "x: no space left. Free some.\n"), False),
        (Ended(0, ""), True),
        (Ended(4, "x: is damaged. Make it again.\n"), True),
        (Ended(1, "internal error: this is a bug.\n"), True),
        (Ended(-11, ""), True),
        (Ended(None, ""), True),
        (Ended(5, "Traceback (most recent call last):\nx: no space left. Free some.\n"), True),
        (Ended(5, "x: no space left\n"), True),
        (Ended(5, "x: [Errno 28] No space left on device.\n"), True),
    ],
)
def test_what_a_plain_error_is(ended: Ended, wrong: bool) -> None:
    assert (plain_error(ended) is not None) == wrong


def test_failures_name_no_place_of_this_machine():
    found = ordeals.Found("a", "b", 1)
    found.failures = [f'File "{sys.prefix}/lib/a.py", in {ordeals.ROOT / "gstream"}, {tempfile.gettempdir()}/x: broken']
    told = found.as_dict()["failures"][0]
    assert told == 'File "PYTHON/lib/a.py", in PROJECT/gstream, TEMPORARY/x: broken'


@pytest.mark.parametrize("path", sorted((ordeals.ROOT / "bench" / "results").iterdir()), ids=lambda path: path.name)
def test_results_name_no_place_of_a_machine(path):
    """Homes, temporary folders, packages, and where this checkout is."""
    text = path.read_text()
    assert not re.search(r"/(?:home|root|tmp|Users)/|(?<!PYTHON)/lib/python", text) and str(ordeals.ROOT) not in text
