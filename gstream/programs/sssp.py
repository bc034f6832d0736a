"""Shortest paths by relaxing the edges of changed vertices (Bellman 1958, Ford 1956)."""

from gstream.language.program import INF, MIN, Program, Vertices, f32, f64, i64, u32


class SSSP(Program):
    """Least total weight from the nearest of `source`; INF where there is no path; weights must be >= 0."""

    combine, value = MIN, f32
    source: Vertices

    def start(self, v, g):
        return 0 if v.id in self.source else INF

    def send(self, u, e, g):
        return u.value + e.weight


class SSSP64(SSSP):
    """The same with sums in double precision."""

    value = f64


class SSSPBack64(SSSP64):
    """The same against the edges: how far it is to `source`."""

    backward = True


class SSSPInteger(SSSP):
    """The same for integer weights, exact: for graphs whose longest path is below 2^32 - 1."""

    value = u32


class SSSPLong(SSSP):
    """The same for integer weights, exact, up to 2^63 - 1."""

    value = i64
