"""`make examples`: every property of the tests that Hypothesis tries, on many more examples than `make test` gives it.

    python bench/examples.py                                    10,000 examples each: hours
    python bench/examples.py --missing --seconds 1800           half an hour of what has not ended yet
    python bench/examples.py --tests tests/format --examples 2000 --processes 4 --seed 70
    python bench/examples.py --merge *.json                     add up what several machines tried

One process tries 2,000 examples of a property (--share); the next has the next seed, so that what ended is kept
whenever time is up. What they came to adds up in bench/results/torture.json as the property "examples", test by test;
what a failing one said lies in bench/scratch/examples. Exit code 1 where one failed.
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
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import machine, torture
from bench.ordeals import Found
from bench.pytests import PYTEST, tests_of

SAID = machine.ROOT / "bench" / "scratch" / "examples"
WANTED = 10_000
SHARE = 2_000  # of the slow properties, a few minutes; starting takes ten seconds
PROPERTIES = ["-m", "hypothesis"]  # what its plugin marks
PASSED = re.compile(r"^ +- (\d+) passing", re.MULTILINE)
ENDED = re.compile(r"^  - Stopped because (settings\.max_examples=\d+|nothing left to do)", re.MULTILINE)
NO_MORE = "nothing left to do"
NONE: dict[str, Any] = {"examples": 0, "seeds": []}  # of a test that was not tried
NAME, PROMISE = "examples", "every property of the tests holds on as many examples of Hypothesis's as were asked for"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description="Try every property of the tests on many examples.")
    parser.add_argument("--tests", nargs="+", default=["tests"], help="what pytest is given (tests)")
    parser.add_argument("--examples", type=int, default=WANTED, help="of each property (10,000)")
    parser.add_argument("--missing", action="store_true", help="only what the result lacks of these")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="after which none are begun, and all end")
    parser.add_argument("--share", type=int, default=SHARE, help="examples a process (2,000)")
    parser.add_argument("--processes", type=int, default=1, help="at a time (1)")
    parser.add_argument("--seed", type=int, default=0, help="Hypothesis's, of the first share")
    parser.add_argument("--merge", nargs="+", type=Path, metavar="FILE", help="add what these results hold to --out")
    parser.add_argument("--out", type=Path, default=torture.RESULT, help="the result (bench/results/torture.json)")
    return parser.parse_args(arguments)


def try_share(test: str, examples: int, seed: int, ends: float) -> dict[str, Any] | None:
    """What a process came to that tries so many examples. None: there was no time to end.

    examples: that passed; seconds; seeds; all: there are no more; said: the end of what a failing one said.
    """
    began = time.monotonic()
    if (left := ends - began) <= 0:
        return None
    command = [*PYTEST, *PROPERTIES, "--hypothesis-show-statistics", f"--hypothesis-seed={seed}", test]
    env = {**os.environ, "GSTREAM_EXAMPLES": str(examples)}
    with TemporaryDirectory(prefix="examples-") as folder:  # of thousands of stores
        try:
            done = subprocess.run(
                [*command, f"--basetemp={folder}/kept"], cwd=machine.ROOT, env=env, capture_output=True, text=True,
                check=False, timeout=None if left == float("inf") else left,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None
    found = {"examples": sum(map(int, PASSED.findall(done.stdout))), "seconds": round(time.monotonic() - began, 1),
             "seeds": [seed]}  # fmt: skip
    if done.returncode or not (ended := ENDED.search(done.stdout)):
        SAID.mkdir(parents=True, exist_ok=True)
        (SAID / (re.sub(r"\W+", "-", test) + f"-{seed}.out")).write_text(done.stdout + done.stderr)
        return {**found, "said": done.stdout.strip()[-300:]}
    return {**found, **({"all": True} if ended[1] == NO_MORE else {})}


def is_done(one: dict[str, Any], examples: int) -> bool:
    """Whether a test's examples are enough."""
    return "said" not in one and (one["examples"] >= examples or "all" in one)


def shares(tests: Sequence[str], known: dict[str, Any], options: argparse.Namespace) -> Iterator[tuple[str, int, int]]:
    """(test, examples, seed) of what is to be tried: the first share of each test, the second of each, and so on."""
    seeds = {test: (seed for seed in count(options.seed) if seed not in known.get(test, NONE)["seeds"])
             for test in tests}  # fmt: skip
    left = {test: options.examples - known.get(test, NONE)["examples"] for test in tests}
    while left := {test: more for test, more in left.items() if more > 0}:
        for test, more in left.items():
            yield test, min(more, options.share), next(seeds[test])
            left[test] -= options.share


