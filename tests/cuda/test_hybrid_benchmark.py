"""bench/hybrid.py over the stand-in: both sides against the better one; copies of a throttled link wait."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from compilers import needs_gxx

from bench import hybrid, link_limit
from bench.gpu_setup import Setup
from bench.link import Devices
from bench.link_limit import BLOCK_BYTES, limited
from gstream.devices.gpu.driver import Gpu
from gstream.planning.cost_equations import Constants

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]


@pytest.fixture
def setup(tmp_path, monkeypatch) -> Setup:
    monkeypatch.setattr(hybrid, "RUNS", 2)
    monkeypatch.setattr(hybrid, "ROUNDS", 1)
    monkeypatch.setattr(link_limit, "BLOCK_BYTES", 1 << 16)
    return Setup(Devices(("cuda:0",)), scale=8, folder=tmp_path, merge_scale=8, streams=(1,), sources=2)


@pytest.mark.long
def test_every_row_stands_against_the_better_side(setup):
    figures = list(hybrid.slow_link(setup))
    assert [figure.what.partition(" streamed")[0] for figure in figures] == list(hybrid.PROGRAMS)
    for figure in figures:
        assert "link throttled" in figure.what and "copies are throttled" in figure.note
        least = min(float(part.split()[-2]) for part in figure.note.partition(";")[0].split(", "))
        assert figure.against_value == pytest.approx(least, rel=1e-3) and figure.ratio


def test_copies_wait_as_long_as_a_slow_link_would_take(monkeypatch):
    """Of 10 MiB at a quarter of the link's rate: three times as long as they took, at the rate of copies within."""
    gpu, inner = Gpu(0), list[int]()
    engine = SimpleNamespace(
        devices=[SimpleNamespace(gpu=gpu)], measure=lambda: Constants(c2=4e6), costs=SimpleNamespace()
    )
    monkeypatch.setattr(link_limit.SlowLink, "_inner_rate", lambda link: 8e6)
    monkeypatch.setattr(link_limit.SlowLink, "_copy", lambda link, nbytes, stream: inner.append(nbytes))
    usual = gpu.write
    with gpu, limited(engine, 1e6):
        stream, array = gpu.stream(), gpu.empty(10 << 20, np.uint8)
        gpu.write(array.address, np.zeros(10 << 20, np.uint8), stream)
        gpu.write(array.address, np.zeros(1 << 10, np.uint8), stream)
        stream.synchronize()
        array.free()
    assert sum(inner) == pytest.approx((10 << 20) * (1 / 1e6 - 1 / 4e6) * 8e6, rel=1e-6) and max(inner) <= BLOCK_BYTES
    assert gpu.write == usual and engine.costs._constants.c2 == 1e6
