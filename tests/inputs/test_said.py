"""What an input says beside its edges: whether they are directed, how many there are, vertices without edges."""

from __future__ import annotations

import gc
import re
import warnings

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from input_files import edges_of, opened, read, write

from pagestore.convert import ConvertOptions, convert
from pagestore.errors import GstreamError, InputError

PAIRS = [(1, 2), (2, 3)]
MTX = "%%MatrixMarket matrix coordinate pattern general\n"
BOM = b"\xef\xbb\xbf"

UNDIRECTED = {  # name, text
    "KONECT": ("out.a", "% sym unweighted\n% 2 3 3\n1 2\n2 3\n"),
    "KONECT, tabs": ("out.a", "%\tsym\tunweighted\n1\t2\n2\t3\n"),
    "SNAP": ("a.txt", "# Undirected graph: ../a.txt\n# Nodes: 3 Edges: 2\n# FromNodeId\tToNodeId\n1\t2\n2\t3\n"),
    "any comment": ("a.csv", "# an UNDIRECTED graph\n1,2\n2,3\n"),
    "non-directed": ("a.txt", "% a non-directed network\n1 2\n2 3\n"),
    "not directed": ("a.txt", "# the graph is not directed\n1 2\n2 3\n"),
    "directed: false": ("a.txt", "# directed: false\n1 2\n2 3\n"),
    "directed=0": ("a.el", "# nodes=3 directed=0\n1 2\n2 3\n"),
    "words above": ("a.txt", "Undirected graph with three nodes\n1 2\n2 3\n"),
    "Gephi": ("a.csv", "Source,Target,Type,Id,Label\n1,2,Undirected,0,\n2,3,Undirected,1,\n"),
    "Gephi, semicolons": ("a.csv", "Source;Target;Type\n1;2;Undirected\n2;3;undirected\n"),
    "Gephi, quotes": ("a.csv", '"Source","Target","Type"\n"1","2","Undirected"\n"2","3","Undirected"\n'),
    "Gephi, a label": ("a.csv", "Source,Target,Type,Label\n1,2,Undirected,directed by x\n2,3,Undirected,\n"),
    "another word": ("a.csv", "Quelle;Ziel;Typ\n1;2;Undirected\n2;3;Undirected\n"),
    "a column undirected": ("a.csv", "source,target,undirected\n1,2,true\n2,3,TRUE\n"),
    "a column directed": ("a.csv", "source,target,directed\n1,2,false\n2,3,False\n"),
}
DIRECTED = {
    "KONECT": ("out.a", "% asym unweighted\n1 2\n2 3\n", True),
    "SNAP": ("a.txt", "# Directed graph (each unordered pair of nodes is saved once): a.txt\n1 2\n2 3\n", True),
    "undirected: no": ("a.txt", "# undirected: no\n1 2\n2 3\n", True),
    "Gephi": ("a.csv", "Source,Target,Type\n1,2,Directed\n2,3,directed\n", True),
    "nothing": ("a.txt", "# the redirected pages\n1 2\n2 3\n", None),
    "a comment below": ("a.txt", "1 2\n# undirected\n2 3\n", None),
    "both": ("a.txt", "# directed edges of an undirected graph\n1 2\n2 3\n", None),
    "a file's name": ("a.txt", "# directed graph x_undirected.txt\n1 2\n2 3\n", True),
    "other types": ("a.csv", "source,target,type\n1,2,friend\n2,3,foe\n", None),
}


@pytest.mark.parametrize("case", UNDIRECTED)
def test_undirected_is_said(tmp_path, case):
    name, text = UNDIRECTED[case]
    for content in (text.encode(), BOM + text.encode(), text.replace("\n", "\r\n").encode()):
        source = opened(write(tmp_path, name, content), tmp_path)
        assert source.directed is False and [edge[:2] for edge in edges_of(source)] == PAIRS
        assert "undirected as " in source.assumptions[0]
    source = opened(write(tmp_path, name, text), tmp_path, directed=True)
    assert source.directed is True and len(edges_of(source)) == 2
    by_column = "Typ" in text or "directed\n1,2," in text  # which is not looked at then
    assert source.assumptions[0].endswith("directed as the option says, not as its comments say") != by_column


@pytest.mark.parametrize("case", DIRECTED)
def test_what_else_is_said(tmp_path, case):
    name, text, directed = DIRECTED[case]
    source = opened(write(tmp_path, name, text), tmp_path)
    assert source.directed is directed and [edge[:2] for edge in edges_of(source)] == PAIRS
    assert (source.doubts != ()) == (case == "both")


