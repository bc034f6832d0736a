"""Results as tables and files: every format gives the same rows back, whole or not at all."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import gstream
from gstream.cli.terminal import print_json
from gstream.results import result as results
from gstream.results.column import Column
from pagestore.errors import UsageError
from tests.answers.graphs import KINDS, Example, hub_example

FORMATS = ("parquet", "arrow", "csv", "npy")


def example_of(kind, weighted=True):
    """Five vertices where all can occur: 0 -> 1 -> 2, and 3 <-> 4 out of reach."""
    weight = np.array([1.5, 2.25, 1.0, 4.0]) if weighted else None
    return Example(5, np.array([0, 1, 3, 4]), np.array([1, 2, 4, 3]), weight, kind=kind, order="degree")


def rows(table):
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.fixture(params=KINDS)
def computed(request, tmp_path, monkeypatch):
    """(user IDs, {algorithm: Result}) with two rows a chunk, so that chunks are met."""
    monkeypatch.setattr(results, "CHUNK_ROWS", 2)
    example = example_of(request.param)
    ids = [example.user_id(v) for v in range(5)]
    with gstream.open(example.stored(tmp_path)) as graph:
        found = {
            "bfs": graph.bfs(source=ids[0]),
            "sssp": graph.sssp(source=ids[0]),
            "wcc": graph.wcc(),
            "pagerank": graph.pagerank(),
        }
    return ids, found


def test_tables(computed):
    ids, found = computed
    a, b, c, d, e = ids
    bfs, sssp, wcc = (found[name].to_arrow() for name in ("bfs", "sssp", "wcc"))
    assert rows(bfs) == [(a, 0, None), (b, 1, a), (c, 2, b), (d, None, None), (e, None, None)]
    assert rows(sssp) == [(a, 0.0, None), (b, 1.5, a), (c, 3.75, b), (d, None, None), (e, None, None)]
    assert rows(wcc) == [(a, a), (b, a), (c, a), (d, d), (e, d)]
    id_type = pa.string() if isinstance(a, str) else pa.int64()
    assert bfs.schema.types == [id_type, pa.int64(), id_type]
    assert sssp.schema.types == [id_type, pa.float32(), id_type]
    assert found["pagerank"].to_arrow().schema.types == [id_type, pa.float32()]


@pytest.mark.parametrize("ending", FORMATS)
def test_files_round_trip(computed, ending, tmp_path):
    for name, result in computed[1].items():
        path = tmp_path / f"{name}.{ending}"
        result.write(path)
        expected = result.to_arrow()
        if ending == "parquet":
            assert pa.parquet.read_table(path).equals(expected)
        elif ending == "arrow":
            assert pa.feather.read_table(path).equals(expected)
        elif ending == "npy":
            read = np.load(path)
            assert read.dtype == result.to_numpy().dtype and np.array_equal(read, result.to_numpy())
        else:
            kinds = dict(zip(expected.column_names, expected.schema.types, strict=True))
            options = pa.csv.ConvertOptions(column_types=kinds, strings_can_be_null=True)
            assert pa.csv.read_csv(path, convert_options=options).equals(expected)
        assert [path.name for path in tmp_path.iterdir() if "partial" in path.name] == []


def test_what_none_is_in_numpy_and_csv(computed, tmp_path):
    ids, found = computed
    none = "" if isinstance(ids[0], str) else -1
    assert found["bfs"].to_numpy()[3].tolist() == (ids[3], -1, none)
    assert found["sssp"].to_numpy()[3].tolist() == (ids[3], np.inf, none)
    found["bfs"].write(tmp_path / "bfs.csv")
    lines = (tmp_path / "bfs.csv").read_text(encoding="utf-8").splitlines()
    shown = [f'"{v}"' if isinstance(v, str) else str(v) for v in ids]
    assert lines[0] == "vertex,distance,predecessor" and lines[4] == f"{shown[3]},,"
    assert lines[2] == f"{shown[1]},1,{shown[0]}"


def test_ldbc_text(computed, tmp_path):
    ids, found = computed
    for name, value in (("bfs", "9223372036854775807"), ("sssp", "Infinity")):
        found[name].write(tmp_path / name, ldbc=True)
        lines = (tmp_path / name).read_text(encoding="utf-8").splitlines()
        assert [line.rsplit(" ", 1)[0] for line in lines] == [str(v) for v in ids]
        assert lines[3] == f"{ids[3]} {value}"
    found["wcc"].write(tmp_path / "wcc", ldbc=True)
    assert (tmp_path / "wcc").read_text(encoding="utf-8").splitlines()[4] == f"{ids[4]} {ids[3]}"


def test_pandas_keeps_whole_numbers(computed):
    ids, found = computed
    frame = found["bfs"].to_pandas()
    assert frame["vertex"].tolist() == ids
    assert frame["distance"].dtype == pd.Int64Dtype() and frame["distance"].isna().tolist() == [False] * 3 + [True] * 2
    if not isinstance(ids[0], str):
        assert frame["vertex"].dtype == np.int64 and found["wcc"].to_pandas()["component"].dtype == np.int64


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_value_nan_and_infinity_are_told_apart(dtype, tmp_path, capsys):
    """What a program of MIN may hold: infinity is no value, NaN and -infinity are values."""
    with gstream.open(example_of("dense").stored(tmp_path)) as graph:
        values = np.array([0.5, np.nan, np.inf, -np.inf, np.nan], dtype)
        store = graph.engine().store
        stored = values[store.natural_ids()] if store.meta.order != "natural" else values
        found = results.Result(store, [Column("value", stored, np.inf)], {})
        right = [0.5, "nan", None, -np.inf, "nan"]

        def told(values):
            return ["nan" if value != value else value for value in values]

        frame = found.to_pandas()["value"]
        assert told(found.to_arrow()["value"].to_pylist()) == told(found.to_dict("value").values()) == right
        assert told(row["value"] for row in found.top(5)) == told(found.at(n)["value"] for n in range(5)) == right
        assert frame.isna().tolist() == [False, False, True, False, False] and frame.sort_values().iloc[0] == -np.inf
        found.write("-")
        assert capsys.readouterr().out.splitlines() == ["vertex,value", "0,0.5", "1,nan", "2,", "3,-inf", "4,nan"]
        print_json({"top": found.top(5)})
        top = json.loads(capsys.readouterr().out)["top"]
        assert [row["value"] for row in top] == [0.5, "NaN", None, "-Infinity", "NaN"]
        plain = results.Result(store, [Column("value", np.where(np.isnan(stored), 0, stored), np.inf)], {})
        assert plain.to_pandas()["value"].dtype == dtype


def test_top(computed):
    ids, found = computed
    assert [row["vertex"] for row in found["bfs"].top(2)] == ids[:2]
    assert found["bfs"].top(9) == found["bfs"].top(3) and len(found["bfs"].top(9)) == 3
    assert found["bfs"].top(3)[2] == {"vertex": ids[2], "distance": 2, "predecessor": ids[1]}
    assert found["wcc"].top(5) == [{"component": ids[0], "vertices": 3}, {"component": ids[3], "vertices": 2}]
    ranks = [row["pagerank"] for row in found["pagerank"].top(5)]
    assert ranks == sorted(ranks, reverse=True) and len(ranks) == 5
    assert found["pagerank"].top(0) == []


def test_top_is_a_stable_sort(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "CHUNK_ROWS", 100)
    with gstream.open(hub_example(order="degree").stored(tmp_path)) as graph:
        for result, name, reverse in ((graph.bfs(source=11), "distance", False), (graph.pagerank(), "pagerank", True)):
            table = [row for row in result.to_arrow().to_pylist() if row[name] is not None]
            assert result.top(50) == sorted(table, key=lambda row: -row[name] if reverse else row[name])[:50]


def test_refused_paths(computed, tmp_path):
    result = computed[1]["bfs"]
    for path, error, message in (
        (tmp_path / "out.xls", UsageError, r"known are \.parquet, \.npy, \.arrow, \.txt"),
        (tmp_path / "out", UsageError, "the ending says the format"),
        (tmp_path / "none" / "out.csv", UsageError, "its folder .* does not exist"),
    ):
        with pytest.raises(error, match=message):
            result.write(path)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        result.write(tmp_path / "folder.csv")


def test_a_file_that_exists_is_replaced_with_force_only(computed, tmp_path):
    result, path = computed[1]["bfs"], tmp_path / "precious.csv"
    path.write_text("precious")
    with pytest.raises(UsageError) as caught:
        result.write(path)
    assert str(caught.value) == f"{path}: exists. Pass force=True to replace it, or another name."
    assert caught.value.line == f"{path}: exists. Pass --force to replace it, or another name."
    assert path.read_text() == "precious"
    result.write(path, force=True)
    assert path.read_text().startswith("vertex,distance")


def test_a_failed_write_leaves_the_old_file(computed, tmp_path, monkeypatch):
    result, path = computed[1]["bfs"], tmp_path / "old.csv"
    path.write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(results.Result, "arrow_batches", fail)
    with pytest.raises(gstream.GstreamError, match="no space left"):
        result.write(path, force=True)
    assert path.read_text() == "old"
    assert sorted(p.suffix for p in tmp_path.iterdir() if p.name.startswith(("old", ".old"))) == [".csv"]


def test_summary_is_plain(computed):
    import json

    for result in computed[1].values():
        assert json.loads(json.dumps(result.summary))["stats"]["seconds"] > 0
        assert len(result) == 5 and "5 rows" in repr(result)
