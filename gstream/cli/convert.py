"""`gstream convert INPUT... STORE`: any edge list to a store, within a memory budget."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from gstream.cli import logs, surroundings
from gstream.cli.progress import ProgressBar
from gstream.cli.terminal import note, print_json, print_pairs
from gstream.interop.files import opened_files, skipped_file
from gstream.interop.options import DEFAULT_ORDER, split_options
from gstream.options.written import check_stripes, check_workdir, stripe_folders
from gstream.telemetry.compiling import LEAST_SECONDS, compile_time
from pagestore.errors import ResourceError, UsageError
from pagestore.sizes import show_bytes, show_count, show_seconds, show_things

if TYPE_CHECKING:
    from pagestore.convert import ConvertOptions, Estimate, Report
    from pagestore.inputs.base import EdgeSource
    from pagestore.split import SplitReport

ROUND_HELP = "Significant bits that weights with fractions keep; 8: off by 0.4 % at most."
COMPRESS_HELP = "Store pages in fewer bytes; auto: where that saves a quarter."
DEVICES_HELP = "What sorts the edges; auto: a GPU, if there is one, from 67 million edges on."
DECIMAL_HELP = "Mark of decimals in weights of text; the other parts thousands."
STRIPE_HELP = "Folders, one a disk, that the pages are spread over."


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("convert", short_help="Turn edge lists into a store.")(convert)


def convert(
    inputs: list[Path] = typer.Argument(..., metavar="INPUT", readable=False, help="Files of one graph; - is stdin."),
    store: Path = typer.Argument(..., metavar="STORE", help="The store to write, as web.gs."),
    directed: bool | None = typer.Option(None, "--directed/--undirected", help="Default: by format, else directed."),
    no_weights: bool = typer.Option(False, "--no-weights", help="Leave weights out of the store."),
    source_column: str = typer.Option(None, metavar="N|NAME", help="Column of the source, from 1, or its name."),
    target_column: str = typer.Option(None, metavar="N|NAME", help="Column of the target; both or none."),
    weight_column: str = typer.Option(None, metavar="N|NAME", help="Column of the weight, from 1, or its name."),
    dedupe: bool = typer.Option(False, "--dedupe", help="Keep one of equal edges."),
    keep: str = typer.Option(None, metavar="min|max|sum|count|first", help="Its weight with --dedupe. Default: min."),
    drop_self_loops: bool = typer.Option(False, "--drop-self-loops", help="Drop edges from a vertex to itself."),
    topology: str = typer.Option("both", metavar="both|out|in", help="Page sets of a directed graph."),
    order: str = typer.Option(DEFAULT_ORDER, metavar="auto|natural|degree|in|out|llp", help="Numbering in the store."),
    columns: int = typer.Option(1, metavar="N", help="Lists of a column page's group, 8 to 128: try 32; 1: rows only."),
    compress: str = typer.Option("off", metavar="auto|on|off", help=COMPRESS_HELP),
    round_weights: int = typer.Option(None, metavar="BITS", help=ROUND_HELP),
    page_size: str = typer.Option("1MiB", metavar="SIZE", help="Bytes of a page: a power of two from 4KiB."),
    id_bytes: int = typer.Option(None, metavar="4|8", help="Bytes of an ID in pages. Default: the fewest that do."),
    num_vertices: int = typer.Option(None, metavar="N", help="The vertices are 0..N-1, edges or not."),
    id_base: int = typer.Option(None, metavar="0|1", help="With --num-vertices: the first vertex's ID."),
    memory: str | None = typer.Option(None, metavar="SIZE", help="Memory to take at most; default: what is free."),
    threads: int = typer.Option(None, metavar="N", help="Threads. Default: all cores."),
    devices: str = typer.Option("auto", metavar="auto|host|cuda:N", help=DEVICES_HELP),
    dry_run: bool = typer.Option(False, "--dry-run", help="Show sizes, free space and time; write nothing."),
    bad_lines: str = typer.Option("fail", metavar="fail|skip", help="skip lists them in STORE.skipped.txt."),
    format: str = typer.Option(None, metavar="NAME", help="Input format. Default: by suffix and content."),
    string_ids: bool = typer.Option(None, "--string-ids/--number-ids", help="007 is a name; or it is 7."),
    header: bool | None = typer.Option(None, "--header/--no-header", help="Line 1 names the columns. Default: found."),
    comments: str = typer.Option(
        None, metavar="CHARS|none", help="Lines that begin with one are comments. Default: #%."
    ),
    where: str = typer.Option(None, metavar="CONDITION", help="Rows to read, as 'amount > 100'; columns by name."),
    decimal: str = typer.Option(None, metavar=",|.", help=DECIMAL_HELP),
    stripe: list[str] = typer.Option(None, metavar="A,B,...", help=STRIPE_HELP),
    parts: int = typer.Option(None, "--parts", metavar="N", help="STORE is a folder of N parts, as of gstream split."),
    resume: bool = typer.Option(False, "--resume", help="Go on from the finished parts of a killed conversion."),
    force: bool = typer.Option(False, "--force", help="Replace STORE if it exists."),
    workdir: Path = typer.Option(None, metavar="FOLDER", help="For temporary files. Default: beside STORE."),
    verify: bool = typer.Option(False, "--verify", help="Read the store back and check it, as gstream verify does."),
    json: bool = typer.Option(False, "--json", help="One JSON object on standard output."),
    progress: str = typer.Option("auto", metavar="auto|plain|json|off", help=logs.HELP),
    log_file: Path = typer.Option(None, metavar="FILE", help=logs.LOG_HELP),
) -> None:
    """Convert edge lists (text, CSV, Matrix Market, DIMACS, GAP, METIS, LDBC, Graph500, Parquet, NumPy) to a store.

    GraphML, GEXF, GML and Pajek are read by NetworkX, up to a size. Other formats (DOT, JSON, ...) are recognised by
    content and suffix. convert refuses them, and names the command that makes an edge list of them.
    """
    logs.begin(progress, log_file, surroundings.typed, [*inputs, store])
    check_workdir(workdir)
    check_stripes(stripe)
    folder, store = store, store if parts is None else whole_before(store, parts, force, stripe)
    skipped = skipped_file(store) if bad_lines == "skip" and not dry_run else None
    given: dict[str, Any] = {
        "memory": memory, "threads": threads, "devices": devices, "directed": directed, "weights": not no_weights,
        "dedupe": dedupe, "keep": keep, "drop_self_loops": drop_self_loops, "topology": topology, "order": order,
        "columns": columns, "compress": compress, "round_weights": round_weights, "page_size": page_size,
        "id_bytes": id_bytes, "workdir": workdir, "resume": resume, "force": force, "num_vertices": num_vertices,
        "id_base": id_base, "format": format, "source_column": column(source_column), "header": header,
        "target_column": column(target_column), "weight_column": column(weight_column), "string_ids": string_ids,
        "comments": comments, "where": where, "decimal": decimal, "stripe": stripe_folders(stripe),
        "bad_lines": bad_lines,
    }  # fmt: skip
    options, reading = split_options(given, skipped=skipped)
    with compile_time() as compiled, ProgressBar() as bar:
        with opened_files(inputs, store, options, reading, bar, dry_run) as (source, stale):
            then = None if parts is None else partial(split_up, store, folder, parts, force, threads)
            build(source, store, options, dry_run, verify, json, compiled, stale, then)


def build(
    source: EdgeSource, store: Path, options: ConvertOptions, dry_run: bool, verify: bool, json: bool,
    compiled: Callable[[], float], stale: Path | None = None, then: Callable[[], SplitReport] | None = None,
) -> None:  # fmt: skip
    """Write `source` as a store, or estimate what that takes; print the outcome.

    compiled: tells how many seconds went to kernels since `source` began to be opened. stale: an earlier conversion's
    list of skipped lines, which goes if this one skips none. then: splits the store.
    """
    from gstream.cli.info import scrub, scrub_line
    from gstream.cli.split import split_facts, split_lines

    try:
        if options.topology == "in" and not options.is_directed(source.directed):
            raise UsageError(
                "--topology in: the graph is undirected, and its one page set serves both directions. "
                "Leave the option out."
            )
        direction = ", directed" if options.directed is None and source.directed is None else ""
        assumed = [f"{line}{direction}." for line in source.assumptions]  # said when all is well: a failure is one line
        assumed += [f"{line}." for line in source.doubts]
        if dry_run:
            from pagestore.convert.estimate import estimate

            found = estimate(source, store, options)
            compiling = compiled() * found.input_edges / max(1, found.sampled_edges)  # in the time that reading took
            found = replace(found, seconds=max(0.0, found.seconds - compiling))
            for line in assumed:
                note(line)
            print_estimate(found, store, json)
            if not found.fits:
                raise ResourceError(
                    f"{store}: the disks lack room for it. Free some space, or pass --workdir on another."
                )
            return
        from pagestore.convert import convert as convert_source

        with ProgressBar() as bar:
            report = convert_source(source, store, options, bar)
        compile_seconds = compiled()
        if stale is not None and not report.skipped_lines and not report.resumed:
            stale.unlink(missing_ok=True)
    finally:
        source.close()
    checked = scrub(store, options.threads, options.stripe) if verify else None
    for line in (*assumed, *source.skipped.first, *report.notes):
        note(line)
    after = None if then is None else then()
    if json:
        verified = {} if checked is None else {"verify": {**asdict(checked), "ok": checked.ok}}
        print_json({**report.as_dict(), "read_as": assumed, "compile_seconds": compile_seconds, **verified,
                    **({} if after is None else {"split": split_facts(after)})})  # fmt: skip
    else:
        verified_line = [] if checked is None else [("verified", scrub_line(checked))]
        split_up_lines = [] if after is None else split_lines(after)
        print_pairs(report_lines(report, compile_seconds) + verified_line + split_up_lines)
    if checked is not None and not checked.ok:
        raise checked.damaged()


def whole_before(folder: Path, parts: int, force: bool, stripe: list[str] | None) -> Path:
    """The store that is split into `folder` afterwards, beside it. Raises UsageError where that can't be."""
    from pagestore.split import check_parts, check_target

    check_parts(parts)
    check_target(str(folder), force)
    if stripe:
        raise UsageError("--stripe: parts are not striped. Leave it out, or --parts.")
    return folder.with_name(f"{folder.name}.whole.gs")


