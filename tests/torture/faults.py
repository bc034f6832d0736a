"""Disks and memory that fail: the n-th call that changes a file, files that may not grow, the n-th array."""

from __future__ import annotations

import errno
import hashlib
import json
import random
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from gstream.cli.failures import report
from tests.torture.allocations import arrays_of, failing_array
from tests.torture.kills import conversion
from tests.torture.ordeals import (
    Bad,
    Cases,
    Counted,
    Ended,
    Property,
    command,
    in_child,
    in_space,
    names_in,
    plain_error,
    quietly,
    small_files,
)
from tests.torture.stores import make_store
from tests.torture.syscalls import CHANGES, Fault, Kinds, calls_of, supported, watched

ROWS = 400
SPACE = 64 << 20, 2 << 30  # bytes: Python starts in less, and every command ends well in more
# What is run in a folder with edges.txt, names.txt, bad.txt and graph.gs; what each makes is new.
COMMANDS: dict[str, list[str]] = {
    "convert": ["convert", "edges.txt", "x.gs", "--page-size", "4KiB"],
    "convert names": ["convert", "names.txt", "x.gs", "--page-size", "4KiB", "--order", "degree"],
    "convert, skipping": [
        "convert",
        "bad.txt",
        "x.gs",
        "--page-size",
        "4KiB",
        "--bad-lines",
        "skip",
        "--format",
        "text",
    ],
    "convert, verified": ["convert", "edges.txt", "x.gs", "--page-size", "4KiB", "--verify", "--undirected"],
    "generate store": ["generate", "rmat", "x.gs", "--scale", "8", "--page-size", "4KiB"],
    "generate text": ["generate", "rmat", "x.txt", "--scale", "8"],
    "generate npy": ["generate", "grid", "x.npy", "--scale", "8"],
    "generate parquet": ["generate", "rmat", "x.parquet", "--scale", "8"],
    "export csv": ["export", "graph.gs", "x.csv"],
    "export text": ["export", "graph.gs", "x.txt"],
    "export gz": ["export", "graph.gs", "x.tsv.gz"],
    "export zst": ["export", "graph.gs", "x.wel.zst"],
    "export parquet": ["export", "graph.gs", "x.parquet"],
    "run csv": ["run", "bfs", "graph.gs", "--source", "3", "-o", "x.csv"],
    "run parquet": ["run", "sssp", "graph.gs", "--source", "3", "-o", "x.parquet"],
    "run npy": ["run", "wcc", "graph.gs", "-o", "x.npy"],
    "run arrow": ["run", "pagerank", "graph.gs", "-o", "x.arrow"],
    "run ldbc": ["run", "bfs", "graph.gs", "--source", "3", "-o", "x.txt", "--ldbc"],
    "run kept": ["run", "pagerank", "graph.gs", "--checkpoint", "x", "--checkpoint-every", "3", "-o", "x.csv"],
    "run traced": ["run", "bfs", "graph.gs", "--source", "3", "--trace", "x.json"],
}
READING = Kinds(reading=True)
FAULTS = {
    "EIO": Fault(0, errno.EIO),
    "ENOSPC": Fault(0, errno.ENOSPC),
    "ENOSPC from then on": Fault(0, errno.ENOSPC, lasting=True),
}
READ_FAULTS = {"EIO": Fault(0, errno.EIO), "EIO, opens EMFILE": Fault(0, errno.EIO, errno.EMFILE)}
KEPT = {"x", "x/slot-0", "x/slot-1", "x.gs.skipped.txt"}  # what may stay: checkpoints, and a report of the input
UNLIKE = {"run traced": "x.json"}  # holds times


def failing_calls(folder: Path, numbers: random.Random) -> Cases:
    """Every call of every command that changes a file fails, HDF5's and Arrow's too: once, or as on a disk that is full
    from then on."""
    prepare(folder)
    actions: dict[str, Callable[[], int | None]] = {n: _command(folder, n) for n in COMMANDS}
    actions["convert on disk"] = reporting(conversion(folder / "x.gs", {"order": "degree"}))
    yield from _failing(folder, numbers, actions, CHANGES, FAULTS)


def failing_reads(folder: Path, numbers: random.Random) -> Cases:
    """Every read, and every file or folder that is opened to be read, fails once: as failing disks do, and as where
    too many files are open."""
    prepare(folder)
    yield from _failing(folder, numbers, {n: _command(folder, n) for n in COMMANDS}, READING, READ_FAULTS)


def _failing(
    folder: Path, numbers: random.Random, actions: dict[str, Callable[[], int | None]], kinds: Kinds,
    faults: dict[str, Fault],
) -> Cases:  # fmt: skip
    """Each of these faults at each call of each of these actions."""
    whole = {name: _made(folder, name, action) for name, action in actions.items()}
    cases: list[tuple[str, int, int, str]] = []
    for name, action in actions.items():
        calls = calls_of(action, folder, kinds)
        clear(folder)
        cases += [(name, site, calls, fault) for site in range(calls) for fault in faults]
    assert cases, "no call was seen"
    yield Counted(len(cases))
    numbers.shuffle(cases)
    for name, site, calls, fault in cases:
        ended, _ = watched(actions[name], folder, kinds, faults[fault]._replace(at=site))
        yield _outcome(folder, name, ended, whole[name], f"{name}, call {site} of {calls}, {fault}")


def full_disks(folder: Path, numbers: random.Random) -> Cases:
    """No file may grow past a size drawn for each case: what HDF5 and Arrow write meets that, too."""
    prepare(folder)
    actions = {name: _command(folder, name) for name in COMMANDS}
    whole = {name: _made(folder, name, action) for name, action in actions.items()}
    sizes = {name: _largest(folder, action) for name, action in actions.items()}
    while True:
        name = numbers.choice(sorted(actions))
        limit = numbers.randrange(sizes[name] + 1)
        ended = in_child(small_files(limit, actions[name]))
        yield _outcome(folder, name, ended, whole[name], f"{name}, files of {limit} bytes")


