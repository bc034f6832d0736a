"""The approximate sort on a GPU, whose blocks really run at once, and CUB's exact sorts, against their definitions."""

from __future__ import annotations

import os

import numpy as np
import pytest
from visible import NEEDS_GPU

from bench.gpu_sort import EXACT, DegreeSort
from bench.sorting import Degrees, check_order, check_places
from gstream.devices.gpu.driver import Gpu

pytestmark = NEEDS_GPU
SMALL = "GSTREAM_SMALL" in os.environ  # for compute-sanitizer, as in test_gpu.py
VERTICES = 20_000 if SMALL else (1 << 22) + 77
DRAWN = {
    "power law": lambda random: (random.zipf(1.6, VERTICES) - 1).clip(0, 1 << 22),
    "uniform": lambda random: random.integers(0, 1 << 20, VERTICES),
    "few": lambda random: random.integers(0, 3, VERTICES),
    "one": lambda random: np.full(VERTICES, 7),
}


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("directed", [True, False])
def test_sorts(name: str, directed: bool) -> None:
    random = np.random.default_rng(5)
    values = DRAWN[name](random).astype(np.uint32)
    others = random.integers(0, 2, VERTICES).astype(np.uint32) if directed else None
    degrees = Degrees(name, 0, values, others)
    with DegreeSort(Gpu(0), values, others) as sort:
        for buckets in (1, 10, 1000, 5000, 1 << 20, None):
            assert sort.approximate(buckets) > 0
            limit = None if buckets is None else min(buckets, (1 << 20) - 1)
            check_places(degrees, sort.places(), limit)
        assert sort.span == (values.min(), values.max())
        for method in EXACT:
            assert sort.exact(method) > 0
            check_order(degrees, sort.order())


@pytest.mark.skipif(SMALL, reason="4 GB of vertices")
def test_of_2_to_the_27_vertices() -> None:
    values = np.random.default_rng(6).integers(0, 1 << 16, 1 << 27, dtype=np.uint32)
    with DegreeSort(Gpu(0), values) as sort:
        for buckets in (100, None):
            sort.approximate(buckets)
            check_places(Degrees("large", 0, values, None), sort.places(), buckets)
