"""Pulls of SUM by tiles of sources on the stand-in for the driver: the host's answers, from lists cut in many ways."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from functools import partial

import choice
import numpy as np
import pytest
import standin
from compilers import needs_gxx
from engine_graphs import make_store, skewed_edges

from gstream.devices.gpu import page_pool as gpupool
from gstream.devices.gpu import tiles as gputiles
from gstream.devices.gpu.driver import DeviceError
from gstream.devices.gpu.tiles import PATIENCE, Cut, Tiles, cut_by_tiles, first_tiles, tiles_of
from gstream.devices.job import DeviceMemoryError
from gstream.engine.engine import Engine
from gstream.language.program import SUM, Program, f64
from gstream.options.run_options import RunOptions
from gstream.paging.gpu_parts import make_parts
from gstream.paging.page_table import page_table
from gstream.programs.pagerank import PageRank

V, E = 3000, 30_000
WORTH_LOADING = 4 * 192 // 32  # cuda/tiles.cu, with the threads that compilers.small_blocks leaves it
SMALL_PARTS = 32  # edges a part, so that warps share lists of small pages


@pytest.fixture(scope="module", params=["directed 4", *choice.also("undirected 4", "undirected 8")])
def store(request, tmp_path_factory):
    kind, width = request.param.split()
    source, target = skewed_edges(V, E, 7)
    weight = np.random.default_rng(8).integers(1, 9, E).astype(np.float64)
    options = {"vertices": V, "directed": kind == "directed", "id_bytes": int(width), "order": "degree"}
    with make_store(tmp_path_factory.mktemp("stores"), source, target, weight, **options) as made:
        assert made.topology("in").pages > made.topology("in").small_pages > 8
        yield made


@pytest.fixture
def made(monkeypatch):
    """Every Tiles that was made; lists have tiles from few edges on."""
    found = []

    class Noted(Tiles):
        def __init__(self, *arguments) -> None:
            super().__init__(*arguments)
            found.append(self)

    monkeypatch.setattr(gputiles, "Tiles", Noted)
    monkeypatch.setattr(gputiles, "PIECE_EDGES", 1)
    return found


def ranks(store, **options) -> np.ndarray:
    with Engine(store, RunOptions(**options)) as engine:
        return engine.run(PageRank(tolerance=0.0), max_supersteps=PATIENCE + 4).value


@pytest.mark.covering(1)
@needs_gxx
@pytest.mark.usefixtures("standin_gpu")
@pytest.mark.parametrize("devices", ["cuda", "cuda:0,2"])
@pytest.mark.parametrize("edges_a_part", [2048, SMALL_PARTS])
@pytest.mark.parametrize("everything", [True, False])
def test_ranks_are_the_hosts(store, made, monkeypatch, devices, edges_a_part, everything):
    """With lists in one part each, and in many, whose sums are carried; of some pages, and of all of them."""
    monkeypatch.setattr(gpupool, "make_parts", partial(make_parts, edges_a_part=edges_a_part))
    if everything:
        monkeypatch.setattr(gputiles, "PIECE_EDGES", 0.001)
    found = ranks(store, devices=[devices])
    np.testing.assert_allclose(found, ranks(store), rtol=2e-6)
    assert len(made) == len(devices.split(","))
    assert all((tiles.rest is None) == everything for tiles in made)
    assert all(len(tiles._cut.range_rows) > 1 for tiles in made)


class Spread(Program):
    """What comes over edges, as wide as they are: messages that are made for every edge."""

    combine, value = SUM, f64

    def start(self, v, g):
        return 1.0 + v.degree % 3

    def send(self, u, e, g):
        return u.value * e.weight / (1 + u.degree)


@pytest.mark.covering(1)
@needs_gxx
@pytest.mark.usefixtures("standin_gpu")
@pytest.mark.parametrize("devices", ["cuda", "cuda:0,2"])
def test_messages_of_edges(store, made, monkeypatch, devices):
    """By several blocks, too."""
    monkeypatch.setattr(standin.DRIVER.device_attribute, "MULTIPROCESSOR_COUNT", 5)
    monkeypatch.setattr(gputiles, "PIECE_EDGES", 0.001)
    with Engine(store) as engine:
        wanted = engine.run(Spread(), max_supersteps=PATIENCE + 4).value
    with Engine(store, RunOptions(devices=[devices])) as engine:
        found = engine.run(Spread(), max_supersteps=PATIENCE + 4).value
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert len(made) == len(devices.split(",")) and any(tiles._blocks > 1 for tiles in made)


@needs_gxx
@pytest.mark.usefixtures("standin_gpu")
@pytest.mark.parametrize("order", ["reversed", "shuffled"])
def test_lists_that_do_not_ascend(store, made, monkeypatch, order):
    """They are cut anywhere, and every edge counts all the same."""
    monkeypatch.setattr(
        "gstream.devices.gpu.program_work.tiles_of",
        lambda state, pool, pages: tiles_of(state, pool, turned(pages, order)),
    )
    np.testing.assert_allclose(ranks(store, devices=["cuda"]), ranks(store), rtol=2e-6)
    assert len(made) == 1


def turned(pages, order):
    """A launch whose pages, in the stand-in's memory, have their lists in another order now."""
    standin.WORK.drain()
    layout, rows = pages.table.table.layout, int(pages.rows.max()) + 1
    memory = (ctypes.c_uint8 * (rows * layout.page_bytes)).from_address(pages.words)
    words, random = np.frombuffer(memory, layout.id_dtype).reshape(rows, -1), np.random.default_rng(4)
    for row in pages.rows.tolist():
        page = words[row]
        for slot in range(int(page.view(np.uint32)[1])):
            record = int(page[-2 * slot - 1])
            places = record + 1 + np.arange(int(page[record]))
            page[places] = page[places[::-1] if order == "reversed" else random.permutation(places)]
    return pages