def failing_arrays(folder: Path, numbers: random.Random, others: bool = False) -> Cases:
    """Every array of NumPy's that a command's first thread makes, or others do, can't be had once, in any order.

    How many others make differs a little from run to run.
    """
    prepare(folder)
    actions = {name: _command(folder, name) for name in COMMANDS}
    whole = {name: _made(folder, name, action) for name, action in actions.items()}
    cases: list[tuple[str, int, int]] = []
    for name, action in actions.items():
        arrays = arrays_of(action, others)
        clear(folder)
        cases += [(name, number, arrays) for number in range(arrays)]
    yield Counted(len(cases))
    numbers.shuffle(cases)
    for name, number, arrays in cases:
        ended = in_child(failing_array(number, actions[name], others))
        yield _outcome(folder, name, ended, whole[name], f"{name}, array {number} of {arrays}")


def little_space(folder: Path, numbers: random.Random) -> Cases:
    """The address space is limited (ulimit -v) as drawn for each case, from what Python starts in to what suffices.

    Each is an interpreter of its own, as libraries are loaded in what is left, and threads get their stacks from it.
    """
    prepare(folder)
    actions = {name: _command(folder, name) for name in COMMANDS}
    whole = {name: _made(folder, name, action) for name, action in actions.items()}
    while True:
        name = numbers.choice(sorted(COMMANDS))
        limit = numbers.randrange(*SPACE)
        ended = in_child(in_space(limit, _arguments(folder, name)))
        yield _outcome(folder, name, ended, whole[name], f"{name}, address space of {limit} bytes")


def prepare(folder: Path) -> None:
    """Inputs in the folder."""
    numbers = random.Random(1)
    pairs = [(numbers.randrange(90), numbers.randrange(90), numbers.randrange(1, 50)) for _ in range(ROWS)]
    (folder / "edges.txt").write_text("".join(f"{a} {b} {w}\n" for a, b, w in pairs))
    (folder / "names.txt").write_text("".join(f"vertex-{a} vertex-{b}\n" for a, b, _ in pairs))
    (folder / "bad.txt").write_text("1 2\n3 4\nno edge at all\n5 6\n" * 50)
    make_store(folder / "graph.gs", 5)


def _command(folder: Path, name: str) -> Callable[[], int]:
    """A command with its files in the folder."""
    return command(*_arguments(folder, name))


def _arguments(folder: Path, name: str) -> list[str]:
    ends = (".txt", ".gs", ".csv", ".npy", ".gz", ".zst", ".parquet", ".arrow", ".json")
    return [f"{folder / text}" if text.endswith(ends) or text == "x" else text for text in COMMANDS[name]]


def reporting(action: Callable[[], int | None]) -> Callable[[], int | None]:
    """An action of the library's, with errors told as the command line tells them."""

    def run() -> int | None:
        try:
            return action()
        except Exception as error:
            return report(error)

    return run


def _made(folder: Path, name: str, action: Callable[[], int | None]) -> str:
    quietly(action)
    digest = _digest(folder, name)
    clear(folder)
    return digest


def _largest(folder: Path, action: Callable[[], int | None]) -> int:
    """Bytes of the largest file that an action makes."""
    quietly(action)
    size = max(path.stat().st_size for path in folder.rglob("x*") if path.is_file())
    clear(folder)
    return size


def _digest(folder: Path, name: str) -> str:
    """What a command made, checkpoints apart: they hold no times, but which are kept may differ."""
    digest = hashlib.blake2b()
    for path in sorted(folder.glob("x*")):
        if path.is_file() and path.name != UNLIKE.get(name):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def clear(folder: Path) -> None:
    """Remove what a command made."""
    for path in folder.glob("*"):
        if path.name not in ("edges.txt", "names.txt", "bad.txt", "graph.gs"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _outcome(folder: Path, name: str, ended: Ended, whole: str, where: str) -> str | Bad:
    """A plain error that leaves nothing, or the same result as ever."""
    before = {"edges.txt", "names.txt", "bad.txt", "graph.gs"}
    left = set(names_in(folder)) - before - KEPT
    complete = _digest(folder, name) == whole
    if name in UNLIKE and left:
        complete = "traceEvents" in json.loads((folder / UNLIKE[name]).read_text())
    clear(folder)
    if ended.code == 0 and not ended.crashed:
        return "harmless" if complete else Bad(f"{where}: ended with 0 and another result")
    wrong = plain_error(ended)
    if wrong is not None:
        return Bad(f"{where}: {wrong}")
    if not left:
        return "refused"
    # The rename was made, and its sync failed, or what comes after it.
    return "refused, complete" if complete and len(left) == 1 else Bad(f"{where}: left {sorted(left)}")


def properties() -> Iterator[Property]:
    """Those about disks and memory."""
    held = "exit 5, one line, nothing half-written"
    if supported():
        told = f"in any library: {held}"
        yield Property("failing calls", f"the n-th write, fsync, open and rename fails, {told}", failing_calls)
        yield Property("failing reads", f"the n-th read and open to read fails, {told}", failing_reads)
    array = f"the n-th array of NumPy's can't be had: {held}"
    yield Property("failing arrays", f"in the first thread {array}", failing_arrays)
    others = partial(failing_arrays, others=True)
    yield Property("failing arrays of other threads", f"in any but the first {array}", others)
    yield Property("little address space", f"of any size (ulimit -v), without a hang: {held}", little_space, 500)
    yield Property("full disks", f"files can't grow, in any library: {held}", full_disks)
