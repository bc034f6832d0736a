"""Tables in files or on standard output, of exports, edge lists and results: delimited text, or Parquet.

    name                     rows
    NAME.parquet             Parquet, compressed by zstd
    NAME.csv                 commas and a header; names in quotes where they need them
    NAME.txt, NAME.tsv       tabs
    NAME.el, NAME.wel        blanks: edges alone, without and with a number
    -                        standard output

Texts in files may end in .gz or .zst, too. Names are in quotes where text would be read as something else.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pagestore.errors import UsageError

if TYPE_CHECKING:
    import pyarrow

STDOUT = "-"
ENDINGS = {".txt": "text", ".tsv": "text", ".el": "el", ".wel": "wel", ".csv": "csv"}
COMPRESSION = {".gz": "gzip", ".zst": "zstd"}
DELIMITERS = {"csv": ",", "text": "\t", "el": " ", "wel": " "}
QUOTED = {  # names that a reader of text would take for something else, by separator: beginnings of comments, parts
    "\t": r"^[#% ]| $|[\"\t\n\r]",
    " ": r"^[#%]|[\" \t\n\r,;|]",
}


def parted_name(name: str) -> tuple[str, str | None]:
    """(the ending that says the format, the compression) of a file's name: (".csv", "gzip") of edges.csv.gz."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    compression = COMPRESSION.get(suffixes.pop()) if suffixes and suffixes[-1] in COMPRESSION else None
    return "".join(suffixes[-1:]), compression


class RowText:
    """One open text; leaving the `with` closes it, but not standard output, which belongs to the process."""

    def __init__(self, path: str, kind: str, compression: str | None, schema: pyarrow.Schema) -> None:
        import pyarrow as pa
        import pyarrow.csv

        self._stdout, self._separator = path == STDOUT, DELIMITERS[kind]
        self._names = [at for at, field in enumerate(schema) if _is_text(field.type)] if kind != "csv" else []
        plainly: Any = pa.PythonFile(_stdout_bytes(), "w") if self._stdout else pa.OSFile(path, "wb")
        self._file = pa.CompressedOutputStream(plainly, compression) if compression else plainly
        if kind == "csv":  # pyarrow would put the names in quotes
            self._file.write((",".join(schema.names) + "\n").encode())
        self._options = pyarrow.csv.WriteOptions(
            include_header=False,
            delimiter=self._separator,
            quoting_style="needed" if kind == "csv" else "none",
        )

    def made(self, batch: pyarrow.RecordBatch) -> Any:
        """Rows as lines; any thread may ask."""
        import pyarrow as pa
        import pyarrow.csv

        given = batch.columns
        columns = list(given)
        for at in self._names:
            columns[at] = _in_quotes(columns[at], QUOTED[self._separator])
        if any(columns[at] is not given[at] for at in self._names):
            return _joined(columns, self._separator)  # pyarrow would put all names in quotes, or none
        lines = pa.BufferOutputStream()
        pyarrow.csv.write_csv(batch, lines, self._options)
        return lines.getvalue()

    def put(self, lines: Any) -> None:
        """Append lines that `made` gave."""
        self._file.write(lines)

    def write(self, batch: pyarrow.RecordBatch) -> None:
        """Append rows."""
        self.put(self.made(batch))

    def __enter__(self) -> RowText:
        return self

    def __exit__(self, *error: object) -> None:
        if self._stdout:
            self._file.flush()
        elif not self._file.closed:
            self._file.close()


class RowParquet:
    """One open Parquet file, used as RowText."""

    def __init__(self, path: str, schema: pyarrow.Schema) -> None:
        import pyarrow.parquet

        self._writer = pyarrow.parquet.ParquetWriter(path, schema, compression="zstd")

    def made(self, batch: pyarrow.RecordBatch) -> Any:
        """The rows: only `put` compresses them."""
        return batch

    def put(self, batch: pyarrow.RecordBatch) -> None:
        """Append rows."""
        self._writer.write_batch(batch)

    def __enter__(self) -> RowParquet:
        return self

    def __exit__(self, *error: object) -> None:
        self._writer.close()


def row_file(path: str, kind: str, compression: str | None, schema: pyarrow.Schema) -> RowText | RowParquet:
    """A file of rows, open for writing. kind: "parquet", or a text of DELIMITERS."""
    return RowParquet(path, schema) if kind == "parquet" else RowText(path, kind, compression, schema)


def _stdout_bytes() -> Any:
    if not hasattr(sys.stdout, "buffer"):
        raise UsageError(f"{STDOUT}: standard output takes no bytes here. Name a file.")
    sys.stdout.flush()
    return sys.stdout.buffer


def _is_text(kind: pyarrow.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _in_quotes(names: Any, pattern: str) -> Any:
    """Names of which those that match `pattern` are in quotes, `""` for a quote; the array itself where none is."""
    import pyarrow as pa
    import pyarrow.compute as compute

    odd = compute.match_substring_regex(names, pattern)
    if not compute.any(odd).as_py():
        return names
    doubled = compute.replace_substring(names.cast(pa.large_string()), '"', '""')
    mark, nothing = (pa.scalar(text, pa.large_string()) for text in ('"', ""))
    quoted = compute.binary_join_element_wise(mark, doubled, mark, nothing)
    return compute.if_else(odd, quoted, names.cast(pa.large_string()))


def _joined(columns: list[Any], separator: str) -> Any:
    """Bytes of lines; nothing stands for null."""
    import pyarrow as pa
    import pyarrow.compute as compute

    texts = [column.cast(pa.large_string()) for column in columns]
    between, nothing, end = (pa.scalar(text, pa.large_string()) for text in (separator, "", "\n"))
    lines = compute.binary_join_element_wise(*texts, between, null_handling="replace", null_replacement="")
    return compute.binary_join_element_wise(lines, nothing, end).buffers()[2]
