"""Coded weights: each kind against the reference decoder, what they take, forged ones, and who may read them."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from pagestore import meta as descriptions
from pagestore import open_store
from pagestore.coding.decode import decode_weights
from pagestore.coding.encode import coded_weights, weights_bytes
from pagestore.errors import StoreError
from pagestore.memory import convert_arrays
from tests.coded_reference import weights_of

ELEMENTS, BEGIN, END = 400, 8, 350
RNG = np.random.default_rng(5)
DRAWN = RNG.integers(0, 200, END - BEGIN)
FLOATS = {
    "of a step": DRAWN / 4,
    "all alike": np.full(END - BEGIN, 2.5),
    "none but 0": np.zeros(END - BEGIN),
    "of both signs": DRAWN / 7 - 9,
    "below 0": -1.5 - DRAWN / 8,
    "least and greatest": np.where(DRAWN % 2, 3.4028234e38, 1e-45),
    "any": RNG.random(END - BEGIN) * 1e-30,
}


def page_of(kind: str, values: np.ndarray) -> np.ndarray:
    """A weights page; between weights are 0s, where pages have the sizes of lists."""
    page = np.zeros(ELEMENTS, f"<{kind}")
    page[BEGIN:END] = values
    page[BEGIN:END:10] = 0
    return page.view(np.uint8)


def decoded(coded: np.ndarray, kind: str) -> np.ndarray | None:
    """By the store's decoder."""
    dtype = np.dtype(f"<{kind}")
    held, out = coded.view(np.uint64).copy().view(np.uint8), np.full(ELEMENTS * dtype.itemsize, 0xA5, np.uint8)
    return out if decode_weights(held, dtype, BEGIN, END, out) else None


def both(coded: np.ndarray, kind: str) -> bytes:
    """The page, if two decoders agree."""
    found = decoded(coded, kind)
    assert found is not None
    assert weights_of(coded.tobytes(), found.nbytes, kind, BEGIN, END) == found.tobytes()
    return found.tobytes()


@pytest.mark.parametrize("kind, values", [("u1", DRAWN), ("u4", DRAWN * 70_000), ("i4", DRAWN - 90)])
def test_integers_are_what_they_were(kind, values):
    page = page_of(kind, values)
    coded = coded_weights(page, np.dtype(kind), BEGIN, END)
    assert both(coded, kind) == page.tobytes() and weights_bytes(page, np.dtype(kind), BEGIN, END) == coded.nbytes


@pytest.mark.parametrize("name", FLOATS)
def test_floats_are_what_they_were(name):
    page = page_of("f4", FLOATS[name])
    coded = coded_weights(page, np.dtype("f4"), BEGIN, END)
    assert both(coded, "f4") == page.tobytes() and weights_bytes(page, np.dtype("f4"), BEGIN, END) == coded.nbytes


def test_floats_take_the_bits_in_which_they_differ():
    """2.5 and 0: one bit. 6 to 13.75 by 0.25: 2^2 to 2^4, and 5 bits of mantissa, less those below 6."""
    few = coded_weights(page_of("f4", FLOATS["all alike"]), np.dtype("f4"), BEGIN, END)
    some = coded_weights(page_of("f4", 6 + np.arange(END - BEGIN) % 32 / 4), np.dtype("f4"), BEGIN, END)
    assert few.tolist()[:2] == [1 | 21 << 8, 0x40200000 - (1 << 21)]
    assert some[0] & 0xFF == 6 and few.nbytes == 4 * 20 and some.nbytes < 4 * ELEMENTS / 5


def test_floats_of_stores_without_a_base_are_read():
    """`coded_floats` is new to version 3: before, word 0 was 32, word 1 was 0, and patterns were as they are."""
    values = FLOATS["of both signs"].astype("<f4")
    old = np.concatenate([np.array([32, 0], np.uint32), values.view(np.uint32), np.zeros(4, np.uint32)])
    assert len(old) % 4 == 0
    page = np.zeros(ELEMENTS, "<f4")
    page[BEGIN:END] = values
    assert both(old, "f4") == page.tobytes()


@pytest.mark.parametrize("kind", ["u1", "i4", "f4"])
def test_changed_weights_are_refused_or_read_by_both_decoders_alike(kind):
    page = page_of(kind, DRAWN / 4 if kind == "f4" else DRAWN)
    coded = coded_weights(page, np.dtype(kind), BEGIN, END)
    draw, passed = random.Random(1), 0
    for _ in range(300):
        changed = bytearray(coded.tobytes())
        changed[draw.choice([0, 1, 2, 4, 7, draw.randrange(8, len(changed))])] = draw.choice([0, 1, 20, 255])
        words = np.frombuffer(bytes(changed[: len(changed) - draw.choice([0, 0, 0, 16, 32])]), np.uint32)
        if decoded(words, kind) is None:
            with pytest.raises((IndexError, ValueError)):
                weights_of(words.tobytes(), page.nbytes, kind, BEGIN, END)
            continue
        passed += 1
        both(words, kind)
    assert 50 < passed < 280


def test_a_reader_that_does_not_know_the_base_names_it(tmp_path, monkeypatch):
    convert_arrays(tmp_path / "a.gs", [0, 1], [1, 2], [0.5, 1.5], page_bytes=4096, compress="on")
    with open_store(tmp_path / "a.gs") as store:
        assert store.meta.needs == ["compressed", "coded_arrays", "coded_floats"]
        for forged in ({"coded_floats": 1}, {"weight_dtype": "u4"}, {"stored_bytes": {}, "stored_weights": {}}):
            with pytest.raises(StoreError, match="coded_floats is"):
                replace(store.meta, coded_arrays={}, **forged).check("a.gs")
    monkeypatch.delitem(descriptions.NEEDS, "coded_floats")
    with pytest.raises(StoreError, match="needs coded_floats, which this gstream does not know"):
        open_store(tmp_path / "a.gs")
