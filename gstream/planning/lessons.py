"""What calls taught of an algorithm on a machine: factors by which its work differs here, by the size of the graph.

A lesson's name is a call's (gstream.algorithms.call_times.key_of) and the powers of two nearest to the graph's edges
and to its edges a vertex: "takes bfs of 2^23 2^5". One without a size, as people may write into a machine's file, is
of all graphs. A plan goes by the lesson of the graph most like its own, and trusts it the less, the less alike they
are.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from gstream.planning.memory_fit import Graph

SIZE = re.compile(r" of 2\^(-?\d+) 2\^(-?\d+)$")
LEARNT = 1.3  # how far off a factor may be that calls on a graph of that size taught
EACH_POWER = 1.2  # times as far, for each power of two that lies between the graphs


class Lesson(NamedTuple):
    """factor: by which a call's work, or its number of supersteps, differs from what is declared; off: how many times
    that may be wrong, upward and downward."""

    factor: float
    off: float = LEARNT


def powers(graph: Graph) -> tuple[int, int]:
    """The powers of two nearest to a graph's edges, and to its edges a vertex."""
    edges = max(1, graph.edges)
    return round(math.log2(edges)), round(math.log2(edges / max(1, graph.vertices)))


def lesson_name(call: str, graph: Graph) -> str:
    """The name under which what a call on a graph taught is kept."""
    return "{} of 2^{} 2^{}".format(call, *powers(graph))


def lesson_of(known: dict[str, float], call: str, graph: Graph) -> Lesson | None:
    """What was taught of a call by the graph most like this one; None: nothing. known: factors by name."""
    here, found = powers(graph), list[tuple[int, Lesson]]()
    for name, factor in known.items():
        if name == call:
            found.append((0, Lesson(factor)))
        elif name.startswith(call) and (size := SIZE.fullmatch(name, len(call))) is not None:
            apart = sum(abs(int(there) - own) for there, own in zip(size.groups(), here, strict=True))
            found.append((apart, Lesson(factor, LEARNT * EACH_POWER**apart)))
    return min(found, default=(0, None), key=lambda one: one[0])[1]
