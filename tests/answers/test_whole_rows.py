"""Tables of many rows are made by compiled code on all cores, in memory that is used again: the rows are the same."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import gstream
from gstream.paging.kept_memory import LEAST_BYTES, MEMORY, KeptMemory
from gstream.results import best_rows, pieces
from gstream.results import result as results
from gstream.results.column import Column
from gstream.results.result import Result
from tests.answers.graphs import Example

ROOT = Path(gstream.__file__).parent.parent
VERTICES = 43  # no multiple of 8


def graph_of(tmp_path, kind, order):
    rng = np.random.default_rng(3)
    source, target = rng.integers(0, VERTICES, (2, 90))
    return gstream.open(Example(VERTICES, source, target, kind=kind, order=order).stored(tmp_path))


def columns_of(store):
    """One of each type that algorithms and programs of users have, with values that are missing where they may be."""
    rng, count, none = np.random.default_rng(7), store.meta.vertices, store.layout.none
    kinds = [np.uint32, np.uint64, np.int32, np.int64, np.float32, np.float64, np.uint8, np.bool_]
    found = [Column(f"plain {np.dtype(kind)}", rng.integers(0, 2, count).astype(kind)) for kind in kinds]
    for kind in kinds[:6]:
        values = rng.integers(0, 100, count).astype(kind)
        if values.dtype.kind == "i":
            values -= 50
        missing = np.inf if values.dtype.kind == "f" else np.iinfo(kind).max
        values[rng.random(count) < 0.3] = missing
        found.append(Column(f"some {values.dtype}", values, missing))
        found.append(Column(f"own {values.dtype}", values, missing, npy_missing=7))
    found.append(Column("wide", found[8].values, found[8].missing, dtype=np.dtype(np.uint64)))
    vertices = rng.integers(0, count, count).astype(store.layout.id_dtype)
    found.append(Column("group", vertices, holds="natural"))
    vertices = vertices.copy()
    vertices[rng.random(count) < 0.3] = none
    found.append(Column("vertex above", vertices, none, holds="store"))
    return found


@pytest.mark.parametrize("order", ["natural", "degree"])
@pytest.mark.parametrize("kind", ["dense", "listed"])
def test_whole_tables_are_those_made_by_chunks(tmp_path, monkeypatch, kind, order):
    with graph_of(tmp_path, kind, order) as graph:
        result = Result(graph.store, columns_of(graph.store), {}, threads=2)
        expected, table = result.to_numpy(), result.to_arrow()
        monkeypatch.setattr(results, "LARGE_ROWS", 1)
        monkeypatch.setattr(pieces, "PIECE_ROWS", 16)
        found = result.to_numpy()
        assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes()
        made = result.to_arrow()
        made.validate(full=True)
        assert made.equals(table) and made.schema.equals(table.schema)
        assert [column.null_count for column in made.columns] == [column.null_count for column in table.columns]


def test_a_column_in_order_is_not_copied(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "LARGE_ROWS", 1)
    with graph_of(tmp_path, "dense", "natural") as graph:
        rank = graph.pagerank()
        table = rank.to_arrow()
        address = table["pagerank"].chunk(0).buffers()[1].address
        assert address == rank._columns[0].values.ctypes.data
        assert np.array_equal(table["pagerank"].to_numpy(), rank["pagerank"])


def test_a_stream_of_a_column_in_order_does_not_copy_it(tmp_path):
    with graph_of(tmp_path, "dense", "natural") as graph:
        rank = graph.pagerank()
        table = pa.RecordBatchReader.from_stream(rank).read_all()
        assert table["pagerank"].chunk(0).buffers()[1].address == rank._columns[0].values.ctypes.data


@pytest.mark.parametrize("best", ["largest", "least"])
@pytest.mark.parametrize("order", ["natural", "degree"])
def test_the_best_rows_of_pieces_are_those_of_all(tmp_path, monkeypatch, order, best):
    with graph_of(tmp_path, "dense", order) as graph:
        for column in columns_of(graph.store):
            if column.vertices or column.values.dtype == np.bool_:
                continue
            rows = Result(graph.store, [column], {}, best).to_numpy()
            values = rows[column.name]
            there = np.ones(len(rows), bool) if column.missing is None else ~_none(graph, column)
            order_of = np.lexsort((rows["vertex"], values if best == "least" else -values.astype(float)))
            expected = [int(rows["vertex"][row]) for row in order_of if there[row]][:9]
            with monkeypatch.context() as patch:
                patch.setattr(best_rows, "STEP", 8)
                patch.setattr(pieces, "PIECE_ROWS", 8)
                found = Result(graph.store, [column], {}, best, threads=3).top(9)
            assert [row["vertex"] for row in found] == expected, column.name


def _none(graph, column):
    """bool[V] in the order of rows: which have no value."""
    count = graph.store.meta.vertices
    return column.absent(column.values[graph.store.store_ids(0, count).astype(np.intp)])


def test_all_cores_count_as_one_does(tmp_path, monkeypatch):
    with graph_of(tmp_path, "dense", "degree") as graph:
        for own in ({"predecessors": False}, {"predecessors": True}):
            found = graph.bfs(0, **own)
            reached = found.summary["reached"]
            assert reached == len(found) - found.to_arrow()["distance"].null_count
            with monkeypatch.context() as patch:
                patch.setattr("gstream.algorithms.support.counting.MANY", 1)
                assert graph.bfs(0, **own).summary["reached"] == reached


def test_release_gives_back_what_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("gstream.paging.kept_memory.LEAST_BYTES", 1)
    with graph_of(tmp_path, "dense", "degree") as graph:
        held = graph.bfs(0)
        graph.bfs(1)
        rows = held.to_numpy()
        assert MEMORY.free_bytes > 0
        graph.release()
        assert MEMORY.free_bytes == 0
        again = graph.bfs(0)  # the graph is open
        assert again.to_numpy().tobytes() == rows.tobytes() == held.to_numpy().tobytes()
    assert MEMORY.free_bytes == 0


def test_memory_that_somebody_refers_to_is_not_used_again():
    memory = KeptMemory()
    count = LEAST_BYTES // 8

    def filled(number):
        return memory.take(count, np.int64, number)

    array = filled(1)
    holders = [array[5:9], memoryview(array), pa.array(array), array.view(np.uint8)[::2], array.reshape(2, -1).T]
    holders.append(np.from_dlpack(array))
    del array
    while holders:
        assert filled(2).ctypes.data, "it is given back at once, and is another piece of memory"
        assert np.asarray(holders[0]).reshape(-1)[0] == 1
        holders.pop(0)
        gc.collect()
    assert memory.made == 2
    first, second = filled(3), filled(4)
    assert memory.made == 2 and (first == 3).all() and (second == 4).all()


def test_a_process_ends_quietly_with_arrays_in_use():
    text = (
        "import sys\nimport numpy as np\n"
        "from gstream.paging.kept_memory import MEMORY, KeptMemory\n"
        "held = [MEMORY.take(1 << 20, np.uint8, 1) for _ in range(20)]\n"
        "memory = KeptMemory(pin=lambda array: lambda: None)\n"
        "held += [memory.take(1 << 20, np.uint8, 1) for _ in range(20)]\n"
        # modules are emptied in the order opposite to that of their imports: this one after the memory's
        "np.kept = [held, sys.modules[KeptMemory.__module__], np]\n"
    )
    ended = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_memory_is_given_back_and_some_of_it_never_kept():
    memory = KeptMemory()
    arrays = [memory.take(LEAST_BYTES, np.uint8, 0) for _ in range(20)]
    assert memory.free_bytes == 0
    arrays.clear()
    assert 0 < memory.free_bytes < 20 * LEAST_BYTES
    memory.release()
    assert memory.free_bytes == 0
    fresh = KeptMemory(keeps=False)
    fresh.take(LEAST_BYTES, np.uint8)
    assert fresh.free_bytes == 0 and len(memory.take(3, np.uint8, 9)) == 3


@pytest.mark.parametrize("order", ["natural", "degree"])
def test_answers_that_are_held_stay_while_others_are_made(tmp_path, monkeypatch, order):
    monkeypatch.setattr("gstream.paging.kept_memory.LEAST_BYTES", 1)
    monkeypatch.setattr(results, "LARGE_ROWS", 1)
    with graph_of(tmp_path, "dense", order) as graph:
        sources = [int(vertex) for vertex in graph.bfs(0)["vertex"][:12]]
        held = [(graph.bfs(source), source) for source in sources]
        tables = [(found.to_numpy(), found.to_arrow()) for found, _ in held]
        for _ in range(3):
            for source in sources:
                graph.bfs(source, predecessors=False)
        for (found, source), (rows, table) in zip(held, tables, strict=True):
            again = graph.bfs(source)
            assert rows.tobytes() == again.to_numpy().tobytes() == found.to_numpy().tobytes()
            assert table.equals(again.to_arrow())


def test_calls_whose_answers_are_dropped_take_no_more_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("gstream.paging.kept_memory.LEAST_BYTES", 1)
    with graph_of(tmp_path, "dense", "degree") as graph:
        sources = [int(vertex) for vertex in graph.bfs(0)["vertex"]]
        graph.bfs(sources[0])
        before = MEMORY.made
        for source in sources:
            graph.bfs(source)
        assert MEMORY.made == before
