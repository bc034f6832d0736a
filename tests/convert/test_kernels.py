"""The pieces on their own: sort, ranks, weight codes, cuts, vectors, names of vertices, threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from numba.core.errors import TypingError

from pagestore.convert.crew import run_crew
from pagestore.convert.emit import code_dtype, decode, encode
from pagestore.convert.identity import Identity
from pagestore.convert.presence import Presence, ids_of_table, ranks
from pagestore.convert.scan import Tally
from pagestore.convert.sorting import COUNTS, sort_keys
from pagestore.convert.storage import Vector
from pagestore.inputs.base import EdgeChunk
from pagestore.jit import atomic_add


@given(st.integers(0, 1 << 32), st.sampled_from([0, 1, 7, 48, 49, 5000, 70_000]), st.integers(1, 64), st.booleans())
def test_radix_sort(seed: int, count: int, bits: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, (1 << bits) - 1, count, np.uint64, endpoint=True)
    keys[: count // 3] = keys[0] if count else 0
    weights = rng.integers(0, 9, count).astype(np.uint32) if weighted else None
    order = np.lexsort((np.zeros(count) if weights is None else weights, keys))
    wanted = keys[order], None if weights is None else weights[order]
    base = int(rng.integers(0, bits, endpoint=True)) if seed % 2 else 0
    if base:  # they come in the order of their lower bits, and equal ones by their weights
        low = np.uint64((1 << base) - 1)
        order = np.lexsort((np.zeros(count) if weights is None else weights, keys, keys & low))
        keys, weights = keys[order], None if weights is None else weights[order]
    others = np.empty_like(keys), None if weights is None else np.empty_like(weights)
    sort_keys(keys, weights, *others, count, bits, base, np.empty(COUNTS, np.uint64))
    assert (keys == wanted[0]).all()
    assert weights is None or (weights == wanted[1]).all()


@given(st.sets(st.integers(0, 5000), min_size=1), st.integers(0, 700))
def test_ranks(ids: set[int], extra: int) -> None:
    presence = Presence(6000)
    found = np.array(sorted(ids), np.uint64)
    presence.mark(found)
    table = presence.table(int(found[-1]) + 1)
    assert presence.count() == len(found)
    assert np.concatenate(list(ids_of_table(table))).tolist() == sorted(ids)
    asked = np.arange(0, int(found[-1]) + extra, dtype=np.uint64)
    out = np.empty_like(asked)
    ranks(table, asked, out)
    assert (out == np.searchsorted(found, asked)).all()


@pytest.mark.parametrize("name", ["u1", "i4", "u4", "f4"])
def test_weight_codes_sort_like_the_weights(name: str) -> None:
    dtype = np.dtype(name)
    if dtype.kind == "f":
        least = float(np.finfo(dtype).tiny)
        weight = np.array([-3e38, -1.5, -least, -0.0, 0.0, least, 0.1, 1, 3e38])
    else:
        limits = np.iinfo(dtype)
        weight = np.unique(np.array([limits.min, limits.min + 1, 0, 1, 77, limits.max], np.float64))
    codes = encode(weight, dtype)
    assert codes.dtype == code_dtype(dtype)
    assert (np.diff(codes.astype(np.int64)) >= 0).all()
    assert (decode(codes, dtype) == weight.astype(dtype)).all()
    assert decode(codes, dtype).dtype == dtype


@given(st.lists(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=5), max_size=6))
def test_tallies_fold_and_merge(parts: list[list[int]]) -> None:
    """Histograms of any widths add up to the histogram of all."""
    tallies = [Tally(), Tally()]
    for number, part in enumerate(parts):
        ids = np.array(part, np.uint64)
        tallies[number % 2].add(EdgeChunk(ids, ids[::-1].copy()), weighted=False)
    tallies[0].merge(tallies[1])
    found, every = tallies[0], np.array([value for part in parts for value in part], np.uint64)
    assert found.edges == len(every)
    wanted = np.bincount((every >> np.uint64(found.shift)).astype(np.int64), minlength=found.counts.shape[1])
    assert (found.counts[0] == wanted).all() and (found.counts[1] == wanted).all()


@pytest.mark.parametrize("in_file", [False, True])
def test_vectors(tmp_path, in_file: bool) -> None:
    vector = Vector(10, np.uint32, tmp_path / "v" if in_file else None)
    vector.write(3, np.array([7, 8, 9]))
    assert vector.read(0, 10).tolist() == [0, 0, 0, 7, 8, 9, 0, 0, 0, 0]
    assert [(first, part.tolist()) for first, part in vector.windows(6)] == [
        (0, [0, 0, 0, 7, 8, 9]), (6, [0, 0, 0, 0]),
    ]  # fmt: skip
    assert vector.read(5, 5).tolist() == [] and vector.read(7, 3).tolist() == []
    vector.write(4, np.empty(0))
    assert vector.read(3, 6).tolist() == [7, 8, 9]
    for _ in range(2):
        vector.close()
        assert list(tmp_path.iterdir()) == []


def test_atomics_of_several_threads() -> None:
    """None is lost. Only vectors of integers have them."""

    @njit(nogil=True)
    def add(array, times):
        for _ in range(times):
            atomic_add(array, 0, 1)

    sums = np.zeros(3, np.int64)
    run_crew(4, iter(range(40)), lambda number, item: add(sums, 10_000))
    assert sums.tolist() == [400_000, 0, 0]
    for array in (np.zeros(3), np.zeros((3, 3), np.int64)):
        with pytest.raises(TypingError, match="atomic_add"):
            add(array, 1)


@pytest.mark.parametrize("kind", ["table", "ids"])
def test_what_the_user_calls_a_vertex(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found a window at a time: here every third of 3 million IDs, and then none for long."""
    ids = np.append(np.arange(0, 3_000_000, 3), 9_000_001)
    presence = Presence(9_000_002)
    presence.mark(ids.astype(np.uint64))
    table = presence.table(9_000_002)
    known = {"table": table} if kind == "table" else {"table": None, "ids": ids}
    monkeypatch.setattr("pagestore.convert.identity.ID_WINDOW", 1 << 18)
    identity = Identity(len(ids), 0, kind="integers", **known)
    assert np.concatenate(list(identity.user_ids())).tolist() == ids.tolist()


def test_threads_that_can_not_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were are waited for, and what was raised is what the system said."""
    usual, started, done = threading.Thread.start, [], []

    def start(thread: threading.Thread) -> None:
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        usual(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        run_crew(5, iter(range(1 << 30)), lambda number, item: done.append(item))
    assert len(started) == 2 and not any(thread.is_alive() for thread in started)
    assert sorted(done) == list(range(len(done)))
