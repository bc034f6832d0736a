"""Sums of the weights that lead into each vertex: what heat and circuit simulation divide by, or take off."""

from gstream.language.program import SUM, Program, f64


class Inflow(Program):
    """inflow(v) = sum of the weights of v's in-edges: one superstep."""

    combine, value = SUM, f64

    def start(self, v, g):
        return 0.0

    def send(self, u, e, g):
        return e.weight
