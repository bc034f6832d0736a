"""`gstream run ALGORITHM STORE`: BFS, PageRank, SSSP, components, or a program of the user's own. STORE may be an edge
list: gstream.cli.edge_files."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from gstream.algorithms.declaration import EDGE, STORED_EDGE, VERTEX, Algorithm
from gstream.algorithms.execute import check_checkpoint
from gstream.algorithms.plans import plan_before, planned_supersteps
from gstream.algorithms.registry import find_algorithm
from gstream.cli import logs, surroundings
from gstream.cli.edge_files import as_store
from gstream.cli.failures import stops_when_kept
from gstream.cli.figures import distribution_rows, summary_lines
from gstream.cli.one_rank import one_for_all, wait_for_first
from gstream.cli.progress import ProgressBar, Rounds, Superstep, Within
from gstream.cli.quick import leave_out_nothing_for
from gstream.cli.ranks import add_up, in_ranks, join_ranks, launch_words, only_first, share_of_machine, write_part
from gstream.cli.recording import recorder_of, write_records
from gstream.cli.run_arguments import (
    check_asked,
    checkpoint_options,
    engine_options,
    own_options,
    parse_parameters,
    takes_run_options,
)
from gstream.cli.run_help import RunCommand
from gstream.cli.supervisor import Link, Task, supervise
from gstream.cli.surroundings import refuse_closed
from gstream.cli.terminal import note, print_json, print_pairs, print_table
from gstream.language.loading import is_program_path
from gstream.options.written import refuse_existing, refuse_overwriting, refuse_twice, stripe_folders
from gstream.telemetry.compiling import compile_time
from gstream.telemetry.progress import step_line
from pagestore.errors import UsageError

if TYPE_CHECKING:
    from gstream.devices.ranks import Ranks
    from gstream.graph import Graph
    from gstream.results.result import Result
    from gstream.telemetry.stats import StepStats

TOP_ROWS = 20
TO_STDOUT = Path("-")
WRITTEN = ("output", "trace", "plot", "report")  # options that name a file to write
OF_FIRST = ("trace", "report", "plot")  # files that one rank writes


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("run", cls=RunCommand, short_help="Run an algorithm on a store.")(run)


@takes_run_options
def run(**given: Any) -> int:
    """Run an algorithm; show the top rows and the run's figures, or write every row with -o."""
    return run_given(given)


def run_given(given: dict[str, Any]) -> int:
    """`run` with the values of its options."""
    others = [given["store"], *(given[name] for name in WRITTEN)]
    if (ranks := join_ranks(given["ranks"])) is not None:
        return in_ranks(ranks, lambda: carry_out_in(ranks, given, others))
    logs.begin(given["progress"], given["log_file"], surroundings.typed, others)
    task = task_of(engine_options(given), given["store"])
    if not task.numbers or given["no_restart"]:
        carry_out(given, task, Link())
        return 0
    files = [given[name] for name in WRITTEN if given[name] not in (None, TO_STDOUT)]
    keeps = given["checkpoint"] is not None
    return supervise(task, files, keeps, lambda task, link: carry_out(given_to(given, task), task, link))


def carry_out_in(ranks: Ranks, given: dict[str, Any], others: list[Any]) -> None:
    """The command in one of several ranks, of which the first shows how far it is."""
    way, log_file = (given["progress"], given["log_file"]) if ranks.first else ("off", None)
    logs.begin(way, log_file, surroundings.typed, others)
    alone = {} if ranks.first else dict.fromkeys(OF_FIRST)
    told = {
        "whole": given["output"] == TO_STDOUT or any(given[name] is not None for name in OF_FIRST),
        "planned": given["trace"] is not None or given["report"] is not None,
    }
    with only_first(ranks):
        carry_out({**given, **alone, **told}, Task(()), Link(), ranks)


