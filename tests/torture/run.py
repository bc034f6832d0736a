"""`make torture`: breaks stores, disks, memory, processes, GPUs and inputs, and counts what came of it.

    python tests/torture/run.py                               a share of 10 minutes for each property
    python tests/torture/run.py --seconds 3600 --seed 7       an hour, other cases
    python tests/torture/run.py --only "bit flips" --seconds 7200
    python tests/torture/run.py --list

Cases come from the seed; a failure says which one it was. Counts go to bench/results/torture.json, those of shorter
runs to bench/scratch/results/; there those of other properties stay. Exit code 1 where a case did not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench import machine
from gstream.engine import delta_stepping as near
from gstream.engine import small_frontier as small
from tests.torture import answers as torture_answers
from tests.torture import crafted
from tests.torture import faults as torture_faults
from tests.torture import gpus as torture_gpus
from tests.torture import inputs as torture_inputs
from tests.torture import kills as torture_kills
from tests.torture import ranks as torture_ranks
from tests.torture import schedules as torture_schedules
from tests.torture import stores as torture_stores
from tests.torture import stripes as torture_stripes
from tests.torture.ordeals import Found, Property, try_property

# Fake devices, for processes of their own, too: these find them by the path.
os.environ["GSTREAM_TEST_DEVICES"] = "tests.fakes.device:FakeDevice"
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(machine.ROOT), os.environ.get("PYTHONPATH"))))
RESULT = machine.ROOT / "bench" / "results" / "torture.json"
SHORT_RESULT = machine.ROOT / "bench" / "scratch" / "results" / "torture.json"
USUAL_SECONDS = 600.0
MODULES = (
    torture_stores,
    torture_faults,
    torture_kills,
    torture_stripes,
    torture_ranks,
    torture_gpus,
    torture_schedules,
    torture_answers,
    torture_inputs,
    crafted,  # the first time it compiles for minutes, which are nobody else's so
)


def all_properties() -> list[Property]:
    """Every property, in the order in which they are tried."""
    return [tried for module in MODULES for tried in module.properties()]


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Options of the harness."""
    parser = argparse.ArgumentParser(description="Break gstream in every way and count what came of it.")
    parser.add_argument("--seconds", type=float, default=USUAL_SECONDS, help="for all properties together (600)")
    parser.add_argument("--seed", type=int, default=1, help="of the cases (1)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these properties alone")
    parser.add_argument("--out", type=Path, help="the result (of shorter runs than usual: below bench/scratch)")
    parser.add_argument("--folder", type=Path, help="where files are broken (default: a temporary folder)")
    parser.add_argument("--list", action="store_true", help="name the properties")
    options = parser.parse_args(arguments)
    options.out = options.out or (RESULT if options.seconds >= USUAL_SECONDS else SHORT_RESULT)
    names = [tried.name for tried in all_properties()]
    for name in options.only or ():
        if name not in names:
            parser.error(f"--only {name}: no such property; there are {', '.join(names)}")
    return options


def line(found: Found) -> str:
    """What became of a property, on one line."""
    if found.cases == 0:
        return f"{found.name}: not tried, no time was left"
    outcomes = ", ".join(f"{count:,} {name}" for name, count in sorted(found.outcomes.items()))
    wanted = f" of {found.wanted:,} wanted" if found.wanted else ""
    every = ", every one there is" if found.complete and not found.failed else ""
    verdict = f"{found.failed:,} FAILED" if found.failed else "held"
    return f"{found.name}: {found.cases:,} cases{wanted}{every}, {verdict} ({outcomes}) in {found.seconds:.0f} s"


def save(path: Path, results: Sequence[Found], facts: dict[str, Any]) -> None:
    """Write counts; properties that were not tried now keep theirs, with the commit they are of.

    facts: of the machine and of the code, from when this process began.
    """
    known = json.loads(path.read_text())["properties"] if path.exists() else {}
    for found in (one for one in results if one.cases):
        known[found.name] = {**found.as_dict(), "date": facts["date"], "commit": facts["commit"]}
        del known[found.name]["name"]
    own = [tried.name for tried in all_properties() if tried.name in known]
    others = sorted(
        name for name in known if name.startswith(("examples", "fuzz "))
    )  # of tests/torture/examples.py, fuzz.py
    machine.write_json(path, {"machine": facts, "properties": {name: known[name] for name in own + others}})


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the properties; the exit code."""
    options = parse(arguments)
    chosen = [tried for tried in all_properties() if not options.only or tried.name in options.only]
    if options.list:
        for tried in chosen:
            print(f"{tried.name}: {tried.promise}")
        return 0
    near.FEWEST_EDGES, small.MOST_EDGES = 0, 16  # graphs here are small: frontiers are to be cut, and the driver's
    folder = Path(tempfile.mkdtemp(prefix="torture-", dir=options.folder))
    results: list[Found] = []
    left, facts = options.seconds, machine.facts()
    try:
        for number, tried in enumerate(chosen):
            share = left / (len(chosen) - number)  # what one leaves, the others have
            found = try_property(tried, folder / tried.name.replace(" ", "-"), options.seed, share)
            left -= found.seconds
            found.failures = [text.replace(str(folder), "FOLDER") for text in found.failures]
            results.append(found)
            print(line(found), flush=True)
            for failure in found.failures:
                print(f"    {failure}", flush=True)
            save(options.out, results, facts)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if untried := sum(found.cases == 0 for found in results):
        print(f"{untried} of {len(results)} properties had no time: raise --seconds, or name some with --only")
    print(f"counts: {options.out}")
    return 1 if any(found.failed for found in results) else 0


if __name__ == "__main__":
    sys.exit(main())
