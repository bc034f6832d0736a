"""`gstream info`, `gstream verify` and `gstream export`: what is in a store, whether it is whole, and back to edges."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from gstream.cli.progress import ProgressBar
from gstream.cli.split import balance, balance_lines, print_parts
from gstream.cli.surroundings import refuse_closed
from gstream.cli.terminal import note, print_json, print_pairs, print_table
from gstream.options.written import refuse_existing, refuse_overwriting, stripe_folders
from gstream.telemetry.compiling import compile_time
from pagestore.errors import UsageError, plain
from pagestore.sizes import show_bytes, show_seconds, show_things

if TYPE_CHECKING:
    from pagestore.verify import VerifyReport


STRIPES = typer.Option(None, "--stripe", metavar="A,B,...", help="Folders of the store's stripes.")


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command("info", short_help="What a store holds.")(info)
    app.command("verify", short_help="Check every page of a store.")(verify)
    app.command("export", short_help="Write a store's edges as an edge list.")(export)


class Step(NamedTuple):
    """What the progress bar shows."""

    phase: str
    done: int
    total: int | None
    unit: str


def info(
    store: Path = typer.Argument(..., metavar="STORE", readable=False),
    stripe: list[str] = STRIPES,
    simd: bool = typer.Option(False, "--simd", help="SIMD efficiency of a sweep: UA, UR, ME by lanes a list."),
    json: bool = typer.Option(False, "--json", help="One JSON object on standard output."),
) -> None:
    """Show what a store holds: graph, pages, sizes, and what it was made from. Of a graph in parts their balance."""
    from pagestore.info import store_info
    from pagestore.manifest import is_parts, read_manifest
    from pagestore.parts import open_whole

    with open_whole(store, stripe_folders(stripe)) as opened:
        facts = store_info(opened, simd=simd)
    manifest = read_manifest(store) if is_parts(store) else None
    if json:
        in_parts = {} if manifest is None else {"manifest": asdict(manifest), "balance": balance(manifest)}
        print_json({**facts, **in_parts})
        return
    if manifest is not None:
        facts |= {"stripes": []}  # its parts
    print_pairs([*info_lines(facts), *([] if manifest is None else balance_lines(manifest))])
    if manifest is not None:
        print_parts(manifest)
    if simd:
        for name, topology in facts["topologies"].items():
            print_simd(name, topology["simd"], topology["group_sizes"])


def print_simd(name: str, rates: dict[str, dict[str, Any]], group_sizes: dict[str, int]) -> None:
    """A topology's lanes by group size, in percent of all that a sweep takes; `rates` as pagestore.info has them."""
    columns = ("UA", "UR", "ME")
    rows = [(size, *(f"{100 * row[each]:.1f}" for each in columns)) for size, row in rates.items()]
    print_table(("lanes a list", *(f"{each} %" for each in columns)), rows, title=f"\n{name}-pages")
    if group_sizes:
        sizes = ", ".join(f"{count:,} of {size}" for size, count in group_sizes.items())
        best = max((size for size in rates if size != "chosen"), key=lambda size: (rates[size]["ME"], int(size)))
        gain = rates["chosen"]["ME"] / rates[best]["ME"]
        print(f"chosen: pages, by lanes a list, {sizes}; {gain:.2f} times the ME of {best} for all")


def stripes_line(stripes: list[dict[str, Any]], pages: int) -> str:
    """Where a store's stripes are."""
    files = ", ".join(f"{stripe['path']} ({show_bytes(stripe['bytes'])})" for stripe in stripes)
    return f"{files}; by stretches of {show_things(pages, 'page')}"


def info_lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """The facts of a store, for people."""
    from pagestore.convert.options import edges_line
    from pagestore.convert.rounding import rounding_text

    ids, weights = facts["ids"], facts["weights"]
    lines = [
        ("store", f"{facts['path']}, {show_bytes(facts['file_bytes'])}, version {facts['version']}"),
        *([("stripes", stripes_line(facts["stripes"], facts["stripe_pages"]))] if facts["stripes"] else []),
        ("graph", f"{show_things(facts['vertices'], 'vertex')}, "
                  f"{edges_line(facts['edges'], facts['stored_edges'], facts['directed'])}"),
        ("weights", f"{weights['dtype']}, {weights['least']:g} to {weights['greatest']:g}" if weights else "none"),
        *([("rounded", f"weights {rounding_text(weights['rounding'])}")] if weights and weights["rounding"] else []),
        ("IDs", f"{ids['kind']}, {plain(ids['first'])} to {plain(ids['last'])}" if facts["vertices"] else ids["kind"]),
        ("degrees", f"mean {facts['mean_degree']:.3g}, greatest out {facts['max_out_degree']:,}, "
                    f"in {facts['max_in_degree']:,}; eta {facts['eta']:.1%} (in-degree 2 or more)"),
        ("repeated", f"{show_things(facts['duplicates'], 'duplicate edge')}, "
                     f"{show_things(facts['self_loops'], 'self-loop')}"),
        ("order", f"{facts['order']}, {facts['id_bytes']}-byte IDs, pages of {show_bytes(facts['page_bytes'])}"),
        *([("because", facts["order_reason"])] if facts["order_reason"] else []),
    ]  # fmt: skip
    one = "an edge" if facts["directed"] else "a stored edge"
    for name, topology in facts["topologies"].items():
        columns = ""
        coded = f", {topology['stored_bytes_per_edge']:.3g} B stored" if facts["compressed"] else ""
        if facts["columns"] > 1:
            columns = (
                f" ({topology['column_pages']:,} in columns of {facts['columns']}, padding {topology['padding']:.2%})"
            )
        lines.append(
            (f"{name}-pages", f"{topology['small_pages']:,} small{columns}, {topology['large_pages']:,} large of "
                              f"{show_things(topology['hubs'], 'hub')}; {topology['fill']:.0%} full, "
                              f"{topology['bytes_per_edge']:.3g} B {one}{coded}")
        )  # fmt: skip
    made = facts["provenance"]
    inputs = made.get("inputs") or made.get("input")
    if inputs:
        lines.append(("made from", ", ".join(map(str, inputs)) if isinstance(inputs, list) else str(inputs)))
    lines.append(("uuid", facts["uuid"]))
    return lines


