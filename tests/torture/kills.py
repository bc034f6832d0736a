"""Processes that die, by SIGKILL at any call or moment, or by signals: what is left is old, complete or kept."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from gstream.programs.sssp import SSSP
from gstream.programs.wcc import WCC
from gstream.telemetry.stats import RunOutcome
from pagestore import open_store
from pagestore.convert import ConvertOptions, convert
from pagestore.memory import ArraySource
from tests.cli.command import ENDLESS
from tests.torture.ordeals import (
    Bad,
    Cases,
    Counted,
    Ended,
    Property,
    command,
    in_child,
    names_in,
    places_of,
    quietly,
    signalled,
)
from tests.torture.stores import make_store
from tests.torture.syscalls import CHANGES, Fault, Kinds, calls_of, supported, watched

ALL = Kinds(removing=True)
MEMORY = 1 << 14  # bytes: every temporary thing of a conversion goes to disk
ORDERS: tuple[dict[str, Any], ...] = ({}, {"order": "degree"}, {"directed": False, "dedupe": True}, {"topology": "out"})
PROGRAMS: dict[str, tuple[Callable[[], Any], int | None]] = {
    "bfs": (lambda: BFS(source=3), None),
    "pagerank": (lambda: PageRank(tolerance=0.0), 8),
    "sssp": (lambda: SSSP(source=3), None),
    "labels": (WCC, None),
}
WAYS: tuple[dict[str, Any], ...] = (
    {}, {"devices": ["host:2"]}, {"devices": ["fake:7"]}, {"devices": ["fake:8:3"], "streams": 2},
    {"chunk_vertices": 128}, {"direction": "push"},
)  # fmt: skip
SUPERSTEPS = 300  # of the program that counts them
PATH = 2_000  # vertices of a path, on which breadth-first search makes as many supersteps, by one thread
RESUMED_S = 10.0
LAST_PLACES = 3_000  # of a command, where files are renamed and removed: half of the signals that come at calls


def make_edges(edges: int = 4000, vertices: int = 400) -> ArraySource:
    """A weighted graph with hubs, in memory."""
    numbers = np.random.default_rng(11)
    source, target = (vertices * numbers.random((2, edges)) ** 3).astype(np.int64)
    return ArraySource(source, target, numbers.integers(1, 99, edges).astype(np.float64))


def conversion(path: Path, order: dict[str, Any], **options: Any) -> Callable[[], int | None]:
    """A conversion that uses temporary files, as an action of a child."""

    def run() -> None:
        settings = {"page_bytes": 4096, "memory_bytes": MEMORY, "threads": 2, **order, **options}
        convert(make_edges(), path, ConvertOptions(**settings))

    return run


def kills_at_calls(folder: Path, numbers: random.Random) -> Cases:
    """SIGKILL ahead of every write, fsync, rename, unlink and so on of a conversion, HDF5's too, then --resume."""
    cases: list[tuple[int, int]] = []
    for number, order in enumerate(ORDERS):
        _whole(folder, number)
        calls = calls_of(conversion(folder / "count.gs", order), folder, ALL)
        (folder / "count.gs").unlink()
        cases += [(number, site) for site in range(calls)]
    yield Counted(len(cases))
    numbers.shuffle(cases)
    for number, site in cases:

        def killed(action: Callable[[], Any], site: int = site) -> Ended:
            return watched(action, folder, ALL, Fault(site))[0]

        where = f"order {number}, call {site}"
        yield _killed(folder, ORDERS[number], _whole(folder, number), site % 3 == 0, killed, where)


def kills_at_moments(folder: Path, numbers: random.Random) -> Cases:
    """SIGKILL after a random time of a conversion, then --resume."""
    number = 0
    while True:
        number = (number + 1) % len(ORDERS)
        whole = _whole(folder, number)
        seconds = numbers.random() * _seconds(folder, number)
        yield _killed(
            folder, ORDERS[number], whole, numbers.random() < 0.3,
            lambda action, s=seconds: in_child(action, kill_after_s=s), f"order {number}, {seconds} s",
        )  # fmt: skip


