"""Coded pages on GPUs: the answers of the raw pages of the same conversion, for all kinds of weights."""

from __future__ import annotations

import numpy as np
import pytest
from visible import NEEDS_GPU, gpus

from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.programs.pagerank import PageRank
from gstream.programs.sssp import SSSP
from pagestore.memory import convert_arrays
from pagestore.store import open_store

pytestmark = NEEDS_GPU
VERTICES, EDGES = 30_000, 200_000
DEVICES = ["cuda:0", "cuda:0,0"] + ["cuda:0,1"] * (gpus() > 1)
OPTIONS = {
    "in memory": {},
    "streamed": {"cache": "0", "batch_bytes": 1 << 15},
    "some cache": {"device_memory": 1_800_000, "batch_bytes": 1 << 15},
}


@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("weight", ["u1", "i4", "f4", "rounded"])
def test_answers_are_those_of_raw_pages(tmp_path, weight, options, devices):
    random = np.random.default_rng(7)
    source, target = (VERTICES * random.random((2, EDGES)) ** 4).astype(np.int64)
    drawn = random.integers(1, 200, EDGES)
    weights = {"u1": drawn, "i4": drawn - 90, "f4": drawn / 8, "rounded": drawn / 8}[weight]
    given = {"round_weights": 6} if weight == "rounded" else {}
    answers = []
    for name, compress in (("raw.gs", "off"), ("coded.gs", "on")):
        path = tmp_path / name
        convert_arrays(path, source, target, weights, page_bytes=4096, order="degree", compress=compress, **given)
        with (
            open_store(path) as store,
            Engine(store, RunOptions(devices=[devices if compress == "on" else "host"], **OPTIONS[options])) as engine,
        ):
            ranks = engine.run(PageRank(tolerance=0.0), max_supersteps=5).value
            answers.append((ranks, None if weight == "i4" else engine.run(SSSP(source=3)).value))
    (raw, near), (coded, coded_near) = answers
    np.testing.assert_allclose(coded, raw, rtol=1e-5)
    if near is not None:  # negative weights have no shortest paths
        np.testing.assert_array_equal(coded_near, near)
