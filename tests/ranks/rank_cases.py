"""Runs that ranks share, each of which is held against the same run of one process."""

from __future__ import annotations

from typing import Any, NamedTuple

from engine_graphs import Balance, Labels

from gstream import INF, MAX, MIN, OR, SUM, Program, Vertex, f32, f64, i64, total, u8, u32, u64


class Hops(Program):
    """Fewest edges to `source`."""

    combine, value, backward = MIN, u32, True
    source: Vertex = 7

    def start(self, v, g):
        return 0 if v.id == self.source else INF

    def send(self, u, e, g):
        return u.value + 1

    def done(self, v):
        return v.value != INF


class Shares(Program):
    """Sums that read both degrees, and a total that messages need."""

    combine, value = SUM, f64

    def start(self, v, g):
        return 1 / g.vertices

    def send(self, u, e, g):
        return u.value / u.degree

    def apply(self, v, got, g):
        return 0.5 * (got + g.adrift / g.vertices) + 0.5 / g.vertices

    def halt(self, g):
        return g.moved < 1e-9

    @total
    def adrift(self, v):
        return v.value if v.degree == 0 else 0.0

    @total
    def moved(self, v):
        return abs(v.value - v.before)


class Highest(Program):
    """The greatest number of the vertices that reach v, less weights on the way."""

    combine, value = MAX, i64

    def start(self, v, g):
        return v.id * 3

    def send(self, u, e, g):
        return u.value - e.weight

    @total
    def sum(self, v):
        return v.value


class Sets(Program):
    """Bits of the vertices that reach v."""

    combine, value = OR, u64

    def start(self, v, g):
        return v.id % 64

    def send(self, u, e, g):
        return u.value


class Single(Program):
    """Sums in single precision, a set number of times."""

    combine, value = SUM, f32

    def start(self, v, g):
        return 1.0

    def send(self, u, e, g):
        return u.value * 0.01


class Mixed(Program):
    """Sums of vectors whose elements look at each other, and a total."""

    combine, value = SUM, f32[3]

    def start(self, v, g, i):
        return v.id % (2 + i)

    def send(self, u, e, g, i):
        return u.value[i] / u.degree

    def apply(self, v, got, g, i):
        return 0.5 * got[i] + 0.25 * v.value[(i + 1) % 3]

    @total
    def sum(self, v, i):
        return v.value[i]


class Registers(Program):
    """Greatest of each of 16 numbers of the vertices that reach v."""

    combine, value = MAX, u8[16]

    def start(self, v, g, i):
        return (v.id * 31 + i * 7) % 53

    def send(self, u, e, g, i):
        return u.value[i]


class Case(NamedTuple):
    """store: of conftest.py. what: a program, or an algorithm's name. own: its options; run:
    RunOptions. long: for make test-all. in_parts: also run, or refused, on the graph in as many parts."""

    store: str
    what: Any
    own: dict[str, Any] = {}
    run: dict[str, Any] = {}
    certify: bool = False
    long: bool = False
    in_parts: bool = True


