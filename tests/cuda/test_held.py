"""Answers that stay on a GPU, over the stand-in for the driver: tables, best rows and counts as the host makes them."""

from __future__ import annotations

import ctypes
import gc
import pickle
import subprocess
import sys
from pathlib import Path

import choice
import numpy as np
import pytest
import standin
from compilers import needs_gxx

import gstream
from gstream.devices.gpu import row_kernels
from gstream.devices.gpu.driver import Gpu
from gstream.devices.gpu.kept_values import GpuValues, KeptValues
from gstream.results import dlpack, gpu_column
from gstream.results.best_rows import least, sort_keys
from gstream.results.held_rows import _order_of
from pagestore.errors import UsageError
from pagestore.memory import convert_arrays

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]
V, E = 1500, 6000
CALLS = {
    "bfs": lambda graph, **given: graph.bfs(3, **given),
    "distances": lambda graph, **given: graph.bfs(3, predecessors=False, **given),
    "khop": lambda graph, **given: graph.khop(3, **given),
    "wcc": lambda graph, **given: graph.wcc(**given),
    "pagerank": lambda graph, **given: graph.pagerank(iterations=3, **given),
}


def make(folder, order):
    """ "listed": in degree order, vertices with IDs of their own."""
    rng = np.random.default_rng(5)
    edges = (V * rng.random((2, E)) ** 2).astype(np.uint64)
    where = folder / f"{order}.gs"
    vertices = None if order == "listed" else V
    convert_arrays(
        where,
        *edges,
        vertices=vertices,
        directed=False,
        page_bytes=4096,
        order="degree" if order == "listed" else order,
    )
    return where


@pytest.fixture(scope="module", params=["degree", *choice.also("natural", "listed")])
def path(request, tmp_path_factory):
    return make(tmp_path_factory.mktemp("stores"), request.param)


@pytest.fixture
def kept(monkeypatch):
    """Small arrays are kept, too, and tables are made by pieces of 64 rows."""
    monkeypatch.setattr("gstream.paging.kept_memory.LEAST_BYTES", 1)
    monkeypatch.setattr(row_kernels, "PIECE_BYTES", 64)


def held(result):
    return [column.held for column in result._columns]


def here(result):
    return all(isinstance(one, GpuValues) and one.memory is not None for one in held(result))


@pytest.mark.parametrize("name", CALLS)
def test_tables_are_those_of_the_host(path, kept, name):
    with gstream.open(path) as graph:
        expected = CALLS[name](graph, devices="host")
        found = CALLS[name](graph, devices="cuda")
        assert here(found)
        for count in (1, 20, 64):
            mine, other = found.top(count), expected.top(count)
            assert mine == other if name != "pagerank" else [r["vertex"] for r in mine] == [r["vertex"] for r in other]
        if name != "pagerank":  # sums in another order differ in the last bits
            assert found.to_numpy().tobytes() == expected.to_numpy().tobytes()
            assert found.to_arrow().equals(expected.to_arrow())
            found.to_arrow().validate(full=True)
        assert here(found) and all(one._host is None for one in held(found)), "a column was brought to the host"
        table = found.to_numpy()
        for one in found._columns:
            assert found[one.name].tobytes() == table[one.name].tobytes()
        assert found.summary.get("reached") == expected.summary.get("reached")
        assert found.summary.get("components") == expected.summary.get("components")


class Here:
    """A column as one of the host's memory, which is where the stand-in has it."""

    def __init__(self, column):
        self.column = column

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **asked):
        return self.column.__dlpack__()


def values_at(column):
    """What the CUDA array interface points to."""
    said = column.__cuda_array_interface__
    assert (said["version"], said["strides"], said["stream"]) == (3, None, None)
    address, _ = said["data"]
    memory = (ctypes.c_uint8 * column.nbytes).from_address(address)
    return np.frombuffer(memory, said["typestr"]).reshape(said["shape"])


