"""What tells one kind of file from another: magic numbers, suffixes, first lines, words of headers and of comments.

The one table of all of it. Other modules look here: `streams` finds compression, `detect` the format, `foreign` what
convert does not read, `columnnames` the columns, `shapes` and `direction` what first lines of a text say.
Patterns are matched without case, from their text's start, `SAID_*` anywhere.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# How numbers are written, wherever a text or an option names a vertex or a number.
INTEGER = re.compile(r"[+-]?[0-9]+\Z")
COUNT = re.compile(r"[0-9]{1,19}\Z")  # str.isdigit takes superscripts, too, and int refuses thousands of digits
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")
NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)\Z", re.IGNORECASE)
WHOLE = re.compile(r"[+-]?[0-9]+(\.0*)?\Z")  # 1.0 is what pandas makes of IDs beside a missing one
DECIMAL_COMMA = re.compile(r"[+-]?[0-9][0-9.,']*[,'][0-9.]+\Z")  # 0,5 and 1,234.5
THOUSANDS = re.compile(r"[0-9]{1,3}([ ,'_\u00a0\u2009\u202f][0-9]{3})+\Z")

# Encodings of text, by byte order mark; the longer mark first.
SEPARATORS = ("\t", ",", ";", "|")  # of fields, beside blanks
UTF8_MARK = b"\xef\xbb\xbf"
MARKS = {b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
WIDE = {  # without a mark: bytes of an ASCII character's unit that are zero
    "UTF-32LE": (1, 2, 3), "UTF-32BE": (0, 1, 2), "UTF-16LE": (1, 3), "UTF-16BE": (0, 2),
}  # fmt: skip

SUFFIXES = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2", ".xz": "xz"}
MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
BZIP2_BLOCK = b"1AY&SY"  # stands behind its magic number of letters, which a vertex may be called, and a digit
HDF5 = b"\x89HDF\r\n\x1a\n"
ARCHIVES = {b"PK\x03\x04": "zip", b"PK\x05\x06": "zip", b"7z\xbc\xaf\x27\x1c": "7z", b"Rar!\x1a\x07": "rar"}
ZIP_NAME, TAR_MARK = 30, 257  # bytes before the first member's name, and before "ustar"


class Format(NamedTuple):
    """A format that convert reads. reader: module and class in pagestore.inputs, imported at first use.

    magic: first bytes, compared without case. seeking: its reader needs a plain file. marked: False where any bytes may
    begin it.
    """

    suffixes: tuple[str, ...]
    reader: str
    magic: tuple[bytes, ...] = ()
    seeking: bool = False
    marked: bool = True


FORMATS = {
    "text": Format((".txt", ".edges", ".edgelist", ".snap", ".dat", ".ncol"), "text.TextSource"),
    "csv": Format((".csv",), "text.TextSource"),
    "tsv": Format((".tsv", ".tab"), "text.TextSource"),
    "el": Format((".el",), "text.TextSource"),  # GAP's edge lists, of 2 and 3 columns
    "wel": Format((".wel",), "text.TextSource"),
    "sg": Format((".sg",), "gap.GapSource", (), True, False),  # and its serialized graphs
    "wsg": Format((".wsg",), "gap.WeightedGapSource", (), True, False),
    "mtx": Format((".mtx", ".mm"), "mtx.MatrixMarketSource", (b"%%matrixmarket",)),
    "gr": Format((".gr", ".col", ".dimacs"), "dimacs.DimacsSource"),
    "tntp": Format((".tntp",), "tntp.TntpSource", (b"<number of zones>",)),
    "metis": Format((".graph", ".metis", ".chaco"), "adjacency.MetisSource"),
    "adjacency": Format((".adj", ".adjlist"), "adjacency.AdjacencySource"),
    "ldbc": Format((".e", ".v"), "ldbc.LdbcSource"),
    "graph500": Format((".packed", ".g500"), "records.PackedEdgeSource", (), True, False),
    "graph500-int64": Format((".int64",), "records.Int64PairSource", (), True, False),
    "parquet": Format((".parquet", ".pq"), "parquet.ParquetSource", (b"par1",), True),
    "arrow": Format((".arrow", ".feather", ".ipc", ".arrows"), "arrow.ArrowSource", (b"arrow1",), True),
    "graphml": Format((".graphml",), "graphfiles.graphml"),
    "gexf": Format((".gexf",), "graphfiles.gexf"),
    "gml": Format((".gml",), "graphfiles.gml"),
    "pajek": Format((), "graphfiles.pajek"),
    "npy": Format((".npy",), "npy.NpySource", (b"\x93numpy",), True),
    "npz": Format((".npz",), "npy.NpzSource", (b"pk\x03\x04",), True),
}
TEXTS = ("text", "csv", "tsv", "el", "wel")
TABLES = ("parquet", "arrow")
GRAPH_FILES = ("graphml", "gexf", "gml", "pajek")
LIMITED_OPTIONS = (  # fields of InputOptions, a message, and the formats that take the option beside texts
    ("string_ids", "--string-ids and --number-ids are for text, Parquet and Arrow", (*TABLES, *GRAPH_FILES)),
    ("header", "--header and --no-header are for text", ()),
    ("comments", "--comments is for text", ()),
    ("decimal", "--decimal is for text", ()),
    ("where", "--where is for text, Parquet and Arrow", TABLES),
    ("source_column", "--source-column and --target-column are for text, Parquet and Arrow", TABLES),
    ("weight_column", "--weight-column is for text, TNTP, Parquet and Arrow", (*TABLES, *GRAPH_FILES, "tntp")),
)
DIMACS_LINE = re.compile(rb"p[ \t]+[a-z]+[ \t]+[0-9]+[ \t]+[0-9]+[ \t]*\r?\Z")
DIMACS_EDGES = {"sp": "a", "edge": "e", "col": "e"}  # problem: the letter of its edges' lines
DIMACS_VALUES = {"a": "", "e": "ndvx"}  # by that letter: lines about vertices, which edges do without
DIMACS_OTHERS = {
    "max": "a maximum flow problem", "min": "a minimum cost flow problem", "asn": "an assignment problem",
    "cnf": "a Boolean formula", "mat": "a matching problem",
}  # fmt: skip


class Foreign(NamedTuple):
    """A kind of file that convert does not read: what shows it, and what makes an edge list of it.

    format: the one of FORMATS that reads it, up to a size. advice: `{file}` is its quoted name for a shell. opening:
    of the first line that is no comment; comment: of the file itself, comments and all.
    """

    name: str
    advice: str
    magic: tuple[bytes, ...] = ()
    opening: str = ""
    comment: str = ""
    suffixes: tuple[str, ...] = ()
    format: str = ""


def _networkx(reader: str) -> str:
    return (
        "Make an edge list of it first: python3 -c 'import networkx as nx; nx.write_edgelist(nx."
        + reader
        + '("{path}"), "edges.tsv", delimiter="\\t", data=["weight"])\'; of an undirected graph convert that with '
        "--undirected."
    )


def _command(command: str, more: str = "") -> str:
    return f"Make an edge list of it first: {command}{more}."


_PANDAS = 'python3 -c \'import pandas; pandas.{call}("{{path}}").to_csv("edges.csv", index=False)\''
_JSON = (
    "python3 -c 'import json; g = json.load(open(\"{path}\")); [print(e[\"source\"], e[\"target\"], sep=\"\\t\") "
    "for e in g.get(\"links\") or g[\"edges\"]]' > edges.tsv"
)  # fmt: skip
_JSON_LINES = (
    "python3 -c 'import json; [print(e[\"source\"], e[\"target\"], sep=\"\\t\") "
    "for e in map(json.loads, open(\"{path}\"))]' > edges.tsv"
)  # fmt: skip
_PBBS = (
    "python3 -c 'import numpy as np; a = open(\"{path}\").read().split(); n, m = int(a[1]), int(a[2]); "
    "first, to = np.array(a[3:3 + n] + [m], int), np.array(a[3 + n:3 + n + m], int); "
    "assert len(a) - n - m in (3, 3 + m) and not first[0] and ((0 <= to) & (to < n)).all(), \"the file is damaged\"; "
    "np.save(\"edges.npy\", np.stack([np.repeat(np.arange(n), np.diff(first)), to], 1))'"
)  # fmt: skip
_HARWELL = 'python3 -c \'import scipy.io; scipy.io.mmwrite("edges.mtx", scipy.io.hb_read("{path}"))\''
_PAJEK = "awk '/^ *[*]/{{on = tolower($1) ~ /^[*](arcs|edges)$/; next}} on' {file} > edges.txt"
_KONECT = "awk '!/^%/{{$1 = \"l\" $1; $2 = \"r\" $2; print}}' {file} > edges.txt"  # fmt: skip

FOREIGN = (
    Foreign("bipartite KONECT, whose left and right IDs are two sets that share numbers",
            _command(_KONECT, "; convert that with --undirected. If no number stands for two vertices, pass "
                     "--format text"),
            comment=r"%\s*bip\b"),
    Foreign("Pajek", _command(_PAJEK, "; convert that with --num-vertices N --id-base 1, N as after *Vertices, "
                              "and with --undirected if it was *Edges; lists and matrices are left out"),
            opening=r"\*\s*(vertices|arcs|edges|arcslist|edgeslist|matrix|network|partition|vector)\b", format="pajek"),
    Foreign("a NetDraw file (VNA)", _command("awk '/^ *[*]/{{on = tolower($1) ~ /tie/; next}} on' {file} > edges.txt"),
            opening=r"\*\s*(node|tie)s?[ _]"),
    Foreign("SIF", _command("awk '{{for (i = 3; i <= NF; i++) print $1 \"\\t\" $i}}' {file} > edges.tsv",
                            " (after awk, -F '\\t' if names hold blanks)"), suffixes=(".sif",)),
    Foreign("GDF", _command("awk -F, '/^edgedef>/{{on = 1; next}} on{{print $1 \"\\t\" $2}}' {file} > edges.tsv",
                            "; of an undirected graph convert that with --undirected"),
            opening=r"(nodedef|edgedef)\s*>", suffixes=(".gdf",)),
    Foreign("GML", _networkx("read_gml"), opening=r"((creator|version|comment)\b[^\n]*\n\s*)*graph\s*\[",
            format="gml"),
    Foreign("DOT", _command("gvpr 'E{{print($.tail.name, \"\\t\", $.head.name)}}' {file} > edges.tsv",
                            " (gvpr is Graphviz's); if it begins with graph, convert that with --undirected"),
            opening=r"(strict\s+)?(di)?graph(\s+([\w.]+|\"[^\"\n]*\"))?\s*\{", suffixes=(".dot", ".gv")),
    Foreign("GraphML", _networkx("read_graphml"), opening=r"<graphml\b|<\?xml(?=[^\0]*<graphml\b)",
            format="graphml"),
    Foreign("GEXF", _networkx("read_gexf"), opening=r"<gexf\b|<\?xml(?=[^\0]*<gexf\b)", format="gexf"),
    Foreign("a web page (HTML)", "Download the file itself: a page came in its place.",
            opening=r"<!doctype\s+html|<html\b|<\?xml(?=[^\0]*<html\b)", suffixes=(".html", ".htm")),
    Foreign("RDF (N-Triples or Turtle)",
            _command("awk '{{print $1 \"\\t\" $3}}' {file} > edges.tsv",
                     " of N-Triples; of Turtle make those first, with rapper -i turtle"),
            opening=r"<[^>\s]*>\s+(<[^>\s]*>|a)\s+\S|_:\S+\s+<[^>\s]*>\s|@(prefix|base)\s|(prefix|base)\s+\S*\s*<",
            suffixes=(".nt", ".nq", ".ttl", ".n3", ".rdf")),
    Foreign("XML", "Make an edge list of it first: a source and a target a line.",
            opening=r"<\?xml|<!doctype|<!--|<[a-z][\w:.-]*\s+[\w:.-]+\s*=\s*[\"']", suffixes=(".xml", ".osm")),
    Foreign("a dictionary or tuples of Python", "Write an edge list: print(source, target, sep='\\t') for each edge.",
            opening=r"\{\s*['\d]|\(\s*['\"\d-]|\[\s*\("),
    Foreign("facts of Prolog or Datalog", _command("sed -E 's/^[^(]*\\(//; s/\\).*//' {file} > edges.csv"),
            opening=r"[a-z]\w*\([^()\n]+,[^()\n]+\)[ \t]*\.?[ \t]*\r?\n\s*[a-z]\w*\("),
    Foreign("a table drawn with bars (Markdown, psql, MySQL)",
            _command("sed -E '/^[-+|: ]*$|^\\(/d; s/^ *[|]//; s/[|] *$//' {file} > edges.txt"),
            opening=r"[^\n|]*\|[^\n]*\n[ \t]*[|:]?[ \t]*-{2,}[-:|+ \t]*[|+][-:|+ \t]*\r?\n|\+-{2,}[-+]*\+[ \t]*\r?\n"),
    Foreign("RTF", "Save it as plain text first.", opening=r"\{\\rtf", suffixes=(".rtf",)),
    Foreign("Harwell-Boeing", _command(_HARWELL),
            opening=r"([^\n]*\n){1,2}[ \t]*[rcpi][suhzr][ae][ \t]+\d+[ \t]+\d+[ \t]+\d+[ \t]+\d+",
            suffixes=(".rua", ".rsa", ".pua", ".psa", ".cua", ".csa", ".rb", ".hb")),
    Foreign("Tulip", _command("sed -nE 's/^[ \\t]*[(]edge +[0-9]+ +([0-9]+) +([0-9]+).*/\\1 \\2/p' {file} > edges.txt"),
            opening=r"\(tlp\b", suffixes=(".tlp",)),
    Foreign("JSON lines", _command(_JSON_LINES), opening=r"\{\s*\"[^\n]*\}[ \t]*\r?\n\s*\{",
            suffixes=(".jsonl", ".ndjson")),
    Foreign("JSON", _command(_JSON), opening=r"\{\s*(\"|\}|$)|\[\s*([\[{\"\]]|-?\d|$)", suffixes=(".json",)),
    Foreign("YAML", "Make an edge list of it first: a source and a target a line.",
            opening=r"---[ \t]*(#[^\n]*)?\r?\n|(nodes|edges|graph|links|vertices|directed)\s*:[ \t]*"
                    r"(\r?\n|\[|true|false)|-[ \t]+[\[{]", suffixes=(".yaml", ".yml")),
    Foreign("UCINET DL", _command("awk 'on; tolower($1) == \"data:\"{{on = 1}}' {file} > edges.txt",
                                  " where its format is edgelist1; write another one as such first"),
            opening=r"dl[\s,]+(n|nr|nc|nm|format)\s*=", suffixes=(".dl",)),
    Foreign("LEDA", _networkx("read_leda"), opening=r"leda\.graph\b", suffixes=(".lgr", ".gw", ".leda")),
    Foreign("sparse6", _networkx("read_sparse6"), opening=r">>sparse6<<", suffixes=(".s6",)),
    Foreign("digraph6", "Make an edge list of it first, with listg of nauty.", opening=r">>digraph6<<",
            suffixes=(".d6",)),
    Foreign("graph6", _networkx("read_graph6"), opening=r">>graph6<<", suffixes=(".g6",)),
    Foreign("LGL", _command("awk '/^#/{{u = $2; next}} {{print u, $0}}' {file} > edges.txt",
                            "; convert that with --undirected"), suffixes=(".lgl",)),
    Foreign("TGF", _command("awk '/^#/{{on = 1; next}} on{{print $1 \"\\t\" $2}}' {file} > edges.tsv"),
            suffixes=(".tgf",)),
    Foreign("an adjacency graph of PBBS or Ligra", _command(_PBBS, " (weights left out)"),
            opening=r"(weighted)?adjacency(hyper)?graph\s*\n"),
    Foreign("an edge array of PBBS", _command("tail -n +2 {file} > edges.txt"), opening=r"(weighted)?edgearray\s*\n"),
    Foreign("the properties of a graph of WebGraph",
            "Pipe its arcs: webgraph to arcs NAME | gstream convert - STORE; or make an edge list of it first: java "
            "it.unimi.dsi.webgraph.ArcListASCIIGraph NAME edges.txt.",
            comment=r"#\s*bvgraph\b|(#[^\n]*\n)*\s*graphclass\s*=", suffixes=(".properties",)),
    Foreign("a hypergraph of hMETIS", "Make an edge list of it first: an edge there has any number of ends.",
            suffixes=(".hgr", ".hmetis")),
    Foreign("a pointer of Git LFS", "Get the file itself: git lfs pull.", opening=r"version https://git-lfs"),
    Foreign("SQL", "Load it into its database, and export the table of edges as CSV.",
            opening=r"(create\s+table|insert\s+into|drop\s+table|begin\s+transaction|pragma)\b", suffixes=(".sql",)),
    Foreign("TSPLIB", "Make an edge list of it first: a source, a target and a weight a line.",
            opening=r"name\s*:[^\n]*\n((comment|type|dimension)\s*:)", suffixes=(".tsp",)),
    Foreign("SteinLib", _command("awk '$1 == \"E\" || $1 == \"A\"{{print $2, $3, $4}}' {file} > edges.txt"),
            opening=r"33d32945\b", suffixes=(".stp",)),
    Foreign("an Excel file", _command(_PANDAS.format(call="read_excel")), magic=(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",),
            suffixes=(".xlsx", ".xls", ".ods")),
    Foreign("an SQLite database",
            _command("sqlite3 -csv {file} 'SELECT source, target FROM edges' > edges.csv", ", with its own names"),
            magic=(b"SQLite format 3\0",), suffixes=(".sqlite", ".sqlite3", ".db")),
    Foreign("a pickle of Python",
            _command("python3 -c 'import pickle, networkx as nx; nx.write_edgelist(pickle.load(open(\"{path}\", "
                     "\"rb\")), \"edges.tsv\", delimiter=\"\\t\", data=[\"weight\"])'",
                     ", if you trust it and it is a graph of NetworkX"),
            magic=tuple(bytes((0x80, version)) for version in range(2, 6)), suffixes=(".pkl", ".pickle", ".gpickle")),
    Foreign("a MATLAB file",
            _command("python3 -c 'import scipy.io; scipy.io.mmwrite(\"edges.mtx\", "
                     "scipy.io.loadmat(\"{path}\")[\"A\"])'", ", with the matrix's own name"),
            magic=(b"MATLAB 5.0 MAT-file",), suffixes=(".mat",)),
    Foreign("a PDF", "Name the file with the edges.", magic=(b"%PDF-",)),
    Foreign("a picture", "Name the file with the edges.", magic=(b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8")),
    Foreign("a program", "Name the file with the edges.", magic=(b"\x7fELF",)),
    Foreign("data of R", "Write it in R: write.csv(edges, 'edges.csv', row.names = FALSE).",
            magic=(b"RDX2\n", b"RDX3\n", b"RDA2\n", b"X\n\0\0\0", b"A\n2\n", b"A\n3\n"), suffixes=(".rds", ".rdata")),
    Foreign("ORC", _command(_PANDAS.format(call="read_orc")), magic=(b"ORC\n", b"ORC\x11"),
            suffixes=(".orc",)),
    Foreign("Avro", "Make a Parquet file of it first.", magic=(b"Obj\x01",), suffixes=(".avro",)),
    Foreign("Feather of version 1", _command(_PANDAS.format(call="read_feather")), magic=(b"FEA1",)),
    Foreign("a graph of graph-tool", "Write an edge list: numpy.save('edges.npy', g.get_edges()).",
            magic=(b"\xe2\x9b\xbe gt",), suffixes=(".gt",)),
    Foreign("a binary graph of NetworKit", "Write an edge list with networkit.writeGraph(g, 'edges.txt', "
            "networkit.Format.EdgeListTabZero).", magic=(b"nkbg",), suffixes=(".nkbg",)),
    Foreign("lz4 data", "Decompress it first: lz4 -d {file}.", magic=(b"\x04\x22\x4d\x18",), suffixes=(".lz4",)),
    Foreign("lzip data", "Decompress it first: lzip -d {file}.", magic=(b"LZIP\x01",), suffixes=(".lz",)),
    Foreign("data of compress", "Decompress it first: gunzip {file}.", magic=(b"\x1f\x9d",), suffixes=(".z",)),
    Foreign("lzma data", "Decompress it first: xz -d {file}.", magic=(b"\x5d\0\0\x80\0", b"\x5d\0\0\0\x04"),
            suffixes=(".lzma",)),
    Foreign("snappy data", "Decompress it first.", magic=(b"\xff\x06\0\0sNaPpY",), suffixes=(".sz", ".snappy")),
    Foreign("Brotli data", "Decompress it first: brotli -d {file}.", suffixes=(".br",)),
)  # fmt: skip
GALOIS = Foreign("a binary graph of Galois", "Make an edge list of it first: graph-convert --gr2edgelist IN OUT.")
WEBGRAPH = Foreign("a graph of WebGraph", next(kind.advice for kind in FOREIGN if "WebGraph" in kind.name))
EXCEL = next(kind for kind in FOREIGN if kind.name == "an Excel file")
OFFICE_MEMBERS = (b"[Content_Types].xml", b"_rels/.rels", b"xl/", b"docProps/", b"mimetype")  # of .xlsx and .ods

# Words of headers.
ENDS = (  # names of a source's column, and of the target's beside it
    ("source", "target dest destination dst"), ("src", "dst dest target destination"), ("from", "to"),
    ("fromnodeid", "tonodeid"), ("source_id", "target_id dest_id destination_id"), ("src_id", "dst_id dest_id"),
    ("from_id", "to_id"), ("source_node", "target_node"), ("from_node", "to_node"), ("u", "v"), ("tail", "head"),
    ("node1", "node2"), ("node_1", "node_2"), ("id_1", "id_2"), (":start_id", ":end_id"), ("_from", "_to"),
    ("from_node_id", "to_node_id"), ("origin", "destination dest"), ("sender", "receiver recipient"),
    ("payer", "payee recipient"), ("follower", "followee"), ("citing", "cited"), ("caller", "callee"),
    ("quelle", "ziel"), ("von", "nach"), ("origine", "destinazione"), ("origen", "destino"), ("origem", "destino"),
    ("источник", "цель"), ("откуда", "куда"), ("源", "目标"), ("源节点", "目标节点"), ("起点", "终点"),
    ("始点", "終点"),
)  # fmt: skip
SOURCE_NAMES = tuple(source for source, _ in ENDS)
TARGET_NAMES = tuple(dict.fromkeys(target for _, targets in ENDS for target in targets.split()))
END_WORDS = (  # that name ends with one suffix, or behind one word: src_ip and dst_ip, nameOrig and nameDest
    ("from", "to"), ("src", "dst"), ("src", "dest"), ("source", "target"), ("source", "destination"),
    ("source", "dest"), ("sender", "receiver"), ("sender", "recipient"), ("payer", "payee"), ("orig", "dest"),
    ("origin", "destination"), ("origin", "dest"),
)  # fmt: skip
NO_WEIGHTS = (  # suffixes of columns of times, kinds and places
    "date", "time", "datetime", "timestamp", "ts", "unixts", "since", "until", "day", "week", "month", "year", "hour",
    "at", "on", "type", "kind", "class", "label", "lat", "lon", "lng", "latitude", "longitude", "port", "currency",
    "status", "gender",
)  # fmt: skip
ID_WORDS = (  # last words of columns whose numbers name something, where they name no end: tx_id, invoice_no, postcode
    "id", "ids", "uid", "uuid", "guid", "oid", "pid", "eid", "tid", "txid", "txnid", "rowid", "userid", "bankid",
    "orderid", "invoiceid", "accountid", "customerid", "merchantid", "transactionid", "no", "nr", "num", "number",
    "accountno", "orderno", "invoiceno", "ref", "reference", "key", "code", "codes", "hash", "account", "acct", "user",
    "username", "customer", "client", "merchant", "person", "iban", "bic", "tx", "txn", "transaction", "invoice",
    "postcode", "zip", "zipcode", "plz", "phone", "mobile", "tel", "block", "serial", "version",
)  # fmt: skip
NO_ENDS = (  # suffixes of columns that say something else of an edge, or of its ends: from_date and to_date
    *NO_WEIGHTS, "x", "y", "z", "amount", "amt", "balance", "oldbalance", "newbalance", "weight", "value", "count",
    "bytes", "packets", "pkts", "rate", "ttl", "age",
)  # fmt: skip
ROW_NAMES = ("", "id", "idx", "index", "row", "row_id", "rowid", "nr", "no", "number", "unnamed:_0", "edge_id", "key")
SURE_WEIGHTS = ("weight", "w", "wt", "gewicht", "poids", "peso", "вес", "权重", "重み")
OTHER_WEIGHTS = (  # less sure ones. A third column of integers with another name may be anything (years, IDs)
    "value", "weights", "cost", "costs", "distance", "dist", "length", "len", "capacity", "strength", "score", "amount",
    "amt", "count", "counts", "frequency", "freq", "total", "price", "sum", "fee", "quantity", "qty", "rating",
    "ratings", "similarity", "probability", "confidence", "correlation",
)  # fmt: skip
WORDS_OF_TEXT = ("u", "v", "from", "to", "tail", "head", "von", "nach")  # vertices have such names, too
OTHER_NAMES = (  # of columns beside the ends and weights, or of ends where a name alone doesn't say which
    "id", "name", "label", "type", "kind", "date", "time", "timestamp", "year", "node", "user", "user_id", "person",
    "friend", "friend_id", "following", "parent", "child",
    "relation", "from_name", "to_name",
)  # fmt: skip
COLUMN_NAMES = {
    name
    for names in (SOURCE_NAMES, TARGET_NAMES, SURE_WEIGHTS, OTHER_WEIGHTS, OTHER_NAMES)
    for name in names
    if len(name) > 1  # letters are vertices' names as well
}
NEO4J_IDS = re.compile(r".*?(:(?:start_|end_)?id)(?:\((.*)\))?\Z")  # name:START_ID(group)
TYPED = re.compile(r"(.+):(?:int|integer|long|float|double|number|byte|short|boolean|char|string)(?:\[\])?\Z")
MISSING = ("na", "n/a", "nan", "none", "null", "nil")  # stand where a number is not known
NO_NAMES = ("NULL", "null", "None", "NaN", "nan", "N/A", "n/a", "#N/A", "NA", "\\N", "<NA>", "(null)", "undefined", "-")
VERTEX_TABLE = (("id", "label"), ("id", "name"), ("nodes", "id"), ("node", "label"))  # first columns of Gephi's nodes
DIRECTION_COLUMNS = {  # a column of this name with these words says of each edge whether it is directed
    "type": {"directed": True, "undirected": False},
    "undirected": {"true": False, "false": True, "1": False, "0": True, "yes": False, "no": True},
    "directed": {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False, "t": True, "f": False},
}

# Words of comments that say whether the graph is directed.
SAID_UNDIRECTED = re.compile(
    r"^%\s*sym\b|\b(?<!not )(?:un|non|non-|un-)directed\b(?!\s*[:=]\s*(?:false|no|0)\b)"
    r"|\bdirected\s*[:=]\s*(?:false|no|0)\b|\bnot directed\b",
    re.IGNORECASE,
)
KONECT = re.compile(rb"%\s*a?sym\b")  # the first comment: columns are source, target, weight, time
SAID_DIRECTED = re.compile(
    r"^%\s*asym\b|(?<![\w-])(?<!not )directed\b(?!\s*[:=]\s*(?:false|no|0)\b)|\bundirected\s*[:=]\s*(?:false|no|0)\b"
    r"|\bnot undirected\b",
    re.IGNORECASE,
)

# Comments that promise how many vertices and edges follow: SNAP's, and KONECT's second one.
PROMISES = (
    re.compile(r"#.*\bnodes:\s*(?P<vertices>[0-9,]+)\s+edges:\s*(?P<edges>[0-9,]+)", re.IGNORECASE),
    re.compile(r"%\s*(?P<edges>[0-9]+)\s+(?P<vertices>[0-9]+)\s+(?P=vertices)\s*\Z"),
)

# What stands in a line that is no edge list's.
ARROW = re.compile(r"[<]?[-=~.]+[>]?\Z|[\u2190-\u21ff]\Z|:\Z")
INNER_ARROW = re.compile(r"<?[-=~]+>|<[-=~]+|[\u2190-\u21ff]")
OTHER_COMMENTS = ("//", "/*", "! ", "; ", ";;", "-- ", "' ", "REM ", "rem ")  # marks of programs that write lists
WEIGHTED_NEIGHBOUR = re.compile(r"[0-9]+:[+-]?[0-9.]+\Z")  # LibSVM's
KEYED = re.compile(r"[A-Za-z_]\w*=\S")
