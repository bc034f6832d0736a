"""`make fuzz`: coverage-guided fuzzing (atheris) of every parser and of the store reader.

    python tests/fuzz/run.py                                   a share of 10 minutes for each target
    python tests/fuzz/run.py --target text --runs 10000000     until there were so many
    python tests/fuzz/run.py --target mtx npz --seconds 600 --plain
    python tests/fuzz/run.py --keep                            the smallest inputs that reach every line so far, for
    tests python tests/fuzz/run.py --target mtx --seed 7 --out 7.json     beside others: a corpus of its own,
    libFuzzer's seed 7 python tests/fuzz/run.py --merge *.json                    add up what several processes counted
    python tests/fuzz/run.py --list

Compiled functions are fuzzed in two ways. --plain runs them as Python (NUMBA_DISABLE_JIT), so that the fuzzer sees
their branches and NumPy checks every index (unsigned ones that wrap are past every end); this finds inputs. Without it
they are compiled with Numba's checks of bounds, ten times as fast, and what the fuzzer sees is the Python around them.
By default a quarter of the time goes to the first way, and both extend one corpus, below bench/scratch/fuzz.

Runs add up in bench/results/torture.json as the property "fuzz NAME", until --afresh. A finding is an exception that
is no refusal in one line (the run goes on), a crash, a hang of 20 s, or 3 GiB of memory (it ends); its input is kept
beside the corpus. Exit code 1 where there was one.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
if not __package__:
    sys.path.insert(0, str(ROOT))

MEMORY_FOLDER = Path("/dev/shm")
SCRATCH = ROOT / "bench" / "scratch" / "fuzz"
WANTED = 10_000_000
USUAL_SECONDS = 600.0
PLAIN_SHARE = 0.25  # of the time, at most
HANG_SECONDS, MOST_MIB = 20, 3072
RUNS_A_CHILD = 1_000_000  # atheris keeps 500 to 2,500 bytes of each run that it watches comparisons in
COMPILED = re.compile(r"^@(compiled|kernel|helper|intrinsic)\b", re.MULTILINE)
MOST_CRASHES = 5  # then a target is left
BOARD_BYTES = 1 << 16
LAST_RUNS = 9  # each of which is noted
COLLECT_EVERY = 4_000  # new objects: looking for unheld ones at each 700, as Python would, is a tenth of a run
TELL_SECONDS = 0.5  # between two notes on the board: what a crash leaves uncounted


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Options of the command."""
    parser = argparse.ArgumentParser(description="Fuzz the parsers and the store reader, guided by coverage.")
    parser.add_argument("--target", nargs="+", metavar="NAME", help="these alone")
    parser.add_argument("--runs", type=int, help="of each target, now")
    parser.add_argument("--seconds", type=float, help="for all targets together (600; no limit with --runs)")
    parser.add_argument("--plain", action="store_true", help="all of it without compiled code")
    parser.add_argument("--compiled", action="store_true", help="none of it without compiled code")
    parser.add_argument("--afresh", action="store_true", help="forget the runs that were counted before")
    parser.add_argument("--keep", action="store_true", help="write the smallest inputs that reach every line")
    parser.add_argument("--out", type=Path, help="the result (bench/results/torture.json)")
    parser.add_argument("--seed", type=int, default=0, help="libFuzzer's, and a corpus apart (0: it draws one)")
    parser.add_argument("--merge", nargs="+", type=Path, metavar="FILE", help="add the runs of these results to --out")
    parser.add_argument("--list", action="store_true", help="name the targets")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)  # name, board, folder, 1 for --plain
    options, more = parser.parse_known_args(arguments)
    if more and not options.child:
        parser.error(f"{more[0]}: no such option")
    return options


