"""What certificates refuse, and where exactly: each forged answer breaks one promise by a little, or just keeps it.

The numbers follow from the graphs: on rings the eigenvectors are cosines, so the residual of a forged answer is known.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import gstream
from gstream.algorithms.centrality.centralities import run_eigenvector, run_hits, run_katz, run_rwr
from gstream.algorithms.centrality.residual_proofs import certify_eigenvector, certify_hits, certify_katz, certify_rwr
from gstream.algorithms.components.msf import certify_msf, run_msf
from gstream.algorithms.density.kcore import certify_kcore, run_kcore
from gstream.algorithms.density.ktruss import run_ktruss
from gstream.algorithms.density.truss_proof import certify_ktruss
from gstream.algorithms.labelling.mis import certify_mis, run_mis
from gstream.algorithms.support.refusal import CertificateError
from gstream.algorithms.support.session import Session
from gstream.algorithms.traversal import distance_proofs as certify
from gstream.algorithms.traversal.bfs import run_bfs
from gstream.algorithms.traversal.widest import certify_widest, run_widest
from pagestore.errors import ResourceError
from tests.answers.graphs import Example, hub_example

RING = 8
WAVE = np.array([1.0, 0, -1, 0, 1, 0, -1, 0])  # of a ring's matrix: eigenvalue 0
ZIGZAG = np.array([1.0, -1] * 4)  # eigenvalue -2


def opened(example, folder):
    return gstream.open(example.stored(folder))


@pytest.fixture
def ring(tmp_path):
    """An undirected ring: every vertex has two neighbours."""
    ends = np.arange(RING)
    with opened(Example(RING, ends, (ends + 1) % RING, directed=False), tmp_path) as graph:
        with Session(graph.engine()) as session:
            yield session


def forged(columns, *values):
    return [replace(column, values=array) for column, array in zip(columns, values, strict=True)]


def holds(prove, session, columns, options, found):
    try:
        prove(session, columns, options, found)
    except CertificateError as error:
        assert "one more iteration moves the values by" in str(error) and "was promised" in str(error)
        return False
    return True


KATZ = [{}, {"alpha": 0.05, "beta": 3.0, "tol": 1e-3}, {"alpha": -0.1, "tol": 1e-4}]


@pytest.mark.parametrize("options", KATZ, ids=str)
def test_katz_may_be_off_by_what_its_tolerance_promises(ring, options):
    """x (1 + e) is off by beta e in each of V equations; alpha D tol was promised."""
    alpha, beta, tol = (options.get(name, usual) for name, usual in (("alpha", 0.1), ("beta", 1.0), ("tol", 1e-6)))
    columns, found = run_katz(ring, **options, normalized=False)
    assert found["converged"]
    found |= {"l1_change": tol}
    own, exact = {**options, "normalized": False}, np.full(RING, beta / (1 - 2 * alpha))
    for part in (0.98, 1.02):
        off = part * abs(alpha) * 2 * tol / (beta * RING)
        for x in (exact * (1 + off), exact * (1 - off)):
            length = np.sqrt((x * x).sum())
            said, scaled = found | {"length": length}, forged(columns, x / length)
            assert holds(certify_katz, ring, forged(columns, x), own, said) == (part < 1)
            assert holds(certify_katz, ring, scaled, options, said) == (part < 1)
            for wrong in (found | {"length": length * 1.001}, said | {"l1_change": 1.0}):
                with pytest.raises(CertificateError, match=r"have length|the last change was 1, and the run ends at"):
                    certify_katz(ring, forged(columns, x), own, wrong)


def test_katz_is_told_how_far_off_it_is(ring):
    """A run that was cut short promised what its last change does: its certificate measures, and bounds the error
    where that can be."""
    for alpha, said in (
        (0.1, "the L1 error of the sums, before they are scaled, is at most {:.3g}"),
        (0.5, "one more iteration changes the sums by {:.3g} in L1"),
    ):
        columns, found = run_katz(ring, alpha, max_iter=2, normalized=False)
        assert not found["converged"]
        x = columns[0].values
        residual = np.abs(1 + alpha * (np.roll(x, 1) + np.roll(x, -1)) - x).sum()
        proof = certify_katz(ring, columns, {"normalized": False, "alpha": alpha}, found)
        assert proof["residual"] == pytest.approx(residual, rel=1e-12) and proof["holds"] is True
        assert proof["proves"] == said.format(residual / (1 - 2 * alpha) if alpha < 0.5 else residual)
        with pytest.raises(CertificateError, match="one more iteration moves the values by"):
            certify_katz(ring, columns, {"normalized": False, "alpha": 3 * alpha}, found)
    columns, found = run_katz(ring, max_iter=2, normalized=False)
    x, exact = columns[0].values, np.full(RING, 1 / 0.8)
    bound = certify_katz(ring, columns, {"normalized": False}, found)["residual"] / 0.8
    assert 0 < np.abs(x - exact).sum() <= bound * (1 + 1e-12)


@pytest.mark.parametrize("options", [{}, {"tol": 1e-3}], ids=str)
def test_eigenvectors_may_be_off_by_what_their_tolerance_promises(ring, options):
    """A share of the zigzag, whose eigenvalue of A + I is 4 less: 2 (D + 1) tol were promised."""
    tol = options.get("tol", 1e-6)
    columns, found = run_eigenvector(ring, **options)
    assert found["converged"]
    promised = found | {"l1_change": tol}
    for part in (0.98, 1.02):
        angle = part * 2 * 3 * tol / 4
        x = (math.cos(angle) + math.sin(angle) * ZIGZAG) / math.sqrt(RING)
        assert holds(certify_eigenvector, ring, forged(columns, x), options, promised) == (part < 1)
    with pytest.raises(CertificateError, match=r"the summary's eigenvalue is 2.5, and Rayleigh's (2|1.9+)"):
        certify_eigenvector(ring, columns, options, promised | {"eigenvalue": 2.5})
    proof = certify_eigenvector(ring, columns, options, found)
    assert "of eigenvalue 2" in proof["proves"] and proof["residual"] < 1e-9
    angle = 0.1
    x = (math.cos(angle) + math.sin(angle) * ZIGZAG) / math.sqrt(RING)
    following = x + np.roll(x, 1) + np.roll(x, -1)
    residual = np.linalg.norm(following - (x @ following) * x)
    cut_short = found | {"converged": False, "l1_change": 0.1}
    proof = certify_eigenvector(ring, forged(columns, x), options, cut_short)
    assert proof["residual"] == pytest.approx(residual) and residual > 0.3
    assert proof["proves"] == f"an eigenvector but for {residual:.3g} in L2, of eigenvalue {x @ following - 1:.6g}"
    for length in (1 + 1e-9, 1 - 1e-9, 0.0):
        with pytest.raises(CertificateError, match=r"the centralities have length [\d.]+, not 1"):
            certify_eigenvector(ring, forged(columns, columns[0].values * length), options, found)


def scaled(authority, normalized):
    """Of sum 1, as they are, or of length 1."""
    return authority if normalized else authority / np.linalg.norm(authority)


@pytest.mark.parametrize("options", [{}, {"tol": 1e-3}], ids=str)
@pytest.mark.parametrize("normalized", [True, False])
def test_hits_may_be_off_by_what_its_tolerance_promises(ring, options, normalized):
    """Authorities with a share of the wave: their hubs are even, and even authorities come of them. 2 tol, promised."""
    own = {**options, "normalized": normalized}
    columns, found = run_hits(ring, **own)
    tol, even = options.get("tol", 1e-8), np.full(RING, 1 / RING)
    assert found["converged"]
    for part in (0.98, 1.02):
        authority = scaled(even + part * 2 * tol / 4 * WAVE, normalized)
        hub = even if normalized else np.roll(authority, 1) + np.roll(authority, -1)
        assert holds(certify_hits, ring, forged(columns, hub, authority), own, found | {"l1_change": tol}) == (part < 1)
    authority = scaled(even + 0.01 * WAVE, normalized)
    hub = even if normalized else np.roll(authority, 1) + np.roll(authority, -1)
    cut_short = found | {"converged": False, "l1_change": 0.1}
    proof = certify_hits(ring, forged(columns, hub, authority), own, cut_short)
    assert proof["residual"] == pytest.approx(0.04) and proof["holds"] is True
    assert proof["proves"] == "one more iteration moves authorities by 0.04 in L1"


def test_hubs_are_the_sums_of_authorities(ring):
    columns, found = run_hits(ring)
    hub, authority = (column.values for column in columns)
    moved = hub.copy()
    moved[:2] += 1e-6, -1e-6
    with pytest.raises(CertificateError, match="hubs differ from the sums of authorities by 2e-06 in L1"):
        certify_hits(ring, forged(columns, moved, authority), {}, found)
    with pytest.raises(CertificateError, match="hubs or authorities are 0 in spite of edges"):
        certify_hits(ring, forged(columns, 0 * hub, 0 * authority), {}, found)
    with pytest.raises(CertificateError, match="a value is no number"):
        certify_hits(ring, forged(columns, hub, authority * np.inf), {}, found)
    columns, found = run_hits(ring, max_iter=0)  # nothing was summed yet
    assert certify_hits(ring, columns, {}, found)["holds"]


def test_without_edges_all_hubs_are_0(tmp_path):
    none = np.zeros(0, np.int64)
    with opened(Example(3, none, none), tmp_path) as graph, Session(graph.engine()) as session:
        columns, found = run_hits(session)
        assert not columns[0].values.any()
        assert certify_hits(session, columns, {}, found)["residual"] == 0
        columns, found = run_katz(session)
        assert certify_katz(session, columns, {}, found)["residual"] == 0


def test_walks_begin_again_where_they_were_told_to(ring):
    columns, found = run_rwr(ring, source=[2], tol=1e-9)
    certify_rwr(ring, columns, {"source": [2], "tol": 1e-9}, found)
    with pytest.raises(CertificateError):
        certify_rwr(ring, columns, {"source": [3], "tol": 1e-9}, found)
    with pytest.raises(CertificateError):
        certify_rwr(ring, columns, {"source": [2], "tol": 1e-9, "alpha": 0.5}, found)
    with pytest.raises(CertificateError):
        certify_rwr(ring, forged(columns, np.roll(columns[0].values, 1)), {"source": [2], "tol": 1e-9}, found)


@pytest.mark.parametrize("directed", [True, False])
def test_katz_of_a_hub_is_rounded_as_its_sums_are(directed, tmp_path):
    """1,200 terms a sum: a right answer of the least tolerance is not refused for what rounding leaves."""
    with opened(hub_example(directed), tmp_path) as graph, Session(graph.engine()) as session:
        columns, found = run_katz(session, alpha=0.001, tol=1e-15, max_iter=500)
        certify_katz(session, columns, {"alpha": 0.001, "tol": 0.0}, found | {"converged": True, "l1_change": 0.0})


PATH = {"source": np.array([0, 1, 2, 0]), "target": np.array([1, 2, 3, 3])}


@pytest.mark.parametrize("weight", [[4.0, 2.0, 5.0, 1.0], [4.5, 2.5, 5.5, 1.5]], ids=["integers", "floats"])
@pytest.mark.parametrize("topology", ["both", "out", "in"])
def test_widths_are_those_of_a_path_and_none_is_wider(weight, topology, tmp_path):
    """0 -4-> 1 -2-> 2 -5-> 3, and 0 -1-> 3: the long way to 3 is the wider one; nothing leads to 4."""
    example = Example(5, **PATH, weight=np.array(weight), kind="listed", topology=topology)  # named 3, 10, 17, 24, 31
    options, wide = {"source": [3]}, weight[1]
    with opened(example, tmp_path) as graph, Session(graph.engine()) as session:
        columns, found = run_widest(session, [3])
        right = columns[0].values
        assert right.tolist() == [np.inf, weight[0], wide, wide, -np.inf] and found["reached"] == 4
        proof = certify_widest(session, columns, options, found)
        assert proof == {"holds": True, "proves": "every width is that of a path, and none is wider"}
        for vertex, value, message in (
            (0, 7.0, "a source has not infinite width"),
            (1, np.nan, "a width is no number"),
            (1, 3.0, "the edge from 3 makes vertex 10 wider than 3.0"),
            (3, -np.inf, "the edge from (3|17) makes vertex 24 wider than -inf"),
            (1, 5.0, "vertex 10 has width 5.0 without a path so wide"),
            (4, 0.0, "vertex 31 has width 0.0 without a path so wide"),
        ):
            wrong = right.copy()
            wrong[vertex] = value
            with pytest.raises(CertificateError, match=message):
                certify_widest(session, forged(columns, wrong), options, found)
        with pytest.raises(CertificateError, match="a source has not infinite width"):
            certify_widest(session, columns, {"source": [3, 10]}, found)


def test_widths_past_a_word_of_bits(tmp_path):
    """A chain of 130 vertices borne one by one, the last of a third word of bits; with room for its arrays only."""
    ends = np.arange(129)
    with opened(Example(130, ends, ends + 1, np.full(129, 7.0)), tmp_path) as graph:
        result = graph.widest(source=0, certify=True)
        assert result.summary["reached"] == 130
        with Session(graph.engine()) as session:
            columns, found = run_widest(session, 0)
            wrong = columns[0].values.copy()
            wrong[129] = 8.0
            with pytest.raises(CertificateError, match="vertex 129 has width 8.0 without a path so wide"):
                certify_widest(session, forged(columns, wrong), {"source": 0}, found)


def test_certificates_count_what_they_hold(tmp_path):
    """Their arrays of all vertices are part of --host-memory: too little is said, not taken."""
    example = hub_example(weighted=True)
    with opened(example, tmp_path) as graph, Session(graph.engine()) as session:
        cases = [
            (certify_widest, *run_widest(session, 11), {"source": 11}, 8 * 1600 + 3 * 200),
            (certify_katz, *run_katz(session, alpha=0.001), {"alpha": 0.001}, 2 * 8 * 1600),
        ]
        for prove, columns, found, options, held in cases:
            session.engine.beside_bytes = 0
            prove(session, columns, options, found)
            assert session.engine.beside_bytes == held
            session.engine.options.host_memory = held - 1
            session.engine.beside_bytes = 0
            with pytest.raises(ResourceError, match=f"take {held} bytes|host-memory {held - 1} bytes: too little"):
                prove(session, columns, options, found)
            session.engine.options.host_memory = None
        session.engine.beside_bytes = 0


def test_answers_of_impossible_values(tmp_path):
    """Numbers that no vertex, set, core or weight has are refused before they are used to look anything up."""
    example = Example(4, np.array([0, 1, 0]), np.array([1, 2, 2]), np.array([1.0, 2.0, 3.0]), directed=False)
    with opened(example, tmp_path) as graph, Session(graph.engine()) as session:
        (distance, above), found = run_bfs(session, 0)
        for values, message in (
            ([session.none] * 3 + [0], "vertex . is at . without a way there"),
            ([1, 0, 0, session.none], "a source has a predecessor"),
            ([session.none, 9, 0, session.none], "a predecessor is no vertex"),
        ):
            wrong = [distance, replace(above, values=np.array(values, above.values.dtype))]
            with pytest.raises(CertificateError, match=message):
                certify.certify_bfs(session, wrong, {"source": 0}, found)
        columns, found = run_mis(session)
        with pytest.raises(CertificateError, match="membership is neither 0 nor 1"):
            certify_mis(session, forged(columns, columns[0].values * 0 + 2), {}, found)
        for options, value, message in (
            ({}, -1, "a core number is negative"),
            ({"k": 2}, 2, "membership is neither 0 nor 1"),
        ):
            columns, found = run_kcore(session, **options)
            with pytest.raises(CertificateError, match=message):
                certify_kcore(session, forged(columns, np.full(4, value, np.int64)), options, found)
        columns, found = run_ktruss(session)
        outside = [column.values.copy() for column in columns]
        outside[1][0] = 4
        with pytest.raises(CertificateError, match="an edge's end is no vertex"):
            certify_ktruss(session, forged(columns, *outside), {}, found)


def test_forests_of_edges_that_are_not_there(tmp_path):
    """0 -1- 1 -2- 2, and 3 alone: a forest may have neither an edge more nor a weight that is no number."""
    example = Example(4, np.array([0, 1]), np.array([1, 2]), np.array([1.5, 2.5]), directed=False)
    with opened(example, tmp_path) as graph, Session(graph.engine()) as session:
        columns, found = run_msf(session)
        ends = [np.append(column.values, np.array([value], column.values.dtype))
                for column, value in zip(columns, (2, 3, 4.0), strict=True)]  # fmt: skip
        with pytest.raises(CertificateError, match="the forest has an edge that is not in the graph"):
            certify_msf(session, forged(columns, *ends), {}, found | {"total_weight": 8.0})
        weight = columns[2].values.copy()
        weight[0] = np.nan
        wrong = forged(columns, columns[0].values, columns[1].values, weight)
        with pytest.raises(CertificateError, match="the weights are not those that were added up"):
            certify_msf(session, wrong, {}, found | {"total_weight": math.nan})
