"""Small faults in files: which there are, and that tests which pass with one are told apart from those that fail."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.torture.mutants import faults_of

ROOT = Path(__file__).resolve().parents[2]
TEXT = '''"""A file."""
import os

LEAST: int = 4


def clip(value: int, most: int = 9) -> int:
    """At most so much."""
    assert most > 0
    if value > most and most:
        raise ValueError(f"{value + 1} is too much")
    return value * 2
'''
TESTS = """
import pytest
from small import clip

def test_clip():
    assert clip(3) == 6
    with pytest.raises(ValueError):
        clip(10)
"""
RUN = """
import sys
from pathlib import Path

import pytest
from bench import machine
from tests.torture import mutants
mutants.ROOT, mutants.TESTS = Path(sys.argv[1]), {"small.py": ("test_small.py",)}
mutants.LOADED = ("pytest",)
machine.facts = lambda: {}
sys.exit(mutants.main(["--out", sys.argv[1] + "/mutants.json"]))
"""


def test_what_decides_nothing_is_left_alone() -> None:
    """Neither annotations, defaults, checks of what can't be, nor messages."""
    assert [fault.what for fault in faults_of(TEXT)] == [
        "line 4: 4, now 5",
        "line 10: if value > most and most:, now if not (value > most and most):",
        "line 10: value > most and most, now value > most or most",
        "line 10: value > most, now value >= most",
        "line 11: raise ValueError(f'{value + 1} is too much'), now pass",
        "line 12: value * 2, now value // 2",
        "line 12: 2, now 3",
    ]


@pytest.mark.long
def test_faults_that_tests_miss_are_listed_with_their_reasons(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "small.py").write_text(TEXT)
    (tmp_path / "tests/test_small.py").write_text(TESTS)
    for reason in ("", "nothing uses it"):
        done = subprocess.run(
            [sys.executable, "-c", RUN, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 1, done.stderr
        result = json.loads((tmp_path / "mutants.json").read_text())
        found = result["files"]["small.py"]
        assert found["survivors"] == {"line 4: 4, now 5": reason, "line 10: value > most, now value >= most": reason}
        assert (found["faults"], found["tried"], found["noticed"]) == (7, 7, 5)
        for survivor in found["survivors"]:
            found["survivors"][survivor] = "nothing uses it"
        (tmp_path / "mutants.json").write_text(json.dumps(result))
