"""Real graphs whose answers were computed with networkit, igraph and scipy (../shared/data; skipped without it).

GSTREAM_LARGE=1 runs the large ones too.
"""

from __future__ import annotations

import hashlib
import os

import numpy as np
import pytest

import gstream
from pagestore.memory import convert_arrays
from tests.shared_data import answers, arrays, edges, hash_weights, manifest, needs_data

SMALL = ["email_eu_core", "wiki_vote", "power", "p2p_gnutella08", "hep_th", "osm_monaco", "tntp_chicago_regional"]
LARGE = ["facebook_combined", "as_caida", "blogcatalog", "cit_hepph", "slashdot0902_d", "cnr_2000", "ego_twitter_u",
         "osm_porto", "road_5cities", "luxembourg_osm", "wing", "uk_2007_100k"]  # fmt: skip
NAMES = SMALL + (LARGE if os.environ.get("GSTREAM_LARGE") else [])
HASHED = [name for name in NAMES if name.split("_")[0] not in ("osm", "tntp", "road")]
pytestmark = needs_data


def digest(values, kind):
    return hashlib.sha256(np.ascontiguousarray(values, kind).tobytes()).hexdigest()


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """path(name, hashed weights): stores in degree order with 16 KiB pages, made once."""
    made = {}

    def path(name, hashed=False):
        if (name, hashed) not in made:
            facts, table = manifest()[name], edges(name)
            source, target = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64)
            weight = table[:, 2] if table.shape[1] == 3 else None
            if hashed:
                weight = hash_weights(source, target, facts["directed"])
            made[name, hashed] = tmp_path_factory.mktemp("known") / f"{name}.gs"
            convert_arrays(
                made[name, hashed], source, target, weight, directed=facts["directed"], vertices=facts["V"],
                order="degree", page_bytes=16384, memory_bytes=1 << 28,
            )  # fmt: skip
        return made[name, hashed]

    return path


@pytest.mark.parametrize("name", NAMES)
def test_bfs(name, stores):
    with gstream.open(stores(name)) as graph:
        for known in answers(name)["bfs"]:
            result = graph.bfs(source=known["source"], certify=True)
            levels = result.to_numpy()["distance"]
            assert result.summary["reached"] == known["reached"]
            assert digest(levels, "<i4") == known["sha256_int32le"]


@pytest.mark.parametrize("name", NAMES)
def test_components(name, stores):
    known = answers(name)["wcc"]
    with gstream.open(stores(name)) as graph:
        result = graph.wcc(certify=True)
    assert result.summary["components"] == known["components"]
    assert result.top(1)[0]["vertices"] == known["largest"]
    assert digest(result.to_numpy()["component"], "<u4") == known["sha256_minid_u32le"]


@pytest.mark.parametrize("name", NAMES)
def test_pagerank(name, stores):
    known, exact = answers(name), arrays(name)
    with gstream.open(stores(name)) as graph:
        double = graph.pagerank(tol=1e-13, max_iter=1000, float64=True, certify=True)
        single = graph.pagerank(tol=1e-7, certify=True)
        walk = graph.pagerank(
            tol=1e-13, max_iter=1000, float64=True, personalization={known["rwr"]["source"]: 1.0}, certify=True
        )
    for found, expected in ((double, known["pagerank"]), (walk, known["rwr"])):
        for (vertex, value), row in zip(expected["top20"], found.top(20), strict=True):
            assert abs(row["pagerank"] - value) < 1e-9 * value + 1e-14
            assert abs(found.to_numpy()["pagerank"][vertex] - value) < 1e-9 * value + 1e-14
    if "pagerank" in exact:
        assert np.allclose(double.to_numpy()["pagerank"], exact["pagerank"], rtol=1e-8, atol=0)
        assert np.abs(single.to_numpy()["pagerank"] - exact["pagerank"]).sum() < 1e-5


@pytest.mark.parametrize("name", HASHED)
def test_sssp_of_hashed_weights(name, stores):
    with gstream.open(stores(name, hashed=True)) as graph:
        for known in answers(name).get("sssp_hashw", []):
            check_sssp(graph, known)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in HASHED])
def test_sssp_of_real_weights(name, stores):
    with gstream.open(stores(name)) as graph:
        for known in answers(name)["sssp"]:
            check_sssp(graph, known)


def check_sssp(graph, known):
    result = graph.sssp(source=known["source"], float64=True, certify=True)
    distance = result.to_numpy()["distance"]
    reached = distance[np.isfinite(distance)]
    assert len(reached) == known["reached"]
    assert np.isclose(reached.max(), known["max"], rtol=1e-6) and np.isclose(reached.sum(), known["sum"], rtol=1e-6)
    if known.get("sha256_u32le") and np.array_equal(reached, np.round(reached)):
        whole = np.where(np.isfinite(distance), distance, 2**32 - 1)
        assert digest(whole, "<u4") == known["sha256_u32le"]
