"""The approximate sort on the GPU, over the stand-in, against NumPy and the host's own sort."""

from __future__ import annotations

import numpy as np
import pytest
from compilers import needs_gxx, needs_nvcc
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench import gpu_sort
from bench.gpu_sort import Buckets, DegreeSort, ExactSorts
from gstream.cudacode.generate import UnitShape, unit_of_page_kernels
from gstream.devices.gpu.driver import Gpu
from gstream.devices.gpu.tiles import PREFIX_STRETCH
from pagestore.convert.order import MAX_ORDER_BUCKETS, degree_order, extremes
from pagestore.convert.storage import Vector

pytestmark = needs_gxx
BUCKETS = [1, 2, 7, 1000, 5000, MAX_ORDER_BUCKETS, None]


def on_host(degrees, others, buckets):
    """Places by pagestore.convert.order: id[vertices]."""
    vectors = []
    for values in (degrees, others):
        vectors.append(None if values is None else Vector(len(values), values.dtype))
        if values is not None:
            vectors[-1].write(0, values)
    return degree_order(*vectors, extremes(vectors[0]), buckets, np.dtype(np.uint32), None).read(0, None)


def bucket_of(degrees, others, buckets):
    """The number of every vertex's bucket, by the equations, greatest degrees first."""
    values = [int(degree) for degree in degrees]
    span = min(values), max(values)
    shape = Buckets.of(span, buckets)
    if shape.steps:
        numbers = [shape.steps - (value - span[0]) * shape.steps // (span[1] - span[0]) for value in values]
    else:
        numbers = [max(shape.most - value, 0) for value in values]
    assert max(numbers) <= shape.counters - 2
    alone = degrees == 0 if others is None else (degrees == 0) & (others == 0)
    return np.where(alone, shape.counters - 1, numbers)


def check(degrees, others, buckets, gpu):
    with DegreeSort(gpu, degrees, others) as sort:
        assert sort.approximate(buckets) >= 0
        place = sort.places()
        counts = None
        if sort.span[0] < sort.span[1]:
            counters = Buckets.of(sort.span, buckets).counters
            with gpu:  # where the buckets end, now
                counts = gpu.fetch(sort._at("counts"), counters, np.uint64, sort.stream)
    assert sort.span == (degrees.min(), degrees.max())
    wanted = on_host(degrees, others, buckets)
    if counts is None:
        assert (place == wanted).all() and (place == np.arange(len(degrees))).all()
        return
    of = bucket_of(degrees, others, buckets)
    assert (np.sort(place) == np.arange(len(degrees))).all(), "not every place is taken once"
    assert (of[np.argsort(place)] == of[np.argsort(wanted)]).all(), "buckets stand elsewhere than the host's"
    assert (np.diff(of[np.argsort(place)]) >= 0).all()
    assert (counts == np.cumsum(np.bincount(of, minlength=len(counts)))).all()


def skewed(vertices, seed=1, dtype=np.uint32):
    return (np.random.default_rng(seed).zipf(1.6, vertices) - 1).clip(0, 1 << 22).astype(dtype)


@pytest.mark.usefixtures("standin_gpu")
class TestOverTheStandIn:
    @pytest.fixture(autouse=True)
    def short_stretches(self, monkeypatch):
        monkeypatch.setattr(gpu_sort, "LEAST_STRETCH", 600)  # several blocks for few vertices

    @pytest.mark.parametrize("buckets", BUCKETS)
    @pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
    def test_of_a_power_law(self, buckets, dtype):
        """With degrees past the last bucket, and with vertices that only the other direction has edges of."""
        degrees = skewed(3001, dtype=dtype)
        others = np.random.default_rng(2).integers(0, 2, len(degrees)).astype(dtype)
        check(degrees, others, buckets, Gpu(0))
        check(degrees, None, buckets, Gpu(0))

    @pytest.mark.parametrize("buckets", [1, 3, None])
    def test_off_where_all_degrees_are_equal(self, buckets):
        for degree in (0, 7):
            check(np.full(900, degree, np.uint32), None, buckets, Gpu(0))

    @pytest.mark.parametrize("vertices", [1, 31, 32, 33, 511, 513, 4096])
    def test_of_any_length(self, vertices):
        check(np.arange(vertices, dtype=np.uint32) % 50, None, 10, Gpu(0))

    def test_of_more_buckets_than_a_block_has_counters_for(self):
        """5,000 to 6,000 buckets: those of low degrees are private to a block, the others are not."""
        degrees = np.random.default_rng(3).permutation(6000).astype(np.uint32)
        for buckets in (5500, None):
            check(degrees, None, buckets, Gpu(0))

    @settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.lists(st.integers(0, (1 << 32) - 1) | st.integers(0, 9), min_size=1, max_size=70), st.sampled_from(BUCKETS)
    )
    def test_of_any_degrees(self, degrees, buckets):
        check(np.array(degrees, np.uint32), None, buckets, Gpu(0))

    def test_places_of_8_bytes(self, monkeypatch):
        """Of graphs from 2^32 vertices on, which have 8-byte IDs; here of few."""
        degrees = skewed(2000, dtype=np.uint64)
        gpu = Gpu(0)
        sort = DegreeSort(gpu, degrees)
        with sort, gpu:
            wide = gpu.load(
                unit_of_page_kernels("order", ("order.cu",), UnitShape(np.dtype("<u8"), None, degrees.dtype))
            )
            sort.kernels, sort.id_dtype = wide, np.dtype("<u8")
            sort._arrays.pop("place").free()
            sort._keep("place", gpu.empty(len(degrees), np.uint64))
            sort.approximate(1000)
            of = bucket_of(degrees, None, 1000)
            assert (np.diff(of[np.argsort(sort.places())]) >= 0).all()


def test_a_stretch_is_the_kernels_stretch():
    text = unit_of_page_kernels("order", ("order.cu",), UnitShape(np.dtype("u4"))).text
    assert "STRETCH_COUNTERS = PREFIX_THREADS * COUNTERS_A_THREAD" in text
    assert "PREFIX_THREADS = 512" in text and "COUNTERS_A_THREAD = 8" in text and PREFIX_STRETCH == 512 * 8


@given(st.integers(0, 1 << 40), st.integers(0, 1 << 40), st.sampled_from(BUCKETS))
def test_counters_suffice_and_fit(one, other, buckets):
    span = min(one, other), max(one, other)
    shape = Buckets.of(span, buckets)
    assert 2 <= shape.counters <= MAX_ORDER_BUCKETS + 2
    if shape.steps:
        assert shape.counters == shape.steps + 2
    assert buckets is None or shape.counters <= buckets + 1


@pytest.mark.long
@needs_nvcc
def test_exact_sorts_compile(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_sort, "cache_folder", lambda: tmp_path)
    ExactSorts("sm_90")
    assert [path.suffix for path in tmp_path.iterdir()] == [".so"]


@needs_nvcc
def test_the_kernels_compile(tmp_path, monkeypatch):
    from gstream.cudacode import generate

    monkeypatch.setattr(generate, "cache_folder", lambda: tmp_path)
    for width in ("u4", "u8"):
        shape = UnitShape(np.dtype(width), None, np.dtype(width))
        assert unit_of_page_kernels("order", ("order.cu",), shape).compile("sm_90").exists()
