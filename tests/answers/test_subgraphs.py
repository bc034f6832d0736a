"""Induced subgraphs, egonets and cross-edges against networkx; pages that are read; files; certificates."""

from __future__ import annotations

import gzip
from collections import Counter
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import gstream
from gstream.algorithms.subgraphs import edge_table as edgetable
from gstream.algorithms.subgraphs.subgraphs import (
    certify_cross,
    certify_egonet,
    certify_subgraph,
    run_cross,
    run_egonet,
    run_subgraph,
)
from gstream.algorithms.support.refusal import CertificateError
from gstream.algorithms.support.session import Session
from pagestore.errors import InputError, StoreError, UsageError
from tests.answers.graphs import Example, examples, hub_example
from tests.answers.simple_graphs import SCHEDULES, big_example, devices, shipped_pairs

WEIGHTS = st.sampled_from([None, "integers", "floats"])
anything = WEIGHTS.flatmap(lambda weights: examples(weights=weights))


def rows(result):
    """How often each row (source, target[, weight]) is there."""
    return Counter(zip(*(column.to_pylist() for column in result.to_arrow().columns), strict=True))


def edges_of(example, wanted):
    """The same of the graph's edges: wanted(u, v) says which, and which way round those of undirected graphs stand."""
    found = Counter()
    weight = [None] * len(example.source) if example.weight is None else example.weight.tolist()
    for u, v, w in zip(example.source.tolist(), example.target.tolist(), weight, strict=True):
        for a, b in ((u, v),) if example.directed else ((min(u, v), max(u, v)), (max(u, v), min(u, v))):
            if wanted(a, b):
                row = (example.user_id(a), example.user_id(b))
                found[row if w is None else (*row, w)] += 1
                break
    return found


def drawn(data, example):
    """Some vertices of the example's, as its own numbers."""
    present = example.present.tolist()
    return set(data.draw(st.lists(st.sampled_from(present), max_size=2 * len(present)))) if present else set()


def named(example, vertices):
    return [example.user_id(v) for v in vertices]


@settings(max_examples=220)
@given(example=anything, devices=devices, data=st.data())
def test_induced_subgraphs(example, devices, data, tmp_path_factory):
    inside = drawn(data, example)
    with gstream.open(example.stored(tmp_path_factory.mktemp("sub")), devices=devices) as graph:
        result = graph.subgraph(named(example, inside), certify=True)
    found = rows(result)
    assert found == edges_of(example, lambda u, v: u in inside and v in inside)
    whole = example.networkx().subgraph(named(example, inside))
    assert len(result) == result.summary["chosen_edges"] == whole.number_of_edges() == found.total()
    assert result.summary["chosen_vertices"] == len(inside)
    ends = Counter(row[:2] for row in found.elements())
    assert ends == Counter((u, v) if example.directed else tuple(sorted((u, v))) for u, v in whole.edges())


@settings(max_examples=220)
@given(example=anything, devices=devices, radius=st.integers(0, 3), center=st.booleans(), data=st.data())
def test_egonets(example, devices, radius, center, data, tmp_path_factory):
    if not len(example.present):
        return
    source = example.user_id(data.draw(st.sampled_from(example.present.tolist())))
    expected = nx.ego_graph(example.networkx(), source, radius=radius, center=center)
    with gstream.open(example.stored(tmp_path_factory.mktemp("ego")), devices=devices) as graph:
        result = graph.egonet(source, radius=radius, center=center, certify=True)
    assert result.summary["chosen_vertices"] == len(expected)
    pairs = ((u, v) if example.directed else tuple(sorted((u, v))) for u, v in expected.edges())
    assert Counter(row[:2] for row in rows(result).elements()) == Counter(pairs)


@settings(max_examples=220)
@given(example=anything, devices=devices, rest=st.booleans(), data=st.data())
def test_cross_edges(example, devices, rest, data, tmp_path_factory):
    here = drawn(data, example)
    there = set(example.present.tolist()) - here if rest else drawn(data, example)
    with gstream.open(example.stored(tmp_path_factory.mktemp("cross")), devices=devices) as graph:
        result = graph.cross(iter(named(example, here)), None if rest else named(example, there), certify=True)
    assert rows(result) == edges_of(example, lambda u, v: u in here and v in there)
    if not here & there:
        bounds = nx.edge_boundary(example.networkx(), named(example, here), named(example, there), keys=True)
        assert len(result) == len(list(bounds))


