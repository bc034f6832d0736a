"""Plots of figures as SVG: curves of those that carry a point, and bars of shares. matplotlib is imported when drawn.

A figure's `point` is {plot, panel, series, x}: one file a plot, panels side by side, one curve a series.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.figures import Figure

PANEL_INCHES = (5.0, 3.6)
MOST_ABREAST = 4
BAR_INCHES = 0.3
MOST_MARKS = 12  # of an axis
TABLE_ONLY = "in the table alone"
BOXES = "boxes"  # of five numbers each: least, quartiles, most
WORDS = {  # plot: (title, horizontal axis, scale of the axes)
    "gpu-link": ("Pinned host-to-device copies", "MiB a copy", "log x"),
    "thesis-7": ("Figure 7: elapsed time", "scale of RMAT", "log y"),
    "thesis-8": ("Figure 8: several devices against one", "scale of RMAT", ""),
    "thesis-9": ("Figure 9: number of streams", "streams", "log x"),
    "thesis-10": ("Figure 10: cache size", "pages that the cache holds, %", ""),
    "thesis-11": ("Figure 11: density and micro-level technique", "edges a vertex", "log x"),
    "edge_vertex": ("Approximate sort: number of buckets", "buckets (1: no sort, 2^20: one a degree)", "log x"),
    "edge_vertex-11": ("Figure 11: approximate and exact sorts", "million vertices", "log x, log y"),
    "edge_vertex-14": ("Figure 14: extra memory of column pages", "lists a group (1: rows alone)", "log x"),
    "simd": ("Figure 6: shares of SIMD lanes by the model", "lanes a list, S", "log x"),
    "simd-more": ("Figure 6, for in-pages and for degree order", "lanes a list, S", TABLE_ONLY),
    "simd-2": ("Figure 2: frontiers by level", "level", "log y"),
    "simd-3": ("Figure 3: out-degrees", "", "boxes"),
    "simd-levels": ("Figure 6 by level: shares of SIMD lanes", "level, by its edges (1: the most)", ""),
    "garaph-10": ("Figure 10: directions", "superstep", "log y"),
    "garaph-11": ("Figure 11: cores, GPU and both", "superstep", "log y"),
    "simd-5": ("Figure 5: measured speed", "lanes a list, S", "log x"),
}


def draw(folder: Path, name: str, figures: Sequence[Figure]) -> list[Path]:
    """Draw what the figures allow into `folder`; paths. Without matplotlib nothing is drawn, and a line says so."""
    try:
        import matplotlib
    except ImportError:
        print("no plots: matplotlib is not installed", file=sys.stderr)
        return []
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "gstream"  # the same figures give the same file
    matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text: half the size
    wanted = {_plot_of(each) for each in figures}
    drawn = [plot for plot in WORDS if plot in wanted and WORDS[plot][2] != TABLE_ONLY]
    paths = [(_boxes if WORDS[plot][2] == BOXES else _curves)(folder, plot, figures) for plot in drawn]
    targets = [figure for figure in figures if figure.need and figure.ratio is not None]
    shares = [figure for figure in figures if figure.ceiling and figure.ratio is not None and not figure.point]
    for title, kind, chosen in (("Targets", "targets", targets), ("Share of the ceiling", "ceilings", shares)):
        if chosen:
            paths.append(_bars(folder / f"{name}-{kind}.svg", title, chosen))
    return paths


def mark_text(mark: float) -> str:
    """A point of a horizontal axis in words: 1,048,576, or three digits of a fraction."""
    return f"{mark:,.0f}" if float(mark).is_integer() else f"{mark:.3g}"


def _plot_of(figure: Figure) -> str:
    return figure.point["plot"] if figure.point else ""


def _save(canvas: Any, path: Path) -> Path:
    canvas.savefig(path, bbox_inches="tight", metadata={"Date": None})
    return path


def _curves(folder: Path, plot: str, figures: Sequence[Figure]) -> Path:
    from matplotlib.figure import Figure as Canvas

    title, axis, scales = WORDS[plot]
    curves: dict[str, dict[tuple[str, str], list[tuple[float, float]]]] = {}  # panel: (unit, series): points
    for figure in figures:
        if figure.point and figure.point["plot"] == plot:
            curve = figure.unit, figure.point["series"]
            curves.setdefault(figure.point["panel"], {}).setdefault(curve, []).append((figure.point["x"], figure.value))
    width, height = PANEL_INCHES
    abreast = min(len(curves), MOST_ABREAST)
    down = -(-len(curves) // abreast)
    canvas = Canvas(figsize=(width * abreast, height * down))
    places = canvas.subplots(down, abreast, squeeze=False).flatten()
    for place in places[len(curves) :]:
        place.set_axis_off()
    for place, (panel, lines) in zip(places, curves.items(), strict=False):
        unit = next(iter(lines))[0]
        beside = place.twinx() if any(other != unit for other, _ in lines) else place
        for (of, series), points in lines.items():
            ordered = sorted(set(points))
            xs, ys = [x for x, _ in ordered], [y for _, y in ordered]
            if of == unit:
                place.plot(xs, ys, marker="o", label=series)
            else:  # another unit has its axis on the right
                place.plot([], [], color="grey", linestyle="--", label=f"{series}, {of}")
                beside.plot(xs, ys, color="grey", linestyle="--", marker=".")
                beside.set_ylim(bottom=0)
                beside.set_ylabel(of)
        _finish_axes(place, panel, axis, unit, scales, sorted({x for one in lines.values() for x, _ in one}))
    canvas.suptitle(title)
    canvas.tight_layout()
    return _save(canvas, folder / f"{plot}.svg")


def _boxes(folder: Path, plot: str, figures: Sequence[Figure]) -> Path:
    """A box a series: its ends are quartiles, its whiskers the least and the most."""
    from matplotlib.figure import Figure as Canvas

    series: dict[str, list[float]] = {}
    for figure in figures:
        if figure.point and figure.point["plot"] == plot:
            series.setdefault(figure.point["series"], []).append(figure.value)
    stats = [
        {"label": name, "whislo": five[0], "q1": five[1], "med": five[2], "q3": five[3], "whishi": five[4]}
        for name, five in series.items()
    ]
    canvas = Canvas(figsize=(max(PANEL_INCHES[0], len(stats)), PANEL_INCHES[1]))
    place = canvas.subplots()
    place.bxp(stats, showfliers=False)
    place.set_yscale("symlog", linthresh=1)
    place.set_ylabel(next(figure.unit for figure in figures if _plot_of(figure) == plot))
    place.tick_params(axis="x", labelrotation=30)
    place.grid(alpha=0.3, axis="y")
    canvas.suptitle(WORDS[plot][0])
    canvas.tight_layout()
    return _save(canvas, folder / f"{plot}.svg")


def _finish_axes(place: Any, panel: str, axis: str, unit: str, scales: str, marks: Sequence[float]) -> None:
    if "log x" in scales:
        place.set_xscale("log", base=2)
    step = -(-len(marks) // MOST_MARKS)
    place.set_xticks(marks[::step], [mark_text(mark) for mark in marks[::step]])
    place.minorticks_off()
    if "log y" in scales:
        place.set_yscale("log")
    else:
        place.set_ylim(bottom=0)
    place.set_title(panel)
    place.set_xlabel(axis)
    place.set_ylabel(unit)
    place.grid(alpha=0.3)
    place.legend(fontsize=7)


def _bars(path: Path, title: str, figures: Sequence[Figure]) -> Path:
    """One bar a figure: its ratio to what it stands against, with a line where the target is met."""
    from matplotlib.figure import Figure as Canvas

    named = {f"{figure.what} ({figure.graph})" if figure.graph else figure.what: figure for figure in figures}
    canvas = Canvas(figsize=(8, 1 + BAR_INCHES * len(named)))
    place = canvas.subplots()
    rows = list(reversed(named.items()))  # the first figure stands on top
    ratios = [figure.ratio or 0.0 for _, figure in rows]
    colours = ["tab:red" if figure.passed is False else "tab:blue" for _, figure in rows]
    place.barh([label for label, _ in rows], ratios, color=colours)
    for row, (_, figure) in enumerate(rows):
        need = figure.need or 1.0
        place.plot([need, need], [row - 0.4, row + 0.4], color="black")
    for row, ratio in enumerate(ratios):
        place.text(ratio, row, f" {ratio:.2f}", va="center", fontsize=8)
    place.set_title(title)
    place.set_xlabel("ratio; the black line is the target" if title == "Targets" else "share that was reached")
    place.set_xlim(left=0)
    place.tick_params(axis="y", labelsize=8)
    return _save(canvas, path)
