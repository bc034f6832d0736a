"""Heat, circuit and neural network simulation against NumPy."""

from __future__ import annotations

from dataclasses import replace

import choice
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gstream
from pagestore.errors import InputError, UsageError
from tests.answers.graphs import Example, column, examples, hub_example

FLOATS = examples("floats", largest=120)
WAYS = ["host", "host:3", "fake:1:2"]


def hubs(whole=False, **options):
    """With weights that are whole numbers, or that are not: kernels differ."""
    example = hub_example(weighted=True, **options)
    return replace(example, weight=example.weight / (1 if whole else 2))


def matrix(example):
    """(user IDs, W[u, v]: weight of all edges from u to v)."""
    place = {v: n for n, v in enumerate(example.present.tolist())}
    weights = np.zeros((len(place), len(place)))
    for u, v, w in zip(example.source.tolist(), example.target.tolist(), example.weight.tolist(), strict=True):
        weights[place[u], place[v]] += w
        if not example.directed and u != v:
            weights[place[v], place[u]] += w
    return [example.user_id(v) for v in example.present.tolist()], weights


def check_all(graph, nodes, w, initial, steps):
    first = np.array([initial.get(v, 0.0) for v in nodes])
    inflow, held = w.sum(axis=0), np.array([v in initial for v in nodes])
    rate = 1 / (inflow.max() or 1)
    heat = neural = circuit = first
    for _ in range(steps):
        heat = heat + rate * (w.T @ heat - inflow * heat)
        neural = np.tanh(w.T @ neural)
        flows = np.divide(w.T @ circuit, inflow, out=circuit.copy(), where=inflow != 0)
        circuit = np.where(held, circuit, flows)
    for name, expected in (("heat", heat), ("neural", neural), ("circuit", circuit)):
        result = graph.execute(name, {"initial": initial, "iterations": steps})
        found = column(result, result.columns[1])
        np.testing.assert_allclose([found[v] for v in nodes], expected, rtol=1e-9, atol=1e-12, err_msg=name)
    own = column(graph.heat(initial, steps, rate=rate / 2), "temperature")
    heat = first
    for _ in range(steps):
        heat = heat + rate / 2 * (w.T @ heat - inflow * heat)
    np.testing.assert_allclose([own[v] for v in nodes], heat, rtol=1e-9, atol=1e-12)


def test_heat_that_is_unstable_says_so(tmp_path):
    """At ten times the rate that is stable temperatures swing farther and farther; at that rate they stay inside."""
    example = hubs()
    with gstream.open(example.stored(tmp_path)) as graph:
        most = matrix(example)[1].sum(axis=0).max()
        found = graph.heat({11: 5.0, 5: -1.0}, 20, rate=10 / most).summary
        assert found["note"].startswith("unstable: ")
        assert f"outside the initial ones, -1 to 5. rate {10 / most:g} is more than {1 / most:g}, " in found["note"]
        for rate in (None, 1 / most, 0.0):
            assert "note" not in graph.heat({11: 5.0, 5: -1.0}, 200, rate=rate).summary


@pytest.mark.longer
@settings(max_examples=200)
@given(
    example=choice.few(FLOATS, examples("integers", largest=120) | FLOATS), steps=st.sampled_from([0, 1, 10]),
    data=st.data(),
)  # fmt: skip
def test_random_graphs(example, steps, data, tmp_path_factory):
    nodes, w = matrix(example)
    some = data.draw(st.lists(st.sampled_from(nodes), max_size=4, unique=True))
    initial = {v: float(n) - 1.5 for n, v in enumerate(some)}
    with gstream.open(example.stored(tmp_path_factory.mktemp("simulated"))) as graph:
        check_all(graph, nodes, w, initial, steps)


def test_values_past_all_bounds_are_counted(tmp_path):
    example = Example(3, np.array([0, 1, 2]), np.array([1, 2, 0]), np.array([5.5, 5.5, 5.5]))
    with gstream.open(example.stored(tmp_path)) as graph:
        initial = {0: 1.0, 1: 2.0, 2: 3.0}
        wild, tame = graph.heat(initial=initial, rate=1e300, iterations=30), graph.heat(initial=initial)
    assert wild.summary["not_finite"] == 3 and "not_finite" not in tame.summary


@pytest.mark.parametrize("whole", [False, *choice.also(True)])
@pytest.mark.parametrize("devices", WAYS)
@pytest.mark.parametrize("options", [{}, {"host_memory": 250_000}])
def test_hubs_and_devices(devices, options, whole, tmp_path):
    for directed in (True, False):
        example = hubs(whole, directed=directed, order="degree")
        nodes, w = matrix(example)
        with gstream.open(example.stored(tmp_path), devices=devices, **options) as graph:
            check_all(graph, nodes, w, {11: 1.0, 5: -0.5, 900: 2.0}, 10)


def test_first_values_from_a_file(tmp_path):
    example = Example(3, np.array([0, 1]), np.array([1, 2]), np.array([1.0, 0.5]), kind="listed")
    (tmp_path / "first.txt").write_text("# vertex value\n3 -2\n10,0.5\n")
    with gstream.open(example.stored(tmp_path)) as graph:
        assert column(graph.heat(tmp_path / "first.txt", 1), "temperature") == {3: -2.0, 10: -2.0, 17: 0.25}
        assert column(graph.circuit(str(tmp_path / "first.txt"), 3), "voltage") == {3: -2.0, 10: 0.5, 17: 0.5}


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("heat", {"initial": None}, UsageError, "heat: no first values were given. Pass initial=FILE"),
        ("neural", {"initial": [1]}, UsageError, "initial: must be a mapping from vertices to numbers"),
        ("heat", {"initial": {9: 1}}, InputError, "initial vertex 9 is not a vertex of"),
        ("circuit", {"initial": {0: "x"}}, InputError, "initial: the value of 0 is 'x'; it must be a finite number."),
        ("circuit", {"initial": {0: float("nan")}}, InputError, "the value of 0 is nan; it must be a finite number."),
        ("heat", {"initial": {}, "iterations": -1}, UsageError, "iterations -1: must be at least 0. It counts steps."),
        ("heat", {"initial": {}, "rate": -0.5}, UsageError, "rate -0.5: must be a number of at least 0."),
    ],
)
def test_wrong_use(name, options, error, message, tmp_path):
    example = Example(3, np.array([0, 1]), np.array([1, 2]), np.array([1.0, 0.5]))
    with gstream.open(example.stored(tmp_path)) as graph, pytest.raises(error) as caught:
        graph.execute(name, options)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["heat", "circuit", "neural"])
def test_weights_are_needed(name, tmp_path):
    with gstream.open(Example(2, np.array([0]), np.array([1])).stored(tmp_path)) as graph:
        with pytest.raises(UsageError, match=f"has no edge weights, which {name} needs"):
            graph.execute(name, {"initial": {0: 1.0}})
    negative = Example(2, np.array([0]), np.array([1]), np.array([-1.0]))
    with gstream.open(negative.stored(tmp_path)) as graph:
        if name == "neural":
            assert column(graph.neural({0: 1.0}, 1), "activation")[1] == np.tanh(-1)
        else:
            with pytest.raises(InputError, match=f"which is negative; {name} needs weights of 0 and more"):
                graph.execute(name, {"initial": {0: 1.0}})
