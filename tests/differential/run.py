"""`make differential`: runs the differential tester for a time and adds its counts to a result.

    python tests/differential/run.py --seed 7 --seconds 3600        an hour of graphs 0, 1, 2, ... of seed 7
    python tests/differential/run.py --seed 7 --graph 41            one graph again
    python tests/differential/run.py --again FAILURE.json           one call again, as a failure named it
    python tests/differential/run.py --devices cuda cuda:0,2        over the stand-in for CUDA's driver (needs g++)
    python tests/differential/run.py --join OTHER.json              add the counts of another result

Counts go to bench/results/differential.json, those of shorter runs than usual to bench/scratch/results/. Exit code 1
where an answer differed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
if not __package__:
    sys.path[:0] = [str(ROOT), str(HERE), *(str(HERE.parent / name) for name in ("cuda", "engine"))]
    os.environ["GSTREAM_TEST_DEVICES"] = "tests.fakes.device:FakeDevice"

from results import Result, add_up  # noqa: E402
from tester import Tester, of_json  # noqa: E402

from bench import machine  # noqa: E402

RESULT = ROOT / "bench" / "results" / "differential.json"
SHORT_RESULT = ROOT / "bench" / "scratch" / "results" / "differential.json"
USUAL_SECONDS, SAVED_EVERY = 600.0, 60.0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Options of the runner."""
    parser = argparse.ArgumentParser(description="Hold all algorithms against references on random graphs and runs.")
    parser.add_argument("--seed", type=int, default=1, help="of graphs, stores and runs (1)")
    parser.add_argument("--seconds", type=float, default=USUAL_SECONDS, help="for all graphs together (600)")
    parser.add_argument("--first", type=int, default=0, help="number of the first graph (0)")
    parser.add_argument("--graph", type=int, help="this graph alone; nothing is counted")
    parser.add_argument("--again", type=Path, metavar="FILE", help="the call of a failure again; nothing is counted")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these algorithms alone")
    parser.add_argument("--devices", nargs="+", default=[], help="of all runs; cuda is the stand-in for CUDA's driver")
    parser.add_argument("--join", nargs="+", type=Path, metavar="FILE", help="add these results up; nothing is run")
    parser.add_argument("--out", type=Path, help="the result (of shorter runs than usual: below bench/scratch)")
    parser.add_argument("--folder", type=Path, help="for stores and failures (default: a temporary folder)")
    options = parser.parse_args(arguments)
    long = options.seconds >= USUAL_SECONDS or options.join
    options.out = options.out or (RESULT if long else SHORT_RESULT)
    return options


@contextmanager
def standin() -> Any:
    """GPUs are the stand-in of tests/cuda while the block lasts."""
    import compilers
    import instead

    undo: list[Any] = []

    def put(target: Any, name: str, value: Any) -> None:
        undo.append((target, name, getattr(target, name)))
        setattr(target, name, value)

    instead.install(compilers.compile_unit, put)
    try:
        yield
    finally:
        for target, name, value in reversed(undo):
            setattr(target, name, value)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; the exit code."""
    options = parse(arguments)
    warnings.simplefilter("ignore", ResourceWarning)
    if options.join:
        for path in options.join:
            add_up(options.out, Result.read(path))
        return 0
    folder = options.folder or Path(tempfile.mkdtemp(prefix="differential-"))
    tester = Tester(options.seed, folder, tuple(options.devices), tuple(options.only))
    if any(name.startswith("cuda") for name in options.devices):
        with standin():
            return run(tester, options)
    return run(tester, options)


def run(tester: Tester, options: argparse.Namespace) -> int:
    """What the options ask for."""
    if options.again:
        said = tester.problem(of_json(options.again.read_text()))
        print(said or "the answer is right")
        return int(bool(said))
    if options.graph is not None:
        tester.try_graph(options.graph)
        print(f"{tester.counts.comparisons:,} comparisons, {tester.counts.failed} failed")
        return int(bool(tester.counts.failed))
    facts, began, saved = machine.facts(), time.monotonic(), time.monotonic()
    number, failed = options.first, 0
    try:
        while time.monotonic() - began < options.seconds:
            tester.try_graph(number)
            number += 1
            if time.monotonic() - saved >= SAVED_EVERY:
                failed += save(tester, options, facts, number)
                saved = time.monotonic()
    finally:
        failed += save(tester, options, facts, number)
        shutil.rmtree(tester.folder / "stores", ignore_errors=True)
    print(f"counts: {options.out}")
    return int(bool(failed))


def save(tester: Tester, options: argparse.Namespace, facts: dict[str, Any], number: int) -> int:
    """Add what was counted since the last time to the result; how many failed of it."""
    counts = tester.counts
    part = {"seed": options.seed, "first": options.first, "graphs": number - options.first, "commit": facts["commit"]}
    whole = add_up(options.out, Result.of(counts, part | {"date": facts["date"]}, facts))
    print(f"graph {number}: {whole.total:,} comparisons, {counts.failed} failed since the last line", flush=True)
    tester.begin_counts()
    return counts.failed


if __name__ == "__main__":
    sys.exit(main())
