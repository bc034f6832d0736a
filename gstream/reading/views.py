"""What a graph tells without a run: its vertices, lists of single ones, edges in batches, checks and exports."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gstream.options.values import switch, whole
from gstream.options.wording import in_python
from gstream.reading.lists import degree_of, has_edge, list_of
from gstream.reading.meeting import find_path
from gstream.reading.names import ids_of, is_vertex, store_id, user_ids
from gstream.reading.sampling import PAGE_MEMORY, Sample, Sampling
from gstream.telemetry.progress import shown_counts
from pagestore.errors import UsageError, plain
from pagestore.replacing import refuse_replacing
from pagestore.sizes import show_bytes, show_things

if TYPE_CHECKING:
    import networkx
    import pyarrow
    import scipy.sparse

    from pagestore.export import ExportReport
    from pagestore.store import Store
    from pagestore.verify import VerifyReport

BATCH_ROWS = 1 << 18
DIRECTIONS = ("out", "in", "both")
MOST_NETWORKX = 1_000_000  # edges: some 500 bytes each
MOST_SCIPY = 100_000_000


class Views(ABC):
    """Methods of Graph that read its store; vertices are the user's IDs. Raises UsageError once it is closed."""

    __networkx_backend__ = "gstream"  # NetworkX's functions take a graph as it is (gstream.nx)
    _sampling: Sampling | None = None

    @property
    @abstractmethod
    def store(self) -> Store:
        """The open store."""

    def __len__(self) -> int:
        """Vertices."""
        return self.store.meta.vertices

    def __bool__(self) -> bool:
        """A graph is one without vertices, too."""
        return True

    def __iter__(self) -> Iterator[Any]:
        """The vertices in ascending order."""
        for first in range(0, len(self), BATCH_ROWS):
            ids = self.store.user_ids(first, min(first + BATCH_ROWS, len(self)))
            yield from ids.tolist() if isinstance(ids, np.ndarray) else ids.to_pylist()

    def __contains__(self, vertex: Any) -> bool:
        """Whether the graph has this vertex: one look-up in the store's IDs."""
        return is_vertex(self.store, vertex)

    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        return self.store.meta.directed

    def is_multigraph(self) -> bool:
        """Whether an edge is repeated."""
        return self.store.meta.duplicates > 0

    def number_of_nodes(self) -> int:
        """Vertices, as NetworkX calls them."""
        return len(self)

    def number_of_edges(self) -> int:
        """Edges; of an undirected graph each once, however it is stored."""
        return self.store.meta.graph_edges

    @in_python()
    def degree(self, vertex: Any, direction: str = "both") -> int:
        """Edges at a vertex, repeated ones too: both ways, or with direction="out" or "in" one way.

        As in NetworkX, a self-loop counts twice where both ways do. Reads one page where an undirected graph has
        self-loops, else none. Raises UsageError for what is no vertex.
        """
        _check_direction(direction)
        return degree_of(self.store, store_id(self.store, vertex), direction)

    @in_python()
    def neighbors(self, vertex: Any, direction: str = "out") -> Any:
        """The vertices that edges of this one lead to, ascending, each once: int64[n], or a list of strings.

        direction: "in" for those that lead here, "both" for either. Reads one page, of a hub its pages. Raises
        UsageError for what is no vertex, and where the store lacks these pages.
        """
        _check_direction(direction)
        at, names = store_id(self.store, vertex), ("out", "in") if direction == "both" else (direction,)
        found = [list_of(self.store, name, at)[0] for name in (names if self.is_directed() else ("out",))]
        return user_ids(self.store, np.unique(np.concatenate(found)))

    @in_python()
    def has_edge(self, source: Any, target: Any) -> bool:
        """Whether there is an edge from source to target. Reads one page. False where either is no vertex."""
        if source not in self or target not in self:
            return False
        return has_edge(self.store, store_id(self.store, source), store_id(self.store, target))

    @in_python()
    def shortest_path(self, source: Any, target: Any, weighted: bool = False) -> list[Any] | None:
        """The vertices of a shortest path from source to target, along edges; None: there is no path.

        Fewest edges or, weighted, the least sum of weights (in float64). Searches from both ends, or from one where the
        store has one topology, and reads the pages around them alone. Raises UsageError for what is no vertex, and for
        weighted paths of a store without weights, InputError for negative weights.
        """
        store = self.store
        first = store.lookup([source], "source").astype(np.int64)
        path = find_path(store, first, int(store.lookup([target], "target")[0]), weighted)
        if path is None:
            return None
        natural = store.natural_of(path.vertices).astype(np.int64)
        order = np.argsort(natural)
        ids = ids_of(store, natural[order])
        found: list[Any] = [None] * len(ids)
        for place, one in zip(order.tolist(), ids, strict=True):
            found[place] = one if isinstance(one, str) else int(one)
        return found

    @in_python()
    def sample(
        self, seeds: Any, fanouts: Sequence[int], *, seed: int = 0, replace: bool = False, direction: str = "in",
        weights: bool = False, page_memory: str | int = PAGE_MEMORY,
    ) -> Sample:  # fmt: skip
        """A neighbour sample around the vertices `seeds`, for graph neural networks: hop by hop, up to fanouts[hop]
        edges of each vertex that the hop before met first, as PyG's NeighborSampler (Hamilton et al., 2017).

        direction: "in" draws edges that lead to a vertex, "out" edges that leave it. fanout -1 takes all. replace: an
        edge may be drawn again, and every vertex with edges has exactly the fanout. Same arguments, same sample. Reads
        the pages of these vertices' lists alone; page_memory of them stays for later calls, until `close`.
        Raises UsageError where a seed is no vertex, or is there twice, and where the store lacks these pages.
        """
        if self._sampling is None:
            self._sampling = Sampling(self.store)
        return self._sampling.sample(self.store, seeds, fanouts, seed, replace, direction, weights, page_memory)

    def forget_samples(self) -> None:
        """Give the pages back that samples keep."""
        sampling, self._sampling = self._sampling, None
        if sampling is not None:
            sampling.close()

    def edges(self, rows: int = BATCH_ROWS, weights: bool = True) -> Iterator[pyarrow.RecordBatch]:
        """All edges as Arrow record batches of about `rows` rows: source, target and, of a store with weights, weight.

        In the order of the store's pages; an undirected edge comes once, from its lesser vertex. Memory holds a batch,
        and 8 bytes a vertex where IDs are sparse or reordered.
        """
        from pagestore.export import edge_batches

        with in_python():
            count = whole("rows", rows)
            if count < 1:
                raise UsageError(f"rows {count}: must be 1 or more, the rows of a batch. Pass a greater number.")
            yield from edge_batches(self.store, switch("weights", weights), count)

    @in_python()
    def verify(self, threads: int | None = None, progress: Any = None) -> VerifyReport:
        """Read and check everything, as `gstream verify`: `ok`, and `problems`, a line each."""
        from pagestore.verify import verify

        return verify(self.store, threads, shown_counts(progress, "verify", "bytes"))

    @in_python(force="force")
    def export(
        self, path: str | os.PathLike, format: str | None = None, weights: bool = True, force: bool = False,
        progress: Any = None,
    ) -> ExportReport:  # fmt: skip
        """Write all edges to a file, as `gstream export`: .txt .tsv .el .wel .csv (.gz, .zst) .parquet by its ending.

        The file is complete or absent. Raises UsageError where it is there already, without `force`.
        """
        from pagestore.export import export_edges

        refuse_replacing(Path(path), force)
        return export_edges(self.store, os.fspath(path), format, weights, shown_counts(progress, "export", "pages"))

    @in_python()
    def to_scipy(self, limit: int = MOST_SCIPY) -> scipy.sparse.csr_array:
        """The adjacency matrix, scipy.sparse.csr_array: row i is vertex i in ascending order; weights, or 1,
        int64 or the weights' float type.

        Repeated edges are added up; an undirected graph's matrix is symmetric. Raises UsageError for more than `limit`
        edges: each takes 16 to 32 bytes.
        """
        from scipy import sparse

        from pagestore.decode import decode_topology

        self._check_size(limit, 32, "SciPy")
        store, count = self.store, len(self)
        topology = store.topology(store.meta.topologies[0])
        kind = np.dtype(np.int64)  # integers of few bytes have no room for sums
        if topology.weight_dtype is not None and np.dtype(topology.weight_dtype).kind == "f":
            kind = np.dtype(topology.weight_dtype)
        near, far, weights = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, kind)]
        for _, page in decode_topology(topology):
            near.append(store.natural_of(page.source).astype(np.int64))
            far.append(store.natural_of(page.target).astype(np.int64))
            weights.append(np.ones(len(page.source), kind) if page.weight is None else page.weight.astype(kind))
        ends = [np.concatenate(near), np.concatenate(far)]
        places = tuple(reversed(ends) if topology.name == "in" else ends)
        return sparse.coo_array((np.concatenate(weights), places), shape=(count, count)).tocsr()

    def _check_size(self, limit: int, edge_bytes: int, library: str) -> None:
        """Raise UsageError where the graph has more than `limit` edges."""
        edges, limit = self.number_of_edges(), whole("limit", limit)
        if edges > limit:
            raise UsageError(
                f"{self.store.path}: has {show_things(edges, 'edge')}, more than limit={limit:,}; {library} would take "
                f"about {show_bytes(edges * edge_bytes)}. Pass a greater limit, or take a subgraph."
            )

    def _repr_html_(self) -> str:
        """The graph's figures, for notebooks: a table without any style or script."""
        rows = (f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in _facts(self.store))
        return f"<table><tbody>{''.join(rows)}</tbody></table>"

    @in_python()
    def to_networkx(self, limit: int = MOST_NETWORKX) -> networkx.Graph:
        """The same graph in NetworkX, with the edge attribute weight where there are weights.

        Raises UsageError for more than `limit` edges: NetworkX takes some 500 bytes for each.
        """
        import networkx as nx

        self._check_size(limit, 500, "NetworkX")
        name = ("Multi" if self.is_multigraph() else "") + ("DiGraph" if self.is_directed() else "Graph")
        graph = getattr(nx, name)()
        graph.add_nodes_from(self)
        for batch in self.edges():
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            (graph.add_weighted_edges_from if batch.num_columns > 2 else graph.add_edges_from)(rows)
        return graph


def _facts(store: Store) -> list[tuple[str, str]]:
    """What a notebook shows of a graph."""
    meta = store.meta
    kind = "directed" if meta.directed else f"undirected ({meta.edges:,} stored)"
    weights = f"{meta.min_weight:g} to {meta.max_weight:g}" if meta.weighted and meta.edges else "none"
    ids = [store.user_ids(at, at + 1)[0] for at in (0, meta.vertices - 1)] if meta.vertices else []
    return [
        ("store", plain(store.path)),
        ("vertices", f"{meta.vertices:,}"),
        ("edges", f"{meta.graph_edges:,} {kind}"),
        ("weights", weights),
        ("IDs", " to ".join(plain(one) for one in ids)),
        ("size", show_bytes(store.file_bytes)),
    ]


def _check_direction(direction: str) -> None:
    if direction not in DIRECTIONS:
        raise UsageError(f"direction {direction!r}: unknown; it is one of {', '.join(DIRECTIONS)}.")
