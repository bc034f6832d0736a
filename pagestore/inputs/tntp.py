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

from pagestore.errors import UsageError
from pagestore.inputs.badlines import quoted
from pagestore.inputs.headers import Head, HeadReader, numbered_to
from pagestore.inputs.judge import LineRules
from pagestore.inputs.linefile import LineFile
from pagestore.inputs.streams import ByteStream

COLUMNS = (
    "init_node", "term_node", "capacity", "length", "free_flow_time", "b", "power", "speed", "toll", "link_type",
)  # fmt: skip
COUNTS = ("NUMBER OF NODES", "NUMBER OF LINKS")
END_MARK = ";"  # a field of its own at the end of each line
NO_NETWORK = "Is this a TNTP network (NAME_net.tntp)? Other edge lists are read with --format text."


class TntpSource(LineFile):
    """A _net.tntp file; `vertices` as its header says, `id_base` 1."""

    def begin(self, stream: ByteStream) -> Head:
        head, tag = HeadReader(stream), ""
        found: dict[str, tuple[int, int]] = {}  # tag: its number, its line
        while tag != "END OF METADATA":
            line = head.next("<END OF METADATA>", NO_NETWORK)
            text = line.decode("utf-8", "replace").strip()
            if not text or text.startswith("~"):
                continue
            tag, bracket, value = text.removeprefix("<").partition(">")
            if not text.startswith("<") or not bracket:
                raise head.error(f"{quoted(line)} is no line of the header, as <NUMBER OF NODES> 24", NO_NETWORK)
            tag = tag.strip().upper()
            if tag in COUNTS:
                found[tag] = head.integers(value.encode(), 1, tag.lower())[0], head.number
        for tag in COUNTS:
            if tag not in found:
                raise head.error(f"the header lacks <{tag}>", NO_NETWORK)
        (vertices, _), (links, at) = (found[tag] for tag in COUNTS)
        rules = LineRules(
            fields=len(COLUMNS) + 1, weight=self._weight() if self.options.weights else None, comments="~",
            due=f"{', '.join(COLUMNS)} and {END_MARK}", **numbered_to(vertices),
        )  # fmt: skip
        return Head(rules, head.number + 1, vertices, links, "links", at)

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
