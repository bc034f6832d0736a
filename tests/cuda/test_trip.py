"""The code that a superstep of PageRank runs through beside its kernels does not grow."""

from __future__ import annotations

import pytest
from compilers import needs_gxx
from engine_graphs import make_store, skewed_edges

from bench.superstep_trace import TRACED, pagerank, trace
from gstream.engine.superstep import Supersteps

pytestmark = pytest.mark.usefixtures("standin_gpu")
MOST = {  # files, distinct functions, calls, depth
    "host": (13, 59, 76, 12),
    "cuda": (24, 94, 161, 15),
}


@pytest.mark.parametrize("device", ["host", pytest.param("cuda", marks=needs_gxx)])
def test_a_superstep_runs_through_no_more(tmp_path, device):
    with make_store(tmp_path, *skewed_edges(2000, 20_000, 3), vertices=2000) as store:
        trip = trace(pagerank(store, TRACED + 2), devices=[device], threads=1)
    found = len(trip.files), len(trip.calls), sum(trip.calls.values()), trip.depth
    assert all(mine <= most for mine, most in zip(found, MOST[device], strict=True)), (
        f"{found} of at most {MOST[device]}"
    )
    assert Supersteps.merge.__code__ in trip.calls and trip.ended >= TRACED, "a whole superstep was seen"
