"""Every algorithm that has no measurement of its own, on the host's cores: a time, edges a second, pages moved.

An algorithm runs on the graph as it needs it (undirected, weighted, directed, without cycles), in degree order; where
work grows faster than the graph, on a smaller RMAT graph, as the row says. Its certificate proves the first run's
answer, which also compiles and brings pages into memory; peers (bench.algorithm_peers) check the last run's.

Edges a second are those that kernels looked at by the time of the whole call. Pages moved stand beside those needed
(bench.ours.work_of).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from bench import algorithm_peers as others
from bench import community_peers, ours
from bench.algorithm_peers import Case, Found, repeated
from bench.context import Context
from bench.figures import Figure, Samples
from gstream.algorithms.registry import ALGORITHMS

OWN = {"bfs", "pagerank", "sssp", "wcc"}  # measured by bench.bfs, bench.pagerank, bench.sssp and bench.components
RUNS = 3
SOURCES = 4  # of a search; betweenness takes two sweeps a level for each
HELD = 1000  # vertices with a first value in simulations
TENTH = 10  # a set of vertices is one in so many
HOPS = 2
GROUPS = 100  # whose modularity is summed
SHOWN = 8  # values of an option in a note, at most; of more, how many there are

Peer = Callable[[Case, dict[str, Any], Any], Found]


def no_options(case: Case) -> dict[str, Any]:
    return {}


def from_source(case: Case) -> dict[str, Any]:
    return {"source": case.graph.sources(1)[0]}


def near_sources(case: Case) -> dict[str, Any]:
    return {"source": case.graph.sources(SOURCES), "radius": HOPS}


def from_sources(case: Case) -> dict[str, Any]:
    """Named sources: the sums alone, so that a peer's can be equal."""
    return {"source": case.graph.sources(SOURCES), "normalized": False}


def below_the_bound(case: Case) -> dict[str, Any]:
    """Katz's alpha must be below 1 / the greatest eigenvalue, which the greatest degree bounds."""
    return {"alpha": 1 / (int(case.csr.degree.max(initial=0)) + 1)}


def one_in_ten(case: Case) -> dict[str, Any]:
    return {"nodes": case.graph.sources(max(1, case.graph.vertices // TENTH))}


def hundred_groups(case: Case) -> dict[str, Any]:
    return {"partition": {v: v % GROUPS for v in range(case.csr.vertices)}}


def first_values(case: Case) -> dict[str, Any]:
    held = case.graph.sources(HELD)
    values = np.random.default_rng(case.graph.seed).random(len(held))
    return {"initial": dict(zip(held, values.tolist(), strict=True))}


@dataclass(frozen=True)
class Row:
    """One algorithm: the kind of graph it takes, how many scales smaller, its options, and who else is asked."""

    name: str
    kind: str = "undirected"
    below: int = 0
    options: Callable[[Case], dict[str, Any]] = no_options
    peer: Peer | None = None


# Rows of one graph stand together, in it those of one peer, so that each graph and each peer's copy is made once.
ROWS = (
    Row("degrees"),
    Row("khop", options=near_sources),
    Row("hcc"),
    Row("mis"),
    Row("subgraph", options=one_in_ten),
    Row("egonet", options=near_sources),
    Row("cross", options=one_in_ten),
    Row("katz", options=below_the_bound, peer=others.katz),
    Row("eigenvector", peer=others.eigenvector),
    Row("kcore", peer=others.kcore),
    Row("rwr", options=from_source, peer=others.rwr),
    Row("coloring", peer=others.coloring),
    Row("betweenness", options=from_sources, peer=others.betweenness),
    Row("heat", "weighted", options=first_values, peer=others.simulation),
    Row("circuit", "weighted", options=first_values, peer=others.simulation),
    Row("neural", "weighted", options=first_values, peer=others.simulation),
    Row("msf", "weighted", peer=others.msf),
    Row("widest", "weighted", options=from_source),
    Row("scc", "directed", peer=others.scc),
    Row("hits", "directed", peer=others.hits),
    Row("levels", "acyclic", peer=others.levels),
    Row("radius", below=2, peer=others.radius),  # 16 programs of a few sweeps each
    Row("hyperball", below=2, peer=others.hyperball),
    Row("cdlp", below=2, peer=others.cdlp),
    Row("stats", below=2, peer=others.stats),
    Row("modularity", below=2, options=hundred_groups, peer=community_peers.modularity),
    Row("leiden", below=2, peer=community_peers.leiden),
    Row("louvain", below=2, peer=community_peers.louvain),
    Row("triangles", below=3, peer=others.clustering),  # lists meet lists: edges^1.5
    Row("lcc", below=3, peer=others.clustering),
    Row("ktruss", below=4),  # triangles, then rounds for each number
    Row("closeness", below=8, peer=others.closeness),  # exact: a search from every vertex
    Row("harmonic", below=8, peer=others.closeness),
)


def shown(own: dict[str, Any]) -> str:
    """Options as words, long ones by their size."""
    words = []
    for name, value in own.items():
        if hasattr(value, "__len__") and not isinstance(value, str):
            value = f"{len(value)} of them" if len(value) > SHOWN else ", ".join(map(str, value))
        words.append(f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}")
    return "; ".join(words)


def remark(own: dict[str, Any], samples: Samples, answer: Any) -> str:
    """Options, edges a second, and pages moved over those needed."""
    return "; ".join([shown(own)] * bool(own) + [ours.work_of([ours.Account.of(answer)], samples.median)])


def measure_row(row: Row, case: Case, session: ours.Session) -> list[Figure]:
    """Figures of one algorithm, one for each peer."""
    algorithm, own = ALGORITHMS[row.name], row.options(case)
    proof = session.execute(row.name, own, certify=bool(algorithm.proof)).summary.get("certificate", {})
    samples, answer = repeated(case.context.times(RUNS), lambda: session.execute(row.name, own))
    usual = algorithm.defaults | own
    found = row.peer(case, usual, answer) if row.peer else Found()
    checked = [f"certificate: {proof['proves']}"] if proof else []
    checked += [f"compared: {found.checked}"] if found.checked else []
    figure = Figure(
        what=row.name,
        graph=case.words,
        value=samples.median * 1e3,
        unit="ms",
        spread=samples.spread(1e3),
        checked="; ".join(checked),
        note=remark(own, samples, answer),
    )
    return [figure.versus(name, peer.median * 1e3) for name, peer in found.times.items()] or [figure]


def measure(context: Context) -> Iterator[Figure]:
    """Figures as they are found: a graph at a time, so that one alone is in memory."""
    for (kind, below), rows in groupby(ROWS, key=lambda row: (row.kind, row.below)):
        case = Case(context, kind, below)
        with ours.opened(case.path) as session:
            for row in rows:
                yield from measure_row(row, case, session)
