"""Coded pages decoded by the GPU's kernels, on the CPU with whole warps, against the pages of the same conversion."""

from __future__ import annotations

import choice
import numpy as np
import pytest
from compilers import needs_gxx

import gstream
from gstream.devices.gpu.coded import Decoder
from gstream.devices.gpu.driver import Gpu
from gstream.devices.gpu.memory import Memory
from gstream.paging.page_table import page_table
from gstream.planning import calibration
from gstream.planning.cost_equations import GpuConstants
from pagestore.coding.decode import sound
from pagestore.errors import StoreError
from pagestore.memory import convert_arrays
from pagestore.store import open_store

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]


def graph(seed: int, repeats: bool):
    """Lists of all lengths, a hub of several large pages, gaps between vertices, pages of many lists."""
    rng = np.random.default_rng(seed)
    source = np.concatenate([rng.integers(0, 500, 3000) // 3 * 3, np.full(2500, 70), np.arange(5000, 8000, 2)])
    target = np.concatenate([rng.integers(0, 9000, 3000), rng.integers(0, 400_000, 2500), np.arange(5000, 8000, 2) + 5])
    if not repeats:
        source, target = np.unique(np.stack([source, target]), axis=1)
    return source, target, np.random.default_rng(seed + 1).integers(-90, 200, len(source))


def decoded(store, topology, weights, runs):
    """Pages, or weights pages, by the kernels: runs of pages [first, end) go to rows of their own."""
    table, gpu = page_table(topology, 1), Gpu(0)
    width = table.weight_page_bytes if weights else table.page_bytes
    with gpu, topology.reader() as reader:
        memory = Memory(gpu)
        decoder = Decoder(memory, table)
        out = np.full((table.pages, width), 0xA5, np.uint8)
        for first, end in runs:
            coded = memory.upload(reader.read_coded(first, end - first, weights))
            pages = memory.upload(out[first:end])
            stream = gpu.stream()
            (decoder.decode_weights if weights else decoder.decode)(first, end, coded.address, pages.address, stream)
            out[first:end] = gpu.fetch(pages.address, pages.nbytes, np.uint8, stream).reshape(end - first, width)
            assert not decoder.told(stream)
        memory.free()
    return out


@pytest.mark.covering(1)
@pytest.mark.parametrize("page_bytes", [4096, 16384])
@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize("weight", ["u1", "rounded", *choice.also("i4", "f4")])
@pytest.mark.parametrize("id_bytes", [4, *choice.also(8)])
def test_kernels_decode_what_the_cores_do(tmp_path, id_bytes, repeats, weight, page_bytes):
    source, target, values = graph(1, repeats)
    values = {"u1": abs(values), "i4": values, "f4": values / 7, "rounded": abs(values) / 7}[weight]
    given = {"round_weights": 5} if weight == "rounded" else {}
    convert_arrays(
        tmp_path / "a.gs", source, target, values, page_bytes=page_bytes, id_bytes=id_bytes, compress="on", **given
    )
    with open_store(tmp_path / "a.gs") as store:
        assert store.meta.weight_dtype == ("f4" if given else weight)
        for name in ("out", "in"):
            topology = store.topology(name)
            middle = topology.pages // 3
            runs = [(0, middle), (middle, topology.pages)]
            with topology.reader() as reader:
                np.testing.assert_array_equal(decoded(store, topology, False, runs), reader.read(0, topology.pages))
                weights = decoded(store, topology, True, runs)
                np.testing.assert_array_equal(weights, reader.read_weights(0, topology.pages))


def summed(path, **options):
    """Ranks of ten supersteps, and the figures of the run."""
    with gstream.open(path, batch_bytes=16384, **options) as graph:
        found = graph.pagerank(iterations=10)
        return found.to_pandas()["pagerank"].to_numpy(), found.summary["stats"]


@pytest.mark.covering(1)
@pytest.mark.parametrize("devices", ["cuda:0", "cuda:0,1"])
@pytest.mark.parametrize(
    "given", choice.seeds(2, [{"cache": "0"}, {"cache": "0", "host_memory": "200KiB"}, {}, {"cache": "lru"}])
)
def test_stored_bytes_cross_the_link(tmp_path, given, devices):
    source, target, _ = graph(2, True)
    for compress in ("off", "on"):
        path = tmp_path / f"{compress}.gs"
        convert_arrays(path, source, target, page_bytes=4096, compress=compress, directed=False)
    ranks, raw = summed(tmp_path / "off.gs", devices=devices, **given)
    found, coded = summed(tmp_path / "on.gs", devices=devices, **given)
    np.testing.assert_allclose(found, ranks, rtol=1e-5)
    assert coded["pages_moved"] == raw["pages_moved"] and 0 < coded["bytes_moved"] < 0.6 * raw["bytes_moved"]


SEARCHES = {
    "bfs": lambda graph, **given: graph.bfs(source=70, **given),
    "sssp": lambda graph, **given: graph.sssp(source=70, **given),
    "components by sweeps": lambda graph, **given: graph.wcc(use_heads=False, **given),
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("devices", ["cuda:0", *choice.also("cuda:0,1")])
@pytest.mark.parametrize("host_memory", [None, *choice.also("700KiB", "300KiB")])
@pytest.mark.parametrize("name", SEARCHES)
def test_whole_pages_of_searches_and_sweeps_cross_the_link_as_they_are_stored(
    tmp_path, monkeypatch, name, host_memory, devices
):
    """Single lists are read in the pages that kernels read, which lie beside the coded ones where there is room."""
    # Single lists are dear here, whatever is measured: a link that other work slows down has them read in place.
    monkeypatch.setattr(calibration, "gpu_constants", lambda *given: GpuConstants(list_s=1e-5))
    source, target, weight = graph(2, True)
    for compress in ("off", "on"):
        path = tmp_path / f"{compress}.gs"
        convert_arrays(path, source, target, abs(weight), page_bytes=4096, compress=compress, directed=False)
    given = {"devices": devices, "cache": "0", "batch_bytes": 16384, "host_memory": host_memory}
    answers, moved = [], []
    for compress in ("off", "on"):
        with gstream.open(tmp_path / f"{compress}.gs", **given) as opened:
            for _ in range(2):  # whatever the run before has left
                found = SEARCHES[name](opened)
            answers.append(found.to_pandas())
            moved.append(found.summary["stats"])
            opened.pagerank(iterations=2)  # takes the same pages
            assert SEARCHES[name](opened).to_pandas().equals(answers[-1])
    assert answers[0].equals(answers[1])
    raw, coded = moved
    assert 0 < coded["bytes_moved"] < 0.8 * raw["bytes_moved"]
    assert (coded["pages_in_place"] > 0) == (raw["pages_in_place"] > 0 and host_memory is None)


@pytest.mark.covering(1)
@pytest.mark.parametrize("devices", ["cuda:0", "cuda:0,1"])
@pytest.mark.parametrize("share", [0.4, 2.0])
def test_coded_pages_stay_on_the_gpu(tmp_path, devices, share):
    source, target, _ = graph(2, True)
    convert_arrays(tmp_path / "a.gs", source, target, page_bytes=4096, compress="on", directed=False)
    given = {"devices": devices, "batch_bytes": 16384, "streams": 2}
    with gstream.open(tmp_path / "a.gs", **given) as opened:
        facts = opened.plan("pagerank", cache="0")
        streamed = opened.pagerank(iterations=10, cache="0")
        count = 2 if "," in devices else 1
        stored, pages = facts["stored_bytes"]["out"], facts["pages"]["out"]
        room = sum(facts["device_bytes"].values()) + int(share * stored / count)
        given = {"device_memory": room}
        kept = opened.plan("pagerank", **given)["device_bytes"]["coded pages (out)"]
        assert 0 < kept <= min(share * stored / count, stored) and (kept < 0.45 * stored / count) == (share < 1)
        for _ in range(2):  # what stays is there for the next call, too
            found = opened.pagerank(iterations=10, **given)
            np.testing.assert_allclose(found.to_numpy()["pagerank"], streamed.to_numpy()["pagerank"], rtol=1e-5)
            moved = found.summary["stats"]["pages_moved"]
            if share > 1:
                assert moved == pages and found.summary["stats"]["bytes_moved"] == stored
            else:
                assert pages < moved < 0.9 * streamed.summary["stats"]["pages_moved"]
            pages = stored = 0
        assert found.summary["stats"]["edges_visited"] == streamed.summary["stats"]["edges_visited"]


def test_a_field_that_names_no_vertex_is_told_and_leads_nowhere(tmp_path):
    """What the check before cannot see: neighbours and vertices stay within the graph, whatever fields say."""
    source, target, _ = graph(1, False)
    convert_arrays(tmp_path / "a.gs", source, target, page_bytes=4096, compress="on", topology="out")
    gpu, told, draw = Gpu(0), 0, np.random.default_rng(3)
    with open_store(tmp_path / "a.gs") as store, gpu, store.topology("out").reader() as reader:
        topology, memory = reader.topology, Memory(gpu)
        table, last = page_table(topology, 1), store.meta.vertices - 1
        for number in draw.integers(0, topology.pages, 16):
            row = topology.directory[number]
            counts = int(row["records"]), int(row["edges"])
            coded = reader.read_coded(int(number), 1).copy()
            places = draw.integers(len(coded) // 2, len(coded) - 16, 6)
            coded[places] = 255
            if not sound(coded, topology.layout, *counts):
                continue
            decoder, stream = Decoder(memory, table), gpu.stream()
            pages = memory.upload(np.zeros(4096, np.uint8))
            decoder.decode(int(number), int(number) + 1, memory.upload(coded).address, pages.address, stream)
            words = gpu.fetch(pages.address, 1024, "<u4", stream)
            told += decoder.told(stream)
            slots = words[1024 - 2 * counts[0] :: 2]
            assert words[8 : 8 + sum(counts)].max() <= max(last, counts[1])
            assert row["first_vertex"] <= slots.min() and slots.max() <= row["last_vertex"]
        memory.free()
    assert told > 0


def test_a_run_over_pages_that_name_no_vertex_ends_with_their_store(tmp_path, monkeypatch):
    source, target, _ = graph(2, True)
    convert_arrays(tmp_path / "a.gs", source, target, page_bytes=4096, compress="on", directed=False)
    monkeypatch.setattr(Decoder, "told", lambda decoder, stream: True)
    with pytest.raises(StoreError, match="names a vertex that is not there"):
        summed(tmp_path / "a.gs", devices="cuda:0", cache="0")


def test_plan_says_what_crosses_the_link(tmp_path):
    source, target, _ = graph(2, True)
    convert_arrays(tmp_path / "a.gs", source, target, page_bytes=4096, compress="on", directed=False)
    with gstream.open(tmp_path / "a.gs", devices="cuda:0", cache="0") as opened:
        facts = opened.plan("pagerank")
        assert facts["coded"] == {"out": True} and facts["bytes_a_superstep"] == facts["stored_bytes"]["out"]
        assert facts["stored_bytes"]["out"] < 0.6 * facts["page_bytes"]["out"]
        facts = opened.plan("wcc")
        assert facts["coded"] == {"out": True} and facts["bytes_a_superstep"] == facts["stored_bytes"]["out"]
        facts = opened.plan("wcc", cache="pinned")  # each page crosses once
        assert facts["coded"] == {"out": False}
