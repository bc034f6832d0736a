# ruff: noqa: E501  messages stand whole, as users see them
"""Malformed inputs and their exact messages: place, offending text, limit, remedy."""

from __future__ import annotations

import pytest
from input_files import edges_of, opened

from pagestore.errors import InputError

MTX = b"%%MatrixMarket matrix coordinate "
FIX = "Fix the line, or pass --bad-lines skip."
CODE_REMEDY = "Convert the file: iconv -f LATIN1 -t UTF-8, with its own encoding; or pass --bad-lines skip."
WORD = "Fix the line, pass --string-ids to take all IDs as text, or pass --bad-lines skip."
WEIGHT = "Fix the line, pass --no-weights, or pass --bad-lines skip."
HEADER = "Fix the header, or convert the file."
CUT = "The file was cut or damaged: get it again."
GAP = "Write it again with GAP's converter (-b), or name the right format with --format."
IDS = "IDs run from 0 to 2^63-1"


def spelt(number: int) -> str:
    """What is said of another spelling of a number."""
    remedy = WORD.replace("Fix the line", f"Write {number}")
    return f"is not written in digits, as IDs are, and would be {number}; {IDS}. {remedy}"


def int64(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8, "little", signed=True) for number in numbers)


CASES = [
    ("a.txt", b"", "a.txt: is empty (0 bytes); an input has at least one edge. Check how it was made."),
    (
        "a.txt",
        b"\n\n# x\n",
        "a.txt: holds no line of data (only a header, comments and blank lines); an input has at least one edge. Pass --num-vertices N for a graph without edges.",
    ),
    (
        "a.csv",
        b"source,target\n",
        "a.csv: holds no line of data (only a header, comments and blank lines); an input has at least one edge. Pass --num-vertices N for a graph without edges.",
    ),
    ("a.txt", b"1 2\n-3 4\n", f"a.txt:2:1: vertex ID -3 is negative; {IDS}. {FIX}"),
    ("a.txt", b"1 2\n3 -4\n", f"a.txt:2:3: vertex ID -4 is negative; {IDS}. {FIX}"),
    (
        "a.txt",
        b"1 2\n9223372036854775808 3\n",
        f"a.txt:2:1: vertex ID 9223372036854775808 is past the limit; {IDS}. {WORD}",
    ),
    (
        "a.txt",
        b"1 2\n3 99999999999999999999999\n",
        f"a.txt:2:3: vertex ID 99999999999999999999999 is past the limit; {IDS}. {WORD}",
    ),
    ("a.txt", b"1 2\n3 abc\n", f"a.txt:2:3: vertex ID 'abc' is not a number; {IDS}. {WORD}"),
    ("a.txt", b"1 2\nabc 3\n", f"a.txt:2:1: vertex ID 'abc' is not a number; {IDS}. {WORD}"),
    ("a.csv", b"1,2\n3,x y\n", f"a.csv:2:3: vertex ID 'x y' is not a number; {IDS}. {WORD}"),
    ("a.txt", b"1 2\n3 4.0\n", f"a.txt:2:3: vertex ID 4.0 {spelt(4)}"),
    ("a.txt", b"1 2\n1e3 4\n", f"a.txt:2:1: vertex ID 1e3 {spelt(1000)}"),
    ("a.txt", b"1 2\nnan 4\n", f"a.txt:2:1: vertex ID nan is not an integer; {IDS}. {FIX}"),
    ("a.txt", b"1 2\n0x10 4\n", f"a.txt:2:1: vertex ID 0x10 {spelt(16)}"),
    ("a.txt", b"1 2\n1_0 4\n", f"a.txt:2:1: vertex ID 1_0 {spelt(10)}"),
    ("a.txt", b"-1 2\n", f"a.txt:1:1: vertex ID -1 is negative; {IDS}. {FIX}"),
    ("a.txt", b"1.5 2\n", f"a.txt:1:1: vertex ID 1.5 is not an integer; {IDS}. {FIX}"),
    ("a.txt", b"1 2\n3\n", f"a.txt:2:2: 1 field in '3'; 2 are due: source and target. {FIX}"),
    ("a.txt", b"1 2 7\n3 4\n", f"a.txt:2:4: 2 fields in '3 4'; 3 are due: source, target and weight. {FIX}"),
    ("a.txt", b"1 2\n3 4 5\n", f"a.txt:2:5: 3 fields in '3 4 5'; 2 are due: source and target. {FIX}"),
    ("a.csv", b"1,2\n3,\n", f"a.csv:2:3: a vertex ID is missing; {IDS}. {FIX}"),
    ("a.csv", b"1,2\n,3\n", f"a.csv:2:1: a vertex ID is missing; {IDS}. {FIX}"),
    ("a.csv", b"1,2\n3,4,\n", f"a.csv:2:5: 3 fields in '3,4,'; 2 are due: source and target. {FIX}"),
    ("a.txt", b"1 2\n3 4 # five\n5 x # y\n", f"a.txt:3:5: 4 fields in '5 x # y'; 2 are due: source and target. {FIX}"),
    (
        "a.txt",
        b"5\n6\n",
        "a.txt:1:1: '5' is no edge; a line holds a source and a target. Check the separator, or name the format with --format.",
    ),
    ("a.txt", b"1 2 3\n4 5 nan\n", f"a.txt:2:5: weight nan is not finite; weights are finite numbers. {WEIGHT}"),
    ("a.txt", b"1 2 3\n4 5 -inf\n", f"a.txt:2:5: weight -inf is not finite; weights are finite numbers. {WEIGHT}"),
    ("a.txt", b"1 2 Infinity\n", f"a.txt:1:5: weight Infinity is not finite; weights are finite numbers. {WEIGHT}"),
    ("a.txt", b"1 2 3\n4 5 x\n", f"a.txt:2:5: weight 'x' is not a number; weights are finite numbers. {WEIGHT}"),
    (
        "a.txt",
        b"1 2 3\n4 5 1e999\n",
        f"a.txt:2:5: weight 1e999 is past float64 (1.8e308); weights are finite. {WEIGHT}",
    ),
    ("a.csv", b"1,2,3\n4,5,\n", f"a.csv:2:5: the weight is missing; weights are finite numbers. {WEIGHT}"),
    (
        "a.txt",
        b"1 2 0,5\n",
        "a.txt:1:5: weight 0,5 is written with a comma; decimals take a point. Pass --decimal , if commas begin decimals, --decimal . if they part thousands; or pass --no-weights.",
    ),
    ("a.txt", b"1 2 3\n4 5 1d5\n", f"a.txt:2:5: weight '1d5' is not a number; weights are finite numbers. {WEIGHT}"),
    (
        "a.txt",
        b"1 2\n\x00 3\n",
        "a.txt:2:1: a NUL byte; text holds none. Name the format of a binary file with --format.",
    ),
    ("a.txt", b"a b\n\xff c\n", f"a.txt:2:1: byte 0xff is not UTF-8; text is UTF-8. {CODE_REMEDY}"),
    ("a.txt", b'1 2\n"3 4\n', f"a.txt:2:1: the quote before '3 4' is not closed on its line. {FIX}"),
    ("a.csv", b'a,b\n"c"d,e\nb,c\n', f"a.csv:2:4: text 'd,e' follows a quoted field. {FIX}"),
    ("a.csv", b"a,b\n,b\n", f"a.csv:2:1: a vertex name is missing; names have at least one character. {FIX}"),
    (
        "a.txt",
        b"\xff\xfe1\x00 \x002\x00\n\x003\x00 \x004\x00\n\x00",
        "a.txt: is UTF-16 text; it must be UTF-8. Convert it: iconv -f UTF-16 -t UTF-8 a.txt > NEW.",
    ),
    (
        "a.txt",
        b"1\x00 \x002\x00\n\x00",
        "a.txt: is UTF-16LE text; it must be UTF-8. Convert it: iconv -f UTF-16LE -t UTF-8 a.txt > NEW.",
    ),
    ("a.txt", b"1 2\r3 4\r", "a.txt: lines end in a carriage return alone. Convert them: tr '\\r' '\\n'."),
    ("a.txt", b"1 2\n3\xc2\xa04\n", f"a.txt:2:5: 1 field in '3\\xa04'; 2 are due: source and target. {FIX}"),
    (
        "a.txt",
        b"1 2\n" + b"3" * (3 << 20) + b" 4\n",
        "a.txt:2:1: the line is longer than 1048576 bytes; the lines of an edge list end in a line feed. Check that this is a text file of edges.",
    ),
    ("a.el", b"1 2 3\n", "a.el:1:1: a .el file has 2 columns; this one has 3. Read it with --format text."),
    (
        "a.wel",
        b"1 2 x\n2 3 y\n",
        "a.wel: a .wel file has a number in column 3, the weight; most lines of this one have none. Pass --no-weights, or read it with --format text.",
    ),
    (
        "a.csv",
        b"source;target;weight\n1;2;0.5\n2;3;1,5\n",
        "a.csv:3:5: weight 1,5 is written with a comma; decimals take a point. Pass --decimal , if commas begin decimals, --decimal . if they part thousands; or pass --no-weights, or --bad-lines skip.",
    ),
    ("a.wel", b"1 2\n", "a.wel:1:1: a .wel file has 3 columns; this one has 2. Read it with --format text."),
    (
        "a.mtx",
        b"%%MatrixMarket matrix\n",
        f"a.mtx:1:1: '%%MatrixMarket matrix' is no banner; it is '%%MatrixMarket matrix coordinate FIELD SYMMETRY'. {HEADER}",
    ),
    (
        "a.mtx",
        MTX + b"real general\n3 3 1\n1 2\n",
        f"a.mtx:3:4: 2 fields in '1 2'; 3 are due: row, column and value. {FIX}",
    ),
    (
        "a.mtx",
        MTX + b"integer general\n3 3 1\n1 2 2.5\n",
        f"a.mtx:3:5: weight 2.5 is not an integer; the header says integer. {FIX}",
    ),
    (
        "a.mtx",
        MTX + b"pattern general\n3 3 3\n1 2\n",
        f"a.mtx:2:1: the header promises 3 entries; the file holds 1. {CUT}",
    ),
    (
        "a.mtx",
        MTX + b"pattern general\n3 3 1\n1 2\n2 3\n",
        f"a.mtx:2:1: the header promises 1 entries; the file holds 2. {CUT}",
    ),
    (
        "a.mtx",
        MTX + b"pattern general\n3 3 1\n0 2\n",
        f"a.mtx:3:1: vertex ID 0 is below the limit; the header lets IDs run from 1 to 3. {FIX}",
    ),
    (
        "a.mtx",
        MTX + b"pattern general\n3 3 1\n1 4\n",
        f"a.mtx:3:3: vertex ID 4 is past the limit; the header lets IDs run from 1 to 3. {FIX}",
    ),
    (
        "a.mtx",
        MTX + b"integer skew-symmetric\n3 3 1\n2 2 5\n",
        f"a.mtx:3:1: entry 2 2 is on the diagonal, which is zero in a skew-symmetric matrix. {FIX}",
    ),
    (
        "a.mtx",
        MTX + b"pattern general\n3 4 1\n1 2\n",
        "a.mtx:2:1: the matrix has 3 rows and 4 columns; the matrix of a graph is square. If rows and columns are two sets of vertices, number the columns behind the rows first: awk '/^%/{print; next} !n++{r = $1; $1 = $2 = $1 + $2; print; next} {$2 += r; print}' a.mtx > square.mtx; convert that with --undirected.",
    ),
    (
        "a.mtx",
        MTX + b"complex general\n3 3 1\n1 2 1 0\n",
        f"a.mtx:1:1: 'complex' values are no weights; the field is pattern, integer or real. {HEADER}",
    ),
    (
        "a.mtx",
        MTX + b"pattern general\n3 x 1\n",
        f"a.mtx:2:3: 'x' is no count; rows, columns and entries are integers from 0 to 2^63-1. {HEADER}",
    ),
    (
        "a.mtx",
        MTX + b"pattern general\n% only\n",
        f"a.mtx:3:1: the file ends before its line of rows, columns and entries. {HEADER}",
    ),
    (
        "a.mtx",
        MTX + b"pattern skew-symmetric\n3 3 1\n2 1\n",
        f"a.mtx:1:1: 'pattern' can't be 'skew-symmetric': its entries have no sign. {HEADER}",
    ),
    (
        "a.mtx",
        b"%%MatrixMarket matrix array real general\n1 1\n5\n",
        "a.mtx:1:1: 'array' is a dense matrix; a graph is a 'coordinate' one. Convert it first: python3 -c 'import scipy.io, scipy.sparse; scipy.io.mmwrite(\"sparse.mtx\", scipy.sparse.coo_array(scipy.io.mmread(\"a.mtx\")))'.",
    ),
    (
        "a.mtx",
        MTX + b"real hermitian\n1 1 0\n",
        f"a.mtx:1:1: 'hermitian' is for complex matrices; a graph is general, symmetric or skew-symmetric. {HEADER}",
    ),
    (
        "a.mtx",
        b"1 2 3\n",
        f"a.mtx:1:1: '1 2 3' is no banner; it is '%%MatrixMarket matrix coordinate FIELD SYMMETRY'. {HEADER}",
    ),
    ("a.gr", b"p sp 3 2\na 1 2 5\n", f"a.gr:1:1: the header promises 2 edges; the file holds 1. {CUT}"),
    ("a.gr", b"a 1 2 3\n", f"a.gr:1:1: 'a 1 2 3' is no problem line; it is 'p sp N M' or 'p edge N M'. {HEADER}"),
    ("a.gr", b"p sp 3 1\nx 1 2 3\n", f"a.gr:2:1: a line begins with 'x'; edge lines begin with 'a'. {FIX}"),
    (
        "a.gr",
        b"p sp 3 1\na 1 4 3\n",
        f"a.gr:2:5: vertex ID 4 is past the limit; the header lets IDs run from 1 to 3. {FIX}",
    ),
    ("a.gr", b"p sp 3\n", f"a.gr:1:1: '3' has 1 field; 2 are due: vertices and edges. {HEADER}"),
    ("a.gr", b"c nothing\n", f"a.gr:2:1: the file ends before its problem line, 'p sp N M'. {HEADER}"),
    (
        "a.gr",
        b"p sp 3 " + b"0" * 40 + b"9" * 20 + b"\n",  # more digits than an int64 has, none of them in the first 40
        f"a.gr:1:3: '{'0' * 40}...' is no count; vertices and edges are integers from 0 to 2^63-1. {HEADER}",
    ),
    ("a.gr", b"p sp 3 1\na 1 2\n", f"a.gr:2:6: 2 fields in 'a 1 2'; 3 are due: source, target and weight. {FIX}"),
    ("a.gr", b"p sp 3 1\na1 2 5\n", f"a.gr:2:1: a line begins with 'a1'; edge lines begin with 'a'. {FIX}"),
    ("a.graph", b"3 1\n2\n1\n", f"a.graph:1:1: the header promises 3 vertices; 2 lines follow. {CUT}"),
    ("a.graph", b"3 1\n2\n", f"a.graph:1:1: the header promises 3 vertices; 1 line follows. {CUT}"),
    ("a.graph", b"2 1\n2\n1\n1\n", f"a.graph:1:1: the header promises 2 vertices; more lines follow. {HEADER}"),
    ("a.graph", b"3 2\n2\n1\n\n", f"a.graph:1:1: the header promises 2 edges; the lists hold 1. {CUT}"),
    (
        "a.graph",
        b"3 1\n2\n\n\n",
        "a.graph:1:1: the lists disagree: 1 edges stand at their lower ends, 0 at their upper ends. Repeat every edge in the lists of both its ends.",
    ),
    (
        "a.graph",
        b"3 2\n2\n3\n\n",
        "a.graph:1:1: the lists disagree: 2 edges stand at their lower ends, 0 at their upper ends. Repeat every edge in the lists of both its ends.",
    ),
    (
        "a.graph",
        b"3 1\n4\n\n\n",
        "a.graph:2:1: vertex ID 4 is past the limit; the header lets IDs run from 1 to 3. Fix the line.",
    ),
    (
        "a.graph",
        b"3 1\n2 x\n1\n\n",
        "a.graph:2:3: vertex ID 'x' is not a number; the header lets IDs run from 1 to 3. Fix the line.",
    ),
    (
        "a.graph",
        b"2 1 001\n2\n1 5\n",
        "a.graph:2:2: the last neighbour has no weight; the header promises weights. Fix the line.",
    ),
    (
        "a.graph",
        b"2 1 001\n2 5\n1 6\n",
        "a.graph:1:1: the lists disagree: an edge stands at one of its ends only, or with two weights. Repeat every edge in the lists of both its ends.",
    ),
    ("a.graph", b"2 1 7\n2\n1\n", f"a.graph:1:1: format '007' is unknown; it is three digits of 0 and 1. {HEADER}"),
    (
        "a.graph",
        b"2 1\xc2\xa0\x307\n2\n1\n",
        f"a.graph:1:1: format '007' is unknown; it is three digits of 0 and 1. {HEADER}",
    ),
    (
        "a.graph",
        b"2 1 110 9223372036854775807\n2\n1\n",
        f"a.graph:1:1: 9223372036854775807 weights a vertex are more than 1048576. {HEADER}",
    ),
    ("a.graph", b"% x\n", f"a.graph:2:1: the file ends before its header, 'vertices edges [format]'. {HEADER}"),
    ("a.graph", b"2 1 010\n1 2\n\n", "a.graph:3:1: 0 numbers; the header promises 1 a vertex. Fix the line."),
    (
        "a.adj",
        b"1 2\n3 007\n",
        "a.adj:2:3: vertex ID 007 is 7 as a number, and may be a name; lists are of numbers without zeros ahead. Make an edge list of it first: awk '{for (i = 2; i <= NF; i++) print $1, $i}' a.adj > edges.txt; convert that with --string-ids or --number-ids.",
    ),
    ("a.adj", b"1 2\n-3 4\n", f"a.adj:2:1: vertex ID -3 is negative; {IDS}. {FIX}"),
    ("a.sg", b"\x01\x00", f"a.sg: has 2 bytes; the header of a serialized graph takes 17. {GAP}"),
    (
        "a.sg",
        b"\7" + int64(0, 0, 0, 0, 0),
        f"a.sg: the header says directed 7, 0 edges, 0 vertices; that is no serialized graph of GAP with 32-bit IDs. {GAP}",
    ),
    (
        "a.sg",
        b"\1" + int64(2, 2, 0),
        f"a.sg: has 25 bytes; 2 vertices and 2 entries of a directed graph take 81. It was cut, or is of another type. {GAP}",
    ),
    (
        "a.sg",
        b"\0" + int64(1, 2, 0, 1, 1) + b"\1\0\0\0",
        f"a.sg: says it is undirected, but 1 more edges stand at one end than at the other. {GAP}",
    ),
    (
        "a.sg",
        b"\0" + int64(1, 2, 0, 1, 1) + b"\t\0\0\0",
        "a.sg: row 1 (from 1): target 9 is past the limit; the header lets IDs run from 0 to 1. Correct the row.",
    ),
    (
        "a.sg",
        b"\0" + int64(1, 2, 0, 5, 1) + b"\1\0\0\0",
        "a.sg: row 1 (from 1) runs from edge 0 to 5 of 1. The file is damaged: write it again.",
    ),
    (
        "a.packed",
        b"\0" * 13,
        "a.packed: has 13 bytes, which is no multiple of 12, the size of an edge. It was cut, or its edges are of the other kind (--format graph500 or graph500-int64).",
    ),
    (
        "a.int64",
        int64(-1, 0),
        f"a.int64: row 1 (from 1): source -1 is negative; {IDS}. Correct the row.",
    ),
    (
        "a.npy",
        b"\x93NUMPY\x01\x00",
        "a.npy: is not a NumPy array (EOF: reading array header length, expected 2 bytes got 0). Write it with numpy.save.",
    ),
    ("a.npz", b"PK\x03\x04", "a.npz: is no whole .npz archive (File is not a zip file). Write it with numpy.savez."),
    (
        "a.parquet",
        b"PAR1xxxxPAR1",
        "a.parquet: can't be read as a table (Parquet file size is 12 bytes, smaller than the size reported by footer's (2021161080bytes)). Write it again.",
    ),
    ("a.arrow", b"ARROW1\x00\x00", "a.arrow: can't be read as a table (File is too small: 8). Write it again."),
    (
        "a.gs",
        b"\x89HDF\r\n\x1a\n.....",
        "a.gs: is an HDF5 file, perhaps a store already; convert reads edge lists. Try gstream info.",
    ),
    (
        "a.edgelist",
        b"# networkx\n1 2 {'weight': 1.5}\n2 3 {'weight': 2.5}\n",
        "a.edgelist:2:5: \"{'weight': 1.5}\" is a Python dictionary; a weight is a number in a column of its own. Write the graph with networkx.write_weighted_edgelist, or pass --no-weights.",
    ),
    (
        "a.txt",
        b"1,2,{'weight': 3}\n",
        "a.txt:1:5: \"{'weight': 3}\" is a Python dictionary; a weight is a number in a column of its own. Write the graph with networkx.write_weighted_edgelist, or pass --no-weights.",
    ),
    (
        "a.GraphML",
        b"<?xml version='1.0'?>\n<graphml/>\n",
        'a.GraphML: can\'t be read as GraphML (file not successfully read as graphml). Make an edge list of it first: python3 -c \'import networkx as nx; nx.write_edgelist(nx.read_graphml("a.GraphML"), "edges.tsv", delimiter="\\t", data=["weight"])\'; of an undirected graph convert that with --undirected.',
    ),
    ("a.e", b"1 x\n", "a.e: its IDs are not numbers; Graphalytics numbers its vertices. Read it with --format text."),
]


@pytest.mark.parametrize(("name", "content", "message"), CASES)
def test_message(tmp_path, monkeypatch, name, content, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as error:
        edges_of(opened(name, tmp_path))
    assert str(error.value) == message


@pytest.mark.parametrize("name", ["a.txt", "a.adj"])
def test_no_vertices_take_no_edges(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(b"0 5\n")
    with pytest.raises(InputError, match=rf"^{name}:1:1: vertex ID 0 is past the limit; --num-vertices (0 )?lets IDs"):
        edges_of(opened(name, tmp_path, num_vertices=0))
