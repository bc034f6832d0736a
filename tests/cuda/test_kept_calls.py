"""Checkpoints of algorithms on GPUs, over the stand-in for the driver: from GPUs to the host's cores, and back."""

from __future__ import annotations

import choice
import pytest
from compilers import needs_gxx
from kept_calls import CALLS, check_same, make_graphs

import gstream
from gstream.algorithms.components import scc
from gstream.engine.checkpoint import Keeper

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]
ONE, TWO, HOST = {"devices": "cuda"}, {"devices": "cuda:0,2", "batch_bytes": 8192}, {"threads": 1}
WAYS = {"from a GPU": (ONE, HOST), "to a GPU": (HOST, ONE), "on two GPUs": (TWO, ONE)}
SWEPT = [
    name for name in CALLS if name.partition(",")[0] in (
        "hits", "heat", "mis", "coloring", "cdlp", "kcore", "ktruss", "triangles", "wcc", "scc", "msf", "levels",
        "closeness", "betweenness", "radius", "subgraph",
    )
]  # fmt: skip


class Killed(Exception):
    pass


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    return make_graphs(tmp_path_factory.mktemp("stores"))


@pytest.mark.covering(1)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", choice.seeds(3, SWEPT))
def test_goes_on_elsewhere(graphs, tmp_path, monkeypatch, name, way):
    """After its second, third and fifth boundary, where it has so many."""
    monkeypatch.setattr(scc, "AT_ONCE", 0)
    (kind, algorithm, own, given), (before, after) = CALLS[name], WAYS[way]
    between, went_on = Keeper._between, []
    with gstream.open(graphs[kind], **given) as graph:
        expected = graph.execute(algorithm, own, **HOST)
        for boundary in (2, 3, 5):
            left = [boundary]

            def passed(self, *given, left=left):
                between(self, *given)
                left[0] -= 1
                if left[0] == 0:
                    raise Killed

            kept = {"checkpoint": tmp_path / str(boundary), "checkpoint_every": 1}
            monkeypatch.setattr(Keeper, "_between", passed)
            try:
                graph.execute(algorithm, own, **kept, **before)
            except Killed:
                monkeypatch.setattr(Keeper, "_between", between)
                found = graph.execute(algorithm, own, resume=True, **kept, **after)
                check_same(found, expected, False)
                went_on.append(found.summary["stats"]["kept"]["resumed"])
            monkeypatch.setattr(Keeper, "_between", between)
    assert any(went_on) or name in ("triangles", "ktruss", "subgraph"), "few boundaries"
