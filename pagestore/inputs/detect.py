"""Which format an input has, by --format, its first bytes or its name, and the source that reads it.

First bytes win over names: a Matrix Market file is one whatever it is called. Names win over plain text, because
METIS, DIMACS and GAP's binary files carry no magic.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import stat
import time
from collections.abc import Sequence
from pathlib import Path

from pagestore.convert.options import ProgressHook
from pagestore.errors import InputError, UsageError
from pagestore.inputs.base import EdgeSource, InputOptions
from pagestore.inputs.identify import fingerprint
from pagestore.inputs.ldbcfiles import ldbc_file, ldbc_stem
from pagestore.inputs.streams import MAGIC as COMPRESSED
from pagestore.inputs.streams import STDIN, SUFFIXES, ByteStream, check_file

FORMATS = {  # name: (suffixes, what it is)
    "text": ((".txt", ".edges", ".edgelist", ".snap", ".dat", ".ncol"), "source and target a line"),
    "csv": ((".csv",), "text with commas or semicolons, header or none"),
    "tsv": ((".tsv", ".tab"), "text with tabs"),
    "el": ((".el",), "GAP edge list, 2 columns"),
    "wel": ((".wel",), "GAP weighted edge list, 3 columns"),
    "sg": ((".sg",), "GAP serialized graph"),
    "wsg": ((".wsg",), "GAP serialized weighted graph"),
    "mtx": ((".mtx", ".mm"), "Matrix Market, coordinate"),
    "gr": ((".gr", ".col", ".dimacs"), "DIMACS"),
    "tntp": ((".tntp",), "road networks; the weight is the length"),
    "metis": ((".graph", ".metis", ".chaco"), "METIS"),
    "adjacency": ((".adj", ".adjlist"), "a vertex and its neighbours a line"),
    "ldbc": ((".e", ".v"), "LDBC Graphalytics, .v and .e"),
    "graph500": ((".packed", ".g500"), "Graph500 packed edges, 12 bytes each"),
    "graph500-int64": ((".int64",), "Graph500 edges, two int64 each"),
    "parquet": ((".parquet", ".pq"), "Parquet"),
    "arrow": ((".arrow", ".feather", ".ipc", ".arrows"), "Arrow IPC file or stream, Feather"),
    "npy": ((".npy",), "NumPy array [n, 2], [n, 3] or with fields"),
    "npz": ((".npz",), "NumPy archive: source and target, or a scipy.sparse matrix"),
}
SEEKING = ("sg", "wsg", "graph500", "graph500-int64", "parquet", "arrow", "npy", "npz")  # mapped, so plain files
CONTENT = {
    b"%%matrixmarket": "mtx",  # compared without case
    b"<number of zones>": "tntp",
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
}
ARCHIVES = {b"PK\x03\x04": "zip", b"PK\x05\x06": "zip", b"7z\xbc\xaf\x27\x1c": "7z", b"Rar!\x1a\x07": "rar"}
ZIP_NAME, TAR_MARK = 30, 257  # bytes before the first member's name, and before "ustar"
BZIP2_BLOCK = b"1AY&SY"  # stands behind its magic number of letters, which a vertex may be called, and a digit
HDF5 = b"\x89HDF\r\n\x1a\n"
HEAD_BYTES = 1 << 12
NETWORKX = {".graphml": "read_graphml", ".gml": "read_gml", ".gexf": "read_gexf"}  # what reads these: no edge lists


def detect_format(stream: ByteStream) -> str:
    """Name of the format of what `stream` is about to give; consumes nothing. Raises InputError for an HDF5 file."""
    name, head = stream.name, stream.peek(HEAD_BYTES)
    _refuse_archives(stream, head)
    if head.startswith(HDF5):
        raise InputError(
            f"{name}: is an HDF5 file, perhaps a store already; convert reads edge lists. Try gstream info."
        )
    for magic, kind in CONTENT.items():
        if head.startswith(magic) or head[: len(magic)].lower() == magic:
            return kind
    if head.startswith(b"\xff\xff\xff\xff") and 0 < int.from_bytes(head[4:8], "little", signed=True):
        return "arrow"  # a stream: continuation mark and the schema's size
    bare, suffix = os.path.splitext(name)
    if suffix.lower() in SUFFIXES:
        suffix = os.path.splitext(bare)[1]
    if (other := suffix.lower()) in NETWORKX:
        raise InputError(
            f"{name}: is {other[1:].upper()}, which convert does not read. Make an edge list of it first: python3 -c "
            f'\'import networkx as nx; nx.write_edgelist(nx.{NETWORKX[other]}("{name}"), "edges.tsv", '
            'delimiter="\\t", data=["weight"])\'; of an undirected graph convert that with --undirected.'
        )
    by_name = next((kind for kind, (suffixes, _) in FORMATS.items() if suffix.lower() in suffixes), None)
    if by_name is not None and by_name != "text":
        return by_name
    return "gr" if _looks_like_dimacs(head) else "text"


def _refuse_archives(stream: ByteStream, head: bytes) -> None:
    """InputError for files that hold files, and for what was compressed twice. NumPy's .npz are zip archives, too."""
    kind = next((words for magic, words in ARCHIVES.items() if head.startswith(magic)), None)
    first = head[ZIP_NAME : ZIP_NAME + int.from_bytes(head[26:28], "little")]
    if kind == "zip" and (first.endswith(b".npy") or stream.name.lower().endswith(".npz")):
        kind = None
    if head[TAR_MARK : TAR_MARK + 5] == b"ustar" and b"\0" in head[:TAR_MARK]:
        kind = "tar"
    if kind is not None:
        raise InputError(
            f"{stream.name}: is a {kind} archive; an input is a file of edges. Unpack it first, and name the files."
        )
    twice = next((words for magic, words in COMPRESSED.items() if head.startswith(magic)), None)
    if twice == "bzip2" and head[4:10] != BZIP2_BLOCK:
        twice = None
    if stream.compression is not None and twice is not None:
        raise InputError(
            f"{stream.name}: is {twice} data compressed once more, by {stream.compression}. Decompress it once first."
        )