def split_up(store: Path, folder: Path, parts: int, force: bool, threads: int | None) -> SplitReport:
    """Split the store that was made, which goes."""
    from gstream.cli.split import split_with_bar

    report = split_with_bar(store, folder, parts, force, threads, ())
    store.unlink()
    return report


def column(asked: str | None) -> int | str | None:
    """A column's number, or its name."""
    return int(asked) if asked and asked.isascii() and asked.isdigit() and len(asked) < 20 else asked


def report_lines(report: Report, compile_seconds: float) -> list[tuple[str, str]]:
    """What a conversion did, for people."""
    from pagestore.convert.options import edges_line
    from pagestore.convert.rounding import rounding_text

    compiling = f", {show_seconds(compile_seconds)} of it to compile or load kernels"
    compiling = compiling if compile_seconds > LEAST_SECONDS else ""
    weights = f", weights {report.weight_dtype}" if report.weighted else ""
    edges = edges_line(report.edges, report.out_edges or report.in_edges, report.directed)
    pages = ", ".join(f"{count} {name}" for name, count in report.pages.items())
    left_out = f", {show_things(report.comment_lines, 'comment line')} left out" if report.comment_lines else ""
    left_out += f", {show_things(report.filtered_rows, 'row')} left out by --where" if report.filtered_rows else ""
    sorted_on = "" if report.sorted_on == "host" else f", edges sorted on {report.sorted_on}"
    without = f"; {show_things(report.isolated, 'vertex')} without edges" if report.isolated else ""
    lines = [
        ("graph", f"{show_things(report.vertices, 'vertex')}, {edges}{weights}{without}"),
        ("input", f"{show_things(report.input_edges, 'edge')} read{left_out}"),
        ("repeated", f"{show_things(report.duplicates, 'duplicate edge')} and "
                     f"{show_things(report.self_loops, 'self-loop')} kept, "
                     f"{report.dropped_duplicates:,} and {report.dropped_self_loops:,} dropped"),
        ("store", f"{report.path}: {show_bytes(report.store_bytes)}; pages of {show_bytes(report.page_bytes)}: "
                  f"{pages}"),
        *([("compressed", f"{show_bytes(report.coded_bytes)} of pages, {report.coded_bytes / report.raw_bytes:.0%} of "
                          "what they take in memory")] if report.coded_bytes else []),
        *([("rounded", f"weights {rounding_text(report.weight_rounding)}")] if report.weight_rounding else []),
        *([("order", f"{report.order}: {report.order_reason}")] if report.order_reason else []),
        *([("stripes", ", ".join(min(path, os.path.relpath(path), key=len) for path in report.stripes))]
          if report.stripes else []),
        ("took", f"{show_seconds(report.seconds)}{compiling}{sorted_on}, "
                 f"{show_count(report.edges_per_second)} edges/s, peak memory {show_bytes(report.peak_memory_bytes)}"),
    ]  # fmt: skip
    if any(report.column_pages.values()):
        columns = ", ".join(f"{count} {name}" for name, count in report.column_pages.items())
        lines.append(
            ("columns", f"{columns} of the pages; {show_bytes(sum(report.padding_bytes.values()))} of padding")
        )
    if report.skipped_lines:
        skipped = show_things(report.skipped_lines, "line")
        lines.append(("skipped", f"{skipped}, listed in {skipped_file(Path(report.path))}"))
    return lines


