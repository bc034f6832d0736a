"""Road networks of the Transportation Networks collection (TNTP): a header in angle brackets, then a link a line.

    <NUMBER OF NODES> 24
    <NUMBER OF LINKS> 76
    <END OF METADATA>
    ~  init_node  term_node  capacity  length  free_flow_time  b  power  speed  toll  link_type  ;
       1          2          25900.2   6       6               0.15  4  0     0     1          ;

IDs count from 1, `~` begins a comment. The weight is the length, or the column that --weight-column names; columns are
those of COLUMNS, whatever the comment calls them. https://github.com/bstabler/TransportationNetworks
"""

from __future__ import annotations

from pathlib import Path

from pagestore.errors import UsageError
from pagestore.inputs.badlines import shown
from pagestore.inputs.base import InputOptions
from pagestore.inputs.headers import header_error, integers, promised_vertices
from pagestore.inputs.judge import LineRules
from pagestore.inputs.linefile import LineFile
from pagestore.inputs.linesource import read_line
from pagestore.inputs.streams import ByteStream

COLUMNS = (
    "init_node", "term_node", "capacity", "length", "free_flow_time", "b", "power", "speed", "toll", "link_type",
)  # fmt: skip
END_MARK = ";"  # a field of its own at the end of each line
NO_NETWORK = "Is this a TNTP network (NAME_net.tntp)? Other edge lists are read with --format text."


class TntpSource(LineFile):
    """A _net.tntp file; `vertices` as its header says, `id_base` 1."""

    def __init__(self, path: str | Path | ByteStream, options: InputOptions, workdir: Path, memory_bytes: int) -> None:
        self.id_base = 1
        super().__init__(path, options, workdir, memory_bytes)
        self.vertices = promised_vertices(self.name, self._count, options)

    def begin(self, stream: ByteStream) -> tuple[LineRules, int]:
        found: dict[str, tuple[int, int]] = {}  # tag: its number, its line
        number, tag = 0, ""
        while tag != "END OF METADATA":
            line = read_line(stream)
            number += 1
            if line is None:
                raise header_error(stream.name, number, "the file ends before <END OF METADATA>", NO_NETWORK)
            text = line.decode("utf-8", "replace").strip()
            if not text or text.startswith("~"):
                continue
            tag, bracket, value = text.removeprefix("<").partition(">")
            if not text.startswith("<") or not bracket:
                raise header_error(
                    stream.name,
                    number,
                    f"{shown(line)!r} is no line of the header, as <NUMBER OF NODES> 24",
                    NO_NETWORK,
                )
            tag = tag.strip().upper()
            if tag in ("NUMBER OF NODES", "NUMBER OF LINKS"):
                found[tag] = integers(stream.name, number, value.encode(), 1, tag.lower())[0], number
        for tag in ("NUMBER OF NODES", "NUMBER OF LINKS"):
            if tag not in found:
                raise header_error(stream.name, number, f"the header lacks <{tag}>", NO_NETWORK)
        self._count = found["NUMBER OF NODES"][0]
        self._links, self._line = found["NUMBER OF LINKS"]
        rules = LineRules(
            fields=len(COLUMNS) + 1,
            weight=self._weight() if self.options.weights else None,
            comments="~",
            low=1,
            high_source=self._count,
            high_target=self._count,
            limit=f"the header lets IDs run from 1 to {self._count}",
            due=f"{', '.join(COLUMNS)} and {END_MARK}",
        )
        return rules, number + 1

    def _weight(self) -> int:
        asked = self.options.weight_column
        if asked is None:
            return COLUMNS.index("length")
        column = asked - 1 if isinstance(asked, int) else COLUMNS.index(asked) if asked in COLUMNS else -1
        if not 2 <= column < len(COLUMNS):
            raise UsageError(
                f"{self.name}: --weight-column {asked}: no such column of weights; there are {', '.join(COLUMNS[2:])}, "
                f"3 to {len(COLUMNS)}. Name one of them."
            )
        return column

    def finish(self, edges: int) -> None:
        found = edges + self.skipped_here
        if found != self._links:
            raise header_error(
                self.name,
                self._line,
                f"the header promises {self._links} links; the file holds {found}",
                "The file was cut or damaged: get it again.",
            )
