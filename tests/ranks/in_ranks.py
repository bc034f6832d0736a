"""Run by mpiexec: each rank makes the cases' runs alone and together with the others, and writes what differs.

mpiexec -n 2 python in_ranks.py FOLDER NAME...      FOLDER/STORE.gs are the stores, FOLDER/RANK.json the outcome
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from engine_graphs import make_store
from rank_cases import CASES, REFUSED, Case, Highest, Hops, Sets, Shares
from volumes import CHANGING, of_part, searched, volumes

import gstream
from gstream.algorithms.execute import session_of
from gstream.algorithms.registry import ALGORITHMS
from gstream.algorithms.support.refusal import CertificateError
from gstream.algorithms.traversal import float_sums
from gstream.devices.host import streamed_sums
from gstream.devices.ranks import Ranks
from gstream.engine import delta_stepping
from gstream.engine.engine import Engine
from gstream.engine.rank_parts import open_for
from gstream.options.run_options import RunOptions
from gstream.programs.pagerank import PageRank
from gstream.results.result import Result
from gstream.telemetry.trace import ChromeTrace
from pagestore.errors import CapError, UsageError
from tests import quick


def run(folder: Path, case: Case, ranks: Ranks | None, in_parts: bool = False) -> Result:
    """A case's run, by one process or by all ranks; in_parts: of the same graph in as many parts."""
    options = {"devices": "host", "threads": 1, "ranks": ranks, **case.run}
    store = f"{case.store}.{ranks.size}.parts" if in_parts and ranks is not None else f"{case.store}.gs"
    with gstream.open(folder / store, **options) as graph:
        if isinstance(case.what, str):
            return graph.execute(case.what, case.own, case.certify)
        return graph.run(case.what)


def by_each(ranks: Ranks, call: Callable[[], Result]) -> Result:
    """The answer of one process on each rank. The first rank's call comes first: it compiles what the others find, who
    leave it the cores meanwhile."""
    if ranks.first:
        found = call()
    all_here = ranks._world.Ibarrier()
    while not ranks.is_over(all_here):
        time.sleep(0.01)
    return found if ranks.first else call()


def difference(one: Result, two: Result) -> str:
    """How two answers differ, "" where they don't: sums by more than a millionth, others at all."""
    if one.columns != two.columns or len(one) != len(two):
        return f"{one.columns}, {len(one)} rows; {two.columns}, {len(two)} rows"
    for name in one.columns:
        mine, theirs = one[name], two[name]
        same = np.isclose(mine, theirs, 1e-6, 1e-9, equal_nan=True) if mine.dtype.kind == "f" else mine == theirs
        if not same.all():
            at = int(np.flatnonzero(~same)[0])
            return f"{name}: {np.count_nonzero(~same)} rows, as row {at}: {mine[at]} alone, {theirs[at]} by ranks"
    return ""


WHOLE_PROOFS = ("zeros", "floats")  # stores with weights that certificates of distances take whole columns for


def apart(folder: Path, ranks: Ranks) -> str:
    """What goes wrong where ranks write rows of their own, and find the best, without any of them having all values."""
    told = ""
    of_slices = {"source": 1, "predecessors": False}
    for store, what, own, off in (
        ("wide", "pagerank", {"iterations": 2}, 1e-6), ("directed", Shares(), {}, 1e-6), ("wide", "bfs", of_slices, 0),
        ("weighted", "sssp", of_slices, 0), ("directed", "bfs", {"source": 1}, 0), ("wide", "bfs", {"source": 1}, 0),
        ("undirected", "bfs", {"source": [1, 5]}, 0), ("weighted", "sssp", {"source": 1}, 0),
        ("directed", "wcc", {}, 0), ("undirected", "wcc", {}, 0), ("undirected", "hcc", {}, 0),
        ("zeros", "sssp", {"source": 1}, 0), ("floats", "sssp", {"source": 1}, 0),
        ("weighted", "widest", {"source": 1}, 0),
    ):  # fmt: skip
        named = isinstance(what, str)
        proved = named and what != "widest" and store not in WHOLE_PROOFS
        case = Case(store, what, own, {} if named else {"max_supersteps": 2}, certify=proved)
        alone, found = run(folder, case, None), run(folder, case, ranks, in_parts=True)
        part = found.part(ranks.rank, ranks.size)
        rows = [rows for _, rows in part.numpy_rows()]
        joined = np.concatenate([one for each in ranks.everybody(rows) for one in each])
        for name in alone.columns:
            same = np.allclose(joined[name], alone[name], off, off * 1e-6)
            told += "" if same else f"{store}: rows of {name}; "
        notes = [answer.summary.get("note", "").partition(":")[0] for answer in (alone, found)]
        told += (
            ""
            if store != "floats" or notes == ["distances are summed in float64, as --float64 does"] * 2
            else f"notes: {notes}; "
        )
        one, two = ([row.get("vertex", row) for row in answer.top(9)] for answer in (found, alone))
        told += "" if one == two else "the best; "
        told += "" if np.isclose(found.at(7)[name], alone.at(7)[name], 1e-6) else "one row; "
        whole = [one.name for one in found._columns if one.held is None or not one.held.of_ranks]
        told += "" if not whole else f"{store}: a rank has all of {whole}; "
        told += "" if not named or is_planned_apart(folder, case, ranks) else f"{what}: all values are planned; "
    return told


