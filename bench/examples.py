"""`make examples`: every property of the tests that Hypothesis tries, on many more examples than `make test` gives it.

    python bench/examples.py                                    10,000 examples each: hours
    python bench/examples.py --missing --seconds 1800           half an hour of what has not ended yet
    python bench/examples.py --tests tests/format --examples 2000 --processes 4 --seed 7

One process a property. What they came to adds up in bench/results/torture.json as the property "examples", test by
test; what a failing one said lies in bench/scratch/examples. Exit code 1 where one failed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import machine, torture
from bench.ordeals import Found
from bench.pytests import PYTEST, tests_of

SAID = machine.ROOT / "bench" / "scratch" / "examples"
WANTED = 10_000
PROPERTIES = ["-m", "hypothesis"]  # what its plugin marks
PASSED = re.compile(r"^ +- (\d+) passing", re.MULTILINE)
ENDED = re.compile(r"^  - Stopped because (settings\.max_examples=\d+|nothing left to do)", re.MULTILINE)
NAME, PROMISE = "examples", "every property of the tests holds on as many examples of Hypothesis's as were asked for"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description="Try every property of the tests on many examples.")
    parser.add_argument("--tests", nargs="+", default=["tests"], help="what pytest is given (tests)")
    parser.add_argument("--examples", type=int, default=WANTED, help="of each property (10,000)")
    parser.add_argument("--missing", action="store_true", help="only properties that the result has not")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="after which no more are begun, and all end"
    )
    parser.add_argument("--processes", type=int, default=1, help="properties at a time (1)")
    parser.add_argument("--seed", type=int, default=0, help="Hypothesis's")
    parser.add_argument("--out", type=Path, default=torture.RESULT, help="the result (bench/results/torture.json)")
    return parser.parse_args(arguments)


def try_one(test: str, options: argparse.Namespace, ends: float) -> dict[str, Any] | None:
    """examples: that passed; seconds; said: the end of what a failing one said. None: there was no time to end."""
    began = time.monotonic()
    if (left := ends - began) <= 0:
        return None
    command = [*PYTEST, *PROPERTIES, "--hypothesis-show-statistics", f"--hypothesis-seed={options.seed}", test]
    env = {**os.environ, "GSTREAM_EXAMPLES": str(options.examples)}
    with TemporaryDirectory(prefix="examples-") as folder:  # of 10,000 stores
        try:
            done = subprocess.run(
                [*command, f"--basetemp={folder}/kept"], cwd=machine.ROOT, env=env, capture_output=True, text=True,
                check=False, timeout=None if left == float("inf") else left,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None
    found = {"examples": sum(map(int, PASSED.findall(done.stdout))), "seconds": round(time.monotonic() - began, 1)}
    if done.returncode or not ENDED.search(done.stdout):
        SAID.mkdir(parents=True, exist_ok=True)
        (SAID / (re.sub(r"\W+", "-", test) + ".out")).write_text(done.stdout + done.stderr)
        return {**found, "said": done.stdout.strip()[-300:]}
    return found


def try_all(tests: Sequence[str], options: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """(test, what became of it) for those that ended."""
    ends = time.monotonic() + options.seconds
    with ThreadPoolExecutor(options.processes) as pool:
        for test, found in zip(tests, pool.map(lambda test: try_one(test, options, ends), tests), strict=True):
            if found is not None:
                print(f"{test}: {found}", flush=True)
                yield test, found


def summed(tests: dict[str, dict[str, Any]], wanted: int, seed: int) -> dict[str, Any]:
    """The row of all tests; wanted: how many there are."""
    found = Found(NAME, PROMISE, seed, wanted=wanted)
    found.cases = len(tests)
    found.seconds = sum(one["seconds"] for one in tests.values())
    found.failures = [f"{name}: {one['said']}" for name, one in tests.items() if "said" in one]
    found.failed, found.complete = len(found.failures), found.cases == wanted
    found.outcomes = Counter(name.split("/")[1] for name, one in tests.items() if "said" not in one)
    row = found.as_dict()
    del row["name"]
    return {**row, "tests": dict(sorted(tests.items()))}


def main(arguments: Sequence[str] | None = None) -> int:
    """Try them; the exit code."""
    options, facts = parse(arguments), machine.facts()
    whole = json.loads(options.out.read_text()) if options.out.exists() else {"machine": facts, "properties": {}}
    every = tests_of([*PROPERTIES, "tests"])
    known = whole["properties"].get(NAME, {"tests": {}})["tests"]
    known = {name: one for name, one in known.items() if name in every}
    chosen = every if options.tests == ["tests"] else tests_of([*PROPERTIES, *options.tests])
    if not chosen:
        sys.exit(f"{' '.join(options.tests)}: pytest finds no properties there. Name a folder or a file that has some.")
    if options.missing:
        done = {name for name, one in known.items() if one["examples"] >= options.examples and "said" not in one}
        chosen = [name for name in chosen if name not in done]
    failed = 0
    for test, found in try_all(chosen, options):
        failed += "said" in found
        known[test] = {**found, "seed": options.seed, "commit": facts["commit"]}
        row = {**summed(known, len(every), options.seed), "date": facts["date"], "commit": facts["commit"]}
        whole["properties"][NAME] = row
        machine.write_json(options.out, whole)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
