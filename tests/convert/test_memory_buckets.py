"""Buckets in memory: what several threads add is there once, whole, until its bucket is freed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pagestore.convert import memorybuckets
from pagestore.convert.buckets import Scattered
from pagestore.convert.memorybuckets import MemoryBuckets
from pagestore.errors import ResourceError
from pagestore.io import aligned_empty, give_back

BUCKETS, PIECES, KEYS = 7, 24, 1000


def piece(seed: int, weight_dtype: np.dtype | None) -> Scattered:
    """Keys of some buckets, and of none for others; each is its own weight, cut off."""
    rng = np.random.default_rng(seed)
    bucket = np.sort(rng.choice(rng.choice(BUCKETS, 4, replace=False), KEYS))
    keys = (bucket << 40 | rng.integers(0, 1 << 40, KEYS)).astype(np.uint64)
    starts = np.searchsorted(bucket, np.arange(BUCKETS + 1)).astype(np.int64)
    return Scattered(keys, None if weight_dtype is None else keys.astype(weight_dtype), starts, 0)


@pytest.mark.parametrize("dtype", [None, np.dtype(np.uint8), np.dtype(np.uint32)])
def test_all_keys_are_there(monkeypatch: pytest.MonkeyPatch, dtype: np.dtype | None) -> None:
    monkeypatch.setattr(memorybuckets, "BLOCK_BYTES", 1 << 12)  # 512 keys: pieces reach from block to block
    store = MemoryBuckets(BUCKETS, dtype, PIECES * KEYS)
    pieces = [piece(seed, dtype) for seed in range(PIECES)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(store.append, pieces, range(PIECES)))
    keys = np.concatenate([one.keys for one in pieces])
    for bucket in range(BUCKETS):
        found = list(store.blocks(bucket))
        here = np.concatenate([block for block, _ in found])
        assert sorted(here.tolist()) == sorted(keys[keys >> np.uint64(40) == bucket].tolist())
        assert store.sizes[bucket] == len(here)
        if dtype is not None:
            assert (np.concatenate([weights for _, weights in found]) == here.astype(dtype)).all()
    store.free(0)
    assert not any(block.any() for block, _ in store.blocks(0)), "memory that was not given back"
    assert sum(len(block) for block, _ in store.blocks(1)) == store.sizes[1]


@pytest.mark.parametrize("dtype", [None, np.dtype(np.uint8)])
def test_keys_come_in_the_order_of_their_pieces(monkeypatch: pytest.MonkeyPatch, dtype: np.dtype | None) -> None:
    monkeypatch.setattr(memorybuckets, "BLOCK_BYTES", 1 << 12)
    store = MemoryBuckets(BUCKETS, dtype, PIECES * KEYS, in_order=True)
    pieces = [piece(seed, dtype) for seed in range(PIECES)]
    for number in np.random.default_rng(1).permutation(PIECES).tolist():
        store.append(pieces[number], number)
    for bucket in range(BUCKETS):
        wanted = np.concatenate([one.keys[one.starts[bucket] : one.starts[bucket + 1]] for one in pieces])
        found, keys = list(store.blocks(bucket)), np.empty(len(wanted), np.uint64)
        weights = None if dtype is None else np.empty(len(wanted), dtype)
        store.load(bucket, keys, weights)
        assert np.concatenate([block for block, _ in found]).tolist() == keys.tolist() == wanted.tolist()
        if weights is not None:
            assert (np.concatenate([block for _, block in found]) == wanted.astype(dtype)).all()
            assert (weights == wanted.astype(dtype)).all()


def test_more_keys_than_were_said() -> None:
    store = MemoryBuckets(1, None, 0)
    with pytest.raises(ResourceError, match="more edges than when they were counted"):
        for number in range(1 + store.block_keys // KEYS):
            store.append(Scattered(np.zeros(KEYS, np.uint64), None, np.array([0, KEYS], np.int64), 0), number)


def test_memory_goes_back_in_whole_pages() -> None:
    array = aligned_empty(5 << 12)
    array[:] = 1
    give_back(array[1 : 3 << 12])
    assert array[: 1 << 12].all() and not array[1 << 12 : 3 << 12].any() and array[3 << 12 :].all()
