"""Plots of answers, by matplotlib, which is an extra: `pip install 'gstream[plot]'`."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from pagestore.errors import UsageError
from pagestore.replacing import replacing

CLASSES = 64  # of values that are no whole numbers


def check_plot(path: str | os.PathLike) -> None:
    """Raise, before anything is computed, where no plot can be written to `path`."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
    except ImportError:
        raise UsageError(
            "--plot: needs matplotlib, which is not here. pip install matplotlib, or leave --plot out."
        ) from None
    known = sorted(FigureCanvasAgg.get_supported_filetypes())
    ending = os.path.splitext(os.fspath(path))[1].lstrip(".").lower()
    if ending not in known:
        raise UsageError(f"{path}: the ending says the format; known are .{', .'.join(known)}. Rename it.")
    folder = os.path.dirname(os.fspath(path)) or "."
    if not os.path.isdir(folder):
        raise UsageError(f"{path}: its folder {folder} does not exist. Make it first.")


def plot_degrees(table: Any, path: str | os.PathLike) -> None:
    """A degree distribution, both axes logarithmic: one row of dots a column. Raises UsageError, ResourceError."""
    check_plot(path)
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    axes = figure.add_subplot(
        xscale="symlog", yscale="log", xlabel="degree", ylabel="vertices", title="Degree distribution"
    )
    rows = table.to_numpy()
    for name, label in (("vertices", "degree"), ("out", "out-degree"), ("in", "in-degree")):
        if name in table.columns:
            there = rows[name] > 0
            axes.plot(rows["degree"][there], rows[name][there], ".", label=label)
    axes.legend()
    _save(figure, path)


def plot_distribution(result: Any, column: str | None, path: str | os.PathLike | None) -> Any:
    """How many rows have each value of a column, both axes logarithmic; floats by 64 classes. Returns the Axes.

    column: None for the first of numbers. Raises UsageError where there is none, or no matplotlib.
    """
    if path is not None:
        check_plot(path)
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError("plot: needs matplotlib, which is not here. pip install matplotlib.") from None
    kinds = result.numpy_dtype()
    numbers = [name for name in result.columns[1:] if kinds[name].kind in "iuf"]
    if not numbers or column not in (None, *numbers):
        there = f"; those are {', '.join(numbers)}" if numbers else ""
        raise UsageError(f"plot: {'no column' if column is None else column} holds numbers{there}. Name one.")
    column = column or numbers[0]
    values = result[column]
    values = values[np.isfinite(values) & (values >= 0)].astype(np.float64)
    axes = Figure(layout="constrained").add_subplot(
        xscale="symlog" if kinds[column].kind != "f" else "log", yscale="log", xlabel=column, ylabel="rows",
        title=str(result.summary.get("algorithm", "")),
    )  # fmt: skip
    if kinds[column].kind == "f":
        values = values[values > 0]
        low, high = (float(values.min()), float(values.max())) if len(values) else (1.0, 1.0)
        counts, edges = np.histogram(values, np.geomspace(low, max(high, low * (1 + 1e-9)), CLASSES + 1))
        place = np.sqrt(edges[:-1] * edges[1:])
    else:
        place, counts = np.unique(values, return_counts=True)
    axes.plot(place[counts > 0], counts[counts > 0], ".")
    if path is not None:
        _save(axes.figure, path)
    return axes


def _save(figure: Any, path: str | os.PathLike) -> None:
    with replacing(path) as stream:  # by its name: not every format of matplotlib's goes into a binary stream
        figure.savefig(stream.name, format=os.path.splitext(os.fspath(path))[1].lstrip(".").lower())
