"""NumPy files: .npy of shape [n, 2] or [n, 3] or with named fields, .npz with source and target or scipy.sparse.

Rows are read, not mapped: pages of a map count as memory of the process.
Columns by name are found as in `arrow.py`; a third column is the weight. scipy.sparse: csr, csc and coo as written by
`scipy.sparse.save_npz`; entry (i, j) is an edge from i to j, and `vertices` is the number of rows.
"""

from __future__ import annotations

import lzma
import math
import struct
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from pagestore.errors import InputError, interruption
from pagestore.inputs.badlines import shown
from pagestore.inputs.base import MAX_ID, EdgeChunk, EdgeSource, InputOptions
from pagestore.inputs.columnnames import named_ends
from pagestore.inputs.columns import IdRange, checked_chunk, csr_rows, option_range
from pagestore.inputs.headers import promised_vertices
from pagestore.inputs.headerwords import named_weights
from pagestore.inputs.records import RecordSource
from pagestore.io import Buffers

DAMAGE = (  # what NumPy and zipfile raise for bytes that they did not write
    OSError, EOFError, ValueError, TypeError, KeyError, RuntimeError, OverflowError, SyntaxError,
    tokenize.TokenError, struct.error, zipfile.BadZipFile, zlib.error, lzma.LZMAError,
)  # fmt: skip
NUMBERS = "iuf"  # kinds of dtypes
MOST_REASON = 200  # characters of what a library says


@contextmanager
def refused_when_damaged(name: str, what: str, remedy: str) -> Iterator[None]:
    """InputError, `NAME: WHAT (reason). REMEDY`, for whatever libraries raise for a damaged file."""
    handled = sys.exc_info()[1]
    try:
        yield
    except (*DAMAGE, SystemError) as error:  # SystemError: Python 3.12's, of a header that it can't cut into words
        if interruption(error, handled) is not None:
            raise
        raise InputError(f"{name}: {what} ({shown(str(error), MOST_REASON)}). {remedy}") from None


class ArrayStream:
    """An array in .npy encoding, read forward in rows from a binary file (a file, or a member of an archive)."""

    def __init__(self, name: str, file: IO[bytes]) -> None:
        self.name, self._file = name, file
        with refused_when_damaged(name, "is not a NumPy array", "Write it with numpy.save."):
            version = np.lib.format.read_magic(file)
            header: Any = (
                np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            )
            self.shape, self.fortran, self.dtype = header(file)
        if self.dtype.hasobject:
            raise InputError(f"{name}: holds Python objects; edges are numbers. Convert the array, e.g. astype(int64).")
        if min(self.shape, default=0) < 0 or math.prod(self.shape) > MAX_ID or not plain_dtype(self.dtype):
            kind = shown(str(self.dtype), MOST_REASON)
            raise InputError(
                f"{name}: is of {kind} and shape {shown(str(self.shape))}, which no array has. Write it again."
            )
        self.columns = math.prod(self.shape[1:])
        self.rows = self.shape[0] if self.shape else 1
        self.read_rows = 0

    def take(self, rows: int) -> np.ndarray:
        """The next `rows` rows, of shape [rows] or [rows, columns]; InputError when the file ends before."""
        size = rows * self.columns * self.dtype.itemsize
        with refused_when_damaged(self.name, "is damaged", "Write the file again."):
            data = self._file.read(size)
        if len(data) != size:
            raise InputError(
                f"{self.name}: ends before row {self.read_rows + rows} of the {self.rows} that its header promises. "
                f"The file was cut: write it again."
            )
        self.read_rows += rows
        array = np.frombuffer(data, dtype=self.dtype)
        return array.reshape(rows, self.columns) if len(self.shape) > 1 else array

    def all(self) -> np.ndarray:
        return self.take(self.rows)

    def close(self) -> None:
        self._file.close()


def plain_dtype(dtype: np.dtype) -> bool:
    """Whether elements, or the fields of one, are single values of some bytes."""
    parts = [dtype] if dtype.fields is None else [dtype[name] for name in dtype.names or ()]
    return dtype.itemsize > 0 and all(part.subdtype is None for part in parts)


def _named_columns(
    name: str, fields: tuple[str, ...], weighted: bool, may_weigh: Callable[[int], bool] = lambda field: True
) -> tuple[str, str, str | None]:
    """Which of `fields` are source, target and weight; weighted: whether weights are asked for."""
    if (ends := named_ends(fields)) is None:
        raise InputError(
            f"{name}: has the fields {', '.join(map(shown, fields))}; edges need 'source' and 'target'. "
            "Rename the fields."
        )
    weights = [fields[at] for at in named_weights(fields, ends, may_weigh)]
    if len(weights) > 1 and weighted:
        raise InputError(
            f"{name}: the fields {', '.join(map(shown, weights))} are called as weights are; one weighs the edges. "
            "Rename the others, or pass --no-weights."
        )
    return fields[ends[0]], fields[ends[1]], weights[0] if weights else None


