"""Circuit simulation after CuSha (Khorasani et al., HPDC 2014) and Garaph (section 6, 10 iterations)."""

from gstream.language.program import SUM, PerVertex, Program, f64


class Circuit(Program):
    """voltage(v) = sum of conductance * voltage(u) / inflow(v), their sum, over u -> v; held where that is 0."""

    combine, value = SUM, f64
    initial: PerVertex
    inflow: PerVertex

    def start(self, v, g):
        return v.initial

    def send(self, u, e, g):
        return e.weight * u.value

    def apply(self, v, got, g):
        return got / v.inflow if v.inflow != 0 else v.value
