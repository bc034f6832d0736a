"""64 breadth-first searches at once, as bits of one number (Then et al., MS-BFS, 2014); and sketches of what is near.

Every superstep is one level: the total looks at the old value, so that no message is passed on within a superstep.
Need in-pages to pull, or out-pages to push. Bytes a vertex: 8 of values, 8 of messages,
8 (sketches: 16) of first bits, 4 of degrees.
"""

import math

from gstream.program import OR, PerVertex, Program, total, u64


class Reach(Program):
    """Bit i of reach(v): there is a path to v from the vertex whose `bit` is 2^i."""

    combine, value = OR, u64
    bit: PerVertex

    def start(self, v, g):
        return v.bit

    def send(self, u, e, g):
        return u.value

    @total
    def grown(self, v):
        return 1 if v.value != v.before else 0


class Sketches(Reach):
    """Two Flajolet-Martin sketches of 32 bits of the vertices within so many edges of v, along its out-edges."""

    backward = True
    high: PerVertex

    def start(self, v, g):
        return math.floor(v.bit) + math.floor(v.high)  # two powers of 2, too far apart for the digits of one float
