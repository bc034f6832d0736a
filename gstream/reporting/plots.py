"""Plots of answers, by matplotlib and NetworkX, which are an extra: `pip install 'gstream[plot]'`."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from gstream.reporting.distributions import Distribution, distributions
from gstream.reporting.svg import enough_ticks
from pagestore.errors import LibraryMissingError, UsageError, plain
from pagestore.faults import not_installed
from pagestore.replacing import refuse_replacing, replacing

MOST_EDGES = 2000  # of a drawing: past it nobody sees which vertices are joined
MOST_NAMED = 60
PACKAGES = "'gstream[plot]'"


def check_plot(path: str | os.PathLike, edges: bool = False) -> None:
    """Raise, before anything is computed, where no plot can be written to `path`. edges: they may have to be drawn."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
    except ImportError:
        raise UsageError(not_installed("matplotlib", "--plot", PACKAGES)) from None
    if edges and find_spec("networkx") is None:
        raise UsageError(not_installed("networkx", "--plot of edges", PACKAGES))
    known = sorted(FigureCanvasAgg.get_supported_filetypes())
    ending = os.path.splitext(os.fspath(path))[1].lstrip(".").lower()
    if ending not in known:
        raise UsageError(f"{path}: the ending says the format; known are .{', .'.join(known)}. Rename it.")
    folder = os.path.dirname(os.fspath(path)) or "."
    if not os.path.isdir(folder):
        raise UsageError(f"{path}: its folder {folder} does not exist. Make it first.")


def plot_result(
    result: Any, column: str | None = None, path: str | os.PathLike | None = None, force: bool = False
) -> Any:
    """The distribution of a column's numbers, both axes logarithmic, or a drawing of up to 2,000 edges. Returns the
    Axes.

    column: None for the first of numbers; of groups their sizes, of edges the drawing. path: a file to write, or None;
    force: over what exists. Raises UsageError where there is nothing to draw or the file exists, LibraryMissingError
    where a library lacks.
    """
    if path is not None:
        check_plot(path)
        refuse_replacing(Path(path), force)
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError(not_installed("matplotlib", "plot", PACKAGES)) from None
    edges = result.columns[:2] == ["source", "target"]
    if edges and column is None and len(result) <= MOST_EDGES:
        axes = _draw_edges(result, Figure(layout="constrained"))
    else:
        found = distributions(result, column)
        if not found and edges:
            raise UsageError(
                f"plot: the answer has {len(result):,} edges, and a drawing shows up to {MOST_EDGES:,}. Ask for fewer, "
                "as egonet with a smaller radius."
            )
        if not found or column not in (None, *result.columns):
            numbers = [one.name for one in result._columns if not (one.vertices or one.length)]
            there = f"; those are {', '.join(numbers)}" if numbers else ""
            raise UsageError(f"plot: {'no column' if column is None else column} holds numbers{there}. Name one.")
        axes = _draw_distributions(found, Figure(layout="constrained"))
    axes.set_title(_title(result))
    if path is not None:
        _save(axes.figure, path)
    return axes


def _title(result: Any) -> str:
    return str(result.summary.get("algorithm", ""))


def _draw_distributions(found: list[Distribution], figure: Any) -> Any:
    """A row of dots each; whole numbers keep their 0."""
    whole = all(one.whole for one in found)
    axes = figure.add_subplot(
        xscale="symlog" if whole else "log", yscale="log", xlabel=found[0].label, ylabel=found[0].of
    )
    for one in found:
        axes.plot(one.values, one.counts, ".", label=one.label)
    enough_ticks((axes.xaxis, whole), (axes.yaxis, True))
    if len(found) > 1:
        axes.legend()
    return axes


def _draw_edges(result: Any, figure: Any) -> Any:
    """Vertices by NetworkX's spring layout, always the same for the same edges; names where there are few."""
    try:
        import matplotlib
        import networkx as nx

        graph = nx.Graph()
        graph.add_edges_from(tuple(row[:2]) for row in result)
        place = nx.spring_layout(graph, seed=0)  # of 500 vertices and more SciPy computes it
    except ImportError as error:
        raise LibraryMissingError(not_installed(str(error.name), "plot of edges", PACKAGES)) from None
    with matplotlib.rc_context({"text.parse_math": False}):  # `$` in names is a dollar
        axes = figure.add_subplot(aspect="equal")
        axes.set_axis_off()
        if place:
            ends = np.array([(place[row[0]], place[row[1]]) for row in result])
            begin, way = ends[:, 0], ends[:, 1] - ends[:, 0]
            heads = 5 if result._store.meta.directed else 0
            axes.quiver(
                *begin.T, *way.T, angles="xy", scale_units="xy", scale=1, width=0.0015, color="0.6",
                headwidth=heads, headlength=heads, headaxislength=heads,
            )  # fmt: skip
            axes.scatter(*np.array(list(place.values())).T, s=200 if len(place) < 10 else 24, zorder=2)
        if len(place) <= MOST_NAMED:
            for name, (x, y) in place.items():
                axes.annotate(plain(name), (x, y), (4, 4), textcoords="offset points", fontsize=8)
    return axes


def _save(figure: Any, path: str | os.PathLike) -> None:
    with replacing(path) as stream:  # by its name: not every format of matplotlib's goes into a binary stream
        figure.savefig(stream.name, format=os.path.splitext(os.fspath(path))[1].lstrip(".").lower())
