"""The stand-in for PyCUDA's driver, and graphs, as fixtures."""

from __future__ import annotations

import compilers
import instead
import pytest
import standin
from drawn import make_graphs

from gstream.engine import engine
from gstream.planning import calibration
from gstream.planning.cost_equations import Constants, GpuConstants


@pytest.fixture
def standin_gpu(request, monkeypatch):
    """A driver in host memory, which nothing may be left in."""
    instead.install(compilers.compile_unit, monkeypatch.setattr)
    monkeypatch.setattr(engine, "is_faster_alone", lambda alone, together: False)  # several work together
    standin.LIVE.clear()
    standin.LOST.clear()
    standin.PINNED.clear()
    standin.WORK.drain()
    standin.WORK.seed(request.node.name)
    yield
    standin.WORK.drain()
    assert not standin.contexts(), "a context that nobody left"
    assert not standin.LIVE, "GPU memory that nobody freed"


@pytest.fixture
def usual_rates(monkeypatch, tmp_path):
    """Shares go by usual rates: those that other tests' runs have taught may leave the cores none."""
    monkeypatch.setattr(calibration, "cache_folder", lambda: tmp_path / "nothing learnt")
    monkeypatch.setattr(calibration, "constants", lambda *given: Constants())
    monkeypatch.setattr(calibration, "gpu_constants", lambda *given: GpuConstants())


@pytest.fixture(scope="module")
def wide_graphs(tmp_path_factory):
    """Of so many vertices that programs which apply have several chunks."""
    graphs = make_graphs(tmp_path_factory.mktemp("wide"), vertices=20_000, edges=40_000)
    yield graphs
    for graph in graphs:
        graph.store.close()


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    """Small ones for seeded runs, all of whose kernels are emulated."""
    graphs = make_graphs(tmp_path_factory.mktemp("graphs"), vertices=2000, edges=16_000)
    assert all(graph.store.topology("in").pages > graph.store.topology("in").small_pages for graph in graphs)
    yield graphs
    for graph in graphs:
        graph.store.close()
