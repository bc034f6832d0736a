"""Which tests `make test` runs, and which `make test-all` runs beyond those.

GSTREAM_TESTS says which: "some" (make test), "all" (make test-all), or "rest", what "all" has beyond "some".
Tests say of themselves what "some" has of them. Marked `long`: nothing. Marked `longer`: fewer cases, as the test asks
`few`. Marked `covering(1)` or `covering(2)`: combinations of parameters that hold every value of each, or every pair of
values of two. Values of `seeds` and examples of properties are fewer, too.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations
from typing import Any, TypeVar

import pytest

MODES = ("some", "all", "rest")
MODE = os.environ.get("GSTREAM_TESTS", "some")
EXAMPLES = 20  # of a property, in "some"
T = TypeVar("T")


def few(some: T, all_: T) -> T:
    """What a test that is marked `longer` takes: less of it in "some"."""
    return some if MODE == "some" else all_


def seeds(some: int, cases: Iterable[Any]) -> list[Any]:
    """Values of a parameter, of which `some` are in "some", evenly from all."""
    cases = list(cases)
    chosen = {number * len(cases) // some for number in range(some)}
    return [case if at in chosen else pytest.param(case, marks=pytest.mark.long) for at, case in enumerate(cases)]


def also(*values: Any) -> list[Any]:
    """Values of a parameter that "some" has not: others show the same, and these have kernels of their own."""
    rows = (value if isinstance(value, tuple) else (value,) for value in values)  # of several parameters
    return [pytest.param(*row, marks=pytest.mark.long) for row in rows]


def deselected(items: Sequence[pytest.Item], asked: Sequence[str]) -> list[pytest.Item]:
    """Those that are not to be run. asked: what pytest was given; tests that it names are run."""
    if MODE == "all" or any("::" in what for what in asked):
        return []
    long = {item for item in items if item.get_closest_marker("long")}
    left_out = long | _not_covering([item for item in items if item not in long])
    if MODE == "some":
        return [item for item in items if item in left_out]
    return [item for item in items if item not in left_out and not _has_more(item)]


def _has_more(item: pytest.Item) -> bool:
    """Whether "all" has more cases within a test than "some"."""
    settings = getattr(getattr(item, "obj", None), "_hypothesis_internal_use_settings", None)
    return item.get_closest_marker("longer") is not None or (settings is not None and settings.max_examples > EXAMPLES)


def _not_covering(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Items that `covering` does not choose."""
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("covering") and hasattr(item, "callspec"):
            tests[item.nodeid.partition("[")[0]].append(item)
    return {item for cases in tests.values() for item in set(cases) - set(covering(cases))}


def covering(cases: Sequence[Any]) -> list[Any]:
    """The fewest items, about, that hold every value, or every pair of values, that any of them holds."""
    wanted = {case: _held(case) for case in cases}
    missing = set().union(*wanted.values())
    chosen = []
    while missing:
        best = max(cases, key=lambda case: len(wanted[case] & missing))  # the first of the best
        chosen.append(best)
        missing -= wanted[best]
    return chosen


def _held(case: Any) -> set[Hashable]:
    values = sorted((name, repr(value)) for name, value in case.callspec.params.items())
    return set(combinations(values, min(case.get_closest_marker("covering").args[0], len(values))))
