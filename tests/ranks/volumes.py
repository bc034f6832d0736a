"""What ranks hand over in a superstep on a graph in parts: counted, and by the model of gstream.planning.rank_volumes.

The model, of sums: 4 bytes of each vertex outside of its slice that a rank reads, and 8 of each that it writes to. Of
MIN where all values change: 4 bytes and a bit of each that it writes to, and of each that it reads or writes to.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rank_cases import Case

from gstream import MIN, Program, u32
from gstream.devices.ranks import Ranks
from gstream.hostcode.generate import BLOCK
from gstream.paging.ownership import slices
from pagestore.parts import open_part

WAYS = ("pull", "push")
TOPOLOGIES = {"pull": "in", "push": "out"}
Run = Callable[..., Any]


class Falling(Program):
    """All values fall by one in each superstep."""

    combine, value = MIN, u32

    def start(self, v, g):
        return 1000

    def send(self, u, e, g):
        return u.value - 1


def volumes(folder: Path, ranks: Ranks, run: Run) -> dict[str, tuple[float, float]]:
    """(counted, by the model) of all ranks, of sums and of MIN, pushed and pulled."""
    found = {}
    for way in WAYS:
        read, written, outside = of_part(folder, ranks, way)
        read, written = read & outside, written & outside
        sums, told = 4 * int(read.sum()) + 8 * int(written.sum()), int(written.sum()) + int((read | written).sum())
        least = 4 * told + told / 8
        for name, what, model in ((f"sum, {way}", "pagerank", sums), (f"min, {way}", Falling(), least)):
            counted = []
            for steps in (3, 7):
                before = ranks.bytes_sent
                own, limit = ({"iterations": steps}, {}) if what == "pagerank" else ({}, {"max_supersteps": steps})
                answer = run(folder, Case("wide", what, own, {"direction": way, **limit}), ranks, in_parts=True)
                assert what == "pagerank" or set(answer["value"].tolist()) == {1000 - steps}, "not all values fell"
                counted.append(sum(ranks.everybody(ranks.bytes_sent - before)))
            found[name] = (counted[1] - counted[0]) / 4, float(sum(ranks.everybody(model)))
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
