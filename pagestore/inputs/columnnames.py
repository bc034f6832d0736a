"""Which columns have known names, or a pair of names with one suffix (src_ip, dst_ip), and whether line 1 has names.

An edge that is taken for a header is lost, so a guess has to be sure: line 1 can't be an edge like those below it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence

from pagestore.errors import InputError, UsageError
from pagestore.inputs import signatures
from pagestore.inputs.badlines import shown
from pagestore.inputs.base import InputOptions
from pagestore.inputs.headerwords import column_name, is_no_third_end, named, named_weights, weighs
from pagestore.inputs.idspelling import PREFIXED, meant

MOST_NAMED = 12  # columns that a message names
DOUBTFUL_NAMES = 2  # line 1 holds at least so many of them
SURE_NUMBERS = 2  # numbers below a word of line 1: one alone may be an odd field
DIGITS = re.compile(r"[0-9]+")
MATES = {(source, target) for source, targets in signatures.ENDS for target in targets.split()}
COUNTED = re.compile(r"(.*[^\W\d_])_?[12]\Z")  # person1, person_2


def named_ends(header: Sequence[str]) -> tuple[int, int] | None:
    """Places of source and target where the header names both, once; else None.

    Of several names of an end, those of one pair count, where there is one: `origin,target,source`. Two columns of one
    name may be a pair as well as those with one suffix: `From Bank,Account,To Bank,Account`.
    """
    words = [column_name(name) for name in header]
    sources, targets = _places(words, signatures.SOURCE_NAMES), _places(words, signatures.TARGET_NAMES)
    if sources and targets:
        pairs = {(source, target) for source in sources for target in targets}
        if len(pairs) > 1:
            pairs = {(source, target) for source, target in pairs if (words[source], words[target]) in MATES}
    else:
        pairs = set() if any(word and words.count(word) > 1 for word in words) else _pairs(words)
    return pairs.pop() if len(pairs) == 1 else None


def names_several(header: Sequence[str]) -> bool:
    """Whether an end has more names than one, and none that goes with the other's alone."""
    words = [column_name(name) for name in header]
    found = [_places(words, names) for names in (signatures.SOURCE_NAMES, signatures.TARGET_NAMES)]
    return (max(map(len, found)) > 1 or bool(_pairs(words))) and named_ends(header) is None


def _third_may_be_end(header: Sequence[str], integers: bool) -> bool:
    """Whether the third of three columns of unknown names may be an end as well as the first ones: the first is called
    as a number of the row is, or all three hold whole numbers (`integers`)."""
    if len(header) != 3 or likely_ends(header) is not None:
        return False
    first, third = column_name(header[0]), column_name(header[2])
    if weighs(third) or is_no_third_end(third):
        return False
    return (integers or first in signatures.ROW_NAMES) and not _says_no_end(third)


def _says_no_end(word: str) -> bool:
    """Whether a column's name ends with what is no end. A letter alone is the name of anything."""
    return len(word) > 1 and word.rpartition("_")[2] in signatures.NO_ENDS


def refuse_twice(name: str, called: str, header: Sequence[str], remedy: str) -> None:
    """InputError, which ends in `remedy`, where several columns are called so."""
    places = [str(at) for at, word in enumerate(header, 1) if word == called]
    if len(places) > 1:
        raise InputError(f"{name}: columns {' and '.join(places)} are called {shown(called)}. {remedy}")


def _places(words: Sequence[str], names: Sequence[str]) -> list[int]:
    return [at for at, word in enumerate(words) if word in names]


def first_named(header: Sequence[str]) -> tuple[int, int] | None:
    """Places of a source's and a target's name, the first of several; None where one of them is not there."""
    words = [column_name(name) for name in header]
    sources, targets = _places(words, signatures.SOURCE_NAMES), _places(words, signatures.TARGET_NAMES)
    return (sources[0], targets[0]) if sources and targets else None


def likely_ends(header: Sequence[str]) -> tuple[int, int] | None:
    """`named_ends`, or where one end has a name, the column that alone is left for the other; else None."""
    if (ends := named_ends(header)) is not None:
        return ends
    source, target = named(header, signatures.SOURCE_NAMES, -1), named(header, signatures.TARGET_NAMES, -1)
    if source == target or min(source, target) >= 0 or names_several(header):
        return None
    left = [
        at for at, name in enumerate(header) if at not in (source, target) and column_name(name) and not weighs(name)
    ]
    if len(left) != 1:
        return None
    return (source, left[0]) if source >= 0 else (left[0], target)


