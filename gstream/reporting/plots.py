"""Plots of answers, by matplotlib, which is an extra: `pip install 'gstream[plot]'`."""

from __future__ import annotations

import os
from typing import Any

from pagestore.errors import UsageError
from pagestore.replacing import replacing


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
    with replacing(path) as stream:  # by its name: not every format of matplotlib's goes into a binary stream
        figure.savefig(stream.name, format=os.path.splitext(os.fspath(path))[1].lstrip(".").lower())
