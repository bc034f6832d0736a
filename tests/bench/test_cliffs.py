"""Growth on long and flat graphs: no algorithm is left out, rows are measured against peers, broken bounds are told."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import cliff_table, cliffs
from bench.cliff_graphs import CYCLIC, LONG, SHAPES, Cliff
from gstream.algorithms.registry import ALGORITHMS
from tests import choice


def a_row(ms: list[float], **other: Any) -> dict[str, Any]:
    sizes = [
        {"edges": 10**number, "ms": each, "certified_ms": None, "peers_ms": {}} for number, each in enumerate(ms, 4)
    ]
    sizes = [size | {"vertices": size["edges"], "supersteps": 1, "walk_ms": None} for size in sizes]
    texts = dict.fromkeys(("skipped", "uncertified", "refused", "wrong"), "")
    return {"what": "bfs", "shape": "path", "bound": "n log n", "sizes": sizes} | texts | other


def test_every_algorithm_has_a_row() -> None:
    assert {asked.algorithm for asked in cliffs.ASKED.values()} == set(ALGORITHMS)
    assert {asked.bound for asked in cliffs.ASKED.values()} == set(cliff_table.BOUNDS)
    assert LONG | CYCLIC <= set(SHAPES)


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_have_about_as_many_edges_as_asked_for(shape: str) -> None:
    for numbering in ("natural", "permuted"):
        vertices, source, target, first = Cliff(shape, 1000, numbering).made
        assert 0.85 * 1000 <= len(source) <= 1.05 * 1000
        assert 0 <= first < vertices == len(np.union1d(source, target)) == max(source.max(), target.max()) + 1


def test_a_row_is_measured_at_each_size_and_its_answer_compared(tmp_path: Path) -> None:
    pytest.importorskip("networkit")
    pytest.importorskip("igraph")
    row = cliffs.measure(cliffs.Row("bfs", "comb", "permuted", "n log n"), (100, 200), 9.0, tmp_path)
    assert [size.edges for size in row.sizes] == [100, 200] and not row.wrong and not row.skipped
    assert all(set(size.peers_ms) == {"igraph", "networkit"} and size.certified_ms for size in row.sizes)
    assert row.sizes[1].supersteps > row.sizes[0].supersteps and row.sizes[1].edges_visited > 0


def test_a_wrong_answer_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bench import cliff_peers

    peer = cliff_peers.Peer(lambda theirs: None, lambda found: np.zeros(101))
    monkeypatch.setitem(cliff_peers.PEERS, "bfs", {"nobody": peer})
    row = cliffs.measure(cliffs.Row("bfs", "path", "natural", "n log n"), (100,), 9.0, tmp_path)
    assert row.wrong == "differs from nobody's"


def test_sizes_past_the_budget_are_skipped_and_said(tmp_path: Path) -> None:
    row = cliffs.measure(cliffs.Row("degrees", "path", "natural", "n log n"), (100, 10**9), 1e-3, tmp_path, False)
    assert len(row.sizes) == 1 and row.skipped == "1000000000 edges would take more than 0.001 s"


def test_graphs_that_an_algorithm_refuses_end_a_row(tmp_path: Path) -> None:
    row = cliffs.measure(cliffs.Row("levels", "cycle", "natural", "n log n"), (100, 200), 9.0, tmp_path, False)
    assert row.refused.startswith("100 edges: ") and "has a cycle" in row.refused and not row.skipped
    assert cliff_table.failures_of(asdict(row)) == [] and row.refused in cliff_table.line(asdict(row))


CHILD = """
import json, sys, time
for line in sys.argv[1:]:
    print(line, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("late", [False, *choice.also(True)])
def test_what_is_not_done_in_time_is_told_and_what_is_there_is_kept(late: bool) -> None:
    rows = [cliffs.Row("bfs", shape, "natural", "n log n") for shape in ("path", "comb", "tree")]
    said = [dict(asdict(row)) for row in rows]
    said[1] |= {"doing": "200 edges, certified", "sizes": [asdict(cliffs.Size(101, 100, 1.0, 101, 100))]}
    lines = [json.dumps(one) for one in said[:2]]
    script = CHILD if late else CHILD.replace("time.sleep(60)", "sys.exit(3)")
    child = subprocess.Popen([sys.executable, "-c", script, *lines], stdout=subprocess.PIPE)
    done = cliffs.take(child, rows, 3.0 if late else 600.0)
    assert [row.shape for row in done] == ["path", "comb"] and not done[0].skipped
    ended = "not done after 3 s" if late else "its process ended: 3"
    assert done[1].skipped == f"200 edges, certified: {ended}" and len(done[1].sizes) == 1


@pytest.mark.long
def test_a_peer_that_is_not_done_in_time_breaks_no_bound_of_ours() -> None:
    rows = [cliffs.Row("bfs", "path", "natural", "n log n")]
    sizes = [asdict(cliffs.Size(101, 100, 1.0, 101, 100))]
    said = asdict(rows[0]) | {"doing": "100 edges, networkit", "sizes": sizes}
    child = subprocess.Popen([sys.executable, "-c", CHILD, json.dumps(said)], stdout=subprocess.PIPE)
    (done,) = cliffs.take(child, rows, 3.0)
    told = "100 edges, networkit: not done after 3 s"
    assert cliff_table.failures_of(asdict(done)) == [] and done.unmet == told
    assert cliff_table.cells(asdict(done))[-1] == f"ok; {told}"


def test_bounds_that_a_row_breaks() -> None:
    assert cliff_table.failures_of(a_row([10.0, 100.0, 1000.0])) == []
    assert cliff_table.failures_of(a_row([0.1, 19.0])) == []  # soon done
    assert cliff_table.failures_of(a_row([10.0, 1000.0])) == ["100000 edges: 100 times as long as 10000"]
    assert cliff_table.failures_of(a_row([10.0, 1000.0], bound="n m")) == []
    iterated = a_row([10.0, 1000.0], bound="iterations m")
    assert cliff_table.failures_of(iterated) == ["100000 edges: 100 times as long as 10000"]
    iterated["sizes"][1]["supersteps"] = 10
    assert cliff_table.failures_of(iterated) == []
    assert cliff_table.failures_of(a_row([10.0], skipped="100000 edges would take long")) == [
        "100000 edges would take long"
    ]
    assert cliff_table.failures_of(a_row([], bound="n m", skipped="its process ended")) == ["its process ended"]
    cold = a_row([10.0, 1000.0])
    cold["sizes"][1]["peers_ms"] = {"scipy": 400.0}  # grows as ours does
    assert cliff_table.failures_of(cold) == []
    cold = a_row([10.0, 700.0])
    for size, walk in zip(cold["sizes"], (1.0, 40.0), strict=True):  # all that is linear outgrows a cache
        size["walk_ms"] = walk
    assert cliff_table.failures_of(cold) == []
    assert cliff_table.failures_of(a_row([10.0, 700.0])) == ["100000 edges: 70 times as long as 10000"]
    assert cliff_table.failures_of(a_row([10.0], uncertified="certified, 100000 edges would")) != []
    hops = a_row([10.0, 700.0], bound="hops m")
    hops["sizes"][1]["supersteps"] = 4
    assert cliff_table.failures_of(hops) == []
    slow = a_row([10.0, 60.0])
    slow["sizes"][1]["peers_ms"] = {"scipy": 10.0, "igraph": 30.0}
    assert cliff_table.failures_of(slow) == ["100000 edges: 6 times scipy"]
    assert cliff_table.failures_of(slow | {"shape": "star-out"}) == []  # no long diameter
    assert cliff_table.judged(a_row([10.0, 100.0]))["exponent"] == 1.0


def test_the_command_writes_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without processes: a result with a broken row is joined with one that measured it again."""
    facts = {"date": "", "commit": "", "cpu": "", "cores": 2, "load_average_before": []}
    plain = {"numbering": "natural", "what": "degrees"}
    wholes = [
        {"command": "one", "machine": facts, "budget_s": 1, "limit_s": 13, "rows": [with_more(row, plain)]}
        for row in (a_row([10.0, 1000.0]), a_row([10.0, 90.0]))
    ]
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file, whole in zip(files, wholes, strict=True):
        file.write_text(json.dumps(whole))
    assert cliffs.main(["--join", str(files[0]), "--out", str(tmp_path)]) == 1
    assert cliffs.main(["--join", *map(str, files), "--out", str(tmp_path)]) == 0
    assert "| degrees | path, natural | 10.0 / 90.0 |" in (tmp_path / "cliffs.md").read_text()


def with_more(row: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    sizes = [size | {"edges_visited": 1} for size in row["sizes"]]
    return row | more | {"sizes": sizes}
