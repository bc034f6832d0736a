"""What a conversion says of itself: the time from opening on, progress in every phase, estimates without the work."""

from __future__ import annotations

import gzip
import os
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import zstandard

from pagestore.convert import ConvertOptions, Progress, convert
from pagestore.convert import estimate as module
from pagestore.convert.estimate import check_space, estimate
from pagestore.errors import ResourceError
from pagestore.generate import rmat
from pagestore.inputs import InputOptions, dictionary, names, open_source
from pagestore.memory import ArraySource

MEMORY = 1 << 28
LINES = 500_000
PACKERS = {
    "gz": lambda text: gzip.compress(text, 1),
    "zst": zstandard.ZstdCompressor(level=1).compress,
}


def named_edges(folder: Path, count: int) -> Path:
    path = folder / "names.txt"
    path.write_text("".join(f"vertex{k % 1009} name{k % 997}\n" for k in range(count)))
    return path


def test_time_and_progress_of_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = named_edges(tmp_path, 20_000)
    built = names._Dictionary.build

    def slow(self):  # type: ignore[no-untyped-def]
        time.sleep(0.2)
        return built(self)

    monkeypatch.setattr(names._Dictionary, "build", slow)
    phases: dict[str, Progress] = {}

    def hook(progress: Progress) -> None:
        phases[progress.phase] = progress

    source = open_source(path, InputOptions(), tmp_path, MEMORY, hook)
    assert list(phases) == ["read names", "sort names", "number names"]
    assert phases["read names"].done == phases["read names"].total == path.stat().st_size
    assert phases["sort names"].done == 1009 + 997
    assert phases["number names"].done == phases["number names"].total == 20_000
    report = convert(source, tmp_path / "graph.gs", ConvertOptions(page_bytes=4096))
    assert report.seconds > report.phase_seconds["open"] > 0.2


def test_progress_of_names_by_parts(tmp_path: Path) -> None:
    seen: dict[str, Progress] = {}
    source = open_source(
        named_edges(tmp_path, 5_000), InputOptions(), tmp_path, 1, lambda step: seen.update({step.phase: step})
    )
    assert seen["number names"].done == seen["number names"].total == 3 * 5_000
    source.close()


@pytest.mark.parametrize(("fewest", "rounds"), [(1 << 14, 1), (600, 3)])
def test_progress_of_sparse_integers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fewest: int, rounds: int) -> None:
    """In memory, and by parts where not even the IDs fit."""
    monkeypatch.setattr(dictionary, "FEWEST_IDS", fewest)
    monkeypatch.setattr(dictionary, "BYTES_PER_ID", 1 << 20)
    ids = np.random.default_rng(1).permutation(3000) << 50
    seen: dict[str, Progress] = {}
    source = ArraySource(ids, np.roll(ids, 7), chunk_edges=100)
    options = ConvertOptions(memory_bytes=1 << 20, page_bytes=4096)
    convert(source, tmp_path / "graph.gs", options, lambda step: seen.update({step.phase: step}))
    assert list(seen)[:3] == ["read", "collect IDs", "number IDs"]
    assert seen["number IDs"].done == seen["number IDs"].total == rounds * 3000


def test_dry_run_of_names_makes_no_dictionary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = named_edges(tmp_path, 20_000)
    before = sorted(os.listdir(tmp_path))
    monkeypatch.setattr(names, "dictionary_strings", None)
    source = open_source(path, InputOptions(), tmp_path, MEMORY, sample=True)
    found = estimate(source, tmp_path / "graph.gs", ConvertOptions())
    assert (found.vertices, found.input_edges, found.exact, found.sampled_edges) == (2006, 20_000, True, 20_000)
    assert sorted(os.listdir(tmp_path)) == before


def test_dry_run_of_names_reads_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = named_edges(tmp_path, 400_000)
    monkeypatch.setattr("pagestore.convert.estimate.SAMPLE_EDGES", 10_000)
    source = open_source(path, InputOptions(threads=1), tmp_path, 1 << 20, sample=True)
    found = estimate(source, tmp_path / "graph.gs", ConvertOptions())
    source.close()
    assert not found.exact
    assert found.sampled_edges < 300_000
    assert found.sampled_edges < found.input_edges < 800_000


