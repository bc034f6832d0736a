"""Values at the ends of their types: what wraps, what is no value, and what results say of both."""

from __future__ import annotations

import choice
import numpy as np
import pytest
from written import program

import gstream
from tests.answers.graphs import Example

N = 40
CASES = [  # value, start, send: sums that wrap
    ("u64", "18446744073709551609 - v.id", "u.value + e.weight"),
]
LONG = [
    ("u64", "2 ** 63 + v.id", "u.value * e.weight - 3"),
    ("u32", "4000000000 + v.id", "u.value + e.weight"),
    ("u64", "2 ** 53 + 1 + v.id", "u.value + -1"),
    ("i32", "2 ** 31 - 1 - v.id", "u.value - e.weight"),
    ("i64", "2 ** 63 - 1 - v.id", "u.value + e.weight"),
]


def edges():
    source = np.arange(4 * N) % N
    return source, (source * 7 + np.arange(4 * N) // N * 3 + 1) % N, np.arange(4 * N) % 9 - 4


def stored(folder):
    source, target, weight = edges()
    return Example(N, source, target, weight.astype(float), order="natural").stored(folder)


def exact(value, start, send):
    """One superstep in Python's integers, which know no end; then the type's own bits."""
    bits, got = int(value[1:]), [0] * N
    first = [eval(start, {"v": type("v", (), {"id": k})}) for k in range(N)]
    for u, v, w in zip(*map(np.ndarray.tolist, edges()), strict=True):
        fields = {"u": type("u", (), {"value": first[u]}), "e": type("e", (), {"weight": w})}
        got[v] += eval(send, fields)
    wrapped = [total % (1 << bits) for total in got]
    return [one - (1 << bits) if value[0] == "i" and one >> (bits - 1) else one for one in wrapped]


@pytest.mark.parametrize(
    ("value", "start", "send"), [*CASES, *(pytest.param(*c, marks=pytest.mark.long) for c in LONG)]
)
def test_sums_of_integers_wrap(tmp_path, value, start, send):
    """Signed weights and negative constants beside u64, too: float64 would round and cut off at 0."""
    cls = program(tmp_path, combine="SUM", value=value, start=start, send=send)
    store = stored(tmp_path)
    for devices in ("host:1", "host:2", "fake:1"):
        with gstream.open(store, devices=devices) as graph:
            answer = graph.run(cls, max_supersteps=1).to_arrow()["value"].to_pylist()
        assert answer == exact(value, start, send), devices


@pytest.mark.covering(1)
@pytest.mark.parametrize("combine", ["MIN", "MAX"])
@pytest.mark.parametrize("value", ["i64", "f32", *choice.also("u32", "i32", "f64", "u64")])
def test_identities_are_no_values(tmp_path, combine, value):
    """Vertex 3 alone has one; -1 is a value of signed types, so that .npy has another number for none."""
    source = "-1" if value[0] != "u" else "1"
    nothing = "INF" if combine == "MIN" else "-INF" if value[0] == "f" else f"{-(2 ** (int(value[1:]) - 1))}"
    nothing = "0" if combine == "MAX" and value[0] == "u" else nothing
    cls = program(tmp_path, combine=combine, value=value, start=f"{nothing} if v.id == 3 else {source}", send="u.value")
    store = Example(4, np.array([0, 1, 3]), np.array([1, 2, 0]), None, order="natural").stored(tmp_path)
    with gstream.open(store) as graph:
        result = graph.run(cls)
    shown, plain = result.to_arrow()["value"].to_pylist(), result.to_numpy()["value"].tolist()
    none = 0 if nothing == "0" else None
    assert shown == [int(source)] * 3 + [none]
    assert [row["value"] for row in result.top(4)] == [int(source)] * 3 + ([0] if none == 0 else [])
    assert plain[:3] == [int(source)] * 3 and plain[3] not in plain[:3]
    assert result.summary["not_finite"] == 0


def test_sums_of_floats_past_the_range_are_told(tmp_path):
    cls = program(tmp_path, combine="SUM", value="f32", start="3e38", send="u.value")
    with gstream.open(stored(tmp_path)) as graph:
        result = graph.run(cls, max_supersteps=1)
    assert result.summary["not_finite"] == N and np.isinf(result.to_numpy()["value"]).all()