def _taken(columns: Sequence[str]) -> str:
    """What columns, of source, target and perhaps weight, are taken for."""
    names = [shown(name) for name in columns]
    weight = f"column {names[2]} is the weight" if len(names) > 2 else "no weights"
    return f"columns {names[0]} and {names[1]} are source and target, {weight}"


class NpySource(RecordSource):
    """A .npy file. In Fortran order its columns stand one after the other and are read side by side."""

    def __init__(self, path: str | Path, options: InputOptions, workdir: Path, memory_bytes: int) -> None:
        super().__init__(path, options, memory_bytes)
        self.total_bytes = self._path.stat().st_size
        with open(path, "rb") as file:
            header = ArrayStream(self.name, file)
            self._begin = file.tell()
        if header.rows * header.columns * header.dtype.itemsize > self.total_bytes - self._begin:
            raise InputError(
                f"{self.name}: ends before row {header.rows} of the {header.rows} that its header promises. "
                f"The file was cut: write it again."
            )
        self.edge_count, self._dtype = header.rows, header.dtype
        self._columns, self.record_bytes = header.columns, header.columns * header.dtype.itemsize
        if header.dtype.names:
            if len(header.shape) != 1:
                raise InputError(f"{self.name}: has the shape {header.shape}; an array with fields has one dimension.")
            kinds = [header.dtype[field].kind for field in header.dtype.names]
            self._fields: Any = _named_columns(
                self.name, header.dtype.names, options.weights, lambda field: kinds[field] in NUMBERS
            )
        elif len(header.shape) == 2 and header.shape[1] in (2, 3):
            self._fields = (0, 1, 2 if header.shape[1] == 3 else None)
        else:
            raise InputError(
                f"{self.name}: has the shape {header.shape}; edges are [n, 2], [n, 3] or an array with the fields "
                f"source and target. Reshape it."
            )
        self._fortran = header.fortran and len(header.shape) == 2
        self.weighted = self._fields[2] is not None and options.weights

    def assumed(self) -> str:
        numbered = self._dtype.names is None
        return _taken([str(column + 1) if numbered else column for column in self._fields[: 2 + self.weighted]])

    def _chunk(self, first: int, count: int, buffers: Buffers) -> EdgeChunk:
        wanted = self._fields if self.weighted else self._fields[:2]
        end = f"row {first + count} of the {self.edge_count} that its header promises"
        item = self._dtype.itemsize
        if self._fortran:
            columns = [
                self.read(
                    self._begin + (field * self.edge_count + first) * item, self._dtype, count, end, buffers,
                    f"column {field}",
                )
                for field in wanted
            ]  # fmt: skip
        else:
            at = self._begin + first * self.record_bytes
            rows = self.read(at, self._dtype, count * self._columns, end, buffers, "rows")
            table = rows if self._dtype.names else rows.reshape(count, self._columns)
            columns = [table[field] if self._dtype.names else table[:, field] for field in wanted]
        return self.edges(first, columns[0], columns[1], columns[2] if self.weighted else None, buffers)