@needs_gxx
@pytest.mark.usefixtures("standin_gpu")
@pytest.mark.parametrize("share", [0.25, 0])
def test_pieces_stay_for_the_next_run(store, made, monkeypatch, share):
    """Unless they take more of what a run leaves; and go for a sweep, which has no memory planned beside it."""
    monkeypatch.setattr(gputiles, "KEEP_SHARE", share)
    cuts: list[gputiles.Cut] = []
    usual = gputiles.Pieces.cut_lists
    monkeypatch.setattr(gputiles.Pieces, "cut_lists", lambda *given: cuts.append(given[0].cut) or usual(*given))
    wanted = ranks(store)
    with Engine(store, RunOptions(devices=["cuda"])) as engine:
        for number in range(1, 4):
            held = engine.devices[0].memory_bytes
            found = engine.run(PageRank(tolerance=0.0), max_supersteps=PATIENCE + 4).value
            np.testing.assert_allclose(found, wanted, rtol=2e-6)
            assert len(made) == number and len(cuts) == (1 if share else number)
            assert (made[-1]._of is made[0]._of) == (number == 1 or share > 0)
        assert engine.devices[0].memory_bytes == held
        pool = engine.devices[0].kept_pool
        assert (pool.made is not None) == (share > 0)
        plan = replace(engine.plan(PageRank()).device_plans[0], spare_bytes=0)
        with engine.devices[0].gpu:
            engine.devices[0]._make_pool(plan, {name: of.table for name, of in pool.tables.items()}, False)
        assert engine.devices[0].kept_pool is pool and pool.made is None


@needs_gxx
@pytest.mark.usefixtures("standin_gpu")
def test_launches_over_the_same_pages_have_the_same_tiles(store, made, monkeypatch):
    """Also where each superstep has a launch of its own: later runs have the pieces of the first one."""
    wanted = ranks(store)
    with Engine(store, RunOptions(devices=["cuda"])) as engine:
        for number in range(3):
            if number == 1:
                monkeypatch.setattr("gstream.devices.gpu.batch_queue.BatchQueue.again", lambda *given: None)
            found = engine.run(PageRank(tolerance=0.0), max_supersteps=PATIENCE + 4).value
            np.testing.assert_allclose(found, wanted, rtol=2e-6)
            assert len(made) == number + 1 and made[-1]._of is made[0]._of


@needs_gxx
@pytest.mark.usefixtures("standin_gpu")
def test_nothing_is_cut_where_pages_may_go(store, made):
    ranks(store, devices=["cuda"], cache="0")
    assert not made


@pytest.mark.covering(1)
@needs_gxx
@pytest.mark.usefixtures("standin_gpu")
@pytest.mark.parametrize("number", choice.seeds(3, range(10)))
def test_without_memory_pulls_are_as_before(store, made, monkeypatch, number):
    """The n-th array of them can't be had."""
    room_for, calls = gputiles.room_for, []

    def fails(*given):
        calls.append(given)
        if len(calls) == number + 1:
            raise standin.MemoryError("made up") if number % 2 else DeviceMemoryError("made up")
        return room_for(*given)

    monkeypatch.setattr(gputiles, "room_for", fails)
    found = ranks(store, devices=["cuda"])
    np.testing.assert_allclose(found, ranks(store), rtol=2e-6)
    assert not made and len(calls) == number + 1  # and it is not tried again


