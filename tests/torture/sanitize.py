"""compute-sanitizer over the GPU tests: each of its tools over every test of tests/gpu, in processes side by side.

    python tests/torture/sanitize.py                                        all four tools
    python tests/torture/sanitize.py --tools memcheck --shards 4 --limit 500
    python tests/torture/sanitize.py --tools memcheck --missing             what the last one had no time for
    python tests/torture/sanitize.py --tests tests/gpu/test_sort.py

A process has some tests of one file. Results go to bench/results/sanitizer.json, a tool's in place of those it had, or
beside them with --missing ("parts": how many tests are of which commit); what tools and tests said to
bench/scratch/sanitizer/. Exit code 1 where a tool reports something, a test fails, or a process did not end in time.
Tests that failed or had no end are named as missing.
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
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench import machine
from bench.link import ALL_GPUS, Devices
from pagestore.errors import DeviceMissingError
from tests.torture.pytests import PYTEST, tests_of

RESULT = machine.ROOT / "bench" / "results" / "sanitizer.json"
SAID = machine.ROOT / "bench" / "scratch" / "sanitizer"
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
ALONE = ("memcheck",)  # each process sees one GPU, the next one: with two it hung in tests of both
OPTIONS = {"memcheck": ["--leak-check", "no"]}  # contexts end with their process
REPORTS = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)")
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
COUNTS = re.compile(r"(\d+) (passed|failed|error|skipped)")


class Part(NamedTuple):
    """Some tests for one process under a tool; `name`.log is the tool's, `name`.out the tests'."""

    tool: str
    name: Path
    tests: Sequence[str]


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description="Run the GPU tests under compute-sanitizer.")
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS), help="which of its tools (all)")
    parser.add_argument("--shards", type=int, default=2, help="processes at a time (2)")
    parser.add_argument("--part", type=int, default=12, help="most tests of a process (12)")
    parser.add_argument("--limit", type=int, default=3600, help="seconds after which all are stopped (3600)")
    parser.add_argument("--missing", action="store_true", help="only tests that have not ended in the result")
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
    """Of the tests in a tool's process: small graphs, and the GPUs that it may see, another one first in each slot."""
    given = gpus()
    turn = number % len(given)
    visible = given[turn : turn + 1] if tool in ALONE else given[turn:] + given[:turn]
    return {**os.environ, "GSTREAM_SMALL": "1", "CUDA_VISIBLE_DEVICES": ",".join(visible)}


def parts_of(tool: str, tests: Sequence[str], most: int) -> list[Part]:
    """Tests of one file together, as they use the same kernels, which a tool takes long to load; some of every file
    before more of any, as time may run out."""
    groups = [list(group) for _, group in groupby(tests, lambda name: name.partition("::")[0])]
    turns = range(0, max(map(len, groups), default=0), most)
    cut = [group[first : first + most] for first in turns for group in groups if first < len(group)]
    return [Part(tool, SAID / f"{tool}-{number}", group) for number, group in enumerate(cut)]


def run(part: Part, slot: int, limit: float) -> dict[str, Any]:
    """Have a tool watch some tests; what they came to. missing: those that failed; all, if there was no end."""
    log, said = part.name.with_suffix(".log"), part.name.with_suffix(".out")
    log.unlink(missing_ok=True)
    command = ["timeout", "--signal=INT", "--kill-after=20", str(limit), "compute-sanitizer", "--tool", part.tool]
    command += ["--target-processes", "application-only", "--print-limit", "20", "--log-file", str(log)]
    command += [*OPTIONS.get(part.tool, []), *PYTEST, *part.tests]
    found: dict[str, Any] = {**dict.fromkeys(("passed", "failed", "error", "skipped", "reports"), 0), "missing": []}
    if limit > 1:
        with said.open("wb") as out:
            env = environment(part.tool, slot)
            subprocess.run(command, cwd=machine.ROOT, env=env, stdout=out, stderr=subprocess.STDOUT, check=False)
        for count, what in COUNTS.findall(said.read_text(errors="replace").strip().rpartition("\n")[2]):
            found[what] += int(count)
    reports = REPORTS.findall(log.read_text(errors="replace")) if log.exists() else []
    found["reports"] = sum(map(int, reports))
    if not reports or sum(found[k] for k in ("passed", "failed", "error", "skipped")) < len(part.tests):
        found.update(passed=0, failed=0, error=0, skipped=0, missing=list(part.tests))
    elif found["failed"] or found["error"]:
        found["missing"] = [
            name for name in part.tests if name in set(FAILED.findall(said.read_text(errors="replace")))
        ]
    return found


def run_all(parts: Sequence[Part], processes: int, limit: int) -> dict[str, dict[str, Any]]:
    """What the tests of each tool came to, so many processes at a time."""
    ends = time.monotonic() + limit
    slots: SimpleQueue[int] = SimpleQueue()
    for slot in range(processes):
        slots.put(slot)

    def one(part: Part) -> dict[str, Any]:
        slot = slots.get()
        try:
            return run(part, slot, ends - time.monotonic())
        finally:
            slots.put(slot)

    with ThreadPoolExecutor(processes) as pool:
        done = list(zip(parts, pool.map(one, parts), strict=True))
    return {tool: added([found for part, found in done if part.tool == tool]) for tool in {p.tool for p in parts}}


def added(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Counts, and names of what is missing, together."""
    return {key: sum((one[key] for one in found[1:]), start=found[0][key]) for key in found[0]}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tools; the exit code."""
    options = parse(arguments)
    SAID.mkdir(parents=True, exist_ok=True)
    facts, began = machine.facts(), time.monotonic()
    known = json.loads(options.out.read_text()) if options.out.exists() else {}
    parts: list[Part] = []
    for tool in options.tools:
        tests = tests_of(options.tests, environment(tool))
        if not tests:
            sys.exit(f"{' '.join(options.tests)}: pytest finds no tests there. Name a folder or a file that has some.")
        if options.missing and tool in known:
            tests = [name for name in tests if name in set(known[tool]["missing"])]
        parts += parts_of(tool, tests, options.part)
    if not parts:
        print(f"{', '.join(options.tools)}: nothing is missing.")
        return 0
    result = run_all(parts, options.shards, options.limit)
    good = True
    for tool, found in result.items():
        found["parts"] = [{"commit": facts["commit"], "passed": found["passed"]}]
        if options.missing and tool in known:
            before = {
                "parts": [],
                **known[tool],
                "failed": 0,
                "error": 0,
                "missing": [],
            }  # those that failed were missing
            found = added([{key: before[key] for key in found}, found])
        when = {"seconds": round(time.monotonic() - began), **{k: facts[k] for k in ("date", "commit")}}
        known[tool] = {**found, **when}
        clean = found["reports"] == found["failed"] == found["error"] == len(found["missing"]) == 0
        good = good and clean and found["passed"] > 0
        print(f"{tool}: { ({**known[tool], 'missing': len(found['missing'])}) }", flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({name: known[name] for name in TOOLS if name in known}, indent=1) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
