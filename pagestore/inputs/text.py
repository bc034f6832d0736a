"""Edge lists as text: SNAP, CSV, TSV, GAP's .el and .wel, and whatever else has a source and a target a line.

The layout (separator, header, columns, numbers or names) is found by `sniff.sniff` from the first lines and holds for
all: a line that breaks it is a bad line. `#` and `%` begin comments, unless --comments says otherwise; a numeric third
column is the weight.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from pagestore.errors import InputError, UsageError
from pagestore.inputs.badlines import shown
from pagestore.inputs.base import InputOptions
from pagestore.inputs.blocks import Block
from pagestore.inputs.columnnames import named_ends, share_of_numbers
from pagestore.inputs.columns import option_range
from pagestore.inputs.headers import Head
from pagestore.inputs.hidden import take_separator
from pagestore.inputs.idspelling import zeros_ahead
from pagestore.inputs.linefile import LineFile
from pagestore.inputs.linesource import Parsed
from pagestore.inputs.said import WORDS, Direction
from pagestore.inputs.sniff import SAMPLE_BYTES, TextLayout, sniff
from pagestore.inputs.streams import ByteStream
from pagestore.inputs.usedcolumns import left_out

SEPARATOR_WORDS = {"": "blanks", "\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}
GAP_FIELDS = {"el": 2, "wel": 3}


class TextSource(LineFile):
    """A text edge list. `strings` is True when its IDs are names: then read `names_of_edges`, not `chunks`.

    `kind` is text, csv, tsv, el or wel; .tsv forces the tab, GAP's formats the number of columns.
    """

    def __init__(
        self, path: str | Path | ByteStream, options: InputOptions, workdir: Path, memory_bytes: int, kind: str = "text"
    ) -> None:
        self._kind = kind
        self.layout: TextLayout | None = None
        self._separator: str | None = None  # that line 1 says for Excel
        self.zeros = ""  # an ID that is written with zeros ahead
        self.width: int | None = None  # of such IDs, where another file of the graph says so
        self._filter: Any = None
        super().__init__(path, options, workdir, memory_bytes)
        self.strings = self.rules.strings
        if self.strings and options.string_ids is False:
            raise UsageError(f"{self.name}: --number-ids is about numbers, but the IDs here are text. Drop the option.")
        assert self.layout is not None  # of `begin`
        self.directed = self.layout.direction.directed
        self.promised = self.layout.promise
        if (options.where, options.decimal) != (None, None) and not self.layout.empty:
            from pagestore.inputs.linefilter import LineFilter

            self._filter = LineFilter(self.name, self.layout, options.where, options.decimal)
        if options.num_vertices is not None:
            if self.strings:
                raise UsageError(
                    f"{self.name}: --num-vertices is about numbers, but the IDs here are text. Drop the option."
                )
            self.vertices, self.id_base = options.num_vertices, options.id_base or 0

    @property
    def all_columns(self) -> list[str] | None:
        """Names of all columns; None where no line 1 names them."""
        layout = self.layout
        return list(layout.header) if layout is not None and layout.skip_lines and layout.header else None

    @property
    def columns(self) -> list[str]:
        """Names of the columns of source, target and perhaps weight; their numbers, from 1, where they have none."""
        used = [column for column in (self.rules.source, self.rules.target, self.rules.weight) if column is not None]
        names = self.all_columns
        return [names[column] if names is not None else str(column + 1) for column in used]

    def take_width(self, width: int) -> None:
        """IDs with zeros ahead have so many digits in all files of the graph; 0: none has zeros ahead."""
        self.width = width
        if self.rules.width >= 0:
            self.rules = replace(self.rules, width=width)

    def parse(self, block: Block) -> Parsed:
        """See LineFile."""
        if self._filter is None:
            return super().parse(block)
        ready = self._filter.prepare(block)
        parsed = super().parse(ready.block)
        parsed.filtered = ready.filtered
        parsed.problems = sorted([*parsed.problems, *ready.problems], key=lambda problem: problem[0])
        return parsed

    def assumed(self) -> str:
        rules, options = self.rules, self.options
        header = self.layout is not None and self.layout.skip_lines
        if self.layout is not None and self.layout.empty:
            return f"line {header} is a header, no line of data" if header else "no line of data"
        between = SEPARATOR_WORDS.get(rules.separator or "", repr(rules.separator))
        between += " as line 1 says" if self._separator else ""
        source, target = self._called(rules.source), self._called(rules.target)
        found = [f"columns {source} and {target}, between {between}, are source and target"]
        if rules.strings and not options.string_ids:
            found[0] += " by name"
        found.append("no weights" if rules.weight is None else f"column {self._called(rules.weight)} is the weight")
        if rules.weight is None and options.decimal is not None and options.where is None:
            found[-1] += f" (--decimal {options.decimal} changes nothing"
            found[-1] += "; --weight-column names their column)" if options.weights else ")"
        if rules.weight is None and options.weights and (third := self._left_out()):
            found[-1] += f" (column 3 ({third}) is none unless --weight-column says so)"
        if options.where is not None:
            found.append(f"lines where {shown(options.where, 80)}")
        if options.header is None:
            edge = ": line 1 is an edge" if rules.strings and not rules.separator else ""
            found.append(f"line {header} is a header" if header else f"no header line{edge}")
        direction = self.layout.direction if self.layout is not None else Direction()
        if direction.directed is not None and options.directed in (None, direction.directed):
            found.append(f"{WORDS[direction.directed]} {direction.said_by}")
        elif direction.directed is not None:
            found.append(f"{WORDS[not direction.directed]} as the option says, not {direction.said_by}")
        return ", ".join(found)

    def _left_out(self) -> str:
        """The name of a third column that would be the weight if it were not called so; "" where there is none."""
        layout, used = self.layout, (self.rules.source, self.rules.target)
        if layout is None or not layout.header or not left_out(layout.header, used, bool(layout.skip_lines)):
            return ""
        return shown(layout.header[2]) if share_of_numbers(layout.rows, 2) > 0.5 else ""

    def _called(self, column: int) -> str:
        """A column by its number, from 1, and its name in the header."""
        layout = self.layout
        names = () if layout is None or layout.header is None else layout.header
        if layout is not None and not layout.skip_lines and named_ends(names) is None:
            names = ()  # a comment of as many words
        return f"{column + 1} ({shown(names[column])})" if names and names[column] else str(column + 1)

    def doubt(self) -> str:
        assert self.layout is not None  # of `begin`
        line = self.layout.doubtful_line
        doubt = f"line {line} may be a header; pass --header if it is" if line else self.layout.doubt
        if self.options.directed is not None and doubt == self.layout.direction.doubt:
            doubt = ""
        if self.zeros and self.options.string_ids is None:
            number = int(self.zeros)
            zeros = f"ID {self.zeros} is read as {number}; pass --string-ids if zeros ahead are part of IDs"
            doubt = f"{doubt}; {zeros}" if doubt else zeros
        return doubt

    def begin(self, stream: ByteStream) -> Head:
        self._separator = take_separator(stream)
        taken = int(self._separator is not None)
        options = replace(self.options, third_weighs=self.options.third_weighs or self._kind == "wel")
        layout = sniff(stream, options, self._separator or ("\t" if self._kind == "tsv" else None), taken)
        due = GAP_FIELDS.get(self._kind, layout.rules.fields)
        if layout.rules.fields != due:
            raise InputError(
                f"{stream.name}:1:1: a .{self._kind} file has {due} columns; this one has {layout.rules.fields}. "
                f"Read it with --format text."
            )
        if self._kind == "wel" and self.options.weights and layout.rules.weight is None and not layout.empty:
            raise InputError(
                f"{stream.name}: a .wel file has a number in column 3, the weight; most lines of this one have none. "
                f"Pass --no-weights, or read it with --format text."
            )
        if not (rules := layout.rules).strings:
            self.zeros = zeros_ahead(stream.peek(SAMPLE_BYTES), rules.separator, (rules.source, rules.target))
        if layout.skip_bytes:
            stream.peek(layout.skip_bytes)
            stream.read(layout.skip_bytes)
        self.layout, self.comments_above = layout, layout.skip_comments
        ids = option_range(self.options)
        width = len(self.zeros) if self.width is None else self.width
        rules = replace(rules, low=ids.low, high_source=ids.high, high_target=ids.high, limit=ids.limit,
                        width=width if self.options.string_ids is None else -1)  # fmt: skip
        return Head(rules, max(layout.skip_lines, taken) + 1)
