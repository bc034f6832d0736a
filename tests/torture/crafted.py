"""Stores that somebody made to lie, checksums and all: whatever runs on one ends with an answer or an error.

As a program: takes paths from standard input, and says what became of all algorithms on each, a line each. Compiled
functions check every index (NUMBA_BOUNDSCHECK), so that no read past an end goes unnoticed: it says so as any exception
that is no refusal.
"""

from __future__ import annotations

import os
import random
import select
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.machine import ROOT
from pagestore import open_store
from tests.fuzz.repair import KINDS, NAMES, Base, bases, repaired
from tests.torture.ordeals import Bad, Cases, Property

WORDS = (0xFFFFFFFF, 0x7FFFFFFF, 0xFFFFFFFE, 1 << 30, 4096, 1000, 255, 41, 20, 19, 2, 1, 0)
CHECKED = True  # every index, by compiled functions of its own, which take minutes to come by, once
LONGEST_S = 600.0  # of a store, the first of which has all compiled
MEMORY = "256MiB"  # degrees that lie ask for more, and get an error


def crafted(folder: Path, numbers: random.Random) -> Cases:
    """A few words of pages, heads, degrees and directories are others, and all checksums right."""
    kept, path = bases(folder), folder / "crafted.gs"
    with Runner() as runner:
        while True:
            which = numbers.randrange(len(NAMES))
            data, spots = lie(kept[which], numbers)
            path.write_bytes(data)
            said = runner.ask(path)
            where = f"{NAMES[which]} with {spots}: "
            yield said if said in ("read", "refused", "read, in part") else Bad(where + said)


def lie(base: Base, numbers: random.Random) -> tuple[bytearray, list[tuple[str, int, int]]]:
    """The bytes of a store with some words overwritten; (kind, byte, word) of each."""
    data, spots = bytearray(base.data), []
    for _ in range(numbers.choice([1, 1, 2, 4])):
        kind = numbers.choice([kind for kind in KINDS[2:] for _ in range(4 if kind == "pages" else 1)])
        places = base.places[kind]
        at = int(places[numbers.randrange(len(places))]) & ~3
        word = numbers.choice(WORDS) if numbers.random() < 0.8 else numbers.randrange(1 << 32)
        data[at : at + 4] = word.to_bytes(4, "little")
        spots.append((kind, at, word))
    return repaired(base, data), spots


class Runner:
    """A process that runs all algorithms on a store; another one where it ends."""

    def __enter__(self) -> Runner:
        self._process: subprocess.Popen[str] | None = None
        return self

    def __exit__(self, *error: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._end()

    def ask(self, path: Path) -> str:
        """What became of it: read, refused, or what is wrong."""
        if self._process is None:
            cache = ROOT / "bench" / "scratch" / "crafted"
            env = os.environ | ({"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(cache)} if CHECKED else {})
            self._process = subprocess.Popen([sys.executable, __file__], env=env, cwd=ROOT, text=True,
                                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"{path}\n")
        process.stdin.flush()
        if not select.select([process.stdout], [], [], LONGEST_S)[0]:
            process.kill()
        if said := process.stdout.readline().strip():
            return said
        return f"ended with {self._end()}"

    def _end(self) -> int:
        """Wait for the process, close its pipes, and give its exit code."""
        assert self._process is not None
        with self._process as process:
            self._process = None
        return process.returncode


def runs(graph: Any, path: str) -> dict[str, Callable[[], Any]]:
    """Every algorithm that takes the graph, by name; the first vertex is the source of those that have one."""
    with open_store(path) as store:
        source = {"source": "vertex-0" if store.meta.id_kind == "strings" else int(store.user_ids(0, 1)[0])}
    given: dict[str, dict[str, Any]] = dict.fromkeys(("bfs", "sssp", "rwr", "khop", "widest"), source)
    names = ("bfs", "sssp", "pagerank", "wcc", "hcc", "kcore", "scc", "cdlp", "lcc", "triangles", "msf", "mis",
             "coloring", "ktruss", "betweenness", "degrees", "levels", "hits", "rwr", "khop", "widest")  # fmt: skip
    return {name: lambda name=name: getattr(graph, name)(**given.get(name, {})) for name in names}


def outcome(path: str) -> str:
    """What became of all of them."""
    import gstream
    from pagestore.errors import GstreamError

    ended = {"read": 0, "refused": 0}
    for options in ({}, {"devices": "fake:1:2", "cache": "0"}):
        try:
            with gstream.open(path, threads=2, host_memory=MEMORY, **options) as graph:
                for name, run in runs(graph, path).items():
                    try:
                        run()
                        ended["read"] += 1
                    except GstreamError as error:
                        ended["refused"] += 1
                        if error.exit_code == 1:
                            return f"{name}: {error}"
                    except Exception as error:
                        return f"{name}: {type(error).__name__}: {error}".replace("\n", " ")
        except GstreamError:
            ended["refused"] += 1
    return "refused" if not ended["read"] else "read" if not ended["refused"] else "read, in part"


def main() -> None:
    """Answer for each path."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    with suppress(KeyboardInterrupt):
        for line in sys.stdin:
            with np.errstate(all="ignore"):
                print(outcome(line.strip()), flush=True)


def properties() -> list[Property]:
    """The one about stores that were made so."""
    return [
        Property("crafted stores", "words of a store that lie, under right checksums, have nothing read past an end",
                 crafted, 1000)
    ]  # fmt: skip


if __name__ == "__main__":
    main()
