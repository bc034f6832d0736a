"""GraphML, GEXF, GML and Pajek: right edges, names, weights and direction; what is refused, with the way round it."""

from __future__ import annotations

import gzip
import io

import networkx as nx
import pytest
from input_files import edges_of, opened, read, write

import gstream
from pagestore.errors import InputError, UsageError
from pagestore.inputs import graphfiles

WRITERS = {"graphml": nx.write_graphml, "gexf": nx.write_gexf, "gml": nx.write_gml}


def small(kind, weight="weight"):
    graph = kind()
    graph.add_nodes_from(["a", "b & c", "<d>", "alone"])
    graph.add_edge("a", "b & c", **{weight: 2.5})
    graph.add_edge("b & c", "<d>", **{weight: 7})
    return graph


def written(graph, format):
    file = io.BytesIO()
    WRITERS[format](graph, file)
    return file.getvalue()


@pytest.mark.parametrize("format", WRITERS)
@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_what_networkx_wrote(tmp_path, format, kind):
    data = written(small(kind), format)
    for name in (f"a.{format}", "a"):  # by content, too
        source = opened(write(tmp_path, name, data), tmp_path)
        assert sorted(edges_of(source)) == [("a", "b & c", 2.5), ("b & c", "<d>", 7.0)]
        assert source.directed is (kind is nx.DiGraph) and source.vertices == 4
        assert "attribute weight is the weight" in source.assumptions[0] and "by name" in source.assumptions[0]
    assert sorted(read(tmp_path, f"b.{format}.gz", gzip.compress(data), weights=False))[0] == ("a", "b & c")


@pytest.mark.parametrize("format", WRITERS)
def test_numbers_are_ids(tmp_path, format):
    data = written(nx.path_graph(3, nx.DiGraph), format)
    assert sorted(read(tmp_path, f"a.{format}", data)) == [(0, 1), (1, 2)]
    assert sorted(read(tmp_path, f"a.{format}", data, string_ids=True)) == [("0", "1"), ("1", "2")]


def test_other_attributes(tmp_path):
    data = written(small(nx.DiGraph, "cost"), "graphml")
    source = opened(write(tmp_path, "a.graphml", data), tmp_path)
    assert not source.weighted and "no weights (other attributes of edges: cost)" in source.assumptions[0]
    assert sorted(read(tmp_path, "a.graphml", data, weight_column="cost"))[0] == ("a", "b & c", 2.5)
    with pytest.raises(UsageError, match=r"--weight-column price: no attribute of edges \(cost\)"):
        read(tmp_path, "a.graphml", data, weight_column="price")
    graph = small(nx.DiGraph)
    graph.add_edge("<d>", "a")
    source = opened(write(tmp_path, "a.graphml", written(graph, "graphml")), tmp_path)
    assert ("<d>", "a", 1.0) in edges_of(source) and "(1 on 1 edges)" in source.assumptions[0]
    with pytest.raises(InputError, match="weight 'much' of an edge is no number"):
        read(tmp_path, "a.gml", 'graph [ node [ id 1 label "a" ] edge [ source 1 target 1 weight "much" ] ]')


def test_gml_without_labels(tmp_path):
    assert read(tmp_path, "a.gml", "graph [ directed 1 node [ id 7 ] node [ id 9 ] edge [ source 9 target 7 ] ]") == [
        (9, 7)
    ]


PAJEK = '*Vertices 3\n1 "a b"\n2 "b"\n3 "c"\n'


def test_pajek(tmp_path):
    source = opened(write(tmp_path, "a.net", PAJEK + "*Arcs\n1 2 1.5\n2 3 2\n2 3 4\n"), tmp_path)
    assert sorted(edges_of(source)) == [("a b", "b", 1.5), ("b", "c", 2.0), ("b", "c", 4.0)] and source.directed
    source = opened(write(tmp_path, "a.net", "% said\n" + PAJEK + "*Edges\n1 2\n"), tmp_path)
    assert edges_of(source) == [("a b", "b")] and source.directed is False and source.vertices == 3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (PAJEK + "*Arcs\n1 2\n*Edges\n2 3\n", "it has other sections"),  # NetworkX takes all for arcs
        (PAJEK + "*Arcslist\n1 2 3\n", "it has other sections"),
        (PAJEK.replace('"c"', '"b"') + "*Arcs\n1 3\n", "two vertices have one label"),
        (PAJEK + "*Arcs\n1 4\n", "is no edge between vertices of the file"),
        (PAJEK + "*Arcs\n1 2 x\n", "is no edge between vertices of the file"),
        (PAJEK + "*Arcs\n1\n", "is no edge between vertices of the file"),
        ("*Vertices 3\n*Arcs\n1 2\n", "not every vertex has a line with its label"),
    ],
)
def test_pajek_that_networkx_reads_otherwise(tmp_path, text, reason):
    with pytest.raises(InputError, match=f"is Pajek, and .*{reason}.*Make an edge list of it first"):
        read(tmp_path, "a.net", text)


BOMB = '<?xml version="1.0"?><!DOCTYPE b [<!ENTITY a0 "lol">' + "".join(
    f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(9)
)
REFUSED = {
    "two graphs": ("a.graphml", '<graphml><graph edgedefault="directed"/><graph edgedefault="directed"/></graphml>',
                   "is GraphML, and it holds more than one graph"),
    "broken": ("a.graphml", "<graphml><graph", "can't be read as GraphML"),
    "a bomb": ("a.graphml", BOMB + "]><graphml><graph edgedefault='directed'>&a9;</graph></graphml>",
               "can't be read as GraphML"),
    "another file's text": (
        "a.graphml", '<?xml version="1.0"?><!DOCTYPE g [<!ENTITY x SYSTEM "file:///etc/passwd">]><graphml>'
        '<graph edgedefault="directed"><node id="&x;"/></graph></graphml>', "can't be read as GraphML"),
    "nested": ("a.gml", "graph [ " * 5000, "GML"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(tmp_path, case):
    name, text, reason = REFUSED[case]
    with pytest.raises(InputError, match=reason):
        read(tmp_path, name, text)


def test_past_a_size_the_message_has_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr(graphfiles, "MOST_BYTES", 100)
    with pytest.raises(InputError, match="is GML of more than 100 B.*nx.write_edgelist.nx.read_gml"):
        read(tmp_path, "a.gml", "graph [ " + "node [ id 1 ] " * 20 + "]")


def test_alone_and_without_options_of_others(tmp_path):
    write(tmp_path, "a.gml", 'graph [ node [ id 1 label "a" ] ]')
    write(tmp_path, "b.txt", "1 2\n")
    with pytest.raises(InputError, match="a.gml: lists its own vertices, and can't be joined"):
        opened([tmp_path / "a.gml", tmp_path / "b.txt"], tmp_path)
    with pytest.raises(UsageError, match="--num-vertices: a file of GML lists its vertices"):
        opened(tmp_path / "a.gml", tmp_path, num_vertices=3)
    with pytest.raises(UsageError, match="--where is for text, Parquet and Arrow, not for gml"):
        opened(tmp_path / "a.gml", tmp_path, where="a > 1")


def test_a_store(tmp_path):
    write(tmp_path, "a.graphml", written(small(nx.Graph), "graphml"))
    graph = gstream.convert(tmp_path / "a.graphml", tmp_path / "a.gs")
    assert len(graph) == 4 and "alone" in graph and graph.degree("b & c") == 2
    assert (graph.conversion["isolated"], graph.conversion["directed"]) == (1, False)
