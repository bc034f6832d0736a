"""Results on disk: JSON with every figure, and a markdown table for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench import harness, plots
from bench.figures import Figure

QUIET_CORES = 0.1  # others may keep this many cores busy before a figure is marked
TITLES = {
    "host": ("Benchmarks on the host's cores", "cores", "Figures are medians."),
    "gpu": ("Benchmarks on GPUs", "machine", "Figures are medians; times of BFS, components and SSSP are means."),
    "thesis": ("The GStream thesis's experiments, measured again", "machine", "Times are means of whole runs."),
    "edge_vertex": (
        "Approximate sort by degree, after the Edge-Vertex paper",
        "machine",
        "Times are the least of several; in natural order, medians.",
    ),
    "garaph": ("Garaph's experiments, measured again", "machine", "Times are the least of several whole runs."),
    "simd": ("SIMD efficiency by group size, after its paper", "machine", "Times are medians; BFS is all its sources."),
}  # by name of the results: heading, what peers and ceilings shared with ours, how figures were made of runs
TABLED = (
    "edge_vertex",
    "edge_vertex-11",
    "edge_vertex-14",
    "simd",
    "simd-more",
    "simd-5",
    "simd-3",
    "simd-levels",
)  # plots whose points are a table of their own
DRAWN = ("simd-2", "garaph-10", "garaph-11")  # plots of so many points that no table has them
HEADINGS = ("measurement", "graph", "ours", "spread", "against", "its figure", "ratio", "target", "verdict")


def number(value: float) -> str:
    """Three significant digits without an exponent: 0.123, 12.3, 1234."""
    if value == 0 or abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.2f}" if abs(value) >= 10 else f"{value:.3g}"


def verdict(figure: Figure) -> str:
    return {True: "pass", False: "**fail**", None: ""}[figure.passed]


def cells(figure: Figure) -> tuple[str, ...]:
    """One row of the table, in the order of HEADINGS."""
    spread = figure.spread or {}
    span = f"{number(spread['least'])} to {number(spread['most'])}, {spread['runs']:.0f} runs" if spread else ""
    against = figure.against + (" (recorded)" if figure.recorded else "")
    mark = " (busy)" if (figure.disturbance or 0) > QUIET_CORES else ""
    return (
        figure.what,
        figure.graph,
        f"{number(figure.value)} {figure.unit}{mark}",
        span,
        against,
        f"{number(figure.against_value)} {figure.unit}" if figure.against_value is not None else "",
        f"{figure.ratio:.2f}" if figure.ratio is not None else "",
        figure.target,
        verdict(figure),
    )


def _machine_lines(machine: dict[str, Any]) -> list[str]:
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    changed = " with uncommitted changes" if machine["uncommitted_changes"] else ""
    return [
        f"- {machine['date']}, commit {machine['commit'][:12]}{changed}",
        f"- {machine['cpu']}; {machine['cores']} cores, {machine['memory_gib']} GiB; {machine['system']}",
        f"- Python {machine['python']}; {versions}",
        *[f"- {gpu}" for gpu in machine.get("gpus", [])],
        f"- load average when it began: {machine['load_average_before']}",
    ]


def rows(figures: list[Figure]) -> list[str]:
    """Table rows; what a row shares with the one above it (same measurement, other peer) is left blank."""
    lines: list[str] = []
    last: tuple[str, ...] = ()
    for figure in figures:
        row = cells(figure)
        shown = ("", "", "", "") if row[:4] == last else row[:4]
        last = row[:4]
        lines.append("| " + " | ".join(shown + row[4:]) + " |")
    return lines


def is_tabled(figure: Figure) -> bool:
    """Whether the figure stands in its plot, or in that plot's table, and nowhere else."""
    return figure.point is not None and figure.point["plot"] in (*TABLED, *DRAWN)


