"""Names like a word that names nothing, of options and of vertices: what was meant by a slip."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches

LIKE, BEGINNING = 0.75, 3  # how like a name must be to be meant; letters that have to begin both, otherwise
MOST = 3  # names in an answer
LONGEST = 64  # of a word whose slips are tried
USUAL = "abcdefghijklmnopqrstuvwxyz0123456789-_. "


def meant_by(name: str, known: Iterable[str], like: float = LIKE) -> str:
    """The known name that a misspelt one means, as tol for tolerance; "" if there is none."""
    names = list(known)
    begun = [one for one in names if len(min(one, name, key=len)) >= BEGINNING and one[: len(name)] == name[: len(one)]]
    return min(begun, key=lambda one: abs(len(one) - len(name)), default="") or next(
        iter(get_close_matches(name, names, 1, like)), ""
    )


def spelled(name: str, known: Iterable[str]) -> str:
    """What to do about a name that is none of the known ones."""
    like = meant_by(name, known)
    return f"Did you mean {like}?" if like else "Check the spelling."


def cases(word: str) -> list[str]:
    """The word in other cases, and without blanks at its ends."""
    bare = word.strip()
    return [one for one in dict.fromkeys([bare, bare.lower(), bare.upper(), bare.capitalize(), bare.title()])
            if one not in ("", word)]  # fmt: skip


def slips(word: str) -> list[str]:
    """Words of which this one is a slip: a character more, one less, another one, or two exchanged."""
    if len(word) > LONGEST:
        return []
    letters = "".join(dict.fromkeys(USUAL + word + (USUAL.upper() if word != word.lower() else "")))
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    exchanged = [a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1]
    shorter = [a + b[1:] for a, b in cuts if b]
    longer = [a + letter + b for a, b in cuts for letter in letters]
    other = [a + letter + b[1:] for a, b in cuts if b for letter in letters]
    return [one for one in dict.fromkeys([*exchanged, *longer, *shorter, *other]) if one not in ("", word)]


def names_like(word: str, name_of: Callable[[int], str], count: int, known: Callable[[list[str]], list[bool]],
               try_slips: bool) -> list[str]:  # fmt: skip
    """Up to three of the `count` names, ascending, that `word` may stand for, the likeliest first.

    name_of: by its place; known: which of some words are names. try_slips: words that differ by a slip, too, which lie
    all over the names.
    """
    tried = [*cases(word), *(slips(word) if try_slips else [])]
    found = [one for one, there in zip(tried, known(tried), strict=True) if there] if tried else []
    low, high = 0, count  # the first name that is not below the word
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if name_of(middle) < word else (low, middle)
    begun = [name for at in range(low, min(low + MOST, count)) if (name := name_of(at)).startswith(word)]
    return list(dict.fromkeys([*found, *begun]))[:MOST] if word else []