@pytest.mark.covering(1)
@pytest.mark.parametrize(("directed", "topology"), [(True, "both"), (True, "out"), (True, "in"), (False, "both")])
@pytest.mark.parametrize("options", SCHEDULES)
def test_schedules_change_nothing(directed, topology, options, tmp_path):
    example = big_example(directed, topology=topology)
    example.weight = np.random.default_rng(5).integers(0, 40, 60000).astype(np.float64)
    here, there = set(range(0, 4010, 3)), {3999, *range(1, 4010, 5)}
    with gstream.open(example.stored(tmp_path), **options) as graph:
        result = graph.cross(here, there)
        again = graph.cross(here, there)
    assert rows(result) == edges_of(example, lambda u, v: u in here and v in there)
    assert result.to_arrow() == again.to_arrow()  # rows stand in the order of the pages
    stats = result.summary["stats"]
    assert stats["peak_memory_bytes"] <= options.get("host_memory", stats["peak_memory_bytes"])


def test_rows_ascend_and_come_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(edgetable, "STEP_BYTES", 8192)
    example = big_example(False)
    example.order = "natural"
    inside = set(range(100, 3000))
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.subgraph(inside)
    table = result.to_arrow()
    assert table.column("source").num_chunks > 20
    assert rows(result) == edges_of(example, lambda u, v: u in inside and v in inside)
    pairs = list(zip(table.column("source").to_pylist(), table.column("target").to_pylist(), strict=True))
    assert pairs == sorted(pairs)
    assert result.top(3) == [{"source": u, "target": v} for u, v in pairs[:3]]
    assert result.to_pandas()["target"].tolist() == [v for _, v in pairs]


def test_only_pages_with_chosen_vertices_are_read(tmp_path, monkeypatch):
    ring = np.arange(100_000)
    example = Example(100_000, ring, (ring + 1) % 100_000, ring.astype(np.float64))
    with gstream.open(example.stored(tmp_path)) as graph:
        pages = graph.engine().graph.tables["out"].pages
        result = graph.subgraph(np.arange(50_000, 50_010))
        assert pages > 300 and result.summary["stats"]["pages_moved"] == 1
        cross = graph.cross(range(100_000), [7])  # one vertex has in-edges: the in-pages are asked
        assert cross.summary["stats"]["pages_moved"] == 1
        read = []
        reader = type(graph._store.topology("out").reader())
        plain = reader.read
        monkeypatch.setattr(reader, "read", lambda self, first, count: read.append(count) or plain(self, first, count))
    assert rows(result) == Counter((v, v + 1, v) for v in range(50_000, 50_009)) and read == [1]
    assert rows(cross) == Counter([(6, 7, 6)])


@pytest.mark.parametrize("directed", [True, False])
def test_corrupted_answers_are_caught(directed, tmp_path):
    example = replace(hub_example(directed, weighted=True, order="degree"), kind="listed")
    users = named(example, range(0, 1600, 2))
    own = (
        (run_subgraph, certify_subgraph, {"nodes": users}),
        (run_cross, certify_cross, {"nodes": users, "targets": named(example, range(0, 1600, 3))}),
        (run_egonet, certify_egonet, {"source": example.user_id(11), "radius": 1}),
    )
    with gstream.open(example.stored(tmp_path)) as graph, Session(graph.engine()) as session:
        for run, prove, options in own:
            chosen, found = run(session, **options)
            prove(session, chosen, options, found)
            page = int(np.flatnonzero(chosen.counts)[0])
            counts = chosen.counts.copy()
            counts[page] = 0
            with pytest.raises(CertificateError, match="rows and"):
                prove(session, replace(chosen, counts=counts), options, found)
            changed = {"source": example.user_id(5)} if run is run_egonet else {"nodes": users[1:]}
            other = run(session, **(options | changed))[0]
            with pytest.raises(CertificateError):
                prove(session, other, options, found)


