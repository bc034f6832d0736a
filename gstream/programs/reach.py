"""64 breadth-first searches at once, as bits of one number (MS-BFS: Then et al., 2014).

Every superstep is one level: the total looks at the old value, so that no message is passed on within a superstep.
"""

from gstream.language.program import OR, PerVertex, Program, total, u64


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
