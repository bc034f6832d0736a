"""Sums of float weights: what float32 can't hold is summed in float64, and certificates say how far sums are off."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import gstream
from gstream.algorithms.support.refusal import CertificateError
from gstream.algorithms.support.session import Session
from gstream.algorithms.traversal import float_proof as floatproof
from gstream.algorithms.traversal import float_sums as floatsums
from gstream.algorithms.traversal.distance_proofs import certify_sssp
from gstream.algorithms.traversal.sssp import run_sssp
from tests.answers.graphs import Example, column

TENTH = float(np.float32(0.1))


def path_of(weights, **options):
    size = len(weights)
    return Example(size + 1, np.arange(size), np.arange(1, size + 1), np.array(weights), **options)


def without_widening(monkeypatch):
    monkeypatch.setattr(floatsums, "why_wider", lambda *given: "")


@pytest.mark.parametrize("devices", ["host", "fake:2:1"])
@pytest.mark.parametrize("predecessors", [True, False])
def test_sums_past_float32_are_float64(devices, predecessors, tmp_path):
    example = path_of([3e38, 3e38, 1.0])
    with gstream.open(example.stored(tmp_path), devices=devices) as graph:
        result = graph.sssp(0, predecessors=predecessors, certify=True)
        exact = graph.sssp(0, predecessors=predecessors, float64=True)
    stored = float(np.float32(3e38))
    assert column(result, "distance") == {0: 0.0, 1: stored, 2: 2 * stored, 3: 2 * stored}
    assert np.array_equal(result.to_numpy(), exact.to_numpy()) and result.summary["reached"] == 4
    assert result.summary["note"] == (
        "distances are summed in float64, as float64=True does: float32 sums would pass 3.4e+38"
    )
    assert "note" not in exact.summary


@pytest.mark.parametrize("predecessors", [True, False])
@pytest.mark.parametrize("edges", [floatsums.DEEP, floatsums.DEEP + 1, 3000])
def test_long_paths_are_summed_in_float64(edges, predecessors, tmp_path):
    with gstream.open(path_of([0.1] * edges, order="degree").stored(tmp_path)) as graph:
        result = graph.sssp(0, predecessors=predecessors, certify=True)
    found = column(result, "distance")
    assert found[edges] == pytest.approx(float(edges * Fraction(TENTH)), rel=1e-12 if edges > floatsums.DEEP else 4e-6)
    assert ("note" in result.summary) == (edges > floatsums.DEEP)
    error = abs(Fraction(found[edges]) / (edges * Fraction(TENTH)) - 1)
    assert error <= result.summary["certificate"]["error_bound"] <= 4e-6


def test_a_grid_of_small_and_large_weights(tmp_path):
    """Against exact arithmetic: paths of over 100 edges, weights of many sizes."""
    size, random = 60, np.random.default_rng(4)
    cells = np.arange(size * size).reshape(size, size)
    source = np.concatenate([cells[:, :-1].ravel(), cells[:-1].ravel()])
    target = np.concatenate([cells[:, 1:].ravel(), cells[1:].ravel()])
    weight = (10.0 ** random.integers(-3, 2, len(source)) * random.random(len(source))).astype(np.float32)
    exact = [Fraction(0)] + [None] * (size * size - 1)
    edges = {}
    for u, v, w in zip(source.tolist(), target.tolist(), weight.tolist(), strict=True):
        edges.setdefault(v, []).append((u, Fraction(w)))
    for v in range(1, size * size):  # edges lead to greater numbers
        exact[v] = min(exact[u] + w for u, w in edges[v])
    example = Example(size * size, source, target, weight.astype(np.float64))
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.sssp(0, certify=True)
    bound = result.summary["certificate"]["error_bound"]
    assert "paths have more than 64 edges" in result.summary["note"] and bound < 1e-12
    assert all(abs(Fraction(d) - exact[v]) <= bound * exact[v] for v, d in column(result, "distance").items())


def test_a_shallow_tree_may_hide_a_long_path(tmp_path, monkeypatch):
    """Edges from 0 straight to each vertex, as long as float32 sums of the path: not least, and it is said."""
    edges = 3000
    drifted = np.cumsum(np.full(edges, np.float32(0.1)), dtype=np.float32)
    source = np.concatenate([np.arange(edges), np.zeros(edges, np.int64)])
    target = np.concatenate([np.arange(1, edges + 1)] * 2)
    example = Example(edges + 1, source, target, np.concatenate([np.full(edges, TENTH), drifted]))
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.sssp(0, certify=True)
    found = np.array(list(column(result, "distance").values()))
    exact = np.minimum(np.arange(edges + 1) * TENTH, np.append(0, drifted))
    off = float((np.abs(found - exact)[1:] / exact[1:]).max())
    assert off > 1e-6 and result.summary["certificate"]["error_bound"] >= off
    assert re.search(r"least in float32 sums, off by at most \S+ of itself", result.summary["certificate"]["proves"])


@pytest.mark.long
def test_answers_as_overflow_and_drift_make_them_are_not_proven(tmp_path, monkeypatch):
    without_widening(monkeypatch)
    options = {"source": 0}
    with gstream.open(path_of([3e38, 3e38, 1.0]).stored(tmp_path)) as graph, Session(graph.engine()) as session:
        columns, found = run_sssp(session, **options)
        assert found["reached"] == 2
        with pytest.raises(CertificateError, match=r"vertex 2 is at inf, and summed in float64 at 6\.0\d*e\+38"):
            certify_sssp(session, columns, options, found)
        nothing = columns[0].values.copy()
        nothing[1] = np.nan
        with pytest.raises(CertificateError):
            certify_sssp(session, [replace(columns[0], values=nothing), columns[1]], options, found)
    with gstream.open(path_of([0.1] * 100_000).stored(tmp_path)) as graph, Session(graph.engine()) as session:
        columns, found = run_sssp(session, **options)
        off = 1 - float(columns[0].values[-1]) / (100_000 * TENTH)
        assert abs(off) > 1e-4
        assert certify_sssp(session, columns, options, found)["error_bound"] >= abs(off)


def test_the_numbers_that_bound_distances_are_proven_themselves(tmp_path, monkeypatch):
    with gstream.open(path_of([0.5, 0.25]).stored(tmp_path)) as graph, Session(graph.engine()) as session:
        columns, found = run_sssp(session, source=0)
        own = session.run

        def wrong(program, *given, **options):
            outcome = own(program, *given, **options)
            outcome.value[2] += 0.25
            return outcome

        monkeypatch.setattr(session, "run", wrong)
        with pytest.raises(CertificateError, match=r"vertex 2 is at 1\.0 in float64, but there is an edge from 1"):
            floatproof.distance_error(session, columns[0].values, columns[1].values, np.array([0]), None)


def test_a_cutoff_past_float32(tmp_path):
    with gstream.open(path_of([3e38, 3e38, 3e38]).stored(tmp_path)) as graph:
        found = column(graph.sssp(0, cutoff=7e38, certify=True), "distance")
    assert found[2] == pytest.approx(6e38) and found[3] is None


def test_a_checkpoint_is_of_the_first_run(tmp_path):
    path, kept = path_of([0.1] * 500).stored(tmp_path), tmp_path / "kept"
    with gstream.open(path, checkpoint=kept, checkpoint_every=1) as graph:
        first = graph.sssp(0)
    with gstream.open(path, checkpoint=kept, resume=True) as graph:
        again = graph.sssp(0)
    assert np.array_equal(first.to_numpy(), again.to_numpy()) and first.to_numpy()["distance"].dtype == np.float64


def test_whole_numbers_past_2_to_the_53_are_said_to_be_rounded(tmp_path):
    """2^53 + 1 as a sum of 4-byte weights takes 2 million edges: the note is asked of numbers at once."""
    from gstream.algorithms.traversal.sssp import _digits_lost, program_for
    from gstream.programs.sssp import SSSP64, SSSPLong

    none = np.iinfo(np.int64).max
    assert _digits_lost(np.array([0, 2**53, none])) == ""
    assert _digits_lost(np.array([0, 2**53 + 1, none])) == "1 distance past 2^53 is shown rounded, to 16 digits"
    with gstream.open(path_of([7.0]).stored(tmp_path)) as graph:
        meta = graph.engine().store.meta
        assert program_for(replace(meta, vertices=2**31, max_weight=2**32 - 1)) is SSSPLong
        assert program_for(replace(meta, vertices=2**31 + 2, max_weight=2**32 - 1)) is SSSP64