@pytest.mark.parametrize("name", CALLS)
def test_columns_are_given_where_they_lie(path, kept, name, monkeypatch):
    monkeypatch.setattr(gpu_column, "CUDA", 1)  # the host's memory, in the capsule
    with gstream.open(path, devices="cuda") as graph:
        found = CALLS[name](graph)
        columns, table = found.to_gpu(), found.to_numpy()
        assert list(columns) == found.columns and here(found)
        for key, column in columns.items():
            assert np.array_equal(values_at(column), table[key]) and column.dtype == table[key].dtype
            taken = np.from_dlpack(Here(column))
            assert taken.ctypes.data == column.__cuda_array_interface__["data"][0]
            assert np.array_equal(taken, table[key])
        own = {one.memory.address for one in held(found)}
        address = next(iter(found.to_gpu(found.columns[1]).values())).__cuda_array_interface__["data"][0]
        if name == "pagerank" and "natural" in path.name:
            assert address in own, "the column was copied"
        assert ("natural" in path.name) or address not in own


def test_a_column_outlives_its_graph(path, kept, monkeypatch):
    monkeypatch.setattr(gpu_column, "CUDA", 1)
    with gstream.open(path, devices="cuda") as graph:
        found = graph.pagerank(iterations=3)
        column, expected = found.to_gpu("pagerank")["pagerank"], found["pagerank"]
        taken = np.from_dlpack(Here(column))
        graph.pagerank(iterations=2)
        graph.release()
        assert column.__dlpack__() is not None  # and nobody takes it
        del column, found
    assert np.array_equal(taken, expected) and len(dlpack._GIVEN) == 1
    del taken
    gc.collect()
    assert not dlpack._GIVEN and not standin.LIVE, "memory was not given back"


def test_what_is_not_given(path, kept):
    with gstream.open(path, devices="cuda") as graph:
        found = graph.wcc()
        with pytest.raises(UsageError, match="no such column; there are vertex, component"):
            found.to_gpu("rank")
        (column,) = found.to_gpu("component").values()
        assert column.__dlpack_device__() == (2, 0) and repr(column) == f"<GpuColumn of {len(found)} int64 on cuda:0>"
        for asked in ({"copy": True}, {"dl_device": (1, 0)}):
            with pytest.raises(BufferError, match="without a copy"):
                column.__dlpack__(**asked)
        with pytest.raises(UsageError, match="no GPU holds the answer"):
            graph.wcc(devices="host").to_gpu()


def test_cupy_takes_them_from_the_gpu(path, kept, monkeypatch):
    class Cupy:
        asarray = staticmethod(lambda column: column)

    with gstream.open(path, devices="cuda") as graph:
        found = graph.bfs(3)
        monkeypatch.setattr("importlib.import_module", lambda name: Cupy)
        assert all(isinstance(column, gpu_column.GpuColumn) for column in found.to_cupy().values())


def test_results_stay_readable_when_the_graph_is_closed(path, kept):
    with gstream.open(path, devices="cuda") as graph:
        found, expected = graph.bfs(3), graph.bfs(3).to_numpy().tobytes()
        copied = pickle.loads(pickle.dumps(found._columns))
    assert not here(found)
    assert found.to_numpy().tobytes() == expected
    assert [column.values.tobytes() for column in copied] == [column.values.tobytes() for column in found._columns]


def test_other_options_and_release_leave_results_readable(path, kept):
    with gstream.open(path, devices="cuda") as graph:
        found, expected = graph.bfs(3), graph.bfs(3).to_numpy().tobytes()
        graph.release()
        assert not here(found) and not standin.LIVE, "memory was not given back"
        other = graph.bfs(3)
        graph.bfs(3, threads=2)
        assert found.to_numpy().tobytes() == other.to_numpy().tobytes() == expected


def test_a_later_call_that_needs_the_room_has_it(path, kept, monkeypatch):
    with gstream.open(path, devices="cuda") as graph:
        held_results = [graph.bfs(source) for source in range(4)]
        expected = [graph.bfs(source).to_numpy().tobytes() for source in range(4)]
        allocate, refused = graph.engine().devices[0].gpu.cuda.mem_alloc, []

        def no_room(size):
            if any(here(one) for one in held_results):
                refused.append(size)
                raise standin.MemoryError("no room")
            return allocate(size)

        monkeypatch.setattr(graph.engine().devices[0].gpu.cuda, "mem_alloc", no_room)
        graph.pagerank(iterations=2)
        assert refused and not any(map(here, held_results))
        assert [one.to_numpy().tobytes() for one in held_results] == expected


