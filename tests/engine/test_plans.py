"""What a plan says that devices and host memory hold: to the byte, for every kind of program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from engine_graphs import Balance, make_store, skewed_edges
from planned import BITMAP, BLOCKS, CHUNKS, PAGE, PROGRAMS, WEIGHTED, E, V, make, planned, work_lists

from gstream import SUM, Program, f64
from gstream.devices.attributes import piece_bytes
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.planning.plan import out_of_memory
from gstream.programs.bfs import BFS
from gstream.programs.hits import Hubs
from gstream.programs.pagerank import PageRank, PersonalizedPageRank
from gstream.programs.sssp import SSSP
from pagestore.errors import UsageError

DEVICE = [  # bitmaps of a bit a vertex, bytes a vertex of WA, topologies: on a device with memory of its own
    ("PageRank", {}, 2, 4 + 8 + 4, ("in",)),  # rank, sum, degree
    ("PageRank", {"direction": "push"}, 2, 4 + 8 + 4, ("out",)),
    ("BFS", {}, 4, 4 + 4, ("out", "in")),  # active, next, open, remain; level, degree
    ("BFS", {"direction": "pull"}, 4, 4 + 4, ("in",)),
    ("BFS", {"direction": "pull", "use_heads": False}, 3, 4 + 4, ("in",)),
    ("SSSP", {}, 3, 4 + 4, ("out", "in")),  # active, next, held back
    ("SSSP", {"direction": "pull"}, 2, 4 + 4, ("in",)),  # a pull holds nobody back
]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with make(tmp_path_factory.mktemp("stores")) as made:
        yield made


@pytest.mark.parametrize(("program", "options", "bitmaps", "a_vertex", "names"), DEVICE)
def test_what_a_device_holds_of_all_vertices(store, program, options, bitmaps, a_vertex, names):
    plan = planned(store, PROGRAMS[program], **options, streams=3, batch_bytes=2 * WEIGHTED)
    page = WEIGHTED if program == "SSSP" else PAGE
    expected = {"bitmaps": bitmaps * BITMAP, "WA": a_vertex * V, "work lists": work_lists(plan, *names)}
    expected |= {"totals": 8 * 2 * BLOCKS, "RA (messages)": 4 * V} if program == "PageRank" else {}
    expected |= {"heads of a device": 16 * store.topology("in").head_rows} if bitmaps == 4 else {}
    expected |= {"batch buffers": 3 * 2 * page} | {f"page cache ({name})": plan.graph.tables[name].pages * page
                                                   for name in names}  # fmt: skip
    assert plan.device_bytes == expected
    assert (plan.case, plan.chunks, plan.start_chunks) == (1, [(0, V)], [(0, V)])


@pytest.mark.parametrize(
    ("program", "way", "a_vertex", "streamed", "more"),
    [
        ("PageRank", "pull", 4 + 8 + 4, 0, {"RA (messages)": 4 * V}),
        ("PageRank", "push", 4 + 8 + 4, 4 + 4 + 4, {}),  # with its pages come rank, degree and message
        ("BFS", "push", 4, 4, {}),  # levels, with the pages of their vertices
        ("SSSP", "push", 4, 4, {}),
    ],
)
def test_what_a_device_holds_of_a_chunk(store, program, way, a_vertex, streamed, more):
    plan = planned(store, PROGRAMS[program], direction=way, **CHUNKS, streams=3, batch_bytes=2 * PAGE, cache="0")
    name, page = ("in" if way == "pull" else "out"), WEIGHTED if program == "SSSP" else PAGE
    batch = max(1, 2 * PAGE // page)
    expected = {
        "bitmaps": (3 if program == "BFS" else 2) * BITMAP, "work lists": work_lists(plan, name),
        "WA": a_vertex * 8192, "batch buffers": 3 * (batch * page + streamed * plan.graph.tables["out"].reach), **more,
    }  # fmt: skip
    expected |= {"totals": 8 * 2 * BLOCKS} if program == "PageRank" else {}
    assert plan.device_bytes == expected
    assert plan.case == 3 and plan.chunks == [(0, 8192), (8192, 16384), (16384, V)] == plan.start_chunks
    values = (2 if (program, way) == ("PageRank", "push") else 1) * 4 * V  # old ones are read as new ones are stored
    assert plan.host_bytes["values"] == values and plan.double_buffer == (values == 8 * V)


def test_what_host_memory_holds(store):
    """Of host devices attributes, too; pages once, whatever the devices; degrees where something reads them."""
    pages, out = store.topology("in").pages, store.topology("out").pages
    assert planned(store, PageRank(), "host:2").host_bytes == {
        "degrees": 4 * V, "bitmaps of 2 devices": 2 * 2 * BITMAP, "totals of 2 devices": 2 * 8 * 2 * BLOCKS,
        "RA (messages) of 2 devices": 2 * 4 * V, "WA of 2 devices": 2 * 12 * V, "pages (in)": pages * PAGE,
        "pages (out)": out * PAGE, "work lists": 2 * (pages + out) * 24,
    }  # fmt: skip
    assert "pages (out)" not in planned(store, PageRank(), "host:2", direction="pull").host_bytes
    assert planned(store, BFS(source=3), "fake:1:2").host_bytes == {
        "degrees": 4 * V, "heads": 16 * store.topology("in").head_rows, "values": 4 * V,
        "pages (out)": out * PAGE, "pages (in)": pages * PAGE,
    }  # fmt: skip
    assert planned(store, SSSP(source=3), direction="pull").host_bytes == {
        "degrees": 4 * V, "values": 4 * V, "pages (in)": pages * WEIGHTED,
    }  # fmt: skip


def test_a_store_of_one_topology_in_both_directions(tmp_path):
    """An undirected graph's pages are held once."""
    source, target = skewed_edges(V, E, seed=7)
    with make_store(tmp_path, source, target, vertices=V, directed=False) as store:
        plan = planned(store, BFS(source=3))
        assert plan.directions == ("push", "pull") and list(plan.sources) == ["out"]
        assert plan.device_bytes["work lists"] == work_lists(plan, "out")


