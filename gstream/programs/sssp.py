"""Shortest paths by relaxing the edges of changed vertices (Bellman 1958, Ford 1956)."""

from gstream.program import INF, MIN, Program, Vertices, f32


class SSSP(Program):
    """Least total weight from the nearest of `source`; INF where there is no path; weights must be >= 0."""

    combine, value = MIN, f32
    source: Vertices

    def start(self, v, g):
        return 0 if v.id in self.source else INF

    def send(self, u, e, g):
        return u.value + e.weight
