"""Katz centrality (Katz 1953): all walks that lead to a vertex count, each edge of a walk times `alpha`."""

import math

from gstream.language.program import SUM, Program, f64, total


class Katz(Program):
    """katz(v) = beta + alpha * (sum of katz(u) over u -> v); ends at an L1 change below `tolerance`, or when it grows
    past all numbers."""

    combine, value = SUM, f64
    alpha: float = 0.1
    beta: float = 1.0
    tolerance: float = 1e-6

    def start(self, v, g):
        return 0.0

    def send(self, u, e, g):
        return u.value

    def apply(self, v, got, g):
        return self.beta + self.alpha * got

    def halt(self, g):
        return g.moved < self.tolerance or not math.isfinite(g.moved)

    @total
    def moved(self, v):
        return abs(v.value - v.before)


class WeightedKatz(Katz):
    """katz(v) = beta + alpha * (sum of weight * katz(u) over u -> v)."""

    def send(self, u, e, g):
        return e.weight * u.value
