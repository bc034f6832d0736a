"""Modularity of given communities, as NetworkX and igraph have it, from every kind of answer."""

from __future__ import annotations

import choice
import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gstream
from gstream.algorithms.labelling import modularity
from gstream.algorithms.support.refusal import CertificateError
from pagestore.errors import InputError, UsageError
from tests.answers.graphs import Example, examples
from tests.answers.simple_graphs import SCHEDULES, big_example


@settings(max_examples=15)
@given(
    example=examples("floats"), groups=st.integers(1, 9), resolution=st.sampled_from([1.0, 0.0, 2.5]),
    weighted=st.booleans(),
)  # fmt: skip
def test_drawn_graphs_as_networkx_and_igraph(example, groups, resolution, weighted, tmp_path_factory):
    numbers = np.random.default_rng(groups).integers(0, groups, example.vertices)
    partition = {example.user_id(v): int(numbers[v]) for v in example.present}
    with gstream.open(example.stored(tmp_path_factory.mktemp("parted"))) as graph:
        result = graph.modularity(partition, weighted, resolution, certify=True)
    weight = "weight" if weighted else None
    made, found = example.networkx(), result.summary["modularity"]
    parts = [{v for v, number in partition.items() if number == part} for part in set(partition.values())]
    assert result.summary["communities"] == len(parts) == len(result)
    if not made.size(weight=weight):
        assert np.isnan(found)
        return
    assert found == pytest.approx(nx.community.modularity(made, parts, weight, resolution), abs=1e-9)
    numbered = igraph.Graph.from_networkx(made)
    members = [partition[v] for v in made]
    peer = numbered.modularity(members, weights=weight, resolution=resolution, directed=example.directed)
    assert found == pytest.approx(peer, abs=1e-9)
    rows = result.to_numpy()
    assert rows["modularity"].sum() == pytest.approx(found) and rows["vertices"].sum() == len(partition)


@pytest.mark.covering(1)
@pytest.mark.parametrize("options", SCHEDULES)
@pytest.mark.parametrize("directed", [True, *choice.also(False)])
def test_schedules_change_nothing(directed, options, tmp_path):
    example = big_example(directed)
    partition = [range(1000), range(1000, 4010)]
    options = options | ({"host_memory": 600_000} if "host_memory" in options else {})
    with gstream.open(example.stored(tmp_path)) as graph:
        expected = graph.modularity(partition, threads=1)
        found = graph.modularity(partition, certify=True, **options)
    assert np.array_equal(found.to_numpy(), expected.to_numpy())
    assert found.summary["modularity"] == expected.summary["modularity"]


@pytest.mark.parametrize("kind", ["dense", "names"])
def test_answers_of_every_kind_are_taken(kind, tmp_path):
    random = np.random.default_rng(5)
    example = Example(60, *random.integers(0, 60, (2, 300)), kind=kind, order="degree")
    with gstream.open(example.stored(tmp_path)) as graph:
        answer = graph.leiden()
        given = [
            answer,
            answer.to_arrow(),
            answer.to_pandas(),
            dict(zip(*answer.to_pandas().to_numpy().T, strict=True)),
        ]
        for name in ("a.parquet", "a.arrow", "a.csv", "a.csv.gz", "a.tsv", "a.txt.zst", "a.npy"):
            if kind == "names" and name == "a.npy":
                continue
            answer.write(tmp_path / name)
            given.append(tmp_path / name)
        rows = answer.to_pandas()
        numbers = rows.iloc[:, 1].astype("category").cat.codes.to_numpy()
        given += [numbers, numbers.tolist()]
        found = [graph.modularity(one, undirected=True).summary["modularity"] for one in given]
        assert found == pytest.approx([answer.summary["modularity"]] * len(given), abs=1e-12)
        assert graph.modularity(graph.wcc()).summary["communities"] == graph.wcc().summary["components"]


@pytest.mark.parametrize(
    ("partition", "said"),
    [
        (None, "modularity: no partition was given. Pass partition=FILE with columns vertex and community."),
        (3, "partition: must be a result, a table with a column vertex, a mapping from vertices, or a file."),
        ({0: 1, 1: 1}, "partition: has no value of vertex 2. Give each vertex one."),
        ({0: 1, 1: None, 2: 2}, "partition: vertex 1 has no value. Give it one."),
        ({0: 1, 1: 1, 2: 1, 7: 1}, "partition: row 4 (from 1): vertex 7 is not a vertex of "),
        ([[0, 1], [1, 2]], "partition: row 3 (from 1): vertex 1 has a row before. Drop one."),
        ([1, 1], "partition: has 2 numbers, and the graph 3 vertices. Give one each."),
        ([1, 1.5, 2], "partition: must be a result, a table with a column vertex, a mapping from vertices, or a file"),
        (
            [[0, "a"], [1, 2]],
            "partition: must be a result, a table with a column vertex, a mapping from vertices, or a ",
        ),
        (
            {0: 2**70, 1: 1, 2: 1},
            "partition: must be a result, a table with a column vertex, a mapping from vertices, or",
        ),
        ({0: [1], 1: [2], 2: [3]}, "partition: can't be read: "),
        ("absent.csv", "absent.csv: no such file. Name one with columns vertex and a value."),
        ("answer.xml", "partition answer.xml: the ending says the format; known are .parquet, .arrow, .npy, .txt"),
        ("broken.parquet", "broken.parquet: can't be read as its ending says"),
        ("other.csv", "other.csv: has columns name, group; needed are vertex and community or component or value."),
    ],
)
def test_what_is_no_partition_is_refused(partition, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.parquet").write_text("no")
    (tmp_path / "answer.xml").write_text("no")
    (tmp_path / "other.csv").write_text("name,group\n0,1\n")
    with gstream.open(Example(3, np.array([0, 1]), np.array([1, 2])).stored(tmp_path)) as graph:
        with pytest.raises((InputError, UsageError)) as caught:
            graph.modularity(partition)
    assert str(caught.value).startswith(said) and "\n" not in str(caught.value)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_names_may_look_like_numbers(ending, tmp_path):
    (tmp_path / "names.txt").write_text("01 1\n1 1e3\n002 NA\n")
    gstream.convert(tmp_path / "names.txt", tmp_path / "names.gs", string_ids=True).close()
    with gstream.open(tmp_path / "names.gs") as graph:
        graph.wcc().write(tmp_path / f"parts.{ending}")
        found = graph.modularity(tmp_path / f"parts.{ending}", undirected=True).summary
    assert found["communities"] == 2 and abs(found["modularity"] - 4 / 9) < 1e-12


def test_the_resolution_is_a_number(tmp_path):
    with gstream.open(Example(3, np.array([0, 1]), np.array([1, 2])).stored(tmp_path)) as graph:
        with pytest.raises(UsageError, match=r"resolution -1\.0: must be a number of at least 0"):
            graph.modularity({0: 0, 1: 0, 2: 0}, resolution=-1)


def test_wrong_sums_are_refused(tmp_path, monkeypatch):
    with gstream.open(big_example(True).stored(tmp_path)) as graph:
        right = modularity.strengths
        monkeypatch.setattr(
            modularity, "strengths", lambda session, *given: [each * (1 + 1e-6) for each in right(session, *given)]
        )
        with pytest.raises(CertificateError, match="are not all"):
            graph.modularity([range(2000), range(2000, 4010)], certify=True)
