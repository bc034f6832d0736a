"""`--where "amount > 100 and kind in ('A', 'B')"`: which rows of a table are edges, as a pyarrow expression.

Python's own parser (`ast`) reads the text; a few of its nodes become pyarrow expressions, all others are refused at
their character. Nothing is evaluated by Python.

    comparison    == != < <= > >=, chains of them     membership    in (1, 2), not in (...)
    logic         and, or, not                        null          is null, is not null
    arithmetic    + - * /, signs                      values        numbers, 'text', date('2024-01-31'), true, false

A column is its name, in backticks where that is no word of Python: `from account`. A comparison with null is neither
true nor false, as in SQL: its row is left out, by `not` as well.
"""

from __future__ import annotations

import ast
import datetime
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pagestore.errors import UsageError
from pagestore.inputs.badlines import quoted, shown
from pagestore.nearnames import meant_by

if TYPE_CHECKING:
    import pyarrow

MOST_CHARACTERS = 4096
NUMBER, TEXT, TIME, TRUTH, NULL = "a number", "text", "a time", "true or false", "null"
NOTHING = "nothing"  # a column without any value
UTC_MARK = {"pattern": "([0-9])Z$", "replacement": r"\1"}  # behind a time; times without a zone are of UTC, too
QUOTED = re.compile(r"`[^`]+`")
LITERAL = re.compile(r"'[^']*'|\"[^\"]*\"|(`[^`]+`)")
WORDS = {"true": True, "false": False, "null": None, "none": None}
KNOWN = "known are == != < <= > >=, in, is null, and, or, not, + - * /, numbers, 'text', date('2024-01-31'), columns"
SLIPS = ((r"(?<![=<>!])=(?!=)", "write == to compare"), (r"\b(AND|OR|NOT|IN|IS)\b", "write it in small letters"),
         (r"<>", "write != instead"), (r"&&", "write and"), (r"\|\|", "write or"))  # fmt: skip


class Value(NamedTuple):
    """Part of a condition: a pyarrow expression, what kind of value it has, and the text of a literal."""

    expression: Any
    kind: str
    literal: Any = None


class Condition:
    """A condition that was parsed: `columns` are the names that it asks for, in their order.

    times: names of columns of text that `expression` reads as dates; it must get null for values that are none.
    """

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise UsageError(f"--where {text!r}: must be text, as 'amount > 100'.")
        self.text = text
        if len(text) > MOST_CHARACTERS:
            raise UsageError(f"--where: has {len(text)} characters; at most {MOST_CHARACTERS} are read.")
        self._quoted: dict[int, str] = {}
        self.times: list[str] = []
        try:
            self._tree = ast.parse(self._without_backticks(), mode="eval").body
            self.columns = self._names()
        except SyntaxError as error:
            raise self._slip(error) from None
        except (ValueError, RecursionError, MemoryError):
            raise self.refusal(0, "is nested too deep, or holds a NUL byte; write it shorter") from None

    def expression(self, kinds: Mapping[str, pyarrow.DataType]) -> Any:
        """The pyarrow.compute.Expression over columns of these types. UsageError names the character that fails."""
        self.times = []
        try:
            found = _Binder(self, kinds).value(self._tree)
        except RecursionError:
            raise self.refusal(0, "is nested too deep; write it shorter") from None
        if found.kind != TRUTH:
            raise self.refusal(0, f"is {found.kind}, no condition; compare it with something")
        return found.expression

    def may_prune(self, kinds: Mapping[str, pyarrow.DataType]) -> bool:
        """Whether the least and greatest value of each column may tell that no row of a part is left.

        NaN is neither, and holds where a comparison is denied: such conditions on floating point look at every row.
        """
        if self.times:  # a text's order is not that of the dates in it
            return False
        denied = any(isinstance(node, ast.Not | ast.NotEq | ast.NotIn) for node in ast.walk(self._tree))
        return not denied or not any(
            "float" in str(kinds[name]) or "double" in str(kinds[name]) for name in self.columns
        )

    def refusal(self, at: int, why: str) -> UsageError:
        """The error for what begins at character `at`, from 0."""
        said = f" ({quoted(self.text[at:], 20)})" if at < len(self.text) else ""
        return UsageError(f"--where {quoted(self.text, 80)}: at character {at + 1}{said}: {why}.")

    def place(self, node: ast.AST) -> int:
        """The character where a node begins: `ast` counts bytes."""
        lines = self.text.encode().split(b"\n")[: node.lineno]  # type: ignore[attr-defined]
        before = sum(len(line.decode()) + 1 for line in lines[:-1])
        return before + len(lines[-1][: node.col_offset].decode("utf-8", "replace"))  # type: ignore[attr-defined]

    def name(self, node: ast.Name) -> str:
        """The column that a name asks for."""
        return self._quoted.get(self.place(node), node.id)

    def word(self, node: ast.AST) -> bool:
        """Whether a node is `true`, `false`, `null` or `none` in any case, without backticks."""
        return isinstance(node, ast.Name) and self.place(node) not in self._quoted and node.id.lower() in WORDS

    def _without_backticks(self) -> str:
        """The text with a word of the same bytes for each name in backticks."""

        def word(found: re.Match[str]) -> str:
            if found[1] is None:
                return found[0]
            self._quoted[found.start()] = found[1][1:-1]
            return "_" * len(found[1].encode())

        return LITERAL.sub(word, self.text)

    def _names(self) -> tuple[str, ...]:
        called = {id(node.func) for node in ast.walk(self._tree) if isinstance(node, ast.Call)}
        names = [node for node in ast.walk(self._tree) if isinstance(node, ast.Name) and id(node) not in called]
        return tuple(dict.fromkeys(self.name(node) for node in names if not self.word(node)))

    def _slip(self, error: SyntaxError) -> UsageError:
        for pattern, remedy in SLIPS:
            if found := re.search(pattern, QUOTED.sub(lambda name: "_" * len(name[0]), self.text)):
                return self.refusal(found.start(), remedy)
        before = sum(len(line) + 1 for line in self.text.split("\n")[: (error.lineno or 1) - 1])
        at = min(max(before + (error.offset or 1) - 1, 0), len(self.text))
        return self.refusal(
            at, f"can't be read; {KNOWN}; a name that is no word, or one of Python's, stands in backticks"
        )


COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: lambda a, b: a == b, ast.NotEq: lambda a, b: a != b, ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b, ast.Gt: lambda a, b: a > b, ast.GtE: lambda a, b: a >= b,
}  # fmt: skip
ARITHMETIC = {ast.Add: "add_checked", ast.Sub: "subtract_checked", ast.Mult: "multiply_checked", ast.Div: "divide"}


class _Binder:
    """Makes expressions of nodes, over columns of known types."""

    def __init__(self, condition: Condition, kinds: Mapping[str, pyarrow.DataType]) -> None:
        import pyarrow
        import pyarrow.compute

        self._arrow, self._compute = pyarrow, pyarrow.compute
        self._condition, self._kinds = condition, kinds

    def fail(self, node: ast.AST, why: str) -> UsageError:
        return self._condition.refusal(self._condition.place(node), why)

    def value(self, node: ast.AST) -> Value:
        """What a node stands for."""
        reader = getattr(self, f"_{type(node).__name__}", None)
        if reader is None:
            raise self.fail(node, f"is not known here; {KNOWN}")
        return reader(node)

    def truth(self, node: ast.AST) -> Any:
        found = self.value(node)
        if found.kind != TRUTH:
            raise self.fail(node, f"is {found.kind}, no condition; compare it with something")
        return found.expression

    def _BoolOp(self, node: ast.BoolOp) -> Value:
        parts = [self.truth(part) for part in node.values]
        whole = parts[0]
        for part in parts[1:]:
            whole = whole & part if isinstance(node.op, ast.And) else whole | part
        return Value(whole, TRUTH)

    def _UnaryOp(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return Value(~self.truth(node.operand), TRUTH)
        if not isinstance(node.op, ast.USub | ast.UAdd):
            raise self.fail(node, f"is not known here; {KNOWN}")
        found = self._number(node.operand)
        if isinstance(node.op, ast.UAdd):
            return found
        if found.literal is not None:
            return Value(self._compute.scalar(-found.literal), NUMBER, -found.literal)
        return Value(self._call("negate_checked", found.expression), NUMBER)

    def _BinOp(self, node: ast.BinOp) -> Value:
        if type(node.op) not in ARITHMETIC:
            raise self.fail(node.right, f"the operator before it is not known; {KNOWN}")
        left, right = self._number(node.left).expression, self._number(node.right).expression
        if isinstance(node.op, ast.Div):
            left, right = (side.cast(self._arrow.float64()) for side in (left, right))
        return Value(self._call(ARITHMETIC[type(node.op)], left, right), NUMBER)

    def _call(self, function: str, *arguments: Any) -> Any:
        return self._compute.Expression._call(function, list(arguments))

    def _number(self, node: ast.AST) -> Value:
        found = self.value(node)
        if found.kind == NOTHING:
            return Value(found.expression.cast(self._arrow.float64()), NUMBER)
        if found.kind != NUMBER:
            raise self.fail(node, f"is {found.kind}; arithmetic takes numbers")
        return found

    def _Compare(self, node: ast.Compare) -> Value:
        whole, left = None, node.left
        for sign, right in zip(node.ops, node.comparators, strict=True):
            part = self._compared(sign, left, right)
            whole, left = part if whole is None else whole & part, right
        return Value(whole, TRUTH)

    def _compared(self, sign: ast.cmpop, left: ast.AST, right: ast.AST) -> Any:
        if isinstance(sign, ast.Is | ast.IsNot):
            if not (self._condition.word(right) or isinstance(right, ast.Constant)) or self.value(right).kind != NULL:
                raise self.fail(right, "is and is not are followed by null; compare with == or !=")
            found = self.value(left).expression
            return found.is_null() if isinstance(sign, ast.Is) else found.is_valid()
        if isinstance(sign, ast.In | ast.NotIn):
            values = [right] if isinstance(right, ast.Constant) else getattr(right, "elts", [])  # ('x') is no tuple
            if not values or isinstance(right, ast.Set):
                raise self.fail(right, "in is followed by values in parentheses, as in (1, 2)")
            found = self._alike(COMPARISONS[ast.Eq], left, values[0])
            for one in values[1:]:
                found = found | self._alike(COMPARISONS[ast.Eq], left, one)
            return found if isinstance(sign, ast.In) else ~found
        return self._alike(COMPARISONS[type(sign)], left, right)

    def _alike(self, compare: Callable[[Any, Any], Any], left: ast.AST, right: ast.AST) -> Any:
        """A comparison of two values of one kind; text beside a time is read as one."""
        near, far = self.value(left), self.value(right)
        for one, node in ((near, left), (far, right)):
            if one.kind == NULL:
                raise self.fail(node, "nothing equals null; write is null or is not null")
        if NOTHING in (near.kind, far.kind):
            return self._compute.scalar(self._arrow.scalar(None, self._arrow.bool_()))
        if near.kind == TIME and far.kind == TEXT:
            far = self._as_time(far, right)
        if near.kind == TEXT and far.kind == TIME:
            near = self._as_time(near, left)
        if near.kind != far.kind:
            raise self.fail(right, f"is {far.kind}, and {near.kind} stands before it; both must be of one kind")
        return compare(near.expression, far.expression)

    def _as_time(self, found: Value, node: ast.AST) -> Value:
        if found.literal is None:  # a column of text
            self._condition.times.append(self._condition.name(cast(ast.Name, node)))
            text = self._compute.replace_substring_regex(found.expression, **UTC_MARK)
            return Value(text.cast(self._arrow.timestamp("us")), TIME)
        try:
            moment = datetime.datetime.fromisoformat(found.literal)
        except ValueError:
            raise self.fail(node, "is no date or time; write it as 2024-01-31 or 2024-01-31 23:59:59") from None
        if moment.tzinfo is not None:
            moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
        return Value(self._compute.scalar(self._arrow.scalar(moment, self._arrow.timestamp("us"))), TIME)

    def _Constant(self, node: ast.Constant) -> Value:
        if node.value is None:
            return Value(self._compute.scalar(None), NULL)
        if isinstance(node.value, bool):
            return Value(self._compute.scalar(node.value), TRUTH)
        if isinstance(node.value, int) and not -(1 << 63) <= node.value < 1 << 63:
            raise self.fail(node, "is past 64 bits")
        if isinstance(node.value, int | float | str):
            kind = TEXT if isinstance(node.value, str) else NUMBER
            return Value(self._compute.scalar(node.value), kind, node.value)
        raise self.fail(node, f"is not known here; {KNOWN}")

    def _Call(self, node: ast.Call) -> Value:
        given = node.args[0] if len(node.args) == 1 and not node.keywords else None
        if not (isinstance(node.func, ast.Name) and node.func.id.lower() in ("date", "timestamp")):
            raise self.fail(node, f"functions are not known; {KNOWN}")
        if not (isinstance(given, ast.Constant) and isinstance(given.value, str)):
            raise self.fail(node, "a date is given as text, as date('2024-01-31')")
        return self._as_time(self._Constant(given), given)

    def _Name(self, node: ast.Name) -> Value:
        if self._condition.word(node):
            return self._Constant(ast.copy_location(ast.Constant(WORDS[node.id.lower()]), node))
        name = self._condition.name(node)
        if name not in self._kinds:
            near = meant_by(name, self._kinds)
            like = f"did you mean {shown(near)}" if near else f"there are {', '.join(map(shown, self._kinds))}"
            raise self.fail(node, f"no column is called {shown(name)}; {like}")
        return self._column(node, name, self._kinds[name])

    def _column(self, node: ast.Name, name: str, kind: pyarrow.DataType) -> Value:
        types, field = self._arrow.types, self._compute.field(name)
        if types.is_dictionary(kind):
            kind = kind.value_type
            field = field.cast(kind)
        if types.is_boolean(kind):
            return Value(field, TRUTH)
        if types.is_null(kind):
            return Value(field, NOTHING)
        if types.is_integer(kind):
            return Value(field if kind.bit_width == 64 else field.cast(self._arrow.int64()), NUMBER)
        if types.is_floating(kind) or types.is_decimal(kind):
            return Value(field.cast(self._arrow.float64()), NUMBER)
        if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
            return Value(field, TEXT)
        if types.is_date(kind) or types.is_timestamp(kind):
            zone = getattr(kind, "tz", None)
            field = field if zone is None else field.cast(self._arrow.timestamp(kind.unit))  # the same moment, in UTC
            micro = self._arrow.timestamp("us")  # no cast then, so that Parquet's statistics tell of it
            return Value(field if kind == micro else field.cast(micro, safe=False), TIME)
        raise self.fail(node, f"column {shown(name)} is of type {kind}, which no condition reads")
