"""Sparse integers and names to dense IDs, in memory and by parts on disk."""

from __future__ import annotations

import os

import choice
import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from input_files import edges_of, opened, write

from pagestore.convert import edgefile
from pagestore.convert.storage import Vector
from pagestore.errors import InputError, ResourceError
from pagestore.inputs import dictionary, namefile, names
from pagestore.inputs.base import EdgeChunk, EdgeSource
from pagestore.inputs.idtable import IdSet, RankTable, distinct
from pagestore.inputs.linesource import NameChunk
from pagestore.inputs.namesort import NameBatch, sort_order
from pagestore.memory import ArraySource

CHUNK_EDGES = 1 << 12


def arrays(edges, vertices, seed=1, top=(1 << 63) - 1):
    rng = np.random.default_rng(seed)
    pool = rng.integers(0, top, vertices, dtype=np.int64)
    source, target = (pool[rng.integers(0, vertices, edges)] for _ in range(2))
    return source, target, rng.random(edges)


def same_edges(found, source, target, weight):
    rows = sorted(zip(source.tolist(), target.tolist(), weight.tolist(), strict=True))
    return sorted(found) == rows


@pytest.mark.parametrize("memory", [1 << 30, 1])
def test_integers(tmp_path, monkeypatch, memory):
    monkeypatch.setattr(dictionary, "FEWEST_IDS", 1 << 10)  # below the 3,000 vertices: by parts
    source, target, weight = arrays(20_000, 3_000)
    dense = dictionary.compact_integers(ArraySource(source, target, weight, chunk_edges=CHUNK_EDGES), tmp_path, memory)
    assert dense.vertices == len(dense.ids) == len(distinct(np.concatenate([source, target])))
    assert dense.ids.dtype == np.int64 and (np.diff(np.asarray(dense.ids)) > 0).all()
    assert dense.replayable and dense.weighted
    assert same_edges(edges_of(dense), source, target, weight) and same_edges(edges_of(dense), source, target, weight)
    assert dense.position() == dense.total_bytes
    dense.close()
    dense.close()
    assert os.listdir(tmp_path) == []


def test_skewed_integers_by_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(dictionary, "FEWEST_IDS", 600)
    source = np.concatenate([np.arange(500), np.full(9_000, 7), np.arange(500) * (1 << 50)])
    target = np.roll(source, 1234)
    dense = dictionary.compact_integers(ArraySource(source, target, chunk_edges=CHUNK_EDGES), tmp_path, 1)
    assert sorted(edges_of(dense)) == sorted(zip(source.tolist(), target.tolist(), strict=True))


def test_integers_that_do_not_fit_even_by_parts(tmp_path, monkeypatch):
    """The parts follow the first IDs, above which all others lie: those are in the last part together."""
    monkeypatch.setattr(dictionary, "FEWEST_IDS", 1 << 10)
    ids = np.concatenate([np.arange(3_000), np.arange(1 << 50, (1 << 50) + 9_000)])
    with pytest.raises(ResourceError) as error:
        dictionary.compact_integers(ArraySource(ids, ids, name="many", chunk_edges=3_000), tmp_path, 1)
    assert str(error.value) == (
        "many: the distinct vertex IDs don't fit in the memory given, not even in 64 parts. Pass a larger --memory."
    )


class Once(EdgeSource):
    """A source that can be read once."""

    def __init__(self, inner, listed=None, closed=False):
        super().__init__()
        self.name, self.weighted, self.closed = "pipe", inner.weighted, closed
        self._inner, self._listed, self._left = inner, listed, 1

    def chunks(self):
        self._left -= 1
        assert self._left == 0
        return self._inner.chunks()

    def vertex_ids(self):
        return None if self._listed is None else iter([np.array(self._listed)])


@pytest.mark.parametrize("memory", [1 << 30, 1])
def test_integers_of_a_pipe_with_a_vertex_file(tmp_path, monkeypatch, memory):
    monkeypatch.setattr(dictionary, "FEWEST_IDS", 2)
    inner = ArraySource(np.array([5, 1 << 60]), np.array([9, 5]), None)
    dense = dictionary.compact_integers(Once(inner, [9, 5, 7, 1 << 60], closed=True), tmp_path, memory)
    assert dense.ids[:].tolist() == [5, 7, 9, 1 << 60] and sorted(edges_of(dense)) == [(5, 9), (1 << 60, 5)]
    inner = ArraySource(np.array([5]), np.array([8]), None)
    with pytest.raises(InputError, match="pipe: vertex 8 has an edge but is not in the vertex file. Add it there."):
        dictionary.compact_integers(Once(inner, [9, 5, 7], closed=True), tmp_path, memory)


