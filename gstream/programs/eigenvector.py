"""Eigenvector centrality (Bonacich 1987): the left eigenvector of the greatest eigenvalue, by power iteration.

As NetworkX does it, every step adds the old value (A^T + I), so that graphs of two sides converge, too.
"""

import math

from gstream.language.program import SUM, Program, f64, total


class Eigenvector(Program):
    """next(v) = (x(v) + sum of x(u) over u -> v) / |x|, where |x| is the length of x; ends at an L1 change below
    `tolerance` times that length."""

    combine, value = SUM, f64
    tolerance: float = 1e-6

    def start(self, v, g):
        return 1 / g.vertices

    def send(self, u, e, g):
        return u.value / math.sqrt(g.squares)

    def apply(self, v, got, g):
        return v.value / math.sqrt(g.squares) + got

    def halt(self, g):
        return g.moved < self.tolerance * math.sqrt(g.squares)

    @total
    def squares(self, v):
        return v.value * v.value

    @total
    def moved(self, v):
        return abs(v.value - v.before)


class WeightedEigenvector(Eigenvector):
    """next(v) = (x(v) + sum of weight * x(u) over u -> v) / |x|."""

    def send(self, u, e, g):
        return e.weight * (u.value / math.sqrt(g.squares))
