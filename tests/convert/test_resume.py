"""--resume goes on with the same input and options only: whatever changes an edge makes it start afresh."""

from __future__ import annotations

import io
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pagestore import open_store
from pagestore.convert import ConvertOptions, Progress, convert
from pagestore.errors import InputError
from pagestore.generate import grid, rmat
from pagestore.inputs import InputOptions, open_source
from pagestore.inputs.base import EdgeSource
from pagestore.memory import ArraySource
from tests.convert.graphs import stored_rows
from tests.convert.test_interruptions import OnceSource, skewed

MEMORY = 1 << 14  # forces every temporary thing to disk
OPTIONS = {"page_bytes": 4096, "memory_bytes": MEMORY, "threads": 2, "resume": True}


def begun(source: EdgeSource, path: Path, **options: Any) -> None:
    """A conversion that ends when its pages are being packed and keeps what it has."""

    def hook(progress: Progress) -> None:
        if progress.phase == "pack":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert(source, path, ConvertOptions(**OPTIONS, **options), hook)


def opened(folder: Path, paths: Any, **options: Any) -> EdgeSource:
    (folder / "work").mkdir(exist_ok=True)
    return open_source(paths, InputOptions(**options), folder / "work", MEMORY)


ENDS = {"source_column": 1, "target_column": 2}
BARE = {"weights": False}


def lines(weights: bool, count: int = 3000) -> str:
    return "".join(f"{k % 97} {k % 89}" + (f" {k % 7} {k % 5}" if weights else "") + "\n" for k in range(count))


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (BARE, {"weight_column": 4}),
        ({"weight_column": 3}, {"weight_column": 4}),
        (BARE | {"num_vertices": 97}, BARE | {"num_vertices": 98}),
        (BARE | {"num_vertices": 97, "id_base": 0}, BARE | {"num_vertices": 99, "id_base": 0}),
        (BARE, BARE | {"string_ids": True}),
        (BARE, BARE | {"format": "csv"}),
    ],
)
def test_other_reading_options(tmp_path: Path, first: dict[str, Any], then: dict[str, Any]) -> None:
    (tmp_path / "graph.txt").write_text(lines(weights=True))
    path, whole = tmp_path / "graph.gs", tmp_path / "whole.gs"
    begun(opened(tmp_path, tmp_path / "graph.txt", **ENDS, **first), path)
    report = convert(opened(tmp_path, tmp_path / "graph.txt", **ENDS, **then), path, ConvertOptions(**OPTIONS))
    assert not report.resumed
    convert(opened(tmp_path, tmp_path / "graph.txt", **ENDS, **then), whole, ConvertOptions(**OPTIONS))
    assert path.read_bytes() == whole.read_bytes()


def test_the_same_options_go_on(tmp_path: Path) -> None:
    (tmp_path / "graph.txt").write_text(lines(weights=True))
    path = tmp_path / "graph.gs"
    begun(opened(tmp_path, tmp_path / "graph.txt", weight_column=4, **ENDS), path)
    report = convert(opened(tmp_path, tmp_path / "graph.txt", weight_column=4, **ENDS), path, ConvertOptions(**OPTIONS))
    assert report.resumed


@pytest.mark.parametrize("kind", ["names", "listed integers"])
def test_names_go_on(tmp_path: Path, kind: str) -> None:
    """What vertices are called is the source's to say again; the edges are not read again."""

    def source() -> EdgeSource:
        if kind == "names":
            return opened(tmp_path, tmp_path / "graph.txt")
        ends = np.random.default_rng(1).integers(0, 100, (2, 3000))
        return ArraySource(*ends, ids=np.arange(100) ** 2)

    (tmp_path / "graph.txt").write_text("".join(f"v{k % 97} w{k % 89}\n" for k in range(3000)))
    path, whole = tmp_path / "graph.gs", tmp_path / "whole.gs"
    convert(source(), whole, ConvertOptions(**OPTIONS))
    begun(source(), path)
    assert convert(source(), path, ConvertOptions(**OPTIONS)).resumed
    assert path.read_bytes() == whole.read_bytes()
    with open_store(path) as store:
        assert list(map(str, list(store.user_ids(0, 3)))) == (
            ["v0", "v1", "v10"] if kind == "names" else ["0", "1", "4"]
        )