@pytest.mark.parametrize("apart", [False, True])
def test_what_fits_by_a_dry_run_is_what_the_conversion_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, apart: bool
) -> None:
    """By one formula: on one disk temporary files that stay lie beside the store as it is written."""
    (tmp_path / "work").mkdir()
    monkeypatch.setattr(module, "same_disk", lambda *_: not apart)
    options = ConvertOptions(memory_bytes=16 << 20, page_bytes=1 << 16, workdir=tmp_path / "work", threads=2)
    source = rmat(16, 16, 1)
    found = estimate(source, tmp_path / "graph.gs", options)
    assert not found.in_memory and found.kept_bytes > 0
    wanted = max(found.store_bytes if apart else found.store_bytes + found.kept_bytes, found.work_bytes)
    for free, fits in ((wanted, True), (wanted - 1, False)):
        monkeypatch.setattr(module, "free_bytes", lambda folder, free=free: free)
        assert estimate(source, tmp_path / "graph.gs", options).fits == fits
        sizes = ({tmp_path: found.store_bytes}, options.workdir, found.work_bytes, found.kept_bytes)
        if fits:
            check_space(*sizes)
        else:
            with pytest.raises(ResourceError, match=f"needs {wanted:,} bytes there; {free:,} are free"):
                check_space(*sizes)


def test_a_dry_run_of_a_generator_reads_some_of_its_edges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLE_EDGES", 1000)
    for source, exact in ((rmat(16, 16, 1), False), (rmat(8, 2, 1), True)):
        source.chunk_edges = 1 << 10
        found = estimate(source, tmp_path / "graph.gs", ConvertOptions())
        assert found.exact is exact and (found.sampled_edges == found.input_edges) is exact


@pytest.fixture(scope="module")
def long_text() -> str:
    """LINES edges between random vertices."""
    ends = np.random.default_rng(7).integers(1, 1 << 20, (LINES, 2)).tolist()
    return "".join(f"{source} {target}\n" for source, target in ends)


@pytest.mark.covering(1)
@pytest.mark.parametrize("memory", [1 << 20, 1 << 30])
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.mtx", "a.adj", "names.txt", "a.txt.gz", "a.txt.zst"])
def test_a_dry_run_counts_the_edges_of_a_text_by_what_was_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long_text: str, name: str, threads: int, memory: int
) -> None:
    """Not by what was read ahead, of which there is more with more threads and larger blocks."""
    monkeypatch.setattr(module, "SAMPLE_EDGES", 100_000)
    text = {"a.csv": long_text.replace(" ", ","), "names.txt": long_text.replace(" ", " n")}.get(name, long_text)
    if name == "a.mtx":
        text = f"%%MatrixMarket matrix coordinate pattern general\n{1 << 20} {1 << 20} {LINES}\n{text}"
    path, suffix = tmp_path / name, name.rpartition(".")[2]
    path.write_bytes(PACKERS[suffix](text.encode()) if suffix in PACKERS else text.encode())
    options = InputOptions(threads=threads, chunk_edges=1 << 14)
    for paths, edges in ((path, LINES), ([path, path], 2 * LINES)):
        source = open_source(paths, options, tmp_path, memory, sample=True)
        found = estimate(source, tmp_path / "graph.gs", ConvertOptions())
        source.close()
        assert found.size_known and (found.sampled_edges < LINES or name == "names.txt"), "of names, whole blocks"
        assert abs(found.input_edges - edges) < 0.1 * edges


@pytest.mark.parametrize(("count", "known"), [(1000, True), (LINES, False)])
def test_a_dry_run_of_a_pipe_knows_no_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long_text: str, count: int, known: bool
) -> None:
    """Unless all of it was read."""
    monkeypatch.setattr(module, "SAMPLE_EDGES", 100_000)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        with suppress(BrokenPipeError), open(pipe, "w") as file:
            file.writelines(long_text.splitlines(keepends=True)[:count])

    writer = threading.Thread(target=write)
    writer.start()
    source = open_source(pipe, InputOptions(threads=1), tmp_path, MEMORY, sample=True)
    found = estimate(source, tmp_path / "graph.gs", ConvertOptions())
    source.close()
    del source
    writer.join()
    assert found.size_known is known and found.input_edges == found.sampled_edges
    assert (found.input_edges == count) is known