def _identify(path: str | Path, options: InputOptions) -> tuple[str | Path | ByteStream, str]:
    """What to open and its format. A pipe is opened here: its first bytes, once read, are in the stream."""
    if options.format is None and not os.path.exists(path) and ldbc_file(str(path), ".e") is not None:
        return path, "ldbc"
    if options.format in (*SEEKING, "ldbc") or (options.format is not None and os.path.isfile(path)):
        return path, options.format
    stream = ByteStream(path)
    try:
        kind = options.format or detect_format(stream)
    except InputError:
        stream.close()
        raise
    if stream.replayable or kind in SEEKING:
        stream.close()
        return path, kind
    return stream, kind


def _looks_like_dimacs(head: bytes) -> bool:
    for line in head.splitlines():
        if line.startswith((b"p sp ", b"p edge ", b"p col ")):
            return True
        if line[:2] not in (b"c", b"c ", b""):
            return False
    return False


READERS = {  # module and class; imported when first needed, since each pulls in a library or compiled code of its own
    "mtx": ("mtx", "MatrixMarketSource"),
    "gr": ("dimacs", "DimacsSource"),
    "tntp": ("tntp", "TntpSource"),
    "metis": ("adjacency", "MetisSource"),
    "adjacency": ("adjacency", "AdjacencySource"),
    "ldbc": ("ldbc", "LdbcSource"),
    "sg": ("gap", "GapSource"),
    "wsg": ("gap", "WeightedGapSource"),
    "graph500": ("graph500", "PackedEdgeSource"),
    "graph500-int64": ("graph500", "Int64PairSource"),
    "parquet": ("arrow", "ParquetSource"),
    "arrow": ("arrow", "ArrowSource"),
    "npy": ("npy", "NpySource"),
    "npz": ("npy", "NpzSource"),
}


def open_source(
    paths: str | Path | Sequence[str | Path], options: InputOptions, workdir: str | Path, memory_bytes: int,
    progress: ProgressHook | None = None, sample: bool = False,
) -> EdgeSource:  # fmt: skip
    """Open one or several inputs of one format as one graph.

    IDs that are text are made dense here (`names` is set then); sparse integers are left to
    `dictionary.compact_integers`. `workdir` takes temporary files and the list of skipped lines and must outlive the
    source. `sample`: no dictionary is made, an estimate of some edges is all that is wanted.
    Raises InputError for what can't be read as a graph, UsageError for options that don't fit.
    """
    started = time.perf_counter()
    inputs = [paths] if isinstance(paths, str | Path) else list(paths)
    workdir = Path(workdir)
    if not inputs:
        raise UsageError("no input: name at least one file, or - for stdin.")
    if [str(path) for path in inputs].count(STDIN) > 1:
        raise UsageError("stdin (-) is named twice; it can be read once.")
    if options.format is not None and options.format not in FORMATS:
        raise UsageError(f"--format {options.format}: unknown; it is one of {', '.join(FORMATS)}.")
    inputs = _pair_ldbc(inputs, options)
    found = [_identify(path, options) for path in inputs]
    for path, (_, kind) in zip(inputs, found, strict=True):
        if kind in SEEKING:
            _check_plain(path, kind)
    identity = fingerprint(inputs, [path for path, _ in found], options)
    opened = [_open_one(path, kind, options, workdir, memory_bytes) for path, kind in found]
    if any(getattr(source, "strings", False) for source in opened):
        _read_as_names(found, opened, options, workdir, memory_bytes)
        source = _named(opened, workdir, memory_bytes, progress, sample)
    elif len(opened) == 1:
        source = opened[0]
    else:
        from pagestore.inputs.several import SeveralSources

        source = SeveralSources(opened)
    source.fingerprint = identity
    source.assumptions = _of_all([(one.name, one.assumed()) for one in opened])
    source.doubts = _of_all([(one.name, one.doubt()) for one in opened])
    source.opening_seconds = time.perf_counter() - started
    return source