def leaves_ends_open(header: Sequence[str], whole: bool, weight_asked: bool) -> bool:
    """Whether the names of three columns or fewer leave open which hold the ends: a name of one end that stands
    elsewhere, several names of one, or a third column that may be one; whole: all hold whole numbers."""
    source, target = named(header, signatures.SOURCE_NAMES, 0), named(header, signatures.TARGET_NAMES, 1)
    elsewhere = likely_ends(header) is None and (source, target) != (0, 1)
    return elsewhere or names_several(header) or (not weight_asked and _third_may_be_end(header, whole))


def _pairs(words: Sequence[str]) -> set[tuple[int, int]]:
    """Places of words that are a source's and a target's, and alike beside that."""
    found = set()
    for one, other in signatures.END_WORDS:
        sources = {stem: at for at, word in enumerate(words) if (stem := _stem(word, one))}
        for at, word in enumerate(words):
            stem = _stem(word, other)
            if stem and sources.get(stem, at) != at:
                found.add((sources[stem], at))
    return found


def _stem(word: str, end: str) -> str:
    """What a column's name has beside the word for an end; "" for another name, or where that is no vertex."""
    stem = ""
    if word.startswith(end):
        stem = "_" + word.removeprefix(end).lstrip("_")
    elif word.endswith("_" + end):
        stem = word.removesuffix("_" + end) + "_"
    return "" if stem.strip("_").rpartition("_")[2] in ("", *signatures.NO_ENDS) else stem


def is_number(text: str) -> bool:
    """Whether `text` was meant as a number: also negative, fractional and not finite ones, to be refused later."""
    return bool(signatures.INTEGER.match(text) or signatures.NUMBER.match(text) or signatures.NOT_FINITE.match(text))


def _is_any_number(text: str) -> bool:
    """`is_number`, or one in a spelling that no ID has, as 0x10."""
    return is_number(text) or meant(text) is not None or PREFIXED.match(text) is not None


def share_of_numbers(rows: Sequence[Sequence[str]], column: int) -> float:
    """How much of what a column holds is numbers, 0 to 1; empty fields and words for missing ones hold nothing."""
    held = [is_number(field) for field in held_fields(rows, column)]
    return sum(held) / max(len(held), 1)


def held_fields(rows: Sequence[Sequence[str]], column: int) -> list[str]:
    """What a column holds, without empty fields and words for missing values."""
    fields = [row[column] for row in rows if len(row) > column]
    return [field for field in fields if field and field not in signatures.NO_NAMES]


def is_header(rows: list[list[str]], options: InputOptions, more: Callable[[], list[list[str]]] | None = None) -> bool:
    """Whether rows[0] names columns: words above IDs that are whole numbers in all other rows, or known names.

    Known names that vertices have, too (`from to`), need such IDs below them, or another column's name above numbers.
    Where a separator parts them, those of two letters and more need that no vertex is called so: `more` gives the rows
    that are looked at, None where blanks part the fields.
    Where IDs are names, a word above the weights makes a header, as no edge has one there. --header, --no-header and
    columns that the options name decide before.
    """
    if options.header is not None:
        return options.header
    asked = (options.source_column, options.target_column, options.weight_column)
    if any(name in rows[0] for name in asked if name is not None and _number_of(name) is None):
        return True
    first = [column_name(name) for name in rows[0]]
    if len(first) < 2 or any(map(_is_any_number, rows[0])):
        return False
    found = named_ends(rows[0]) or first_named(rows[0])
    known, ends = found is not None, found or (0, 1)
    if known and not any(first[end] in signatures.WORDS_OF_TEXT for end in ends):
        rows = [rows[0], *(row for row in rows[1:] if row != rows[0])]  # files that were joined have it again
        if not _are_named_so(rows[1:], ends):
            return True
    if known and _direction_is_named(first, rows[1:]):
        return True
    if known and more is not None and min(len(first[end]) for end in ends) > 1 and reads_as_header(more(), ends):
        return True
    if not any(first) or not all(any(map(str.isalpha, name)) for name in first if name):
        return False  # signs alone are no column's name: taken for one, an edge would be lost
    ends = _asked_numbers(options, len(first)) or ends
    if (known or not options.string_ids) and _all_whole(rows[1:], ends):
        return True
    return _weight_is_named(first, rows[1:], ends, known) or (known and _stands_above_numbers(first, rows[1:], ends))


