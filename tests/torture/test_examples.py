"""GSTREAM_EXAMPLES overrides how many examples a property says that it is tried on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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
    for name in ("conftest.py", "choice.py", "quick.py"):
        shutil.copy(Path(__file__).parent.parent / name, tmp_path)
    (tmp_path / "test_properties.py").write_text(PROPERTIES)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "."], cwd=tmp_path, text=True,
        env={**os.environ, "GSTREAM_TESTS": "all", "GSTREAM_EXAMPLES": asked}, capture_output=True,
    )  # fmt: skip
    assert tried in done.stdout, done.stdout