def test_ldbc_through_the_dictionary(tmp_path):
    write(tmp_path, "g.v", "4611686018427387904\n3\n17\n")
    write(tmp_path, "g.e", "3 4611686018427387904 .5\n")
    dense = dictionary.compact_integers(opened(tmp_path / "g", tmp_path), tmp_path, 1 << 30)
    assert dense.ids[:].tolist() == [3, 17, 1 << 62] and edges_of(dense) == [(3, 1 << 62, 0.5)]
    write(tmp_path, "g.v", "3\n")
    with pytest.raises(InputError, match=r"g\.e: vertex 4611686018427387904 has an edge but is not in the vertex file"):
        dictionary.compact_integers(opened(tmp_path / "g", tmp_path), tmp_path, 1 << 30)


class Named(EdgeSource):
    """Pairs of names."""

    def __init__(self, pairs, weight=None, replayable=True):
        super().__init__()
        self.name, self.replayable, self.strings = "names", replayable, True
        self._pairs, self._weight, self.weighted = pairs, weight, weight is not None

    def chunks(self):
        pytest.fail("edges between names are read by names_of_edges")

    def names_of_edges(self):
        for first in range(0, len(self._pairs), 1000):
            part = self._pairs[first : first + 1000]
            source, target = (pyarrow.array([p[k] for p in part], type=pyarrow.large_string()) for k in (0, 1))
            yield NameChunk(source, target, None if self._weight is None else self._weight[first : first + 1000])


def word_pairs(count, words, seed=3):
    rng = np.random.default_rng(seed)
    pool = [f"http://www.example.com/{'é' * (n % 3)}{n * 7919 % 10007}" for n in range(words)]
    return [(pool[a], pool[b]) for a, b in rng.integers(0, words, (count, 2)).tolist()]


@pytest.mark.parametrize(("memory", "threads"), [(1 << 30, 4), (1, 3), *choice.also((1 << 30, 1), (1 << 17, 2))])
def test_names(tmp_path, monkeypatch, memory, threads):
    monkeypatch.setattr(namefile, "SAMPLE", 1 << 8)
    pairs = word_pairs(6_000, 1_500)
    weight = np.arange(6_000) / 4
    monkeypatch.setattr(names, "LEAST_SORT_BYTES", 1 << 14)
    dense = names.dictionary_strings([Named(pairs, weight)], tmp_path, memory, threads=threads)
    sorted_names = sorted({name for pair in pairs for name in pair}, key=str.encode)
    assert [dense.names[n] for n in range(dense.vertices)] == sorted_names
    expected = sorted((*pair, w) for pair, w in zip(pairs, weight.tolist(), strict=True))
    assert sorted(edges_of(dense)) == expected == sorted(edges_of(dense))
    numbered = EdgeChunk.joined([dense.chunk(number) for number in range(dense.chunk_count)])
    ends = [[dense.names[n] for n in end.tolist()] for end in (numbered.source, numbered.target)]
    given = [(*pair, w) for pair, w in zip(pairs, weight.tolist(), strict=True)]
    if memory == 1 << 30:  # else they come by ranges of hashes
        assert list(zip(*ends, numbered.weight.tolist(), strict=True)) == given
    dense.close()
    assert os.listdir(tmp_path) == []


def test_parts_of_names_are_split_again(tmp_path, monkeypatch):
    """Names in ascending order: the splitters of the first batch leave all later names in the last part."""
    monkeypatch.setattr(namefile, "SAMPLE", 64)
    pairs = [(f"{n:06d}", f"{n + 1:06d}") for n in range(4_000)]
    monkeypatch.setattr(names, "LEAST_SORT_BYTES", 10_000)  # about 140 names
    dense = names.dictionary_strings([Named(pairs)], tmp_path, 1)
    assert dense.vertices == 4_001
    assert [dense.names[n] for n in (0, 1, 4_000)] == ["000000", "000001", "004000"]
    assert sorted(edges_of(dense)) == pairs


def test_a_part_of_one_name(tmp_path, monkeypatch):
    """A cache of one slot lets the two hubs through in every chunk; their part shrinks when it is split."""
    monkeypatch.setattr(names, "LEAST_SORT_BYTES", 500)
    monkeypatch.setattr(names, "CACHE_SLOTS", 1)
    pairs = [("a", "b"), ("b", "a")] * 20_000
    dense = names.dictionary_strings([Named(pairs)], tmp_path, 1)
    assert dense.vertices == 2 and sorted(edges_of(dense)) == sorted(pairs)


def test_names_with_one_hash(tmp_path, monkeypatch):
    """Equal hashes of different names are noticed, and another seed is taken."""
    seeds = []
    real = names.hash_names

    def weak(data, offsets, seed, first, second):
        seeds.append(int(seed))
        real(data, offsets, seed, first, second)
        if seed == 0:
            first &= np.uint64(7)

    monkeypatch.setattr(names, "hash_names", weak)
    pairs = word_pairs(300, 100)
    for memory in (1 << 30, 1):
        seeds.clear()
        dense = names.dictionary_strings([Named(pairs)], tmp_path, memory)
        assert sorted(edges_of(dense)) == sorted(pairs) and set(seeds) == {0, 1}
    left = sorted(os.listdir(tmp_path))
    with pytest.raises(ResourceError, match="two of its names have the same hash"):
        names.dictionary_strings([Named(pairs, replayable=False)], tmp_path, 1 << 30)
    monkeypatch.setattr(
        names, "hash_names", lambda data, offsets, seed, first, second: weak(data, offsets, 0, first, second)
    )
    with pytest.raises(ResourceError, match="two of its names have the same hash"):
        names.dictionary_strings([Named(pairs)], tmp_path, 1 << 30)
    assert sorted(os.listdir(tmp_path)) == left