@pytest.mark.long
def test_a_hundred_searches_take_no_memory_after_the_first(path, kept, monkeypatch):
    with gstream.open(path, devices="cuda") as graph:
        graph.bfs(0, predecessors=False)
        gpu = graph.engine().devices[0].gpu
        taken = []
        allocate = gpu.cuda.mem_alloc
        monkeypatch.setattr(gpu.cuda, "mem_alloc", lambda size: taken.append(size) or allocate(size))
        graph.bfs(1, predecessors=False)
        taken.clear()
        for source in range(100):
            graph.bfs(source, predecessors=False)
        assert not taken


def test_memory_of_an_answer_that_is_dropped_is_used_again_and_of_others_never(path, kept):
    with gstream.open(path, devices="cuda") as graph:
        first = graph.bfs(0, predecessors=False)
        address, bytes_then = held(first)[0].memory.address, first.to_numpy().tobytes()
        for source in range(3):
            assert held(graph.bfs(source, predecessors=False))[0].memory.address != address
        assert first.to_numpy().tobytes() == bytes_then
        del first
        gc.collect()
        answers = [graph.bfs(source, predecessors=False) for source in range(4)]
        assert address in [held(one)[0].memory.address for one in answers]


@pytest.mark.parametrize("dtype", ["<u4", "<i4", "<u8", "<i8", "<f4", "<f8"])
@pytest.mark.parametrize("largest", [False, True])
def test_the_best_values_of_every_type(dtype, largest):
    rng, kind = np.random.default_rng(3), np.dtype(dtype)
    values = rng.integers(-40 if kind.kind != "u" else 0, 40, 3000).astype(kind)
    if kind.kind == "f":
        values[:6] = np.nan, -np.inf, np.inf, -0.0, 0.0, 1e-40
    names = rng.permutation(3000).astype(np.uint32)
    expected = least(sort_keys(values, largest), names, 20)
    kept = KeptValues(Gpu(0))
    with kept.gpu:
        arrays = [kept.gpu.upload(each) for each in (values, names)]
        flags = _order_of(kind) | (row_kernels.DESCENDING if largest else 0)
        source = row_kernels.Source(arrays[0].address, kind.itemsize, flags=flags)
        keys, named = kept.rows.best_of_warps(source, arrays[1].address, 3000)
        assert len(keys) == 32
        worst = least(keys, named, 20)[-1]
        bound = int(keys[worst]), int(named[worst])
        found = kept.rows.find_better(source, arrays[1].address, 3000, bound)
        for array in arrays:
            array.free()
        kept.rows.free_scratch()
    kept.close()
    assert 20 <= found.shape[1] < 300, "the bound is of no use"
    chosen = least(found[0], found[1], 20)
    assert found[2][chosen].tolist() == expected.tolist()
    assert (names[expected] == found[1][chosen]).all()


def test_the_host_looks_for_the_best_where_too_many_come_first(path, kept, monkeypatch):
    monkeypatch.setattr(row_kernels, "MOST_BEST", 25)
    with gstream.open(path) as graph:
        for name, most in (("bfs", 20), ("wcc", 40)):
            found, expected = (CALLS[name](graph, devices=devices) for devices in ("cuda", "host"))
            assert found.top(most) == expected.top(most)


def test_a_process_ends_with_answers_on_the_gpu(path):
    """A graph that nobody closed is closed at the end, when no thread starts any more: nothing is brought over."""
    script = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import compilers, instead, standin
instead.install(compilers.compile_unit)
import gstream
from gstream.devices.gpu.kept_values import KeptValues
def fetch(kept, array, count):
    raise RuntimeError("cannot schedule new futures after interpreter shutdown")
graph = gstream.open({str(path)!r}, devices="cuda")
found = graph.bfs(3)
KeptValues.fetch = fetch
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
