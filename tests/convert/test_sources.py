"""Inputs of every kind meet the pipeline: sparse IDs, names, vertex files, promises that edges break, weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pagestore import convert_arrays, open_store
from pagestore.convert import ConvertOptions, Report, convert
from pagestore.convert.estimate import estimate
from pagestore.convert.sorter import Lists, SorterError
from pagestore.errors import InputError, UsageError
from pagestore.generate import rmat
from pagestore.inputs import InputOptions, open_source
from pagestore.inputs.linefile import LineFile
from pagestore.memory import ArraySource
from tests.convert.graphs import check_store, stored_rows, user_ids


def read(folder: Path, name: str, text: str, reading: InputOptions | None = None, **options) -> Report:
    """Convert a text file to folder/graph.gs."""
    path = folder / name
    path.write_text(text)
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    source = open_source([path], reading or InputOptions(), scratch, 1 << 30)
    try:
        return convert(source, folder / "graph.gs", ConvertOptions(**{"page_bytes": 4096, **options}))
    finally:
        source.close()


@pytest.mark.parametrize("order", ["natural", "degree"])
@pytest.mark.parametrize("memory", [1 << 14, 1 << 30])
def test_ids_too_sparse_for_a_bitmap(tmp_path: Path, order: str, memory: int) -> None:
    rng = np.random.default_rng(7)
    names = np.unique(rng.integers(0, 1 << 63, 200))
    source, target = names[rng.integers(0, len(names), (2, 3000))]
    path = tmp_path / "graph.gs"
    convert_arrays(path, source, target, order=order, page_bytes=4096, memory_bytes=memory)
    wanted = sorted(zip(source.tolist(), target.tolist(), [1.0] * 3000, strict=True))
    assert stored_rows(path) == wanted and stored_rows(path, "in") == wanted
    with open_store(path) as store:
        assert store.meta.id_kind == "integers"
        assert sorted(user_ids(store).tolist()) == np.unique([source, target]).tolist()
    check_store(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["graph.gs"]


def test_text(tmp_path: Path) -> None:
    report = read(tmp_path, "graph.txt", "# two columns\n5 7\n7 5\n7 100\n5 7\n")
    assert (report.input_edges, report.vertices, report.duplicates) == (4, 3, 1)
    assert stored_rows(tmp_path / "graph.gs") == [(5, 7, 1.0), (5, 7, 1.0), (7, 5, 1.0), (7, 100, 1.0)]


class _BreaksDown:
    """A sorter that takes all keys, and then can't sort them."""

    name = "broken"

    def begin(self, *sizes: object) -> None:
        pass

    def append(self, keys: np.ndarray, codes: np.ndarray | None) -> None:
        pass

    def lists(self, dedupe: bool, mirrored: bool) -> Lists:
        raise SorterError("it broke down")

    def close(self) -> None:
        pass


@pytest.mark.parametrize("case", ["held", "too many", "sparse", "by a sorter that fails"])
def test_a_text_is_parsed_once_where_memory_holds_its_edges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    edges = np.random.default_rng(3).integers(0, 400, (3000, 2))
    edges *= 1 << 50 if case == "sparse" else 1
    passes, open_lines = [], LineFile.open_lines
    monkeypatch.setattr(LineFile, "open_lines", lambda source: passes.append(source) or open_lines(source))
    text = "".join(f"{near} {far}\n" for near, far in edges.tolist())
    options = {"memory_bytes": 1 << 14} if case == "too many" else {}
    if case == "by a sorter that fails":
        options["sorter"] = lambda source: _BreaksDown()
    read(tmp_path, "graph.txt", text, **options)
    assert len(passes) == (2 if case in ("too many", "by a sorter that fails") else 1)
    wanted = sorted((near, far, 1.0) for near, far in edges.tolist())
    assert stored_rows(tmp_path / "graph.gs") == wanted and stored_rows(tmp_path / "graph.gs", "in") == wanted


def test_names(tmp_path: Path) -> None:
    for order in ("natural", "degree"):
        read(tmp_path, "graph.txt", "b a\nb c\nb zürich\n", InputOptions(string_ids=True), order=order)
        check_store(tmp_path / "graph.gs")
        with open_store(tmp_path / "graph.gs") as store:
            assert store.meta.id_kind == "strings"
            assert list(store.user_ids(0, 4).to_pylist()) == ["a", "b", "c", "zürich"]
            hub = int(store.lookup(["b"])[0])
            assert store.out_degree()[hub] == 3 and (hub == 0) == (order == "degree")