def test_a_name_larger_than_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(names, "LEAST_SORT_BYTES", 500)
    with pytest.raises(
        ResourceError, match=r"don't fit in the memory given, and can't be split further\. Pass a larger"
    ):
        names.dictionary_strings([Named([("a", "b" * 1000)])], tmp_path, 1)
    assert os.listdir(tmp_path) == []


def test_small_batches_are_read_together(tmp_path, monkeypatch):
    """Up to a bound, so that what is in memory has one too."""
    monkeypatch.setattr(edgefile, "READ_EDGES", 100)
    monkeypatch.setattr(namefile, "READ_NAMES", 100)
    edges, words = edgefile.EdgeFile(tmp_path / "e", False), namefile.NameFile(tmp_path / "n")
    for batch in range(30):
        some = np.arange(40 * batch, 40 * batch + 40)
        edges.append(some, some + 7, None)
        texts = [f"{number:04}" for number in some.tolist()]
        data = np.frombuffer("".join(texts).encode(), np.uint8)
        words.append(NameBatch(np.arange(0, 161, 4), data, np.zeros(40, np.uint64)))
    chunks = list(edges.read())
    assert [len(chunk) for chunk in chunks] == [120] * 10
    assert np.concatenate([chunk.source for chunk in chunks]).tolist() == list(range(1200))
    batches = list(words.read())
    assert [len(batch) for batch in batches] == [120] * 10
    assert b"".join(batch.data.tobytes() for batch in batches) == "".join(f"{n:04}" for n in range(1200)).encode()


def test_temporary_files_that_another_program_cut(tmp_path):
    edges = edgefile.EdgeFile(tmp_path / "e", False)
    edges.append(np.arange(9), np.arange(9), None)
    vector = Vector(0, "<i8", tmp_path / "v")
    vector.append(np.arange(4))
    vector.append(np.arange(4, 9))
    assert vector[-1] == 8 and vector[2:5].tolist() == [2, 3, 4] and len(vector) == 9
    for at in (9, -10):
        with pytest.raises(IndexError):
            vector[at]
    for name in "ev":
        os.truncate(tmp_path / name, 20)
    for read in (lambda: list(edges.read()), lambda: vector[:]):
        with pytest.raises(ResourceError, match="a temporary file was cut short. Run again without --resume."):
            read()


@given(st.lists(st.binary(max_size=20) | st.text(alphabet="a\0b", max_size=20).map(str.encode), max_size=60))
def test_names_sort_by_bytes(words):
    offsets = np.cumsum([0] + [len(word) for word in words]).astype(np.int64)
    data = np.frombuffer(b"".join(words) or b"\0", dtype=np.uint8)
    order, equal = sort_order(NameBatch(offsets, data, np.zeros(len(words), dtype=np.uint64)))
    ordered = [words[n] for n in order]
    assert ordered == sorted(words)
    assert equal.tolist() == [n > 0 and ordered[n] == ordered[n - 1] for n in range(len(words))]


@given(st.lists(st.integers(0, (1 << 64) - 2), max_size=300), st.lists(st.integers(0, 40), max_size=300))
def test_tables_of_ids(large, small):
    ids = np.array(large + small, dtype=np.uint64)
    found = IdSet(1 << 20)
    assert found.add(ids)
    unique = found.sorted()
    assert unique.tolist() == sorted(set(ids.tolist())) == distinct(ids).tolist()
    table = RankTable(unique, base=5)
    ranks, known = table.ranks(ids)
    assert known == len(ids) and not table.repeated
    assert unique[ranks.astype(np.int64) - 5].tolist() == ids.tolist()
    assert RankTable(np.concatenate([unique, unique[:1]])).repeated == (len(unique) > 0)


def test_a_full_set_says_so():
    assert not IdSet(5_000).add(np.arange(20_000, dtype=np.uint64)), "fuller than any table for so few"
    found = IdSet(5_000)
    assert not all(found.add(np.arange(n, n + 1_000, dtype=np.uint64)) for n in range(0, 20_000, 1_000))


def test_even_parts_cover_all_numbers(tmp_path):
    parts = dictionary.Parts.even()
    files = parts.files(tmp_path, "p", False)
    keys = np.array([0, 1 << 58, (1 << 58) - 1, (1 << 64) - 1], dtype=np.uint64)
    parts.scatter(files, keys, keys, None)
    assert [file.edges for file in files[:2]] == [2, 1] and files[-1].edges == 1
