"""Every algorithm near the limits of its numbers: what overflows, rounds or vanishes is an error, wider, or said.

One entry an algorithm: the type of its values, and what happens at the type's end. Tests of what needs a graph of its
own stand elsewhere, as the entry says.
"""

from __future__ import annotations

import json
import math

import choice
import numpy as np
import pytest

import gstream
from gstream.algorithms.registry import ALGORITHMS
from gstream.cli.terminal import print_json
from pagestore.errors import InputError, UsageError
from tests.answers.graphs import Example

HOPS = "uint32: no path has 2^32 - 1 edges"
IDS = "a vertex's ID, as wide as the store's"
LIMITS = {
    "bfs": HOPS,
    "khop": HOPS,
    "wcc": IDS,
    "hcc": IDS,
    "scc": IDS,
    "cdlp": IDS,
    "leiden": IDS + "; sums of weights are exact in float64 (communities/levels.py)",
    "louvain": IDS + "; sums of weights are exact in float64 (communities/levels.py)",
    "modularity": "float64 sums of weights; nan without weight",
    "mis": "0 and 1",
    "coloring": "uint32: at most one more than the degree",
    "kcore": "uint32, uint64 from 2^32 edges on (support/simple.py)",
    "ktruss": "as wide as an ID: fewer than the degree",
    "triangles": "uint64: fewer than the degree's square; the sum is Python's",
    "lcc": "float64 of uint64 counts: from 2^53 triangles on rounded to 16 digits",
    "degrees": "int64; the certificate counts in float64, exact up to 2^53 edges of a vertex",
    "stats": "as degrees, hyperball and triangles; sums of degrees' products in float64",
    "msf": "the weights' type; the sum of integers is exact, of floats in float64",
    "sssp": "float32, float64 where sums would pass 3.4e38 or drift; uint32 or uint64 of integers, noted past 2^53",
    "widest": "the weights' type; infinite at a source",
    "levels": "int64 edges; float64 lengths, noted past 2^53",
    "pagerank": "float32 or float64: ranks that vanish are noted (personalised ones; others are at least (1-a)/n)",
    "rwr": "as pagerank",
    "katz": "float64: an error past 1.8e308",
    "eigenvector": "float64 of length 1",
    "hits": "float64 of sum 1 after every step",
    "closeness": "float64 of sums of hops, exact up to 2^53",
    "harmonic": "float64",
    "betweenness": "float64: an error past 1.8e308 paths; fewer are rounded to 16 digits (test_betweenness.py)",
    "radius": "uint16 sums of 1,024 sketches at most, each up to 64",
    "hyperball": "float64 estimates; registers of 64-bit hashes are at most 61",
    "heat": "float64: inf and NaN are counted and said",
    "circuit": "float64: inf and NaN are counted and said",
    "neural": "float64: within -1 and 1; NaN is counted and said",
    "subgraph": "the store's weights",
    "egonet": "the store's weights",
    "cross": "the store's weights",
}


def test_every_algorithm_has_its_limit():
    assert LIMITS.keys() == {name for name, one in ALGORITHMS.items() if one.module.startswith("gstream.")}


def chain(weight, links=3, more=0):
    return Example(links + 1 + more, np.arange(links), np.arange(1, links + 1), np.full(links, weight, float))


def diverging(links=400):
    """Vertex k leads to k + 1 and to nine others: a walk is there with a chance of 10^-k."""
    source = np.repeat(np.arange(links), 10)
    other = links + 1 + np.arange(10 * links) % (5 * links)
    return Example(6 * links + 1, source, np.where(np.arange(10 * links) % 10 == 0, source + 1, other))


def test_ranks_that_vanish_are_said(tmp_path):
    with gstream.open(diverging().stored(tmp_path)) as graph:
        for call in (graph.rwr, lambda source, **own: graph.pagerank(personalization={source: 1.0}, **own)):
            narrow, wide = (call(0, tol=0.0, max_iter=100, float64=float64) for float64 in (False, True))
            ranks = [result.to_numpy()[result.columns[1]] for result in (narrow, wide)]
            zeros = int(np.count_nonzero(ranks[0] == 0))
            assert zeros > np.count_nonzero(ranks[1] == 0)
            assert narrow.summary["note"] == (
                f"{zeros:,} vertices have 0, as ranks below 1.4e-45 do: walks may reach some of them. "
                "Pass float64=True for ranks down to 5e-324"
            )
            assert "note" not in call(0, max_iter=20).summary
        assert "note" not in graph.pagerank().summary
        far = graph.rwr(0, tol=0.0, max_iter=399, float64=True)
        zeros = np.count_nonzero(far.to_numpy()["proximity"] == 0)
        assert far.summary["note"].startswith(f"{zeros:,} vertices have 0, as ranks below 4.9e-324 do")


def test_totals_of_integers_past_2_53_are_exact(tmp_path):
    weight = np.full(5000, 2.0**31 - 1)
    weight[:3] = 1, 2, 4
    ends = np.arange(5000)
    with gstream.open(Example(5001, ends, ends + 1, weight, directed=False).stored(tmp_path)) as graph:
        total = int(weight.sum(dtype=object))
        assert graph.msf(certify=True).summary["total_weight"] == total == sum(map(int, weight))
        far = graph.sssp(0, certify=True)
        assert far.to_numpy()["distance"][-1] == total and "note" not in far.summary


