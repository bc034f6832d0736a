"""bench/gpu.py's components over the stand-in: heads that move in the run have their share of the link."""

from __future__ import annotations

import pytest
from compilers import needs_gxx

import pagestore
from bench import gpu_traversals, link
from bench.gpu_setup import Setup
from bench.gpu_traversals import MOVED, SWEPT
from bench.link import Ceiling, Ceilings, Devices

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]
MEMORY, LINK = Ceiling("memory", 4e9), Ceiling("link", 1e6)  # bytes a second


@pytest.fixture
def setup(tmp_path, monkeypatch) -> Setup:
    monkeypatch.setattr(link, "BUFFER_BYTES", 1 << 20)
    monkeypatch.setattr(Ceilings, "memory", lambda *_: MEMORY)
    monkeypatch.setattr(Ceilings, "link", lambda *_: LINK)
    monkeypatch.setattr(gpu_traversals, "COMPONENT_RUNS", 2)
    return Setup(Devices(("cuda:0",)), scale=8, folder=tmp_path, merge_scale=8, streams=(1,), sources=2)


def test_heads_are_among_the_bytes_of_components(setup):
    figures = {figure.what.rpartition(",")[0]: figure for figure in gpu_traversals.components(setup)}
    with pagestore.open_store(setup.store("undirected").path) as store:
        topology = store.topology("out")
        heads, pages = topology.heads().nbytes, topology.pages * topology.layout.page_bytes
    where = {place: figures[f"components {place}"] for place in ("in-core", "streamed", MOVED, SWEPT)}
    assert where["in-core"].against_value == pytest.approx(heads / MEMORY.rate * 1e3)
    assert where["streamed"].against_value is None and "0.0 MiB of attributes moved" in where["streamed"].note
    assert where[MOVED].against_value == pytest.approx(heads / LINK.rate * 1e3)
    assert where[SWEPT].against_value == pytest.approx(pages / LINK.rate * 1e3)
    assert [place for place, figure in where.items() if "MiB of the attributes are heads" in figure.note] == [MOVED]
