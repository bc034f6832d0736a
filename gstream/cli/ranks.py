"""`mpiexec -n N gstream run ...`: the same command in N processes, which share the run (gstream.devices.ranks).

The first rank shows progress, prints and writes the traces of all; each writes its part of the answer. There is no
supervisor: MPI starts once a process. A rank that fails tells the others; one of those that do says why, and all end.
"""

from __future__ import annotations

import os
import platform
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gstream.cli import surroundings
from gstream.cli.failures import exit_code_of, report
from gstream.telemetry.stats import shares_of_figures
from gstream.version import __version__
from pagestore.cores import usable_cores
from pagestore.errors import GstreamError, LibraryMissingError, UsageError

if TYPE_CHECKING:
    from gstream.devices.ranks import Ranks
    from gstream.results.result import Result

CHOICES = ("auto", "share", "off")
ENDED_SECONDS = 3.0  # in which a launcher ends the other processes of one that has failed
# Who starts processes, by the variables in which each finds its number and how many there are.
LAUNCHERS = (
    ("mpiexec", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("mpiexec", "PMI_RANK", "PMI_SIZE"),
    ("srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ("torchrun", "GROUP_RANK", "WORLD_SIZE"),
)
SUMMED = (
    "pages_moved", "pages_in_place", "bytes_moved", "attribute_bytes_moved", "bytes_read_disk", "edges_visited",
    "cache_hits", "cache_misses", "edges_per_second", "bytes_per_second", "predicted_bytes", "link_rate", "devices",
)  # fmt: skip
MOST = ("peak_memory_bytes", "on_device_bytes", "compile_seconds")
LEAST = ("loop_seconds", "merge_seconds")  # others wait in theirs, where a rank compiles
STEPS_SUMMED = ("pages", "bytes_moved", "bytes_read", "edges_visited")  # of supersteps, which all ranks make together


def launched() -> tuple[str, int, int] | None:
    """(launcher, number of this process, processes) where one has started several; None: this process is alone."""
    for name, rank, size in LAUNCHERS:
        if os.environ.get(rank, "").isdecimal() and os.environ.get(size, "").isdecimal():
            number = "RANK" if name == "torchrun" else rank
            return (name, int(os.environ.get(number, "0")), count) if (count := int(os.environ[size])) > 1 else None
    return None


def join_ranks(asked: str) -> Ranks | None:
    """This process's place among those that a launcher has started; None where it works alone. asked: --ranks.

    Raises UsageError, LibraryMissingError in the first process; the others end with its exit code. One of the others
    that finds no library says so, too, if its launcher has not ended it by then: the first may have found its own.
    """
    found = launched()
    try:
        if asked not in CHOICES:
            raise UsageError(f"--ranks {asked}: must be one of {', '.join(CHOICES)}. Leave it out for the default.")
        if found is None or asked == "off":
            return None
        if found[0] == "torchrun":
            raise UsageError(
                f"torchrun: starts no MPI, by which ranks talk. Type mpiexec -n {found[2]} gstream "
                f"{shlex.join(surroundings.typed)}, or pass --ranks off to let each process do the whole run."
            )
        from gstream.devices.ranks import Ranks

        with _killable():
            ranks = Ranks()
        check_world(ranks, found[2], found[0])
        check_versions(ranks.of_any_version((__version__, platform.node())))
        return ranks
    except GstreamError as error:
        if found is not None and found[1] > 0:
            if isinstance(error, LibraryMissingError):
                time.sleep(ENDED_SECONDS)
                raise
            raise SystemExit(error.exit_code) from None
        raise


@contextmanager
def _killable() -> Iterator[None]:
    """SIGINT and SIGTERM kill meanwhile: MPI waits for all processes to join, in C, where no handler of Python's runs.
    One that has ended before never comes."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    before = {number: handler for number, handler in before.items() if callable(handler)}  # others ignore or end
    for number in before:
        signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def check_versions(told: list[tuple[str, str]]) -> None:
    """Raise UsageError unless all ranks are of one version. told: (version, machine) of each."""
    for rank, (version, node) in enumerate(told):
        if version != told[0][0]:
            raise UsageError(
                f"rank {rank} on {node} is gstream {version}, and rank 0 on {told[0][1]} is gstream {told[0][0]}. "
                "Install the same version everywhere."
            )


def check_world(ranks: Ranks, said: int, launcher: str) -> None:
    """Raise UsageError where MPI knows of fewer processes than the launcher started."""
    if ranks.size != said:
        raise UsageError(
            f"{launcher}: started {said} processes, and MPI knows of {ranks.size}. Start them by the launcher of the "
            "MPI that mpi4py was built for (mpiexec; srun --mpi=pmi2 or pmix), or pass --ranks off."
        )


def in_ranks(ranks: Ranks, work: Callable[[], None]) -> int:
    """Do this rank's part of a command; the exit code. Of ranks that fail, one says why; then all end."""
    from gstream.devices.ranks import OthersFailedError

    code: int | None = None
    try:
        work()
        ranks.wait()
        return 0
    except BaseException as error:
        speaks = ranks.fails_first(waited=isinstance(error, OthersFailedError))
        code = _say(error, ranks, speaks)
        sys.stdout.flush()
        code = ranks.end_all(code)
        return code
    finally:
        ranks.finish(code)


def _say(error: BaseException, ranks: Ranks, speaks: bool) -> int:
    """Exit code of a failure, which is printed where this rank speaks; its name is left out where all have failed."""
    if type(error).__module__.partition(".")[0] == "mpi4py":
        error = GstreamError(
            "another rank is gone, or can't be reached, so the run can't go on. Nothing was written. Start it again."
        )
    where = "" if ranks.all_failed else f"rank {ranks.rank} on {platform.node()}: "

    def fail() -> None:
        raise error

    with _silence(not speaks):
        return report(error, where) if isinstance(error, Exception) else exit_code_of(fail)


@contextmanager
def _silence(silent: bool) -> Iterator[None]:
    """Nothing is printed meanwhile."""
    if not silent:
        yield
        return
    with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere), redirect_stdout(nowhere):
        yield


def only_first(ranks: Ranks) -> AbstractContextManager[None]:
    """What ranks but the first print is lost meanwhile: it says the same."""
    return _silence(not ranks.first)


def write_part(result: Result, output: Path, ranks: Ranks, ldbc: bool, alone: bool) -> None:
    """Write this rank's part of an answer; on standard output the first rank writes all of it. alone: the first rank
    has it, and writes all parts."""
    if str(output) != "-":
        from gstream.devices.ranks import Alone
        from gstream.results.dataset import write_dataset

        write_dataset(result, output, Alone(ranks.size) if alone else ranks, ldbc)
    elif ranks.first:
        result.write(output, ldbc=ldbc)


def share_of_machine(ranks: Ranks, options: dict[str, Any]) -> dict[str, Any]:
    """The engine's options of a rank: its share of the cores that ranks beside it may use, too."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    mine = ranks.machine, cores
    sharing = sum(theirs == mine for theirs in ranks.everybody(mine))
    threads = options.get("threads") or max(1, usable_cores() // sharing)
    return {**options, "threads": threads, "ranks": ranks}


def add_up(summary: dict[str, Any], ranks: Ranks, alone: bool) -> dict[str, Any]:
    """The summary with the figures of all ranks: what is counted is summed, what is held is the most
    that one holds, and times are without waiting for one that compiles. alone: the first did the run."""
    about: dict[str, Any] = {"ranks": ranks.size, "alone": alone, "bytes_exchanged": 0}
    if alone:
        return {**summary, "ranks": about}
    own = summary["stats"]
    told = (*SUMMED, *MOST, *LEAST, "device_bytes_moved")
    steps = [[step[name] for name in (*STEPS_SUMMED, "seconds", "compile_seconds")] for step in own["per_superstep"]]
    everybody = ranks.everybody(({name: own[name] for name in told}, steps, ranks.bytes_sent, ranks.machine))
    all_ranks = [figures for figures, *_ in everybody]
    sums = {name: sum(one[name] for one in all_ranks) for name in SUMMED}
    most = {name: max(one[name] for one in all_ranks) for name in MOST}
    least = {name: min(one[name] for one in all_ranks) for name in LEAST}
    moved = [size for one in all_ranks for size in one["device_bytes_moved"]]
    together = [added_step(*same) for same in zip(own["per_superstep"], *(each[1] for each in everybody), strict=True)]
    stats = {**own, **sums, **most, **least, "device_bytes_moved": moved, "per_superstep": together}
    about |= {"machines": len({each[3] for each in everybody}), "bytes_exchanged": sum(each[2] for each in everybody)}
    return {**summary, "stats": stats | shares_of_figures(stats), "ranks": about}


def added_step(step: dict[str, Any], *all_ranks: list[Any]) -> dict[str, Any]:
    """A superstep with the figures of all ranks. all_ranks: STEPS_SUMMED, seconds and compile_seconds of each. While
    one compiles, the others wait in their seconds."""
    *counts, seconds, compiled = zip(*all_ranks, strict=True)
    longest = max(compiled)
    taken = max(map(sum, zip(seconds, compiled, strict=True))) - longest
    summed = dict(zip(STEPS_SUMMED, map(sum, counts), strict=True))
    return {**step, **summed, "seconds": max(0.0, taken), "compile_seconds": longest}


def launch_words(ranks: Ranks | None) -> list[str]:
    """What is typed before a command, to repeat it: mpiexec -n N."""
    found = launched()
    return [] if ranks is None or found is None else [found[0], "-n", str(ranks.size)]