class NpzSource(EdgeSource):
    """An .npz archive, compressed or not, replayable: members source, target[, weight] or those of scipy.sparse."""

    def __init__(self, path: str | Path, options: InputOptions, workdir: Path, memory_bytes: int) -> None:
        super().__init__()
        self._path, self._options, self._ids = path, options, option_range(options)
        self.name, self.replayable = str(path), True
        self.total_bytes = Path(path).stat().st_size
        self._done = 0.0
        with (
            refused_when_damaged(self.name, "is no whole .npz archive", "Write it with numpy.savez."),
            zipfile.ZipFile(path) as archive,
        ):
            members = [member[:-4] for member in archive.namelist() if member.endswith(".npy")]
        self._format = ""
        if "format" in members:
            self._begin_sparse(members)
        else:
            self._members = [name for name in self._columns(members, options.weights) if name is not None]
            self.vertices, self.id_base = options.num_vertices, self._ids.low
        self.weighted = len(self._members) > 2 and options.weights

    def _columns(self, members: list[str], weighted: bool) -> tuple[str, str, str | None]:
        """The members source, target and weight. Others that are called as weights are weigh if they hold as many
        numbers as the source."""

        def header(at: int) -> tuple[tuple[int, ...], str]:
            stream = self._member(members[at])
            stream.close()
            return stream.shape, stream.dtype.kind

        def may_weigh(at: int) -> bool:
            shape, kind = header(at)
            ends = named_ends(members)
            return ends is not None and kind in NUMBERS and shape == header(ends[0])[0]

        return _named_columns(self.name, tuple(members), weighted, may_weigh)

    def assumed(self) -> str:
        if self._format:
            return f"rows are sources, columns are targets, {'values are weights' if self.weighted else 'no weights'}"
        return _taken(self._members[: 2 + self.weighted])

    def _begin_sparse(self, members: list[str]) -> None:
        word = self._described("format", 1, "SU")
        encoding = {"S": "utf-8", "<U": "utf-32-le", ">U": "utf-32-be"}[word.dtype.str.strip("|0123456789")]
        self._format = word.tobytes().decode(encoding, "replace").rstrip("\0")
        parts = {"csr": ["indptr", "indices"], "csc": ["indptr", "indices"], "coo": ["row", "col"]}.get(self._format)
        if parts is None:
            raise InputError(
                f"{self.name}: is a scipy.sparse matrix of format {shown(self._format)}; csr, csc and coo are read. "
                f"Save it with scipy.sparse.save_npz(matrix.tocsr())."
            )
        missing = [name for name in (*parts, "shape", "data") if name not in members]
        if missing:
            raise InputError(
                f"{self.name}: is a scipy.sparse matrix of format {self._format} without {' and '.join(missing)}. "
                f"Save it again with scipy.sparse.save_npz(matrix.tocsr())."
            )
        shape = self._described("shape", 2, "iu")
        if not 0 <= int(shape.min()) <= int(shape.max()) <= MAX_ID:
            raise InputError(f"{self.name}:shape: is {shown(str(shape))}; it is two counts. Save the matrix again.")
        rows, columns = (int(n) for n in shape)
        if rows != columns:
            raise InputError(
                f"{self.name}: the matrix has {rows} rows and {columns} columns; the matrix of a graph is square. "
                f"Pad it with empty rows or columns."
            )
        self.vertices = promised_vertices(self.name, rows, self._options)
        self._ids = IdRange(0, rows - 1, f"the matrix has {rows} rows")
        self._members = [*parts, "data"]

    def _member(self, member: str) -> ArrayStream:
        with (
            refused_when_damaged(f"{self.name}:{member}", "is damaged", "Write the file again."),
            zipfile.ZipFile(self._path) as archive,
        ):
            file = archive.open(f"{member}.npy")  # keeps the archive's file open until it is closed itself
        with ExitStack() as undo:
            undo.enter_context(file)
            stream = ArrayStream(f"{self.name}:{member}", file)
            undo.pop_all()
        return stream

    def _described(self, member: str, count: int, kinds: str) -> np.ndarray:
        """A member that holds `count` elements of one of some kinds of dtype."""
        stream = self._member(member)
        try:
            if stream.rows * stream.columns != count or stream.dtype.kind not in kinds:
                found = f"has {stream.rows * stream.columns} elements of {stream.dtype}"
                due = "counts are" if kinds == "iu" else "word is"
                raise InputError(f"{stream.name}: {found}; {count} {due} due. Save the matrix again.")
            return stream.all().reshape(-1)
        finally:
            stream.close()

    def chunks(self) -> Iterator[EdgeChunk]:
        with ExitStack() as opened:
            streams = []
            for member in self._members if self.weighted else self._members[:2]:
                streams.append(self._member(member))
                opened.callback(streams[-1].close)
            first = 0
            for parts in self._pairs(streams) if self._format in ("csr", "csc") else self._plain(streams):
                weight = parts[2] if self.weighted else None
                if self._format == "csc":
                    parts = [parts[1], parts[0]]
                yield checked_chunk(self.name, first, parts[0], parts[1], weight, self._ids)
                first += len(parts[0])

    def _plain(self, streams: list[ArrayStream]) -> Iterator[list[np.ndarray]]:
        rows = streams[0].rows
        for stream in streams:
            if stream.rows != rows or len(stream.shape) != 1:
                raise InputError(
                    f"{stream.name}: has the shape {stream.shape}; source, target and weight have one dimension and "
                    f"one length, here {rows}. Write them so."
                )
        for first in range(0, rows, self._options.chunk_edges):
            self._done = first / rows
            yield [stream.take(min(self._options.chunk_edges, rows - first)) for stream in streams]
        self._done = 1.0

    def _pairs(self, streams: list[ArrayStream]) -> Iterator[list[np.ndarray]]:
        offsets, neighbours = streams[0], streams[1]
        if offsets.dtype.kind not in "iu" or offsets.rows < 1 or any(len(stream.shape) != 1 for stream in streams):
            raise InputError(f"{self.name}: indptr, indices and data are no rows of integers. Save the matrix again.")
        for source, edges in csr_rows(
            self.name, offsets.take, offsets.rows - 1, neighbours.rows, self._options.chunk_edges
        ):
            self._done = (edges.stop / neighbours.rows) if neighbours.rows else 1.0
            yield [source, *(stream.take(len(source)) for stream in streams[1:])]

    def position(self) -> int:
        return int((self.total_bytes or 0) * self._done)
