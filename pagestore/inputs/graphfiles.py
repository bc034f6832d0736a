"""GraphML, GEXF, GML and Pajek by NetworkX's readers, up to a size: these hold the whole graph as Python objects.

Vertices are all nodes of the file, also those without edges. Names that all are integers become integer IDs. Weights
are the edges' attribute `weight`, or the one that --weight-column names; an edge without it weighs 1, as in NetworkX.
What NetworkX would read as another graph than the file's (a Pajek file of arcs and edges, of two graphs in one GraphML
file) is refused.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pagestore.errors import InputError, UsageError
from pagestore.inputs.badlines import quoted, shown
from pagestore.inputs.base import MAX_ID, InputOptions, StringNames
from pagestore.inputs.columns import checked_weights
from pagestore.inputs.foreign import advice_of
from pagestore.inputs.signatures import COUNT, NUMBER
from pagestore.inputs.streams import ByteStream
from pagestore.memory import ArraySource
from pagestore.sizes import show_bytes

MOST_BYTES = 64 << 20
BYTES_A_BYTE = 48  # of memory for one of the file: 17 measured for GraphML, GEXF and GML, 41 for Pajek
SECTION = re.compile(rb"^\s*\*\s*([a-z]+)", re.IGNORECASE | re.MULTILINE)


class GraphFileSource(ArraySource):
    """A graph that NetworkX read: arrays of all edges."""

    fingerprint: Any = None  # `open_source` sets the file's

    def __init__(self, name: str, said: str, **arrays: Any) -> None:
        super().__init__(name=name, **arrays)
        self._said = said

    def assumed(self) -> str:
        """See EdgeSource."""
        return self._said


def graphml(path: Any, options: InputOptions, workdir: Path, memory_bytes: int) -> GraphFileSource:
    """A .graphml file."""
    return _opened(path, options, memory_bytes, "GraphML", _read_graphml)


def gexf(path: Any, options: InputOptions, workdir: Path, memory_bytes: int) -> GraphFileSource:
    """A .gexf file."""
    return _opened(path, options, memory_bytes, "GEXF", _read_gexf)


def gml(path: Any, options: InputOptions, workdir: Path, memory_bytes: int) -> GraphFileSource:
    """A .gml file."""
    return _opened(path, options, memory_bytes, "GML", _read_gml)


def pajek(path: Any, options: InputOptions, workdir: Path, memory_bytes: int) -> GraphFileSource:
    """A .net file of vertices with labels, and either arcs or edges."""
    return _opened(path, options, memory_bytes, "Pajek", _read_pajek)


class _Unfit(Exception):
    """Why NetworkX would read another graph."""


def _read_graphml(data: bytes) -> Any:
    import networkx

    if len(re.findall(rb"<graph[\s>]", data)) > 1:
        raise _Unfit("it holds more than one graph")
    return networkx.read_graphml(io.BytesIO(data))


def _read_gexf(data: bytes) -> Any:
    import networkx

    return networkx.read_gexf(io.BytesIO(data))


def _read_gml(data: bytes) -> Any:
    import networkx

    try:
        return networkx.read_gml(io.BytesIO(data))
    except networkx.NetworkXError as error:
        if "label" not in str(error):
            raise
    return networkx.read_gml(io.BytesIO(data), label="id")


def _read_pajek(data: bytes) -> Any:
    """NetworkX takes all that follows *Arcs or *Edges for lines of it, and vertices of one label for one vertex."""
    import networkx

    text = data[data.lower().find(b"*vertices") :]
    sections = [found[1].lower() for found in SECTION.finditer(text)]
    if sections not in ([b"vertices", b"arcs"], [b"vertices", b"edges"]):
        raise _Unfit("it has other sections than *Vertices and one of *Arcs or *Edges")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    count = lines[0].split()[1:2]
    middle = next(at for at, line in enumerate(lines[1:], 1) if line.startswith(b"*"))
    if not count or not COUNT.match(count[0].decode("latin-1")) or int(count[0]) != middle - 1:
        raise _Unfit("not every vertex has a line with its label")
    for line in lines[middle + 1 :]:
        words = line.decode("utf-8", "replace").split()
        whole = all(COUNT.match(word) and 1 <= int(word) < middle for word in words[:2])
        if len(words) < 2 or not whole or (len(words) > 2 and not NUMBER.match(words[2])):
            raise _Unfit(f"{quoted(line)} is no edge between vertices of the file")
    graph = networkx.read_pajek(io.BytesIO(text))
    if len(graph) != middle - 1:
        raise _Unfit("two vertices have one label")
    return graph


def _opened(
    path: str | Path | ByteStream, options: InputOptions, memory_bytes: int, kind: str, read: Callable[[bytes], Any]
) -> GraphFileSource:
    stream = path if isinstance(path, ByteStream) else ByteStream(path)
    try:
        data = _all_of(stream, kind, min(MOST_BYTES, memory_bytes // BYTES_A_BYTE))
    finally:
        stream.close()
    if options.num_vertices is not None:
        raise UsageError(f"{stream.name}: --num-vertices: a file of {kind} lists its vertices. Drop the option.")
    try:
        graph = read(data)
    except ImportError:
        raise InputError(
            f"{stream.name}: is {kind}, which NetworkX is needed to read. Install it: pip install networkx."
        ) from None
    except _Unfit as error:
        raise InputError(f"{stream.name}: is {kind}, and {error}. {advice_of(kind, stream.name)}") from None
    except (MemoryError, RecursionError) as error:
        raise InputError(
            f"{stream.name}: is {kind}, nested too deep or too large. {advice_of(kind, stream.name)}"
        ) from error
    except Exception as error:  # NetworkX, expat and Python's parsers each raise their own
        reason = shown(next(iter(str(error).splitlines()), type(error).__name__), 200)
        raise InputError(f"{stream.name}: can't be read as {kind} ({reason}). {advice_of(kind, stream.name)}") from None
    return _source_of(graph, stream.name, len(data), options)


def _all_of(stream: ByteStream, kind: str, most: int) -> bytes:
    """The bytes of a stream; InputError past `most` of them."""
    parts, size = [], 0
    while part := stream.read(1 << 20):
        parts.append(part)
        size += len(part)
        if size > most:
            raise InputError(
                f"{stream.name}: is {kind} of more than {show_bytes(most)}, the most that is read as Python objects "
                f"within --memory. {advice_of(kind, stream.name)}"
            )
    return b"".join(parts)


def _source_of(graph: Any, name: str, size: int, options: InputOptions) -> GraphFileSource:
    nodes = list(graph)
    place = {node: at for at, node in enumerate(nodes)}
    ends = np.array([(place[a], place[b]) for a, b in graph.edges()], np.int64).reshape(-1, 2)
    weight, weight_said = _weights(graph, name, options)
    texts = [str(node) for node in nodes]
    if len(set(texts)) < len(texts):
        raise InputError(f"{name}: a number and a text are the same name of two nodes. Rename one of them.")
    numbers = not options.string_ids and all(
        COUNT.match(text) and str(int(text)) == text and int(text) <= MAX_ID for text in texts
    )
    arrays: dict[str, Any]
    if numbers:
        ids = np.array([int(text) for text in texts], np.int64)
        order = np.argsort(ids)
        arrays = {"ids": ids[order]}
    else:
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        if b"" in encoded:
            raise InputError(f"{name}: a node has no name. Name it.")
        order = np.array(sorted(range(len(encoded)), key=encoded.__getitem__), np.int64)
        offsets = np.cumsum([0, *(len(encoded[at]) for at in order.tolist())]).astype(np.uint64)
        data = np.frombuffer(b"".join(encoded[at] for at in order.tolist()), np.uint8)
        arrays = {"names": StringNames(offsets, data)}
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    said = f"nodes are vertices{'' if numbers else ' by name'}, {weight_said}"
    source = GraphFileSource(name, said, source=rank[ends[:, 0]], target=rank[ends[:, 1]], weight=weight, **arrays)
    said_direction = "directed" if graph.is_directed() else "undirected"
    source._said += f", {said_direction} as the file says"
    source.directed, source.total_bytes = graph.is_directed(), size
    return source


def _weights(graph: Any, name: str, options: InputOptions) -> tuple[np.ndarray | None, str]:
    """Weights float64[edges], and what they were taken from."""
    attributes = sorted({key for _, _, data in graph.edges(data=True) for key in data})
    others = [shown(key, 20) for key in attributes if key not in ("weight", "id", "key")][:8]
    none = f"no weights (other attributes of edges: {', '.join(others)})" if others else "no weights"
    if not options.weights:
        return None, "no weights"
    asked = options.weight_column
    if asked is not None and asked not in attributes:
        known = ", ".join(map(shown, attributes)) or "none"
        raise UsageError(f"{name}: --weight-column {shown(str(asked))}: no attribute of edges ({known}).")
    chosen = "weight" if asked is None else str(asked)
    if chosen not in attributes:
        return None, none
    values = [data.get(chosen, 1) for _, _, data in graph.edges(data=True)]
    numbers = [value if isinstance(value, int | float) else _number(name, chosen, value) for value in values]
    missing = sum(chosen not in data for _, _, data in graph.edges(data=True))
    said = f"attribute {shown(chosen)} is the weight"
    return checked_weights(name, 0, np.array(numbers, float)), said + (f" (1 on {missing:,} edges)" if missing else "")


def _number(name: str, attribute: str, value: Any) -> float:
    text = str(value)
    if not NUMBER.match(text):
        raise InputError(
            f"{name}: {shown(attribute)} {quoted(text)} of an edge is no number; weights are. Pass --no-weights, or "
            f"--weight-column with another attribute."
        )
    return float(text)
