"""What others make of communities: their times, the modularity they find beside ours, and ours by igraph's sums.

Peers begin with each vertex alone. networkit's PLM and ParallelLeiden share the cores; igraph has one thread, and its
Leiden makes two iterations, as gstream's makes two passes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.algorithm_peers import Case, Found, by_networkit, column
from bench.figures import Samples, check

SAME = 1e-9  # between sums of the same communities


def modularity(case: Case, own: dict[str, Any], answer: Any) -> Found:
    samples, theirs = case.repeated(lambda: _by_igraph(case, [own["partition"][v] for v in range(case.csr.vertices)]))
    check(abs(answer.summary["modularity"] - theirs) <= SAME, "modularity: differs from igraph's")
    return Found({"igraph modularity": samples}, "igraph's")


def leiden(case: Case, own: dict[str, Any], answer: Any) -> Found:
    from networkit import community

    options = {"objective_function": "modularity", "n_iterations": 2}
    igraphs = _clustered(case, answer, "igraph community_leiden", lambda graph: graph.community_leiden(**options))
    return _found(case, answer, igraphs, "networkit ParallelLeiden", community.ParallelLeiden)


def louvain(case: Case, own: dict[str, Any], answer: Any) -> Found:
    from networkit import community

    igraphs = _clustered(case, answer, "igraph community_multilevel", lambda graph: graph.community_multilevel())
    return _found(case, answer, igraphs, "networkit PLM", community.PLM)


def _by_igraph(case: Case, members: Any) -> float:
    """The modularity of communities, numbers from 0 on by vertex."""
    return float(case.igraph.modularity(members))


def _clustered(case: Case, answer: Any, name: str, call: Callable[[Any], Any]) -> dict[str, Samples]:
    """{the peer with both modularities: its seconds}. Raises WrongAnswerError where igraph sums ours to another one."""
    graph, members = case.igraph, np.unique(column(answer, "community"), return_inverse=True)[1]
    mine = _by_igraph(case, members.tolist())
    said = answer.summary["algorithm"]
    check(abs(answer.summary["modularity"] - mine) <= SAME, f"{said}: modularity differs from igraph's of its answer")
    samples, found = case.repeated(lambda: call(graph))
    return {_shown(name, found.modularity, answer): samples}


def _found(case: Case, answer: Any, igraphs: dict[str, Samples], name: str, make: Callable[[Any], Any]) -> Found:
    """igraph's times with those of an algorithm of networkit's."""
    from networkit.community import Modularity

    samples, ran = by_networkit(case, make)
    theirs = Modularity().getQuality(ran.getPartition(), case.networkit)
    return Found(igraphs | {_shown(name, theirs, answer): samples}, "igraph's modularity of the answer")


def _shown(name: str, theirs: float, answer: Any) -> str:
    return f"{name}, modularity {theirs:.4f} to {answer.summary['modularity']:.4f}"
