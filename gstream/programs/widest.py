"""Widest paths (bottleneck shortest paths; Pollack 1960, SSWP of the CuSha paper): relaxing, with MAX of MIN."""

from gstream.language.program import INF, MAX, Program, Vertices, f32, i64


class Widest(Program):
    """Greatest least weight on a path from one of `source`: INF at a source, the least number where there is none."""

    combine, value = MAX, f32
    source: Vertices

    def start(self, v, g):
        return INF if v.id in self.source else -INF - 1  # type: ignore[operator]

    def send(self, u, e, g):
        return min(u.value, e.weight)


class WidestInteger(Widest):
    """The same for integer weights, exact."""

    value = i64
