"""The algorithms under memory caps: the same answers, page by page from disk."""

from __future__ import annotations

import numpy as np
import pytest

import gstream
from pagestore.errors import ResourceError
from tests.answers.graphs import Example


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A weighted graph of 4,000 vertices whose pages take more than ten times its vertex arrays."""
    random = np.random.default_rng(4)
    ends = (4000 * random.random((2, 60000)) ** 2).astype(np.int64)
    example = Example(4000, *ends, random.integers(0, 9, 60000).astype(float), order="degree")
    return example.stored(tmp_path_factory.mktemp("memory"))


def run_all(path, **options):
    with gstream.open(path, **options) as graph:
        return {
            "bfs": graph.bfs(source=0, certify=True),
            "sssp": graph.sssp(source=0, certify=True),
            "wcc": graph.wcc(certify=True),
            "pagerank": graph.pagerank(float64=True, certify=True),
        }


@pytest.mark.parametrize(
    "options",
    [{"host_memory": 200_000}, {"host_memory": 300_000}, {"host_memory": 400_000, "devices": "host:2"},
     {"host_memory": 300_000, "use_heads": False}, {"device_memory": 200_000, "devices": "fake:1"}],
)  # fmt: skip
def test_caps_change_nothing_but_the_figures(options, stored):
    free, capped = run_all(stored), run_all(stored, **options)
    for name, result in free.items():
        assert np.array_equal(result.to_numpy(), capped[name].to_numpy()), name
        peak = capped[name].summary["stats"]["peak_memory_bytes"]
        assert peak <= options.get("host_memory", peak), name
    if "host_memory" in options:
        assert capped["pagerank"].summary["stats"]["bytes_read_disk"] > 0


def test_too_little_memory_is_an_error_that_says_how_much(stored):
    with gstream.open(stored, host_memory=8000) as graph:
        for call in (graph.wcc, graph.pagerank, lambda: graph.bfs(source=0)):
            with pytest.raises(ResourceError, match="too little"):
                call()
