"""Every algorithm that is a program, on GPUs: the host's answers, resident, streamed, some cached, by chunks, by two.

Its kernels' arithmetic is that of tests/cuda/test_algorithms.py, which asks the stand-in for the driver the same.
"""

from __future__ import annotations

import pytest
from entry_runs import BY_CHUNKS, CHUNKED, KINDS, NAMES, OPTIONS, TWO, check, make_paths
from visible import NEEDS_GPU, gpus

import gstream

pytestmark = NEEDS_GPU
V, E = 20_000, 40_000
TAKES = {name: next(kind for kind in KINDS if name in KINDS[kind]) for name in NAMES}  # one graph for each
DEVICES = ["cuda:0,0"] + ["cuda:0,1"] * (gpus() > 1) + ["cuda:0,1,2,3"] * (gpus() > 3)
# of pages, 900,000 bytes hold some beside what 20,000 vertices take
ONE = OPTIONS | {"some cache": OPTIONS["some cache"] | {"device_memory": 900_000}, "chunks": CHUNKED}
ALL = {what: {"devices": "cuda:0", **given} for what, given in ONE.items()} | {
    f"{what}, {devices}": {"devices": devices, **given} for devices in DEVICES for what, given in TWO.items()
}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return make_paths(tmp_path_factory, V, E)


@pytest.mark.parametrize("options", ALL)
@pytest.mark.parametrize("name", NAMES)
def test_a_gpu_is_the_host(paths, name, options):
    with gstream.open(paths[TAKES[name]]) as graph:
        stats = check(graph, name, ALL[options]).summary["stats"]
    assert options != "chunks" or stats["chunks"] == (3 if name in BY_CHUNKS else 1)
