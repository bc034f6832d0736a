"""Files of other kinds: read right, or refused with what they are and what helps; never another graph.

Each case is bytes and what is due: edges, or a pattern of the refusal. Kinds: `pagestore.inputs.signatures`.
"""

from __future__ import annotations

import gzip
import io
import re
import struct
import subprocess
import sys
import zipfile

import pytest
from input_files import edges_of, opened, read, write

from pagestore.errors import InputError
from pagestore.inputs.signatures import FOREIGN

PAIRS = [(1, 2), (2, 3)]
NAMED = [("a", "b"), ("b", "c")]
MTX = "%%MatrixMarket matrix coordinate pattern general\n"
BOM = b"\xef\xbb\xbf"

READ = {  # name, content, edges
    "comments behind edges": ("a.txt", "1 2 # first\n2 3\n", PAIRS),
    "comments behind all": ("a.txt", "1 2 # first one\n2 3 # b\n", PAIRS),
    "comments with commas": ("a.txt", "1 2 # a, b\n2 3 # c, d\n", PAIRS),
    "comments behind commas": ("a.csv", "1,2 # first\n2,3\n", PAIRS),
    "comments behind tabs": ("a.tsv", "1\t2\t# first\n2\t3\n", PAIRS),
    "slashes behind edges": ("a.txt", "1 2 // first\n2 3\n", PAIRS),
    "percent behind weights": ("a.txt", "1 2 5 % x\n2 3 6\n", [(1, 2, 5.0), (2, 3, 6.0)]),
    "comments late": ("a.txt", "1 2\n" * 60 + "2 3 # x\n", [(1, 2)] * 60 + [(2, 3)]),
    "comments behind names": ("a.txt", "a b # x y\nb c\n", NAMED),
    "quotes in comments": ("a.txt", '1 2 # "x\n2 3\n', PAIRS),
    "an entry of a matrix": ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2 % x\n2 3\n", PAIRS),
    "tags are names": ("a.csv", "a,#b\n# c,d\nb,c\n", [("a", "#b"), ("b", "c")]),
    "tags behind edges": ("a.txt", "1 2 #tag\n2 3 #tag\n", PAIRS),
    "line feeds in quotes": ("a.csv", 'source,target,note\n1,2,"two\nlines"\n2,3,"x"\n', PAIRS),
    "edges in quotes": ("a.csv", 'source,target,note\n1,2,"a\n8,9,""x""\n"\n2,3,\n', PAIRS),
    "CRLF in quotes": ("a.csv", '1,2,"a\r\n3,4,b"\r\n2,3,x\r\n', PAIRS),
    "semicolons": ("a.csv", '1;2;"a\n"\n2;3;x\n', PAIRS),
    "a name of lines": ("a.csv", 'source,target\n"a\nb",c\nb,c\n', [("a\nb", "c"), ("b", "c")]),
    "a header of lines": ("a.csv", '"source\n","target",x\n1,2,3\n2,3,4\n', PAIRS),
    "late": ("a.csv", "1,2,x\n" * 60 + '2,3,"\n\n"\n', [(1, 2)] * 60 + [(2, 3)]),
    "DIMACS vertices": ("a.col", "c x\np edge 3 2\nn 1 5\nn 2 6\ne 1 2\ne 2 3\n", PAIRS),
    "DIMACS others": ("a.col", "p col 3 2\nd 2 3\nv 1 2\nx 1 7\ne 1 2\ne 2 3\n", PAIRS),
    "weights of KONECT": ("out.a", "% asym posweighted\n1 2 3 99\n2 3 1 98\n", [(1, 2, 3.0), (2, 3, 1.0)]),
    "NCOL": ("a.ncol", "a b 1.5\nb c 2\n", [("a", "b", 1.5), ("b", "c", 2.0)]),
    "Neo4j": ("a.csv", ":START_ID,role,:END_ID\n1,x,2\n2,y,3\n", PAIRS),
    "Neo4j, groups and types": (
        "a.csv",
        "a:START_ID(P),since:int,b:END_ID(P),weight:double\n1,9,2,0.5\n2,9,3,1.5\n",
        [(1, 2, 0.5), (2, 3, 1.5)],
    ),
    "blanks in a header": ("a.csv", "Target Node,Source Node\nb,a\nc,b\n", NAMED),
    "names and a type": ("a.csv", "from,to,type\na,b,Undirected\nb,c,Undirected\n", NAMED),
    "German": ("a.csv", "Ziel,Quelle,Gewicht\n2,1,5\n3,2,6\n", [(1, 2, 5.0), (2, 3, 6.0)]),
    "Spanish": ("a.csv", "origen,destino\na,b\nb,c\n", NAMED),
    "Russian": ("a.csv", "куда;откуда\n2;1\n3;2\n", PAIRS),
    "Chinese": ("a.csv", "目标,源\nb,a\nc,b\n", NAMED),
    "repeated entries": ("a.mtx", f"{MTX}3 3 3\n1 2\n1 2\n2 3\n", [(1, 2), *PAIRS]),
    "text by content": ("a.dat", gzip.compress(b"1 2\n2 3\n"), PAIRS),
}
for _kind, (_name, _text) in {
    "text": ("a.txt", "1 2\n2 3\n"),
    "csv": ("a.csv", "source,target\n1,2\n2,3\n"),
    "mtx": ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 3\n"),
    "mtx by content": ("a.txt", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 3\n"),
    "gr": ("a.gr", "p sp 3 2\na 1 2 5\na 2 3 5\n"),
    "metis": ("a.graph", "3 2\n2\n1 3\n2\n"),
    "adjacency": ("a.adj", "1 2\n2 3\n"),
    "el": ("a.el", "1 2\n2 3\n"),
    "tntp": ("a.tntp", "<NUMBER OF NODES> 3\n<NUMBER OF LINKS> 2\n<END OF METADATA>\n"
             "1 2 0 5 0 0 0 0 0 1 ;\n2 3 0 5 0 0 0 0 0 1 ;\n"),
    "ldbc": ("a.e", "1 2\n2 3\n"),
}.items():  # fmt: skip
    READ[f"a mark before {_kind}"] = (_name, BOM + _text.encode(), PAIRS)


@pytest.mark.parametrize("case", READ)
def test_read_right(tmp_path, case):
    name, content, edges = READ[case]
    found = read(tmp_path, name, content)
    due = [edge[: len(edges[0])] for edge in found]
    assert sorted(due) == sorted(edges)
    assert sorted(read(tmp_path, name, content, bad_lines="skip")) == sorted(found)


def office(member: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(member, "x")
    return file.getvalue()


REFUSED = {  # name, content, pattern of the message behind the file's name
    "KONECT bip": ("out.a", "% bip unweighted\n% 3 2 2\n1 1\n1 2\n", "is bipartite KONECT.*awk.*--format text"),
    "KONECT bip, more": ("a.txt", "%bip posweighted\n1 1 3\n", "is bipartite KONECT"),
    "Pajek": ("a.net", "*Vertices 3\n*Arcs :1\n1 2\n", "is Pajek"),
    "Pajek, names": ("a.txt", '% x\n\n*vertices 2\n1 "a"\n2 "b"\n*EDGES\n1 3\n', "is Pajek"),
    "Pajek, a matrix": ("a.csv", BOM + b"*Matrix\n0 1\n1 0\n", "is Pajek"),
    "VNA": ("a.vna", "*node data\nID a\n*tie data\nfrom to\n1 2\n", "is a NetDraw file"),
    "SIF": ("a.sif", "a\tpp\tb\nb\tpd\tc\n", "is SIF.*awk"),
    "SIF by lines": ("a.txt", "a pp b\nb pd c\n", "column 2, as pp, names no vertex.*--target-column 3"),
    "GDF": ("a.csv", "nodedef>name VARCHAR,label VARCHAR\na,A\nedgedef>node1,node2\na,b\n", "is GDF.*awk"),
    "GML": ("a.txt", 'Creator "x"\ngraph [\n  node [ id 1 ]\n', "can't be read as GML.*read_gml"),
    "DOT": ("a.dot", "digraph g {\n a -> b;\n b -> c;\n}\n", "is DOT, which convert does not read"),
    "DOT, others": ("a.txt", "/* x */\n// y\nstrict graph\n{ a -- b }\n", "is DOT"),
    "GraphML": ("a.xml", '<?xml version="1.0"?>\n<graphml></graphml>', "can't be read as GraphML"),
    "GEXF": ("a.txt", "<gexf>\n</gexf>\n", "can't be read as GEXF"),
    "HTML": ("a.csv", "\n<!DOCTYPE html>\n<html> <a b>\n", "is a web page"),
    "XML": ("a.txt", "<?xml version='1.0'?>\n<x y>\n", "is XML"),
    "N-Triples": ("a.nt", "<http://a> <http://b> <http://c> .\n", "is RDF"),
    "N-Triples, blank": ("a.txt", "# x\n_:a <http://b> _:c .\n", "is RDF"),
    "Turtle": ("a.txt", "@prefix : <http://a> .\n:a :b :c .\n", "is RDF"),
    "JSON": ("a.json", '{"nodes": [], "links": []}\n', "is JSON,.*json.load"),
    "JSON lists": ("a.txt", "[[1, 2],\n[2, 3]]\n", "is JSON,"),
    "JSON lines": ("a.txt", '{"source": 1, "target": 2}\n{"source": 2, "target": 3}\n', "is JSON lines"),
    "tuples": ("a.txt", "(1, 2)\n(2, 3)\n", "is a dictionary or tuples of Python"),
    "YAML": ("a.txt", "---\nedges:\n- [1, 2]\n", "is YAML"),
    "UCINET": ("a.txt", "DL n=3 format=edgelist1\ndata:\n1 2\n2 3\n", "is UCINET DL"),
    "LEDA": ("a.txt", "LEDA.GRAPH\nvoid\nvoid\n", "is LEDA"),
    "graph6": ("a.g6", "Bw\n", "is graph6"),
    "sparse6": ("a.txt", ">>sparse6<<:Bc\n", "is sparse6"),
    "digraph6": ("a.txt", ">>digraph6<<&B\n", "is digraph6"),
    "TSPLIB": ("a.txt", "NAME : a\nTYPE : TSP\nDIMENSION : 2\n", "is TSPLIB"),
    "SteinLib": ("a.txt", "33D32945 STP File, STP Format Version 1.0\n\nSECTION Graph\n", "is SteinLib"),
    "LGL": ("a.lgl", "# a\nb\nc\n", "is LGL"),
    "LGL by lines": ("a.txt", "# a\nb 1.0\nc 2.0\n# b\nc 1.0\n", "as LGL writes them"),
    "TGF by lines": ("a.txt", "1 a\n2 b\n3 c\n#\n1 2\n2 3 label\n", "a line # and edges, as TGF has them.*awk"),
    "Prolog": ("a.txt", "% x\nedge(a, b).\nedge(b, c).\n", "is facts of Prolog or Datalog.*sed"),
    "Markdown": ("a.txt", "| source | target |\n|---|:--|\n| 1 | 2 |\n| 2 | 3 |\n", "is a table drawn with bars.*sed"),
    "psql": ("a.txt", " a | b \n---+---\n 1 | 2\n 2 | 3\n(2 rows)\n", "is a table drawn with bars"),
    "MySQL": ("a.txt", "+---+---+\n| a | b |\n+---+---+\n| 1 | 2 |\n", "is a table drawn with bars"),
    "RTF": ("a.txt", "{\\rtf1\\ansi 1 2\\par 2 3}", "is RTF"),
    "Harwell-Boeing": (
        "a.txt", "Title  Key\n 5 1 1 3 0\nRUA 3 3 4 0\n(8I10)\n", "is Harwell-Boeing.*hb_read",
    ),
    "Tulip": ("a.txt", '(tlp "2.3"\n(nb_nodes 3)\n(edge 0 1 2)\n(edge 1 2 3)\n)\n', "is Tulip.*sed"),
    "XML of OSM": ("a.txt", '<osm version="0.6">\n<node id="1"/></osm>\n', "is XML"),
    "a list of Python": ("a.txt", "[(1, 2), (2, 3)]\n", "is a dictionary or tuples of Python"),
    "GraphChi": ("a.adj", "0 2 1 2\n1 1 2\n2 0\n", "counts the neighbours.*awk.*--format adjacency"),
    "NetworkX's lists": ("a.adj", "0 2\n1\n2\n1 1\n2\n2 0\n", "count the neighbours below.*read_multiline_adjlist"),
    "vertices of Neo4j": ("a.csv", "id:ID(P),name,:LABEL\n1,Ann,P\n2,Bob,P\n", "a table of vertices"),
    "two sets of Neo4j": (
        "a.csv", ":START_ID(A),role,:END_ID(M)\n1,x,1\n2,y,3\n", "are two sets of IDs.*--source-column 1 --t",
    ),
    "thousands in quotes": ("a.csv", '"1,000","2,000"\n"2,000","3,000"\n', "1,000 is written with.*--string-ids"),
    "thousands with blanks": ("a.csv", "1\u00a0000;2\u00a0000\n2;3\n", "is written with a mark between thousands"),
    "Latin-1": ("a.csv", "J\u00e4ger,b\n".encode("latin-1"), "byte 0xe4 is not UTF-8.*iconv -f LATIN1"),
    "CR and LF": ("a.txt", "1 2\r2 3\r3 4\n", "a.txt:1:1: holds carriage returns between edges.*tr"),
    "CR and LF of names": ("a.csv", "a,b\nb,c\rc,d\n", "a.csv:2:1: holds carriage returns between edges"),
    "TGF": ("a.tgf", "1 a\n2 b\n#\n1 2\n", "is TGF"),
    "PBBS": ("a.adj", "AdjacencyGraph\n2\n1\n0\n1\n1\n", "is an adjacency graph of PBBS"),
    "PBBS edges": ("a.txt", "EdgeArray\n1 2\n2 3\n", "is an edge array of PBBS.*tail"),
    "Galois": ("a.gr", struct.pack("<4q", 1, 0, 2, 1) + bytes(16), "is a binary graph of Galois"),
    "WebGraph": ("a.properties", "#BVGraph properties\nnodes=3\n", "is the properties of a graph"),
    "hMETIS": ("a.hgr", "1 2\n1 2\n", "is a hypergraph"),
    "Git LFS": ("a.txt", "version https://git-lfs.github.com/spec/v1\nsize 12\n", "is a pointer of Git LFS.*pull"),
    "SQL": ("a.txt", "CREATE TABLE a (b int);\n", "is SQL"),
    "Excel": ("a.csv", office("[Content_Types].xml"), "is an Excel file.*read_excel"),
    "Excel, old": ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 x", "is an Excel file"),
    "zip": ("a.txt", office("edges.txt"), "is a zip archive"),
    "SQLite": ("a.txt", b"SQLite format 3\0 x", "is an SQLite database"),
    "a pickle": ("a.txt", b"\x80\x04\x95x.", "is a pickle"),
    "MATLAB": ("a.txt", b"MATLAB 5.0 MAT-file, x", "is a MATLAB file"),
    "HDF5": ("a.txt", b"\x89HDF\r\n\x1a\nx", "is an HDF5 file"),
    "PDF": ("a.csv", b"%PDF-1.7\n1 2\n", "is a PDF"),
    "a picture": ("a.txt", b"\x89PNG\r\n\x1a\n", "is a picture"),
    "lz4": ("a.txt", b"\x04\x22\x4d\x18x", "is lz4 data"),
    "compressed": ("a.txt", gzip.compress(b"*Vertices 2\n*Edges\n1 2\n"), "is Pajek"),
    "UTF-16": ("a.csv", "1,2\n3,4\n".encode("utf-16"), "is UTF-16 text.*iconv -f UTF-16 -t UTF-8 "),
    "UTF-16LE": ("a.csv", "1,2\n3,4\n".encode("utf-16-le"), "is UTF-16LE text.*iconv -f UTF-16LE -t"),
    "UTF-16BE": ("a.mtx", "%%MatrixMarket m".encode("utf-16-be"), "is UTF-16BE text"),
    "UTF-32": ("a.csv", "1,2\n3,4\n".encode("utf-32"), "is UTF-32 text.*iconv -f UTF-32 -t"),
    "UTF-32LE": ("a.txt", "1 2\n".encode("utf-32-le"), "is UTF-32LE text"),
    "UTF-32BE": ("a.graph", "2 1\n2\n1\n".encode("utf-32-be"), "is UTF-32BE text"),
    "CR": ("a.txt", "1 2\r2 3\r", r"lines end in a carriage return alone"),
    "arrows": ("a.txt", "1 -> 2\n3 -> 4\n", "column 2 holds -> between .* Pass --source-column 1 --target"),
    "arrows of names": ("a.txt", "a --> b\nb --> c\n", "column 2 holds -->"),
    "arrows with weights": ("a.txt", "a => b 5\nb => c 6\n", "column 2 holds =>"),
    "lines": ("a.txt", "a -- b\nb -- c\n", "column 2 holds --.*--target-column 3 --undirected"),
    "both arrows": ("a.txt", "a -> b\nb <- c\n", "column 2 holds -> and <-.*in the order of the arrow"),
    "arrows of commas": ("a.csv", "1,->,2\n2,->,3\n", "column 2 holds ->"),
    "joined arrows": ("a.txt", "1->2\n2->3\n", "an arrow, ->, stands between two vertices.*sed"),
    "half joined": ("a.txt", "a ->b\nb ->c\n", "an arrow, ->"),
    "arrows that end": ("a.txt", "a -> b;\nb -> c;\n", "an arrow, ->|column 2 holds ->"),
    "a sign": ("a.txt", "1 → 2\n2 → 3\n", "column 2 holds →"),
    "colons": ("a.txt", "1: 2 3\n2: 1 3\n", "lists of neighbours behind a colon.*sed"),
    "no targets": ("a.csv", "src,dst\n5,\n6,\n", ":2:3: a vertex name is missing"),
    "LibSVM": ("a.txt", "1 2:0.5 3:1\n2 3:1 1:2\n", "lists of neighbours with weights.*awk"),
    "keys": ("a.txt", "source=1 target=2\nsource=2 target=3\n", "fields are keys and values.*sed"),
    "thousands": ("a.txt", "1,000 2,000\n2,000 3,000\n", "1,000 is written with a mark between thousands"),
    "a decimal comma": ("a.csv", "1;2;0,5\n2;3;1,5\n", "weight 0,5 is written with a comma"),
    "thousands of weights": ("a.txt", "1 2 1,234.5\n2 3 5\n", "weight 1,234.5 is written with a comma"),
    "a matrix": ("a.csv", "0,1,0\n1,0,1\n0,1,0\n", "a dense adjacency matrix.*pandas"),
    "a matrix with weights": ("a.txt", "0 5 0 1\n5 0 2 0\n0 2 0 0\n1 0 0 0\n", "a dense adjacency matrix"),
    "a labelled matrix": ("a.csv", ",a,b,c\na,0,1,0\nb,1,0,7\nc,0,7,0\n", "a dense adjacency matrix.*index_col=0"),
    "a labelled matrix of R": ("a.txt", "a b c\na 0 2 0\nb 2 0 7\nc 0 7 0\n", "a dense adjacency matrix"),
    "a large matrix": ("a.csv", (",".join("01" * 30) + "\n") * 60, "a dense adjacency matrix"),
    "an index": ("a.csv", ",a,b\n0,5,6\n1,6,7\n", "column 1 has no name.*--source-column 2 --target-column 3"),
    "row names": ("a.txt", '"from" "to"\n"1" 5 6\n"2" 6 7\n', "column 1 has no name.*row.names=FALSE"),
    "vertices of Gephi": ("a.csv", "Id,Label\n1,Ann\n2,Bob\n", "a table of vertices"),
    "slashes": ("a.txt", "// one\n// two\n1 2\n2 3\n", "begins with //, which .*--comments '/#'"),
    "semicolons": ("a.txt", "; one thing more\n1 2\n; two\n2 3\n", "begins with ;.*grep -v"),
    "flow": ("a.max", "p max 3 2\nn 1 s\na 1 2 5\na 2 3 5\n", "'p max' is a maximum flow problem.*awk"),
    "formula": ("a.txt", "c x\np cnf 3 2\n1 -3 0\n2 3 -1 0\n", "'p cnf' is a Boolean formula"),
    "an open quote": ("a.csv", '1,2,x\n2,3,"y\n4,5,z\n', 'a.csv:2:5: the quote before .* is not closed'),
    "an open quote of many": ("a.csv", '1,2,x\n2,3,"y\n4,5,"z"\n', 'a.csv:2:5: the quote before .* is not closed'),
    "NUL": ("a.txt", b"1 2\n3\0 4\n", "a NUL byte"),
    "a form feed": ("a.txt", "1 2\n\f\n2 3\n", "1 field"),
    "a rectangle": ("a.mtx", MTX + "2 3 1\n1 3\n", "2 rows and 3 columns.*awk"),
    "a dense matrix": ("a.mtx", "%%MatrixMarket matrix array real general\n1 1\n1\n", "'array' is a dense.*python3"),
    "points": ("a.txt", "1.0 2.0\n", "1.0 is not written in digits, as IDs are, and would be 1; .* Write 1, "),
    "fractions": ("a.txt", "1.5 2.0\n", "vertex ID 1.5 is not an integer"),
    "exponents": ("a.txt", "1 1e5\n", "1e5 is not written in digits, .* and would be 100000; .* Write 100000, "),
    "thousands with underlines": ("a.txt", "1_000 2\n2 3\n", "1_000 is written with a mark .* would be 1000.*sed -E"),
    "other digits": ("a.txt", "\uff11\uff12 5\n5 \uff13\n", "\uff11\uff12 is written in .* script.* be 12.*sed 'y/"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused_by_name(tmp_path, case):
    name, content, pattern = REFUSED[case]
    with pytest.raises(InputError) as error:
        read(tmp_path, name, content)
    assert re.search(pattern, str(error.value)), str(error.value)
    assert str(error.value).startswith(str(tmp_path / name)) and "\n" not in str(error.value)


DOUBTED = {
    "a relation": ("a.txt", "a pp b\nc pp d\n", "column 2 .pp. may be a relation"),
    "counts": ("a.txt", "3 2\n1 2\n2 3\n", "line 1 may hold counts of vertices and edges"),
    "numbered names": ("a.txt", "1 a\n2 b\n3 c\n", "column 1 numbers the lines .* a table of vertices"),
    "numbered rows": (
        "a.txt",
        "".join(f"{at} {at * 7 % 5} {at * 3 % 7}\n" for at in range(9)),
        "column 1 counts the lines",
    ),
    "single quotes": ("a.txt", "'a' 'b'\n'b' 'c'\n", "names keep their single quotes"),
}


@pytest.mark.parametrize("case", DOUBTED)
def test_doubts_are_said(tmp_path, case):
    name, content, pattern = DOUBTED[case]
    source = opened(write(tmp_path, name, content), tmp_path)
    assert re.search(pattern, source.doubts[0]) and len(edges_of(source)) == content.count("\n")


EDGES = {  # what may look like another kind, and is a list of edges
    "a name": ("graph b\nb c\n", [("b", "c"), ("graph", "b")]),
    "names of words": ("version 2\nnodes 3\n", [("nodes", "3"), ("version", "2")]),
    "lines of equal names": ("a b c\nb c d\n", [("a", "b"), ("b", "c")]),
    "triangles": ("1 2 3\n2 3 1\n3 1 2\n", [(1, 2, 3.0), (2, 3, 1.0), (3, 1, 2.0)]),
    "a starred name": ("*a b\nb c\n", [("*a", "b"), ("b", "c")]),
    "dashes": ("a-b b-c\nb-c c-d\n", [("a-b", "b-c"), ("b-c", "c-d")]),
    "times": ("1:2 3\n3 1:2\n", [("1:2", "3"), ("3", "1:2")]),
    "commas within names": ("a,b\tc,d\nx\ta,b\n", [("a,b", "c,d"), ("x", "a,b")]),
    "signs": ("f(a,b) g\ng h\n", [("f(a,b)", "g"), ("g", "h")]),
    "degrees of lists": ("1 2 3\n2 3 1\n", [(1, 2, 3.0), (2, 3, 1.0)]),
    "brackets": ("[a] b\nb [a]\n", [("[a]", "b"), ("b", "[a]")]),
}


@pytest.mark.parametrize("case", EDGES)
def test_edges_all_the_same(tmp_path, case):
    text, edges = EDGES[case]
    assert sorted(read(tmp_path, "a.txt", text)) == edges


def test_options_that_refusals_name_help(tmp_path):
    middle = {"source_column": 1, "target_column": 3}
    assert read(tmp_path, "a.txt", "1 -> 2\n2 -> 3\n", **middle) == PAIRS
    assert sorted(read(tmp_path, "a.txt", "a pp b\nb pd c\n", **middle)) == NAMED
    assert read(tmp_path, "a.csv", ",a,b\n0,1,2\n1,2,3\n", source_column=2, target_column=3) == PAIRS
    assert read(tmp_path, "out.a", "% bip unweighted\n1 2\n2 3\n", format="text") == PAIRS
    assert read(tmp_path, "a.txt", "// one\n// two\n1 2\n2 3\n", comments="/#") == PAIRS
    assert read(tmp_path, "a.adj", "0 2 1 2\n1 1 2\n2 0\n", format="adjacency")[0] == (0, 2)
    assert sorted(read(tmp_path, "a.csv", '"1,000","2,000"\n', string_ids=True)) == [("1,000", "2,000")]
    assert read(tmp_path, "a.csv", "Id,Label\n1,2\n2,3\n", header=True, source_column=1, target_column=2) == PAIRS


COMMANDS = {  # commands of refusals that take no library: what they make of a file, and its edges
    "KONECT bip": [("l1", "r1"), ("l1", "r2")],
    "Pajek": [(1, 2)],
    "SIF": NAMED,
    "GDF": [("a", "b")],
    "UCINET": PAIRS,
    "LGL": [("a", "b"), ("a", "c")],
    "TGF": PAIRS[:1],
    "PBBS edges": PAIRS,
    "LibSVM": [(1, 2, 0.5), (1, 3, 1.0), (2, 1, 2.0), (2, 3, 1.0)],
    "LGL by lines": [("a", "b", 1.0), ("a", "c", 2.0), ("b", "c", 1.0)],
    "keys": PAIRS,
    "JSON lines": PAIRS,
    "colons": [(1, 2), (1, 3), (2, 1), (2, 3)],
    "a rectangle": [(1, 5)],
    "TGF by lines": PAIRS,
    "Prolog": NAMED,
    "Markdown": PAIRS,
    "psql": PAIRS,
    "MySQL": PAIRS[:1],
    "Tulip": PAIRS,
    "GraphChi": [(0, 1), (0, 2), (1, 2)],
    "thousands with underlines": [(2, 3), (1000, 2)],
    "other digits": [(5, 3), (12, 5)],
}


@pytest.mark.parametrize("case", COMMANDS)
def test_commands_of_refusals_work(tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    name, content, _ = REFUSED[case]
    write(tmp_path, name, content)
    with pytest.raises(InputError) as error:
        edges_of(opened(name, tmp_path))
    command = re.search(r"(?:first|out|it out|them): (.*? > \w+(?:\.\w+)?)", str(error.value))[1].replace(
        "python3", sys.executable
    )
    subprocess.run(command, shell=True, check=True)
    made = re.search(r" > (\w+(?:\.\w+)?)", command)[1]
    assert sorted(edges_of(opened(made, tmp_path))) == COMMANDS[case]


def test_every_kind_has_a_case():
    """But for those told by their suffix alone."""
    told = [kind for kind in FOREIGN if kind.opening or kind.comment]
    said = " ".join(pattern for _, _, pattern in REFUSED.values())
    assert [kind.name for kind in told if kind.name.split(",")[0].split(" (")[0][:20] not in said] == []


@pytest.mark.parametrize("kind", FOREIGN, ids=lambda kind: kind.name)
def test_suffixes_and_magic_numbers(tmp_path, kind):
    for suffix in kind.suffixes:
        with pytest.raises(
            InputError, match=f"a{re.escape(suffix)}: is {re.escape(kind.name)}, which convert does not"
        ):
            opened(write(tmp_path, f"a{suffix}", "1 2\n"), tmp_path)
    for magic in kind.magic:
        with pytest.raises(InputError, match=f"a.txt: is {re.escape(kind.name)}, which convert does not"):
            opened(write(tmp_path, "a.txt", magic + b"xxxxxxxx"), tmp_path)
