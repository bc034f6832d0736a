"""compute-sanitizer over the GPU tests: each of its tools over every test of tests/gpu, in processes side by side.

    python bench/sanitize.py                                        all four tools
    python bench/sanitize.py --tools memcheck --shards 4 --limit 500
    python bench/sanitize.py --tests tests/gpu/test_sort.py

Results go to bench/results/sanitizer.json, a tool's in place of those it had; what tools and tests said to
bench/scratch/sanitizer/. Exit code 1 where a tool reports something, a test fails, or a process did not end in time.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import machine
from bench.link import ALL_GPUS, Devices
from pagestore.errors import DeviceMissingError

RESULT = machine.ROOT / "bench" / "results" / "sanitizer.json"
SAID = machine.ROOT / "bench" / "scratch" / "sanitizer"
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
ALONE = ("memcheck",)  # each process sees one GPU, the next one: with two it hung in tests of both
OPTIONS = {"memcheck": ["--leak-check", "no"]}  # contexts end with their process
# Without a limit for each test: many processes share a GPU, which takes turns.
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "timeout=0"]
REPORTS = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)")
COUNTS = re.compile(r"(\d+) (passed|failed|error|skipped)")


class Shard(NamedTuple):
    """A process that has some of the tests under a tool; `name`.log is the tool's, `name`.out the tests'."""

    tool: str
    name: Path
    process: subprocess.Popen[bytes]
    tests: int


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description="Run the GPU tests under compute-sanitizer.")
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS), help="which of its tools (all)")
    parser.add_argument("--shards", type=int, default=2, help="processes for each tool (2)")
    parser.add_argument("--limit", type=int, default=3600, help="seconds after which a process is stopped (3600)")
    parser.add_argument("--tests", nargs="+", default=["tests/gpu"], help="what pytest is given (tests/gpu)")
    parser.add_argument("--out", type=Path, default=RESULT, help="the result")
    return parser.parse_args(arguments)


def gpus() -> list[str]:
    """Numbers of those that tests may see; where what drives them is missing, tests say so."""
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    if given is not None:
        return given.split(",")
    try:
        return [name.partition(":")[2] for name in Devices.parse(ALL_GPUS).names]
    except DeviceMissingError:
        return ["0"]


def environment(tool: str, number: int = 0) -> dict[str, str]:
    """Of the tests in a tool's process: small graphs, and the GPUs that it may see."""
    given = gpus()
    visible = {"CUDA_VISIBLE_DEVICES": given[number % len(given)]}
    return {**os.environ, "GSTREAM_SMALL": "1", **(visible if tool in ALONE else {})}


def tests_of(tool: str, given: Sequence[str]) -> list[str]:
    """Names of the tests that there are."""
    listing = [*PYTEST, *given, "--collect-only"]
    done = subprocess.run(listing, cwd=machine.ROOT, env=environment(tool), capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if "::" in line]


def start(tool: str, number: int, tests: Sequence[str], limit: int) -> Shard:
    """Have a tool watch some tests."""
    name = SAID / f"{tool}-{number}"
    name.with_suffix(".log").unlink(missing_ok=True)
    command = ["timeout", "--signal=INT", "--kill-after=60", str(limit), "compute-sanitizer", "--tool", tool]
    command += ["--target-processes", "application-only", "--print-limit", "20", "--log-file", f"{name}.log"]
    command += [*OPTIONS.get(tool, []), *PYTEST, *tests]
    with name.with_suffix(".out").open("wb") as out:
        process = subprocess.Popen(
            command, cwd=machine.ROOT, env=environment(tool, number), stdout=out, stderr=subprocess.STDOUT
        )
    return Shard(tool, name, process, len(tests))


def found_by(shards: Sequence[Shard]) -> dict[str, Any]:
    """What the processes of a tool came to, once they have ended. reports: None where one did not say."""
    counts = dict.fromkeys(("passed", "failed", "error", "skipped"), 0)
    reports: int | None = 0
    for shard in shards:
        shard.process.wait()
        last = shard.name.with_suffix(".out").read_text(errors="replace").strip().rpartition("\n")[2]
        for count, what in COUNTS.findall(last):
            counts[what] += int(count)
        log = shard.name.with_suffix(".log")
        said = REPORTS.findall(log.read_text(errors="replace")) if log.exists() else []
        reports = reports + sum(map(int, said)) if said and reports is not None else None
    return {"processes": len(shards), "tests": sum(shard.tests for shard in shards), "reports": reports, **counts}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tools; the exit code."""
    options = parse(arguments)
    SAID.mkdir(parents=True, exist_ok=True)
    facts, began = machine.facts(), time.monotonic()
    shards: list[Shard] = []
    for tool in options.tools:
        tests = tests_of(tool, options.tests)
        if not tests:
            sys.exit(f"{' '.join(options.tests)}: pytest finds no tests there. Name a folder or a file that has some.")
        parts = [tests[number :: options.shards] for number in range(options.shards)]
        shards += [start(tool, number, part, options.limit) for number, part in enumerate(parts) if part]
    known = json.loads(options.out.read_text()) if options.out.exists() else {}
    good = True
    for tool in options.tools:
        found = found_by([shard for shard in shards if shard.tool == tool])
        known[tool] = {**found, "seconds": round(time.monotonic() - began), **{k: facts[k] for k in ("date", "commit")}}
        ended = found["passed"] + found["skipped"] == found["tests"] > found["skipped"]
        good = good and ended and found["reports"] == found["failed"] == found["error"] == 0
        print(f"{tool}: {known[tool]}", flush=True)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps({name: known[name] for name in TOOLS if name in known}, indent=1) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
