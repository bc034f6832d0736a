"""What cliffs.py's times say: the bounds that a row keeps or not, and the table."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from bench.cliff_graphs import LONG

USUAL = "n log n"
BOUNDS: dict[str, Callable[[float], float]] = {  # work by edges; vertices grow as edges do but where noted
    USUAL: lambda edges: edges * math.log(edges),
    "m^1.5": lambda edges: edges**1.5,
    "n m": lambda edges: edges**2,
}
SLACK = 2.0  # times the growth of the bound: from one size to the next, graphs outgrow a cache
SOON_MS = 20.0
TIMES = 5.0
PEERS_FROM = 100_000  # edges


def growth(row: dict[str, Any]) -> tuple[float, float] | None:
    """(exponent, times the growth of its bound) between the two largest sizes; None of one size."""
    if len(row["sizes"]) < 2:
        return None
    before, after = row["sizes"][-2:]
    times, larger = after["ms"] / before["ms"], after["edges"] / before["edges"]
    bound = BOUNDS[row["bound"]]
    return math.log(times) / math.log(larger), times / (bound(after["edges"]) / bound(before["edges"]))


def failures_of(row: dict[str, Any]) -> list[str]:
    """The bounds that a row breaks, in words."""
    found = [row["wrong"]] if row["wrong"] else []
    bound = BOUNDS[row["bound"]]
    for name in ("ms", "certified_ms"):
        known = [size for size in row["sizes"] if size[name] is not None]
        for before, after in pairwise(known):
            allowed = SLACK * bound(after["edges"]) / bound(before["edges"]) * max(before[name], 1.0)
            best = min(after["peers_ms"].values(), default=0.0)
            if after[name] > max(SOON_MS, allowed, TIMES * best):
                times = after[name] / before[name]
                certified = "certified, " if name == "certified_ms" else ""
                found.append(f"{certified}{after['edges']} edges: {times:.0f} times as long as {before['edges']}")
    for size in row["sizes"]:
        if row["shape"] in LONG and size["edges"] >= PEERS_FROM and size["peers_ms"] and size["ms"] > SOON_MS:
            peer, best = min(size["peers_ms"].items(), key=lambda item: item[1])
            if size["ms"] > TIMES * best:
                found.append(f"{size['edges']} edges: {size['ms'] / best:.0f} times {peer}")
    if row["skipped"] and (row["bound"] == USUAL or not row["sizes"]):
        found.append(row["skipped"])
    return found


def judged(row: dict[str, Any]) -> dict[str, Any]:
    """The row with `failures`, and `exponent` and `over` (times the growth of its bound) where it has two sizes."""
    found = growth(row)
    named = {"exponent": round(found[0], 3), "over": round(found[1], 3)} if found else {}
    return row | named | {"failures": failures_of(row)}


def join(wholes: list[dict[str, Any]]) -> dict[str, Any]:
    """Rows of several results; what a later one measured again replaces what earlier ones did."""
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for whole in wholes:
        for row in whole["rows"]:
            rows[row["what"], row["shape"], row["numbering"]] = row
    return wholes[0] | {"command": "; ".join(whole["command"] for whole in wholes), "rows": list(rows.values())}


def number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2g}"


def cells(row: dict[str, Any]) -> list[str]:
    """One row of the table."""
    found = growth(row)
    last = row["sizes"][-1] if row["sizes"] else None
    peer = min(last["peers_ms"].items(), key=lambda item: item[1]) if last and last["peers_ms"] else None
    certified = [number(size["certified_ms"]) for size in row["sizes"] if size["certified_ms"] is not None]
    return [
        row["what"],
        f"{row['shape']}, {row['numbering']}",
        " / ".join(number(size["ms"]) for size in row["sizes"]),
        " / ".join(certified),
        " / ".join(str(size["supersteps"]) for size in row["sizes"]),
        f"{last['edges_visited'] / last['edges']:.3g}" if last else "",
        f"{found[0]:.2f}" if found else "",
        row["bound"],
        f"{peer[0]} {number(peer[1])}" if peer else "",
        "; ".join(failures_of(row)) or ("ok" if not row["skipped"] else f"ok; {row['skipped']}"),
    ]


HEADINGS = (
    "algorithm", "graph", "ms by size", "certified ms", "supersteps", "edges looked at / edges", "exponent", "bound",
    "best peer, ms", "verdict",
)  # fmt: skip


def line(row: dict[str, Any]) -> str:
    return "| " + " | ".join(cells(row)) + " |"


def markdown(whole: dict[str, Any]) -> str:
    """The whole table, broken rows first."""
    facts, rows = whole["machine"], whole["rows"]
    broken = [row for row in rows if failures_of(row)]
    lines = [
        "# Growth on long, flat, dense and lopsided graphs",
        "",
        f"- {facts['date']}, commit {facts['commit'][:12]}; {facts['cpu']}; {facts['cores']} cores",
        f"- `{whole['command']}`; a run may take {whole['budget_s']:g} s",
        f"- load average when it began: {facts['load_average_before']}",
        f"- exponent: of the time in the edges, between the two largest sizes; a row may grow {SLACK:g} times as its "
        f"bound does, and below {SOON_MS:g} ms as it likes",
        f"- peers, on long diameters from {PEERS_FROM} edges on: at most {TIMES:g} times the best, or {SOON_MS:g} ms",
        f"- {len(rows)} rows, {len(broken)} break a bound",
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "|" + "---|" * len(HEADINGS),
    ]
    return "\n".join([*lines, *map(line, broken), *(line(row) for row in rows if row not in broken), ""])
