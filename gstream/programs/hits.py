"""Hubs and authorities (Kleinberg 1999): two programs of one superstep, run in turns, one along and one against edges.

Needs any topology; holds 32 bytes a vertex (8 of values, 8 of sums, 8 of messages, 8 of the other's score);
certificate: gstream.algorithms.centrality.residual_proofs.
"""

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
