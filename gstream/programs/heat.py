"""Heat simulation after CuSha (Khorasani et al., HPDC 2014) and Garaph (section 6, 10 iterations)."""

from gstream.language.program import SUM, PerVertex, Program, f64


class Heat(Program):
    """q(v) = q(v) + rate * sum of weight * (q(u) - q(v)) over u -> v; `inflow` is the sum of v's weights."""

    combine, value = SUM, f64
    initial: PerVertex
    inflow: PerVertex
    rate: float = 1.0

    def start(self, v, g):
        return v.initial

    def send(self, u, e, g):
        return e.weight * u.value

    def apply(self, v, got, g):
        return v.value + self.rate * (got - v.inflow * v.value)
