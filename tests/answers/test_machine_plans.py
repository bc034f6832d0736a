"""Plans without a store and without the machine: of every algorithm, in every range, and as the same store's plan."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gstream
from gstream.algorithms.machine_plans import machine_facts
from gstream.algorithms.registry import ALGORITHMS
from gstream.planning.counted_store import CountedStore
from gstream.planning.machines import FOLDER, Machine, find_machine, machine_of, names, save_machine
from gstream.planning.rank_volumes import P, named_vertices, scale_of
from pagestore.errors import CapError, DeviceMissingError, InputError, UsageError
from tests.answers.graphs import Example

MACHINES = ("laptop", "h100x1", "h100x8")
SLOW = Machine(
    "slow", 2, 1 << 34, core_rates={"pull_edges": 1e6, "push_edges": 1e6}, sources={"core_rates": "measured"}
)


def planned(name: str, machine: str, vertices: int, edges: int) -> dict[str, float]:
    asked = ALGORITHMS[name]
    kind: Any = {"undirected": asked.directed is False, "weighted": asked.reads_weights(asked.defaults)}
    facts = gstream.plan(name, vertices=vertices, edges=edges, machine=machine, **kind)
    assert facts["algorithm"] == name and facts["rests_on"]
    found = facts["call_seconds"]
    if facts["lacks"]:
        assert found is None, "there is no such run"
        return dict.fromkeys(("least", "usual", "most"), float("inf"))
    assert 0 < found["least"] <= found["usual"] <= found["most"] < float("inf")
    for seconds in facts["convert_seconds"].values():
        assert 0 < seconds["least"] < seconds["usual"] < seconds["most"] < float("inf")
    return found


@pytest.mark.covering(1)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_more_edges_take_no_less_time(name, machine):
    """In memory, streamed to a GPU, and from disk."""
    before = dict.fromkeys(("least", "usual", "most"), 0.0)
    for edges in (10**7, 10**9, 10**10):
        found = planned(name, machine, 10**6, edges)
        assert all(found[key] >= before[key] for key in before), (edges, before, found)
        before = found


def test_components_of_more_edges_than_one_thread_walks_take_less_time_on_cores():
    """scc goes another way there; a GPU goes the same way for all."""
    few, many = ((1 << 23) - 1, (1 << 23) + 1)
    cores, gpu = ([planned("scc", machine, 1 << 20, edges)["usual"] for edges in (few, many)]
                  for machine in ("laptop", "h100x1"))  # fmt: skip
    assert cores[1] < cores[0] / 1.5 and gpu[1] >= gpu[0]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_counts_and_the_store_that_has_them_give_one_plan(name, tmp_path):
    found = ALGORITHMS[name]
    rng = np.random.default_rng(1)
    ends = (rng.zipf(1.7, (2, 20_000)) % 1000).astype(np.uint32)
    directed = found.directed is not False
    example = Example(1000, *ends, rng.integers(1, 9, 20_000).astype(np.float32) + 0.5, directed=directed)
    with gstream.open(example.stored(tmp_path)) as graph:
        meta = graph.store.meta
        counts = CountedStore(meta.vertices, meta.graph_edges, True, directed, page_bytes=meta.page_bytes)
        counts.meta = replace(counts.meta, duplicates=meta.duplicates, self_loops=meta.self_loops)
        facts = [machine_facts(name, store, SLOW, {}, {}) for store in (graph.store, counts)]
    of_store, of_counts = (one["call_seconds"] for one in facts)
    assert of_store["least"] <= of_counts["usual"] <= of_store["most"]
    assert of_counts["least"] <= of_store["usual"] <= of_counts["most"]
    of_store, of_counts = (sum(one["host_bytes"].values()) for one in facts)
    assert of_counts == pytest.approx(of_store, rel=0.5)


def test_a_graph_beyond_a_machine_comes_from_disk_and_by_chunks():
    facts = gstream.plan("pagerank", vertices=6 * 10**9, edges=275 * 10**9, machine="dgx-h100", iterations=10)
    assert (facts["case"], facts["devices"], facts["supersteps"]) == (3, 8, 10) and facts["chunks"] > 1
    assert facts["in_host_memory"] == {"in": True} or facts["disks"] == 1
    assert facts["store_bytes"] > 2 * 275 * 10**9 * 8, "both ways, in IDs of 8 bytes"
    one = gstream.plan("pagerank", vertices=10**8, edges=10**10, machine="h100x8", devices="cuda:0", iterations=999)
    all_eight = gstream.plan("pagerank", vertices=10**8, edges=10**10, machine="h100x8", iterations=999)
    assert one["call_seconds"]["usual"] > 3 * all_eight["call_seconds"]["usual"]
    cores = gstream.plan("pagerank", vertices=10**8, edges=10**10, machine="h100x8", devices="host", iterations=10)
    assert not cores["copies"] and cores["devices_are"] == "host"


def test_programs_with_arrays_of_all_vertices_take_no_memory_to_plan():
    for name in ("hits", "heat", "radius", "closeness", "rwr"):
        asked = {"weighted": name == "heat"}  # it reads weights
        facts = gstream.plan(name, vertices=4 * 10**9, edges=10**11, machine="dgx-h100", **asked)
        assert facts["call_seconds"]["usual"] > 0 and not facts["lacks"]


def test_conversions_write_vertices_and_begin():
    one, many = (gstream.plan("bfs", vertices=count, edges=10, machine="laptop") for count in (10, 10**9))
    assert 0.01 < one["convert_seconds"]["text"]["usual"] < 1
    assert many["convert_seconds"]["text"]["usual"] == pytest.approx(150, rel=0.01)
    slow = gstream.plan(
        "bfs", vertices=10**9, edges=10, machine=replace(SLOW, memory=1 << 38, disk=1e8, convert={"text": 1e9})
    )
    assert slow["convert_seconds"]["text"]["usual"] == pytest.approx(many["store_bytes"] / 1e8, rel=0.01)
    dense = gstream.plan("bfs", vertices=10**6, edges=10**9, machine="laptop")
    sorted_ = 10**9 / find_machine("laptop").convert["text"]
    assert dense["convert_seconds"]["text"]["usual"] == pytest.approx(sorted_, rel=0.01)


def test_what_does_not_fit_a_machine_is_told():
    facts = gstream.plan("ktruss", vertices=10**6, edges=10**10, undirected=True, machine="laptop")
    assert facts["seconds"] is None and facts["lacks"] > find_machine("laptop").memory
    for name in ("pagerank", "rwr", "katz", "hits", "closeness", "neural"):
        weighted = {"weighted": True} if name == "neural" else {}
        facts = gstream.plan(name, vertices=10**10, edges=10**11, machine="laptop", **weighted)
        assert facts["call_seconds"] is None and facts["lacks"] > find_machine("laptop").memory
        assert facts["convert_seconds"]["text"]["usual"] > 0 and sum(facts["host_bytes"].values()) > 8 * 10**10
    with pytest.raises(CapError, match="host_memory 4294967296 bytes: too little .* bytes are needed at least"):
        gstream.plan("pagerank", vertices=10**9, edges=10**10, machine="laptop", host_memory="4GiB")


def test_ranges_say_what_they_rest_on():
    sheet = gstream.plan("bfs", vertices=10**8, edges=10**9, machine="h100x1")
    measured = gstream.plan("bfs", vertices=10**8, edges=10**9, machine="h200x1")
    assert "data sheets" in sheet["rests_on"][0] and "measured" in measured["rests_on"][0]
    wide, narrow = (one["call_seconds"]["most"] / one["call_seconds"]["least"] for one in (sheet, measured))
    assert wide > narrow
    learnt = replace(find_machine("h200x1"), gpu_factors={"takes bfs": 2.0})
    facts = gstream.plan("bfs", vertices=10**8, edges=10**9, machine=learnt)
    assert facts["rests_on"][0].startswith("runs of bfs here, within 1.3 times")
    assert facts["call_seconds"]["usual"] > measured["call_seconds"]["usual"]


def test_machines_that_come_with_gstream():
    assert set(MACHINES) <= set(names()) and {"h100x2", "h200x1", "dgx-h100"} <= set(names())
    for name in names():
        machine = find_machine(name)
        assert machine.name == name and machine.about
        told = {"core_rates", "disk", "convert"} | ({"gpu_rates", "gpu_memory"} if machine.gpus else set())
        assert told <= machine.sources.keys(), "each says where its figures come from"
        assert set(json.loads((FOLDER / f"{name}.json").read_text())["convert"]) == {"text", "binary", "generate"}


def test_machines_are_saved_and_read(tmp_path):
    save_machine(SLOW, tmp_path / "slow.json")
    assert find_machine(tmp_path / "slow.json") == SLOW


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "m.json: is no JSON: "),
        ("[]", "m.json: is no JSON object."),
        ('{"name": "a", "cores": 2}', "m.json: field 'memory' is missing."),
        ('{"name": "a", "cores": 0, "memory": 1e9}', "m.json: field 'cores' is 0; it must be a number from 1 to"),
        ('{"name": "a", "cores": 2.5, "memory": 1e9}', "m.json: field 'cores' is 2.5; it must be a whole number."),
        ('{"name": "a", "cores": 2, "memory": 1e9, "speed": 1}', "m.json: field 'speed' is unknown; known are name,"),
        ('{"name": "a", "cores": 2, "memory": 1e9, "gpus": 1}', "m.json: field 'gpu_memory' is missing, and gpus is"),
        ('{"name": 1, "cores": 2, "memory": 1e9}', "m.json: field 'name' is 1; it must be text."),
        ('{"name": "a", "cores": 2, "memory": 1e9, "disk": NaN}', "m.json: field 'disk' is nan; it must be a number"),
        ('{"name": "a", "cores": 2, "memory": 1e9, "core_rates": {"c3": 1}}', "m.json: field 'core_rates.c3' is unkno"),
        ('{"name": "a", "cores": 2, "memory": 1e9, "core_rates": {"c1": 0}}', "m.json: field 'core_rates.c1' is 0; it"),
        ('{"name": "a", "cores": 2, "memory": 1e9, "core_rates": 5}', "m.json: field 'core_rates' is 5; it must be"),
        ('{"name": "a", "cores": 2, "memory": 1e9, "sources": {"disk": 1}}', "m.json: field 'sources.disk' is 1; it"),
    ],
)  # fmt: skip
def test_files_that_are_no_machine(text, message):
    with pytest.raises(InputError) as caught:
        machine_of(text, "m.json")
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("ranks, billions", [(64, 3.06), (512, 0.81), (2048, 0.29)])
def test_mirrors_of_rmat_are_those_of_the_exact_model(ranks, billions):
    """Bytes of 4-byte values that the pages of a part of RMAT 34 name, as its exact model has them."""
    assert scale_of(6 * 10**9, 275 * 10**9) == 34
    assert 4 * named_vertices(34, 275e9 / ranks) / 1e9 == pytest.approx(billions, rel=0.02)


def test_small_counts_of_mirrors_are_those_of_drawn_edges():
    bits = np.random.default_rng(1).random((20_000, 10)) > P
    drawn = len(np.unique(bits @ (1 << np.arange(10))))
    assert named_vertices(10, len(bits)) == pytest.approx(drawn, rel=0.05)


def test_more_ranks_hold_and_send_less_and_take_less_time():
    call = {"vertices": 10**8, "edges": 10**10, "machine": "dgx-h100", "devices": "host"}
    found = [gstream.plan("pagerank", ranks=ranks, **call) for ranks in (2, 8, 64)]
    for name in ("memory_bytes", "part_bytes", "exchanged_bytes", "work_seconds", "seconds_a_superstep"):
        figures = [facts[name] for facts in found]
        assert figures == sorted(figures, reverse=True) and figures[-1] > 0, name
    assert found[0]["work_seconds"] == pytest.approx(32 * found[2]["work_seconds"], rel=0.1)
    state = found[2]["host_bytes"]["WA of 1 device"] / 12  # a value of 4 bytes and a sum of 8, of vertices
    assert state == pytest.approx(found[2]["mirrors"] + 2 * 10**8 / 64, rel=0.05)
    bits = gstream.plan("bfs", source=1, ranks=64, **call)
    assert bits["frontier"] and bits["exchanged_bytes"] > 10**8 / 8


@pytest.mark.parametrize(
    "algorithm, own, whole",
    [
        ("bfs", {}, False), ("bfs", {"targets": [5]}, True), ("bfs", {"start": "was.parquet"}, True),
        ("sssp", {"weighted": True, "predecessors": False}, False), ("sssp", {"weighted": True, "cutoff": 4.0}, True),
        ("wcc", {}, False), ("wcc", {"start": "was.parquet"}, True), ("scc", {}, True),
    ],
)  # fmt: skip
def test_plans_of_ranks_say_who_holds_all_values(algorithm, own, whole):
    """The slices of ranks, unless an option takes values whole."""
    source = {"source": 1} if algorithm in ("bfs", "sssp") else {}
    call = {"vertices": 10**8, "edges": 10**9, "machine": "dgx-h100", "devices": "host", "ranks": 8}
    held = gstream.plan(algorithm, **source, **own, **call)["host_bytes"]
    assert ("values of all ranks" in held) is whole
    assert any("of the slice" in name for name in held) is not whole


def test_gpus_of_more_ranks_take_less_time_and_exchange_mirrors_where_these_are_few():
    call = {"vertices": 10**8, "edges": 10**10, "machine": "dgx-h100"}
    found = [gstream.plan("pagerank", ranks=ranks, **call) for ranks in (2, 8, 64)]
    assert [facts["gpus"] for facts in found] == [8, 8, 8]
    for facts, listed in zip(found, (10**8 // 4, 7 * 10**8 // 64, int(63 / 64 * 10**8 / 64)), strict=True):
        assert facts["exchanged_bytes"] == 4 * facts["mirrors"] + 8 * listed
    dense = gstream.plan("pagerank", ranks=2, vertices=10**6, edges=10**9, machine="dgx-h100")
    assert dense["exchanged_bytes"] == 4 * 10**6 // 2 + 8 * 10**6 // 4 > 4 * dense["mirrors"] + 8 * 10**6 // 4
    bits = gstream.plan("bfs", source=1, ranks=2, **call)
    assert bits["exchanged_bytes"] == 2 * 4 * 10**8 // 2 + 10**8 // 8
    work = [facts["work_seconds"] for facts in found]
    assert work == sorted(work, reverse=True)
    one = gstream.plan("pagerank", ranks=8, devices="cuda:0", **call)
    assert one["gpus"] == 1 and one["work_seconds"] > work[1]
    assert one["device_bytes"]["pieces of peers"] == 7 * found[0]["device_bytes"]["pieces of peers"] > 0


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"ranks": 1}, UsageError, "ranks 1: it must be 2 to 4096"),
        ({"ranks": 4, "devices": "host,cuda:0"}, UsageError, "devices host,cuda:0: a rank has its machine's cores"),
        ({"machine": "abacus"}, UsageError, "machine abacus: No such file or directory. Known are dgx-h100, h100x1,"),
        ({"edges": 0}, UsageError, "edges 0: must be 1 to"),
        ({"vertices": 1 << 41}, UsageError, "vertices 2199023255552: must be 1 to"),
        ({"vertices": "many"}, UsageError, "vertices 'many': must be a whole number."),
        ({"devices": "cuda:1"}, DeviceMissingError, "devices cuda:1: the machine h100x1 has 1 GPU"),
        ({"host_memory": 1 << 50}, UsageError, "host_memory 1125899906842624: more than the 137438953472 bytes that"),
        ({"order": "random"}, UsageError, "order random: is unknown; it must be one of natural, degree."),
        ({"speed": 9}, UsageError, "bfs: has no option 'speed'"),
        ({"algorithm": "triangels"}, UsageError, "triangels: no such algorithm. Did you mean triangles?"),
        ({"algorithm": "levels", "undirected": True}, UsageError, "undirected: the graph is undirected, and levels go"),
    ],
)  # fmt: skip
def test_wrong_use(given, error, message):
    call = {"algorithm": "bfs", "vertices": 10, "edges": 20, "machine": "h100x1"} | given
    with pytest.raises(error) as caught:
        gstream.plan(call.pop("algorithm"), **call)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("name", ["closeness", "harmonic"])
def test_searches_by_weights_are_planned_without_a_store(name):
    for kind in ({}, {"undirected": True}):
        facts = gstream.plan(name, vertices=10**5, edges=10**6, weighted=True, machine="laptop", **kind)
        assert facts["call_seconds"]["usual"] > 0