def _of_all(said: list[tuple[str, str]]) -> tuple[str, ...]:
    """What is said of inputs, (name, words): one line for all of which the same is said."""
    alike: dict[str, list[str]] = {}
    for name, words in said:
        alike.setdefault(words, []).append(name)
    more = {words: f" and {len(names) - 1} more" if len(names) > 1 else "" for words, names in alike.items()}
    return tuple(f"{names[0]}{more[words]}: {words}" for words, names in alike.items() if words)


def _named(
    opened: list[EdgeSource], workdir: Path, memory_bytes: int, progress: ProgressHook | None, sample: bool
) -> EdgeSource:
    if sample:
        from pagestore.inputs.namesample import NameSample

        return NameSample(opened)
    from pagestore.inputs.names import dictionary_strings

    return dictionary_strings(opened, workdir, memory_bytes, progress)


def _read_as_names(
    found: Sequence[tuple[str | Path | ByteStream, str]],
    opened: list[EdgeSource],
    options: InputOptions,
    workdir: Path,
    memory_bytes: int,
) -> None:
    """Names in one input make the IDs of all of them names: open those with numbers again."""
    as_names = dataclasses.replace(options, string_ids=True)
    for at, source in enumerate(opened):
        if not getattr(source, "strings", False):
            source.close()
            if not source.replayable:
                raise InputError(
                    f"{source.name}: has numbers for IDs where other inputs have names. Pass --string-ids."
                )
            opened[at] = _open_one(*found[at], as_names, workdir, memory_bytes)


def _pair_ldbc(inputs: list[str | Path], options: InputOptions) -> list[str | Path]:
    """Name a .v and .e pair once, by what was named first."""
    paired: list[str | Path] = []
    stems: set[str] = set()
    for path in inputs:
        stem = ldbc_stem(path)
        is_pair = stem != str(path) and Path(path).name.removeprefix(Path(stem).name)[:2] in (".e", ".v")
        if is_pair and stem in stems:
            continue
        if is_pair:
            stems.add(stem)
        paired.append(path)
    return paired


def _check_plain(path: str | Path, kind: str) -> None:
    if str(path) == STDIN or not stat.S_ISREG(check_file(path).st_mode):
        raise InputError(f"{path}: a pipe of {kind} can't be read; the format needs a file. Save it to disk first.")
    with open(path, "rb") as file:
        head = file.read(8)
    for magic, compression in COMPRESSED.items():
        if head.startswith(magic) and Path(path).suffix.lower() in SUFFIXES:
            raise InputError(f"{path}: {compression} data of {kind} can't be mapped. Decompress it first.")


def _open_one(
    path: str | Path | ByteStream, kind: str, options: InputOptions, workdir: Path, memory_bytes: int
) -> EdgeSource:
    if kind in ("text", "csv", "tsv", "el", "wel"):
        from pagestore.inputs.text import TextSource

        return TextSource(path, options, workdir, memory_bytes, kind)
    module, reader = READERS[kind]
    opener = getattr(importlib.import_module(f"pagestore.inputs.{module}"), reader)
    name = path.name if isinstance(path, ByteStream) else path
    if options.string_ids and kind not in ("parquet", "arrow"):
        raise UsageError(f"{name}: --string-ids is for text, Parquet and Arrow; {kind} has numbers. Drop the option.")
    if options.header is not None:
        raise UsageError(f"{name}: --header and --no-header are for text, not for {kind}. Drop the option.")
    if options.comments is not None:
        raise UsageError(f"{name}: --comments is for text, not for {kind}. Drop the option.")
    if options.source_column is not None and kind not in ("parquet", "arrow"):
        raise UsageError(
            f"{name}: --source-column and --target-column are for text, Parquet and Arrow, not for {kind}. Drop them."
        )
    if options.weight_column is not None and kind not in ("parquet", "arrow", "tntp"):
        raise UsageError(
            f"{name}: --weight-column is for text, TNTP, Parquet and Arrow, not for {kind}. Drop the option."
        )
    return opener(path, options, workdir, memory_bytes)
