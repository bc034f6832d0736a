"""Checkpoints of ranks: runs go on by as many ranks or another number, by one process, and from those of one."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pyarrow.parquet
import pytest
from choice import MODE
from kept_calls import CALLS, make_graphs
from rank_processes import HERE, MPIEXEC, launched, mpiexec

import gstream

SOME = ("bfs", "scc")  # a program, and sweeps beside programs
NAMES = list(CALLS) if MODE != "some" else SOME
GRAPHS = [f"random {seed}" for seed in range(1 if MODE == "some" else 16)]
GRAPHS += ["own 1", "own 3"] if MODE != "some" else []
SLICES = ["slices wcc", "slices bfs", *(["slices hcc", "slices pagerank"] if MODE != "some" else [])]
SECONDS = 1200.0  # a launcher that hangs
COUNTS = [2, pytest.param(3, marks=pytest.mark.long)]


@pytest.fixture(scope="session", params=COUNTS, ids=lambda count: f"{count} ranks")
def outcome(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """What went wrong on each rank, of all calls in one start."""
    folder, count = tmp_path_factory.mktemp("kept"), request.param
    writes = [1, 3] if MODE != "some" and count == 2 else [2]
    words = (HERE / "kept_in_ranks.py", folder, json.dumps(writes), *NAMES, *GRAPHS, *SLICES)
    done = mpiexec(count, *words, cwd=folder, seconds=SECONDS)
    assert done.returncode == 0, done.stderr
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(count)]


@pytest.mark.parametrize("name", NAMES)
def test_calls_go_on_from_what_ranks_or_one_process_kept(outcome, name):
    assert [found[name] for found in outcome] == [""] * len(outcome)


@pytest.mark.parametrize("name", GRAPHS)
def test_answers_of_random_graphs(outcome, name):
    assert [found[name] for found in outcome] == [""] * len(outcome)


@pytest.mark.parametrize("name", SLICES)
def test_ranks_keep_their_slices(outcome, name):
    assert [found[name] for found in outcome] == [""] * len(outcome)


@pytest.fixture(scope="session")
def directed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with a long path behind its hubs."""
    return make_graphs(tmp_path_factory.mktemp("graphs"))["directed"]


@pytest.mark.long
@pytest.mark.parametrize(
    "rank, number, again",
    [(1, 5, 3), pytest.param(0, 27, 1, marks=pytest.mark.long), pytest.param(1, 9, 2, marks=pytest.mark.long)],
)
def test_a_killed_rank_costs_supersteps_not_the_answer(directed, tmp_path, rank, number, again):
    words = ("-m", "gstream", "run", f"{HERE}/faulty.py:Hops", directed, "--ranks", "share", "--checkpoint", "kept")
    killed = f"kill:{rank}:{number}"
    done = mpiexec(2, *words, "--checkpoint-every", 1, "-o", "out", cwd=tmp_path, fault=killed)
    assert done.returncode != 0 and "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == ["kept"]
    launcher = [MPIEXEC, "-n", again, sys.executable] if again > 1 else [sys.executable]
    done = launched(launcher, *words, "--resume", "--json", "-o", "out.parquet", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert json.loads(done.stdout)["stats"]["kept"]["resumed"] > 0
    with gstream.open(directed, devices="host") as graph:
        whole = graph.run(f"{HERE}/faulty.py:Hops").to_arrow()
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").equals(whole)
    files = sorted(path.name for path in (tmp_path / "kept").iterdir())
    slots = [json.loads(named(tmp_path / "kept" / name)) for name in files if name.count(".") == 0]
    assert sorted(set(files) - {"slot-0", "slot-1"}) == sorted(file for one in slots for file, _ in one["parts"])


def named(path: Path) -> bytes:
    """The description of a slot."""
    data = path.read_bytes()
    return data[20 : 20 + int.from_bytes(data[8:16], "little")]
