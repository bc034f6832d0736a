"""Algorithms that sweep pages with kernels of their own: one, two and four GPUs give the host's answers."""

from __future__ import annotations

import os

import pytest
from record_graphs import ASKED, BLOCKS, CASES, KINDS, check, check_blocks, make_path
from visible import NEEDS_GPU, gpus

import gstream

pytestmark = NEEDS_GPU
# compute-sanitizer makes kernels some 100 times slower, and k-core has hundreds: GSTREAM_SMALL=1 is for it
SMALL = "GSTREAM_SMALL" in os.environ
V, E, PAGE = (400, 2_000, 4096) if SMALL else (20_000, 150_000, 4096)
LARGER = (300, 5_000) if SMALL else (1000, 20_000)  # vertices and edges of a graph that blocks of pages cut
DEVICES = ["cuda:0", "cuda:0,0", *(["cuda:0,1"] if gpus() > 1 else []), *(["cuda:0,1,2,3"] if gpus() > 3 else [])]
OPTIONS = {
    "cached": {},
    "streamed": {"cache": "0", "batch_bytes": 1 << 15, "streams": 2},
}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Path of a store of each kind."""
    return {kind: make_path(tmp_path_factory.mktemp("stores"), kind, V, E, PAGE) for kind in KINDS}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_gpus_are_the_host(paths, kind, name, devices, options):
    own = ASKED.get(name, {}) | ({"partition": [range(40), range(40, V)]} if name == "modularity" else {})
    with gstream.open(paths[kind]) as graph:
        check(graph, name, own, {"devices": devices, **OPTIONS[options]})


@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize(("kind", "name"), BLOCKS)
def test_a_graph_larger_than_the_gpu(tmp_path, kind, name, devices):
    with gstream.open(make_path(tmp_path, kind, *LARGER, 4096)) as graph:
        check_blocks(graph, name, 1, {"devices": devices})
