"""What one word of a header says of its column: an end, a weight, or nothing that weighs. One rule for all readers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from pagestore.inputs import signatures

HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")  # of fromNode
BETWEEN = re.compile(r"[\s.-]+")
WEIGHT_NAMES = (*signatures.SURE_WEIGHTS, *signatures.OTHER_WEIGHTS)
QUOTED = re.compile(r"'(.+)'|`(.+)`|\[(.+)\]")  # as databases quote names; to CSV these marks are part of them
OF_ENDS = frozenset(word for pair in signatures.END_WORDS for word in pair)  # src_count says something of a vertex


def column_name(text: str) -> str:
    """A word of a header as the table of names has it: small letters, _ between words, no type (`weight:double`), no
    quotes."""
    word = text.strip()
    if marked := QUOTED.fullmatch(word):
        word = marked[marked.lastindex or 0].strip()
    word = BETWEEN.sub("_", HUMP.sub("_", word)).lower()
    found = signatures.NEO4J_IDS.match(word) or signatures.TYPED.match(word)
    return found[1] if found else word


def named(header: Sequence[str], names: tuple[str, ...], default: int) -> int:
    """Place of the first of `names` in a header, else `default`."""
    words = [column_name(name) for name in header]
    return next((words.index(name) for name in names if name in words), default)


def names_an_end(word: str) -> bool:
    """Whether a column's name says that it holds an end."""
    return column_name(word) in (*signatures.SOURCE_NAMES, *signatures.TARGET_NAMES)


def is_no_weight(word: str) -> bool:
    """Whether a column's name says that its numbers weigh nothing: times, kinds, IDs, numbers of rows, another end."""
    words = column_name(word).split("_")
    return words[-1] in signatures.ID_WORDS or words[0] == "id" or is_no_third_end(word)


def is_no_third_end(word: str) -> bool:
    """`is_no_weight`, but for IDs, which may be an end's."""
    name = column_name(word)
    no_weight = name in signatures.ROW_NAMES or name.rpartition("_")[2] in signatures.NO_WEIGHTS
    return bool(name) and (no_weight or names_an_end(name))


def weighs(word: str) -> bool:
    """Whether a column's name says that it is a weight: a known name, or one that ends with it."""
    return _kind(word) is not None


def named_weights(
    header: Sequence[str], used: Collection[int], may_weigh: Callable[[int], bool] = lambda column: True
) -> list[int]:
    """Places, beside those `used` by the ends, that are called as weights are; of several kinds of names the surest.

    `weight` goes before `edge_weight`, this before `amount`, and this before `total_amount`. may_weigh: whether a place
    holds what may be weights; not asked of `weight` and the like, where anything else is a bad row.
    """
    kinds = {at: kind for at, word in enumerate(header) if at not in used and (kind := _kind(word)) is not None}
    found = [(kind, at) for at, kind in kinds.items() if kind == 0 or may_weigh(at)]
    return [at for kind, at in found if kind == min(found)[0]]


def _kind(word: str) -> int | None:
    """How sure a column's name is one of a weight, from 0 as the surest; None for other names."""
    name = column_name(word)
    ahead, _, last = name.rpartition("_")
    if name in WEIGHT_NAMES:
        return 0 if name in signatures.SURE_WEIGHTS else 2
    if last not in WEIGHT_NAMES or not ahead or name.partition("_")[0] in OF_ENDS or is_no_weight(word):
        return None
    return 1 if last in signatures.SURE_WEIGHTS else 3
