"""The report of a run: one HTML file without anything outside it, by jinja2 and matplotlib (`gstream[report]`).

Every name in it (of vertices, files, options, spans) goes through jinja2's escaping, or through matplotlib's of text in
SVG. The page has no script.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gstream.reporting.timelines import lanes_of
from gstream.telemetry.compiling import LEAST_SECONDS
from pagestore.errors import InputError, LibraryMissingError, UsageError, plain
from pagestore.faults import not_installed
from pagestore.replacing import replacing
from pagestore.sizes import show_bytes, show_count, show_seconds

TEMPLATE = Path(__file__).with_name("report.html")
MOST_STEPS = 100  # rows of the table of supersteps, from the first and the last on
FORMAT = 1
ENDINGS = (".html", ".htm")
MOST_TRACE_BYTES = 1 << 30  # of a trace that is read back: JSON takes some ten times as much in memory


def check_report(path: str | os.PathLike) -> None:
    """Raise, before anything is computed, UsageError for another ending than .html, LibraryMissingError where no report
    can be made."""
    if os.path.splitext(os.fspath(path))[1].lower() not in ENDINGS:
        raise UsageError(f"{path}: a report is a page; its ending is {' or '.join(ENDINGS)}. Rename it.")
    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise LibraryMissingError(not_installed(str(error.name), "a report", "'gstream[report]'")) from None


def write_report(path: str | os.PathLike, facts: dict[str, Any] | None, events: list[dict[str, Any]]) -> None:
    """Write the page; the file is complete, or what was there before. Raises LibraryMissingError, UsageError,
    ResourceError."""
    check_report(path)
    text = render(facts, events)
    with replacing(path) as stream:
        stream.write(text.encode("utf-8", errors="replace"))


def report_of_trace(trace: str | os.PathLike, path: str | os.PathLike) -> None:
    """Write the report of a file of --trace. Raises InputError where it is none."""
    import json

    check_report(path)
    from jinja2 import TemplateError

    refusal = f"{plain(trace)}: is no trace as gstream run --trace writes them"
    try:
        if os.path.getsize(trace) > MOST_TRACE_BYTES:
            raise InputError(
                f"{plain(trace)}: holds more than {show_bytes(MOST_TRACE_BYTES)}, the limit. Trace a shorter run."
            )
        with open(trace, "rb") as file:
            found = json.load(file)
    except OSError as error:
        raise InputError(f"{plain(trace)}: {error.strerror}. Name a file that gstream run --trace wrote.") from None
    except (ValueError, RecursionError):
        raise InputError(f"{refusal}: it is not JSON. Name another file.") from None
    other = found.get("otherData") if isinstance(found, dict) else None
    if not isinstance(other, dict) or not isinstance(found.get("traceEvents"), list):
        raise InputError(f"{refusal}. Name another file.")
    facts = other.get("gstream")
    if facts is not None and (not isinstance(facts, dict) or facts.get("format") != FORMAT):
        raise InputError(f"{refusal}: its run is of another version of gstream. Make the report with that one.")
    try:
        write_report(path, facts, found["traceEvents"])
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, OverflowError, TemplateError):
        raise InputError(f"{refusal}: its figures are not those of a run. Name another file.") from None
    except InputError as error:
        raise InputError(f"{refusal}: {error.line} Name another file.") from None


def render(facts: dict[str, Any] | None, events: list[dict[str, Any]]) -> str:
    """The page's text. facts: of gstream.reporting.recorder; None: the trace alone. events: Chrome trace events."""
    import jinja2
    from markupsafe import Markup

    from gstream.reporting.charts import timeline_chart

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"size": show_bytes, "seconds": show_seconds, "count": show_count, "cell": cell}
    lanes, seconds = lanes_of(events)
    charts = {"timeline": timeline_chart(lanes, seconds)} if lanes else {}
    about: dict[str, Any] = {"facts": facts, "lanes": lanes, "span_seconds": seconds}
    if facts is not None:
        charts |= _charts(facts)
        steps, resumed = facts["stats"]["per_superstep"], _resumed(facts["stats"])
        about |= {"steps": _few(steps, resumed), "compared": compared(facts), "resumed": resumed}
        about["sharing"] = sharing_ranks(facts)
        about["untimed"] = any(not step.get("timed", True) for step in steps)
        about["told"] = sum(step["supersteps"] for step in steps)
        about["compiled"] = any(step.get("compile_seconds", 0) >= LEAST_SECONDS for step in steps)
    safe = {name: Markup(svg) for name, svg in charts.items()}
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(charts=safe, **about)