@pytest.mark.parametrize("phase", ["partition out", "sort out", "pack"])
def test_sparse_integers_go_on(tmp_path: Path, phase: str) -> None:
    """Until the edges are dealt out, those with dense IDs are a temporary file's: the IDs are then collected again."""
    ends = np.random.default_rng(1).integers(0, 1 << 60, 500)[np.random.default_rng(2).integers(0, 500, (2, 3000))]
    path, whole = tmp_path / "graph.gs", tmp_path / "whole.gs"

    def hook(progress: Progress) -> None:
        if progress.phase == phase:
            raise KeyboardInterrupt

    convert(ArraySource(*ends), whole, ConvertOptions(**OPTIONS))
    with pytest.raises(KeyboardInterrupt):
        convert(ArraySource(*ends), path, ConvertOptions(**OPTIONS), hook)
    phases: list[str] = []
    report = convert(ArraySource(*ends), path, ConvertOptions(**OPTIONS), lambda step: phases.append(step.phase))
    assert report.resumed and ("collect IDs" in phases) == (phase == "partition out")
    assert path.read_bytes() == whole.read_bytes()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["graph.gs", "whole.gs"]


def test_a_second_input_that_changed(tmp_path: Path) -> None:
    names = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for name in names:
        name.write_text(lines(weights=False))
    path = tmp_path / "graph.gs"
    begun(opened(tmp_path, names), path)
    text = lines(weights=False).replace("0 0\n", "9 7\n", 1)
    assert len(text) == names[1].stat().st_size, "the size alone does not tell"
    names[1].write_text(text)
    report = convert(opened(tmp_path, names), path, ConvertOptions(**OPTIONS))
    assert not report.resumed
    assert (9, 7, 1.0) in stored_rows(path)


@pytest.mark.parametrize("changed", ["g.v", "g.properties"])
def test_the_other_files_of_a_graphalytics_dataset(tmp_path: Path, changed: str) -> None:
    (tmp_path / "g.v").write_text("".join(f"{k}\n" for k in range(100)))
    (tmp_path / "g.e").write_text(lines(weights=False))
    path = tmp_path / "graph.gs"
    begun(opened(tmp_path, tmp_path / "g.e"), path)
    added = "100\n" if changed == "g.v" else "graph.g.directed = false\n"
    with open(tmp_path / changed, "a") as file:
        file.write(added)
    assert not convert(opened(tmp_path, tmp_path / "g.e"), path, ConvertOptions(**OPTIONS)).resumed


def test_another_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a pipe only its first bytes are known: another beginning is another graph."""

    def piped(text: str) -> EdgeSource:
        (tmp_path / "pipe").write_text(text)
        file = os.open(tmp_path / "pipe", os.O_RDONLY)
        stdin = opened_files.enter_context(io.TextIOWrapper(os.fdopen(file, "rb")))
        monkeypatch.setattr("sys.stdin", stdin)
        return opened(tmp_path, "-", format="text")

    path = tmp_path / "graph.gs"
    with ExitStack() as opened_files:
        begun(piped(lines(weights=False)), path)
        assert not convert(piped("5 6\n" + lines(weights=False)), path, ConvertOptions(**OPTIONS)).resumed
        path.unlink()
        begun(piped(lines(weights=False)), path)
        assert convert(piped(lines(weights=False)), path, ConvertOptions(**OPTIONS)).resumed


def test_generators_and_arrays_say_what_they_are(tmp_path: Path) -> None:
    sources = [
        rmat(8, 8, 1), rmat(8, 9, 1), rmat(8, 8, 1, scramble=True), rmat(8, 8, 1, weights=True), rmat(8, 8, 2),
        grid(8, 1), ArraySource([1, 2], [2, 1]), ArraySource([1, 2], [2, 3]), ArraySource([1, 2], [2, 1], [1, 2]),
        ArraySource([1, 2], [2, 1], vertices=5), ArraySource([0, 1], [1, 0], ids=[5, 7]),
        ArraySource([0, 1], [1, 0], ids=[5, 8]),
    ]  # fmt: skip
    found = [repr(source.fingerprint) for source in sources]
    assert len(set(found)) == len(found)
    assert rmat(8, 8, 1).fingerprint == rmat(8, 8, 1).fingerprint
    path = tmp_path / "graph.gs"
    begun(rmat(10, 8, 1), path)
    assert not convert(rmat(10, 8, 1, scramble=True), path, ConvertOptions(**OPTIONS)).resumed


def test_a_source_that_nothing_identifies_starts_afresh(tmp_path: Path) -> None:
    graph = skewed(5000, 300)
    path = tmp_path / "graph.gs"
    for _ in range(2):
        source = OnceSource(graph)
        source.fingerprint = None
        begun(source, path)
    source = OnceSource(graph)
    source.fingerprint = None
    assert not convert(source, path, ConvertOptions(**OPTIONS)).resumed


def test_a_failed_input_leaves_no_store(tmp_path: Path) -> None:
    (tmp_path / "graph.txt").write_text("1 2\n2 x\n")
    with pytest.raises(InputError):
        convert(opened(tmp_path, tmp_path / "graph.txt"), tmp_path / "graph.gs", ConvertOptions(**OPTIONS))
    assert not (tmp_path / "graph.gs").exists()
