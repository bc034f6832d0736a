"""What happens to lines of a text ahead of their parsing: `--where` takes lines out, `--decimal` makes numbers plain.

    block --fields--> columns of the condition --Arrow--> lines that it leaves; the others become blank
          --weights--> 1.234,56 becomes 1234.56, in its place, for the kernels

Lines keep their places and numbers so. The fields of an odd line are found by `judge.split_fields`. What is judged or
told is the line as the file has it, `Block.said`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pagestore.errors import UsageError
from pagestore.inputs.badlines import LineProblem, shown
from pagestore.inputs.blocks import LINE_FEED, Block
from pagestore.inputs.conditions import Condition
from pagestore.inputs.decimals import without_marks
from pagestore.inputs.fieldkernels import blank_lines, fields_of_lines, plain_numbers
from pagestore.inputs.judge import split_fields
from pagestore.inputs.lines import gather_names, shortest_line
from pagestore.inputs.signatures import MISSING, NUMBER
from pagestore.inputs.sniff import TextLayout

if TYPE_CHECKING:
    import pyarrow

PLAIN_NUMBER = NUMBER.pattern.removesuffix(r"\Z").join(("^", "$"))  # for Arrow, whose patterns have
MARKED_NUMBER = {  # no references to groups: `decimals.MARKED` with each mark of thousands by itself
    mark: "^[+-]?([0-9]{1,3}(" + "|".join(f"([{part}][0-9]{{3}})+" for part in (other, "'", " "))
    + rf")([{mark}][0-9]*)?|[0-9]+([{mark}][0-9]*)?|[{mark}][0-9]+)([eE][+-]?[0-9]+)?$"
    for mark, other in ((".", ","), (",", "."))
}  # fmt: skip


@dataclass
class Prepared:
    """A block to parse; `filtered`: lines taken out; `problems`: as in linesource.Parsed."""

    block: Block
    filtered: int
    problems: list[tuple[int, LineProblem, bytes]]


class LineFilter:
    """Prepares the blocks of one text; any thread may call `prepare`."""

    def __init__(self, name: str, layout: TextLayout, where: str | None, decimal: str | None) -> None:
        self._rules, self._decimal = layout.rules, decimal
        self._columns: list[int] = []
        self._names: list[str] = []
        self._numeric: list[bool] = []
        self._times: list[str] = []
        self._expression: Any = None
        self._weight = -1
        if where is not None:
            self._bind(name, layout, Condition(where))
        if decimal is not None and layout.rules.weight is not None:
            self._weight = len(self._columns)
            self._columns.append(layout.rules.weight)

    def _bind(self, name: str, layout: TextLayout, condition: Condition) -> None:
        """Find the condition's columns, and whether they hold numbers, as all of the first lines do, or text."""
        import pyarrow

        header = layout.header or [f"c{number}" for number in range(1, layout.rules.fields + 1)]
        kinds: dict[str, pyarrow.DataType] = {}
        for column, called in enumerate(header):
            values = [row[column] for row in layout.rows if len(row) == len(header)]
            held = [value for value in values if value and value.lower() not in MISSING]
            numeric = bool(held) and all(self._number(value) is not None for value in held)
            kinds.setdefault(called, pyarrow.float64() if numeric else pyarrow.large_string())
        try:
            self._expression = condition.expression(kinds)
        except UsageError as error:
            raise UsageError(f"{name}: {error}") from None
        self._times = condition.times
        for called in condition.columns:
            self._names.append(called)
            self._columns.append(list(header).index(called))
            self._numeric.append(kinds[called] == pyarrow.float64())

    def _number(self, value: str) -> str | None:
        if self._decimal is not None:
            return without_marks(value, self._decimal)
        return value if NUMBER.match(value) else None

    def prepare(self, block: Block) -> Prepared:
        """Lines that the condition leaves out made blank, and weights plain."""
        most = block.size // shortest_line(self._rules.fields) + block.size // 2 + 1
        lines = np.empty((min(most, int((block.data[: block.size] == LINE_FEED).sum())), 2), np.uint64)
        bounds = np.zeros((len(self._columns), len(lines), 2), np.uint64)
        columns = np.array(self._columns, np.int64)
        count = fields_of_lines(block.data, np.uint64(block.size), self._rules.array(), columns, bounds, lines)
        lines, bounds = lines[:count], bounds[:, :count]
        problems: dict[int, LineProblem] = {}
        kept = np.ones(count, bool)
        if self._expression is not None:
            kept = self._holds(block, lines, bounds, problems)
        told = [self._told(block, int(lines[at, 0]), problem) for at, problem in sorted(problems.items())]
        gone = ~kept
        gone[list(problems)] = True
        if self._weight >= 0:
            block = replace(block, data=block.data.copy(), said=block.data)
            plain_numbers(block.data, bounds[self._weight], lines, ord(self._decimal or "."))
        blank_lines(block.data, np.ascontiguousarray(lines[gone, 0]))
        return Prepared(block, int((~kept).sum()) - sum(not kept[at] for at in problems), told)

    def _told(self, block: Block, begin: int, problem: LineProblem) -> tuple[int, LineProblem, bytes]:
        end = begin + block.data[begin:].tobytes().index(b"\n")
        line, before = block.told(begin, block.data[begin:end].tobytes())
        number = int((block.data[:begin] == LINE_FEED).sum())
        return number + before, problem, line

    def _holds(
        self, block: Block, lines: np.ndarray, bounds: np.ndarray, problems: dict[int, LineProblem]
    ) -> np.ndarray:  # fmt: skip
        """bool[n]: lines for which the condition is true; lines that can't be cut into fields stay, for `judge`."""
        import pyarrow

        plain = lines[:, 1] == 1
        data = block.whole()
        columns = []
        for place in range(len(self._names)):
            first, last = (np.ascontiguousarray(bounds[place, :, end]) for end in (0, 1))
            last = np.where(plain, last, first)
            offsets, text = gather_names(data, first, last)
            buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(text)]
            columns.append(pyarrow.Array.from_buffers(pyarrow.large_string(), len(first), buffers))
        odd = np.flatnonzero(~plain)
        uncut = np.zeros(len(lines), bool)
        if len(odd):
            columns = self._with_odd(block, lines, odd, columns, uncut)
        found = {}
        for name, column, place in zip(self._names, columns, range(len(columns)), strict=True):
            found[name] = self._typed(lines, bounds[place], column, self._numeric[place], problems)
            if name in self._times:
                found[name] = self._timed(lines, bounds[place], found[name], problems)
        if not found:
            found["c"] = pyarrow.nulls(len(lines))
        table = pyarrow.table({**found, " row": np.arange(len(lines))}).filter(self._expression)
        kept = np.zeros(len(lines), bool)
        kept[table[" row"].to_numpy()] = True
        return kept | uncut

    def _with_odd(
        self, block: Block, lines: np.ndarray, odd: np.ndarray, columns: list[pyarrow.Array], uncut: np.ndarray
    ) -> list[pyarrow.Array]:
        """`columns` with the fields of lines that are not plain; uncut: becomes True for those that can't be cut."""
        import pyarrow

        values: list[list[str]] = [[] for _ in columns]
        for at in odd.tolist():
            begin = int(lines[at, 0])
            line = block.data[begin : begin + block.data[begin:].tobytes().index(b"\n")].tobytes()
            line, _ = block.told(begin, line)
            fields = self._cut(line)
            uncut[at] = fields is None
            for place, column in enumerate(self._columns[: len(columns)]):
                values[place].append(fields[column] if fields is not None else "")
        mask = np.zeros(len(lines), bool)
        mask[odd] = True
        return [
            pyarrow.compute.replace_with_mask(column, pyarrow.array(mask), pyarrow.array(texts, pyarrow.large_string()))
            for column, texts in zip(columns, values, strict=True)
        ]

    def _cut(self, line: bytes) -> Sequence[str] | None:
        try:
            fields = split_fields(line.rstrip(b"\r"), self._rules.separator)
            texts = [value.decode() for _, value in fields]
        except (LineProblem, UnicodeDecodeError):
            return None
        return texts if len(texts) == self._rules.fields else None

    def _typed(
        self, lines: np.ndarray, bounds: np.ndarray, column: pyarrow.Array, numeric: bool,
        problems: dict[int, LineProblem],
    ) -> pyarrow.Array:  # fmt: skip
        """A column of text as numbers, or as it is; nothing and words such as NA are null."""
        import pyarrow
        from pyarrow import compute

        column = compute.if_else(compute.equal(column, ""), pyarrow.scalar(None, column.type), column)
        if not numeric:
            return column
        missing = compute.is_in(compute.utf8_lower(column), pyarrow.array(MISSING, column.type))
        column = compute.if_else(missing, pyarrow.scalar(None, column.type), column)
        pattern = MARKED_NUMBER[self._decimal] if self._decimal is not None else PLAIN_NUMBER
        numbers = self._without_marks(column) if self._decimal is not None else column
        if self._decimal is None or compute.all(compute.match_substring_regex(column, pattern)).as_py() is not False:
            with suppress(pyarrow.ArrowException):
                return compute.utf8_ltrim(numbers, characters="+").cast(pyarrow.float64())
        wrong = ~compute.match_substring_regex(column, pattern).fill_null(True).to_numpy(zero_copy_only=False)
        for at in np.flatnonzero(wrong).tolist():
            why = f"{shown(column[at].as_py())} is no number, as --where compares it with"
            problems.setdefault(at, self._problem(lines, bounds, at, why))
        numbers = compute.if_else(pyarrow.array(wrong), pyarrow.scalar(None, column.type), numbers)
        return pyarrow.array([None if text is None else float(text) for text in numbers.to_pylist()], pyarrow.float64())

    def _without_marks(self, column: pyarrow.Array) -> pyarrow.Array:
        from pyarrow import compute

        other = "." if self._decimal == "," else ","
        column = compute.replace_substring_regex(column, pattern=f"[{other}' ]", replacement="")
        return compute.replace_substring(column, pattern=self._decimal, replacement=".")

    def _timed(
        self, lines: np.ndarray, bounds: np.ndarray, column: pyarrow.Array, problems: dict[int, LineProblem]
    ) -> pyarrow.Array:  # fmt: skip
        """A column of text that is read as dates: the lines of values that are none are problems."""
        from pagestore.inputs.times import no_times, why_no_time, without

        wrong = no_times(column)
        if wrong is None:
            return column
        for at in np.flatnonzero(wrong).tolist():
            problems.setdefault(at, self._problem(lines, bounds, at, why_no_time(column[at].as_py())))
        return without(column, wrong)

    def _problem(self, lines: np.ndarray, bounds: np.ndarray, at: int, why: str) -> LineProblem:
        """A problem with the field `bounds` uint64[n, 2] of line `at`; column 1 where its place is not known."""
        column = int(bounds[at, 0] - lines[at, 0]) + 1 if lines[at, 1] else 1
        return LineProblem(column, why)