def print_estimate(found: Estimate, store: Path, json: bool) -> None:
    """What a conversion would take."""
    if json:
        print_json({**asdict(found), "fits": found.fits})
        return
    about = "" if found.exact else "about " if found.size_known else "at least "
    least = "about" if found.size_known else "at least"
    where = "in memory" if found.in_memory else "on disk"
    read = ("all " if found.exact else "") + show_things(found.sampled_edges, "edge")
    if not found.size_known:
        read += " of an input whose size is unknown; the figures are for what was read"
    fits = "yes" if found.size_known else "yes, for what was read"
    print_pairs(
        [
            ("read", f"{read}; nothing is written"),
            ("graph", f"{about}{show_count(found.vertices)} vertices, {show_count(found.input_edges)} edges read, "
                      f"{show_count(found.stored_edges)} stored{' by source and by target' * (found.topologies > 1)}"),
            ("store", f"{least} {show_bytes(found.store_bytes)} of {show_bytes(found.free_store_bytes)} free "
                      f"at {store}"),
            ("temporary", f"{least} {show_bytes(found.work_bytes)} of {show_bytes(found.free_work_bytes)} free; "
                          f"edges are sorted {where}"),
            *(("disk", f"{show_bytes(disk.needed)} of {show_bytes(disk.free)} free at {disk.folder}")
              for disk in (found.disks if found.stripes else ())),
            ("time", f"{least} {show_seconds(found.seconds)} on {found.threads} threads"),
            ("fits", fits if found.fits else "NO: free some space, or pass --workdir on another disk"),
        ]
    )  # fmt: skip
