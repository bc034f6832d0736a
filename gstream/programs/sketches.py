"""Flajolet-Martin sketches of what is within so many edges of a vertex (HADI: Kang et al., 2011).

Every superstep is one level: the total looks at the old value, so that no message is passed on within a superstep.
"""

import math

from gstream.language.program import OR, PerVertex, Program, total, u64


class Sketches(Program):
    """Two sketches of 32 bits, with a bit for each vertex within as many edges of v, along out-edges, as supersteps."""

    combine, value, backward = OR, u64, True
    low: PerVertex  # 2^0 to 2^30
    high: PerVertex  # 2^32 to 2^62: too far apart for the digits of one float

    def start(self, v, g):
        return math.floor(v.low) + math.floor(v.high)

    def send(self, u, e, g):
        return u.value

    @total
    def grown(self, v):
        return 1 if v.value != v.before else 0