def given_to(given: dict[str, Any], task: Task) -> dict[str, Any]:
    """What a worker is given: the user's options, after a loss with other devices and from the last checkpoint."""
    if not task.losses:
        return given
    cap = given["device_memory"] if task.numbers else None
    resume = given["resume"] or task.resume
    return {**given, "devices": [task.devices], "gpus": None, "device_memory": cap, "resume": resume}


def carry_out(given: dict[str, Any], task: Task, link: Link, ranks: Ranks | None = None) -> None:
    """The command, in the process that does the work, or in one of several."""
    algorithm, store, output = given["algorithm"], given["store"], given["output"]
    leave_out_nothing_for(algorithm)
    own, options, parameters = own_options(given), engine_options(given), parse_parameters(given["param"] or [])
    if task.numbers:  # CUDA starts while Python imports what a run needs
        from gstream.devices.gpu.prestart import start_cuda

        start_cuda(list(task.numbers[:1] if task.auto else task.numbers))
    check_asked(given, own, parameters)
    known = None if is_program_path(algorithm) else find_algorithm(algorithm)
    options |= checkpoint_options(given)
    check_kept(known, options)
    inputs = [value for value in own.values() if isinstance(value, Path)]
    force = given["force"] or task.replace
    if output == TO_STDOUT and given["json"]:
        raise UsageError("--json and -o - both want standard output. Write the answer to a file.")
    if output == TO_STDOUT:
        refuse_closed(output)
    check_written(given, known, inputs, force, ranks is not None)
    check_plot(given["plot"], force, known is not None and known.rows in (EDGE, STORED_EDGE))
    link.tell("checked")

    if ranks is not None and not ranks.first:
        ranks.wait()  # for the first to have checked what is to be written, and converted an edge list
    with as_store(store, given["threads"]) as store:
        if ranks is None:
            compute(given, task, link, store, known, options)
            return
        if ranks.first:
            ranks.wait()
        alone = one_for_all(ranks, store, options) if given["ranks"] == "auto" else None
        options = share_of_machine(ranks, options) if alone is None else alone
        if alone is None or ranks.first:
            compute(given, task, link, store, known, options, ranks)
        if alone is not None:
            wait_for_first(ranks, given["checkpoint"] is not None and not ranks.first)


def compute(
    given: dict[str, Any], task: Task, link: Link, store: Path, known: Algorithm | None, options: dict[str, Any],
    ranks: Ranks | None = None,
) -> None:  # fmt: skip
    """Run on the store, and show or write the answer. options: of the engine; of ranks that share the run they name
    these."""
    import gstream

    algorithm, output = given["algorithm"], given["output"]
    own, parameters = own_options(given), parse_parameters(given["param"] or [])
    keeps = given["checkpoint"] is not None
    alone = ranks is not None and "ranks" not in options
    others = ranks.is_asked_to_stop if ranks is not None and alone else lambda: False
    with ProgressBar() as bar, stops_when_kept(keeps, lambda: link.tell("stepped"), others) as stop:
        steps, are = planned_supersteps(algorithm, own, given["max_supersteps"])
        lines = StepLine(bar, link, steps if are == "exact" else None)
        recorder = recorder_of(given, lines)
        options |= {"progress": recorder or lines, "trace": recorder, "stop": stop}
        with gstream.open(store, stripe=stripe_folders(given["stripe"]), **options) as graph:
            if store != given["store"]:  # the cache's, of the user's file
                graph.engine().store.call(str(given["store"]))
            check_columns(graph, known, output, given["ldbc"])
            graph.engine().measure()  # its own kernels are not the run's
            reported = known is not None and given.get("planned", recorder is not None)  # of ranks by all: they agree
            planned = plan_before(graph, known, own) if reported else None
            began = time.perf_counter()
            with compile_time() as compiled:
                result = start(graph, algorithm, own, parameters, given["certify"])
            seconds = time.perf_counter() - began
            about = graph.info
    if given.get("whole"):  # what one rank writes alone
        result.become_whole()
    if output is not None and ranks is not None:
        write_part(result, output, ranks, given["ldbc"], alone)
    elif output is not None:
        result.write(output, ldbc=given["ldbc"], force=True)  # what exists was refused before the run
    summary = apart(result.summary, seconds, compiled())
    if ranks is not None:
        summary = add_up(summary, ranks, alone)
    if recorder is not None and ranks is not None and not alone:
        recorder.trace.gather(ranks)
    if recorder is not None and (ranks is None or ranks.first):
        write_records(given, recorder, known, result, summary, about, planned, launch_words(ranks))
    summary["lost"] = [loss._asdict() for loss in task.losses]
    show(summary, result, output, given["json"], given["resume"], TOP_ROWS if given["top"] is None else given["top"])
    if given["plot"] is not None:  # last: an answer of too many edges is not lost by that
        from gstream.reporting.plots import plot_result

        plot_result(result, path=given["plot"], force=True)  # a file there was refused before the run