def test_rows_of_other_ends_or_weights_are_caught(tmp_path, monkeypatch):
    example = hub_example(False, weighted=True)
    options = {"nodes": list(range(800))}
    with gstream.open(example.stored(tmp_path)) as graph, Session(graph.engine()) as session:
        chosen, found = run_subgraph(session, **options)
        plain = edgetable.EdgeTable._parts
        for at in range(3):

            def wrong(self, at=at):
                for part in plain(self):
                    part[at][len(part[at]) // 2] += 1
                    yield part

            monkeypatch.setattr(edgetable.EdgeTable, "_parts", wrong)
            with pytest.raises(CertificateError, match="the rows are not the edges"):
                certify_subgraph(session, chosen, options, found)


def test_files_are_compressed_or_not(tmp_path):
    text = b"\xef\xbb\xbf1\r\n3\r\n"
    written = {"nodes.gz": gzip.compress(text), "nodes.zst": zstandard.compress(text), "plain.txt": text}
    with gstream.open(hub_example().stored(tmp_path)) as graph:
        expected = graph.subgraph([1, 3]).to_numpy()
        for name, data in written.items():
            (tmp_path / name).write_bytes(data)
            assert graph.subgraph(tmp_path / name).to_numpy().tolist() == expected.tolist()
        (tmp_path / "nodes.gz").write_bytes(text)
        with pytest.raises(InputError, match="nodes.gz: is not gzip data although its name ends in .gz"):
            graph.subgraph(tmp_path / "nodes.gz")


def test_files(tmp_path):
    """Vertices from a file, rows to files of every kind."""
    example = Example(5, np.array([0, 1, 3, 3]), np.array([1, 3, 0, 4]), np.array([0.5, 1, 2, 4]), kind="names")
    listed = tmp_path / "nodes.txt"
    first, last, middle = named(example, [0, 3, 1])
    listed.write_text(f"# some\n{first}\n\n{last} \n{middle}\n", encoding="utf-8")
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.subgraph(listed)
        assert result.summary["options"] == {"nodes": listed}
        assert graph.subgraph(named(example, [0, 1])).summary["options"] == {"nodes": "2 vertices"}
    expected = edges_of(example, lambda u, v: 4 not in (u, v))
    for ending in ("parquet", "csv", "npy", "arrow"):
        result.write(tmp_path / f"rows.{ending}")
    import pandas

    frames = [pandas.read_parquet(tmp_path / "rows.parquet"), pandas.read_feather(tmp_path / "rows.arrow")]
    frames += [pandas.read_csv(tmp_path / "rows.csv"), pandas.DataFrame(np.load(tmp_path / "rows.npy"))]
    for frame in frames:
        assert list(frame.columns) == ["source", "target", "weight"]
        assert Counter(frame.itertuples(index=False, name=None)) == expected


def test_counts_that_do_not_fit_the_pages(tmp_path):
    with gstream.open(hub_example().stored(tmp_path)) as graph:
        result = graph.subgraph(range(1600))
    result._chosen.counts[0] -= 1
    with pytest.raises(StoreError, match="of the edges asked for"):
        result.to_arrow()


def test_a_page_that_was_damaged_since(tmp_path):
    example = hub_example()
    path = example.stored(tmp_path)
    with gstream.open(path) as graph:
        result = graph.subgraph(range(1600))
        offset = graph._store.topology("out").pages_offsets[0]
    with open(path, "r+b") as file:
        file.seek(offset + 40)
        file.write(b"\xff\xff")
    with pytest.raises(StoreError, match="fails its checksum"):
        result.write(tmp_path / "rows.csv")
    assert not (tmp_path / "rows.csv").exists()


def test_wrong_use(tmp_path):
    listed = tmp_path / "nodes.txt"
    listed.write_text("# some\n1\n\nx\n")
    with gstream.open(hub_example().stored(tmp_path)) as graph:
        for call, message in (
            (lambda: graph.subgraph(None), r"subgraph: no vertices were given. Pass nodes=FILE, .* or nodes=\[ID\]."),
            (lambda: graph.cross([1], [5000]), "target 5000 is not a vertex of .*; its 1600 IDs run from 0 to 1599"),
            (lambda: graph.subgraph([1, -4]), "node -4 is not a vertex of"),
            (lambda: graph.egonet(None), "egonet: no source was given"),
            (lambda: graph.egonet(3, radius=-1), "radius -1: must be a whole number of at least 0"),
        ):
            with pytest.raises(UsageError, match=message):
                call()
        with pytest.raises(InputError, match="absent.txt: no such file. Pass nodes=FILE, a vertex a line"):
            graph.subgraph(tmp_path / "absent.txt")
        with pytest.raises(InputError, match="nodes.txt:4: node 'x' is not a vertex of .*whose IDs are whole numbers"):
            graph.subgraph(listed)
        listed.write_text("1\n5000\n")
        with pytest.raises(InputError, match="nodes.txt:2: target 5000 is not a vertex of .* from 0 to 1599"):
            graph.cross([1], listed)
        listed.write_bytes(b"1\n2\n\xff\n")
        with pytest.raises(InputError, match="nodes.txt:3: is not UTF-8 text; the file holds a vertex a line"):
            graph.subgraph(listed)
        listed.write_bytes(b"")
        assert len(graph.subgraph(listed)) == 0
        assert len(graph.subgraph([])) == 0 and graph.subgraph(np.array([], np.int64)).top() == []
        assert graph.subgraph(7).summary["chosen_vertices"] == 1


@pytest.mark.long
def test_the_shipped_graph_is_networkx(tmp_path):
    vertices, pairs = shipped_pairs()
    example, whole = Example(vertices, *pairs.T, directed=False, order="degree"), nx.Graph(pairs.tolist())
    inside = np.arange(0, vertices, 3)
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.subgraph(inside, certify=True)
        ego = graph.egonet(int(inside[9]), radius=2, certify=True)
        cross = graph.cross(inside, certify=True)
    assert set(rows(result)) == {tuple(sorted(edge)) for edge in whole.subgraph(inside.tolist()).edges}
    assert set(rows(ego)) == {tuple(sorted(edge)) for edge in nx.ego_graph(whole, int(inside[9]), radius=2).edges}
    assert set(rows(cross)) == set(nx.edge_boundary(whole, inside.tolist()))