def test_weights_left_out(tmp_path: Path) -> None:
    assert read(tmp_path, "graph.txt", "1 2 0.5\n", InputOptions(weights=False), weights=False).weight_dtype is None


def test_promised_vertices(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="vertex ID 5 is past the limit"):
        read(tmp_path, "graph.txt", "1 5\n", InputOptions(num_vertices=5))
    assert not (tmp_path / "graph.gs").exists()
    report = read(tmp_path, "graph.txt", "1 5\n", InputOptions(num_vertices=5, id_base=1))
    assert report.vertices == 5


class VertexFile(ArraySource):
    """Edges with a vertex file beside them."""

    def __init__(self, source, target, listed, closed=False):
        super().__init__(source, target)
        self.listed, self.closed = np.array(listed, np.int64), closed

    def vertex_ids(self):
        return iter([self.listed[:1], self.listed[:0], self.listed[1:]])


def test_ids_promised_in_a_row(tmp_path: Path) -> None:
    """They take no space: the first of them says it all."""
    source = ArraySource([0, 2], [2, 1], ids=[5, 6, 7])
    assert convert(source, tmp_path / "graph.gs", ConvertOptions(page_bytes=4096)).vertices == 3
    with open_store(tmp_path / "graph.gs") as store:
        assert (store.meta.id_kind, store.meta.id_base) == ("range", 5)
    assert stored_rows(tmp_path / "graph.gs") == [(5, 7, 1.0), (7, 6, 1.0)]


@pytest.mark.parametrize(("ends", "base", "wrong"), [([1, 5], 0, 5), ([7, 1], 0, 7), ([0, 1], 1, 0)])
def test_promises_that_arrays_break(tmp_path: Path, ends: list[int], base: int, wrong: int) -> None:
    last = base + 4
    with pytest.raises(InputError) as error:
        convert(ArraySource(ends, ends[::-1], vertices=5, id_base=base), tmp_path / "graph.gs")
    assert str(error.value) == (
        f"arrays: an edge names vertex {wrong}; the 5 vertices promised run from {base} to {last}. "
        "Correct the file's header or --num-vertices."
    )
    assert list(tmp_path.iterdir()) == []


def test_where_no_store_can_be(tmp_path: Path) -> None:
    source, folder = ArraySource([1], [2]), tmp_path / "folder"
    folder.mkdir()
    for path, options, words in (
        (tmp_path / "no" / "graph.gs", {}, f"{tmp_path}/no: no such folder. Make it, or write the store elsewhere."),
        (folder, {}, f"{folder}: is a folder; a store is one file. Name a file."),
        (tmp_path / "graph.gs", {"workdir": folder / "no"}, f"--workdir {folder}/no: no such folder. Make it first."),
    ):
        with pytest.raises(UsageError) as error:
            convert(source, path, ConvertOptions(**options))
        assert str(error.value) == words
    assert list(tmp_path.rglob("*")) == [folder]


def test_ids_of_4_bytes_for_too_many_vertices(tmp_path: Path) -> None:
    source = ArraySource([1], [2], vertices=1 << 32)
    with pytest.raises(UsageError, match="--id-bytes 4: 4294967296 vertices need 8; the limit is 2.32-1. Leave the op"):
        convert(source, tmp_path / "graph.gs", ConvertOptions(id_bytes=4))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("far", [4, 1 << 40])
def test_a_vertex_file_adds_vertices(tmp_path: Path, far: int) -> None:
    path = tmp_path / "graph.gs"
    convert(VertexFile([1, 2], [2, 1], [far, 1, 2, 3]), path, ConvertOptions(page_bytes=4096, memory_bytes=1 << 14))
    with open_store(path) as store:
        assert user_ids(store).tolist() == [1, 2, 3, far]
    with pytest.raises(InputError, match="vertex 2 has an edge but is not in the vertex file"):
        convert(VertexFile([1, 2], [2, 1], [far, 1], closed=True), path, ConvertOptions(memory_bytes=1 << 14))


