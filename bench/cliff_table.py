"""What cliffs.py's times say: the bounds that a row keeps or not, and the table."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from bench.cliff_graphs import LONG

USUAL = "n log n"
BOUNDS: dict[str, Callable[[dict[str, Any]], float]] = {  # work by a size
    USUAL: lambda size: size["edges"] * math.log(size["edges"]),
    "m^1.5": lambda size: size["edges"] ** 1.5,
    "n m": lambda size: size["vertices"] * size["edges"],
    "hops m": lambda size: size["supersteps"] * size["edges"],
    "iterations m": lambda size: size["supersteps"] * size["edges"],
}
WHY = {
    USUAL: "n is the number of edges",
    "m^1.5": "each edge's ends have up to m^0.5 neighbours in common: so long does it take to list m edges' triangles",
    "n m": "by its definition a search from each of n vertices over m edges",
    "hops m": "a sketch passes all of m edges once a hop, of which there are as many as the graph is wide, up to 256",
    "iterations m": "an iteration passes all of m edges, until values move by less than the tolerance: so many "
    "supersteps, two an iteration of hits; values that have settled are passed over, so it may be less",
}
# That a size is guessed by from one before it.
EXPONENTS = {USUAL: 1.1, "m^1.5": 1.5, "n m": 2.0, "hops m": 1.5, "iterations m": 1.1}
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
    return math.log(times) / math.log(larger), times / allowed(row["bound"], before, after)


def allowed(bound: str, before: dict[str, Any], after: dict[str, Any]) -> float:
    """How many times as long as a size the next one may take, but for SLACK: by the bound, or as a linear walk does."""
    work = BOUNDS[bound]
    walks = before["walk_ms"], after["walk_ms"]
    return max(work(after) / work(before), walks[1] / walks[0] if all(walks) else 0.0)


def failures_of(row: dict[str, Any]) -> list[str]:
    """The bounds that a row breaks, in words."""
    found = [row["wrong"]] if row["wrong"] else []
    for name in ("ms", "certified_ms"):
        known = [size for size in row["sizes"] if size[name] is not None]
        for before, after in pairwise(known):
            most = SLACK * allowed(row["bound"], before, after) * max(before[name], 1.0)
            best = min(after["peers_ms"].values(), default=0.0)
            if after[name] > max(SOON_MS, most, TIMES * best):
                times = after[name] / before[name]
                certified = "certified, " if name == "certified_ms" else ""
                found.append(f"{certified}{after['edges']} edges: {times:.0f} times as long as {before['edges']}")
    for size in row["sizes"]:
        if row["shape"] in LONG and size["edges"] >= PEERS_FROM and size["peers_ms"] and size["ms"] > SOON_MS:
            peer, best = min(size["peers_ms"].items(), key=lambda item: item[1])
            if size["ms"] > TIMES * best:
                found.append(f"{size['edges']} edges: {size['ms'] / best:.0f} times {peer}")
    missing = [text for text in (row["skipped"], row["uncertified"]) if text]
    return found + missing if row["bound"] == USUAL or not row["sizes"] else found


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
        "; ".join(failures_of(row) or ["ok", *(row[name] for name in UNMEASURED if row.get(name))]),
    ]


UNMEASURED = ("skipped", "uncertified", "unmet", "refused")  # fields of a row that say what is not there, and why
HEADINGS = (
    "algorithm", "graph", "ms by size", "certified ms", "supersteps", "edges looked at / edges", "exponent", "bound",
    "best peer, ms", "verdict",
)  # fmt: skip


def line(row: dict[str, Any]) -> str:
    return "| " + " | ".join(cells(row)) + " |"


def named(rows: list[dict[str, Any]], bound: str) -> str:
    """The algorithms of a bound."""
    return ", ".join(dict.fromkeys(row["what"] for row in rows if row["bound"] == bound)) or "none here"


def markdown(whole: dict[str, Any]) -> str:
    """The whole table, broken rows first."""
    facts, rows = whole["machine"], whole["rows"]
    broken = [row for row in rows if failures_of(row)]
    lines = [
        "# Growth on long, flat, dense and lopsided graphs",
        "",
        f"- {facts['date']}, commit {facts['commit'][:12]}; {facts['cpu']}; {facts['cores']} cores",
        f"- `{whole['command']}`",
        f"- a run may take {whole['budget_s']:g} s, and what is measured at once, up to 3 runs, {whole['limit_s']:g} s",
        f"- load average when it began: {facts['load_average_before']}",
        f"- exponent: of the time in the edges, between the two largest sizes; a row may grow {SLACK:g} times as its "
        f"bound, or a linear walk by scipy, does, and below {SOON_MS:g} ms as it likes",
        *(f"- bound {bound}: {named(rows, bound)}; {why}" for bound, why in WHY.items() if bound != USUAL),
        f"- bound {USUAL}: all others; {WHY[USUAL]}",
        f"- peers, on long diameters from {PEERS_FROM} edges on: at most {TIMES:g} times the best, or {SOON_MS:g} ms",
        f"- {len(rows)} rows, {len(broken)} break a bound",
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "|" + "---|" * len(HEADINGS),
    ]
    return "\n".join([*lines, *map(line, broken), *(line(row) for row in rows if row not in broken), ""])
