"""One refusal names a cap that is enough: for runs and certificates, on a page that holds a small graph whole, and on
pages that are streamed."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gstream
from gstream.algorithms.registry import ALGORITHMS
from pagestore.errors import ResourceError
from pagestore.memory import convert_arrays

OPTIONS = {
    "bfs": {"source": 0, "predecessors": False}, "sssp": {"source": 0, "predecessors": False}, "wcc": {}, "scc": {},
    "pagerank": {"iterations": 2}, "hits": {"max_iter": 2}, "closeness": {"k": 3}, "kcore": {}, "mis": {},
    "coloring": {}, "betweenness": {"k": 2, "seed": 1}, "khop": {"source": 0, "undirected": True}, "cdlp": {},
    "subgraph": {"nodes": [1, 2, 3]}, "cross": {"nodes": [1, 2, 3]}, "egonet": {"source": 0, "undirected": True},
    "widest": {"source": 0}, "heat": {"initial": {0: 1.0}, "iterations": 2},
}  # fmt: skip


@pytest.mark.parametrize(("page_bytes", "devices"), [(1 << 20, "host"), (1 << 20, "host:2"), (4096, "host")])
def test_the_first_cap_that_is_named_is_enough(page_bytes, devices, tmp_path):
    random = np.random.default_rng(5)
    ends = (300 * random.random((2, 3000)) ** 2).astype(np.int64)
    weight = random.integers(0, 9, 3000).astype(np.float64)
    convert_arrays(tmp_path / "a.gs", *ends, weight, vertices=300, page_bytes=page_bytes, memory_bytes=1 << 28)
    with gstream.open(tmp_path / "a.gs") as graph:
        for name, options in OPTIONS.items():
            for certify in (False, True) if ALGORITHMS[name].proves else (False,):
                with pytest.raises(ResourceError) as refused:
                    graph.execute(name, options, certify, host_memory=1, devices=devices)
                need = int(re.findall(r"(\d+) bytes are needed", str(refused.value))[-1])
                found = graph.execute(name, options, certify, host_memory=need, devices=devices)
                assert found.summary["stats"]["peak_memory_bytes"] <= need, (name, certify)
                with pytest.raises(ResourceError):
                    graph.execute(name, options, certify, host_memory=need // 2, devices=devices)
