"""What an algorithm does to a graph, in units of what PageRank does to it.

The unit is a pulled edge of PageRank, whose rate a machine is measured for and learns from its runs. Work says how many
units an algorithm takes for each edge and for each vertex; the figures are of RMAT graphs of 2^16 to 2^24 vertices
(bench/results/host-algorithms.md, gpu.md). gstream.planning.estimates makes seconds of them.
"""

from __future__ import annotations

from typing import NamedTuple

JOINS = 0.3  # measured: triangles of RMAT 13 to 17 (0.2 to 0.4)
Three = tuple[float, float, float]  # the least, the usual, the most


class Work(NamedTuple):
    """Units of work of an algorithm.

    edges, gpu_edges: units an edge on cores and on a GPU, each time; vertices, gpu_vertices: units a vertex, once a
    call. times: how often, least, usual, most: supersteps until the default tolerance, passes of a search. per: the
    option whose number of iterations, or of sources, is `times` instead; sources: how many of them one pass takes.
    moved: sweeps of the pages each time, usual and most, where these don't stay on the device. spread: the factor by
    which graphs differ, upward and downward. joins: lists are joined with lists, so units an edge grow with the edges
    (estimates.JOINS). beyond: (edges, factor) above so many edges several cores share the work. read: the share of all
    pages that a first call brings into memory, least, usual, most. answer: bytes a vertex. brought: those that come to
    the host before the call ends where one GPU holds all values, as columns stay in its memory until they are read;
    None: all. switched: options, and how many times as much work there is where one has another value than its default.
    tries: how often a small graph is tried, at most, and stored edges of all tries (gstream.algorithms.communities).
    """

    edges: float = 1.0
    gpu_edges: float = 1.0
    vertices: float = 0.0
    gpu_vertices: float = 0.0
    times: Three = (1, 1, 1)
    per: str = ""
    sources: int = 0
    moved: tuple[float, float] = (1.0, 1.0)
    spread: float = 1.5
    joins: bool = False
    beyond: tuple[int, float] = (1 << 62, 1.0)
    read: Three = (1, 1, 1)
    answer: int = 8
    brought: int | None = None
    switched: tuple[tuple[str, float], ...] = ()
    tries: tuple[int, int] = (1, 0)

    def tried(self, edges: int) -> int:
        """How often a graph of so many stored edges is tried."""
        most, of_all = self.tries
        return max(1, min(most, of_all // max(edges, 1)))

    def scaled(self, times: float) -> Work:
        """So many times as much for each edge and each vertex."""
        return self._replace(
            edges=self.edges * times, gpu_edges=self.gpu_edges * times, vertices=self.vertices * times,
            gpu_vertices=self.gpu_vertices * times,
        )  # fmt: skip