PLANNED: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "pagerank": ("wide", "pagerank", {"iterations": 2}), "bfs": ("wide", "bfs", {"source": 1}),
    "sssp": ("weighted", "sssp", {"source": 1}), "wcc": ("wide", "wcc", {}),
    "distances": ("wide", "bfs", {"source": 1, "predecessors": False}), "own": ("wide", Shares(), {}),
    "all values": ("wide", "bfs", {"source": 1, "predecessors": False, "targets": [5]}),
}  # fmt: skip


def peaks(folder: Path, ranks: Ranks) -> dict[str, tuple[int, int]]:
    """(the most bytes that a rank holds by its own counters, bytes that its plan says) of runs on parts."""
    found = {}
    for name, (store, what, own) in PLANNED.items():
        with gstream.open(folder / f"{store}.{ranks.size}.parts", devices="host", threads=1, ranks=ranks) as graph:
            planned = sum(graph.plan(what, **own)["host_bytes"].values())
            answer = graph.execute(what, own) if isinstance(what, str) else graph.run(what)
            found[name] = answer.summary["stats"]["peak_memory_bytes"], planned
    return found


CAPPED = {  # the name of a call: what it is, whether its certificate is made, and by how much the cap is raised
    "whole": (("wide", "pagerank", {"iterations": 2}), False, 1.0), "kernels": (("wide", "kcore", {}), False, 1.0),
    "search": (("weighted", "sssp", {"source": 1}), False, 1.0), "trees": (("wide", "wcc", {}), False, 1.2),
    "certificate": (("wide", "bfs", {"source": 1}), True, 1.2),
}  # fmt: skip


def capped(folder: Path, ranks: Ranks) -> dict[str, tuple[int, int]]:
    """(the most bytes that a rank holds by its own counters, the cap) of runs on parts with the least cap that is named
    by a refusal, or some more."""
    found = {}
    for name, ((store, what, own), certify, more) in CAPPED.items():
        options = {"devices": "host", "threads": 1, "ranks": ranks}

        def run(cap: int, store=store, what=what, own=own, certify=certify, options=options) -> Result:
            parts = folder / f"{store}.{ranks.size}.parts"
            with gstream.open(parts, **options, host_memory=cap) as graph:
                return graph.execute(what, own, certify)

        try:
            run(1)
            raise AssertionError("a cap of one byte is enough")
        except CapError as error:
            cap = int(more * max(ranks.everybody(error.need)))
        found[name] = run(cap).summary["stats"]["peak_memory_bytes"], cap
    return found


def is_planned_apart(folder: Path, case: Case, ranks: Ranks) -> bool:
    """Whether a rank is not to hold the values of all vertices."""
    with gstream.open(folder / f"{case.store}.{ranks.size}.parts", devices="host", threads=1, ranks=ranks) as graph:
        held = graph.plan(case.what, **case.own)["host_bytes"]
    return "values of all ranks" not in held


