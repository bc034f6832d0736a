"""Which column of a table is the weight, and which can't be an end: amounts that a guess would take for vertices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute as compute

from pagestore.errors import InputError, UsageError
from pagestore.inputs.badlines import shown
from pagestore.inputs.base import InputOptions
from pagestore.inputs.headerwords import is_no_weight, named_weights, weighs
from pagestore.inputs.signatures import DECIMAL_COMMA, INTEGER, NUMBER
from pagestore.inputs.tablerows import SHOWN_ROWS, inner_type, is_bytes, is_number, is_string, shown_values
from pagestore.inputs.usedcolumns import kind_of, odd_end

Values = Callable[[str], list[str]]  # of a column by its name, the first few as text


def find_weight(
    name: str, options: InputOptions, schema: pyarrow.Schema, own: int, used: tuple[str, str], values: Values
) -> tuple[str | None, str | None]:
    """(the column of the weight, a third one that is left out): as asked for, by a known name, or a third of numbers.

    own: how many columns, the first ones, are not of the path; used: the ends. Text that is numbers is taken, too,
    under a weight's name or with a fraction: its type is refused later, for without it weights would be lost.
    """
    names, asked = schema.names, options.weight_column
    if not options.weights:
        return None, None
    if isinstance(asked, int):
        if not 1 <= asked <= len(names):
            raise UsageError(f"{name}: --weight-column {asked}: there are {len(names)} columns.")
        asked = names[asked - 1]
    if asked is not None:
        if asked not in names or asked in used:
            raise UsageError(
                f"{name}: --weight-column {shown(str(asked))}: no such column of weights "
                f"({', '.join(map(shown, names))}). Give its name or number."
            )
        return asked, None
    if (called := _named_weight(name, schema, used, values)) is not None:
        return called, None
    third = names[2] if own > 2 and names[2] not in used else None
    if third is None:
        return None, None
    kind = inner_type(schema.field(third).type)
    if is_no_weight(third) or pyarrow.types.is_integer(kind):
        return None, third
    fits = _are_weights(values(third), False) if is_string(kind) or is_bytes(kind) else is_number(kind)
    return (third, None) if fits else (None, third)


def _named_weight(name: str, schema: pyarrow.Schema, used: tuple[str, str], values: Values) -> str | None:
    """The column, beside the ends, that is called as weights are, wherever it stands; InputError for several."""

    def may_weigh(at: int) -> bool:
        kind = inner_type(schema.field(at).type)
        is_text = is_string(kind) or is_bytes(kind)
        return _are_weights(values(schema.names[at]), True) if is_text else is_number(kind)

    ends = [at for at, column in enumerate(schema.names) if column in used]
    found = [schema.names[at] for at in named_weights(schema.names, ends, may_weigh)]
    if len({*found}) > 1:
        raise InputError(
            f"{name}: columns {', '.join(map(shown, found))} are called as weights are; one weighs the edges. Name it "
            f"with --weight-column, or pass --no-weights."
        )
    return found[0] if found else None


def _are_weights(held: Sequence[str], is_named: bool) -> bool:
    """Whether all of some texts are numbers, as 1.5 and 1,5; whole ones only under a weight's name (`is_named`)."""
    fit = [text for text in held if _is_fraction(text) or (is_named and INTEGER.match(text))]
    return bool(held) and len(fit) == len(held)


def _is_fraction(text: str) -> bool:
    """Whether `text` is a number, but not written as an integer."""
    return bool((NUMBER.match(text) or DECIMAL_COMMA.match(text)) and not INTEGER.match(text))


def may_be_others(schema: pyarrow.Schema, names: Sequence[str], values: Values, weight_asked: bool) -> bool:
    """Whether one of the first two of `names`, which would be the ends by their places alone, may be none.

    It holds amounts: numbers with decimals where a third column holds others, or text that is such numbers. Or it is
    the odd one of three (`odd_end`); weight_asked: an option names the weight.
    """
    kinds = [inner_type(schema.field(at).type) for at in range(len(names))]
    decimals = [pyarrow.types.is_floating(kind) or pyarrow.types.is_decimal(kind) for kind in kinds]
    no_third = len(names) > 2 and (weighs(names[2]) or is_no_weight(names[2]))
    if len(names) > 2 and any(decimals[:2]) and not (decimals[2] or no_third):
        return True
    texts = [column for column, kind in zip(names[:2], kinds, strict=False) if is_string(kind)]
    if any(held and all(map(_is_fraction, held)) for held in map(values, texts)):
        return True
    no_third = no_third or weight_asked or any(decimals[2:])
    return odd_end([kind_of(values(column)) for column in names], no_third) is not None


def refuse_fractions(name: str, columns: Sequence[str], found: Sequence[Any], command: str) -> None:
    """InputError where one of the ends, the first two of `columns`, holds numbers with a fraction: amounts.

    found: Arrow arrays of these columns without nulls. command: what names the ends instead.
    """
    for called, column in zip(columns[:2], found[:2], strict=True):
        if (at := _first_fraction(column)) is None:
            continue
        rows = zip(*(shown_values(one.slice(0, SHOWN_ROWS)) for one in found[:2]), strict=True)
        said = ", ".join(f"{shown(str(source), 20)} -> {shown(str(target), 20)}" for source, target in rows)
        raise InputError(
            f"{name}: column {shown(called)} holds {column[at].as_py()}, and is no end: IDs are integers or text; by "
            f"columns {shown(columns[0])} and {shown(columns[1])} the first rows would be {said}. {command}"
        )


def _first_fraction(column: Any) -> int | None:
    """Place of the first number that is no integer, None where there is none; what is not finite counts as well."""
    if pyarrow.types.is_decimal(column.type):
        whole = compute.equal(compute.floor(column), column).to_numpy(zero_copy_only=False)
    elif pyarrow.types.is_floating(column.type):
        values = column.to_numpy(zero_copy_only=False)
        whole = np.isfinite(values) & (np.floor(values) == values)
    else:
        return None
    return None if whole.all() else int(np.argmin(whole))


def to_names(name: str, called: str, column: Any) -> Any:
    """A column of an end as names, large_string; numbers, which are whole (`refuse_fractions`), in digits.

    Raises InputError for bytes that are no UTF-8, and numbers past int64.
    """
    number = pyarrow.types.is_floating(column.type) or pyarrow.types.is_decimal(column.type)
    try:
        if pyarrow.types.is_float16(column.type):
            column = pyarrow.array(column.to_numpy(zero_copy_only=False).astype(np.float64))
        column = column.cast(pyarrow.int64()) if number else column
        return column.cast(pyarrow.large_string())
    except pyarrow.ArrowException:
        if not number and not is_bytes(column.type):
            raise
        reason = (
            "numbers past 2^63-1; IDs are integers up to that" if number else "bytes that are no UTF-8, as names are"
        )
        raise InputError(f"{name}: column {shown(called)} holds {reason}. Convert the column.") from None
