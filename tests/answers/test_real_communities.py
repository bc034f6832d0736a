"""Modularity of real graphs of ../shared/data beside igraph's and leidenalg's; bench/communities.py takes all."""

from __future__ import annotations

import igraph
import numpy as np
import pytest

import gstream
from tests.shared_data import edges, manifest, needs_data

# (graph, whether by weights, modularity of igraph's community_multilevel, and of the better one of its community_leiden
# and leidenalg's), by igraph 1.0.0 and leidenalg 0.12.0, of two iterations.
FOUND = [
    ("email_eu_core", False, 0.439694, 0.440100),
    ("osm_monaco", False, 0.979623, 0.980366),
    ("osm_monaco", True, 0.990184, 0.990272),
    ("slashdot0902_d", False, 0.396199, 0.396702),
    ("tntp_chicago_regional", False, 0.932997, 0.937927),
    ("tntp_chicago_regional", True, 0.947667, 0.950476),
    ("twitch_de", False, 0.294289, 0.295651),
    ("wiki_vote", False, 0.428286, 0.428765),
]
LEAST = 0.99


@needs_data
@pytest.mark.long
@pytest.mark.parametrize("name", sorted({row[0] for row in FOUND}))
def test_modularity_is_within_a_hundredth_of_peers(name: str) -> None:
    """Of three seeds; igraph sums ours again."""
    table, facts = edges(name), manifest()[name]
    source, target = table[:, :2].astype(np.int64).T
    weight = table[:, 2] if table.shape[1] > 2 else None
    peer = igraph.Graph(n=facts["V"], edges=np.stack([source, target], 1), directed=False)
    with gstream.from_edges(source, target, weight, num_vertices=facts["V"], directed=facts["directed"]) as graph:
        for _, weighted, multilevel, leiden in (row for row in FOUND if row[0] == name):
            heavy = weight.tolist() if weighted and weight is not None else None
            for own, best in (("louvain", multilevel), ("leiden", leiden)):
                for seed in range(3):
                    found = graph.execute(own, {"weighted": weighted, "seed": seed})
                    members = np.unique(found.to_numpy()["community"], return_inverse=True)[1]
                    summed = peer.modularity(members.tolist(), weights=heavy)
                    assert summed == pytest.approx(found.summary["modularity"], abs=1e-9)
                    assert summed >= LEAST * best, (own, seed)
