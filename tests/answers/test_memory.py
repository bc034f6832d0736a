"""The algorithms under memory caps: the same answers, page by page from disk."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gstream
from gstream.algorithms.registry import ALGORITHMS
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


NAMED = {  # algorithms whose message names at once what all of a call takes, and options for them
    "bfs": {"source": 0}, "sssp": {"source": 0}, "wcc": {}, "pagerank": {"iterations": 3}, "hits": {"max_iter": 4},
    "closeness": {"k": 64}, "radius": {"sketches": 2}, "scc": {}, "kcore": {}, "mis": {}, "coloring": {},
    "hyperball": {"log2m": 4}, "stats": {"log2m": 4}, "modularity": {"partition": {v: v % 9 for v in range(4000)}},
    "subgraph": {"nodes": [1, 2, 3]}, "cross": {"nodes": [1, 2, 3]}, "egonet": {"source": 0, "undirected": True},
    "eigenvector": {}, "betweenness": {"k": 2, "seed": 1}, "cdlp": {"iterations": 3}, "lcc": {}, "khop": {"source": 0},
    "widest": {"source": 0}, "rwr": {"source": 0}, "katz": {"alpha": 1e-4}, "harmonic": {"k": 64},
    "heat": {"initial": {0: 1}}, "circuit": {"initial": {0: 1, 5: 0}}, "neural": {"initial": {0: 1}},
}  # fmt: skip
# Of undirected graphs, and of those without cycles
NAMED_OTHERWISE: dict[str, dict] = {"triangles": {}, "msf": {}, "ktruss": {}, "hcc": {}, "levels": {}}


# Two of the four pairs, as below: one takes half a minute, and orders differ in which pages lists lie in. test_caps.py
# shows of smaller graphs that what is named is enough.
@pytest.mark.long
@pytest.mark.parametrize(("order", "certified"), [("natural", False), ("degree", True)])
def test_what_a_refusal_says_is_needed_suffices(order, certified, tmp_path):
    """The message names the cap that was passed, and what it says is enough, and more is, too: no more is held."""
    random = np.random.default_rng(5)
    ends = (4000 * random.random((2, 60000)) ** 2).astype(np.int64)
    stored = Example(4000, *ends, random.integers(0, 9, 60000).astype(float), order=order).stored(tmp_path)
    if certified:
        proved = [name for name in NAMED if ALGORITHMS[name].proof]
        check_certified(stored, {"degrees": {}} | {name: NAMED[name] for name in proved})
    else:
        check_named(stored, NAMED)


def check_named(stored, named):
    with gstream.open(stored) as graph:
        for name, options in named.items():
            with pytest.raises(ResourceError, match="host_memory 9000 bytes: too little") as refused:
                graph.execute(name, options, host_memory=9000)
            need = int(re.search(r"(\d+) bytes are needed at least", str(refused.value)).group(1))
            for cap in (need, need + 9000, need * 3 // 2):
                found = graph.execute(name, options, host_memory=cap)
                assert found.summary["stats"]["peak_memory_bytes"] <= cap, (name, cap)


def check_certified(stored, named):
    """What is named first is enough for the certificate, too, however much less was passed."""
    with gstream.open(stored) as graph:
        for name, options in named.items():
            assert ALGORITHMS[name].proof, name
            for cap in (5000, 100_000):
                try:
                    found = graph.execute(name, options, certify=True, host_memory=cap)
                except ResourceError as refused:
                    need = int(re.search(r"(\d+) bytes are needed at least", str(refused)).group(1))
                    found = graph.execute(name, options, certify=True, host_memory=need)
                assert found.summary["certificate"]["holds"], (name, cap)


@pytest.mark.long
@pytest.mark.parametrize(("order", "duplicates"), [("natural", True), ("degree", False)])
@pytest.mark.parametrize("name", NAMED_OTHERWISE)
def test_what_a_refusal_of_other_graphs_says_suffices(name, duplicates, order, tmp_path):
    random = np.random.default_rng(5)
    edges = {"ktruss": 8000, "triangles": 20_000}.get(name, 60_000)
    ends = (4000 * random.random((2, edges)) ** 2).astype(np.int64)
    if name == "levels":
        ends = np.sort(ends[:, ends[0] != ends[1]], axis=0)
    if not duplicates:
        ends = np.unique(np.sort(ends, axis=0), axis=1)
    weight = random.integers(0, 9, len(ends[0])).astype(float)
    stored = Example(4000, *ends, weight, order=order, directed=name == "levels").stored(tmp_path)
    check_named(stored, {name: NAMED_OTHERWISE[name]})
    check_certified(stored, {name: NAMED_OTHERWISE[name]})


@pytest.mark.long
def test_trusses_of_some_blocks_fit_too(tmp_path):
    """With what is named, lists are cut into several blocks, each less than their quarter of what is left."""
    random = np.random.default_rng(5)
    ends = (1000 * random.random((2, 8000)) ** 2).astype(np.int64)
    stored = Example(1000, *ends, directed=False).stored(tmp_path)
    check_named(stored, {"ktruss": {}, "triangles": {}})
    check_certified(stored, {"ktruss": {"k": 4}})


def test_hops_of_radii_are_counted_again_where_they_have_no_room(tmp_path):
    """A path of 60 edges has more hops than are kept at once under the cap that is named; the answer is the same."""
    ends = np.arange(60)
    stored = Example(61, ends, ends + 1).stored(tmp_path)
    with gstream.open(stored) as graph:
        for options in ({"sketches": 2}, {"sketches": 4, "max_iter": 20}):
            with pytest.raises(ResourceError) as refused:
                graph.radius(**options, host_memory=1)
            least = int(re.search(r"(\d+) bytes are needed at least", str(refused.value))[1])
            found, whole = graph.radius(**options, host_memory=least), graph.radius(**options)
            assert found.to_arrow() == whole.to_arrow()
            assert found.summary["stats"]["peak_memory_bytes"] <= least
            for name in ("effective_diameter", "hops", "supersteps", "converged"):
                assert found.summary[name] == whole.summary[name]
            assert whole.summary["hops"] > 8


def test_a_refusal_under_what_an_algorithm_holds_names_the_cap_that_was_passed(stored):
    """Half of what is needed covers what HITS holds beside its programs, but not the programs."""
    with gstream.open(stored) as graph:
        for cap in (64_000, 70_000, 100_000):
            with pytest.raises(ResourceError, match=f"host_memory {cap} bytes: too little .* 64000 of them for what"):
                graph.hits(host_memory=cap)


def test_components_hold_no_more_than_the_cap(stored):
    """Degrees that union-find asks for count, too: 4,000 trees alone take 16,000 bytes."""
    for cap in range(16_000, 100_000, 12_000):
        with gstream.open(stored, host_memory=cap) as graph:
            try:
                assert graph.wcc().summary["stats"]["peak_memory_bytes"] <= cap
            except ResourceError as error:
                assert cap < int(re.search(r"(\d+) bytes are needed at least", str(error)).group(1))