def test_lists_have_the_tiles_that_are_worth_it(store):
    """Longer lists have more tiles; what tiles and the rest have comes to all edges of their pages."""
    table = page_table(store.topology("in"), 1)
    numbers, rows = table.all_pages(), table.records.astype(np.int64)
    cut = cut_by_tiles(table, numbers, rows, 50, 400, V)
    assert isinstance(cut, Cut) and (np.diff(cut.tile_rows) <= 0).all() and cut.tile_rows[0] == cut.rows[-1]
    assert cut.edges.sum() == pytest.approx(table.edges[cut.pages].sum())
    assert (np.diff(cut.base.astype(np.int64)) == np.append(cut.tile_rows, cut.range_rows)).all()
    assert 1 < len(cut.range_rows) <= -(-V // 400) and (np.diff(cut.range_rows) <= 0).all()
    assert cut.range_rows[0] == cut.rows[-1]  # a list without tiles is whole there
    assert set(range(table.small_pages, table.pages)) <= set(cut.pages.tolist())
    assert cut_by_tiles(table, numbers, rows, V, V, V) is None  # one tile: shared memory has it all


@needs_gxx
@pytest.mark.usefixtures("standin_gpu")
@pytest.mark.parametrize(("left", "taken"), [(WORTH_LOADING, True), (WORTH_LOADING - 1, False), (0, False)])
def test_blocks_leave_tiles_to_others_that_are_nearly_done(tmp_path, made, monkeypatch, left, taken):
    """Every tile is begun, the second has so many claims left: what is left of it gets its sums, or nothing does."""
    source = np.random.default_rng(9).integers(0, 80, 40_000)  # of tiles that 4,000 lists come to
    seen: list[tuple[np.ndarray, int, int]] = []
    usual = Tiles.launch

    def launch(tiles) -> None:
        if seen:
            return usual(tiles)
        state, gpu = tiles._state, tiles._state.gpu
        state.wait()
        firsts = gpu.fetch(tiles._of.firsts.address, tiles._of.firsts.count, np.uint64, state.stream).astype(np.int64)
        ends = firsts[tiles._cut.base.astype(np.int64)]
        claims = -(-np.diff(ends) // 32)[: tiles._claims.count]
        claims[-1] = ends[-1]  # all of the rest
        claims[1] -= left
        assert claims[1] > 0
        gpu.write(tiles._starts.address, np.zeros(tiles._blocks, np.uint64))  # they all look for another after that
        gpu.write(tiles._sums.address, np.full(tiles._sums.count, np.nan, np.float64))
        with pytest.MonkeyPatch.context() as begun:
            begun.setattr(gpu, "fill", lambda array, *rest: gpu.write(array.address, claims.astype(np.uint64)))
            usual(tiles)
        state.wait()
        sums = gpu.fetch(tiles._sums.address, tiles._sums.count, np.float64, state.stream)
        seen.append((np.flatnonzero(~np.isnan(sums)), int(ends[1] + 32 * claims[1]), int(ends[2])))

    monkeypatch.setattr(Tiles, "launch", launch)
    monkeypatch.setattr(gputiles, "PIECE_EDGES", 0.001)
    graph = source, np.arange(40_000) % 4_000, np.ones(40_000)
    with make_store(tmp_path, *graph, vertices=4_000, directed=False, order="degree") as store:
        with Engine(store, RunOptions(devices=["cuda"])) as engine:
            engine.run(Spread(), max_supersteps=PATIENCE + 2)
    ((found, first, end),) = seen
    assert found.tolist() == (list(range(first, end)) if taken else [])


def test_blocks_begin_where_there_is_work():
    edges = np.array([400.0, 100.0, 0.0, 200.0])
    assert np.bincount(first_tiles(edges, 70).astype(int), minlength=4).tolist() == [40, 10, 0, 20]
    assert first_tiles(np.array([1.0, 0.0]), 3).tolist() == [0, 0, 0]


@needs_gxx
@pytest.mark.usefixtures("standin_gpu")
@pytest.mark.parametrize("kernel", ["pull_tiles_kernel", "add_pieces_kernel"])
def test_faults_are_told_as_those_of_the_kernels(store, made, monkeypatch, kernel):
    """Also where they show later, at the wait for the superstep."""
    usual, right = standin.Function.prepared_async_call, standin.Event.synchronize

    def fail(event):
        monkeypatch.setattr(standin.Event, "synchronize", right)
        raise standin.LogicError("cuEventSynchronize failed: made up by the test")

    def call(function, *arguments, **given):
        usual(function, *arguments, **given)
        if function.name == kernel:
            monkeypatch.setattr(standin.Event, "synchronize", fail)

    monkeypatch.setattr(standin.Function, "prepared_async_call", call)
    with pytest.raises(DeviceError, match=rf"cuda:0 \(stand-in\), one of .*{kernel} of PageRank.*made up"):
        ranks(store, devices=["cuda"])
    assert len(made) == 1
