"""What a measurement yields: one figure, what it stands against, and whether the target is met.

Every figure is measured together with its peer or ceiling in one run on one machine; the only ones that are not are
marked `recorded` and carry their source. `ratio` above 1 always means that ours is better.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

HIGHER_IS_BETTER = {"M edges/s", "G edges/s", "MB/s", "GB/s", "%", "times as fast"}
LOWER_IS_BETTER = {"ms", "s", "MiB", "bytes/edge", "% lost", "times the topology", "ns/vertex"}
NEITHER = {"copy : kernel", "% more", "of a level", "edges a vertex"}
SEED = 20  # of the order of calls


@dataclass(frozen=True)
class Wanted:
    """A figure that is asked for, so that a report can say that it is missing. what: the figure's up to one of its
    commas; graph: one, or "" for any; target: the figure's own, or "" for any."""

    what: str
    graph: str = ""
    target: str = ""

    def is_among(self, figures: Sequence[Figure]) -> bool:
        return any(
            f"{figure.what},".startswith(f"{self.what},")
            and self.graph in ("", figure.graph)
            and self.target in ("", figure.target)
            for figure in figures
        )


@dataclass(frozen=True)
class Samples:
    """Seconds of repeated runs of one thing."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def mean(self) -> float:
        return statistics.fmean(self.seconds)

    @property
    def least(self) -> float:
        """What a busy machine disturbs least: whatever else it does only adds to a time."""
        return min(self.seconds)

    def spread(self, factor: float = 1.0) -> dict[str, float]:
        """{least, median, most, runs}, in seconds times `factor`."""
        scaled = [second * factor for second in self.seconds]
        return {"least": min(scaled), "median": self.median * factor, "most": max(scaled), "runs": len(scaled)}


def timed(repeats: int, call: Callable[[], Any]) -> tuple[Samples, Any]:
    """Run `call` `repeats` times (at least 1); the seconds of each run and the last answer."""
    seconds = []
    answer = None
    for _ in range(max(1, repeats)):
        answer = None  # let go of the last answer first: two at once would double the memory
        start = time.perf_counter()
        answer = call()
        seconds.append(time.perf_counter() - start)
    return Samples(tuple(seconds)), answer


def timed_each(items: Sequence[Any], call: Callable[[Any], Any]) -> tuple[Samples, list[Any]]:
    """Run `call(item)` once for every item (BFS sources); the seconds of each and all answers."""
    seconds, answers = [], []
    for item in items:
        start = time.perf_counter()
        answers.append(call(item))
        seconds.append(time.perf_counter() - start)
    return Samples(tuple(seconds)), answers


def by_turns(
    calls: Sequence[Callable[[], float]], repeats: int, most: int, least_seconds: float
) -> list[Samples]:  # fmt: skip
    """Seconds that each call says it took, run by turns, so that what disturbs one disturbs the others.

    `repeats` turns, and more of them, up to `most`, where they are short: until `least_seconds` are over. The first
    turn, which compiles and reads the pages, is not counted. Each turn has an order of its own, as a call may leave
    caches to the one after it.
    """
    seconds: list[list[float]] = [[] for _ in calls]
    order = random.Random(SEED)
    began = time.perf_counter()
    for turn in range(most + 1):
        if turn > repeats and time.perf_counter() - began > least_seconds:
            break
        for number in order.sample(range(len(calls)), len(calls)):
            seconds[number].append(calls[number]())
    return [Samples(tuple(each[1:])) for each in seconds]


@dataclass
class Figure:
    """One row of the table. `value` and `against_value` share `unit`; `need` is the least ratio of a met target.

    ceiling: what it stands against is a limit of the machine, so `ratio` is the share of it that was reached.
    point: where it stands in a plot (bench.plots): {plot, panel, series, x}; its height is `value`.
    counted: worked out of a graph and not timed, so that it is the same on a busy machine.
    """

    what: str
    graph: str
    value: float
    unit: str
    against: str = ""
    against_value: float | None = None
    need: float | None = None
    target: str = ""
    recorded: str = ""  # source of `against_value` when it was not measured in this run
    checked: str = ""  # what the answer was compared with, in this run
    spread: dict[str, float] | None = None
    note: str = ""
    disturbance: float | None = None  # cores that other processes kept busy meanwhile; filled in by bench.harness
    ceiling: bool = False
    point: dict[str, Any] | None = None
    counted: bool = False

    def __post_init__(self) -> None:
        known = HIGHER_IS_BETTER | LOWER_IS_BETTER | NEITHER
        if self.unit not in known:
            raise ValueError(f"unit {self.unit!r} is not one of {sorted(known)}")

    @property
    def ratio(self) -> float | None:
        """How many times better than what it stands against; None without such a figure."""
        if not self.against_value or not self.value or self.unit in NEITHER:
            return None
        return self.value / self.against_value if self.unit in HIGHER_IS_BETTER else self.against_value / self.value

    @property
    def passed(self) -> bool | None:
        """True or False where a target is named, else None."""
        if self.need is None:
            return None
        return self.ratio is not None and self.ratio >= self.need

    def versus(
        self, against: str, value: float, need: float | None = None, target: str = "", recorded: str = "",
        ceiling: bool = False,
    ) -> Figure:  # fmt: skip
        """The same figure against a peer or ceiling, `value` in the same unit."""
        return replace(
            self, against=against, against_value=value, need=need, target=target, recorded=recorded, ceiling=ceiling
        )

    def aim(self, value: float, target: str, need: float = 1.0) -> Figure:
        """The same figure against a target, `value` in the same unit."""
        return self.versus("the target", value, need, target)

    def share_of(self, ceiling: str, value: float, need: float | None = None, target: str = "") -> Figure:
        """The same figure against a limit of the machine, `value` in the same unit."""
        return self.versus(ceiling, value, need, target, ceiling=True)

    def as_dict(self) -> dict[str, Any]:
        """The fields that say something, and ratio and passed where there are any."""
        plain = {field.name: field.default for field in fields(self)}
        said = {name: value for name, value in asdict(self).items() if value != plain[name]}
        derived = {"ratio": self.ratio, "passed": self.passed}
        return said | {name: value for name, value in derived.items() if value is not None}


class WrongAnswerError(Exception):
    """A measured run whose answer differs from its reference: its time is not reported."""


def check(condition: bool, text: str) -> None:
    """Refuse the measurement when its answer is wrong."""
    if not condition:
        raise WrongAnswerError(text)