def test_kinds_of_edges_that_differ(tmp_path):
    rows = "".join(f"{n},{n + 1},Undirected\n" for n in range(100))
    for bad, line in (("5,6,Directed\n", 102), ("5,6,\n", 102)):
        path = write(tmp_path, "a.csv", f"Source,Target,Type\n{rows}{bad}{rows}")
        with pytest.raises(InputError, match=rf"a\.csv:{line}:5: .* stands where lines above have undirected"):
            edges_of(opened(path, tmp_path))
        assert len(edges_of(opened(path, tmp_path, directed=False))) == 201
        source = opened(path, tmp_path, bad_lines="skip")
        assert len(edges_of(source)) == 200 and source.skipped.count == 1
    with pytest.raises(InputError, match=r"a\.csv:3:1: column Type says 'directed' here and 'undirected' above"):
        read(tmp_path, "a.csv", "Source,Target,Type\n1,2,Undirected\n2,3,Directed\n")
    paths = [write(tmp_path, "a.txt", "# undirected\n1 2\n"), write(tmp_path, "b.txt", "# directed\n2 3\n")]
    with pytest.raises(
        InputError, match=r"b\.txt: is directed, but .*a\.txt is undirected; .*Pass --directed or --und"
    ):
        opened(paths, tmp_path)
    assert edges_of(opened(paths, tmp_path, directed=True)) == PAIRS


def test_graph500_says_what_it_adds(tmp_path):
    np.array([[0, 1], [4, 0]], "<i8").tofile(tmp_path / "g.int64")
    source = opened(tmp_path / "g.int64", tmp_path)
    assert source.vertices == 8 and re.search(
        r"g\.int64: vertices 0 to 7, a power of two .* greatest ID is 4", source.assumptions[0]
    )
    source = opened(tmp_path / "g.int64", tmp_path, num_vertices=5)
    assert source.vertices == 5 and source.assumptions[0].endswith("g.int64: read as graph500-int64, no weights")


PROMISED = {  # name, text, what is said
    "SNAP": ("a.txt", "# Nodes: 5 Edges: 1,009\n1\t2\n2\t3\n", ["promise 1,009 edges", "promise 5 vertices"]),
    "KONECT": ("out.a", "% asym unweighted\n% 3 3 3\n1 2\n2 3\n", ["promise 3 edges, and 2 were read"]),
    "kept": ("out.a", "% asym unweighted\n% 2 3 3\n1 2\n2 3\n", []),
    "kept by SNAP": ("a.txt", "# Nodes: 3 Edges: 2\n1\t2\n2\t3\n", []),
    "other numbers": ("a.txt", "% 7 3 2\n1 2\n2 3\n", []),
}  # fmt: skip


@pytest.mark.parametrize("case", PROMISED)
def test_counts_that_comments_promise(tmp_path, case):
    name, text, said = PROMISED[case]
    source = opened(write(tmp_path, name, text), tmp_path)
    notes = convert(source, tmp_path / "a.gs", ConvertOptions(page_bytes=4096)).notes
    assert len(notes) == len(said) and all(part in note for part, note in zip(said, notes, strict=True))


def test_nothing_is_left_to_the_garbage_collector(tmp_path):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        source = opened(write(tmp_path, "a.csv", "a,b\nb,c\n"), tmp_path)
        convert(source, tmp_path / "a.gs", ConvertOptions(page_bytes=4096))
        source = opened(write(tmp_path, "a.v", "1\n5\n") and write(tmp_path, "a.e", "1 7\n"), tmp_path)
        with pytest.raises(InputError, match="not in the vertex file"):
            convert(source, tmp_path / "b.gs", ConvertOptions(page_bytes=4096))
        np.save(tmp_path / "a.npy", np.array([[1, 2]]))
        write(tmp_path, "bad.npy", b"\x93NUMPY")
        for second in ("bad.npy", "none.txt"):
            with pytest.raises(GstreamError):
                opened([tmp_path / "a.npy", tmp_path / second], tmp_path)
        opened([write(tmp_path, "x.txt", "1 2\nx\n"), write(tmp_path, "y.txt", "a b\n")], tmp_path, bad_lines="skip")
        del source
        gc.collect()
    assert [str(one.message) for one in said] == []


def test_vertices_that_a_header_adds_are_counted(tmp_path):
    source = opened(write(tmp_path, "a.mtx", f"{MTX}5 5 2\n1 2\n2 1\n"), tmp_path)
    assert convert(source, tmp_path / "a.gs", ConvertOptions(page_bytes=4096)).isolated == 3
    source = opened(write(tmp_path, "a.graph", "4 2\n2\n1 3\n2\n\n"), tmp_path)
    assert convert(source, tmp_path / "b.gs", ConvertOptions(page_bytes=4096)).isolated == 1


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_vertices_called_as_nobody_is_are_said(tmp_path, name):
    sources, targets = ["a", "b", "\\N"], ["NULL", "NULL", "c"]
    if name == "a.csv":
        rows = zip(sources, targets, strict=True)
        write(tmp_path, name, "source,target\n" + "".join(f"{source},{target}\n" for source, target in rows))
    else:
        pyarrow.parquet.write_table(pyarrow.table({"source": sources, "target": targets}), tmp_path / name)
    said = r"'NULL' and '\\N' are names of vertices; if that stands for what is not known, leave its edges out with --"
    assert opened(tmp_path / name, tmp_path).doubts == (f"{said}where",)
    assert opened(tmp_path / name, tmp_path, where="target != 'NULL' and source > 'a'").doubts == ()