def may_be_header(rows: list[list[str]], options: InputOptions) -> bool:
    """Whether rows[0], taken for an edge, looks like a header: to be said, not acted upon.

    It holds words alone. Two of them or more are known as columns' names, or one stands above numbers, or the ends are
    called as person1 and person2. No other row has one of its words anywhere, or a column's name for a vertex.
    """
    first, others = [column_name(text) for text in rows[0]], rows[1:]
    if options.header is not None or not others or len(first) < 2 or any(map(_is_any_number, rows[0])):
        return False
    ends = named_ends(rows[0]) or (
        named(rows[0], signatures.SOURCE_NAMES, 0),
        named(rows[0], signatures.TARGET_NAMES, 1),
    )
    vertices = {column_name(row[end]) for row in others for end in ends if len(row) > end}
    words = {column_name(text) for row in others for text in row if text}
    if words & {*first} or vertices & signatures.COLUMN_NAMES:
        return False
    if sum(word in signatures.COLUMN_NAMES for word in first) >= DOUBTFUL_NAMES or _stands_above_numbers(
        first, others, ends
    ):
        return True
    stems = {found[1] for end in ends if (found := COUNTED.match(first[end]))}
    return (
        len(stems) == 1
        and first[ends[0]][-1:] + first[ends[1]][-1:] == "12"
        and not any(vertex.startswith(stem) for stem in stems for vertex in vertices)
    )


def reads_as_header(rows: list[list[str]], ends: tuple[int, int]) -> bool:
    """Whether rows[0], taken for an edge between names, may as well be words of a header: then it is refused.

    Its words have letters and few digits. None stands below itself or is a vertex of another row, and none differs from
    those below it by digits alone, as node1 from node2. A row alone is an edge.
    """
    first, others = rows[0], rows[1:]
    words = [word for word in first if word]
    if not others or len({*words}) < len(words) or len(first) <= max(ends) or not all(first[end] for end in ends):
        return False
    if not all(map(_may_name_a_column, words)):
        return False
    vertices = {row[end] for row in others for end in ends if len(row) > end}
    for at, word in enumerate(first):
        below = {row[at] for row in others if len(row) > at}
        alike = DIGITS.search(word) and DIGITS.sub("#", word) in {DIGITS.sub("#", text) for text in below}
        if word and (word in below or alike or (word in vertices and at in ends)):
            return False
    return True


def _may_name_a_column(word: str) -> bool:
    """Letters, at least as many as digits; nothing that addresses and paths have."""
    letters, digits = sum(map(str.isalpha, word)), sum(map(str.isdigit, word))
    begins = word[0].isalpha() or word[0] in "_:~"
    return begins and letters > 0 and digits <= letters and not any(mark in word for mark in "@/\\")


def listed(words: Sequence[str]) -> str:
    """Columns by number and word, as many as a message names."""
    more = ", ..." if len(words) > MOST_NAMED else ""
    return ", ".join(f"{at}: {shown(word, 20)}" for at, word in enumerate(words[:MOST_NAMED], 1)) + more


def typed_path(name: str) -> str:
    """An input as it is typed in a command."""
    return "-" if name == "stdin" else shlex.quote(name)


def asked_ends(
    name: str, options: InputOptions, names: Sequence[str], width: int, first: Sequence[str] = (), above: bool = False
) -> tuple[int, int] | None:
    """Places of --source-column and --target-column among `width` columns, whose names may be known; None: not asked.

    first: where no names are known, the fields of the first line; above: it is a header of another number of columns.
    Raises UsageError where there is no such column, and for one column that is to be both.
    """
    if options.source_column is None or options.target_column is None:
        return None
    ends = (("--source-column", options.source_column), ("--target-column", options.target_column))
    places: list[int] = []
    for option, asked in ends:
        refuse_twice(name, str(asked), names, f"Pass {option} with a number.")
        place = _place_of(asked, names, width)
        if place is None:
            raise UsageError(f"{name}: {option} {asked}: no such column {_there_are(name, names, width, first, above)}")
        places.append(place)
    source, target = places
    if source == target:
        raise UsageError(
            f"{name}: --source-column {options.source_column} and --target-column {options.target_column} are the same "
            f"column; an edge has two ends. Name two columns."
        )
    return source, target


