"""Label propagation against a brute-force one, whatever the blocks, devices and topologies; known answers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gstream
from gstream.algorithms.labelling.cdlp import DISTINCT, gather_labels
from gstream.algorithms.support.blocks import Range, gather
from gstream.algorithms.support.session import Session
from pagestore.errors import ResourceError, UsageError
from tests.answers.graphs import Example, column, examples, hub_example
from tests.answers.simple_graphs import SCHEDULES, big_example, devices


def reference(example, iterations):
    """{user ID: label} by the definition; IDs ascend as vertices do."""
    around = {int(v): [] for v in example.present}
    for u, v in zip(example.source.tolist(), example.target.tolist(), strict=True):
        around[u].append(v)
        if example.directed or u != v:
            around[v].append(u)
    label = {v: v for v in around}
    for _ in range(iterations):
        counts = {v: Counter(label[u] for u in others) for v, others in around.items()}
        label = {v: min(c, key=lambda x: (-c[x], x)) if c else label[v] for v, c in counts.items()}
    return {example.user_id(v): example.user_id(x) for v, x in label.items()}


@settings(max_examples=250)
@given(example=examples(), devices=devices, iterations=st.integers(0, 12))
def test_labels_are_those_of_the_definition(example, devices, iterations, tmp_path_factory):
    with gstream.open(example.stored(tmp_path_factory.mktemp("cdlp")), devices=devices) as graph:
        result = graph.cdlp(iterations=iterations)
    found = column(result, "community")
    assert found == reference(example, iterations)
    assert result.summary["communities"] == len(set(found.values()))


@pytest.mark.covering(1)
@pytest.mark.parametrize(("directed", "topology"), [(True, "both"), (True, "out"), (True, "in"), (False, "both")])
@pytest.mark.parametrize("options", SCHEDULES)
def test_schedules_change_nothing(directed, topology, options, tmp_path):
    example = big_example(directed, topology=topology)
    with gstream.open(example.stored(tmp_path), **options) as graph:
        result = graph.cdlp(iterations=5)
    assert column(result, "community") == reference(example, 5)
    stats = result.summary["stats"]
    assert stats["peak_memory_bytes"] <= options.get("host_memory", stats["peak_memory_bytes"])
    if "host_memory" in options:
        assert stats["bytes_read_disk"] > 0


def test_a_mode_over_the_pages_of_a_hub(tmp_path):
    """The hub's most frequent label is one that no page of its list has more than others."""
    example = hub_example(order="degree")
    for topology in ("both", "out", "in"):
        example.topology = topology
        with gstream.open(example.stored(tmp_path), devices="fake:2:3") as graph:
            assert column(graph.cdlp(iterations=6), "community") == reference(example, 6)


@pytest.mark.parametrize("leaves", [4096, 4097, 9000])
def test_more_labels_than_are_counted(leaves, tmp_path):
    """A hub of so many labels that they are sorted; one of them, not the least, twice."""
    assert DISTINCT == 4096
    target = np.append(np.arange(1, leaves + 1), 70)
    example = Example(leaves + 1, np.zeros_like(target), target, directed=False, order="degree")
    with gstream.open(example.stored(tmp_path)) as graph:
        assert column(graph.cdlp(iterations=1), "community")[0] == 70
        assert column(graph.cdlp(iterations=3), "community") == reference(example, 3)


@pytest.mark.parametrize("devices", ["host:1", "host:3"])
@pytest.mark.parametrize("topology", ["both", "out"])
def test_nothing_is_written_past_the_room(devices, topology, tmp_path):
    """Where lists are longer than degrees say, as in a store that somebody made so, gathering ends at the room."""
    example, room = big_example(True, topology=topology), 1000
    with gstream.open(example.stored(tmp_path), devices=devices) as graph, Session(graph.engine()) as session:
        label = np.arange(4010, dtype=session.id_dtype)
        block = Range(0, 4010, np.minimum(np.arange(4011), room).astype(np.uint64))
        entries, cursor = np.full(room + 100_000, 5000, session.id_dtype), np.empty(4010, np.uint64)
        gather(session, block, gather_labels, (label, entries[:room], np.uint64(block.entries)), cursor)
    assert block.entries == room and cursor.max() > room
    assert (entries[:room] < 4010).all() and (entries[room:] == 5000).all()


def test_rounds_end_where_nothing_changes(tmp_path):
    example = Example(6, np.array([0, 1, 2]), np.array([1, 2, 0]), directed=False)
    with gstream.open(example.stored(tmp_path)) as graph:
        assert graph.cdlp(iterations=1000).summary["supersteps"] < 10


def test_wrong_use(tmp_path):
    with gstream.open(hub_example().stored(tmp_path)) as graph:
        with pytest.raises(UsageError, match="iterations -1: is negative"):
            graph.cdlp(iterations=-1)
        with pytest.raises(UsageError, match="certify=True: cdlp has no certificate"):
            graph.cdlp(certify=True)
        with pytest.raises(ResourceError, match="too little"):
            graph.cdlp(host_memory=40_000)