WRONG = {  # what changes values of the last rank's slice (joined: of all), and what the certificate says
    "parted": ("wcc", "directed", 0, lambda own, first: own.__setitem__(0, first), "have different components"),
    "greater": ("wcc", "undirected", 0, lambda own, first: own.__setitem__(0, first + 1), "named by a greater one"),
    "joined": ("wcc", "directed", 0, lambda own, first: own.fill(0), "is not connected with what"),
    "nearer": ("bfs", "directed", 0, lambda own, first: own.__isub__(own == 2), "there is an edge"),
    "farther": ("sssp", "weighted", 0, lambda own, first: own.__iadd__(own == own[own > 0].min()), "there is an edge"),
    "another": ("bfs", "weighted", 1, lambda own, first: own.__setitem__(own < own.max(), 3), "not one edge before it"),
    "no way": ("bfs", "directed", 1, lambda own, first: own.__setitem__(0, ~own[:0].dtype.type(0)), "without a way"),
    "more": ("pagerank", "wide", 0, lambda own, first: own.__imul__(1.01), "one more iteration"),
}


def noticed(folder: Path, ranks: Ranks) -> str:
    """Which wrong answers of slices certificates take for right ones, or refuse in other words."""
    told = ""
    for name, (what, store, column, change, said) in WRONG.items():
        options = {"source": 1} if what in ("bfs", "sssp") else {}
        with gstream.open(folder / f"{store}.{ranks.size}.parts", devices="host", threads=1, ranks=ranks) as graph:
            answer = graph.execute(what, options)
            held = answer._columns[column].held
            if ranks.rank == ranks.size - 1 or name == "joined":
                change(held.own, held.part[0])
            algorithm, found = ALGORITHMS[what], answer.summary
            with session_of(algorithm, graph.engine(), algorithm.defaults | options, True) as session:
                try:
                    session.prove(algorithm.load(algorithm.proof), answer._columns, options, found)
                    told += f"{name}: taken for right; "
                except CertificateError as error:
                    told += "" if said in error.line else f"{name}: {error.line}; "
    return told


def refusal(folder: Path, case: Case, ranks: Ranks) -> str:
    """What is said to a run that ranks can't share."""
    try:
        run(folder, case, ranks, in_parts=case.in_parts)
    except UsageError as error:
        return error.line
    return "it ran"


def drawn(folder: Path, ranks: Ranks) -> str:
    """Whether all ranks draw the same sources where no seed says which, "" if so."""
    answer = run(folder, Case("directed", "betweenness", {"k": 3}), ranks)
    sampled = ranks.everybody(answer.summary["sampled"])
    return "" if all(one == sampled[0] for one in sampled) else f"sources differ: {sampled}"


def drawn_graph(folder: Path, seed: int, parts: int) -> None:
    """A graph of any size, order and kind at drawn.gs, and in parts."""
    draw = np.random.default_rng(seed)
    vertices = int(draw.choice([40, 700, 9_000, 30_000]))
    edges = int(vertices * draw.uniform(1, 5))
    source = (vertices * draw.random(edges) ** draw.choice([1, 3])).astype(np.int64)  # the first have more edges
    target = (source + draw.geometric(draw.choice([0.5, 1e-3]), edges)) % vertices
    weight = draw.integers(1, 200, edges).astype(np.uint8)
    kind = {"directed": False} if draw.random() < 0.3 else {"topology": "both"}
    order = str(draw.choice(["natural", "degree"]))
    made = make_store(folder, source, target, weight, order=order, **kind)
    os.replace(made.path, folder / "drawn.gs")
    gstream.split(folder / "drawn.gs", folder / f"drawn.{parts}.parts", parts, force=True, threads=1)


def of_drawn_graphs(folder: Path, ranks: Ranks, seeds: int) -> str:
    """Where runs on graphs in parts differ from those of one process, "" where none does."""
    for seed in range(seeds):
        if ranks.first:
            drawn_graph(folder, seed, ranks.size)
        ranks.wait()
        draw = np.random.default_rng(seed)
        what = (Shares(), Hops(source=7), Sets(), Highest(), "bfs", "sssp")[seed % 6]
        run_options = {"direction": str(draw.choice(["auto", "push", "pull"])), "use_heads": bool(draw.random() < 0.7)}
        own, limit = ({"source": 7}, {}) if isinstance(what, str) else ({}, {"max_supersteps": 12})
        case = Case("drawn", what, own, run_options | limit)
        alone = by_each(ranks, lambda case=case: run(folder, case, None))
        if found := difference(alone, run(folder, case, ranks, in_parts=True)):
            return f"seed {seed}: {found}"
        ranks.wait()
    return ""


