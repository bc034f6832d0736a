"""Ranks that die: of `gstream run` under mpiexec, which keeps every superstep, one is killed, and the run goes on."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from pagestore.convert import ConvertOptions, convert
from pagestore.memory import ArraySource
from pagestore.split import split
from tests.ranks.rank_processes import HERE, MPIEXEC, launched, mpiexec
from tests.torture.ordeals import Bad, Cases, Property, names_in

PATH, EDGES, HUBS = 24, 400, 60  # a path behind a graph with hubs
EVENTS = (150, 60)  # calls of the first rank, and of another, ahead of which they may be killed (tests/ranks/faulty.py)
END_SECONDS = 10.0  # in which all end, beside what the whole run takes
LEFT = re.compile(
    r"graph\.gs|graph\.parts(/.*)?|kept(/slot-[01](\.partial|\.\d+-\d{5})?)?|\.out\.csv\.[0-9a-f]{16}\.partial(/.*)?"
)
KEPT = re.compile(r"slot-[01](\.\d+-\d{5})?")


def kills(folder: Path, numbers: random.Random) -> Cases:
    """SIGKILL of a rank ahead of a superstep, an fsync or a rename; then the run goes on: on a store by any number of
    ranks, on parts by as many as there are."""
    made = np.random.default_rng(5)
    source, target = (HUBS * made.random((2, EDGES)) ** 2).astype(np.int64)
    path = np.arange(HUBS - 1, HUBS - 1 + PATH)
    edges = ArraySource(np.concatenate([source, path]), np.concatenate([target, path + 1]))
    convert(edges, folder / "graph.gs", ConvertOptions(page_bytes=4096))
    split(folder / "graph.gs", folder / "graph.parts", 2, threads=1)
    run = ["-m", "gstream", "run", f"{HERE}/faulty.py:Hops"]
    expected, usual = _answer(folder, [*run, folder / "graph.gs", "-o", "out.csv"], 1)
    while True:
        rank, graph = numbers.randrange(2), numbers.choice(("graph.gs", "graph.parts"))
        again = numbers.choice((1, 2, 3))
        again = again if graph == "graph.gs" else 2
        shared = numbers.choice(("auto", "share"))
        words = [*run, folder / graph, "-o", "out.csv", "--checkpoint", "kept", "--checkpoint-every", 1]
        words += ["--ranks", shared]
        number = 1 + numbers.randrange(EVENTS[rank > 0])
        where = f"{graph}, --ranks {shared}, rank {rank}, call {number}, on by {again}"
        began = time.monotonic()
        done = mpiexec(2, *words, cwd=folder, fault=f"kill:{rank}:{number}")
        took = time.monotonic() - began
        left = [name for name in names_in(folder) if not name.startswith("out.csv")]
        wrong = [name for name in left if not LEFT.fullmatch(name)]
        if wrong or took > 3 * usual + END_SECONDS or "Traceback" in done.stderr:
            yield Bad(f"{where}: left {wrong} after {took:.0f} s: {done.stderr[-300:]}")
        if (folder / "out.csv").exists() and _rows(folder / "out.csv") != expected[0]:
            yield Bad(f"{where}: left another answer, or half of it")
        found, _ = _answer(folder, [*words, "--resume", "--force"], again)
        wrong = [name for name in names_in(folder) if name.endswith(".partial")]
        kept = os.listdir(folder / "kept") if (folder / "kept").exists() else []
        wrong += [name for name in kept if not KEPT.fullmatch(name)]
        shutil.rmtree(folder / "kept", ignore_errors=True)
        if wrong or found[0] != expected[0]:
            yield Bad(f"{where}: left {wrong}, or another answer")
        else:
            yield (
                "ended first"
                if done.returncode == 0
                else "began again"
                if found[1] is None
                else f"{graph}, on by {again}"
            )


def _answer(folder: Path, words: list[object], ranks: int) -> tuple[tuple[list[str], int | None], float]:
    """((sorted rows of the answer, the superstep that it went on from), seconds)."""
    began = time.monotonic()
    done = launched([sys.executable] if ranks == 1 else [MPIEXEC, "-n", ranks, sys.executable], *words, "--json",
                    cwd=folder)  # fmt: skip
    took, out = time.monotonic() - began, folder / "out.csv"
    if done.returncode != 0:
        raise RuntimeError(f"{ranks} ranks ended with {done.returncode}: {done.stderr[-300:]}")
    rows = _rows(out)
    kept = json.loads(done.stdout)["stats"]["kept"]
    return (rows, None if kept is None else kept["resumed"]), took


def _rows(out: Path) -> list[str]:
    """The sorted rows of an answer, which is removed."""
    files = sorted(out.iterdir()) if out.is_dir() else [out]
    rows = sorted(row for file in files for row in file.read_text().splitlines()[1:])
    shutil.rmtree(out) if out.is_dir() else out.unlink()
    return rows


def properties() -> Iterator[Property]:
    """Those about ranks, where MPI is."""
    if find_spec("mpi4py") and MPIEXEC.exists():
        promise = "after kill -9 of a rank at any call all end within 10 s, and any number of ranks goes on"
        yield Property("kills of ranks", promise, kills, 100)
