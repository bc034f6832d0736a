"""Which columns hold the ends of edges, by their names: known words, or two words with one suffix (src_ip, dst_ip)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pagestore.inputs.signatures import (
    END_WORDS,
    INTEGER_WEIGHTS,
    NEO4J_IDS,
    NO_ENDS,
    SOURCE_NAMES,
    TARGET_NAMES,
    TYPED,
    WEIGHT_NAMES,
)

HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")  # of fromNode
BETWEEN = re.compile(r"[\s.-]+")


def column_name(text: str) -> str:
    """A word of a header as the table of names has it: small letters, _ between words, no type (`weight:double`)."""
    word = BETWEEN.sub("_", HUMP.sub("_", text.strip())).lower()
    found = NEO4J_IDS.match(word) or TYPED.match(word)
    return found[1] if found else word


def named(header: Sequence[str], names: tuple[str, ...], default: int) -> int:
    """Place of the first of `names` in a header, else `default`."""
    words = [column_name(name) for name in header]
    return next((words.index(name) for name in names if name in words), default)


def named_ends(header: Sequence[str]) -> tuple[int, int] | None:
    """Places of source and target where the header names both, once; else None."""
    ends = named(header, SOURCE_NAMES, -1), named(header, TARGET_NAMES, -1)
    if min(ends) >= 0 and ends[0] != ends[1]:
        return ends
    pairs = _pairs([column_name(name) for name in header])
    return pairs.pop() if len(pairs) == 1 else None


def likely_ends(header: Sequence[str]) -> tuple[int, int] | None:
    """`named_ends`, or where one end has a name, the column that alone is left for the other; else None."""
    if (ends := named_ends(header)) is not None:
        return ends
    source, target = named(header, SOURCE_NAMES, -1), named(header, TARGET_NAMES, -1)
    if source == target or min(source, target) >= 0:
        return None
    weights = (*WEIGHT_NAMES, *INTEGER_WEIGHTS)
    left = [
        at for at, name in enumerate(header) if at not in (source, target) and column_name(name) not in ("", *weights)
    ]
    if len(left) != 1:
        return None
    return (source, left[0]) if source >= 0 else (left[0], target)


def names_one_end(header: Sequence[str]) -> bool:
    """Whether a name says that an end is elsewhere than in columns 1 and 2, and none says where the other one is."""
    source, target = named(header, SOURCE_NAMES, 0), named(header, TARGET_NAMES, 1)
    return likely_ends(header) is None and (source, target) != (0, 1)


def _pairs(words: Sequence[str]) -> set[tuple[int, int]]:
    """Places of words that are a source's and a target's, and alike beside that."""
    found = set()
    for one, other in END_WORDS:
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
    return "" if stem.strip("_").rpartition("_")[2] in ("", *NO_ENDS) else stem
