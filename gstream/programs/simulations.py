"""Heat, circuit and neural network simulation, the vertex programs of CuSha (Khorasani et al., HPDC 2014) that Garaph
(section 6) runs for 10 iterations. Need weights. Bytes a vertex: 8 of values, 8 of sums, 8 to 16 of parameters.
"""

import math

from gstream.program import SUM, PerVertex, Program, f64


class Inflow(Program):
    """inflow(v) = sum of the weights of v's in-edges: one superstep."""

    combine, value = SUM, f64

    def start(self, v, g):
        return 0.0

    def send(self, u, e, g):
        return e.weight


class Neural(Program):
    """x(v) = tanh(sum of weight * x(u) over u -> v)."""

    combine, value = SUM, f64
    initial: PerVertex

    def start(self, v, g):
        return v.initial

    def send(self, u, e, g):
        return e.weight * u.value

    def apply(self, v, got, g):
        return math.tanh(got)


class Heat(Neural):
    """q(v) = q(v) + rate * sum of weight * (q(u) - q(v)) over u -> v."""

    inflow: PerVertex
    rate: float = 1.0

    def apply(self, v, got, g):
        return v.value + self.rate * (got - v.inflow * v.value)


class Circuit(Neural):
    """voltage(v) = sum of conductance * voltage(u) / sum of conductances; held where the latter is given as 0."""

    inflow: PerVertex

    def apply(self, v, got, g):
        return got / v.inflow if v.inflow != 0 else v.value
