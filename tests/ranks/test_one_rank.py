"""When the first rank does a run for all of its machine, and with which cores and GPUs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from gstream.cli import one_rank
from gstream.devices.gpu import driver, prestart
from gstream.engine.rank_devices import seen_gpus, specs_of_rank
from gstream.options import auto_devices
from gstream.options.run_options import RunOptions
from pagestore.errors import UsageError

HERE = os.sched_getaffinity(0)


class Told:
    """Three ranks, of which this is the first. others: what the others tell when they are asked for something like it,
    made of what this one tells."""

    rank, size, local_size, first, machine = 0, 3, 3, True, 0

    def __init__(self, **others: Any) -> None:
        self.others = others

    def everybody(self, mine: Any) -> list[Any]:
        told = self.others.get(type(mine).__name__, lambda mine: mine)
        return [mine, told(mine), mine]

    def any(self, flag: bool) -> bool:
        return flag

    def least(self, number: int) -> int:
        return number

    def of_first(self, value: Any) -> Any:
        return value


class Device:
    """A GPU as the driver tells of it."""

    def __init__(self, number: int) -> None:
        self.number = number

    @staticmethod
    def count() -> int:
        return 4

    def pci_bus_id(self) -> str:
        return f"0000:0{self.number}:00.0"


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four GPUs that have names, as far as this machine says."""
    monkeypatch.setattr(driver, "driver", lambda: type("cuda", (), {"Device": Device}))
    monkeypatch.setattr(prestart, "uuid_of", lambda number: f"{number:032x}")
    monkeypatch.setattr(auto_devices, "gpus_there", lambda: 4)
    monkeypatch.setattr(auto_devices, "file_may_be_worth", lambda store, threads: True)


def options_of(ranks: Any, store: Path, **given: Any) -> dict[str, Any] | None:
    return one_rank.one_for_all(ranks, store, given)


def test_one_rank_has_the_cores_of_all(tmp_path: Path):
    store = tmp_path / "web.gs"
    assert options_of(Told(), store) == {}
    assert options_of(Told(), store, threads=2, devices=["host"]) == {"threads": 6, "devices": ["host"]}
    assert options_of(Told(set=lambda mine: set()), store) == {}  # bound to cores that the first may have
    elsewhere = Told(set=lambda mine: {max(HERE) + 1000})
    assert options_of(elsewhere, store) is None and os.sched_getaffinity(0) == HERE


def test_ranks_share_what_one_may_not_do(tmp_path: Path):
    store = tmp_path / "web.gs"
    assert options_of(Told(), store, host_memory="1GiB") is None
    assert options_of(Told(NoneType=lambda mine: (1, 2)), store) is None  # another file
    (tmp_path / "web.parts").mkdir()
    (tmp_path / "web.parts" / "manifest.json").touch()
    assert options_of(Told(), tmp_path / "web.parts") is None
    told: list[Any] = []
    options_of(Told(tuple=lambda mine: told.append(mine) or mine), tmp_path / "web.parts")
    assert len(told) == 1  # a rank that sees a folder of parts makes the call that the others wait in
    apart: Any = Told()
    apart.local_size = 2
    assert options_of(apart, store) is None


def test_one_rank_has_all_gpus_that_all_ranks_see(gpus, tmp_path: Path):
    store = tmp_path / "web.gs"
    assert options_of(Told(), store) == {"devices": ["cuda:0,1,2,3"]}
    assert options_of(Told(), store, devices=["cuda:1"]) == {"devices": ["cuda:1"]}
    others = Told(tuple=lambda told: (told[0][:1], told[1]))
    assert options_of(others, store) is None
    assert options_of(others, store, devices=["host"]) == {"devices": ["host"]}


def test_gpus_are_told_apart_by_their_own_names(gpus, monkeypatch: pytest.MonkeyPatch):
    """Ranks in two containers of one machine share its GPUs, though MPI takes them for two; those of two machines with
    one name, and the same buses, do not."""
    two: Any = Told(tuple=lambda told: (told[0][::-1], told[1]))
    assert seen_gpus(Told(), None).sharing == [0, 1, 2] and seen_gpus(two, None).sharing == [0, 2]
    assert specs_of_rank(RunOptions(devices=["cuda:0,1"], ranks=two), 1)[0][0].seed == 0
    monkeypatch.setattr(prestart, "uuid_of", lambda number: None)
    elsewhere = Told(tuple=lambda told: ([one.replace("rank 0", "rank 1") for one in told[0]], told[1]))
    assert seen_gpus(elsewhere, None).sharing == [0, 2]
    with pytest.raises(UsageError, match="cuda:0,1: a machine has fewer GPUs than ranks"):
        specs_of_rank(RunOptions(devices=["cuda:0,1"], ranks=Told()), 1)
