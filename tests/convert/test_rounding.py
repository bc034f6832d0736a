"""Weights rounded on request: to the nearest, with the greatest errors told, by a conversion and by an update."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pagestore import convert_arrays, open_store
from pagestore.convert.rounding import errors_of, rounded
from pagestore.errors import InputError, UsageError
from pagestore.info import store_info
from pagestore.memory import ArraySource
from pagestore.update import Changes, update

EDGES = np.arange(60) // 6, np.arange(60) * 7 % 10
WEIGHTS = np.random.default_rng(3).random(60) * 10.0 ** np.arange(-30, 30)


def nearest(weight: float, bits: int) -> float:
    """By exact arithmetic; Python's round takes the even one of two."""
    fraction, exponent = math.frexp(weight)
    return math.ldexp(round(fraction * 2**bits), exponent - bits)


def stored(path) -> list[float]:
    """All weights of the out-lists, ascending."""
    with open_store(path) as store:
        topology = store.topology("out")
        with topology.reader() as reader:
            found = reader.read_weights(0, topology.pages).view("<f4")
    return np.sort(found[found != 0]).tolist()


@pytest.mark.parametrize("bits", [1, 2, 8, 11, 23])
def test_the_nearest_is_taken(bits):
    given = np.concatenate([WEIGHTS, -WEIGHTS, 1 + np.arange(64) / 32, [0.0, -0.0]]).astype(np.float32)
    found = rounded(given, bits)
    assert found.tolist() == [nearest(weight, bits) for weight in given.tolist()]
    relative, absolute = errors_of(given.astype(np.float64), bits)
    assert absolute == max(abs(ours - one) for ours, one in zip(found.tolist(), given.tolist(), strict=True))
    assert relative == max(
        abs(ours - one) / abs(one) for ours, one in zip(found.tolist(), given.tolist(), strict=True) if one
    )
    assert relative <= 2.0**-bits


def test_numbers_without_leading_digit_may_become_0():
    assert rounded(np.array([1e-45, 1.1754944e-38], np.float32), 8).tolist() == [0, 2.0**-126]


@pytest.mark.parametrize("compress", ["off", "on"])
def test_the_store_has_them_and_tells_the_errors(tmp_path, compress):
    report = convert_arrays(tmp_path / "a.gs", *EDGES, WEIGHTS, page_bytes=4096, compress=compress, round_weights=8)
    expected = [nearest(weight, 8) for weight in WEIGHTS.astype(np.float32).tolist()]
    assert stored(tmp_path / "a.gs") == sorted(expected)
    errors = np.abs(np.array(expected) - WEIGHTS)
    told = {"bits": 8, "relative": (errors / WEIGHTS).max(), "absolute": errors.max()}
    assert report.weight_rounding == told and report.as_dict()["weight_rounding"] == told
    with open_store(tmp_path / "a.gs") as store:
        assert store_info(store)["weights"]["rounding"] == told
        assert (store.meta.min_weight, store.meta.max_weight) == (min(expected), max(expected))


def test_each_part_of_a_conversion_counts(tmp_path):
    """With little memory and several threads edges come in chunks; the errors are those of all."""
    rng = np.random.default_rng(1)
    source, target, weight = rng.integers(0, 50, 20_000), rng.integers(0, 50, 20_000), rng.random(20_000)
    found = [
        convert_arrays(tmp_path / "a.gs", source, target, weight, round_weights=6, threads=threads, memory_bytes=memory)
        for threads, memory in ((1, 1 << 30), (3, 1 << 20))
    ]
    errors = errors_of(weight, 6)
    assert all(one.weight_rounding == {"bits": 6, "relative": errors[0], "absolute": errors[1]} for one in found)


@pytest.mark.parametrize(
    "weight, given, error, text",
    [
        (np.arange(60), {}, UsageError, "its weights are integers, which are stored as they are"),
        (None, {}, UsageError, "it has no weights"),
        (np.append(WEIGHTS[:-1], 3.4028e38), {}, InputError, "too large to be rounded to 8 significant bits"),
        (WEIGHTS, {"weights": False}, UsageError, "--no-weights contradict each other"),
        (WEIGHTS, {"round_weights": 24}, UsageError, "it must be 1 to 23 significant bits"),
        (WEIGHTS, {"round_weights": 0}, UsageError, "it must be 1 to 23 significant bits"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path, weight, given, error, text):
    with pytest.raises(error, match=text):
        convert_arrays(tmp_path / "a.gs", *EDGES, weight, **({"round_weights": 8} | given))
    assert not list(tmp_path.iterdir())


def test_an_update_rounds_what_it_adds(tmp_path):
    convert_arrays(tmp_path / "a.gs", *EDGES, WEIGHTS, page_bytes=4096, round_weights=4)
    added = ArraySource(np.array([1, 2]), np.array([3, 3]), np.array([1.03, 7.0]), name="more")
    with open_store(tmp_path / "a.gs") as store:
        report = update(store, tmp_path / "b.gs", Changes(added, None))
    both = [*WEIGHTS.astype(np.float32).tolist(), 1.03, 7.0]
    assert stored(tmp_path / "b.gs") == sorted(nearest(weight, 4) for weight in both)
    relative, absolute = errors_of(np.array([*WEIGHTS, 1.03, 7.0]), 4)
    assert report.weight_rounding == {"bits": 4, "relative": relative, "absolute": absolute}
    large = ArraySource(np.array([1]), np.array([3]), np.array([3.4028e38]), name="more")
    with open_store(tmp_path / "b.gs") as store, pytest.raises(InputError, match="it would be infinite"):
        update(store, tmp_path / "c.gs", Changes(large, None))


def test_an_update_does_not_sum_up_rounded_weights(tmp_path):
    convert_arrays(tmp_path / "a.gs", *EDGES, WEIGHTS, round_weights=4, dedupe=True, keep="sum")
    with open_store(tmp_path / "a.gs") as store, pytest.raises(UsageError, match="its weights are rounded sums"):
        update(store, tmp_path / "b.gs", Changes(None, None))
