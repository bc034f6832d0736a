"""What ranks hand over in a superstep on a graph in parts: counted, and by the model of gstream.planning.rank_volumes.

The model, of sums: 4 bytes of each vertex outside of its slice that a rank reads, and 8 of each that it writes to. Of
MIN, MAX and OR where all values change: 4 bytes and a bit of each that it writes to, and of each that it reads or
writes to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rank_cases import Case

from gstream import MAX, MIN, OR, Program, u32
from gstream.devices.ranks import Ranks
from gstream.hostcode.generate import BLOCK
from gstream.paging.ownership import slices
from gstream.planning.rank_volumes import Volumes
from gstream.programs.bfs import BFS
from pagestore.parts import open_part

WAYS = ("pull", "push")
TOPOLOGIES = {"pull": "in", "push": "out"}
Run = Callable[..., Any]
SEARCHED = 9, 13  # supersteps before the one that is looked at


class Falling(Program):
    """All values fall by one in each superstep."""

    combine, value = MIN, u32

    def start(self, v, g):
        return 1000

    def send(self, u, e, g):
        return u.value - 1


class Rising(Program):
    """All values rise by one."""

    combine, value = MAX, u32

    def start(self, v, g):
        return 1  # 0 is MAX's identity, which nobody sends

    def send(self, u, e, g):
        return u.value + 1


class Filling(Program):
    """All values get another bit."""

    combine, value = OR, u32

    def start(self, v, g):
        return 1

    def send(self, u, e, g):
        return u.value * 2


CHANGING: dict[str, tuple[type[Program], Callable[[int], int]]] = {  # a value after so many supersteps
    "min": (Falling, lambda steps: 1000 - steps), "max": (Rising, lambda steps: 1 + steps),
    "or": (Filling, lambda steps: 2 ** (steps + 1) - 1),
}  # fmt: skip


def volumes(folder: Path, ranks: Ranks, run: Run, kinds: Sequence[str]) -> dict[str, tuple[float, float]]:
    """(counted, by the model) of all ranks, of sums and of `kinds` of CHANGING, pushed and pulled."""
    found = {}
    for way in WAYS:
        read, written, outside = of_part(folder, ranks, way)
        read, written = read & outside, written & outside
        sums, told = 4 * int(read.sum()) + 8 * int(written.sum()), int(written.sum()) + int((read | written).sum())
        least = 4 * told + told / 8
        for name in ("sum", *kinds):
            model, counted = sums if name == "sum" else least, []
            program, after = CHANGING.get(name, (None, None))
            for steps in (3, 7):
                before = ranks.bytes_sent
                own, limit = ({"iterations": steps}, {}) if program is None else ({}, {"max_supersteps": steps})
                what = "pagerank" if program is None else program()
                answer = run(folder, Case("wide", what, own, {"direction": way, **limit}), ranks, in_parts=True)
                assert after is None or set(answer["value"].tolist()) == {after(steps)}, "not all values changed"
                counted.append(sum(ranks.everybody(ranks.bytes_sent - before)))
            found[f"{name}, {way}"] = (counted[1] - counted[0]) / 4, float(sum(ranks.everybody(model)))
    return found


def searched(folder: Path, ranks: Ranks, run: Run) -> dict[str, list[tuple[float, ...]]]:
    """(least, counted, most by what the parts name, most by the plan's model) of all ranks in each superstep of a
    search, in which few vertices change at first and at last."""
    found = dict[str, list[tuple[float, ...]]]()
    for way in WAYS:
        read, written, outside = of_part(folder, ranks, way)
        written &= outside
        mirrors, found[way] = (read & outside) | written, []
        told = int(written.sum()) + int(mirrors.sum())
        for steps in SEARCHED:
            sent, values = [ranks.bytes_sent], list[np.ndarray]()
            for limit in (steps, steps + 1):
                case = Case("wide", BFS(source=1), {}, {"direction": way, "max_supersteps": limit})
                values.append(run(folder, case, ranks, in_parts=True)["value"])
                sent.append(ranks.bytes_sent)
            changed, counted = values[0] != values[1], sent[0] + sent[2] - 2 * sent[1]
            least = told / 8 + 4 * int((mirrors & changed).sum())
            most = least + 4 * int((written & changed).sum())
            planned = Volumes(0, 0, int(4.125 * told), told // 8).where(float(changed.mean()))
            of_all = ranks.everybody((least, counted, most, planned))
            found[way].append(tuple(map(sum, zip(*of_all, strict=True))))
    return found


def of_part(folder: Path, ranks: Ranks, way: str = "pull") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """bool[V] each, of wide.gs: vertices that the rank's part reads, and writes to; those outside of its own slice. Its
    pages list all vertices of a range, as all have edges, and the part says which they name."""
    topology = TOPOLOGIES[way]
    with open_part(folder / f"wide.{ranks.size}.parts", ranks.rank, ranks.size) as part:
        rows, count = part.topology(topology).directory, part.meta.vertices
        own = [page for page, _ in part.topology(topology).spread.ranges(len(rows), 1)]
        bits = part.array(f"topology/{topology}/reads").read().view(np.uint8)
    named, listed = np.unpackbits(bits, bitorder="little", count=count).view(np.bool_), np.zeros(count, np.bool_)
    for page in own:
        listed[int(rows["first_vertex"][page]) : int(rows["last_vertex"][page]) + 1] = True
    first, last = slices((0, count), BLOCK, ranks.size)[ranks.rank]
    outside = (np.arange(count) < first) | (np.arange(count) >= last)
    return (named, listed, outside) if way == "pull" else (listed, named, outside)