WIDE = 5 * 8192  # vertices of wide.gs
PARTED = {v: v % 5 for v in range(WIDE)}
SMALL = {"host_memory": 200_000, "batch_bytes": 8192}
CASES = {
    "pagerank": Case("directed", "pagerank", certify=True),
    "pagerank by blocks": Case("wide", "pagerank", {"iterations": 5}),
    "pagerank pushed by blocks": Case("wide", "pagerank", {"iterations": 3}, {"direction": "push"}, long=True),
    "bfs by blocks": Case("wide", "bfs", {"source": 1}, certify=True),
    "bfs by blocks, no heads": Case("wide", "bfs", {"source": 1}, {"use_heads": False, "direction": "pull"}, long=True),
    "wcc by blocks": Case("wide", "wcc", {}, {"use_heads": False}, long=True),
    "totals by blocks": Case("wide", Shares(), long=True),
    "or by blocks": Case("wide", Sets(), {}, {"max_supersteps": 9}, long=True),
    "sums by blocks": Case("wide", Single(), {}, {"max_supersteps": 3}, long=True),
    "backward by blocks": Case("wide", Hops(source=7), long=True),
    "pagerank streamed": Case("directed", "pagerank", {"iterations": 5}, SMALL),
    "pagerank by chunks": Case("directed", "pagerank", {"iterations": 5}, {"chunk_vertices": 4096}),
    "pagerank pushed by chunks": Case(
        "directed", "pagerank", {"iterations": 3}, {"chunk_vertices": 4096, "direction": "push"}, long=True
    ),
    "pagerank, doubles": Case(
        "directed", "pagerank", {"float64": True, "personalization": {3: 1.0, 9: 2.0}}, long=True
    ),
    "bfs": Case("directed", "bfs", {"source": 1}, certify=True),
    "bfs pushed": Case("undirected", "bfs", {"source": 1}, {"direction": "push"}),
    "bfs streamed": Case("undirected", "bfs", {"source": 1}, SMALL, long=True),
    "bfs without heads": Case("directed", "bfs", {"source": 1}, {"use_heads": False}, long=True),
    "sssp": Case("weighted", "sssp", {"source": 1}, certify=True),
    "sssp of floats": Case("floats", "sssp", {"source": 1, "predecessors": False}, long=True),
    "sssp of weights of 0": Case("zeros", "sssp", {"source": 1}),
    "sssp by chunks": Case("weighted", "sssp", {"source": 1}, {"chunk_vertices": 4096}, long=True),
    "widest": Case("weighted", "widest", {"source": 1}, long=True),
    "wcc": Case("directed", "wcc", certify=True),
    "wcc streamed": Case("undirected", "wcc", {}, {**SMALL, "use_heads": False}, long=True),
    "hcc": Case("undirected", "hcc", long=True),
    "scc": Case("directed", "scc", certify=True),
    "kcore": Case("directed", "kcore", certify=True, long=True),
    "kcore, undirected": Case("undirected", "kcore", long=True),
    "mis": Case("directed", "mis", certify=True, long=True),
    "coloring": Case("undirected", "coloring", long=True),
    "cdlp": Case("directed", "cdlp"),
    "msf": Case("undirected", "msf", certify=True, long=True),
    "triangles": Case("undirected", "triangles", certify=True, long=True),
    "ktruss": Case("undirected", "ktruss", long=True),
    "lcc": Case("directed", "lcc", long=True),
    "betweenness": Case("directed", "betweenness", {"k": 3, "seed": 5}, long=True),
    "betweenness of three": Case("directed", "betweenness", {"source": [1, 5, 9]}, certify=True, long=True),
    "betweenness by weights": Case("weighted", "betweenness", {"k": 2, "seed": 5, "weighted": True}, long=True),
    "closeness by weights": Case("weighted", "closeness", {"k": 2, "weighted": True}, long=True),
    "closeness": Case("directed", "closeness", {"k": 3}, long=True),
    "radius": Case("directed", "radius", long=True),
    "hyperball": Case("directed", "hyperball", {"log2m": 5}, long=True),
    "leiden": Case("weighted", "leiden", {"weighted": True}, certify=True, long=True),
    "louvain": Case("directed", "louvain", certify=True, long=True),
    "stats": Case("directed", "stats", {"log2m": 5}, certify=True, long=True),
    "modularity": Case("wide", "modularity", {"partition": PARTED}, certify=True, long=True),
    "hits": Case("directed", "hits", long=True),
    "eigenvector": Case("undirected", "eigenvector", long=True),
    "subgraph": Case("directed", "subgraph", {"nodes": [1, 2, 3, 5, 8, 13]}, long=True, in_parts=False),
    "degrees": Case("directed", "degrees", long=True),
    "backward": Case("directed", Hops(source=7), long=True),
    "totals": Case("directed", Shares(), long=True),
    "max with weights": Case("weighted", Highest(), {}, {"max_supersteps": 4}, long=True),
    "or": Case("directed", Sets(), long=True),
    "or by chunks": Case("directed", Sets(), {}, {"chunk_vertices": 4096}, long=True),
    "sums": Case("directed", Single(), {}, {"max_supersteps": 3}, long=True),
    "totals that end a run": Case("directed", Labels(enough=9_000_000)),
    "vectors": Case("directed", Mixed(), {}, {"max_supersteps": 4}, long=True),
    "vectors by blocks": Case("wide", Registers(), long=True),
    "sums with weights": Case("weighted", Balance(), {}, {"max_supersteps": 3}, long=True),
}
REFUSED = {
    "async pagerank": (Case("directed", "pagerank", {"execution": "async"}), "let one process do the run"),
    "several devices": (Case("directed", "pagerank", {}, {"devices": "host:2"}), "start more ranks"),
    "edges of parts": (Case("directed", "subgraph", {"nodes": [1, 2]}), "Run it on the store that was split"),
}