class Board:
    """Outcomes of a child, in a file that outlives it: JSON, padded by blanks."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(b"{}".ljust(BOARD_BYTES))
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), BOARD_BYTES)

    def write(self, counts: Counter[str], found: dict[str, str]) -> None:
        text = json.dumps({"counts": counts, "found": found}).encode()
        if len(text) <= BOARD_BYTES:
            self._map[:] = text.ljust(BOARD_BYTES)

    def read(self) -> tuple[Counter[str], dict[str, str]]:
        told = json.loads(bytes(self._map)) or {"counts": {}, "found": {}}
        return Counter(told["counts"]), told["found"]


def watched(run: Callable[[bytes], str], board: Board, folder: Path, runs: int = -1) -> Callable[[bytes], None]:
    """`run`, its outcomes counted, and the first input of each kind of finding kept in `folder`.

    runs: after how many libFuzzer ends the process, at once.
    """
    counts, found, due = Counter[str](), dict[str, str](), [0.0]

    def one(data: bytes) -> None:
        try:
            word = run(bytes(data))
        except Exception as error:
            word = place_of(error)
            if word not in found:
                folder.mkdir(parents=True, exist_ok=True)
                name = f"{len(list(folder.iterdir())):03d}"
                (folder / name).write_bytes(data)
                found[word] = f"{name}: {type(error).__name__}: {error}"[:400]
                board.write(counts, found)
        counts[word] += 1
        if time.monotonic() > due[0] or 0 <= runs <= counts.total() + LAST_RUNS:
            board.write(counts, found)
            due[0] = time.monotonic() + TELL_SECONDS

    return one


def place_of(error: BaseException) -> str:
    """What an exception is and where it was raised, in gstream's own files if it came through there."""
    where, trace = "", error.__traceback__
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if not where or ROOT in file.parents:
            where = f"{file.name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__} at {where}"


def be_child(name: str, board: str, folder: str, plain: bool, flags: list[str]) -> None:
    """Fuzz one target until libFuzzer ends the process."""
    import gc
    import warnings

    import atheris

    warnings.simplefilter("ignore")  # of integers that wrap, as unsigned ones should
    with atheris.instrument_imports(include=["pagestore", "gstream"], exclude=[] if plain else compiled_modules()):
        from tests.fuzz.every import TARGETS
    target = TARGETS[name]
    runs = next((int(flag.removeprefix("-runs=")) for flag in flags if flag.startswith("-runs=")), -1)
    run = watched(target.run, Board(Path(board)), Path(folder) / "found", runs)
    gc.freeze()
    gc.set_threshold(COLLECT_EVERY)
    atheris.Setup([sys.argv[0], *flags], run, enable_python_coverage=True)
    atheris.Fuzz()


def compiled_modules() -> list[str]:
    """Modules with functions that Numba compiles: it can't compile what a fuzzer wove into them."""
    files = (path for package in ("pagestore", "gstream") for path in (ROOT / package).rglob("*.py"))
    return [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files
            if COMPILED.search(path.read_text())]  # fmt: skip