def check_kept(known: Algorithm | None, options: dict[str, Any]) -> None:
    """Raise, before anything is read, where options about checkpoints contradict each other or the algorithm."""
    from gstream.options.run_options import RunOptions

    checked = RunOptions(**options)
    if checked.checkpoint is not None and known is not None:
        check_checkpoint(known)


def task_of(options: dict[str, Any], store: Path) -> Task:
    """The GPUs that the options name, none where they name other devices, and whether the cores stand beside them.

    Of auto all GPUs that may be there, if the store is large. CUDA is left to the worker: no fork comes after it.
    """
    from gstream.options.auto_devices import AUTO, file_may_be_worth, gpus_there, is_auto
    from gstream.options.run_options import parse_devices
    from pagestore.cores import usable_cores

    names = options.get("devices", [AUTO])
    if is_auto(names):
        count = gpus_there() if file_may_be_worth(store, options.get("threads") or usable_cores()) else 0
        return Task(tuple(range(count)), beside=True, auto=count > 0)
    specs = parse_devices(names)
    numbers = tuple(spec.seed for spec in specs if spec.kind == "cuda")
    return Task(numbers, beside=0 < len(numbers) < len(specs))


def check_written(
    given: dict[str, Any], known: Algorithm | None, inputs: list[Path], force: bool, in_parts: bool = False
) -> None:
    """Raise, before anything is computed, where a file of the run can't be written or is one that the run reads.
    in_parts: the output is a folder, with a file a rank."""
    from gstream.results.files import check_output

    algorithm, output, ldbc = given["algorithm"], given["output"], given["ldbc"]
    read = [given["store"], Path(algorithm.rpartition(":")[0] or algorithm), *inputs]
    written = [given[name] for name in WRITTEN if given[name] not in (None, TO_STDOUT)]
    refuse_overwriting(written, read)
    refuse_twice(written)
    if output is not None:
        rows = VERTEX if known is None else known.rows
        if in_parts and output != TO_STDOUT:
            from gstream.results.dataset import check_dataset

            check_dataset(output, force, ldbc, rows in (EDGE, STORED_EDGE))
        else:
            check_output(output, ldbc, rows in (EDGE, STORED_EDGE))
        if ldbc and rows != VERTEX:
            raise UsageError(f"--ldbc: is for answers with a row a vertex, which {algorithm}'s are not. Leave it out.")
        if output != TO_STDOUT and not in_parts:
            refuse_existing(output, force, example="answer.csv")
    elif ldbc:
        raise UsageError("--ldbc says how a file is written. Pass -o FILE too.")
    if given["trace"] is not None:
        refuse_existing(given["trace"], force, example="run.json")
    if given["report"] is not None:
        from gstream.reporting.page import check_report

        refuse_existing(given["report"], force, example="run.html")
        check_report(given["report"])


def check_columns(graph: Graph, known: Algorithm | None, output: Path | None, ldbc: bool) -> None:
    """Raise, before anything is computed, where the output's format has weights and the answer's edges have none."""
    if output is None or ldbc or known is None:
        return
    if known.rows == STORED_EDGE and not graph.info["weighted"]:
        from gstream.results.files import check_edge_columns

        check_edge_columns(output, ("source", "target"))


