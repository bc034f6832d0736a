"""Figures of matplotlib's as SVG that stands in a page: colours are the page's CSS variables, nothing is outside it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from io import StringIO
from typing import Any

from pagestore.sizes import show_count

# What matplotlib is told, and the CSS that stands there in the page; colours that no figure has otherwise.
INK, FAINT = "#010203", "#010204"
SERIES = ("#010211", "#010212", "#010213", "#010214", "#010215", "#010216")
CSS = {INK: "currentColor"} | {
    colour: f"var({'-' * 2}{name})"  # no word that reads like an option of the command line: tests look for those
    for name, colour in zip(("faint", *(f"series-{number}" for number in range(1, 7))), (FAINT, *SERIES), strict=True)
}
STYLE: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text, which is searched and read aloud
    "font.size": 9, "text.parse_math": False, "axes.unicode_minus": False,
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": FAINT, "xtick.color": INK, "ytick.color": INK,
    "grid.color": FAINT, "grid.linewidth": 0.5, "legend.frameon": False, "axes.spines.top": False,
    "axes.spines.right": False, "axes.facecolor": "none", "figure.facecolor": "none", "savefig.facecolor": "none",
}  # fmt: skip
WIDTH_INCHES = 8.2
FEWEST_TICKS, MOST_TICKS = 3, 6  # of an axis


def new_figure(height_inches: float) -> Any:
    """A figure without a background, to be made and filled within `styled`."""
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH_INCHES, height_inches), layout="constrained")


def styled() -> Any:
    """The context in which figures are made and printed."""
    import matplotlib

    return matplotlib.rc_context(STYLE)


def add_axes(figure: Any, **settings: Any) -> Any:
    """Axes with a grid behind what is drawn."""
    axes = figure.add_subplot(**settings)
    axes.grid(True, axis="y")
    axes.set_axisbelow(True)
    return axes


def enough_ticks(*axes: tuple[Any, bool]) -> None:
    """Ticks within what is drawn, where powers of ten give fewer than FEWEST_TICKS there: 1, 2, 5, ... of each power,
    or even steps. axes: each with whether its values are whole numbers."""
    import numpy as np
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

    for axis, whole in axes:
        least, most = axis.get_view_interval()
        if len(_within(axis.get_majorticklocs(), least, most)) >= FEWEST_TICKS:
            continue
        first, last = (np.log10(max(end, 1e-30)) for end in (least, most))
        powers = 10.0 ** np.arange(np.floor(first), last + 1)
        ticks = [step * power for power in powers for step in (1, 2, 5) if not whole or step * power >= 1]
        ticks = _within([0.0, *ticks] if whole else ticks, least, most)
        if len(ticks) < FEWEST_TICKS:
            ticks = _within(MaxNLocator(MOST_TICKS, integer=whole, min_n_ticks=1).tick_values(least, most), least, most)
        axis.set_major_locator(FixedLocator(ticks))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(lambda value, _: f"{value:g}")


def _within(ticks: Iterable[float], least: float, most: float) -> list[float]:
    return [float(tick) for tick in ticks if least <= tick <= most]


def plain_ticks(*axes: Any) -> None:
    """Numbers of logarithmic axes as `10 k`, not as mathematics, which would be drawn as paths."""
    from matplotlib.ticker import NullFormatter

    for one in axes:
        if one.get_scale() != "linear":
            one.set_major_formatter(lambda value, _: show_count(value) if abs(value) >= 1 else f"{value:g}")
            one.set_minor_formatter(NullFormatter())


def as_svg(figure: Any, name: str, title: str) -> str:
    """One <svg> element; name: letters that its IDs begin with, so that several stand in a page."""
    from xml.sax.saxutils import escape

    from matplotlib.backends.backend_svg import FigureCanvasSVG

    text = StringIO()
    with styled():
        import matplotlib

        matplotlib.rcParams["svg.hashsalt"] = name
        FigureCanvasSVG(figure).print_svg(text, metadata={"Date": None})
    drawn = text.getvalue()
    drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn[drawn.index("<svg") :], flags=re.DOTALL)
    drawn = re.sub(r'\bid="', f'id="{name}-', drawn)
    drawn = re.sub(r"url\(#", f"url(#{name}-", drawn).replace('href="#', f'href="#{name}-')
    for colour, css in CSS.items():
        drawn = drawn.replace(colour, css)
    drawn = re.sub(r"font: ([0-9.]+px) [^;\"]*", r"font: \1 system-ui, sans-serif", drawn)
    size = re.search(r'width="([0-9.]+)pt" height="([0-9.]+)pt"', drawn)
    if size:  # as wide as the page lets it be
        drawn = drawn.replace(size[0], f'role="img" aria-label="{escape(title, {chr(34): "&quot;"})}"', 1)
    return drawn
