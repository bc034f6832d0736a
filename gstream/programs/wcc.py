"""Connected components by label propagation; `gstream run wcc` uses union-find, which takes far fewer sweeps."""

from gstream.language.program import MIN, Program, u32, u64


class WCC(Program):
    """The least store ID in v's component (of undirected graphs, up to 2^32 - 1 vertices)."""

    combine, value = MIN, u32

    def start(self, v, g):
        return v.id

    def send(self, u, e, g):
        return u.value


class WCC64(WCC):
    """The same for more vertices."""

    value = u64