def try_all(
    tests: Sequence[str], known: dict[str, Any], options: argparse.Namespace
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(test, what became of a share of it) for those that ended; `known` grows meanwhile.

    Each process has its part of the cores: it would start as many threads as there are.
    """
    ends, cores = time.monotonic() + options.seconds, sorted(os.sched_getaffinity(0))
    parts = SimpleQueue[set[int]]()
    for number in range(options.processes):
        parts.put(set(cores[number :: options.processes]) or {cores[number % len(cores)]})

    def take_cores() -> None:
        os.sched_setaffinity(0, parts.get())  # of this thread, and of the processes that it starts

    def one(test: str, examples: int, seed: int) -> dict[str, Any] | None:
        return None if is_done(known.get(test, NONE), options.examples) else try_share(test, examples, seed, ends)

    with ThreadPoolExecutor(options.processes, initializer=take_cores) as pool:
        todo = {pool.submit(one, *share): share[0] for share in shares(tests, known, options)}
        for share in as_completed(todo):
            if (found := share.result()) is not None:
                print(f"{todo[share]}: {found}", flush=True)
                yield todo[share], found


def added(before: dict[str, Any] | None, more: dict[str, Any]) -> dict[str, Any]:
    """What two shares of a test came to. Raises SystemExit where a seed is in both: its examples are the same."""
    if before is None:
        return more
    if both := set(before["seeds"]) & set(more["seeds"]):
        sys.exit(f"seed {both.pop()} was tried before, and gives the same examples: name another --seed, not in use")
    return {**before, **more, "examples": before["examples"] + more["examples"],
            "seconds": round(before["seconds"] + more["seconds"], 1),
            "seeds": sorted([*before["seeds"], *more["seeds"]])}  # fmt: skip


def summed(tests: dict[str, dict[str, Any]], every: Sequence[str], examples: int, facts: dict[str, Any]) -> Any:
    """The row of all tests; cases: those tried on `examples` of them, and failed ones; wanted: how many tests there are."""
    seed = min((seed for one in tests.values() for seed in one["seeds"]), default=0)
    found = Found(NAME, PROMISE, seed, wanted=len(every))
    found.cases = sum(is_done(one, examples) or "said" in one for one in tests.values())
    found.seconds = round(sum(one["seconds"] for one in tests.values()), 1)
    found.failures = [f"{name}: {one['said']}" for name, one in tests.items() if "said" in one]
    found.failed, found.complete = len(found.failures), found.cases == len(every)
    found.outcomes = Counter(name.split("/")[1] for name, one in tests.items() if is_done(one, examples))
    row = found.as_dict()
    del row["name"]
    return {**row, "examples": examples, "tests": dict(sorted(tests.items())), "date": facts["date"],
            "commit": facts["commit"]}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Try them; the exit code."""
    options, facts = parse(arguments), machine.facts()
    whole = json.loads(options.out.read_text()) if options.out.exists() else {"machine": facts, "properties": {}}
    every = tests_of([*PROPERTIES, "tests"])
    known = whole["properties"].get(NAME, {"tests": {}})["tests"]
    known = {name: one for name, one in known.items() if name in every}
    if options.merge:
        files = [json.loads(path.read_text())["properties"][NAME]["tests"] for path in options.merge]
        found = ((name, one) for file in files for name, one in file.items() if name in every)
    else:
        chosen = every if options.tests == ["tests"] else tests_of([*PROPERTIES, *options.tests])
        if not chosen:
            sys.exit(f"{' '.join(options.tests)}: pytest finds no properties there. Name a folder or a file with some.")
        kept = {name for name, one in known.items() if options.missing and "said" not in one}
        known = {name: one for name, one in known.items() if name in kept or name not in chosen}
        chosen = [name for name in chosen if not is_done(known.get(name, NONE), options.examples)]
        found = ((test, {**one, "commit": facts["commit"]}) for test, one in
                 try_all(chosen, known, options))  # fmt: skip
    for test, one in found:
        known[test] = added(known.get(test), one)
        whole["properties"][NAME] = summed(known, every, options.examples, facts)
        machine.write_json(options.out, whole)
    return 1 if any("said" in one for one in known.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
