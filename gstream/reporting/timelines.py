"""Time lines of devices from a trace's events: a lane for each process and kind of span, of a bounded size."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from pagestore.errors import InputError, plain

BINS = 240  # of the time line's length
LEVELS = 4  # of how many tracks work
MOST_LANES, MOST_PROCESSES = 24, 96  # each process has a lane, and the busiest of each in turn have the rest
NUMBERS = re.compile(r"\d+(?: (?:to|of) \d+)*")  # "vertices 0 to 99" and "vertices 100 to 149" are of one kind


@dataclass(frozen=True)
class Lane:
    """Spans of one kind. bars: (start, length, level) in seconds; level: from 0.25 to 1, the share of the tracks that
    work, in quarters. busy: seconds of all spans; spans: how many."""

    process: str
    label: str
    busy: float
    spans: int
    bars: list[tuple[float, float, float]]


def lanes_of(events: Any) -> tuple[list[Lane], float]:
    """(lanes, seconds of the time line) of Chrome trace events; the busiest of each process where there are too many.

    Raises InputError for what are no such events.
    """
    try:
        names = {event["pid"]: str(event["args"]["name"]) for event in events if event.get("name") == "process_name"}
        spans = [event for event in events if event.get("ph") == "X"]
        begin = np.array([float(span["ts"]) for span in spans]) / 1e6
        length = np.array([float(span["dur"]) for span in spans]) / 1e6
        kinds = [(names.get(span["pid"], str(span["pid"])), kind_of(str(span["name"]))) for span in spans]
        tracks = [span.get("tid") for span in spans]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError("the events are not those of a Chrome trace.") from None
    if not len(begin) or not np.isfinite(begin).all() or not np.isfinite(length).all():
        return [], 0.0
    begin -= begin.min()
    total = max(float((begin + length).max()), 1e-9)
    groups: dict[tuple[str, str], list[int]] = {}
    for place, pair in enumerate(kinds):
        groups.setdefault(pair, []).append(place)
    found = []
    for (process, kind), places in groups.items():
        chosen = np.array(places)
        number = len({tracks[place] for place in places})
        bars = _bars(begin[chosen], length[chosen], total, number)
        found.append(Lane(process, f"{plain(process)}: {plain(kind)}", float(length[chosen].sum()), len(places), bars))
    return sorted(_busiest(found), key=lambda lane: (_in_order(lane.process), lane.label)), total


def _busiest(lanes: list[Lane]) -> list[Lane]:
    """The busiest lane of each process, then the next of each, while there is room."""
    turns: dict[str, int] = {}
    placed = []
    for lane in sorted(lanes, key=lambda lane: -lane.busy):
        turns[lane.process] = turns.get(lane.process, -1) + 1
        placed.append((turns[lane.process], -lane.busy, lane))
    placed.sort(key=lambda one: one[:2])
    return [lane for *_, lane in placed[: max(MOST_LANES, min(len(turns), MOST_PROCESSES))]]


def _in_order(name: str) -> list[tuple[int, str]]:
    """What sorts names by the numbers in them: rank 2 before rank 10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]


def kind_of(name: str) -> str:
    """A span's name without what differs from span to span."""
    return " ".join(NUMBERS.sub("", name.partition(",")[0]).split()).strip(" :#") or "span"


def _bars(begin: np.ndarray, length: np.ndarray, total: float, tracks: int) -> list[tuple[float, float, float]]:
    """Neighbouring bins of equal level as one bar; bins in which nothing worked have none."""
    width = total / BINS
    first = np.minimum((begin / width).astype(int), BINS - 1)
    last = np.minimum(((begin + length) / width).astype(int), BINS - 1)
    busy = np.zeros(BINS + 1)
    inside = first == last
    np.add.at(busy, first[inside], length[inside])
    long = ~inside
    np.add.at(busy, first[long], (first[long] + 1) * width - begin[long])
    np.add.at(busy, last[long], begin[long] + length[long] - last[long] * width)
    whole = np.zeros(BINS + 1)  # a span fills the bins between: where it begins and ends to fill them
    np.add.at(whole, first[long] + 1, width)
    np.add.at(whole, last[long], -width)
    busy[:BINS] += np.cumsum(whole)[:BINS]
    levels = np.ceil(np.clip(busy[:BINS] / (width * tracks), 0, 1) * LEVELS).astype(int)
    edges = np.flatnonzero(np.diff(levels, prepend=-1, append=-1))
    return [
        (float(start * width), float((end - start) * width), float(levels[start] / LEVELS))
        for start, end in zip(edges[:-1], edges[1:], strict=True)
        if levels[start]
    ]
