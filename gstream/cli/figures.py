"""A run's figures as lines for people."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

from gstream.telemetry.compiling import LEAST_SECONDS
from pagestore.sizes import show_bytes, show_count, show_seconds, show_things

START_S = 0.01  # that supersteps of a process's first run take more: threads start, and memory is fresh
OF_RUNS = ("supersteps", "not_finite")  # numbers of a summary that are said in words of their own


def summary_lines(summary: dict[str, Any], output: Path | None, rows: int) -> list[tuple[str, str]]:
    """A run's figures, for people."""
    stats = summary["stats"]
    seconds = stats["seconds"]
    ended = "" if summary.get("converged", True) else ", not converged"
    compiled = stats["compile_seconds"]
    compiling = f", after {show_seconds(compiled)} to compile or load kernels" if compiled > LEAST_SECONDS else ""
    asked = stats["cache_hits"] + stats["cache_misses"]
    planned = f"; planned {show_bytes(stats['predicted_bytes'])}" if stats["predicted_bytes"] else ""
    lines = [
        ("run", f"{summary['algorithm']} on {summary['store']}: {show_seconds(seconds)}{compiling}"),
        ("supersteps", f"{summary['supersteps']}{ended}{superstep_times(stats)}"),
        ("pages moved", f"{stats['pages_moved']:,}, {show_bytes(stats['bytes_moved'])} "
                        f"({stats['bytes_per_second'] / 1e9:.3g} GB/s{link_share(stats)}){planned}"),
        *attribute_lines(stats),
        ("read from disk", show_bytes(stats["bytes_read_disk"])),
        ("edges", f"{stats['edges_visited']:,} visited, {show_count(stats['edges_per_second'])} edges/s"),
        ("cache hits", f"{stats['cache_hits']:,} of {asked:,} pages ({stats['r_hit']:.0%})" if asked else "none used"),
        ("peak memory", f"{show_bytes(stats['peak_memory_bytes'])} of pages and attributes, "
                        f"{show_bytes(peak_rss())} in all"),
    ]  # fmt: skip
    lines += device_lines(stats)
    if stats["cores_pages"]:
        lines.append(("cores", f"took {stats['cores_pages']:,} pages beside the GPUs"))
    lines += rank_lines(summary.get("ranks"))
    lines += [("lost", f"{loss['lost']}, on to {loss['devices']}: {loss['why']}") for loss in summary["lost"]]
    lines += kept_lines(stats["kept"])
    for name, value in summary.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool) and name not in OF_RUNS:
            lines.append((name.replace("_", " "), f"{value:,}" if isinstance(value, int) else f"{value:.3g}"))
    if summary.get("definition"):
        lines.append(("definition", summary["definition"]))
    if summary.get("certificate"):
        lines.append(("certificate", certificate_text(summary["certificate"])))
    if output not in (None, Path("-")):
        lines.append(("written", f"{output}: {show_things(rows, 'row')}"))
    return lines


def rank_lines(ranks: dict[str, Any] | None) -> list[tuple[str, str]]:
    """Of a run that a launcher started several processes for: who did it."""
    if not ranks:
        return []
    shared = f"shared the run, and handed over {show_bytes(ranks['bytes_exchanged'])}"
    alone = "of one machine: the first did the run with the cores and GPUs of all (--ranks share: all work)"
    return [("ranks", f"{ranks['ranks']} {alone if ranks['alone'] else shared}")]


def distribution_rows(summary: dict[str, Any]) -> tuple[list[str], dict[str, list[Any]]] | None:
    """(names of figures, {what is distributed: its figures}) of a summary that has some, as of `stats`."""
    found = {name: value for name, value in summary.items() if isinstance(value, dict) and "mean" in value}
    if not found:
        return None
    names = list(next(iter(found.values())))
    return names, {name.replace("_", " "): [value[one] for one in names] for name, value in found.items()}


def attribute_lines(stats: dict[str, Any]) -> list[tuple[str, str]]:
    """What moved beside pages; nothing does where devices share the host's memory."""
    moved = stats["attribute_bytes_moved"]
    return [("attributes", f"{show_bytes(moved)} moved, degrees and heads included")] if moved else []


def kept_lines(kept: dict[str, Any] | None) -> list[tuple[str, str]]:
    """What was gone on from, and what was kept."""
    lines = []
    if kept and kept["resumed"] is not None:
        older = f"; the newer one was damaged: {kept['damaged']}" if kept["damaged"] else ""
        holds = f"{kept['folder']}/{kept['slot']}, which holds {', '.join(kept['holds'])}"
        after = f"after superstep {kept['resumed']}, from {holds}{older}"
        lines.append(("resumed", f"{after}; times, pages and edges are of what came then"))
    if kept and kept["written"]:
        size, seconds = show_bytes(kept["bytes"]), show_seconds(kept["seconds"])
        lines.append(("checkpoints", f"{kept['written']} in {kept['folder']}, {size} in {seconds}"))
    elif kept and kept["resumed"] is None:
        lines.append(("checkpoints", f"none in {kept['folder']}: the run ended first"))
    return lines


def link_share(stats: dict[str, Any]) -> str:
    """Of what the GPUs' links could have carried during the supersteps."""
    return f", {stats['link_share']:.0%} of the links in the supersteps" if stats["link_share"] else ""


def device_lines(stats: dict[str, Any]) -> list[tuple[str, str]]:
    """How even the work of several devices was (the model's d_skew), and how long merging took (t_sync)."""
    if stats["devices"] < 2:
        return []
    moved = stats["device_bytes_moved"]
    even = f"{stats['d_skew']:.0%} balanced, " if any(moved) else ""
    each = (
        f", {show_seconds(stats['merge_seconds'] / steps)} a superstep"
        if (steps := sum(step["supersteps"] for step in stats["per_superstep"]))
        else ""
    )
    return [("devices", f"{stats['devices']}, {even}merges {show_seconds(stats['merge_seconds'])}{each}")]


def superstep_times(stats: dict[str, Any]) -> str:
    """How long the supersteps took, and what the cost model said: before the run, or, if a frontier decides, for its
    pages."""
    taken = sum(step["seconds"] for step in stats["per_superstep"])
    model = show_seconds(stats["predicted_seconds"])
    planned = f"; planned {model}" if stats["predicted_bytes"] else f"; {model} by the cost model, for these pages"
    planned = planned if stats["predicted_seconds"] else ""
    if planned and stats["predicted_seconds"] < START_S:  # of larger ones it is lost among the rest
        planned += f", {show_seconds(START_S)} more at first"
    return f" in {show_seconds(taken)}{planned}" if taken else ""


def certificate_text(certificate: dict[str, Any]) -> str:
    """What --certify proved, on one line."""
    fails = "" if certificate["holds"] else "does not hold: it proves "
    return f"{fails}{certificate['proves']} ({show_seconds(certificate['seconds'])})"


def peak_rss() -> int:
    """Most memory that this process has held, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
