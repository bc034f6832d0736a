"""HyperLogLog counters of what leads to a vertex, as vectors of bytes (HyperBall: Boldi and Vigna 2013).

A counter has 2^log2m registers, each the greatest rank of the vertices that it counts; a union is their maximum. After
t supersteps the counter of v is of all vertices from which a path of t edges or fewer leads to v.
"""

from __future__ import annotations

from functools import cache

from gstream.language.program import MAX, PerVertex, Program, u8


class Balls(Program):
    """Counters of 128 registers, the usual number."""

    combine, value = MAX, u8[128]
    drawn: PerVertex  # the register that v itself sets, plus its rank / 64: less than 1, as hashes have 64 bits

    def start(self, v, g, i):
        return 64 * (v.drawn - i) if i <= v.drawn and v.drawn < i + 1 else 0

    def send(self, u, e, g, i):
        return u.value[i]


@cache
def balls(log2m: int) -> type[Balls]:
    """The program of counters with 2^log2m registers."""
    length = 1 << log2m
    return Balls if Balls.value.length == length else type(Balls.__name__, (Balls,), {"value": u8[length]})