def verify(
    store: Path = typer.Argument(..., metavar="STORE", readable=False),
    stripe: list[str] = STRIPES,
    threads: int = typer.Option(None, metavar="N", help="Threads. Default: all cores."),
    json: bool = typer.Option(False, "--json", help="One JSON object on standard output."),
) -> None:
    """Read every page and array of a store and check it; name what is wrong (exit 4)."""
    report = scrub(store, threads, stripe_folders(stripe))
    if json:
        print_json({**asdict(report), "ok": report.ok})
    if not report.ok:
        raise report.damaged()
    if not json:
        print(f"{store}: whole. {scrub_line(report)}")


def scrub(store: Path, threads: int | None, stripes: Sequence[str] = ()) -> VerifyReport:
    """Check a store with a progress bar; problems go to standard error. Its time is without compiling."""
    from pagestore.parts import open_whole
    from pagestore.verify import verify as check

    with open_whole(store, stripes) as opened, ProgressBar() as bar:
        timing = compile_time() if opened.meta.compressed else nullcontext(lambda: 0.0)  # others need no Numba
        with timing as compiled:
            report = check(opened, threads, lambda done, total: bar(Step("verify", done, total, "bytes")))
        report.seconds = max(0.0, report.seconds - compiled())
    for problem in report.problems:
        note(problem)
    return report


def scrub_line(report: VerifyReport) -> str:
    """What a check of a whole store read, for people."""
    rate = show_bytes(report.bytes_read / report.seconds) if report.seconds else "-"
    return (
        f"{show_things(report.pages, 'page')}, {show_things(report.stored_edges, 'stored edge')}, "
        f"{show_bytes(report.bytes_read)} read in {show_seconds(report.seconds)} ({rate}/s)"
    )


def export(
    store: Path = typer.Argument(..., metavar="STORE", readable=False),
    out: str = typer.Argument(..., metavar="OUT", help=".txt .tsv .el .wel .csv (.gz, .zst) .parquet; - is stdout."),
    stripe: list[str] = STRIPES,
    format: str = typer.Option(None, metavar="NAME", help="text, el, wel, csv or parquet. Default: by suffix."),
    no_weights: bool = typer.Option(False, "--no-weights", help="Leave the weights out."),
    force: bool = typer.Option(False, "--force", help="Replace OUT if it exists."),
    json: bool = typer.Option(False, "--json", help="One JSON object on standard output."),
) -> None:
    """Write a store's edges as an edge list, by the user's IDs.

    Edges come in the order of the store's pages. Stores of one graph with the same --order give the same text; with
    another --order the same lines in another order: sort the lines to compare them.
    """
    from pagestore.export import export_edges
    from pagestore.parts import open_whole

    if out != "-":
        refuse_overwriting([Path(out)], [store])
        refuse_existing(Path(out), force, example="edges.txt")
    else:
        refuse_closed(out)
    if out == "-" and json:
        raise UsageError("--json and - both want standard output. Export to a file.")
    with open_whole(store, stripe_folders(stripe)) as opened, ProgressBar() as bar:
        report = export_edges(
            opened, out, format, not no_weights, lambda done, total: bar(Step("export", done, total, "pages"))
        )
    if json:
        print_json({"path": out, **asdict(report)})
        return
    are = "is" if report.isolated == 1 else "are"
    left = f"; {show_things(report.isolated, 'vertex')} without edges {are} not in it" if report.isolated else ""
    note(f"{out}: {show_things(report.edges, 'edge')}{left}")
    if report.weights_left_out:
        note(f"{out}: the store's weights are left out, as el has none. Export to .wel to keep them.")