def state(folder: Path, ranks: Ranks) -> tuple[int, int, float]:
    """Bytes of a rank's attributes in a run of PageRank: on the store, where it has those of all vertices, and on its
    part; and the share of vertices that are own or mirrors of the rank that has most."""
    held = list[int]()
    for name in ("wide.gs", f"wide.{ranks.size}.parts"):
        options = RunOptions(devices=["host"], threads=1, ranks=ranks)
        with open_for(folder / name, (), ranks) as store, Engine(store, options) as engine:
            engine.run(PageRank(), 3, lambda *_, device=engine.devices[0]: held.append(device.memory_bytes))
    read, listed, outside = of_part(folder, ranks)
    return held[3], held[-1], max(ranks.everybody(float((read | listed | ~outside).mean())))


def streamed(folder: Path, ranks: Ranks) -> list[str]:
    """Which spans of a rank's trace begin in the second superstep of PageRank on parts, in order: "pages" of a kernel,
    or "sums" that go to other ranks."""
    trace = ChromeTrace()
    options = {"devices": "host", "threads": 1, "ranks": ranks, "trace": trace}
    with gstream.open(folder / f"wide.{ranks.size}.parts", **options) as graph:
        graph.pagerank(iterations=3)
    events = [event for event in trace.events() if event["ph"] == "X"]
    began = [event["ts"] for event in events if event["name"].startswith("pull, ")]
    named = [(event["ts"], re.match(r"\d+ (pages|sums) ", event["name"])) for event in events]
    return [kind[1] for start, kind in named if kind is not None and began[1] <= start < began[2]]


def room(folder: Path, ranks: Ranks) -> tuple[int, int]:
    """Bytes of host memory that a rank is to hold of in-pages that stay in memory, and bytes of all of them."""
    with gstream.open(folder / "wide.gs", devices="host", threads=1, ranks=ranks) as graph:
        facts = graph.plan("pagerank", iterations=2)
    return facts["host_bytes"]["pages (in)"], facts["page_bytes"]["in"]


def main() -> None:
    quick.go_on()
    folder, ranks = Path(sys.argv[1]), Ranks()
    delta_stepping.FEWEST_EDGES = 1000  # so that frontiers of small graphs are cut, too
    found: dict[str, Any] = {}
    for name in sys.argv[2:]:
        if name in REFUSED:
            found[name] = refusal(folder, REFUSED[name][0], ranks)
            continue
        case = CASES[name]
        alone = by_each(ranks, lambda case=case: run(folder, case, None))
        found[name] = difference(alone, run(folder, case, ranks))
        if case.in_parts:
            found[name] += difference(alone, run(folder, case, ranks, in_parts=True))
    found["drawn"] = drawn(folder, ranks) if "betweenness" in sys.argv else ""
    found["drawn graphs"] = of_drawn_graphs(folder, ranks, 6) if "betweenness" in sys.argv else ""
    kinds = tuple(CHANGING) if "betweenness" in sys.argv else ("min",)
    found["volumes"], found["room"] = volumes(folder, ranks, run, kinds), room(folder, ranks)
    found["searched"] = searched(folder, ranks, run)
    found["peaks"], found["capped"] = peaks(folder, ranks), capped(folder, ranks)
    on_the_way, streamed_sums.ON_THE_WAY = streamed_sums.ON_THE_WAY, 1  # as where other ranks are behind
    float_sums.DEEP = 4  # paths are longer, and float32 is not enough
    found["apart"], found["noticed"] = apart(folder, ranks), noticed(folder, ranks)
    streamed_sums.ON_THE_WAY = on_the_way
    found["state"], found["streamed"] = state(folder, ranks), streamed(folder, ranks)
    (folder / f"{ranks.rank}.json").write_text(json.dumps(found))
    ranks.wait()
    ranks.finish()


if __name__ == "__main__":
    main()