def tables(figures: list[Figure]) -> list[str]:
    """The points of each plot in TABLED, in the order in which panels and series came: a line a curve."""
    lines: list[str] = []
    for plot in TABLED:
        panels: dict[str, dict[str, dict[float, str]]] = {}
        for figure in figures:
            point = figure.point or {}
            if point.get("plot") == plot:
                mark = "*" if (figure.disturbance or 0) > QUIET_CORES else ""
                curves = panels.setdefault(f"{point['panel']}, {figure.unit}", {})
                curves.setdefault(point["series"], {})[point["x"]] = number(figure.value) + mark
        if not panels:
            continue
        title, axis, scales = plots.WORDS[plot]
        drawn = "" if scales == plots.TABLE_ONLY else f"; plot: `{plot}.svg`"
        marks = sorted({x for curves in panels.values() for curve in curves.values() for x in curve})
        lines += ["", f"## {title}", "", f"By {axis}{drawn}. \\*: *busy*.", ""]
        lines += ["| | | " + " | ".join(map(plots.mark_text, marks)) + " |", "|---|---|" + "---|" * len(marks)]
        for panel, curves in panels.items():
            for row, (series, curve) in enumerate(curves.items()):
                cells = " | ".join(curve.get(mark, "") for mark in marks)
                lines.append(f"| {'' if row else panel} | {series} | {cells} |")
    return lines


def notes(figures: list[Figure]) -> list[str]:
    """Sources of recorded figures, remarks, and how answers were checked, each said once for all it holds for."""
    holds_for: dict[str, list[str]] = {}
    for figure in figures:
        texts = [f"recorded: {figure.recorded}"] if figure.recorded else []
        texts += [figure.note] if figure.note else []
        texts += [f"answer checked: {figure.checked}"] if figure.checked else []
        for text in texts:
            name = f"{figure.what} ({figure.graph})" if text == figure.note else figure.what
            holds_for.setdefault(text, []).append(name)
    return [f"- {'; '.join(dict.fromkeys(names))}: {text}" for text, names in holds_for.items()]


def _wanted_lines(missing: list[dict[str, str]]) -> list[str]:
    """What the results have no figure of, though it is asked for."""
    if not missing:
        return []
    lines = ["", f"Asked for and **not measured** ({len(missing)}):", ""]
    for wanted in missing:
        graph = f" ({wanted['graph']})" if wanted["graph"] else ""
        lines.append(f"- {wanted['what']}{graph}" + (f": {wanted['target']}" if wanted["target"] else ""))
    return lines


def markdown(name: str, result: dict[str, Any], figures: list[Figure]) -> str:
    """The whole report; `name` is one of TITLES, `result` has the fields that bench.harness names."""
    title, shared, statistic = TITLES[name]
    lines = [f"# {title}", "", f"Made by `{result['command']}` in {result['seconds']:.0f} s.", ""]
    lines += _machine_lines(result["machine"])
    lines += [
        f"- measured later, commit {run['commit'][:12]}, {run['date']}; {run['cores']} cores, {run['gpus']} GPUs: "
        f"`{run['command']}`"
        for run in result.get("runs", [])[1:]
    ]
    lines += [
        f"- {result['graphs']}",
        "",
        "A ratio above 1 means that ours is better. Every figure that ours stands against was measured in the same run",
        f"on the same {shared}, except those marked *recorded*. {statistic} *busy*: others kept more than",
        f"{QUIET_CORES} cores busy meanwhile, so the figure says little. A blank measurement is the one above it.",
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "|" + "---|" * len(HEADINGS),
        *rows([figure for figure in figures if not is_tabled(figure)]),
        *tables(figures),
    ]
    named = [figure for figure in figures if figure.passed is not None]
    if named:
        lines += [
            "",
            f"Targets met: {sum(bool(figure.passed) for figure in named)} of {len(named)} that were measured.",
        ]
    lines += _wanted_lines(result.get("missing", []))
    for failure in result["failures"]:
        lines += ["", f"Not finished: {failure['measurement']} on {failure['graph']}: `{failure['error']}`"]
    for skip in result.get("skipped", []):
        lines += ["", f"Left out: {skip['measurement']} on {skip['graph']}: {skip['reason']}"]
    lines += ["", "## Notes", "", *notes(figures)]
    return "\n".join(lines) + "\n"


def write(folder: Path, name: str, result: dict[str, Any], figures: list[Figure]) -> tuple[Path, Path]:
    """Write NAME.json and NAME.md into `folder`; returns their paths."""
    paths = folder / f"{name}.json", folder / f"{name}.md"
    harness.save(paths[0], result, figures)
    paths[1].write_text(markdown(name, result, figures))
    return paths