def check_plot(plot: Path | None, force: bool, edges: bool) -> None:
    """Raise, before anything is computed, where no plot can be drawn. edges: those may be the answer."""
    if plot is None:
        return
    from gstream.reporting.plots import check_plot as check

    check(plot, edges)
    refuse_existing(plot, force, example="degrees.png")


class StepLine:
    """Shows each superstep of a run on `bar`, once it is done; the first tells the link that the run is under way.

    total: how many there will be; None: nobody knows.
    """

    def __init__(self, bar: ProgressBar, link: Link, total: int | None = None) -> None:
        self.bar, self.link, self.total, self.pages = bar, link, total, 0

    def within(self, superstep: int, done: int, total: int) -> None:
        """Pages of the superstep, or of an algorithm's sweep (0), that is under way."""
        self.bar(Within(done, total, superstep))

    def rounds(self, done: int, sources: int, total: int) -> None:
        """Rounds of an algorithm that sweeps by itself, and how many of its sources are done (total 0: it has none)."""
        self.bar(Rounds(sources, total) if total else Rounds(done, None))

    def __call__(self, number: int, step: StepStats) -> None:
        self.link.tell("stepped")
        self.pages += step.pages
        total = None if self.total is None else max(number, self.total)
        self.bar(Superstep(number, total, step_line(number, step, self.pages)))


def start(graph: Graph, algorithm: str, own: dict[str, Any], parameters: dict[str, str], certify: bool) -> Result:
    """Run an algorithm by its name, or a program by its path."""
    if is_program_path(algorithm):
        return graph.run(algorithm, **parameters)
    return graph.execute(algorithm, own, certify)


def show(summary: dict[str, Any], result: Result, output: Path | None, json: bool, resume: bool, rows: int) -> None:
    """The top rows and the figures, or one JSON object. A note if it did not converge, diverged, or `resume` found
    nothing."""
    if not summary.get("converged", True):
        note(f"not converged after {summary['supersteps']} supersteps: the result is as far as it came.")
    if "note" in summary:
        note(f"{summary['note']}.")
    if summary.get("not_finite"):
        note(
            f"diverged: {summary['not_finite']:,} of {len(result):,} values are inf or NaN, and mean nothing. Pass "
            "parameters (--param) by which messages shrink, or end it sooner (--max-supersteps; of simulations "
            "--iterations)."
        )
    if not summary.get("certificate", {"holds": True})["holds"]:
        note(f"the certificate does not hold: it proves {summary['certificate']['proves']}.")
    kept = summary["stats"]["kept"]
    if resume and kept is not None and kept["resumed"] is None:
        note(f"--resume: {kept['folder']} held no checkpoint; the run began at its start.")
    top = result.top(rows)
    if json:
        print_json({**summary, "output": output, "rows": len(result), "top": top})
        return
    if output is None and top:
        print_table(list(top[0]), [list(row.values()) for row in top])
        print()
    if figures := distribution_rows(summary):
        print_table(["", *figures[0]], [[name, *row] for name, row in figures[1].items()])
        print()
    print_pairs(summary_lines(summary, output, len(result)), sys.stderr if output == TO_STDOUT else None)


def apart(summary: dict[str, Any], seconds: float, compile_seconds: float) -> dict[str, Any]:
    """The summary of a run of `seconds` with the time of compiling named apart from the run's, and rates without it."""
    stats = dict(summary["stats"])
    stats["compile_seconds"] = compile_seconds
    seconds = stats["seconds"] = max(0.0, seconds - compile_seconds)
    for rate, amount in (("edges_per_second", "edges_visited"), ("bytes_per_second", "bytes_moved")):
        stats[rate] = stats[amount] / seconds if seconds > 0 else 0.0
    return {**summary, "stats": stats}
