"""Neural network simulation after CuSha (Khorasani et al., HPDC 2014) and Garaph (section 6, 10 iterations)."""

import math

from gstream.language.program import SUM, PerVertex, Program, f64


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
