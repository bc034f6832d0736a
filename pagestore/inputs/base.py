"""What every input turns into: a stream of edge chunks with what the format says about the graph.

Encoding: an `EdgeChunk` holds user IDs 0..2^63-1 as uint64; a weight is float64. The vertices of the graph are
0..vertices-1 plus `id_base` when `vertices` is known (a header or --num-vertices says so), else the rows of `ids` or
`names` when a dictionary made the IDs dense, else `vertex_ids()` when a vertex file lists them, else the IDs that
occur (architecture, section 7).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pagestore.errors import UsageError
from pagestore.io import Buffers

MAX_ID = (1 << 63) - 1
CHUNK_EDGES = 1 << 20  # edges a chunk holds at most: 24 MiB with weights
SKIPPED_TEXT_BYTES = 200  # how much of a skipped or offending line is shown
NO_COMMENTS = "none"
COMMENT_MARKS = re.compile(r"[!#$%&'()*/:<=>?@A-Za-z\\\[\]^_`{}~]{1,2}")  # two are what the kernels look for
BAD_LINES = ("fail", "skip")
DECIMALS = (".", ",")


@dataclass(frozen=True)
class EdgeChunk:
    """A few edges: `source`, `target` uint64[n] user IDs; `weight` float64[n], or None when the source has none.

    Arrays may be views of shared memory: read them, never write them.
    """

    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.source)

    @property
    def arrays(self) -> list[np.ndarray]:
        """The columns that there are."""
        return [self.source, self.target] + ([] if self.weight is None else [self.weight])

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays)

    @staticmethod
    def joined(chunks: Sequence[EdgeChunk]) -> EdgeChunk:
        """Edges of several chunks, all with weights or all without, one after the other; IDs as uint64."""
        source, target, *weight = map(np.concatenate, zip(*(chunk.arrays for chunk in chunks), strict=True))
        return EdgeChunk(source.astype(np.uint64, copy=False), target.astype(np.uint64, copy=False), *weight)


@dataclass(frozen=True)
class InputOptions:
    """What the user says about the input; None means "find out".

    `source_column`, `target_column` (both or none) and `weight_column` are a column's number, counted from 1, or its
    name in the header. `directed` overrides the input. `num_vertices` promises the IDs id_base..id_base+N-1.
    `string_ids`: True takes numbers for names; False says that zeros ahead of them mean nothing, so that 007 is 7.
    `skipped_path`: the list of lines that --bad-lines skip left out. `header`: whether line 1 of a text names columns.
    `comments`: characters that begin comment lines of a text, "none" for none; None means `#` and `%`.
    `where`: a condition on columns (conditions.py): other rows are left out. `decimal`: "." or ",", the mark of
    decimals in weights; the other one is then the mark of thousands. `folders`: those that were named: below them
    `key=value` in a table's path is a column. `third_weighs`: that a third column is the weight is known, from a format
    or a store.
    """

    format: str | None = None
    weights: bool = True
    directed: bool | None = None
    source_column: int | str | None = None
    target_column: int | str | None = None
    weight_column: int | str | None = None
    string_ids: bool | None = None
    header: bool | None = None
    comments: str | None = None
    where: str | None = None
    decimal: str | None = None
    folders: tuple[str, ...] = ()
    third_weighs: bool = False
    bad_lines: str = "fail"
    skipped_path: Path | None = None
    num_vertices: int | None = None
    id_base: int | None = None
    threads: int = 2
    chunk_edges: int = CHUNK_EDGES

    def __post_init__(self) -> None:
        if self.bad_lines not in BAD_LINES:
            raise UsageError(f"--bad-lines {self.bad_lines}: unknown; it is fail or skip.")
        if not self.weights and self.weight_column is not None:
            raise UsageError("--no-weights and --weight-column contradict each other. Drop one of them.")
        if self.comments not in (None, NO_COMMENTS) and not COMMENT_MARKS.fullmatch(str(self.comments)):
            raise UsageError(
                f"--comments {self.comments}: unknown; it is one or two characters, no digit, blank, quote, sign or "
                f"separator, as #%, or the word none."
            )
        if self.decimal not in (None, *DECIMALS):
            raise UsageError(f"--decimal {self.decimal}: unknown; it is one of {' '.join(DECIMALS)}")
        if (self.source_column is None) != (self.target_column is None):
            raise UsageError("--source-column and --target-column: one is given alone. Pass both.")
        if self.num_vertices is not None and not 0 <= self.num_vertices <= MAX_ID:
            raise UsageError(f"--num-vertices {self.num_vertices}: out of range; it is 0 to 2^63-1.")
        if self.id_base not in (None, 0, 1):
            raise UsageError(f"--id-base {self.id_base}: out of range; it is 0 or 1.")
        if self.id_base is not None and self.num_vertices is None:
            raise UsageError("--id-base: says which IDs --num-vertices N means. Pass that too, or drop the option.")
        if self.threads < 1 or self.chunk_edges < 1:
            raise UsageError("threads and chunk_edges are at least 1.")

    @property
    def comment_marks(self) -> str:
        """The characters that begin comment lines of a text."""
        return "#%" if self.comments is None else "" if self.comments == NO_COMMENTS else self.comments

    def lasting(self) -> dict[str, Any]:
        """The options that decide which edges are read."""
        names = (
            "format", "weights", "source_column", "target_column", "weight_column", "string_ids", "header", "comments",
            "bad_lines", "num_vertices", "id_base", "where", "decimal",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class StringNames:
    """Names of dense vertices, ascending by UTF-8 bytes: `offsets` uint64[V+1] into `data` uint8[bytes].

    Both are vectors in files of the work folder (storage.Vector): take slices of them.
    """

    offsets: Any
    data: Any

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, vertex: int) -> str:
        """Name of dense vertex `vertex` (0..V-1)."""
        return bytes(self.data[int(self.offsets[vertex]) : int(self.offsets[vertex + 1])]).decode("utf-8")

    def __contains__(self, name: str) -> bool:
        """Whether a vertex is called so."""
        at = bisect_left(range(len(self)), name.encode(), key=lambda vertex: self[vertex].encode())
        return at < len(self) and self[at] == name


@dataclass
class SkippedLines:
    """Lines left out by --bad-lines skip: how many, the first few messages, and the file that lists them all.

    comments: lines that were left out as comments. filtered: lines or rows that --where left out.
    """

    count: int = 0
    first: list[str] = field(default_factory=list)
    path: Path | None = None
    comments: int = 0
    filtered: int = 0


class EdgeSource(ABC):
    """A graph as a stream of edges. Attributes are fixed once the source is open; `skipped` fills while it is read.

    name: what messages call it.      directed: what the format says, None = the user decides (default directed).
    weighted: chunks carry weights.   vertices: number of vertices when known ahead, else None.
    id_base: user ID of the first vertex when `vertices` is given (0 or 1).
    replayable: `chunks()` may be called again and yields the same edges.
    total_bytes: of the input as `position()` counts them, None when unknown (a pipe).
    ids: int64[V] ascending user IDs when chunks carry dense IDs of a dictionary (vertices = V, id_base = 0); may be a
        vector in a file (storage.Vector).
    names: the same for string IDs.
    trusted: chunks have numbers and are right by construction: the first pass may sample them.
    closed: every endpoint must be among `vertex_ids()`; `dictionary.compact_integers` checks that.
    fingerprint: identifies the edges, in JSON types; None: unknown, so --resume starts afresh.
    opening_seconds: time that `open_source` took, with its passes over names.
    assumptions: how texts were read where the options left it open, a line for each way.
    doubts: which of these may be wrong.
    promised: how many vertices and edges comments promise; None: no promise.
    """

    name: str = "input"
    directed: bool | None = None
    weighted: bool = False
    vertices: int | None = None
    id_base: int = 0
    replayable: bool = False
    total_bytes: int | None = None
    ids: Any = None
    names: StringNames | None = None
    trusted: bool = False
    closed: bool = False
    fingerprint: Any = None
    opening_seconds: float = 0.0
    assumptions: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    promised: tuple[int | None, int | None] = (None, None)

    def __init__(self) -> None:
        self.skipped = SkippedLines()

    @abstractmethod
    def chunks(self) -> Iterator[EdgeChunk]:
        """Yield all edges, at most `chunk_edges` at a time; raises InputError at the first edge that can't be."""

    def assumed(self) -> str:
        """What this input was taken for where options did not say, in a few words; "" where nothing was left open."""
        return ""

    def doubt(self) -> str:
        """What of that may be wrong, and the option that says so; "" where nothing looks like it."""
        return ""

    def vertex_ids(self) -> Iterator[np.ndarray] | None:
        """Int64 arrays of user IDs from a vertex file (any order), or None when there is no such file."""
        return None

    def position(self) -> int:
        """Bytes of the input, of `total_bytes`, that hold the edges handed out so far: what was read ahead isn't in."""
        return 0

    def close(self) -> None:  # noqa: B027 - most sources hold nothing open between calls
        """Release files and threads; safe to call twice."""


class NumberedSource(EdgeSource):
    """A source that gives `edge_count` edges in chunks by number, in any order and from any thread; replayable."""

    replayable = True
    edge_count: int
    chunk_edges: int

    @property
    def chunk_count(self) -> int:
        """Chunks that `chunk` can be asked for."""
        return -(-self.edge_count // self.chunk_edges)

    @abstractmethod
    def chunk(self, number: int, buffers: Buffers | None = None) -> EdgeChunk:
        """Chunk `number`; in `buffers`, when given, until the next call. Raises InputError at a row that is no edge."""

    def chunks(self) -> Iterator[EdgeChunk]:
        """All chunks."""
        return (self.chunk(number) for number in range(self.chunk_count))


def split_chunk(chunk: EdgeChunk, chunk_edges: int) -> Iterator[EdgeChunk]:
    """Views of `chunk` of at most `chunk_edges` edges; nothing for an empty chunk."""
    for first in range(0, len(chunk), chunk_edges):
        part = slice(first, first + chunk_edges)
        weight = None if chunk.weight is None else chunk.weight[part]
        yield EdgeChunk(chunk.source[part], chunk.target[part], weight)
