"""Sums of the weights that lead into each vertex, or out of it: heat and circuit simulation and weighted ranks divide
by them."""

from gstream.language.program import SUM, Program, f64


class Inflow(Program):
    """inflow(v) = sum of the weights of v's in-edges: one superstep."""

    combine, value = SUM, f64

    def start(self, v, g):
        return 0.0

    def send(self, u, e, g):
        return e.weight


class Outflow(Inflow):
    """outflow(u) = sum of the weights of u's out-edges: one superstep."""

    backward = True