@cache
def _whole(folder: Path, number: int) -> bytes:
    """The store that is right; made in this process, so that children find the kernels loaded."""
    path = folder / f"whole-{number}.gs"
    conversion(path, ORDERS[number])()
    data = path.read_bytes()
    path.unlink()
    return data


@cache
def _seconds(folder: Path, number: int) -> float:
    began = time.monotonic()
    in_child(conversion(folder / "timed.gs", ORDERS[number]))
    (folder / "timed.gs").unlink()
    return 1.1 * (time.monotonic() - began)


def _killed(
    folder: Path, order: dict[str, Any], whole: bytes, old: bool, ended: Callable[[Any], Ended], where: str
) -> str | Bad:
    """One conversion that is killed, on to an old store or none, and its resumption."""
    path = folder / "killed.gs"
    before = b"an old store" if old else None
    if before is not None:
        path.write_bytes(before)
    code = ended(conversion(path, order)).code
    left = path.read_bytes() if path.exists() else None
    if left not in (before, whole):
        return Bad(f"{where}: left a store of {len(left or b'')} bytes")
    done = in_child(conversion(path, order, resume=True))
    if done.code != 0 or not path.exists():
        for path in folder.glob("killed.gs*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return Bad(f"{where}: --resume ended with {done.code}: {done.said[-300:]}")
    if path.read_bytes() != whole:
        return Bad(f"{where}: --resume made another store")
    path.unlink()
    if names_in(folder):
        return Bad(f"{where}: left {names_in(folder)}")
    return "ended first" if code == 0 else "complete" if left == whole else "old" if old else "absent"


def kills_in_runs(folder: Path, numbers: random.Random) -> Cases:
    """SIGKILL in every superstep of four programs, on each kind of devices; then the run goes on, on another kind."""
    make_store(folder / "graph.gs", 5)
    cases = [
        (name, superstep, way, other)
        for name in PROGRAMS
        for superstep in range(1, _run(folder, name, {}).supersteps + 1)
        for way in range(len(WAYS))
        for other in range(len(WAYS))
    ]
    yield Counted(len(cases))
    numbers.shuffle(cases)
    for name, superstep, way, other in cases:

        def killed(name: str = name, superstep: int = superstep, way: int = way) -> None:
            def progress(number: int, step: Any) -> None:
                if number == superstep:
                    os.kill(os.getpid(), signal.SIGKILL)

            _run(folder, name, WAYS[way], checkpoint=folder / "kept", checkpoint_every=1, progress=progress)

        where = f"{name}, superstep {superstep}, {WAYS[way]} {WAYS[other]}"
        yield _resumed(folder, name, in_child(killed).code, WAYS[other], where)


def kills_in_checkpoints(folder: Path, numbers: random.Random) -> Cases:
    """SIGKILL ahead of every write, fsync and rename of a run that keeps each superstep."""
    make_store(folder / "graph.gs", 5)
    kept: dict[str, Callable[[], None]] = {}
    for name in PROGRAMS:

        def action(name: str = name) -> None:
            _run(folder, name, {}, checkpoint=folder / "kept", checkpoint_every=1)

        kept[name] = action
    cases = []
    for name, action in kept.items():
        cases += [(name, site) for site in range(calls_of(action, folder))]
        shutil.rmtree(folder / "kept", ignore_errors=True)  # a run that kept nothing left none
    yield Counted(len(cases))
    for name, site in cases:
        ended, _ = watched(kept[name], folder, CHANGES, Fault(site))
        yield _resumed(folder, name, ended.code, numbers.choice(WAYS), f"{name}, call {site}")


def _run(folder: Path, name: str, way: dict[str, Any], **options: Any) -> RunOutcome:
    program, limit = PROGRAMS[name]
    with open_store(folder / "graph.gs") as store, Engine(store, RunOptions(threads=2, **way, **options)) as engine:
        return engine.run(program(), limit)


@cache
def _expected(folder: Path, name: str) -> np.ndarray:
    return _run(folder, name, {}).value


def _resumed(folder: Path, name: str, code: int | None, way: dict[str, Any], where: str) -> str | Bad:
    """The right answer after a run that was killed. code: how that ended."""
    expected = _expected(folder, name)
    found = _run(folder, name, way, checkpoint=folder / "kept", resume=True)
    left = set(names_in(folder / "kept")) - {"slot-0", "slot-1"}
    shutil.rmtree(folder / "kept", ignore_errors=True)  # a run that kept nothing left none
    if left:
        return Bad(f"{where}: left {left}")
    if name == "pagerank":
        same = bool(np.abs(found.value / expected - 1).max() < 1e-6)
    else:
        same = found.value.tobytes() == expected.tobytes()
    if not same:
        return Bad(f"{where}: another answer")
    assert found.stats.kept is not None
    return "ended first" if code == 0 else "resumed" if found.stats.kept.resumed else "began again"


@dataclass(frozen=True)
class Moments:
    """When a command may get a signal: in the seconds that it takes, or at any of its calls (ordeals.signalled)."""

    seconds: float
    places: int

    @classmethod
    def of(cls, run: Callable[[], int | None]) -> Moments:
        quietly(run)  # what it compiles, children find
        began = time.monotonic()
        quietly(run)
        return cls(1.5 * (time.monotonic() - began), places_of(run))

    def signalled(self, run: Callable[[], int | None], number: int, numbers: random.Random) -> tuple[Ended, str]:
        """How it ended, and when it got the signal."""
        if numbers.random() < 0.5:
            seconds = numbers.random() * self.seconds
            return in_child(run, seconds, number), f"after {seconds:.4f} s"
        last = self.places if numbers.random() < 0.5 else min(self.places, LAST_PLACES)
        place = self.places - numbers.randrange(last)
        return in_child(signalled(run, place, number)), f"at call {place:,}"


def signals_in_runs(folder: Path, numbers: random.Random) -> Cases:
    """SIGINT or SIGTERM at any moment of `gstream run --checkpoint`: resumable within 10 s, nothing left over."""
    ways = _ways_to_run(folder)
    while True:
        arguments, expected, often, moments = numbers.choice(ways)
        number, every = numbers.choice([signal.SIGINT, signal.SIGTERM]), numbers.choice([*often, "1h", "10s"])
        ended, when = moments.signalled(command(*arguments, "--checkpoint-every", every), number, numbers)
        where = f"{arguments[1]}: {number.name} {when}, every {every}"
        if ended.code not in (0, 128 + number) or "Traceback" in ended.said:
            yield Bad(f"{where}: ended with {ended.code}: {ended.said}")
            shutil.rmtree(folder / "kept", ignore_errors=True)
            (folder / "out.csv").unlink(missing_ok=True)
            continue
        left = [name for name in names_in(folder) if name not in ("graph.gs", "path.gs", "count.py", "out.csv", "kept")]
        left = [name for name in left if not re.fullmatch(r"kept/slot-[01]|__pycache__.*", name)]
        began = time.monotonic()
        again = in_child(command(*arguments, "--resume", "--force"))
        took = time.monotonic() - began
        values = {line.split(",")[1] for line in (folder / "out.csv").read_text().splitlines()[1:]}
        shutil.rmtree(folder / "kept", ignore_errors=True)  # a run that kept nothing left none
        (folder / "out.csv").unlink()
        if left or again.code != 0 or took > RESUMED_S or {float(value) for value in values} != expected:
            yield Bad(
                f"{where}: left {left}; resumed {again.code} in {took:.1f} s to {sorted(values)[:3]}: {again.said}"
            )
        elif ended.code == 0:
            yield "ended first"
        else:
            yield "resumed" if "resumed " in again.said else "began again"


def _ways_to_run(folder: Path) -> list[tuple[list[object], set[float], tuple[str, str], Moments]]:
    """(arguments, the values of the answer, how often to keep checkpoints, when a signal may come), two of them:
    supersteps that are the driver's, and one thread's."""
    make_store(folder / "graph.gs", 5)
    (folder / "count.py").write_text(ENDLESS)
    path = ArraySource(np.arange(PATH - 1), np.arange(1, PATH))
    convert(path, folder / "path.gs", ConvertOptions(page_bytes=4096, order="natural"))
    count = ["run", f"{folder}/count.py:Count", folder / "graph.gs", "--max-supersteps", SUPERSTEPS]
    search = ["run", "bfs", folder / "path.gs", "--source", 0]
    ways = []
    for arguments, expected, often in (
        (count, {float(SUPERSTEPS)}, ("5", "50")), (search, set(map(float, range(PATH))), ("50", "500")),
    ):  # fmt: skip
        moments = Moments.of(command(*arguments, "-o", folder / "out.csv", "--force"))
        (folder / "out.csv").unlink()
        ways.append(([*arguments, "--checkpoint", folder / "kept", "-o", folder / "out.csv"], expected, often, moments))
    return ways


def signals_in_conversions(folder: Path, numbers: random.Random) -> Cases:
    """SIGINT or SIGTERM at any moment of `gstream convert`: nothing is left over."""
    edges = make_edges()
    pairs = "".join(f"{a} {b} {w:g}\n" for chunk in edges.chunks() for a, b, w in zip(*_columns(chunk), strict=True))
    (folder / "edges.txt").write_text(pairs)
    run = ["convert", folder / "edges.txt", folder / "graph.gs", "--page-size", "4KiB", "--memory", "16MiB"]
    moments = Moments.of(command(*run, "--force"))
    whole = (folder / "graph.gs").read_bytes()
    while True:
        (folder / "graph.gs").unlink(missing_ok=True)
        number = numbers.choice([signal.SIGINT, signal.SIGTERM])
        ended, when = moments.signalled(command(*run), number, numbers)
        where, left = f"{number.name} {when}", set(names_in(folder)) - {"edges.txt"}
        if ended.code == 0 and left == {"graph.gs"} and (folder / "graph.gs").read_bytes() == whole:
            yield "ended first"
        elif ended.code == 128 + number and not left - {"graph.gs"} and "Traceback" not in ended.said:
            complete = left and (folder / "graph.gs").read_bytes() == whole
            yield "complete" if complete else Bad(f"{where}: left a cut store") if left else "absent"
        else:
            yield Bad(f"{where}: ended with {ended.code}, left {sorted(left)}: {ended.said[-300:]}")


def _columns(chunk: Any) -> tuple[list, list, list]:
    return chunk.source.tolist(), chunk.target.tolist(), chunk.weight.tolist()


def properties() -> Iterator[Property]:
    """Those about processes that end early."""
    absent = "after kill -9 the store is absent, old or complete, and --resume gives the same bytes"
    if supported():
        yield Property("kills at calls", f"at every call of a conversion: {absent}", kills_at_calls)
    yield Property("kills at moments", f"at any moment of a conversion: {absent}", kills_at_moments, 500)
    went_on = "a run goes on after kill -9 to the same answer, on the same devices or others"
    runs = "in every superstep of BFS, PageRank, SSSP and WCC (as label propagation: union-find has one superstep)"
    yield Property("kills in runs", f"{runs}: {went_on}", kills_in_runs)
    if supported():
        yield Property("kills in checkpoints", f"at every call of a checkpoint: {went_on}", kills_in_checkpoints)
    yield Property("signals in runs", "after SIGINT or SIGTERM a run is resumable within 10 s", signals_in_runs, 200)
    yield Property("signals in conversions", "SIGINT and SIGTERM leave nothing over", signals_in_conversions, 200)
