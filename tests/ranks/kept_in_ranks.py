"""Run by mpiexec: calls that end once they have written checkpoints go on, by ranks or one process, from either's.

mpiexec -n 2 python kept_in_ranks.py FOLDER WRITES NAME...    the outcome of each call of kept_calls, or
                                               "random SEED", or "slices ALGORITHM": FOLDER/RANK.json
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from engine_graphs import make_store
from in_ranks import by_each, difference
from kept_calls import CALLS, make_graphs

import gstream
from gstream.algorithms.components import scc
from gstream.devices.ranks import Ranks
from gstream.engine.checkpoint import Keeper
from gstream.engine.rank_slots import RankSlots
from gstream.engine.slot_files import Share
from gstream.results.result import Result
from tests import quick

RANDOM = ("bfs", "sssp", "pagerank", "wcc", "scc", "kcore", "mis")  # which have certificates, on any graph
OWN = ("hops", "kinds", "twice")  # of own_kernels.py
SEARCHES = ("bfs", "sssp", "hops")
KEEP = (*RANDOM, "hops")
HERE = Path(__file__).parent


class Ended(Exception):
    """A call that is over before its end, on all ranks at once."""


def unlike(expected: Result, found: Result) -> str:
    """What is wrong with the answer of a run that was to go on from a checkpoint; "" where nothing is."""
    went_on = found.summary["stats"]["kept"]["resumed"] is not None
    return difference(expected, found) if went_on else "it began afresh"


def call(graphs: dict[str, str], name: str, **options: Any) -> Result:
    kind, algorithm, own, given = CALLS[name]
    with gstream.open(graphs[kind], **{"devices": "host", "threads": 1, **given, **options}) as graph:
        return graph.execute(algorithm, own)


def end_after(writes: int, make: Callable[[], Result]) -> bool:
    """Whether a call writes so many checkpoints, and ends there."""
    write, left = Keeper.write, [writes]

    def wrote(self: Keeper, *given: Any) -> None:
        write(self, *given)
        left[0] -= 1
        if left[0] == 0:
            raise Ended

    Keeper.write = wrote
    try:
        make()
    except Ended:
        return True
    finally:
        Keeper.write = write
    return False


def outcome(graphs: dict[str, str], folder: Path, name: str, writes: int, ranks: Ranks) -> str:
    """What goes wrong with a call, "" if nothing does."""
    mine, alone, copy = (folder / f"{name} {writes} {way}" for way in ("ranks", "alone", "copy"))
    keeps: dict[str, Any] = {"checkpoint_every": 1}
    expected = by_each(ranks, lambda: call(graphs, name))
    if not end_after(writes, lambda: call(graphs, name, ranks=ranks, checkpoint=mine, **keeps)):
        return ""  # it writes fewer
    parts = len(list(mine.glob("slot-*.*-*")))
    if parts % ranks.size or not parts:
        return f"{parts} files of ranks"
    if ranks.first:
        shutil.copytree(mine, copy)
        end_after(writes, lambda: call(graphs, name, checkpoint=alone, **keeps))
    ranks.wait()
    ways = {"by ranks": (mine, ranks), "from one": (alone, ranks), "by one": (copy, None)}
    for way, (kept, many) in ways.items():
        if many is not None or ranks.first:
            found = call(graphs, name, ranks=many, checkpoint=kept, resume=True)
            if told := unlike(expected, found):
                return f"{way}: {told}"
    ranks.wait()
    return ""


def tried(folder: Path, name: str, ranks: Ranks) -> str:
    """How answers of ranks, of a random graph and of its parts, differ from those of one process; "" if none does.
    name: "random SEED", or "own SEED" for kernels of users."""
    numbers = np.random.default_rng(int(name.split()[1]))
    vertices = int(numbers.integers(1, 400))
    kind: dict[str, Any] = {"topology": "both"} if numbers.integers(2) else {"directed": False}
    ends = (vertices * numbers.random((2, int(numbers.integers(0, 3000)))) ** numbers.integers(1, 4)).astype(np.int64)
    weights = numbers.integers(1, 60, ends.shape[1]).astype(np.float64)
    whole, parts = folder / f"{name}.gs", folder / f"{name}.parts"

    def make() -> None:
        store = make_store(folder / name, *ends, weights, vertices=vertices, **kind)
        os.rename(store.path, whole)
        gstream.split(whole, parts, ranks.size, threads=1)

    ranks.by_first(make)
    wrong = []
    chosen = OWN if name.startswith("own") else map(str, numbers.choice(RANDOM, 3, replace=False))
    for algorithm in chosen:
        own = {"source": int(numbers.integers(vertices))} if algorithm in SEARCHES else {}
        told = compared(whole, parts, algorithm, own, ranks)
        wrong += [f"{algorithm}, {way}: {what}" for way, what in told.items() if what]
    return "; ".join(wrong)


def of_slices(folder: Path, algorithm: str, ranks: Ranks) -> str:
    """What goes wrong with a call of ranks that keep their slices of values, on a graph in parts; "" if nothing does.
    It goes on on the parts, and on the whole store by one process, which also is the one that began."""
    whole, parts = folder / f"{algorithm}.gs", folder / f"{algorithm}.parts"

    def make() -> None:
        path = np.random.default_rng(5).permutation(300)  # many rounds, and three components beside it
        ends = np.array([*zip([300, *path], path, strict=False), (302, 301), (303, 303), (305, 304)]).T
        os.rename(make_store(folder / algorithm, *ends, None, vertices=306, directed=False).path, whole)
        gstream.split(whole, parts, ranks.size, threads=1)

    def run(store: Path, **options: Any) -> Result:
        with gstream.open(store, devices="host", threads=1, **options) as graph:
            return graph.execute(algorithm, {"source": 300} if algorithm in SEARCHES else {})

    def written(slots: RankSlots, described: Any, arrays: dict[str, Any]) -> int:
        kept.append(all(isinstance(arrays[name], Share) for name in ("value", "own/parent") if name in arrays))
        return write(slots, described, arrays)

    ranks.by_first(make)
    expected, kept, write = by_each(ranks, lambda: run(whole)), list[bool](), RankSlots.write
    mine, copy, alone = (folder / f"{algorithm} {way}" for way in ("parts", "copy", "alone"))
    RankSlots.write = written
    try:
        ended = end_after(5, lambda: run(parts, ranks=ranks, checkpoint=mine, checkpoint_every=1))
    finally:
        RankSlots.write = write
    if not ended or not all(kept):
        return f"{len(kept)} checkpoints, of slices: {kept}"
    if ranks.first:
        shutil.copytree(mine, copy)
        end_after(1, lambda: run(whole, checkpoint=alone, checkpoint_every=1))
    ranks.wait()
    for way, (kept_in, store, many) in {
        "parts": (mine, parts, ranks),
        "whole": (copy, whole, None),
        "from whole": (alone, parts, ranks),
    }.items():
        if many is not None or ranks.first:
            found = run(store, ranks=many, checkpoint=kept_in, resume=True)
            if told := unlike(expected, found):
                return f"{way}: {told}"
    ranks.wait()
    return ""


def compared(whole: Path, parts: Path, algorithm: str, own: dict[str, Any], ranks: Ranks) -> dict[str, str]:
    """How answers of ranks differ from that of one process, by the way they are made."""

    def run(store: Path, certify: bool = False, **options: Any) -> Result:
        with gstream.open(store, devices="host", threads=1, **options) as graph:
            if algorithm in OWN:
                return graph.run(f"{HERE}/own_kernels.py:{algorithm}", **own)
            return graph.execute(algorithm, own, certify)

    expected = by_each(ranks, lambda: run(whole))
    found = {store.suffix: run(store, True, ranks=ranks) for store in (whole, parts)}
    keeps = {"ranks": ranks, "checkpoint": parts.with_suffix(f".{algorithm}")}
    if algorithm in KEEP and end_after(1, lambda: run(parts, **keeps, checkpoint_every=1)):
        found["kept parts"] = run(parts, **keeps, resume=True)
    return {way: difference(expected, answer) for way, answer in found.items()}


def main() -> None:
    quick.go_on()
    scc.AT_ONCE = 0  # it goes by searches and colours, as on larger graphs
    folder, writes, ranks = Path(sys.argv[1]), json.loads(sys.argv[2]), Ranks()
    made: dict[str, str] = ranks.by_first(lambda: make_graphs(folder))
    found = {}
    for name in sys.argv[3:]:
        if name.startswith("slices "):
            found[name] = of_slices(folder, name.split()[1], ranks)
            continue
        if name.startswith(("random ", "own ")):
            found[name] = tried(folder, name, ranks)
            continue
        told = [outcome(made, folder, name, number, ranks) for number in writes]
        found[name] = "; ".join(filter(None, told))
    (folder / f"{ranks.rank}.json").write_text(json.dumps(found))
    ranks.wait()
    ranks.finish()


if __name__ == "__main__":
    main()
