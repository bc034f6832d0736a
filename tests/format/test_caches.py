"""Code that is kept on disk is run only from folders that nobody else can write to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pagestore
from gstream.hostcode import generate
from pagestore import caches

ROOT = Path(pagestore.__file__).parent.parent
HAS_OTHERS = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make a folder of another user's")


@pytest.fixture
def place(own_folder):
    """A folder below one of our own: pytest's may lie below folders with other rules."""
    made = own_folder / "place"
    made.mkdir(mode=0o700)
    return made


def test_a_folder_of_ours_is_made_for_us_alone(place):
    assert caches.is_private(place / "a" / "b")
    assert (place / "a" / "b").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o707, 0o1777])
def test_a_folder_that_others_can_write_to_is_refused(place, mode):
    place.chmod(mode)
    assert caches.why_refused(place) == f"others can write to {place}"


def test_a_folder_below_one_that_others_can_write_to_is_refused(place):
    (place / "below").mkdir(mode=0o700)
    place.chmod(0o777)
    assert caches.why_refused(place / "below") == f"others can write to {place}"
    place.chmod(0o1777)  # as /tmp: others can add there, and rename nothing of ours
    assert caches.is_private(place / "below")


def test_a_group_that_is_a_users_own_may_write(place, monkeypatch):
    import grp
    import pwd

    place.chmod(0o770)
    user = pwd.getpwuid(os.geteuid()).pw_name
    for name, members, ours in ((user, [], True), (user, [user], True), (user, ["eve"], False), ("staff", [], False)):
        monkeypatch.setattr(grp, "getgrgid", lambda _, n=name, m=members: grp.struct_group((n, "x", 1, m)))
        assert caches.is_private(place) == ours


@HAS_OTHERS
def test_a_folder_of_another_user_is_refused(place):
    os.chown(place, 12345, -1)
    assert caches.why_refused(place) == f"{place} belongs to user 12345"


def test_a_link_counts_by_where_it_leads(place):
    (place / "open").mkdir()
    (place / "open").chmod(0o777)
    (place / "link").symlink_to("open")
    assert not caches.is_private(place / "link")


def test_programs_are_not_taken_from_a_folder_of_others(place, monkeypatch):
    folder = place / "gstream" / "programs"
    folder.mkdir(parents=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
    assert generate._cache_folder.__wrapped__() == folder
    folder.chmod(0o777)
    other = generate._cache_folder.__wrapped__()
    assert other != folder and other.stat().st_mode & 0o777 == 0o700


CALL = """
import sys
sys.path.insert(0, sys.argv[1])
from kept import add
print(add(1), sum(add.stats.cache_hits.values()))
"""


def test_machine_code_is_not_taken_from_a_folder_of_others(place):
    """It is kept beside the code, then in a folder of ours where others can write there, else nowhere."""
    (place / "kept.py").write_text("from pagestore.jit import compiled\n\n\n@compiled\ndef add(x):\n    return x + 1\n")
    beside, ours = place / "__pycache__", place / "cache" / "gstream" / "kernels"
    environment = {**os.environ, "XDG_CACHE_HOME": str(place / "cache"), "PYTHONPATH": str(ROOT)}
    environment.pop("NUMBA_CACHE_DIR", None)

    def hits(**more):
        command = [sys.executable, "-c", CALL, str(place)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment | more, check=True)
        added, found = done.stdout.split()
        assert added == "2"
        return int(found)

    assert [hits(), hits()] == [0, 1] and list(beside.glob("*.nbc"))
    beside.chmod(0o777)
    assert [hits(), hits()] == [0, 1] and len(list(ours.rglob("*.nbc"))) == 1
    given = place / "given"
    given.mkdir()
    given.chmod(0o777)
    assert [hits(NUMBA_CACHE_DIR=str(given)), hits(NUMBA_CACHE_DIR=str(given))] == [0, 0]
    assert not list(given.rglob("*.nbc"))
