"""Launchers, found by their variables, and what each rank takes of its machine."""

from __future__ import annotations

import os
from typing import Any

import pytest

from gstream.cli import ranks as cli_ranks
from gstream.telemetry.stats import RunStats
from pagestore.errors import UsageError

TORCHRUN = {"GROUP_RANK": "0", "RANK": "0", "WORLD_SIZE": "4", "LOCAL_RANK": "0"}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("PMI_", "OMPI_", "SLURM_"))]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    "variables, found",
    [
        ({}, None),
        ({"PMI_RANK": "2", "PMI_SIZE": "3"}, ("mpiexec", 2, 3)),
        ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}, ("mpiexec", 0, 2)),
        ({"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "4", "PMI_RANK": "1", "PMI_SIZE": "4"}, ("mpiexec", 1, 4)),
        ({"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "4"}, ("srun", 1, 4)),
        ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}, None),
        ({"SLURM_PROCID": "0"}, None),  # a script of sbatch, outside of srun
        (TORCHRUN, ("torchrun", 0, 4)),
    ],
)
def test_launchers_by_their_variables(monkeypatch: pytest.MonkeyPatch, variables, found):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cli_ranks.launched() == found
    assert cli_ranks.join_ranks("off") is None


def test_torchrun_is_told_of_mpiexec(monkeypatch: pytest.MonkeyPatch):
    for name, value in TORCHRUN.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(cli_ranks.surroundings, "typed", ["run", "wcc", "a b.gs"])
    with pytest.raises(UsageError, match="Type mpiexec -n 4 gstream run wcc 'a b.gs', or pass --ranks off"):
        cli_ranks.join_ranks("auto")
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(SystemExit) as ended:  # the first has said it
        cli_ranks.join_ranks("auto")
    assert ended.value.code == 2


class Told:
    """Ranks of which three are on this machine and one is on another, with the same cores."""

    size, machine = 4, 0

    def everybody(self, mine: Any) -> list[Any]:
        return [mine, (1, mine[1]), mine, mine]


class Lonely:
    """A process whose MPI knows of no other."""

    size = 1


def test_ranks_share_the_cores_of_their_machine(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cli_ranks, "usable_cores", lambda: 7)
    assert cli_ranks.share_of_machine(Told(), {})["threads"] == 2
    assert cli_ranks.share_of_machine(Told(), {"threads": 5})["threads"] == 5


def test_a_launcher_of_another_mpi_is_refused():
    with pytest.raises(UsageError, match="srun: started 4 processes, and MPI knows of 1"):
        cli_ranks.check_world(Lonely(), 4, "srun")


def test_versions_are_compared():
    cli_ranks.check_versions([("1.0", "one"), ("1.0", "two")])
    with pytest.raises(UsageError, match="rank 1 on two is gstream 1.1, and rank 0 on one is gstream 1.0"):
        cli_ranks.check_versions([("1.0", "one"), ("1.1", "two")])


def test_what_is_planned_is_of_all_ranks_as_what_moved():
    named = (*cli_ranks.SUMMED, *cli_ranks.MOST, *cli_ranks.LEAST, "peak_memory_bytes")
    step: Any = dict.fromkeys((*cli_ranks.STEPS_SUMMED, "seconds", "compile_seconds"), 2)
    stats: Any = RunStats().as_dict() | dict.fromkeys(named, 7) | {"device_bytes_moved": [7], "per_superstep": [step]}

    class Four:
        size, bytes_sent, machine = 4, 1, "here"
        everybody = staticmethod(lambda mine: [mine] * 4)

    ranks: Any = Four
    found = cli_ranks.add_up({"stats": stats}, ranks, alone=False)["stats"]
    assert found["predicted_bytes"] == found["bytes_moved"] == 28 and found["peak_memory_bytes"] == 7
    assert found["per_superstep"] == [step | dict.fromkeys(cli_ranks.STEPS_SUMMED, 8)]
