"""The certificate of betweenness: two sums of all values with random weights, found again by searches forth alone.

Draw a weight r(v) from [1, 2) for every vertex. Before it is scaled, the sum of r(v) between(v) over all v is that of
E(s, t) over all sources s and all t that they reach: what the vertices between the ends of a random shortest path weigh
together. Let W(t) be that weight, added up over all paths(s, t). One search forth per source finds it:
    W(u) = sum over edges v -> u from the level before of W(v) + paths(s, v) r(v), without r(s);  E(s, t) = W / paths
No search goes back, and no dependency of a vertex is found, as in the run.

What it proves: if some value is wrong by E or more, then at most one interval of r(v), of length 2 tol / E, lets the
sum pass, whatever the other weights are. So two sums pass with a chance of (2 tol / E)^2 at most. The certificate says
the E of one in a million. tol bounds what roundings may add: all terms are positive, so each of the operations behind a
sum adds 2^-53 of it at most.

And no path leads through a vertex that no edge leads to, or none leaves: those values are 0, exactly.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gstream.algorithms.centrality import path_weighing, tight_paths
from gstream.algorithms.centrality.betweenness import drawn_sources, scales_of
from gstream.algorithms.centrality.path_search import PathSearch
from gstream.algorithms.centrality.paths import RUN
from gstream.algorithms.centrality.weighted_search import WeightedSearch
from gstream.algorithms.support.refusal import check_said, refuse
from gstream.algorithms.support.resident import Resident
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.simple import Simple, simple_lists
from gstream.devices.ranks import of_first
from gstream.results.column import Column

ROUNDING = 2.0**-52  # twice what one operation on doubles adds, relative
CHANCE = 1e-6  # of a wrong value that passes


class _Weighing(PathSearch):
    """Searches forth; `sums` adds up what they weigh, by the two seeds. ends: how often each end of a path counts."""

    onward, alone = path_weighing.weigh_paths, staticmethod(path_weighing.weigh_alone)

    def __init__(self, session: Session, lists: Simple, seeds: np.ndarray, ends: float) -> None:
        vertices = session.meta.vertices
        self.sums, self.ends = np.zeros(2 * -(-vertices // RUN)), ends
        first, second = np.zeros(vertices), np.zeros(vertices)
        carried, lasting = (np.zeros(vertices), first, second, seeds), (seeds, self.sums)
        super().__init__(session, lists, carried, (self.sums,), lasting)

    def close(self, resident: Resident, source: int) -> None:
        given = (source, self.ends, self.distance, *self.carried, self.sums)
        resident.each(path_weighing.close_weighing, len(self.sums) // 2, *given, items=len(self.distance))


class _WeightedWeighing(WeightedSearch):
    """The same along paths that are shortest by weight."""

    onward = tight_paths.pass_weights

    def __init__(self, session: Session, seeds: np.ndarray, ends: float) -> None:
        vertices = session.meta.vertices
        self.sums, self.ends, self.seeds = np.zeros(2 * -(-vertices // RUN)), ends, seeds
        carried = (np.zeros(vertices), np.zeros(vertices), np.zeros(vertices), seeds)
        super().__init__(session, carried, (self.sums,), self.sums)

    def close(self, resident: Resident, source: int, levels: int) -> None:
        given = (source, self.ends, self.distance, *self.carried, self.sums)
        resident.each(path_weighing.close_weighing, len(self.sums) // 2, *given, items=len(self.distance))


def certify_betweenness(
    session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]
) -> dict:
    """Prove all values, as the module says. Raises CertificateError."""
    named = found["sampled"] if "sampled" in found else options.get("source")
    sources = drawn_sources(session, None, None, named)
    check_said(found, sources=len(sources))
    endpoints, drawn = options.get("endpoints", False), options.get("k") if "sampled" in found else None
    scales = scales_of(session.meta, options.get("normalized", True), endpoints, drawn)
    between = _unscaled(columns[0].values, sources, *scales)
    odd = np.flatnonzero(~((between >= 0) & (between < np.inf)))
    if len(odd):
        raise refuse(f"vertex {session.user_ids(odd[:1])[0]} has a betweenness that is negative or no number")
    dead = (session.degree("out") == 0) | (session.degree("in") == 0)
    odd = np.flatnonzero(dead & (between != 0)) if not endpoints else odd
    if len(odd):
        raise refuse(f"vertex {session.user_ids(odd[:1])[0]} is between others, but a dead end")
    seeds = of_first(session.ranks, np.random.default_rng().integers(1 << 63, size=2, dtype=np.uint64))
    given = np.zeros((-(-len(between) // path_weighing.BLOCK), 2))
    session.each(path_weighing.weigh_values, between, seeds, given, items=len(between))
    weighing: _Weighing | _WeightedWeighing
    if options.get("weighted"):
        weighing = _WeightedWeighing(session, seeds, float(endpoints))
    else:
        weighing = _Weighing(session, simple_lists(session, "out"), seeds, float(endpoints))
    weighing.from_sources(sources)
    share = _rounding(session, weighing.most_levels, len(sources))
    off = most = 0.0
    for values, paths in zip(given.T, weighing.sums.reshape(-1, 2).T, strict=True):
        mine, wanted = (math.fsum(part) / path_weighing.UNIT for part in (values, paths))
        if not abs(mine - wanted) <= share * wanted:
            raise refuse(
                f"with random weights the vertices on shortest paths add up to {wanted:.17g}, and the betweennesses to "
                f"{mine:.17g}"
            )
        off, most = max(off, abs(mine - wanted)), max(most, wanted)
    scale = max(scale for scale in scales if not math.isnan(scale))
    error = 4 * share * most / math.sqrt(CHANCE) * scale  # tol once for the check, once for what rounding hides of it
    return {
        "holds": True,
        "error": error,
        "proves": f"each value to within {error:.3g}, but for a chance of {CHANCE:g}: two sums of all, with random "
        f"weights, agree with those of searches, to {off / most if most else 0.0:.3g} of them",
    }


def _unscaled(values: np.ndarray, sources: np.ndarray, rest: float, own: float) -> np.ndarray:
    """Sums of dependencies, f8[V], of values that were scaled by `rest`, sources by `own`. NaN: a source has none."""
    between, at = values / rest, sources.astype(np.int64)
    if math.isnan(own):
        if not np.isnan(values[at]).all():
            raise refuse("the only source that was drawn has a value")
        between[at] = 0.0
    elif own != rest:
        between[at] = values[at] / own
    return between


def _rounding(session: Session, levels: int, sources: int) -> float:
    """The greatest relative error of the sums: of the run's (levels of additions over lists, forth and back, then over
    sources), and of the proof's (the same forth, then over RUN vertices, BLOCK of them, and sources)."""
    longest = max(int(session.degree(name).max(initial=0)) for name in ("out", "in"))
    added = min(session.meta.vertices, RUN + path_weighing.BLOCK)
    return ROUNDING * (levels * (5 * longest + 8) + 2 * sources + added)