def _resumed(stats: dict[str, Any]) -> int:
    """The superstep that the run went on behind, 0 if it began afresh."""
    return (stats.get("kept") or {}).get("resumed") or 0


def sharing_ranks(facts: dict[str, Any]) -> dict[str, Any]:
    """What the summary says of ranks that shared the run; {}: one process did it."""
    ranks = facts["summary"].get("ranks") or {}
    return {} if ranks.get("alone", True) else ranks


def _charts(facts: dict[str, Any]) -> dict[str, str]:
    """Those of which there is something to draw."""
    from gstream.reporting import charts

    stats, found = facts["stats"], {}
    steps = [step for step in stats["per_superstep"] if isinstance(step, dict)]
    drawn = [one for one in facts["distributions"] if one["counts"]]
    if drawn:
        found["distribution"] = charts.distribution_chart(drawn)
    if len(steps) > 1:
        found["supersteps"] = charts.supersteps_chart(steps, _resumed(stats))
        disk = float(facts["plan"]["constants"]["disk"]) if facts["plan"] else 0.0
        disk *= sharing_ranks(facts).get("machines", 1)
        disk = disk if any(step["bytes_read"] for step in steps) else 0.0
        if stats["link_rate"] or disk:
            found["shares"] = charts.shares_chart(steps, float(stats["link_rate"]), disk)
    if len(facts["samples"]) > 1:
        found["memory"] = charts.memory_chart(facts["samples"])
    return found


def compared(facts: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """(what, predicted, measured, measured / predicted): of what the planner and the cost model said."""
    stats, rows = facts["stats"], []

    def row(name: str, predicted: float, measured: float, show: Any) -> None:
        if predicted:
            rows.append((name, show(predicted), show(measured), f"{measured / predicted:.2f}"))

    taken = sum(step["seconds"] for step in stats["per_superstep"])
    row("time of the supersteps", stats["predicted_seconds"], taken, show_seconds)
    row("bytes to devices", stats["predicted_bytes"], stats["bytes_moved"], show_bytes)
    plan = facts["plan"]
    if plan:
        if plan["copies"]:
            row(
                "memory of the fullest device", sum(plan["device_bytes"].values()), stats["on_device_bytes"], show_bytes
            )
        else:
            what = "memory of the fullest rank" if sharing_ranks(facts) else "memory"
            row(what, sum(plan["host_bytes"].values()), stats["peak_memory_bytes"], show_bytes)
        if plan["supersteps_are"] != "assumed":
            row("supersteps", plan["supersteps"], facts["summary"]["supersteps"], str)
    return rows


def _few(steps: list[dict[str, Any]], last: int) -> list[dict[str, Any] | int]:
    """The first and the last supersteps, with their numbers; between them how many are left out. last: the superstep
    before the first."""
    numbered: list[dict[str, Any] | int] = []
    for step in steps:
        first, last = last + 1, last + step["supersteps"]
        numbered.append(step | {"number": str(last) if first == last else f"{first} to {last}"})
    if len(numbered) <= MOST_STEPS:
        return numbered
    half = MOST_STEPS // 2
    return [*numbered[:half], len(numbered) - 2 * half, *numbered[-half:]]


def cell(value: Any) -> str:
    """A value in a table; jinja2 escapes it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return ", ".join(f"{plain(name).replace('_', ' ')} {cell(item)}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(cell(item) for item in value)
    return f"{value:,}" if isinstance(value, int) else plain(value)
