"""What certificates take, beside what they are declared to take (Algorithm.proof_bytes), as Python's allocator counts.

Two sizes of a graph are certified under the cap that a refusal names. What a vertex more takes is compared, so that
constants do not count; whatever NumPy allocates does, answers and temporary arrays too.
"""

from __future__ import annotations

import gc
import tracemalloc

import choice
import numpy as np
import pytest

import gstream
from gstream.algorithms.centrality import simulations
from gstream.algorithms.registry import ALGORITHMS
from gstream.algorithms.support.session import Session
from pagestore.errors import CapError
from tests.answers.graphs import Example
from tests.answers.test_caps import OPTIONS, given

SIZES = choice.few((4_000, 16_000), (8_000, 40_000))  # vertices
UNEVEN = 1.5  # bytes a vertex: pages, and lists that are not as many times longer
DIRECTED = ("levels", "scc", "degrees", "kcore", "wcc", "closeness")
BY_BLOCKS = "triangles", "lcc", "ktruss"  # under the least cap, of thousands of blocks: that takes minutes


def example(vertices: int, directed: bool) -> Example:
    """Each vertex has an edge or more; no cycle where directed."""
    draws = np.random.default_rng(1)
    source = np.concatenate([np.arange(vertices), draws.integers(0, vertices, vertices // 2)])
    target = np.concatenate([draws.permutation(vertices), draws.integers(0, vertices, vertices // 2)])
    if directed:
        apart = source != target
        source, target = np.minimum(source, target)[apart], np.maximum(source, target)[apart]
    return Example(vertices, source, target, draws.random(len(source)).astype(np.float32), directed=directed)


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    """{whether it is directed: [(graph, example) of each size]}."""
    folder, made = tmp_path_factory.mktemp("proofs"), {}
    for directed in (False, True):
        made[directed] = []
        for vertices in SIZES:
            one = example(vertices, directed)
            store = folder / f"{directed}-{vertices}"
            store.mkdir()
            made[directed].append((gstream.open(one.stored(store)), one))
    yield made
    for graph, _ in (*made[False], *made[True]):
        graph.close()


@pytest.mark.longer
@pytest.mark.parametrize("name", choice.seeds(2, [name for name, one in ALGORITHMS.items() if one.proof]))
def test_a_certificate_takes_no_more_than_is_declared(name, graphs, monkeypatch):
    monkeypatch.setattr(simulations, "PART", 1000)  # far fewer than the vertices
    prove, taken, declared = Session.prove, [], []

    def measured(session, certificate, columns, *given):
        declared.append(session.proof_bytes)
        gc.collect()
        tracemalloc.start()
        found = prove(session, certificate, columns, *given)
        answer = columns if isinstance(columns, list) else []  # edges of a few vertices are few
        taken.append(tracemalloc.get_traced_memory()[1] + sum(column.values.nbytes for column in answer))
        tracemalloc.stop()
        return found

    for graph, made in graphs[name in DIRECTED]:
        own, run = given(OPTIONS.get(name, [{}])[-1 if name == "levels" else 0], made), {"threads": 1}
        with pytest.raises(CapError) as refused:
            graph.execute(name, own, True, host_memory=1, **run)
        if name not in BY_BLOCKS:
            run["host_memory"] = refused.value.need
        graph.execute(name, own, True, **run)  # compiles, and imports what it needs
        with monkeypatch.context() as patch:
            patch.setattr(Session, "prove", measured)
            assert graph.execute(name, own, True, **run).summary["certificate"]["holds"]
    more = SIZES[1] - SIZES[0]
    assert (taken[1] - taken[0]) / more <= (declared[1] - declared[0]) / more + UNEVEN
