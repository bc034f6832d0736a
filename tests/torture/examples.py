"""`make examples`: every property of the tests that Hypothesis tries, on many more examples than `make test` gives it.

    python tests/torture/examples.py                                    10,000 examples each: hours
    python tests/torture/examples.py --missing --seconds 1800           half an hour of what has not ended yet
    python tests/torture/examples.py --tests tests/format --examples 2000 --processes 4 --seed 70
    python tests/torture/examples.py --merge *.json                     add up what several machines tried

One process tries 2,000 examples of a property (--share); the next has the next seed, so that what ended is kept
whenever time is up. Hypothesis repeats none within a process, but may in another. What they came to adds up in
bench/results/torture.json as the property "examples", test by test; what a failing one said lies in
bench/scratch/examples. Exit code 1 where one failed.
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
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench import machine
from tests.torture import run as torture
from tests.torture.ordeals import Found
from tests.torture.pytests import PYTEST, tests_of

SAID = machine.ROOT / "bench" / "scratch" / "examples"
WANTED = 10_000
SHARE = 2_000  # of the slow properties, a few minutes; starting takes ten seconds
PROPERTIES = ["-m", "hypothesis"]  # what its plugin marks
PASSED = re.compile(r"^ +- (\d+) passing", re.MULTILINE)
ENDED = re.compile(r"^  - Stopped because (settings\.max_examples=\d+|nothing left to do)", re.MULTILINE)
NO_MORE = "nothing left to do"
# Of a test that was not tried.
NONE: dict[str, Any] = {"examples": 0, "seconds": 0.0, "seeds": [], "commits": [], "machines": []}
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

    examples: that passed; seconds; seeds; commits; machines; all: there are no more; said: the end of what a failing
    one said.
    """
    began = time.monotonic()
    if (left := ends - began) <= 0:
        return None
    command = [*PYTEST, *PROPERTIES, "--hypothesis-show-statistics", f"--hypothesis-seed={seed}", test]
    env = {**os.environ, "GSTREAM_TESTS": "all", "GSTREAM_EXAMPLES": str(examples)}
    with TemporaryDirectory(prefix="examples-") as folder:  # of thousands of stores
        try:
            done = subprocess.run(
                [*command, f"--basetemp={folder}/kept"], cwd=machine.ROOT, env=env, capture_output=True, text=True,
                check=False, timeout=None if left == float("inf") else left,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None
    facts = machine.facts()
    found = {"examples": sum(map(int, PASSED.findall(done.stdout))), "seconds": round(time.monotonic() - began, 1),
             "seeds": [seed], "commits": [facts["commit"]], "machines": [facts["cpu"]]}  # fmt: skip
    if done.returncode or not (ended := ENDED.search(done.stdout)):
        SAID.mkdir(parents=True, exist_ok=True)
        (SAID / (re.sub(r"\W+", "-", test) + f"-{seed}.out")).write_text(done.stdout + done.stderr)
        return {**found, "said": done.stdout.strip()[-300:]}
    return {**found, **({"all": True} if ended[1] == NO_MORE else {})}


def is_done(one: dict[str, Any], examples: int) -> bool:
    """Whether a test's examples are enough."""
    return "said" not in one and (one["examples"] >= examples or "all" in one)


def shares(bases: dict[str, dict[str, Any]], options: argparse.Namespace) -> Iterator[tuple[str, int, int]]:
    """(test, examples, seed) of what is to be tried: the first share of each test, the second of each, and so on.

    bases: what each has come to before, whose seeds are left out.
    """
    seeds = {test: _unused(base["seeds"], options.seed) for test, base in bases.items()}
    left = {test: options.examples - base["examples"] for test, base in bases.items()}
    while left := {test: more for test, more in left.items() if more > 0}:
        for test, more in left.items():
            yield test, min(more, options.share), next(seeds[test])
            left[test] -= options.share


def _unused(seeds: Sequence[int], first: int) -> Iterator[int]:
    return (seed for seed in count(first) if seed not in seeds)


def try_all(bases: dict[str, dict[str, Any]], options: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """(test, what a share of it came to, added to all before) for those that ended.

    Each process has its part of the cores: it would start as many threads as there are.
    """
    ends, cores, known = time.monotonic() + options.seconds, sorted(os.sched_getaffinity(0)), dict(bases)
    parts = SimpleQueue[set[int]]()
    for number in range(options.processes):
        parts.put(set(cores[number :: options.processes]) or {cores[number % len(cores)]})

    def take_cores() -> None:
        os.sched_setaffinity(0, parts.get())  # of this thread, and of the processes that it starts

    def one(test: str, examples: int, seed: int) -> dict[str, Any] | None:
        over = "said" in known[test] or is_done(known[test], options.examples)
        return None if over else try_share(test, examples, seed, ends)

    with ThreadPoolExecutor(options.processes, initializer=take_cores) as pool:
        todo = {pool.submit(one, *share): share[0] for share in shares(bases, options)}
        try:
            for share in as_completed(todo):
                if (found := share.result()) is not None:
                    test = todo[share]
                    said = f", FAILED: {found['said']}" if "said" in found else ""
                    print(f"{test}: {found['examples']:,} examples in {found['seconds']:.0f} s{said}", flush=True)
                    known[test] = added(known[test], found)
                    yield test, known[test]
        finally:
            pool.shutdown(cancel_futures=True)  # Ctrl-C waits for what has begun, and that has had it, too


def added(before: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """What two shares of a test came to. Raises SystemExit where a seed is in both: its examples are the same."""
    if both := set(before["seeds"]) & set(more["seeds"]):
        sys.exit(f"seed {both.pop()} was tried before, and gives the same examples: name another --seed, not in use")
    sets = {name: sorted({*before[name], *more[name]}) for name in ("seeds", "commits", "machines")}
    sums = {name: round(before[name] + more[name], 1) for name in ("examples", "seconds")}
    return {**before, **more, **sums, **sets}


def summed(tests: dict[str, dict[str, Any]], every: Sequence[str], examples: int, facts: dict[str, Any]) -> Any:
    """The row of all tests; cases: those tried on `examples` of them, and failed ones; wanted: all that there are."""
    found = Found(NAME, PROMISE, min((seed for one in tests.values() for seed in one["seeds"]), default=0))
    found.wanted, found.cases = len(every), sum(is_done(one, examples) or "said" in one for one in tests.values())
    found.seconds = round(sum(one["seconds"] for one in tests.values()), 1)
    found.failures = [f"{name}: {one['said']}" for name, one in tests.items() if "said" in one]
    found.failed, found.complete = len(found.failures), found.cases == len(every)
    found.outcomes = Counter(name.split("/")[1] for name, one in tests.items() if is_done(one, examples))
    row = found.as_dict()
    del row["name"]
    sets = {name: sorted({one for test in tests.values() for one in test[name]}) for name in ("commits", "machines")}
    return {**row, "examples": examples, "tests": dict(sorted(tests.items())), "date": facts["date"],
            "commit": facts["commit"], **sets}  # fmt: skip


def merged(paths: Sequence[Path], known: dict[str, Any]) -> dict[str, Any]:
    """`known` and what these results hold, all or nothing."""
    for path in paths:
        for test, one in json.loads(path.read_text())["properties"][NAME]["tests"].items():
            known = {**known, test: added(known.get(test, NONE), one)}
    return known


def main(arguments: Sequence[str] | None = None) -> int:
    """Try them; the exit code."""
    options, facts = parse(arguments), machine.facts()
    whole = json.loads(options.out.read_text()) if options.out.exists() else {"machine": facts, "properties": {}}
    every, before = tests_of([*PROPERTIES, "tests"]), whole["properties"].get(NAME, {"tests": {}, "examples": 0})
    known, wanted = before["tests"], max(before["examples"], options.examples)

    def save(tests: dict[str, Any]) -> None:
        row = summed({name: one for name, one in tests.items() if name in every}, every, wanted, facts)
        whole["properties"][NAME] = row
        machine.write_json(options.out, whole)

    if options.merge:
        known = merged(options.merge, known)
        save(known)
        return 1 if any("said" in one for one in known.values()) else 0
    chosen = every if options.tests == ["tests"] else tests_of([*PROPERTIES, *options.tests])
    if not chosen:
        sys.exit(f"{' '.join(options.tests)}: pytest finds no properties there. Name a folder or a file with some.")
    going_on = {name: one for name, one in known.items() if options.missing and "said" not in one}
    bases = {name: going_on.get(name, NONE) for name in chosen}
    bases = {name: base for name, base in bases.items() if not is_done(base, options.examples)}
    for test, one in try_all(bases, options):
        known = {**known, test: one}
        save(known)
    done = sum(is_done(known.get(name, NONE), options.examples) for name in chosen)
    print(f"{done} of {len(chosen)} properties were tried on {options.examples:,} examples each, and hold")
    return 1 if any("said" in known.get(name, NONE) for name in chosen) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped; what had ended is kept. Go on with --missing.")
