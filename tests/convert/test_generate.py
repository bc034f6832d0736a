"""Generated graphs: a function of the seed alone, with the shape that their names promise."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import numpy as np
import pytest

from pagestore import open_store
from pagestore.convert import ConvertOptions, convert
from pagestore.convert.scan import sample_counts
from pagestore.cores import in_order
from pagestore.edgelist import write_edge_list
from pagestore.errors import UsageError
from pagestore.generate import GeneratedSource, grid, rmat, scrambled, uniform
from pagestore.inputs import InputOptions, open_source
from tests.convert.graphs import check_store, stored_rows


def edges_of(source: GeneratedSource, chunk_edges: int = 1 << 20) -> np.ndarray:
    source.chunk_edges = chunk_edges
    none = np.empty((0, 2), np.uint64)
    chunks = list(source.chunks())
    pairs = [np.stack([chunk.source, chunk.target], axis=1) for chunk in chunks]
    return np.concatenate([none, *pairs]).astype(np.int64)


@pytest.mark.parametrize("make", [rmat, uniform])
def test_edges_depend_on_the_seed_alone(make) -> None:
    first = edges_of(make(8, 16, seed=5))
    assert len(first) == 16 << 8 and first.max() < 1 << 8
    assert (edges_of(make(8, 16, seed=5), chunk_edges=37) == first).all()
    assert not (edges_of(make(8, 16, seed=6)) == first).all()
    source = make(8, 16, seed=5)
    source.chunk_edges = 37
    made = [chunk.source for _, chunk in in_order(range(source.chunk_count), source.chunk, 3)]
    assert (np.concatenate(made).astype(np.int64) == first[:, 0]).all()


def test_rmat_quadrants() -> None:
    """Each bit of the ends falls as A, B, C, D say; within 5 standard deviations."""
    edges = edges_of(rmat(12, 64, seed=3))
    for level in (0, 5, 11):
        quadrant = (edges[:, 0] >> level & 1) * 2 + (edges[:, 1] >> level & 1)
        share = np.bincount(quadrant, minlength=4) / len(edges)
        assert np.abs(share - [0.57, 0.19, 0.19, 0.05]).max() < 5 * 0.5 / np.sqrt(len(edges))


def test_rmat_probabilities_at_their_limits() -> None:
    assert (edges_of(rmat(6, 4, abc=(1, 0, 0))) == 0).all()
    assert (edges_of(rmat(6, 4, abc=(0, 0, 0))) == 63).all()
    assert (edges_of(rmat(6, 4, abc=(0, 1, 0))) == [0, 63]).all()
    with pytest.raises(UsageError, match="add up to at most 1"):
        rmat(6, 4, abc=(0.6, 0.3, 0.3))


def test_uniform_ends() -> None:
    edges = edges_of(uniform(4, 4096, seed=9))
    counts = np.bincount(edges.reshape(-1), minlength=16)
    assert np.abs(counts / counts.mean() - 1).max() < 0.05


@pytest.mark.parametrize("scale", [0, 1, 2, 3, 8, 13])
def test_scramble_is_a_bijection(scale: int) -> None:
    plain, mixed = edges_of(grid(scale)), edges_of(grid(scale, seed=4, scramble=True))
    keys = rmat(scale, scramble=True)._keys
    names = [int(scrambled(np.uint64(v), np.uint64(scale), keys)) for v in range(1 << scale)]
    assert sorted(names) == list(range(1 << scale))
    keys = grid(scale, seed=4, scramble=True)._keys
    names = [int(scrambled(np.uint64(v), np.uint64(scale), keys)) for v in range(1 << scale)]
    assert (np.array(names)[plain] == mixed).all()


def test_grid() -> None:
    """4 rows of 8: right, then down."""
    edges = {tuple(edge) for edge in edges_of(grid(5)).tolist()}
    wanted = {(v, v + 1) for v in range(32) if v % 8 < 7} | {(v, v + 8) for v in range(24)}
    assert edges == wanted
    assert grid(0).edge_count == 0 and grid(1).edge_count == 1


def test_weights_are_1_to_255() -> None:
    weight = np.concatenate([chunk.weight for chunk in rmat(10, 64, weights=True).chunks()])
    assert weight.min() == 1 and weight.max() == 255 and (weight == np.floor(weight)).all()
    assert abs(weight.mean() - 128) < 2


@pytest.mark.parametrize("order", ["natural", "degree"])
@pytest.mark.parametrize("memory", [1 << 14, 1 << 30])
def test_store_of_a_generated_graph(tmp_path: Path, order: str, memory: int) -> None:
    """Straight to a store, all vertices kept, the same whatever the threads."""
    found = []
    for threads in (1, 3):
        path = tmp_path / f"{threads}.gs"
        options = ConvertOptions(memory_bytes=memory, threads=threads, order=order, page_bytes=4096)
        convert(rmat(9, 8, seed=2, scramble=True, weights=True), path, options)
        found.append(path.read_bytes())
    assert found[0] == found[1]
    chunk = rmat(9, 8, seed=2, scramble=True, weights=True).chunk(0)
    wanted = sorted(zip(chunk.source.tolist(), chunk.target.tolist(), chunk.weight.tolist(), strict=True))
    assert stored_rows(path) == wanted and stored_rows(path, "in") == wanted
    check_store(path)
    with open_store(path) as store:
        assert store.meta.vertices == 512 and store.meta.weight_dtype == "u1"
        assert store.meta.provenance["generator"] == "rmat"


@pytest.mark.parametrize("suffix", [".npy", ".txt", ".el", ".csv", ".parquet"])
@pytest.mark.parametrize("weights", [False, True])
def test_edge_lists_convert_to_the_same_graph(tmp_path: Path, suffix: str, weights: bool) -> None:
    suffix = ".wel" if suffix == ".el" and weights else suffix
    source = rmat(8, 4, seed=2, weights=weights)
    path = tmp_path / f"list{suffix}"
    assert write_edge_list(source, path, threads=2) == path.stat().st_size
    options = ConvertOptions(page_bytes=4096)
    convert(rmat(8, 4, seed=2, weights=weights), tmp_path / "direct.gs", options)
    read = open_source([path], InputOptions(num_vertices=256), tmp_path, 1 << 30)
    convert(read, tmp_path / "read.gs", options)
    assert stored_rows(tmp_path / "read.gs") == stored_rows(tmp_path / "direct.gs")
    assert not list(tmp_path.glob("*.partial*"))


def test_edge_lists_of_many_chunks_are_in_order(tmp_path: Path) -> None:
    """Whatever the threads, of which each makes a chunk ahead."""
    source = rmat(12, 8, seed=2)
    source.chunk_edges = 1000
    for threads in (1, 2, 5):
        write_edge_list(source, tmp_path / "list.npy", threads=threads)
        rows = np.load(tmp_path / "list.npy")
        chunks = list(source.chunks())
        assert len(chunks) == 33
        assert rows[:, 0].tolist() == np.concatenate([chunk.source for chunk in chunks]).tolist()
        assert rows[:, 1].tolist() == np.concatenate([chunk.target for chunk in chunks]).tolist()


def test_bad_parameters() -> None:
    for make, text in (
        (lambda: rmat(41), "--scale 41"),
        (lambda: rmat(-1), "--scale -1"),
        (lambda: rmat(40, 1 << 20), "--edge-factor 1048576: out of range; scale 40 takes 0 to 16."),
        (lambda: rmat(64), "--scale 64: out of range; it is 0 to 40."),
        (lambda: grid(64), "--scale 64: out of range; it is 0 to 40."),
        (lambda: uniform(4, -1), "--edge-factor -1"),
        (lambda: uniform(4, seed=1 << 64), "--seed"),
        (lambda: write_edge_list(grid(2), "/tmp/graph.wel"), "Name it .el"),
        (lambda: write_edge_list(grid(2), "/tmp/graph.xyz"), "unknown kind of edge list"),
    ):
        with pytest.raises(UsageError, match=text):
            make()


@pytest.mark.parametrize("suffix", [".parquet", ".npy", ".csv"])
def test_a_list_that_breaks_off_leaves_nothing(tmp_path, monkeypatch, suffix):
    """Neither a file nor a word of a writer that goes with its file closed."""
    said: list = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    source = rmat(8, 4, seed=1)

    def fails(*given):
        raise MemoryError("made up")

    monkeypatch.setattr(GeneratedSource, "chunk", fails)
    with pytest.raises(MemoryError):
        write_edge_list(source, tmp_path / f"edges{suffix}", threads=1)
    gc.collect()
    assert not said and not list(tmp_path.iterdir())


def test_a_sample_does_not_depend_on_the_threads():
    """The balance of the buckets follows from the sample: it has to be the same for any number of threads."""
    source = rmat(12, 64)
    source.chunk_edges = 1 << 12  # more chunks than are looked at
    one, three = (sample_counts(source, 1 << 12, threads) for threads in (1, 3))
    assert one.counts.tolist() == three.counts.tolist()
    assert (one.edges, one.shift, one.min_id, one.max_id) == (three.edges, three.shift, three.min_id, three.max_id)
    assert source.edge_count <= one.counts[0].sum() <= 2 * source.edge_count