def test_what_arrays_may_not_hold(tmp_path: Path) -> None:
    cases = [
        (([-1], [0]), InputError, "vertex ID -1 is negative"),
        (([0.5], [0]), UsageError, "vectors of integers"),
        (([0, 1], [0]), UsageError, "different lengths"),
        (([0], [0], [np.nan]), InputError, "weight nan of edge 0"),
        (([0, 1], [0, 1], [0.5, 1e300]), InputError, "weight 1e\\+300 is out of range"),
    ]
    for arrays, error, text in cases:
        with pytest.raises(error, match=text):
            convert_arrays(tmp_path / "graph.gs", *arrays)
        assert list(tmp_path.iterdir()) == []
    for ids in ([7, 7], [8, 7]):
        with pytest.raises(UsageError, match="ids must ascend without repeats. Sort them."):
            ArraySource([0], [1], ids=ids)


@pytest.mark.parametrize(
    ("weights", "rounded", "example"),
    [
        ([1 << 24, 1, 0.5], 0, ""),
        ([1.5, 2.25], 0, ""),
        ([(1 << 24) + 1, 7], 0, ""),  # integers of 4 bytes stay integers
        ([(1 << 32) - 1, 0], 0, ""),
        ([(1 << 24) + 1, 0.5], 1, ", 16777217 as 16777216"),
        ([1 << 33, 1], 0, ""),
        ([(1 << 33) + 1, 5], 1, ", 8589934593 as 8589934592"),
        ([-1, (1 << 32) - 1], 1, ", 4294967295 as 4294967296"),
        ([(1 << 53) + 1, 1], 1, ", or may be, from 2^53 on"),  # 2^53 as a float64
        ([(1 << 60) + 1, 1], 1, ", or may be, from 2^53 on"),
    ],
)
def test_rounded_weights_are_told(tmp_path: Path, weights: list[float], rounded: int, example: str) -> None:
    text = "".join(f"{at} {at + 1} {weight}\n" for at, weight in enumerate(weights))
    for report in (
        convert_arrays(tmp_path / "arrays.gs", range(len(weights)), range(1, len(weights) + 1), weights),
        read(tmp_path, "graph.txt", text),
    ):
        assert report.weights_rounded == rounded
        assert len(report.notes) == (rounded > 0)
        if rounded:
            assert f": 1 integer weight is stored rounded{example}: " in report.notes[0]
            assert report.notes[0].endswith(
                "exact for integers up to 16777216. Scale or round the weights if that matters."
            )


def test_options_that_contradict() -> None:
    cases = {
        "--topology": {"topology": "none"},
        "--order": {"order": "size"},
        "--page-size": {"page_bytes": 5000},
        "--id-bytes": {"id_bytes": 2},
        "--threads": {"threads": 0},
        "--memory": {"memory_bytes": 0},
        "order_buckets 0": {"order_buckets": 0},
        "--num-vertices -1": {"num_vertices": -1},
    }
    for text, options in cases.items():
        with pytest.raises(UsageError, match=text):
            ConvertOptions(**options)


def test_estimates_are_near(tmp_path: Path) -> None:
    """A dry run writes nothing; its store size is within a tenth of the store's."""
    for options in (ConvertOptions(), ConvertOptions(directed=False), ConvertOptions(order="degree", topology="out")):
        found = estimate(rmat(14, 16), tmp_path / "graph.gs", options)
        assert list(tmp_path.iterdir()) == []
        assert found.exact and found.input_edges == 16 << 14 and found.fits and found.seconds > 0
        report = convert(rmat(14, 16), tmp_path / "graph.gs", options)
        assert abs(found.store_bytes / report.store_bytes - 1) < 0.15
        (tmp_path / "graph.gs").unlink()


def test_estimate_of_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = tmp_path / "graph.txt"
    text.write_text("".join(f"{i} {i * 7 % 5000}\n" for i in range(20_000)))
    monkeypatch.setattr("pagestore.convert.estimate.SAMPLE_EDGES", 15_000)
    source = open_source([text], InputOptions(chunk_edges=1000), tmp_path, 1 << 30)
    found = estimate(source, tmp_path / "graph.gs", ConvertOptions())
    assert not found.exact and 10_000 < found.input_edges < 40_000


def test_progress(tmp_path: Path) -> None:
    """Phases in order, each from 0 to its total."""
    seen: dict[str, list[tuple[int, int | None]]] = {}
    convert(
        ArraySource([1, 2, 3], [2, 3, 1]), tmp_path / "g.gs", ConvertOptions(),
        lambda event: seen.setdefault(event.phase, []).append((event.done, event.total)),
    )  # fmt: skip
    assert list(seen) == ["read", "partition out", "sort out", "partition in", "sort in", "pack"]
    for reports in seen.values():
        assert reports[0][0] == 0 and reports[-1][0] == reports[-1][1]
