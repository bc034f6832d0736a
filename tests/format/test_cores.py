"""How many cores a process takes: those it may run on, and no more than its control groups give it the time of."""

from __future__ import annotations

import os

import pytest

from pagestore import cores, groups


@pytest.fixture
def limits(tmp_path, monkeypatch):
    """Writes `cpu.max` of the group of this process, and of the one around it, and gives the cores that are taken."""
    (tmp_path / "own").write_text("0::/pod/container\n")
    (tmp_path / "groups/pod/container").mkdir(parents=True)
    monkeypatch.setattr(groups, "OWN_GROUP", tmp_path / "own")
    monkeypatch.setattr(groups, "GROUPS", tmp_path / "groups")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)

    def taken(own: str | None, around: str | None = None) -> int:
        for folder, text in (("pod/container", own), ("pod", around)):
            if text is not None:
                (tmp_path / "groups" / folder / "cpu.max").write_text(text)
        cores.cores_of_quotas.cache_clear()
        return cores.usable_cores()

    yield taken
    cores.cores_of_quotas.cache_clear()


@pytest.mark.parametrize(
    ("own", "around", "expected"),
    [
        (None, None, 16),
        ("max 100000\n", None, 16),
        ("200000 100000\n", None, 2),
        ("250000 100000\n", "max 100000\n", 3),
        ("50000 100000\n", None, 1),
        ("3200000 100000\n", None, 16),
        ("max 100000\n", "150000 50000\n", 3),
        ("800000 100000\n", "400000 100000\n", 4),
    ],
)
def test_no_more_cores_than_a_quota_gives_the_time_of(limits, own, around, expected):
    assert limits(own, around) == expected


def test_without_control_groups_all_cores_are_taken(limits, tmp_path):
    (tmp_path / "own").unlink()
    assert limits(None) == 16
