"""Checkpoints of GPUs, over the stand-in for the driver: from GPUs to the host's cores, to other GPUs, and back."""

from __future__ import annotations

import numpy as np
import pytest
from compilers import needs_gxx
from engine_graphs import make_store, skewed_edges

from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from gstream.programs.sssp import SSSP
from gstream.programs.wcc import WCC

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]
V, E, PAGE = 3000, 20_000, 4096
PROGRAMS = {
    "bfs": lambda: BFS(source=3), "sssp": lambda: SSSP(source=3), "wcc": WCC,
    "pagerank": lambda: PageRank(tolerance=0.0),
}  # fmt: skip
LIMITS = {"pagerank": 5}
WAYS = {
    "gpu": {"devices": ["cuda"]},
    "two": {"devices": ["cuda:0,2"], "batch_bytes": 2 * PAGE},
    "by chunks": {"devices": ["cuda"], "chunk_vertices": 1024, "direction": "push", "batch_bytes": 2 * PAGE},
    "host": {},
    "fakes": {"devices": ["fake:1:2"], "batch_bytes": 2 * PAGE},
}


class Killed(Exception):
    pass


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    source, target = skewed_edges(V, E, 31)
    weight = np.random.default_rng(32).integers(1, 9, E).astype(np.float64)
    with make_store(tmp_path_factory.mktemp("stores"), source, target, weight, vertices=V, page_bytes=PAGE) as made:
        yield made


@pytest.mark.covering(1)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_goes_on_elsewhere(store, tmp_path, name, way):
    def run(way, **options):
        with Engine(store, RunOptions(**WAYS[way], **options)) as engine:
            return engine.run(PROGRAMS[name](), max_supersteps=LIMITS.get(name))

    def die(number, step):
        if number == 3:
            raise Killed

    expected = run("host")
    with pytest.raises(Killed):
        run(way, checkpoint=tmp_path, checkpoint_every=1, progress=die)
    for other in WAYS if "gpu" in way or way == "host" else ("gpu",):
        kept = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        found = run(other, checkpoint=tmp_path, resume=True)
        assert found.stats.kept.resumed == 2
        assert found.converged == expected.converged
        if name == "pagerank":
            np.testing.assert_allclose(found.value, expected.value, rtol=1e-5)
        else:
            assert found.value.tobytes() == expected.value.tobytes()
        for file, data in kept.items():  # the same start for each
            (tmp_path / file).write_bytes(data)
