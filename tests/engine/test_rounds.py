"""Rounds over batches in memory give the same answers and read less; where they can't be had, a note says so."""

from __future__ import annotations

import choice
import numpy as np
import pytest
from engine_graphs import make_store, skewed_edges

import gstream
from gstream.engine.checkpoint import Keeper
from pagestore.errors import UsageError

SIDE, WEB = 100, 1500
VERTICES = WEB + SIDE * SIDE
STORES = {"rows": {}, "columns": {"order": "degree", "columns": 8}}
DISK = {"devices": "host", "host_memory": 600_000, "batch_bytes": 32768}
WAYS = {
    "in memory": {"devices": "host"},
    "two hosts": {"devices": "host:2"},
    "from disk": DISK,
    "from disk, one thread": DISK | {"threads": 1},
}  # fmt: skip
CALLS = {
    "sssp": ({"source": WEB}, "distance"),
    "sssp float64": ({"source": [3, WEB], "float64": True}, "distance"),
    "widest": ({"source": WEB}, "width"),
    "hcc": ({}, "component"),
}


@pytest.fixture(scope="module", params=choice.seeds(1, STORES))
def path(request, tmp_path_factory):
    """Streets beside a web with hubs of large pages, and a bridge between them."""
    source, target = skewed_edges(WEB, 20_000, 5)
    cell = WEB + np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    source = np.concatenate([source, cell[:, :-1].ravel(), cell[:-1].ravel(), [WEB + 7]])
    target = np.concatenate([target, cell[:, 1:].ravel(), cell[1:].ravel(), [source[0]]])
    weight = np.random.default_rng(1).integers(1, 100, len(source)).astype(np.float32)
    folder = tmp_path_factory.mktemp("stores")
    given = {"vertices": VERTICES, "directed": False} | STORES[request.param]
    with make_store(folder, source, target, weight, **given) as made:
        table = made.topology("out")
        assert table.pages > table.small_pages
        return made.path


def answer(path, name, given, **options):
    arguments, column = CALLS[name]
    with gstream.open(path, **given) as graph:
        found = getattr(graph, name.split()[0])(**arguments, **options)
        return found.to_numpy()[column], found.summary


@pytest.mark.covering(1)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CALLS)
def test_same_answer(path, name, way):
    mine, found = answer(path, name, WAYS[way], execution="async", certify=True)
    theirs, usual = answer(path, name, WAYS[way])
    assert np.array_equal(mine, theirs) and found["converged"]
    assert found["stats"]["rounds"] > 0 == usual["stats"]["rounds"]


def test_it_reads_less(path):
    _, found = answer(path, "sssp", DISK, execution="async")
    _, usual = answer(path, "sssp", DISK)
    for figure in ("pages_moved", "bytes_read_disk"):
        assert 10 * found["stats"][figure] <= 7 * usual["stats"][figure]


def test_a_run_goes_on_from_a_checkpoint(path, tmp_path, monkeypatch):
    given = DISK | {"checkpoint": str(tmp_path / "kept"), "checkpoint_every": 1}
    between, left = Keeper._between, [2]

    def passed(self, *state):
        between(self, *state)
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Keeper, "_between", passed)
        with pytest.raises(KeyboardInterrupt):
            answer(path, "sssp", given, execution="async")
    mine, found = answer(path, "sssp", given | {"resume": True}, execution="async")
    assert np.array_equal(mine, answer(path, "sssp", DISK)[0]) and found["stats"]["kept"]["resumed"] > 0


def test_values_by_chunks_make_supersteps(path):
    mine, found = answer(path, "sssp", {"devices": "host", "chunk_vertices": 4096}, execution="async")
    assert "execution async goes over batches again" in found["note"] and found["stats"]["rounds"] == 0
    assert np.array_equal(mine, answer(path, "sssp", DISK)[0])


def test_other_words_are_refused(path):
    with pytest.raises(UsageError, match="must be sync or async"):
        answer(path, "sssp", WAYS["in memory"], execution="later")
