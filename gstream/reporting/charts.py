"""The charts of a report, each of plain values, each of a size that does not grow with the run."""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.reporting.svg import FAINT, INK, SERIES, add_axes, as_svg, enough_ticks, new_figure, plain_ticks, styled
from gstream.reporting.timelines import Lane

MOST_DRAWN = 400  # points of a line
LANE_INCHES = 0.26


def distribution_chart(found: list[dict[str, Any]]) -> str:
    """Dots, both axes logarithmic: rows by value."""
    with styled():
        figure = new_figure(2.8)
        axes = add_axes(figure, yscale="log", ylabel=found[0]["of"], xlabel=found[0]["label"])
        whole = all(one["whole"] for one in found)
        axes.set_xscale("symlog" if whole else "log")
        for one, colour in zip(found, SERIES, strict=False):
            x, y = thinned(np.asarray(one["values"], float), np.asarray(one["counts"], float))
            axes.plot(x, y, ".", color=colour, label=one["label"])
        enough_ticks((axes.xaxis, whole), (axes.yaxis, True))
        plain_ticks(axes.xaxis, axes.yaxis)
        if len(found) > 1:
            axes.legend()
    return as_svg(figure, "distribution", f"Distribution of {found[0]['label']}")


def supersteps_chart(steps: list[dict[str, Any]], before: int) -> str:
    """Active vertices and time of each superstep, both logarithmic; behind `before` others."""
    number, seconds, active = before + _numbers(steps), _column(steps, "seconds"), _column(steps, "frontier")
    with styled():
        figure = new_figure(2.8)
        axes = add_axes(figure, xlabel="superstep", ylabel="active vertices", yscale="symlog")
        axes.plot(*thinned(number, active), ".-", color=SERIES[0], label="active vertices")
        axes.set_ylim(0, 2 * max(active.max(initial=0), 1))  # a line at the greatest value is below the edge
        right = axes.twinx()
        right.set(ylabel="milliseconds", yscale="log" if (seconds > 0).any() else "linear")
        right.plot(*thinned(number, 1e3 * seconds), ".--", color=SERIES[1], label="milliseconds")
        plain_ticks(axes.yaxis, right.yaxis)
        lines = [*axes.lines, *right.lines]
        axes.legend(lines, [line.get_label() for line in lines])
    return as_svg(figure, "supersteps", "Active vertices and time of each superstep")


def shares_chart(steps: list[dict[str, Any]], link: float, disk: float) -> str:
    """What share of the link's and the disk's rate each superstep used, over the run's time.

    link, disk: bytes/s; 0: not there, or not known.
    """
    seconds = np.maximum(_column(steps, "seconds"), 1e-9)
    ends = np.cumsum(seconds)
    with styled():
        figure = new_figure(2.2)
        axes = add_axes(figure, xlabel="seconds", ylabel="% of the rate", xlim=(0, ends[-1]))
        for label, rate, moved, colour in (
            ("link", link, "bytes_moved", SERIES[0]),
            ("disk", disk, "bytes_read", SERIES[1]),
        ):
            if rate > 0:
                share = 100 * _column(steps, moved) / seconds / rate
                x, y = thinned(np.concatenate([[0], ends]), np.concatenate([share[:1], share]))
                axes.step(x, y, where="pre", color=colour, label=label)
        axes.set_ylim(bottom=0)
        axes.legend()
    return as_svg(figure, "shares", "Share of link and disk over time")


def memory_chart(samples: list[Any]) -> str:
    """Memory of the process after each superstep."""
    at = np.asarray([[float(second), float(held)] for second, held in samples])
    with styled():
        figure = new_figure(2.0)
        axes = add_axes(figure, xlabel="seconds", ylabel="MiB")
        axes.plot(*thinned(at[:, 0], at[:, 1] / (1 << 20)), ".-", color=SERIES[2])
        axes.set_ylim(0, 1.1 * max(at[:, 1].max() / (1 << 20), 1))
    return as_svg(figure, "memory", "Memory of the process over time")


def timeline_chart(lanes: list[Lane], seconds: float) -> str:
    """One bar a lane; the darker, the more of its tracks work at that time."""
    with styled():
        figure = new_figure(0.7 + LANE_INCHES * len(lanes))
        axes = add_axes(figure, xlabel="seconds", xlim=(0, seconds), ylim=(len(lanes) - 0.5, -0.5))
        axes.grid(False)
        processes = list(dict.fromkeys(lane.process for lane in lanes))
        for row, lane in enumerate(lanes):
            colour = SERIES[processes.index(lane.process) % len(SERIES)]
            axes.axhline(row, color=FAINT, linewidth=0.5)
            for level in sorted({level for _, _, level in lane.bars}):
                bars = [(start, length) for start, length, one in lane.bars if one == level]
                axes.broken_barh(bars, (row - 0.36, 0.72), facecolors=colour, alpha=level, linewidth=0)
        axes.set_yticks(range(len(lanes)), [lane.label for lane in lanes])
        axes.tick_params(axis="y", length=0, labelcolor=INK)
    return as_svg(figure, "timeline", "Time lines of the devices")


def thinned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At most about MOST_DRAWN of the points, the last one and the greatest among them."""
    if len(x) <= MOST_DRAWN:
        return x, y
    chosen = np.unique(np.concatenate([np.linspace(0, len(x) - 1, MOST_DRAWN).astype(int), [int(np.argmax(y))]]))
    return x[chosen], y[chosen]


def _numbers(steps: list[dict[str, Any]]) -> np.ndarray:
    """The number of the last superstep of each entry, from 1."""
    return np.cumsum(_column(steps, "supersteps"))


def _column(steps: list[dict[str, Any]], name: str) -> np.ndarray:
    return np.asarray([float(step[name]) for step in steps])
