"""Every algorithm that is a program over the stand-in for the driver: the host's answers, resident and streamed."""

from __future__ import annotations

import choice
import numpy as np
import pytest
from compilers import needs_gxx
from entry_runs import BY_CHUNKS, CHUNKED, KINDS, OPTIONS, TWO, check, make_path, make_paths

import gstream
from gstream.algorithms.support import lists
from gstream.devices.gpu.resident_arrays import GpuArrays
from pagestore.memory import convert_arrays

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]
V, E = 1500, 9000
ALL = {what: {"devices": "cuda", **given} for what, given in OPTIONS.items()} | {
    what: {"devices": "cuda:0,2", **given} for what, given in TWO.items()
}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return make_paths(tmp_path_factory, V, E)


@pytest.mark.longer
@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", choice.seeds(3, ALL))
def test_the_device_is_the_host(paths, kind, options):
    with gstream.open(paths[kind]) as graph:
        for name in choice.few(KINDS[kind][::2], KINDS[kind]):
            check(graph, name, ALL[options])


@pytest.mark.longer
@pytest.mark.parametrize("kind", ["directed", *choice.also("acyclic")])
def test_vertices_come_by_chunks(kind, tmp_path):
    with gstream.open(make_path(tmp_path, kind, 20_000, 40_000)) as graph:
        for name in choice.few(("katz", "khop", "heat"), KINDS[kind]):
            stats = check(graph, name, {"devices": "cuda", **CHUNKED}).summary["stats"]
            assert stats["chunks"] == (3 if name in BY_CHUNKS else 1), name
            assert stats["on_device_bytes"] <= CHUNKED["device_memory"], name


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_one_thread_goes_on_from_a_gpu(paths, rounds, monkeypatch):
    """After so many rounds of whichever search, and not where lists have no room."""
    monkeypatch.setattr(lists, "FIRST_ROUNDS", rounds)
    monkeypatch.setattr(lists, "ITEM_NS", 0)
    for kind, name in (("acyclic", "levels"), ("directed", "closeness"), ("undirected", "harmonic")):
        with gstream.open(paths[kind]) as graph:
            for room in (True, False):
                monkeypatch.setattr(lists, "has_room", lambda *given, room=room: room)
                check(graph, name, {"devices": "cuda"})


@pytest.mark.parametrize(("name", "own"), [("levels", {}), ("closeness", {"k": 3})])
def test_long_paths_take_a_gpu_few_rounds(name, own, tmp_path, monkeypatch):
    """A round looks at all pages: 5,001 of them would be the square of the path."""
    made, items = [], GpuArrays.items
    monkeypatch.setattr(GpuArrays, "items", lambda *given: made.append(1) or items(*given))
    path = np.arange(5000)
    convert_arrays(tmp_path / "a.gs", path, path + 1, None, directed=True, page_bytes=4096)
    with gstream.open(tmp_path / "a.gs") as graph:
        found, expected = graph.execute(name, own, devices="cuda"), graph.execute(name, own)
    column = expected.columns[-1]
    np.testing.assert_allclose(found.to_numpy()[column], expected.to_numpy()[column], rtol=1e-10)
    assert found.summary["supersteps"] == expected.summary["supersteps"] > 2000
    assert 0 < len(made) <= 1 + lists.FIRST_ROUNDS + lists.ITEM_NS * 10_001 / lists.ROUND_NS