def _number_of(asked: int | str) -> int | None:
    """The number of a column that an option gives, None for a name."""
    return int(asked) if isinstance(asked, int) or signatures.COUNT.match(asked) else None


def _place_of(asked: int | str, names: Sequence[str], width: int) -> int | None:
    """Place of a column that an option gives by name or number, None where there is none."""
    number = _number_of(asked)
    if number is None:
        return list(names).index(str(asked)) if asked in names else None
    return number - 1 if 1 <= number <= width else None


def _there_are(name: str, names: Sequence[str], width: int, first: Sequence[str], above: bool) -> str:
    """Which columns there are, and what to do, behind "no such column"."""
    if names:
        return f"({width} columns; {', '.join(map(shown, names))}). Give a name or number."
    if above:
        return f"(the header has {len(first)}: {listed(first)}; the lines below have {width}). Give a number."
    found = f"({width} columns; no header line was found; the first line has {listed(first)}). Give a number"
    if any(map(is_number, first)):
        return f"{found}."
    return (
        f"{found}; if that line names columns: gstream convert {typed_path(name)} STORE --header --source-column N "
        f"--target-column N."
    )


def _asked_numbers(options: InputOptions, width: int) -> tuple[int, int] | None:
    """Places that options give as numbers; those that do not exist are refused later."""
    source, target = _number_of(options.source_column or ""), _number_of(options.target_column or "")
    if source is None or target is None or not 0 < min(source, target) <= max(source, target) <= width:
        return None
    return source - 1, target - 1


def _all_whole(rows: list[list[str]], columns: tuple[int, int]) -> bool:
    """Whether what stands in the columns of the IDs is whole numbers, all of it (an empty field is a bad line)."""
    found = [row[column] for row in rows for column in columns if len(row) > column and row[column]]
    return bool(found) and all(map(signatures.WHOLE.match, found))


def _are_named_so(rows: list[list[str]], ends: tuple[int, int]) -> bool:
    """Whether vertices have such names as well: src2 and dst2 below src1 and dst1."""
    return any(named_ends([row[end] for end in ends]) is not None for row in rows if len(row) > max(ends))


def _direction_is_named(first: list[str], rows: list[list[str]]) -> bool:
    """Whether a column's name stands above words for directed and undirected alone."""
    for column, name in enumerate(first):
        words = signatures.DIRECTION_COLUMNS.get(name, {})
        held = {row[column].strip().lower() for row in rows if len(row) > column}
        if held and held <= set(words):
            return True
    return False


def _weight_is_named(first: list[str], rows: list[list[str]], ends: tuple[int, int], known: bool) -> bool:
    """Whether a word that is no missing number stands above a column of weights, and no vertex is called as line 1's.

    A bad line among the weights is no reason to doubt.
    """
    weight = next(iter(named_weights(first, ends)), 2)
    if weight >= len(first) or weight in ends or not first[weight] or first[weight] in signatures.MISSING:
        return False
    if not known:
        vertices = {row[end].strip().lower() for row in rows for end in ends if len(row) > end}
        if any(first[end] in vertices for end in ends):
            return False
    return share_of_numbers(rows, weight) >= 0.5


def _stands_above_numbers(first: list[str], rows: list[list[str]], ends: tuple[int, int]) -> bool:
    """Whether a word that is no missing number stands above numbers alone, in a column that is not an end's."""
    for column, word in enumerate(first):
        if column in ends or word in signatures.MISSING or not any(map(str.isalpha, word)):
            continue
        held = [row[column] for row in rows if len(row) > column and row[column]]
        if len(held) >= SURE_NUMBERS and all(is_number(text) or signatures.DECIMAL_COMMA.match(text) for text in held):
            return True
    return False
