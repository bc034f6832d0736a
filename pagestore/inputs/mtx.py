"""Matrix Market coordinate files as graphs: entry (i, j) is an edge from i to j, IDs count from 1 (NIST, 1996).

Encoding: banner `%%MatrixMarket matrix coordinate FIELD SYMMETRY`, comments (`%`; `%%GraphBLAS type T` names the type
of the values), a line `rows columns entries`, then one entry a line. `symmetric` is an undirected graph with each edge
once; `skew-symmetric` a directed one, whose entry (i, j, w) also stands for (j, i, -w). Complex, array and hermitian
matrices are no weighted graphs and are refused, and so is whatever contradicts the header. An entry that is repeated is
a duplicate edge, as in any other format.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from pagestore.inputs.badlines import shown
from pagestore.inputs.base import EdgeChunk, InputOptions
from pagestore.inputs.headers import header_error, integers, promised_vertices
from pagestore.inputs.judge import LineRules
from pagestore.inputs.linefile import LineFile
from pagestore.inputs.linesource import read_line
from pagestore.inputs.streams import ByteStream

FIELDS = ("pattern", "integer", "real")
SYMMETRIES = ("general", "symmetric", "skew-symmetric")
INTEGER_TYPES = {
    "bool": (0, 1),
    **{f"int{bits}_t": (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": (0, (1 << bits) - 1) for bits in (8, 16, 32, 64)},
}
FLOAT_TYPES = ("float", "double")
SQUARED = "awk '/^%/{print; next} !n++{r = $1; $1 = $2 = $1 + $2; print; next} {$2 += r; print}'"
SPARSE = (
    "python3 -c 'import scipy.io, scipy.sparse; "
    'scipy.io.mmwrite("sparse.mtx", scipy.sparse.coo_array(scipy.io.mmread("{}")))\''
)


class MatrixMarketSource(LineFile):
    """A .mtx file; `vertices` is its number of rows, `id_base` 1."""

    def __init__(self, path: str | Path | ByteStream, options: InputOptions, workdir: Path, memory_bytes: int) -> None:
        self.id_base = 1
        super().__init__(path, options, workdir, memory_bytes)
        self.vertices = promised_vertices(self.name, self._rows, options)
        self.directed = None if self._symmetry == "general" else self._symmetry != "symmetric"

    def begin(self, stream: ByteStream) -> tuple[LineRules, int]:
        self._check_banner(stream.name, (read_line(stream) or b"").decode("utf-8", "replace"))
        number, size, kind = 1, None, None
        while size is None:
            line = read_line(stream)
            number += 1
            if line is None:
                raise header_error(stream.name, number, "the file ends before its line of rows, columns and entries")
            words = line.decode("utf-8", "replace").split()
            if words[:2] == ["%%GraphBLAS", "type"]:
                kind = self._check_type(stream.name, number, " ".join(words[2:]))
            elif words and not words[0].startswith("%"):
                size = integers(stream.name, number, line, 3, "rows, columns and entries")
        rows, columns, self._entries = size
        if rows != columns:
            raise header_error(
                stream.name,
                number,
                f"the matrix has {rows} rows and {columns} columns; the matrix of a graph is square",
                f"If rows and columns are two sets of vertices, number the columns behind the rows first: {SQUARED} "
                f"{shlex.quote(stream.name)} > square.mtx; convert that with --undirected.",
            )
        self._rows, self._size_line = rows, number
        return self._rules(kind), number + 1

    def _check_banner(self, name: str, line: str) -> None:
        banner = line.lower().split()
        if len(banner) != 5 or banner[0] != "%%matrixmarket":
            raise header_error(
                name,
                1,
                f"{shown(line)!r} is no banner; it is '%%MatrixMarket matrix coordinate FIELD SYMMETRY'",
            )
        _, what, shape, self._field, self._symmetry = banner
        if what != "matrix":
            raise header_error(name, 1, f"{what!r} in the banner is unknown; it is 'matrix'")
        if shape == "array":
            raise header_error(
                name,
                1,
                "'array' is a dense matrix; a graph is a 'coordinate' one",
                f"Convert it first: {SPARSE.format(name)}.",
            )
        if shape != "coordinate":
            raise header_error(name, 1, f"{shape!r} in the banner is unknown; it is 'coordinate'")
        if self._field == "complex":
            raise header_error(name, 1, "'complex' values are no weights; the field is pattern, integer or real")
        if self._field not in FIELDS:
            raise header_error(name, 1, f"field {self._field!r} is unknown; it is pattern, integer or real")
        if self._symmetry == "hermitian":
            raise header_error(
                name, 1, "'hermitian' is for complex matrices; a graph is general, symmetric or skew-symmetric"
            )
        if self._symmetry not in SYMMETRIES:
            raise header_error(name, 1, f"symmetry {self._symmetry!r} is unknown; it is {', '.join(SYMMETRIES)}")
        if (self._field, self._symmetry) == ("pattern", "skew-symmetric"):
            raise header_error(name, 1, "'pattern' can't be 'skew-symmetric': its entries have no sign")

    def _check_type(self, name: str, number: int, kind: str) -> str:
        if kind not in INTEGER_TYPES and kind not in FLOAT_TYPES:
            known = ", ".join((*INTEGER_TYPES, *FLOAT_TYPES))
            raise header_error(name, number, f"GraphBLAS type {kind!r} is no type of weights; it is one of {known}")
        if self._symmetry == "skew-symmetric" and INTEGER_TYPES.get(kind, (-1, 0))[0] == 0:
            raise header_error(name, number, f"{kind} has no negative values, which a skew-symmetric matrix needs")
        return kind

    def _rules(self, kind: str | None) -> LineRules:
        valued = self._field != "pattern"
        weight = 2 if valued and self.options.weights else None
        integer = None
        if kind in INTEGER_TYPES and valued:
            integer = (*INTEGER_TYPES[kind], kind)
        elif self._field == "integer":
            integer = (*INTEGER_TYPES["int64_t"], "integer")
        return LineRules(
            fields=3 if valued else 2,
            weight=weight,
            comments="%",
            low=1,
            high_source=self._rows,
            high_target=self._rows,
            limit=f"the header lets IDs run from 1 to {self._rows}",
            integer_weights=integer if weight is not None else None,
            due="row, column and value" if valued else "row and column",
            loops=self._symmetry != "skew-symmetric",
            loop_reason="entry {0} {0} is on the diagonal, which is zero in a skew-symmetric matrix",
        )

    def turned(self, chunk: EdgeChunk) -> Iterator[EdgeChunk]:
        if self._symmetry == "skew-symmetric":
            yield EdgeChunk(chunk.target, chunk.source, None if chunk.weight is None else -chunk.weight)
        yield chunk

    def finish(self, edges: int) -> None:
        found = edges + self.skipped_here
        if found != self._entries:
            raise header_error(
                self.name,
                self._size_line,
                f"the header promises {self._entries} entries; the file holds {found}",
                "The file was cut or damaged: get it again.",
            )
