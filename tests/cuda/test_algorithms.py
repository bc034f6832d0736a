"""Every algorithm that is a program over the stand-in for the driver: the host's answers, resident and streamed."""

from __future__ import annotations

import pytest
from compilers import needs_gxx
from entry_runs import BY_CHUNKS, CHUNKED, KINDS, OPTIONS, TWO, check, make_path, make_paths

import gstream

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]
V, E = 1500, 9000
ALL = {what: {"devices": "cuda", **given} for what, given in OPTIONS.items()} | {
    what: {"devices": "cuda:0,2", **given} for what, given in TWO.items()
}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return make_paths(tmp_path_factory, V, E)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", ALL)
def test_the_device_is_the_host(paths, kind, options):
    with gstream.open(paths[kind]) as graph:
        for name in KINDS[kind]:
            check(graph, name, ALL[options])


@pytest.mark.parametrize("kind", ["directed", "acyclic"])
def test_vertices_come_by_chunks(kind, tmp_path):
    with gstream.open(make_path(tmp_path, kind, 20_000, 40_000)) as graph:
        for name in KINDS[kind]:
            stats = check(graph, name, {"devices": "cuda", **CHUNKED}).summary["stats"]
            assert stats["chunks"] == (3 if name in BY_CHUNKS else 1), name
            assert stats["on_device_bytes"] <= CHUNKED["device_memory"], name
