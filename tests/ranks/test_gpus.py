"""Ranks whose GPUs are the tests' stand-in give the answers of one process on the cores, by MPI and by NCCL."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from choice import MODE
from rank_processes import CUDA_TESTS, HERE, mpiexec, split_all

from gstream.devices.gpu.driver import DeviceError, Gpu
from gstream.devices.gpu.rank_links import NcclLink
from tests.cuda.compilers import needs_gxx

pytestmark = needs_gxx
WAYS = [(1, "mpi"), *(pytest.param(way, marks=pytest.mark.long) for way in ((1, "nccl"), (2, "nccl"), (2, "mpi")))]
FEW = ("pagerank", "pagerank by blocks", "bfs", "wcc")
MANY = (
    *FEW, "pagerank pushed by blocks", "bfs by blocks", "pagerank streamed", "pagerank by chunks",
    "sssp", "kcore", "scc", "or by chunks", "sums by blocks",
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

    nccl = SimpleNamespace(get_unique_id=lambda: b"id", comm_init_rank_scalable=fail, group_start=fail)
    alone = SimpleNamespace(size=2, rank=0, first=True, of_first=lambda value: value)
    with pytest.raises(DeviceError, match=r"^cuda:3 \(H100\), NCCL: NCCL_ERROR_INVALID_USAGE \(5\)\. There is"):
        NcclLink(alone, nccl, [LonelyGpu()])
    nccl.comm_init_rank_scalable = lambda *arguments: 1
    where = SimpleNamespace(gpu=LonelyGpu(), stream=SimpleNamespace(handle=0))
    with pytest.raises(DeviceError, match="NCCL: NCCL_ERROR_INVALID_USAGE"):
        NcclLink(alone, nccl, [where.gpu]).swap(where, 0, [], [])
