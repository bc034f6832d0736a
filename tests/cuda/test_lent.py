"""GPUs leave long rows of tiny frontiers to one of the host's threads, by themselves or by the driver."""

from __future__ import annotations

import choice
import pytest
from compilers import needs_gxx
from lent_runs import FIRST, PROGRAMS, check, write_path

from gstream.devices.gpu import autonomous
from gstream.engine.engine import Engine
from gstream.engine.lent_frontier import FIRST_ROUNDS, LOOK_EVERY
from gstream.options.run_options import RunOptions
from gstream.programs.bfs import BFS
from pagestore.store import open_store

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]
KINDS = {"directed": {}, "undirected": {"directed": False}, "degree order": {"order": "degree"}}
DEVICES = ["cuda:0", "cuda:0,2"]
SOME = {"bfs"}  # the others are tried on fakes (engine/test_lent.py)


@pytest.fixture(scope="module", params=choice.seeds(1, KINDS))
def store(request, tmp_path_factory):
    with open_store(write_path(tmp_path_factory.mktemp("lent") / "graph.gs", **KINDS[request.param])) as store:
        yield store


@pytest.mark.long
@pytest.mark.covering(1)
@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("kind", [*sorted(SOME), *choice.also(*sorted(PROGRAMS.keys() - SOME))])
def test_the_answer_is_the_gpus(store, tmp_path, kind, devices):
    check(store, [devices], kind, tmp_path)


def test_a_gpu_by_itself_makes_few(store, monkeypatch):
    """Of a path's supersteps, once its pages are cached: as many as the first look takes, and the web's."""
    made, run = [], autonomous.run

    def noted(*given):
        made.append(run(*given))
        return made[-1]

    monkeypatch.setattr(autonomous, "run", noted)
    with Engine(store, RunOptions(devices=["cuda:0"])) as engine:
        for _ in range(3):
            made.clear()
            found = engine.run(BFS(source=FIRST))
    counts = [one.count for one in made if one is not None]
    assert found.supersteps > 800 and 0 < max(counts) <= LOOK_EVERY and FIRST_ROUNDS <= sum(counts) <= 3 * LOOK_EVERY