def test_sums_over_walks_past_all_numbers_are_an_error(tmp_path):
    with gstream.open(chain(1.0).stored(tmp_path)) as graph:
        assert graph.katz(beta=1e300, alpha=0.01).summary["length"] > 1e300
        with pytest.raises(UsageError, match=r"alpha 0\.5: sums over walks grow .* Pass less, or a smaller beta\."):
            graph.katz(beta=1.5e308, alpha=0.5)
    ring = Example(3, np.array([0, 1, 2, 0]), np.array([1, 2, 0, 2]))
    with gstream.open(ring.stored(tmp_path)) as graph:
        with pytest.raises(UsageError, match=r"alpha 2\.0: sums over walks grow .* Pass less\."):
            graph.katz(alpha=2.0, max_iter=10_000)


GRAPHS = {
    "no vertex": lambda: Example(0, np.empty(0, int), np.empty(0, int), np.empty(0)),
    "a vertex": lambda: Example(1, np.empty(0, int), np.empty(0, int), np.empty(0), directed=False),
    "a loop": lambda: Example(1, np.zeros(1, int), np.zeros(1, int), np.ones(1)),
    "large": lambda: chain(3e38, 6, 1),
    "least": lambda: chain(1e-45, 6, 1),
    "integers": lambda: chain(2.0**32 - 1, 6, 1),
    "negative": lambda: chain(-3e38, 6, 1),
    "edges of none": lambda: Example(4, np.array([0]), np.array([1]), np.ones(1), directed=False),
}
SUMS_OF_FLOATS = ("heat", "circuit", "neural")
GIVEN = {"initial": {0: 1e308, 1: -1e308}, "nodes": [0, 1], "source": 0}


def asked(algorithm):
    own = {name: value for name, value in GIVEN.items() if name in algorithm.defaults}
    return own if algorithm.name != "betweenness" else {"k": 1, "seed": 0}


@pytest.mark.longer
@pytest.mark.parametrize("name", GRAPHS)
def test_json_tells_no_value_from_infinity_and_nan(tmp_path, capsys, name):
    """Strict JSON, of every algorithm: null is no value, as in Arrow; others are numbers, or named."""
    told = set()
    with gstream.open(GRAPHS[name]().stored(tmp_path)) as graph:
        for algorithm in ALGORITHMS.values():
            if name == "integers" and algorithm.name in choice.few(SUMS_OF_FLOATS, ()):
                continue
            try:
                result = graph.execute(algorithm.name, asked(algorithm))
            except (UsageError, InputError):  # another graph is needed
                continue
            print_json({**result.summary, "top": result.top(20)})
            found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
            rows = {row.get("vertex"): row for row in result.to_arrow().to_pylist()}
            for row in found["top"] if "vertex" in result.columns and not algorithm.groups else ():
                for key, value in row.items():
                    right = rows[row["vertex"]][key]
                    assert (value is None) == (right is None), (algorithm.name, key)
                    if isinstance(value, str):
                        told.add(algorithm.name)
                        assert value in ("Infinity", "-Infinity", "NaN") and not math.isfinite(right)
                        value = float(value)
                    assert value == right or value != value, (algorithm.name, key)
            wild = [
                x for column in result.columns for x in result.to_arrow()[column].to_pylist() if isinstance(x, float)
            ]
            if any(not math.isfinite(x) for x in wild) and algorithm.name in SUMS_OF_FLOATS:
                assert result.summary["not_finite"] == sum(not math.isfinite(x) for x in wild)
    assert ("widest" in told) == (name not in ("no vertex", "negative"))


FIRST = [{0: 1e308, 1: -1e308}, {0: 1e308}, {0: 5e-324, 1: -3e-320}, {0: 1e-300}]


@pytest.mark.parametrize("name", ["large", "least", "a loop", "edges of none", *choice.also("integers")])
def test_certificates_hold_if_and_only_if_values_are_numbers(name, tmp_path):
    """Near both ends of doubles: no right answer is refused, and what is past all numbers is not proven."""
    failed = set()
    with gstream.open(GRAPHS[name]().stored(tmp_path)) as graph:
        for algorithm in ALGORITHMS.values():
            for first in FIRST if "initial" in algorithm.defaults else [None]:
                own = asked(algorithm) | ({"initial": first} if first else {})
                try:
                    found = graph.execute(algorithm.name, own, bool(algorithm.proof)).summary
                except (UsageError, InputError):  # another graph is needed
                    continue
                if algorithm.proof:
                    assert found["certificate"]["holds"] == (not found.get("not_finite")), (algorithm.name, first)
                    failed |= set() if found["certificate"]["holds"] else {algorithm.name}
    assert failed <= {"heat", "circuit", "neural"} and bool(failed) == (name != "a loop")


def test_a_beta_of_few_digits_is_refused(tmp_path):
    with gstream.open(chain(1.0).stored(tmp_path)) as graph:
        assert graph.katz(beta=1e-290, certify=True).summary["certificate"]["holds"]
        with pytest.raises(UsageError, match=r"beta 1e-320: must be 0 or at least 1e-290"):
            graph.katz(beta=1e-320)
