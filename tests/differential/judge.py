"""Whether an answer is right: each column of it against the references, a sentence where it differs.

`judge` gives {column: what is wrong, "" where nothing is}. Integers, weights and distances of integers must be equal;
sums of floats may be off by what rounding may do in any order of summation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import references_parts as parts
import references_paths as paths
import references_ranks as ranks
from compared import Answer, differ, told
from nasty import Graph

FLOAT = 2.0**-24  # half a unit in the last place of float32
Told = dict[str, str]


def judge(graph: Graph, name: str, own: dict[str, Any], answer: Answer) -> Told:
    """See the module."""
    found: Told = {}
    rows = answer.columns.get("vertex")
    if rows is not None and not np.array_equal(rows, np.arange(graph.vertices)):
        found["vertex"] = f"the rows are of {rows.tolist()[:20]}, not of all {graph.vertices} vertices in their order"
        return found
    found = CHECKS[name](graph, own, answer)
    others = set(answer.columns) - set(found) - {"vertex"}
    return found | dict.fromkeys(sorted(others), "a column that nobody looked at")


def _sources(own: dict[str, Any]) -> tuple[int, ...]:
    return tuple(sorted(set(own["source"])))


def _none_as(values: np.ndarray) -> np.ndarray:
    """Distances of any type as float64, -1 (none, of integers) as inf."""
    found = values.astype(np.float64)
    if values.dtype.kind == "i":
        found[values == -1] = np.inf
    return found


def _bfs(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    wanted, limit = paths.hops(graph, _sources(own)), own.get("depth_limit")
    far = _farthest(wanted, own)
    for most in (one for one in (limit, far) if one is not None):
        wanted = np.where(wanted <= most, wanted, np.inf)
    given = _none_as(answer.columns["distance"])
    reached = int(np.isfinite(wanted).sum())
    found = {"distance": told(answer.summary, differ(given, wanted), reached=reached, converged=True)}
    if own.get("predecessors", True):
        found["predecessor"] = _bad_tree(graph, own, given, answer.columns["predecessor"], hops=True)
    return found


def _farthest(wanted: np.ndarray, own: dict[str, Any]) -> float | None:
    """The distance of the farthest target, if all are reached within the other limit."""
    limit = own.get("depth_limit", own.get("cutoff"))
    given = own.get("targets")
    if given is None:
        return None
    far = max((float(wanted[v]) for v in (given if isinstance(given, list) else [given])), default=np.inf)
    return far if np.isfinite(far) and (limit is None or far <= limit) else None


def _sssp(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    exact, cutoff = paths.distances(graph, _sources(own)), own.get("cutoff")
    given = _none_as(answer.columns["distance"])
    unit = 0.0 if graph.integers else 2.0**-53 if own.get("float64") else FLOAT
    with np.errstate(invalid="ignore"):
        slack = np.where(np.isfinite(exact), exact, 0) * (graph.vertices + 1) * unit
        slack += (graph.vertices + 1) * 1e-45 * (unit > 0)
    wanted = exact
    far = _farthest(exact, own)
    for most in (one for one in (cutoff, far) if one is not None):
        near = np.abs(exact - most) <= slack + abs(most) * 2 * FLOAT * (unit > 0)
        wanted = np.where(exact <= most, wanted, np.inf)
        wanted = np.where(near, np.where(np.isfinite(given), exact, np.inf), wanted)  # rounding decides
    found = {"distance": differ(given, wanted, slack)}
    found["distance"] = told(answer.summary, found["distance"], reached=int(np.isfinite(given).sum()), converged=True)
    if own.get("predecessors", True):
        given = answer.columns["distance"]
        found["predecessor"] = _bad_tree(graph, own, given, answer.columns["predecessor"], hops=False)
    return found


def _bad_tree(graph: Graph, own: dict[str, Any], distance: np.ndarray, before: np.ndarray, hops: bool) -> str:
    """Why these are no predecessors on shortest paths from the sources; "" where they are."""
    sources, links = set(own["source"]), graph.known("links", lambda: _links(graph))
    kind = np.float32 if distance.dtype == np.float32 else np.float64
    last = 4 * np.finfo(kind).eps * (not hops and not graph.integers)
    height: dict[int, int] = dict.fromkeys(sources, 0)
    far = distance.tolist()
    for v, u in enumerate(before.tolist()):
        if (v in sources or far[v] == np.inf) != (u == -1):
            return f"vertex {v}, distance {far[v]}, has the predecessor {u}"
        if u != -1:
            ways = links.get((u, v))
            if ways is None:
                return f"vertex {v} has the predecessor {u}, which has no edge to it"
            if not any(abs(kind(far[u]) + kind(1 if hops else w) - far[v]) <= last * far[v] for w in ways):
                return f"vertex {v}, distance {far[v]}, has the predecessor {u}, distance {far[u]}"
    for v in range(graph.vertices):
        walked = []
        while v not in height and before[v] != -1:
            if len(walked) > graph.vertices:
                return f"the predecessors of {v} go round"
            walked.append(v)
            v = int(before[v])
        height.update(dict.fromkeys(walked, 1))
    return ""


def _links(graph: Graph) -> dict[tuple[int, int], list[float]]:
    found: dict[tuple[int, int], list[float]] = {}
    for u, v, w in zip(*(part.tolist() for part in graph.arcs), strict=True):
        found.setdefault((u, v), []).append(w)
    return found


def _khop(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    far = paths.hops(graph, _sources(own), bool(own.get("undirected")))
    wanted = np.where(far <= own.get("radius", 1), far, np.inf)
    reached = int(np.isfinite(wanted).sum())
    return {"distance": told(answer.summary, differ(_none_as(answer.columns["distance"]), wanted), reached=reached)}


def _widest(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    wanted = paths.widths(graph, _sources(own))
    reached = int((wanted > -np.inf).sum())
    return {"width": told(answer.summary, differ(answer.columns["width"], wanted), reached=reached)}


def _levels(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    known = paths.levels(graph)
    assert known is not None
    level, weight = known
    many = int(level.max(initial=-1)) + 1
    found = {"level": told(answer.summary, differ(answer.columns["level"], level), levels=many)}
    if own.get("weighted"):
        longest = float(weight.max(initial=0.0))
        found["distance"] = told(answer.summary, differ(answer.columns["distance"], weight), longest=longest)
    return found


def _walked(walk: ranks.Walk, own: dict[str, Any], answer: Answer, slack: float, rounds: int, usual: int = 100) -> str:
    """Whether a walk ended where it had to: below `tol`, not before, or after max_iter rounds."""
    tol, most = own.get("tol", 1e-6), own.get("max_iter", usual)
    if answer.summary["converged"]:
        if rounds and walk.change(rounds) and not walk.change(rounds) < tol + slack:
            return f"converged after {rounds} rounds, whose last changed {walk.change(rounds):g}; tol is {tol:g}"
    elif rounds != most:
        return f"ended after {rounds} of {most} rounds without having converged"
    early = [k for k in range(1, rounds) if walk.change(k) < tol - slack]
    return f"went on after round {early[0]}, which changed {walk.change(early[0]):g}; tol is {tol:g}" if early else ""


def _pagerank(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    return {"pagerank": _ranked(graph, own, answer, "pagerank", own.get("personalization"))}


def _rwr(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    return {"proximity": _ranked(graph, own, answer, "proximity", [(v, 1.0) for v in _sources(own)])}


def _ranked(graph: Graph, own: dict[str, Any], answer: Answer, column: str, personal: Any) -> str:
    alpha, fixed, steps = own.get("alpha", 0.85), own.get("iterations"), answer.steps
    weighted = own.get("weighted", False)
    walk = ranks.pagerank(graph, alpha, None if personal is None else tuple(map(tuple, personal)), weighted)
    summed = 64 + int(np.bincount(graph.arcs[1], minlength=1).max())  # roundings of a sum, in any order
    unit = summed * 2.0**-53 if own.get("float64") else 8 * FLOAT
    unit *= 1 + 3 * weighted  # weights and their sums are rounded, too
    if fixed is not None and steps != fixed:
        return f"{steps} iterations instead of {fixed}"
    wanted = walk.after(steps)
    problem = differ(answer.columns[column], wanted, wanted * (steps + 2) * unit + 1e-37)
    return problem or ("" if fixed is not None else _walked(walk, own, answer, unit / (1 - alpha), steps))


def _katz(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    walk = ranks.katz(graph, own.get("alpha", 0.1), own.get("beta", 1.0), own.get("weighted", False))
    steps = answer.steps
    wanted = walk.after(steps)
    most = max(float(np.abs(walk.after(k)).max(initial=0.0)) for k in range(steps + 1))
    scale = ranks.length(wanted) if own.get("normalized", True) else 1.0
    if scale:
        wanted, most = wanted / scale, most / scale
    problem = differ(answer.columns["katz"], wanted, most * 1e-10)
    return {"katz": problem or _walked(walk, own, answer, most * scale * 1e-10, steps, 1000)}


def _eigenvector(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    walk, steps = ranks.eigenvector(graph, own.get("weighted", False)), answer.steps
    wanted = walk.after(steps)
    wanted = wanted / (ranks.length(wanted) or 1.0)
    problem = differ(answer.columns["eigenvector"], wanted, 1e-12 * (steps + 10))
    tol, most, early = own.get("tol", 1e-6), own.get("max_iter", 100), []
    shares = [walk.change(k) / (ranks.length(walk.after(k)) or 1.0) for k in range(steps + 1)]
    early = [k for k in range(1, steps) if shares[k] < tol - 1e-9]
    if answer.summary["converged"]:
        if steps and not shares[steps] <= tol + 1e-9:
            problem = problem or f"converged at a change of {shares[steps]:g}; tol is {tol:g}"
    elif steps != most:
        problem = problem or f"ended after {steps} of {most} supersteps without having converged"
    return {"eigenvector": problem or (f"went on after superstep {early[0]}" if early else "")}


def _hits(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    weighted, rounds = own.get("weighted", False), answer.steps // 2
    walk = ranks.hits(graph, weighted)
    hub = walk.after(rounds)
    authority = ranks.authorities(graph, walk.after(rounds - 1), weighted) if rounds else np.zeros(graph.vertices)
    if not own.get("normalized", True):
        authority = authority / (ranks.length(authority) or 1.0)
        hub = ranks.hubs_of(graph, authority, weighted)
    bound = 1e-11 * (rounds + 10) * max(1.0, float(hub.max(initial=0.0)))
    problem = differ(answer.columns["hub"], hub, bound)
    if graph.arcs[0].size:
        problem = problem or _walked(walk, {"tol": 1e-8, **own}, answer, 1e-10, rounds)
    return {"hub": problem, "authority": differ(answer.columns["authority"], authority, bound)}


def _simulation(what: str, column: str) -> Callable[[Graph, dict[str, Any], Answer], Told]:
    def check(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
        given, count = tuple(map(tuple, own["initial"])), own.get("iterations", 10)
        value, bound = ranks.simulated(graph, what, given, count, own.get("rate"))
        return {column: differ(answer.columns[column], value, bound)}

    return check


def _closeness(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    wanted = paths.closeness(graph, own.get("k"), own.get("seed", 0), own.get("wf_improved", True))
    return {"closeness": differ(answer.columns["closeness"], wanted, 1e-12)}


def _harmonic(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    wanted = paths.harmonic(graph, own.get("k"), own.get("seed", 0))
    return {"harmonic": differ(answer.columns["harmonic"], wanted, 1e-12 * (1 + wanted))}


def _radius(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    given = (own.get("sketches", 32), own.get("max_iter", 256), own.get("seed", 0))
    wanted = graph.known(("radii", *given), lambda: paths.radii(graph, *given))
    return {"radius": differ(answer.columns["radius"], wanted)}


def _hyperball(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    given = (own.get("log2m", 7), own.get("max_distance"), own.get("seed", 0))
    wanted = graph.known(("hyperball", *given), lambda: paths.hyperball(graph, *given))
    return {name: differ(answer.columns[name], value, 1e-9 * (1 + value)) for name, value in wanted.items()}


def _betweenness(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    k, named = own.get("k"), own.get("source")
    if named is not None:
        sources = np.array(_sources(own))
    elif k is not None:
        sources = paths.sample(graph, k, own["seed"])
    else:
        sources = np.arange(graph.vertices)
    sampled = k is not None and k < graph.vertices
    wanted = paths.betweenness(graph, sources, sampled, own.get("normalized", True), own.get("endpoints", False))
    return {"betweenness": differ(answer.columns["betweenness"], wanted, 1e-10 * (np.abs(wanted) + 1e-3))}


def _components(strong: bool) -> Callable[[Graph, dict[str, Any], Answer], Told]:
    def check(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
        wanted = parts.components(graph, strong)
        count = len(np.unique(wanted))
        return {"component": told(answer.summary, differ(answer.columns["component"], wanted), components=count)}

    return check


def _kcore(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    core, k = parts.cores(graph), own.get("k")
    if k is None:
        largest = int(core.max(initial=0))
        return {"core": told(answer.summary, differ(answer.columns["core"], core), largest_core=largest)}
    return {"in_core": differ(answer.columns["in_core"], (core >= k).astype(np.int64))}


def _cdlp(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    return {"community": differ(answer.columns["community"], parts.communities(graph, own.get("iterations", 10)))}


def _modularity(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    """Communities have no one answer; the certificate holds their modularity to the edges."""
    return {"community": told(answer.summary, "", communities=len(set(answer.columns["community"].tolist())))}


def _given_modularity(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    side = np.array([number for _, number in own["partition"]])
    wanted, total = parts.given_communities(
        graph, side, own.get("weighted", False), own.get("resolution", 1.0), own.get("undirected", False)
    )
    whole = wanted["modularity"].sum() if total else np.nan
    said = "" if _alike(answer.summary["modularity"], whole) else f"{answer.summary['modularity']} instead of {whole}"
    bounds = {"inside": 1e-9 * total, "strength": 1e-9 * total, "modularity": 1e-9}
    found = {name: differ(answer.columns[name], column, bounds.get(name, 0)) for name, column in wanted.items()}
    found["modularity"] = found["modularity"] or told(answer.summary, said, communities=len(wanted["community"]))
    return found


def _stats(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    wanted = parts.mixing(graph)
    off = {name: value for name, value in wanted.items() if not _alike(answer.summary[name], value)}
    said = ", ".join(f"{name} {answer.summary[name]} instead of {value}" for name, value in off.items())
    return _rows(answer, parts.degree_rows(graph)) | {"figures": said}


def _alike(found: float, wanted: float) -> bool:
    return bool(np.isnan(found) and np.isnan(wanted)) or abs(found - wanted) <= 1e-9


def _triangles(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    wanted = parts.triangles(graph)
    total = int(wanted.sum()) // 3
    return {"triangles": told(answer.summary, differ(answer.columns["triangles"], wanted), triangles=total)}


def _lcc(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    return {"lcc": differ(answer.columns["lcc"], parts.clustering(graph), 1e-15)}


def _mis(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    return {"in_set": parts.bad_set(graph, answer.columns["in_set"])}


def _coloring(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    return {"color": parts.bad_coloring(graph, answer.columns["color"])}


def _rows(answer: Answer, wanted: list[Any], sort: bool = False) -> Told:
    """The rows of a table against those that are right, column by column."""
    names = list(answer.columns)
    given = list(zip(*(answer.columns[name].tolist() for name in names), strict=True))
    given = sorted(given) if sort else given
    if len(given) != len(wanted):
        return {name: f"{len(given)} rows, {len(wanted)} are right" for name in names}
    found: Told = {}
    for place, name in enumerate(names):
        odd = [(one, two) for one, two in zip(given, wanted, strict=True) if one[place] != two[place]]
        found[name] = f"a row is {odd[0][0]}, {odd[0][1]} is right" if odd else ""
    return found


def _degrees(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    return _rows(answer, parts.degree_rows(graph))


def _msf(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    return _rows(answer, parts.forest(graph), sort=True)


def _ktruss(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    k, known = own.get("k"), parts.trusses(graph)
    wanted = [(*edge, number) for edge, number in known.items() if k is None or number >= k]
    return _rows(answer, sorted(row if k is None else row[:2] for row in wanted))


def _edges(graph: Graph, answer: Answer, sources: set[int], targets: set[int]) -> Told:
    rows = parts.chosen_edges(graph, sources, targets)
    return _rows(answer, rows if graph.weight is not None else [row[:2] for row in rows], sort=True)


def _subgraph(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    return _edges(graph, answer, set(own["nodes"]), set(own["nodes"]))


def _egonet(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    far = paths.hops(graph, _sources(own), bool(own.get("undirected")))
    near = set(np.flatnonzero(far <= own.get("radius", 1)).tolist())
    near = near if own.get("center", True) else near - set(_sources(own))
    return _edges(graph, answer, near, near)


def _cross(graph: Graph, own: dict[str, Any], answer: Answer) -> Told:
    nodes, targets = set(own["nodes"]), own.get("targets")
    return _edges(graph, answer, nodes, set(range(graph.vertices)) - nodes if targets is None else set(targets))


CHECKS: dict[str, Callable[[Graph, dict[str, Any], Answer], Told]] = {
    "bfs": _bfs, "sssp": _sssp, "khop": _khop, "widest": _widest, "levels": _levels, "pagerank": _pagerank,
    "rwr": _rwr, "katz": _katz, "eigenvector": _eigenvector, "hits": _hits, "closeness": _closeness,
    "harmonic": _harmonic, "radius": _radius, "betweenness": _betweenness, "wcc": _components(False),
    "hcc": _components(False), "scc": _components(True), "kcore": _kcore, "cdlp": _cdlp, "triangles": _triangles,
    "leiden": _modularity, "louvain": _modularity, "modularity": _given_modularity, "stats": _stats,
    "lcc": _lcc, "mis": _mis, "coloring": _coloring, "degrees": _degrees, "msf": _msf, "ktruss": _ktruss,
    "hyperball": _hyperball, "subgraph": _subgraph, "egonet": _egonet, "cross": _cross,
    "heat": _simulation("heat", "temperature"),
    "circuit": _simulation("circuit", "voltage"), "neural": _simulation("neural", "activation"),
}  # fmt: skip
