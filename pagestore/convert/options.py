"""Options of a conversion, and what it reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pagestore.convert.rounding import check_bits
from pagestore.cores import checked_threads, usable_cores
from pagestore.errors import UsageError
from pagestore.layout import COLUMN_WIDTHS, DEFAULT_PAGE_BYTES, MIN_PAGE_BYTES
from pagestore.meta import MOST_STRIPES, graph_edges
from pagestore.sizes import parse_size, show_things

if TYPE_CHECKING:
    from pagestore.convert.sorter import EdgeSorter

TOPOLOGIES = ("both", "out", "in")
KEEPS = ("min", "max", "sum", "count", "first")
COMPRESS = ("auto", "on", "off")
ORDERS = ("auto", "natural", "degree", "in", "out", "llp")
DEFAULT_MEMORY_BYTES = 2 << 30
COLUMNS_TEXT = f"a power of two from {COLUMN_WIDTHS[0]} to {COLUMN_WIDTHS[-1]}"


@dataclass(frozen=True)
class ConvertOptions:
    """How an EdgeSource becomes a store; `None` means "as the source says" or "the smallest that fits".

    Sizes are bytes, or text as on the command line ("2GiB").

    `memory_bytes` bounds everything beyond the interpreter and its libraries; it, `threads`, `workdir`, `resume` and
    `replace` never change a byte of the store. `order_buckets`: buckets of the approximate sort (Edge-Vertex paper,
    section 4.1), None = one a degree. `order` "auto" is natural or degree order as the edges say
    (pagestore.convert.choose), "llp" puts vertices of common neighbours together (pagestore.convert.locality).
    `columns`: records of a group in column pages (its Per_Group_Num, section 4.2), 1 = none. `workdir` is for temporary
    files (default: beside the store, in STORE.partial.d). Without `replace` an existing store is left alone. `stripe`:
    folders, on as many disks, that the pages are spread over, by stretches of `stripe_pages` (None: 4 MiB of them, less
    for few pages); the store remembers them as absolute names. `keep`: what `dedupe` makes of the weights of equal
    edges (KEEPS), None = the least. `compress`: "on" stores pages coded (pagestore/coding/form.py), "auto" does where
    that saves a quarter of their bytes. `round_weights`: significant bits that weights with fractions keep
    (pagestore/convert/rounding.py), None = all. `sorter` gives what sorts a source's edges instead of the cores, or
    None; it changes no byte of the store.
    """

    memory_bytes: int = DEFAULT_MEMORY_BYTES
    threads: int | None = None
    directed: bool | None = None
    weights: bool = True
    dedupe: bool = False
    keep: str | None = None
    drop_self_loops: bool = False
    topology: str = "both"
    order: str = "natural"
    order_buckets: int | None = None
    page_bytes: int = DEFAULT_PAGE_BYTES
    id_bytes: int | None = None
    workdir: Path | None = None
    resume: bool = False
    replace: bool = True
    num_vertices: int | None = None
    heads: bool = True
    columns: int = 1
    stripe: tuple[str, ...] = ()
    stripe_pages: int | None = None
    compress: str = "off"
    round_weights: int | None = None
    sorter: Callable[[Any], EdgeSorter | None] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, flag in (("memory_bytes", "--memory"), ("page_bytes", "--page-size")):
            object.__setattr__(self, name, parse_size(getattr(self, name), flag))
        if self.topology not in TOPOLOGIES:
            raise UsageError(f"--topology {self.topology}: unknown; it is one of {', '.join(TOPOLOGIES)}.")
        if self.keep not in (None, *KEEPS):
            raise UsageError(f"--keep {self.keep}: unknown; it is one of {', '.join(KEEPS)}.")
        if self.keep is not None and not self.dedupe:
            raise UsageError("--keep: says which weight of equal edges --dedupe keeps. Pass --dedupe too.")
        if self.keep == "count" and not self.weights:
            raise UsageError("--keep count and --no-weights contradict each other: the count is the weight. Drop one.")
        if self.order not in ORDERS:
            raise UsageError(f"--order {self.order}: unknown; it is one of {', '.join(ORDERS)}.")
        if self.page_bytes < MIN_PAGE_BYTES or self.page_bytes & (self.page_bytes - 1):
            raise UsageError(f"--page-size {self.page_bytes}: it must be a power of two from {MIN_PAGE_BYTES} bytes.")
        if self.page_bytes > 1 << 30:
            raise UsageError(f"--page-size {self.page_bytes}: too large; the limit is 1 GiB.")
        if self.id_bytes not in (None, 4, 8):
            raise UsageError(f"--id-bytes {self.id_bytes}: it must be 4 or 8.")
        checked_threads(self.threads)
        if self.memory_bytes <= 0:
            raise UsageError(f"--memory {self.memory_bytes}: it must be more than 0 bytes.")
        if self.order_buckets is not None and self.order_buckets < 1:
            raise UsageError(f"order_buckets {self.order_buckets}: it must be at least 1.")
        if self.columns not in (1, *COLUMN_WIDTHS):
            raise UsageError(f"--columns {self.columns}: it must be 1 (none), or {COLUMNS_TEXT}.")
        if self.num_vertices is not None and self.num_vertices < 0:
            raise UsageError(f"--num-vertices {self.num_vertices}: it must be 0 or more.")
        self._check_compress()
        check_bits(self.round_weights, self.weights)
        object.__setattr__(self, "stripe", checked_folders(self.stripe))
        if self.stripe_pages is not None and self.stripe_pages < 1:
            raise UsageError(f"stripe_pages {self.stripe_pages}: it must be at least 1.")

    def _check_compress(self) -> None:
        if self.compress not in COMPRESS:
            raise UsageError(f"--compress {self.compress}: unknown; it is one of {', '.join(COMPRESS)}.")
        if self.compress == "off":
            return
        if self.columns > 1:
            raise UsageError("--compress and --columns contradict each other: coded pages are of rows. Drop one.")
        if self.stripe:
            raise UsageError("--compress and --stripe: a compressed store is one file. Drop one.")

    def is_directed(self, found: bool | None) -> bool:
        """Whether the graph is directed; `found`: what its source says."""
        return self.directed if self.directed is not None else found is not False

    @property
    def workers(self) -> int:
        """Threads to run."""
        return self.threads or usable_cores()

    def lasting(self) -> dict[str, Any]:
        """The options that decide the store's bytes, for its provenance, its UUID and `--resume`.

        `columns`, `stripe`, `keep`, `compress`, `round_weights` only where they are used: stores without keep their
        bytes.
        """
        names = (
            "directed", "weights", "dedupe", "drop_self_loops", "topology", "order", "order_buckets", "page_bytes",
            "id_bytes", "num_vertices", "heads",
        )  # fmt: skip
        columns = {} if self.columns == 1 else {"columns": self.columns}
        kept = {} if self.keep in (None, "min") else {"keep": self.keep}
        striped = {"stripe": list(self.stripe), "stripe_pages": self.stripe_pages} if self.stripe else {}
        coded: dict[str, Any] = {} if self.compress == "off" else {"compress": self.compress}
        coded |= {} if self.round_weights is None else {"round_weights": self.round_weights}
        return {name: getattr(self, name) for name in names} | columns | striped | kept | coded


def checked_folders(folders: str | os.PathLike | Iterable[str | os.PathLike]) -> tuple[str, ...]:
    """Absolute names of folders for stripes, of one or several. Raises UsageError for one that is named twice."""
    given = [folders] if isinstance(folders, str | os.PathLike) else list(folders)
    names = tuple(os.path.abspath(folder) for folder in given)
    if "" in given:
        raise UsageError("--stripe: a folder has no name. Pass folders as --stripe A,B.")
    if len(names) > MOST_STRIPES:
        raise UsageError(f"--stripe: {len(names)} folders; the limit is {MOST_STRIPES}.")
    for number, name in enumerate(names):
        if os.path.realpath(name) in map(os.path.realpath, names[:number]):
            raise UsageError(f"--stripe {name}: is named twice. Name each folder once.")
    return names


@dataclass(frozen=True)
class Progress:
    """One progress report: `done` of `total` (None: unknown) `unit`s ("edges" or "bytes") of `phase`."""

    phase: str
    done: int
    total: int | None
    unit: str


def edges_line(edges: int, stored: int, directed: bool) -> str:
    """How many edges a graph has and, of an undirected one, how many records its store has for them; for people."""
    if directed:
        return f"{show_things(edges, 'edge')} stored, directed"
    return f"{show_things(edges, 'undirected edge')}, {stored:,} stored"


# Called often (a few times a second a thread, never at once); must be quick and must not raise.
ProgressHook = Callable[[Progress], None]


@dataclass
class Report:
    """What a conversion did. out_edges, in_edges: records of each topology, where an undirected edge has two; times
    are seconds of wall clock by phase."""

    path: str = ""
    vertices: int = 0
    isolated: int = 0  # of the vertices: without any edge
    input_edges: int = 0  # edges read, before drops and mirroring
    added_edges: int = 0  # of these, in an update: to add
    removed_edges: int = 0  # of the graph, by an update: a line may take several, or none
    edges_before: int = 0  # of the graph
    out_edges: int = 0
    in_edges: int = 0
    directed: bool = True
    weighted: bool = False
    weight_dtype: str | None = None
    weights_rounded: int = 0  # integer weights that float32 can't hold exactly (all past 2^53: see scan.py)
    weight_rounding: dict[str, float] = field(default_factory=dict)  # by round_weights: bits, greatest errors
    self_loops: int = 0  # in the store
    duplicates: int = 0  # edges that repeat an earlier one: kept, unless dropped_duplicates says so
    dropped_self_loops: int = 0
    dropped_duplicates: int = 0
    skipped_lines: int = 0
    comment_lines: int = 0  # of texts
    filtered_rows: int = 0  # that --where left out
    page_bytes: int = 0
    id_bytes: int = 4
    pages: dict[str, int] = field(default_factory=dict)  # by topology
    small_pages: dict[str, int] = field(default_factory=dict)
    column_pages: dict[str, int] = field(default_factory=dict)  # of the small ones
    padding_bytes: dict[str, int] = field(default_factory=dict)  # of column pages
    store_bytes: int = 0
    coded_bytes: int = 0  # of pages and weights in a compressed store
    raw_bytes: int = 0  # of the same pages, not coded
    work_bytes: int = 0  # temporary files at most
    resumed: bool = False
    phase_seconds: dict[str, float] = field(default_factory=dict)
    order: str = "natural"  # of the store
    sorted_on: str = "host"  # or the device that sorted the edges
    order_reason: str = ""  # why `auto` took it
    seconds: float = 0.0
    peak_memory_bytes: int = 0
    notes: list[str] = field(default_factory=list)
    uuid: str = ""
    stripes: list[str] = field(default_factory=list)  # files beside the main one

    @property
    def edges(self) -> int:
        """Edges of the graph, undirected ones each once."""
        return graph_edges(self.out_edges or self.in_edges, self.self_loops, self.directed)

    @property
    def edges_per_second(self) -> float:
        """Input edges a second, from the first read to the renamed store."""
        return self.input_edges / self.seconds if self.seconds else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return {**vars(self), "edges": self.edges, "edges_per_second": self.edges_per_second}
