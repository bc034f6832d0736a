"""The reference decoder on pages written by hand, word by word: it accepts right ones and names each broken rule."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from pagestore.decode import RuleError, best_group_size, decode_page

WORDS = {4: 1024, 8: 512}


def page(id_bytes=4, kind=0, records=2, first=3, edges=3, position=0, body=None, slots=None) -> np.ndarray:
    """Vertices 3 (neighbours 1, 9) and 7 (neighbour 4) of a graph with 10 vertices, unless told otherwise."""
    start = 32 // id_bytes
    body = [2, 1, 9, 1, 4] if body is None else body
    slots = [(3, start), (7, start + 3)] if slots is None else slots
    letter = "I" if id_bytes == 4 else "Q"
    words = [0] * WORDS[id_bytes]
    words[start : start + len(body)] = body
    for i, slot in enumerate(slots):
        at = WORDS[id_bytes] - 2 * (i + 1)
        words[at : at + 2] = slot
    data = bytearray(struct.pack(f"<{len(words)}{letter}", *words))
    data[:32] = struct.pack("<IIQQQ", kind, records, first, edges, position)
    return np.frombuffer(bytes(data), np.uint8)


@pytest.mark.parametrize("id_bytes", [4, 8])
def test_a_small_page(id_bytes):
    decoded = decode_page(page(id_bytes), id_bytes, 10)
    assert not decoded.large and decoded.padding == 0
    assert decoded.vertex.tolist() == [3, 7] and decoded.size.tolist() == [2, 1]
    assert decoded.source.tolist() == [3, 3, 7] and decoded.target.tolist() == [1, 9, 4]


def test_a_full_large_page_and_its_rest():
    full = page(kind=1, records=1, edges=1013, body=[1013, *[5] * 1013], slots=[(3, 8)])
    assert decode_page(full, 4, 10).target.tolist() == [5] * 1013
    rest = page(kind=1, records=1, edges=2, position=1013, body=[2, 5, 6], slots=[(3, 8)])
    decoded = decode_page(rest, 4, 10)
    assert decoded.large and decoded.position == 1013 and decoded.target.tolist() == [5, 6]


@pytest.mark.parametrize(
    "dtype, values",
    [("<f4", [0.5, -1.5, 3.0]), ("<i4", [-7, 0, 7]), ("<u4", [1, 2, 4_000_000_000]), ("u1", [9, 8, 255])],
)
def test_weights_lie_beside_neighbours(dtype, values):
    weights = np.zeros(1024, dtype)
    weights[[9, 10, 12]] = values
    decoded = decode_page(page(), 4, 10, weights=weights.view(np.uint8), weight_dtype=np.dtype(dtype))
    assert decoded.weight.tolist() == values


BROKEN = {
    "kind": ("R1", {"kind": 2}),
    "no records": ("R1", {"records": 0}),
    "absurd records": ("R1", {"records": 1 << 31}),
    "small page with a position": ("R1", {"position": 5}),
    "vertex past the last": ("R2", {"slots": [(3, 8), (10, 11)]}),
    "vertices descend": ("R2", {"first": 7, "slots": [(7, 8), (3, 11)]}),
    "vertex twice": ("R2", {"slots": [(3, 8), (3, 11)]}),
    "other first vertex": ("R2", {"first": 2}),
    "record inside the header": ("R3", {"slots": [(3, 1), (7, 11)]}),
    "record past the page": ("R3", {"slots": [(3, 8), (7, 1 << 20)]}),
    "record starts late": ("R3", {"slots": [(3, 8), (7, 12)]}),
    "empty record": ("R3", {"edges": 2, "body": [2, 1, 9, 0, 4]}),
    "size past the page": ("R3", {"body": [2, 1, 9, 4000, 4]}),
    "size into the slots": ("R4", {"edges": 1013, "body": [2, 1, 9, 1011, *[4] * 1008]}),
    "other edge count": ("R4", {"edges": 4}),
    "neighbour past the last vertex": ("R5", {"body": [2, 1, 10, 1, 4]}),
    "neighbours descend": ("R5", {"body": [2, 9, 1, 1, 4]}),
    "free space used": ("R6", {"body": [2, 1, 9, 1, 4, 1]}),
    "large page with two records": ("R7", {"kind": 1}),
    "large page at an odd position": (
        "R7",
        {"kind": 1, "records": 1, "edges": 2, "position": 7, "body": [2, 5, 6], "slots": [(3, 8)]},
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_rules_are_named(case):
    rule, changes = BROKEN[case]
    with pytest.raises(RuleError, match=rule):
        decode_page(page(**changes), 4, 10)


def test_a_weight_in_free_space_is_refused():
    weights = np.zeros(1024, "u1")
    weights[500] = 1
    with pytest.raises(RuleError, match="R6"):
        decode_page(page(), 4, 10, weights=weights, weight_dtype=np.dtype("u1"))


def test_random_bytes_never_crash():
    rng = np.random.default_rng(0)
    for _ in range(300):
        noise = rng.integers(0, 256, 4096, dtype=np.uint8)
        noise[:8] = struct.unpack("8B", struct.pack("<II", rng.integers(0, 2), rng.integers(1, 4)))
        with pytest.raises(RuleError):
            decode_page(noise, int(rng.choice([4, 8])), 10)


@pytest.mark.parametrize("sizes, best", [([2, 1, 3], 8), ([1] * 32, 1), ([32] * 5, 32), ([5], 32), ([3, 4] * 4, 4)])
def test_group_size_by_hand(sizes, best):
    assert best_group_size(np.array(sizes)) == best
