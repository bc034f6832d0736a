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

from pagestore.inputs.badlines import quoted
from pagestore.inputs.base import EdgeChunk
from pagestore.inputs.headers import REMEDY, Head, HeadReader, numbered_to
from pagestore.inputs.judge import LineRules
from pagestore.inputs.linefile import LineFile
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

    def begin(self, stream: ByteStream) -> Head:
        head = HeadReader(stream)
        self._read_banner(head)
        size, kind = None, None
        while size is None:
            line = head.next("its line of rows, columns and entries")
            words = line.decode("utf-8", "replace").split()
            if words[:2] == ["%%GraphBLAS", "type"]:
                kind = self._check_type(head, " ".join(words[2:]))
            elif words and not words[0].startswith("%"):
                size = head.integers(line, 3, "rows, columns and entries")
        rows, columns, entries = size
        if rows != columns:
            raise head.error(
                f"the matrix has {rows} rows and {columns} columns; the matrix of a graph is square",
                f"If rows and columns are two sets of vertices, number the columns behind the rows first: {SQUARED} "
                f"{shlex.quote(stream.name)} > square.mtx; convert that with --undirected.",
            )
        return Head(self._rules(kind, rows), head.number + 1, rows, entries, "entries", head.number)

    def _read_banner(self, head: HeadReader) -> None:
        line = (head.stream.read_line() or b"").decode("utf-8", "replace")
        head.number, banner = 1, line.lower().split()
        if len(banner) != 5 or banner[0] != "%%matrixmarket":
            raise head.error(f"{quoted(line)} is no banner; it is '%%MatrixMarket matrix coordinate FIELD SYMMETRY'")
        _, what, shape, field, symmetry = banner
        wrong = {
            f"{what!r} in the banner is unknown; it is 'matrix'": what != "matrix",
            "'array' is a dense matrix; a graph is a 'coordinate' one": shape == "array",
            f"{shape!r} in the banner is unknown; it is 'coordinate'": shape != "coordinate",
            "'complex' values are no weights; the field is pattern, integer or real": field == "complex",
            f"field {field!r} is unknown; it is pattern, integer or real": field not in FIELDS,
            "'hermitian' is for complex matrices; a graph is general, symmetric or skew-symmetric":
                symmetry == "hermitian",
            f"symmetry {symmetry!r} is unknown; it is {', '.join(SYMMETRIES)}": symmetry not in SYMMETRIES,
            "'pattern' can't be 'skew-symmetric': its entries have no sign":
                (field, symmetry) == ("pattern", "skew-symmetric"),
        }  # fmt: skip
        for reason, holds in wrong.items():
            if holds:
                dense = f"Convert it first: {SPARSE.format(head.stream.name)}."
                raise head.error(reason, dense if what == "matrix" and shape == "array" else REMEDY)
        self._field, self._symmetry = field, symmetry
        if self.options.directed is None and symmetry != "general":
            self.directed = symmetry != "symmetric"

    def _check_type(self, head: HeadReader, kind: str) -> str:
        if kind not in INTEGER_TYPES and kind not in FLOAT_TYPES:
            known = ", ".join((*INTEGER_TYPES, *FLOAT_TYPES))
            raise head.error(f"GraphBLAS type {kind!r} is no type of weights; it is one of {known}")
        if self._symmetry == "skew-symmetric" and INTEGER_TYPES.get(kind, (-1, 0))[0] == 0:
            raise head.error(f"{kind} has no negative values, which a skew-symmetric matrix needs")
        return kind

    def _rules(self, kind: str | None, rows: int) -> LineRules:
        valued = self._field != "pattern"
        weight = 2 if valued and self.options.weights else None
        integer = None
        if kind in INTEGER_TYPES and valued:
            integer = (*INTEGER_TYPES[kind], kind)
        elif self._field == "integer":
            integer = (*INTEGER_TYPES["int64_t"], "integer")
        return LineRules(
            fields=3 if valued else 2, weight=weight, comments="%",
            integer_weights=integer if weight is not None else None,
            due="row, column and value" if valued else "row and column", loops=self._symmetry != "skew-symmetric",
            loop_reason="entry {0} {0} is on the diagonal, which is zero in a skew-symmetric matrix",
            **numbered_to(rows),
        )  # fmt: skip

    def turned(self, chunk: EdgeChunk) -> Iterator[EdgeChunk]:
        if self._symmetry == "skew-symmetric":
            yield EdgeChunk(chunk.target, chunk.source, None if chunk.weight is None else -chunk.weight)
        yield chunk
