"""Ranks whose GPUs are the tests' stand-in give the answers of one process on the cores, by MPI and by NCCL."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event
from types import SimpleNamespace
from typing import Any

import pytest
from choice import MODE
from rank_processes import CUDA_TESTS, HERE, mpiexec, split_all

from gstream.devices.gpu import rank_links
from gstream.devices.gpu.driver import DeviceError, Gpu
from gstream.devices.gpu.rank_links import NcclLink
from tests.cuda.compilers import needs_gxx

pytestmark = needs_gxx
WAYS = [(1, "mpi"), *(pytest.param(way, marks=pytest.mark.long) for way in ((1, "nccl"), (2, "nccl"), (2, "mpi")))]
FEW = ("pagerank by blocks", "bfs")
MANY = (
    *FEW, "pagerank", "wcc", "pagerank pushed by blocks", "bfs by blocks", "pagerank streamed", "pagerank by chunks",
    "sssp", "kcore", "scc", "or by chunks", "sums by blocks", "vectors", "vectors by blocks",
)  # fmt: skip
NAMES = FEW if MODE == "some" else MANY


@pytest.fixture(scope="session", params=WAYS, ids=lambda way: f"{way[0]} a rank, {way[1]}")
def outcome(request: pytest.FixtureRequest, stores: Path) -> list[dict[str, str]]:
    """What each of two ranks found, of all cases in one start."""
    gpus, link = request.param
    split_all(stores, 2)
    words = (HERE / "gpus_in_ranks.py", stores, gpus, link, *NAMES)
    done = mpiexec(2, *words, cwd=stores, seconds=800.0, path=CUDA_TESTS)
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads((stores / f"gpus-{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.parametrize("name", NAMES)
def test_gpus_of_ranks_give_the_answer_of_one_process(outcome, name):
    assert [found[name] for found in outcome] == ["", ""]


def test_gpus_of_ranks_exchange_values_and_on_parts_those_of_mirrors(outcome):
    """All edges of wide.gs are short, so that a part's pages name less than all of another slice."""
    for found in outcome:
        whole, parts = found["bytes of pagerank by blocks"]
        assert 0 < parts < 0.8 * whole


@pytest.mark.long
def test_checkpoints_of_gpus_and_of_cores_are_taken_up_by_both(outcome):
    assert [found["kept"] for found in outcome] == ["", ""]


class LonelyGpu:
    """As far as an error names it."""

    index, name, fault = 3, "H100", Gpu.fault

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


def test_errors_of_nccl_name_the_gpu():
    def fail(*arguments):
        raise RuntimeError("NCCL_ERROR_INVALID_USAGE (5)")

    nccl = SimpleNamespace(group_start=fail)
    where = SimpleNamespace(gpu=LonelyGpu(), stream=SimpleNamespace(handle=0))
    with pytest.raises(DeviceError, match=r"^cuda:3 \(H100\), NCCL: NCCL_ERROR_INVALID_USAGE \(5\)\. There is"):
        NcclLink(SimpleNamespace(bytes_sent=0), nccl, [1]).swap(where, 0, [], [])


class Threads:
    """Two ranks, as threads."""

    size = 2

    def __init__(self, rank: int, told: list[Any], barrier: Barrier) -> None:
        self.rank, self.first, self.links = rank, rank == 0, {}
        self._told, self._barrier = told, barrier

    def everybody(self, value: Any) -> list[Any]:
        self._told[self.rank] = value
        self._barrier.wait(60)
        found = list(self._told)
        self._barrier.wait(60)
        return found

    def any(self, flag: bool) -> bool:
        return any(self.everybody(flag))

    def by_first(self, call: Any) -> Any:
        return self.everybody(call() if self.first else None)[0]


@pytest.mark.parametrize("failing", [0, 1])
def test_nccl_that_does_not_start_on_one_rank_gives_way_to_mpi_on_all(monkeypatch: pytest.MonkeyPatch, failing):
    """The other rank waits within NCCL for the one that fails, as NCCL's do, for its first GPU or the second."""
    aborted, never, names = list[tuple[int, int]](), Event(), iter((b"first", b"second"))

    def begin(size: int, rank: int, count: int, name: bytearray, config: int) -> Any:
        if name == b"second" and rank == failing:
            raise RuntimeError("NCCL_ERROR_SYSTEM (2)")
        return (rank, 1) if name == b"first" else never.wait()

    nccl = SimpleNamespace(get_unique_id=lambda: next(names), comm_init_rank_scalable=begin, comm_abort=aborted.append)
    monkeypatch.setattr(rank_links, "_load_nccl", lambda: nccl)
    told, barrier = [None, None], Barrier(2)
    with ThreadPoolExecutor(2) as pool:
        two = [Threads(rank, told, barrier) for rank in range(2)]
        links = list(pool.map(lambda ranks: rank_links.make_link(ranks, [LonelyGpu(), LonelyGpu()]), two))
    never.set()
    for link in links:
        assert isinstance(link, rank_links.StagedLink)
        assert link.note.endswith(f": rank {failing}: cuda:3 (H100), NCCL: NCCL_ERROR_SYSTEM (2)")
    assert sorted(aborted) == [(0, 1), (1, 1)]


def test_nccl_that_starts_on_no_rank_in_time_gives_way_to_mpi(monkeypatch: pytest.MonkeyPatch):
    never = Event()
    monkeypatch.setattr(rank_links, "START_SECONDS", 0.0)
    nccl = SimpleNamespace(get_unique_id=lambda: b"", comm_init_rank_scalable=lambda *arguments: never.wait())
    alone: Any = Threads(0, [None], Barrier(1))
    assert rank_links.begin_nccl(alone, nccl, [LonelyGpu()]) == ([], "rank 0: NCCL did not start in 0 s")
    never.set()
