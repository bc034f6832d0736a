"""Hubs and authorities (Kleinberg 1999): two programs of one superstep, run in turns, along and against edges."""

from gstream.language.program import SUM, PerVertex, Program, f64


class Authorities(Program):
    """authority(v) = sum of hub(u) over u -> v."""

    combine, value = SUM, f64
    score: PerVertex  # of hubs

    def start(self, v, g):
        return v.score

    def send(self, u, e, g):
        return u.value


class Hubs(Authorities):
    """hub(u) = sum of authority(v) over u -> v; `score` is that of authorities."""

    backward = True


class WeightedAuthorities(Authorities):
    """authority(v) = sum of weight * hub(u) over u -> v."""

    def send(self, u, e, g):
        return e.weight * u.value


class WeightedHubs(WeightedAuthorities):
    """hub(u) = sum of weight * authority(v) over u -> v; `score` is that of authorities."""

    backward = True
