"""Numba is made to compile quickly (quick.py) where all that is replaced is known, and left as it is elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# In a process of its own: has each name stand for nothing, or for another text, and asks what is replaced.
OTHERS = """
from numba import njit
from tests import quick

known = {name: quick.found(name) for name in quick.KNOWN}
if unknown := quick.unknown():  # this Numba is another one than quick.py knows
    assert quick.compile_quickly() == unknown
    assert njit(lambda values: values[0] + values[1])((1, 2)) == 3
    print("all told")
    raise SystemExit
usual = [(change.owner, change.name, getattr(change.owner, change.name)) for change in quick.changes()]
find = quick.found
for name, digest in quick.KNOWN.items():
    for other in [None, quick.changes] if digest else [None]:
        def found(asked):
            if asked == name and other is None:
                raise AttributeError(name)
            return other if asked == name else known[asked]
        quick.found = found
        assert quick.compile_quickly() == [name], (name, quick.compile_quickly())
        assert all(getattr(owner, name) is was for owner, name, was in usual), name

def total(values):
    found = 0
    for value in values:
        found += value
    return found

assert njit(total)((1, 2, 3)) == 6  # as Numba does it
quick.found = find
assert quick.compile_quickly() == []
assert not any(getattr(owner, name) is was for owner, name, was in usual if name != "OPT")
assert njit(total)((1, 2, 3)) == 6
print("all told")
"""


def test_another_numba_is_left_as_it_is() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run([sys.executable, "-c", OTHERS], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "all told\n"), done.stderr
