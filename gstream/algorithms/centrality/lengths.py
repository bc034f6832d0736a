"""Lengths of shortest paths by weight, from one source after the other, in double precision as NetworkX sums them.

Sums of whole weights are exact up to 2^53; a longer path is refused. Of float weights the least rounded sum is the same
in any order of work, as rounding never turns two sums round: it is what Dijkstra's algorithm finds.
"""

from __future__ import annotations

import numpy as np

from gstream.algorithms.support.session import Session
from gstream.algorithms.support.shared import blocks
from gstream.hostcode.casts import f64
from gstream.hostcode.jit import kernel
from gstream.programs.sssp import SSSP64, SSSPBack64
from pagestore.errors import UsageError
from pagestore.meta import Meta

MOST_EXACT = 2.0**53  # whole numbers up to this one are doubles
ARRAYS = 3  # of 8 bytes a vertex beside a program: sums, how many reach a vertex, lengths


def search_by_weight(session: Session, sources: np.ndarray, reciprocal: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """(sum of the lengths of paths from the sources that reach v, or of 1 / length, how many others do, supersteps):
    float64[V] each. A length of 0 adds nothing."""
    vertices = session.meta.vertices
    score, reached = np.zeros(vertices), np.zeros(vertices)
    kept = session.keep(score=score, reached=reached, done=0, supersteps=0)
    kept.source_count = len(sources)
    for source in sources[kept.done :].tolist():
        length, steps = lengths_from(session, source)
        session.each(count_lengths, length, np.uint64(source), reciprocal, score, reached, items=4 * vertices)
        kept.done, kept.supersteps = kept.done + 1, kept.supersteps + steps
        kept.boundary(rounds=steps)
    kept.end()
    return score, reached, int(kept.supersteps)


def lengths_from(session: Session, source: int, back: bool = False) -> tuple[np.ndarray, int]:
    """(float64[V]: lengths from a store ID, or to it, inf where there is no path; supersteps). Raises UsageError."""
    outcome = session.run(program_of_lengths(session, source, back), kept=False)
    length = outcome.value
    if _may_be_long(session.meta) and length.max(initial=0.0, where=np.isfinite(length)) > MOST_EXACT:
        raise UsageError(
            f"{session.store.path}: a shortest path is longer than 2^53, up to which sums of whole weights are exact. "
            "Convert again with smaller weights."
        )
    return length, outcome.supersteps


def _may_be_long(meta: Meta) -> bool:
    """Whether a sum of whole weights may be past what doubles count."""
    return meta.weight_dtype != "f4" and (meta.vertices - 1) * int(meta.max_weight or 0) > MOST_EXACT


def program_of_lengths(session: Session, source: int = 0, back: bool = False) -> SSSP64:
    """The program of one search, from a store ID or to it; from nobody in a graph without vertices."""
    return (SSSPBack64 if back else SSSP64)(source=tuple(session.user_ids([source])) if session.meta.vertices else ())


@kernel
def count_lengths(length, root, reciprocal, score, reached, counter):
    """For every v but `root` that is reached: reached[v] += 1, score[v] += length[v] (1 / length[v] if reciprocal)."""
    for begin, end in blocks(counter, len(length)):
        for v in range(begin, end):
            if v != root and length[v] != np.inf:
                reached[v] += 1.0
                if not reciprocal:
                    score[v] += length[v]
                elif length[v] != 0.0:
                    score[v] += f64(1.0) / length[v]
    return 0