def run_child(
    target: Any, plain: bool, runs: int | None, seconds: float | None, seed: int = 0
) -> tuple[Counter[str], dict, float]:
    """Fuzz in a process of its own; (outcomes, findings, seconds). It is started again after RUNS_A_CHILD, and a crash.

    seed: of libFuzzer. Its folder is then apart, and the common corpus only read.
    """
    common = SCRATCH / target.name.replace(" ", "-")
    folder = common / f"seed-{seed}" if seed else common
    corpus, board = folder / "corpus", folder / "board"
    fill(corpus, target)
    corpora = [str(corpus)] + [str(path) for path in [common / "corpus"] if seed and path.is_dir()]
    counts, found = Counter[str](), dict[str, str]()
    began, deadline = time.monotonic(), None if seconds is None else time.monotonic() + seconds
    crashes = starts = 0
    while crashes < MOST_CRASHES and (runs is None or counts.total() < runs):
        left = None if deadline is None else int(deadline - time.monotonic())
        if left is not None and left < 1:
            break
        flags = [f"-max_len={target.longest}", f"-timeout={HANG_SECONDS}", f"-rss_limit_mb={MOST_MIB}", "-verbosity=0",
                 f"-artifact_prefix={folder}/", "-reload=0", "-use_value_profile=0",
                 f"-runs={RUNS_A_CHILD if runs is None else min(RUNS_A_CHILD, runs - counts.total())}"]  # fmt: skip
        flags += [] if left is None else [f"-max_total_time={left}"]
        flags += [f"-seed={seed + (starts << 20)}"] if seed else []
        starts += 1
        board.unlink(missing_ok=True)
        Board(board)
        paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "NUMBA_DISABLE_JIT": "1" if plain else "0", "NUMBA_BOUNDSCHECK": "1",
                       "NUMBA_CACHE_DIR": str(SCRATCH / "numba"), "PYTHONPATH": paths}  # fmt: skip
        command = [sys.executable, __file__, "--child", target.name, str(board), str(folder), str(int(plain))]
        before = set(folder.iterdir())
        with TemporaryDirectory(prefix="fuzz-", dir=MEMORY_FOLDER if MEMORY_FOLDER.is_dir() else None) as work:
            environment["FUZZ_FOLDER"] = work
            ended = subprocess.run([*command, *flags, *corpora], env=environment, cwd=ROOT, capture_output=True)
        more, told = Board(board).read()
        counts.update(more)
        found.update(told)
        if ended.returncode:
            crashes += 1
            said = ended.stderr.decode(errors="replace").strip()
            artifact = ", ".join(path.name for path in set(folder.iterdir()) - before)
            found[f"ended with {ended.returncode}, time {crashes}"] = f"{artifact}: {said[-700:]}"
            counts["crash or hang"] += 1
        elif not more:
            break
    return counts, found, time.monotonic() - began


def fill(corpus: Path, target: Any) -> None:
    """Put the kept inputs and the seeds where they are missing."""
    from tests.fuzz.targets import kept

    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate([*target.seeds(), *kept(target.name)]):
        (corpus / f"kept-{number:04d}").write_bytes(data)


def fuzz_one(target: Any, options: argparse.Namespace, seconds: float | None) -> Any:
    """Both ways for one target; what became of it, as the torture harness keeps it."""
    from tests.torture.ordeals import Found

    found = Found(f"fuzz {target.name}", target.promise, options.seed, wanted=WANTED)
    ways = [True] if options.plain else [False] if options.compiled else [True, False]
    for plain in ways:
        share = seconds if seconds is None or len(ways) == 1 else seconds * (PLAIN_SHARE if plain else 1 - PLAIN_SHARE)
        runs = options.runs if options.runs is None or not plain or len(ways) == 1 else options.runs // 100
        runs = runs if runs is None or plain else runs - found.cases
        counts, texts, took = run_child(target, plain, runs, share, options.seed)
        found.cases += counts.total()
        found.seconds += took
        for word, count in counts.items():
            bad = word in texts or word == "crash or hang"
            found.failed += count * bad
            found.outcomes["" if bad else word] += count
        found.failures += [f"{word}: {text}" for word, text in texts.items()]
        print(
            f"    {'plain' if plain else 'compiled'}: {counts.total():,} runs, {counts.total() / took:,.0f}/s",
            flush=True,
        )
    del found.outcomes[""]
    return found


def added(found: Any, path: Path) -> Any:
    """`found` and the runs that were counted before."""
    known = json.loads(path.read_text())["properties"].get(found.name) if path.exists() else None
    if known:
        found.cases += known["cases"] - known["failed"]
        found.seconds += known["seconds"]
        found.outcomes.update(known["outcomes"])
    return found


