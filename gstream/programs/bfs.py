"""Breadth-first search: one superstep a level; the driver chooses push, pull or heads (Beamer et al. 2012)."""

from gstream.language.program import INF, MIN, Program, Vertices, u32


class BFS(Program):
    """Fewest edges from the nearest of `source`; INF where there is no path."""

    combine, value = MIN, u32
    source: Vertices

    def start(self, v, g):
        return 0 if v.id in self.source else INF

    def send(self, u, e, g):
        return u.value + 1

    def done(self, v):
        return v.value != INF  # no later message can improve v


class BFSBack(BFS):
    """The same against the edges: who leads to `source`."""

    backward = True