@pytest.mark.parametrize("unit", [64, 8192])
def test_chunks_and_slices_cut_all_vertices_at_whole_words(store, unit):
    program = BFS(source=3) if unit == 64 else PageRank()
    for most in (1, unit, unit + 5, 2 * unit, V - 1):
        plan = planned(store, program, "host:3", chunk_vertices=most, direction="push")
        size = max(unit, most // unit * unit)
        assert plan.unit == unit and plan.device.chunk == size
        assert plan.chunks == [(first, min(first + size, V)) for first in range(0, V, size)]
        assert all(first % 8192 == 0 for first, _ in plan.start_chunks) and plan.start_chunks[-1][1] == V
        for chunk in (*plan.chunks, (0, V), (unit, unit)):
            slices = plan.slices(chunk)
            assert len(slices) == 3 and slices[0][0] == chunk[0] and slices[-1][1] == chunk[1]
            assert all(a[1] == b[0] for a, b in zip(slices[:-1], slices[1:], strict=True))
            assert all((cut - chunk[0]) % unit == 0 for cut, _ in slices if cut < chunk[1])
            sizes = [last - first for first, last in slices]
            assert max(sizes) - min(sizes) <= 2 * unit


class Scaled(Program):
    """A sum whose messages read degree and weight: none is ready-made, a pull reads all values and degrees."""

    combine, value = SUM, f64

    def start(self, v, g):
        return 1.0

    def send(self, u, e, g):
        return u.value / u.degree * e.weight


class Degrees(Balance):
    """What is kept of a vertex reads both of its degrees."""

    def apply(self, v, got, g):
        return got + v.degree + v.in_degree


@pytest.mark.parametrize(
    ("program", "way", "a_vertex", "streamed", "more"),
    [
        (Balance(), "pull", 8 + 8, 0, {"RA (values)": 8 * V}),
        (Scaled(), "pull", 8 + 8, 0, {"RA (values)": 8 * V, "RA (degrees)": 4 * V}),
        (Scaled(), "push", 8 + 8 + 4, 8 + 4, {}),  # degrees of the chunk, and with the pages those of their vertices
        (Degrees(), "pull", 8 + 8 + 4, 0, {"RA (values)": 8 * V, "RA (degrees)": 4 * V}),  # in-degrees of the chunk
        (PersonalizedPageRank(preference=np.full(V, 1 / V)), "pull", 4 + 8 + 4 + 8, 0, {"RA (messages)": 4 * V}),
    ],
    ids=lambda given: type(given).__name__ if isinstance(given, Program) else None,
)
def test_what_programs_of_other_kinds_hold(store, program, way, a_vertex, streamed, more):
    """By chunks: WA of a chunk, RA of all vertices where a pull reads it, or with the pages of a push."""
    plan = planned(store, program, direction=way, **CHUNKS, streams=3, batch_bytes=2 * WEIGHTED, cache="0")
    page = WEIGHTED if plan.weights else PAGE
    totals = len(type(program).totals)
    expected = {
        "bitmaps": 2 * BITMAP, "work lists": work_lists(plan, "in" if way == "pull" else "out"),
        "WA": a_vertex * 8192, **more,
        "batch buffers": 3 * (2 * page + streamed * plan.graph.tables["out"].reach),
    }  # fmt: skip
    expected |= {"totals": 8 * totals * BLOCKS} if totals else {}
    assert plan.device_bytes == expected
    assert plan.device.source_copy == ("RA (values)" in more) and plan.device.message == ("RA (messages)" in more)
    parameters = 8 * V if isinstance(program, PersonalizedPageRank) else 0
    assert plan.host_bytes.get("parameters", 0) == parameters


def test_peers_that_can_not_be_read_are_copied_piece_by_piece(store):
    with Engine(store, RunOptions(devices=["fake:1:2"])) as engine:
        before = engine.plan(PageRank()).device_bytes
        engine.graph = replace(engine.graph, apart=2)
        assert engine.plan(PageRank()).device_bytes == before | {"pieces of peers": 2 * V}
    assert [piece_bytes(vertices) for vertices in (1, 4096, 5001, 1 << 40)] == [4096, 4096, 5000, 32 << 20]


def test_nobody_is_held_back_where_no_path_is_longer_than_another(tmp_path):
    """Where all weights are 0 there is no bitmap for it."""
    source, target = skewed_edges(500, 3000, seed=5)
    for weight in (0.0, 1.0):
        with make_store(tmp_path / str(weight), source, target, np.full(3000, weight), vertices=500) as store:
            plan = planned(store, SSSP(source=3))
            assert plan.device.held_bits == (weight > 0) and plan.device_bytes["bitmaps"] == (2 + (weight > 0)) * 64


def test_a_checkpoint_takes_bitmaps_and_what_it_is_gone_on_from(store, tmp_path):
    for program, options, more in (
        (PageRank(), {}, 0), (PageRank(), {"devices": "host"}, 4 * V), (SSSP(source=3), CHUNKS, 4 * V),
    ):  # fmt: skip
        usual = planned(store, program, **options).host_bytes
        kept = planned(store, program, **options, checkpoint=tmp_path / "kept").host_bytes
        assert kept == usual | {"checkpoint": 2 * BITMAP + more}


def test_memory_that_ran_out_names_the_three_largest():
    error = out_of_memory({"degrees": 4, "pages (in)": 900, "values": 40, "heads": 30})
    assert str(error).startswith(
        "host memory ran out; the run takes 974 bytes (pages (in) 900, values 40, heads 30). Pass a lower --host-memory"
    )


@pytest.mark.parametrize("order", ["natural", "degree", "in", "out"])
def test_devices_are_told_where_the_hubs_are(tmp_path, order):
    """In front where vertices are in the order of their out-degrees, by whichever of its names."""
    with make_store(tmp_path, *skewed_edges(300, 2000, seed=2), vertices=300, order=order) as store:
        assert planned(store, PageRank()).device.by_degree == (order in ("degree", "out"))


@pytest.mark.parametrize(("topology", "forward"), [("in", "push"), ("out", "pull")])
def test_a_direction_names_the_topology_that_it_lacks(tmp_path, topology, forward):
    """A program whose messages go backward pushes over in-pages."""
    other = {"in": "out", "out": "in"}[topology]
    with make_store(tmp_path, *skewed_edges(100, 500, seed=1), vertices=100, topology=topology) as store:
        with pytest.raises(UsageError, match=f"--direction {forward}: the store has no {other}-topology, which that"):
            planned(store, PageRank(), direction=forward)
        backward = {"push": "pull", "pull": "push"}[forward]
        with pytest.raises(UsageError, match=f"--direction {backward}: the store has no {other}-topology, which that"):
            planned(store, Hubs(score=np.zeros(100)), direction=backward)
        assert planned(store, PageRank(), direction=backward).directions == (backward,)
        assert planned(store, Hubs(score=np.zeros(100)), direction=forward).directions == (forward,)