def merged(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One row for all runs. processes: whose results were added to what was counted before; seeds: given to them."""
    row: dict[str, Any] = {**rows[-1], "seed": 0, "complete": False}
    row["cases"] = sum(one["cases"] for one in rows)
    row["failed"] = sum(one["failed"] for one in rows)
    row["seconds"] = round(sum(one["seconds"] for one in rows), 1)  # of all processes together
    row["outcomes"] = dict(sorted(sum((Counter(one["outcomes"]) for one in rows), Counter[str]()).items()))
    row["failures"] = [text for one in rows for text in one["failures"]]
    row["processes"] = sum(one["processes"] for one in rows)
    row["seeds"] = [seed for one in rows for seed in one.get("seeds", [one["seed"]] if one["seed"] else [])]
    if len(set(row["seeds"])) != len(row["seeds"]):
        sys.exit(f"--merge: a seed of {row['seeds']} occurs twice; was a file given before?")
    row["commits"] = sorted({commit for one in rows for commit in one.get("commits", [one["commit"]])})
    row["machines"] = sorted({machine for one in rows for machine in one["machines"]})
    row["date"], row["commit"] = max((one["date"], one["commit"]) for one in rows)
    return row


def merge(files: Sequence[Path], path: Path) -> int:
    """Add the rows of `files`, one process each, to those at `path`; the exit code: 1 where there was a finding."""
    from bench import machine

    whole = json.loads(path.read_text()) if path.exists() else {"machine": machine.facts(), "properties": {}}
    known, more = whole["properties"], [json.loads(file.read_text()) for file in files]
    for name in sorted({name for one in more for name in one["properties"]}):
        rows = [{"machines": [one["machine"]["cpu"]], "processes": int(one is not whole), **one["properties"][name]}
                for one in (whole, *more) if name in one["properties"]]  # fmt: skip
        known[name] = merged(rows)
        print(f"{name}: {known[name]['cases']:,} cases, {known[name]['failed']} failed")
    machine.write_json(path, whole)
    return 1 if any(known[name]["failed"] for one in more for name in one["properties"]) else 0


def chosen_by(options: argparse.Namespace) -> list[Any]:
    """The targets that were asked for."""
    from tests.fuzz.every import TARGETS

    if unknown := set(options.target or ()) - set(TARGETS):
        sys.exit(f"--target {unknown.pop()}: no such target; there are {', '.join(TARGETS)}")
    return [target for target in TARGETS.values() if not options.target or target.name in options.target]


def keep(options: argparse.Namespace) -> int:
    """Write what tests run, in a process where compiled functions are Python."""
    if os.environ.get("NUMBA_DISABLE_JIT") != "1":
        os.execve(sys.executable, [sys.executable, __file__, *sys.argv[1:]], {**os.environ, "NUMBA_DISABLE_JIT": "1"})
    from tests.fuzz import corpus as fuzz_corpus

    return fuzz_corpus.keep(chosen_by(options), SCRATCH)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz; the exit code."""
    options = parse(arguments)
    if options.child:
        name, board, folder, plain = options.child
        be_child(name, board, folder, plain == "1", sys.argv[7:])
    if options.keep:
        return keep(options)
    from bench import machine
    from tests.torture import run as torture

    if options.merge:
        return merge(options.merge, options.out or torture.RESULT)
    chosen = chosen_by(options)
    if options.list:
        for target in chosen:
            print(f"{target.name}: {target.promise}")
        return 0
    seconds: float | None = options.seconds or (None if options.runs else USUAL_SECONDS)
    failed, facts, path = 0, machine.facts(), options.out or torture.RESULT
    for number, target in enumerate(chosen):
        share = None if seconds is None else seconds / (len(chosen) - number)
        found = fuzz_one(target, options, share)
        seconds = None if seconds is None else max(seconds - found.seconds, 1.0)
        failed += found.failed
        print(torture.line(found), flush=True)
        for failure in found.failures:
            print(f"    {failure}", flush=True)
        torture.save(path, [found if options.afresh else added(found, path)], facts)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
