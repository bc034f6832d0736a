"""What is asked of a graph: algorithms with options, drawn from a seed; and what has to be refused.

Options hold vertices 0..V-1 (`source`, `nodes`, ... as lists, `personalization` and `initial` as pairs): `asked` puts
the user's names in their places.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import references_paths as paths
from nasty import Graph

from gstream.algorithms.registry import ALGORITHMS

ALL_PAIRS = 150  # vertices up to which every one is a source
LISTS = ("source", "nodes", "targets")
PAIRS = ("personalization", "initial", "partition")
SLOW = {
    "hits": 0.4,
    "betweenness": 0.4,
    "radius": 0.4,
    "hyperball": 0.4,
    "stats": 0.4,
    "closeness": 0.8,
    "harmonic": 0.8,
    "eigenvector": 0.8,
}
UNDIRECTED = ("hcc", "triangles", "msf", "ktruss")  # that take no directed store
BY_WEIGHTS = ("pagerank", "rwr", "katz", "eigenvector", "hits")  # that read weights where `weighted` asks for them
NOT_NEGATIVE = ("sssp", "widest", "heat", "circuit")


@dataclass(frozen=True)
class Case:
    """One call of an algorithm."""

    name: str
    own: dict[str, Any]
    certify: bool = False

    def asked(self, names: np.ndarray) -> dict[str, Any]:
        """The options as the user gives them."""
        given = dict(self.own)
        for name in LISTS:
            if given.get(name) is not None:
                named = [names[v].item() for v in given[name]]
                given[name] = named[0] if len(named) == 1 and name == "source" else named
        for name in PAIRS:
            if given.get(name) is not None:
                given[name] = {names[v].item(): number for v, number in given[name]}
        return given


def draw_all(random: Random, graph: Graph, names: tuple[str, ...] = ()) -> list[Case]:
    """Some calls of every algorithm that the graph may be asked for, in any order; names: of these alone."""
    found = []
    for name in names or ALGORITHMS:
        for _ in range(_often(random, name)):
            own = _draw(name, random, graph)
            if own is not None:
                found.append(Case(name, own, bool(ALGORITHMS[name].proof) and random.random() < 0.3))
    random.shuffle(found)
    return found


def _often(random: Random, name: str) -> int:
    """How many calls of an algorithm there are: few of those that take long."""
    if name in SLOW:
        return int(random.random() < SLOW[name])
    return random.choice([2, 3, 5]) if ALGORITHMS[name].options else 1


def _draw(name: str, random: Random, graph: Graph) -> dict[str, Any] | None:
    """Options of one call, some left out; None where there is nothing to ask, nearly always where it is refused."""
    entry = ALGORITHMS[name]
    often_refused = (
        (entry.weights and graph.weight is None)
        or (graph.directed and name in UNDIRECTED)
        or (name == "levels" and (not graph.directed or paths.levels(graph) is None))
        or (name in NOT_NEGATIVE and graph.weight is not None and len(graph.weight) and graph.weight.min() < 0)
    )
    if often_refused and random.random() < 0.9:
        return None
    needs_vertices = {"source", "nodes", "initial", "partition"} & entry.defaults.keys() and name != "betweenness"
    if graph.vertices == 0 and needs_vertices:
        return None
    own = DRAWS.get(name, _none)(random, graph)
    if name in BY_WEIGHTS and _moderate(graph):
        own["weighted"] = random.random() < 0.5
        if name == "katz" and own["weighted"]:
            own["alpha"] /= max(1.0, float(graph.weight.max()))
    kept = ("source", "nodes", "initial", "partition", "k", "seed", "radius")
    return {key: value for key, value in own.items() if key in kept or random.random() < 0.8}


def _moderate(graph: Graph) -> bool:
    """Whether weights leave sums of products of them in the range of numbers, and have no sign."""
    return graph.weight is not None and len(graph.weight) > 0 and 0 <= graph.weight.min() <= graph.weight.max() <= 1e6


def _none(random: Random, graph: Graph) -> dict[str, Any]:
    return {}


def _some(random: Random, graph: Graph, most: int = 3) -> list[int]:
    """Vertices, some maybe twice."""
    return [random.randrange(graph.vertices) for _ in range(random.choice([1, 1, 2, most]))]


def _pairs(random: Random, graph: Graph, numbers: list[float]) -> list[tuple[int, float]]:
    """(vertex, number) of some vertices, each once, not all 0."""
    chosen = random.sample(range(graph.vertices), min(graph.vertices, random.choice([1, 2, 5, 1000])))
    return [(v, random.choice(numbers) if place else 1.5) for place, v in enumerate(chosen)]


def _bfs(random: Random, graph: Graph) -> dict[str, Any]:
    return {
        "source": _some(random, graph), "depth_limit": random.choice([None, None, 0, 1, 2, 3, 7, 10**6]),
        "predecessors": random.random() < 0.7, "targets": _targets(random, graph),
    }  # fmt: skip


def _targets(random: Random, graph: Graph) -> Any:
    return random.choice([None, None, _some(random, graph)])


def _sssp(random: Random, graph: Graph) -> dict[str, Any]:
    most = 1.0 if graph.weight is None or not len(graph.weight) else abs(float(graph.weight.max()))
    return {
        "source": _some(random, graph), "predecessors": random.random() < 0.7, "float64": random.random() < 0.4,
        "cutoff": random.choice([None, None, 0, 1, most, most * random.random() * 3]),
        "targets": _targets(random, graph),
    }  # fmt: skip


def _end(random: Random) -> dict[str, Any]:
    return {"tol": random.choice([1e-6, 1e-3, 1e-9, 0.0, 1e-12]), "max_iter": random.choice([20, 20, 0, 1, 5, 100])}


def _pagerank(random: Random, graph: Graph) -> dict[str, Any]:
    found = {"alpha": random.choice([0.85, 0.85, 0.5, 0.0, 0.99]), "float64": random.random() < 0.5, **_end(random)}
    if random.random() < 0.4:
        found["iterations"] = random.choice([0, 1, 2, 10, 25])
    if random.random() < 0.4 and graph.vertices:
        found["personalization"] = _pairs(random, graph, [0.0, 1.0, 3.0, 1e-9, 1e9])
    return found


def _rwr(random: Random, graph: Graph) -> dict[str, Any]:
    alpha = random.choice([0.85, 0.5, 0.99])
    return {"source": _some(random, graph), "alpha": alpha, "float64": random.random() < 0.5, **_end(random)}


def _katz(random: Random, graph: Graph) -> dict[str, Any]:
    safe = 0.9 / (1 + int(np.bincount(graph.arcs[1], minlength=1).max()))
    return {
        "alpha": random.choice([0.1, 0.01, safe, safe, -safe, 1.5]), "beta": random.choice([1.0, 0.0, 2.5, -1.0]),
        "normalized": random.random() < 0.5, **_end(random),
    }  # fmt: skip


def _khop(random: Random, graph: Graph) -> dict[str, Any]:
    radius = random.choice([0, 1, 1, 2, 3, 9, 10**7])
    return {"source": _some(random, graph), "radius": radius, "undirected": random.random() < 0.5}


def _drawn(random: Random, graph: Graph) -> dict[str, Any]:
    """k and a seed; all vertices in small graphs alone."""
    if graph.vertices <= ALL_PAIRS and random.random() < 0.6 or graph.vertices == 0:
        return {}
    return {"k": random.randint(1, min(graph.vertices, 80)), "seed": random.randrange(100)}


def _betweenness(random: Random, graph: Graph) -> dict[str, Any]:
    found: dict[str, Any] = {"normalized": random.random() < 0.5, "endpoints": random.random() < 0.4}
    if graph.vertices > 12 or (graph.vertices and random.random() < 0.4):
        if random.random() < 0.5:
            return found | {"source": _some(random, graph)}
        return found | {"k": random.randint(1, min(graph.vertices, 4)), "seed": random.randrange(100)}
    return found


def _radius(random: Random, graph: Graph) -> dict[str, Any]:
    seed, most = random.randrange(100), random.choice([256, 256, 0, 1, 3])
    return {"sketches": random.choice([2, 2, 4, 8]), "max_iter": most, "seed": seed}


def _hyperball(random: Random, graph: Graph) -> dict[str, Any]:
    most = random.choice([None, None, 0, 1, 3])
    return {"log2m": random.choice([4, 4, 5, 6]), "max_distance": most, "seed": random.randrange(100)}


def _stats(random: Random, graph: Graph) -> dict[str, Any]:
    return {"distances": random.random() < 0.7, "log2m": random.choice([4, 5]), "seed": random.randrange(100)}


def _parted(random: Random, graph: Graph) -> dict[str, Any]:
    groups = random.choice([1, 2, 5, graph.vertices])
    return {
        "partition": [(v, random.randrange(groups)) for v in range(graph.vertices)],
        "weighted": _moderate(graph) and random.random() < 0.6, "undirected": random.random() < 0.4,
        "resolution": random.choice([1.0, 0.0, 2.5]),
    }  # fmt: skip


def _simulation(random: Random, graph: Graph) -> dict[str, Any]:
    numbers = [0.0, 1.0, -2.0, 1e6, 1e-300, 0.1]
    return {"initial": _pairs(random, graph, numbers), "iterations": random.choice([0, 1, 3, 10])}


def _heat(random: Random, graph: Graph) -> dict[str, Any]:
    return _simulation(random, graph) | {"rate": random.choice([None, None, 0.0, 1e-3])}


def _ego(random: Random, graph: Graph) -> dict[str, Any]:
    return _khop(random, graph) | {"center": random.random() < 0.7}


def _set(random: Random, graph: Graph) -> list[int]:
    share = random.choice([0.1, 0.5, 0.9, 1.0])
    return [v for v in range(graph.vertices) if random.random() < share] or [0]


def _cross(random: Random, graph: Graph) -> dict[str, Any]:
    return {"nodes": _set(random, graph), "targets": random.choice([None, _set(random, graph)])}


DRAWS: dict[str, Any] = {
    "bfs": _bfs, "sssp": _sssp, "pagerank": _pagerank, "rwr": _rwr, "katz": _katz, "khop": _khop, "heat": _heat,
    "eigenvector": lambda random, graph: _end(random), "radius": _radius, "circuit": _simulation,
    "hyperball": _hyperball, "stats": _stats, "modularity": _parted,
    "hits": lambda random, graph: {
        **_end(random), "max_iter": random.choice([0, 1, 3, 9]), "normalized": random.random() < 0.5,
    },
    "neural": _simulation,
    "widest": lambda random, graph: {"source": _some(random, graph)}, "betweenness": _betweenness, "egonet": _ego,
    "levels": lambda random, graph: {"weighted": graph.weight is not None and random.random() < 0.6},
    "harmonic": _drawn,
    "closeness": lambda random, graph: {"wf_improved": random.random() < 0.5, **_drawn(random, graph)},
    "kcore": lambda random, graph: {"k": random.choice([None, None, 0, 1, 2, 3, 5, 10**9])}, "cross": _cross,
    "cdlp": lambda random, graph: {"iterations": random.choice([10, 0, 1, 2, 5])},
    "ktruss": lambda random, graph: {"k": random.choice([None, None, 0, 2, 3, 4, 5, 10**9])},
    "subgraph": lambda random, graph: {"nodes": _set(random, graph)},
}  # fmt: skip


def refusal(graph: Graph, topology: str, case: Case) -> str:
    """What the message of the error has to match that this call must give; "" where it must give an answer."""
    name, entry = case.name, ALGORITHMS[case.name]
    both = not graph.directed or topology == "both"
    if graph.directed and name in UNDIRECTED:
        return "is directed"
    if name == "levels" and not graph.directed:
        return "is undirected"
    if (name in ("levels", "betweenness") and graph.directed and topology == "in") or (name == "kcore" and not both):
        return "topolog"
    if (entry.weights or case.own.get("weighted")) and graph.weight is None:
        return "has no edge weights"
    if name in NOT_NEGATIVE and len(graph.edges[2]) and graph.edges[2].min() < 0:
        return "is negative"
    if name == "levels" and paths.levels(graph) is None:
        return "has a cycle"
    return ""
