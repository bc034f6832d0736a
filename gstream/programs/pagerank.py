"""PageRank (Page, Brin, Motwani, Winograd 1999), with the rank of vertices without out-edges spread over all."""

from gstream.language.program import SUM, PerVertex, Program, f32, f64, total


class PageRank(Program):
    """rank(v) = (1-d)/n + d * (sum of rank(u)/degree(u) over u -> v + adrift/n)."""

    combine, value = SUM, f32
    damping: float = 0.85
    tolerance: float = 1e-6

    def start(self, v, g):
        return 1 / g.vertices

    def send(self, u, e, g):
        return u.value / u.degree

    def apply(self, v, got, g):
        return (1 - self.damping) / g.vertices + self.damping * (got + g.adrift / g.vertices)

    def halt(self, g):
        return g.moved < self.tolerance

    @total
    def adrift(self, v):
        return v.value if v.degree == 0 else 0.0  # rank that no edge carries on

    @total
    def moved(self, v):
        return abs(v.value - v.before)


class PageRank64(PageRank):
    """The same in double precision."""

    value = f64


class PersonalizedPageRank(PageRank):
    """rank(v) = preference(v) * (1-d + d * adrift) + d * sum of rank(u)/degree(u); the preferences sum to 1."""

    preference: PerVertex

    def start(self, v, g):
        return v.preference  # vertices that the preferred ones don't reach have 0 from the start

    def apply(self, v, got, g):
        return (1 - self.damping) * v.preference + self.damping * (got + g.adrift * v.preference)


class PersonalizedPageRank64(PersonalizedPageRank):
    """The same in double precision."""

    value = f64


class ActivePageRank(PageRank):
    """PageRank that takes no change of `active_above` or less: residual and error grow by as much a vertex at most."""

    active_above: float = 0.0

    def activate(self, v):
        return not abs(v.value - v.before) <= self.active_above


class ActivePageRank64(ActivePageRank):
    """The same in double precision."""

    value = f64


class ActivePersonalizedPageRank(PersonalizedPageRank):
    """The same with preferences."""

    active_above: float = 0.0

    def activate(self, v):
        return not abs(v.value - v.before) <= self.active_above


class ActivePersonalizedPageRank64(ActivePersonalizedPageRank):
    """The same in double precision."""

    value = f64


class LaterPageRank(PersonalizedPageRank):
    """The same from ranks of an earlier run on; they sum to 1."""

    former: PerVertex

    def start(self, v, g):
        return v.former


class LaterPageRank64(LaterPageRank):
    """The same in double precision."""

    value = f64


class LaterActivePageRank(LaterPageRank):
    """The same that takes no change of `active_above` or less."""

    active_above: float = 0.0

    def activate(self, v):
        return not abs(v.value - v.before) <= self.active_above


class LaterActivePageRank64(LaterActivePageRank):
    """The same in double precision."""

    value = f64


class WeightedPageRank(PersonalizedPageRank64):
    """rank(v) = preference(v) * (1-d + d * adrift) + d * sum of rank(u) * weight / strength(u) over u -> v.

    strength(u) is the sum of the weights of u's out-edges. The value is rank / strength, which a unit of weight carries
    on; of a vertex of strength 0, which is adrift, it is the rank.
    """

    strength: PerVertex

    def start(self, v, g):
        return v.preference / v.strength if v.strength > 0 else v.preference

    def send(self, u, e, g):
        return u.value * e.weight

    def apply(self, v, got, g):
        rank = (1 - self.damping) * v.preference + self.damping * (got + g.adrift * v.preference)
        return rank / v.strength if v.strength > 0 else rank

    @total
    def adrift(self, v):
        return v.value if v.strength == 0 else 0.0

    @total
    def moved(self, v):
        return abs(v.value - v.before) * (v.strength if v.strength > 0 else 1.0)


class ActiveWeightedPageRank(WeightedPageRank):
    """The same that takes no change of a rank by `active_above` or less."""

    active_above: float = 0.0

    def activate(self, v):
        return not abs(v.value - v.before) * (v.strength if v.strength > 0 else 1.0) <= self.active_above


class LaterWeightedPageRank(WeightedPageRank):
    """The same from ranks of an earlier run on."""

    former: PerVertex

    def start(self, v, g):
        return v.former / v.strength if v.strength > 0 else v.former


class LaterActiveWeightedPageRank(ActiveWeightedPageRank):
    """The same that takes no small change."""

    former: PerVertex

    def start(self, v, g):
        return v.former / v.strength if v.strength > 0 else v.former
